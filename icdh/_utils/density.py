"""The Gaussian density by which every model of the package scores its residuals."""

from functools import partial

import numpy as np

from icdh._utils.arrays import Floats, Mask
from icdh._utils.weighted import mean_of

LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)


def mean_of_counted(nats: Floats, rows: Mask | None, weights: Floats | None) -> float:
    """Return the mean of nats over all observations, where those that do not count have zero.

    Parameters
    ----------
    nats : ndarray, shape (M,)
        What each says.
    rows : ndarray of bool, shape (M,), or None
        Those that count; None counts all.
    weights : ndarray, shape (M,), or None
        How much each counts in the mean; None if all alike.
    """
    return float(mean_of(nats if rows is None else np.where(rows, nats, 0.0), weights))


def node_nll(values: Floats, mean: Floats, scale: Floats, rows: Mask | None, weights: Floats | None) -> float:
    """Return the negative log-likelihood of one variable in nats, mean over observations.

    That of an observation x is log(sigma sqrt(2 pi)) + (x - mu)^2 / (2 sigma^2).

    Parameters
    ----------
    values, mean, scale : ndarray, shape (M,)
        Observations, their means mu and standard deviations sigma.
    rows : ndarray of bool, shape (M,), or None
        The observations that count; None if all.
    weights : ndarray, shape (M,), or None
        How much each counts in the mean; None if all alike.
    """
    nats = np.log(scale) + 0.5 * np.square((values - mean) / scale) + LOG_SQRT_2PI
    return mean_of_counted(nats, rows, weights)


def gaussian_nll(values: Floats, mean: Floats, scale: Floats, rows: Mask | None, weights: Floats | None) -> float:
    """Return the negative log-likelihood, in nats: mean over observations, sum over variables.

    Parameters
    ----------
    values, mean, scale : ndarray, shape (N, M)
        Observations of N variables, the means and the standard deviations of their distributions.
    rows : ndarray of bool, shape (N, M), or None
        The observations that count for each variable; None if all.
    weights : ndarray, shape (M,), or None
        How much each observation counts in the mean; None if all alike.

    Returns
    -------
    float
        (1/M) sum over n, m of log(sigma sqrt(2 pi)) + (x - mu)^2 / (2 sigma^2).
    """
    counts = [None] * len(values) if rows is None else rows  # one by one: long tables need little more memory
    return float(sum(map(partial(node_nll, weights=weights), values, mean, scale, counts)))
