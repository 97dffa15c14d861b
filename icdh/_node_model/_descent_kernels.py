"""Kernels of the descent to the minimum of F: Fisher scoring while F falls fast, then quasi-Newton steps.

With many hidden units most steps of Fisher scoring lower F by next to nothing: the Fisher matrix is not the curvature
near the minimum, and computing it is expensive. A gradient costs a tenth of the matrix or less. So once a step lowers
F by less than `SLOW`, limited-memory BFGS takes over, with the damped matrix of the last step as its first matrix.

Until the last iteration the Fisher matrix uses a subset of the observations: only step directions depend on it.
"""

# mypy: disable-error-code=no-untyped-def
# Numba infers the types of arguments; docstrings say them, with shapes.

import math

import numpy as np

from icdh._node_model._kernels import UNCLIPPED_VARIANCE, VARIANCE_FLOOR, node_forward, node_objective, node_system
from icdh._node_model._outputs_kernels import backpropagate
from icdh._utils.jit import (
    CONTRACT,
    FIRST_DAMPING,
    LARGEST_DAMPING,
    REASSOCIATE,
    SMALLEST_DAMPING,
    cholesky_in_place,
    cholesky_solve,
    kernel,
    next_damping,
    small_steps,
)

SLOW = 10.0  # nats
ENOUGH = 64  # observations of the subset for every weight: with fewer, fits end in worse minima
MEMORY = 30  # steps of a descent, all of which are remembered
SHORTEST = 0.1  # length of a step, relative to one that was too long

_next_damping = kernel(inline="always")(next_damping)
_small_steps = kernel(inline="always")(small_steps)


@kernel(fastmath=CONTRACT)
def node_gradient(table, theta, penalty, outputs, pull, gradient):
    """Fill the gradient of F by backpropagation, at a small part of the cost of `node_system`, whose arguments it has.

    ``pull`` (2, n) is memory.
    """
    (x, y, spread, weights), (hidden, mean, variance) = table, outputs
    of_mean, of_scale, out = pull[0], pull[1], (x.shape[0] + 1) * hidden.shape[0]
    intercepts = np.array([out, out + hidden.shape[0] + 1])
    for r in range(y.size):
        residual, share = mean[r] - y[r], (variance[r] - VARIANCE_FLOOR) / variance[r]
        squares = (residual * residual + spread[r]) / variance[r]
        of_mean[r] = residual / variance[r]
        of_scale[r] = 0.5 * share * (1.0 - squares) if variance[r] < UNCLIPPED_VARIANCE else 0.0
    for r in range(weights.size):
        of_mean[r] *= weights[r]
        of_scale[r] *= weights[r]
    for i in range(theta.size):
        gradient[i] = penalty[i] * theta[i]
    backpropagate(x, hidden, theta, (intercepts, intercepts + 1, 1.0), pull, gradient)


@kernel()
def _value(table, theta, penalty, mean, variance, is_start):
    """Return F, or infinity where a step takes a variance to its limit, which later steps could not leave."""
    (_, y, spread, weights), largest = table, 0.0
    for r in range(variance.size):
        largest = max(largest, variance[r])
    if largest < UNCLIPPED_VARIANCE or is_start:
        return node_objective(y, spread, weights, theta, penalty, mean, variance)
    return np.inf


@kernel()
def _copy(source, target):
    for i in range(source.size):
        target[i] = source[i]


@kernel()
def _every(apart, values):
    """Return every ``apart``-th value."""
    some = np.empty((values.size + apart - 1) // apart)
    for r in range(some.size):
        some[r] = values[r * apart]
    return some


@kernel()
def _of_every(apart, table):
    """Return x, y, spread and weights of every ``apart``-th observation."""
    if apart == 1:
        return table
    x, y, spread, weights = table
    some = np.empty((x.shape[0], (y.size + apart - 1) // apart))
    for j in range(x.shape[0]):
        for r in range(some.shape[1]):
            some[j, r] = x[j, r * apart]
    return some, _every(apart, y), _every(apart, spread), _every(apart, weights)


@kernel()
def _damped_factor(fisher, damping, free, factor):
    """Fill the Cholesky factor of the damped Fisher matrix over the free weights; return whether there is one."""
    for i in range(free):
        for j in range(i, free):
            factor[i, j] = fisher[i, j]
        factor[i, i] += damping
    return not math.isnan(cholesky_in_place(factor, free))


@kernel(fastmath=CONTRACT, inline="always")  # once, inside what calls it
def scoring_steps(table, some, theta, network, until, damping, system):
    """Take steps of Fisher scoring with Levenberg-Marquardt damping.

    Parameters
    ----------
    table : tuple
        x, y, spread and weights, as of `node_system`.
    some : tuple
        ``apart``, one over the share of the observations on which the Fisher matrix is computed, each of which counts
        for as many; and the table of every ``apart``-th.
    theta : ndarray
        The weights, updated in place.
    network : tuple
        penalty, hidden_units and freeze, as of `node_fit`.
    until : tuple
        max_steps, tol and patience, as of `node_fit`, and by how much less a single step must lower F to be the last.
    damping : float
        The first damping.
    system : tuple of ndarray, shapes (size,), (size, size)
        Are filled with gradient and Fisher matrix at the end (NaN if F is not finite).

    Returns
    -------
    tuple
        F, the steps taken, whether the last of them lowered F by less than ``tol``, and the last damping.
    """
    (penalty, units, freeze), (max_steps, tol, patience, slow), (gradient, fisher) = network, until, system
    (x, y, _, _), (apart, some_table) = table, some
    n, size = y.size, theta.size
    hidden, mean, variance, pull = np.empty((units, n)), np.empty(n), np.empty(n), np.empty((2, n))
    units_there, means, variances = hidden, mean, variance
    if apart > 1:
        n_some = some_table[1].size
        units_there, means, variances = np.empty((units, n_some)), np.empty(n_some), np.empty(n_some)
    damped, step, trial, share = np.empty((size, size)), np.zeros(size), theta.copy(), penalty / apart
    for i in range(size):
        fisher[i, i] = math.nan  # should there be no system at all
    objective, predicted, growth = np.inf, np.inf, 2.0
    steps, small = -1, 0
    while True:
        # One call of each large kernel: a second one would be compiled again.
        node_forward(x, trial, hidden, mean, variance)
        value = _value(table, trial, penalty, mean, variance, steps < 0)
        steps += 1
        fall = objective - value
        if fall > 0.0:
            _copy(trial, theta)
            objective = value
            if apart > 1:
                node_forward(some_table[0], theta, units_there, means, variances)
            node_system(some_table, theta, share, (units_there, means, variances), gradient, fisher)
            if apart > 1:
                for i in range(size):
                    for j in range(i, size):
                        fisher[i, j] *= apart
                node_gradient(table, theta, penalty, (hidden, mean, variance), pull, gradient)
        if steps > 0:
            small = _small_steps(small, fall, predicted, tol)
            damping, growth = _next_damping(damping, growth, fall / predicted)
        ended = small >= patience or (steps > 0 and 0.0 < fall < slow)
        if steps >= max_steps or ended or damping > LARGEST_DAMPING or not objective < np.inf:
            break
        if not _damped_factor(fisher, damping, freeze, damped):
            break
        for i in range(freeze):
            step[i] = -gradient[i]
        cholesky_solve(damped, step[:freeze])
        predicted = 0.0
        for i in range(freeze):
            trial[i] = theta[i] + step[i]
            predicted += 0.5 * step[i] * (damping * step[i] - gradient[i])
    return objective, steps, small >= patience, damping


@kernel(fastmath=REASSOCIATE)
def _dot(a, b, size):
    total = 0.0
    for i in range(size):
        total += a[i] * b[i]
    return total


@kernel(fastmath=CONTRACT)
def _fill_direction(factor, gradient, free, remembered, pairs, direction):
    """Fill the direction of limited-memory BFGS, by its two loops.

    Parameters
    ----------
    factor : ndarray, shape (size, size)
        The Cholesky factor R of the first matrix, R^T R.
    gradient : ndarray, shape (size,)
        The gradient.
    free : int
        How many weights are free: the first ones.
    remembered : tuple of ndarray, shapes (MEMORY, size), (MEMORY, size), (MEMORY,)
        Steps, the changes of the gradient along them, and their scalar products.
    pairs : int
        How many there are.
    direction : ndarray, shape (size,)
        Is filled.
    """
    share, (moves, changes, curvature) = np.empty(MEMORY), remembered
    for i in range(free):
        direction[i] = -gradient[i]
    for k in range(pairs - 1, -1, -1):
        share[k] = _dot(moves[k], direction, free) / curvature[k]
        for i in range(free):
            direction[i] -= share[k] * changes[k, i]
    cholesky_solve(factor, direction[:free])
    for k in range(pairs):
        rest = share[k] - _dot(changes[k], direction, free) / curvature[k]
        for i in range(free):
            direction[i] += rest * moves[k, i]


@kernel(fastmath=CONTRACT, inline="always")  # once, inside what calls it
def quasi_newton_steps(table, theta, network, until, damping, system):
    """Take up to `MEMORY` steps of limited-memory BFGS from the damped Fisher matrix.

    Parameters
    ----------
    table, network
        As of `scoring_steps`. Steps end, too, where no length of a step lowers F.
    theta : ndarray
        The weights, updated in place.
    until : tuple
        max_steps, tol and patience, as of `node_fit`.
    damping : float
        What is added to the diagonal of the Fisher matrix.
    system : tuple of ndarray, shapes (size,), (size, size)
        The gradient at theta, updated in place, and the Fisher matrix there.

    Returns
    -------
    tuple
        The steps taken, -1 if the first fails, and whether the last of them lowered F by less than ``tol``.
    """
    (penalty, units, freeze), (max_steps, tol, patience), (gradient, fisher) = network, until, system
    x, y, _, _ = table
    n, size = y.size, theta.size
    hidden, mean, variance, pull = np.empty((units, n)), np.empty(n), np.empty(n), np.empty((2, n))
    factor, direction, trial, before = np.empty((size, size)), np.zeros(size), theta.copy(), np.empty(size)
    moves, changes, curvature = np.empty((MEMORY, size)), np.empty((MEMORY, size)), np.empty(MEMORY)
    if not _damped_factor(fisher, damping, freeze, factor):
        return -1, False
    objective, slope, length = np.inf, 0.0, 1.0
    steps, small, pairs, trials = -1, 0, 0, 0
    while True:
        # One call of each large kernel: a second one would be compiled again.
        node_forward(x, trial, hidden, mean, variance)
        value = _value(table, trial, penalty, mean, variance, steps < 0)
        fall, trials = objective - value, trials + 1
        # Armijo: a step must achieve this share of the linear prediction, at one of four lengths.
        if not fall >= -1e-4 * length * slope and trials < 4:
            shorter = -0.5 * length * slope / (-fall - length * slope) if value < np.inf else SHORTEST
            length *= min(max(shorter, SHORTEST), 0.5)
            for i in range(freeze):
                trial[i] = theta[i] + length * direction[i]
            continue
        if not fall > 0.0:
            return (steps if steps > 0 else -1), -0.5 * slope < tol
        _copy(trial, theta)
        _copy(gradient, before)
        objective, steps = value, steps + 1
        if steps > 0:
            node_gradient(table, theta, penalty, (hidden, mean, variance), pull, gradient)
            small = small + 1 if fall < tol else 0
            for i in range(freeze):
                moves[pairs, i], changes[pairs, i] = length * direction[i], gradient[i] - before[i]
            curvature[pairs] = _dot(moves[pairs], changes[pairs], freeze)
            if curvature[pairs] > -1e-3 * length * slope:  # a step of less curvature is not remembered
                pairs += 1
        if steps >= max_steps or small >= patience or pairs == MEMORY:
            return steps, small >= patience
        _fill_direction(factor, gradient, freeze, (moves, changes, curvature), pairs, direction)
        # At most twice the length of the step before: along valleys full steps are often too long.
        slope, length, trials = _dot(gradient, direction, freeze), min(1.0, 2.0 * max(length, SHORTEST)), 0
        for i in range(freeze):
            trial[i] = theta[i] + length * direction[i]


@kernel(fastmath=CONTRACT)
def node_fit(table, theta, penalty, hidden_units, freeze, until, factor):
    """Minimise F over theta, in place.

    Parameters
    ----------
    table : tuple
        x, y, spread and weights, as of `node_system`.
    theta : ndarray
        Where to start.
    penalty : ndarray
        The penalty of every weight.
    hidden_units : int
        m.
    freeze : int
        Weights from this index on stay as they are.
    until : tuple
        max_steps, the most steps; with zero, the results are those at theta. And tol and patience: stop when
        ``patience`` steps in a row lower F by less than ``tol`` nats.
    factor : ndarray, shape (size, size)
        Is filled with the Cholesky factor R of the Fisher matrix at the end.

    Returns
    -------
    tuple
        F, the log determinant of the Fisher matrix (NaN if there is none), the steps taken, and whether the last of
        them lowered F by less than ``tol``.
    """
    (_, y, _, weights), (max_steps, tol, patience) = table, until
    n, size, network, system = y.size, theta.size, (penalty, hidden_units, freeze), (np.empty(theta.size), factor)
    apart = max(n // (ENOUGH * size), 1) if max_steps > 0 else 1
    some = apart, _of_every(apart, table)
    slow = SLOW if size > 30 else 0.0  # for few weights scoring alone: it is cheap, and accumulates no rounding errors
    damping, growth = FIRST_DAMPING * (weights.sum() if weights.size else n), 2.0
    most, steps, done, last = max_steps, 0, False, max_steps == 0
    while True:
        # One call of each large kernel: a second one would be compiled again.
        objective, taken, ended, damping_there = scoring_steps(
            table, some, theta, network, (most, tol, patience, slow), damping, system
        )
        if last:
            break
        if most > 0:
            steps, done, damping = taken, ended, damping_there
        taken = -1
        while taken < 0 and not done and steps < max_steps and damping < LARGEST_DAMPING and objective < np.inf:
            ends = max_steps - steps, tol, patience
            taken, done = quasi_newton_steps(table, theta, network, ends, damping, system)
            if taken < 0:
                damping, growth = damping * growth, 2.0 * growth
        if taken < 0 and some[0] == 1:
            break  # the factor is that of these weights and all observations
        if taken > 0:
            steps, damping, growth = steps + taken, max(damping / 3.0, SMALLEST_DAMPING), 2.0
        most, last = 0, taken < 0 or done or steps >= max_steps
        if last:
            some = 1, table
    return objective, cholesky_in_place(factor, size), steps, done
