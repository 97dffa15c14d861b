"""Edges from numbers to columns of two values or labels: what they must be worth."""

import warnings

import numpy as np
import pytest
from helpers import scores_of_columns

from icdh import HNMSearch
from icdh._node_model.columns import columns_of
from icdh._node_model.families import TUNING
from icdh.exceptions import DataWarning

KINDS = ["binary", "categorical", "ordinal", "continuous", "continuous", "categorical"]
YES, COLOUR, GRADE, X, Y, SEX = range(6)
PENALTY = 7.0


def table(m=300):
    rng = np.random.default_rng(3)
    x = rng.normal(size=m)
    yes = (x + rng.logistic(size=m) > 0).astype(float)
    colour = rng.integers(3, size=m).astype(float)
    grade = np.digitize(x + rng.normal(size=m), [-1.0, 0.0, 1.0]).astype(float)
    sex = rng.integers(2, size=m).astype(float)
    return np.vstack([yes, colour, grade, x, 0.5 * x + rng.normal(size=m), sex])


def scores(penalty):
    columns = columns_of(table(), KINDS)
    return scores_of_columns(columns, edge_penalty=penalty * columns.from_number_to_binary)


def test_edges_from_numbers_to_two_values():
    expected = np.zeros((6, 6), dtype=bool)
    expected[np.ix_([GRADE, X, Y], [YES, SEX])] = True
    np.testing.assert_array_equal(columns_of(table(), KINDS).from_number_to_binary, expected)


def test_edges_from_numbers_to_two_values_cost_a_penalty():
    families = [(YES, ()), (YES, (COLOUR,)), (COLOUR, (YES, X)), (GRADE, (X,)), (X, (YES, COLOUR)), (YES, (X,))]
    families += [(YES, (GRADE, X)), (YES, (COLOUR, X)), (YES, (COLOUR, GRADE, X, Y)), (SEX, (YES, X))]
    extra = np.subtract(scores(PENALTY)(families), scores(0.0)(families))
    np.testing.assert_allclose(extra / PENALTY, [0, 0, 0, 0, 0, 1, 2, 1, 3, 1], atol=1e-9)


def test_gain_estimates_include_the_penalty_of_an_edge():
    def difference(family, variables):
        return np.subtract(
            scores(PENALTY).gain_estimates(family)[variables], scores(0.0).gain_estimates(family)[variables]
        )

    numbers = [GRADE, X, Y]
    np.testing.assert_allclose(difference((YES, ()), numbers), -PENALTY)
    np.testing.assert_allclose(difference((YES, (X,)), numbers), [-PENALTY, TUNING.optimism * PENALTY, -PENALTY])
    np.testing.assert_allclose(difference((X, (YES,)), [YES, GRADE, Y]), 0.0, atol=1e-9)


def heights(m=500):
    """A sex, a number that depends on it a little, and another: a logit explains the sex in fewer weights."""
    rng = np.random.default_rng(0)
    male = rng.integers(2, size=m).astype(float)
    return np.column_stack([male, 165.0 + 3.0 * male + 6.0 * rng.normal(size=m), rng.normal(size=m)])


def outcome(m=1000):
    """Two independent numbers, and what both of them cause: yes or no."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(m, 2))
    return np.column_stack([x, (1.5 * x.sum(axis=1) + rng.logistic(size=m) > 0).astype(float)])


def learned(X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return HNMSearch(n_restarts=1, **options).fit(X).adjacency_matrix_ != 0


def test_a_column_of_two_values_is_a_cause_unless_the_evidence_is_strong():
    assert np.argwhere(learned(heights())).tolist() == [[0, 1]]
    assert np.argwhere(learned(heights(), binary_effect_penalty=0.0)).tolist() == [[1, 0]]
    assert np.argwhere(learned(outcome())).tolist() == [[0, 2], [1, 2]]


def test_two_labels_is_binary_values():
    assert np.argwhere(learned(heights(), kinds={0: "categorical"})).tolist() == [[0, 1]]
    unpenalised = learned(heights(), kinds={0: "categorical"}, binary_effect_penalty=0.0)
    assert np.argwhere(unpenalised).tolist() == [[1, 0]]


def test_a_very_large_penalty_keeps_numbers_from_being_causes_of_two_values():
    assert not learned(outcome(), binary_effect_penalty=1e9)[:, 2].any()


def test_a_negative_penalty_is_refused():
    with pytest.raises(ValueError, match="binary_effect_penalty"):
        HNMSearch(binary_effect_penalty=-1.0).fit(heights())
