"""Interventions: what was set does not count, and what was done without saying what is found."""

import numpy as np
import pytest
from helpers import cases, linear_chain
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from support.table import Design, Table

from icdh import ICDH, DataWarning, HNMSearch, Interventions, Shift, bootstrap, posterior, refits, simulate
from icdh.files import LabelledTable
from icdh.knowledge import EdgeRules

ESTIMATORS = {
    "icdh": ICDH(hidden_units=4, scaling="standardize", bias=True, max_rounds=3),
    "search": HNMSearch(hidden_units=3, n_restarts=1, noise_distribution="gaussian"),
}
pytestmark = pytest.mark.filterwarnings("ignore::icdh.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def experiment():
    """A table, the condition of every row, and where values were set."""
    rng = np.random.default_rng(0)
    X = np.vstack([linear_chain(rng, 200), linear_chain(rng, 200, b_set=True)])
    mask = np.zeros(X.shape, dtype=bool)
    mask[200:, 1] = True
    return LabelledTable(X, ["a", "b", "c"]), ["none"] * 200 + ["set b"] * 200, mask


def fitted(method, X, interventions=None, **parameters):
    return clone(ESTIMATORS[method]).set_params(**parameters).fit(X, interventions=interventions)


def test_search_uses_experiments(experiment):
    """Setting b tells its causes from its effects, which the distribution without it cannot: the posterior, too."""
    table, _, mask = experiment
    model = fitted("search", table, mask)
    assert_array_equal(model.adjacency_matrix_ != 0, np.eye(3, k=1))
    with_them, without = (posterior(own).edge_probability[0, 1] for own in (model, fitted("search", table)))
    assert with_them > 0.95 > without


@pytest.mark.parametrize("method", ESTIMATORS)
def test_conditions_and_mask_say_the_same_and_no_interventions_change_nothing(experiment, method):
    table, conditions, mask = experiment
    for same in (
        (mask, Interventions(conditions, {"none": [], "set b": ["b"]})),
        (None, np.zeros_like(mask), Interventions(conditions, {"none": [], "set b": []})),
    ):
        first, *others = (fitted(method, table, given) for given in same)
        for other in others:
            assert_array_equal(other.adjacency_matrix_, first.adjacency_matrix_)
            assert (other.nll_, other.targets_) == (first.nll_, {})


@pytest.mark.parametrize("method", ESTIMATORS)
def test_values_that_were_set_do_not_count(experiment, method):
    """The distribution of b given a is that of the rows where nobody set it."""
    table, _, mask = experiment
    knowledge = {"required": [("a", "b"), ("b", "c")], "forbidden": [("a", "c")]}
    a = np.linspace(-1.5, 1.5, 7)
    mean, without = (
        fitted(method, table, own, knowledge=knowledge).predict(np.column_stack([a, a, a]))[:, 1]
        for own in (mask, None)
    )
    assert_allclose(mean, 1.2 * a, atol=0.25)
    assert np.abs(without - 1.2 * a).max() > 0.4


@pytest.mark.parametrize("method", ESTIMATORS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_likelihood_is_a_mean_over_the_rows_that_count(experiment, method, weighted):
    """So that it does not fall with the number of rows of which nothing is told."""
    table, conditions, mask = experiment
    count, weights = ~mask.any(axis=1), np.random.default_rng(0).uniform(0.5, 2.0, size=len(mask)) if weighted else None
    of_rows = None if weights is None else weights[count]
    given = Interventions(conditions, {"none": None, "set b": None})
    model = clone(ESTIMATORS[method]).fit(table, interventions=given, sample_weight=weights)
    score = model.score(table.values[count], sample_weight=of_rows)
    assert model.nll_ == pytest.approx(-score - np.log(model.scale_).sum(), rel=1e-4)
    values = model.model_.scaled(table)
    nats_of_rows = [model.model_.nll(values[:, [m]], None, None) for m in np.flatnonzero(count)]
    found = model.model_.nll(values, np.tile(count, (3, 1)), weights)
    assert found == pytest.approx(np.average(nats_of_rows, weights=of_rows), rel=1e-9)
    assert model.model_.nll(values, np.zeros_like(mask.T), weights) == 0.0


@pytest.mark.parametrize("method", ESTIMATORS)
def test_unknown_targets_are_found(method):
    rng = np.random.default_rng(1)
    X = np.vstack([linear_chain(rng, 250), linear_chain(rng, 150, shift=4.0)])
    given = Interventions(["none"] * 250 + ["drug"] * 150, {"none": [], "drug": None})
    model = fitted(method, X, given, knowledge={"tiers": [["x0"], ["x1"], ["x2"]]})
    assert model.adjacency_matrix_.shape == (3, 3)
    assert (list(model.targets_), np.argmax(model.targets_["drug"])) == (["drug"], 1)
    assert model.model_.conditionals[1].inputs.max() < 3
    assert method == "icdh" or posterior(model, n_samples=9).edge_probability.shape == (3, 3)
    # What is left is the model without the drug.
    assert_allclose(model.predict(X[:250])[:, 1].mean(), X[:250, 1].mean(), atol=0.4)


@pytest.mark.parametrize("method", ESTIMATORS)
def test_a_variable_that_is_always_set_has_no_causes(experiment, method):
    table, _, mask = experiment
    with pytest.warns(DataWarning, match="'b' left alone in fewer than"):
        model = fitted(method, table, np.ones_like(mask) & [False, True, False])
    assert not model.adjacency_matrix_[:, 1].any()
    assert np.isfinite(model.nll_)


@pytest.mark.parametrize("method", ESTIMATORS)
def test_constant_columns_among_experiments(experiment, method):
    table, conditions, _ = experiment
    X = np.column_stack([np.ones(len(conditions)), table.values])
    with pytest.warns(DataWarning, match="constant"):
        model = fitted(method, X, Interventions(conditions, {"none": None, "set b": None}))
    assert not model.adjacency_matrix_[0].any()
    assert np.isfinite(model.nll_)
    assert model.targets_["set b"].shape == (4,)


def test_design(experiment):
    table, conditions, mask = experiment
    design = Design.of(Interventions(conditions, {"none": [], "set b": ["[b]"]}), Table.of(table))
    assert_array_equal(design.left_alone, ~mask.T)
    design = Design.of(Interventions(conditions, {"none": None, "set b": None}), Table.of(table))
    assert (design.conditions, design.rows) == (["set b"], None)
    assert_allclose(np.mean(design.contexts**2, axis=1), 1.0)
    assert_array_equal(design.baseline, np.outer(np.ones(3), ~mask[:, 1]))  # what an unknown condition does is no noise
    rules = design.rules(EdgeRules.of(np.eye(3, dtype=bool)))
    assert rules.forbidden[:, 3].all()
    assert not rules.forbidden[3, :3].any()
    halves = ["none", "set b"] * 100 + ["none", "set c"] * 100
    both = Design.of(Interventions(halves, {"none": [], "set b": None, "set c": None}), Table.of(table))
    weights = np.arange(25.0).reshape(5, 5)
    assert {name: of.tolist() for name, of in both.targets(weights).items()} == {
        "set b": [15, 16, 17],
        "set c": [20, 21, 22],
    }
    few = Design.of(None, Table.of(table.values[:10]))
    assert few.baseline is None
    assert not few.always_set.any()


@cases(
    ("interventions", "error", "message"),
    (np.zeros((400, 2), dtype=bool), ValueError, "shape"),
    (np.zeros((400, 3)), TypeError, "boolean"),
    (Interventions(["a"], {"a": []}), ValueError, "1 conditions where X has 400 rows"),
    (Interventions(["a"] * 400, {"a": ["q"]}), ValueError, "'q' is no variable"),
)
def test_what_does_not_fit_the_table(experiment, interventions, error, message):
    table, _, _ = experiment
    gaps = LabelledTable(np.where(np.arange(1200).reshape(400, 3) == 0, np.nan, table.values), table.columns)
    for fit in (
        lambda: HNMSearch().fit(table, interventions=interventions),
        lambda: bootstrap(HNMSearch(), table, 1, interventions=interventions),
        lambda: HNMSearch(missing="drop").fit(gaps, interventions=interventions),
    ):
        with pytest.raises(error, match=message):
            fit()


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["bootstrap", "subsample"])
def test_resampled_rows_keep_their_conditions(experiment, sampling):
    """The direction of a -> b rests on which rows were set: drawn apart from them, it would be lost."""
    table, conditions, mask = experiment
    search, options = ESTIMATORS["search"], {"sampling": sampling, "random_state": 1}
    labelled = Interventions(conditions, {"none": [], "set b": ["b"]})
    by_mask, by_label = (bootstrap(search, table, 4, interventions=given, **options) for given in (mask, labelled))
    assert_array_equal(by_mask.graphs, by_label.graphs)
    assert by_mask.edge_probability[0, 1] == by_mask.edge_probability[1, 2] == 1.0
    models = refits(search, table, 4, interventions=labelled, **options)
    assert_array_equal(by_mask.graphs, [model.adjacency != 0 for model in models])
    assert [model.names for model in models] == [["a", "b", "c"]] * 4
    assert len({model.score(table) for model in models}) == 4
    assert not hasattr(search, "model_")
    assert bootstrap(search, table, 4, **options).edge_probability[0, 1] < 1.0


def test_names_in_knowledge_and_kinds_hold_in_resamples(experiment):
    estimator = clone(ESTIMATORS["search"]).set_params(knowledge={"roots": ["c"]}, kinds={"a": "continuous"})
    assert not bootstrap(estimator, experiment[0], 2).edge_probability[:, 2].any()


@cases(
    ("arguments", "error", "message"),
    ((["a", "b"], {"a": []}), ValueError, "targets lack condition 'b'"),
    ((["a"], ["a"]), TypeError, "must map"),
    ((["a"], {"a": "dose"}), TypeError, "must be a list"),
    ((np.zeros((2, 2)), {}), TypeError, "one label a row"),
    ((["a", ["b"]], {"a": []}), TypeError, r"one label a row; got \['b'\]"),
    ((["a", "b"], {"a": [], "b": None}, "a"), ValueError, "reference must be a condition of unknown targets"),
)
def test_malformed_interventions(arguments, error, message):
    with pytest.raises(error, match=message):
        Interventions(*arguments)


def test_the_reference_may_be_named():
    given = Interventions(["a", "control", "b"], dict.fromkeys(["a", "control", "b"]), reference="control")
    assert given.contexts == given.of_rows([2, 1, 0]).contexts[::-1] == ["a", "b"]


def test_rows_of_a_simulation_are_left_alone_where_nobody_set_them():
    data = simulate.simulate_sem(simulate.erdos_renyi(4, 1, random_state=0), 100, random_state=0)
    done = {"none": {}, "set": {"x1": 2.0, 3: -1.0}, "shift": {"x0": Shift(5.0)}}
    X = np.concatenate([data.sample(50, 1, do=actions) for actions in done.values()])
    assert_array_equal(X[50:100, [1, 3]], [[2.0, -1.0]] * 50)
    expected = np.ones((4, 150), dtype=bool)
    expected[[1, 3], 50:100] = expected[0, 100:] = False
    given = Interventions(np.repeat(list(done), 50), {condition: list(actions) for condition, actions in done.items()})
    assert_array_equal(Design.of(given, Table.of(X)).left_alone, expected)


@pytest.mark.parametrize("method", ESTIMATORS)
def test_a_part_of_the_rows_keeps_the_reference(method):
    """A gap in the one row that comes first must not change what the others are compared with."""
    conditions = np.array(["control", *["a", "b", "control"] * 80])
    z, noise = np.random.default_rng(0).normal(size=(2, conditions.size))
    z += 3.0 * (conditions == "a")
    X = np.column_stack([z, z + 0.5 * noise])
    X[0, 1] = np.nan
    given = Interventions(conditions, dict.fromkeys(conditions.tolist()))
    model = fitted(method, X, given, missing="drop")
    assert list(model.targets_) == ["a", "b"]
    assert abs(model.sample(20_000, random_state=0)[:, 0].mean()) < 0.3
    assert given.of_rows(np.arange(1, 50)).contexts == ["a", "b"]
    assert given.of_rows([1, 4, 2]).contexts == ["b"]  # without a control, a is what b is compared with


def test_half_of_the_rows_are_searched_like_all():
    """Of 32 rows that left a variable alone, enough for its causes to be searched, half of the table holds 16."""
    rng = np.random.default_rng(0)
    x, noise, set_to = rng.normal(size=(3, 300))
    mask = np.zeros((300, 2), dtype=bool)
    mask[rng.permutation(300)[32:], 1] = True
    X = np.column_stack([x, np.where(mask[:, 1], set_to, np.tanh(2.0 * x) + (0.2 + 0.2 * (x > 0)) * noise)])
    assert bootstrap(ESTIMATORS["search"], X, 10, interventions=mask).edge_probability[0, 1] > 0.8
    design = Design.of(mask, Table.of(X))
    assert not design.always_set.any()
    assert_array_equal(design.of_rows(np.flatnonzero(mask[:, 1])).always_set, [False, True])


SET_FROM = {  # drawn where nobody sets it, and where it is set
    "yes or no": (lambda rng, n: rng.random(n) < 0.2, lambda rng, n: rng.random(n) < 0.8),
    "never yes": (lambda rng, n: np.zeros(n), lambda rng, n: np.ones(n)),
    "grades": (lambda rng, n: np.zeros(n), lambda rng, n: rng.integers(1, 4, n)),
    "counts": (lambda rng, n: rng.poisson(1.5, n), lambda rng, n: rng.poisson(6.0, n)),
    "amounts": (
        lambda rng, n: rng.exponential(size=n) * (rng.random(n) < 0.3),
        lambda rng, n: rng.exponential(size=n) * (rng.random(n) < 0.9),
    ),
    "labels": (lambda rng, n: np.zeros(n), lambda rng, n: rng.integers(0, 4, n)),
}


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@pytest.mark.parametrize("kind", SET_FROM)
def test_rows_that_set_a_column_tell_nothing_of_its_shares(kind):
    """Without causes it has the shares of the other rows; any column would explain the difference."""
    rng, n = np.random.default_rng(1), 500
    is_set, a = rng.random(n) < 0.5, rng.normal(size=n)
    by_itself, by_us = (draw(rng, n).astype(float) for draw in SET_FROM[kind])
    X = np.column_stack([a, np.tanh(a) + 0.3 * rng.normal(size=n), np.where(is_set, by_us, by_itself)])
    kinds = {2: "categorical"} if kind == "labels" else None
    conditions = np.where(is_set, "drug", "control").tolist()
    model = HNMSearch(kinds=kinds).fit(X, interventions=Interventions(conditions, {"control": [], "drug": [2]}))
    assert not model.adjacency_matrix_[:, 2].any()
    drawn = np.asarray(model.sample(20_000, random_state=0))[:, 2].astype(float)
    assert (drawn == 0.0).mean() == pytest.approx((X[~is_set, 2] == 0.0).mean(), abs=0.02)
