"""Kernels of the node model: Fisher scoring of one variable given its parents; gain estimates; scales of noise.

``theta`` is the flat vector [w1 (p, m), b1 (m), b2, w2 (m), b3, w3 (m)] of `icdh._node_model.network`, which
specifies them. ``x`` is (p, n), ``hidden`` (m, n): observations last.
"""

# mypy: disable-error-code=no-untyped-def
# Numba infers the types of arguments; docstrings say them, with shapes.

import math

import numpy as np

from icdh._utils.jit import (
    CONTRACT,
    REASSOCIATE,
    ROWS,
    add_gram,
    add_product,
    empty_block,
    exp,
    fill_product,
    kernel,
    multiply_by_roots,
)

LOG_VARIANCE_LIMIT = 30.0
VARIANCE_FLOOR = 1e-5
LEAST_VARIANCE = 1e-9  # of a linear model; a network's has a higher floor, as few of its rows may fall to it
# Short of the limit by more than rounding: whether a variance counts as clipped must not depend on its last bit.
UNCLIPPED_VARIANCE = (VARIANCE_FLOOR + math.exp(LOG_VARIANCE_LIMIT)) * (1.0 - 1e-12)
FORWARD_ROWS = 1024  # of a block: its units stay in cache between the layers
FACTORS = 8  # variances of which one logarithm is taken: their product is far from overflow
_SQRT_HALF = math.sqrt(0.5)


@kernel(fastmath=CONTRACT)
def _fill_units(x, theta, first, rows, hidden):
    """Fill the hidden units (m, n) of a block of observations."""
    (p, _), m = x.shape, hidden.shape[0]
    for h in range(m):
        unit = hidden[h, first : first + rows]
        for r in range(rows):
            unit[r] = theta[p * m + h]
        for j in range(p):
            weight, cause = theta[j * m + h], x[j, first : first + rows]
            for r in range(rows):
                unit[r] += weight * cause[r]
        for r in range(rows):
            unit[r] = 1.0 - 2.0 / (exp(2.0 * unit[r]) + 1.0)


@kernel()
def fill_hidden(x, theta, hidden):
    """Fill the hidden units (m, n)."""
    for first in range(0, x.shape[1], FORWARD_ROWS):
        _fill_units(x, theta, first, min(FORWARD_ROWS, x.shape[1] - first), hidden)


@kernel(fastmath=CONTRACT)
def node_forward(x, theta, hidden, mean, variance):
    """Evaluate the node model.

    Parameters
    ----------
    x : ndarray, shape (p, n)
        The parents.
    theta : ndarray
        The weights.
    hidden, mean, variance : ndarray, shapes (m, n), (n,), (n,)
        Are filled with the hidden units and the outputs.
    """
    m, n = hidden.shape
    out, own = (x.shape[0] + 1) * m, m + 1
    for first in range(0, n, FORWARD_ROWS):
        rows = min(FORWARD_ROWS, n - first)
        _fill_units(x, theta, first, rows, hidden)
        centre, spread = mean[first : first + rows], variance[first : first + rows]
        for r in range(rows):
            centre[r] = theta[out]
            spread[r] = theta[out + own]
        for h in range(m):
            unit, to_mean, to_spread = hidden[h, first : first + rows], theta[out + 1 + h], theta[out + own + 1 + h]
            for r in range(rows):
                centre[r] += to_mean * unit[r]
                spread[r] += to_spread * unit[r]
        for r in range(rows):
            spread[r] = VARIANCE_FLOOR + exp(min(max(spread[r], -LOG_VARIANCE_LIMIT), LOG_VARIANCE_LIMIT))


@kernel(fastmath=CONTRACT)
def fill_outputs(hidden, theta, outputs):
    """Fill mean and log-variance (2, n) given the hidden units (m, n), as `node_forward` has them."""
    m, n = hidden.shape
    for o in range(2):
        output, first = outputs[o], theta.size - (2 - o) * (m + 1)
        for r in range(n):
            output[r] = theta[first]
        for h in range(m):
            unit, weight = hidden[h], theta[first + 1 + h]
            for r in range(n):
                output[r] += weight * unit[r]


@kernel(fastmath=CONTRACT)
def fill_variance(log_variance, variance):
    """Fill the variance (n,) given the log-variance (n,), likewise."""
    for r in range(variance.size):
        variance[r] = VARIANCE_FLOOR + exp(min(max(log_variance[r], -LOG_VARIANCE_LIMIT), LOG_VARIANCE_LIMIT))


@kernel(fastmath=REASSOCIATE)
def node_objective(y, spread, weights, theta, penalty, mean, variance):
    """Return F: the negative log-likelihood without its constant, plus the penalty; arguments as of `node_system`."""
    total = 0.0
    for r in range(weights.size):
        residual = y[r] - mean[r]
        total += weights[r] * ((residual * residual + spread[r]) / variance[r] + math.log(variance[r]))
    for r in range(0 if weights.size else y.size):
        residual = y[r] - mean[r]
        total += (residual * residual + spread[r]) / variance[r]
    for first in range(0, 0 if weights.size else y.size, FACTORS):
        product = 1.0
        for r in range(first, min(first + FACTORS, y.size)):
            product *= variance[r]
        total += math.log(product)
    for k in range(theta.size):
        total += penalty[k] * theta[k] * theta[k]
    return 0.5 * total


@kernel(fastmath=CONTRACT)
def _weigh_outputs(table, outputs, first, rows, weight, pull):
    """Fill, for a block of observations, roots of the Fisher weights of mean (0) and log-variance (1), and residuals.

    ``weight`` (2, ROWS) multiplies the Jacobian of each output; ``pull`` (2, ROWS) is the residual that it multiplies.
    """
    (_, y, spread, _), (_, mean, variance) = table, outputs
    of_mean, of_scale, from_mean, from_scale = weight[0], weight[1], pull[0], pull[1]
    value, centre, v = y[first : first + rows], mean[first : first + rows], variance[first : first + rows]
    within = spread[first : first + rows]
    for r in range(rows):
        root = 1.0 / math.sqrt(v[r])
        residual = (centre[r] - value[r]) * root
        of_mean[r], from_mean[r] = root, residual
        share = (v[r] - VARIANCE_FLOOR) / v[r]
        of_scale[r] = _SQRT_HALF * share if v[r] < UNCLIPPED_VARIANCE else 0.0
        from_scale[r] = _SQRT_HALF * (1.0 - residual * residual - within[r] / v[r])


@kernel(fastmath=CONTRACT)
def _fill_outputs(hidden, block, factors, weight, pull, outer, slopes):
    """Fill weight * d(output)/d(its intercept, and its weights, the factors), then pull; and the slopes of units."""
    m, (first, rows) = hidden.shape[0], block
    intercept, last = outer[0], outer[m + 1]
    for r in range(rows):
        intercept[r], last[r] = weight[r], pull[r]
    for h in range(m):
        factor, unit, output, slope = factors[h], hidden[h, first : first + rows], outer[1 + h], slopes[h]
        for r in range(rows):
            output[r] = weight[r] * unit[r]
            slope[r] = factor * (weight[r] - output[r] * unit[r])


@kernel(fastmath=CONTRACT)
def _fill_inputs(causes, size, rows, slopes, inner):
    """Fill weight * d(output)/d(w1, b1), one weight a row: an input times the slope of a unit."""
    m = slopes.shape[0]
    for h in range(m):
        slope = slopes[h]
        for j in range(size):
            cause, weight = causes[j], inner[j * m + h]
            for r in range(rows):
                weight[r] = cause[r] * slope[r]


@kernel()
def fill_causes(x, first, rows, causes, at):
    """Fill a block with the inputs that are not zero throughout it, and with ones; return how many rows these are.

    ``at`` is filled with their places among all inputs. A label that no observation of the block has costs nothing.
    """
    p, size = x.shape[0], 0
    for j in range(p):
        source, cause, r = x[j, first : first + rows], causes[size], 0
        while r < rows and source[r] == 0.0:
            r += 1
        if r == rows:
            continue
        for r in range(rows):
            cause[r] = source[r]
        at[size] = j
        size += 1
    one = causes[size]
    for r in range(rows):
        one[r] = 1.0
    at[size] = p
    return size + 1


@kernel(fastmath=CONTRACT)
def fill_products(block, size, rows, products):
    """Fill the products of every two of the first ``size`` rows of a block: (0, 0), (0, 1), ..., (1, 1), ..."""
    for i in range(size):
        for j in range(i, size):
            a, b, product = block[i], block[j], products[pair(i, j, size)]
            for r in range(rows):
                product[r] = a[r] * b[r]


@kernel(fastmath=CONTRACT)
def _fill_products_of_units(slopes, rows, products):
    """Fill the products of every two units' slopes, summed over both outputs."""
    m = slopes.shape[1]
    for i in range(m):
        for j in range(i, m):
            a, b, c, d, product = slopes[0, i], slopes[0, j], slopes[1, i], slopes[1, j], products[pair(i, j, m)]
            for r in range(rows):
                product[r] = a[r] * b[r] + c[r] * d[r]


@kernel(fastmath=CONTRACT)
def add_pairs(present, of_units, rows, of_inputs, part, sums):
    """Add the products of pairs of the inputs present in a block, and pairs of units, to the sums over pairs.

    ``present`` is what `fill_causes` fills, and how many these are. ``of_inputs`` and ``part``, shaped as the products
    of pairs of inputs and as ``sums``, are memory.
    """
    causes, at, size = present
    fill_products(causes, size, rows, of_inputs)
    fill_product(of_inputs, pairs(size), of_units, rows, part)
    for i in range(size):
        for j in range(i, size):
            source, target = part[pair(i, j, size)], sums[pair(at[i], at[j], at.size)]
            for k in range(part.shape[1]):
                target[k] += source[k]


@kernel()
def add_first_layer(sums, inputs, units, fisher):
    """Add sums over pairs of inputs times pairs of units to the upper half of the Fisher matrix, its first layer."""
    for i in range(inputs * units):
        for j in range(i, inputs * units):
            h, k = i % units, j % units
            fisher[i, j] += sums[pair(i // units, j // units, inputs), pair(min(h, k), max(h, k), units)]


@kernel(inline="always")
def pairs(n):
    """Return the number of pairs i <= j of n things."""
    return n * (n + 1) // 2


@kernel(inline="always")
def pair(i, j, n):
    """Return the place of the pair i <= j in the order (0, 0), (0, 1), ..., (1, 1), ..."""
    return i * n - i * (i - 1) // 2 + j - i


@kernel(fastmath=CONTRACT)
def node_system(table, theta, penalty, outputs, gradient, fisher):
    """Fill the gradient of F and (on and above the diagonal) its Fisher matrix J J^T + diag(penalty).

    For the weights of units h and l on inputs j and k the matrix is the sum of x_j x_k times the slopes of h and l. It
    is the same for (j, l) and (k, h), so it is summed for pairs of inputs times pairs of units.

    Parameters
    ----------
    table : tuple of ndarray, shapes (p, n), (n,), (n,), (n,) or (0,)
        The parents x; the response y, and spread, the variance within its cells; the weights, how often each
        observation counts: empty if each counts once.
    theta, penalty : ndarray, shape (size,)
        The weights of the network, and the penalty of each.
    outputs : tuple of ndarray, shapes (m, n), (n,), (n,)
        The hidden units at theta, mean and variance.
    gradient : ndarray, shape (size,)
        Is filled.
    fisher : ndarray, shape (size, size)
        Is filled.
    """
    (x, y, _, weights), hidden = table, outputs[0]
    p, m = x.shape[0], hidden.shape[0]
    inputs, own = p + 1, m + 1  # rows of the first layer; weights of one output
    shared = inputs * m
    weight, pull, slopes = np.empty((2, ROWS)), np.empty((2, ROWS)), np.empty((2, m, ROWS))
    inner, outer = empty_block(shared), empty_block(own + 1)
    causes, at = np.empty((inputs, ROWS)), np.empty(inputs, dtype=np.int64)
    of_inputs, of_units = empty_block(pairs(inputs)), empty_block(pairs(m))
    sums = np.zeros((of_inputs.shape[0], of_units.shape[0]))
    part = np.zeros(sums.shape)
    cross, gram = np.zeros((2, inner.shape[0], outer.shape[0])), np.zeros((2, outer.shape[0], outer.shape[0]))
    among = np.zeros((inner.shape[0], outer.shape[0]))
    for first in range(0, y.size, ROWS):
        rows = min(ROWS, y.size - first)
        size = fill_causes(x, first, rows, causes, at)
        _weigh_outputs(table, outputs, first, rows, weight, pull)
        multiply_by_roots(weights, first, rows, weight)
        multiply_by_roots(weights, first, rows, pull)
        for output in range(2):
            out = shared + output * own
            factors = theta[out + 1 : out + own]
            _fill_outputs(hidden, (first, rows), factors, weight[output], pull[output], outer, slopes[output])
            _fill_inputs(causes, size, rows, slopes[output], inner)
            fill_product(inner, size * m, outer, rows, among)
            for i in range(size):
                for h in range(m):
                    source, target = among[i * m + h], cross[output, at[i] * m + h]
                    for j in range(own + 1):
                        target[j] += source[j]
            add_gram(outer, rows, gram[output])
        _fill_products_of_units(slopes, rows, of_units)
        add_pairs((causes, at, size), of_units, rows, of_inputs, part, sums)
    for i in range(theta.size):
        gradient[i] = penalty[i] * theta[i]
        for j in range(theta.size):
            fisher[i, j] = penalty[i] if i == j else 0.0
    for output in range(2):
        out = shared + output * own
        for i in range(shared):
            gradient[i] += cross[output, i, own]
            for j in range(own):
                fisher[i, out + j] += cross[output, i, j]
        for i in range(own):
            gradient[out + i] += gram[output, i, own]
            for j in range(i, own):
                fisher[out + i, out + j] += gram[output, i, j]
    add_first_layer(sums, inputs, m, fisher)


@kernel(fastmath=REASSOCIATE)
def student_scales(squares, weights, degrees_of_freedom, steps, scales):
    """Go on by steps of expectation maximisation to the likeliest squared scale for each number of degrees of freedom.

    ``squares`` (n,) are those of the sample, ``weights`` how often each counts, empty if once; ``scales`` is where to
    start, in place.
    """
    for k in range(scales.size):
        dof, scale = degrees_of_freedom[k], scales[k]
        for _ in range(steps):
            total, n = 0.0, float(squares.size)
            for r in range(squares.size if weights.size == 0 else 0):
                total += squares[r] / (dof * scale + squares[r])
            for r in range(weights.size):
                total += weights[r] * squares[r] / (dof * scale + squares[r])
            scale *= (dof + 1.0) * total / (n if weights.size == 0 else weights.sum())
        scales[k] = scale


@kernel(fastmath=CONTRACT)
def _fill_features(x, hidden, first, rows, features):
    """Fill a bounded function of a candidate, its square, the candidate, and its products with the hidden units."""
    bounded, squared, plain = features[0], features[1], features[2]
    for r in range(rows):
        plain[r] = x[first + r]
    for r in range(rows):
        bounded[r] = 1.0 - 2.0 / (exp(1.6 * plain[r]) + 1.0)
    for r in range(rows):
        squared[r] = bounded[r] * bounded[r]
    for h in range(hidden.shape[0]):
        unit, product = hidden[h, first : first + rows], features[3 + h]
        for r in range(rows):
            product[r] = plain[r] * unit[r]


@kernel()
def add_products_of_features(candidates, hidden, weights, others, grams, products):
    """Add, for every candidate, the scalar products of its features with each other and with other vectors.

    Parameters
    ----------
    candidates : ndarray, shape (c, n)
        The candidates.
    hidden : ndarray, shape (m, n)
        The hidden units that every candidate is multiplied by.
    weights : ndarray, shape (n,) or (0,)
        How often each observation counts: features are multiplied by the roots. Empty if each counts once.
    others : ndarray, shape (e, n)
        The other vectors, multiplied by the roots; e is a multiple of four.
    grams : ndarray, shape (c, k, k)
        Products of the features; k is m + 3, made a multiple of four. Entries beyond m + 3 are undefined.
    products : ndarray, shape (c, k, e)
        Products of the features with the other vectors.
    """
    n, k, e = candidates.shape[1], grams.shape[1], others.shape[0]
    features, block = empty_block(hidden.shape[0] + 3), np.empty((e, ROWS))
    for first in range(0, n, ROWS):
        rows = min(ROWS, n - first)
        for i in range(e):
            for r in range(rows):
                block[i, r] = others[i, first + r]
        for c in range(candidates.shape[0]):
            _fill_features(candidates[c], hidden, first, rows, features)
            multiply_by_roots(weights, first, rows, features)
            add_gram(features, rows, grams[c])
            add_product(features, features.shape[0], block, rows, products[c])
    for c in range(candidates.shape[0]):
        for i in range(k):
            for j in range(i):
                grams[c, i, j] = grams[c, j, i]
