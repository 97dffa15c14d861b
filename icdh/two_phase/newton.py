"""Phase II of one child whose causes are fixed, by Newton's method.

The objective is a sum of squares, minimised over W2, plus lasso and ridge on the hidden weights w. The lasso is linear
as long as no weight changes its sign, so a step ends where a weight reaches zero. The Hessian has W2 first, then the
weights that may move: its Cholesky factorisation begins by eliminating W2. Steps have Levenberg-Marquardt damping, in
units of like curvature.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv  # pyright: ignore[reportAttributeAccessIssue]

from icdh._ground.arrays import Floats, Integers
from icdh._ground.damping import next_damping
from icdh.two_phase._kernels import mean_hessian
from icdh.two_phase.objective import Evaluation, FamilyObjective, Minimum


@dataclass(frozen=True)
class Tuning:
    """Constants of Newton's method."""

    most_evaluations: int = 300
    orthant_passes: int = 10  # factorisations to find out which weights a step stops at zero
    first_damping: float = 1e-2
    largest_damping: float = 1e16


TUNING = Tuning()


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
    of_table = objective.features, objective.inputs, rows, units, objective.root
    hessian, diagonal = mean_hessian(*of_table, evaluation.w2, evaluation.s, evaluation.residual)
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
    damping, growth, small = TUNING.first_damping, 2.0, 0
    for _ in range(TUNING.most_evaluations):
        predicted, damping, growth, step = _damped_step(model, damping, growth)
        if damping >= TUNING.largest_damping:
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
        if predicted > 0.0 or damping >= TUNING.largest_damping:
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
    for _ in range(TUNING.orthant_passes):
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
