"""What edges are worth, and graphs of those worth most."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers import hetero_chain, parents_of
from numpy.testing import assert_array_equal
from sklearn.base import clone
from support.estimators import graph_search, warn_about_density
from support.utils import gaussian_nll

from icdh import ICDH, ConvergenceWarning, DataWarning, HNMSearch, Interventions
from icdh.knowledge import EdgeRules
from icdh.network import forward

ESTIMATORS = {
    "icdh": ICDH(hidden_units=4, scaling="standardize", bias=True, threshold=0.0, edge_penalty=None),
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


def n_edges(model):
    return np.count_nonzero(model.adjacency_matrix_)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::icdh.exceptions.DataWarning")
@pytest.mark.parametrize("method", ESTIMATORS)
def test_the_edges_worth_most_stay(method, dense):
    model = fitted(method, dense)
    found = model.adjacency_matrix_ != 0
    worth = model.edge_strength_[found]
    limited = fitted(method, dense, max_edges=4)
    assert n_edges(limited) == 4
    assert limited.edge_strength_[limited.adjacency_matrix_ != 0].min() >= np.sort(worth)[-4]
    cut = float(np.median(worth))
    limited = fitted(method, dense, min_strength=cut)
    assert_array_equal(limited.adjacency_matrix_ != 0, found & (model.edge_strength_ >= cut))


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


def skewed_chain(n_rows=400):
    """Rows of x0 -> x1 -> x2, whose means are far from zero."""
    rng = np.random.default_rng(0)
    x0 = rng.gamma(2.0, size=n_rows)
    x1 = x0 + (0.1 + 0.2 * x0) * rng.normal(size=n_rows)
    return np.column_stack([x0, x1, 0.5 * x1 + 0.3 * np.abs(x1) * rng.normal(size=n_rows) + 3.0])


PRUNED = {
    "search": HNMSearch(noise_distribution="gaussian", column_transform="none"),
    "search, more units": HNMSearch(noise_distribution="gaussian", column_transform="none", hidden_units=3),
    "search, long": HNMSearch(noise_distribution="gaussian", column_transform="none"),
    "icdh": ICDH(),
    "icdh, intercepts": ICDH(scaling="standardize", bias=True),
    "icdh, two phases": ICDH(scaling="standardize", edge_penalty=None),
    "icdh, constant noise": ICDH(noise="unequal"),
}


@pytest.mark.slow
@pytest.mark.parametrize("estimator", PRUNED.values(), ids=PRUNED)
@pytest.mark.parametrize("again", [False, True], ids=["fit", "rethreshold"])
def test_a_pruned_model_is_that_of_the_graph_that_stays(estimator, again, monkeypatch):
    monkeypatch.setattr(graph_search, "SIZES", replace(graph_search.SIZES, subsample=500, long_table=600))
    X = skewed_chain(800 if isinstance(estimator, HNMSearch) else 300)
    X -= [1.0, 0.0, 3.0]  # no column is an amount, whose density has a limit at zero
    if again:
        whole = clone(estimator).fit(X)
        assert n_edges(whole) >= 2
        pruned = whole.rethreshold(max_edges=0)
    else:
        pruned = clone(estimator).set_params(max_edges=0).fit(X)
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
    X = skewed_chain()
    model = fitted("search", X)
    nll, evidence, mean = model.nll_, model.evidence_, model.predict(X)
    model.rethreshold(max_edges=1)
    assert model.nll_ == fitted("search", X, max_edges=1).nll_ > nll + 0.01
    assert model.evidence_ < evidence - 1.0
    model.rethreshold(max_edges=6)
    assert (model.nll_, model.evidence_) == (nll, evidence)
    assert_array_equal(model.predict(X), mean)


@pytest.mark.parametrize("noise", ["heteroscedastic", "unequal", "equal"])
@pytest.mark.parametrize("edge_penalty", ["auto", None])
def test_a_network_is_refitted_to_the_graph_that_stays(noise, edge_penalty):
    X = skewed_chain()
    model = ICDH(noise=noise, edge_penalty=edge_penalty).fit(X)
    nll, mean, weights = model.nll_, model.predict(X), model.weights_
    model.rethreshold(max_edges=1)
    assert n_edges(model) == 1
    assert model.nll_ == pytest.approx(-model.score(X), abs=1e-12)
    assert model.nll_ > nll + 0.01
    assert tuple(tuple(own.inputs) for own in model.model_.conditionals) == parents_of(model)
    model.rethreshold(max_edges=6)
    assert model.nll_ == nll
    assert_array_equal(model.predict(X), mean)
    assert_array_equal(model.weights_, weights)


CONDITIONS = np.repeat(["none", "drug"], 300)
UNKNOWN = Interventions(CONDITIONS, {"none": [], "drug": None})


def test_labels_and_conditions_that_stay_are_refitted_with_the_others():
    x, noise, more, z = np.random.default_rng(0).normal(size=(4, 600))
    colour = np.where(x + 0.5 * noise > 0, "red", "blue")
    z += 3.0 * (CONDITIONS == "drug")
    X = pd.DataFrame({"x": x, "colour": colour, "y": x + 0.3 * more, "z": z})
    model = HNMSearch(noise_distribution="gaussian", max_edges=0).fit(X, interventions=UNKNOWN)
    assert not model.adjacency_matrix_.any()
    assert model.targets_["drug"][3] > 100.0
    drawn = model.sample(5000, random_state=0)
    assert (drawn["colour"] == "red").mean() == pytest.approx((colour == "red").mean(), abs=0.03)
    assert drawn["z"].std() == pytest.approx(1.0, abs=0.1)  # as it is where nobody intervened


def test_unknown_interventions_stay_causes_of_a_pruned_network():
    X = np.random.default_rng(0).normal(size=(600, 3))
    X[:, 1] += X[:, 0]
    X[CONDITIONS == "drug", 2] += 3.0
    model = ICDH(max_edges=0, bias=True).fit(X, interventions=UNKNOWN)
    assert not model.adjacency_matrix_.any()
    assert model.targets_["drug"][2] > 0.3
    assert model.sample(5000, random_state=0)[:, 2].mean() == pytest.approx(0.0, abs=0.1)  # 1.5 with both conditions


def test_a_search_that_was_cut_short_is_pruned_all_the_same():
    X = skewed_chain(2500)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = HNMSearch(max_seconds=1e-9, knowledge={"required": [(0, 1)]}).fit(X)
    assert np.isfinite(model.rethreshold(max_edges=0).score(X))
    assert_array_equal(np.argwhere(model.adjacency_matrix_), [[0, 1]])


@pytest.mark.parametrize("method", ESTIMATORS)
def test_strength_is_in_nats(method):
    """Edges of the chain are worth about what regressions say; what is absent is worth next to nothing."""
    strength = fitted(method, hetero_chain(np.random.default_rng(0), 400)).edge_strength_
    truth = np.eye(3, k=1) > 0
    assert strength[truth].min() > max(100.0, 20.0 * strength[~truth].max())


@pytest.mark.parametrize("bias", [False, True])
def test_strength_is_what_the_likelihood_loses_where_an_input_is_held_at_its_mean(bias):
    """By the network's own forward pass, one edge after the other; intercepts are no inputs."""
    X = hetero_chain(np.random.default_rng(3), 150)
    model = ICDH(random_state=0, bias=bias, edge_penalty=None).fit(X)

    def nll(values, n):
        mean, scale = (part.T[n : n + 1] for part in forward(values, model.network_))
        return gaussian_nll(X.T[n : n + 1], mean, scale, None, None)

    for i, n in np.argwhere(model.weights_ > 0.0):
        held = np.where(np.arange(3) == i, X[:, i].mean(), X)
        lost = max(len(X) * (nll(held, n) - nll(X, n)), 0.0)
        assert model.edge_strength_[i, n] == pytest.approx(lost, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("method", ESTIMATORS)
def test_dense_graphs_are_warned_of(method, dense):
    with pytest.warns(DataWarning, match=r"of 28 possible edges") as caught:
        model = fitted(method, dense)
    with pytest.warns(DataWarning, match=r"of 28 possible edges"):
        model.rethreshold(max_edges=15)
    assert caught[-1].filename == __file__
    model.rethreshold(max_edges=14)
    warn_about_density(np.triu(np.ones((7, 7)), k=1))  # all edges of few variables are no reason


def test_required_edges_count_as_the_first():
    A, worth = np.triu(np.ones((3, 3)), k=1), np.array([[0.0, 1.0, 3.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    rules = EdgeRules.of(np.eye(3, dtype=bool), worth == 1.0)
    for limits in ((0.0, 2), (2.5, None)):
        assert_array_equal(np.argwhere(rules.strong(A, worth, *limits)), [[0, 1], [0, 2]])
