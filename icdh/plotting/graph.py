"""A picture of a DAG: causes before their effects, stronger edges wider."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from icdh import graphs
from icdh._labels import printable
from icdh.exceptions import import_extra
from icdh.plotting.layout import graph_layout

NODE_RADIUS = 0.29  # in units of the layout
EDGE_COLOR = "#44546a"
MARGIN = 0.5  # of the picture, in units of the layout, an inch each
EDGE_WIDTHS = (0.7, 2.6)  # points, of the weakest and the strongest edge


class EdgeStyle(NamedTuple):
    """How the line of an edge is drawn: its colour, its dashes as matplotlib names them, its width in points.

    Without a width, that tells how strong the edge is.
    """

    color: str = EDGE_COLOR
    line: object = "-"
    width: float | None = None


def plot_graph(
    A: np.ndarray, names: Sequence[str], ax: Any = None, *, styles: Mapping[tuple[int, int], EdgeStyle] | None = None
):
    """Draw a DAG: causes above their effects, or, where that gets too deep, clockwise on a circle in causal order.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix of a DAG; ``A[i, j] != 0`` is the edge i -> j, its strength the width of the arrow.
    names : sequence of str
        N labels.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure, which no global state of matplotlib refers to.
    styles : mapping, optional
        The style of edges (i, j) that are not to be drawn as all others.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; its ``savefig`` writes it.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ValueError
        If the graph has a cycle, or the number of names is not N.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.plotting import plot_graph
    >>> A = np.array([[0.0, 0.9, 0.4], [0.0, 0.0, 0.7], [0.0, 0.0, 0.0]])
    >>> [text.get_text() for text in plot_graph(A, ["dose", "level", "answer"]).axes[0].texts]
    ['dose', 'level', 'answer']
    """
    A = graphs.check_adjacency(A)
    if len(names) != len(A):
        raise ValueError(f"names must hold {len(A)} labels, one a variable; got {len(names)}")
    layout = graph_layout(A)
    if ax is None:
        ax = _new_axes(layout)
    _draw_edges(ax, A, layout.routes, styles or {})
    _draw_nodes(ax, layout.positions, names)
    ax.set_axis_off()
    ax.set_aspect("equal")
    low, high = _box(layout)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    return ax.figure


def _box(layout):
    """Return the lower left and the upper right corner of the picture."""
    points = np.concatenate([layout.positions, *layout.routes.values(), np.zeros((1, 2))])
    return points.min(axis=0) - MARGIN, points.max(axis=0) + MARGIN


def _new_axes(layout):
    low, high = _box(layout)
    figure = import_extra("matplotlib.figure", "plot").Figure(figsize=high - low)
    return figure.add_axes((0.0, 0.0, 1.0, 1.0))


def edge_width(strength: float, strongest: float) -> float:
    """Return the width, in points, of the line of an edge."""
    return EDGE_WIDTHS[0] + strength / strongest * (EDGE_WIDTHS[1] - EDGE_WIDTHS[0])


def _draw_edges(ax, A, routes, styles):
    strongest = np.abs(A).max(initial=0.0)
    for i, j in graphs.strongest_first(A):
        style = styles.get((i, j), EdgeStyle())
        width = style.width or edge_width(abs(A[i, j]), strongest)
        for patch in _arrow(_between_circles(routes[i, j]), width, style):
            ax.add_patch(patch)


def _arrow(route, width, style):
    """Yield the parts of an arrow; of a dashed one the head is a part of its own, which is not."""
    patches = import_extra("matplotlib.patches", "plot")
    path = _smooth_path(route)
    if style.line != "-":
        yield patches.PathPatch(path, fill=False, linewidth=width, linestyle=style.line, edgecolor=style.color)
        end, before = path.vertices[-1], path.vertices[-2]
        path = _smooth_path(np.array([end + 0.05 * (before - end) / np.linalg.norm(before - end), end]))
    yield patches.FancyArrowPatch(
        path=path,
        arrowstyle=f"-|>,head_length={3 + width},head_width={1.5 + 0.6 * width}",
        linewidth=width,
        edgecolor=style.color,
        facecolor=style.color,
        zorder=1,
    )


def _between_circles(route):
    """Return the route from where it leaves the circle of the cause to where it reaches that of the effect."""
    route = route.copy()
    for end, inner in ((0, 1), (-1, -2)):
        step = route[inner] - route[end]
        route[end] += (NODE_RADIUS + 0.01) * step / np.linalg.norm(step)
    return route


def _smooth_path(route):
    """Return the straight line of two points, or the Catmull-Rom spline, as cubic curves, through all of more."""
    path = import_extra("matplotlib.path", "plot").Path
    if len(route) == 2:
        return path(route)
    handles = np.gradient(route, axis=0) / 3
    curves = zip(route[:-1] + handles[:-1], route[1:] - handles[1:], route[1:], strict=True)
    vertices = [route[0], *(point for curve in curves for point in curve)]
    return path(vertices, [path.MOVETO] + [path.CURVE4] * (len(vertices) - 1))


def _draw_nodes(ax, positions, names):
    patches = import_extra("matplotlib.patches", "plot")
    for position, name in zip(positions, map(printable, names), strict=True):
        ax.add_patch(patches.Circle(position, NODE_RADIUS, facecolor="#eaf1fb", edgecolor="#2f5597", zorder=2))
        size = min(10.0, 60.0 / max(len(name), 1))
        ax.text(*position, name, ha="center", va="center", fontsize=size, zorder=3, parse_math=False)
