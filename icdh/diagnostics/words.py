"""Arrows and checks as text, for terminals and for notebooks, with the power of the tests."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from icdh._ground.labels import counted, edge_lines, html_table, printable
from icdh._model.export import MOST_EDGES, hidden_line
from icdh.diagnostics.records import DECIDED, SURVIVES, EdgeCheck, NodeCheck
from icdh.diagnostics.track_record import LEGEND, NEITHER
from icdh.search.moves import DOUBTFUL

if TYPE_CHECKING:
    from icdh.diagnostics.result import ModelCheck

FEW_ROWS = 200  # the power of the tests is stated of 1000
ZERO = -0.05  # nats: smaller losses are rounding
STRENGTHS = {
    "nats": "strength: nats (units of log-likelihood) lost without the edge; doubt edges below 10 nats",
    "weight": "weight: the size of the effect in the fitted network, without a unit",
}
IF_HIDDEN = "if hidden: nats lost if a hidden common cause stands in place of this arrow, where the data can tell"
REPLACEABLE = f"a hidden common cause in its place loses less than {SURVIVES:g} nats"
BELOW_ZERO = (
    "below zero: the graph with that arrow turned is better, and the search missed it or weak edges were left out"
)
TURNED, DIVIDED = f"reversing it loses less than {DOUBTFUL:g} nats", f"its probability is below {100 * DECIDED:.0f} %"
DRAWN = "the residuals are those given hidden causes, whose values are drawn for each row from what it tells of them"
EFFECTS = (
    "change: what setting the cause does to the mean of the effect, or to the risk of the outcome",
    "contrast: labels and two values go from the reference to the other, numbers and grades between the two of their "
    "values that are nearest to half a standard deviation below and above the mean",
    "share: that of the effect's standard deviation which its mean covers as the cause runs through its values",
    "spread: ratio of the effect's standard deviations at the two values, undefined where the first is zero",
    "pairs without a path in the graph are not listed: that is not evidence of no effect",
)
BLIND_SPOTS = (
    "Power: of simulated tables (8 variables, 1000 rows) the tests reject 4 % if the model is right, 96 to 100 % if "
    "scales are distorted, and 56 % if the strongest arrow is turned, but only 10 % with two hidden common causes and "
    "3 % with measurement noise. A model that passes may have wrong arrows: of recorded tables that passed 61 % of the "
    "arrows pointed forward, of others 65 %."
)


def verdict(check: "ModelCheck") -> str:
    """Return in a line what a `ModelCheck` check."""
    rows = f"{check.n_checked} of {check.n_observations}" if check.n_checked < check.n_observations else check.n_checked
    head = f"{rows} rows, {counted(len(check.nodes), 'variable')}, {counted(len(check.edges), 'edge')}: "
    bad = sum(node.rejected for node in check.nodes)
    few = ", and so few rows hardly reject any" if check.n_checked < FEW_ROWS else ""
    says = f"the model does not fit {bad} of the variables" if bad else f"no test rejects the model{few}"
    untested = sum(not node.tested for node in check.nodes)
    rest = f"; {counted(untested, 'variable')} not tested" if untested else ""
    return f"{head}{says} (at 5 %, over all variables together){rest}"


def summary(check: "ModelCheck") -> str:
    """Return the check in plain words, with what it cannot see."""
    hidden = map(printable, hidden_lines(check))
    return "\n".join([verdict(check), *_about_nodes(check.nodes), *_about_edges(check), *hidden, BLIND_SPOTS])


def hidden_lines(check: "ModelCheck") -> list[str]:
    """Return a line about each hidden cause of the model of a `ModelCheck`, and how that took account of them."""
    lines = [hidden_line(cause) for cause in check.hidden_causes]
    return [*lines, DRAWN] if lines else []


def _about_nodes(nodes: Sequence[NodeCheck]) -> list[str]:
    bad = [node for node in nodes if node.rejected]
    lines = [f"  {printable(node.name)}: p = {node.p_value:.2g}, {node.meaning}" for node in bad]
    untested = [node for node in nodes if not node.tested]
    if untested:
        shares = ", ".join(f"{printable(node.name)} ({100 * (1 - node.seen):.0f} % of the rows)" for node in untested)
        lines.append(f"not tested, as their noise is below 1 % of their standard deviation in many rows: {shares}")
    odd = ", ".join(printable(node.name) for node in nodes if not node.gaussian)
    if odd:
        lines.append(
            f"residuals that are not Gaussian: {odd}; either their noise is not, or they have a hidden common cause"
        )
    return lines


def _about_edges(check: "ModelCheck") -> list[str]:
    edges, more = check.edges, len(check.edges) - MOST_EDGES
    if not edges:
        return []
    lines = [*edge_lines(edge_rows(edges[:MOST_EDGES], check.unit)), *([f"and {more} more"] if more > 0 else [])]
    heading = "arrows" if all(edge.known for edge in edges) else "arrows, those to settle by knowledge first"
    return [f"{heading}:", *lines, *legend(edges, check.unit)]


class Column(NamedTuple):
    """What is known of some edges: heading, cells, and the lines below the list that say what it means."""

    heading: str
    cells: list[str]
    meanings: list[str]


def edge_columns(edges: Sequence[EdgeCheck], unit: str) -> list[Column]:
    """Return what is known of edges, without columns that are empty, as some of a saved model are.

    Parameters
    ----------
    edges : sequence of EdgeCheck
        The edges.
    unit : {"nats", "weight"}
        The unit of their strengths.
    """
    below_zero = any(edge.direction_loss is not None and edge.direction_loss < ZERO for edge in edges)
    worse = any(edge.track_record is not None and edge.track_record.unlikely for edge in edges)
    strengths = [_nats(edge.strength, edge.known) if unit == "nats" else f"{edge.strength:.3f}" for edge in edges]
    turned = ["given" if edge.known else _nats(edge.direction_loss) for edge in edges]
    probabilities = ["" if edge.probability is None else f"{edge.probability:.2f}" for edge in edges]
    columns = [
        Column("cause", [printable(edge.cause) for edge in edges], []),
        Column("effect", [printable(edge.effect) for edge in edges], []),
        Column("strength" if unit == "nats" else unit, strengths, [STRENGTHS[unit]]),
        Column(
            "if turned", turned, ["if turned: nats lost by reversing this arrow", *([BELOW_ZERO] if below_zero else [])]
        ),
        Column("if hidden", [_nats(edge.hidden_loss) for edge in edges], [IF_HIDDEN, survival(edges)]),
        Column("direction", probabilities, ["direction: its probability"]),
        Column(
            "track record",
            ["" if edge.track_record is None else str(edge.track_record) for edge in edges],
            [f"{LEGEND}; {NEITHER} is worse than a coin" if worse else LEGEND],
        ),
        Column("", [edge.marks for edge in edges], _marks_explained(edges)),
    ]
    return [*columns[:2], *(column for column in columns[2:] if any(column.cells))]


def _marks_explained(edges: Sequence[EdgeCheck]) -> list[str]:
    marks = "".join(edge.marks for edge in edges)
    return [f"{mark} {meaning}" for mark, meaning in (("?", doubt(edges)), ("*", REPLACEABLE)) if mark in marks]


def doubt(edges: Sequence[EdgeCheck]) -> str:
    """Return in words what makes directions of these edges doubtful."""
    divided = any(edge.probability is not None for edge in edges)
    return f"{TURNED}{f', or {DIVIDED}' if divided else ''}: the data hardly tell its direction"


def edge_rows(edges: Sequence[EdgeCheck], unit: str) -> list[tuple[str, ...]]:
    """Return the cells of a list of edges, row by row, the heading first."""
    return list(zip(*([column.heading, *column.cells] for column in edge_columns(edges, unit)), strict=True))


def legend(edges: Sequence[EdgeCheck], unit: str) -> list[str]:
    """Return the lines that say what the columns of a list of edges mean."""
    meanings = [meaning for column in edge_columns(edges, unit) for meaning in column.meanings]
    return [*meanings, *filter(None, [unweighed(edges, unit)])]


def unweighed(edges: Sequence[EdgeCheck], unit: str) -> str:
    """Return in a sentence how many directions nothing stands behind, as after a search that was stopped."""
    if unit != "nats":
        return ""
    left = sum(not edge.known and edge.direction_loss is None and edge.probability is None for edge in edges)
    of = f"{left} of {counted(len(edges), 'arrow')}"
    return f"{of} not weighed against the other direction: each may point the wrong way" if left else ""


def survival(edges: Sequence[EdgeCheck]) -> str:
    """Return in a sentence how many arrows a hidden common cause cannot replace."""
    told, survivors = sum(edge.hidden_loss is not None for edge in edges), sum(edge.survives for edge in edges)
    fail = f", {told - survivors} would not" if told > survivors else ""
    untold = f"; {len(edges) - told} cannot be told" if len(edges) > told else ""
    return f"{survivors} of {counted(len(edges), 'arrow')} would survive a hidden common cause{fail}{untold}"


def _nats(value: float | None, known: bool = False) -> str:
    """Return nats as text, "given" where knowledge alone stands behind an arrow, nothing where they are not known."""
    if value is None:
        return ""
    if known and 0.0 < value <= np.finfo(float).tiny:
        return "given"
    return f"{max(value, 0.0) if value >= ZERO else value:.1f}"


def as_html(check: "ModelCheck") -> str:
    """Return a `ModelCheck` as a piece of HTML, text escaped."""
    nodes = [
        [str(node.name), f"{node.p_value:.2g}", node.noise, node.meaning or "nothing found"] for node in check.nodes
    ]
    heading, *edges = edge_rows(check.edges[:MOST_EDGES], check.unit)
    tables = html_table(("variable", "p-value", "noise", "verdict"), nodes) + html_table(heading, edges)
    meanings = escape("; ".join([*legend(check.edges, check.unit), *hidden_lines(check)]))
    return f"<div><p><strong>{verdict(check)}</strong></p>{tables}<p>{meanings}</p><p>{BLIND_SPOTS}</p></div>"
