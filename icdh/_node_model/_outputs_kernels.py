"""Kernels of a node model's outputs: linear functions of its hidden units.

Output o is theta[intercepts[o]] + unit * sum_h theta[weights[o] + h] hidden_h, without an intercept where
intercepts[o] < 0; the first layer is theta[:(p + 1) m], as `icdh._node_model.network` orders it. Observations are last.
"""

# mypy: disable-error-code=no-untyped-def
# Numba infers the types of arguments; docstrings say them, with shapes.

import math

import numpy as np

from icdh._node_model._kernels import (
    LOG_VARIANCE_LIMIT,
    VARIANCE_FLOOR,
    add_first_layer,
    add_pairs,
    fill_causes,
    fill_products,
    pair,
    pairs,
)
from icdh._utils.jit import CONTRACT, REASSOCIATE, ROWS, add_product, empty_block, exp, fill_product, kernel

SMALL_DISPERSION, LEAST_TAIL, MOST_TERMS = 0.3, 1e-9, 1000
LEAST_GAP = 1e-300  # between thresholds
LOGISTIC_DEVIATION = math.pi / math.sqrt(3.0)  # standard deviation of the standard logistic distribution


@kernel(fastmath=REASSOCIATE)
def backpropagate(x, hidden, theta, layout, pull, gradient):
    """Add to the gradient by theta, given the derivatives by the outputs.

    Parameters
    ----------
    x : ndarray, shape (p, n)
        The parents.
    hidden : ndarray, shape (m, n)
        The hidden units.
    theta : ndarray
        The weights.
    layout : tuple
        Where the intercept and the first weight of every output are in theta, each an ndarray of int, shape (outputs,),
        and what the weights of the outputs are multiplied by.
    pull : ndarray, shape (outputs, n)
        The derivatives by the outputs.
    gradient : ndarray
        Is added to.
    """
    p, n, m = x.shape[0], x.shape[1], hidden.shape[0]
    (intercepts, weights, unit), of_unit = layout, np.empty(ROWS)
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
def _fill_by_input(slope, factors, block, places, rows, total):
    """Fill the derivative by the input of a unit: its slope times the sum of ``factors[o] * block[places[o]]``."""
    for o in range(0, factors.size, 2):  # two at once: sums in memory cost more than products
        other = min(o + 1, factors.size - 1)
        a, b, of_a, of_b = block[places[o]], block[places[other]], factors[o], factors[other] if other > o else 0.0
        for r in range(rows):
            value = slope[r] * (of_a * a[r] + of_b * b[r])
            total[r] = value if o == 0 else total[r] + value


@kernel(fastmath=CONTRACT)
def add_fisher(x, hidden, theta, layout, curvature, fisher):
    """Add the Fisher matrix by theta, on and above its diagonal.

    For the weights of units h and l on inputs j and k the matrix is the sum of x_j x_k times a product of h and l, and
    that is the same for (j, l) and (k, h): it is summed for pairs of inputs times pairs of units, for products of
    inputs and units times units and outputs, and for pairs of outputs times pairs of units.

    Parameters
    ----------
    x, hidden, theta, layout
        As of `backpropagate`.
    curvature : ndarray, shape (outputs (outputs + 1) / 2, n)
        The Fisher matrix by the outputs of every observation, on and above its diagonal, row by row.
    fisher : ndarray, shape (size, size)
        Is added to.
    """
    intercepts, weights, unit = layout
    p, m, outputs = x.shape[0], hidden.shape[0], weights.size
    inputs, functions = p + 1, m + 1
    causes, basis, at = empty_block(inputs), np.empty((functions, ROWS)), np.empty(inputs, dtype=np.int64)
    slopes, by_outputs, of_causes = np.empty((m, ROWS)), empty_block(m * outputs), empty_block(inputs * functions)
    of_inputs, of_units = empty_block(pairs(inputs)), empty_block(pairs(m))
    of_functions, of_outputs = empty_block(pairs(functions)), empty_block(pairs(outputs))
    first_layer = np.zeros((of_inputs.shape[0], of_units.shape[0]))
    part = np.zeros(first_layer.shape)
    between = np.zeros((of_causes.shape[0], by_outputs.shape[0]))
    among = np.zeros(between.shape)
    last_layer = np.zeros((of_outputs.shape[0], of_functions.shape[0]))
    factors, places = np.empty((m, outputs)), np.empty((m, outputs), dtype=np.int64)
    entries = np.empty((outputs, outputs), dtype=np.int64)
    for o in range(outputs):
        for h in range(m):
            factors[h, o], places[h, o] = unit * theta[weights[o] + h], h * outputs + o
        for other in range(outputs):
            entries[o, other] = pair(min(o, other), max(o, other), outputs)
    for first in range(0, x.shape[1], ROWS):
        rows = min(ROWS, x.shape[1] - first)
        size = fill_causes(x, first, rows, causes, at)
        for r in range(rows):
            basis[0, r] = 1.0
        for h in range(m):
            function, slope, value = basis[1 + h], slopes[h], hidden[h, first : first + rows]
            for r in range(rows):
                function[r] = unit * value[r]
                slope[r] = 1.0 - value[r] * value[r]
        for i in range(pairs(outputs)):
            target, source = of_outputs[i], curvature[i, first : first + rows]
            for r in range(rows):
                target[r] = source[r]
        for h in range(m):
            for o in range(outputs):
                _fill_by_input(slopes[h], factors[h], of_outputs, entries[o], rows, by_outputs[places[h, o]])
            for other in range(h, m):
                _fill_by_input(slopes[other], factors[other], by_outputs, places[h], rows, of_units[pair(h, other, m)])
        for i in range(size):
            for g in range(functions):
                cause, function, product = causes[i], basis[g], of_causes[i * functions + g]
                for r in range(rows):
                    product[r] = cause[r] * function[r]
        fill_product(of_causes, size * functions, by_outputs, rows, among)
        for i in range(size * functions):
            source, target = among[i], between[at[i // functions] * functions + i % functions]
            for j in range(target.size):
                target[j] += source[j]
        add_pairs((causes, at, size), of_units, rows, of_inputs, part, first_layer)
        fill_products(basis, functions, rows, of_functions)
        add_product(of_outputs, of_outputs.shape[0], of_functions, rows, last_layer)
    add_first_layer(first_layer, inputs, m, fisher)
    for o in range(outputs):
        for g in range(functions):
            column = intercepts[o] if g == 0 else weights[o] + g - 1
            if column < 0:
                continue
            for j in range(inputs):
                for h in range(m):
                    fisher[j * m + h, column] += between[j * functions + g, places[h, o]]
            for other in range(o, outputs):
                for f in range(g if other == o else 0, functions):
                    row = intercepts[other] if f == 0 else weights[other] + f - 1
                    if row >= 0:
                        sums = last_layer[pair(o, other, outputs), pair(min(f, g), max(f, g), functions)]
                        fisher[min(row, column), max(row, column)] += sums


@kernel()
def fill_dispersion_information(mean, r, information):
    """Fill the Fisher information of counts by the logarithm of their dispersion a = 1 / r.

    It is r^2 sum over j of P(count > j) / (r + j)^2 - r mean / (r + mean). Where a is small, so that the sum is long, a
    formula between its limits for small and for large means is exact to a hundredth.

    Parameters
    ----------
    mean, r : ndarray, shape (n,)
        Of the negative binomial distribution of every observation.
    information : ndarray, shape (n,)
        Is filled.
    """
    for i in range(mean.size):
        a, q = 1.0 / r[i], mean[i] / r[i]
        if a < SMALL_DISPERSION:
            largest = 0.5 + a / 6.0 - a * a * a / 30.0
            information[i] = 1.0 / (2.0 * (1.0 + a) / (q * q) + (4.0 + a * (1.5 + 1.2 * a)) / q + 1.0 / largest)
        else:
            share, j, total = mean[i] / (r[i] + mean[i]), 0, 0.0
            p = math.exp(-r[i] * math.log1p(q))
            beyond, least = -math.expm1(-r[i] * math.log1p(q)), LEAST_TAIL * min(mean[i] * mean[i], 1.0)
            while beyond > least and j < MOST_TERMS:
                total += beyond / ((r[i] + j) * (r[i] + j))
                p *= share * (r[i] + j) / (j + 1.0)
                beyond -= p
                j += 1
            total += 0.5 * max(beyond, 0.0) / (r[i] + j)  # of the rest
            information[i] = max(r[i] * r[i] * total - r[i] * share, 0.0)


@kernel(fastmath=CONTRACT)
def density_terms(y, spread, weights, outputs, pull, squares):
    """Return the sum of -log P of Gaussian values, without its constant, and fill its derivatives.

    Parameters
    ----------
    y, spread : ndarray, shape (n,)
        The values, and the variance within their cells.
    weights : ndarray, shape (n,)
        How often each of them counts; where that is zero it is not read.
    outputs : ndarray, shape (outputs, n)
        Mean and log-variance, and others.
    pull, squares : ndarray, shape (2, n)
        Are filled with the derivatives by mean and log-variance, and with their expected squares.
    """
    total, mean, log_variance = 0.0, outputs[0], outputs[1]
    of_mean, of_scale, square_of_mean, square_of_scale = pull[0], pull[1], squares[0], squares[1]
    for r in range(y.size):
        scale = exp(min(max(log_variance[r], -LOG_VARIANCE_LIMIT), LOG_VARIANCE_LIMIT))
        square_of_mean[r] = weights[r] / (VARIANCE_FLOOR + scale)
        of_scale[r] = scale / (VARIANCE_FLOOR + scale)
        square_of_scale[r] = 0.5 * weights[r] * of_scale[r] * of_scale[r]
    for r in range(y.size):
        residual = mean[r] - y[r] if weights[r] > 0.0 else 0.0
        squares_here = (residual * residual + spread[r]) * square_of_mean[r] if weights[r] > 0.0 else 0.0
        of_mean[r] = residual * square_of_mean[r]
        of_scale[r] *= 0.5 * (weights[r] - squares_here)
        total += 0.5 * squares_here
    for r in range(y.size):
        if weights[r] > 0.0:
            total -= 0.5 * weights[r] * math.log(square_of_mean[r] / weights[r])
    return total


@kernel(fastmath=CONTRACT)
def softmax_terms(eta, counts, totals, pull, p):
    """Return the sum of -log P of labels, P(k) proportional to exp(eta_k), and fill its derivatives by the eta.

    Parameters
    ----------
    eta : ndarray, shape (K, n)
        The outputs.
    counts, totals : ndarray, shapes (K, n), (n,)
        How often each label is in every column, and all labels together.
    pull, p : ndarray, shape (K, n)
        Are filled with the derivatives and the probabilities.
    """
    value, work = 0.0, np.empty((2, ROWS))
    for first in range(0, eta.shape[1], ROWS):
        rows = min(ROWS, eta.shape[1] - first)
        largest, total, weight = work[0, :rows], work[1, :rows], totals[first : first + rows]
        for r in range(rows):
            largest[r], total[r] = eta[0, first + r], 0.0
        for k in range(1, eta.shape[0]):
            own = eta[k, first : first + rows]
            for r in range(rows):
                largest[r] = max(largest[r], own[r])
        for k in range(eta.shape[0]):
            own, share = eta[k, first : first + rows], p[k, first : first + rows]
            for r in range(rows):
                share[r] = exp(own[r] - largest[r])
                total[r] += share[r]
        for k in range(eta.shape[0]):
            share, count, slope = p[k, first : first + rows], counts[k, first : first + rows], pull[k]
            for r in range(rows):
                share[r] /= total[r]
                slope[first + r] = weight[r] * share[r] - count[r]
        for r in range(rows):
            largest[r] += math.log(total[r])
        for k in range(eta.shape[0]):
            own, count = eta[k, first : first + rows], counts[k, first : first + rows]
            for r in range(rows):
                value += count[r] * (largest[r] - own[r])
    return value


@kernel(fastmath=CONTRACT)
def fill_covariances(p, weight, covariances):
    """Fill weight (diag(p) - p p^T), on and above its diagonal, row by row.

    An entry of the diagonal is minus the sum of the others: it keeps its digits where a probability is nearly one.

    Parameters
    ----------
    p : ndarray, shape (K, n)
        The probabilities of labels.
    weight : ndarray, shape (n,)
        What multiplies the matrix of every column.
    covariances : ndarray, shape (K (K + 1) / 2, n)
        Is filled.
    """
    K = p.shape[0]
    for k in range(K):
        diagonal = covariances[pair(k, k, K)]
        for r in range(weight.size):
            diagonal[r] = 0.0
    for i in range(K):
        for j in range(i + 1, K):
            a, b, entry = p[i], p[j], covariances[pair(i, j, K)]
            of_first, of_second = covariances[pair(i, i, K)], covariances[pair(j, j, K)]
            for r in range(weight.size):
                product = weight[r] * a[r] * b[r]
                entry[r] = -product
                of_first[r] += product
                of_second[r] += product


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
def _fill_slopes(slope, lower, upper, by_gap, slopes):
    """Fill the derivatives of log P of a level by mu and u, given its thresholds and the logistic's tails there."""
    (low, below), (high, beyond), (by_mean, by_scale) = lower, upper, slopes
    for r in range(slope.size):
        by_mean[r] = (below[r] - beyond[r]) * slope[r]
    for r in range(slope.size):
        by_scale[r] = 0.5 * (below[r] * low[r] - beyond[r] * high[r] - by_gap[r])


@kernel(fastmath=CONTRACT)
def _add_squares(below, beyond, between, slopes, squares):
    """Add the products of the derivatives, weighted by the probability of the level, to the Fisher matrix."""
    (by_mean, by_scale), (mean_mean, mean_scale, scale_scale) = slopes, squares
    for r in range(below.size):
        between[r] *= (1.0 - below[r]) * (1.0 - beyond[r])
    for r in range(below.size):
        of_mean = between[r] * by_mean[r]
        mean_mean[r] += of_mean * by_mean[r]
        mean_scale[r] += of_mean * by_scale[r]
        scale_scale[r] += between[r] * by_scale[r] * by_scale[r]


@kernel(fastmath=REASSOCIATE)
def _surprise(low, high, between, ratio):
    """Return the sum of -log P of the levels between two thresholds, exact in the tails; ``ratio`` is memory."""
    total = 0.0
    for r in range(low.size):
        total += max(low[r], 0.0) + max(-high[r], 0.0)
        ratio[r] = (1.0 + exp(-abs(low[r]))) * (1.0 + exp(-abs(high[r]))) / between[r]
    for r in range(low.size):
        total += math.log(ratio[r])
    return total


@kernel(fastmath=CONTRACT)
def ordinal_terms(mu, u, levels, cuts, pull, curvature):
    """Return the sum of -log P of the model of `icdh._node_model.discrete`, and fill its derivatives by (mu, u).

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
    curvature : ndarray, shape (3, n)
        Is filled with the Fisher matrix by (mu, u): its entries by mu, by both, and by u.
    """
    total, last, work = 0.0, cuts.size, np.empty((9, ROWS))
    edges = np.empty(last + 2)
    edges[0], edges[last + 1] = -np.inf, np.inf
    for k in range(last):
        edges[1 + k] = cuts[k]
    for first in range(0, mu.size, ROWS):
        rows = min(ROWS, mu.size - first)
        centre, own = mu[first : first + rows], levels[first : first + rows]
        # Rows one by one: Numba takes those of a block of columns for strided, and loops over them do not vectorise.
        slope, low, below, high = work[0, :rows], work[1, :rows], work[2, :rows], work[3, :rows]
        beyond, between, by_gap = work[4, :rows], work[5, :rows], work[6, :rows]
        by_mean, by_scale = work[7, :rows], work[8, :rows]
        of_mean, of_scale = pull[0, first : first + rows], pull[1, first : first + rows]
        mean_mean, mean_scale = curvature[0, first : first + rows], curvature[1, first : first + rows]
        scale_scale = curvature[2, first : first + rows]
        for r in range(rows):
            slope[r] = LOGISTIC_DEVIATION * exp(-0.5 * min(max(u[first + r], -LOG_VARIANCE_LIMIT), LOG_VARIANCE_LIMIT))
            low[r] = below[r] = mean_mean[r] = mean_scale[r] = scale_scale[r] = 0.0
        for k in range(last + 1):
            for r in range(rows):
                high[r], beyond[r], between[r], by_gap[r] = 0.0, 0.0, 1.0, 0.0
            if k < last:
                _fill_beyond(cuts[k], centre, slope, high, beyond)
            if 0 < k < last:
                _fill_between(low, high, between, by_gap)
            _fill_slopes(slope, (low, below), (high, beyond), by_gap, (by_mean, by_scale))
            _add_squares(below, beyond, between, (by_mean, by_scale), (mean_mean, mean_scale, scale_scale))
            for r in range(rows):
                of_mean[r] = -by_mean[r] if own[r] == k else of_mean[r]
                of_scale[r] = -by_scale[r] if own[r] == k else of_scale[r]
            for r in range(rows):
                low[r], below[r] = high[r], 1.0 - beyond[r]
        for r in range(rows):
            low[r], high[r] = (edges[own[r]] - centre[r]) * slope[r], (edges[own[r] + 1] - centre[r]) * slope[r]
        _fill_between(low, high, between, by_gap)
        total += _surprise(low, high, between, by_gap)
    return total
