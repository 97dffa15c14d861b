"""Every compiled kernel.

They share one file because Numba's cache notices edits in the file of a kernel only. Tables come features first:
row ``i`` of ``features`` holds variable ``i`` at consecutive observations, so that every inner loop runs over
contiguous memory and vectorises; ``error_model="numpy"`` is part of that, because Python's check for a zero divisor is
a branch. Observations are processed in blocks of ``ROWS``, one node at a time: activations stay in cache.
Every product with the inputs of a node is unrolled by four, which saves three of four passes over the activations.

The fast-math flags are named: ``contract`` (fused multiply-add) keeps every digit that matters; ``reassoc``
lets sums over observations use several accumulators. NaN and infinity keep their meaning everywhere.
"""

import logging
import math

import numpy as np
from numba import njit

logger = logging.getLogger("icdh")

CONTRACT = {"contract"}
REASSOCIATE = {"contract", "reassoc"}
ROWS = 512

LARGEST_EXPONENT = 708.0
LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
ROUNDING = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the nearest integer in the low bits


def kernel(**options):
    """Return the decorator of a kernel: lazily compiled, free of the GIL, cached where there is a place."""

    def compile_lazily(function):
        try:
            return njit(cache=True, nogil=True, error_model="numpy", **options)(function)
        except RuntimeError as error:  # neither the package's folder nor a user's cache folder can be written
            logger.debug("kernel %s is compiled anew by every process: %s", function.__name__, error)
            return njit(nogil=True, error_model="numpy", **options)(function)

    return compile_lazily


@kernel(fastmath=CONTRACT, inline="always")
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


@kernel(fastmath=CONTRACT)
def activate(features, inputs, w, start, rows, s):
    """Set the hidden activations ``s[h] = sigmoid(sum_i w[i, h] features[inputs[i]])`` of one block.

    ``w`` has shape (inputs, m1), ``s`` (m1 or more, ROWS), of which the first ``rows`` columns are set.
    """
    count, units = w.shape
    stop = start + rows
    for h in range(units):
        z = s[h, :rows]
        z[:] = 0.0
        i = 0
        while i + 4 <= count:
            a, b, c, d = w[i, h], w[i + 1, h], w[i + 2, h], w[i + 3, h]
            xa, xb = features[inputs[i], start:stop], features[inputs[i + 1], start:stop]
            xc, xd = features[inputs[i + 2], start:stop], features[inputs[i + 3], start:stop]
            for m in range(rows):
                z[m] += (a * xa[m] + b * xb[m]) + (c * xc[m] + d * xd[m])
            i += 4
        while i < count:
            a = w[i, h]
            xa = features[inputs[i], start:stop]
            for m in range(rows):
                z[m] += a * xa[m]
            i += 1
        for m in range(rows):
            z[m] = 1.0 / (1.0 + exp(-z[m]))


@kernel(fastmath=REASSOCIATE)
def add_products(features, inputs, z, start, rows, dw):
    """Add ``z[h] @ features[inputs[i]]`` of one block to ``dw[i, h]``, shape (inputs, m1)."""
    count, units = dw.shape
    stop = start + rows
    for h in range(units):
        zh = z[h, :rows]
        i = 0
        while i + 4 <= count:
            xa, xb = features[inputs[i], start:stop], features[inputs[i + 1], start:stop]
            xc, xd = features[inputs[i + 2], start:stop], features[inputs[i + 3], start:stop]
            a = b = c = d = 0.0
            for m in range(rows):
                a += zh[m] * xa[m]
                b += zh[m] * xb[m]
                c += zh[m] * xc[m]
                d += zh[m] * xd[m]
            dw[i, h] += a
            dw[i + 1, h] += b
            dw[i + 2, h] += c
            dw[i + 3, h] += d
            i += 4
        while i < count:
            xa = features[inputs[i], start:stop]
            a = 0.0
            for m in range(rows):
                a += zh[m] * xa[m]
            dw[i, h] += a
            i += 1


@kernel(fastmath=REASSOCIATE)
def combine(s, weights, rows, out):
    """Set ``out`` to the sum over h of ``weights[h] * s[h]``, one block."""
    out[:rows] = 0.0
    for h in range(weights.size):
        weight, sh = weights[h], s[h, :rows]
        for m in range(rows):
            out[m] += weight * sh[m]


@kernel(fastmath=REASSOCIATE)
def add_weighted_gram(s, precision, target, gram, moment, scratch):
    """Add ``s diag(precision) s^T`` to the lower half of ``gram``, ``s diag(precision) target`` to ``moment``."""
    units, rows = moment.size, target.size
    for h in range(units):
        sh = s[h, :rows]
        total = 0.0
        for m in range(rows):
            scratch[m] = precision[m] * sh[m]
            total += scratch[m] * target[m]
        moment[h] += total
        j = 0
        while j + 4 <= h + 1:
            sa, sb, sc, sd = s[j, :rows], s[j + 1, :rows], s[j + 2, :rows], s[j + 3, :rows]
            a = b = c = d = 0.0
            for m in range(rows):
                a += scratch[m] * sa[m]
                b += scratch[m] * sb[m]
                c += scratch[m] * sc[m]
                d += scratch[m] * sd[m]
            gram[h, j] += a
            gram[h, j + 1] += b
            gram[h, j + 2] += c
            gram[h, j + 3] += d
            j += 4
        while j <= h:
            sa = s[j, :rows]
            a = 0.0
            for m in range(rows):
                a += scratch[m] * sa[m]
            gram[h, j] += a
            j += 1


@kernel()
def solve_positive_definite(matrix, right, solution):
    """Solve by Cholesky factorisation, in place of the lower triangle of ``matrix``."""
    size = right.size
    for i in range(size):
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = np.sqrt(rest) if i == j else rest / matrix[j, j]
    for i in range(size):
        rest = right[i]
        for k in range(i):
            rest -= matrix[i, k] * solution[k]
        solution[i] = rest / matrix[i, i]
    for i in range(size - 1, -1, -1):
        rest = solution[i]
        for k in range(i + 1, size):
            rest -= matrix[k, i] * solution[k]
        solution[i] = rest / matrix[i, i]


@kernel(fastmath=REASSOCIATE)
def back_through_mean(s, precision, target, w2, units, g):
    """Return the block's sum of ``precision * residual**2 / 2``; ``s`` becomes its derivative by pre-activations."""
    rows = target.size
    combine(s, w2, rows, g)
    loss = 0.0
    for m in range(rows):
        residual = target[m] - g[m]
        weighted = precision[m] * residual
        loss += 0.5 * weighted * residual
        g[m] = -weighted
    for h in range(units):
        weight, sh = w2[h], s[h, :rows]
        for m in range(rows):
            sh[m] = weight * g[m] * sh[m] * (1.0 - sh[m])
    return loss


@kernel()
def projected_least_squares(features, precision, nodes, inputs, starts, w, ridge, w2, dw, blocks):
    """Minimise over W2 the weighted squares of some nodes plus ridge, given W1; return the minimum by observation.

    Node ``nodes[k]`` has the inputs ``inputs[starts[k]:starts[k + 1]]`` with weights in the same rows of ``w``. Sets
    its row of ``w2`` (N, outputs), whose last column is an intercept where it has one more than ``w``, and ``dw``,
    the derivative of the minimum by ``w``: that at fixed w2, because w2 is optimal. ``blocks`` (blocks, outputs, ROWS)
    is work space.
    """
    observations = precision.shape[1]
    outputs, units = w2.shape[1], w.shape[1]
    gram, moment, scratch = np.empty((outputs, outputs)), np.empty(outputs), np.empty(ROWS)
    total = 0.0
    dw[:] = 0.0
    for k in range(nodes.size):
        n, own = nodes[k], slice(starts[k], starts[k + 1])
        gram[:] = 0.0
        moment[:] = 0.0
        for b in range(blocks.shape[0]):
            start = b * ROWS
            rows = min(ROWS, observations - start)
            s = blocks[b]
            activate(features, inputs[own], w[own], start, rows, s)
            if outputs > units:
                s[units, :rows] = 1.0
            block = slice(start, start + rows)
            add_weighted_gram(s, precision[n, block], features[n, block], gram, moment, scratch)
        for h in range(outputs):
            gram[h, h] += ridge[h] * observations
        solve_positive_definite(gram, moment, w2[n])
        for b in range(blocks.shape[0]):
            start = b * ROWS
            rows = min(ROWS, observations - start)
            block = slice(start, start + rows)
            total += back_through_mean(blocks[b], precision[n, block], features[n, block], w2[n], units, scratch)
            add_products(features, inputs[own], blocks[b], start, rows, dw[own])
        for h in range(outputs):
            total += 0.5 * observations * ridge[h] * w2[n, h] * w2[n, h]
    dw /= observations
    return total / observations


@kernel()
def gaussian_nll(residual, slope, floor, g_mean, g_slope):
    """Negative log-likelihood of residuals with scale ``sigma = relu(slope) + floor`` (Eq. 11, one node).

    Sets the derivatives by the mean and by ``slope``; returns the loss without its constant, in nats, and
    its derivative by ``floor``. The outputs may be the inputs.
    """
    total = 0.0
    d_floor = 0.0
    for m in range(residual.size):
        alive = slope[m] > 0.0
        sigma = (slope[m] if alive else 0.0) + floor
        e = residual[m] / sigma
        d_sigma = (1.0 - e * e) / sigma
        total += np.log(sigma) + 0.5 * e * e
        g_mean[m] = -e / sigma
        g_slope[m] = d_sigma if alive else 0.0
        d_floor += d_sigma
    return total, d_floor


@kernel(fastmath=REASSOCIATE)
def back_through_outputs(s, g_mean, g_slope, w2, w3, rows, dw2, dw3):
    """Add the derivatives by ``w2`` and ``w3`` of one block; ``s`` becomes that by pre-activations."""
    for h in range(w2.size):
        sh = s[h, :rows]
        a = b = 0.0
        for m in range(rows):
            a += g_mean[m] * sh[m]
            b += g_slope[m] * sh[m]
            sh[m] = (w2[h] * g_mean[m] + w3[h] * g_slope[m]) * sh[m] * (1.0 - sh[m])
        dw2[h] += a
        dw3[h] += b


@kernel()
def node_nll(features, n, inputs, w, w2, w3, floor, intercept, dw, dw2, dw3):
    """Negative log-likelihood of node n, summed over observations, without its constant (Eq. 11).

    Adds the derivatives by ``w``, ``w2``, ``w3``; returns the loss and its derivatives by floor and intercept.
    """
    observations = features.shape[1]
    s, mean, slope = np.empty((w2.size, ROWS)), np.empty(ROWS), np.empty(ROWS)
    total, d_floor, d_intercept = 0.0, 0.0, 0.0
    for start in range(0, observations, ROWS):
        rows = min(ROWS, observations - start)
        activate(features, inputs, w, start, rows, s)
        combine(s, w2, rows, mean)
        combine(s, w3, rows, slope)
        residual, slopes = mean[:rows], slope[:rows]
        for m in range(rows):
            residual[m] = features[n, start + m] - residual[m] - intercept
        loss, d = gaussian_nll(residual, slopes, floor, residual, slopes)
        total += loss
        d_floor += d
        d_intercept += residual.sum()
        back_through_outputs(s, residual, slopes, w2, w3, rows, dw2, dw3)
        add_products(features, inputs, s, start, rows, dw)
    return total, d_floor, d_intercept


@kernel()
def node_outputs(features, inputs, w, w2, w3, mean, slope):
    """Set the outputs ``mean`` and ``slope`` of one node at all observations."""
    observations = features.shape[1]
    s = np.empty((w2.size, ROWS))
    for start in range(0, observations, ROWS):
        rows = min(ROWS, observations - start)
        activate(features, inputs, w, start, rows, s)
        combine(s, w2, rows, mean[start : start + rows])
        combine(s, w3, rows, slope[start : start + rows])


@kernel()
def node_activations(features, inputs, w, s):
    """Set the hidden activations ``s`` (m1, M) of one node at all observations."""
    observations = features.shape[1]
    block = np.empty((s.shape[0], ROWS))
    for start in range(0, observations, ROWS):
        rows = min(ROWS, observations - start)
        activate(features, inputs, w, start, rows, block)
        s[:, start : start + rows] = block[:, :rows]


# --- Node model: Fisher scoring of one variable given its parents --------------------------------------------------
#
# theta is the flat vector [w1 (p, m), b1 (m), b2, w2 (m), b3, w3 (m)] of icdh.evidence, whose docstring is the
# specification. x is (p, n), hidden (m, n): observations last, as everywhere in this file.

_LOG_VARIANCE_LIMIT = 30.0
_VARIANCE_FLOOR = 1e-5
_SQRT_HALF = math.sqrt(0.5)
_BLOCK = 120  # rows of the Jacobian at a time: they stay in the first-level cache


@kernel(fastmath=CONTRACT)
def _add_multiple(factor, source, target):
    for r in range(target.shape[0]):
        target[r] += factor * source[r]


@kernel(fastmath=CONTRACT)
def node_forward(x, theta, units, hidden, mean, variance):
    """Fill the hidden units (m, n), the means (n,) and the variances (n,) of the node model."""
    p = x.shape[0]
    m = units
    out = (p + 1) * m
    for h in range(m):
        unit = hidden[h]
        unit[:] = theta[p * m + h]
        for j in range(p):
            _add_multiple(theta[j * m + h], x[j], unit)
        for r in range(unit.shape[0]):
            unit[r] = 1.0 - 2.0 / (exp(2.0 * unit[r]) + 1.0)
    mean[:] = theta[out]
    variance[:] = theta[out + m + 1]
    for h in range(m):
        _add_multiple(theta[out + 1 + h], hidden[h], mean)
        _add_multiple(theta[out + m + 2 + h], hidden[h], variance)
    for r in range(variance.shape[0]):
        variance[r] = _VARIANCE_FLOOR + exp(min(max(variance[r], -_LOG_VARIANCE_LIMIT), _LOG_VARIANCE_LIMIT))


@kernel(fastmath=REASSOCIATE)
def node_objective(y, theta, penalty, mean, variance):
    """Return F: the negative log-likelihood without its constant, plus the penalty."""
    total = 0.0
    for r in range(y.shape[0]):
        residual = y[r] - mean[r]
        total += residual * residual / variance[r]
    for r in range(y.shape[0]):
        total += math.log(variance[r])
    for k in range(theta.shape[0]):
        total += penalty[k] * theta[k] * theta[k]
    return 0.5 * total


@kernel(fastmath=CONTRACT)
def _fill_jacobian(jacobian, x, hidden, first, rows, theta, out, weight):
    """Fill weight * d(output)/d(w1, b1, its intercept at theta[out], its weights after), one weight a row."""
    p = x.shape[0]
    m = hidden.shape[0]
    for h in range(m):
        factor = theta[out + 1 + h]
        unit = hidden[h, first : first + rows]
        bias = jacobian[p * m + h]
        output = jacobian[(p + 1) * m + 1 + h]
        for r in range(rows):
            output[r] = weight[r] * unit[r]
            bias[r] = factor * (weight[r] - output[r] * unit[r])
        for j in range(p):
            cause = x[j, first : first + rows]
            slope = jacobian[j * m + h]
            for r in range(rows):
                slope[r] = cause[r] * bias[r]
    jacobian[(p + 1) * m, :rows] = weight[:rows]


@kernel(fastmath=REASSOCIATE)
def _add_jacobian_products(jacobian, rows, pull, gradient, gram):
    """Add jacobian @ pull to the gradient, and the upper triangle of jacobian @ jacobian.T to gram."""
    size = gradient.shape[0]
    for i in range(size):
        a = jacobian[i, :rows]
        total = 0.0
        for r in range(rows):
            total += a[r] * pull[r]
        gradient[i] += total
        j = i
        while j + 4 <= size:
            t0 = t1 = t2 = t3 = 0.0
            b0 = jacobian[j, :rows]
            b1 = jacobian[j + 1, :rows]
            b2 = jacobian[j + 2, :rows]
            b3 = jacobian[j + 3, :rows]
            for r in range(rows):
                t0 += a[r] * b0[r]
                t1 += a[r] * b1[r]
                t2 += a[r] * b2[r]
                t3 += a[r] * b3[r]
            gram[i, j] += t0
            gram[i, j + 1] += t1
            gram[i, j + 2] += t2
            gram[i, j + 3] += t3
            j += 4
        while j < size:
            b = jacobian[j, :rows]
            total = 0.0
            for r in range(rows):
                total += a[r] * b[r]
            gram[i, j] += total
            j += 1


@kernel(fastmath=CONTRACT)
def node_system(x, y, theta, penalty, units, hidden, mean, variance, gradient, fisher):
    """Fill the gradient of F and (on and above the diagonal) its Fisher matrix J J^T + diag(penalty)."""
    p = x.shape[0]
    m = units
    n = y.shape[0]
    shared = (p + 1) * m
    own = m + 1
    size = shared + own
    jacobian = np.empty((size, _BLOCK))
    weight = np.empty(_BLOCK)
    pull = np.empty(_BLOCK)
    mean_gradient = np.zeros(size)
    scale_gradient = np.zeros(size)
    mean_gram = np.zeros((size, size))
    scale_gram = np.zeros((size, size))
    # Short of the limit by more than rounding: whether a variance was clipped must not hang on its last bit.
    largest = (_VARIANCE_FLOOR + exp(_LOG_VARIANCE_LIMIT)) * (1.0 - 1e-12)
    for first in range(0, n, _BLOCK):
        rows = min(_BLOCK, n - first)
        for r in range(rows):
            v = variance[first + r]
            weight[r] = 1.0 / math.sqrt(v)
            pull[r] = (mean[first + r] - y[first + r]) * weight[r]
        _fill_jacobian(jacobian, x, hidden, first, rows, theta, shared, weight)
        _add_jacobian_products(jacobian, rows, pull, mean_gradient, mean_gram)
        for r in range(rows):
            v = variance[first + r]
            pull[r] = _SQRT_HALF * (1.0 - pull[r] * pull[r])
            weight[r] = _SQRT_HALF * (v - _VARIANCE_FLOOR) / v if v < largest else 0.0
        _fill_jacobian(jacobian, x, hidden, first, rows, theta, shared + own, weight)
        _add_jacobian_products(jacobian, rows, pull, scale_gradient, scale_gram)
    fisher[:] = 0.0
    gradient[:size] = mean_gradient
    fisher[:size, :size] = mean_gram
    gradient[size:] = scale_gradient[shared:]
    fisher[size:, size:] = scale_gram[shared:, shared:]
    for i in range(shared):
        gradient[i] += scale_gradient[i]
        for j in range(i, shared):
            fisher[i, j] += scale_gram[i, j]
        for j in range(shared, size):
            fisher[i, j + own] = scale_gram[i, j]
    for i in range(theta.shape[0]):
        gradient[i] += penalty[i] * theta[i]
        fisher[i, i] += penalty[i]


@kernel(fastmath=CONTRACT)
def cholesky_in_place(a):
    """Overwrite the upper triangle of a with R, a = R^T R; return log det a (NaN unless positive)."""
    size = a.shape[0]
    log_determinant = 0.0
    for k in range(size):
        pivot = a[k, k]
        if not pivot > 0.0:
            return math.nan
        log_determinant += math.log(pivot)
        scale = 1.0 / math.sqrt(pivot)
        for j in range(k, size):
            a[k, j] *= scale
        for i in range(k + 1, size):
            factor = a[k, i]
            row = a[i, i:]
            source = a[k, i:]
            for j in range(row.shape[0]):
                row[j] -= factor * source[j]
    return log_determinant


@kernel(fastmath=CONTRACT)
def _cholesky_solve(factor, b):
    """Overwrite b with the solution of R^T R b = b."""
    size = b.shape[0]
    for k in range(size):
        b[k] /= factor[k, k]
        for j in range(k + 1, size):
            b[j] -= b[k] * factor[k, j]
    for k in range(size - 1, -1, -1):
        total = b[k]
        for j in range(k + 1, size):
            total -= factor[k, j] * b[j]
        b[k] = total / factor[k, k]


@kernel(fastmath=CONTRACT)
def inverse_diagonal(factor):
    """Return the diagonal of (R^T R)^-1, R the upper triangle of factor."""
    size = factor.shape[0]
    diagonal = np.zeros(size)
    row = np.empty(size)
    for i in range(size - 1, -1, -1):
        row[:] = 0.0
        row[i] = 1.0
        for k in range(i, size):
            row[k] /= factor[k, k]
            diagonal[i] += row[k] * row[k]
            for j in range(k + 1, size):
                row[j] -= row[k] * factor[k, j]
    return diagonal


@kernel(fastmath=CONTRACT)
def node_fit(x, y, theta, penalty, units, freeze, max_steps, tol, factor):
    """Minimise F over theta, in place, by Fisher scoring with Levenberg-Marquardt damping.

    Weights at and after index ``freeze`` stay as they are. Fills factor with the Cholesky factor R of
    the Fisher matrix at the end. Returns F, the log determinant of that matrix, the steps taken, and
    whether the last of them lowered F by less than ``tol``.
    """
    n = y.shape[0]
    size = theta.shape[0]
    hidden = np.empty((units, n))
    mean = np.empty(n)
    variance = np.empty(n)
    gradient = np.empty(size)
    fisher = np.empty((size, size))
    damped = np.empty((size, size))
    step = np.empty(size)
    trial = np.empty(size)
    node_forward(x, theta, units, hidden, mean, variance)
    objective = node_objective(y, theta, penalty, mean, variance)
    node_system(x, y, theta, penalty, units, hidden, mean, variance, gradient, fisher)
    damping = 0.03 * n
    growth = 2.0
    steps = 0
    small = 0
    while steps < max_steps and small < 2:
        steps += 1
        for i in range(freeze):
            step[i] = -gradient[i]
            for j in range(i, freeze):
                damped[i, j] = fisher[i, j]
            damped[i, i] += damping
        cholesky_in_place(damped[:freeze, :freeze])
        _cholesky_solve(damped[:freeze, :freeze], step[:freeze])
        predicted = 0.0
        trial[:] = theta
        for i in range(freeze):
            trial[i] += step[i]
            predicted += 0.5 * step[i] * (damping * step[i] - gradient[i])
        node_forward(x, trial, units, hidden, mean, variance)
        value = node_objective(y, trial, penalty, mean, variance)
        fall = objective - value
        if fall > 0.0:
            theta[:] = trial
            objective = value
            ratio = fall / predicted
            damping = max(damping * max(1.0 / 3.0, 1.0 - (2.0 * ratio - 1.0) ** 3), 1e-12)
            growth = 2.0
            small = small + 1 if fall < tol else 0
            node_system(x, y, theta, penalty, units, hidden, mean, variance, gradient, fisher)
        else:
            if predicted < tol:
                small += 1
            damping *= growth
            growth *= 2.0
            if damping > 1e20:
                break
    factor[:] = fisher
    log_determinant = cholesky_in_place(factor)
    return objective, log_determinant, steps, small >= 2
