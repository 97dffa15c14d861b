"""Distances between two graphs: structural Hamming distance, also over thresholds, and intervention distance."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from icdh._ground.arrays import Floats, Integers, Mask
from icdh._ground.checks import check_choice, check_number
from icdh.exceptions import import_extra
from icdh.graphs import check_graph, is_dag


class Pair(NamedTuple):
    """An estimated and a true graph over the same N variables.

    Attributes
    ----------
    weights : ndarray, shape (N, N)
        Absolute weights of the estimated edges, zero where there is none.
    truth : ndarray of bool, shape (N, N)
        Where the true edges are.
    """

    weights: Floats
    truth: Mask

    @property
    def estimate(self) -> Mask:
        """Where the estimated edges are: an array of bool, shape (N, N)."""
        edges: Mask = self.weights != 0
        return edges


def comparable(estimate: object, truth: object) -> Pair:
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


def comparable_with_edges(estimate: object, truth: object) -> Pair:
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


class EdgeDifferences(NamedTuple):
    """Pairs of variables whose edge differs between two graphs, by the kind of the difference.

    Attributes
    ----------
    extra : int
        Pairs that are adjacent in the estimate alone.
    missing : int
        Pairs that are adjacent in the truth alone.
    reversed : int
        Pairs that are adjacent in both, with another orientation.
    """

    extra: int
    missing: int
    reversed: int


def edge_differences(estimate: object, truth: object, *, undirected: str = "strict") -> EdgeDifferences:
    """Count the extra, missing and reversed edges of an estimated graph.

    Parameters
    ----------
    estimate, truth : array_like, shape (N, N), or DataFrame, or networkx graph
        The graphs to compare. Either may have undirected edges.
    undirected : {"strict", "favourable"}
        What an undirected edge of the estimate counts where the truth has a directed one: a reversed edge, or no
        difference.

    Returns
    -------
    EdgeDifferences
        The counts; their sum is the structural Hamming distance.

    Raises
    ------
    ValueError
        If a graph is malformed or the two are of different variables.

    Examples
    --------
    >>> from icdh.metrics import edge_differences
    >>> truth = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> estimate = [[0, 0.9, 0.4], [0, 0, 0], [0, 0.6, 0]]
    >>> edge_differences(estimate, truth)
    EdgeDifferences(extra=1, missing=0, reversed=1)
    """
    pair = comparable(estimate, truth)
    return _differences(pair.estimate, pair.truth, undirected)


def shd(estimate: object, truth: object, *, undirected: str = "strict") -> int:
    """Structural Hamming distance: the number of pairs of variables whose edge differs, a reversal counting 1.

    Parameters
    ----------
    estimate, truth : array_like, shape (N, N), or DataFrame, or networkx graph
        The graphs to compare. Either may have undirected edges, as a CPDAG does.
    undirected : {"strict", "favourable"}
        What an undirected edge of the estimate counts where the truth has a directed one: 1 or 0.

    Returns
    -------
    int
        The distance, at most N (N - 1) / 2.

    Raises
    ------
    ValueError
        If a graph is malformed or the two are of different variables.

    References
    ----------
    Tsamardinos, Brown, Aliferis: "The max-min hill-climbing Bayesian network structure learning algorithm", Machine
    Learning 65, 2006.

    Examples
    --------
    >>> from icdh.metrics import shd
    >>> truth = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> estimate = [[0, 0.9, 0.4], [0, 0, 0], [0, 0.6, 0]]
    >>> shd(estimate, truth)
    2
    """
    return sum(edge_differences(estimate, truth, undirected=undirected))


def shd_curve(estimate: object, truth: object, thresholds: ArrayLike, *, undirected: str = "strict") -> Integers:
    """Structural Hamming distance at every threshold on the weights.

    Parameters
    ----------
    estimate : array_like, shape (N, N), or DataFrame, or networkx graph
        The weighted estimate. An edge stays while its absolute weight is at least the threshold; whatever cycles are
        left stay too, two opposite edges counting as an undirected one.
    truth : array_like, shape (N, N), or DataFrame, or networkx graph
        The true graph.
    thresholds : array_like, shape (T,)
        Increasing, not negative.
    undirected : {"strict", "favourable"}
        See `shd`.

    Returns
    -------
    ndarray of int64, shape (T,)
        The distances.

    Raises
    ------
    ValueError
        If a graph is malformed, the two are of different variables, or the thresholds are out of order.

    Examples
    --------
    >>> from icdh.metrics import shd_curve
    >>> truth = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> estimate = [[0, 0.9, 0.4], [0, 0, 0], [0, 0.6, 0]]
    >>> shd_curve(estimate, truth, [0.0, 0.5, 0.7])
    array([2, 1, 1])
    """
    pair = comparable(estimate, truth)
    thresholds = np.asarray(thresholds, dtype=np.float64)
    if thresholds.ndim != 1 or len(thresholds) == 0:
        raise ValueError(f"thresholds must be a list of at least one number; got shape {thresholds.shape}")
    if not (np.isfinite(thresholds).all() and thresholds[0] >= 0 and (np.diff(thresholds) > 0).all()):
        raise ValueError("thresholds must be finite, not negative, and increase strictly; sort them and drop repeats")
    graphs = (pair.estimate & (pair.weights >= threshold) for threshold in thresholds)
    distances = [sum(_differences(graph, pair.truth, undirected)) for graph in graphs]
    return np.array(distances, dtype=np.int64)


def minimum_shd(estimate: object, truth: object, *, undirected: str = "strict") -> int:
    """Smallest structural Hamming distance over all thresholds on the weights, the empty graph included.

    Parameters
    ----------
    estimate : array_like, shape (N, N), or DataFrame, or networkx graph
        The weighted estimate.
    truth : array_like, shape (N, N), or DataFrame, or networkx graph
        The true graph.
    undirected : {"strict", "favourable"}
        See `shd`.

    Returns
    -------
    int
        The distance at the best threshold, which is not known in practice.

    Raises
    ------
    ValueError
        If a graph is malformed or the two are of different variables.

    Examples
    --------
    >>> from icdh.metrics import minimum_shd
    >>> truth = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> estimate = [[0, 0.9, 0.4], [0, 0, 0], [0, 0.6, 0]]
    >>> minimum_shd(estimate, truth)
    1
    """
    weights = np.unique(comparable(estimate, truth).weights)
    above_all = np.nextafter(weights[-1], np.inf)
    return int(shd_curve(estimate, truth, [*weights, above_all], undirected=undirected).min())


def au_shdc(estimate: object, truth: object, *, low: float = 0.2, high: float = 0.75, n_steps: int = 999) -> float:
    """Area under the curve of the structural Hamming distance over thresholds on the weights.

    The left Riemann sum with step (high - low) / n_steps: the distances at low, low + step, ..., high - step, times
    the step. The defaults are those of the code released with the paper.

    Parameters
    ----------
    estimate : array_like, shape (N, N), or DataFrame, or networkx graph
        The weighted estimate.
    truth : array_like, shape (N, N), or DataFrame, or networkx graph
        The true graph.
    low, high : float
        The range of thresholds.
    n_steps : int
        Number of steps.

    Returns
    -------
    float
        The area: the mean distance over the range, times high - low.

    Raises
    ------
    ValueError
        If a graph is malformed, the two are of different variables, or low is not below high.

    Examples
    --------
    >>> from icdh.metrics import au_shdc
    >>> truth = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> estimate = [[0, 0.9, 0.4], [0, 0, 0], [0, 0.6, 0]]
    >>> round(au_shdc(estimate, truth), 2)
    0.75
    """
    check_number("low", low, low=0)
    check_number("high", high, low=low, low_open=True)
    check_number("n_steps", n_steps, low=1, integer=True)
    thresholds = np.linspace(low, high, n_steps, endpoint=False)
    return float(shd_curve(estimate, truth, thresholds).sum() * (high - low) / n_steps)


def _differences(estimated: Mask, true: Mask, undirected: str) -> EdgeDifferences:
    check_choice("undirected", undirected, ("strict", "favourable"))
    upper = np.triu_indices(len(true), k=1)
    forward, backward = estimated[upper], estimated.T[upper]
    true_forward, true_backward = true[upper], true.T[upper]
    adjacent, truly_adjacent = forward | backward, true_forward | true_backward
    differs = (forward != true_forward) | (backward != true_backward)
    if undirected == "favourable":
        differs &= ~(forward & backward)
    return EdgeDifferences(
        extra=int(np.sum(adjacent & ~truly_adjacent)),
        missing=int(np.sum(~adjacent & truly_adjacent)),
        reversed=int(np.sum(adjacent & truly_adjacent & differs)),
    )


def sid(estimate: object, truth: object) -> int:
    """Structural intervention distance: pairs (i, j) for which adjusting for the estimated parents of i is wrong.

    Needs the extra ``[metrics]``.

    Parameters
    ----------
    estimate, truth : array_like, shape (N, N), or DataFrame, or networkx graph
        Two DAGs.

    Returns
    -------
    int
        The number of ordered pairs of variables, at most N (N - 1), for which the effect of an intervention on i on j
        would be inferred wrongly from the estimated graph.

    Raises
    ------
    ValueError
        If a graph is malformed or has a cycle, or the two are of different variables.
    MissingExtraError
        If gadjid is not installed.

    References
    ----------
    Peters, Bühlmann: "Structural intervention distance for evaluating causal graphs", Neural Computation 27, 2015.
    Henckel, Würtzen, Weichwald: "Adjustment identification distance: a gadjid for causal structure learning", UAI
    2024.

    Examples
    --------
    >>> from icdh.metrics import sid
    >>> truth = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> estimate = [[0, 0.9, 0.4], [0, 0, 0], [0, 0.6, 0]]
    >>> sid([[0, 1, 0], [0, 0, 1], [0, 0, 0]], truth)
    0
    """
    pair = comparable(estimate, truth)
    # gadjid panics on a cycle and on fewer than two variables
    for name, edges in (("estimate", pair.estimate), ("truth", pair.truth)):
        if not is_dag(edges):
            raise ValueError(f"{name} has a cycle, for which there is no SID; see icdh.graphs.break_cycles")
    if len(pair.truth) == 1:
        return 0
    gadjid = import_extra("gadjid", "metrics")
    true, estimated = (np.ascontiguousarray(edges, dtype=np.int8) for edges in (pair.truth, pair.estimate))
    _, count = gadjid.sid(true, estimated, edge_direction="from row to column")
    return int(count)
