"""Phase II by the fast schedule: the means, W1 and W2, given the scales, under the constraint h = 0.

`augmented_lagrangian` follows Algorithm 3, but edges stay absent once their weights are zero, and it ends while h is
still large. The graph is then decided up to its weakest edges: those that close a cycle are dropped, and the rest is
minimised where h is exactly zero (`icdh.two_phase.dag`), in place of the ill-conditioned end of the method. There every
node is a problem of its own, small enough for Newton's method. `icdh.two_phase.as_printed` follows Algorithm 3 to its
end.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from icdh._ground.arrays import Floats
from icdh._ground.clock import Clock, OutOfTime
from icdh.network import Weights
from icdh.two_phase.as_printed import C, S
from icdh.two_phase.dag import further_starts, minimise_on_dag, without_cycles
from icdh.two_phase.objective import Lagrangian, Minimum, NetworkObjective, Problem
from icdh.two_phase.rounds import FAST_ALONE, OUT_OF_TIME, MeanStep, Schedule
from icdh.two_phase.solvers import minimise_by_lbfgs


class Multipliers(NamedTuple):
    """Where the augmented Lagrangian method ended.

    Attributes
    ----------
    part : NetworkObjective
        The objective by the inputs that are left.
    minimum : Minimum
        Where its last minimisation ended.
    rho, alpha, h : float
        Penalty weight, multiplier, and the acyclicity.
    """

    part: NetworkObjective
    minimum: Minimum
    rho: float = 0.0
    alpha: float = 0.0
    h: float = 0.0


def fit_means(
    problem: Problem,
    scale: Floats,
    weights: Weights,
    rho_max: float,
    schedule: Schedule = FAST_ALONE,
    explore: Sequence[Weights] = (),
) -> MeanStep:
    """Minimise the objective of Phase II under h = 0.

    Parameters
    ----------
    problem : Problem
        What to fit. When its time is over, what was reached is returned, without its cycles.
    scale : ndarray, shape (N, M)
        The standard deviations sigma, fixed in this phase.
    weights : Weights
        Where to start; w3 and w3_bias are carried along.
    rho_max : float
        The penalty weight at which the method gives up.
    schedule : Schedule
        How far the method is followed, and what comes after.
    explore : sequence of Weights, optional
        Random weights for the further starts of every child, used in turn; ``weights`` by default.

    Returns
    -------
    MeanStep
        The weights, the regularised objective without the terms in h, and how the method ended.

    References
    ----------
    Yin, Gao, Yu, Ji: "Effective Causal Discovery under Identifiable Heteroscedastic Noise Model", AAAI 2024,
    Algorithm 3.
    """
    network = NetworkObjective.of(problem, scale)
    clock, start = problem.clock, network.input_weights(weights)
    before = clock.work
    end = augmented_lagrangian(network, start, schedule.decided_h, rho_max, schedule.tolerance, clock)
    if end.minimum.message != OUT_OF_TIME and end.h <= schedule.decided_h:
        starts = further_starts(network, explore or [weights], schedule.reaches)
        try:
            part, minimum = minimise_on_dag(network, end.part, end.minimum.w, starts, schedule.tolerance, clock=clock)
            end = end._replace(part=part, minimum=minimum)
        except OutOfTime:
            end = end._replace(minimum=end.minimum._replace(message=OUT_OF_TIME))
    if end.minimum.message == OUT_OF_TIME:
        end = Multipliers(*_out_of_time(*without_cycles(end.part, end.minimum.w)))
    objective, solution = end.part.solution(end.minimum.w, weights)
    h, evaluations = end.part.acyclicity(end.minimum.w)[0], -(-(clock.work - before) // weights.n_variables)
    return MeanStep(solution, objective, h, end.rho, end.alpha, evaluations, end.minimum.status, end.minimum.message)


def augmented_lagrangian(
    network: NetworkObjective, w: Floats, h_tol: float, rho_max: float, tolerance: float, clock: Clock | None = None
) -> Multipliers:
    """Follow the augmented Lagrangian method from rho = 1, alpha = 0 until h is at most ``h_tol`` (Algorithm 3).

    Edges stay absent once their weights are zero.

    Parameters
    ----------
    network : NetworkObjective
        The objective.
    w : ndarray, shape (inputs, m1)
        Where to start.
    h_tol : float
        h at which the constraint counts as met.
    rho_max : float
        The penalty weight at which the method gives up.
    tolerance : float
        Relative decrease at which a subproblem ends.
    clock : Clock, optional
        Counts evaluations of one child, and ends them when the time is over.

    Returns
    -------
    Multipliers
        The weights of the last subproblem, and penalty weight and multiplier at the end. When the time is over, the
        message is OUT_OF_TIME, and the weights are those of the last iteration; at first what no data decide on.

    Notes
    -----
    The inner loop ends as soon as h < c h_previous; as printed it has no end.
    """
    clock = clock or Clock()
    rho, alpha, h_previous = 1.0, 0.0, np.inf
    look = partial(clock.check, len(network.families))
    reached = network.without(network.is_free, w)
    try:
        while True:
            while True:
                clock.begin(f"all nodes at once (rho {rho:.0e}, h {h_previous:.1e})")

                def keep(w: Floats, network: NetworkObjective = network) -> None:
                    nonlocal reached
                    reached = network, w

                minimum = minimise_by_lbfgs(Lagrangian(network, rho, alpha), w, tolerance, look, keep)
                reached = network, w = network.without(network.is_free & ~minimum.w.any(axis=1), minimum.w)
                h = network.acyclicity(w)[0]
                if h <= C * h_previous or rho >= rho_max:
                    break
                rho *= S
            alpha += rho * h
            h_previous = h
            if h <= h_tol or rho >= rho_max:
                return Multipliers(network, minimum._replace(w=w), rho, alpha, h)
    except OutOfTime:
        return Multipliers(*_out_of_time(*reached), rho, alpha, h_previous)


def _out_of_time(part: NetworkObjective, w: Floats) -> tuple[NetworkObjective, Minimum]:
    return part, Minimum(w, np.inf, 1, OUT_OF_TIME)
