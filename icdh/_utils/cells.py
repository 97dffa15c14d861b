"""The intervals that tied values of a sample stand for, and places in them."""

import numpy as np

from icdh._utils.arrays import Floats


def cells(sample: Floats) -> tuple[Floats, Floats]:
    """Return the lower and the upper end of the interval that each value represents.

    Parameters
    ----------
    sample : ndarray, shape (n,)
        Values, some of them tied.

    Returns
    -------
    tuple of ndarray, both of shape (n,)
        For a tied value, the midpoints to the next lower and the next higher value; the outermost intervals are
        symmetric. For other values, and for a constant sample, the value itself.
    """
    values, index, counts = np.unique(sample, return_inverse=True, return_counts=True)
    if values.size in (1, sample.size):
        return sample.copy(), sample.copy()
    edges = edges_of_cells(values)
    low = np.where(counts > 1, edges[:-1], values)
    high = np.where(counts > 1, edges[1:], values)
    return low[index], high[index]


def edges_of_cells(values: Floats) -> Floats:
    """Return the edges half-way between values in ascending order, shape (k + 1,); outermost cells are symmetric."""
    middles = (values[1:] + values[:-1]) / 2
    return np.concatenate([[2 * values[0] - middles[0]], middles, [2 * values[-1] - middles[-1]]])


def drawn_from_cells(low: Floats, high: Floats, rng: np.random.Generator) -> Floats:
    """Return values drawn uniformly from cells.

    Estimates from spacings assume the irregular spacings of an untied sample. Evenly spaced values would make the
    entropy too large; random positions do not.

    Parameters
    ----------
    low, high : ndarray, shape (n,)
        The ends of the cells; equal ones of exact values.
    rng : numpy.random.Generator
        Draws the positions.
    """
    return low + rng.random(low.size) * (high - low)
