"""HTML pages of what was learned and of one effect, without links to others. Needs the extra ``[report]``."""

import io
import math
import os
import platform
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import fromstring, tostring

import numba
import numpy as np
import scipy

from icdh import graphs
from icdh._model.effects import drawn
from icdh._model.export import weight_unit
from icdh._model.structural import StructuralModel
from icdh._table.table import Table
from icdh._utils.arrays import Floats
from icdh._utils.labels import printable
from icdh._version import __version__
from icdh.diagnostics.result import (
    Column,
    EdgeCheck,
    ModelCheck,
    edge_columns,
    edge_records,
    legend,
    survival,
    unweighed,
)
from icdh.exceptions import import_extra
from icdh.files import replace_on_success
from icdh.plotting.effect import FEW_VALUES, plot_curve
from icdh.plotting.graph import plot_model
from icdh.uncertainty.ensemble import GraphEnsemble

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from icdh._effect.result import Effect

MOST_CURVES = 60
__all__ = ["findings", "write_answer", "write_page"]


def svg_of(figure: "Figure", **attributes: str) -> str:
    """Return a figure as an element of HTML, without namespaces, and without ids but those of arrows and variables.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The picture.
    **attributes : str
        Attributes of the element.
    """
    stream, how = io.StringIO(), {"svg.fonttype": "none", "svg.hashsalt": "icdh"}
    with import_extra("matplotlib", "report").rc_context(how), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # a browser has other fonts
        figure.savefig(stream, format="svg", transparent=True)
    root = fromstring(stream.getvalue())
    root.attrib = {"viewBox": root.attrib["viewBox"], **attributes}
    root[:] = [part for part in root if part.tag.endswith("}g")]
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        known = {key.rpartition("}")[2]: _of_page(text) for key, text in element.items() if key != "clip-path"}
        if element.tag == "g" and not re.match("(edge|node) ", known.get("id", "")):
            known.pop("id", None)
        element.attrib = known
    for parent in root.iter("g"):
        for point in parent.iterfind("use"):  # hundreds of one style
            parent.set("style", point.attrib.pop("style", parent.get("style", "")))
    return tostring(root, "unicode")


def _of_page(attribute: str) -> str:
    """Return an attribute in the font of the page."""
    return re.sub(r"font: ([\d.]+px) [^;]*", r"font-size: \1", re.sub("font-family: [^;]*; ", "", attribute))


def findings(
    model: StructuralModel,
    X: object = None,
    *,
    ensemble: GraphEnsemble | None = None,
    check: ModelCheck | None = None,
    notes: Sequence[str] = (),
    command: str = "",
    title: str = "",
) -> dict[str, object]:
    """Return the facts of a report; arguments as in `icdh.StructuralModel.report`."""
    if ensemble is not None:
        model = model.with_edge_probability(ensemble.edge_probability)
    names = [str(name) for name in model.names]
    table = None if X is None else model.columns.as_table(X)
    rows = drawn(model, 1000, np.random.default_rng(0)).scaled if X is None else model.scaled(X)
    checked = {} if check is None else {(edge.cause, edge.effect): edge for edge in check.edges}
    known = edge_records(model)
    records = [replace(checked.get((edge.cause, edge.effect), edge), probability=edge.probability) for edge in known]
    versions = {"icdh": __version__, "Python": platform.python_version()}
    versions |= {package.__name__: package.__version__ for package in (np, scipy, numba)}
    unit = weight_unit(model)
    _, _, *columns = edge_columns(records, unit)
    edges = list(_edges(model, rows, records, columns))
    return {
        "title": title or f"Causal graph of {len(names)} variables",
        "n_variables": len(names),
        "n_observations": model.about.get("n_observations"),
        "table": None if table is None else list(_table(table, names)),
        "n_rows": None if table is None else table.n_observations,
        "notes": list(notes),
        "graph": _graph(model, records),
        "nodes": names,
        "edges": edges,
        "figures": [column.heading for column in columns],
        "legend": legend(records, unit),
        "unweighed": unweighed(records, unit),
        "widths": "stronger" if model.edge_evidence.probability is None else "more probable",
        "beliefs": [] if ensemble is None else ensemble.edges(0.05),
        "n_curves": min(len(edges), MOST_CURVES),
        "check": None if check is None else check.to_dict(),
        "effects": [effect._asdict() for effect in model.effects()[:40]],
        "assumptions": _assumptions(model, table, check),
        "about": model.about,
        "command": command,
        "versions": versions,
    }


def _table(table: Table, names: list[str]) -> Iterator[dict[str, object]]:
    """Yield a dict of every variable: its kind, and its moments or the shares of its labels."""
    quantiles = np.quantile(table.values, [0.0, 0.5, 1.0], axis=1)
    moments = list(zip(table.values.mean(axis=1), table.values.std(axis=1), *quantiles, strict=True))
    for k, (name, kind) in enumerate(zip(names, table.kinds, strict=True)):
        labels = table.categories[k].labels if k in table.categories else ()
        shares = [f"{label} {np.mean(table.values[k] == code):.0%}" for code, label in enumerate(labels)]
        yield {"name": name, "kind": kind, "moments": moments[k], "labels": shares}


def _graph(model: StructuralModel, records: list[EdgeCheck]) -> dict[str, object]:
    """Return the drawn graph, and whether it needs a page in landscape on paper."""
    figure = plot_model(model, records=records, shown_edges=None)
    width, height = figure.get_size_inches() * 96.0  # points of the page
    min_width = 0.85 * width  # a small graph grows, a wide one scrolls
    style = f"--most: {2.0 * width:.0f}px; --least: {min_width:.0f}px"
    svg = svg_of(figure, role="group", style=style, **{"aria-label": "The graph; its arrows are listed below"})
    return {"svg": svg, "is_landscape": bool(min_width > 700.0 and width > height)}


def _edges(
    model: StructuralModel, rows: Floats, records: list[EdgeCheck], columns: list[Column]
) -> Iterator[dict[str, object]]:
    """Yield the edges, each with its row of the list and its curve."""
    shown = rows[:, np.linspace(0, rows.shape[1] - 1, min(rows.shape[1], 300)).astype(int)]
    unit = "nats" if weight_unit(model) == "nats" else "(weight)"
    probability = model.edge_evidence.probability
    for k, ((i, j), record) in enumerate(zip(graphs.strongest_first(model.adjacency), records, strict=True)):
        warns = {"strength": record.weak, "if turned": record.close, "if hidden": record.replaceable, "": record.marks}
        chance = "" if probability is None else f", probability {probability[i, j]:.2f}"
        yield {
            "cause": str(record.cause),
            "effect": str(record.effect),
            "drawn": f"edge {i} {j}",
            "says": f"{record.cause} → {record.effect}: {columns[0].cells[k]} {unit}{chance}",
            "cells": [(column.cells[k], bool(warns.get(column.heading))) for column in columns],
            "curve": _curve(model, shown, i, j) if k < MOST_CURVES and not {i, j} & model.nominal else "",
        }


def _curve(model: StructuralModel, rows: Floats, cause: int, effect: int) -> str:
    at, mean, spread = averaged(model, rows, cause, effect)
    x, y = (model.columns.scaling.undo(rows[node][:250], node) for node in (cause, effect))
    names = str(model.names[cause]), str(model.names[effect])
    figure = plot_curve(x, y, model.columns.scaling.undo(at, cause), mean, spread, names)
    return svg_of(figure, role="img", **{"aria-label": f"{names[1]} against {names[0]}"})


def averaged(model: StructuralModel, rows: Floats, cause: int, effect: int) -> tuple[Floats, Floats, Floats]:
    """Return scaled places along a cause, and mean and spread of an effect in its units there, averaged over rows.

    The rows, of shape (N, M), are scaled. The other causes stay as they are in the rows; of spreads the mean square is
    taken. A cause of few values has places at these alone.
    """
    at = np.unique(rows[cause])
    if at.size > FEW_VALUES:
        low, high = np.quantile(rows[cause], [0.01, 0.99]).tolist()
        at = np.linspace(low, high, 41)
    mean, spread = np.empty(at.size), np.empty(at.size)
    values = rows.copy()
    for k, value in enumerate(at):
        values[cause] = value
        means, scales = model.moments(effect, model.others_held(effect, values))
        mean[k], spread[k] = means.mean(), np.sqrt(np.square(scales).mean())
    return at, mean, spread


def _assumptions(model: StructuralModel, table: Table | None, check: ModelCheck | None) -> list[dict[str, object]]:
    """Return every assumption with what is known of it; all tests are those of `icdh.check`."""
    hidden, residuals = "cannot be tested on this graph", "not checked: the report was made without a check"
    noise, odd = residuals, []
    shapes = {law.errors.name for given in model.conditionals if (law := given.law.density) is not None}
    estimated = bool(shapes - {"gaussian"})
    if check is not None:
        hidden = survival(check.edges) or hidden
        odd = [] if estimated else [str(node.name) for node in check.nodes if not node.gaussian]
        shape = f"residuals of {', '.join(odd)} are not Gaussian" if odd else "no residual denies it"
        residuals, noise = check.verdict, "by construction" if estimated else shape
    rejected = check is not None and check.rejected
    rows = [
        ("The graph has no directed cycles.", "cannot be tested on such data; think of feedback", False),
        ("No common cause of two variables is missing.", hidden, False),
        ("Residuals are independent of all that a variable does not cause.", residuals, rejected),
    ]
    if not all(given.law.is_discrete for given in model.conditionals):
        shape = "The noise has the density that the residuals ask for." if estimated else "The noise is Gaussian."
        rows.append((shape, noise, bool(odd)))
    if table is not None:
        M, N = table.n_observations, table.n_variables
        size = min(model.about.get("n_effective", M), M)
        counted = f"{M} rows for {N} variables" + f", effective sample size {size:,.0f}" * (size < M)
        is_short = size < 20 * N
        rows.append(("There are enough rows.", counted + " are few" * is_short, is_short))
    return [dict(zip(("assumption", "against", "doubtful"), row, strict=True)) for row in rows]


def write_page(path: str | os.PathLike[str], facts: Mapping[str, object], template: str = "report.html") -> None:
    """Write the page; an older file stays as it was if that fails.

    Parameters
    ----------
    path : str or Path
        The file.
    facts : mapping
        What the template asks for: of a report, what `findings` returns.
    template : str
        The file that has the text of the page.

    Raises
    ------
    MissingExtraError, OSError
        If Jinja2 is not installed, or the file cannot be written.
    """
    jinja2 = import_extra("jinja2", "report")
    loader, strict = jinja2.FileSystemLoader(Path(__file__).parent), jinja2.StrictUndefined
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=strict, trim_blocks=True)
    environment.filters.update(number=_number, printable=printable)
    text = environment.get_template(template).render(facts)
    with replace_on_success(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")


def write_answer(path: str | os.PathLike[str], effect: "Effect") -> None:
    """Write a page about one effect: the answer in words, its curve or estimates, and what a hidden cause would do.

    Parameters
    ----------
    path : str or Path
        The file.
    effect : icdh.Effect
        The answer.

    Raises
    ------
    MissingExtraError, OSError
        If Jinja2 or matplotlib is not installed, or the file cannot be written.
    """
    label = f"The effect of {effect.cause} on {effect.effect}"
    picture = svg_of(effect.plot(), role="img", **{"aria-label": label})
    write_page(path, {"effect": effect, "picture": picture}, "effect.html")


def _number(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.4g}" if math.isfinite(value) else "undefined"
