"""How far an estimated graph is from the true one.

Graphs are arrays in which ``A[i, j] != 0`` means i -> j, DataFrames of such arrays, or networkx graphs; weights count
by their absolute value. An undirected edge, as in a CPDAG, has both entries, ``A[i, j]`` and ``A[j, i]``.
"""

from icdh.metrics.distances import EdgeDifferences, au_shdc, edge_differences, minimum_shd, shd, shd_curve, sid
from icdh.metrics.rates import (
    EdgeScores,
    PrecisionRecallCurve,
    ReliabilityCurve,
    average_precision,
    brier_score,
    calibration_error,
    edge_scores,
    evaluate,
    log_score,
    precision_recall_curve,
    reliability_curve,
    skeleton_scores,
    truncated_auprc,
)

__all__ = [
    "EdgeDifferences",
    "EdgeScores",
    "PrecisionRecallCurve",
    "ReliabilityCurve",
    "au_shdc",
    "average_precision",
    "brier_score",
    "calibration_error",
    "edge_differences",
    "edge_scores",
    "evaluate",
    "log_score",
    "minimum_shd",
    "precision_recall_curve",
    "reliability_curve",
    "shd",
    "shd_curve",
    "sid",
    "skeleton_scores",
    "truncated_auprc",
]
