"""Where the strengths of edges stand: beside their own arrow and clear of all other arrows, boxes and strengths."""

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from icdh._ground.arrays import Floats
from icdh.plotting.layout import Edge, Layout, bends, bounds

ALONG = (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78)  # places on the arrow, the best first
LETTER, HEIGHT, AWAY = 0.065, 0.13, 0.06  # inches: a letter, a line, and the distance from the arrow
CLEAR = 2.5 * AWAY, 1.6 * AWAY  # from other arrows, at best and at least: a text belongs to the arrow nearest to it
POINTS = 60  # of every arrow; texts keep away from them


def label_places(layout: Layout, texts: Mapping[Edge, str]) -> dict[Edge, tuple[float, float]]:
    """Return the middles of the texts for which there is room.

    Parameters
    ----------
    layout : Layout
        Where variables and edges are.
    texts : mapping
        The text of every edge (i, j), those that matter most first.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.plotting import layered_layout
    >>> from icdh.plotting.labels import label_places
    >>> list(label_places(layered_layout(np.array([[0.0, 1.0], [0.0, 0.0]])), {(0, 1): "12"}))
    [(0, 1)]
    """
    drawn = {edge: _along(route) for edge, route in layout.routes.items()}
    middles, halves = layout.positions, layout.sizes / 2
    places: dict[Edge, tuple[float, float]] = {}
    low, high = bounds(layout)
    for edge, text in texts.items():
        half = np.array([LETTER * len(text), HEIGHT]) / 2
        others = np.concatenate([np.zeros((0, 2)), *(points for other, points in drawn.items() if other != edge)])
        for clear, place in product(CLEAR, _candidates(drawn[edge], half)):
            covered = np.abs(middles - place) < halves + half + AWAY / 2
            inside = (place - half > low).all() and (place + half < high).all()
            crossed = (np.abs(others - place) < half + clear).all(axis=1).any()
            if inside and not crossed and not covered.all(axis=1).any():
                places[edge] = float(place[0]), float(place[1])
                middles, halves = np.vstack([middles, place]), np.vstack([halves, half])
                break
    return places


def _along(route: Floats) -> Floats:
    """Return points along an edge as it is drawn, evenly spaced."""
    if len(route) > 2:
        t = np.linspace(0.0, 1.0, 12)[:, np.newaxis]
        bernstein = np.hstack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
        curves = zip(route[:-1], bends(route), strict=True)
        route = np.concatenate([bernstein @ np.array([start, *curve]) for start, curve in curves])
    steps = np.linalg.norm(np.diff(route, axis=0), axis=1)
    at = np.concatenate([[0.0], np.cumsum(steps)])
    t = np.linspace(0.0, at[-1], POINTS)
    return np.column_stack([np.interp(t, at, route[:, 0]), np.interp(t, at, route[:, 1])])


def _candidates(points: Floats, half: Floats) -> Iterator[Floats]:
    """Yield places beside an arrow, right and left of it."""
    for share in ALONG:
        k = int(share * (len(points) - 1))
        step = points[k + 1] - points[k - 1]
        across = np.array([-step[1], step[0]]) / np.linalg.norm(step)
        reach = np.abs(across) @ half + AWAY
        for side in (1.0, -1.0) if across[0] > 0 else (-1.0, 1.0):
            yield points[k] + side * reach * across
