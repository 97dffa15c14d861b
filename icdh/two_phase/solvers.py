"""Two solvers of objectives with a lasso; both minimise them exactly.

L-BFGS-B serves all of them: W1 = W1+ - W1- with both parts non-negative turns the lasso into a linear term under
bounds.

Newton's method serves one child whose causes are fixed. The objective is a sum of squares, minimised over W2, plus
lasso and ridge on the hidden weights w. The lasso is linear as long as no weight changes its sign, so a step ends where
a weight reaches zero. The Hessian has W2 first, then the weights that may move: its Cholesky factorisation begins by
eliminating W2. Steps have Levenberg-Marquardt damping, in units of like curvature.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv  # pyright: ignore[reportAttributeAccessIssue]
from scipy.optimize import Bounds, OptimizeResult, minimize

from icdh._utils.arrays import Floats, Integers, Mask
from icdh._utils.jit import next_damping
from icdh.two_phase._kernels import mean_hessian
from icdh.two_phase.objective import Evaluation, FamilyObjective, Minimum, Objective, Smooth

MOST_EVALUATIONS = 300
ORTHANT_PASSES = 10  # factorisations to find out which weights a step stops at zero
NEWTON_FIRST_DAMPING = 1e-2
NEWTON_LARGEST_DAMPING = 1e16


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
    result = run_lbfgs(penalised, start, split.lower(start.size), tolerance, callback)
    reached = w if np.isinf(result.fun) else split.weights(result.x)
    return Minimum(reached, float(result.fun), int(result.status), str(result.message))


def run_lbfgs(
    value_and_gradient: Smooth,
    start: Floats,
    lower: Floats,
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
    lower : ndarray, shape (K,)
        The lower bound of every entry.
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
            bounds=Bounds(lower, np.inf),  # pyright: ignore[reportArgumentType]
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
        self.edges: slice | Mask = slice(None) if is_free.all() else is_free  # views where they can be
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

    def lower(self, size: int) -> Floats:
        """Return the lower bounds: both parts of the weights under the lasso are non-negative."""
        lower = np.where(self.is_bounded, 0.0, -np.inf)
        return np.repeat(lower, size // lower.size)


class QuadraticModel(NamedTuple):
    """The quadratic model of a child's objective, in W2 and the weights that may move.

    Attributes
    ----------
    moving : ndarray of int
        The flat indices of these weights.
    hessian : ndarray, shape (size, size)
        Second derivatives.
    gradient : ndarray, shape (size,)
        Derivatives; those by W2 are zero.
    at, side : ndarray, shape (size,)
        Values, and on which side of zero they stay (0: either).
    unit : ndarray, shape (size,)
        What damping is measured in.
    """

    moving: Integers
    hessian: Floats
    gradient: Floats
    at: Floats
    side: Floats
    unit: Floats


def quadratic_model(objective: FamilyObjective, w: Floats, evaluation: Evaluation) -> QuadraticModel:
    """Return the model of an objective at some weights, given its evaluation there."""
    lasso = objective.lasso[:, np.newaxis]
    moving = np.flatnonzero((w != 0.0) | (np.abs(evaluation.gradient) > lasso) | (lasso == 0.0))
    rows, units = np.divmod(moving, w.shape[1])
    of_table = objective.features, objective.inputs, rows, units, objective.root, objective.low
    hessian, diagonal = mean_hessian(*of_table, (evaluation.w2, evaluation.s, evaluation.residual))
    outputs, size = evaluation.w2.size, diagonal.size
    model = QuadraticModel(moving, hessian, *np.zeros((4, size)))
    at, slope, penalty = w.ravel()[moving], evaluation.gradient.ravel()[moving], objective.lasso[rows]
    side = np.sign(np.where(at != 0.0, at, -slope)) * (penalty > 0.0)
    model.at[outputs:], model.side[outputs:] = at, side
    model.gradient[outputs:] = slope + side * penalty
    unit = objective.curvature[rows]
    model.unit[outputs:] = unit * (diagonal[outputs:] / unit).max(initial=0.0)
    diagonal = model.hessian.ravel()[:: size + 1]
    diagonal[: w.shape[1]] += objective.output_ridge
    diagonal[outputs:] += objective.ridge[rows]
    return model


def minimise_by_newton(
    objective: FamilyObjective, w: Floats, tolerance: float, look: Callable[[], None] = lambda: None
) -> Minimum:
    """Minimise the objective of one child.

    It ends when two steps in a row gained less than ``tolerance`` times the objective, or when no step gains anything.

    Parameters
    ----------
    objective : FamilyObjective
        The objective.
    w : ndarray, shape (inputs, m1)
        Where to start.
    tolerance : float
        Relative decrease at which to stop.
    look : callable, optional
        Called before every evaluation; it may raise to end the minimisation.

    Returns
    -------
    Minimum
        The minimum; the start and an infinite value where there is none.
    """

    def evaluated(w: Floats) -> tuple[float, Evaluation]:
        look()
        evaluation = objective.evaluate(w)
        return evaluation.value + objective.penalty(w), evaluation

    value, evaluation = evaluated(w)
    if np.isnan(value):
        return Minimum(w, np.inf, 2, "NOT A NUMBER")
    model = quadratic_model(objective, w, evaluation)
    damping, growth, small = NEWTON_FIRST_DAMPING, 2.0, 0
    for _ in range(MOST_EVALUATIONS):
        predicted, damping, growth, step = _damped_step(model, damping, growth)
        if damping >= NEWTON_LARGEST_DAMPING:
            break
        trial = w.copy()
        trial.ravel()[model.moving] += step[evaluation.w2.size :]
        reached, evaluation = evaluated(trial)
        fall = -np.inf if np.isnan(reached) else value - reached
        small = small + 1 if max(fall, predicted) < tolerance * value else 0
        if fall > 0.0:
            w, value = trial, reached
        if small == 2:
            break
        damping, growth = next_damping(damping, growth, fall / predicted)
        if fall > 0.0:
            model = quadratic_model(objective, w, evaluation)
    else:
        return Minimum(w, value, 1, "LIMIT OF NEWTON STEPS")
    return Minimum(w, value, 0, "CONVERGED")


def _damped_step(model: QuadraticModel, damping: float, growth: float) -> tuple[float, float, float, Floats]:
    """Raise the damping until the model expects a fall; return that fall, damping, its growth, and the step."""
    while True:
        predicted, step = _step_in_orthant(model, damping)
        if predicted > 0.0 or damping >= NEWTON_LARGEST_DAMPING:
            return predicted, damping, growth, step
        damping, growth = next_damping(damping, growth, predicted)


def _step_in_orthant(model: QuadraticModel, damping: float) -> tuple[float, Floats]:
    """Return the fall that the model expects of a step, and the step.

    The step leads to about the minimum of the damped model at which no weight has changed its sign. The fall is NaN if
    the damped model is not convex.
    """
    size, step = model.gradient.size, np.zeros_like(model.gradient)
    right, system = -model.gradient, model.hessian.copy()
    system.ravel()[:: size + 1] += damping * model.unit
    for _ in range(ORTHANT_PASSES):
        _, step, failed = dposv(system.T, right)
        if failed:
            return np.nan, step
        crossed = model.side * (model.at + step) < 0.0
        if not crossed.any():
            break
        step[crossed] = -model.at[crossed]  # stops at zero, and leaves the system
        right -= system[:, crossed] @ step[crossed]
        right[crossed] = step[crossed]
        system[crossed] = system[:, crossed] = 0.0
        system[crossed, crossed] = 1.0
    return -float(step @ (model.gradient + 0.5 * (model.hessian @ step))), step
