"""Small pictures as the strings of numbers that SVG wants; what text goes with them is the template's business."""

from collections.abc import Sequence

import numpy as np

from icdh import graphs
from icdh._ground.arrays import Floats
from icdh._ground.labels import short
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


def graph(A: Floats, names: Sequence[str], nats: Sequence[float] = ()) -> dict[str, object]:
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
    labels = [*names[:N], *(f"hidden, {short(own)} nats" for own in nats)]
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
