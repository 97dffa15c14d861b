"""The facts of a report about a fitted model: graph, edges and their curves, what a check found, effects, table.

Small pictures are the strings of numbers that SVG wants; what text goes with them is the template's business.
"""

import platform
from collections.abc import Sequence
from dataclasses import replace

import numba
import numpy as np
import scipy

from icdh import graphs
from icdh._ground.arrays import Floats
from icdh._ground.labels import short
from icdh._model.conditionals import is_of_labels
from icdh._model.effects import drawn
from icdh._model.export import weight_unit
from icdh._model.hidden import graph_with_hidden, hidden_values_of
from icdh._model.structural import StructuralModel
from icdh._table.table import Table
from icdh._version import __version__
from icdh.diagnostics.result import (
    EFFECTS,
    REPLACEABLE,
    Column,
    EdgeCheck,
    ModelCheck,
    doubt,
    edge_columns,
    edge_records,
    legend,
    survival,
    unweighed,
    verdict,
)
from icdh.plotting.graph import edge_width
from icdh.plotting.layout import bends, bounds, label_places, layered_layout
from icdh.plotting.style import LOOK, box_sizes, lines_of

INCH = 96.0  # points of the page in an inch of the graph


class Axis:
    """One side of a chart, with a margin around the data.

    Parameters
    ----------
    parts : sequence of ndarray
        All values that must fit, each of any shape.
    start, end : float
        Where on the page the axis begins and ends.
    """

    def __init__(self, parts: Sequence[Floats], start: float, end: float):
        values = np.concatenate([np.ravel(part) for part in parts])
        low, high = float(values.min()), float(values.max())
        margin = 0.04 * (high - low) or max(abs(high), 1.0)
        self.limits, self.ends = (low - margin, high + margin), (start, end)

    def places(self, values: Floats) -> list[str]:
        """Return where values stand on the page."""
        return [f"{place:.1f}" for place in np.interp(values, self.limits, self.ends)]

    def ticks(self, levels: Floats | None = None) -> list[tuple[str, str]]:
        """Return places and labels of levels, by default of a few round numbers."""
        levels = _round_numbers(*self.limits) if levels is None else levels
        return list(zip(self.places(levels), [f"{level:.4g}" for level in levels], strict=True))


def _round_numbers(low: float, high: float) -> Floats:
    """Return three to six multiples of 1, 2 or 5 times a power of ten between two numbers."""
    step = 10.0 ** np.floor(np.log10((high - low) / 3.0))
    step *= next(factor for factor in (5.0, 2.0, 1.0) if (high - low) / (step * factor) >= 3.0)
    numbers: Floats = step * np.arange(np.ceil(low / step), np.floor(high / step) + 1.0) + 0.0  # no negative zero
    return numbers


def _chart(x: Floats, y: Floats, at: Floats, mean: Floats, spread: Floats, few: bool = False) -> dict[str, object]:
    """Return a picture of observations with a fitted mean and one standard deviation around it.

    Parameters
    ----------
    x, y : ndarray, shape (M,)
        The observations.
    at, mean, spread : ndarray, shape (K,)
        The curve.
    few : bool
        Whether the cause has these values alone: then points with bars stand in place of the curve.
    """
    low, high = mean - spread, mean + spread
    across, up = Axis((x, at), 44.0, 252.0), Axis((y, low, high), 140.0, 8.0)  # where the template draws both
    points = list(zip(across.places(x), up.places(y), strict=True))
    ticks = {"x": across.ticks(at if few else None), "y": up.ticks()}
    drawn: dict[str, object] = {"points": points, "ticks": ticks, "bars": [], "line": "", "band": ""}
    along, *curves = across.places(at), up.places(mean), up.places(low), up.places(high)
    if few:
        return drawn | {"bars": list(zip(along, *curves, strict=True))}
    middle, below, above = curves
    return drawn | {"line": _polyline(along, middle), "band": _polyline(along + along[::-1], above + below[::-1])}


def _polyline(x: list[str], y: list[str]) -> str:
    return " ".join(map(",".join, zip(x, y, strict=True)))


def _graph(A: Floats, names: Sequence[str], nats: Sequence[float] = ()) -> dict[str, object]:
    """Return nodes and edges of a drawn DAG, the strongest edge first, those from hidden causes last.

    Parameters
    ----------
    A : ndarray, shape (N + K, N + K)
        Weighted adjacency matrix; K hidden causes stand after the N variables.
    names : sequence of str
        Their names.
    nats : sequence of float
        What stands in the boxes of the K hidden causes.
    """
    N = len(names) - len(nats)
    labels = [*names[:N], *(f"hidden, {short(strength)} nats" for strength in nats)]
    layout = layered_layout(A, box_sizes(labels), 11.8)  # the width of the page on a desktop
    strength = np.abs(A[:N, :N])
    order = graphs.strongest_first(strength)
    texts = {edge: short(strength[edge]) for edge in order}
    places = label_places(layout, texts)
    low, high = bounds(layout)
    left, top = _point((low[0], high[1]))
    width, height = (high - low) * INCH
    edges = [
        {
            "path": _path(layout.routes[edge]),
            "width": f"{1.5 * edge_width(strength[edge], strength.max()):.2f}",
            "strength": texts[edge] if edge in places else "",
            "at": _point(places.get(edge, (0.0, 0.0))),
        }
        for edge in order
    ]
    hidden = [
        {"path": _path(layout.routes[cause, effect]), "cause": names[cause], "effect": names[effect]}
        for cause, effect in np.argwhere(A).tolist()
        if cause >= N
    ]
    boxes = zip(names, labels, layout.positions, layout.sizes, strict=True)
    nodes = [_node(*box) | {"is_hidden": k >= N} for k, box in enumerate(boxes)]
    sizes = {"widest": round(2.0 * width), "least": round(0.85 * width)}  # a small graph grows, a wide one scrolls
    lies = bool(sizes["least"] > 700 and width > height)  # on paper, a page in landscape
    drawn = {"nodes": nodes, "edges": edges, "hidden": hidden, "lies": lies}
    return drawn | {"box": f"{left} {top} {width:.1f} {height:.1f}", **sizes}


def _node(name: str, label: str, place: Floats, size: Floats) -> dict[str, object]:
    lines, half = lines_of(label), size / 2
    (left, top), (width, height) = _point(place + [-half[0], half[1]]), size * INCH
    ys = [place[1] - LOOK.line * (k - (len(lines) - 1) / 2) for k in range(len(lines))]
    written = [(_point((place[0], y)), line) for y, line in zip(ys, lines, strict=True)]
    return {
        "name": name,
        "left": left,
        "top": top,
        "width": f"{width:.1f}",
        "height": f"{height:.1f}",
        "lines": written,
    }


def _path(route: Floats) -> str:
    """Return the line of an edge, straight or in curves."""
    start = f"M{','.join(_point(route[0]))}"
    if len(route) == 2:
        return f"{start} L{','.join(_point(route[1]))}"
    return " ".join([start, *("C" + " ".join(",".join(_point(point)) for point in curve) for curve in bends(route))])


def _point(place: Sequence[float] | Floats) -> tuple[str, str]:
    """Return a place in inches as a point of the page, whose y is downwards."""
    return f"{place[0] * INCH:.1f}", f"{-place[1] * INCH:.1f}"


MOST_CURVES = 60
FEW_VALUES = 5  # of a cause: they alone are the points of its curve


def findings(
    model: StructuralModel,
    X: object = None,
    *,
    check: ModelCheck | None = None,
    notes: Sequence[str] = (),
    command: str = "",
    title: str = "",
) -> dict[str, object]:
    """Return the facts of a report; arguments as in `icdh.StructuralModel.report`."""
    names = [str(name) for name in model.names]
    table = None if X is None else model.as_table(X)
    rows = drawn(model, 1000, np.random.default_rng(0)).scaled if X is None else model.scaled(X)
    checked = {} if check is None else {(record.cause, record.effect): record for record in check.edges}
    records = [
        replace(checked.get((record.cause, record.effect), record), probability=record.probability)
        for record in edge_records(model)
    ]
    _, _, *columns = edge_columns(records, weight_unit(model))
    edges = _edges(model, rows, records, columns)
    weights, nodes = graph_with_hidden(model)
    return {
        "title": title or f"Causal graph of {len(names)} variables",
        "n_variables": len(names),
        "n_observations": model.about.get("n_observations"),
        "table": None if table is None else _table(table, names),
        "n_rows": None if table is None else table.n_observations,
        "notes": list(notes),
        "unit": weight_unit(model),
        "graph": _graph(weights, list(map(str, nodes)), [cause.strength for cause in model.hidden_causes]),
        "hidden": _hidden(model, rows),
        "edges": edges,
        "figures": [column.heading for column in columns],
        "legend": legend(records, weight_unit(model)),
        "doubt": doubt(records),
        "replaceable": REPLACEABLE,
        "unweighed": unweighed(records, weight_unit(model)),
        "n_curves": min(len(edges), MOST_CURVES),
        "check": None if check is None else check.to_dict(),
        "effects": [effect._asdict() for effect in model.effects()[:40]],
        "about_effects": EFFECTS,
        "assumptions": _assumptions(model, table, check),
        "about": model.about,
        "command": command,
        "versions": {
            "icdh": __version__,
            "Python": platform.python_version(),
            **{package.__name__: package.__version__ for package in (np, scipy, numba)},
        },
    }


def _hidden(model: StructuralModel, rows: Floats) -> list[dict[str, object]]:
    """Return the hidden causes, each with its effects, and how closely scaled rows, shape (N, M), tell its values."""
    spreads = hidden_values_of(model, rows).spread.mean(axis=0)
    return [
        {
            "nats": cause.strength,
            "adds": list(zip(map(str, cause.children), cause.loadings, strict=True)),
            "spread": spread,
        }
        for cause, spread in zip(model.hidden_causes, spreads, strict=True)
    ]


def _table(table: Table, names: list[str]) -> list[dict[str, object]]:
    quantiles = np.quantile(table.values, [0.0, 0.5, 1.0], axis=1)
    moments = list(zip(table.values.mean(axis=1), table.values.std(axis=1), *quantiles, strict=True))
    rows: list[dict[str, object]] = []
    for k, (name, kind) in enumerate(zip(names, table.kinds, strict=True)):
        labels = table.categories[k].labels if kind == "categorical" else ()
        shares = [f"{label} {np.mean(table.values[k] == code):.0%}" for code, label in enumerate(labels)]
        rows.append({"name": name, "kind": kind, "moments": moments[k], "labels": shares})
    return rows


def _edges(
    model: StructuralModel, rows: Floats, records: list[EdgeCheck], columns: list[Column]
) -> list[dict[str, object]]:
    """Return the edges, each with its row of the list and its curve."""
    labels = {n for n, conditional in enumerate(model.conditionals) if is_of_labels(conditional)}
    shown = rows[:, np.linspace(0, rows.shape[1] - 1, min(rows.shape[1], 300)).astype(int)]
    edges: list[dict[str, object]] = []
    for k, ((i, j), record) in enumerate(zip(graphs.strongest_first(model.adjacency), records, strict=True)):
        hidden = record.replaceable
        warns = {"if turned": record.close, "if hidden": hidden, "": record.marks != ""}
        edges.append(
            {
                "cause": str(record.cause),
                "effect": str(record.effect),
                "probability": None if model.edge_probability is None else float(model.edge_probability[i, j]),
                "given": record.known,
                "doubtful": record.close and not record.known,
                "replaceable": hidden,
                "cells": [(column.cells[k], warns.get(column.heading, False)) for column in columns],
                "curve": _curve(model, shown, i, j) if k < MOST_CURVES and not {i, j} & labels else None,
            }
        )
    return edges


def _curve(model: StructuralModel, rows: Floats, cause: int, effect: int) -> dict[str, object]:
    at, mean, spread = averaged(model, rows, cause, effect)
    x, y = (model.scaling.undo(rows[node][:250], node) for node in (cause, effect))
    at, mean = model.scaling.undo(at, cause), model.scaling.undo(mean, effect)
    return _chart(x, y, at, mean, spread * model.scaling.scale[effect], at.size <= FEW_VALUES)


def averaged(model: StructuralModel, rows: Floats, cause: int, effect: int) -> tuple[Floats, Floats, Floats]:
    """Return places along a cause, and mean and spread of an effect there, averaged over scaled rows, shape (N, M).

    The other causes stay as they are in the rows; of spreads the mean square is taken. A cause of few values has places
    at these alone.
    """
    at = np.unique(rows[cause])
    if at.size > FEW_VALUES:
        low, high = np.quantile(rows[cause], [0.01, 0.99]).tolist()
        at = np.linspace(low, high, 41)
    mean, spread = np.empty(at.size), np.empty(at.size)
    values = rows.copy()
    for k, value in enumerate(at):
        values[cause] = value
        means, scales = model.given_causes(effect, values)
        mean[k], spread[k] = means.mean(), np.sqrt(np.square(scales).mean())
    return at, mean, spread


def _assumptions(model: StructuralModel, table: Table | None, check: ModelCheck | None) -> list[dict[str, object]]:
    """Return every assumption with what is known of it; all tests are those of `icdh.check`."""
    hidden, residuals = "cannot be tested on this graph", "not checked: the report was made without a check"
    noise, odd = residuals, []
    empirical = any(type(density).__name__ == "Empirical" for density in model.noise)
    if check is not None:
        if any(record.hidden_loss is not None for record in check.edges):
            hidden = survival(check.edges)
        odd = [] if empirical else [str(node.name) for node in check.nodes if not node.gaussian]
        shape = f"residuals of {', '.join(odd)} are not Gaussian" if odd else "no residual denies it"
        residuals, noise = verdict(check), "by construction" if empirical else shape
    rejected = check is not None and check.rejected
    rows = [
        ("The graph has no directed cycles.", "cannot be tested on such data; think of feedback", False),
        (f"No{' other' * bool(model.hidden_causes)} common cause of two variables is missing.", hidden, False),
        ("Residuals are independent of all that a variable does not cause.", residuals, rejected),
    ]
    if not all(map(is_of_labels, model.conditionals)):
        shape = "The noise has the shape of the residuals." if empirical else "The noise is Gaussian."
        rows.append((shape, noise, bool(odd)))
    if model.hidden_causes:
        of_hidden = "A hidden cause is Gaussian and independent of what it does not cause; no variable has two."
        rows.append((of_hidden, "the check rests on it" if check is not None else residuals, rejected))
    if table is not None:
        M, N = table.n_observations, table.n_variables
        few = 20 * N > M
        rows.append(("There are enough rows.", f"{M} rows for {N} variables" + (" are few" if few else ""), few))
    return [dict(zip(("assumption", "against", "doubtful"), row, strict=True)) for row in rows]
