"""The facts of a report about a fitted model: graph, edges and their curves, what a check found, effects, table."""

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from icdh._ground.labels import short
from icdh._model.conditionals import is_of_labels
from icdh._model.intervene import drawn
from icdh._model.overview import weight_unit
from icdh._version import __version__
from icdh.diagnostics.records import DECIDED
from icdh.diagnostics.track_record import UNLIKELY
from icdh.diagnostics.words import survival
from icdh.plotting.layout import layered_layout
from icdh.plotting.names import box_sizes
from icdh.report import drawing
from icdh.search.moves import DOUBTFUL

MOST_CURVES, MOST_EFFECTS, MOST_POINTS, MOST_ROWS = 60, 40, 250, 300
POINTS_OF_A_CURVE, FEW_VALUES = 41, 5
WIDTHS = (1.2, 5.0)  # width of the lines of the weakest and the strongest edge
FIGURES = ("if turned", "if hidden", "probability", "track record")  # of an edge, beside its weight
PAGE = 11.8  # inches: the width of the page on a desktop
LEAST_SCALE, LARGEST_SCALE = 0.85, 2.0  # how far a wide graph shrinks before it scrolls, and a small one is blown up
FEW_ROWS = 20  # for each variable
MOMENTS = ("mean", "std", "low", "median", "high")


def findings(
    model: Any,
    X: Any = None,
    *,
    check: Any = None,
    notes: Sequence[str] = (),
    command: str = "",
    title: str = "",
) -> dict[str, Any]:
    """Return the facts of a report; arguments as in `icdh.StructuralModel.report`."""
    names = [str(name) for name in model.names]
    table = None if X is None else model.as_table(X)
    scaled = None if X is None else model.scaled(X)
    rows = drawn(model, 1000, np.random.default_rng(0)).scaled if scaled is None else scaled
    edges = _edges(model, names, rows, check)
    return {
        "title": title or f"Causal graph of {len(names)} variables",
        "n_variables": len(names),
        "n_observations": model.about.get("n_observations"),
        "table": None if table is None else _table(table, names),
        "notes": list(notes),
        "unit": weight_unit(model),
        "graph": _graph(model, names),
        "edges": edges,
        "figures": [name for name in FIGURES if any(edge[name] is not None for edge in edges)],
        "unlikely": UNLIKELY if any(edge["unlikely"] for edge in edges) else "",
        "doubtful_below": DOUBTFUL,
        "n_curves": min(len(edges), MOST_CURVES),
        "check": None if check is None else check.to_dict(),
        "effects": [effect._asdict() for effect in model.effects()[:MOST_EFFECTS]],
        "assumptions": _assumptions(model, table, check),
        "about": model.about,
        "command": command,
        "versions": _versions(),
    }


def _table(table, names):
    quantiles = np.quantile(table.values, [0.0, 0.5, 1.0], axis=1)
    rows = zip(names, table.kinds, table.values.mean(axis=1), table.values.std(axis=1), *quantiles, strict=True)
    found = [dict(zip(("name", "kind", *MOMENTS), row, strict=True)) for row in rows]
    return [own | dict.fromkeys(MOMENTS) if own["kind"] == "categorical" else own for own in found]


def _strongest_first(model):
    weight = np.abs(model.adjacency)
    return sorted(np.argwhere(weight).tolist(), key=lambda edge: -weight[tuple(edge)])


def _graph(model, names):
    layout = layered_layout(model.adjacency, box_sizes(names), PAGE)
    strength = np.abs(model.adjacency) / (np.abs(model.adjacency).max(initial=0.0) or 1.0)
    widths = {edge: f"{WIDTHS[0] + (WIDTHS[1] - WIDTHS[0]) * strength[edge]:.2f}" for edge in layout.routes}
    found = drawing.graph(layout, widths, names)
    texts = {(i, j): short(abs(model.adjacency[i, j])) for i, j in _strongest_first(model)}
    places = drawing.strengths(layout, texts)
    for edge, drawn_edge in found["edges"].items():
        drawn_edge["strength"] = texts[edge] if edge in places else ""
        drawn_edge["at"] = places.get(edge, ("0", "0"))
    for node, name in zip(found["nodes"], names, strict=True):
        node["name"] = name
    found["edges"] = [found["edges"][tuple(edge)] for edge in _strongest_first(model)]
    width = float(found["box"].split()[2])
    found["widest"], found["least"] = round(LARGEST_SCALE * width), round(LEAST_SCALE * width)
    return found


def _edges(model, names, rows, check):
    """Return the edges, strongest first, each with what the check says of it."""
    probability = model.edge_probability
    labels = {n for n, conditional in enumerate(model.conditionals) if is_of_labels(conditional)}
    shown = rows[:, np.linspace(0, rows.shape[1] - 1, min(rows.shape[1], MOST_ROWS)).astype(int)]
    records = {} if check is None else {(edge.cause, edge.effect): edge for edge in check.edges}
    edges = []
    for k, (i, j) in enumerate(_strongest_first(model)):
        edge = records.get((model.names[i], model.names[j]))
        known = edge is not None and edge.known
        record = edge.track_record if edge is not None and weight_unit(model) == "nats" else None
        edges.append(
            {
                "cause": names[i],
                "effect": names[j],
                "weight": "given" if model.adjacency[i, j] == np.finfo(float).tiny else float(model.adjacency[i, j]),
                "if turned": None if edge is None else "given" if known else edge.direction_loss,
                "if hidden": None if edge is None else edge.hidden_loss,
                "probability": None if probability is None else float(probability[i, j]),
                "track record": None if record is None else str(record),
                "given": known,
                "doubtful": not known and (_divided(probability, i, j) or (edge is not None and edge.close)),
                "unlikely": record is not None and record.unlikely,
                "curve": _curve(model, shown, i, j) if k < MOST_CURVES and not {i, j} & labels else None,
            }
        )
    return edges


def _divided(probability, i, j):
    """Return whether resamples or posterior disagree on the direction of an edge."""
    return probability is not None and probability[i, j] < DECIDED * (probability[i, j] + probability[j, i])


def _curve(model, rows, cause, effect):
    at, mean, spread = averaged(model, rows, cause, effect)
    x, y = (model.scaling.undo(rows[node][:MOST_POINTS], node) for node in (cause, effect))
    at, mean = model.scaling.undo(at, cause), model.scaling.undo(mean, effect)
    return drawing.curve(x, y, at, mean, spread * model.scaling.scale[effect], at.size <= FEW_VALUES)


def averaged(model: Any, rows: np.ndarray, cause: int, effect: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return places along a cause, and mean and spread of an effect there, averaged over scaled rows, shape (N, M).

    The other causes stay as they are in the rows; of spreads the mean square is taken. A cause of few values has places
    at these alone.
    """
    at = np.unique(rows[cause])
    if at.size > FEW_VALUES:
        at = np.linspace(*np.quantile(rows[cause], [0.01, 0.99]), POINTS_OF_A_CURVE)
    mean, spread = np.empty(at.size), np.empty(at.size)
    values = rows.copy()
    for k, value in enumerate(at):
        values[cause] = value
        means, scales = model.given_causes(effect, values)
        mean[k], spread[k] = means.mean(), np.sqrt(np.square(scales).mean())
    return at, mean, spread


def _assumptions(model, table, check):
    """Return every assumption with what is known of it; all tests are those of `icdh.check`."""
    unchecked = "not checked: the report was made without a check"
    odd = [] if check is None else [str(node.name) for node in check.nodes if not node.gaussian]
    edges = [] if check is None else check.edges
    survive = survival(edges) if any(edge.hidden_loss is not None for edge in edges) else ""
    empirical = any(type(noise).__name__ == "Empirical" for noise in model.noise)
    shape = f"residuals of {', '.join(odd)} are not Gaussian" if odd else "no residual denies it"
    rows = [
        (
            "The graph has no directed cycles.",
            "cannot be tested on such data; think of feedback",
            False,
        ),
        ("No common cause of two variables is missing.", survive or "cannot be tested on this graph", False),
        (
            "Residuals are independent of all that a variable does not cause.",
            unchecked if check is None else check.to_dict()["verdict"],
            check is not None and check.rejected,
        ),
        (
            "The noise has the shape of the residuals." if empirical else "The noise is Gaussian.",
            unchecked if check is None else "by construction" if empirical else shape,
            bool(odd) and not empirical,
        ),
    ]
    if table is not None:
        M, N = table.n_observations, table.n_variables
        few = M < FEW_ROWS * N
        rows.append(("There are enough rows.", f"{M} rows for {N} variables" + (" are few" if few else ""), few))
    return [dict(zip(("assumption", "against", "doubtful"), row, strict=True)) for row in rows]


def _versions():
    found = {"icdh": __version__, "Python": platform.python_version()}
    for package in ("numpy", "scipy", "numba"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
