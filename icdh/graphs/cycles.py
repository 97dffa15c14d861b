"""Cycles of a graph, and the causal order, ancestors and descendants of a DAG."""

from collections.abc import Collection, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from icdh._ground.arrays import Floats, Mask
from icdh.graphs.edges import check_adjacency, strongest_first


class AcyclicPart(NamedTuple):
    """What `break_cycles` returns.

    Attributes
    ----------
    adjacency : ndarray, shape (N, N)
        The DAG that is left.
    removed : list of (int, int)
        The edges removed, strongest first.
    smallest_threshold : float
        The smallest value for which `threshold` alone gives a DAG; zero if the graph was one.
    """

    adjacency: np.ndarray
    removed: list[tuple[int, int]]
    smallest_threshold: float


def is_dag(A: np.ndarray) -> bool:
    """Return whether the graph has no directed cycle; a self-loop is one.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import is_dag
    >>> is_dag(np.array([[0, 1], [0, 0]])), is_dag(np.array([[0, 1], [1, 0]]))
    (True, False)
    """
    A = check_adjacency(A)
    return len(_sources_first(A)) == len(A)


def causal_order(A: np.ndarray, names: Sequence[str] | None = None) -> list[int]:
    """Return the variables with every cause before its effects; ties are broken by index.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix of a DAG.
    names : sequence of str, optional
        Labels for the error message.

    Returns
    -------
    list of int
        A permutation of 0 ... N - 1.

    Raises
    ------
    ValueError
        If the graph has a cycle; the message names one.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import causal_order
    >>> causal_order(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]]))
    [2, 1, 0]
    """
    A = check_adjacency(A)
    order = _sources_first(A)
    if len(order) < len(A):
        labels = names or [f"x{i}" for i in range(len(A))]
        cycle = " -> ".join(labels[i] for i in _cycle(A, order))
        raise ValueError(f"the graph has a cycle, {cycle}, so there is no causal order; see icdh.graphs.break_cycles")
    return order


def find_cycle(A: np.ndarray) -> list[int]:
    """Return the variables of one directed cycle, the first repeated at the end; an empty list if there is none.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import find_cycle
    >>> find_cycle(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]))
    []
    >>> len(find_cycle(np.array([[0, 1], [1, 0]])))
    3
    """
    A = check_adjacency(A)
    order = _sources_first(A)
    return _cycle(A, order) if len(order) < len(A) else []


def descendants(A: np.ndarray) -> np.ndarray:
    """Return which variables a variable reaches along directed paths.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix of a DAG.

    Returns
    -------
    ndarray of bool, shape (N, N)
        Entry [i, j]: whether there is a directed path from i to j; a variable does not reach itself.

    Raises
    ------
    ValueError
        If the graph has a cycle.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import descendants
    >>> descendants(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])).astype(int)
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    causal_order(A)
    return reachability(_parents(check_adjacency(A))) & ~np.eye(len(A), dtype=bool)


def break_cycles(A: np.ndarray, required: np.ndarray | None = None) -> AcyclicPart:
    """Return the DAG that is left when the weakest edges on cycles go.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.
    required : ndarray of bool, shape (N, N), optional
        Edges of an acyclic graph, none of weight zero, that stay however weak they are.

    Returns
    -------
    AcyclicPart
        The DAG, the edges removed, and the smallest threshold that gives a DAG.

    Notes
    -----
    Edges are added from the strongest to the weakest. An edge that would close a cycle is left out: it is the weakest
    on that cycle.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import break_cycles
    >>> part = break_cycles(np.array([[0.0, 0.9], [0.2, 0.0]]))
    >>> part.adjacency.tolist(), part.removed
    ([[0.0, 0.9], [0.0, 0.0]], [(1, 0)])
    """
    A = check_adjacency(A)
    dag, removed = np.zeros_like(A), []
    reaches = np.eye(len(A), dtype=bool)
    edges = strongest_first(A)
    if required is not None:
        edges.sort(key=lambda edge: not required[edge])
    for i, j in edges:
        if reaches[j, i]:
            removed.append((i, j))
        else:
            dag[i, j] = A[i, j]
            reaches |= np.outer(reaches[:, i], reaches[j])
    smallest = float(np.nextafter(abs(A[removed[0]]), np.inf)) if removed else 0.0
    return AcyclicPart(dag, removed, smallest)


def causes_first(parents: Sequence[Sequence[int]]) -> list[int]:
    """Return the nodes of a graph with causes before effects; ties are broken by index.

    Parameters
    ----------
    parents : sequence of sequences of int
        The parents of every node.

    Returns
    -------
    list of int
        The order. Nodes on cycles and their descendants are left out.
    """
    effects: list[list[int]] = [[] for _ in parents]
    causes_left = [len(causes) for causes in parents]
    for node, causes in enumerate(parents):
        for cause in causes:
            effects[cause].append(node)
    order, ready = [], [node for node, count in enumerate(causes_left) if count == 0]
    while ready:
        node = heappop(ready)
        order.append(node)
        for effect in effects[node]:
            causes_left[effect] -= 1
            if causes_left[effect] == 0:
                heappush(ready, effect)
    return order


def reachability(parents: Sequence[Sequence[int]]) -> np.ndarray:
    """Return the matrix whose [i, j] is True where a directed path leads from i to j, or i = j.

    Parameters
    ----------
    parents : sequence of sequences of int
        The parents of every node of a DAG.
    """
    leads_to = np.eye(len(parents), dtype=bool)
    for node in causes_first(parents):
        for cause in parents[node]:
            leads_to[node] |= leads_to[cause]
    return leads_to.T


def _sources_first(A: Floats | Mask) -> list[int]:
    """Return the variables in causal order, without those on cycles and their descendants."""
    return causes_first(_parents(A))


def _parents(A: Floats | Mask) -> list[list[int]]:
    return [np.flatnonzero(column).tolist() for column in A.T]


def _cycle(A: Floats | Mask, order: Collection[int]) -> list[int]:
    """Return one cycle, its first variable repeated at the end, among the variables that have no causal order."""
    left = set(range(len(A))) - set(order)
    path = [min(left)]
    while path[-1] not in path[:-1]:
        path.append(min(left.intersection(np.flatnonzero(A[:, path[-1]]).tolist())))
    return path[path.index(path[-1]) :][::-1]
