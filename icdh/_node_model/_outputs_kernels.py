"""Kernels of a node model's outputs: linear functions of its hidden units.

Output o is theta[intercepts[o]] + unit * sum_h theta[weights[o] + h] hidden_h, without an intercept where
intercepts[o] < 0; the first layer is theta[:(p + 1) m], as `icdh._node_model.network` orders it. Observations are last.
"""

# mypy: disable-error-code=no-untyped-def
# Numba infers the types of arguments; docstrings say them, with shapes.

import math

import numpy as np

from icdh._ground.jit import CONTRACT, REASSOCIATE, ROWS, add_gram, exp, kernel
from icdh._node_model._kernels import LOG_VARIANCE_LIMIT

LEAST_GAP = 1e-300  # between thresholds
LOGISTIC_DEVIATION = math.pi / math.sqrt(3.0)  # standard deviation of the standard logistic distribution


@kernel(fastmath=REASSOCIATE)
def backpropagate(x, hidden, theta, intercepts, weights, unit, pull, gradient):
    """Add to the gradient by theta, given the derivatives by the outputs.

    Parameters
    ----------
    x : ndarray, shape (p, n)
        The parents.
    hidden : ndarray, shape (m, n)
        The hidden units.
    theta : ndarray
        The weights.
    intercepts, weights : ndarray of int, shape (outputs,)
        Where the intercept and the first weight of every output are in theta.
    unit : float
        What the weights of the outputs are multiplied by.
    pull : ndarray, shape (outputs, n)
        The derivatives by the outputs.
    gradient : ndarray
        Is added to.
    """
    p, n, m = x.shape[0], x.shape[1], hidden.shape[0]
    of_unit = np.empty(ROWS)
    for first in range(0, n, ROWS):
        rows = min(ROWS, n - first)
        for o in range(pull.shape[0]):
            if intercepts[o] >= 0:
                own, total = pull[o, first : first + rows], 0.0
                for r in range(rows):
                    total += own[r]
                gradient[intercepts[o]] += total
        for h in range(m):
            value = hidden[h, first : first + rows]
            for r in range(rows):
                of_unit[r] = 0.0
            for o in range(pull.shape[0]):
                own, weight, total = pull[o, first : first + rows], unit * theta[weights[o] + h], 0.0
                for r in range(rows):
                    total += own[r] * value[r]
                    of_unit[r] += weight * own[r]
                gradient[weights[o] + h] += unit * total
            total = 0.0
            for r in range(rows):
                of_unit[r] *= 1.0 - value[r] * value[r]
                total += of_unit[r]
            gradient[p * m + h] += total
            for j in range(p):
                cause, total = x[j, first : first + rows], 0.0
                for r in range(rows):
                    total += cause[r] * of_unit[r]
                gradient[j * m + h] += total


@kernel(fastmath=CONTRACT)
def _fill_jacobian(x, hidden, first, rows, theta, intercepts, weights, unit, root, jacobian):
    """Fill the derivatives by theta, one weight a row, of a combination of the outputs, ``root`` (outputs, ROWS)."""
    p, m = x.shape[0], hidden.shape[0]
    for o in range(root.shape[0]):
        own = root[o]
        if intercepts[o] >= 0:
            row = jacobian[intercepts[o]]
            for r in range(rows):
                row[r] = own[r]
        for h in range(m):
            row, value = jacobian[weights[o] + h], hidden[h, first : first + rows]
            for r in range(rows):
                row[r] = unit * own[r] * value[r]
    for h in range(m):
        slope, value = jacobian[p * m + h], hidden[h, first : first + rows]
        for r in range(rows):
            slope[r] = 0.0
        for o in range(root.shape[0]):
            own, weight = root[o], unit * theta[weights[o] + h]
            for r in range(rows):
                slope[r] += weight * own[r]
        for r in range(rows):
            slope[r] *= 1.0 - value[r] * value[r]
        for j in range(p):
            row, cause = jacobian[j * m + h], x[j, first : first + rows]
            for r in range(rows):
                row[r] = cause[r] * slope[r]


@kernel(fastmath=CONTRACT)
def add_fisher(x, hidden, theta, intercepts, weights, unit, roots, fisher):
    """Add the Fisher matrix by theta, on and above its diagonal.

    Parameters
    ----------
    x, hidden, theta, intercepts, weights, unit
        As of `backpropagate`.
    roots : ndarray, shape (k, outputs, n)
        The Fisher matrix by the outputs is the sum over k of roots[k] roots[k]^T.
    fisher : ndarray, shape (size, size)
        Is added to; its size is that of theta, made a multiple of four.
    """
    jacobian, root = np.zeros((fisher.shape[0], ROWS)), np.empty((intercepts.size, ROWS))
    for first in range(0, x.shape[1], ROWS):
        rows = min(ROWS, x.shape[1] - first)
        for k in range(roots.shape[0]):
            for o in range(intercepts.size):
                for r in range(rows):
                    root[o, r] = roots[k, o, first + r]
            _fill_jacobian(x, hidden, first, rows, theta, intercepts, weights, unit, root, jacobian)
            add_gram(jacobian, rows, fisher)


@kernel()
def mirror_with_penalty(fisher, penalty, whole):
    """Fill the whole of a matrix that is known on and above its diagonal, and add the penalties to that."""
    for i in range(penalty.size):
        for j in range(i, penalty.size):
            whole[i, j] = whole[j, i] = fisher[i, j]
        whole[i, i] += penalty[i]


@kernel()
def _log_logistic(z):
    return min(z, 0.0) - math.log1p(math.exp(-abs(z)))


@kernel()
def _surprise(mu, slope, level, cuts):
    """Return -log P of a level, exact in the tails."""
    log_p, low, high = 0.0, 0.0, 0.0
    if level > 0:
        low = (cuts[level - 1] - mu) * slope
        log_p += _log_logistic(-low)
    if level < cuts.size:
        high = (cuts[level] - mu) * slope
        log_p += _log_logistic(high)
    if 0 < level < cuts.size:
        log_p += math.log(-math.expm1(-max(high - low, LEAST_GAP)))
    return -log_p


@kernel(fastmath=CONTRACT)
def _fill_beyond(cut, mu, slope, high, beyond):
    """Fill a threshold, standardised, and one minus the logistic there."""
    for r in range(mu.size):
        high[r] = (cut - mu[r]) * slope[r]
        beyond[r] = 1.0 / (1.0 + exp(high[r]))


@kernel(fastmath=CONTRACT)
def _fill_between(low, high, between, by_gap):
    """Fill 1 - e^-gap of the gaps between two thresholds, and the gap times the derivative of its logarithm."""
    for r in range(low.size):
        gap = max(high[r] - low[r], LEAST_GAP)
        tail = exp(-gap)
        series = gap * (1.0 - gap * (1 / 2 - gap * (1 / 6 - gap * (1 / 24 - gap * (1 / 120)))))
        between[r] = series if gap < 0.01 else 1.0 - tail  # which of the two is the more exact
        by_gap[r] = gap * tail / between[r]


@kernel(fastmath=CONTRACT)
def _fill_slopes(slope, low, below, high, beyond, by_gap, by_mean, by_scale):
    """Fill the derivatives of log P of a level by mu and u."""
    for r in range(slope.size):
        by_mean[r] = (below[r] - beyond[r]) * slope[r]
    for r in range(slope.size):
        by_scale[r] = 0.5 * (below[r] * low[r] - beyond[r] * high[r] - by_gap[r])


@kernel(fastmath=CONTRACT)
def _add_squares(below, beyond, between, by_mean, by_scale, sums):
    """Add the products of the derivatives, weighted by the probability of the level."""
    mean_mean, mean_scale, scale_scale = sums[0], sums[1], sums[2]
    for r in range(below.size):
        between[r] *= (1.0 - below[r]) * (1.0 - beyond[r])
    for r in range(below.size):
        of_mean = between[r] * by_mean[r]
        mean_mean[r] += of_mean * by_mean[r]
        mean_scale[r] += of_mean * by_scale[r]
        scale_scale[r] += between[r] * by_scale[r] * by_scale[r]


@kernel(fastmath=CONTRACT)
def ordinal_terms(mu, u, levels, cuts, pull, roots):
    """Return the sum of -log P of the model of `icdh._node_model.ordinal`, and fill its derivatives by (mu, u).

    Parameters
    ----------
    mu, u : ndarray, shape (n,)
        Means and log-variances.
    levels : ndarray of int, shape (n,)
        The observed levels.
    cuts : ndarray, shape (K - 1,)
        The thresholds.
    pull : ndarray, shape (2, n)
        Is filled with the derivatives.
    roots : ndarray, shape (2, 2, n)
        Is filled with roots of the Fisher matrix, which is the sum over k = 0, 1 of roots[k] roots[k]^T.
    """
    total, last, work = 0.0, cuts.size, np.empty((12, ROWS))
    for first in range(0, mu.size, ROWS):
        rows = min(ROWS, mu.size - first)
        centre, own = mu[first : first + rows], levels[first : first + rows]
        block = work[:, :rows]
        slope, low, below, high, beyond, between = block[0], block[1], block[2], block[3], block[4], block[5]
        by_gap, by_mean, by_scale, sums = block[6], block[7], block[8], block[9:]
        for r in range(rows):
            slope[r] = LOGISTIC_DEVIATION * exp(-0.5 * min(max(u[first + r], -LOG_VARIANCE_LIMIT), LOG_VARIANCE_LIMIT))
            low[r] = below[r] = sums[0, r] = sums[1, r] = sums[2, r] = 0.0
        for k in range(last + 1):
            for r in range(rows):
                high[r], beyond[r], between[r], by_gap[r] = 0.0, 0.0, 1.0, 0.0
            if k < last:
                _fill_beyond(cuts[k], centre, slope, high, beyond)
            if 0 < k < last:
                _fill_between(low, high, between, by_gap)
            _fill_slopes(slope, low, below, high, beyond, by_gap, by_mean, by_scale)
            _add_squares(below, beyond, between, by_mean, by_scale, sums)
            for r in range(rows):
                if own[r] == k:
                    pull[0, first + r], pull[1, first + r] = -by_mean[r], -by_scale[r]
                low[r], below[r] = high[r], 1.0 - beyond[r]
        for r in range(rows):
            total += _surprise(centre[r], slope[r], own[r], cuts)
            root = math.sqrt(sums[0, r])
            cross = sums[1, r] / max(root, 1e-150)
            roots[0, 0, first + r], roots[0, 1, first + r] = root, cross
            roots[1, 0, first + r], roots[1, 1, first + r] = 0.0, math.sqrt(max(sums[2, r] - cross * cross, 0.0))
    return total
