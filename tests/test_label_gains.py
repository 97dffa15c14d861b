"""Estimates of what a further cause gains between columns of labels."""

import numpy as np
import pytest
from helpers import free, scores_of_columns
from numpy.testing import assert_allclose
from scipy.stats import chi2_contingency

from icdh._node_model.columns import columns_of
from icdh._node_model.gain_estimates import label_gain_estimates
from icdh.search.escapes import greedy_search

M = 500


def shares(codes, n_categories):
    return np.repeat(np.bincount(codes, minlength=n_categories)[:, np.newaxis] / codes.size, codes.size, axis=1)


def labels(n_categories, rng, n=M):
    return rng.integers(0, n_categories, size=n)


def test_without_parents_it_is_pearsons_statistic_less_its_degrees_of_freedom():
    rng = np.random.default_rng(0)
    y, x, z = labels(3, rng), labels(4, rng), labels(2, rng)
    found = label_gain_estimates(y, shares(y, 3), [x, z], [])
    for estimate, candidate in zip(found, (x, z), strict=True):
        counts = np.histogram2d(y, candidate, bins=(3, candidate.max() + 1))[0]
        pearson = chi2_contingency(counts, correction=False)
        assert_allclose(estimate, pearson.statistic - pearson.dof)


def test_a_cause_that_acts_only_together_with_a_parent_is_seen():
    rng = np.random.default_rng(1)
    parent, x, noise = labels(2, rng), labels(2, rng), labels(2, rng)
    y = parent ^ x
    alone, none = label_gain_estimates(y, shares(y, 2), [x, noise], [])
    together, still_none = label_gain_estimates(y, shares(y, 2), [x, noise], [parent])
    assert alone < 10.0
    assert together > 100.0
    assert max(none, still_none) < 10.0


def test_a_single_observation_is_no_large_excess():
    y, rare = np.zeros(M, dtype=int), np.zeros(M, dtype=int)
    y[0] = rare[0] = 1
    assert label_gain_estimates(y, shares(y, 2), [rare], [])[0] < 3.0


def chain(n, rng):
    """Return labels a -> b -> c and an unrelated d; b and d have two, the others three."""
    a, d = labels(3, rng, n), labels(2, rng, n)
    b = np.where(rng.random(n) < 0.8, a == 0, rng.random(n) < 0.5).astype(int)
    c = np.where(rng.random(n) < 0.7, 2 * b, labels(3, rng, n))
    values = np.array([a, b, c, d], dtype=float)
    for k in (1, 3):
        values[k] = (values[k] - values[k].mean()) / values[k].std()
    return columns_of(values, ["categorical", "binary", "categorical", "binary"])


@pytest.mark.parametrize("rows", [None, np.arange(M) < 400])
def test_estimates_exceed_what_fits_gain_and_are_small_where_there_is_nothing(rows):
    counted = None if rows is None else np.tile(rows, (4, 1))
    scores = scores_of_columns(chain(M, np.random.default_rng(2)), rows=counted)
    for family, cause in [((0, ()), 1), ((1, ()), 0), ((2, ()), 1), ((2, (0,)), 1), ((1, (2,)), 0)]:
        node, parents = family
        before, after = scores([family, (node, tuple(sorted((*parents, cause))))])
        estimates = scores.gain_estimates(family)
        assert before - after > 5.0
        assert estimates[cause] > before - after
    assert scores.gain_estimates((0, (1,)))[3] < 5.0
    assert scores.gain_estimates((2, (1,)))[0] < 5.0


def test_a_search_finds_the_same_with_and_without_estimates():
    columns = chain(M, np.random.default_rng(3))
    some, every = scores_of_columns(columns), scores_of_columns(columns)
    every.gain_estimates = lambda family: np.full(4, np.inf)
    found, all_scored = greedy_search(some, free(4)), greedy_search(every, free(4))
    assert found.graph == all_scored.graph
    assert len(some.fitted()) < len(every.fitted())
