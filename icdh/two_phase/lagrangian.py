"""Phase II by the fast schedule: the means, W1 and W2, given the scales, under the constraint h = 0.

`augmented_lagrangian` follows Algorithm 3, but edges stay absent once their weights are zero, and it ends while h is
still large. The graph is then decided up to its weakest edges: those that close a cycle are dropped, and the rest is
minimised where h is exactly zero (`icdh.two_phase.dag`), in place of the ill-conditioned end of the method. There every
node is a problem of its own, small enough for Newton's method. `icdh.two_phase.as_printed` follows Algorithm 3 to its
end.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from icdh._ground.clock import Clock, OutOfTime
from icdh.network import Weights
from icdh.two_phase.as_printed import C, S
from icdh.two_phase.dag import further_starts, minimise_on_dag, without_cycles
from icdh.two_phase.lbfgs import minimise_by_lbfgs
from icdh.two_phase.objective import MeanProblem
from icdh.two_phase.rounds import OUT_OF_TIME, MeanStep
from icdh.two_phase.schedule import FAST_ALONE, Schedule


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
    rho_max: float,
    schedule: Schedule = FAST_ALONE,
    explore: Sequence[Weights] = (),
    rows: np.ndarray | None = None,
    required_edges: np.ndarray | None = None,
    clock: Clock | None = None,
) -> MeanStep:
    """Minimise the objective of Phase II under h = 0.

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
    rho_max : float
        The penalty weight at which the method gives up.
    schedule : Schedule
        How far the method is followed, and what comes after.
    explore : sequence of Weights, optional
        Random weights for the further starts of every node, used in turn; ``weights`` by default.
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
    try:
        w, inputs, rho, alpha, h, result = augmented_lagrangian(
            problem, weights, finish.decided_h, rho_max, schedule.tolerance
        )
        if h <= finish.decided_h:
            starts = further_starts(problem, explore or [weights], finish.reaches)
            w, inputs, result = minimise_on_dag(problem, w, inputs, starts, schedule.tolerance, finish.turns)
            h = problem.acyclicity(w, inputs)[0]
    except OutOfTime:
        return _as_far_as_reached(problem)
    problem.clock = Clock()  # one more evaluation
    objective, network = problem.solution(w, inputs)
    status, message = int(result.status), str(result.message)
    return MeanStep(network, objective, h, rho, alpha, problem.evaluations, status, message)


def _as_far_as_reached(problem):
    problem.clock = Clock()  # one more evaluation
    w, inputs = without_cycles(problem, *problem.reached)
    objective, network = problem.solution(w, inputs)
    h = problem.acyclicity(w, inputs)[0]
    return MeanStep(network, objective, h, 0.0, 0.0, problem.evaluations, 1, OUT_OF_TIME)


def augmented_lagrangian(
    problem: MeanProblem, weights: Weights, h_tol: float, rho_max: float, tolerance: float
) -> Multipliers:
    """Follow the augmented Lagrangian method from rho = 1, alpha = 0 until h is at most ``h_tol`` (Algorithm 3).

    Edges stay absent once their weights are zero.

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
            w, inputs = problem.present(w, inputs)
            h = problem.acyclicity(w, inputs)[0]
            if h <= C * h_previous or rho >= rho_max:
                break
            rho *= S
        alpha += rho * h
        h_previous = h
        if h <= h_tol or rho >= rho_max:
            return Multipliers(w, inputs, rho, alpha, h, result)
