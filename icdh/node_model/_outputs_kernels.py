"""Kernels of the network of a node model as its outputs see it: a number of linear functions of the hidden units.

Output o is theta[intercepts[o]] + unit * sum_h theta[weights[o] + h] hidden_h, without an intercept where
intercepts[o] < 0; the first layer is theta[:(p + 1) m], as `icdh.node_model.fit` orders it. Observations are last.
"""

import math

import numpy as np

from icdh._jit import CONTRACT, REASSOCIATE, ROWS, add_gram, kernel


@kernel(fastmath=REASSOCIATE)
def backpropagate(x, hidden, theta, intercepts, weights, unit, pull, gradient):
    """Add to the gradient by theta what the derivatives by the outputs, ``pull`` of shape (outputs, n), make of it."""
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
def add_fisher_of_levels(x, hidden, theta, intercepts, weights, roots, fisher):
    """Add the Fisher matrix by theta, on and above its diagonal, that of `level_terms` being the one by the outputs.

    The sizes of ``fisher`` are that of theta, made a multiple of four.
    """
    jacobian, root = np.zeros((fisher.shape[0], ROWS)), np.empty((intercepts.size, ROWS))
    for first in range(0, x.shape[1], ROWS):
        rows = min(ROWS, x.shape[1] - first)
        for k in range(intercepts.size):
            for o in range(intercepts.size):
                for r in range(rows):
                    root[o, r] = roots[k, o, first + r]
            _fill_jacobian(x, hidden, first, rows, theta, intercepts, weights, 1.0, root, jacobian)
            add_gram(jacobian, rows, fisher)


@kernel(fastmath=CONTRACT)
def add_fisher_of_labels(x, hidden, theta, intercepts, weights, unit, p, fisher):
    """Add the Fisher matrix by theta, on and above its diagonal, of labels of probabilities p, shape (K, n).

    That by the outputs is the sum over k of p_k (e_k - p) (e_k - p)^T. Sizes as of `add_fisher_of_levels`.
    """
    n_labels = p.shape[0]
    jacobian, root = np.zeros((fisher.shape[0], ROWS)), np.empty((n_labels, ROWS))
    for first in range(0, x.shape[1], ROWS):
        rows = min(ROWS, x.shape[1] - first)
        for k in range(n_labels):
            for o in range(n_labels):
                for r in range(rows):
                    off = 1.0 if o == k else 0.0
                    root[o, r] = math.sqrt(p[k, first + r]) * (off - p[o, first + r])
            _fill_jacobian(x, hidden, first, rows, theta, intercepts, weights, unit, root, jacobian)
            add_gram(jacobian, rows, fisher)


@kernel()
def _logistic(z):
    tail = math.exp(-abs(z))
    return 1.0 / (1.0 + tail) if z >= 0.0 else tail / (1.0 + tail)


@kernel()
def _log_logistic(z):
    return min(z, 0.0) - math.log1p(math.exp(-abs(z)))


@kernel()
def level_terms(mu, u, levels, cuts, unit, limit, pull, roots):
    """Fill the derivatives of -log P by (mu, u), (2, n), and roots of their Fisher matrix; return the sum of -log P.

    The model is that of `icdh.node_model.levels`; ``unit`` times the deviation is the logistic's own, ``limit`` that of
    u. The Fisher matrix is the sum over k = 0, 1 of roots[k] roots[k]^T, (2, 2, n).
    """
    last, total = cuts.size, 0.0
    for r in range(mu.size):
        slope = unit * math.exp(-0.5 * min(max(u[r], -limit), limit))
        mean_mean, mean_scale, scale_scale = 0.0, 0.0, 0.0
        low, below = 0.0, 0.0  # the threshold below the level, standardised, and the logistic there
        for k in range(last + 1):
            p, log_p, by_mean, by_scale = 1.0 - below, 0.0, below, below * low
            high, above = 0.0, 1.0
            if k < last:
                high = (cuts[k] - mu[r]) * slope
                above = _logistic(high)
                p *= above
                by_mean -= 1.0 - above
                by_scale -= (1.0 - above) * high
            if 0 < k < last:
                gap = max(high - low, 1e-300)
                between = -math.expm1(-gap)
                p *= between
                by_scale -= gap * math.exp(-gap) / between
                log_p += math.log(between) if levels[r] == k else 0.0
            by_mean *= slope
            by_scale *= 0.5
            mean_mean += p * by_mean * by_mean
            mean_scale += p * by_mean * by_scale
            scale_scale += p * by_scale * by_scale
            if levels[r] == k:
                log_p += _log_logistic(high) if k < last else 0.0
                log_p += _log_logistic(-low) if k > 0 else 0.0
                total -= log_p
                pull[0, r], pull[1, r] = -by_mean, -by_scale
            low, below = high, above
        root = math.sqrt(mean_mean)
        cross = mean_scale / max(root, 1e-150)
        roots[0, 0, r], roots[0, 1, r] = root, cross
        roots[1, 0, r], roots[1, 1, r] = 0.0, math.sqrt(max(scale_scale - cross * cross, 0.0))
    return total
