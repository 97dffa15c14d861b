"""Where variables and edges of a DAG are drawn: causes above their effects, or on a circle."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from icdh import graphs

WAYPOINT_WIDTH = 0.6  # the room that an edge takes when it crosses a row
DEEPEST_LAYERS = 2.0  # more rows than this times sqrt(N) make a tangle: use the circle
SWEEPS = 12  # passes over the layers that shorten edges; the order settles after a few


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


def graph_layout(A: np.ndarray) -> Layout:
    """Return the layered layout of a DAG, or the circular one where layers get too deep.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix of a DAG.

    Raises
    ------
    ValueError
        If the graph has a cycle.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.plotting import graph_layout
    >>> A = np.array([[0.0, 0.9, 0.4], [0.0, 0.0, 0.7], [0.0, 0.0, 0.0]])
    >>> layout = graph_layout(A)
    >>> layout.positions.shape, sorted(layout.routes)
    ((3, 2), [(0, 1), (0, 2), (1, 2)])
    """
    layout = layered_layout(A)
    depth = -layout.positions[:, 1].min(initial=0.0)
    return circular_layout(A) if depth > DEEPEST_LAYERS * np.sqrt(len(A)) else layout


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

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.plotting import layered_layout
    >>> A = np.array([[0.0, 0.9, 0.4], [0.0, 0.0, 0.7], [0.0, 0.0, 0.0]])
    >>> layout = layered_layout(A)
    >>> layout.positions.shape, sorted(layout.routes)
    ((3, 2), [(0, 1), (0, 2), (1, 2)])
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

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.plotting import circular_layout
    >>> A = np.array([[0.0, 0.9, 0.4], [0.0, 0.0, 0.7], [0.0, 0.0, 0.0]])
    >>> layout = circular_layout(A)
    >>> layout.positions.shape, sorted(layout.routes)
    ((3, 2), [(0, 1), (0, 2), (1, 2)])
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
