"""A graph is a function of the set of rows: neither their order nor units, offsets, signs and last digits change it."""

import numpy as np
import pytest
from support.estimators import CanonicalTable
from support.table import Design, Scaling, Table, rows_by_content

from icdh import HNMSearch, causal_direction, load, simulate
from icdh.knowledge import EdgeRules

pytestmark = pytest.mark.filterwarnings("ignore")
M = 250
ROWS = np.random.default_rng(1).permutation(M)
CHANGES = {
    "rows": lambda X, rng: X[rng.permutation(len(X))],
    "units": lambda X, rng: X * 2.54,
    "far units": lambda X, rng: X * [1e-7, 3.0, 1e9, 0.1, 77.0],
    "offsets": lambda X, rng: X + 273.15,
    "far offsets": lambda X, rng: X + [1e6, -1e6, 1e5, 3.0, 1e6],
    "signs": lambda X, rng: X * [1.0, -1.0, 1.0, -1.0, -1.0],
    "single precision": lambda X, rng: X.astype(np.float32),
}


def linear(seed):
    """A linear Gaussian table, in which only classes of graphs can be told apart."""
    X = np.random.default_rng(seed).normal(size=(M, 5))
    X[:, 1] += X[:, 0]
    X[:, 2] += X[:, 1] - 0.5 * X[:, 0]
    X[:, 4] += 0.7 * X[:, 3]
    return X


def mixed(seed):
    """A table of numbers, counts, grades and two balanced groups."""
    X = linear(seed)
    X[:, 0] = X[:, 0] > np.median(X[:, 0])
    X[:, 2] = np.round(2.0 * X[:, 2])
    X[:, 3] = np.digitize(X[:, 3], [-1.0, 0.0, 1.0])
    return X


@pytest.mark.slow
@pytest.mark.parametrize("table", [linear, mixed])
@pytest.mark.parametrize("seed", [2, 3])
def test_neither_rows_nor_units_change_the_graph(table, seed):
    X, rng = table(seed), np.random.default_rng(seed)
    first = HNMSearch().fit(X)
    assert first.adjacency_matrix_.any()
    for change, changed in CHANGES.items():
        other = HNMSearch().fit(changed(X, rng))
        np.testing.assert_array_equal(other.adjacency_matrix_ != 0, first.adjacency_matrix_ != 0, change)
        np.testing.assert_allclose(
            other.adjacency_matrix_, first.adjacency_matrix_, rtol=0.01, atol=0.1, err_msg=change
        )
        assert other.nll_ == pytest.approx(first.nll_, abs=1e-3), change


@pytest.mark.slow
def test_no_last_digit_of_a_heteroscedastic_table_changes_the_graph():
    """Where a column is nearly determined, a long descent makes another minimum of another last digit."""
    X = simulate.simulate_sem(simulate.erdos_renyi(10, 2, random_state=308), 300, random_state=308).X
    first = HNMSearch().fit(X)
    for changed in (X * 2.54, (X - X.mean(axis=0)) / X.std(axis=0)):
        np.testing.assert_array_equal(HNMSearch().fit(changed).edge_strength_, first.edge_strength_)


@pytest.mark.parametrize("signs", [1.0, [1.0, -1.0, 1.0, 1.0, -1.0]])
def test_shuffled_rows_and_other_signs_give_the_same_model_to_the_last_bit(signs):
    X = mixed(0)
    X[:, 4] += X[:, 1] ** 2
    first, shuffled = HNMSearch().fit(X), HNMSearch().fit(X[ROWS] * signs)
    np.testing.assert_array_equal(shuffled.adjacency_matrix_, first.adjacency_matrix_)
    np.testing.assert_array_equal(shuffled.offset_, first.offset_ * signs)
    for name in ("evidence_", "nll_", "history_"):
        assert getattr(shuffled, name) == getattr(first, name)


def test_two_values_are_the_same_as_numbers_and_as_text(tmp_path):
    X = mixed(3)
    X[:, 1] += 2.0 * X[:, 0]
    first = HNMSearch().fit(X)
    assert first.adjacency_matrix_[:, [0]].any() or first.adjacency_matrix_[0].any()
    for words in (("no", "yes"), ("yes", "no"), ("b", "a")):
        rows = X.astype(object)
        rows[:, 0] = np.where(X[:, 0] > 0, *words)
        other = HNMSearch().fit(rows)
        np.testing.assert_array_equal(other.adjacency_matrix_, first.adjacency_matrix_)
        assert (other.evidence_, other.nll_) == (first.evidence_, first.nll_)
        other.save(tmp_path / "m.icdh")
        again = load(tmp_path / "m.icdh")
        assert set(again.sample(50, 0)[:, 0]) == set(words)
        np.testing.assert_array_equal(again.predict(rows)[:, 1], first.predict(X)[:, 1])
        np.testing.assert_allclose(again.score(rows), first.score(X))


def test_rows_of_an_experiment_may_be_shuffled_with_what_was_done_in_them():
    X = linear(0)
    was_set = np.zeros(X.shape, dtype=bool)
    was_set[:80, 1] = True
    X[:80, 1] = 0.5
    first, shuffled = (HNMSearch().fit(X[own], interventions=was_set[own]) for own in (slice(None), ROWS))
    np.testing.assert_array_equal(shuffled.adjacency_matrix_, first.adjacency_matrix_)
    assert shuffled.nll_ == first.nll_


def canonical(X, left_alone=None):
    table = Table.of(X)
    rules = EdgeRules.of(np.eye(table.n_variables, dtype=bool))
    design = Design.of(None if left_alone is None else ~left_alone, table)
    return CanonicalTable.of(table, Scaling.of(table, "standardize"), table.kinds, design, rules)


def test_rows_stand_by_their_content_and_nothing_is_lost():
    X, left_alone = mixed(0), np.random.default_rng(2).random((M, 5)) < 0.9
    given = canonical(X, left_alone)
    first, shuffled = given.with_rows_by_content(), canonical(X[ROWS], left_alone[ROWS]).with_rows_by_content()
    for name, own in vars(first).items():
        if isinstance(own, np.ndarray):
            np.testing.assert_array_equal(own, getattr(shuffled, name))
    arranged, original = (sorted(map(tuple, np.vstack([own.values, own.rows]).T)) for own in (first, given))
    assert arranged == original
    ties = np.random.default_rng(3).integers(3, size=(3, M))  # rows that tie stand by what comes next
    first, other = ties[:, rows_by_content(ties)], ties[:, ROWS][:, rows_by_content(ties[:, ROWS])]
    np.testing.assert_array_equal(first, other)


def test_half_of_a_table_that_stands_by_content_is_a_sample():
    """Every second row of a sorted column would have spacings too even for estimates of entropy."""
    values = canonical(np.random.default_rng(0).normal(size=(1000, 2))).with_rows_by_content().values[0]
    chosen = np.sort(np.argsort(np.argsort(values))[::2])
    assert np.diff(chosen).std() > 1.0


def test_two_balanced_groups_stand_by_what_they_have_in_common_with_others():
    """Their moments are equal, and their third ones are zero."""
    rng = np.random.default_rng(0)
    x = rng.gamma(2.0, size=M)
    columns = np.column_stack([x, x > np.median(x), rng.permutation(M) < M // 2])  # one close to x, one far
    first = canonical(columns).with_rows_by_content()
    for signs in ([1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [1.0, -1.0, -1.0]):
        for order in ([0, 1, 2], [2, 1, 0]):
            other = canonical((columns * signs)[:, order]).with_rows_by_content()
            np.testing.assert_allclose(other.values, first.values, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_neither_rows_nor_units_change_a_direction(seed):
    X = np.round(linear(seed)[:, :2], 1)
    first = causal_direction(*X.T)
    assert causal_direction(*X[ROWS].T).score == first.score
    for change in (X * 2.54, X + 273.15, X * [1.0, -1.0], X.astype(np.float32)):
        assert causal_direction(*change.T).score == pytest.approx(first.score, abs=1e-4)
