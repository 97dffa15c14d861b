"""Several independent searches of one table, and the graph of the edges that most of them found.

Fits end in local minima, so another seed often gives another graph. The majority outvotes errors that only few searches
make. Disagreement between searches measures numerical uncertainty: how much the graph depends on initial weights.
Resamples of the rows measure how much it depends on the sample.
"""

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from icdh import graphs
from icdh._estimators.canonical import CanonicalTable
from icdh._estimators.graph_search import FoundGraph, GraphSearch
from icdh._ground.checks import n_workers, random_generator
from icdh._ground.clock import Clock, OutOfTime
from icdh._ground.parallel import in_parallel
from icdh._ground.threads import single_blas_thread
from icdh.knowledge.rules import EdgeRules
from icdh.search.climb import CONTENDER_MARGIN
from icdh.search.moves import Graph, Move, parents_matrix, toggled

HALF = 0.5


class Outcome(NamedTuple):
    """What one of several searches found.

    Attributes
    ----------
    graph : tuple
        The parents of every node.
    n_moves : int
        How many moves led there.
    interrupted, timed_out : bool
        What ended the search early.
    """

    graph: Graph
    n_moves: int
    interrupted: bool
    timed_out: bool

    @property
    def is_whole(self) -> bool:
        """Whether nothing ended the search early."""
        return not (self.interrupted or self.timed_out)


def search_several_times(
    parameters: Any, table: CanonicalTable, clock: Clock, report: Callable[[Move], None]
) -> tuple[FoundGraph, np.ndarray]:
    """Return the majority graph of ``n_searches`` searches, and the share of them with each edge.

    Parameters
    ----------
    parameters : HNMSearch
        The estimator, for its parameters. With more than one job the searches run in other processes.
    table : CanonicalTable
        The columns that vary.
    clock : Clock
        Ends searches. Those that it ends do not vote, unless none is whole.
    report : callable
        Called with every `Move` of the searches in this process, in the user's columns.

    Returns
    -------
    found : FoundGraph
        The majority graph, its families fitted anew. No moves led there.
    agreement : ndarray, shape (n, n)
        The share of the searches with i -> j.
    """
    seeds, n_jobs = seeds_of(parameters.random_state, parameters.n_searches), n_workers(parameters.n_jobs)
    with single_blas_thread():
        transform = GraphSearch(parameters, table, clock, report, seeds[0]).transform()
    others = {"verbose": False, "callback": None, "random_state": 0, "column_transform": transform, "n_searches": 1}
    one = type(parameters)(**parameters.get_params() | others | ({"n_jobs": 1} if n_jobs > 1 else {}))
    search = partial(_outcome, one, table, clock, _unheard if n_jobs > 1 else report)
    outcomes, interrupted = _outcomes(search, seeds, n_jobs, clock)
    voters = [own for own in outcomes if own.is_whole] or [max(outcomes, key=lambda own: own.n_moves)]
    agreement = np.mean([parents_matrix(own.graph) for own in voters], axis=0)
    graph = majority_graph(agreement, table.rules.required, parameters.max_parents)
    found = _with_fits(one, table, clock, graph, seeds[0])
    return found._replace(
        interrupted=interrupted or any(own.interrupted for own in outcomes),
        timed_out=found.timed_out or any(own.timed_out for own in outcomes),
    ), agreement


def seeds_of(random_state: Any, count: int) -> list[int]:
    """Return seeds of so many searches; the first is that of a single search."""
    rng = random_generator(random_state)
    return [int(rng.integers(2**31)) for _ in range(count)]


def majority_graph(agreement: np.ndarray, required: np.ndarray, max_parents: int) -> np.ndarray:
    """Return the acyclic graph of the edges of more than half of the searches, bool, shape (n, n).

    Parameters
    ----------
    agreement : ndarray, shape (n, n)
        The share of the searches with i -> j.
    required : ndarray of bool, shape (n, n)
        Edges that all searches have.
    max_parents : int
        The most parents of a node, unless more are required. Of more than that, those of most searches stay.
    """
    kept = np.where(agreement > HALF, agreement, 0.0)
    most = np.maximum(max_parents, required.sum(axis=0))
    for node in np.flatnonzero((kept > 0.0).sum(axis=0) > most):
        kept[np.argsort(-(kept + required)[:, node], kind="stable")[most[node] :], node] = 0.0
    return graphs.break_cycles(kept, required).adjacency != 0.0


def _outcomes(search, seeds, n_jobs, clock):
    """Return the outcomes of searches, until one is ended early, and whether Ctrl-C ended the waiting for others."""
    outcomes, results = [], in_parallel(search, seeds, n_jobs)
    try:
        for k in range(len(seeds)):
            clock.stage = f"search {k + 1} of {len(seeds)}"
            outcomes.append(next(results))
            if not outcomes[-1].is_whole:
                break
    except KeyboardInterrupt:
        if not outcomes:
            raise
        return outcomes, True
    finally:
        clock.stage = ""
        results.close()
    return outcomes, False


def _outcome(parameters, table, clock, report, seed):
    found = GraphSearch(parameters, table, clock, report, seed).run()
    return Outcome(found.graph, len(found.moves), found.interrupted, found.timed_out)


def _unheard(move):
    """Ignore a move: it happened in another process."""


def _with_fits(parameters, table, clock, graph, seed):
    """Return a graph with fits of its families, polished and grown as by a search among this graph alone."""
    alone = copy(parameters).set_params(search="greedy")
    fixed = table._replace(rules=EdgeRules(~graph, graph))
    found = GraphSearch(alone, fixed, clock, _unheard, seed).run()._replace(table=table)
    try:
        found.scores.polish(_contenders(found))
    except OutOfTime:
        return found._replace(timed_out=True)
    return found


def _contenders(found):
    """Return the families of a graph without one cause that score nearly as well: their strength is small."""
    own = [(node, parents, cause) for node, parents in enumerate(found.graph) for cause in parents]
    scores = found.scores([(node, parents) for node, parents, _ in own])
    fewer = [(node, toggled(parents, cause)) for node, parents, cause in own]
    rises = np.subtract(found.scores(fewer), scores)
    return [family for family, rise in zip(fewer, rises, strict=True) if rise < CONTENDER_MARGIN]
