"""Changes of one edge of a directed acyclic graph, and the families that result.

A family is a node with its parents, written (node, parents), parents a sorted tuple.

Under the prior over graphs the price of an edge grows with the number of variables.

Among N variables a node has about N candidate parents. The best of the false ones gains about log N nats by chance. A
price of edges that suits few variables is therefore too low for many. The prior probability of an edge must fall like
1 / N to keep the expected number of parents constant. The extended BIC penalises the number of parent sets of the same
size; for few parents among many variables this is also about log N for each parent.

References
----------
Chen and Chen, "Extended Bayesian information criteria for model selection with large model spaces", Biometrika 95
(2008).
"""

import math
from typing import NamedTuple

import numpy as np

Family = tuple[int, tuple[int, ...]]
Graph = tuple[tuple[int, ...], ...]
DOUBTFUL = 6.0  # nats: a direction that loses less is in doubt
FEW_VARIABLES = 10  # prices of edges were chosen on tables of so many


class Move(NamedTuple):
    """One step of the search, and by how much the score fell.

    The kind is "insert", "delete" or "reverse" of the edge cause -> effect, or "detach" of the effect from all causes
    that are not required (``cause`` then repeats it). Moves of a detour that may be rejected have ``kept`` False.
    """

    kind: str
    cause: int
    effect: int
    gain: float
    kept: bool = True


def parents_matrix(graph: Graph) -> np.ndarray:
    """Return the adjacency matrix of a graph, bool, shape (N, N)."""
    matrix = np.zeros((len(graph), len(graph)), dtype=bool)
    for node, parents in enumerate(graph):
        matrix[list(parents), node] = True
    return matrix


def with_ancestors(graph: Graph, known: tuple[Graph, list[int]] | None = None) -> list[int]:
    """Return, for every node, itself and its ancestors as the bits of a number: far faster than a matrix of N^2.

    Parameters
    ----------
    graph : tuple
        The parents of every node.
    known : tuple, optional
        Another graph of these nodes, and what this function returns for it. Only what differs is computed anew.
    """
    lines, left = [0] * len(graph), list(range(len(graph)))
    if known is not None:
        differing = sum(1 << node for node, _ in differing_families(graph, known[0]))
        left = [node for node, line in enumerate(known[1]) if line & differing]
        lines = known[1].copy()
        for node in left:
            lines[node] = 0
    for node in left:
        waiting = [] if lines[node] else [node]
        while waiting:
            last = waiting[-1]
            unknown = [parent for parent in graph[last] if not lines[parent]]
            waiting += unknown
            if not unknown:
                line = 1 << waiting.pop()
                for parent in graph[last]:
                    line |= lines[parent]
                lines[last] = line
    return lines


def changed_families(graph: Graph, kind: str, cause: int, effect: int) -> list[Family]:
    """Return the families that a move changes, as they are after it."""
    changed = [(effect, toggled(graph[effect], cause))]
    return changed if kind != "reverse" else [*changed, (cause, toggled(graph[cause], effect))]


def differing_families(graph: Graph, other: Graph) -> list[Family]:
    """Return the families of a graph that another one of these nodes does not have."""
    return [(node, parents) for node, parents in enumerate(graph) if parents != other[node]]


def toggled(parents: tuple[int, ...], variable: int) -> tuple[int, ...]:
    """Return parents with a variable more, or without it if it was one of them."""
    return tuple(sorted({*parents} ^ {variable}))


def price_of_width(n_variables: int) -> float:
    """Return the extra price of an edge beyond that among ten variables, in nats: log(N / 10), at least 0.

    Parameters
    ----------
    n_variables : int
        N.
    """
    return math.log(max(n_variables, FEW_VARIABLES) / FEW_VARIABLES)
