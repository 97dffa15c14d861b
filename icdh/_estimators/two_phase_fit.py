"""The fit of `ICDH`: the two phases from every start, and the last stage where edges have a price.

The last stage judges single edges, each by the evidence that it brings.
At lambda1 = 0.01 and M = 1000 a unit of |W1| costs 10 nats in the objective of Phase II: that objective itself often
prefers a wrong graph to the true one. So graphs are compared as `HNMSearch` compares them, by the evidence of their
families (`icdh._node_model.score`), and an edge costs ``edge_penalty`` nats. The search begins with the DAG of the two
phases, and once more without an edge. Single edges are inserted, deleted and reversed (`icdh.search`) until no change
pays, and no detour. Then the article's network is fitted to the graph (`icdh.two_phase.family`), without its lasso.
"""

import multiprocessing
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from icdh._estimators.arranged import CanonicalTable, ColumnOrder
from icdh._estimators.base import SearchSettings, TwoPhaseSettings
from icdh._estimators.graph_search import SIZES, GraphSearch, edge_penalty_of, family_evidence
from icdh._estimators.imputation import OfConditions
from icdh._model.structural import StructuralModel
from icdh._node_model.law import CONSTANT, Conditional, NormalLaw
from icdh._node_model.score import FamilyScore
from icdh._node_model.screening import standardised
from icdh._utils.arrays import Floats, Integers, Mask, of_rows, sum_of
from icdh._utils.checks import n_workers
from icdh._utils.clock import Clock, OutOfTime
from icdh._utils.density import node_nll
from icdh._utils.labels import counted
from icdh._utils.parallel import in_parallel, single_blas_thread
from icdh.exceptions import ConvergenceWarning, WorkerLostError, warn
from icdh.knowledge import EdgeRules
from icdh.network import NetworkConditional, Weights, root_mean_square
from icdh.search.climb import Climber, Graph, Move, parents_matrix
from icdh.search.escapes import Search, SearchResult
from icdh.two_phase.family import FamilyFitter
from icdh.two_phase.objective import Problem
from icdh.two_phase.procedure import draw_initial_weights, fit_problem
from icdh.two_phase.rounds import OUT_OF_TIME, Limits, Round, TwoPhaseResult, schedule_for

# Nats for a unit of lambda1 and lambda2: a tenth of what they are on 1000 rows. Like a prior, it does not grow with M.
NATS_PER_PENALTY = 0.1 * 1000
MOST_CAUSES_AT_FIRST = 10  # of a child, the strongest: a family of dozens takes seconds to fit, and few of them pay
Start: TypeAlias = Sequence[Weights]
Fit: TypeAlias = Callable[..., TwoPhaseResult]
Report: TypeAlias = Callable[[Round | Move], None]


def refine_edges(
    result: TwoPhaseResult,
    problem: Problem,
    *,
    edge_penalty: float,
    threshold: float = 0.3,
    random_state: int = 0,
    callback: Callable[[Move], None] | None = None,
) -> TwoPhaseResult:
    """Insert, delete and reverse single edges until none pays; return the network refitted to the graph.

    Parameters
    ----------
    result : TwoPhaseResult
        What the two phases found.
    problem : Problem
        What they fitted.
    edge_penalty : float
        Nats over all observations that an edge must gain.
    threshold : float
        Edges of smaller weight are no part of the graph that the stage begins with.
    random_state : int
        Draws the weights that fits start from.
    callback : callable, optional
        Called with every move.

    Returns
    -------
    TwoPhaseResult
        The result with new ``weights``, and with ``moves``, ``cost`` and, if the search did not end early,
        ``strength``. It is returned as it came if time was over before the first graph had a score.
    """
    rules = problem.rules
    try:
        scores = scores_of_families(problem, edge_penalty, random_state)
    except KeyboardInterrupt:
        return result._replace(converged=False, interrupted=True)
    dag = rules.dag(result.weights.adjacency(), threshold).adjacency
    influence = dag * root_mean_square(problem.values)[:, np.newaxis]
    graph = tuple(map(_strongest, influence.T, rules.required.T))
    climber = Climber(scores, rules, SearchSettings().max_parents)
    search = Search(climber, callback, SearchResult(graph, [], False))

    def run() -> None:
        search.climb(graph)
        search.climb_from(climber.least)
        search.escape()
        while search.choose_noise(lambda graph: None):
            search.escape()

    with single_blas_thread():
        try:
            found, strength = search.result_of(run), None
            if not found.ended_early:
                strength = _strength(scores, found.graph)
        except (OutOfTime, KeyboardInterrupt) as end:
            is_late = isinstance(end, OutOfTime)
            found, strength = SearchResult(search.graph, search.moves, not is_late, is_late), None
        result = result._replace(
            converged=not found.ended_early, interrupted=found.interrupted, timed_out=found.timed_out
        )
        families = list(enumerate(found.graph))
        if not all(family in scores for family in families):
            return result
        problem = replace(problem, clock=Clock(0.0)) if found.interrupted else problem
        dag, every = parents_matrix(found.graph), -(-problem.values.shape[1] // SIZES.long_table)
        rng, part = np.random.default_rng(random_state), problem.of_every(every) if every > 1 else problem
        weights = fitter_of(part, dag).refit(result.weights, families, rng)
        return result._replace(
            weights=fitter_of(problem, dag).refit(weights, families) if every > 1 else weights,
            moves=found.moves,
            cost=float(np.sum(np.array(scores(families)) / scores.families.share())),
            strength=strength,
        )


def scores_of_families(problem: Problem, edge_penalty: float, random_state: int) -> FamilyScore:
    """Return the scores of families that graphs are compared by: evidence, and the cost of edges.

    Parameters
    ----------
    problem, edge_penalty, random_state
        As of `refine_edges`.
    """
    N = len(problem.values)
    table = CanonicalTable(
        order=np.arange(N),
        n_columns=N,
        values=standardised(problem.values, problem.weights),
        rows=problem.rows,
        rules=problem.rules,
        kinds=["continuous"] * N,
        n_categories=[0] * N,
        of_counts=np.tile([0.0, 1.0], (N, 1)),
        signs=np.ones(N),
        baseline=None,
        related=None,
        weights=problem.weights,
        seen_together=np.ones((N, N)),
    )
    settings = SearchSettings(edge_penalty=edge_penalty)
    transform = GraphSearch(settings, table, problem.clock, lambda move: None, random_state).transform()
    columns = table.columns(transform, random_state, masses=False).with_normal_scores()
    return family_evidence(settings, columns, table, random_state, problem.clock)


def fitter_of(problem: Problem, graph: Mask) -> FamilyFitter:
    """Return what fits the article's network to a graph, (N, N). Edges have no lasso: the evidence is for them."""
    rules = EdgeRules.of(problem.rules.forbidden, graph)
    return FamilyFitter(replace(problem, rules=rules), NATS_PER_PENALTY)


def _strongest(influence: Floats, required: Mask) -> tuple[int, ...]:
    causes = np.flatnonzero(influence)
    order = sorted(causes.tolist(), key=lambda i: (not required[i], -influence[i]))
    return tuple(sorted(order[: max(MOST_CAUSES_AT_FIRST, int(np.count_nonzero(required)))]))


def _strength(scores: FamilyScore, graph: Graph) -> Floats:
    """Return by how much the score of a graph, of all observations, rises without each edge, never quite zero."""
    strength, share = np.zeros((len(graph), len(graph))), scores.families.share()
    for child, causes in enumerate(graph):
        rises = scores.rises((child, causes)) / share[child]
        strength[list(causes), child] = np.maximum(rises, np.finfo(float).tiny)
    return strength


def last_stage_penalty(settings: TwoPhaseSettings, n_variables: int) -> float | None:
    """Return the price of an edge in the last stage, in nats; None leaves the stage out, as "auto" does as printed."""
    if not isinstance(settings.edge_penalty, str):
        return settings.edge_penalty
    return edge_penalty_of(SearchSettings(), n_variables) if settings.schedule == "fast" else None


class LearnedNetwork(NamedTuple):
    """What a fit found, in the order of the user's columns, followed by the contexts.

    Attributes
    ----------
    result : icdh.two_phase.TwoPhaseResult
        The network, how it was found, and the strength of its edges.
    problem : icdh.two_phase.objective.Problem
        What was fitted.
    model : StructuralModel
        The user's columns without an edge: what is known of them before a graph is chosen.
    baseline : ndarray of bool, shape (N, M), or None
        The observations of the user's columns where nothing was set; None if all.
    """

    result: TwoPhaseResult
    problem: Problem
    model: StructuralModel
    baseline: Mask | None

    @property
    def rules(self) -> EdgeRules:
        """The edges between the user's columns that must not, and that must, appear."""
        return self.problem.rules.among(np.arange(len(self.model.names)))

    @property
    def columns(self) -> Weights:
        """The network of the user's columns; what else they depend on is held at zero."""
        return self._columns_of(self.result.weights)

    def strength(self, dag: Floats) -> Floats:
        """Return the strength of edges between the user's columns in nats; after a time limit, of the DAG's alone."""
        N = len(dag)
        if self.result.strength is not None:
            return self.result.strength[:N, :N]
        columns = self.columns
        network = [NetworkConditional.of(columns, n) for n in range(N)]
        among = dag != 0.0 if self.result.timed_out else None  # those of all inputs take as long as a round
        of_rows = self.baseline, self.problem.weights
        return strength_of_inputs(network, self.problem.values[:N], self.model.columns.centre, *of_rows, among)

    def on_graph(self, kept: Floats, clock: Clock | None = None) -> tuple[StructuralModel, OfConditions]:
        """Return a model of the edges between the user's columns that are kept, and its distributions with contexts.

        Variables with other causes than in the network are fitted again. Contexts stay causes of what they reach.

        Parameters
        ----------
        kept : ndarray, shape (N, N)
            The graph.
        clock : Clock, optional
            Once its time is over, output weights and a constant scale alone are fitted; by default never.
        """
        weights, N, problem = self.result.weights, len(kept), replace(self.problem, clock=clock or Clock())
        before: Mask = np.any(weights.w1, axis=1).T
        graph = before.copy()
        graph[:N, :N] = kept != 0.0
        changed = np.flatnonzero((graph != before).any(axis=0)).tolist()
        alone = FamilyFitter(problem, problem.n_counted)  # the penalties of the two phases
        fitter = alone if self.result.cost is None else fitter_of(problem, before)
        weights = fitter.refit(weights, [(n, tuple(np.flatnonzero(graph[:, n]).tolist())) for n in changed])
        values, law = self.problem.values, NormalLaw()

        def conditionals_of(network: Weights) -> list[Conditional]:
            return [
                Conditional(NetworkConditional.of(network, n), law).limited(values) if values[n].any() else CONSTANT
                for n in range(N)
            ]

        natural = conditionals_of(self._columns_of(weights))
        whole = natural if weights.n_variables == N else conditionals_of(weights)
        return replace(self.model, adjacency=kept, conditionals=natural), OfConditions(whole, {})

    def nll(self, model: StructuralModel) -> float:
        """Return the negative log-likelihood of a model of the user's columns."""
        return model.nll(self.problem.values[: len(model.names)], self.baseline, self.problem.weights)

    def _columns_of(self, weights: Weights) -> Weights:
        N = len(self.model.names)
        return weights.map(lambda part: part[:N, :, :N] if part.ndim == 3 else part[:N])


def find_network(
    settings: TwoPhaseSettings,
    whole: Problem,
    model: StructuralModel,
    baseline: Mask | None,
    clock: Clock,
    rng: np.random.Generator,
    report: Report,
) -> LearnedNetwork:
    """Return the best fit of all restarts.

    Parameters
    ----------
    settings : TwoPhaseSettings
        How to fit.
    whole : icdh.two_phase.objective.Problem
        What to fit, in the order of the user's columns, which the contexts follow. Those that do not vary are zero.
    model, baseline
        As in `LearnedNetwork`.
    clock : Clock
        Ends the fit.
    rng : Generator
        Draws the initial weights.
    report : callable
        Called with every `Round`, and with every `Move` in the user's columns.
    """
    N = len(model.names)
    problem, order = _arranged(whole, N, clock)
    price = last_stage_penalty(settings, len(problem.values))
    how = problem, settings.hidden_units, rng
    starts = [draw_initial_weights(*how)]
    # Before further starts are drawn, so that more restarts include those of fewer, and never cost more.
    seed = 0 if price is None else int(rng.integers(2**31))
    starts += [draw_initial_weights(*how) for _ in range(settings.n_restarts - 1)]
    is_coarse = schedule_for(settings.noise, *problem.values.shape).first_tolerance is not None
    before_edges = 2 if is_coarse else 1  # single edges do not go on from a coarse round
    max_rounds = settings.max_rounds or (Limits().max_rounds if price is None else before_edges)
    limits = Limits(max_rounds, settings.tol, settings.h_tol, settings.rho_max)

    def fit(initial: Start, callback: Report | None = None) -> TwoPhaseResult:
        """Return the result of the two phases, followed by the last stage if edges have a price and there is time."""
        result = fit_problem(problem, settings.schedule, limits, initial, callback)
        if price is None or result.interrupted or result.timed_out:
            return result
        stage = partial(refine_edges, edge_penalty=price, threshold=settings.threshold, random_state=seed)
        return stage(result, problem, callback=callback)

    def in_users_columns(record: Round | Move) -> None:
        report(record if isinstance(record, Round) else order.move_in_users_columns(record))

    result = best_of_restarts(fit, starts, n_workers(settings.n_jobs), in_users_columns)
    result = result._replace(
        weights=order.network_in_users_order(result.weights),
        moves=[order.move_in_users_columns(move) for move in result.moves],
        strength=None if result.strength is None else order.edges_in_users_order(result.strength),
    )
    return LearnedNetwork(result, whole, model, baseline)


def _arranged(problem: Problem, n_columns: int, clock: Clock) -> tuple[Problem, ColumnOrder]:
    """Return the problem of the columns that vary, and of the contexts after them, in an order of their values."""
    columns = np.flatnonzero(problem.values[:n_columns].any(axis=1))
    contexts = np.arange(n_columns, len(problem.values))
    order = np.append(columns[_order_of_columns(problem.values[columns])], contexts)
    values = problem.values[order]
    keys = [*([] if problem.weights is None else [problem.weights]), *values[:8], values.sum(axis=0)]
    observations = np.lexsort(keys)  # by the sum of all columns, and eight of them
    values, weights = np.ascontiguousarray(values[:, observations]), of_rows(problem.weights, observations)
    rows = None if problem.rows is None else np.ascontiguousarray(problem.rows[order][:, observations])
    rules = problem.rules.among(order)
    there = replace(problem, values=values, rows=rows, weights=weights, rules=rules, clock=clock)
    return there, ColumnOrder(order, len(problem.values))


def _order_of_columns(values: Floats) -> Integers:
    """Return an order of the columns that depends on their values alone."""
    quantiles = np.linspace(0, values.shape[1] - 1, 5).astype(int)
    keys = []
    for column in values:
        ranked = np.sort(column)
        with np.errstate(over="ignore"):
            keys.append([*ranked[quantiles], ranked.sum(), np.square(ranked).sum()])
    return np.lexsort(np.transpose(keys))


def strength_of_inputs(
    network: Sequence[NetworkConditional],
    values: Floats,
    centre: Floats,
    rows: Mask | None,
    weights: Floats | None,
    among: Mask | None = None,
) -> Floats:
    """Return how many nats of log-likelihood the data lose when an input of a conditional is held at its mean.

    Parameters
    ----------
    network : sequence of NetworkConditional
        Those of all variables.
    values : ndarray, shape (N, M)
        Scaled observations.
    centre : ndarray, shape (N,)
        Their means.
    rows : ndarray of bool, shape (N, M), or None
        The observations that count for each variable; None if all.
    weights : ndarray, shape (M,), or None
        How often each observation counts; None if once.
    among : ndarray of bool, shape (N, N), optional
        The edges to compute; by default all. The strength of others is zero.

    Returns
    -------
    ndarray, shape (N, N)
        [i, n] is the strength of the input i of n, in nats over all observations; at least zero.
    """
    strength, n_counted = np.zeros((len(values), len(values))), sum_of(weights, values.shape[1])
    among = np.ones(strength.shape, dtype=bool) if among is None else among
    for n, conditional in enumerate(network):
        nll = partial(node_nll, values[n], rows=None if rows is None else rows[n], weights=weights)
        fitted = nll(*conditional.mean_and_scale(values)) if len(conditional.inputs) else 0.0
        for i, mean, scale in conditional.with_each_input_held(values, centre, among[:, n]):
            strength[i, n] = max(n_counted * nll(mean, scale) - n_counted * fitted, 0.0)
    return strength


def best_of_restarts(fit: Fit, starts: Sequence[Start], n_jobs: int, report: Report) -> TwoPhaseResult:
    """Fit from every start; return the result of the lowest cost or, without the last stage, of the lowest criterion.

    Parameters
    ----------
    fit : callable
        Takes initial weights and, if they are to be heard, a callback for every round and every move.
    starts : sequence
        The initial weights of each fit.
    n_jobs : int
        How many processes share the fits. Two processes save half of the time; two threads would save a quarter at
        best, for much of a fit is Python code.
    report : callable
        Called with every round and every move of the last stage. Those of another process are reported once the fit
        there has ended.

    Returns
    -------
    TwoPhaseResult
        The best. After a KeyboardInterrupt, the best so far: of fits in this process with at least one round, of fits
        in other processes that have ended. When the time is over, the best of the fits that had begun.

    Raises
    ------
    MissingExtraError
        If more than one process is asked for and joblib is not installed.
    WorkerLostError
        If a process was killed before any fit ended.

    Warns
    -----
    ConvergenceWarning
        If a process was killed later; the best of the fits before is returned.

    Notes
    -----
    Results do not depend on ``n_jobs``. A daemonic process, which may not start others, fits one after the other.
    """
    if min(n_jobs, len(starts)) == 1 or multiprocessing.current_process().daemon:
        return _best(_one_after_the_other(fit, starts, report))
    return _best(_reported(in_parallel(fit, starts, n_jobs), report))


def _one_after_the_other(fit: Fit, starts: Sequence[Start], report: Report) -> Iterator[TwoPhaseResult]:
    for start in starts:
        result = fit(start, report)
        yield result
        if result.timed_out:
            return


def _reported(results: Generator[TwoPhaseResult, None, None], report: Report) -> Iterator[TwoPhaseResult]:
    """Yield every result, then report its rounds and moves. After a lost process, warn and yield no more."""
    count = 0
    with closing(results):
        try:
            for result in results:
                count += 1
                yield result
                records: list[Round | Move] = [*result.history, *result.moves]
                for record in records:
                    report(record)
        except WorkerLostError as error:
            if count == 0:
                raise
            warn(f"{error}; the best of {counted(count, 'restart')} is kept", ConvergenceWarning)


def _best(results: Iterable[TwoPhaseResult]) -> TwoPhaseResult:
    """Return the best result; after an interrupt, the best of those that there are."""
    seen = []
    try:
        for result in results:
            seen.append(result)
            if result.interrupted:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        if not seen:
            raise
        return min(seen, key=_merit)._replace(converged=False, interrupted=True)
    best = min(seen, key=_merit)
    return best._replace(converged=False, timed_out=True) if any(result.timed_out for result in seen) else best


def _merit(result: TwoPhaseResult) -> tuple[bool, float]:
    """Return a key that sorts results, the best first: by cost or criterion, and last those without a whole round."""
    return result.best.message == OUT_OF_TIME, result.best.criterion if result.cost is None else result.cost
