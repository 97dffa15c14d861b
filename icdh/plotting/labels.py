"""Where the strengths of edges stand: beside their own arrow and clear of all other arrows, boxes and strengths."""

from collections.abc import Mapping
from itertools import product

import numpy as np

from icdh.plotting.layout import Layout, bends, bounds

ALONG = (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78)  # places on the arrow, the best first
LETTER, HEIGHT, AWAY = 0.065, 0.13, 0.06  # inches: a letter, a line, and the distance from the arrow
CLEAR = 2.5 * AWAY, 1.6 * AWAY  # from other arrows, at best and at least: a text belongs to the arrow nearest to it
POINTS = 60  # of every arrow; texts keep away from them


def label_places(layout: Layout, texts: Mapping[tuple[int, int], str]) -> dict[tuple[int, int], tuple[float, float]]:
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
    drawn = {edge: _along(layout.routes[edge]) for edge in layout.routes}
    middles, halves = [layout.positions], [layout.sizes / 2]
    found, (low, high) = {}, bounds(layout)
    for edge, text in texts.items():
        half = np.array([LETTER * len(text), HEIGHT]) / 2
        others = np.concatenate([points for other, points in drawn.items() if other != edge] or [np.zeros((0, 2))])
        for clear, place in product(CLEAR, _candidates(drawn[edge], half)):
            covered = np.abs(np.concatenate(middles) - place) < np.concatenate(halves) + half + AWAY / 2
            inside = (place - half > low).all() and (place + half < high).all()
            crossed = (np.abs(others - place) < half + clear).all(axis=1).any()
            if inside and not crossed and not covered.all(axis=1).any():
                found[edge] = tuple(place)
                middles.append(place[np.newaxis])
                halves.append(half[np.newaxis])
                break
    return found


def _along(route):
    """Return points along an edge, evenly spaced."""
    route = _on_curves(route)
    steps = np.linalg.norm(np.diff(route, axis=0), axis=1)
    at = np.concatenate([[0.0], np.cumsum(steps)])
    t = np.linspace(0.0, at[-1], POINTS)
    return np.column_stack([np.interp(t, at, route[:, 0]), np.interp(t, at, route[:, 1])])


def _on_curves(route):
    """Return points of the line as it is drawn through a route."""
    if len(route) == 2:
        return route
    t = np.linspace(0.0, 1.0, 12)[:, np.newaxis]
    return np.concatenate(
        [
            (1 - t) ** 3 * start + 3 * t * (1 - t) ** 2 * first + 3 * t**2 * (1 - t) * second + t**3 * end
            for start, (first, second, end) in zip(route[:-1], bends(route), strict=True)
        ]
    )


def _candidates(points, half):
    """Yield places beside an arrow, right and left of it."""
    for share in ALONG:
        k = int(share * (len(points) - 1))
        step = points[k + 1] - points[k - 1]
        across = np.array([-step[1], step[0]]) / np.linalg.norm(step)
        reach = np.abs(across) @ half + AWAY
        for side in (1.0, -1.0) if across[0] > 0 else (-1.0, 1.0):
            yield points[k] + side * reach * across
