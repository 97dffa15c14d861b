"""Where variables and edges of a DAG are drawn, in rows, causes above their effects."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby, pairwise
from typing import NamedTuple

import numpy as np

from icdh import graphs
from icdh._utils.arrays import Floats, Integers, Mask

Edge = tuple[int, int]
Chains = dict[Edge, list[int]]  # of every edge its points: its cause, a lane in each row that it crosses, its effect


@dataclass(frozen=True)
class Spacing:
    """Distances, in inches."""

    gap: float = 0.3  # between boxes in a row
    lane: float = 0.22  # width of the lane of an edge that crosses a row
    row_gap: float = 0.5  # between rows
    margin: float = 0.2  # around the picture


SPACING = Spacing()


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
        other. Pieces that cross a row are vertical.
    """

    positions: Floats
    sizes: Floats
    routes: dict[Edge, Floats]


def layered_layout(A: Floats, sizes: Sequence[tuple[float, float]] | None = None, widest: float = 0.0) -> Layout:
    """Return a layout in which every cause is above its effects; variables without edges stand below all others.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix of a DAG.
    sizes : sequence of (float, float), optional
        Width and height of the box of every variable, in inches; by default all alike.
    widest : float
        Columns move apart until the picture has the shape of a screen, or this width in inches.

    Raises
    ------
    ValueError
        If the graph has a cycle.

    Notes
    -----
    One linear programme chooses rows with the smallest total length of edges. Means of neighbours and exchanges then
    order each row to reduce crossings. A second linear programme chooses places in the rows that keep edges straight.
    An edge over several rows has a lane of its own in each row that it crosses, and so it avoids every box.

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
    boxes = np.array([(0.9, 0.4)] * N if sizes is None else sizes, dtype=float).reshape(N, 2)
    joined = edges.any(axis=0) | edges.any(axis=1)
    row, chains = _rows_and_lanes([(i, j) for i, j in np.argwhere(edges).tolist()], joined)
    links = [link for chain in chains.values() for link in pairwise(chain)]
    room = np.concatenate([boxes + [SPACING.gap, 0.0], np.full((len(row) - N, 2), [SPACING.lane, 0.0])])
    order = _untangled(row, links)
    x = _straightened(order, room[:, 0], links, N)
    height = np.array([max(boxes[[k for k in points if k < N], 1], default=0.0) for points in order])
    places = np.column_stack([x, np.append(_row_places(height, row, links), 0.0)[row]])
    if not joined.all():
        below = places[:N, 1] - boxes[:, 1] / 2
        top = below[joined].min(initial=SPACING.row_gap) - SPACING.row_gap
        places[:N][~joined] = _alone(boxes[~joined], np.ptp(x), top)
    stretch = np.array([_stretch(places, room, widest), 1.0])
    places *= stretch
    around = (boxes / 2 + [SPACING.lane / 2, 0.0]) * stretch
    return Layout(places[:N], boxes, _routes(chains, places, boxes, height[row] if chains else height, around))


def _rows_and_lanes(edges: list[Edge], joined: Mask) -> tuple[Integers, Chains]:
    """Return the row of every variable and lane, -1 without edges, and the points of every edge.

    Causes are above effects, and edges as short as possible in all.
    """
    cost = np.zeros(len(joined))
    for i, j in edges:
        cost[[i, j]] += -1.0, 1.0
    row = np.where(joined, np.round(_cheapest(cost, [(i, j, 1.0) for i, j in edges])), -1).astype(int).tolist()
    chains = {}
    for i, j in edges:
        crossed = range(row[i] + 1, row[j])
        chains[i, j] = [i, *range(len(row), len(row) + len(crossed)), j]
        row += crossed
    return np.array(row, dtype=int), chains


def _cheapest(cost: Floats, differences: list[tuple[int, int, float]]) -> Floats:
    """Return the x >= 0 of the least cost with x[b] - x[a] >= gap for every difference (a, b, gap)."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    if not differences:
        return np.zeros(len(cost))
    a, b, gap = map(np.array, zip(*differences, strict=True))
    k, one = np.arange(len(gap)), np.ones(len(gap))
    shape = len(gap), len(cost)
    matrix = coo_array((np.append(one, -one), (np.append(k, k), np.append(a, b))), shape=shape).tocsr()
    # The presolve of scipy 1.11 calls one such programme of a hundred infeasible.
    return np.asarray(linprog(cost, A_ub=matrix, b_ub=-gap, method="highs", options={"presolve": False}).x)


def _untangled(row: Integers, links: list[Edge]) -> list[list[int]]:
    """Return the points of every row, in the order for which the fewest links were seen to cross."""
    above: list[list[int]] = [[] for _ in row]
    below: list[list[int]] = [[] for _ in row]
    for upper, lower in links:
        below[upper].append(lower)
        above[lower].append(upper)
    order = [np.flatnonzero(row == k).tolist() for k in range(row.max(initial=-1) + 1)]
    at = {point: k for points in order for k, point in enumerate(points)}

    def crossings(a: int, b: int) -> int:
        """Return how many links of a cross those of b if a stands left of b."""
        return sum(at[far] < at[near] for ends in (above, below) for near in ends[a] for far in ends[b])

    best, fewest = order, np.inf
    for sweep in range(24):  # the order settles after a few
        ends, down = (below, -1) if sweep % 2 else (above, 1)
        for points in order[::down]:
            means = {point: np.mean([at[end] for end in ends[point]]) for point in points if ends[point]}
            ranked = iter(sorted(means, key=means.__getitem__))
            points[:] = [next(ranked) if point in means else point for point in points]
            at.update(zip(points, range(len(points)), strict=True))
        improved, ties = True, sweep % 4 >= 2  # ties exchanged once lead out of local optima
        while improved:
            improved = False
            for points in order:
                for k in range(len(points) - 1):
                    a, b = points[k : k + 2]
                    if crossings(b, a) < crossings(a, b) + ties:
                        points[k : k + 2] = b, a
                        at[a], at[b], improved = at[b], at[a], True
            ties = False
        count = sum(crossings(a, b) for points in order for a, b in combinations(points, 2))
        if count < fewest:
            best, fewest = [list(points) for points in order], count
    return best


def _straightened(order: list[list[int]], width: Floats, links: list[Edge], n_boxes: int) -> Floats:
    """Return the x of every point: rows in order, no overlap, links as upright as possible in all."""
    neighbours = [pair for points in order for pair in pairwise(points)]
    differences = [(left, right, float(width[left] + width[right]) / 2) for left, right in neighbours]
    cost = np.zeros(len(width) + len(links))
    straightness = 1.0, 2.0, 8.0  # by how many ends of a link are lanes
    for k, (a, b) in enumerate(links, len(width)):  # |x_a - x_b| is the least x_a + x_b - 2 x_k with x_k below both
        differences += [(k, a, 0.0), (k, b, 0.0)]
        cost[[a, b, k]] += np.array([1.0, 1.0, -2.0]) * straightness[(a >= n_boxes) + (b >= n_boxes)]
    x: Floats = _cheapest(cost, differences)[: len(width)]
    x -= (x.min(initial=0.0) + x.max(initial=0.0)) / 2
    return x


def _row_places(height: Floats, row: Integers, links: list[Edge]) -> Floats:
    """Return the y of every row, from the first one downwards, with room for the edges between two rows."""
    n_links = np.bincount(row[np.array(links, dtype=int).reshape(-1, 2)[:, 1]], minlength=len(height))
    gaps = np.minimum(SPACING.row_gap + 0.03 * n_links, 1.0)
    return -np.cumsum(np.append(0.0, gaps[1:] + (height[:-1] + height[1:]) / 2))


def _alone(sizes: Floats, width: float, top: float) -> Floats:
    """Return the places of variables without edges: rows of them below all others."""
    cell = sizes.max(axis=0) + SPACING.gap
    a_row = int(max(width // cell[0] + 1, np.ceil(np.sqrt(len(sizes)))))
    k = np.arange(len(sizes))
    in_row = np.minimum(a_row, len(sizes) - k // a_row * a_row)
    return np.column_stack([(k % a_row - (in_row - 1) / 2) * cell[0], top - (k // a_row + 0.5) * cell[1]])


def _stretch(places: Floats, room: Floats, widest: float) -> float:
    """Return the factor by which columns move apart, so that the picture has the shape of a screen."""
    if not len(places):
        return 1.0
    width, height = (places + room / 2).max(axis=0) - (places - room / 2).min(axis=0)
    apart = max(float(np.ptp(places[:, 0])), np.finfo(float).eps)
    return float(np.clip(1.0 + (min(16 / 9 * height, widest) - width) / apart, 1.0, 8.0))


def _routes(chains: Chains, places: Floats, boxes: Floats, height: Floats, around: Floats) -> dict[Edge, Floats]:
    """Return the points of every edge: from a port of its cause, upright through its lanes, to one of its effect.

    An edge is straight if it stays so far from all boxes, in x and y.
    """
    leave = _ports({edge: (edge[0], chain[1]) for edge, chain in chains.items()}, places, boxes)
    reach = _ports({edge: (edge[1], chain[-2]) for edge, chain in chains.items()}, places, boxes)
    routes = {}
    for (i, j), chain in chains.items():
        lanes = [places[k] + [0.0, side * height[k] / 2] for k in chain[1:-1] for side in (1.0, -1.0)]
        first = [leave[i, j], places[i, 1] - boxes[i, 1] / 2]
        last = [reach[i, j], places[j, 1] + boxes[j, 1] / 2]
        points = np.linspace(first, last, 200)[4:-4, np.newaxis]
        meets = (np.abs(points - places[: len(boxes)]) < around).all(axis=2).any()
        routes[i, j] = np.array([first, *(lanes if meets else []), last])
    return routes


def _ports(ends: dict[Edge, Edge], places: Floats, boxes: Floats) -> dict[Edge, float]:
    """Return the x at which every edge meets a box, in the order of where it comes from or goes to."""
    ports: dict[Edge, float] = {}
    in_order = sorted(ends, key=lambda edge: (ends[edge][0], places[ends[edge][1], 0]))
    for box, group in groupby(in_order, lambda edge: ends[edge][0]):
        edges = list(group)
        step = min(0.2, 0.8 * boxes[box, 0] / len(edges))
        ports |= zip(edges, places[box, 0] + step * (np.arange(len(edges)) - (len(edges) - 1) / 2), strict=True)
    return ports


def bounds(layout: Layout) -> tuple[Floats, Floats]:
    """Return the lower left and the upper right corner of the picture."""
    half = layout.sizes / 2
    corners = layout.positions - half, layout.positions + half
    points: Floats = np.concatenate([*corners, *layout.routes.values(), np.zeros((1, 2))])
    return points.min(axis=0) - SPACING.margin, points.max(axis=0) + SPACING.margin


def bends(route: Floats) -> Iterator[list[Floats]]:
    """Yield the cubic curves through the points of a route, each as its two handles and its end.

    Pieces are upright inside a row; between rows a curve leaves and arrives upright, but for the ends at boxes.
    """
    last = len(route) - 2
    for k, (start, end) in enumerate(pairwise(route)):
        rise = np.array([0.0, (end - start)[1]])
        first = start + (rise / 2 if k else (end - start) / 3)
        second = end - (rise / 2 if k < last else (end - start) / 3)
        yield [first, second, end]
