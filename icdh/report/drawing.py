"""Small pictures as the strings of numbers that SVG wants; what text goes with them is the template's business."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from icdh import graphs
from icdh._ground.arrays import Floats
from icdh._ground.labels import short
from icdh.plotting.graph import edge_width
from icdh.plotting.layout import bends, bounds, label_places, layered_layout
from icdh.plotting.style import LOOK, box_sizes, lines_of


@dataclass(frozen=True)
class Page:
    """Sizes of a chart, in points of the page, and of the graph."""

    width: float = 260.0
    height: float = 170.0
    left: float = 44.0
    right: float = 8.0
    top: float = 8.0
    bottom: float = 30.0
    inch: float = 96.0  # points in an inch of the graph


PAGE = Page()


class Panel:
    """A pair of axes with room for ticks, fitted to data.

    Parameters
    ----------
    x, y : sequence of ndarray
        All values that must fit, each of any shape.
    """

    def __init__(self, x: Sequence[Floats], y: Sequence[Floats]):
        self.x, self.y = _limits(x), _limits(y)

    def points(self, x: Floats, y: Floats) -> list[tuple[str, str]]:
        """Return the coordinates of points."""
        return [(f"{a:.1f}", f"{b:.1f}") for a, b in zip(self._across(x), self._up(y), strict=True)]

    def line(self, x: Floats, y: Floats) -> str:
        """Return the points of a polyline."""
        return " ".join(map(",".join, self.points(x, y)))

    def ticks(self, levels: Floats | None = None) -> dict[str, list[tuple[str, str]]]:
        """Return places and labels of a few round numbers along both axes, or of levels along the first."""
        x, y = _round_numbers(*self.x) if levels is None else levels, _round_numbers(*self.y)
        return {
            "x": [(f"{a:.1f}", f"{value:.4g}") for a, value in zip(self._across(x), x, strict=True)],
            "y": [(f"{b:.1f}", f"{value:.4g}") for b, value in zip(self._up(y), y, strict=True)],
        }

    def _across(self, x: Floats) -> Floats:
        return np.interp(x, self.x, (PAGE.left, PAGE.width - PAGE.right))

    def _up(self, y: Floats) -> Floats:
        return np.interp(y, self.y, (PAGE.height - PAGE.bottom, PAGE.top))


def _limits(parts: Sequence[Floats]) -> tuple[float, float]:
    values = np.concatenate([np.ravel(part) for part in parts])
    low, high = float(values.min()), float(values.max())
    margin = 0.04 * (high - low) or max(abs(high), 1.0)
    return low - margin, high + margin


def _round_numbers(low: float, high: float) -> Floats:
    """Return three to six multiples of 1, 2 or 5 times a power of ten between two numbers."""
    step = 10.0 ** np.floor(np.log10((high - low) / 3.0))
    step *= next(factor for factor in (5.0, 2.0, 1.0) if (high - low) / (step * factor) >= 3.0)
    numbers: Floats = step * np.arange(np.ceil(low / step), np.floor(high / step) + 1.0) + 0.0  # no negative zero
    return numbers


def curve(x: Floats, y: Floats, at: Floats, mean: Floats, spread: Floats, few: bool = False) -> dict[str, object]:
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
    drawn: dict[str, object] = {"points": panel.points(x, y), "bars": [], "line": "", "band": ""}
    if few:
        ends = zip(panel.points(at, mean), panel.points(at, low), panel.points(at, high), strict=True)
        bars = [(*middle, bottom, top) for middle, (_, bottom), (_, top) in ends]
        return drawn | {"bars": bars, "ticks": panel.ticks(at)}
    band = panel.line(np.append(at, at[::-1]), np.append(high, low[::-1]))
    return drawn | {"line": panel.line(at, mean), "band": band, "ticks": panel.ticks()}


def graph(A: Floats, names: Sequence[str]) -> dict[str, object]:
    """Return nodes and edges of a drawn DAG, the strongest edge first.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.
    names : sequence of str
        N labels.
    """
    layout = layered_layout(A, box_sizes(names), 11.8)  # the width of the page on a desktop
    strength = np.abs(A)
    order = graphs.strongest_first(A)
    texts = {edge: short(strength[edge]) for edge in order}
    places = label_places(layout, texts)
    low, high = bounds(layout)
    left, top = _point((low[0], high[1]))
    width, height = (high - low) * PAGE.inch
    edges = [
        {
            "path": _path(layout.routes[edge]),
            "width": f"{1.5 * edge_width(strength[edge], strength.max()):.2f}",
            "strength": texts[edge] if edge in places else "",
            "at": _point(places.get(edge, (0.0, 0.0))),
        }
        for edge in order
    ]
    nodes = [_node(*box) for box in zip(names, layout.positions, layout.sizes, strict=True)]
    sizes = {"widest": round(2.0 * width), "least": round(0.85 * width)}  # a small graph grows, a wide one scrolls
    return {"nodes": nodes, "edges": edges, "box": f"{left} {top} {width:.1f} {height:.1f}", **sizes}


def _node(name: str, place: Floats, size: Floats) -> dict[str, object]:
    lines, half = lines_of(name), size / 2
    (left, top), (width, height) = _point(place + [-half[0], half[1]]), size * PAGE.inch
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
    return f"{place[0] * PAGE.inch:.1f}", f"{-place[1] * PAGE.inch:.1f}"
