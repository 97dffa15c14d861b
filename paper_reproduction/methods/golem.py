"""GOLEM (Ng, Ghassami, Zhang 2020), linear, with equal variances, and without from that solution.

The source prescribes: 100 000 steps of Adam (rate 0.001) on the likelihood, a soft |B|_1 and a soft acyclicity, from
zero; penalties as below; the solution of equal variances is where that of unequal variances begins. The likelihood
depends on the table through its covariance matrix alone, so that a step costs N³, whatever the rows: all of the steps
are taken, and they are those of gcastle (a test).
"""

import numpy as np
from numba import njit

EQUAL, UNEQUAL = 2e-2, 2e-3  # what |B|_1 costs
ACYCLICITY = 5.0
RATE, FIRST_DECAY, SECOND_DECAY, TINY = 1e-3, 0.9, 0.999, 1e-8  # Adam's


def fit(X, random_state, equal_variances, iterations=100_000):
    """Return the coefficients, shape (N, N), before any threshold; nothing is drawn."""
    X = X - X.mean(axis=0)
    scatter = X.T @ X
    weights = adam(scatter, np.zeros_like(scatter), True, EQUAL, iterations)
    return weights if equal_variances else adam(scatter, weights, False, UNEQUAL, iterations)


@njit(cache=True)
def adam(scatter, start, equal_variances, l1, iterations):
    """Return the coefficients after so many steps; ``scatter`` is X.T @ X."""
    weights = start.copy()
    first, second = np.zeros_like(start), np.zeros_like(start)
    for step in range(1, iterations + 1):
        slope = _gradient(scatter, weights, equal_variances, l1)
        first = FIRST_DECAY * first + (1.0 - FIRST_DECAY) * slope
        second = SECOND_DECAY * second + (1.0 - SECOND_DECAY) * slope * slope
        spread = np.sqrt(second / (1.0 - SECOND_DECAY**step)) + TINY
        weights = weights - RATE / (1.0 - FIRST_DECAY**step) * first / spread
    return weights


@njit(cache=True)
def _gradient(scatter, weights, equal_variances, l1):
    """Return the gradient of 1/2 sum log |X - XB|² - log |det(I - B)| + l1 |B|_1 + 5 (tr exp(B∘B) - N)."""
    nodes = len(weights)
    rest = np.eye(nodes) - weights
    product = scatter @ rest
    squares = (rest * product).sum(axis=0)  # of the residuals of each variable
    if equal_variances:
        squares = np.full(nodes, squares.sum() / nodes)
    slope = -product / squares + np.linalg.inv(rest).T + l1 * np.sign(weights)
    slope += ACYCLICITY * 2.0 * weights * _exp(weights * weights).T
    np.fill_diagonal(slope, 0.0)
    return slope


@njit(cache=True)
def _exp(B):
    """Return exp(B) of a non-negative matrix: a Taylor series of B / 2^s, squared s times."""
    identity, squarings = np.eye(len(B)), 0
    while B.sum(axis=0).max() > 0.5:
        B = B / 2.0
        squarings += 1
    power = identity
    for term in range(12, 0, -1):
        power = identity + B @ power / term
    for _ in range(squarings):
        power = power @ power
    return power
