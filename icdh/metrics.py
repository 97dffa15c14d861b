"""How far an estimated graph is from the true one.

Graphs are arrays in which ``A[i, j] != 0`` means i -> j, DataFrames of such arrays, or networkx graphs; weights count
by their absolute value. An undirected edge, as in a CPDAG, has both entries, ``A[i, j]`` and ``A[j, i]``.
"""

from typing import NamedTuple

import numpy as np

from icdh._utils.arrays import Floats, Mask
from icdh._utils.checks import Choice, Number
from icdh.exceptions import MissingExtraError, import_extra
from icdh.graphs import check_graph, is_dag
from icdh.graphs import threshold as thresholded

__all__ = ["EdgeDifferences", "EdgeScores", "PrecisionRecallCurve", "average_precision", "edge_differences"]
__all__ += ["edge_scores", "evaluate", "precision_recall_curve", "shd", "sid", "skeleton_scores"]


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
        return self.weights.astype(bool)


def comparable(estimate: object, truth: object, *, with_edges: bool = False) -> Pair:
    """Return both graphs with their variables in the order of the truth.

    Parameters
    ----------
    estimate, truth : array_like, shape (N, N), or DataFrame, or networkx graph
        The graphs to compare. Labels are matched if both have them.
    with_edges : bool
        Whether the truth must have edges, as rates need some.

    Raises
    ------
    ValueError
        If a graph is malformed, the two are of different variables, or the truth lacks edges.
    """
    estimated, true = check_graph(estimate, argument="estimate"), check_graph(truth, argument="truth")
    weights = estimated.weights
    if weights.shape != true.weights.shape:
        sizes = f"estimate has {len(weights)} variables and truth {len(true.weights)}"
        raise ValueError(f"{sizes}; compare graphs of the same variables")
    if estimated.names and true.names:
        if unknown := [name for name in estimated.names if name not in true.names]:
            raise ValueError(f"estimate has a variable {unknown[0]!r} that truth has not; give both the same names")
        order = [estimated.names.index(name) for name in true.names]
        weights = weights[np.ix_(order, order)]
    if with_edges and not true.weights.any():
        raise ValueError("truth has no edges, so that no share of them can be found; compare with shd instead")
    return Pair(np.abs(weights), true.weights != 0)


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
    Choice(("strict", "favourable")).check("undirected", undirected)
    upper = np.triu_indices(len(pair.truth), k=1)
    forward, backward = pair.estimate[upper], pair.estimate.T[upper]
    true_forward, true_backward = pair.truth[upper], pair.truth.T[upper]
    adjacent, truly_adjacent = forward | backward, true_forward | true_backward
    differs = (forward != true_forward) | (backward != true_backward)
    if undirected == "favourable":
        differs &= ~(forward & backward)
    kinds = adjacent & ~truly_adjacent, ~adjacent & truly_adjacent, adjacent & truly_adjacent & differs
    return EdgeDifferences(*map(int, map(np.count_nonzero, kinds)))


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
        The number of ordered pairs (i, j) of variables, at most N (N - 1). For these the effect on j of an intervention
        on i would be inferred wrongly from the estimated graph.

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
    return int(gadjid.sid(true, estimated, edge_direction="from row to column")[1])  # the first is its share


class EdgeScores(NamedTuple):
    """Rates of right and wrong edges, each in [0, 1].

    Attributes
    ----------
    precision : float
        Share of the estimated edges that are true; 1 if none was estimated.
    recall : float
        Share of the true edges that were found.
    f1 : float
        Harmonic mean of precision and recall.
    fdr : float
        False discovery rate, 1 - precision.
    tpr : float
        True positive rate, another name of recall.
    """

    precision: float
    recall: float
    f1: float
    fdr: float
    tpr: float


def edge_scores(estimate: object, truth: object) -> EdgeScores:
    """Precision, recall, F1, false discovery rate and true positive rate of the directed edges.

    Parameters
    ----------
    estimate, truth : array_like, shape (N, N), or DataFrame, or networkx graph
        The graphs to compare. An undirected edge counts as two directed ones.

    Returns
    -------
    EdgeScores
        The rates.

    Raises
    ------
    ValueError
        If a graph is malformed, the two are of different variables, or the truth has no edges.

    Examples
    --------
    >>> from icdh.metrics import edge_scores
    >>> truth = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> estimate = [[0, 0.9, 0.4], [0, 0, 0], [0, 0.6, 0]]
    >>> scores = edge_scores(estimate, truth)
    >>> round(scores.precision, 3), scores.recall
    (0.333, 0.5)
    """
    pair = comparable(estimate, truth, with_edges=True)
    return _scores(pair.estimate, pair.truth)


def skeleton_scores(estimate: object, truth: object) -> EdgeScores:
    """Precision, recall, F1, false discovery rate and true positive rate of the edges whatever their direction.

    Parameters
    ----------
    estimate, truth : array_like, shape (N, N), or DataFrame, or networkx graph
        The graphs to compare.

    Returns
    -------
    EdgeScores
        The rates.

    Raises
    ------
    ValueError
        If a graph is malformed, the two are of different variables, or the truth has no edges.

    Examples
    --------
    >>> from icdh.metrics import skeleton_scores
    >>> truth = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> estimate = [[0, 0.9, 0.4], [0, 0, 0], [0, 0.6, 0]]
    >>> scores = skeleton_scores(estimate, truth)
    >>> round(scores.precision, 3), scores.recall
    (0.667, 1.0)
    """
    pair = comparable(estimate, truth, with_edges=True)
    return _scores(*(np.triu(edges | edges.T) for edges in (pair.estimate, pair.truth)))


def _scores(estimated: Mask, true: Mask) -> EdgeScores:
    right, n_estimated, n_true = int(np.sum(estimated & true)), int(estimated.sum()), int(true.sum())
    precision = right / n_estimated if n_estimated else 1.0
    recall = right / n_true
    return EdgeScores(precision, recall, f1=2 * right / (n_estimated + n_true), fdr=1 - precision, tpr=recall)


class PrecisionRecallCurve(NamedTuple):
    """Precision and recall of the edges whose absolute weight is at least a threshold.

    Attributes
    ----------
    precision, recall : ndarray, shape (T,)
        The rates; recall does not decrease.
    thresholds : ndarray, shape (T,)
        The distinct absolute weights of all N (N - 1) possible edges, from the largest to the smallest.
    """

    precision: Floats
    recall: Floats
    thresholds: Floats


def precision_recall_curve(estimate: object, truth: object) -> PrecisionRecallCurve:
    """Precision and recall of the directed edges at every distinct weight.

    Parameters
    ----------
    estimate, truth : array_like, shape (N, N), or DataFrame, or networkx graph
        The weighted estimate, and the true graph.

    Returns
    -------
    PrecisionRecallCurve
        The curve. Its last threshold is 0, where every possible edge counts as estimated, unless all have weights.

    Raises
    ------
    ValueError
        If a graph is malformed, the two are of different variables, or the truth has no edges.

    Examples
    --------
    >>> from icdh.metrics import precision_recall_curve
    >>> truth = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> estimate = [[0, 0.9, 0.4], [0, 0, 0], [0, 0.6, 0]]
    >>> curve = precision_recall_curve(estimate, truth)
    >>> float(curve.precision.max()), float(curve.recall.max())
    (1.0, 1.0)
    """
    pair = comparable(estimate, truth, with_edges=True)
    possible = ~np.eye(len(pair.truth), dtype=bool)
    thresholds, group = np.unique(pair.weights[possible], return_inverse=True)
    true = np.bincount(group, weights=pair.truth[possible], minlength=len(thresholds))
    all_edges = np.bincount(group, minlength=len(thresholds))
    n_found, n_estimated = np.cumsum(true[::-1]), np.cumsum(all_edges[::-1])
    return PrecisionRecallCurve(n_found / n_estimated, n_found / n_found[-1], thresholds[::-1])


def average_precision(estimate: object, truth: object) -> float:
    """Average precision of the directed edges: the step-wise area under the whole precision-recall curve.

    Parameters
    ----------
    estimate, truth : array_like, shape (N, N), or DataFrame, or networkx graph
        The weighted estimate, and the true graph.

    Returns
    -------
    float
        In (0, 1], 1 if every true edge is heavier than every other. Edges that are not in the estimate rank last
        together.

    Raises
    ------
    ValueError
        If a graph is malformed, the two are of different variables, or the truth has no edges.

    Examples
    --------
    >>> from icdh.metrics import average_precision
    >>> truth = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> estimate = [[0, 0.9, 0.4], [0, 0, 0], [0, 0.6, 0]]
    >>> round(average_precision(estimate, truth), 3)
    0.667
    """
    precision, recall, _ = precision_recall_curve(estimate, truth)
    return float(np.sum(precision * np.diff(recall, prepend=0.0)))


def evaluate(estimate: object, truth: object, *, threshold: float = 0.0) -> dict[str, float | None]:
    """Compute every metric of an estimated graph.

    Parameters
    ----------
    estimate : array_like, shape (N, N), or DataFrame, or networkx graph
        The estimate. Its weights rank the edges in the metrics over thresholds.
    truth : array_like, shape (N, N), or DataFrame, or networkx graph
        The true DAG.
    threshold : float
        Edges of smaller absolute weight do not count in the metrics of one graph.

    Returns
    -------
    dict
        Numbers of edges, ``n_edges`` and ``n_true_edges``; of the graph at the threshold, ``shd``, ``extra``,
        ``missing``, ``reversed``, ``shd_favourable`` (undirected edges counted favourably), ``sid`` (None if the
        estimate has a cycle or gadjid is not installed), ``precision``, ``recall``, ``f1``, ``fdr``, ``tpr`` and the
        same of the ``skeleton_``; of the weights, ``average_precision``.

    Raises
    ------
    ValueError
        If a graph is malformed, the two are of different variables, or the truth has a cycle or no edges.

    Examples
    --------
    >>> from icdh.metrics import evaluate
    >>> truth = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> estimate = [[0, 0.9, 0.4], [0, 0, 0], [0, 0.6, 0]]
    >>> metrics = evaluate(estimate, truth)
    >>> metrics["shd"], metrics["reversed"], metrics["extra"], metrics["missing"]
    (2, 1, 1, 0)
    """
    weights, true = comparable(estimate, truth, with_edges=True)
    if not is_dag(true):
        raise ValueError("truth has a cycle; it must be a DAG")
    Number(0).check("threshold", threshold)
    graph = thresholded(weights, threshold)
    differences = edge_differences(graph, true)
    return {
        "n_edges": int((graph != 0).sum()),
        "n_true_edges": int(true.sum()),
        "shd": sum(differences),
        **differences._asdict(),
        "shd_favourable": shd(graph, true, undirected="favourable"),
        "sid": _sid_or_none(graph, true),
        **edge_scores(graph, true)._asdict(),
        **{f"skeleton_{name}": score for name, score in skeleton_scores(graph, true)._asdict().items()},
        "average_precision": average_precision(weights, true),
    }


def _sid_or_none(graph: Floats, truth: Mask) -> int | None:
    try:
        return sid(graph, truth) if is_dag(graph) else None
    except MissingExtraError:
        return None
