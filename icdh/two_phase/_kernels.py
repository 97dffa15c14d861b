"""Kernels of one child: its mean (Phase II) and its scale (Phase I), and what their solvers need to know of both.

``root`` holds 1 / (sigma sqrt(M)) of the child at every observation: every sum of squares is then the mean over
observations of squared standardised residuals. ``w`` (inputs, m1) are the hidden weights of one node, and ``s``
(outputs, M) what its mean is a weighted sum of: the hidden activations, and a row of ones if there is an intercept.
``low`` is the least value of the activation (`icdh.network.Activation`).

In Phase I theta = (W3_n, W3_n0) determines sigma = relu(W3_n . s) + exp(W3_n0) at every observation. With residuals r
the loss is

    L = mean of log(sigma) + r^2 / (2 sigma^2),

its gradient the mean of (1 - r^2 / sigma^2) / sigma dsigma/dtheta, and Fisher's information, the expected second
derivative, the mean of 2 / sigma^2 dsigma/dtheta dsigma/dtheta^T.
"""

import math
from typing import TypeAlias

import numpy as np

from icdh._network_kernels import activate, add_products, bend_of, slope_of, weighed_slope_of
from icdh._utils.arrays import Floats, Integers
from icdh._utils.jit import (
    CONTRACT,
    REASSOCIATE,
    ROWS,
    add_gram,
    cholesky_in_place,
    cholesky_solve,
    kernel,
    multiply_by_roots,
    padded,
)

Layer: TypeAlias = tuple[Floats, float, Floats]  # s, low and w2: what the mean of a child is a weighted sum of


@kernel(fastmath=CONTRACT)
def _weigh(values: Floats, root: Floats, start: int, rows: int, weighed: Floats) -> None:
    """Set the rows of ``weighed`` to ``root`` times those of ``values``, one block."""
    weight = root[start : start + rows]
    for h in range(values.shape[0]):
        value, target = values[h, start : start + rows], weighed[h]
        for m in range(rows):
            target[m] = weight[m] * value[m]


@kernel(fastmath=REASSOCIATE)
def _standardise(x: Floats, s: Floats, w2: Floats, root: Floats, start: int, rows: int, residual: Floats) -> float:
    """Set one block of the residuals times ``root``; return half the sum of their squares."""
    error, weight, value = residual[start : start + rows], root[start : start + rows], x[start : start + rows]
    for m in range(rows):
        error[m] = value[m]
    for h in range(w2.size):
        factor, sh = w2[h], s[h, start : start + rows]
        for m in range(rows):
            error[m] -= factor * sh[m]
    total = 0.0
    for m in range(rows):
        error[m] *= weight[m]
        total += error[m] * error[m]
    return 0.5 * total


@kernel(fastmath=CONTRACT)
def _pull(layer: Layer, root: Floats, residual: Floats, block: tuple[int, int], pull: Floats) -> None:
    """Set ``pull`` (m1, ROWS) to the derivative of half the squared residuals of a block by the pre-activations."""
    (s, low, w2), (start, rows) = layer, block
    weight, error = root[start : start + rows], residual[start : start + rows]
    for h in range(pull.shape[0]):
        factor, sh, target = w2[h], s[h, start : start + rows], pull[h]
        for m in range(rows):
            target[m] = -factor * (weight[m] * error[m]) * slope_of(sh[m], low)


@kernel()
def projected_least_squares(
    table: tuple[Floats, int, Integers, Floats], w: Floats, low: float, ridge: float, bias: bool
) -> tuple[float, Floats, Floats, Floats, Floats]:
    """Minimise over W2 half the squared standardised residuals of a child plus ridge, given W1.

    The table is the features, the child, its inputs, and ``root``.

    Returns the minimum; its derivative by the weights ``w`` of the ``inputs``, which is that at fixed W2, as W2 is
    optimal; W2 (outputs,), ``s`` and the standardised residuals (M,). The minimum is NaN where W2 is undetermined.
    """
    features, child, inputs, root = table
    outputs, observations = w.shape[1] + bias, root.size
    w2, dw = np.zeros(outputs), np.zeros(w.shape)
    s, residual = np.empty((outputs, observations)), np.empty(observations)
    for h in range(w.shape[1], outputs):
        for m in range(observations):
            s[h, m] = 1.0
    size, target = padded(outputs + 1), features[child : child + 1]
    weighed, pull, gram = np.zeros((size, ROWS)), np.empty((w.shape[1], ROWS)), np.zeros((size, size))
    for start in range(0, observations, ROWS):
        rows = min(ROWS, observations - start)
        activate(features, inputs, w, low, start, rows, s)
        _weigh(s, root, start, rows, weighed)
        _weigh(target, root, start, rows, weighed[outputs:])
        add_gram(weighed, rows, gram)
    for h in range(w.shape[1]):
        gram[h, h] += ridge
    if math.isnan(cholesky_in_place(gram, outputs)):
        return math.nan, dw, w2, s, residual
    for h in range(outputs):
        w2[h] = gram[h, outputs]
    cholesky_solve(gram, w2)
    total = 0.0
    for h in range(w.shape[1]):
        total += 0.5 * ridge * w2[h] * w2[h]
    for start in range(0, observations, ROWS):
        rows = min(ROWS, observations - start)
        total += _standardise(features[child], s, w2, root, start, rows, residual)
        _pull((s, low, w2), root, residual, (start, rows), pull)
        add_products(features, inputs, pull, start, rows, dw)
    return total, dw, w2, s, residual


@kernel(fastmath=REASSOCIATE)
def _bend(
    edges: tuple[Floats, Integers, Integers],
    layer: Layer,
    root: Floats,
    residual: Floats,
    block: tuple[int, int],
    bend: Floats,
    by_output: Floats,
) -> None:
    """Set ``bend`` (weights, ROWS) to the derivative of half the squared residuals by a pre-activation and a weight.

    ``edges`` are the features, and the cause and the unit that each weight joins. Adds what is left out where the
    derivative is by the entry of w2 and a weight to ``by_output``.
    """
    (features, causes, units), (s, low, w2), (start, rows) = edges, layer, block
    weight, error = root[start : start + rows], residual[start : start + rows]
    for k in range(units.size):
        x, sh, target = features[causes[k], start : start + rows], s[units[k], start : start + rows], bend[k]
        factor, total = w2[units[k]], 0.0
        for m in range(rows):
            slope = -(weight[m] * error[m]) * slope_of(sh[m], low) * x[m]
            total += slope
            target[m] = factor * bend_of(sh[m], low) * slope
        by_output[k] += total


@kernel()
def mean_hessian(
    features: Floats,
    inputs: Integers,
    at: Integers,
    units: Integers,
    root: Floats,
    low: float,
    minimum: tuple[Floats, Floats, Floats],
) -> tuple[Floats, Floats]:
    """Return the second derivatives of half the squared residuals of a node, and the diagonal of Gauss-Newton's.

    They are by w2, then by the weight of each input ``inputs[at[k]]`` and unit ``units[k]``. The minimum is w2, ``s``
    and the residuals, as `projected_least_squares` returns them.
    """
    w2, s, residual = minimum
    outputs, size = w2.size, w2.size + units.size
    causes = inputs[at]
    jacobian, gram = np.zeros((padded(size), ROWS)), np.zeros((padded(size), padded(size)))
    bend, by_input = np.empty((units.size, ROWS)), np.zeros((inputs.size, units.size))
    by_output, hessian, diagonal = np.zeros(units.size), np.empty((size, size)), np.empty(size)
    for start in range(0, root.size, ROWS):
        rows = min(ROWS, root.size - start)
        _weigh(s, root, start, rows, jacobian)
        for k in range(units.size):  # the weighed derivatives of the mean by the weights, after those by w2
            x, sh = features[causes[k], start : start + rows], s[units[k], start : start + rows]
            factor, weight, row = w2[units[k]], root[start : start + rows], jacobian[outputs + k]
            for m in range(rows):
                row[m] = factor * weighed_slope_of(sh[m], weight[m], low) * x[m]
        add_gram(jacobian, rows, gram)
        _bend((features, causes, units), (s, low, w2), root, residual, (start, rows), bend, by_output)
        add_products(features, inputs, bend, start, rows, by_input)
    for i in range(size):
        diagonal[i] = gram[i, i]
    for k in range(units.size):
        gram[units[k], outputs + k] += by_output[k]
        for j in range(k + 1):
            if units[j] == units[k]:
                gram[outputs + j, outputs + k] += by_input[at[j], k]
    for i in range(size):
        for j in range(i, size):
            hessian[i, j] = hessian[j, i] = gram[i, j]
    return hessian, diagonal


@kernel(fastmath=REASSOCIATE)
def _scale_block(
    s: Floats, residual: Floats, weights: Floats, theta: Floats, block: tuple[int, int], jacobian: Floats, root: Floats
) -> float:
    """Set one block of sqrt(2) / sigma dsigma/dtheta, and a further row (1 - r^2 / sigma^2) / sqrt(2); return its loss.

    So the products of the rows of ``jacobian`` are Fisher's information and, with the last one, the gradient.
    """
    units, floor, (start, rows) = s.shape[0], math.exp(theta[s.shape[0]]), block
    sigma, last, r = jacobian[units], jacobian[units + 1], residual[start : start + rows]
    for m in range(rows):
        sigma[m] = 0.0
    for h in range(units):
        weight, sh = theta[h], s[h, start : start + rows]
        for m in range(rows):
            sigma[m] += weight * sh[m]
    for m in range(rows):
        is_alive = sigma[m] > 0.0
        sigma[m] = (sigma[m] if is_alive else 0.0) + floor
        root[m] = math.sqrt(2.0) / sigma[m] if is_alive else 0.0
    loss = 0.0
    # Nothing is stored in these loops: else the order of the sum would depend on where the arrays are in memory.
    for m in range(rows if weights.size == 0 else 0):
        e = r[m] / sigma[m]
        loss += math.log(sigma[m]) + 0.5 * e * e
    for m in range(rows if weights.size else 0):
        e = r[m] / sigma[m]
        loss += weights[start + m] * (math.log(sigma[m]) + 0.5 * e * e)
    for m in range(rows):
        e = r[m] / sigma[m]
        last[m] = math.sqrt(0.5) * (1.0 - e * e)
        sigma[m] = math.sqrt(2.0) * floor / sigma[m]  # the row of W3_n0
    for h in range(units):
        sh, row = s[h, start : start + rows], jacobian[h]
        for m in range(rows):
            row[m] = root[m] * sh[m]
    return loss


@kernel()
def scale_objective(s: Floats, residual: Floats, weights: Floats, theta: Floats) -> tuple[float, Floats, Floats]:
    """Return L at theta, without its constant, its gradient (m1 + 1,) and Fisher's information (m1 + 1, m1 + 1).

    ``s`` (m1, M) are the hidden activations of a node, ``residual`` (M,) its residuals, of root mean square one, and
    ``weights`` (M,), of mean one, how often each counts; empty if once.
    """
    observations, size = residual.size, theta.size
    gradient, fisher = np.empty(size), np.empty((size, size))
    jacobian, root = np.zeros((padded(size + 1), ROWS)), np.empty(ROWS)
    gram = np.zeros((jacobian.shape[0], jacobian.shape[0]))
    loss = 0.0
    for start in range(0, observations, ROWS):
        rows = min(ROWS, observations - start)
        loss += _scale_block(s, residual, weights, theta, (start, rows), jacobian, root)
        multiply_by_roots(weights, start, rows, jacobian)
        add_gram(jacobian, rows, gram)
    for i in range(size):
        gradient[i] = gram[i, size] / observations
        for j in range(i, size):
            fisher[i, j] = fisher[j, i] = gram[i, j] / observations
    return loss / observations, gradient, fisher
