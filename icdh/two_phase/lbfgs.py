"""The augmented Lagrangian of Phase II minimised by L-BFGS-B, its lasso term exact.

W1 = W1+ - W1- with both parts non-negative turns the lasso into a linear term under bounds.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from icdh.two_phase.objective import MeanProblem
from icdh.two_phase.remembered import Remembered

GRADIENT_TOLERANCE = 1e-8
BARRIER = 1e3  # times the objective at the start: what counts as its value where it is not a number


def minimise_by_lbfgs(
    problem: MeanProblem,
    w: np.ndarray,
    inputs: np.ndarray,
    tolerance: float,
    rho: float = 0.0,
    alpha: float = 0.0,
    nodes: np.ndarray | None = None,
) -> tuple[np.ndarray, OptimizeResult]:
    """Minimise the augmented Lagrangian over the weights of the inputs.

    Parameters
    ----------
    problem : MeanProblem
        The objective.
    w : ndarray, shape (inputs, m1)
        Where to start.
    inputs : ndarray of int
        The inputs that may be present, of these nodes only.
    tolerance : float
        Relative decrease at which to stop.
    rho, alpha : float
        Penalty weight and multiplier.
    nodes : ndarray of int, optional
        The nodes to sum over; by default all.

    Returns
    -------
    w : ndarray, shape (inputs, m1)
        The minimum.
    result : OptimizeResult
        What SciPy says of it; the start, status 2 and an infinite objective where there is none.
    """
    split = SplitVector(problem.is_free[inputs], problem.units[inputs], problem.l1)
    start = split.vector(w)
    if start.size == 0:
        return w, OptimizeResult(status=0, message="NO UNKNOWNS", fun=problem.solution(w, inputs)[0])

    def keep(theta):
        problem.reached = split.weights(theta), inputs

    result = run_lbfgs(
        split.penalised(problem.lagrangian(inputs, rho, alpha, nodes)),
        start,
        split.bounds(start.size),
        tolerance,
        keep if nodes is None and problem.clock.max_seconds else None,
    )
    return (w if np.isinf(result.fun) else split.weights(result.x)), result


def run_lbfgs(
    value_and_gradient: Callable, start: np.ndarray, bounds: Bounds, tolerance: float, callback: Callable | None = None
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
    objective = Remembered(_finite(value_and_gradient))
    try:
        result = minimize(
            objective.value,
            start,
            jac=objective.gradient,
            method="L-BFGS-B",
            bounds=bounds,
            callback=callback,
            options={"ftol": tolerance, "gtol": GRADIENT_TOLERANCE, "maxiter": 15_000, "maxfun": 1_000_000},
        )
    except _NotANumber:
        return OptimizeResult(x=start, status=2, message="NOT A NUMBER", fun=np.inf)
    result.fun = objective.value(result.x)  # SciPy's may be that of the last point that was tried, the barrier even
    return result


class _NotANumber(ArithmeticError):
    """There is no value at the start, or no step: interpolation between huge values overflows."""


def _finite(function):
    """Return the function with a barrier where it is not a number: a line search then shortens its step."""
    barrier = None

    def value_and_gradient(theta):
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
            barrier = BARRIER * (1.0 + abs(value))
        return value, gradient

    return value_and_gradient


class SplitVector:
    """The flat vector of L-BFGS-B: W1+ (or, where there is no lasso, W1), then W1- of free edges, each in its unit.

    Parameters
    ----------
    is_free : ndarray of bool, shape (inputs,)
        Edges under the lasso are split in two non-negative parts; intercepts and required edges are not.
    units : ndarray, shape (inputs,)
        Weight = unit times entry of the vector.
    l1 : float
        The lasso penalty.
    """

    def __init__(self, is_free: np.ndarray, units: np.ndarray, l1: float):
        self.inputs = is_free.size
        self.edges = slice(None) if is_free.all() else is_free  # views where they can be
        self.is_bounded = np.concatenate([is_free, np.ones(np.count_nonzero(is_free), dtype=bool)])
        self.units = units[:, np.newaxis]
        self.cost = l1 * np.concatenate([units * is_free, units[is_free]])[:, np.newaxis]

    def vector(self, w: np.ndarray) -> np.ndarray:
        """Return the vector of the weights, shape (inputs, m1)."""
        first = w / self.units
        second = np.maximum(-first[self.edges], 0.0)
        first[self.edges] = np.maximum(first[self.edges], 0.0)
        return np.concatenate([first.ravel(), second.ravel()])

    def weights(self, theta: np.ndarray) -> np.ndarray:
        """Return the weights of the vector, shape (inputs, m1)."""
        rows = theta.reshape(self.is_bounded.size, -1)
        first = rows[: self.inputs].copy()
        first[self.edges] -= rows[self.inputs :]
        first *= self.units
        return first

    def penalised(self, smooth: Callable) -> Callable:
        """Return a function of the vector: a function of the weights and its gradient plus the l1 term."""

        def value_and_gradient(theta):
            value, by_w = smooth(self.weights(theta))
            gradient = np.empty((self.is_bounded.size, by_w.shape[1]))
            np.multiply(by_w, self.units, out=gradient[: self.inputs])
            np.negative(gradient[: self.inputs][self.edges], out=gradient[self.inputs :])
            gradient += self.cost
            lasso = np.dot(theta.reshape(gradient.shape).sum(axis=1), self.cost[:, 0])
            return value + lasso, gradient.ravel()

        return value_and_gradient

    def bounds(self, size: int) -> Bounds:
        """Return the bounds: both parts of the weights under the lasso are non-negative."""
        lower = np.where(self.is_bounded, 0.0, -np.inf)
        return Bounds(np.repeat(lower, size // lower.size), np.full(size, np.inf))
