"""What a graph loses if one of its edges points the other way.

Independences alone leave open the directions that differ within the Markov equivalence class of a graph.

References
----------
Chickering, "A transformational characterization of equivalent Bayesian network structures", UAI 1995.
Shachter, "Evaluating influence diagrams", Operations Research 34 (1986): the reversal of an arc.
Tarjan and Yannakakis, "Simple linear-time algorithms to test chordality of graphs", SIAM J. Computing 13 (1984).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from icdh.graphs import break_cycles, causes_first
from icdh.search.climb import (
    DOUBTFUL,
    MIN_GAIN,
    Climber,
    Graph,
    Move,
    changed_families,
    differing_families,
    toggled,
    with_ancestors,
)
from icdh.search.escapes import Search, SearchResult, recover
from icdh.search.order_search import Gains, search_orders
from icdh.search.orders import WITHOUT_REQUIRED, WeighedFamilies, best_graph

TURNED_MARGIN = 100.0  # nats: an upper estimate of what polish gains for the families of a turned graph
LEAST_TURNED_GAIN = 1.0  # nats that a turned graph must gain
TURNED_SHARE = 0.05  # of the loss, that a move on from a turned graph has to win back
Loss = tuple[tuple[int, int], float]  # an edge, and the loss if it is turned
Edges = set[tuple[int, int]]


def reversible_edges(graph: Graph) -> Edges:
    """Return the edges (cause, effect) that point the other way in another graph of the class."""
    order = causes_first(graph)
    place = {node: k for k, node in enumerate(order)}
    compelled: Edges = set()
    reversible: Edges = set()
    for effect in order:
        causes = {*graph[effect]}
        last = max(causes, key=lambda node: place[node], default=effect)  # it alone decides on all edges to the effect
        forced = {k for k in graph[last] if (k, last) in compelled}
        if not forced <= causes <= {last, *graph[last]}:
            forced = causes
        compelled |= {(k, effect) for k in forced}
        reversible |= {(k, effect) for k in causes - forced}
    return reversible


def with_source(graph: Graph, reversible: Iterable[tuple[int, int]], source: int) -> Graph:
    """Return the graph of the class in which no reversible edge points to a node.

    Maximum cardinality search directs the edges that are joined to the node by reversible ones; ties are broken by the
    order of the graph, so that few edges turn.
    """
    joined: dict[int, set[int]] = {node: set() for node in range(len(graph))}
    for cause, effect in reversible:
        joined[cause].add(effect)
        joined[effect].add(cause)
    place = {node: k for k, node in enumerate(causes_first(graph))}
    parents, placed, frontier = list(graph), {source}, set(joined[source])
    parents[source] = tuple(k for k in graph[source] if k not in joined[source])
    while frontier:
        node = max(frontier, key=lambda k: (len(joined[k] & placed), -place[k]))
        fixed = {k for k in graph[node] if k not in joined[node]}
        parents[node] = tuple(sorted(fixed | joined[node] & placed))
        placed.add(node)
        frontier = (frontier | joined[node]) - placed
    return tuple(parents)


def exact_direction_losses(families: WeighedFamilies, edges: Iterable[tuple[int, int]]) -> Iterator[Loss]:
    """Yield edges, and by how much the best of all graphs with that edge turned scores higher; zero of a tie.

    Parameters
    ----------
    families : WeighedFamilies
        The log weights of families.
    edges : iterable of (cause, effect)
        Edges; each end is a candidate of the other.
    """
    for i, j in edges:
        loss = _best_weight(families, i, j) - _best_weight(families, j, i)
        yield (i, j), loss if loss > MIN_GAIN else 0.0


def _best_weight(families: WeighedFamilies, cause: int, effect: int) -> float:
    """Return the log weight of the best graph with an edge."""
    weights, sets = families.weights.copy(), np.arange(families.weights.shape[1])
    for node, other, holds in ((effect, cause, True), (cause, effect, False)):
        place = int(np.flatnonzero(families.candidates[node] == other)[0])
        weights[node, (sets >> place & 1 == 1) != holds] = -np.inf
        weights[node, 0] = max(weights[node, 0], -WITHOUT_REQUIRED)
    return best_graph(replace(families, weights=weights))[1]


def direction_losses(
    climber: Climber, rival: Climber | None, graph: Graph, edges: Iterable[tuple[int, int]], gains: Gains | None = None
) -> Iterator[Loss]:
    """Yield edges, and by how much the score of the best graph found with that edge turned is higher.

    A climb that keeps the edge turned begins at the graph with each cycle broken at its weakest link, or at the graph
    of the best order by cheap gains if that is better. If the edge is reversible in the equivalence class of the graph,
    another graph of the class may decide at once.

    Parameters
    ----------
    climber : Climber
        The scores, and the moves allowed.
    rival : Climber, optional
        Of scores by another noise: what the turned graph loses by it counts if that is less, a gain as zero.
    graph : tuple
        The parents of every node, at the end of a search.
    edges : iterable of (cause, effect)
        Edges of the graph that may be turned.
    gains : callable, optional
        As of `icdh.search.order_search.search_orders`.
    """
    limits = DOUBTFUL, DOUBTFUL + TURNED_MARGIN
    shared = None if gains is None else cache(gains)  # by searches from different edges
    for edge, turned, loss in _turned_graphs(climber, graph, edges, shared, limits):
        yield edge, loss if rival is None else min(loss, max(-rival.fall(graph, turned), 0.0))


def _turned_graphs(
    climber: Climber, graph: Graph, edges: Iterable[tuple[int, int]], gains: Gains | None, limits: tuple[float, float]
) -> Iterator[tuple[tuple[int, int], Graph, float]]:
    """Yield edges, the best graph found with that edge turned, and its loss.

    Below the first of the limits an equivalent graph decides at once; families are polished between the two.
    """
    reversible = reversible_edges(graph)
    for i, j in edges:
        loss, best = np.inf, graph
        if (i, j) in reversible and _is_allowed(climber, equivalent := with_source(graph, reversible, j)):
            loss, best = -climber.fall(graph, equivalent), equivalent
        if loss >= limits[0]:
            turned, other = _turned_by_climb(climber, graph, (i, j), gains, limits)
            loss, best = (other, turned) if other < loss else (loss, best)
        yield (i, j), best, loss


def turn_while_it_gains(
    climber: Climber,
    found: SearchResult,
    callback: Callable[[Move], None] | None = None,
    is_decided: Callable[[Graph, int], bool] = lambda graph, node: False,
) -> SearchResult:
    """Return the graph of a search after every turned arrow that leads to a better graph, and the moves to it.

    Parameters
    ----------
    climber : Climber
        The scores, and the moves allowed.
    found : SearchResult
        Of a search by these scores.
    callback : callable, optional
        Called with every move; it may raise KeyboardInterrupt to end the search.
    is_decided : callable
        Returns whether another search has compared all families of a node of a graph that are like its own. Arrows
        between two such nodes are left.
    """
    search = Search(climber, callback, found)

    def run() -> None:
        while (better := _better_graph(climber, search.graph, is_decided)) is not None:
            search.turn(*better)

    return search.result_of(run)


def _better_graph(
    climber: Climber, graph: Graph, is_decided: Callable[[Graph, int], bool]
) -> tuple[tuple[int, int], Graph] | None:
    """Return the first arrow that another graph turns, which is better, and that graph; None if there is none."""
    settled, limits = climber.rules.settled, (-LEAST_TURNED_GAIN, TURNED_MARGIN)
    left = {node for node in range(len(graph)) if is_decided(graph, node)}
    edges = [(i, j) for j, parents in enumerate(graph) for i in parents if not (settled[i, j] or {i, j} <= left)]
    climber.scores([family for edge in edges for family in changed_families(graph, "reverse", *edge)])  # all at once
    for edge, turned, loss in _turned_graphs(climber, graph, edges, None, limits):
        if loss < -LEAST_TURNED_GAIN:
            return edge, turned
    return None


def _is_allowed(climber: Climber, graph: Graph) -> bool:
    return all(
        not climber.rules.forbidden[list(parents), node].any() and set(least) <= set(parents)
        for node, (parents, least) in enumerate(zip(graph, climber.least, strict=True))
    )


def _turned_by_climb(
    climber: Climber, graph: Graph, edge: tuple[int, int], gains: Gains | None, limits: tuple[float, float]
) -> tuple[Graph, float]:
    """Return the graph that is reached from the turned edge, and its loss."""
    turned, required = _turned(climber, graph, edge), climber.rules.required.copy()
    if -climber.fall(graph, turned) > TURNED_MARGIN:
        turned = min(turned, _with_all_causes(climber, graph, turned, edge), key=climber.total)
    required[edge[::-1]] = True
    rules = climber.rules._replace(required=required)
    if gains is not None:
        ordered = search_orders(gains, turned, rules, climber.max_parents)
        turned = min(turned, ordered, key=climber.total)
    turned, _ = recover(climber, graph, turned, TURNED_SHARE, rules=rules)
    if limits[0] <= -climber.fall(graph, turned) < limits[1]:
        climber.polish(differing_families(turned, graph))
        turned, _ = recover(climber, graph, turned, TURNED_SHARE, rules=rules)
    return turned, -climber.fall(graph, turned)


def _turned(climber: Climber, graph: Graph, edge: tuple[int, int]) -> Graph:
    """Return the graph with an edge turned, without the weakest link of each cycle, nor more parents than allowed."""
    (i, j), lines = edge, with_ancestors(graph)
    between = [k for k, line in enumerate(lines) if line >> i & 1 and lines[j] >> k & 1]
    links = np.zeros((len(between), len(between)))
    for column, effect in enumerate(between):
        for row, cause in enumerate(between):
            if cause in graph[effect]:
                links[row, column] = _strength(climber, graph, cause, effect)
    at = between.index(i), between.index(j)
    links[at], links[at[::-1]] = 0.0, np.finfo(float).max
    kept = break_cycles(links, climber.rules.required[np.ix_(between, between)]).adjacency
    parents = [set(causes) for causes in graph]
    for effect, causes in zip(between, kept.T != 0.0, strict=True):
        parents[effect] = parents[effect] - set(between) | {between[k] for k in np.flatnonzero(causes)}
    others = sorted(parents[i] - {j} - set(climber.least[i]), key=lambda k: _strength(climber, graph, k, i))
    parents[i] -= set(others[: max(len(parents[i]) - climber.max_parents, 0)])
    return tuple(tuple(sorted(causes)) for causes in parents)


def _with_all_causes(climber: Climber, graph: Graph, turned: Graph, edge: tuple[int, int]) -> Graph:
    """Return the graph with an edge turned in which each end has the causes of both, but for those that it leads to.

    With them the turned edge describes whatever the first graph does. Without them a climb has to win back one by one
    what the causes of an effect tell together.
    """
    lines, forbidden = with_ancestors(turned), climber.rules.forbidden
    causes = {k for end in edge for k in graph[end]}.difference(edge)
    parents = list(turned)
    for end in edge:
        more = {k for k in causes if not (lines[k] >> end & 1 or forbidden[k, end])}
        parents[end] = tuple(sorted(more.union(turned[end])))
    return tuple(parents) if max(len(parents[end]) for end in edge) <= climber.max_parents else turned


def _strength(climber: Climber, graph: Graph, cause: int, effect: int) -> float:
    with_cause, without = climber.scores([(effect, graph[effect]), (effect, toggled(graph[effect], cause))])
    return max(without - with_cause, MIN_GAIN)
