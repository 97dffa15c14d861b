"""A graph is a function of the set of rows: neither their order nor units, offsets, signs and last digits change it."""

import numpy as np
import pytest

from icdh import HNMSearch, causal_direction, simulate
from icdh._estimators.arranged import CanonicalTable
from icdh._table.experiments import Design
from icdh._table.table import Scaling, Table
from icdh.knowledge import EdgeRules

M = 250
CHANGES = {
    "rows": lambda X, rng: X[rng.permutation(len(X))],
    "units": lambda X, rng: X * 2.54,
    "offsets": lambda X, rng: X + 273.15,
    "signs": lambda X, rng: X * [1.0, -1.0, 1.0, -1.0, -1.0],
    "single precision": lambda X, rng: X.astype(np.float32),
}


def linear(seed):
    """A linear Gaussian table, in which only classes of graphs can be told apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(M, 5))
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


def edges(X, **arguments):
    return set(map(tuple, np.argwhere(HNMSearch().fit(X, **arguments).adjacency_matrix_).tolist()))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("table", [linear, mixed])
@pytest.mark.parametrize("seed", [2, 3])
def test_neither_rows_nor_units_change_the_graph(table, seed):
    X = table(seed)
    first = edges(X)
    assert first
    rng = np.random.default_rng(seed)
    for change, changed in CHANGES.items():
        assert edges(changed(X, rng)) == first, change


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_last_digit_of_a_heteroscedastic_table_changes_the_graph():
    """Where a column is nearly determined, a long descent makes another minimum of another last digit."""
    X = simulate.simulate_sem(simulate.erdos_renyi(10, 2, random_state=308), 300, random_state=308).X
    first = HNMSearch().fit(X)
    for changed in (X * 2.54, (X - X.mean(axis=0)) / X.std(axis=0)):
        np.testing.assert_array_equal(HNMSearch().fit(changed).edge_strength_, first.edge_strength_)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("signs", [1.0, [1.0, -1.0, 1.0, 1.0, -1.0]])
def test_shuffled_rows_and_other_signs_give_the_same_model_to_the_last_bit(signs):
    X = mixed(0)
    X[:, 4] += X[:, 1] ** 2
    rows = np.random.default_rng(1).permutation(M)
    first, shuffled = HNMSearch().fit(X), HNMSearch().fit(X[rows] * signs)
    np.testing.assert_array_equal(shuffled.adjacency_matrix_, first.adjacency_matrix_)
    np.testing.assert_array_equal(shuffled.offset_, first.offset_ * signs)
    assert shuffled.evidence_ == first.evidence_
    assert shuffled.nll_ == first.nll_
    assert shuffled.history_ == first.history_


@pytest.mark.filterwarnings("ignore")
def test_rows_of_an_experiment_may_be_shuffled_with_what_was_done_in_them():
    X = linear(0)
    was_set = np.zeros(X.shape, dtype=bool)
    was_set[:80, 1] = True
    X[:80, 1] = 0.5
    rows = np.random.default_rng(1).permutation(M)
    first = HNMSearch().fit(X, interventions=was_set)
    shuffled = HNMSearch().fit(X[rows], interventions=was_set[rows])
    np.testing.assert_array_equal(shuffled.adjacency_matrix_, first.adjacency_matrix_)
    assert shuffled.nll_ == first.nll_


def arranged(X, left_alone=None):
    table = Table.of(X)
    rules = EdgeRules.of(np.eye(table.n_variables, dtype=bool))
    design = Design.of(None if left_alone is None else ~left_alone, table)
    scaling = Scaling.of(table, "standardize")
    return CanonicalTable.of(table, scaling, table.kinds, design, rules).with_rows_by_content()


@pytest.mark.filterwarnings("ignore")
def test_rows_stand_by_their_content_and_nothing_is_lost():
    X = mixed(0)
    left_alone = np.random.default_rng(2).random(X.shape) < 0.9
    rows = np.random.default_rng(1).permutation(M)
    first, shuffled = arranged(X, left_alone), arranged(X[rows], left_alone[rows])
    for of_first, of_shuffled in zip(vars(first).values(), vars(shuffled).values(), strict=True):
        np.testing.assert_array_equal(of_first, of_shuffled) if isinstance(of_first, np.ndarray) else None
    whole = np.vstack([first.values, first.rows])
    original = CanonicalTable.of(
        Table.of(X),
        Scaling.of(Table.of(X), "standardize"),
        Table.of(X).kinds,
        Design.of(~left_alone, Table.of(X)),
        EdgeRules.of(np.eye(5, dtype=bool)),
    )
    assert sorted(map(tuple, whole.T)) == sorted(map(tuple, np.vstack([original.values, original.rows]).T))


@pytest.mark.filterwarnings("ignore")
def test_half_of_a_table_that_stands_by_content_is_a_sample():
    """Every second row of a sorted column would have spacings too even for estimates of entropy."""
    values = arranged(np.random.default_rng(0).normal(size=(1000, 2))).values[0]
    chosen = np.sort(np.argsort(np.argsort(values))[::2])
    assert np.diff(chosen).std() > 1.0


@pytest.mark.filterwarnings("ignore")
def test_two_balanced_groups_stand_by_what_they_have_in_common_with_others():
    """Their moments are equal, and their third ones are zero."""
    rng = np.random.default_rng(0)
    x = rng.gamma(2.0, size=M)
    close, far = x > np.median(x), rng.permutation(M) < M // 2
    columns = np.column_stack([x, close, far])
    first = arranged(columns)
    for signs in ([1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [1.0, -1.0, -1.0]):
        for order in ([0, 1, 2], [2, 1, 0]):
            other = arranged((columns * signs)[:, order])
            np.testing.assert_allclose(other.values, first.values, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_neither_rows_nor_units_change_a_direction(seed):
    X = np.round(linear(seed)[:, :2], 1)
    first = causal_direction(*X.T)
    rows = np.random.default_rng(seed).permutation(M)
    assert causal_direction(*X[rows].T).score == first.score
    for change in (X * 2.54, X + 273.15, X * [1.0, -1.0], X.astype(np.float32)):
        assert causal_direction(*change.T).score == pytest.approx(first.score, abs=1e-4)
