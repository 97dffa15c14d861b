"""What an estimated graph is worth, from its raw weights: computed once more without fitting whenever asked."""

import numpy as np

from icdh import graphs, metrics
from paper_reproduction import measures

THRESHOLD = 0.3
KEPT = (
    "n_edges",
    "shd",
    "extra",
    "missing",
    "reversed",
    "shd_favourable",
    "sid",
    "average_precision",
)
OF_THE_ARTICLE = ("minimum_shd", "au_shdc", "truncated_auprc")


def judge(job, weights: np.ndarray, problem) -> dict:
    """Return the metrics of an estimate.

    Parameters
    ----------
    job : Job
        Where it comes from.
    weights : ndarray, shape (N, N)
        The raw weights: ``weights[i, j] != 0`` means i -> j, both entries an undirected edge.
    problem : Problem
        What it was learned from, with the truth.
    """
    if job.setting.data == "pairs":
        return _judge_pair(weights, problem)
    found = metrics.evaluate(weights, problem.truth, threshold=THRESHOLD)
    known = {name: _plain(found[name]) for name in KEPT}
    known |= {name: getattr(measures, name)(weights, problem.truth) for name in OF_THE_ARTICLE}
    return known | {"is_dag": graphs.is_dag(graphs.threshold(weights, THRESHOLD))}


def _judge_pair(weights, problem):
    """Judge by the larger of the two weights; without one the answer is wrong."""
    forward, backward = np.abs(weights[0, 1]), np.abs(weights[1, 0])
    right, wrong = (forward, backward) if problem.truth[0, 1] else (backward, forward)
    return {"correct": int(right > wrong), "decided": int(right != wrong), "weight": float(problem.weight)}


def _plain(value):
    return value.item() if isinstance(value, np.generic) else value
