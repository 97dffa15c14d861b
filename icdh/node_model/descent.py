"""The minimum of F: Fisher scoring while it falls fast, quasi-Newton steps where it creeps.

Most steps of scoring to the minimum of a model of many units lower F by next to nothing: the Fisher matrix is not the
curvature there, and computing it is what costs. A gradient costs a tenth of it or less, so once a step of scoring
lowers F by less than `SLOW` limited-memory BFGS takes over, whose first matrix is the damped one of the last step.
On the way some observations are enough for the matrix, of which only steps depend; the last one is of all.
"""

import numpy as np

from icdh._jit import FIRST_DAMPING, LARGEST_DAMPING, SMALLEST_DAMPING, cholesky_in_place
from icdh.node_model._descent_kernels import quasi_newton_steps, scoring_steps

SLOW = 10.0  # nats
FEW_WEIGHTS = 30  # of which the matrix costs next to nothing: scoring alone, which forgets rounding errors
ENOUGH = 64  # observations for every weight: with fewer, fits end in worse minima


def node_fit(
    x: np.ndarray,
    y: np.ndarray,
    spread: np.ndarray,
    theta: np.ndarray,
    penalty: np.ndarray,
    hidden_units: int,
    freeze: int,
    max_steps: int,
    tol: float,
    factor: np.ndarray,
) -> tuple[float, float, int, bool]:
    """Minimise F over theta, in place.

    Parameters
    ----------
    x : ndarray, shape (p, n)
        The parents.
    y, spread : ndarray, shape (n,)
        The node, and the variance of what its values stand for.
    theta : ndarray
        Where to start.
    penalty : ndarray
        That of every weight.
    hidden_units : int
        m.
    freeze : int
        Weights from here on stay as they are.
    max_steps : int
        The most steps; with none, what is returned is what is at theta.
    tol : float
        Stop when two steps in a row lower F by less than this many nats.
    factor : ndarray, shape (size, size)
        Is filled with the Cholesky factor R of the Fisher matrix at the end.

    Returns
    -------
    tuple
        F, the log determinant of the Fisher matrix (NaN if there is none), the steps taken, and whether the last of
        them lowered F by less than ``tol``.
    """
    gradient, everything = np.empty(theta.size), (x, y, spread)
    apart = max(y.size // (ENOUGH * theta.size), 1) if max_steps else 1
    some = everything if apart == 1 else tuple(np.ascontiguousarray(part[..., ::apart]) for part in everything)
    slow = SLOW if theta.size > FEW_WEIGHTS else 0.0

    def score(most, damping, some=some, apart=apart):
        options = theta, penalty, hidden_units, freeze, most, tol, slow, damping, gradient, factor
        return scoring_steps(*everything, some, apart, *options)

    objective, steps, done, damping = score(max_steps, FIRST_DAMPING * y.size)
    growth, current = 2.0, apart == 1
    while not done and steps < max_steps and damping < LARGEST_DAMPING and objective < np.inf:
        options = theta, penalty, hidden_units, freeze, max_steps - steps, tol, damping, gradient, factor
        taken, done = quasi_newton_steps(*everything, *options)
        if taken < 0:
            damping, growth = damping * growth, 2.0 * growth
            continue
        steps, damping, growth = steps + taken, max(damping / 3.0, SMALLEST_DAMPING), 2.0
        current = apart == 1 and not done
        if not done:
            objective, *_ = score(0, damping)
    if not current:
        objective, *_ = score(0, damping, everything, 1)
    return objective, cholesky_in_place(factor, theta.size), steps, done
