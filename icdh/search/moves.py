"""Changes of one edge of a directed acyclic graph, and the families that result.

A family is a node with its parents, written (node, parents), parents a sorted tuple.
"""

from typing import NamedTuple

import numpy as np

from icdh.graphs.cycles import reachability

Family = tuple[int, tuple[int, ...]]
Graph = tuple[tuple[int, ...], ...]
KINDS = ("insert", "delete", "reverse")


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


def legal_moves(
    graph: Graph, forbidden: np.ndarray, max_parents: int, required: np.ndarray | None = None
) -> np.ndarray:
    """Return which changes of one edge leave an allowed acyclic graph: bool, shape (3, N, N).

    [k, i, j] is True where the edge i -> j may be inserted, deleted or reversed, as `KINDS` counts them. Required edges
    are neither deleted nor reversed; ``forbidden`` and ``required`` are masks of shape (N, N).
    """
    edges, reaches = parents_matrix(graph), reachability(graph)
    full = edges.sum(axis=0) >= max_parents
    insert = ~(edges | forbidden | reaches.T | full)
    delete = edges if required is None else edges & ~required
    reverse = np.zeros_like(edges)
    for cause, effect in zip(*np.nonzero(delete & ~forbidden.T & ~full[:, np.newaxis]), strict=True):
        detour = any(reaches[cause, other] for other in graph[effect] if other != cause)
        reverse[cause, effect] = not detour
    return np.stack([insert, delete, reverse])


def changed_families(graph: Graph, kind: str, cause: int, effect: int) -> list[Family]:
    """Return the families that a move changes, as they are after it."""
    changed = [(effect, toggled(graph[effect], cause))]
    return changed if kind != "reverse" else [*changed, (cause, toggled(graph[cause], effect))]


def toggled(parents: tuple[int, ...], variable: int) -> tuple[int, ...]:
    """Return parents with a variable more, or without it if it was one of them."""
    return tuple(sorted({*parents} ^ {variable}))
