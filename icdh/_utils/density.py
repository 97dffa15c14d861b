"""The Gaussian density by which every model of the package scores its residuals, and the distribution of counts.

That is the negative binomial, zero-inflated or not: P(k) = p [k = 0] + (1 - p) NB(k).

References
----------
Lambert: "Zero-inflated Poisson regression, with an application to defects in manufacturing", Technometrics 34 (1992).
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from icdh._utils.arrays import Floats, Mask, mean_of, sum_of, times

LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
LEAST_EXCESS = 0.01  # variance beyond Poisson's, a share of it, of a column that has none
FARTHEST = 10.0  # log odds of the further zeros


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


class NegativeBinomial(NamedTuple):
    """The likeliest distribution of counts, zero-inflated if they ask for that.

    Attributes
    ----------
    log_mean, log_dispersion : float
        The logarithms of its mean, and of a where its variance is mean + a mean^2.
    log_odds : float
        Those of the further zeros, log p / (1 - p); minus infinity if there are none.
    surprise : float
        The sum of -log P.
    """

    log_mean: float
    log_dispersion: float
    log_odds: float
    surprise: float


def log_probability(counts: Floats, mean: Floats, r: Floats) -> Floats:
    """Return log P, shape (n,), of counts.

    Parameters
    ----------
    counts : ndarray, shape (n,)
        The counts.
    mean, r : ndarray, shape (n,) or ()
        Their mean, and 1 / a where the variance is mean + a mean^2.
    """
    from scipy.special import gammaln

    nats: Floats = (
        gammaln(counts + r) - gammaln(r) - gammaln(counts + 1.0) - r * np.log1p(mean / r) - counts * np.log1p(r / mean)
    )
    return nats


def surprise_derivatives(counts: Floats, mean: Floats, r: Floats) -> Floats:
    """Return the derivatives of -log P by the logarithms of mean and a, shape (2, n).

    Parameters
    ----------
    counts, mean, r
        As of `log_probability`.
    """
    from scipy.special import digamma

    by_dispersion = r * (digamma(counts + r) - digamma(r) - np.log1p(mean / r) + (mean - counts) / (r + mean))
    return np.stack([(mean - counts) / (1.0 + mean / r), by_dispersion])


def fit_counts(counts: Floats, weights: Floats | None) -> NegativeBinomial:
    """Return the likeliest distribution of counts, shape (n,), each of which counts as often as its weight says.

    It is zero-inflated where that gains more than its parameter costs, (1/2) log n.

    Parameters
    ----------
    counts : ndarray, shape (n,)
        The counts.
    weights : ndarray, shape (n,), or None
        How often each counts; None if once.
    """
    from scipy.optimize import minimize_scalar

    n = sum_of(weights, counts.size)
    mean = max(float(mean_of(counts, weights)), 0.5 / n)
    least = math.log(LEAST_EXCESS / mean)
    bounds = least, max(least, 5.0) + 5.0

    def surprise(log_dispersion: float) -> float:
        log_p = log_probability(counts, np.array(mean), np.array(math.exp(-log_dispersion)))
        return -float(times(weights, log_p).sum())

    found = minimize_scalar(surprise, bounds=bounds, options={"xatol": 1e-6})
    log_dispersion = float(found.x)  # pyright: ignore[reportAttributeAccessIssue]
    plain = NegativeBinomial(math.log(mean), log_dispersion, -math.inf, surprise(log_dispersion))
    inflated = _zero_inflated(counts, weights, bounds)
    return inflated if plain.surprise - inflated.surprise > 0.5 * math.log(max(n, 1.0)) else plain


def _zero_inflated(counts: Floats, weights: Floats | None, bounds: tuple[float, float]) -> NegativeBinomial:
    """Return the likeliest zero-inflated distribution, its log dispersion within bounds."""
    from scipy.optimize import minimize

    values, place = np.unique(counts, return_inverse=True)
    often, is_zero = np.bincount(place, weights), values == 0.0
    zeros, mean = float(often[is_zero].sum()), float(often @ values)
    if not 0.0 < zeros < often.sum():
        return NegativeBinomial(0.0, 0.0, -math.inf, math.inf)

    def surprise(parameters: Floats) -> tuple[float, Floats]:
        mean, r, odds = np.exp(parameters * [1.0, -1.0, 1.0])
        log_p = log_probability(values, mean, r)
        of_law = np.where(is_zero, np.log(odds + np.exp(log_p)), log_p) - np.log1p(odds)
        share = np.exp(log_p - of_law) / (1.0 + odds)  # of the values that the counts give
        by_counts = surprise_derivatives(values, mean, r) @ (often * share)
        return -float(often @ of_law), np.append(by_counts, often @ (share - 1.0 / (1.0 + odds)))

    log_mean = math.log(mean / (often.sum() - zeros))  # of the others
    start = log_mean, float(np.clip(-1.0, *bounds)), math.log(zeros / (often.sum() - zeros))
    limits = (log_mean - FARTHEST, log_mean + FARTHEST), bounds, (-FARTHEST, FARTHEST)
    best = minimize(surprise, start, jac=True, bounds=limits, tol=1e-13)
    log_mean, log_dispersion, log_odds = best.x.tolist()
    return NegativeBinomial(log_mean, log_dispersion, log_odds, float(best.fun))
