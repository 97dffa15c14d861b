"""Phase II (Algorithm 3): the means, W1 and W2, given the scales, under the constraint h = 0.

`augmented_lagrangian` is the algorithm as printed. A schedule with a finish ends it while h is still large. The graph
is then decided up to its weakest edges: those that close a cycle are dropped, and the rest is minimised where h is
exactly zero (`icdh.two_phase.dag`), in place of the ill-conditioned end of the method. There every node is a problem
of its own, small enough for Newton's method.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from icdh._clock import Clock, OutOfTime
from icdh.network import Weights
from icdh.two_phase.dag import further_starts, minimise_on_dag, without_cycles
from icdh.two_phase.lbfgs import minimise_by_lbfgs
from icdh.two_phase.objective import MeanProblem
from icdh.two_phase.schedule import FAST_ALONE, Schedule

PROGRESS = 0.25  # c: rho stays once h fell below c times its last value
GROWTH = 10.0  # s: the factor of rho otherwise
OUT_OF_TIME = "OUT OF TIME"  # the message of a step that was cut short


class MeanStep(NamedTuple):
    """What Phase II returns: the weights, and how the augmented Lagrangian ended."""

    weights: Weights
    objective: float
    h: float
    rho: float
    alpha: float
    evaluations: int
    status: int
    message: str


class Multipliers(NamedTuple):
    """Where the augmented Lagrangian method ended: weights of inputs, penalty weight, multiplier and h."""

    w: np.ndarray
    inputs: np.ndarray
    rho: float
    alpha: float
    h: float
    result: OptimizeResult


def fit_means(
    features: np.ndarray,
    scale: np.ndarray,
    weights: Weights,
    forbidden_edges: np.ndarray,
    l1: float,
    l2: float,
    h_tol: float,
    rho_max: float,
    schedule: Schedule = FAST_ALONE,
    explore: Sequence[Weights] = (),
    rows: np.ndarray | None = None,
    required_edges: np.ndarray | None = None,
    clock: Clock | None = None,
) -> MeanStep:
    """Minimise the objective of Phase II under h = 0 (Algorithm 3).

    Parameters
    ----------
    features : ndarray, shape (N or N + 1, M)
        Observations, one variable a row; a last row of ones if the network has intercepts.
    scale : ndarray, shape (N, M)
        The standard deviations sigma, fixed in this phase.
    weights : Weights
        Where to start; w3 and w3_bias are carried along.
    forbidden_edges : ndarray of bool, shape (N, N)
        Edges that must not appear.
    l1, l2 : float
        Penalties on W1 (lasso) and on W1 and W2 (ridge).
    h_tol : float
        h at which the constraint counts as met where the method is followed to the end; a finish makes h exactly zero.
    rho_max : float
        The penalty weight at which the method gives up.
    schedule : Schedule
        How far the method is followed, and what comes after.
    explore : sequence of Weights, optional
        Random weights for the further starts of a finish, used in turn; ``weights`` by default.
    rows : ndarray of bool, shape (N, M), optional
        The observations that count for each variable; by default all.
    required_edges : ndarray of bool, shape (N, N), optional
        Edges that must appear; see `MeanProblem`.
    clock : Clock, optional
        Says when to end; what was reached by then is returned, without its cycles.

    Returns
    -------
    MeanStep
        The weights, the regularised objective without the terms in h, and how the method ended.

    References
    ----------
    Yin, Gao, Yu, Ji: "Effective Causal Discovery under Identifiable Heteroscedastic Noise Model", AAAI 2024,
    Algorithm 3.
    """
    clock = clock or Clock()
    problem = MeanProblem(features, scale, weights, forbidden_edges, l1, l2, rows, required_edges, clock)
    finish = schedule.finish
    met_h = h_tol if finish is None else finish.decided_h
    try:
        end = augmented_lagrangian(problem, weights, met_h, rho_max, schedule.tolerance, drops_edges=finish is not None)
        w, inputs, h, result = end.w, end.inputs, end.h, end.result
        if finish is not None and h <= met_h:
            starts = further_starts(problem, explore or [weights], finish.reaches)
            w, inputs, result = minimise_on_dag(problem, w, inputs, starts, schedule.tolerance, finish.turns)
            h = problem.acyclicity(w, inputs)[0]
    except OutOfTime:
        return _as_far_as_reached(problem)
    objective, network = problem.solution(w, inputs)
    status, message = int(result.status), str(result.message)
    return MeanStep(network, objective, h, end.rho, end.alpha, problem.evaluations, status, message)


def _as_far_as_reached(problem):
    problem.clock = Clock()  # one more evaluation
    w, inputs = without_cycles(problem, *problem.reached)
    objective, network = problem.solution(w, inputs)
    h = problem.acyclicity(w, inputs)[0]
    return MeanStep(network, objective, h, 0.0, 0.0, problem.evaluations, 1, OUT_OF_TIME)


def augmented_lagrangian(
    problem: MeanProblem, weights: Weights, h_tol: float, rho_max: float, tolerance: float, drops_edges: bool
) -> Multipliers:
    """Follow the augmented Lagrangian method from rho = 1, alpha = 0 until h is at most ``h_tol`` (Algorithm 3).

    Parameters
    ----------
    problem : MeanProblem
        The objective.
    weights : Weights
        Where to start.
    h_tol : float
        h at which the constraint counts as met.
    rho_max : float
        The penalty weight at which the method gives up.
    tolerance : float
        Relative decrease at which a subproblem ends.
    drops_edges : bool
        Whether edges stay absent once their weights are zero, which the algorithm as printed does not ask for.

    Returns
    -------
    Multipliers
        The weights of the last subproblem, and penalty weight and multiplier at the end.

    Notes
    -----
    The inner loop ends as soon as h < c h_previous; as printed it has no end.
    """
    w, inputs = problem.input_weights(weights), problem.every_input
    rho, alpha, h_previous = 1.0, 0.0, np.inf
    while True:
        while True:
            problem.clock.begin(f"all nodes at once (rho {rho:.0e}, h {h_previous:.1e})")
            w, result = minimise_by_lbfgs(problem, w, inputs, tolerance, rho, alpha)
            if drops_edges:
                w, inputs = problem.present(w, inputs)
            h = problem.acyclicity(w, inputs)[0]
            if h <= PROGRESS * h_previous or rho >= rho_max:
                break
            rho *= GROWTH
        alpha += rho * h
        h_previous = h
        if h <= h_tol or rho >= rho_max:
            return Multipliers(w, inputs, rho, alpha, h, result)
