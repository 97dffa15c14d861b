"""Every compiled kernel.

They share one file because Numba's cache notices edits in the file of a kernel only. Kernels take blocks of
observations laid out features first: row ``n`` of a block holds variable ``n`` at consecutive observations,
so that every inner loop runs over contiguous memory and vectorises; ``error_model="numpy"`` is part of that, because
Python's check for a zero divisor is a branch.

The fast-math flags are named: ``contract`` (fused multiply-add) keeps every digit that matters; ``reassoc``
lets sums over observations use several accumulators. NaN and infinity keep their meaning everywhere.
"""

import numpy as np
from numba import njit

CONTRACT = {"contract"}
REASSOCIATE = {"contract", "reassoc"}

LARGEST_EXPONENT = 708.0
LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
ROUNDING = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the nearest integer in the low bits


@njit(cache=True, fastmath=CONTRACT, error_model="numpy", inline="always")
def exp(x):
    """Exponential of x in [-708, 708], clipped outside: branch free, so that loops over it vectorise."""
    x = min(max(x, -LARGEST_EXPONENT), LARGEST_EXPONENT)
    shifted = x * LOG2_E + ROUNDING
    k = shifted - ROUNDING
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    p = 1.6059043836821613e-10
    p = p * r + 2.0876756987868099e-09
    p = p * r + 2.5052108385441720e-08
    p = p * r + 2.7557319223985888e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.4801587301587302e-05
    p = p * r + 1.9841269841269841e-04
    p = p * r + 1.3888888888888889e-03
    p = p * r + 8.3333333333333333e-03
    p = p * r + 4.1666666666666664e-02
    p = p * r + 1.6666666666666666e-01
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    bits = np.float64(p).view(np.int64) + (np.float64(shifted).view(np.int64) << 52)
    return np.int64(bits).view(np.float64)


@njit(cache=True, fastmath=CONTRACT, error_model="numpy")
def activate(z):
    """Replace pre-activations by logistic activations."""
    for row in range(z.shape[0]):
        for m in range(z.shape[1]):
            z[row, m] = 1.0 / (1.0 + exp(-z[row, m]))


@njit(cache=True, fastmath=REASSOCIATE, error_model="numpy")
def combine(s, w, out):
    """Set ``out[n, k] = w[n, k] @ s[n]`` for hidden units ``s`` (N * m1, M), ``w`` (N, K, m1), ``out`` (N, K, M)."""
    nodes, outputs, units = w.shape
    rows = s.shape[1]
    for n in range(nodes):
        for k in range(outputs):
            for m in range(rows):
                out[n, k, m] = 0.0
            for h in range(units):
                weight = w[n, k, h]
                for m in range(rows):
                    out[n, k, m] += weight * s[n * units + h, m]


@njit(cache=True, fastmath=REASSOCIATE, error_model="numpy")
def backpropagate(s, g, w, dw):
    """Add to ``dw`` (N, K, m1) and turn activations ``s`` into derivatives by the pre-activations.

    ``g`` (N, K, M) holds the derivatives of the loss by the outputs of ``combine``.
    """
    nodes, outputs, units = w.shape
    rows = s.shape[1]
    chain = np.empty(rows)
    for n in range(nodes):
        for h in range(units):
            row = n * units + h
            chain[:] = 0.0
            for k in range(outputs):
                weight = w[n, k, h]
                total = 0.0
                for m in range(rows):
                    total += g[n, k, m] * s[row, m]
                    chain[m] += weight * g[n, k, m]
                dw[n, k, h] += total
            for m in range(rows):
                s[row, m] = chain[m] * s[row, m] * (1.0 - s[row, m])


@njit(cache=True, fastmath=REASSOCIATE, error_model="numpy")
def weighted_squares(x, precision, mean):
    """Return the sum of ``precision * (x - mean)**2 / 2``, arrays (N, M); ``mean`` becomes the derivative by itself."""
    total = 0.0
    for n in range(x.shape[0]):
        for m in range(x.shape[1]):
            residual = x[n, m] - mean[n, m]
            weighted = precision[n, m] * residual
            total += 0.5 * weighted * residual
            mean[n, m] = -weighted
    return total


@njit(cache=True, error_model="numpy")
def gaussian_nll(residual, slope, floor, g_mean, g_slope):
    """Negative log-likelihood of residuals with scale ``sigma = relu(slope) + floor`` (Eq. 11, one node).

    Sets the derivatives by the mean and by ``slope``; returns the loss without its constant, in nats, and
    its derivative by ``floor``.
    """
    total = 0.0
    d_floor = 0.0
    for m in range(residual.shape[0]):
        alive = slope[m] > 0.0
        sigma = (slope[m] if alive else 0.0) + floor
        e = residual[m] / sigma
        d_sigma = (1.0 - e * e) / sigma
        total += np.log(sigma) + 0.5 * e * e
        g_mean[m] = -e / sigma
        g_slope[m] = d_sigma if alive else 0.0
        d_floor += d_sigma
    return total, d_floor
