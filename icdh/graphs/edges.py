"""The edges of a graph, by strength."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from icdh.graphs.checks import check_adjacency


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
