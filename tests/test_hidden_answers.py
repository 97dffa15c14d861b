"""Hidden common causes in tables that are not tidy, and in all that is asked of a fit afterwards."""

import warnings

import numpy as np
import pytest

import icdh
from icdh import HNMSearch, bootstrap
from icdh._node_model.hidden_input import HiddenInputConditional
from icdh.exceptions import ConvergenceWarning, DataWarning
from icdh.knowledge import Knowledge

NAMES = [f"x{k}" for k in range(6)]
ONE_WAY = {"forbidden": [("x3", "x0")]}  # covariances do not tell the direction


def table_of(seed=0, n=400, noise=None):
    """Five children of a hidden cause, the first a cause of the fourth, and a column beside them; the values."""
    rng = np.random.default_rng(seed)
    U = rng.normal(size=n)
    X = 0.9 * U[:, np.newaxis] * (-1.0) ** np.arange(5) + 0.6 * (noise or rng.normal)(size=(n, 5))
    X[:, 3] += 1.6 * X[:, 0]
    return np.column_stack([10.0 + 3.0 * X, rng.normal(size=n)]), U


def searched(X, **options):
    return HNMSearch(hidden_causes=True, n_restarts=1, **{"knowledge": ONE_WAY, **options}).fit(X)


def children_of(model):
    return [cause.children for cause in model.hidden_causes_]


@pytest.fixture(scope="module")
def table():
    return table_of()


@pytest.fixture(scope="module")
def found(table):
    return searched(table[0])


@pytest.mark.slow
def test_rows_in_another_order_and_other_units_have_the_same_hidden_cause(table, found):
    X, _ = table
    rows, units = np.random.default_rng(0).permutation(len(X)), np.array([1.0, 10.0, 0.1, 5.0, 100.0, 1e-3])
    other = searched(X[rows])
    np.testing.assert_array_equal(other.adjacency_matrix_, found.adjacency_matrix_)
    np.testing.assert_array_equal(other.hidden_values_.mean, found.hidden_values_.mean[rows])
    other = searched(X * units)
    assert children_of(other) == children_of(found) == [("x0", "x1", "x2", "x3", "x4")]
    np.testing.assert_allclose(other.hidden_values_.mean, found.hidden_values_.mean, atol=1e-9)
    np.testing.assert_allclose(
        other.hidden_causes_[0].loadings, found.hidden_causes_[0].loadings * units[:5], rtol=1e-9
    )
    np.testing.assert_allclose(other.score(X * units), found.score(X) - np.log(units).sum(), rtol=1e-9)


@pytest.mark.slow
def test_rows_with_gaps_are_left_out_and_count_for_nothing(table):
    X, _ = table
    gaps = np.random.default_rng(0).random(len(X)) < 0.1
    kept, with_gaps = X[~gaps], np.where(gaps[:, np.newaxis] & (np.arange(6) == 2), np.nan, X)
    whole, dropped = searched(kept), searched(with_gaps, missing="drop")
    np.testing.assert_array_equal(dropped.adjacency_matrix_, whole.adjacency_matrix_)
    np.testing.assert_array_equal(dropped.hidden_values_.mean, whole.hidden_values_.mean)
    assert dropped.hidden_causes_[0].strength == whole.hidden_causes_[0].strength
    with pytest.raises(ValueError, match="gaps"):
        dropped.hidden_values(with_gaps)


def test_samples_have_the_distributions_of_the_columns_and_predictions_know_no_hidden_value(table, found):
    X, U = table
    drawn = found.sample(40_000, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.15)
    np.testing.assert_allclose(drawn.std(axis=0), X.std(axis=0), rtol=0.06)
    np.testing.assert_allclose(np.corrcoef(drawn[:, :5].T), np.corrcoef(X[:, :5].T), atol=0.08)
    known = found.hidden_values_.mean[:, 0]
    assert abs(np.corrcoef(known, U)[0, 1]) > 0.9
    rest = X - found.predict(X)
    assert all(abs(np.corrcoef(rest[:, k], known)[0, 1]) > 0.5 for k in range(5))  # what the hidden cause adds is left
    np.testing.assert_allclose(rest[:, :5].std(axis=0), found.predict_scale(X)[:, :5].mean(axis=0), rtol=0.1)


def test_what_is_set_does_not_tell_the_hidden_value(found):
    """Under do(x0) the other children keep their joint distribution; given x0 they do not."""
    plain = found.sample(20_000, random_state=1)
    done = found.sample(20_000, random_state=1, do={"x0": 16.0})
    np.testing.assert_array_equal(done[:, [1, 2, 4, 5]], plain[:, [1, 2, 4, 5]])
    given = plain[np.abs(plain[:, 0] - 16.0) < 1.0]
    assert np.abs(given[:, [1, 2, 4]].mean(axis=0) - plain[:, [1, 2, 4]].mean(axis=0)).min() > 2.0
    with pytest.warns(DataWarning, match="by no path"):
        effects = found.average_effect("x0", "x1", [8.0, 16.0])
    np.testing.assert_allclose(effects.mean[0], effects.mean[1], atol=1e-9)
    assert [(effect.cause, effect.effect) for effect in found.effects()] == [("x0", "x3")]


def test_counterfactuals_keep_the_hidden_value_of_each_row(table, found):
    X, _ = table
    np.testing.assert_allclose(found.counterfactual(X, {"x3": X[:, 3]}), X, rtol=1e-10)
    moved = found.counterfactual(X, {"x0": 0.0})
    assert np.corrcoef(moved[:, 3], found.hidden_values_.mean[:, 0])[0, 1] ** 2 > 0.5
    again = found.counterfactual(moved, {"x0": 1.0})
    assert np.ptp(again[:, 3] - moved[:, 3]) < 3.0  # near to one effect for all, though the rows moved are others


def test_files_keep_every_answer_to_the_last_bit(table, found, tmp_path):
    X, _ = table
    found.save(tmp_path / "m.icdh")
    again = icdh.load(tmp_path / "m.icdh")
    questions = (
        lambda model: model.score(X),
        lambda model: model.predict(X),
        lambda model: model.predict_scale(X),
        lambda model: model.sample(50, random_state=0),
        lambda model: model.sample(50, random_state=0, do={"x0": 9.0}),
        lambda model: model.counterfactual(X, {"x0": 9.0}),
        lambda model: model.hidden_values(X).mean,
        lambda model: model.hidden_values(X).spread,
        lambda model: model.bidirected_edges(),
        lambda model: model.average_effect("x0", "x3", [9.0, 11.0]).mean,
    )
    for ask in questions:
        np.testing.assert_array_equal(ask(again), ask(found.model_))
    assert [again.to_dot(), again.to_gml(), again.summary()] == [found.to_dot(), found.to_gml(), found.summary()]


@pytest.mark.slow
def test_thresholds_leave_the_hidden_cause_and_its_values(table, found):
    X, _ = table
    bare = searched(X, max_edges=0)
    assert not bare.adjacency_matrix_.any()
    assert children_of(bare) == children_of(found)
    assert bare.edge_strength_[0, 3] == found.edge_strength_[0, 3]
    assert bare.score(X) < found.score(X) - 0.1
    assert np.isfinite(bare.hidden_values_.mean).all()


@pytest.mark.slow
def test_roots_and_required_edges_hold_beside_a_hidden_cause(table):
    known = Knowledge(roots=["x3"], required=[("x2", "x4")], forbidden=[("x3", "x0")])
    model = searched(table[0], knowledge=known)
    assert model.adjacency_matrix_[2, 4] > 0.0
    assert not model.adjacency_matrix_[:, 3].any()


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 5000])
def test_few_and_many_rows_tell_the_hidden_cause(n):
    X, U = table_of(1, n)
    model = searched(X)
    assert children_of(model) == [("x0", "x1", "x2", "x3", "x4")]
    assert abs(np.corrcoef(model.hidden_values_.mean[:, 0], U)[0, 1]) > 0.9


@pytest.mark.slow
def test_a_child_that_arrows_from_its_siblings_made_look_like_one_is_found():
    """At 5000 rows a climb of single edges ends with arrows of three siblings in place of one edge from their cause."""
    X, _ = table_of(2, 5000)
    model = searched(X)
    assert children_of(model) == [tuple(NAMES[:5])]
    assert np.argwhere(model.adjacency_matrix_).tolist() == [[0, 3]]


@pytest.mark.slow
def test_a_hidden_cause_that_is_named_is_worth_what_it_is_worth_unnamed(table, found):
    named = searched(table[0], knowledge={**ONE_WAY, "hidden": [NAMES[:5]]})
    assert children_of(named) == children_of(found)
    np.testing.assert_array_equal(named.adjacency_matrix_ != 0.0, found.adjacency_matrix_ != 0.0)
    assert named.hidden_causes_[0].strength > found.hidden_causes_[0].strength - 0.5


@pytest.mark.slow
def test_two_hidden_causes_that_are_named_keep_their_children():
    first, second = table_of(1)[0], table_of(2)[0]
    X = np.column_stack([first[:, [0, 1, 2, 4]], second[:, [0, 1, 2, 4]]])
    names = [f"x{k}" for k in range(8)]
    model = searched(X, knowledge={"hidden": [names[4:], names[:3]]})
    assert {*children_of(model)} == {tuple(names[:4]), tuple(names[4:])}
    assert not model.adjacency_matrix_.any()


@pytest.mark.slow
def test_rounded_columns_are_children_and_samples_keep_their_spread():
    X, U = table_of(n=800)
    X = np.round(2.0 * X) / 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = searched(X)
    assert "gridded" in model.kinds_
    assert children_of(model) == [("x0", "x1", "x2", "x3", "x4")]
    assert abs(np.corrcoef(model.hidden_values_.mean[:, 0], U)[0, 1]) > 0.9
    drawn = model.sample(20_000, random_state=0)
    np.testing.assert_allclose(drawn.std(axis=0), X.std(axis=0), rtol=0.06)
    np.testing.assert_allclose(np.corrcoef(drawn.T), np.corrcoef(X.T), atol=0.08)


@pytest.mark.slow
def test_heavy_tails_have_finite_answers():
    """With such noise arrows under Student's distribution beat a Gaussian hidden cause, the true one, too."""
    rng = np.random.default_rng(3)
    X, _ = table_of(3, 600, lambda size: rng.standard_t(2, size=size))
    model = searched(X, knowledge={**ONE_WAY, "hidden": [NAMES[:5]]})
    assert children_of(model) == [tuple(NAMES[:5])]
    assert np.isfinite([model.score(X), model.evidence_]).all()
    assert np.isfinite(model.hidden_values_.mean).all()


@pytest.mark.slow
def test_a_hidden_cause_of_transformed_columns_is_an_input_in_their_own_units():
    """On logarithms it adds to its children, and so it multiplies them: no factor of the noise does that."""
    X, U = table_of(2, 1000)
    X = np.exp(0.2 * (X - 10.0))
    model, plain = searched(X[:500]), HNMSearch(n_restarts=1, knowledge=ONE_WAY).fit(X[:500])
    assert model.column_transform_ == "log"
    assert {type(model.model_.conditionals[k]) for k in range(5)} == {HiddenInputConditional}
    assert model.score(X[500:]) > plain.score(X[500:]) + 0.3
    assert abs(np.corrcoef(model.hidden_values(X[500:]).mean[:, 0], U[500:])[0, 1]) > 0.9
    np.testing.assert_allclose(model.counterfactual(X, {"x0": X[:, 0]}), X, rtol=1e-8)


@pytest.mark.slow
def test_resamples_have_hidden_causes_and_not_the_thicket_without_them(table):
    X, _ = table
    asked, plain = (HNMSearch(hidden_causes=asked, n_restarts=1, knowledge=ONE_WAY) for asked in (True, False))
    among = np.ix_([0, 1, 2, 4], [0, 1, 2, 4])
    with_hidden, without = (bootstrap(own, X, n_resamples=4, random_state=0) for own in (asked, plain))
    assert with_hidden.edge_probability[among].sum() < 0.5 * without.edge_probability[among].sum()
    assert with_hidden.edge_probability[0, 3] == 1.0


@pytest.mark.slow
def test_what_ends_a_fit_within_the_rounds_leaves_a_whole_model(table, monkeypatch):
    """The graph before the rounds is kept, and all that can be asked of it has an answer."""
    X, _ = table

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("icdh._estimators.hidden_causes.search_orders", stop)
    with pytest.warns(ConvergenceWarning, match="interrupted after"):
        model = searched(X)
    monkeypatch.undo()
    plain = HNMSearch(n_restarts=1, knowledge=ONE_WAY).fit(X)
    assert model.interrupted_
    assert model.hidden_causes_ == []
    np.testing.assert_array_equal(model.adjacency_matrix_ != 0.0, plain.adjacency_matrix_ != 0.0)
    assert np.isfinite([model.score(X), *model.sample(10, random_state=0).ravel()]).all()
