"""Hidden common causes that are inputs of networks: quadrature against a fine sum, EM, and the search for them."""

from dataclasses import replace

import numpy as np
import pytest
from helpers import family_evidence, hidden_cause_search
from naive import hidden_input_nll
from scipy.stats import kstest, norm
from support.estimators import HiddenGraph
from support.families import Cells, Districts, HiddenInputConditional, InputDistricts, Network, hidden_input, n_weights
from support.families import hidden_input_posterior as posterior
from support.utils import Clock, OutOfTime

import icdh
from icdh import HNMSearch
from icdh.knowledge import EdgeRules

UNITS = 3


def weights(rng, n_causes, log_scale):
    """Weights of a network that depends on its hidden input strongly."""
    first, bias = rng.normal(size=(n_causes + 1, UNITS)), rng.normal(size=UNITS)
    return first, bias, np.append(0.3, rng.normal(size=UNITS)), np.append(log_scale, 0.5 * rng.normal(size=UNITS))


def as_network(parts, x, y):
    return Network(np.concatenate([np.ravel(own) for own in parts]), UNITS, x, y, np.zeros(y.size))


@pytest.mark.parametrize("log_scale", [0.0, -6.0])
def test_quadrature_is_the_marginal_likelihood_also_where_the_posterior_is_narrow(log_scale):
    rng = np.random.default_rng(0)
    parts = [weights(rng, n_causes, log_scale) for n_causes in (0, 2, 1)]
    causes = [rng.normal(size=(n_causes, 30)) for n_causes in (0, 2, 1)]
    hidden, values = rng.normal(size=30), []
    for own, x in zip(parts, causes, strict=True):
        mean, variance = as_network(own, x, hidden).outputs(slice(0, 30), hidden[:, np.newaxis])
        values.append(mean[:, 0] + np.sqrt(variance[:, 0]) * rng.normal(size=30))
    found, many = (
        posterior(
            [as_network(own, np.tile(x, n), np.tile(y, n)) for own, x, y in zip(parts, causes, values, strict=True)]
        )
        for n in (1, 40)
    )
    np.testing.assert_allclose(found.nll, hidden_input_nll(parts, causes, values), atol=0.02)
    np.testing.assert_allclose(found.shares.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found.widths.sum(axis=1), found.widths[0].sum(), rtol=1e-9)
    np.testing.assert_allclose(many.mean, np.tile(found.mean, 40), rtol=1e-9)  # in blocks of rows


def test_without_a_child_that_depends_on_it_the_hidden_value_is_standard_normal():
    theta = np.zeros(n_weights(1, UNITS))
    cells = posterior([Network(theta, UNITS, np.empty((0, 400)), np.zeros(400), np.zeros(400))])
    np.testing.assert_allclose(cells.mean, 0.0, atol=1e-9)
    np.testing.assert_allclose(cells.variance, 1.0, atol=2e-3)
    levels = (np.arange(400) + 0.5) / 400
    np.testing.assert_allclose(cells.quantiles(levels), norm.ppf(levels), atol=2e-2)
    assert kstest(cells.draw(np.random.default_rng(0)), "norm").pvalue > 0.01


def test_quantiles_and_moments_of_cells():
    cells = Cells(np.array([[-1.0, 0.5, 2.0]]), np.array([[2.0, 1.0, 2.0]]), np.array([[0.25, 0.5, 0.25]]), np.zeros(1))
    levels = [0.0, 0.125, 0.5, 0.75, 1.0]
    found = [float(cells.quantiles(np.array([level]))[0]) for level in levels]
    np.testing.assert_allclose(found, [-2.0, -1.0, 0.5, 1.0, 3.0])
    np.testing.assert_allclose([cells.mean, cells.variance], [[0.5], [0.5 * 2.25 + (0.5 * 4.0 + 0.5) / 12.0]])


def networks(seed=0, n=500):
    """Six children of a hidden cause that bends and scales them, the first a cause of the second; and the values."""
    rng = np.random.default_rng(seed)
    U, *noise = rng.normal(size=(7, n))
    x = np.array([np.tanh(2.0 * U) + 0.3 * noise[0], *np.zeros((5, n))])
    x[1] = np.exp(0.7 * U) * (1.0 - 0.4 * x[0]) + 0.25 * noise[1]
    x[2] = np.logaddexp(0.0, 3.0 * U) + 0.4 * noise[2]
    x[3] = np.tanh(3.0 * U - 2.0) + 0.15 * noise[3]
    x[4] = np.tanh(3.0 * U + 2.0) + (0.2 + 0.3 * (U > 0)) * noise[4]
    x[5] = np.sin(2.0 * U) + U + 0.4 * noise[5]
    return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True), U


FAMILIES = ((0, ()), (1, (0,)), (2, ()), (3, ()), (4, ()), (5, ()))


@pytest.fixture(scope="module")
def table():
    return networks()


@pytest.fixture(scope="module")
def district(table):
    return InputDistricts(family_evidence(table[0]))(FAMILIES)


def test_em_recovers_the_hidden_values_where_a_factor_does_not(table, district):
    scores, U = family_evidence(table[0]), table[1]
    assert abs(np.corrcoef(district.hidden.mean, U)[0, 1]) > 0.9
    assert district.score < Districts(scores)(FAMILIES).score - 100.0
    np.testing.assert_allclose(InputDistricts(scores)._factor(FAMILIES).std(), 1.0)  # where it begins
    errors = district.hidden.mean * np.sign(district.hidden.mean @ U) - U
    assert 0.5 < errors.std() / np.sqrt(district.hidden.variance.mean()) < 2.0


def test_the_score_is_the_marginal_likelihood_and_what_weights_and_edges_cost(table, district):
    """The costs are those of the fit, the likelihood is summed again; all is of the last fits."""
    (values, U), costs = table, 2.0 * 7
    assert district.fits[1].theta.size == n_weights(2, district.fits[1].hidden_units)
    again = InputDistricts(family_evidence(values))._step(FAMILIES, np.tile(U, 3), [None] * 6)
    for fit, (node, parents) in zip(again.fits, FAMILIES, strict=True):
        network = Network(fit.theta, fit.hidden_units, values[list(parents)], values[node], 0.0)
        mean, variance = network.outputs(slice(None), U[:, np.newaxis])
        squares = np.square(values[node] - mean[:, 0]) / variance[:, 0]
        costs += fit.evidence - 0.5 * (squares + np.log(variance[:, 0])).sum()
    np.testing.assert_allclose(again.score, costs + again.hidden.nll.sum(), rtol=1e-9)


def test_networks_from_other_initial_weights_follow_hidden_values_that_move(table, district, monkeypatch):
    monkeypatch.setattr(hidden_input, "TUNING", replace(hidden_input.TUNING, cold_steps=()))
    assert InputDistricts(family_evidence(table[0]))(FAMILIES).score > district.score + 5.0


def test_another_parent_goes_on_from_what_is_known_and_time_ends_em(table):
    scores = family_evidence(table[0])
    districts = InputDistricts(scores)
    first = districts(FAMILIES)
    other = districts((*FAMILIES[:2], (2, (0,)), *FAMILIES[3:]))
    assert other.score > first.score
    assert abs(np.corrcoef(other.hidden.mean, first.hidden.mean)[0, 1]) > 0.99
    assert districts(FAMILIES) is first
    scores.clock = Clock(0.0)
    with pytest.raises(OutOfTime):
        InputDistricts(scores)(FAMILIES)


def test_only_sets_with_two_edges_more_than_nodes_are_tried(table):
    search = hidden_cause_search(table[0], EdgeRules.of(~np.zeros((6, 6), dtype=bool)), inputs=True)
    assert search._sets(HiddenGraph(((), (0,), (0, 1), (0, 1), (), ()))) == []
    assert search._sets(HiddenGraph(((), (0,), (0, 1), (0, 1, 2), (), ()))) == [frozenset(range(4))]


@pytest.fixture(scope="module")
def X(table):
    return table[0].T * 3.0 + 10.0


@pytest.fixture(scope="module")
def found(X):
    return HNMSearch(hidden_causes=True, n_restarts=1).fit(X)


@pytest.fixture(scope="module")
def nodes(found):
    return [int(child[1:]) for child in found.hidden_causes_[0].children]


@pytest.mark.slow
def test_a_search_finds_the_children_and_the_values(table, found, nodes):
    (cause,) = found.hidden_causes_
    assert len(nodes) >= 5
    assert cause.strength > 20.0
    assert abs(np.corrcoef(found.hidden_values_.mean[:, 0], table[1])[0, 1]) > 0.9
    assert {type(found.model_.conditionals[node]) for node in nodes} == {HiddenInputConditional}
    assert cause.loadings[np.argmax(np.abs(cause.loadings))] > 0.0


@pytest.mark.slow
def test_what_is_asked_of_the_model_knows_the_hidden_input(X, found, nodes, tmp_path):
    np.testing.assert_allclose(np.corrcoef(found.sample(20_000, random_state=0).T), np.corrcoef(X.T), atol=0.12)
    np.testing.assert_allclose(found.counterfactual(X, {nodes[0]: X[:, nodes[0]]}), X)
    node = next(node for node in nodes if not found.model_.conditionals[node].inputs.size)
    np.testing.assert_allclose(found.predict_scale(X)[:, node], X[:, node].std(), rtol=0.1)
    np.testing.assert_allclose(found.predict(X)[:, node], X[:, node].mean(), atol=0.5)
    assert found.evidence_ > HNMSearch(n_restarts=1).fit(X).evidence_ + 20.0
    found.save(tmp_path / "m.icdh")
    again = icdh.load(tmp_path / "m.icdh")
    assert again.score(X) == found.score(X)
    np.testing.assert_array_equal(again.hidden_values(X).mean, found.hidden_values_.mean)


@pytest.mark.slow
def test_the_score_of_a_model_is_the_marginal_likelihood(X, found, nodes):
    model, parts, causes = found.model_, [], []
    scaled = model.scaled(X[:20])
    for given in (model.conditionals[node] for node in nodes):
        p, m = given.inputs.size + 1, given.hidden_units
        first, outputs = given.theta[: (p + 1) * m].reshape(p + 1, m), given.theta[(p + 1) * m :].reshape(2, m + 1)
        parts.append((first[:-1], first[-1], *outputs))
        causes.append(scaled[given.inputs])
    rows = hidden_input_nll(parts, causes, scaled[nodes]) + 0.5 * len(nodes) * np.log(2.0 * np.pi)
    for node in {*range(6)} - {*nodes}:
        rows -= norm.logpdf(scaled[node], *model.conditionals[node].mean_and_scale(scaled))
    np.testing.assert_allclose(model.score(X[:20]), -rows.mean() - np.log(model.scaling.scale).sum(), atol=0.02)


@pytest.mark.slow
def test_mean_and_scale_integrate_the_hidden_input(found, nodes):
    given, values = found.model_.conditionals[nodes[-1]], np.zeros((6, 1))
    mean, scale = given.mean_and_scale(values)
    hidden = np.random.default_rng(0).normal(size=100_000)
    means, scales = given.mean_and_scale_at(np.zeros((6, hidden.size)), hidden)
    np.testing.assert_allclose(mean[0], means.mean(), atol=0.02)
    np.testing.assert_allclose(scale[0], np.sqrt(means.var() + np.square(scales).mean()), rtol=0.02)
    np.testing.assert_allclose(given._network(values).moments()[2], (means * hidden).mean(), atol=0.02)
