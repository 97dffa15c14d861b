"""Kernel of the additive model: the precisions of its smooths."""

import math

import numpy as np

from icdh._node_model._kernels import VARIANCE_FLOOR
from icdh._utils.arrays import Floats, Integers
from icdh._utils.jit import cholesky_in_place, cholesky_solve, kernel


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
