"""Observations masked variable by variable: what is masked counts for nothing, as if the table had been shorter."""

import numpy as np
import pytest
from helpers import family_evidence, fit_two_phase, hetero_chain, problem_of, random_weights
from support.article import FamilyObjective, fit_scales
from support.families import family_models, forward, network, node_outputs, residuals_of
from support.utils import gaussian_nll

from icdh.network import initial_weights, node_inputs, outputs

N = 3


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def masked_table(rng, m=700):
    """A chain, one variable a row, and a mask of its own for every variable."""
    return np.ascontiguousarray(hetero_chain(rng, m).T), rng.random((N, m)) < np.array([[0.9], [0.5], [0.2]])


def test_the_likelihood_of_masked_rows_is_that_of_the_others_times_their_share(rng):
    values, rows = masked_table(rng)
    mean, scale = rng.normal(size=values.shape), rng.uniform(0.5, 2.0, size=values.shape)
    expected = 0.0
    for n in range(N):
        alone = (own[n : n + 1, rows[n]] for own in (values, mean, scale))
        expected += rows[n].mean() * gaussian_nll(*alone, None, None)
    assert gaussian_nll(values, mean, scale, rows, None) == pytest.approx(expected, rel=1e-12)
    assert gaussian_nll(values, mean, scale, np.ones_like(rows), None) == gaussian_nll(values, mean, scale, None, None)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("n", range(N))
def test_the_objective_of_a_child_is_that_of_its_rows_alone_times_their_share(rng, bias, n):
    values, rows = masked_table(rng)
    scale, weights = rng.uniform(0.5, 2.0, size=values.shape), random_weights(rng, N, 4, bias)
    keep, share, causes = rows[n], rows[n].mean(), np.delete(np.arange(N), n)
    whole = problem_of(values, l1=0.03, l2=0.05, bias=bias, rows=rows)
    short = problem_of(values[:, keep], l1=0.03 / share, l2=0.05 / share, bias=bias)
    masked = FamilyObjective.of(whole, n, causes, scale[n])
    alone = FamilyObjective.of(short, n, causes, scale[n, keep])
    w = node_inputs(weights, n)[masked.inputs]
    here, there = masked.evaluate(w), alone.evaluate(w)
    assert here.value == pytest.approx(share * there.value, rel=1e-12)
    np.testing.assert_allclose(here.gradient, share * there.gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(here.w2, there.w2, rtol=1e-9)


@pytest.mark.parametrize("noise", ["heteroscedastic", "unequal"])
@pytest.mark.parametrize("bias", [False, True])
def test_the_scale_of_a_node_is_that_of_its_rows_alone(rng, noise, bias):
    values, rows = masked_table(rng)
    weights = random_weights(rng, N, 4, bias)
    fitted = fit_scales(problem_of(values, noise=noise, bias=bias, rows=rows), weights)
    for n in range(N):
        alone = fit_scales(problem_of(values[:, rows[n]], noise=noise, bias=bias), weights)
        np.testing.assert_allclose(fitted.w3[n], alone.w3[n], rtol=1e-6, atol=1e-9)
        assert fitted.w3_bias[n] == pytest.approx(alone.w3_bias[n], rel=1e-6)


def test_a_variable_without_any_row_keeps_its_scale(rng):
    values, rows = masked_table(rng)
    rows[1] = False
    weights = random_weights(rng, N, 4, False)
    fitted = fit_scales(problem_of(values, rows=rows), weights)
    np.testing.assert_array_equal(fitted.w3[1], weights.w3[1])
    assert fitted.w3_bias[1] == weights.w3_bias[1]


def test_masked_cells_of_an_effect_change_no_bit_of_a_whole_fit(rng):
    (values, rows), forbidden = masked_table(rng), np.eye(N, dtype=bool)
    other, forbidden[2] = values.copy(), True
    other[2] = np.where(rows[2], values[2], 1e3 * rng.normal(size=values.shape[1]))
    initial = initial_weights(values.T, 4, False, rng)
    here, there, unmasked = (
        fit_two_phase(table, forbidden_edges=forbidden, initial=initial, max_rounds=3, rows=mask)
        for table, mask in ((values, rows), (other, rows), (other, None))
    )
    assert here.best.nll == there.best.nll
    np.testing.assert_array_equal(here.weights.adjacency(), there.weights.adjacency())
    np.testing.assert_array_equal(here.weights.w3, there.weights.w3)
    assert unmasked.best.nll > here.best.nll + 1.0
    assert here.best.nll == pytest.approx(gaussian_nll(values, *outputs(values, here.weights), rows, None), rel=1e-12)


def test_rows_that_an_experimenter_set_hide_no_cause(rng):
    """Where x1 was set it does not follow x0: fitted with these rows its mean follows half as steeply."""
    values = np.ascontiguousarray(hetero_chain(rng, 600)[:, :2].T)
    rows = np.ones(values.shape, dtype=bool)
    rows[1, ::2] = False
    values[1, ::2] = 2.0 * rng.normal(size=300)
    forbidden, initial = np.array([[True, False], [True, True]]), initial_weights(values.T, 5, False, rng)
    slopes = []
    for mask in (rows, None):
        weights = fit_two_phase(values, forbidden_edges=forbidden, initial=initial, rows=mask).weights
        slopes.append(np.polyfit(2.0 * np.tanh(values[0]), outputs(values, weights)[0][1], 1)[0])
    assert slopes[0] == pytest.approx(1.0, abs=0.1)
    assert slopes[1] < 0.7


@pytest.mark.parametrize("noise", ["gaussian", "free", "auto"])
def test_a_family_is_worth_what_its_rows_alone_are_worth(rng, noise):
    values, rows = masked_table(rng, 300)
    settings = {"hidden_units": 3, "edge_penalty": 1.0, "noise": noise, "n_restarts": 2}
    masked = family_evidence(values, rows=rows, **settings)
    families = [(0, ()), (0, (1,)), (1, (0,)), (2, (0, 1)), (2, ())]
    masked.polish(families)
    for family in families:
        alone = family_evidence(np.ascontiguousarray(values[:, rows[family[0]]]), **settings)
        alone.polish(families)
        assert masked([family]) == pytest.approx(alone([family]), rel=1e-12)
        np.testing.assert_allclose(residuals_of(masked, family), residuals_of(alone, family), rtol=1e-9, atol=1e-12)
        assert residuals_of(masked, family).size == rows[family[0]].sum()
        np.testing.assert_allclose(masked.gain_estimates([family])[0], alone.gain_estimates([family])[0], rtol=1e-6)


def test_a_subsample_holds_its_rows_alone_and_counts_the_same_ones(rng):
    """Of each variable every third row that counts; a row that counts for none is left out."""
    values, rows = masked_table(rng, 300)
    whole = family_evidence(values, rows=rows).families
    part = whole.subsample(60)
    assert part.n_observations == part.causes.shape[1] == part.rows.shape[1] < whole.n_observations
    for node, parents in [(0, (1,)), (1, (0, 2)), (2, ())]:
        (x, response), (few_x, few_response) = whole.data((node, parents)), part.data((node, parents))
        apart = -(-rows[node].sum() // 60)
        np.testing.assert_array_equal(few_x, x[:, ::apart])
        np.testing.assert_array_equal(few_response.centre, response.centre[::apart])
    assert family_evidence(values).families.subsample(100).rows is None


def test_what_a_parent_of_many_rows_gains_is_estimated_from_a_part_of_them(rng, monkeypatch):
    values = np.ascontiguousarray(hetero_chain(rng, 4000).T)
    scores = family_evidence(values, hidden_units=3)
    families = [(1, ()), (2, (0,)), (2, ())]
    whole = scores.gain_estimates(families)
    monkeypatch.setattr(family_models, "MOST_ESTIMATED", 1000)
    some = family_evidence(values, hidden_units=3).gain_estimates(families)
    for there, here in zip(whole, some, strict=True):
        large = np.isfinite(there) & (there > 100.0)
        assert large.any()
        np.testing.assert_allclose(here[large], there[large], rtol=0.2)


def test_outputs_of_many_rows_are_predicted_block_by_block(rng, monkeypatch):
    x, theta = rng.normal(size=(2, 700)), rng.normal(size=3 * 4 + 2 * 5)
    _, mean, variance = forward(theta, x, 4)
    monkeypatch.setattr(network, "MOST_AT_ONCE", 256)
    of_blocks = node_outputs(theta, x, 4)
    np.testing.assert_array_equal(of_blocks, (mean, np.sqrt(variance)))
    assert node_outputs(theta, x[:, :0], 4)[0].size == 0
