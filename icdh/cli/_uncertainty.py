"""Probabilities of the edges of a fitted graph: options, and lines to print."""

import argparse
from typing import Any

import numpy as np

from icdh._ground.checks import n_workers
from icdh._ground.clock import Clock
from icdh._ground.labels import aligned, printable
from icdh.cli._messages import INTERRUPTED, SUCCESS, report
from icdh.cli._options import Either, choice, flag, number, text
from icdh.cli._progress import watched
from icdh.cli._rows import Input
from icdh.exceptions import import_extra, option
from icdh.files import write_text
from icdh.files.graphs import PROBABILITIES
from icdh.files.text import delimited

LEAST_PROBABILITY = 0.05  # of an edge that is printed although the graph does not have it


UNCERTAINTY = {
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


def ensemble_of(args: argparse.Namespace, model: Any, rows: Input, clock: Clock) -> tuple:
    """Return the ensemble that was asked for, or None, and the error, or None.

    The graph has been fitted: whatever goes wrong now, it is to be written and printed first; see `exit_code`.
    """
    if model.interrupted_:
        return None, None
    try:
        return _ensemble(args, model, rows, clock), None
    except (KeyboardInterrupt, Exception) as error:
        return None, error


def exit_code(model, failure: BaseException | None) -> int:
    """Return 0, or 130 after Ctrl-C, or raise the error that came after the fit."""
    if isinstance(failure, KeyboardInterrupt):
        report("error", "interrupted before the probabilities were known; the fitted graph is kept")
        return INTERRUPTED
    if isinstance(failure, TimeoutError):
        report("warning", failure)
    elif failure is not None:
        raise failure
    return INTERRUPTED if model.interrupted_ else SUCCESS


def _ensemble(args, model, rows, clock):
    if (args.bootstrap is not None or args.posterior) and clock.is_over:
        raise TimeoutError(
            f"{option('max_seconds', clock.max_seconds)} were over after the fit: there are no probabilities"
        )
    left = None if clock.max_seconds is None else clock.left
    if args.bootstrap is not None:
        from icdh.uncertainty.resampling import bootstrap

        with watched(args, "resamples", args.bootstrap) as callback:
            return bootstrap(
                model,
                rows.table,
                args.bootstrap,
                interventions=rows.interventions,
                **rows.relations,
                sampling=args.sampling,
                n_jobs=model.n_jobs,
                random_state=args.seed,
                callback=callback,
                checkpoint=args.checkpoint,
                max_seconds=left,
            )
    if args.posterior:
        from icdh.uncertainty.posterior import posterior

        with watched(args, "steps") as callback:
            return posterior(model, random_state=args.seed, max_seconds=left, callback=callback)
    return None


def check(args: argparse.Namespace) -> None:
    """Raise ValueError if the options do not go together."""
    if args.posterior and args.method != "search":
        raise ValueError(
            "--posterior needs the evidence that --method search weighs; take --bootstrap N for --method icdh"
        )
    if args.bootstrap is not None and n_workers(getattr(args, "n_jobs", 1)) > 1:
        import_extra("joblib", "parallel")
    if args.bootstrap is None and args.checkpoint:
        raise ValueError("--checkpoint goes with --bootstrap N")
    if args.bootstrap is None and not args.posterior and args.probabilities:
        raise ValueError("--probabilities goes with --bootstrap N or --posterior")


def probability_lines(ensemble, dag: np.ndarray) -> list[str]:
    """Return a line for every edge of the graph, and for all others that are probable enough."""
    rows, undecided = [("edge", "probability", "reverse", "path", "")], ensemble.undecided(dag)
    for edge in ensemble.edges():
        i, j = ensemble.names.index(edge.cause), ensemble.names.index(edge.effect)
        learned = "learned" if dag[i, j] else "learned reversed" if dag[j, i] else "not learned"
        if undecided[i, j] or undecided[j, i]:
            learned += ", direction undecided"
        if edge.probability >= LEAST_PROBABILITY or learned != "not learned":
            label = f"{printable(edge.cause)} -> {printable(edge.effect)}"
            rows.append((label, f"{edge.probability:.2f}", f"{edge.reverse:.2f}", f"{edge.ancestor:.2f}", learned))
    lines = aligned(rows, "<>>><")
    return [*lines, f"direction undecided: {direction_undecided()}"] if undecided.any() else lines


def direction_undecided() -> str:
    """Return the meaning of "direction undecided"."""
    from icdh.uncertainty.ensemble import DECIDED

    return f"of the graphs that join the two, fewer than {DECIDED:.0%} agree on the direction"


def write_probabilities(path: str, ensemble) -> None:
    """Write one row for every ordered pair of variables: cause, effect, probability, ancestor."""
    names = list(map(str, ensemble.names))
    rows = [
        [cause, effect, float(ensemble.edge_probability[i, j]), float(ensemble.ancestor_probability[i, j])]
        for i, cause in enumerate(names)
        for j, effect in enumerate(names)
        if i != j
    ]
    write_text(path, delimited([PROBABILITIES, *rows], ","))
