"""How far an estimated graph is from the true one.

Graphs are arrays in which ``A[i, j] != 0`` means i -> j, DataFrames of such arrays, or networkx graphs; weights count
by their absolute value. An undirected edge, as in a CPDAG, has both entries, ``A[i, j]`` and ``A[j, i]``.
"""

from typing import NamedTuple

import numpy as np

from icdh._validation import check_choice, check_graph


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


def edge_differences(estimate, truth, *, undirected="strict"):
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
    """
    return _differences(*_edges(*_comparable(estimate, truth)), undirected)


def shd(estimate, truth, *, undirected="strict"):
    """Structural Hamming distance: the number of pairs of variables whose edge differs, a reversal counting 1.

    Parameters
    ----------
    estimate, truth : array_like, shape (N, N), or DataFrame, or networkx graph
        The graphs to compare. Either may have undirected edges.
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
    """
    return sum(edge_differences(estimate, truth, undirected=undirected))


def edge_scores(estimate, truth):
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
    """
    return _scores(*_edges(*_comparable(estimate, truth)))


def skeleton_scores(estimate, truth):
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
    """
    estimated, true = _edges(*_comparable(estimate, truth))
    return _scores(np.triu(estimated | estimated.T), np.triu(true | true.T))


def _comparable(estimate, truth):
    """Return the absolute weights of both graphs over the same variables in the order of the truth."""
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
    return np.abs(weights), np.abs(true.weights)


def _edges(weights, true_weights):
    return weights != 0, true_weights != 0


def _differences(estimated, true, undirected):
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


def _scores(estimated, true):
    _require_edges(true)
    found, n_estimated, n_true = int(np.sum(estimated & true)), int(estimated.sum()), int(true.sum())
    precision = found / n_estimated if n_estimated else 1.0
    recall = found / n_true
    return EdgeScores(precision, recall, f1=2 * found / (n_estimated + n_true), fdr=1 - precision, tpr=recall)


def _require_edges(true):
    if not true.any():
        raise ValueError("truth has no edges, so that no share of them can be found; compare with shd instead")
