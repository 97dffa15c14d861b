"""Interventions: what was set does not count, and what was done without saying what is found."""

import numpy as np
import pytest
from helpers import linear_chain
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from icdh import ICDH, DataWarning, HNMSearch, Interventions, Shift, bootstrap, posterior, refits, simulate
from icdh._table.experiments import Design
from icdh._table.table import Table
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


def test_search_uses_experiments(experiment):
    """Setting b tells its causes from its effects, which the distribution without it cannot."""
    table, _, mask = experiment
    model = clone(ESTIMATORS["search"]).fit(table, interventions=mask)
    assert_array_equal(model.adjacency_matrix_ != 0, [[0, 1, 0], [0, 0, 1], [0, 0, 0]])


@pytest.mark.parametrize("method", ESTIMATORS)
def test_conditions_and_mask_say_the_same(experiment, method):
    table, conditions, mask = experiment
    by_mask = clone(ESTIMATORS[method]).fit(table, interventions=mask)
    by_condition = clone(ESTIMATORS[method]).fit(
        table, interventions=Interventions(conditions, {"none": [], "set b": ["b"]})
    )
    assert_array_equal(by_mask.adjacency_matrix_, by_condition.adjacency_matrix_)
    assert by_mask.nll_ == by_condition.nll_
    assert by_condition.targets_ == {}


@pytest.mark.parametrize("method", ESTIMATORS)
def test_values_that_were_set_do_not_count(experiment, method):
    """The distribution of b given a is that of the rows where nobody set it."""
    table, _, mask = experiment
    knowledge = {"required": [("a", "b"), ("b", "c")], "forbidden": [("a", "c")]}
    model = clone(ESTIMATORS[method]).set_params(knowledge=knowledge).fit(table, interventions=mask)
    a = np.linspace(-1.5, 1.5, 7)
    mean = model.predict(np.column_stack([a, a, a]))[:, 1]
    assert_allclose(mean, 1.2 * a, atol=0.25)
    without = clone(ESTIMATORS[method]).set_params(knowledge=knowledge).fit(table)
    assert np.abs(without.predict(np.column_stack([a, a, a]))[:, 1] - 1.2 * a).max() > 0.4


@pytest.mark.parametrize("method", ESTIMATORS)
def test_no_interventions_change_nothing(experiment, method):
    table, conditions, mask = experiment
    plain = clone(ESTIMATORS[method]).fit(table)
    for nothing in (np.zeros_like(mask), Interventions(conditions, {"none": [], "set b": []})):
        model = clone(ESTIMATORS[method]).fit(table, interventions=nothing)
        assert_array_equal(model.adjacency_matrix_, plain.adjacency_matrix_)
        assert model.nll_ == plain.nll_


@pytest.mark.parametrize("method", ESTIMATORS)
def test_unknown_targets_are_found(method):
    rng = np.random.default_rng(1)
    X = np.vstack([linear_chain(rng, 250), linear_chain(rng, 150, shift=4.0)])
    interventions = Interventions(["none"] * 250 + ["drug"] * 150, {"none": [], "drug": None})
    knowledge = {"tiers": [["x0"], ["x1"], ["x2"]]}
    model = clone(ESTIMATORS[method]).set_params(knowledge=knowledge).fit(X, interventions=interventions)
    assert model.adjacency_matrix_.shape == (3, 3)
    assert list(model.targets_) == ["drug"]
    assert np.argmax(model.targets_["drug"]) == 1
    assert model.model_.conditionals[1].inputs.max() < 3
    # What is left is the model without the drug.
    baseline = X[:250]
    assert_allclose(model.predict(baseline)[:, 1].mean(), baseline[:, 1].mean(), atol=0.4)


@pytest.mark.parametrize("method", ESTIMATORS)
def test_a_variable_that_is_always_set_has_no_causes(experiment, method):
    table, _, mask = experiment
    with pytest.warns(DataWarning, match="'b' left alone in fewer than"):
        model = clone(ESTIMATORS[method]).fit(table, interventions=np.ones_like(mask) * [False, True, False] > 0)
    assert not model.adjacency_matrix_[:, 1].any()
    assert np.isfinite(model.nll_)


@pytest.mark.parametrize("method", ESTIMATORS)
def test_constant_columns_among_experiments(experiment, method):
    table, conditions, _ = experiment
    X = np.column_stack([np.ones(len(conditions)), table.values])
    with pytest.warns(DataWarning, match="constant"):
        model = clone(ESTIMATORS[method]).fit(X, interventions=Interventions(conditions, {"none": None, "set b": None}))
    assert not model.adjacency_matrix_[0].any()
    assert np.isfinite(model.nll_)
    assert model.targets_["set b"].shape == (4,)


def test_design(experiment):
    table, conditions, mask = experiment
    design = Design.of(Interventions(conditions, {"none": [], "set b": ["[b]"]}), Table.of(table))
    assert_array_equal(design.left_alone, ~mask.T)
    design = Design.of(Interventions(conditions, {"none": None, "set b": None}), Table.of(table))
    assert design.conditions == ["set b"]
    assert design.rows is None
    assert_allclose(np.mean(design.contexts**2, axis=1), 1.0)
    assert_array_equal(design.baseline, np.outer(np.ones(3), ~mask[:, 1]))  # what an unknown condition does is no noise
    assert Design.of(None, Table.of(table)).baseline is None
    few = Design.of(None, Table.of(table.values[:10]))
    assert not few.always_set.any()
    rules = design.rules(EdgeRules.of(np.eye(3, dtype=bool)))
    assert rules.forbidden[:, 3].all()
    assert not rules.forbidden[3, :3].any()


@pytest.mark.parametrize(
    ("interventions", "error", "message"),
    [
        (np.zeros((400, 2), dtype=bool), ValueError, "shape"),
        (np.zeros((400, 3)), TypeError, "boolean"),
        (Interventions(["a"], {"a": []}), ValueError, "1 conditions where X has 400 rows"),
        (Interventions(["a"] * 400, {"a": ["q"]}), ValueError, "'q' is no variable"),
    ],
)
def test_what_does_not_fit_the_table(experiment, interventions, error, message):
    table, _, _ = experiment
    with pytest.raises(error, match=message):
        HNMSearch().fit(table, interventions=interventions)
    with pytest.raises(error, match=message):
        bootstrap(HNMSearch(), table, 1, interventions=interventions)
    gaps = table.values.copy()
    gaps[0, 0] = np.nan
    with pytest.raises(error, match=message):
        HNMSearch(missing="drop").fit(LabelledTable(gaps, table.columns), interventions=interventions)


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["bootstrap", "subsample"])
def test_resampled_rows_keep_their_conditions(experiment, sampling):
    """The direction of a -> b rests on which rows were set: drawn apart from them, it would be lost."""
    table, conditions, mask = experiment
    labelled = Interventions(conditions, {"none": [], "set b": ["b"]})
    options = {"sampling": sampling, "random_state": 1}
    by_mask, by_label = (
        bootstrap(ESTIMATORS["search"], table, 4, interventions=given, **options) for given in (mask, labelled)
    )
    assert_array_equal(by_mask.graphs, by_label.graphs)
    assert by_mask.edge_probability[0, 1] == by_mask.edge_probability[1, 2] == 1.0
    models = refits(ESTIMATORS["search"], table, 4, interventions=labelled, **options)
    assert_array_equal(by_mask.graphs, [model.adjacency != 0 for model in models])
    assert models[0].names == ["a", "b", "c"]
    assert bootstrap(ESTIMATORS["search"], table, 4, **options).edge_probability[0, 1] < 1.0


def test_a_checkpoint_belongs_to_its_interventions(experiment, tmp_path):
    table, _, mask = experiment
    options = {"checkpoint": tmp_path / "c.jsonl"}
    bootstrap(ESTIMATORS["search"], table, 1, interventions=mask, **options)
    with pytest.raises(ValueError, match="checkpoint of other data"):
        bootstrap(ESTIMATORS["search"], table, 1, **options)


def test_the_posterior_knows_of_experiments(experiment):
    table, _, mask = experiment
    with_them = posterior(clone(ESTIMATORS["search"]).fit(table, interventions=mask)).edge_probability
    without = posterior(clone(ESTIMATORS["search"]).fit(table)).edge_probability
    assert with_them[0, 1] > 0.95 > without[0, 1]


def test_names_in_knowledge_and_kinds_hold_in_resamples(experiment):
    table, _, _ = experiment
    estimator = clone(ESTIMATORS["search"]).set_params(knowledge={"roots": ["c"]}, kinds={"a": "continuous"})
    assert not bootstrap(estimator, table, 2).edge_probability[:, 2].any()


def test_malformed_interventions():
    with pytest.raises(ValueError, match="nothing of condition 'b'"):
        Interventions(["a", "b"], {"a": []})
    with pytest.raises(TypeError, match="must map"):
        Interventions(["a"], ["a"])
    with pytest.raises(TypeError, match="must be a list"):
        Interventions(["a"], {"a": "dose"})
    with pytest.raises(TypeError, match="one label a row"):
        Interventions(np.zeros((2, 2)), {})


def test_simulated_experiments():
    data = simulate.simulate_sem(simulate.erdos_renyi(4, 1, random_state=0), 100, random_state=0)
    table = simulate.simulate_experiments(
        data, {"none": {}, "set": {"x1": 2.0, 3: -1.0}, "shift": {"x0": Shift(5.0)}}, 50, random_state=1
    )
    assert table.X.shape == (150, 4)
    assert_array_equal(table.X[50:100, [1, 3]], [[2.0, -1.0]] * 50)
    design = Design.of(table.interventions, Table.of(table.X))
    expected = np.ones((4, 150), dtype=bool)
    expected[[1, 3], 50:100] = expected[0, 100:] = False
    assert_array_equal(design.left_alone, expected)
    with pytest.raises(TypeError, match="every condition"):
        simulate.simulate_experiments(data, {})


@pytest.mark.parametrize("method", ESTIMATORS)
def test_a_part_of_the_rows_keeps_the_reference(method):
    """A gap in the one row that comes first must not change what the others are compared with."""
    rng = np.random.default_rng(0)
    conditions = ["control", *["a", "b", "control"] * 80]
    z = rng.normal(size=len(conditions)) + 3.0 * (np.array(conditions) == "a")
    X = np.column_stack([z, z + 0.5 * rng.normal(size=len(conditions))])
    given = Interventions(conditions, dict.fromkeys(conditions))
    X[0, 1] = np.nan
    model = clone(ESTIMATORS[method]).set_params(missing="drop").fit(X, interventions=given)
    assert list(model.targets_) == ["a", "b"]
    assert abs(model.sample(20_000, random_state=0)[:, 0].mean()) < 0.3
    assert given.of_rows(np.arange(1, 50)).contexts == ["a", "b"]
    assert given.of_rows([1, 4, 2]).contexts == ["b"]  # without a control, a is what b is compared with


def test_the_reference_may_be_named():
    given = Interventions(["a", "control", "b"], dict.fromkeys(["a", "control", "b"]), reference="control")
    assert given.contexts == given.of_rows([2, 1, 0]).contexts[::-1] == ["a", "b"]
    with pytest.raises(ValueError, match="reference must be a condition of unknown targets"):
        Interventions(["a", "b"], {"a": [], "b": None}, reference="a")


def test_half_of_the_rows_are_searched_like_all():
    """Of 32 rows that left a variable alone, enough for its causes to be searched, half of the table holds 16."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    y = np.tanh(2.0 * x) + (0.2 + 0.2 * (x > 0)) * rng.normal(size=300)
    mask = np.zeros((300, 2), dtype=bool)
    mask[rng.permutation(300)[32:], 1] = True
    y[mask[:, 1]] = rng.normal(size=mask[:, 1].sum())
    ensemble = bootstrap(ESTIMATORS["search"], np.column_stack([x, y]), 10, interventions=mask)
    assert ensemble.edge_probability[0, 1] > 0.8
    design = Design.of(mask, Table.of(np.column_stack([x, y])))
    assert not design.always_set.any()
    assert_array_equal(design.of_rows(np.flatnonzero(mask[:, 1])).always_set, [False, True])
