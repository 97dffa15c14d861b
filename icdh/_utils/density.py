"""Densities and entropies, in nats: what the residuals, counts and samples of every model are scored by.

These are the Gaussian density, the distribution of counts, and the differential entropy of a sample, from the spacings
of its order statistics. That of counts is the negative binomial, zero-inflated or not: P(k) = p [k = 0] + (1 - p)
NB(k).

References
----------
Lambert: "Zero-inflated Poisson regression, with an application to defects in manufacturing", Technometrics 34 (1992).
"""

import math
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from icdh._utils.arrays import Floats, Integers, Mask, cells, deviation_of, mean_of, sum_of, times

GAUSSIAN_ENTROPY = 0.5 * math.log(2.0 * math.pi * math.e)
LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
LEAST_EXCESS = 0.01  # variance beyond Poisson's, a share of it, of a column that has none
FARTHEST = 10.0  # log odds of the further zeros


def entropy(sample: Floats, window: int | None = None) -> float:
    """Return the differential entropy of a sample, in nats, from the spacings of its order statistics.

    The estimate is the mean over i of log((x_(i+k_i) - x_(i-k_i)) / (2 k_i)), minus its bias for a constant density.
    The half-width k_i is the window k. Near the ends it shrinks to the distance from the end, but not below k / 2;
    indices are clipped to 1 ... n. Shrinking windows follow tails and edges as well as the middle; windows of one or
    two spacings would give the outermost values too much weight.

    Tied values are spread evenly over the interval that reaches half-way to their neighbours. Spacings are bounded
    below by the floating-point resolution. Rounded and even constant samples therefore have a finite entropy.

    Parameters
    ----------
    sample : ndarray, shape (n,)
        The observations, n >= 3.
    window : int, optional
        k, at least 1. The default is a third of the square root of n, rounded.

    Returns
    -------
    float
        The entropy, always finite.

    References
    ----------
    Vasicek, "A test for normality based on sample entropy", J. Royal Statistical Society B 38 (1976).
    Learned-Miller and Fisher, "ICA using spacings estimates of entropy", JMLR 4 (2003).
    """
    ordered = spread_ties(np.sort(sample))
    first, last, bias = _windows(ordered.size, default_window(ordered.size) if window is None else window)
    gaps = np.maximum(ordered[last] - ordered[first], resolution(ordered))
    return float(np.log(gaps).mean() - bias)


@lru_cache(maxsize=64)
def _windows(n: int, window: int) -> tuple[Integers, Integers, float]:
    """Return the ends of the windows about all order statistics, and the bias of the mean logarithm of a spacing."""
    from scipy.special import digamma

    position = np.arange(n)
    reach = np.clip(np.minimum(position, n - 1 - position), (window + 1) // 2, window)
    first, last = np.maximum(position - reach, 0), np.minimum(position + reach, n - 1)
    return first, last, float(digamma(last - first).mean() - digamma(n + 1))


def vasicek_entropy(sample: Floats, window: int) -> float:
    """Return the differential entropy of a sample, in nats, from spacings that shrink at both ends.

    The estimate is the mean over i of log(n (x_(i+w) - x_(i-w)) / (2 w)), indices clipped to 1 ... n, minus its bias
    on uniform samples. Ties and spacings are treated as in `entropy`.

    Parameters
    ----------
    sample : ndarray, shape (n,)
        The observations, n >= 3.
    window : int
        w, from 1 to n / 2.

    Returns
    -------
    float
        The entropy, always finite.

    References
    ----------
    Vasicek, "A test for normality based on sample entropy", J. Royal Statistical Society B 38 (1976).
    Wieczorkowski and Grzegorzewski, "Entropy estimators: improvements and comparisons", Communications in
    Statistics: Simulation and Computation 28 (1999), Eq. 6.
    """
    ordered = spread_ties(np.sort(sample))
    n, w = ordered.size, window
    last = np.minimum(np.arange(n) + w, n - 1)
    first = np.maximum(np.arange(n) - w, 0)
    gaps = np.maximum(ordered[last] - ordered[first], resolution(ordered))
    return float(np.log(gaps * (n / (2 * w))).mean() - _uniform_bias(n, w))


@lru_cache(maxsize=64)
def _uniform_bias(n: int, window: int) -> float:
    """Return the exact bias of Vasicek's estimate on uniform samples."""
    from scipy.special import digamma

    ends = digamma(np.arange(window) + window).sum() * 2 / n
    return float(math.log(n / (2 * window)) + (1 - 2 * window / n) * digamma(2 * window) + ends - digamma(n + 1))


def negentropy(sample: Floats, weights: Floats | None) -> float:
    """Return by how many nats the sample's entropy is below that of a Gaussian of the same variance.

    The mean of the estimate over Gaussian samples of this size is subtracted, so that it is 0 for them.

    Parameters
    ----------
    sample : ndarray, shape (n,)
        The observations, n >= 3.
    weights : ndarray, shape (n,), or None
        How often each counts; None if once.

    Returns
    -------
    float
        The negentropy: 0 for Gaussian samples up to noise, always finite.
    """
    k = default_window(sample.size)
    return _excess(sample, k, weights) - _gaussian_moments(sample.size, k)[0]


def negentropy_deviation(n: float) -> float:
    """Return the standard deviation of the `negentropy` of Gaussian samples of size n."""
    size = max(round(n), 2)
    return _gaussian_moments(size, default_window(size))[1]


def default_window(n: int) -> int:
    """Return a third of the square root of n, rounded, at least 1."""
    return max(1, round(math.sqrt(n) / 3))


def resolution(sample: Floats) -> float:
    """Return the spacing of floating-point numbers at the largest absolute value of a sample."""
    return float(np.spacing(np.abs(sample).max()))


def _excess(sample: Floats, window: int, weights: Floats | None) -> float:
    deviation = max(float(deviation_of(sample, weights)), resolution(sample))
    of_sample = entropy(sample, window) if weights is None else _weighted_entropy(sample, window, weights)
    return GAUSSIAN_ENTROPY + math.log(deviation) - of_sample


def _weighted_entropy(sample: Floats, window: int, weights: Floats) -> float:
    """Return the entropy as `entropy` does, where the probability between two order statistics is that of the weights.

    That probability varies by chance, too, as far as the weights differ within a window, and a large weight is in its
    own window. To the second order both together lower the estimate by half the squared coefficient of variation over
    the number of spacings.
    """
    from scipy.special import digamma

    order = np.argsort(sample, kind="stable")
    ordered, shares = spread_ties(sample[order]), weights[order] / weights.sum()
    n, (first, last, _) = ordered.size, _windows(ordered.size, window)
    below, squares = np.cumsum(shares) - shares / 2, np.cumsum(np.square(shares))
    spacings, between = last - first, below[last] - below[first]
    variation = np.maximum(spacings * (squares[last] - squares[first]) / np.square(between) - 1.0, 0.0)
    bias = digamma(spacings) - np.log(spacings) - variation / (2 * spacings)
    gaps = np.maximum(ordered[last] - ordered[first], resolution(ordered))
    return float(shares @ (np.log(gaps / between) - bias) + digamma(n + 1) - math.log(n))


@lru_cache(maxsize=64)
def _gaussian_moments(n: int, window: int) -> tuple[float, float]:
    """Return mean and standard deviation of the uncorrected estimate over Gaussian samples, drawn with a fixed seed."""
    rng = np.random.default_rng(0)
    draws = max(20, min(200, 200_000 // n))
    excess = [_excess(rng.standard_normal(n), window, None) for _ in range(draws)]
    return float(np.mean(excess)), float(np.std(excess))


def spread_ties(ordered: Floats) -> Floats:
    """Return an ordered sample with every run of equal values spread over the interval that is nearest to it.

    Parameters
    ----------
    ordered : ndarray, shape (n,)
        The order statistics.

    Returns
    -------
    ndarray, shape (n,)
        Order statistics without ties; untied values, and a constant sample, do not change.
    """
    if (ordered[1:] > ordered[:-1]).all():
        return ordered
    low, high = cells(ordered)
    _, first, counts = np.unique(ordered, return_index=True, return_counts=True)
    place = (np.arange(ordered.size) - np.repeat(first, counts) + 0.5) / np.repeat(counts, counts)
    return low + place * (high - low)


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
