"""Differential entropy of a sample from the spacings of its order statistics."""

import math
from functools import lru_cache

import numpy as np
from scipy.special import digamma

from icdh._utils.arrays import Floats, Integers, cells, deviation_of

GAUSSIAN_ENTROPY = 0.5 * math.log(2.0 * math.pi * math.e)


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
