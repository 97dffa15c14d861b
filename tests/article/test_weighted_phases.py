"""An observation of weight w counts in both phases as w equal observations do."""

import naive
import numpy as np
import pytest
from helpers import hetero_chain, of_both_activations, problem_of, random_weights
from support.article import FamilyFitter, FamilyObjective, fit_scales
from support.estimators import strength_of_inputs

from icdh import ICDH
from icdh.network import SIGMOID, NetworkConditional

M = 90
COUNTS = np.random.default_rng(1).integers(1, 4, size=M)


def both(bias=True, rows=False, activation=SIGMOID):
    """The problem of a table whose observations have weights, and that of the repeated ones; and a network."""
    rng = np.random.default_rng(0)
    values = hetero_chain(rng, M).T
    mask = rng.random(values.shape) < 0.8 if rows else None
    how = {"bias": bias, "activation": activation}
    weighted = problem_of(values, rows=mask, weights=COUNTS.astype(float), **how)
    repeated = np.repeat(values, COUNTS, axis=1)
    slow = problem_of(repeated, rows=None if mask is None else np.repeat(mask, COUNTS, axis=1), **how)
    return weighted, slow, random_weights(rng, 3, 4, bias, activation)


@pytest.mark.parametrize("rows", [False, True])
def test_the_means_have_the_objective_of_repeated_observations(rows):
    weighted, slow, _ = both(rows=rows)
    assert weighted.n_counted == slow.n_counted == COUNTS.sum()
    w = np.random.default_rng(2).normal(size=(3, 4))
    scale = np.random.default_rng(3).uniform(0.5, 2.0, size=M)
    found = FamilyObjective.of(weighted, 2, (0, 1), scale).evaluate(w)
    expected = FamilyObjective.of(slow, 2, (0, 1), np.repeat(scale, COUNTS)).evaluate(w)
    assert found.value == pytest.approx(expected.value, rel=1e-10)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.w2, expected.w2, rtol=1e-9)


@of_both_activations
@pytest.mark.parametrize("rows", [False, True])
def test_the_scales_are_those_of_repeated_observations(rows, activation):
    weighted, slow, network = both(rows=rows, activation=activation)
    found, expected = fit_scales(weighted, network), fit_scales(slow, network)
    np.testing.assert_allclose(found.w3, expected.w3, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.w3_bias, expected.w3_bias, rtol=1e-6)


def test_families_and_strengths_are_those_of_repeated_observations():
    weighted, slow, network = both()
    fits = [FamilyFitter(own, 10.0).refit(network, [(2, (0, 1)), (1, ())]) for own in (weighted, slow)]
    np.testing.assert_allclose(fits[0].w1, fits[1].w1, rtol=1e-5, atol=1e-7)
    conditionals = [NetworkConditional.of(network, n) for n in range(3)]
    strengths = [strength_of_inputs(conditionals, of.values, np.zeros(3), None, of.weights) for of in (weighted, slow)]
    np.testing.assert_allclose(strengths[0], strengths[1], rtol=1e-9, atol=1e-9)


def test_every_third_observation_keeps_its_weight():
    weighted, _, _ = both(rows=True)
    np.testing.assert_array_equal(weighted.of_every(3).weights, COUNTS[::3])


def test_the_likelihood_of_a_fit_is_the_weighted_mean():
    weights = np.random.default_rng(4).uniform(0.2, 3.0, size=M)
    X = hetero_chain(np.random.default_rng(0), M)
    fit = ICDH(edge_penalty=None, max_rounds=2, random_state=0).fit(X, sample_weight=weights)
    by_row = [naive.nll(X[[m]], naive.as_dict(fit.network_)) for m in range(M)]
    assert fit.history_[fit.n_rounds_ - 1].nll == pytest.approx(np.average(by_row, weights=weights), rel=1e-6)


def test_the_algorithms_as_printed_count_every_row():
    with pytest.raises(ValueError, match="sample_weight cannot go with schedule='paper'; leave one out"):
        ICDH(schedule="paper").fit(hetero_chain(np.random.default_rng(0), M), sample_weight=np.arange(M) + 1.0)
