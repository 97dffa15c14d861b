"""What a fit prints of its edges: strength, certainty of the direction, probabilities, and what they mean."""

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from icdh._estimators.hnm_search import HNMSearch
from icdh._ground.arrays import Floats, Mask
from icdh._ground.checks import n_workers
from icdh._ground.clock import Clock
from icdh._ground.labels import aligned, arrows, counted, printable
from icdh._model.overview import hidden_line
from icdh.cli._input import Input, complete_rows
from icdh.cli._messages import INTERRUPTED, SUCCESS, report, watched
from icdh.cli._options import Either, Option, choice, flag, number, text
from icdh.diagnostics.records import SURVIVES
from icdh.diagnostics.track_record import LEGEND, NEITHER, Marginals, TrackRecord, share_in_words
from icdh.diagnostics.words import IF_HIDDEN, IF_TURNED, survival
from icdh.exceptions import import_extra, option
from icdh.files import LabelledTable, write_text
from icdh.files.graphs import PROBABILITIES
from icdh.files.text import delimited

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
MARK = "?"  # of an arrow whose direction is uncertain
ZERO = -0.05  # nats: smaller losses are rounding
UNLIKELY_COLOR = "#c8641e"  # of arrows in pictures whose track record is worse than a coin


def ensemble_of(args: argparse.Namespace, model: Any, rows: Input, clock: Clock) -> tuple[Any, BaseException | None]:
    """Return the ensemble that was asked for, or None, and the error, or None.

    The graph has been fitted: whatever goes wrong now, it is to be written and printed first; see `exit_code`.
    """
    if model.interrupted_:
        return None, None
    try:
        return _ensemble(args, model, rows, clock), None
    except (KeyboardInterrupt, Exception) as error:
        return None, error


def exit_code(model: Any, failure: BaseException | None) -> int:
    """Return 0, or 130 after Ctrl-C, or raise the error that came after the fit."""
    if isinstance(failure, KeyboardInterrupt):
        report("error", "interrupted before the probabilities were known; the fitted graph is kept")
        return INTERRUPTED
    if isinstance(failure, TimeoutError):
        report("warning", failure)
    elif failure is not None:
        raise failure
    return INTERRUPTED if model.interrupted_ else SUCCESS


def _ensemble(args: argparse.Namespace, model: Any, rows: Input, clock: Clock) -> Any:
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


def probability_lines(ensemble: Any, dag: Floats) -> list[str]:
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


def write_probabilities(path: str, ensemble: Any) -> None:
    """Write one row for every ordered pair of variables: cause, effect, probability, ancestor."""
    names = list(map(str, ensemble.names))
    rows = [
        [cause, effect, float(ensemble.edge_probability[i, j]), float(ensemble.ancestor_probability[i, j])]
        for i, cause in enumerate(names)
        for j, effect in enumerate(names)
        if i != j
    ]
    write_text(path, delimited([PROBABILITIES, *rows], ","))


class Column(NamedTuple):
    """A column of the list of edges: heading, cells, and the lines below the list that say what it means."""

    heading: str
    cells: list[str]
    legend: list[str]


class Directions(NamedTuple):
    """The certainty of the directions of the edges of a fit.

    Attributes
    ----------
    loss : ndarray, shape (N, N), or None
        As of `icdh.uncertainty.direction_loss`; None if it was not computed.
    hidden : ndarray, shape (N, N), or None
        As of `icdh.uncertainty.hidden_loss`; None if it was not computed.
    marked : ndarray of bool, shape (N, N)
        The edges whose direction is uncertain.
    meaning : str
        What the mark means.
    records : dict
        The track record of each edge that has one; fits of `icdh.ICDH` have none.
    """

    loss: Floats | None
    hidden: Floats | None
    marked: Mask
    meaning: str
    records: dict[tuple[int, int], TrackRecord]

    def columns(self, edges: Sequence[tuple[int, int]]) -> list[Column]:
        """Return what is known of some edges."""
        columns = []
        if self.loss is not None:
            columns.append(Column("if turned", [_nats(self.loss[edge]) for edge in edges], [IF_TURNED]))
        if self.hidden is not None and not np.isnan(self.hidden).all():
            legend = [IF_HIDDEN, survival([self.hidden[edge] for edge in edges])]
            columns.append(Column("if hidden", [_nats(self.hidden[edge]) for edge in edges], legend))
        if self.records:
            shares = [share_in_words(self.records[edge]) if edge in self.records else "" for edge in edges]
            columns.append(Column("track record", shares, [LEGEND]))
        if any(self.marked[edge] for edge in edges):
            marks = [MARK if self.marked[edge] else "" for edge in edges]
            columns.append(Column("", marks, [f"{MARK} {self.meaning}"]))
        return columns

    @property
    def may_be_hidden(self) -> Mask:
        """The edges that a hidden common cause may stand behind, shape (N, N)."""
        return np.zeros(self.marked.shape, dtype=np.bool_) if self.hidden is None else self.hidden < SURVIVES

    @property
    def given(self) -> Mask:
        """The edges whose direction knowledge gives, shape (N, N)."""
        return np.zeros(self.marked.shape, dtype=bool) if self.loss is None else np.isinf(self.loss)


def directions_of(args: Any, model: Any, table: Any, ensemble: Any, clock: Clock) -> Directions:
    """Return the certainty of the directions: from turned edges, and from an ensemble of graphs if there is one."""
    from icdh.search.moves import DOUBTFUL
    from icdh.uncertainty.directions import direction_loss, doubtful
    from icdh.uncertainty.hidden import hidden_loss

    dag, loss, hidden = model.adjacency_matrix_, None, None
    if isinstance(model, HNMSearch) and not (model.interrupted_ or model.timed_out_ or model.hidden_causes_):
        with watched(args, "steps") as callback:
            callback.follow(clock)
            clock.stage = "reversing arrows"
            loss = getattr(ensemble, "direction_loss", None)
            loss = direction_loss(model, clock=clock) if loss is None else loss
            clock.stage = "hidden common causes"
            hidden = hidden_loss(model, clock=clock)
    records = _records(model, table)
    if loss is not None:
        records = {edge: record for edge, record in records.items() if not np.isinf(loss[edge])}
    meaning = f"reversing this arrow loses less than {DOUBTFUL:g} nats: the data hardly tell its direction"
    marked = np.zeros(dag.shape, bool) if loss is None else doubtful(loss)
    if ensemble is not None:
        meaning = direction_undecided() if loss is None else f"{meaning}; or {direction_undecided()}"
        marked |= ensemble.undecided(dag)
    return Directions(loss, hidden, marked, meaning, records)


def _records(model: Any, table: LabelledTable) -> dict[tuple[int, int], TrackRecord]:
    """Return the track records of the edges of a search; none if fewer than two rows are complete."""
    rows = complete_rows(table)
    if not isinstance(model, HNMSearch) or len(rows.values) < 2:
        return {}
    return Marginals.of(model.model_.as_table(rows)).records(model.adjacency_matrix_)


def picture_of_records(records: dict[tuple[int, int], TrackRecord]) -> dict[str, Any]:
    """Return the colour of edges that a coin would rather give, and its legend, as arguments of `plot_graph`."""
    from icdh.plotting.graph import EdgeStyle

    unlikely = [edge for edge, record in records.items() if record == NEITHER]
    note = f"orange: in 407 real tables such arrows pointed the right way in {share_in_words(NEITHER)}"
    return {"styles": dict.fromkeys(unlikely, EdgeStyle(UNLIKELY_COLOR)), "note": note if unlikely else ""}


def edge_lines(model: Any, directions: Directions | None = None) -> list[str]:
    """Return the lines that a fit prints: a summary, the edges, strongest first, and a legend."""
    dag, names = model.adjacency_matrix_, [printable(name) for name in model.model_.names]
    edges = sorted(((i, j) for i, j in np.argwhere(dag).tolist()), key=lambda edge: -abs(dag[edge]))
    lines = [_head(model, len(edges))]
    hidden = [printable(hidden_line(cause)) for cause in model.model_.hidden_causes]
    if not edges:
        return lines + hidden
    columns = [_weights(model, edges), *([] if directions is None else directions.columns(edges))]
    pairs = arrows([("cause", "effect"), *((names[i], names[j]) for i, j in edges)])
    rows = zip(pairs, *([column.heading, *column.cells] for column in columns), strict=True)
    lines += aligned(list(rows), "<" + ">" * len(columns))
    lines += [line for column in columns for line in column.legend]
    below_zero = directions is not None and directions.loss is not None and (directions.loss < ZERO).any()
    return [*lines, *hidden, *([_below_zero(model)] if below_zero else [])]


def _weights(model: Any, edges: Sequence[tuple[int, int]]) -> Column:
    """Return the column of strengths, or of weights."""
    dag = model.adjacency_matrix_
    if isinstance(model, HNMSearch):
        legend = "strength: nats (units of log-likelihood) lost without the edge; doubt edges below 10 nats"
        return Column("strength", [_nats(dag[edge]) for edge in edges], [legend])
    legend = "weight: the size of the effect in the fitted network, without a unit"
    return Column("weight", [f"{dag[edge]:.3f}" for edge in edges], [legend])


def _head(model: Any, n_edges: int) -> str:
    if isinstance(model, HNMSearch):
        course = counted(len(model.history_), "move")
    else:
        course = counted(len(model.history_), "round") + (", converged" if model.converged_ else ", not converged")
    return (
        f"{counted(model.model_.about['n_observations'], 'observation')} of "
        f"{counted(model.n_features_in_, 'variable')}: {counted(n_edges, 'edge')}, "
        f"negative log-likelihood {model.nll_:.4f} nats, {course}"
    )


def _nats(value: float) -> str:
    """Return nats as text, "given" where knowledge alone stands behind an arrow, nothing where they are not known."""
    if np.isnan(value):
        return ""
    if np.isinf(value) or 0.0 < value <= np.finfo(float).tiny:
        return "given"
    return f"{max(value, 0.0) if value >= ZERO else value:.1f}"


def _below_zero(model: Any) -> str:
    """Return a line that says why a loss is negative."""
    if np.count_nonzero(model.edge_strength_) > np.count_nonzero(model.adjacency_matrix_):
        reason = "of the graph before weak edges were left out it was not"
    else:
        reason = "the search missed that graph"
    return f"below zero: the evidence is higher with this arrow turned; {reason}"


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
