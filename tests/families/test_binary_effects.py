"""Edges from numbers to columns of two values or labels: what they must be worth."""

import numpy as np
import pytest
from helpers import cases, scores_of_columns
from support.families import OPTIMISM, columns_of

from icdh import HNMSearch

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


def test_edges_from_numbers_to_two_values_cost_a_penalty():
    expected = np.zeros((6, 6), dtype=bool)
    expected[np.ix_([GRADE, X, Y], [YES, SEX])] = True
    np.testing.assert_array_equal(columns_of(table(), KINDS).from_number_to_binary, expected)
    families = [(YES, ()), (YES, (COLOUR,)), (COLOUR, (YES, X)), (GRADE, (X,)), (X, (YES, COLOUR)), (YES, (X,))]
    families += [(YES, (GRADE, X)), (YES, (COLOUR, X)), (YES, (COLOUR, GRADE, X, Y)), (SEX, (YES, X))]
    extra = np.subtract(scores(PENALTY)(families), scores(0.0)(families))
    np.testing.assert_allclose(extra / PENALTY, [0, 0, 0, 0, 0, 1, 2, 1, 3, 1], atol=1e-9)


@cases(
    ("family", "variables", "expected"),
    ((YES, ()), [GRADE, X, Y], [-1.0, -1.0, -1.0]),
    ((YES, (X,)), [GRADE, X, Y], [-1.0, OPTIMISM, -1.0]),
    ((X, (YES,)), [YES, GRADE, Y], [0.0, 0.0, 0.0]),
)
def test_gain_estimates_include_the_penalty_of_an_edge(family, variables, expected):
    dear, free = (scores(penalty).gain_estimates([family])[0][variables] for penalty in (PENALTY, 0.0))
    np.testing.assert_allclose(dear - free, PENALTY * np.array(expected), atol=1e-9)


RNG = np.random.default_rng(0)
MALE = RNG.integers(2, size=500).astype(float)
# A sex, a number that depends on it a little, and another: a logit explains the sex in fewer weights.
HEIGHTS = np.column_stack([MALE, 165.0 + 3.0 * MALE + 6.0 * RNG.normal(size=500), RNG.normal(size=500)])
NUMBERS = np.random.default_rng(1).normal(size=(1000, 2))
# Two independent numbers, and what both of them cause: yes or no.
OUTCOME = np.column_stack([NUMBERS, 1.5 * NUMBERS.sum(axis=1) + np.random.default_rng(2).logistic(size=1000) > 0])


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@cases(
    ("X", "options", "edges"),
    (HEIGHTS, {}, [[0, 1]]),
    (HEIGHTS, {"binary_effect_penalty": 0.0}, [[1, 0]]),
    (HEIGHTS, {"kinds": {0: "categorical"}}, [[0, 1]]),
    (HEIGHTS, {"kinds": {0: "categorical"}, "binary_effect_penalty": 0.0}, [[1, 0]]),
    (OUTCOME, {}, [[0, 2], [1, 2]]),
)
def test_a_column_of_two_values_is_a_cause_unless_the_evidence_is_strong(X, options, edges):
    assert np.argwhere(HNMSearch(n_restarts=1, **options).fit(X).adjacency_matrix_).tolist() == edges


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
def test_a_very_large_penalty_keeps_numbers_from_being_causes_of_two_values():
    assert not HNMSearch(n_restarts=1, binary_effect_penalty=1e9).fit(OUTCOME).adjacency_matrix_[:, 2].any()
