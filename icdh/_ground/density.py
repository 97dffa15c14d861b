"""The Gaussian density in which every model of the package speaks of its residuals."""

import numpy as np

from icdh._ground.arrays import Floats, Mask

LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)


def pointwise_nll(values: Floats, mean: Floats, scale: Floats) -> Floats:
    """Return log(sigma sqrt(2 pi)) + (x - mu)^2 / (2 sigma^2) for each observation x.

    Parameters
    ----------
    values, mean, scale : ndarray, shape (M,)
        Observations, their means mu and standard deviations sigma.

    Returns
    -------
    ndarray, shape (M,)
        Nats.
    """
    nats: Floats = np.log(scale) + 0.5 * np.square((values - mean) / scale) + LOG_SQRT_2PI
    return nats


def gaussian_nll(values: Floats, mean: Floats, scale: Floats, rows: Mask | None = None) -> float:
    """Return the negative log-likelihood, in nats: mean over observations, sum over variables.

    Parameters
    ----------
    values, mean, scale : ndarray, shape (N, M)
        Observations of N variables, the means and the standard deviations of their distributions.
    rows : ndarray of bool, shape (N, M), optional
        The observations that count for each variable; by default all.

    Returns
    -------
    float
        (1/M) sum over n, m of log(sigma sqrt(2 pi)) + (x - mu)^2 / (2 sigma^2).
    """
    total = 0.0
    for n in range(len(values)):  # one by one: long tables need little more memory
        nats = pointwise_nll(values[n], mean[n], scale[n])
        total += float(np.mean(nats if rows is None else np.where(rows[n], nats, 0.0)))
    return total
