"""A picture of a DAG: causes before their effects, stronger edges wider. Needs the extra ``[plot]``."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from icdh import graphs
from icdh.exceptions import import_extra
from icdh.files import check_writable, replace_on_success

NODE_RADIUS = 0.29  # in units of the layout
WAYPOINT_WIDTH = 0.6  # the room that an edge takes when it crosses a row
EDGE_COLOR = "#44546a"
MARGIN = 0.5  # of the picture, in units of the layout, an inch each
EDGE_WIDTHS = (0.7, 2.6)  # points, of the weakest and the strongest edge
DEEPEST_LAYERS = 2.0  # more rows than this times sqrt(N) make a tangle: use the circle
SWEEPS = 12  # passes over the layers that shorten edges; the order settles after a few


def plot_graph(A: np.ndarray, names: Sequence[str], ax=None):
    """Draw a DAG: causes above their effects, or, where that gets too deep, clockwise on a circle in causal order.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix of a DAG; ``A[i, j] != 0`` is the edge i -> j, its strength the width of the arrow.
    names : sequence of str
        N labels.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure, which no global state of matplotlib refers to.

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
    """
    A = graphs.check_adjacency(A)
    if len(names) != len(A):
        raise ValueError(f"names must hold {len(A)} labels, one a variable; got {len(names)}")
    layout = _layout(A)
    if ax is None:
        ax = _new_axes(layout)
    _draw_edges(ax, A, layout.routes)
    _draw_nodes(ax, layout.positions, names)
    ax.set_axis_off()
    ax.set_aspect("equal")
    low, high = _box(layout)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    return ax.figure


def save_plot(path, A: np.ndarray, names: Sequence[str]) -> None:
    """Write the picture of a DAG; the extension of the path names the format (PNG, SVG, PDF).

    Parameters
    ----------
    path : str or Path
        The file.
    A : ndarray, shape (N, N)
        Weighted adjacency matrix of a DAG.
    names : sequence of str
        N labels.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ValueError
        If matplotlib does not know the extension, or the graph has a cycle.
    OSError
        If the file cannot be written; an older one then stays as it was.
    """
    save_figure(path, plot_graph(A, names))


def save_figure(path, figure) -> None:
    """Write a figure; the extension of the path names the format (PNG, SVG, PDF).

    Parameters
    ----------
    path : str or Path
        The file.
    figure : matplotlib.figure.Figure
        The picture.

    Raises
    ------
    MissingExtraError, ValueError, OSError
        As `save_plot`.
    """
    check_plot_path(path)
    with replace_on_success(path) as temporary:
        figure.savefig(temporary, dpi=150)


def check_plot_path(path) -> None:
    """Raise as `save_plot` would for this path, before any work is spent on the picture.

    Parameters
    ----------
    path : str or Path
        The file.

    Raises
    ------
    MissingExtraError, ValueError, OSError
        As `save_plot`.
    """
    formats = import_extra("matplotlib.backends.backend_agg", "plot").FigureCanvasAgg.get_supported_filetypes()
    if Path(path).suffix.lower().lstrip(".") not in formats:
        raise ValueError(f"{path}: pictures are written as {', '.join(formats)}; choose one of these extensions")
    check_writable(path)


def _layout(A):
    layout = layered_layout(A)
    depth = -layout.positions[:, 1].min(initial=0.0)
    return circular_layout(A) if depth > DEEPEST_LAYERS * np.sqrt(len(A)) else layout


class Layout(NamedTuple):
    """Where variables and edges are drawn.

    Attributes
    ----------
    positions : ndarray, shape (N, 2)
        x and y of the variables; neighbours are one apart.
    routes : dict
        For every edge (i, j) the points that it runs through, shape (k, 2), both its ends included.
    """

    positions: np.ndarray
    routes: dict


def layered_layout(A: np.ndarray) -> Layout:
    """Return a layout in which every cause is above its effects; variables without edges share the last row.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix of a DAG.

    Raises
    ------
    ValueError
        If the graph has a cycle.

    Notes
    -----
    An edge over several rows gets a waypoint in each row that it crosses, so that it runs between the variables there.
    Rows are ordered by the mean position of their neighbours.

    References
    ----------
    Sugiyama, Tagawa, Toda: "Methods for Visual Understanding of Hierarchical System Structures", IEEE Transactions
    on Systems, Man, and Cybernetics 11 (2), 1981.
    """
    edges = graphs.check_adjacency(A) != 0
    layer = _layers(edges, graphs.causal_order(A)).tolist()
    width = [1.0] * len(layer)
    chains = {}
    for i, j in np.argwhere(edges).tolist():
        waypoints = range(len(layer), len(layer) + layer[j] - layer[i] - 1)
        chains[i, j] = [i, *waypoints, j]
        layer += range(layer[i] + 1, layer[j])
        width += [WAYPOINT_WIDTH] * len(waypoints)
    x = _ordered_rows(np.array(layer, dtype=int), np.array(width), list(chains.values()))
    points = np.column_stack([x, -np.array(layer, dtype=float)])
    return Layout(points[: len(edges)], {edge: points[chain] for edge, chain in chains.items()})


def _ordered_rows(layer, width, chains):
    """Return the x of every point, each row centred on zero and ordered by the barycentres of its neighbours."""
    neighbours = [[] for _ in layer]
    for chain in chains:
        for upper, lower in pairwise(chain):
            neighbours[upper].append(lower)
            neighbours[lower].append(upper)
    rows = [np.flatnonzero(layer == k) for k in range(layer.max(initial=-1) + 1)]
    x = np.zeros(len(layer))
    for row in rows:
        x[row] = _spread(width[row])
    for _ in range(SWEEPS):
        for row in rows:
            wanted = [x[neighbours[i]].mean() if neighbours[i] else x[i] for i in row]
            ordered = row[np.argsort(wanted, kind="stable")]
            x[ordered] = _spread(width[ordered])
    return x


def _spread(width):
    """Return the centres of adjacent boxes of these widths, the whole centred on zero."""
    return np.cumsum(width) - width / 2 - width.sum() / 2


def circular_layout(A: np.ndarray) -> Layout:
    """Return a layout on a circle, clockwise from the top in causal order, with straight edges.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix of a DAG.

    Raises
    ------
    ValueError
        If the graph has a cycle.
    """
    order = graphs.causal_order(A)
    angle = np.empty(len(order))
    angle[order] = np.linspace(0.0, 2 * np.pi, len(order), endpoint=False)
    radius = len(order) / (2 * np.pi)
    positions = radius * np.column_stack([np.sin(angle), np.cos(angle)])
    return Layout(positions, {(i, j): positions[[i, j]] for i, j in np.argwhere(A).tolist()})


def _layers(edges, order):
    """Return the row of every variable: the longest path that leads to it."""
    layer = np.zeros(len(edges), dtype=int)
    for j in order:
        layer[j] = layer[edges[:, j]].max(initial=-1) + 1
    isolated = ~(edges.any(axis=0) | edges.any(axis=1))
    if isolated.any() and not isolated.all():
        layer[isolated] = layer.max() + 1
    return layer


def _box(layout):
    """Return the lower left and the upper right corner of the picture."""
    points = np.concatenate([layout.positions, *layout.routes.values(), np.zeros((1, 2))])
    return points.min(axis=0) - MARGIN, points.max(axis=0) + MARGIN


def _new_axes(layout):
    low, high = _box(layout)
    figure = import_extra("matplotlib.figure", "plot").Figure(figsize=high - low)
    return figure.add_axes((0.0, 0.0, 1.0, 1.0))


def _draw_edges(ax, A, routes):
    patches = import_extra("matplotlib.patches", "plot")
    strongest = np.abs(A).max(initial=0.0)
    for i, j in graphs.strongest_first(A):
        width = EDGE_WIDTHS[0] + abs(A[i, j]) / strongest * (EDGE_WIDTHS[1] - EDGE_WIDTHS[0])
        arrow = patches.FancyArrowPatch(
            path=_smooth_path(_between_circles(routes[i, j])),
            arrowstyle=f"-|>,head_length={3 + width},head_width={1.5 + 0.6 * width}",
            linewidth=width,
            edgecolor=EDGE_COLOR,
            facecolor=EDGE_COLOR,
            zorder=1,
        )
        ax.add_patch(arrow)


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
    for position, name in zip(positions, names, strict=True):
        ax.add_patch(patches.Circle(position, NODE_RADIUS, facecolor="#eaf1fb", edgecolor="#2f5597", zorder=2))
        size = min(10.0, 60.0 / max(len(name), 1))
        ax.text(*position, name, ha="center", va="center", fontsize=size, zorder=3, parse_math=False)
