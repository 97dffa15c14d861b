"""The facts of a report about a fitted model: table, edges and their curves, residuals, effects, and warnings.

Every check has a false alarm rate of about one in 400 independent trials: its limit is three standard errors.
"""

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from icdh._ground.labels import short
from icdh._model.conditionals import is_of_labels
from icdh._model.intervene import drawn
from icdh._model.overview import weight_unit
from icdh._table.table import LEVEL_KINDS
from icdh._version import __version__
from icdh.plotting.layout import layered_layout
from icdh.plotting.names import box_sizes
from icdh.report import drawing

MOST_CURVES, MOST_EFFECTS, MOST_POINTS, MOST_ROWS = 60, 40, 250, 300
POINTS_OF_A_CURVE = 41
WIDTHS = (1.2, 5.0)  # width of the lines of the weakest and the strongest edge
STANDARD_ERRORS = 3.0
MOMENTS = ("mean", "std", "low", "median", "high")


def findings(
    model: Any,
    X: Any = None,
    *,
    check: Any = None,
    notes: Sequence[str] = (),
    command: str = "",
    title: str = "",
    doubtful: Any = None,
    doubt: str = "",
) -> dict[str, Any]:
    """Return the facts of a report; arguments as in `icdh.StructuralModel.report`."""
    names = [str(name) for name in model.names]
    table = None if X is None else model.as_table(X)
    scaled = None if X is None else model.scaled(X)
    rows = drawn(model, 1000, np.random.default_rng(0)).scaled if scaled is None else scaled
    residuals = None if scaled is None else model.standardised_residuals(scaled)
    checks = None if residuals is None else _checks(model, scaled, residuals)
    edges = _edges(model, names, rows, doubtful, _records(model, check))
    return {
        "title": title or f"Causal graph of {len(names)} variables",
        "n_variables": len(names),
        "n_observations": model.about.get("n_observations"),
        "table": None if table is None else _table(table, names),
        "notes": list(notes),
        "unit": weight_unit(model),
        "graph": _graph(model, names),
        "edges": edges,
        "has_record": any(edge["record"] for edge in edges),
        "doubt": doubt if any(edge["doubtful"] for edge in edges) else "",
        "n_curves": min(len(edges), MOST_CURVES),
        "has_probability": model.edge_probability is not None,
        "checks": checks,
        "check": None if check is None else check.to_dict(),
        "effects": [effect._asdict() for effect in model.effects()[:MOST_EFFECTS]],
        "assumptions": _assumptions(model, names, table, scaled, residuals, checks),
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
    layout = layered_layout(model.adjacency, box_sizes(names))
    strength = np.abs(model.adjacency) / (np.abs(model.adjacency).max(initial=0.0) or 1.0)
    widths = {edge: f"{WIDTHS[0] + (WIDTHS[1] - WIDTHS[0]) * strength[edge]:.2f}" for edge in layout.routes}
    found = drawing.graph(layout, widths, names)
    texts = {(i, j): short(abs(model.adjacency[i, j])) for i, j in _strongest_first(model)}
    places = drawing.strengths(layout, texts)
    for edge, own in found["edges"].items():
        own["strength"] = texts[edge] if edge in places else ""
        own["at"] = places.get(edge, ("0", "0"))
    for node, name in zip(found["nodes"], names, strict=True):
        node["name"] = name
    found["edges"] = [found["edges"][tuple(edge)] for edge in _strongest_first(model)]
    return found


def _records(model, check):
    """Return the track records of arrows, which were counted of arrows of the search alone."""
    if check is None or weight_unit(model) != "nats":
        return {}
    return {(edge.cause, edge.effect): edge.track_record for edge in check.edges}


def _edges(model, names, rows, doubtful, records):
    probability = model.edge_probability
    labels = {n for n, own in enumerate(model.conditionals) if is_of_labels(own)}
    shown = rows[:, np.linspace(0, rows.shape[1] - 1, min(rows.shape[1], MOST_ROWS)).astype(int)]
    return [
        {
            "cause": names[i],
            "effect": names[j],
            "weight": float(model.adjacency[i, j]),
            "probability": None if probability is None else float(probability[i, j]),
            "doubtful": doubtful is not None and bool(doubtful[i, j]),
            "record": records.get((model.names[i], model.names[j])),
            "curve": _curve(model, shown, i, j) if k < MOST_CURVES and not {i, j} & labels else None,
        }
        for k, (i, j) in enumerate(_strongest_first(model))
    ]


def _curve(model, rows, cause, effect):
    at, mean, spread = averaged(model, rows, cause, effect)
    x, y = (model.scaling.undo_variable(node, rows[node][:MOST_POINTS]) for node in (cause, effect))
    at, mean = model.scaling.undo_variable(cause, at), model.scaling.undo_variable(effect, mean)
    return drawing.curve(x, y, at, mean, spread * model.scaling.scale[effect])


def averaged(model: Any, rows: np.ndarray, cause: int, effect: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return places along a cause, and mean and spread of an effect there, averaged over scaled rows, shape (N, M).

    The other causes stay as they are in the rows; of spreads the mean square is taken.
    """
    at = np.linspace(*np.quantile(rows[cause], [0.01, 0.99]), POINTS_OF_A_CURVE)
    mean, spread = np.empty(at.size), np.empty(at.size)
    values = rows.copy()
    for k, value in enumerate(at):
        values[cause] = value
        means, scales = model.given_causes(effect, values)
        mean[k], spread[k] = means.mean(), np.sqrt(np.square(scales).mean())
    return at, mean, spread


def _checks(model, scaled, residuals):
    """Return the residuals of every variable beside the normal distribution, and against its causes."""
    from scipy.stats import norm

    M = residuals.shape[1]
    ranks = np.linspace(0, M - 1, min(M, MOST_POINTS)).astype(int)
    expected = norm.ppf((ranks + 0.5) / M)
    found = []
    for node, own in enumerate(residuals):
        causes = np.flatnonzero(model.adjacency[:, node])
        location = [_rank_correlation(own, scaled[cause]) for cause in causes]
        scale = [_rank_correlation(np.abs(own), scaled[cause]) for cause in causes]
        found.append(
            {
                "name": str(model.names[node]),
                "quantiles": drawing.scatter(expected, np.sort(own)[ranks], diagonal=True),
                "deviation": float(own.std()),
                "tails": float((np.abs(own) > 3.0).mean()),
                "location": max(location, key=abs, default=None),
                "scale": max(scale, key=abs, default=None),
                "doubtful": bool(np.abs([*location, *scale]).max(initial=0.0) > STANDARD_ERRORS / np.sqrt(M)),
            }
        )
    return found


def _rank_correlation(a, b):
    """Return Spearman's rank correlation, zero where one side does not vary."""
    from scipy.stats import rankdata

    a, b = rankdata(a), rankdata(b)
    spread = a.std() * b.std()
    return float(((a - a.mean()) * (b - b.mean())).mean() / spread) if spread > 0.0 else 0.0


def _assumptions(model, names, table, scaled, residuals, checks):
    """Return every assumption with what in the table speaks against it."""
    unchecked = "not checked: the report was made without the table"
    rows = [
        {
            "assumption": "The graph has no directed cycles.",
            "against": "cannot be checked on such data; think of feedback between variables",
            "doubtful": False,
        }
    ]

    def add(assumption, check):
        if scaled is None:
            rows.append({"assumption": assumption, "against": unchecked, "doubtful": False})
        else:
            warnings, otherwise = check()
            rows.append({"assumption": assumption, "against": warnings or otherwise, "doubtful": bool(warnings)})

    add("No common cause of two variables is missing from the table.", lambda: _hidden_causes(names, residuals))
    add("The noise of a variable does not depend on its causes once scaled.", lambda: _dependences(checks))
    add(_noise_assumption(model), lambda: _shape_of_noise(model, names, residuals))
    add("Variables are continuous.", lambda: _discrete(table))
    add("Rows are independent of one another.", lambda: _memory(names, residuals))
    add("There are enough rows for as many variables.", lambda: _rows(scaled))
    return rows


def _noise_assumption(model):
    own = any(type(noise).__name__ == "Empirical" for noise in model.noise)
    return "The noise has the shape of the residuals." if own else "The noise is Gaussian."


def _hidden_causes(names, residuals):
    M = residuals.shape[1]
    pairs = [
        (_rank_correlation(residuals[i], residuals[j]), names[i], names[j])
        for i in range(len(names))
        for j in range(i + 1, len(names))
    ]
    # As many trials as pairs: a higher level keeps chance as rare as in the other checks.
    level = (STANDARD_ERRORS + np.sqrt(2.0 * np.log(max(len(pairs), 1)))) / np.sqrt(M)
    found = sorted((pair for pair in pairs if abs(pair[0]) > level), key=lambda pair: -abs(pair[0]))
    text = ", ".join(f"{a} and {b} ({r:.2f})" for r, a, b in found[:5])
    more = f" and {len(found) - 5} more pairs" if len(found) > 5 else ""
    return text and f"residuals of {text}{more} are correlated", "the residuals of no pair are correlated"


def _dependences(checks):
    text = ", ".join(check["name"] for check in checks if check["doubtful"])
    return text and f"residuals of {text} still depend on a cause", "no residuals depend on a cause by rank correlation"


def _shape_of_noise(model, names, residuals):
    if "shape" in _noise_assumption(model):
        return "", "whatever that is; the likelihood is still that of Gaussian noise"
    M = residuals.shape[1]
    spread = np.where(residuals.std(axis=1) > 0, residuals.std(axis=1), 1.0)
    z = (residuals - residuals.mean(axis=1, keepdims=True)) / spread[:, np.newaxis]
    skewed = np.abs((z**3).mean(axis=1)) > STANDARD_ERRORS * np.sqrt(6.0 / M)
    tailed = np.abs((z**4).mean(axis=1) - 3.0) > STANDARD_ERRORS * np.sqrt(24.0 / M)
    text = ", ".join(name for name, a, b in zip(names, skewed, tailed, strict=True) if a or b)
    return text and f"residuals of {text} are skewed or have other tails", "no residuals are skewed or heavy-tailed"


def _discrete(table):
    text = ", ".join(map(str, table.of_kind(*LEVEL_KINDS, "categorical")))
    return text and f"{text} hold few different values", "all columns hold many different values"


def _memory(names, residuals):
    M = residuals.shape[1]
    if M < 3:
        return "", "too few rows to say"
    lagged = [_rank_correlation(own[1:], own[:-1]) for own in residuals]
    text = ", ".join(f"{n} ({r:.2f})" for n, r in zip(names, lagged, strict=True) if abs(r) > 4.0 / np.sqrt(M))
    return text and f"residuals of {text} resemble those of the row before", "no row resembles the one before"


def _rows(scaled):
    N, M = scaled.shape
    warnings = f"{M} rows for {N} variables are few" if M < 20 * N else ""
    return warnings, f"{M} rows for {N} variables"


def _versions():
    found = {"icdh": __version__, "Python": platform.python_version()}
    for package in ("numpy", "scipy", "numba"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
