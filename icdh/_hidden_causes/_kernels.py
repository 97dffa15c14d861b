"""The kernel of EM for linear graphs with hidden common causes, on covariances."""

import math

import numpy as np

from icdh._node_model._kernels import VARIANCE_FLOOR
from icdh._utils.arrays import Floats, Mask
from icdh._utils.jit import cholesky_in_place, cholesky_solve, kernel


@kernel()
def em_of_covariances(moments: Floats, spreads: Floats, uses: Mask, n: int, tolerance: float, most_steps: int) -> float:
    """Return the bound on the negative log-likelihood of all variables, without constants, at the end of EM.

    Parameters
    ----------
    moments : ndarray, shape (N + K, N + K)
        Second moments of N variables and K hidden ones, which have unit variance; those of the hidden ones are
        overwritten at each step.
    spreads : ndarray, shape (K,)
        The variances of the hidden values given a row; overwritten likewise.
    uses : ndarray of bool, shape (N, N + K)
        The causes of each variable.
    n, tolerance, most_steps
        The number of observations, the nats of a step that ends EM, and its most steps.
    """
    N, size = uses.shape
    slopes, variances = np.zeros((N, size)), np.zeros(N)
    gram, weights = np.zeros((size, size)), np.zeros(N)
    bound = math.inf
    for step in range(most_steps):
        for i in range(N):
            inside = np.flatnonzero(uses[i])
            count = inside.size
            if step > 0 and (count == 0 or inside[count - 1] < N):
                continue  # what has no hidden cause stays
            solution, variances[i] = np.zeros(count), moments[i, i]
            for a in range(count):
                for b in range(a, count):
                    gram[a, b] = moments[inside[a], inside[b]]
                solution[a] = moments[inside[a], i]
            if math.isnan(cholesky_in_place(gram, count)):
                return math.inf
            cholesky_solve(gram, solution)
            for a in range(count):
                slopes[i, inside[a]] = solution[a]
                variances[i] -= solution[a] * moments[inside[a], i]
            variances[i] = max(variances[i], 2.0 * VARIANCE_FLOOR)
        last, bound = bound, 0.5 * (n - 1) * np.log(variances).sum() - 0.5 * n * np.log(spreads).sum()
        if not bound < last - tolerance:
            break
        for k in range(N, size):
            precision = 1.0 + (np.square(slopes[:, k]) / variances).sum()
            for j in range(N):
                weights[j] = slopes[j, k] / variances[j] / precision
            for i in range(N):
                if slopes[i, k] != 0.0:
                    for j in range(N):
                        weights[j] -= slopes[i, k] / variances[i] / precision * slopes[i, j]
            second = 0.0
            for i in range(N):
                moments[k, i] = 0.0
                for j in range(N):
                    moments[k, i] += moments[i, j] * weights[j]
                second += weights[i] * moments[k, i]
            scale = second + 1.0 / precision
            spreads[k - N] = 1.0 / (precision * scale)
            for i in range(N):
                moments[k, i] /= math.sqrt(scale)
                moments[i, k] = moments[k, i]
    return bound
