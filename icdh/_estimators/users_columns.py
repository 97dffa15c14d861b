"""From the columns that an estimator saw, in its own order, back to the user's columns."""

import numpy as np

from icdh.search.moves import Move


def edges_among_all(edges: np.ndarray, order: np.ndarray, n_columns: int) -> np.ndarray:
    """Return what is known of edges among some columns as a matrix of all, zero elsewhere.

    Parameters
    ----------
    edges : ndarray, shape (n, n)
        Zero where there is no edge.
    order : ndarray of int, shape (n,)
        Where each column stands among all.
    n_columns : int
        How many there are in all.
    """
    every = np.zeros((n_columns, n_columns))
    every[np.ix_(order, order)] = edges
    return every


def move_among_all(move: Move, order: np.ndarray) -> Move:
    """Return a move among some columns as one of all, given where each stands, shape (n,)."""
    return move._replace(cause=int(order[move.cause]), effect=int(order[move.effect]))
