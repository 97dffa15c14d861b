"""The last stage of the fast procedure: single edges, each judged by the evidence that it brings.

At lambda1 = 0.01 and M = 1000 a unit of |W1| costs 10 nats in the objective of Phase II: that objective itself often
prefers a wrong graph to the true one. So graphs are compared as `HNMSearch` compares them, by the evidence of their
families (`icdh._node_model.score`), and an edge costs ``edge_penalty`` nats. The search begins with the DAG of the two
phases, and once more without an edge. Single edges are inserted, deleted and reversed (`icdh.search`) until no change
pays, and no detour. Then the article's network is fitted to the graph (`icdh.two_phase.family`), without its lasso.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from icdh._estimators.arranged import CanonicalTable
from icdh._estimators.base import SearchSettings
from icdh._estimators.graph_search import SIZES, GraphSearch, family_evidence
from icdh._node_model.score import FamilyScore
from icdh._node_model.screening import standardised
from icdh._utils.arrays import Floats, Mask
from icdh._utils.clock import Clock, OutOfTime
from icdh._utils.parallel import single_blas_thread
from icdh.knowledge import EdgeRules
from icdh.network import root_mean_square
from icdh.search.climb import Climber
from icdh.search.escapes import Search, SearchResult
from icdh.search.moves import Graph, Move, parents_matrix
from icdh.two_phase.family import FamilyFitter
from icdh.two_phase.objective import Problem
from icdh.two_phase.rounds import TwoPhaseResult

# Nats for a unit of lambda1 and lambda2: a tenth of what they are on 1000 rows. Like a prior, it does not grow with M.
NATS_PER_PENALTY = 0.1 * 1000
MOST_CAUSES_AT_FIRST = 10  # of a child, the strongest: a family of dozens takes seconds to fit, and few of them pay


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
