"""Every Numba function of icdh; Numba's cache does not notice edits in other files, so they all live here."""

import math

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

# --- Node model: Fisher scoring of one variable given its parents -------------------------------
#
# theta is the flat vector [w1 (p, m), b1 (m), b2, w2 (m), b3, w3 (m)] of icdh.evidence, whose
# docstring is the specification. Rows are processed in order: sums never depend on threads.

# error_model="numpy" drops the check for division by zero, which would keep LLVM from vectorising.
_node_jit = njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")

_LANES = 8
_ROWS = 4
_LOG_VARIANCE_LIMIT = 30.0
_VARIANCE_FLOOR = 1e-5


@intrinsic
def _bits_of_float(typing_context, value):
    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@intrinsic
def _float_of_bits(typing_context, bits):
    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), codegen


@_node_jit
def _tanh(z):
    """Return tanh(z), error 4e-16, without branches or calls: LLVM vectorises loops over it."""
    x = 2.0 * min(max(z, -20.0), 20.0)
    # adding 1.5 * 2^52 leaves round(x / log 2) in the low bits
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    exponent = shifted - 6755399441055744.0
    r = x - exponent * 0.6931471803691238 - exponent * 1.9082149292705877e-10
    q = 1.0 / 6227020800.0
    q = q * r + 1.0 / 479001600.0
    q = q * r + 1.0 / 39916800.0
    q = q * r + 1.0 / 3628800.0
    q = q * r + 1.0 / 362880.0
    q = q * r + 1.0 / 40320.0
    q = q * r + 1.0 / 5040.0
    q = q * r + 1.0 / 720.0
    q = q * r + 1.0 / 120.0
    q = q * r + 1.0 / 24.0
    q = q * r + 1.0 / 6.0
    q = q * r + 1.0 / 2.0
    q = q * r + 1.0
    q = q * r + 1.0
    e = q * _float_of_bits((_bits_of_float(shifted) << 52) + 4607182418800017408)
    return 1.0 - 2.0 / (e + 1.0)


@_node_jit
def node_forward(x, theta, units, hidden, mean, log_variance):
    """Fill the hidden units (n, m), the means (n,) and the log-variances (n,) of the node model."""
    n, p = x.shape
    m = units
    out = (p + 1) * m
    for r in range(n):
        for h in range(m):
            hidden[r, h] = theta[p * m + h]
        for j in range(p):
            x_rj = x[r, j]
            for h in range(m):
                hidden[r, h] += x_rj * theta[j * m + h]
    flat = hidden.reshape(n * m)
    for i in range(n * m):
        flat[i] = _tanh(flat[i])
    for r in range(n):
        mu = theta[out]
        u = theta[out + m + 1]
        for h in range(m):
            mu += theta[out + 1 + h] * hidden[r, h]
            u += theta[out + m + 2 + h] * hidden[r, h]
        mean[r] = mu
        log_variance[r] = u


@_node_jit
def node_objective(y, theta, penalty, mean, log_variance):
    """Return F: the negative log-likelihood without its constant, plus the penalty."""
    total = 0.0
    for r in range(y.shape[0]):
        u = min(max(log_variance[r], -_LOG_VARIANCE_LIMIT), _LOG_VARIANCE_LIMIT)
        v = _VARIANCE_FLOOR + math.exp(u)
        total += 0.5 * (math.log(v) + (y[r] - mean[r]) ** 2 / v)
    for k in range(theta.shape[0]):
        total += 0.5 * penalty[k] * theta[k] ** 2
    return total


@_node_jit
def _fill_features(features, row, x_row, hidden_row, theta, out, weight):
    """Fill a row with weight * d(output)/d(w1, b1, its intercept at theta[out], its weights after)."""
    p = x_row.shape[0]
    m = hidden_row.shape[0]
    for h in range(m):
        s = hidden_row[h]
        features[row, p * m + h] = weight * theta[out + 1 + h] * (1.0 - s * s)
        features[row, (p + 1) * m + 1 + h] = weight * s
    features[row, (p + 1) * m] = weight
    for j in range(p):
        for h in range(m):
            features[row, j * m + h] = x_row[j] * features[row, p * m + h]


@_node_jit
def _add_gram(gram, features, size):
    """Add features.T @ features to the blocks of gram on and right of the diagonal."""
    for i in range(size):
        f0 = features[0, i]
        f1 = features[1, i]
        f2 = features[2, i]
        f3 = features[3, i]
        start = (i // _LANES) * _LANES
        target = gram[i, start:]
        a0 = features[0, start:]
        a1 = features[1, start:]
        a2 = features[2, start:]
        a3 = features[3, start:]
        for j in range(target.shape[0]):
            target[j] += (f0 * a0[j] + f1 * a1[j]) + (f2 * a2[j] + f3 * a3[j])


@_node_jit
def node_system(x, y, theta, penalty, units, hidden, mean, log_variance, gradient, fisher):
    """Fill the gradient of F and (on and above the diagonal) its Fisher matrix J J^T + diag(penalty)."""
    n, p = x.shape
    m = units
    shared = (p + 1) * m
    size = shared + m + 1
    padded = ((size + _LANES - 1) // _LANES) * _LANES
    mean_features = np.zeros((_ROWS, padded))
    scale_features = np.zeros((_ROWS, padded))
    mean_gram = np.zeros((size, padded))
    scale_gram = np.zeros((size, padded))
    mean_gradient = np.zeros(padded)
    scale_gradient = np.zeros(padded)
    for first in range(0, n, _ROWS):
        for k in range(_ROWS):
            r = first + k
            if r >= n:
                mean_features[k] = 0.0
                scale_features[k] = 0.0
                continue
            u = log_variance[r]
            e = math.exp(min(max(u, -_LOG_VARIANCE_LIMIT), _LOG_VARIANCE_LIMIT))
            v = _VARIANCE_FLOOR + e
            root = 1.0 / math.sqrt(v)
            moving = 1.0 if abs(u) < _LOG_VARIANCE_LIMIT else 0.0
            standardised = (y[r] - mean[r]) * root
            slope = moving * math.sqrt(0.5) * e / v
            _fill_features(mean_features, k, x[r], hidden[r], theta, shared, root)
            _fill_features(scale_features, k, x[r], hidden[r], theta, shared + m + 1, slope)
            pull = math.sqrt(0.5) * (1.0 - standardised * standardised)
            for i in range(padded):
                mean_gradient[i] -= standardised * mean_features[k, i]
                scale_gradient[i] += pull * scale_features[k, i]
        _add_gram(mean_gram, mean_features, size)
        _add_gram(scale_gram, scale_features, size)
    own = m + 1
    fisher[:] = 0.0
    for i in range(size):
        gradient[i] = mean_gradient[i]
        for j in range(i, size):
            fisher[i, j] = mean_gram[i, j]
    for i in range(shared):
        gradient[i] += scale_gradient[i]
        for j in range(i, shared):
            fisher[i, j] += scale_gram[i, j]
        for j in range(shared, size):
            fisher[i, j + own] = scale_gram[i, j]
    for i in range(shared, size):
        gradient[i + own] = scale_gradient[i]
        for j in range(i, size):
            fisher[i + own, j + own] = scale_gram[i, j]
    for i in range(theta.shape[0]):
        gradient[i] += penalty[i] * theta[i]
        fisher[i, i] += penalty[i]


@_node_jit
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


@_node_jit
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


@_node_jit
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


@_node_jit
def node_fit(x, y, theta, penalty, units, freeze, max_steps, tol, factor):
    """Minimise F over theta, in place, by Fisher scoring with Levenberg-Marquardt damping.

    Weights at and after index ``freeze`` stay as they are. Fills factor with the Cholesky factor R of
    the Fisher matrix at the end. Returns F, the log determinant of that matrix, the steps taken, and
    whether the last of them lowered F by less than ``tol``.
    """
    n = y.shape[0]
    size = theta.shape[0]
    hidden = np.empty((n, units))
    mean = np.empty(n)
    log_variance = np.empty(n)
    gradient = np.empty(size)
    fisher = np.empty((size, size))
    damped = np.empty((size, size))
    step = np.empty(size)
    trial = np.empty(size)
    node_forward(x, theta, units, hidden, mean, log_variance)
    objective = node_objective(y, theta, penalty, mean, log_variance)
    node_system(x, y, theta, penalty, units, hidden, mean, log_variance, gradient, fisher)
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
        node_forward(x, trial, units, hidden, mean, log_variance)
        value = node_objective(y, trial, penalty, mean, log_variance)
        fall = objective - value
        if fall > 0.0:
            theta[:] = trial
            objective = value
            ratio = fall / predicted
            damping = max(damping * max(1.0 / 3.0, 1.0 - (2.0 * ratio - 1.0) ** 3), 1e-12)
            growth = 2.0
            small = small + 1 if fall < tol else 0
            node_system(x, y, theta, penalty, units, hidden, mean, log_variance, gradient, fisher)
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
