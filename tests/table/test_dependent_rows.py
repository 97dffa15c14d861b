"""Rows that depend on one another: the warnings of a fit."""

import re
import warnings

import numpy as np
import pytest
from helpers import cases
from naive import autocorrelation, bartlett_effect
from support.table import (
    _agreeing,
    _Columns,
    _explained_by_position,
    _Pairs,
    _pairs,
    _rising_blocks,
    autocorrelations,
    bartlett,
    repeated_combinations,
    serial_dependence,
)

from icdh import ICDH, HNMSearch
from icdh.exceptions import DataWarning


def with_sums(X):
    return np.column_stack([X, X[:, 0] + X[:, 1], 2.54 * X[:, 2], X[:, 3] + 0.3 * X[:, 0]])


def sorted_labels(X):
    labels = np.clip(np.round(X), -1, 1)
    return np.column_stack([labels[np.lexsort(labels[:, [3, 1, 0]].T)], X[:, 2] > 0])


INDEPENDENT = {
    "continuous": lambda X, rng: X,
    "20 rows": lambda X, rng: X[:20],
    "heavy tails": lambda X, rng: np.sinh(2.0 * X),
    "rounded": lambda X, rng: np.round(10.0 * X),
    "coarse": lambda X, rng: np.round(2.0 * X),
    "levels": lambda X, rng: np.clip(np.round(X), -2, 2),
    "binary": lambda X, rng: X > 1.0,
    "60 rows of few levels": lambda X, rng: np.clip(np.round(X[:60]), -1, 1),
    "mixed": lambda X, rng: np.column_stack([X[:, 0], np.round(4.0 * X[:, 1]), X[:, 2] > 0, np.exp(X[:, 3])]),
    "sums and units": lambda X, rng: with_sums(np.round(9 * X)),
    "many zeros": lambda X, rng: np.where(rng.random((len(X), 1)) < 0.4, 0.0, np.exp(np.round(X, 1))),
    "sorted": lambda X, rng: X[np.argsort(X[:, 3])],
    "sorted by class and number": lambda X, rng: np.column_stack([X[:, 0] > 0, X])[np.lexsort((X[:, 3], X[:, 0] > 0))],
    "labels sorted within labels": lambda X, rng: sorted_labels(X),
    "zeros last": lambda X, rng: np.maximum(X, 0.0)[np.argsort(X[:, 3] <= 0)],
}


def autoregressive(rng, rows, columns, rho):
    X = rng.normal(size=(rows, columns))
    for t in range(1, rows):
        X[t] += rho * X[t - 1]
    return X


def of_columns(X):
    values = np.ascontiguousarray(np.asarray(X, dtype=float).T)
    return repeated_combinations(values), serial_dependence(values, values, np.zeros(len(X), dtype=int))


@pytest.mark.parametrize("kind", INDEPENDENT)
def test_independent_rows_are_not_warned_of(kind):
    for seed in range(20):
        rng = np.random.default_rng([91, seed])
        X = rng.normal(size=(500, 4))
        X[:, 1] += np.tanh(2.0 * X[:, 0])
        X[:, 3] += X[:, 1] * np.exp(0.3 * X[:, 2])
        assert of_columns(INDEPENDENT[kind](X, rng)) == (None, None)


def test_copies_and_an_oversampled_class_are_counted():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(150, 3)), rng.random(150) < 0.3])
    copies = rng.permutation(np.tile(X, (4, 1)))
    for table in (copies, np.round(copies, 1)):
        repeats, _ = of_columns(table)
        assert repeats == ([0, 1, 2], len(np.unique(table, axis=0)), True)
    X = np.column_stack([rng.normal(size=(150, 4)), np.arange(150) < 15])
    repeats, _ = of_columns(np.vstack([X] + 8 * [X[:15]]))
    assert (repeats.n_distinct, repeats.whole_rows) == (150, True)


def test_columns_of_persons_are_told_from_those_of_visits():
    rng = np.random.default_rng(2)
    persons = np.repeat(rng.normal(size=(40, 3)), 15, axis=0)
    table = rng.permutation(np.column_stack([persons[:, :2], rng.normal(size=600), persons[:, 2]]))
    repeats, _ = of_columns(np.round(table, 2))
    assert repeats == ([0, 1, 3], 40, False)


@pytest.mark.parametrize(("n_values", "agrees"), [(60, False), (120, True)])
def test_rows_of_equal_values_must_agree_more_often_than_chance_lets_them(n_values, agrees):
    """They agree in 65 %, their neighbours in 35 %: 4 deviations, sqrt(2 * 0.5 * 0.5 / 89) each, of 89 values."""
    rows, values = np.arange(100), np.zeros((1, 300))
    values[0, 165:200] = values[0, 235:] = 1.0
    columns = _Columns(values, np.arange(300)[np.newaxis], np.zeros(1))
    assert _agreeing(columns, _Pairs(rows, rows + 100, rows + 200, n_values), 300).tolist() == [agrees]


def test_series_are_noticed_and_a_single_one_is_not():
    rng = np.random.default_rng(3)
    X = autoregressive(rng, 400, 3, 0.8)
    X[:, 1] = rng.normal(size=400)
    _, serial = of_columns(X)
    assert serial.columns == [0, 2]
    assert 2.0 < serial.effect < 9.0  # (1 + 0.8^2) / (1 - 0.8^2) = 4.6
    assert of_columns(X[:, :2]) == (None, None)
    assert of_columns(rng.permutation(X)) == (None, None)


def test_residuals_that_are_independent_settle_it():
    rng, classes = np.random.default_rng(4), np.zeros(400, dtype=int)
    x = autoregressive(rng, 400, 1, 0.9).T
    y = x + rng.normal(size=x.shape)
    values = np.vstack([x, y])
    assert serial_dependence(values, values, classes) is not None
    assert serial_dependence(values[::-1], np.vstack([y - x, x]), classes).columns == [0, 1]  # x given y
    assert serial_dependence(values, np.vstack([y - x, y - x]), classes) is None


def test_conditions_are_no_sequence():
    rng, classes = np.random.default_rng(5), np.repeat(np.arange(14), 50)
    values = rng.normal(size=(3, 700)) + rng.normal(size=(3, 14))[:, classes]
    assert serial_dependence(values, values, np.zeros(700, dtype=int)) is not None
    assert serial_dependence(values, values, classes) is None


def test_rows_sorted_by_a_frequent_value_are_blocks_to_the_row():
    values = np.append(np.random.default_rng(8).normal(size=70), np.zeros(30))
    explained, is_sorted = _explained_by_position(values[np.newaxis], np.zeros(100, dtype=int))
    assert is_sorted.all()
    np.testing.assert_allclose((values == 0.0) @ explained.T @ explained, values == 0.0, atol=1e-12)


def test_design_effects_are_those_of_slow_sums():
    rng = np.random.default_rng(6)
    x, y = (autoregressive(rng, 50, 2, 0.6).T for _ in range(2))
    x, y = (own - own.mean(axis=1, keepdims=True) for own in (x, y))
    np.testing.assert_allclose(autocorrelations(x), [autocorrelation(own) for own in x], atol=1e-12)
    slow = [[bartlett_effect(a, b) for b in y] for a in x]
    np.testing.assert_allclose(bartlett(autocorrelations(x), autocorrelations(y)), slow, atol=1e-12)


@pytest.mark.parametrize("estimator", [HNMSearch(n_restarts=1), ICDH(scaling="standardize", max_rounds=2)])
@cases(
    ("make", "words"),
    (lambda rng: np.tile(rng.normal(size=(60, 3)), (3, 1)), "180 rows hold 60 different ones.*pass groups with"),
    (lambda rng: autoregressive(rng, 200, 2, 0.9), "'x0', 'x1'.*sequence=True"),
)
def test_a_fit_warns_once_and_names_the_remedy(estimator, make, words):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(make(np.random.default_rng(7)))
    (told,) = [own for own in caught if "independent rows" in str(own.message)]
    assert (told.category, told.filename) == (DataWarning, __file__)
    assert re.search(words, str(told.message))


def test_ten_blocks_of_rising_values_are_blocks_and_eleven_are_none():
    np.testing.assert_array_equal(_rising_blocks(np.tile(np.arange(30.0), 10)), np.arange(0, 300, 30))
    assert _rising_blocks(np.tile(np.arange(30.0), 11)) is None


def test_values_of_a_tenth_of_the_rows_make_pairs_and_more_frequent_ones_make_none():
    assert _pairs(np.repeat(np.arange(10), 10)) is not None
    assert _pairs(np.repeat(np.arange(9), 10)) is None
