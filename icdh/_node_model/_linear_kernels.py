"""Kernels of linear and of additive models: what changes of one cause leave of the variance; precisions of smooths."""

# mypy: disable-error-code=no-untyped-def
# Numba infers the types of arguments; docstrings say them, with shapes.

import math

import numpy as np

from icdh._node_model._kernels import VARIANCE_FLOOR
from icdh._utils.arrays import Floats, Integers
from icdh._utils.jit import REASSOCIATE, cholesky_in_place, cholesky_solve, exp, kernel

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
def fill_linear_gains(moments, inside, gains):
    """Fill by how much the score falls if each variable enters, or leaves if it is inside.

    Parameters
    ----------
    moments : tuple
        Covariances of all R causes, positive definite, shape (R, R), and with the response, shape (R,); its variance;
        the number of observations, each as often as it counts; what each cause costs, shape (R,); the most causes.
    inside : ndarray of int, shape (p,)
        The causes of the model.
    gains : ndarray, shape (R,)
        Is filled; minus infinity for those that enter beyond the most causes.
    """
    covariance, with_response, variance, n, price, most = moments
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


@kernel()
def fit_smooths(
    products: Floats, moments: Floats, squares: float, owner: Integers, n: float, weights: Floats
) -> tuple[float, float, int]:
    """Return what lines and smooths cost at the best precisions, without the price of lines; the variance; the rank.

    Parameters
    ----------
    products, moments : ndarray, shapes (k, k), (k,)
        Products of lines and splines, the lines first, and of these with the response.
    squares : float
        Sum of squares of the response.
    owner : ndarray of int, shape (k,)
        Which smooth a spline belongs to, in ascending order; -1 for lines.
    n : float
        Observations, each as often as it counts.
    weights : ndarray, shape (k,)
        Is filled with the weights of lines and splines.
    """
    size, n_smooths = moments.size, owner[moments.size - 1] + 1
    factor, trial, column = np.empty((size, size)), np.empty(size), np.empty(size)
    precision, determined, sizes = np.ones(n_smooths), np.empty(n_smooths), np.empty(n_smooths)
    best, best_variance, rank = math.inf, 1.0, 0
    for _ in range(8):  # updates of the precisions
        for i in range(size):
            for j in range(size):
                factor[i, j] = products[i, j]
            factor[i, i] += 1e-11 * products[i, i] if owner[i] < 0 else precision[owner[i]]
            trial[i] = moments[i]
        log_determinant = cholesky_in_place(factor, size)
        if math.isnan(log_determinant):
            break
        cholesky_solve(factor, trial)
        left = squares
        rank = 0
        for i in range(size):
            left -= moments[i] * trial[i]
            if owner[i] < 0:
                log_determinant -= 2.0 * math.log(factor[i, i])
                # a line counts if so much of its square is left beside the lines before
                rank += factor[i, i] * factor[i, i] > 1e-9 * products[i, i]
            else:
                log_determinant -= math.log(precision[owner[i]])
        left = max(left, 0.0)
        variance = max(left / n, 2.0 * VARIANCE_FLOOR)
        cost = 0.5 * (n * math.log(variance) + left / variance + log_determinant)
        for k in range(n_smooths):
            cost += 0.5 * (precision[k] - 1.0 - math.log(precision[k]))
            determined[k] = sizes[k] = 0.0
        gained = best - cost
        if gained > 0.0:
            best, best_variance = cost, variance
            for i in range(size):
                weights[i] = trial[i]
        if not gained >= 0.05:  # nats
            break
        for c in range(size):  # the inverse of the factor, column by column
            for i in range(c, -1, -1):
                total = 1.0 if i == c else 0.0
                for j in range(i + 1, c + 1):
                    total -= factor[i, j] * column[j]
                column[i] = total / factor[i, i]
                if owner[i] >= 0:
                    determined[owner[i]] -= precision[owner[i]] * column[i] * column[i]
        for i in range(size):
            if owner[i] >= 0:
                determined[owner[i]] += 1.0
                sizes[owner[i]] += trial[i] * trial[i] / variance
        for k in range(n_smooths):
            update = (max(determined[k], 0.0) + 1.0) / (sizes[k] + 1.0)
            precision[k] = min(max(update, 1e-6), 1e6)
    return best, best_variance, rank
