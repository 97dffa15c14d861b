"""The two-phase procedure (Algorithm 1): alternate Phase II and Phase I until neither helps.

Phase II finds the means, W1 and W2, given the scales, under the constraint h = 0. `augmented_lagrangian` follows
Algorithm 3, but edges stay absent once their weights are zero, and it ends while h is still large. The graph is then
decided up to its weakest edges: those that close a cycle are dropped, and the rest is minimised where h is exactly
zero, in place of the ill-conditioned end of the method. On a DAG h = 0 whatever the weights, and the objective is a sum
over children. Each is minimised by itself, from several starts: it is small enough for Newton's method. Then absent
edges are added, as long as that lowers the objective and closes no cycle. `icdh.two_phase.as_printed` follows Algorithm
3 to its end.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import NamedTuple

import numpy as np

from icdh._utils.arrays import Floats, Integers, Mask
from icdh._utils.clock import OutOfTime
from icdh._utils.density import gaussian_nll
from icdh._utils.parallel import single_blas_thread
from icdh.graphs import break_cycles
from icdh.knowledge import EdgeRules
from icdh.network import Weights, node_inputs, outputs, root_mean_square, weights_in_units
from icdh.two_phase.as_printed import C, S, algorithm_1
from icdh.two_phase.family import fit_scales
from icdh.two_phase.objective import FamilyObjective, Minimum, NetworkObjective, Problem
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
from icdh.two_phase.solvers import minimise_by_lbfgs, minimise_by_newton

FINAL_TOLERANCE = 1e-9  # relative decrease at which the minimisation of a child ends
NEWTON_WEIGHTS = 200  # the most of a child for Newton's method; a step's cost grows with their square and more
PROMISING = 0.01  # a further start this near to the best minimum (relative excess) is minimised to the end
EDGE_ROUNDS = 10  # of adding edges
OPTIMALITY = 0.01  # an edge is added if a derivative exceeds the lasso penalty by this share
Start = Sequence[Floats]  # the weights of all features for every child, each of shape (features, m1)
FEW_OBSERVATIONS = 50_000  # of tables of more than twice as many, so many decide the graph


class ChildMinimum(NamedTuple):
    """The minimum of a child: its objective by the inputs that are present, and where it is lowest."""

    family: FamilyObjective
    minimum: Minimum


def minimise_on_dag(
    network: NetworkObjective, part: NetworkObjective, w: Floats, starts: Sequence[Start], tolerance: float
) -> tuple[NetworkObjective, Minimum]:
    """Minimise the objective of Phase II over DAGs; return that of the best DAG's inputs, and its minimum.

    Parameters
    ----------
    network : NetworkObjective
        The objective by all inputs that are allowed.
    part : NetworkObjective
        The same by the inputs of a graph; of each of its cycles the weakest edge is dropped.
    w : ndarray, shape (inputs, m1)
        Their weights.
    starts : sequence
        Further weights to start every child from.
    tolerance : float
        Relative decrease at which a start is judged; the best is minimised to the end.
    """
    descent = DagDescent(network, starts, tolerance)
    descent.begin(*without_cycles(part, w))
    for _ in range(EDGE_ROUNDS):
        if not descent.add_edges():
            break
    best, w = descent.graph()
    worst = max((child.minimum for child in descent.minima), key=lambda minimum: minimum.status)
    return best, worst._replace(w=w, value=sum(child.minimum.value for child in descent.minima))


class DagDescent:
    """The minima of all children of a DAG, which grows by edges; arguments as of `minimise_on_dag`."""

    def __init__(self, network: NetworkObjective, starts: Sequence[Start], tolerance: float):
        self.network, self.starts, self.tolerance, self.clock = network, starts, tolerance, network.problem.clock
        self._look = partial(self.clock.check, 1)
        self.minima: list[ChildMinimum] = []

    def begin(self, part: NetworkObjective, w: Floats) -> None:
        """Minimise every child from these weights of a DAG."""
        self.clock.begin("node by node", len(part.families))
        self.minima = [self._minimise(*child) for child in part.by_child(w)]

    def graph(self) -> tuple[NetworkObjective, Floats]:
        """Return the objective by the inputs of the DAG, and their weights."""
        part = self.network.of_families(child.family for child in self.minima)
        return part, np.concatenate([child.minimum.w for child in self.minima])

    def add_edges(self) -> bool:
        """Add the absent edges that would lower the objective, the best first, unless they close a cycle."""
        missing = missing_edges(self.network, *self.graph())
        effects, causes = self.network.effects[missing], self.network.causes[missing]
        children = np.unique(effects)
        self.clock.begin("missing edges, node by node", children.size)
        for n in children:
            self.minima[n] = self._minimise(*self._with_causes(n, causes[effects == n]))
        return bool(missing.any())

    def _with_causes(self, n: int, causes: Integers) -> tuple[FamilyObjective, Floats]:
        """Return objective and weights of a child with further causes of weight zero."""
        family, minimum = self.minima[n]
        inputs = np.union1d(family.inputs, causes)
        w = np.zeros((inputs.size, minimum.w.shape[1]))
        w[np.searchsorted(inputs, family.inputs)] = minimum.w
        return self.network.families[n].among(inputs), w

    def _minimise(self, family: FamilyObjective, w: Floats) -> ChildMinimum:
        """Return the best minimum of a child from its weights and every further start, without edges of weight zero."""
        best = self._finish(family, w)
        for start in self.starts if family.inputs.size > 0 else ():
            approach = self._approach(family, start[family.child][family.inputs])
            if approach.value < (1.0 + PROMISING) * best.value:
                best = min(best, self._finish(family, approach.w), key=lambda minimum: minimum.value)
        self.clock.part_done()
        present = ~family.is_free | best.w.any(axis=1)
        return ChildMinimum(family.among(family.inputs[present]), best._replace(w=best.w[present]))

    def _approach(self, family: FamilyObjective, w: Floats) -> Minimum:
        return minimise_by_lbfgs(family, w, self.tolerance, self._look)

    def _finish(self, family: FamilyObjective, w: Floats) -> Minimum:
        """Minimise by Newton's method, or by L-BFGS-B where there are too many weights for it."""
        if np.count_nonzero(w) > NEWTON_WEIGHTS:
            minimum = self._approach(family, w)
            w = minimum.w
            if np.count_nonzero(w) > NEWTON_WEIGHTS:
                return minimum
        return minimise_by_newton(family, w, FINAL_TOLERANCE, self._look)


def without_cycles(part: NetworkObjective, w: Floats) -> tuple[NetworkObjective, Floats]:
    """Return objective and weights without cycles: each loses its weakest edge that is not required."""
    A, required = part.adjacency(w), np.zeros((len(part.families),) * 2, dtype=bool)
    edges = part.causes < len(A)
    ends = part.causes[edges], part.effects[edges]
    required[ends] = ~part.is_free[edges]
    absent = np.zeros(part.causes.size, dtype=bool)
    absent[edges] = break_cycles(A, required).adjacency[ends] == 0.0
    return part.without(absent, w)


def further_starts(network: NetworkObjective, explore: Iterable[Weights], reaches: Sequence[float]) -> list[Start]:
    """Return one start for each reach: weights of every child, drawn from ``explore`` in turn and stretched to it."""
    return [_stretched(network, weights, reach) for weights, reach in zip(cycle(explore), reaches, strict=False)]


def _stretched(network: NetworkObjective, weights: Weights, reach: float) -> Start:
    """Return the weights, rescaled so that each child's largest is ``reach / root mean square of the input``."""
    rms, stretched = root_mean_square(network.problem.features), []
    for n, family in enumerate(network.families):
        w = node_inputs(weights, n)
        largest = (np.abs(w[family.inputs]).max(axis=1, initial=0.0) * rms[family.inputs]).max(initial=0.0)
        stretched.append(w * (reach / (largest if largest > 0.0 else 1.0)))
    return stretched


def missing_edges(network: NetworkObjective, part: NetworkObjective, w: Floats) -> Mask:
    """Return the absent edges that would lower the objective, without those that close a cycle with better ones.

    A weight of zero is optimal as long as the derivative by it does not exceed the lasso penalty. By how much it does
    is the violation of the optimality condition.

    Parameters
    ----------
    network : NetworkObjective
        The objective by all inputs that are allowed.
    part : NetworkObjective
        The same by the inputs of a DAG.
    w : ndarray, shape (inputs, m1)
        Their weights.

    Returns
    -------
    ndarray of bool, shape (inputs,)
        Which of the inputs of ``network`` to add.
    """
    N = len(network.families)
    present = np.zeros((N, N + 1), dtype=bool)
    present[part.effects, part.causes] = True
    held = present[network.effects, network.causes]
    every = np.zeros((held.size, w.shape[1]))
    every[held] = w
    gradient = network.smooth(every)[1]
    excess = np.abs(gradient).max(axis=1, initial=0.0) - (1.0 + OPTIMALITY) * network.lasso
    violation = np.where(held, 0.0, np.fmax(excess, 0.0))  # what is not a number is no violation
    strength = np.where(held, 1.0 + violation.max(initial=0.0), violation)
    dag = break_cycles(network.adjacency(strength[:, np.newaxis])).adjacency
    missing: Mask = violation > 0.0
    missing[missing] = dag[network.causes[missing], network.effects[missing]] > 0.0
    return missing


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
