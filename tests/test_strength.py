"""What edges are worth, and graphs of those worth most."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers import hetero_chain
from numpy.testing import assert_array_equal
from sklearn.base import clone

from icdh import ICDH, ConvergenceWarning, DataWarning, HNMSearch, Interventions
from icdh._estimators import graph_search
from icdh._estimators.data_warnings import warn_about_density
from icdh._ground.density import gaussian_nll
from icdh.knowledge import EdgeRules
from icdh.network import forward

ESTIMATORS = {
    "icdh": ICDH(hidden_units=4, scaling="standardize", bias=True, threshold=0.0, edge_cost=None),
    "search": HNMSearch(hidden_units=3, n_restarts=1, noise_distribution="gaussian", edge_penalty=0.0),
}
pytestmark = pytest.mark.filterwarnings("ignore::icdh.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def dense():
    """Eight variables that one which nobody measured causes, all in the same manner."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=300)
    return np.column_stack([np.tanh(hidden) + 0.3 * rng.normal(size=300) for _ in range(8)])


def fitted(method, X, **parameters):
    return clone(ESTIMATORS[method]).set_params(**parameters).fit(X)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::icdh.exceptions.DataWarning")
@pytest.mark.parametrize("method", ESTIMATORS)
def test_the_edges_worth_most_stay(method, dense):
    model = fitted(method, dense)
    worth = model.edge_strength_[model.adjacency_matrix_ != 0]
    limited = fitted(method, dense, max_edges=4)
    assert np.count_nonzero(limited.adjacency_matrix_) == 4
    assert limited.edge_strength_[limited.adjacency_matrix_ != 0].min() >= np.sort(worth)[-4]
    cut = float(np.median(worth))
    limited = fitted(method, dense, min_strength=cut)
    assert_array_equal(limited.adjacency_matrix_ != 0, (model.adjacency_matrix_ != 0) & (model.edge_strength_ >= cut))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::icdh.exceptions.DataWarning")
@pytest.mark.parametrize("method", ESTIMATORS)
def test_rethreshold_is_fitting_with_other_thresholds(method, dense):
    model = fitted(method, dense, max_edges=2)
    assert model.rethreshold(max_edges=4, min_strength=1.0) is model
    expected = fitted(method, dense, max_edges=4, min_strength=1.0)
    assert_array_equal(model.adjacency_matrix_, expected.adjacency_matrix_)
    assert (model.max_edges, model.min_strength) == (4, 1.0)
    with pytest.raises(ValueError, match="min_strength"):
        model.rethreshold(min_strength=-1.0, max_edges=1)
    with pytest.raises(TypeError, match="max_edges"):
        model.rethreshold(max_edges=1.5)
    assert model.max_edges == 4


def skewed_chain(rng, n_rows):
    """Rows of x0 -> x1 -> x2, whose means are far from zero."""
    x0 = rng.gamma(2.0, size=n_rows)
    x1 = x0 + (0.1 + 0.2 * x0) * rng.normal(size=n_rows)
    return np.column_stack([x0, x1, 0.5 * x1 + 0.3 * np.abs(x1) * rng.normal(size=n_rows) + 3.0])


PRUNED = {
    "search": HNMSearch(noise_distribution="gaussian"),
    "search, other noise": HNMSearch(noise_distribution="student", hidden_units=3),
    "search, long": HNMSearch(column_transform="none"),
    "icdh": ICDH(),
    "icdh, intercepts": ICDH(scaling="standardize", bias=True),
    "icdh, two phases": ICDH(scaling="standardize", edge_cost=None),
    "icdh, constant noise": ICDH(noise="unequal"),
}


@pytest.mark.slow
@pytest.mark.parametrize("estimator", PRUNED.values(), ids=PRUNED)
@pytest.mark.parametrize("again", [False, True], ids=["fit", "rethreshold"])
def test_a_pruned_model_is_that_of_the_graph_that_stays(estimator, again, monkeypatch):
    monkeypatch.setattr(graph_search, "TUNING", replace(graph_search.TUNING, subsample=500, long_table=600))
    X = skewed_chain(np.random.default_rng(0), 800)
    whole = clone(estimator).fit(X)
    assert np.count_nonzero(whole.adjacency_matrix_) >= 2
    pruned = whole.rethreshold(max_edges=0) if again else clone(estimator).set_params(max_edges=0).fit(X)
    assert not pruned.adjacency_matrix_.any()
    marginal = np.square(X - X.mean(axis=0)).mean(axis=0)
    nll = 0.5 * np.log(2 * np.pi * marginal).sum() + 1.5
    assert pruned.score(X) == pytest.approx(-nll, abs=0.01)
    assert pruned.nll_ == pytest.approx(nll - np.log(pruned.scale_).sum(), abs=0.01)
    np.testing.assert_allclose(pruned.predict(X), np.tile(X.mean(axis=0), (len(X), 1)), atol=0.01)
    np.testing.assert_allclose(pruned.predict_scale(X), np.tile(np.sqrt(marginal), (len(X), 1)), rtol=0.01)
    drawn = pruned.sample(20_000, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.1)
    np.testing.assert_allclose(drawn.std(axis=0), X.std(axis=0), rtol=0.05)


def test_what_is_left_out_and_taken_back_leaves_no_trace():
    X = skewed_chain(np.random.default_rng(0), 400)
    model = fitted("search", X)
    before = model.nll_, model.evidence_, model.predict(X)
    model.rethreshold(max_edges=1)
    assert model.nll_ > before[0] + 0.01
    assert model.evidence_ < before[1] - 1.0
    assert model.nll_ == fitted("search", X, max_edges=1).nll_
    model.rethreshold(max_edges=6)
    assert (model.nll_, model.evidence_) == before[:2]
    assert_array_equal(model.predict(X), before[2])


@pytest.mark.parametrize("noise", ["heteroscedastic", "unequal", "equal"])
@pytest.mark.parametrize("edge_cost", ["auto", None])
def test_a_network_is_refitted_to_the_graph_that_stays(noise, edge_cost):
    X = skewed_chain(np.random.default_rng(0), 400)
    model = ICDH(noise=noise, edge_cost=edge_cost).fit(X)
    before = model.nll_, model.predict(X), model.weights_
    model.rethreshold(max_edges=1)
    assert np.count_nonzero(model.adjacency_matrix_) == 1
    assert model.nll_ > before[0] + 0.01
    assert model.nll_ == pytest.approx(-model.score(X), abs=1e-12)
    kept = model.adjacency_matrix_ != 0.0
    assert [list(own.inputs) for own in model.model_.conditionals] == [
        list(np.flatnonzero(causes)) for causes in kept.T
    ]
    model.rethreshold(max_edges=6)
    assert model.nll_ == before[0]
    assert_array_equal(model.predict(X), before[1])
    assert_array_equal(model.weights_, before[2])


def test_labels_and_conditions_that_stay_are_refitted_with_the_others():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 2))
    colour = np.where(x[:, 0] + 0.5 * rng.normal(size=600) > 0, "red", "blue")
    X = pd.DataFrame({"x": x[:, 0], "colour": colour, "y": x[:, 0] + 0.3 * x[:, 1], "z": rng.normal(size=600)})
    conditions = np.where(np.arange(600) < 300, "none", "drug")
    X.loc[conditions == "drug", "z"] += 3.0
    unknown = Interventions(conditions, {"none": [], "drug": None})
    with pytest.warns(DataWarning, match="labels"):
        model = HNMSearch(noise_distribution="gaussian", max_edges=0).fit(X, interventions=unknown)
    assert not model.adjacency_matrix_.any()
    assert model.targets_["drug"][3] > 100.0
    drawn = model.sample(5000, random_state=0)
    assert (drawn["colour"] == "red").mean() == pytest.approx((colour == "red").mean(), abs=0.03)
    assert drawn["z"].std() == pytest.approx(1.0, abs=0.1)  # as it is where nobody intervened


def test_a_search_that_was_cut_short_is_pruned_all_the_same():
    X = skewed_chain(np.random.default_rng(0), 2500)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = HNMSearch(max_seconds=1e-9, knowledge={"required": [(0, 1)]}).fit(X)
    assert np.isfinite(model.rethreshold(max_edges=0).score(X))
    assert_array_equal(np.argwhere(model.adjacency_matrix_), [[0, 1]])


@pytest.mark.parametrize("method", ESTIMATORS)
def test_strength_is_in_nats(method):
    """Edges of the chain are worth about what regressions say; what is absent is worth next to nothing."""
    X = hetero_chain(np.random.default_rng(0), 400)
    model = fitted(method, X)
    truth = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    least = model.edge_strength_[truth].min()
    assert least > 100.0
    assert model.edge_strength_[~truth].max() < 0.05 * least


@pytest.mark.parametrize("bias", [False, True])
def test_strength_is_what_the_likelihood_loses_where_an_input_is_held_at_its_mean(bias):
    """By the network's own forward pass, one edge after the other; intercepts are no inputs."""
    X = hetero_chain(np.random.default_rng(3), 150)
    model = ICDH(random_state=0, bias=bias, edge_cost=None).fit(X)
    mean, scale = (part.T for part in forward(X, model.network_))
    for i, n in np.argwhere(model.weights_ > 0.0):
        held = X.copy()
        held[:, i] = X[:, i].mean()
        other_mean, other_scale = (part.T for part in forward(held, model.network_))
        node = slice(n, n + 1)
        lost = gaussian_nll(X.T[node], other_mean[node], other_scale[node]) - gaussian_nll(
            X.T[node], mean[node], scale[node]
        )
        assert model.edge_strength_[i, n] == pytest.approx(max(len(X) * lost, 0.0), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("method", ESTIMATORS)
def test_required_edges_stay_whatever_they_are_worth(method):
    X = hetero_chain(np.random.default_rng(0), 200)
    knowledge = {"required": [(2, 0)]}
    model = fitted(method, X, knowledge=knowledge, max_edges=1, min_strength=1e9)
    assert_array_equal(np.argwhere(model.adjacency_matrix_), [[2, 0]])


@pytest.mark.parametrize("method", ESTIMATORS)
def test_dense_graphs_are_warned_of(method, dense):
    with pytest.warns(DataWarning, match=r"of 28 possible edges") as caught:
        model = fitted(method, dense)
    with pytest.warns(DataWarning, match=r"of 28 possible edges"):
        model.rethreshold(max_edges=15)
    assert caught[-1].filename == __file__
    model.rethreshold(max_edges=14)


def test_density():
    A = np.triu(np.ones((8, 8)), k=1)
    with pytest.warns(DataWarning, match="28 of 28"):
        warn_about_density(A)
    warn_about_density(A * (np.cumsum(A).reshape(8, 8) <= 14))
    warn_about_density(np.triu(np.ones((7, 7)), k=1))


def test_required_edges_count_as_the_first():
    A, worth = np.triu(np.ones((3, 3)), k=1), np.zeros((3, 3))
    worth[0, 1], worth[0, 2], worth[1, 2] = 1.0, 3.0, 2.0
    required = np.zeros((3, 3), dtype=bool)
    required[0, 1] = True
    rules = EdgeRules.of(np.eye(3, dtype=bool), required)
    assert_array_equal(np.argwhere(rules.strong(A, worth, 0.0, 2)), [[0, 1], [0, 2]])
    assert_array_equal(np.argwhere(rules.strong(A, worth, 2.5, None)), [[0, 1], [0, 2]])


def test_unknown_interventions_stay_causes_of_a_pruned_network():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    X[:, 1] += X[:, 0]
    conditions = np.where(np.arange(600) < 300, "none", "drug")
    X[conditions == "drug", 2] += 3.0
    model = ICDH(max_edges=0, bias=True).fit(X, interventions=Interventions(conditions, {"none": [], "drug": None}))
    assert not model.adjacency_matrix_.any()
    assert model.targets_["drug"][2] > 0.3
    assert model.sample(5000, random_state=0)[:, 2].mean() == pytest.approx(0.0, abs=0.1)  # 1.5 with both conditions
