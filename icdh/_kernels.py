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
STRIP = 96  # rows of a Jacobian at a time: they stay in the first-level cache
ORTHANT_PASSES = 10  # factorisations to find out which weights a step stops at zero
FIRST_DAMPING, SMALLEST_DAMPING, LARGEST_DAMPING = 1e-2, 1e-10, 1e16

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
def add_gram(a, rows, gram):
    """Add the upper triangle of a @ a.T, of the first ``rows`` columns of ``a``, to ``gram``.

    Two by four entries at a time share their loads; some below the diagonal come out as well.
    """
    size = a.shape[0]
    for i in range(0, size - 1, 2):
        a0, a1 = a[i, :rows], a[i + 1, :rows]
        j = i
        while j + 4 <= size:
            b0, b1, b2, b3 = a[j, :rows], a[j + 1, :rows], a[j + 2, :rows], a[j + 3, :rows]
            s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = 0.0
            for r in range(rows):
                s0 += a0[r] * b0[r]
                s1 += a0[r] * b1[r]
                s2 += a0[r] * b2[r]
                s3 += a0[r] * b3[r]
                t0 += a1[r] * b0[r]
                t1 += a1[r] * b1[r]
                t2 += a1[r] * b2[r]
                t3 += a1[r] * b3[r]
            gram[i, j] += s0
            gram[i, j + 1] += s1
            gram[i, j + 2] += s2
            gram[i, j + 3] += s3
            gram[i + 1, j] += t0
            gram[i + 1, j + 1] += t1
            gram[i + 1, j + 2] += t2
            gram[i + 1, j + 3] += t3
            j += 4
        while j < size:
            b = a[j, :rows]
            s0 = t0 = 0.0
            for r in range(rows):
                s0 += a0[r] * b[r]
                t0 += a1[r] * b[r]
            gram[i, j] += s0
            gram[i + 1, j] += t0
            j += 1
    if size % 2 == 1:
        last = a[size - 1, :rows]
        s0 = 0.0
        for r in range(rows):
            s0 += last[r] * last[r]
        gram[size - 1, size - 1] += s0


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
def cholesky_solve(factor, b):
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


# --- Phase II: the means of some nodes -----------------------------------------------------------------------------
#
# ``root`` holds 1 / (sigma sqrt(M)) of one node: every sum of squares is then the mean over observations of squared
# standardised residuals. ``w`` (inputs, m1) are the hidden weights of one node.


@kernel()
def _work_space(observations, outputs):
    """Return memory for the activations of a node, in blocks, and for its residuals."""
    return np.empty(((observations + ROWS - 1) // ROWS, outputs, ROWS)), np.empty(observations)


@kernel(fastmath=CONTRACT)
def _weigh(rows, root, weighed):
    """Set the first rows of ``weighed`` to ``root`` times each of ``rows``."""
    for h in range(rows.shape[0]):
        source, target = rows[h], weighed[h]
        for m in range(root.size):
            target[m] = root[m] * source[m]


@kernel(fastmath=REASSOCIATE)
def _standardise(x, root, residual):
    """Turn means into residuals times ``root``, in place; return half the sum of their squares."""
    total = 0.0
    for m in range(x.size):
        residual[m] = root[m] * (x[m] - residual[m])
        total += 0.5 * residual[m] * residual[m]
    return total


@kernel()
def project_node(features, n, inputs, w, root, ridge, w2, blocks, residual):
    """Minimise over ``w2`` half the squared standardised residuals of node n plus ridge, given ``w``; return both.

    Sets ``w2`` (outputs,), whose last entry is an intercept where it has one more than ``w`` has columns, the hidden
    activations ``blocks`` (blocks, outputs, ROWS) and the standardised residuals (M,).
    """
    outputs, units = w2.size, w.shape[1]
    weighed, gram = np.empty((outputs + 1, STRIP)), np.zeros((outputs + 1, outputs + 1))
    for b in range(blocks.shape[0]):
        start, stop = b * ROWS, min((b + 1) * ROWS, root.size)
        activate(features, inputs, w, start, stop - start, blocks[b])
        blocks[b, units:] = 1.0
        for first in range(start, stop, STRIP):
            strip = slice(first, min(first + STRIP, stop))
            _weigh(blocks[b, :, first - start :], root[strip], weighed)
            _weigh(features[n : n + 1, strip], root[strip], weighed[outputs:])
            add_gram(weighed, strip.stop - first, gram)
    for h in range(outputs):
        gram[h, h] += ridge[h]
        w2[h] = gram[h, outputs]
    cholesky_in_place(gram[:outputs, :outputs])
    cholesky_solve(gram[:outputs, :outputs], w2)
    total = 0.5 * (ridge * w2 * w2).sum()
    for b in range(blocks.shape[0]):
        block = slice(b * ROWS, min((b + 1) * ROWS, root.size))
        combine(blocks[b], w2, block.stop - block.start, residual[block])
        total += _standardise(features[n, block], root[block], residual[block])
    return total


@kernel(fastmath=CONTRACT)
def _pull(s, w2, root, residual, g):
    """Set ``g`` (m1, ROWS) to the derivative of half the squared residuals of a block by the pre-activations."""
    for h in range(g.shape[0]):
        weight, sh, gh = w2[h], s[h], g[h]
        for m in range(residual.size):
            gh[m] = -weight * (root[m] * residual[m]) * (sh[m] * (1.0 - sh[m]))


@kernel()
def back_through_mean(features, inputs, root, w2, blocks, residual, dw):
    """Set ``dw`` to the derivative by ``w`` of what `project_node` returned: that at fixed w2, which is optimal."""
    g = np.empty((dw.shape[1], ROWS))
    dw[:] = 0.0
    for b in range(blocks.shape[0]):
        block = slice(b * ROWS, min((b + 1) * ROWS, root.size))
        _pull(blocks[b], w2, root[block], residual[block], g)
        add_products(features, inputs, g, block.start, block.stop - block.start, dw)


@kernel()
def projected_least_squares(features, roots, nodes, inputs, starts, w, ridge, w2, dw):
    """Minimise over W2 half the squared standardised residuals of some nodes plus ridge, given W1; return both.

    Node ``nodes[k]`` has the inputs ``inputs[starts[k]:starts[k + 1]]`` with weights in the same rows of ``w``. Sets
    its row of ``w2`` (N, outputs), and ``dw``, the derivative of the minimum by ``w``.
    """
    blocks, residual = _work_space(features.shape[1], w2.shape[1])
    total = 0.0
    for k in range(nodes.size):
        n, own = nodes[k], slice(starts[k], starts[k + 1])
        total += project_node(features, n, inputs[own], w[own], roots[n], ridge, w2[n], blocks, residual)
        back_through_mean(features, inputs[own], roots[n], w2[n], blocks, residual, dw[own])
    return total


# --- Phase II on a DAG: Newton's method for one node ---------------------------------------------------------------
#
# With the parents fixed, Phase II is a problem of each node alone: the sum that `project_node` minimises over w2, plus
# lasso and ridge on w. Where no weight changes its sign the lasso is linear and Newton's method applies; steps end
# where a weight reaches zero. Hessians hold w2 first, then the weights that may move, so that w2 is eliminated by the
# beginning of their Cholesky factorisation.


@kernel()
def _moving_weights(w, gradient, lasso, side):
    """Return the flat indices of the weights that may move: not zero, or drawn from zero by more than the lasso.

    Sets ``side`` to their side of zero (0 without a lasso) and adds the lasso's derivative to ``gradient``, all flat.
    """
    moving, count = np.empty(w.size, np.int64), 0
    for k in range(w.size):
        penalty = lasso[k // w.shape[1]]
        value = w[k // w.shape[1], k % w.shape[1]]
        if penalty == 0.0:
            side[k] = 0.0
        elif value != 0.0:
            side[k] = math.copysign(1.0, value)
        elif abs(gradient[k]) > penalty:
            side[k] = -math.copysign(1.0, gradient[k])
        else:
            continue
        gradient[k] += side[k] * penalty
        moving[count] = k
        count += 1
    return moving[:count]


@kernel(fastmath=CONTRACT)
def _fill_mean_jacobian(jacobian, features, causes, units, start, s, w2, root):
    """Set the rows to ``root`` times the derivatives of the mean by w2 and by the weight of each cause and unit."""
    _weigh(s, root, jacobian)
    for k in range(units.size):
        h = units[k]
        x, sh, base, row = features[causes[k], start : start + root.size], s[h], jacobian[h], jacobian[w2.size + k]
        for m in range(root.size):
            row[m] = w2[h] * (base[m] * (1.0 - sh[m])) * x[m]


@kernel(fastmath=REASSOCIATE)
def _bend(x, s, weight, root, residual, bend):
    """Set ``bend`` to the residuals times the second derivative of the mean by two weights of a unit, but for x_j.

    Returns the sum of the residuals times the derivative by its entry of w2 and the weight of ``x``.
    """
    total = 0.0
    for m in range(x.size):
        slope = -root[m] * residual[m] * (s[m] * (1.0 - s[m])) * x[m]
        bend[m] = weight * (1.0 - 2.0 * s[m]) * slope
        total += slope
    return total


@kernel()
def _add_curvature(features, causes, units, start, s, w2, root, residual, hessian):
    """Add what Gauss and Newton leave out, for one block: it couples weights of the same unit only."""
    bend = np.empty((1, root.size))
    for h in range(w2.size):
        own = np.flatnonzero(units == h)
        products = np.empty((own.size, 1))
        for k in range(own.size):
            column = w2.size + own[k]
            x = features[causes[own[k]], start : start + root.size]
            hessian[h, column] += _bend(x, s[h], w2[h], root, residual, bend[0])
            products[:] = 0.0
            add_products(features, causes[own[: k + 1]], bend, start, root.size, products[: k + 1])
            for j in range(k + 1):
                hessian[w2.size + own[j], column] += products[j, 0]


@kernel()
def _mean_hessian(features, causes, units, root, w2, blocks, residual):
    """Return the second derivatives of half the squared residuals by w2 and weights: Gauss-Newton's, and the others."""
    size = w2.size + units.size
    hessian, curvature = np.zeros((size, size)), np.zeros((size, size))
    jacobian = np.empty((size, STRIP))
    for b in range(blocks.shape[0]):
        start, stop = b * ROWS, min((b + 1) * ROWS, root.size)
        for first in range(start, stop, STRIP):
            strip = slice(first, min(first + STRIP, stop))
            s = blocks[b, :, first - start :]
            _fill_mean_jacobian(jacobian, features, causes, units, first, s, w2, root[strip])
            add_gram(jacobian, strip.stop - first, hessian)
        block = slice(start, stop)
        _add_curvature(features, causes, units, start, blocks[b], w2, root[block], residual[block], curvature)
    return hessian, curvature


@kernel()
def _step_in_orthant(hessian, gradient, damping, at, side, step):
    """Set ``step`` to about the minimum of the damped quadratic model that takes nothing across zero.

    Returns by how much the model without damping falls; NaN if the damped one is not convex.
    """
    size = gradient.size
    free = np.ones(size, np.bool_)
    for _ in range(ORTHANT_PASSES):
        index = np.flatnonzero(free)
        system, right = np.empty((index.size, index.size)), np.empty(index.size)
        for a in range(index.size):
            row = hessian[index[a]]
            right[a] = -gradient[index[a]]
            for k in range(size):
                if not free[k]:
                    right[a] -= row[k] * step[k]
            for b in range(a, index.size):
                system[a, b] = row[index[b]]
            system[a, a] += damping[index[a]]
        if math.isnan(cholesky_in_place(system)):
            return math.nan
        cholesky_solve(system, right)
        crossed = False
        for a in range(index.size):
            k = index[a]
            step[k] = right[a]
            if side[k] * (at[k] + step[k]) < 0.0:
                free[k], step[k], crossed = False, -at[k], True
        if not crossed:
            break
    fall = 0.0
    for i in range(size):
        slope = gradient[i]
        for k in range(size):
            slope += 0.5 * hessian[i, k] * step[k]
        fall -= slope * step[i]
    return fall


@kernel()
def _penalties(w, lasso, l2):
    """Return lasso and ridge on the weights of a node; each input has its own."""
    total = 0.0
    for i in range(w.shape[0]):
        for h in range(w.shape[1]):
            total += lasso[i] * abs(w[i, h]) + 0.5 * l2[i] * w[i, h] * w[i, h]
    return total


@kernel()
def _newton_model(features, inputs, w, root, ridge, lasso, l2, curvature, w2, blocks, residual):
    """Return the quadratic model of a node's objective at ``w``, in the weights that may move.

    These are their flat indices; Hessian and gradient, w2 first; values and sides of zero; and the units of damping.
    """
    units, outputs = w.shape[1], w2.size
    by_w, every_side = np.empty(w.shape), np.empty(w.size)
    back_through_mean(features, inputs, root, w2, blocks, residual, by_w)
    for i in range(inputs.size):
        for h in range(units):
            by_w[i, h] += l2[i] * w[i, h]
    moving = _moving_weights(w, by_w.ravel(), lasso, every_side)
    size = outputs + moving.size
    hessian, bend = _mean_hessian(features, inputs[moving // units], moving % units, root, w2, blocks, residual)
    gradient, at, side, unit = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    for h in range(outputs):
        hessian[h, h] += ridge[h]
    largest = 0.0
    for k in range(moving.size):
        i, h = moving[k] // units, moving[k] % units
        largest = max(largest, hessian[outputs + k, outputs + k] / curvature[i])
        hessian[outputs + k, outputs + k] += l2[i]
        gradient[outputs + k], at[outputs + k], side[outputs + k] = by_w[i, h], w[i, h], every_side[moving[k]]
    for k in range(moving.size):
        unit[outputs + k] = largest * curvature[moving[k] // units]
    hessian += bend
    for i in range(size):
        hessian[i, :i] = hessian[:i, i]
    return moving, hessian, gradient, at, side, unit


@kernel()
def minimise_node(features, n, inputs, w, root, ridge, lasso, l2, curvature, tolerance, most_evaluations):
    """Minimise over ``w``, in place, the objective of node n: `project_node` plus lasso and ridge of each input.

    Newton's method with Levenberg-Marquardt damping in units of ``curvature``, the mean of the squares of each input
    over the variance. It ends when two steps in a row were worth less than ``tolerance`` times the objective, or none
    is worth anything. Returns the objective, the evaluations, and whether it ended before there were too many.
    """
    blocks, residual = _work_space(root.size, ridge.size)
    w2, trial = np.empty(ridge.size), w.copy()
    value, predicted, damping, growth, evaluations, small = np.inf, np.inf, FIRST_DAMPING, 2.0, 0, 0
    while evaluations < most_evaluations and damping < LARGEST_DAMPING:
        # One call of each large kernel: a second one would be compiled again.
        reached = project_node(features, n, inputs, trial, root, ridge, w2, blocks, residual)
        reached += _penalties(trial, lasso, l2)
        fall = value - reached
        evaluations += 1
        small = small + 1 if max(fall, predicted) < tolerance * value else 0
        if fall > 0.0:
            w[:], value = trial, reached
        if small == 2:
            break
        if fall > 0.0:
            ratio = fall / predicted if evaluations > 1 else 0.5
            model = _newton_model(features, inputs, w, root, ridge, lasso, l2, curvature, w2, blocks, residual)
            damping = max(damping * max(1.0 / 3.0, 1.0 - (2.0 * ratio - 1.0) ** 3), SMALLEST_DAMPING)
            growth = 2.0
        elif evaluations == 1:
            break  # not a number
        else:
            damping *= growth
            growth *= 2.0
        moving, hessian, gradient, at, side, unit = model
        step = np.empty(gradient.size)
        while True:
            predicted = _step_in_orthant(hessian, gradient, damping * unit, at, side, step)
            if predicted > 0.0 or damping >= LARGEST_DAMPING:
                break
            damping *= growth
            growth *= 2.0
        trial[:] = w
        for k in range(moving.size):
            trial[moving[k] // w.shape[1], moving[k] % w.shape[1]] += step[ridge.size + k]
    return value, evaluations, evaluations < most_evaluations


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
def _add_products_with(jacobian, pull, rows, gradient):
    """Add jacobian @ pull to the gradient."""
    for i in range(gradient.shape[0]):
        a = jacobian[i, :rows]
        total = 0.0
        for r in range(rows):
            total += a[r] * pull[r]
        gradient[i] += total


@kernel(fastmath=CONTRACT)
def node_system(x, y, theta, penalty, units, hidden, mean, variance, gradient, fisher):
    """Fill the gradient of F and (on and above the diagonal) its Fisher matrix J J^T + diag(penalty)."""
    p = x.shape[0]
    m = units
    n = y.shape[0]
    shared = (p + 1) * m
    own = m + 1
    size = shared + own
    jacobian = np.empty((size, STRIP))
    weight = np.empty(STRIP)
    pull = np.empty(STRIP)
    mean_gradient = np.zeros(size)
    scale_gradient = np.zeros(size)
    mean_gram = np.zeros((size, size))
    scale_gram = np.zeros((size, size))
    # Short of the limit by more than rounding: whether a variance was clipped must not hang on its last bit.
    largest = (_VARIANCE_FLOOR + exp(_LOG_VARIANCE_LIMIT)) * (1.0 - 1e-12)
    for first in range(0, n, STRIP):
        rows = min(STRIP, n - first)
        for r in range(rows):
            v = variance[first + r]
            weight[r] = 1.0 / math.sqrt(v)
            pull[r] = (mean[first + r] - y[first + r]) * weight[r]
        _fill_jacobian(jacobian, x, hidden, first, rows, theta, shared, weight)
        _add_products_with(jacobian, pull, rows, mean_gradient)
        add_gram(jacobian, rows, mean_gram)
        for r in range(rows):
            v = variance[first + r]
            pull[r] = _SQRT_HALF * (1.0 - pull[r] * pull[r])
            weight[r] = _SQRT_HALF * (v - _VARIANCE_FLOOR) / v if v < largest else 0.0
        _fill_jacobian(jacobian, x, hidden, first, rows, theta, shared + own, weight)
        _add_products_with(jacobian, pull, rows, scale_gradient)
        add_gram(jacobian, rows, scale_gram)
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
        cholesky_solve(damped[:freeze, :freeze], step[:freeze])
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
