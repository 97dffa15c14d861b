"""The article's measures over thresholds: against slow ones, and by hand."""

import sys

import naive
import numpy as np
import pytest
from helpers import ROOT, weighted_pairs

sys.path.append(str(ROOT))

from icdh import metrics
from paper_reproduction import measures

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
EMPTY = np.zeros((3, 3))


def test_the_curve_is_the_distance_at_every_threshold_and_its_minimum_the_best_of_all():
    for weights, truth in weighted_pairs(60, seed=3):
        thresholds = [0.0, *np.unique(np.abs(weights)[weights != 0]), 1e9]
        expected = [metrics.shd(np.where(np.abs(weights) >= t, weights, 0), truth) for t in thresholds]
        np.testing.assert_array_equal(measures.shd_curve(weights, truth, thresholds), expected)
        assert measures.minimum_shd(weights, truth) == min(expected)
    assert measures.minimum_shd(EMPTY, CHAIN) == 2
    assert measures.minimum_shd(CHAIN.T * 0.7, EMPTY) == 0


def test_au_shdc_is_a_left_riemann_sum():
    weights = CHAIN * 0.4
    # the distance is 0 up to 0.4 and 2 above: of the left ends 0.2, 0.3, 0.4, 0.5 only the last counts
    assert measures.au_shdc(weights, CHAIN, low=0.2, high=0.6, n_steps=4) == pytest.approx(2 * 0.1)
    curve = measures.shd_curve(weights, CHAIN, np.linspace(0.2, 0.75, 1000))
    assert measures.au_shdc(weights, CHAIN) == pytest.approx((curve.sum() - curve[-1]) * 0.55 / 999)
    assert measures.au_shdc(EMPTY, CHAIN) == pytest.approx(2 * 0.55)


def test_the_truncated_area_is_that_of_the_published_procedure():
    for weights, truth in weighted_pairs(60, seed=3):
        assert measures.truncated_auprc(weights, truth) == pytest.approx(naive.published_auprc(weights, truth))
    weights = np.array([[0, -0.9, 0.5], [0, 0, 0.5], [0.2, 0, 0]])
    assert measures.truncated_auprc(weights, CHAIN) == pytest.approx(0.5 * (1 + 2 / 3) / 2)
