"""The article's measures of an estimate, over thresholds on the absolute weights of its edges."""

import numpy as np

from icdh import metrics
from icdh.graphs import threshold

LOW, HIGH, STEPS = 0.2, 0.75, 999  # of the code released with the article


def shd_curve(weights, truth, thresholds):
    """Return the structural Hamming distance at every threshold; an edge of just its weight stays."""
    return np.array([metrics.shd(threshold(weights, low), truth) for low in thresholds])


def minimum_shd(weights, truth):
    """Return the least distance over all thresholds, the empty graph included; the best is not known in practice."""
    return int(shd_curve(weights, truth, [*np.unique(np.abs(weights)), np.inf]).min())


def au_shdc(weights, truth, low=LOW, high=HIGH, n_steps=STEPS):
    """Return the area under the curve of the distance, as a left Riemann sum."""
    thresholds = np.linspace(low, high, n_steps, endpoint=False)
    return float(shd_curve(weights, truth, thresholds).sum() * (high - low) / n_steps)


def truncated_auprc(weights, truth):
    """Return the area under the precision-recall curve without its ends, by trapezoids, as the article computes it.

    The curve goes from the heaviest estimated edge to the lightest and is not extended to recall 0 or 1. So perfect
    recovery of k edges, no two of the same weight, scores 1 - 1/k, and a binary estimate scores 0.
    """
    precision, recall, thresholds = metrics.precision_recall_curve(weights, truth)
    precision, recall = precision[thresholds > 0], recall[thresholds > 0]
    return float(np.sum(np.diff(recall) * (precision[1:] + precision[:-1]) / 2))
