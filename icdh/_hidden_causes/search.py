"""The search for hidden common causes: infer their values, search the graph given these, and begin again.

Without its hidden cause the children are joined to one another. So sets of variables that are joined to at least half
of each other are tried as children. First the edges inside such a set are off, and EM infers the hidden values
(`icdh._hidden_causes.district`). Then one draw of these values is a column without causes, the graph is searched among
the columns and this one, and EM begins again with that graph. After each round the worse half of the sets is given up.

Where most effects are linear, scores come from covariances, and so do the first hidden values, which need no sets
(`icdh._hidden_causes.linear`). The search is that over orders (`icdh.search.order_search`), and after it comes a climb
by the likelihood itself, in which hidden causes gain and lose children: a draw of the hidden values is biased towards
the graph that it was drawn from. At last variables are tried as children that have arrows from or to several children:
each of these arrows pays as long as the others stand for the hidden cause.

Elsewhere the search is a climb on the draw alone. In every other round EM begins with all variables as children, as a
set that is too small explains itself, and edges and children that do not pay are left out at last.

A hidden cause stays if it is worth a few nats against the graph without it, from which the search has gone on, or if
knowledge names it. Each variable has at most one hidden cause, and each hidden cause at least three children: two
children of a hidden cause look like an arrow.

References
----------
Elidan, Lotner, Friedman, Koller, "Discovering hidden variables: a structure-based approach", NeurIPS 2000.
Friedman, "The Bayesian structural EM algorithm", UAI 1998.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from icdh._hidden_causes.district import Districts
from icdh._hidden_causes.linear import LinearFit, LinearGraphs
from icdh._node_model.confounded import ConfoundedFit
from icdh._node_model.score import FamilyScore
from icdh._node_model.screening import LinearGains
from icdh._utils.arrays import Integers, Mask
from icdh._utils.clock import OutOfTime
from icdh.exceptions import ArgumentValueError
from icdh.knowledge import EdgeRules
from icdh.search.climb import MIN_GAIN, Climber
from icdh.search.escapes import SearchResult
from icdh.search.moves import KINDS, Family, Graph, changed_families, legal_moves, parents_matrix, toggled
from icdh.search.order_search import search_orders


@dataclass(frozen=True)
class SearchTuning:
    """Constants of the search."""

    shares: tuple[float, ...] = (0.95, 0.98)  # of hidden values that their children tell, where a linear search begins
    fewest: int = 8  # linear graphs that are never given up
    starts: int = 16  # sets that a search goes on from, where most effects are linear
    starts_of_climbs: int = 5
    fewest_of_climbs: int = 2
    rounds: int = 7
    tried: int = 4  # changes of an edge that promise most, of which the best is made
    most_promised: float = 15.0  # nats that a change may seem to lose
    least_children: int = 3
    least_share: float = 0.5  # of a set that a further child is joined to
    least_worth: float = 5.0  # nats


SEARCH = SearchTuning()


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

    def with_cause(self, children: Iterable[int], required: Mask) -> "HiddenGraph":
        """Return the graph with one more hidden cause, and without the edges among its children that may go."""
        inside = frozenset(children)
        graph = tuple(
            tuple(k for k in parents if not {k, node} <= inside or required[k, node])
            for node, parents in enumerate(self.graph)
        )
        return HiddenGraph(graph, (*self.hidden, tuple(sorted(inside))))

    def families(self, children: tuple[int, ...]) -> tuple[Family, ...]:
        """Return these children, each with its parents."""
        return tuple((node, self.graph[node]) for node in children)

    def of_nodes(self) -> Graph:
        """Return the graph with the hidden causes as its last nodes."""
        graph = [*self.graph, *[()] * len(self.hidden)]
        for k, children in enumerate(self.hidden):
            for node in children:
                graph[node] = (*graph[node], len(self.graph) + k)
        return tuple(graph)

    @classmethod
    def from_nodes(cls, graph: Graph, N: int) -> "HiddenGraph":
        """Return the graph whose nodes from N on are hidden causes, of which a node keeps one, the first."""
        first = [min((i for i in parents if i >= N), default=-1) for parents in graph[:N]]
        left = (tuple(node for node in range(N) if first[node] == k) for k in range(N, len(graph)))
        among = tuple(tuple(i for i in parents if i < N) for parents in graph[:N])
        return cls(among, tuple(own for own in left if len(own) >= SEARCH.least_children))


class HiddenCauseSearch:
    """The search for hidden common causes among variables whose graph is known.

    Parameters
    ----------
    found : SearchResult
        The graph, and what the search for it came to.
    scores : FamilyScore
        The scores that it was found by.
    rules : EdgeRules
        Edges that must not, and that must, appear.
    max_parents : int
        The most parents of a variable.
    linear : bool
        Whether most effects are linear.
    named : sequence of ndarray of bool, each of shape (N,)
        The children of hidden causes that there are.
    without : ndarray of bool, shape (N,), optional
        The variables that no hidden cause acts on.

    Raises
    ------
    ArgumentValueError
        If a hidden cause is named that has fewer than three columns of numbers to act on.

    Attributes
    ----------
    state : HiddenGraph
        The graph with the hidden causes that are worth it.
    worths : dict
        The nats that its score loses without each of them, by its children.
    """

    def __init__(
        self,
        found: SearchResult,
        scores: FamilyScore,
        rules: EdgeRules,
        max_parents: int,
        linear: bool,
        named: Sequence[Mask] = (),
        without: Mask | None = None,
    ):
        self.scores, self.rules, self.max_parents, self.linear = scores, rules, max_parents, linear
        self.worths = dict[tuple[int, ...], float]()
        self.found, self.state = found, HiddenGraph(found.graph)
        self.districts = Districts(scores)
        self._linear = LinearGraphs(scores.families)
        self.may_be_child = np.array([response.gaussian is not None for response in scores.families.responses])
        self.named = [np.flatnonzero(children & self.may_be_child).tolist() for children in named]
        if any(len(children) < SEARCH.least_children for children in self.named):
            reason = "names a hidden cause that has fewer than three columns of numbers that vary; leave it out"
            raise ArgumentValueError("knowledge", reason)
        if without is not None:
            self.may_be_child &= ~without

    def run(self) -> "HiddenCauseSearch":
        """Search; what ends it is kept."""
        try:
            self.state = self._with_named(self.state)
            while (better := self.improved(self.state)) is not None:
                self.state = better
        except KeyboardInterrupt:
            self.found = self.found._replace(interrupted=True)
        except OutOfTime:
            self.found = self.found._replace(timed_out=True)
        return self

    def result(self) -> SearchResult:
        """Return the graph among the variables, and what ended the search."""
        return self.found._replace(graph=self.state.graph)

    def scores_of_children(self, graph: Graph) -> list[float]:
        """Return the scores of the children of each hidden cause that was found, given a graph."""
        state = HiddenGraph(graph, self.state.hidden)
        return [self.districts(state.families(children)).score for children in state.hidden]

    @property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each hidden cause that was found."""
        return self.state.hidden

    def refit(self, scores: FamilyScore, graph: Graph, n_restarts: int) -> Iterator[ConfoundedFit]:
        """Yield the children of each hidden cause, fitted by other scores to a graph, the best of some starts."""
        districts, state = Districts(scores), HiddenGraph(graph, self.state.hidden)
        for children in state.hidden:
            families = state.families(children)
            networks = districts.networks(families, n_restarts)
            yield ConfoundedFit(families, districts(families).loadings, networks, self.worths[children])

    def total(self, state: HiddenGraph) -> float:
        """Return the score of a graph with hidden causes; lower is better."""
        inside = {node for children in state.hidden for node in children}
        others = self.scores([family for family in enumerate(state.graph) if family[0] not in inside])
        return math.fsum([*others, *(self.districts(state.families(own)).score for own in state.hidden)])

    def improved(self, state: HiddenGraph) -> HiddenGraph | None:
        """Return the graph with a hidden cause more; None if any that knowledge does not name is not worth it."""
        best = self._best_of(self._starts(state))
        if best is None:
            return None
        worths = self._worths(best)
        if not min(self.total(state) - self.total(best), *worths[len(self.named) :]) >= SEARCH.least_worth:
            return None
        self.worths = dict(zip(best.hidden, worths, strict=True))
        return best

    def _starts(self, state: HiddenGraph) -> list[HiddenGraph]:
        """Return graphs with one hidden cause more, to go on from."""
        most = SEARCH.starts if self.linear else SEARCH.starts_of_climbs
        starts = [state.with_cause(own, self.rules.required) for own in self._sets(state)[:most]]
        return starts + self._from_covariances(state, self._free(state))

    def _from_covariances(self, state: HiddenGraph, free: Mask) -> list[HiddenGraph]:
        """Return linear graphs with one more hidden cause, inferred from the covariances of the free variables."""
        if not self.linear or np.count_nonzero(free) < SEARCH.least_children:
            return []
        all_children, known = state.with_cause(np.flatnonzero(free).tolist(), self.rules.required), state.of_nodes()
        found = [
            self._ordered(all_children, fit, seed=0)
            for share in SEARCH.shares
            for fit in self._linear.with_one_more(self._linear(known), free, share)
        ]
        return [own for own in found if len(own.hidden) > len(state.hidden)]

    def _with_named(self, state: HiddenGraph) -> HiddenGraph:
        """Return the graph with the hidden causes that knowledge names, and what else they turn out to act on."""
        for children in self.named:
            free, without = self._free(state), state
            free[children] = True
            state = state.with_cause(children, self.rules.required)
            state = self._best_of([state, *self._from_covariances(without, free)]) or state
        self.worths = dict(zip(state.hidden, self._worths(state), strict=True))
        return state

    def _worths(self, state: HiddenGraph) -> list[float]:
        """Return what each hidden cause is worth."""
        return [self.worth(state, cause) for cause in range(len(state.hidden))]

    def worth(self, state: HiddenGraph, cause: int) -> float:
        """Return the nats that the score rises without a hidden cause, the search going on without it."""
        without = HiddenGraph(state.graph, state.hidden[:cause] + state.hidden[cause + 1 :])
        return min(self.total(without), self.total(self._searched(without, seed=0))) - self.total(state)

    def _quick_total(self, state: HiddenGraph) -> float:
        """Return the score of a graph by the models that sets are compared by."""
        return self._linear(state.of_nodes()).score if self.linear else self.total(state)

    def _best_of(self, left: list[HiddenGraph]) -> HiddenGraph | None:
        """Return the best graph on the way from some, pruned; after each round the worse half is given up."""
        seen, fewest = set[HiddenGraph](), SEARCH.fewest if self.linear else SEARCH.fewest_of_climbs
        for seed in range(SEARCH.rounds):
            if self.linear:  # each way goes on from its best graph
                found = [min(self._searched(own, seed), own, key=self._by_score) for own in left]
            else:
                pairs = [(self._searched(self._open(own) if seed % 2 else own, seed), own) for own in left]
                found = [new for new, own in pairs if len(new.hidden) == len(own.hidden)]
            left = sorted(dict.fromkeys(found), key=self._quick_total)
            left = left[: max(fewest, -(-len(left) // 2))]
            seen.update(left)
        best = min(seen, key=self._quick_total, default=None)
        if best is None:
            return None
        return self._joined(best) if self.linear else self._pruned(best)

    def _by_score(self, state: HiddenGraph) -> tuple[int, float]:
        return -len(state.hidden), self._quick_total(state)

    def _open(self, state: HiddenGraph) -> HiddenGraph:
        """Return the graph with all that may be children of the last hidden cause."""
        others = state.hidden[:-1]
        free = self._free(HiddenGraph(state.graph, others))
        free[list(state.hidden[-1])] = True
        return HiddenGraph(state.graph, (*others, tuple(np.flatnonzero(free).tolist())))

    def _free(self, state: HiddenGraph) -> Mask:
        """Return which variables may become children of one more hidden cause, shape (N,)."""
        free = self.may_be_child.copy()
        free[[node for children in (*state.hidden, *self.named) for node in children]] = False
        return free

    def _sets(self, state: HiddenGraph) -> list[frozenset[int]]:
        """Return sets of variables without a hidden cause, those with most edges beyond their nodes first."""
        free = self._free(state)
        joined = parents_matrix(state.graph)
        joined = (joined | joined.T) & np.outer(free, free)
        np.fill_diagonal(joined, False)

        def edges_short(nodes: frozenset[int]) -> tuple[float, list[int]]:
            return len(nodes) - 0.5 * joined[np.ix_(list(nodes), list(nodes))].sum(), sorted(nodes)

        found = {own for triangle in _triangles(joined) for own in _grown(triangle, joined)}
        return sorted(found, key=edges_short)

    def _searched(self, state: HiddenGraph, seed: int) -> HiddenGraph:
        """Return the graph found where one draw of the hidden values stands for columns without causes."""
        if self.linear:
            return self._ordered(state, self._linear(state.of_nodes()), seed)
        rng, like = np.random.default_rng(seed), [own[0] for own in state.hidden]
        drawn = [self.districts(state.families(own)).hidden.draw(rng) for own in state.hidden]
        scores = self.scores.with_causes(drawn, like, self.scores.clock)
        climber = Climber(scores, self._rules_beside(state), self.max_parents + 1)
        return HiddenGraph.from_nodes(climber.climb_once(state.of_nodes())[0], len(state.graph))

    def _ordered(self, state: HiddenGraph, fit: LinearFit, seed: int) -> HiddenGraph:
        """Return the graph of the best order of variables and one draw of the hidden values, and a climb from it."""
        N, gains = len(state.graph), self._gains_beside(fit, seed)
        found = search_orders(gains, state.of_nodes(), self._rules_beside(state), self.max_parents + 1)
        new = HiddenGraph.from_nodes(found, N)
        if new.of_nodes() == found:
            self._linear(found, fit)  # EM goes on from these hidden values
        return self._climbed(new)

    def _gains_beside(self, fit: LinearFit, seed: int) -> LinearGains:
        """Return the gains of linear models where one draw of the hidden values stands for columns without causes."""
        drawn = self._linear.values(fit, np.random.default_rng(seed))
        like = self.may_be_child.argmax()  # the price of an edge to a child does not depend on its cause
        return LinearGains(self.scores.families.with_causes(drawn, [int(like)] * len(drawn)))

    def _rules_beside(self, state: HiddenGraph) -> EdgeRules:
        """Return the rules of a graph whose last nodes are hidden causes."""
        N, K = len(state.graph), len(state.hidden)
        forbidden, required = np.ones((N + K, N + K), dtype=bool), np.zeros((N + K, N + K), dtype=bool)
        forbidden[:N, :N], required[:N, :N] = self.rules.forbidden, self.rules.required
        for k, children in enumerate(state.hidden):
            forbidden[N + k, :N] = ~self.may_be_child
            others = (own for own in (*state.hidden, *self.named) if not {*own} & {*children})
            forbidden[N + k, [node for own in others for node in own]] = True
            required[N + k, [node for own in self.named for node in children if node in own]] = True
        return EdgeRules(forbidden, required)

    def _climbed(self, state: HiddenGraph) -> HiddenGraph:
        """Return the linear graph that no change of one edge improves, those of hidden causes among them."""
        rules, graph, N = self._rules_beside(state), state.of_nodes(), len(state.graph)
        while (better := self._better(graph, rules, N)) is not None:
            self.scores.clock.check()
            graph = better
        return HiddenGraph.from_nodes(graph, N)

    def _joined(self, state: HiddenGraph) -> HiddenGraph:
        """Return the linear graph after variables became children that had arrows from and to children instead.

        No change of one edge leads there: each such arrow pays as long as the others stand for the hidden cause.
        """
        while (larger := min(self._with_one_child_more(state), key=self._quick_total, default=None)) is not None:
            larger = self._climbed(larger)
            if not self._by_score(larger) < self._by_score(state):
                break
            state = larger
        return state

    def _with_one_child_more(self, state: HiddenGraph) -> Iterator[HiddenGraph]:
        """Yield the graphs in which a hidden cause has one child more, and one arrow at most joins it to the others."""
        near, required = self._linear(state.of_nodes()), self.rules.required
        for (k, children), node in product(enumerate(state.hidden), np.flatnonzero(self._free(state)).tolist()):
            hidden = (*state.hidden[:k], tuple(sorted((*children, node))), *state.hidden[k + 1 :])
            arrows = {
                (i, j) for j, own in enumerate(state.graph) for i in own if node in (i, j) and {i, j} <= {*hidden[k]}
            }
            for kept in (None, *sorted(arrows)):
                gone = {own for own in arrows if own != kept and not required[own]}
                graph = tuple(tuple(i for i in own if (i, j) not in gone) for j, own in enumerate(state.graph))
                larger = HiddenGraph(graph, hidden)
                self._linear(larger.of_nodes(), near)  # the hidden values stay at first
                yield larger

    def _better(self, graph: Graph, rules: EdgeRules, N: int) -> Graph | None:
        """Return a graph with one edge changed that scores better, the best of those that promise most."""
        known = self._linear(graph)
        gains = self._gains_beside(known, seed=0)
        of_edges = np.array([gains(node, graph[node]) for node in range(N)])
        kinds, causes, effects = legal_moves(graph, rules, self.max_parents + 1)
        estimates, turned = of_edges[effects, causes], kinds == KINDS.index("reverse")
        estimates[turned] += of_edges[causes[turned], effects[turned]]
        best, score = None, known.score - MIN_GAIN
        for tried, move in enumerate(np.argsort(-estimates, kind="stable")):
            if not estimates[move] > -SEARCH.most_promised or (tried >= SEARCH.tried and best is not None):
                break
            changed = dict(changed_families(graph, KINDS[kinds[move]], int(causes[move]), int(effects[move])))
            new = tuple(changed.get(node, parents) for node, parents in enumerate(graph))
            is_allowed = HiddenGraph.from_nodes(new, N).of_nodes() == new  # enough children, with one hidden cause each
            if is_allowed and (changed_score := self._linear(new, known).score) < score:
                best, score = new, changed_score
        return best

    def _pruned(self, state: HiddenGraph) -> HiddenGraph:
        """Return the graph without the edges to, and the children of, hidden causes that do not pay, worst first."""
        while True:
            best = min(self._smaller(state), key=self._quick_total, default=state)
            if not self._quick_total(best) < self._quick_total(state) - MIN_GAIN:
                return state
            state = best

    def _smaller(self, state: HiddenGraph) -> Iterator[HiddenGraph]:
        """Yield the graphs with one edge to a child, or one child, fewer."""
        for k, children in enumerate(state.hidden):
            for node in children:
                for cause in state.graph[node]:
                    if not self.rules.required[cause, node]:
                        graph = list(state.graph)
                        graph[node] = toggled(graph[node], cause)
                        yield HiddenGraph(tuple(graph), state.hidden)
                if len(children) > SEARCH.least_children and not any(node in own for own in self.named):
                    left = toggled(children, node)
                    yield HiddenGraph(state.graph, (*state.hidden[:k], left, *state.hidden[k + 1 :]))


def find_hidden_causes(
    known: tuple[list[Mask], Mask],
    found: SearchResult,
    scores: FamilyScore,
    rules: EdgeRules,
    max_parents: int,
    linear: bool,
    order: Integers,
) -> HiddenCauseSearch:
    """Search for hidden causes beside a graph, and return the search.

    Parameters
    ----------
    known : tuple
        The children of hidden causes that knowledge names, and the variables without one: masks of the user's columns.
    found, scores, rules, max_parents, linear
        As of `HiddenCauseSearch`.
    order : ndarray of int
        The user's column of every variable of the graph.
    """
    named, without = [mask[order] for mask in known[0]], known[1][order]
    return HiddenCauseSearch(found, scores, rules, max_parents, linear, named, without).run()


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
        if not share.max() >= SEARCH.least_share:
            return
        nodes |= {int(np.argmax(share))}
        yield nodes
