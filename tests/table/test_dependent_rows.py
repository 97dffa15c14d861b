"""Rows that depend on one another: the warnings of a fit."""

import re
import warnings

import numpy as np
import pytest
from helpers import cases
from naive import autocorrelation, bartlett_effect, window_correlation
from support.table import WINDOW, RelatedRows, Relation, dependence, resembles_its_past

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
    return dependence(values, values)


@pytest.mark.parametrize("kind", INDEPENDENT)
def test_independent_rows_are_not_warned_of(kind):
    for seed in range(20):
        rng = np.random.default_rng([91, seed])
        X = rng.normal(size=(500, 4))
        X[:, 1] += np.tanh(2.0 * X[:, 0])
        X[:, 3] += X[:, 1] * np.exp(0.3 * X[:, 2])
        assert of_columns(INDEPENDENT[kind](X, rng)) is None


def test_copies_and_an_oversampled_class_are_counted():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(150, 3)), rng.random(150) < 0.3])
    copies = rng.permutation(np.tile(X, (4, 1)))
    for table in (copies, np.round(copies, 1)):
        assert of_columns(table) == ("copies", [0, 1, 2], len(np.unique(table, axis=0)))
    X = np.column_stack([rng.normal(size=(150, 4)), np.arange(150) < 15])
    found = of_columns(np.vstack([X] + 8 * [X[:15]]))
    assert (found.kind, found.n_independent) == ("copies", 150)
    pairs = np.column_stack([np.repeat(X[:50, :2], 3, axis=0), rng.normal(size=150)])  # two columns are enough
    assert of_columns(pairs) == ("units", [0, 1], 50)


def test_columns_of_persons_are_told_from_those_of_visits():
    rng = np.random.default_rng(2)
    persons = np.repeat(rng.normal(size=(40, 3)), 15, axis=0)
    table = rng.permutation(np.column_stack([persons[:, :2], rng.normal(size=600), persons[:, 2]]))
    assert of_columns(np.round(table, 2)) == ("units", [0, 1, 3], 40)


def test_series_are_noticed_and_a_single_one_is_not():
    rng = np.random.default_rng(3)
    X = autoregressive(rng, 400, 3, 0.8)
    X[:, 1] = rng.normal(size=400)
    found = of_columns(X)
    assert (found.kind, found.columns) == ("sequence", [0, 2])
    assert 2.0 < 400 / found.n_independent < 9.0  # (1 + 0.8^2) / (1 - 0.8^2) = 4.6
    assert of_columns(X[:, :2]) is None
    assert of_columns(rng.permutation(X)) is None


def test_trends_side_by_side_are_told_from_what_a_file_is_sorted_by():
    """Windows take a trend for a sorted column. But what a sorted column leaves of another does not drift."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        trend, other = np.cumsum(0.5 + rng.normal(size=(2, 200)), axis=1)
        left = other - np.polynomial.Polynomial.fit(trend, other, 3)(trend)
        related = dependence(np.stack([trend, other]), np.stack([trend, left]))
        assert (related.kind, related.n_independent < 100) == ("sequence", True)
        by = np.sort(rng.normal(size=200))
        noise = rng.normal(size=200)
        assert dependence(np.stack([by, np.sin(by) + noise]), np.stack([by, noise])) is None


def test_residuals_that_are_independent_settle_it():
    rng = np.random.default_rng(4)
    x = autoregressive(rng, 400, 1, 0.9).T
    y = x + rng.normal(size=x.shape)
    values = np.vstack([x, y])
    assert dependence(values, values) is not None
    assert dependence(values[::-1], np.vstack([y - x, x])).columns == [0, 1]  # x given y
    assert dependence(values, np.vstack([y - x, y - x])) is None


def in_blocks(rng, labels, jumps, by_label):
    """Independent rows whose means jump from block to block; a column says which block, or none does."""
    X = rng.normal(size=(labels.size, 3)) + jumps * rng.normal(size=(labels.max() + 1, 3))[labels]
    return np.column_stack([X, labels]) if by_label else X


@cases(
    ("rows", "blocks", "jumps", "by_label"),
    (700, 14, 1.0, False),
    (700, 14, 3.0, True),
    (400, 20, 2.0, True),  # of a window each
    (4000, 50, 2.0, False),
)
def test_blocks_are_no_sequence(rows, blocks, jumps, by_label):
    for seed in range(10):
        rng = np.random.default_rng([5, seed])
        assert of_columns(in_blocks(rng, np.repeat(np.arange(blocks), rows // blocks), jumps, by_label)) is None


def test_rows_that_are_all_written_twice_are_copies_whatever_they_hold():
    """Labels and counts alone have too many ties to tell."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, size=(200, 3)), rng.poisson(2.0, size=(200, 2))]).astype(float)
    n_different = len(np.unique(X, axis=0))
    assert of_columns(X) is None
    for times in (2, 3):
        found = of_columns(rng.permutation(np.tile(X, (times, 1))))
        assert (found.kind, found.n_independent) == ("copies", n_different)
    assert of_columns(np.tile(X, (2, 1))[:-1]) is None


def test_counts_written_out_row_by_row_are_no_copies():
    """Admissions to Berkeley by department, sex and outcome (Bickel, Hammel, O'Connell, Science 1975)."""
    yes = [512, 89, 353, 17, 120, 202, 138, 131, 53, 94, 22, 24]
    no = [313, 19, 207, 8, 205, 391, 279, 244, 138, 299, 351, 317]
    cells = [(k // 2, k % 2, outcome) for k in range(12) for outcome in (1, 0)]
    counts = [count for pair in zip(yes, no, strict=True) for count in pair]
    assert of_columns(np.repeat(cells, counts, axis=0)) is None


def test_days_by_hours_are_no_persons():
    rng = np.random.default_rng(0)
    day, hour = np.divmod(np.arange(25 * 24), 24)
    X = np.column_stack([day, hour, np.sin(hour / 4.0) + rng.normal(size=600)])[rng.random(600) < 0.98]
    found = of_columns(X)
    assert found is None or found.kind == "sequence"


@pytest.mark.parametrize("kind", ["consecutive", "equal", "two values"])
def test_resemblance_is_that_of_slow_sums(kind):
    rng = np.random.default_rng(6)
    column, series = np.round(rng.normal(size=90), 1), rng.normal(size=(2, 90))
    column = (np.arange(90) > 70) * 0.1 if kind == "two values" else column
    relation = Relation.of_consecutive(90) if kind == "consecutive" else Relation.of_equal(column)
    assert relation.rows.size % WINDOW == 0
    slow = [window_correlation(row[relation.rows], relation.places, relation.units, WINDOW) for row in series]
    np.testing.assert_allclose(relation.resemblance(series), np.transpose(slow), atol=1e-12)


def test_related_rows_share_their_value_and_none_stands_alone():
    column = np.random.default_rng(8).integers(30, size=400).astype(float)
    relation = Relation.of_equal(column)
    values, sizes = np.unique(relation.units, return_counts=True)
    assert sizes.max() == 4
    assert relation.rows.size == np.unique(relation.rows).size
    assert 0.0 < relation.places.min() < relation.places.max() < 1.0
    assert all(np.ptp(column[relation.rows[relation.units == value]]) == 0.0 for value in values)


def test_resemblance_of_independent_rows_is_zero_on_average():
    rng = np.random.default_rng(9)
    x = np.sort(np.round(rng.normal(size=2000), 2))
    correlations, deviations = Relation.of_equal(x).resemblance(0.3 * np.tanh(x) + rng.normal(size=(200, 2000)))
    assert abs(correlations.mean()) < 4.0 * correlations.std() / np.sqrt(200)
    assert 0.6 < deviations.std() < 1.1


def test_short_series_resemble_their_past():
    rng, told = np.random.default_rng(0), []
    for _ in range(20):
        cause, effect = autoregressive(rng, 135, 2, 0.8).T
        told.append(resembles_its_past(cause * effect, cause[np.newaxis], effect[np.newaxis]))
    assert sum(told) >= 15
    series = autoregressive(rng, 135, 1, 0.8).T
    assert resembles_its_past(series[0], rng.normal(size=(1, 135)))
    assert not [1 for row in rng.normal(size=(200, 2, 80)) if resembles_its_past(row[0], row[1:])]


def test_a_series_that_resembles_its_past_is_told_from_blocks():
    rng = np.random.default_rng(11)
    labels = np.repeat(np.arange(8.0), 50)
    assert resembles_its_past(autoregressive(rng, 400, 1, 0.6)[:, 0], labels[np.newaxis])
    assert not resembles_its_past(3.0 * labels + rng.normal(size=400), labels[np.newaxis])
    noise = rng.normal(size=(20, 1600))
    assert resembles_its_past(noise[0] + 0.4 * np.repeat(rng.normal(size=100), 16), noise[:1])  # too weak for pairs
    assert not [1 for independent in noise[1:] if resembles_its_past(independent, noise[:1])]


def test_a_sequence_that_lowers_no_effective_sample_size_is_not_named(monkeypatch):
    values = autoregressive(np.random.default_rng(3), 300, 3, 0.9).T
    assert dependence(values, values).kind == "sequence"
    monkeypatch.setattr(RelatedRows, "design_effects", lambda self, x, y: np.ones((len(x), len(y))))
    assert dependence(values, values) is None


def test_design_effects_of_a_sequence_are_those_of_slow_sums():
    rng = np.random.default_rng(6)
    x, y = (autoregressive(rng, 50, 2, 0.6).T for _ in range(2))
    series = RelatedRows.of(None, True, 50)
    of_x, of_y = (np.array([series.correlations(row[np.newaxis]) for row in own]) for own in (x, y))
    x, y = (own - own.mean(axis=1, keepdims=True) for own in (x, y))
    lags = series.pairs * 50.0 / 2.0
    np.testing.assert_allclose(of_x * lags / 50.0, [autocorrelation(own)[1:] for own in x], atol=1e-12)
    slow = [[max(bartlett_effect(a, b), 1.0) for b in y] for a in x]
    np.testing.assert_allclose(series.design_effects(of_x, of_y), slow, atol=1e-12)
    np.testing.assert_array_equal(series.units, np.arange(50) // 7)  # blocks, about as many as they have rows


@pytest.mark.parametrize(("rows", "warned"), [(16, True), (60, False)])
def test_a_table_of_few_trending_rows_is_asked_about(rows, warned):
    years = np.linspace(0.0, 1.0, rows)
    X = years[:, np.newaxis] * np.arange(1.0, 8.0) + 0.05 * np.random.default_rng(12).normal(size=(rows, 7))
    found = of_columns(X)
    assert (found is not None and found.kind == "trend") == warned
    assert of_columns(np.random.default_rng(13).permutation(X)) is None


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
    (told,) = [own for own in caught if "effective sample size" in str(own.message)]
    assert (told.category, told.filename) == (DataWarning, __file__)
    assert re.search(words, str(told.message))


def test_copies_are_found_among_more_columns_than_rows():
    rows = np.random.default_rng(0).random((9, 40))
    found = dependence(np.repeat(rows, 3, axis=0).T, np.zeros((40, 27)))
    assert found is not None
    assert "27 rows hold 9 different ones" in found.message([f"x{k}" for k in range(40)], 27)
