"""Graphs in any form, checked, and their edges, by strength."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from icdh._ground.arrays import Foreign
from icdh._ground.checks import as_float
from icdh.exceptions import import_extra


class LabelledGraph(NamedTuple):
    """A checked graph.

    Attributes
    ----------
    weights : ndarray, shape (N, N)
        Weighted adjacency matrix, zero on its diagonal.
    names : list or None
        N labels, None where the graph had none.
    """

    weights: np.ndarray
    names: list[Hashable] | None


def check_adjacency(A: ArrayLike, argument: str = "A") -> np.ndarray:
    """Return A as float64, after checking that it is square and finite.

    Parameters
    ----------
    A : array_like, shape (N, N)
        Weighted adjacency matrix.
    argument : str
        The name of the argument in error messages.

    Raises
    ------
    TypeError
        If its entries are not real numbers.
    ValueError
        If it is not a square matrix of finite numbers.

    Examples
    --------
    >>> from icdh.graphs import check_adjacency
    >>> check_adjacency([[0, 1], [0, 0]])
    array([[0., 1.],
           [0., 0.]])
    """
    A = np.asarray(A)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"{argument} must be a square matrix, one row and column a variable; got shape {A.shape}")
    A = as_float(A, argument)
    if not np.isfinite(A).all():
        raise ValueError(f"{argument} holds NaN or infinity; every weight must be finite, zero for no edge")
    return A


def check_graph(graph: Foreign, argument: str = "graph") -> LabelledGraph:
    """Return the weighted adjacency matrix and the labels of a graph in any form; it is never modified.

    Parameters
    ----------
    graph : array_like, shape (N, N), or DataFrame, or networkx graph
        ``graph[i, j] != 0`` means i -> j. An undirected edge has both entries.
    argument : str
        The name of the argument in error messages.

    Raises
    ------
    TypeError
        If the entries are not real numbers.
    ValueError
        If the matrix is not square, has no variables, an edge from a variable to itself, or a NaN or infinity.

    Examples
    --------
    >>> import networkx
    >>> from icdh.graphs import check_graph
    >>> A, names = check_graph(networkx.DiGraph([("dose", "answer")]))
    >>> names, A.tolist()
    (['dose', 'answer'], [[0.0, 1.0], [0.0, 0.0]])
    """
    names = None
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        names = list(graph.nodes)
        graph = import_extra("networkx", "graph").to_numpy_array(graph, nodelist=names) if names else np.empty((0, 0))
    elif hasattr(graph, "columns"):
        names = list(graph.columns)
        if list(graph.index) != names:
            raise ValueError(f"{argument} must have the same labels, in the same order, as its index and its columns")
    weights = check_adjacency(graph, argument)
    if len(weights) == 0:
        raise ValueError(f"{argument} has no variables; pass at least one")
    if np.diagonal(weights).any():
        i = int(np.flatnonzero(np.diagonal(weights))[0])
        label = names[i] if names else i
        raise ValueError(f"{argument} has an edge from variable {label!r} to itself; set its diagonal to 0")
    return LabelledGraph(weights, names)


class Edge(NamedTuple):
    """One edge, cause -> effect.

    Attributes
    ----------
    cause, effect : Hashable
        The names of the variables.
    strength : float
        Its entry in the weighted adjacency matrix.
    """

    cause: Hashable
    effect: Hashable
    strength: float


def threshold(A: np.ndarray, value: float) -> np.ndarray:
    """Return the matrix without the edges weaker than a value.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.
    value : float
        Edges with ``abs(A[i, j]) < value`` go.

    Returns
    -------
    ndarray, shape (N, N)
        A new matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import threshold
    >>> threshold(np.array([[0.0, 0.2], [0.9, 0.0]]), 0.3).tolist()
    [[0.0, 0.0], [0.9, 0.0]]
    """
    A = check_adjacency(A)
    return np.where(np.abs(A) >= value, A, 0.0)


def strongest_first(A: np.ndarray) -> list[tuple[int, int]]:
    """Return the edges (i, j) by decreasing strength, ties by index.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import strongest_first
    >>> strongest_first(np.array([[0.0, 0.2, 0.0], [0.0, 0.0, 0.9], [0.0, 0.0, 0.0]]))
    [(1, 2), (0, 1)]
    """
    causes, effects = np.nonzero(A)
    order = np.argsort(-np.abs(A[causes, effects]), kind="stable")
    return list(zip(causes[order].tolist(), effects[order].tolist(), strict=True))


def edge_list(A: np.ndarray, names: Sequence[Hashable]) -> list[Edge]:
    """Return the edges by name, strongest first.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.
    names : sequence of str
        N labels.

    Returns
    -------
    list of Edge
        Tuples (cause, effect, strength).

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import edge_list
    >>> edge_list(np.array([[0.0, 0.2], [0.0, 0.0]]), ["dose", "answer"])
    [Edge(cause='dose', effect='answer', strength=0.2)]
    """
    return [Edge(names[i], names[j], float(A[i, j])) for i, j in strongest_first(A)]
