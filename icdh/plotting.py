"""A picture of a DAG: causes above their effects, stronger edges wider. Needs the extra ``[plot]``."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from icdh import graphs
from icdh.exceptions import import_extra
from icdh.files import check_writable, replace_on_success

NODE_RADIUS = 21.0  # points
MARGIN = 0.5  # of the picture, in units of the layout, an inch each
EDGE_WIDTHS = (0.8, 3.5)  # points, of the weakest and the strongest edge
SWEEPS = 12  # passes over the layers that shorten edges; the order settles after a few


def plot_graph(A: np.ndarray, names: Sequence[str], ax=None):
    """Draw a DAG in layers, every cause above its effects.

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
    positions = layered_layout(A)
    if ax is None:
        ax = _new_axes(positions)
    _draw_edges(ax, A, positions)
    _draw_nodes(ax, positions, names)
    ax.set_axis_off()
    ax.set_aspect("equal")
    low, high = _box(positions)
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
    check_plot_path(path)
    figure = plot_graph(A, names)
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


def layered_layout(A: np.ndarray) -> np.ndarray:
    """Return positions in which every cause is above its effects; variables without edges share the last row.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix of a DAG.

    Returns
    -------
    ndarray, shape (N, 2)
        x and y, neighbours in a row one apart, rows one apart.

    Raises
    ------
    ValueError
        If the graph has a cycle.
    """
    edges = graphs.check_adjacency(A) != 0
    layer = _layers(edges, graphs.causal_order(A))
    rows = [np.flatnonzero(layer == k) for k in range(layer.max(initial=-1) + 1)]
    x = np.zeros(len(edges))
    for row in rows:
        x[row] = _spread(row.size)
    neighbours = edges | edges.T
    for _ in range(SWEEPS):
        for row in rows:
            wanted = [x[neighbours[i]].mean() if neighbours[i].any() else x[i] for i in row]
            x[row[np.argsort(wanted, kind="stable")]] = _spread(row.size)
    # Rows are shifted to and fro so that an edge over several rows does not run through what lies between.
    return np.column_stack([x + 0.2 * (layer % 2), -layer])


def _layers(edges, order):
    """Return the row of every variable: the longest path that leads to it."""
    layer = np.zeros(len(edges), dtype=int)
    for j in order:
        layer[j] = layer[edges[:, j]].max(initial=-1) + 1
    isolated = ~(edges.any(axis=0) | edges.any(axis=1))
    if isolated.any() and not isolated.all():
        layer[isolated] = layer.max() + 1
    return layer


def _spread(size):
    return np.arange(size) - (size - 1) / 2


def _box(positions):
    """Return the lower left and the upper right corner of the picture."""
    if not len(positions):
        return np.zeros(2), np.ones(2)
    return positions.min(axis=0) - MARGIN, positions.max(axis=0) + MARGIN


def _new_axes(positions):
    low, high = _box(positions)
    figure = import_extra("matplotlib.figure", "plot").Figure(figsize=high - low)
    return figure.add_axes((0.0, 0.0, 1.0, 1.0))


def _draw_edges(ax, A, positions):
    patches = import_extra("matplotlib.patches", "plot")
    strongest = np.abs(A).max(initial=0.0)
    for i, j in graphs.strongest_first(A):
        share = abs(A[i, j]) / strongest
        width = EDGE_WIDTHS[0] + share * (EDGE_WIDTHS[1] - EDGE_WIDTHS[0])
        long = positions[i, 1] - positions[j, 1] > 1
        arrow = patches.FancyArrowPatch(
            positions[i],
            positions[j],
            arrowstyle=f"-|>,head_length={3 + width},head_width={1.5 + 0.6 * width}",
            connectionstyle=f"arc3,rad={0.18 if long else 0.0}",
            shrinkA=NODE_RADIUS,
            shrinkB=NODE_RADIUS + 1,
            linewidth=width,
            color="#44546a",
            zorder=1,
        )
        ax.add_patch(arrow)


def _draw_nodes(ax, positions, names):
    ax.scatter(
        *positions.T, s=(2 * NODE_RADIUS) ** 2, facecolor="#eaf1fb", edgecolor="#2f5597", linewidth=1.2, zorder=2
    )
    for position, name in zip(positions, names, strict=True):
        size = min(10.0, 3.0 * NODE_RADIUS / max(len(name), 1))
        ax.text(*position, name, ha="center", va="center", fontsize=size, zorder=3, parse_math=False)
