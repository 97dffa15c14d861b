"""The Markov equivalence class of a graph: what independences alone leave open of its directions.

References
----------
Chickering, "A transformational characterization of equivalent Bayesian network structures", UAI 1995.
Tarjan and Yannakakis, "Simple linear-time algorithms to test chordality of graphs", SIAM J. Computing 13 (1984).
"""

from collections.abc import Iterable

from icdh.graphs.cycles import causes_first
from icdh.search.moves import Graph

Edges = set[tuple[int, int]]


def reversible_edges(graph: Graph) -> Edges:
    """Return the edges (cause, effect) that point the other way in another graph of the class."""
    order = causes_first(graph)
    place = {node: k for k, node in enumerate(order)}
    compelled: Edges = set()
    reversible: Edges = set()
    for effect in order:
        causes = set(graph[effect])
        for cause in sorted(causes, key=lambda node: -place[node]):
            if (cause, effect) in compelled or (cause, effect) in reversible:
                continue
            forcing = [k for k in graph[cause] if (k, cause) in compelled]
            if not causes.issuperset(forcing) or not causes <= {cause, *graph[cause]}:
                compelled |= {(k, effect) for k in causes if (k, effect) not in reversible}
            else:
                compelled |= {(k, effect) for k in forcing}
                reversible |= {(k, effect) for k in causes if (k, effect) not in compelled}
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
