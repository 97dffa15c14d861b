"""What a fit prints of its edges: strength, certainty of the direction, probabilities, and what they mean."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from icdh._estimators.hnm_search import HNMSearch
from icdh._ground.arrays import Floats
from icdh._ground.checks import n_workers
from icdh._ground.clock import Clock
from icdh._ground.labels import aligned, counted, edge_lines, printable
from icdh._model.overview import hidden_line, weight_unit
from icdh._model.structural import StructuralModel
from icdh.cli._input import Input, complete_rows
from icdh.cli._learning import Learned
from icdh.cli._messages import INTERRUPTED, SUCCESS, report, watched
from icdh.cli._options import Either, Option, choice, flag, number, text
from icdh.diagnostics.records import EdgeCheck, edge_records
from icdh.diagnostics.track_record import Marginals
from icdh.diagnostics.words import edge_rows, legend
from icdh.exceptions import import_extra, option
from icdh.files import LabelledTable, write_text
from icdh.files.graphs import PROBABILITIES
from icdh.files.text import delimited

if TYPE_CHECKING:
    from icdh.uncertainty.ensemble import GraphEnsemble

LEAST_PROBABILITY = 0.05  # of an edge that is printed although the graph does not have it


UNCERTAINTY: dict[str, Option | Either] = {
    "how": Either(
        {
            "--bootstrap": number(None, "learn also from N resamples of the rows", low=1, integer=True),
            "--posterior": flag("probabilities of edges from the evidence; not for --method icdh"),
        }
    ),
    "--sampling": choice(
        ("subsample", "bootstrap"),
        "how --bootstrap draws rows: half of them (the default), or as many with replacement",
        "subsample",
    ),
    "--checkpoint": text("FILE", "save resamples there, and continue with those that it has"),
    "--probabilities": text("FILE", "write the probabilities of all edges as a table (.csv)"),
}


def ensemble_of(
    args: argparse.Namespace, model: Learned, rows: Input, clock: Clock
) -> "tuple[GraphEnsemble | None, BaseException | None]":
    """Return the ensemble that was asked for, or None, and the error, or None.

    The graph has been fitted: whatever goes wrong now, it is to be written and printed first; see `exit_code`.
    """
    n_resamples: int = args.bootstrap or 0
    if model.interrupted_ or not (n_resamples or args.posterior):
        return None, None
    from icdh.uncertainty.posterior import posterior
    from icdh.uncertainty.resampling import bootstrap

    try:
        if clock.is_over:
            limit = option("max_seconds", clock.max_seconds)
            raise TimeoutError(f"{limit} were over after the fit: there are no probabilities")
        left = None if clock.max_seconds is None else clock.left
        with watched(args, "steps" if args.posterior else "resamples", n_resamples or None) as callback:
            if args.posterior and isinstance(model, HNMSearch):
                return posterior(model, random_state=args.seed, max_seconds=left, callback=callback), None
            ensemble = bootstrap(
                model,
                rows.table,
                n_resamples,
                interventions=rows.interventions,
                **rows.relations,
                sampling=args.sampling,
                checkpoint=args.checkpoint,
                n_jobs=model.n_jobs,
                random_state=args.seed,
                max_seconds=left,
                callback=callback,
            )
            return ensemble, None
    except (KeyboardInterrupt, Exception) as error:
        return None, error


def exit_code(model: Learned, failure: BaseException | None) -> int:
    """Return 0, or 130 after Ctrl-C, or raise the error that came after the fit."""
    if isinstance(failure, KeyboardInterrupt):
        report("error", "interrupted before the probabilities were known; the fitted graph is kept")
        return INTERRUPTED
    if isinstance(failure, TimeoutError):
        report("warning", failure)
    elif failure is not None:
        raise failure
    return INTERRUPTED if model.interrupted_ else SUCCESS


def check_uncertainty(args: argparse.Namespace) -> None:
    """Raise ValueError if the options do not go together."""
    if args.posterior and args.method != "search":
        raise ValueError(
            "--posterior needs the evidence that --method search weighs; take --bootstrap N for --method icdh"
        )
    if args.posterior and getattr(args, "hidden_causes", False):
        raise ValueError(
            "--posterior takes no account of hidden causes; leave out --hidden-causes, or take --bootstrap N"
        )
    if args.bootstrap is not None and n_workers(getattr(args, "n_jobs", 1)) > 1:
        import_extra("joblib", "parallel")
    if args.bootstrap is None and args.checkpoint:
        raise ValueError("--checkpoint goes with --bootstrap N")
    if args.bootstrap is None and not args.posterior and args.probabilities:
        raise ValueError("--probabilities goes with --bootstrap N or --posterior")


def probability_lines(ensemble: "GraphEnsemble", dag: Floats) -> list[str]:
    """Return a line for every edge of the graph, and for all others that are probable enough."""
    rows = [("edge", "probability", "reverse", "path", "")]
    for edge in ensemble.edges():
        i, j = ensemble.names.index(edge.cause), ensemble.names.index(edge.effect)
        learned = "learned" if dag[i, j] else "learned reversed" if dag[j, i] else "not learned"
        if edge.probability >= LEAST_PROBABILITY or learned != "not learned":
            label = f"{printable(edge.cause)} -> {printable(edge.effect)}"
            rows.append((label, f"{edge.probability:.2f}", f"{edge.reverse:.2f}", f"{edge.ancestor:.2f}", learned))
    return aligned(rows, "<>>><")


def write_probabilities(path: str, ensemble: "GraphEnsemble") -> None:
    """Write one row for every ordered pair of variables: cause, effect, probability, ancestor."""
    names, both = list(map(str, ensemble.names)), (ensemble.edge_probability, ensemble.ancestor_probability)
    pairs = permutations(range(len(names)), 2)
    rows = [[names[i], names[j], *(float(probability[i, j]) for probability in both)] for i, j in pairs]
    write_text(path, delimited([PROBABILITIES, *rows], ","))


def with_directions(
    args: argparse.Namespace, model: Learned, ensemble: "GraphEnsemble | None", clock: Clock
) -> StructuralModel:
    """Return the fitted model with what is known of its edges: from turned edges, and from an ensemble of graphs."""
    from icdh.uncertainty.directions import direction_loss
    from icdh.uncertainty.hidden import hidden_loss

    fitted: StructuralModel = model.model_
    if ensemble is not None:
        fitted = fitted.with_edge_probability(ensemble.edge_probability)
    if not isinstance(model, HNMSearch) or model.interrupted_ or model.timed_out_ or model.hidden_causes_:
        return fitted
    with watched(args, "steps") as callback:
        callback.follow(clock)
        clock.stage = "reversing arrows"
        loss = getattr(ensemble, "direction_loss", None)
        loss = direction_loss(model, clock=clock) if loss is None else loss
        clock.stage = "hidden common causes"
        return replace(fitted, direction_loss=loss, hidden_loss=hidden_loss(model, clock=clock))


def records_of(fitted: StructuralModel, table: LabelledTable) -> list[EdgeCheck]:
    """Return a record of each edge, strongest first; no track records if fewer than two rows are complete."""
    rows = complete_rows(table)
    return edge_records(fitted, Marginals.of(fitted.as_table(rows)) if len(rows.values) > 1 else None)


def edge_list(model: Learned, records: Sequence[EdgeCheck]) -> list[str]:
    """Return the lines that a fit prints: a summary, the edges, strongest first, and a legend."""
    unit = weight_unit(model.model_)
    lines = [_head(model, len(records)), *(edge_lines(edge_rows(records, unit)) if records else [])]
    return [*lines, *legend(records, unit), *(printable(hidden_line(cause)) for cause in model.model_.hidden_causes)]


def _head(model: Learned, n_edges: int) -> str:
    if isinstance(model, HNMSearch):
        course = counted(len(model.history_), "move")
    else:
        course = counted(len(model.history_), "round") + (", converged" if model.converged_ else ", not converged")
    return (
        f"{counted(model.model_.about['n_observations'], 'observation')} of "
        f"{counted(model.n_features_in_, 'variable')}: {counted(n_edges, 'edge')}, "
        f"negative log-likelihood {model.nll_:.4f} nats, {course}"
    )


def comparison_line(estimate: Floats, truth: Floats) -> str:
    """Return a sentence that compares a graph with the true one."""
    from icdh.metrics import edge_differences

    extra, missing, reversed_ = edge_differences(estimate, truth)
    learned, true = int(np.count_nonzero(estimate)), int(np.count_nonzero(truth))
    right = learned - extra - reversed_
    return (
        f"against the true graph of {counted(true, 'edge')}: {right} of {learned} learned right, {reversed_} reversed, "
        f"{extra} extra; {missing} missing; structural Hamming distance (SHD) {extra + missing + reversed_}"
    )
