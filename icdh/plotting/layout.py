"""Where variables and edges of a DAG are drawn: in rows, causes above their effects, edges between the boxes."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from icdh import graphs

BOX = (0.9, 0.4)  # default width and height of a box
GAP, LANE = 0.3, 0.22  # between boxes in a row; width of the lane of an edge that crosses a row
ROW_GAP, ROW_GAP_PER_EDGE, MOST_ROW_GAP = 0.5, 0.03, 1.0  # between rows, more where more edges run
ASPECT, MOST_STRETCH = 16 / 9, 8.0  # width over height of a screen, and how far columns may move apart to fill it
MARGIN = 0.2  # around the picture
PORT = 0.2  # between the ends of edges at a box
SWEEPS = 24  # passes over the rows that untangle edges; the order settles after a few
STRAIGHTNESS = {0: 1.0, 1: 2.0, 2: 8.0}  # weight of a piece of an edge, by how many of its ends are bends


class Layout(NamedTuple):
    """Where variables and edges are drawn, in inches.

    Attributes
    ----------
    positions : ndarray, shape (N, 2)
        x and y of the middles of the boxes; y points upwards.
    sizes : ndarray, shape (N, 2)
        Width and height of the boxes.
    routes : dict
        For every edge (i, j) the points that it runs through, shape (k, 2), from the border of one box to that of the
        other; pieces that cross a row are vertical.
    """

    positions: np.ndarray
    sizes: np.ndarray
    routes: dict


def layered_layout(A: np.ndarray, sizes: Sequence[tuple[float, float]] | None = None) -> Layout:
    """Return a layout in which every cause is above its effects; variables without edges stand below all others.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix of a DAG.
    sizes : sequence of (float, float), optional
        Width and height of the box of every variable, in inches; by default all alike.

    Raises
    ------
    ValueError
        If the graph has a cycle.

    Notes
    -----
    One linear programme chooses rows with the smallest total length of edges. Medians and exchanges then order each
    row to reduce crossings. A second linear programme chooses places in the rows that keep edges straight. An edge
    over several rows has a lane of its own in each row that it crosses, and so it avoids every box.

    References
    ----------
    Gansner, Koutsofios, North, Vo: "A Technique for Drawing Directed Graphs", IEEE Transactions on Software
    Engineering 19 (3), 1993.

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
    graphs.causal_order(A)
    N = len(edges)
    sizes = np.array([BOX] * N if sizes is None else sizes, dtype=float).reshape(N, 2)
    joined = np.flatnonzero(edges.any(axis=0) | edges.any(axis=1)).tolist()
    pairs = np.argwhere(edges[np.ix_(joined, joined)]).tolist()
    positions, routes = _of_joined(pairs, sizes[joined])
    everywhere = np.zeros((N, 2))
    everywhere[joined] = positions
    alone = np.setdiff1d(np.arange(N), joined)
    everywhere[alone] = _of_alone(sizes[alone], positions, sizes[joined])
    return Layout(everywhere, sizes, {(joined[i], joined[j]): route for (i, j), route in routes.items()})


def _of_joined(pairs, sizes):
    """Return places of variables, and the routes of their edges."""
    if not pairs:
        return np.zeros((0, 2)), {}
    row = _rows(pairs, len(sizes)).tolist()
    width = [own + GAP for own, _ in sizes]
    chains = {}
    for i, j in pairs:
        lanes = range(len(row), len(row) + row[j] - row[i] - 1)
        chains[i, j] = [i, *lanes, j]
        row += range(row[i] + 1, row[j])
        width += [LANE] * len(lanes)
    row, links = np.array(row), [link for chain in chains.values() for link in pairwise(chain)]
    order = _untangled(_first_order(row, links), links, row)
    x = _straightened(order, np.array(width), links, len(sizes))
    height = np.array([max(sizes[[k for k in own if k < len(sizes)], 1], default=0.0) for own in order])
    y = _row_places(height, row, links)
    places = np.column_stack([x, y[row]])
    return places[: len(sizes)], _routes(chains, places, sizes, height[row])


def _rows(pairs, n):
    """Return the row of every variable: causes above effects, edges as short as possible in all."""
    differences = np.zeros((len(pairs), n))
    for k, (i, j) in enumerate(pairs):
        differences[k, [i, j]] = -1.0, 1.0
    return np.round(_least(differences.sum(axis=0), -differences, -np.ones(len(pairs)))).astype(int)


def _least(cost, A, b):
    """Return the x >= 0 of the least cost with A x <= b."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    # The presolve of scipy 1.11 calls one such programme of a hundred infeasible.
    return linprog(cost, A_ub=csr_array(A), b_ub=b, method="highs", options={"presolve": False}).x


def _first_order(row, links):
    """Return the points of every row, in the order in which a walk along the links meets them."""
    neighbours = [[] for _ in row]
    for upper, lower in links:
        neighbours[upper].append(lower)
        neighbours[lower].append(upper)
    order, seen = [[] for _ in range(row.max() + 1)], set()
    for start in np.argsort(row, kind="stable").tolist():
        waiting = [start]
        while waiting:
            point = waiting.pop(0)
            if point not in seen:
                seen.add(point)
                order[row[point]].append(point)
                waiting += neighbours[point]
    return order


def _untangled(order, links, row):
    """Return the order of every row for which the fewest links were seen to cross."""
    above, below = [[] for _ in row], [[] for _ in row]
    for upper, lower in links:
        below[upper].append(lower)
        above[lower].append(upper)
    best, fewest = order, _crossings(order, below)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        neighbours = above if down else below
        order = [list(own) for own in order]
        for k in range(1, len(order)) if down else range(len(order) - 2, -1, -1):
            order[k] = _by_medians(order[k], order[k - 1 if down else k + 1], neighbours)
        _exchange(order, above, below)
        count = _crossings(order, below)
        if count < fewest:
            best, fewest = order, count
    return best


def _by_medians(own, other, neighbours):
    """Return the points of a row by the medians of their neighbours in another; those without any keep their place."""
    at = {point: k for k, point in enumerate(other)}
    medians = [np.median([at[near] for near in neighbours[point]]) if neighbours[point] else None for point in own]
    moving = [k for k, median in enumerate(medians) if median is not None]
    ranked = [own[k] for k in sorted(moving, key=lambda k: medians[k])]
    found = list(own)
    for k, point in zip(moving, ranked, strict=True):
        found[k] = point
    return found


def _exchange(order, above, below):
    """Exchange neighbours in place while that reduces crossings."""
    at = {point: k for own in order for k, point in enumerate(own)}

    def crossed(a, b):
        return sum(
            at[far] < at[near] for neighbours in (above, below) for near in neighbours[a] for far in neighbours[b]
        )

    improved = True
    while improved:
        improved = False
        for own in order:
            for k in range(len(own) - 1):
                a, b = own[k], own[k + 1]
                if crossed(b, a) < crossed(a, b):
                    own[k], own[k + 1], at[a], at[b] = b, a, k + 1, k
                    improved = True


def _crossings(order, below):
    """Return how many links between neighbouring rows cross."""
    count = 0
    for upper, lower in pairwise(order):
        at = {point: k for k, point in enumerate(lower)}
        ends = [at[far] for point in upper for far in sorted(below[point], key=at.get)]
        count += sum(np.count_nonzero(np.array(ends[:k]) > end) for k, end in enumerate(ends))
    return count


def _straightened(order, width, links, n_boxes):
    """Return the x of every point: rows in order, no overlap, links as upright as possible in all."""
    n, rows = len(width), []
    costs = np.concatenate([np.zeros(n), [STRAIGHTNESS[(a >= n_boxes) + (b >= n_boxes)] for a, b in links]])
    bounds = []
    for own in order:
        for left, right in pairwise(own):
            rows.append({left: 1.0, right: -1.0})
            bounds.append(-(width[left] + width[right]) / 2)
    for k, (a, b) in enumerate(links):
        rows += [{a: 1.0, b: -1.0, n + k: -1.0}, {a: -1.0, b: 1.0, n + k: -1.0}]
        bounds += [0.0, 0.0]
    matrix = np.zeros((len(rows), n + len(links)))
    for k, own in enumerate(rows):
        matrix[k, list(own)] = list(own.values())
    x = _least(costs, matrix, np.array(bounds))[:n]
    return x - (x.min() + x.max()) / 2


def _row_places(height, row, links):
    """Return the y of every row, from the first one downwards, with room for the edges between two rows."""
    y = np.zeros(len(height))
    for k in range(1, len(height)):
        n_links = sum(row[lower] == k for _, lower in links)
        gap = min(ROW_GAP + ROW_GAP_PER_EDGE * n_links, MOST_ROW_GAP)
        y[k] = y[k - 1] - (height[k - 1] + height[k]) / 2 - gap
    return y


def _routes(chains, places, sizes, height):
    """Return the points of every edge: from a port of its cause, upright through its lanes, to one of its effect."""
    leave = _ports({edge: (edge[0], chain[1]) for edge, chain in chains.items()}, places, sizes)
    reach = _ports({edge: (edge[1], chain[-2]) for edge, chain in chains.items()}, places, sizes)
    routes = {}
    for (i, j), chain in chains.items():
        lanes = [places[k] + [0.0, side * height[k] / 2] for k in chain[1:-1] for side in (1.0, -1.0)]
        first = [leave[i, j], places[i, 1] - sizes[i, 1] / 2]
        last = [reach[i, j], places[j, 1] + sizes[j, 1] / 2]
        straight = np.array([first, last])
        clear = not lanes or not _runs_over(straight, places[: len(sizes)], sizes)
        routes[i, j] = straight if clear else np.array([first, *lanes, last])
    return routes


def _ports(ends, places, sizes):
    """Return the x at which every edge meets a box, in the order of where it comes from or goes to."""
    found = {}
    for box in {own for own, _ in ends.values()}:
        edges = sorted(
            (edge for edge, (own, _) in ends.items() if own == box), key=lambda edge: places[ends[edge][1], 0]
        )
        step = min(PORT, 0.8 * sizes[box, 0] / len(edges))
        for k, edge in enumerate(edges):
            found[edge] = places[box, 0] + step * (k - (len(edges) - 1) / 2)
    return found


def _runs_over(line, places, sizes):
    """Return whether a straight line comes near a box that it neither leaves nor reaches."""
    t = np.linspace(0.02, 0.98, 200)[:, np.newaxis]
    points = line[0] + t * (line[1] - line[0])
    near = np.abs(points[:, np.newaxis] - places) < sizes / 2 + [LANE / 2, 0.0]
    return bool(near.all(axis=2).any())


def _of_alone(sizes, positions, above):
    """Return the places of variables without edges: rows of them below all others."""
    if not len(sizes):
        return np.zeros((0, 2))
    cell = sizes.max(axis=0) + GAP
    wide = np.ptp(positions[:, 0]) + cell[0] if len(positions) else 0.0
    a_row = int(max(wide // cell[0], np.ceil(np.sqrt(len(sizes))), 1))
    top = (positions[:, 1] - above[:, 1] / 2).min() - ROW_GAP - cell[1] / 2 if len(positions) else 0.0
    k = np.arange(len(sizes))
    in_row = np.minimum(a_row, len(sizes) - k // a_row * a_row)
    middle = (positions[:, 0].min() + positions[:, 0].max()) / 2 if len(positions) else 0.0
    return np.column_stack([middle + (k % a_row - (in_row - 1) / 2) * cell[0], top - k // a_row * cell[1]])


def bounds(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower left and the upper right corner of the picture."""
    half = layout.sizes / 2
    points = [layout.positions - half, layout.positions + half, *layout.routes.values(), np.zeros((1, 2))]
    points = np.concatenate(points)
    return points.min(axis=0) - MARGIN, points.max(axis=0) + MARGIN


def landscape(layout: Layout, widest: float = np.inf) -> Layout:
    """Return a layout with its columns so far apart that it has the shape of a screen.

    Parameters
    ----------
    layout : Layout
        Where variables and edges are.
    widest : float
        The width to which columns move apart, in inches.
    """
    if not len(layout.positions):
        return layout
    low, high = bounds(layout)
    (width, height), apart = high - low, max(float(np.ptp(layout.positions[:, 0])), np.finfo(float).eps)
    factor = float(np.clip(1.0 + (min(ASPECT * height, widest) - width) / apart, 1.0, MOST_STRETCH))
    positions = layout.positions * [factor, 1.0]
    moved = positions - layout.positions
    routes = {edge: route * [factor, 1.0] for edge, route in layout.routes.items()}
    for (cause, effect), route in layout.routes.items():
        routes[cause, effect][0] = route[0] + moved[cause]
        routes[cause, effect][-1] = route[-1] + moved[effect]
    return layout._replace(positions=positions, routes=routes)


def bends(route: np.ndarray) -> list[list[np.ndarray]]:
    """Return the cubic curves through the points of a route, each as its two handles and its end.

    Pieces are upright inside a row; between rows a curve leaves and arrives upright, but for the ends at boxes.
    """
    curves = []
    last = len(route) - 2
    for k, (start, end) in enumerate(pairwise(route)):
        rise = np.array([0.0, (end - start)[1]])
        first = start + (rise / 2 if k else (end - start) / 3)
        second = end - (rise / 2 if k < last else (end - start) / 3)
        curves.append([first, second, end])
    return curves
