"""The search for hidden common causes, in rounds between what their values were and what graph that leaves.

A hidden cause that the search does not know of leaves a thicket: its children are joined to one another. So sets of
variables that are joined to at least half of each other are tried as its children. First the edges inside such a set
are off, and EM says what the hidden values were (`icdh._node_model.hidden`). Then one draw of these values is a column
without causes, the graph is searched among the columns and this one, and EM begins again with the graph found. After
each round the worse half of the sets is given up. Edges and children that do not pay are left out at last.

Where most effects are linear the search is that over orders (`icdh.search.order_search`), and models are linear until
a graph is found. Elsewhere it is a climb.

A hidden cause stays if it is worth a few nats, both against the graph without it, from which the search has gone on,
and when EM starts anew from draws of the hidden values. Each variable has at most one hidden cause, and each hidden
cause at least three children: two children of a hidden cause look like an arrow.

References
----------
Elidan, Lotner, Friedman, Koller, "Discovering hidden variables: a structure-based approach", NeurIPS 2000.
Friedman, "The Bayesian structural EM algorithm", UAI 1998.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from icdh._ground.arrays import Mask
from icdh._ground.clock import OutOfTime
from icdh._node_model.family_evidence import FamilyEvidence
from icdh._node_model.hidden import Districts
from icdh._node_model.linear_gains import LinearGains
from icdh.knowledge.rules import EdgeRules
from icdh.search.climb import MIN_GAIN, Climber
from icdh.search.escapes import SearchResult
from icdh.search.moves import Family, Graph, parents_matrix, toggled
from icdh.search.order_search import search_orders


@dataclass(frozen=True)
class Tuning:
    """Constants of the search."""

    sets: int = 40  # that EM is asked about
    starts: int = 16  # that a search goes on from, where most effects are linear
    starts_of_climbs: int = 5
    rounds: int = 7
    fewest: int = 2  # sets that are never given up
    random_orders: int = 1
    least_children: int = 3
    least_share: float = 0.5  # of a set that a further child is joined to
    least_worth: float = 5.0  # nats
    further_draws: int = 2


TUNING = Tuning()


class HiddenGraph(NamedTuple):
    """A graph with hidden common causes.

    Attributes
    ----------
    graph : tuple
        The parents of every node.
    hidden : tuple of tuple of int
        The children of every hidden cause, sorted; no node is in two of them.
    """

    graph: Graph
    hidden: tuple[tuple[int, ...], ...] = ()

    def with_cause(self, children: frozenset[int], required: Mask) -> "HiddenGraph":
        """Return the graph with a hidden cause of these children, for those of some of them, and no edges among them.

        Required edges stay.
        """
        graph = tuple(
            tuple(k for k in parents if not {k, node} <= children or required[k, node])
            for node, parents in enumerate(self.graph)
        )
        others = (own for own in self.hidden if not children.issuperset(own))
        return HiddenGraph(graph, (*others, tuple(sorted(children))))

    def families(self, children: tuple[int, ...]) -> tuple[Family, ...]:
        """Return these children, each with its parents."""
        return tuple((node, self.graph[node]) for node in children)


class FoundCauses(NamedTuple):
    """The hidden causes of a graph that was found.

    Attributes
    ----------
    search : HiddenCauseSearch
        What found them.
    hidden : tuple of tuple of int
        The children of each.
    """

    search: "HiddenCauseSearch"
    hidden: tuple[tuple[int, ...], ...]

    @property
    def children(self) -> set[int]:
        """All children."""
        return {node for children in self.hidden for node in children}

    def strength(self, children: tuple[int, ...]) -> float:
        """Return the nats that the score of the graph loses without a hidden cause."""
        return self.search.worths[children]

    def scores(self, graph: Graph) -> list[float]:
        """Return the scores of the children of each hidden cause, given a graph."""
        state = HiddenGraph(graph, self.hidden)
        return [self.search.districts(state.families(children)).score for children in self.hidden]


class HiddenCauseSearch:
    """The search for hidden common causes among variables whose graph is known.

    Parameters
    ----------
    scores : FamilyEvidence
        The scores that the graph was found by.
    rules : EdgeRules
        Edges that must not, and that must, appear.
    max_parents : int
        The most parents of a variable.
    linear : bool
        Whether most effects are linear.
    """

    def __init__(self, scores: FamilyEvidence, rules: EdgeRules, max_parents: int, linear: bool):
        self.scores, self.rules, self.max_parents, self.linear = scores, rules, max_parents, linear
        self.districts, self.worths = Districts(scores), dict[tuple[int, ...], float]()
        self._quick = Districts(scores, linear=True) if linear else self.districts
        self.may_be_child = np.array(list(map(scores.families.is_gaussian, range(len(scores.families)))))

    def run(self, found: SearchResult) -> tuple[SearchResult, FoundCauses]:
        """Return the graph with the hidden causes that are worth it, from one without; what ends the search is kept."""
        state = HiddenGraph(found.graph)
        try:
            while (better := self.improved(state)) is not None:
                state = better
        except KeyboardInterrupt:
            found = found._replace(interrupted=True)
        except OutOfTime:
            found = found._replace(timed_out=True)
        return found._replace(graph=state.graph), FoundCauses(self, state.hidden)

    def total(self, state: HiddenGraph) -> float:
        """Return the score of a graph with hidden causes; lower is better."""
        others = self.scores(_other_families(state))
        return math.fsum([*others, *(self.districts(state.families(own)).score for own in state.hidden)])

    def improved(self, state: HiddenGraph) -> HiddenGraph | None:
        """Return the graph with a hidden cause more, or one of more children; None if that is not worth it."""
        best = self._best_of_sets(state)
        if best is None:
            return None
        best = self._with_children_that_join(self._pruned(best))
        return best if self._stays(best, self.total(state)) else None

    def worth(self, state: HiddenGraph, cause: int) -> float:
        """Return the nats that the score rises without a hidden cause, the search going on without it."""
        without = HiddenGraph(state.graph, state.hidden[:cause] + state.hidden[cause + 1 :])
        return min(self.total(without), self.total(self._searched(without, seed=0))) - self.total(state)

    def _quick_total(self, state: HiddenGraph) -> float:
        """Return the score of a graph by the models that sets are compared by."""
        if not self.linear:
            return self.total(state)
        others = (
            self.scores.linear_score_of(own) if own[1] else self.scores([own])[0] for own in _other_families(state)
        )
        return math.fsum([*others, *(self._quick(state.families(own)).score for own in state.hidden)])

    def _stays(self, state: HiddenGraph, before: float) -> bool:
        """Return whether every hidden cause is worth it, and fits of the last one from other draws agree."""
        own, worths = self.total(state), [self.worth(state, cause) for cause in range(len(state.hidden))]
        worth = min(before - own, *worths)
        if not worth >= TUNING.least_worth:
            return False
        district = self.districts(state.families(state.hidden[-1]))
        rise = max(
            self.districts.again(district, np.random.default_rng(seed)).score - district.score
            for seed in range(TUNING.further_draws)
        )
        self.worths.update(zip(state.hidden, worths, strict=True))
        return worth - rise >= TUNING.least_worth

    def _best_of_sets(self, state: HiddenGraph) -> HiddenGraph | None:
        """Return the best graph on the way from sets of children; after each round the worse half is given up."""
        left = [state.with_cause(own, self.rules.required) for own in self._sets(state)]
        starts = TUNING.starts if self.linear else TUNING.starts_of_climbs
        left, seen = sorted(left, key=self._quick_total)[:starts], set[HiddenGraph]()
        for seed in range(TUNING.rounds):
            found = [self._searched(own, seed) for own in left]
            whole = [new for new, own in zip(found, left, strict=True) if len(new.hidden) == len(own.hidden)]
            left = sorted(dict.fromkeys(whole), key=self._quick_total)
            left = left[: max(TUNING.fewest, -(-len(left) // 2))]
            if not left or (seed and seen.issuperset(left) and self.linear):
                break
            seen.update(left)
        return min(seen, key=self._quick_total, default=None)

    def _sets(self, state: HiddenGraph) -> list[frozenset[int]]:
        """Return the sets of variables with most edges beyond their nodes; they hold a hidden cause's children or none.

        Children of one hidden cause count as joined.
        """
        joined = parents_matrix(state.graph)
        for children in state.hidden:
            joined[np.ix_(children, children)] = True
        joined = (joined | joined.T) & np.outer(self.may_be_child, self.may_be_child)
        np.fill_diagonal(joined, False)
        sets = {own for triangle in _triangles(joined) for own in _grown(triangle, joined)}
        for children in state.hidden:
            sets |= {frozenset((*children, int(node))) for node in np.flatnonzero(self.may_be_child)} - {
                frozenset(children)
            }
            sets = {own for own in sets if own > frozenset(children) or own.isdisjoint(children)}

        def edges_short(nodes: frozenset[int]) -> tuple[float, list[int]]:
            return len(nodes) - 0.5 * joined[np.ix_(list(nodes), list(nodes))].sum(), sorted(nodes)

        return sorted(sets, key=edges_short)[: TUNING.sets]

    def _searched(self, state: HiddenGraph, seed: int) -> HiddenGraph:
        """Return the graph found where one draw of the hidden values stands for columns without causes."""
        N, K, rng = len(state.graph), len(state.hidden), np.random.default_rng(seed)
        drawn = [self._quick(state.families(own)).hidden.draw(rng) for own in state.hidden]
        like = [own[0] for own in state.hidden]
        forbidden, required = np.ones((N + K, N + K), dtype=bool), np.zeros((N + K, N + K), dtype=bool)
        forbidden[:N, :N], required[:N, :N] = self.rules.forbidden, self.rules.required
        graph = [*state.graph, *[()] * K]
        for k, children in enumerate(state.hidden):
            forbidden[N + k, :N] = ~self.may_be_child
            forbidden[N + k, [node for own in state.hidden for node in own if own != children]] = True
            for node in children:
                graph[node] = (*graph[node], N + k)
        if self.linear:
            gains, options = (
                LinearGains(self.scores.families.with_causes(drawn, like)),
                {"n_random": TUNING.random_orders},
            )
            found = search_orders(gains, tuple(graph), forbidden, self.max_parents + 1, required, **options)
        else:
            scores = self.scores.with_causes(drawn, like, self.scores.clock)
            found, _ = Climber(scores, forbidden, self.max_parents + 1, required).climb_once(tuple(graph), forbidden)
        first = [min((i - N for i in parents if i >= N), default=-1) for parents in found[:N]]  # a node keeps one cause
        left = (tuple(node for node in range(N) if first[node] == k) for k in range(K))
        among = tuple(tuple(i for i in parents if i < N) for parents in found[:N])
        return HiddenGraph(among, tuple(own for own in left if len(own) >= TUNING.least_children))

    def _with_children_that_join(self, state: HiddenGraph) -> HiddenGraph:
        """Return the graph with the further children that pay once the edges between them and the others are pruned."""
        while True:
            found = [
                self._pruned(
                    HiddenGraph(state.graph, (*state.hidden[:k], toggled(children, node), *state.hidden[k + 1 :])), node
                )
                for k, children in enumerate(state.hidden)
                for node in np.flatnonzero(self.may_be_child).tolist()
                if not any(node in own for own in state.hidden)
            ]
            best = min(found, key=self._quick_total, default=state)
            if not self._quick_total(best) < self._quick_total(state) - MIN_GAIN:
                return state
            state = best

    def _pruned(self, state: HiddenGraph, of: int | None = None) -> HiddenGraph:
        """Return the graph without the edges to, and the children of, hidden causes that do not pay, worst first.

        Where ``of`` is given, the edges between it and other children alone are in question.
        """
        while True:
            best = min(self._smaller(state, of), key=self._quick_total, default=state)
            if not self._quick_total(best) < self._quick_total(state) - MIN_GAIN:
                return state
            state = best

    def _smaller(self, state: HiddenGraph, of: int | None) -> Iterator[HiddenGraph]:
        """Yield the graphs with one edge to a child, or one child, fewer."""
        for k, children in enumerate(state.hidden):
            for node in children:
                for cause in state.graph[node]:
                    if not self.rules.required[cause, node] and (of is None or of in (cause, node)):
                        graph = list(state.graph)
                        graph[node] = toggled(graph[node], cause)
                        yield HiddenGraph(tuple(graph), state.hidden)
                if len(children) > TUNING.least_children and of is None:
                    left = toggled(children, node)
                    yield HiddenGraph(state.graph, (*state.hidden[:k], left, *state.hidden[k + 1 :]))


def _other_families(state: HiddenGraph) -> list[Family]:
    inside = {node for children in state.hidden for node in children}
    return [family for family in enumerate(state.graph) if family[0] not in inside]


def _triangles(joined: Mask) -> Iterator[frozenset[int]]:
    """Yield all sets of three nodes that are joined to one another."""
    for i, row in enumerate(joined):
        later = np.flatnonzero(row[i + 1 :]) + i + 1
        yield from (frozenset((i, int(j), int(k))) for j, k in combinations(later, 2) if joined[j, k])


def _grown(nodes: frozenset[int], joined: Mask) -> Iterator[frozenset[int]]:
    """Yield a set, and again with one node more, the one joined to most of it, while that is at least half."""
    yield nodes
    while True:
        share = joined[list(nodes)].mean(axis=0)
        share[list(nodes)] = 0.0
        if not share.max() >= TUNING.least_share:
            return
        nodes |= {int(np.argmax(share))}
        yield nodes
