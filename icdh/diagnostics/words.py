"""A check as text, for terminals and for notebooks, with the power of its tests."""

from collections.abc import Sequence
from typing import Any

from icdh._ground.labels import counted, edge_lines, html_table, printable, short
from icdh.diagnostics.records import SURVIVES
from icdh.diagnostics.track_record import LEGEND as TRACK_RECORD
from icdh.diagnostics.track_record import share_in_words

MOST_EDGES = 30
IF_TURNED = "if turned: nats lost by reversing this arrow"
HEADING = ("cause", "effect", "strength", "if turned", "if hidden", "direction", "track record")
IF_HIDDEN = "if hidden: nats lost if a hidden common cause stands in place of this arrow, where the data can tell"
BELOW_ZERO = "below zero: the graph with that arrow turned is better, and the search missed it"
BLIND_SPOTS = (
    "Power: of simulated tables (8 variables, 1000 rows) the tests reject 4 % if the model is right, 96 to 100 % if "
    "scales are distorted, and 56 % if the strongest arrow is turned, but only 10 % with two hidden common causes and "
    "3 % with measurement noise. A model that passes may have wrong arrows: of recorded tables that passed 61 % of the "
    "arrows pointed forward, of others 65 %."
)


def verdict(found: Any) -> str:
    """Return in a line what a `ModelCheck` found."""
    rows = f"{found.n_checked} of {found.n_observations}" if found.n_checked < found.n_observations else found.n_checked
    head = f"{rows} rows, {counted(len(found.nodes), 'variable')}, {counted(len(found.edges), 'edge')}: "
    bad = sum(node.rejected for node in found.nodes)
    says = f"the model does not fit {bad} of the variables" if bad else "no test rejects the model"
    untested = sum(not node.tested for node in found.nodes)
    rest = f"; {counted(untested, 'variable')} not tested" if untested else ""
    return f"{head}{says} (at 5 %, over all variables together){rest}"


def summary(found: Any) -> str:
    """Return a `ModelCheck` as text."""
    return "\n".join([verdict(found), *_about_nodes(found.nodes), *_about_edges(found.edges), BLIND_SPOTS])


def _about_nodes(nodes):
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


def _about_edges(edges):
    if not edges:
        return []
    rows = _filled([printable(edge.cause), printable(edge.effect), *figures(edge)] for edge in edges)
    lines = edge_lines(rows[: MOST_EDGES + 1])
    more = [f"and {len(edges) - MOST_EDGES} more"] if len(edges) > MOST_EDGES else []
    survive = [survival([edge.hidden_loss for edge in edges])] if _told(edges) else []
    return ["arrows, those to settle by knowledge first:", *lines, *more, legend(edges), *survive]


def _told(edges):
    return any(edge.hidden_loss is not None for edge in edges)


def survival(losses: Sequence[float | None]) -> str:
    """Return in a sentence how many arrows a hidden common cause cannot replace, given what each would lose."""
    told = [loss for loss in losses if loss is not None and loss == loss]
    untold = f"; {len(losses) - len(told)} cannot be told" if len(told) < len(losses) else ""
    survivors = sum(loss >= SURVIVES for loss in told)
    return f"{survivors} of {counted(len(losses), 'arrow')} would survive a hidden common cause{untold}"


def _filled(rows):
    """Return the heading and the rows of edges, without columns that are empty, as some of a saved model are."""
    columns = zip(HEADING, *rows, strict=True)
    return list(zip(*(column for column in columns if any(column[1:])), strict=True)) or [HEADING]


def legend(edges: Sequence) -> str:
    """Return what the columns of a list of edges mean, of those that are not empty."""
    meanings = ["strength: nats lost without the edge; doubt edges below 10 nats"]
    losses = [edge.direction_loss for edge in edges if edge.direction_loss is not None]
    if losses or any(edge.known for edge in edges):
        meanings.append(IF_TURNED + (f" ({BELOW_ZERO})" if min(losses, default=0.0) < 0.0 else ""))
    if _told(edges):
        meanings.append(IF_HIDDEN)
    if any(edge.probability is not None for edge in edges):
        meanings.append("direction: its probability")
    if any(edge.track_record is not None for edge in edges):
        meanings.append(TRACK_RECORD)
    return "; ".join(meanings)


def figures(edge: Any) -> list[str]:
    """Return what is known of an edge as text, under all of `HEADING` but cause and effect."""
    record = edge.track_record
    return [
        short(edge.strength),
        "given" if edge.known else "" if edge.direction_loss is None else short(edge.direction_loss),
        "" if edge.hidden_loss is None else short(edge.hidden_loss),
        "" if edge.probability is None else f"{edge.probability:.2f}",
        "" if record is None else share_in_words(record),
    ]


def as_html(found: Any) -> str:
    """Return a `ModelCheck` as a piece of HTML, text escaped."""
    nodes = [
        [str(node.name), f"{node.p_value:.2g}", node.noise, node.meaning or "nothing found"] for node in found.nodes
    ]
    heading, *edges = _filled([str(edge.cause), str(edge.effect), *figures(edge)] for edge in found.edges[:MOST_EDGES])
    tables = html_table(("variable", "p-value", "noise", "verdict"), nodes) + html_table(heading, edges)
    return (
        f"<div><p><strong>{verdict(found)}</strong></p>{tables}<p>{legend(found.edges)}</p><p>{BLIND_SPOTS}</p></div>"
    )
