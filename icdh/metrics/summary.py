"""All metrics at once."""

from icdh import graphs
from icdh._ground.arrays import Floats, Mask
from icdh._ground.checks import check_number
from icdh.exceptions import MissingExtraError
from icdh.metrics.calibration import brier_score, calibration_error, log_score
from icdh.metrics.distances import au_shdc, comparable_with_edges, edge_differences, minimum_shd, shd, sid
from icdh.metrics.rates import average_precision, edge_scores, skeleton_scores, truncated_auprc


def evaluate(
    estimate: object, truth: object, *, threshold: float = 0.0, probabilities: bool = False
) -> dict[str, float | None]:
    """Compute every metric of an estimated graph.

    Parameters
    ----------
    estimate : array_like, shape (N, N), or DataFrame, or networkx graph
        The estimate. Its weights rank the edges in the metrics over thresholds.
    truth : array_like, shape (N, N), or DataFrame, or networkx graph
        The true DAG.
    threshold : float
        Edges of smaller absolute weight do not count in the metrics of one graph.
    probabilities : bool
        Whether the estimate's weights are probabilities of edges, by default not.

    Returns
    -------
    dict
        Numbers of edges, ``n_edges`` and ``n_true_edges``; of the graph at the threshold, ``shd``, ``extra``,
        ``missing``, ``reversed``, ``shd_favourable`` (undirected edges counted favourably), ``sid`` (None if the
        estimate has a cycle or gadjid is not installed), ``precision``, ``recall``, ``f1``, ``fdr``, ``tpr`` and the
        same of the ``skeleton_``; of the weights, ``minimum_shd``, ``au_shdc``, ``average_precision``,
        ``truncated_auprc``; of probabilities, ``brier_score``, ``log_score`` and ``calibration_error``.

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
    weights, true = comparable_with_edges(estimate, truth)
    if not graphs.is_dag(true):
        raise ValueError("truth has a cycle; it must be a DAG")
    check_number("threshold", threshold, low=0)
    graph = graphs.threshold(weights, threshold)
    differences = edge_differences(graph, true)
    of_probabilities = (brier_score, log_score, calibration_error) if probabilities else ()
    return {
        "n_edges": int((graph != 0).sum()),
        "n_true_edges": int(true.sum()),
        "shd": sum(differences),
        **differences._asdict(),
        "shd_favourable": shd(graph, true, undirected="favourable"),
        "sid": _sid_or_none(graph, true),
        **edge_scores(graph, true)._asdict(),
        **{f"skeleton_{name}": score for name, score in skeleton_scores(graph, true)._asdict().items()},
        "minimum_shd": minimum_shd(weights, true),
        "au_shdc": au_shdc(weights, true),
        "average_precision": average_precision(weights, true),
        "truncated_auprc": truncated_auprc(weights, true),
        **{metric.__name__: metric(weights, true) for metric in of_probabilities},
    }


def _sid_or_none(graph: Floats, truth: Mask) -> int | None:
    try:
        return sid(graph, truth) if graphs.is_dag(graph) else None
    except MissingExtraError:
        return None
