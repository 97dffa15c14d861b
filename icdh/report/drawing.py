"""Small pictures as the strings of numbers that SVG wants; what text goes with them is the template's business."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from icdh.plotting.labels import label_places
from icdh.plotting.layout import bends, bounds
from icdh.plotting.names import LINE, lines_of

WIDTH, HEIGHT = 260.0, 170.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 8.0, 8.0, 30.0
INCH = 96.0  # points of the page in an inch of the picture


class Panel:
    """A pair of axes with room for ticks, fitted to data.

    Parameters
    ----------
    x, y : array_like
        All values that must fit, each of any shape.
    """

    def __init__(self, x: np.ndarray | tuple, y: np.ndarray | tuple):
        self.x, self.y = _limits(x), _limits(y)

    def points(self, x: np.ndarray, y: np.ndarray) -> list[tuple[str, str]]:
        """Return the coordinates of points."""
        return [(f"{a:.1f}", f"{b:.1f}") for a, b in zip(self._across(x), self._up(y), strict=True)]

    def line(self, x: np.ndarray, y: np.ndarray) -> str:
        """Return the points of a polyline."""
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(self._across(x), self._up(y), strict=True))

    def ticks(self, levels: np.ndarray | None = None) -> dict[str, list]:
        """Return places and labels of a few round numbers along both axes, or of levels along the first."""
        x, y = _round_numbers(*self.x) if levels is None else levels, _round_numbers(*self.y)
        return {
            "x": [(f"{a:.1f}", f"{value:.4g}") for a, value in zip(self._across(x), x, strict=True)],
            "y": [(f"{b:.1f}", f"{value:.4g}") for b, value in zip(self._up(y), y, strict=True)],
        }

    def _across(self, x):
        return LEFT + (WIDTH - LEFT - RIGHT) * _share(x, self.x)

    def _up(self, y):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * _share(y, self.y)


def _limits(values):
    values = np.concatenate([np.ravel(part) for part in values]) if isinstance(values, tuple) else np.ravel(values)
    low, high = float(values.min()), float(values.max())
    margin = 0.04 * (high - low) or max(abs(high), 1.0)
    return low - margin, high + margin


def _share(values, limits):
    low, high = limits
    return (np.asarray(values, dtype=float) - low) / (high - low)


def _round_numbers(low, high):
    """Return three to six multiples of 1, 2 or 5 times a power of ten between two numbers."""
    step = 10.0 ** np.floor(np.log10((high - low) / 3.0))
    step *= next(factor for factor in (5.0, 2.0, 1.0) if (high - low) / (step * factor) >= 3.0)
    return step * np.arange(np.ceil(low / step), np.floor(high / step) + 1.0) + 0.0  # no negative zero


def curve(
    x: np.ndarray, y: np.ndarray, at: np.ndarray, mean: np.ndarray, spread: np.ndarray, few: bool = False
) -> dict[str, Any]:
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
    panel = Panel((x, at), (y, low, high))
    if few:
        marks = [panel.points(at, part) for part in (mean, low, high)]
        bars = [(*middle, bottom, top) for middle, (_, bottom), (_, top) in zip(*marks, strict=True)]
        return {"points": panel.points(x, y), "bars": bars, "line": "", "band": "", "ticks": panel.ticks(at)}
    band = panel.line(np.append(at, at[::-1]), np.append(high, low[::-1]))
    line = panel.line(at, mean)
    return {"points": panel.points(x, y), "bars": [], "line": line, "band": band, "ticks": panel.ticks()}


def graph(layout: Any, widths: Mapping, labels: list[str]) -> dict[str, Any]:
    """Return nodes and edges of a drawn DAG.

    Parameters
    ----------
    layout : icdh.plotting.Layout
        Where variables and edges are, in inches; y points upwards.
    widths : mapping
        For every edge its width.
    labels : list of str
        N labels.
    """
    scale = np.array([INCH, -INCH])
    low, high = bounds(layout)
    nodes = [
        {
            "left": f"{x - width / 2:.1f}",
            "top": f"{y - height / 2:.1f}",
            "width": f"{width:.1f}",
            "height": f"{height:.1f}",
            "x": f"{x:.1f}",
            "lines": [(f"{y + LINE * INCH * (k - (len(lines) - 1) / 2):.1f}", line) for k, line in enumerate(lines)],
        }
        for (x, y), (width, height), lines in zip(
            layout.positions * scale, layout.sizes * INCH, map(lines_of, labels), strict=True
        )
    ]
    edges = {edge: {"path": _path(route * scale), "width": widths[edge]} for edge, route in layout.routes.items()}
    corner, size = (low[0] * INCH, -high[1] * INCH), (high - low) * INCH
    return {"nodes": nodes, "edges": edges, "box": " ".join(f"{number:.1f}" for number in (*corner, *size))}


def strengths(layout: Any, texts: Mapping) -> dict:
    """Return the places of the strengths of edges for which there is room, as text.

    Parameters
    ----------
    layout : icdh.plotting.Layout
        Where variables and edges are.
    texts : mapping
        The text of every edge.
    """
    return {edge: (f"{x * INCH:.1f}", f"{-y * INCH:.1f}") for edge, (x, y) in label_places(layout, texts).items()}


def _path(route):
    """Return the line of an edge, straight or in curves."""
    if len(route) == 2:
        return f"M{_pair(route[0])} L{_pair(route[1])}"
    curves = (f"C{_pair(first)} {_pair(second)} {_pair(end)}" for first, second, end in bends(route))
    return f"M{_pair(route[0])} {' '.join(curves)}"


def _pair(point):
    return f"{point[0]:.1f},{point[1]:.1f}"
