"""Arrays: types that the whole package shares, sums over weighted observations, and cells of tied values.

Each observation counts as often as its weight says; without weights, once.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas

Value = TypeVar("Value")

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Cells: TypeAlias = NDArray[np.generic]  # of a type that is looked at first: numbers, texts, objects
RandomState: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None
TableLike: TypeAlias = object  # array_like, or a frame of pandas, polars or pyarrow; checked where it is read
Observations: TypeAlias = "NDArray[Any] | pandas.DataFrame"  # what comes back, as the table of ``fit`` was
# Of a library that need not be installed, so that its types cannot be named: a frame, an index, a graph.
Foreign: TypeAlias = Any
# What users say of columns, by name or position. Mappings are invariant in their keys: one of `Hashable` would refuse a
# dictionary of texts.
ByColumn: TypeAlias = Mapping[Any, Value]

NONE = np.zeros(0)  # what kernels take for no weights


def mean_of(values: Floats | Mask, weights: Floats | None) -> Floats:
    """Return the mean over the last axis."""
    mean: Floats = values.mean(axis=-1) if weights is None else values @ weights / weights.sum()
    return mean


def deviation_of(values: Floats, weights: Floats | None) -> Floats:
    """Return the standard deviation over the last axis."""
    deviation: Floats = values.std(axis=-1)
    if weights is not None:
        deviation = np.sqrt(mean_of(np.square(values - mean_of(values, weights)[..., np.newaxis]), weights))
    return deviation


def sum_of(weights: Floats | None, n_observations: int) -> float:
    """Return how many observations count: the sum of the weights."""
    return n_observations if weights is None else float(weights.sum())


def times(weights: Floats | Mask | None, values: Floats) -> Floats:
    """Return values, shape (..., n), times the weights."""
    return values if weights is None else values * weights


def roots_of(weights: Floats | None) -> Floats | None:
    """Return the roots of the weights, by which two vectors are multiplied whose product is to be weighted."""
    return None if weights is None else np.sqrt(weights)


def of_rows(weights: Floats | None, rows: Mask | Integers | slice) -> Floats | None:
    """Return the weights of some observations."""
    return None if weights is None else weights[rows]


def cells(sample: Floats) -> tuple[Floats, Floats]:
    """Return the lower and the upper end of the cell, the interval that each value stands for.

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
