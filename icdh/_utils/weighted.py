"""Means and sums over observations, each of which counts as often as its weight says; without weights, once."""

import numpy as np

from icdh._utils.arrays import Floats, Integers, Mask

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
