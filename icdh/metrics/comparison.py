"""Two graphs made comparable: the same variables in the same order."""

from typing import Any, NamedTuple

import numpy as np

from icdh.graphs import check_graph


class Pair(NamedTuple):
    """An estimated and a true graph over the same N variables.

    Attributes
    ----------
    weights : ndarray, shape (N, N)
        Absolute weights of the estimated edges, zero where there is none.
    truth : ndarray of bool, shape (N, N)
        Where the true edges are.
    """

    weights: np.ndarray
    truth: np.ndarray

    @property
    def estimate(self) -> np.ndarray:
        """Where the estimated edges are: an array of bool, shape (N, N)."""
        return self.weights != 0


def comparable(estimate: Any, truth: Any) -> Pair:
    """Return both graphs with their variables in the order of the truth.

    Parameters
    ----------
    estimate, truth : array_like, shape (N, N), or DataFrame, or networkx graph
        The graphs to compare. Labels are matched if both have them.

    Raises
    ------
    ValueError
        If a graph is malformed or the two are of different variables.
    """
    estimated, true = check_graph(estimate, argument="estimate"), check_graph(truth, argument="truth")
    weights = estimated.weights
    if weights.shape != true.weights.shape:
        raise ValueError(
            f"estimate has {len(weights)} variables and truth {len(true.weights)}; compare graphs of the same variables"
        )
    if estimated.names and true.names:
        unknown = [name for name in estimated.names if name not in true.names]
        if unknown:
            raise ValueError(f"estimate has a variable {unknown[0]!r} that truth has not; give both the same names")
        order = [estimated.names.index(name) for name in true.names]
        weights = weights[np.ix_(order, order)]
    return Pair(np.abs(weights), true.weights != 0)


def comparable_with_edges(estimate: Any, truth: Any) -> Pair:
    """Return what `comparable` does; raise ValueError if the truth has no edges, as rates need some.

    Parameters
    ----------
    estimate, truth : array_like, shape (N, N), or DataFrame, or networkx graph
        The graphs to compare.
    """
    pair = comparable(estimate, truth)
    if not pair.truth.any():
        raise ValueError("truth has no edges, so that no share of them can be found; compare with shd instead")
    return pair
