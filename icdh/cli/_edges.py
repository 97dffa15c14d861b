"""The list of edges that a fit prints: strength, certainty of the direction, and a legend."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from icdh._estimators.hnm_search import HNMSearch
from icdh._ground.clock import Clock
from icdh._ground.labels import aligned, arrows, counted, printable
from icdh.cli._progress import watched
from icdh.cli._table import complete_rows
from icdh.cli._uncertainty import direction_undecided
from icdh.diagnostics.records import CLOSE
from icdh.diagnostics.track_record import LEGEND, NEITHER, Marginals, TrackRecord, share_in_words
from icdh.diagnostics.words import IF_HIDDEN, IF_TURNED, survival

MARK = "?"  # of an arrow whose direction is uncertain
ZERO = -0.05  # nats: smaller losses are rounding
UNLIKELY_COLOR = "#c8641e"  # of arrows in pictures whose track record is worse than a coin


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

    loss: np.ndarray | None
    hidden: np.ndarray | None
    marked: np.ndarray
    meaning: str
    records: dict[tuple[int, int], TrackRecord]

    def columns(self, edges: Sequence[tuple[int, int]]) -> list[Column]:
        """Return what is known of some edges."""
        columns = []
        if self.loss is not None:
            columns.append(Column("if turned", [_nats(self.loss[edge]) for edge in edges], [IF_TURNED]))
        if self.hidden is not None and not np.isnan(self.hidden).all():
            legend = [IF_HIDDEN, survival(int((self.hidden >= CLOSE).sum()), len(edges))]
            columns.append(Column("if hidden", [_nats(self.hidden[edge]) for edge in edges], legend))
        if self.records:
            shares = [share_in_words(self.records[edge]) if edge in self.records else "" for edge in edges]
            columns.append(Column("track record", shares, [LEGEND]))
        if any(self.marked[edge] for edge in edges):
            marks = [MARK if self.marked[edge] else "" for edge in edges]
            columns.append(Column("", marks, [f"{MARK} {self.meaning}"]))
        return columns

    @property
    def may_be_hidden(self) -> np.ndarray:
        """The edges that a hidden common cause may stand behind, shape (N, N)."""
        return np.zeros(self.marked.shape, dtype=bool) if self.hidden is None else self.hidden < CLOSE

    @property
    def given(self) -> np.ndarray:
        """The edges whose direction knowledge gives, shape (N, N)."""
        return np.zeros(self.marked.shape, dtype=bool) if self.loss is None else np.isinf(self.loss)


def directions_of(args: Any, model: Any, table: Any, ensemble: Any, clock: Clock) -> Directions:
    """Return the certainty of the directions: from an ensemble of graphs if there is one, else from turned edges."""
    from icdh.uncertainty.directions import DOUBTFUL, direction_loss, doubtful
    from icdh.uncertainty.hidden import hidden_loss

    dag, loss, hidden = model.adjacency_matrix_, None, None
    if isinstance(model, HNMSearch) and not (model.interrupted_ or model.timed_out_):
        with watched(args, "steps") as callback:
            if hasattr(callback, "follow"):
                callback.follow(clock)
            clock.stage = "reversing arrows"
            loss = direction_loss(model, clock=clock)
            clock.stage = "hidden common causes"
            hidden = hidden_loss(model, clock=clock)
    records = _records(model, table)
    if loss is not None:
        records = {edge: record for edge, record in records.items() if not np.isinf(loss[edge])}
    if ensemble is not None:
        return Directions(loss, hidden, ensemble.undecided(dag), direction_undecided(), records)
    meaning = f"reversing this arrow loses less than {DOUBTFUL:g} nats: the data hardly tell its direction"
    return Directions(loss, hidden, np.zeros(dag.shape, bool) if loss is None else doubtful(loss), meaning, records)


def _records(model, table):
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
    edges = [tuple(edge) for edge in sorted(np.argwhere(dag).tolist(), key=lambda edge: -abs(dag[tuple(edge)]))]
    lines = [_head(model, len(edges))]
    if not edges:
        return lines
    columns = [_weights(model, edges), *([] if directions is None else directions.columns(edges))]
    pairs = arrows([("cause", "effect"), *((names[i], names[j]) for i, j in edges)])
    rows = zip(pairs, *([column.heading, *column.cells] for column in columns), strict=True)
    lines += aligned(list(rows), "<" + ">" * len(columns))
    lines += [line for column in columns for line in column.legend]
    below_zero = directions is not None and directions.loss is not None and (directions.loss < ZERO).any()
    return [*lines, *([_below_zero(model)] if below_zero else [])]


def _weights(model, edges):
    """Return the column of strengths, or of weights."""
    dag = model.adjacency_matrix_
    if isinstance(model, HNMSearch):
        legend = "strength: nats (units of log-likelihood) lost without the edge; doubt edges below 10 nats"
        return Column("strength", [_nats(dag[edge]) for edge in edges], [legend])
    legend = "weight: the size of the effect in the fitted network, without a unit"
    return Column("weight", [f"{dag[edge]:.3f}" for edge in edges], [legend])


def _head(model, n_edges):
    if isinstance(model, HNMSearch):
        course = counted(len(model.history_), "move")
    else:
        course = counted(len(model.history_), "round") + (", converged" if model.converged_ else ", not converged")
    return (
        f"{counted(model.model_.about['n_observations'], 'observation')} of "
        f"{counted(model.n_features_in_, 'variable')}: {counted(n_edges, 'edge')}, "
        f"negative log-likelihood {model.nll_:.4f} nats, {course}"
    )


def _nats(value):
    """Return nats as text, "given" where knowledge alone stands behind an arrow, nothing where they are not known."""
    if np.isnan(value):
        return ""
    if np.isinf(value) or 0.0 < value <= np.finfo(float).tiny:
        return "given"
    return f"{max(value, 0.0) if value >= ZERO else value:.1f}"


def _below_zero(model):
    """Return a line that says why a loss is negative."""
    if np.count_nonzero(model.edge_strength_) > np.count_nonzero(model.adjacency_matrix_):
        reason = "of the graph before weak edges were left out it was not"
    else:
        reason = "the search missed that graph"
    return f"below zero: the evidence is higher with this arrow turned; {reason}"


def comparison_line(estimate: np.ndarray, truth: np.ndarray) -> str:
    """Return a sentence that compares a graph with the true one."""
    from icdh.metrics import edge_differences

    extra, missing, reversed_ = edge_differences(estimate, truth)
    learned, true = np.count_nonzero(estimate), np.count_nonzero(truth)
    right = learned - extra - reversed_
    return (
        f"against the true graph of {counted(true, 'edge')}: {right} of {learned} learned right, {reversed_} reversed, "
        f"{extra} extra; {missing} missing; structural Hamming distance (SHD) {extra + missing + reversed_}"
    )
