"""The two-phase procedure (Algorithm 1): alternate Phase II and Phase I until neither helps.

Phase II finds the means, W1 and W2, given the scales, under the constraint h = 0. `augmented_lagrangian` follows
Algorithm 3, but edges stay absent once their weights are zero, and it ends while h is still large. The graph is then
decided up to its weakest edges: those that close a cycle are dropped, and the rest is minimised where h is exactly zero
(`icdh.two_phase.dag`), in place of the ill-conditioned end of the method. There every node is a problem of its own,
small enough for Newton's method. `icdh.two_phase.as_printed` follows Algorithm 3 to its end.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from icdh._utils.arrays import Floats
from icdh._utils.clock import OutOfTime
from icdh._utils.density import gaussian_nll
from icdh._utils.parallel import single_blas_thread
from icdh.knowledge import EdgeRules
from icdh.network import Weights, outputs, root_mean_square, weights_in_units
from icdh.two_phase.as_printed import C, S, algorithm_1
from icdh.two_phase.dag import further_starts, minimise_on_dag, without_cycles
from icdh.two_phase.objective import Minimum, NetworkObjective, Problem
from icdh.two_phase.rounds import (
    FAST_ALONE,
    OUT_OF_TIME,
    Limits,
    MeanStep,
    Round,
    Rounds,
    Schedule,
    TwoPhaseResult,
    schedule_for,
)
from icdh.two_phase.scales import fit_scales
from icdh.two_phase.solvers import minimise_by_lbfgs

FEW_OBSERVATIONS = 50_000  # of tables of more than twice as many, so many decide the graph


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
    problem.check_start(network.adjacency(start))
    before, reached = clock.work, network.without(network.is_free, start)  # at first what no data decide on

    def keep(part: NetworkObjective, w: Floats) -> None:
        nonlocal reached
        reached = part, w

    try:
        end = augmented_lagrangian(network, start, schedule.decided_h, rho_max, schedule.tolerance, keep)
        if end.h <= schedule.decided_h:
            starts = further_starts(network, explore or [weights], schedule.reaches)
            part, minimum = minimise_on_dag(network, end.part, end.minimum.w, starts, schedule.tolerance)
            end = end._replace(part=part, minimum=minimum)
    except OutOfTime:
        part, w = without_cycles(*reached)
        end = Multipliers(part, Minimum(w, np.inf, 1, OUT_OF_TIME))
    objective, solution = end.part.solution(end.minimum.w, weights)
    h, evaluations = end.part.acyclicity(end.minimum.w)[0], -(-(clock.work - before) // weights.n_variables)
    return MeanStep(solution, objective, h, end.rho, end.alpha, evaluations, end.minimum.status, end.minimum.message)


def augmented_lagrangian(
    network: NetworkObjective,
    w: Floats,
    h_tol: float,
    rho_max: float,
    tolerance: float,
    keep: Callable[[NetworkObjective, Floats], None],
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
    keep : callable
        Called with objective and weights that were reached, after every iteration.

    Returns
    -------
    Multipliers
        The weights of the last subproblem, and penalty weight and multiplier at the end.

    Notes
    -----
    The inner loop ends as soon as h < c h_previous; as printed it has no end.
    """
    rho, alpha, h_previous, clock = 1.0, 0.0, np.inf, network.problem.clock
    look = partial(clock.check, len(network.families))
    while True:
        clock.begin(f"all nodes at once (rho {rho:.0e}, h {h_previous:.1e})")
        minimum = minimise_by_lbfgs(network.with_multipliers(rho, alpha), w, tolerance, look, partial(keep, network))
        network, w = network.without(network.is_free & ~minimum.w.any(axis=1), minimum.w)
        keep(network, w)
        h = network.acyclicity(w)[0]
        if not (h <= C * h_previous or rho >= rho_max):
            rho *= S
            continue
        alpha, h_previous = alpha + rho * h, h
        if h <= h_tol or rho >= rho_max:
            return Multipliers(network, minimum._replace(w=w), rho, alpha, h)


def fit_problem(
    problem: Problem,
    schedule: str,
    limits: Limits,
    initial: Weights | Sequence[Weights],
    callback: Callable[[Round], None] | None = None,
) -> TwoPhaseResult:
    """Learn the network of the heteroscedastic noise model under the acyclicity constraint.

    Parameters
    ----------
    problem : Problem
        What to fit, and when to end. A round that is cut short counts only if it is the first.
    schedule : {"fast", "paper"}
        "paper" is Algorithm 1 as printed (`icdh.two_phase.as_printed`). "fast" is described in
        `icdh.two_phase.rounds`; of a long table its first rounds, which decide the graph, use a part of the
        observations, and later rounds use all.
    limits : Limits
        When the procedure ends; "fast" ends at h = 0.
    initial : Weights or sequence of Weights
        The procedure begins at the first; all are further starts of Phase II, in turn.
    callback : callable, optional
        Called with the `Round` after each round.

    Returns
    -------
    TwoPhaseResult
        Weights, likelihood and history, all of the same, best round.

    Notes
    -----
    A KeyboardInterrupt returns the best round so far, or is raised again if there is none yet.

    References
    ----------
    Yin, Gao, Yu, Ji: "Effective Causal Discovery under Identifiable Heteroscedastic Noise Model", AAAI 2024,
    Algorithm 1; "Generality" in its appendix for the two other kinds of noise.
    """
    explore = [initial] if isinstance(initial, Weights) else list(initial)
    with single_blas_thread():
        if schedule == "fast":
            return _fit_fast(problem, explore, limits, callback)
        return algorithm_1(problem, explore[0], limits, callback)


def _fit_fast(
    problem: Problem, explore: list[Weights], limits: Limits, callback: Callable[[Round], None] | None
) -> TwoPhaseResult:
    """Fit by the fast schedule; ``explore`` holds the initial weights."""
    (variables, observations), weights, before = problem.values.shape, explore[0], None
    plan, scale = schedule_for(problem.noise, variables, observations), np.ones(problem.values.shape)
    tol = max(limits.tol, plan.least_gain * variables * (variables - 1) / problem.n_counted)
    every = -(-observations // FEW_OBSERVATIONS)
    if plan.deciding_gain > -np.inf and every > 2:  # one of the first rounds decides the graph
        before = _fit_fast(problem.of_every(every), explore, replace(limits, tol=tol), callback)
        if before.interrupted or before.timed_out:
            return before
        weights = before.weights
        scale = outputs(problem.features, weights)[1]
        plan, problem = plan.once_the_graph_is_decided(), _without_absent_edges(problem, weights)
    tol = np.inf if problem.noise == "equal" else tol
    with Rounds(limits.max_rounds, tol, problem.clock, callback, before) as rounds:
        while rounds.go_on:
            begin = time.perf_counter()
            first = plan if plan.first_tolerance is None else plan._replace(tolerance=plan.first_tolerance)
            step = fit_means(problem, scale, weights, limits.rho_max, plan if rounds.history else first, explore)
            if step.message == OUT_OF_TIME and rounds.history:
                break
            explore = explore[1:] + explore[:1]
            weights = fit_scales(problem, step.weights)
            mean, scale = outputs(problem.features, weights)
            nll = gaussian_nll(problem.values, mean, scale, problem.rows, problem.weights)
            criterion = nll + penalties(weights, problem.l1, problem.l2)
            gain = rounds.add(weights, step, nll, criterion, time.perf_counter() - begin)
            if gain < plan.deciding_gain * variables:
                plan, problem = plan.once_the_graph_is_decided(), _without_absent_edges(problem, weights)
    return rounds.result(limits.h_tol)


def penalties(weights: Weights, l1: float, l2: float) -> float:
    """Return the penalties of Phase II, l1 |W1|_1 + (l2/2) (|W1|^2 + |W2|^2)."""
    squares = np.vdot(weights.w1, weights.w1) + np.vdot(weights.w2, weights.w2)
    return float(l1 * np.abs(weights.w1).sum() + 0.5 * l2 * squares)


def draw_initial_weights(problem: Problem, hidden_units: int, rng: np.random.Generator) -> list[Weights]:
    """Draw the initial weights of a fit: where it begins, followed by further starts of its rounds and nodes."""
    how = root_mean_square(problem.values), hidden_units, problem.bias, rng, problem.activation
    return [weights_in_units(*how) for _ in FAST_ALONE.reaches]  # fresh ones for every start


def _without_absent_edges(problem: Problem, weights: Weights) -> Problem:
    """Return the problem once the graph is decided: all edges that are absent are forbidden."""
    forbidden, required = problem.rules
    return replace(problem, rules=EdgeRules(forbidden | ((weights.adjacency() == 0.0) & ~required), required))
