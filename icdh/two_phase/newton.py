"""Phase II of one node whose parents are fixed, by Newton's method.

The objective is a sum of squares, minimised over W2, plus lasso and ridge on the hidden weights w. The lasso is linear
as long as no weight changes its sign, so a step ends where a weight reaches zero. The Hessian has W2 first, then the
weights that may move: its Cholesky factorisation begins by eliminating W2. Steps have Levenberg-Marquardt damping, in
units of like curvature.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.optimize import OptimizeResult

from icdh._ground.damping import next_damping
from icdh.two_phase._kernels import mean_hessian
from icdh.two_phase.objective import MeanProblem

MOST_EVALUATIONS = 300
ORTHANT_PASSES = 10  # factorisations to find out which weights a step stops at zero
FIRST_DAMPING, LARGEST_DAMPING = 1e-2, 1e16


class QuadraticModel(NamedTuple):
    """The quadratic model of a node's objective, in W2 and the weights that may move.

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

    moving: np.ndarray
    hessian: np.ndarray
    gradient: np.ndarray
    at: np.ndarray
    side: np.ndarray
    unit: np.ndarray


class NodeObjective:
    """The objective of one node by the weights of its inputs.

    Parameters
    ----------
    problem : MeanProblem
        The objective of all nodes.
    n : int
        The node.
    inputs : ndarray of int
        The inputs that may be present, of this node only.
    """

    def __init__(self, problem: MeanProblem, n: int, inputs: np.ndarray):
        self.problem, self.n = problem, n
        self.causes = problem.causes[inputs]
        self.curvature = problem.curvature[inputs]
        self.lasso, self.ridge = problem.l1 * problem.is_free[inputs], problem.l2 * problem.is_edge[inputs]
        self.smooth = problem.lagrangian(inputs, nodes=np.array([n]))

    def value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective, and the derivative of all but its lasso term."""
        value, gradient = self.smooth(w)
        return value + self.lasso @ np.abs(w).sum(axis=1), gradient

    def quadratic_model(self, w: np.ndarray, gradient: np.ndarray) -> QuadraticModel:
        """Return the model at the weights of the last evaluation, given the derivative that it returned."""
        lasso = self.lasso[:, np.newaxis]
        moving = np.flatnonzero((w != 0.0) | (np.abs(gradient) > lasso) | (lasso == 0.0))
        own, units = np.divmod(moving, w.shape[1])
        outputs, size = self.problem.w2.shape[1], self.problem.w2.shape[1] + moving.size
        model = QuadraticModel(moving, np.empty((size, size)), *np.zeros((4, size)))
        diagonal = np.empty(size)
        mean_hessian(
            self.problem.features,
            self.causes,
            own,
            units,
            self.problem.roots[self.n],
            self.problem.w2[self.n],
            self.problem.hidden,
            self.problem.residual,
            model.hessian,
            diagonal,
        )
        at, slope, lasso = w.ravel()[moving], gradient.ravel()[moving], self.lasso[own]
        side = np.sign(np.where(at != 0.0, at, -slope)) * (lasso > 0.0)
        model.at[outputs:], model.side[outputs:] = at, side
        model.gradient[outputs:] = slope + side * lasso
        unit = self.curvature[own]
        model.unit[outputs:] = unit * (diagonal[outputs:] / unit).max(initial=0.0)
        diagonal = model.hessian.ravel()[:: size + 1]
        diagonal[:outputs] += self.problem.ridge[self.n]
        diagonal[outputs:] += self.ridge[own]
        return model


def minimise_by_newton(
    problem: MeanProblem, n: int, w: np.ndarray, inputs: np.ndarray, tolerance: float
) -> tuple[np.ndarray, OptimizeResult]:
    """Minimise the objective of one node over the weights of its inputs.

    It ends when two steps in a row gained less than ``tolerance`` times the objective, or when no step gains anything.

    Parameters
    ----------
    problem : MeanProblem
        The objective.
    n : int
        The node.
    w : ndarray, shape (inputs, m1)
        Where to start.
    inputs : ndarray of int
        The inputs that may be present, of this node only.
    tolerance : float
        Relative decrease at which to stop.

    Returns
    -------
    w : ndarray, shape (inputs, m1)
        The minimum.
    result : OptimizeResult
        Objective and status, as SciPy reports them.
    """
    node = NodeObjective(problem, n, inputs)
    value, gradient = node.value_and_gradient(w)
    if np.isnan(value):
        return w, OptimizeResult(fun=np.inf, status=2, message="NOT A NUMBER")
    model = node.quadratic_model(w, gradient)
    damping, growth, small = FIRST_DAMPING, 2.0, 0
    for _ in range(MOST_EVALUATIONS):
        predicted, damping, growth, step = _damped_step(model, damping, growth)
        if damping >= LARGEST_DAMPING:
            break
        trial = w.copy()
        trial.ravel()[model.moving] += step[problem.w2.shape[1] :]
        reached, gradient = node.value_and_gradient(trial)
        fall = -np.inf if np.isnan(reached) else value - reached
        small = small + 1 if max(fall, predicted) < tolerance * value else 0
        if fall > 0.0:
            w, value = trial, reached
        if small == 2:
            break
        damping, growth = next_damping(damping, growth, fall / predicted)
        if fall > 0.0:
            model = node.quadratic_model(w, gradient)
    else:
        return w, OptimizeResult(fun=value, status=1, message="LIMIT OF NEWTON STEPS")
    return w, OptimizeResult(fun=value, status=0, message="CONVERGED")


def _damped_step(model, damping, growth):
    """Raise the damping until the model expects a fall; return that fall, damping, its growth, and the step."""
    while True:
        predicted, step = _step_in_orthant(model, damping)
        if predicted > 0.0 or damping >= LARGEST_DAMPING:
            return predicted, damping, growth, step
        damping, growth = next_damping(damping, growth, predicted)


def _step_in_orthant(model, damping):
    """Return the fall that the model expects of a step, and the step.

    The step leads to about the minimum of the damped model at which no weight has changed its sign. The fall is NaN if
    the damped model is not convex.
    """
    size = model.gradient.size
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
