"""Rates of right and wrong edges, with their direction and without."""

from typing import Any, NamedTuple

import numpy as np

from icdh.metrics.comparison import comparable_with_edges


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


def edge_scores(estimate: Any, truth: Any) -> EdgeScores:
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
    pair = comparable_with_edges(estimate, truth)
    return _scores(pair.estimate, pair.truth)


def skeleton_scores(estimate: Any, truth: Any) -> EdgeScores:
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
    pair = comparable_with_edges(estimate, truth)
    return _scores(*(np.triu(edges | edges.T) for edges in (pair.estimate, pair.truth)))


def _scores(estimated, true):
    found, n_estimated, n_true = int(np.sum(estimated & true)), int(estimated.sum()), int(true.sum())
    precision = found / n_estimated if n_estimated else 1.0
    recall = found / n_true
    return EdgeScores(precision, recall, f1=2 * found / (n_estimated + n_true), fdr=1 - precision, tpr=recall)
