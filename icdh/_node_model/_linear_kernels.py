"""Kernels of linear models: what each change of one cause leaves of the variance, and how far from Gaussian it is."""

# mypy: disable-error-code=no-untyped-def
# Numba infers the types of arguments; docstrings say them, with shapes.

import math

import numpy as np

from icdh._utils.jit import REASSOCIATE, cholesky_in_place, exp, kernel

LEAST_VARIANCE = 1e-9  # of a column of variance one; a network's has a higher floor, as few of its rows may fall to it
LEAST_APART = 1e-4  # share of the variance of two variables' difference below which neither tells anything
OF_ODD, OF_EVEN = 36.0 / (8.0 * math.sqrt(3.0) - 9.0), 24.0 / (16.0 * math.sqrt(3.0) - 27.0)  # Hyvärinen's a and b
LEAST_LEFT = 1e-9  # share of a further cause's variance that the others must leave of it


@kernel()
def linear_cost(variance, n):
    """Return the evidence that `fit_linear` gives a model of this residual variance, but for what its causes cost."""
    variance = max(variance, 0.0)  # rounding may make it negative
    floored = max(variance, LEAST_VARIANCE)
    return 0.5 * (n * variance / floored + (n - 1) * math.log(floored))


@kernel(fastmath=REASSOCIATE)
def fill_linear_gains(covariance, with_response, variance, n, price, most, inside, gains):
    """Fill by how much the score falls if each variable enters, or leaves if it is inside.

    Parameters
    ----------
    covariance : ndarray, shape (R, R)
        That of all causes, positive definite.
    with_response : ndarray, shape (R,)
        Their covariances with the response.
    variance : float
        That of the response.
    n : float
        The number of observations, each as often as it counts.
    price : ndarray, shape (R,)
        What each cause costs.
    most : int
        The most causes.
    inside : ndarray of int, shape (p,)
        The causes of the model.
    gains : ndarray, shape (R,)
        Is filled; minus infinity for those that enter beyond the most causes.
    """
    p, size = inside.size, gains.size
    factor, inverse, between, slopes = np.empty((p, p)), np.zeros((p, p)), np.empty((p, size)), np.empty(p)
    for i in range(p):
        inverse[i, i] = 1.0
        slopes[i] = with_response[inside[i]]
        for j in range(i, p):
            factor[i, j] = covariance[inside[i], inside[j]]
    cholesky_in_place(factor, p)
    for k in range(p):  # with R^T R = the covariance of those inside, R^-T times everything
        row, source = between[k], covariance[inside[k]]
        for j in range(size):
            row[j] = source[j]
        for i in range(k):
            f, other = factor[i, k], between[i]
            for j in range(size):
                row[j] -= f * other[j]
            for j in range(i + 1):
                inverse[k, j] -= f * inverse[i, j]
            slopes[k] -= f * slopes[i]
        scale = 1.0 / factor[k, k]
        for j in range(size):
            row[j] *= scale
        for j in range(k + 1):
            inverse[k, j] *= scale
        slopes[k] *= scale
        variance -= slopes[k] ** 2
    left, explained = np.empty(size), np.empty(size)
    for j in range(size):
        left[j], explained[j] = covariance[j, j], with_response[j]
    for k in range(p):
        row, slope = between[k], slopes[k]
        for j in range(size):
            left[j] -= row[j] ** 2
            explained[j] -= row[j] * slope
    cost, enough = linear_cost(variance, n), p < most
    for j in range(size):
        resolved = left[j] > LEAST_LEFT * covariance[j, j]
        after = variance - explained[j] ** 2 / left[j] if resolved else variance
        gains[j] = cost - linear_cost(after, n) - price[j] if enough else -math.inf
    for i in range(p):
        slope = square = 0.0
        for k in range(i, p):
            slope += inverse[k, i] * slopes[k]
            square += inverse[k, i] ** 2
        gains[inside[i]] = cost - linear_cost(variance + slope**2 / square, n) + price[inside[i]]


@kernel(fastmath=REASSOCIATE)
def fill_negentropies(x, shares, correlations, negentropies):
    """Fill the negentropy of what each variable leaves of each other one, and of each itself on the diagonal.

    Parameters
    ----------
    x : ndarray, shape (N, n)
        The variables, standardised.
    shares : ndarray, shape (n,)
        How much every observation counts; the sum is one.
    correlations : ndarray, shape (N, N)
        Those of the variables.
    negentropies : ndarray, shape (N, N)
        Is filled; ``[i, j]`` is that of the residual of j given i.
    """
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            slope = 0.0 if i == j else correlations[i, j]
            scale = 1.0 / math.sqrt(max(1.0 - slope * slope, LEAST_APART))
            cause, effect, odd, even = x[i], x[j], 0.0, 0.0
            for m in range(shares.size):
                u = scale * (effect[m] - slope * cause[m])
                bell = shares[m] * exp(-0.5 * u * u)
                odd += u * bell
                even += bell
            negentropies[i, j] = OF_ODD * odd**2 + OF_EVEN * (even - math.sqrt(0.5)) ** 2
