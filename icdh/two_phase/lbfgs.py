"""L-BFGS-B for objectives with a lasso, which it minimises exactly.

W1 = W1+ - W1- with both parts non-negative turns the lasso into a linear term under bounds.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from icdh._ground.arrays import Floats
from icdh.two_phase.objective import Minimum, Objective, Smooth


def minimise_by_lbfgs(
    objective: Objective,
    w: Floats,
    tolerance: float,
    look: Callable[[], None] = lambda: None,
    keep: Callable[[Floats], None] | None = None,
) -> Minimum:
    """Minimise an objective.

    Parameters
    ----------
    objective : Objective
        The objective.
    w : ndarray, shape (inputs, m1)
        Where to start.
    tolerance : float
        Relative decrease at which to stop.
    look : callable, optional
        Called before every evaluation; it may raise to end the minimisation.
    keep : callable, optional
        Called with the weights after every iteration.

    Returns
    -------
    Minimum
        The minimum; the start and an infinite value where there is none.
    """
    split = SplitVector(objective)
    start = split.vector(w)
    if start.size == 0:
        return Minimum(w, objective.smooth(w)[0], 0, "NO UNKNOWNS")

    def penalised(theta: Floats) -> tuple[float, Floats]:
        look()
        return split.penalised(theta)

    callback = None if keep is None else lambda theta: keep(split.weights(theta))
    result = run_lbfgs(penalised, start, split.bounds(start.size), tolerance, callback)
    reached = w if np.isinf(result.fun) else split.weights(result.x)
    return Minimum(reached, float(result.fun), int(result.status), str(result.message))


def run_lbfgs(
    value_and_gradient: Smooth,
    start: Floats,
    bounds: Bounds,
    tolerance: float,
    callback: Callable[[Floats], None] | None = None,
) -> OptimizeResult:
    """Minimise a function by SciPy's L-BFGS-B, behind a barrier where it is not a number.

    Parameters
    ----------
    value_and_gradient : callable
        Takes a vector, returns a value and its gradient.
    start : ndarray, shape (K,)
        Where to start.
    bounds : Bounds
        Of every entry.
    tolerance : float
        Relative decrease at which to stop.
    callback : callable, optional
        Called with the vector after each iteration.

    Returns
    -------
    OptimizeResult
        What SciPy says of it; the start, status 2 and an infinite objective where there is no minimum.
    """
    bounded = _with_barrier(value_and_gradient)
    try:
        result = minimize(
            bounded,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            callback=callback,
            options={"ftol": tolerance, "gtol": 1e-8, "maxiter": 15_000, "maxfun": 1_000_000},
        )
    except _NotANumber:
        return OptimizeResult(x=start, status=2, message="NOT A NUMBER", fun=np.inf)
    result.fun = bounded(result.x)[0]  # SciPy's may be that of the last point that was tried, the barrier even
    return result


class _NotANumber(ArithmeticError):
    """There is no value at the start, or no step: interpolation between huge values overflows."""


def _with_barrier(function: Smooth) -> Smooth:
    """Return the function with a barrier where it is not a number: a line search then shortens its step."""
    barrier: float | None = None

    def value_and_gradient(theta: Floats) -> tuple[float, Floats]:
        nonlocal barrier
        if not np.isfinite(theta).all():
            raise _NotANumber
        with np.errstate(over="ignore", invalid="ignore"):
            value, gradient = function(theta)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            if barrier is None:
                raise _NotANumber
            return barrier, np.zeros(theta.size)
        if barrier is None:
            barrier = 1e3 * (1.0 + abs(value))  # the value where the objective is not a number
        return value, gradient

    return value_and_gradient


class SplitVector:
    """The flat vector of L-BFGS-B: W1+ (or, where there is no lasso, W1), then W1- of free edges, each in its unit.

    Parameters
    ----------
    objective : Objective
        Edges under its lasso are split in two non-negative parts; intercepts and required edges are not.
    """

    def __init__(self, objective: Objective):
        is_free, units = objective.is_free, 1.0 / np.sqrt(objective.curvature)
        self.smooth, self.inputs = objective.smooth, is_free.size
        self.edges: Any = slice(None) if is_free.all() else is_free  # views where they can be
        self.is_bounded = np.concatenate([is_free, np.ones(np.count_nonzero(is_free), dtype=bool)])
        self.units = units[:, np.newaxis]
        cost = units * objective.lasso
        self.cost = np.concatenate([cost, cost[is_free]])[:, np.newaxis]

    def vector(self, w: Floats) -> Floats:
        """Return the vector of the weights, shape (inputs, m1)."""
        first = w / self.units
        second = np.maximum(-first[self.edges], 0.0)
        first[self.edges] = np.maximum(first[self.edges], 0.0)
        return np.concatenate([first.ravel(), second.ravel()])

    def weights(self, theta: Floats) -> Floats:
        """Return the weights of the vector, shape (inputs, m1)."""
        rows = theta.reshape(self.is_bounded.size, -1)
        first: Floats = rows[: self.inputs].copy()
        first[self.edges] -= rows[self.inputs :]
        first *= self.units
        return first

    def penalised(self, theta: Floats) -> tuple[float, Floats]:
        """Return the objective with its lasso, and the gradient by the vector."""
        value, by_w = self.smooth(self.weights(theta))
        gradient = np.empty((self.is_bounded.size, by_w.shape[1]))
        np.multiply(by_w, self.units, out=gradient[: self.inputs])
        np.negative(gradient[: self.inputs][self.edges], out=gradient[self.inputs :])
        gradient += self.cost
        lasso = np.dot(theta.reshape(gradient.shape).sum(axis=1), self.cost[:, 0])
        return value + lasso, gradient.ravel()

    def bounds(self, size: int) -> Bounds:
        """Return the bounds: both parts of the weights under the lasso are non-negative."""
        lower = np.where(self.is_bounded, 0.0, -np.inf)
        return Bounds(np.repeat(lower, size // lower.size), np.full(size, np.inf))  # pyright: ignore[reportArgumentType]
