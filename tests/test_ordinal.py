"""Variables of few ordered values: the cumulative logit, its gradient and its Fisher matrix."""

import naive
import numpy as np
import pytest
from scipy.special import expit

from icdh.node_model._outputs_kernels import ordinal_terms
from icdh.node_model.evidence import fit_node
from icdh.node_model.network import n_weights
from icdh.node_model.ordinal import (
    LOG_VARIANCE_LIMIT,
    LOGISTIC_DEVIATION,
    OrdinalObjective,
    OrdinalResponse,
    thresholds,
)

UNITS = 3


def problem(levels, p=2, n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(p, n))
    y = np.append(np.arange(levels), rng.integers(0, levels, size=n - levels))
    system = OrdinalObjective(x, y, thresholds(y), UNITS)
    theta = 0.7 * rng.normal(size=n_weights(p, UNITS))
    theta[system.free :] = 0.0
    return system, theta, rng.uniform(0.1, 2.0, size=theta.size)


@pytest.mark.parametrize("levels", [2, 3, 6])
def test_objective_gradient_and_fisher_matrix_agree_with_their_definitions(levels):
    system, theta, penalty = problem(levels)
    value, gradient, fisher = system.quadratic_model(theta, penalty)
    x, free = system.x.T, system.free
    assert value == pytest.approx(naive.levels_objective(x, system.levels, theta, penalty, UNITS, system.cuts))

    def objective(t):
        return naive.levels_objective(x, system.levels, t, penalty, UNITS, system.cuts)

    exact = naive.complex_step_gradient(objective, theta)
    np.testing.assert_allclose(gradient, exact[:free], rtol=1e-9, atol=1e-9)
    exact = naive.levels_fisher(x, theta, penalty, UNITS, system.cuts)
    np.testing.assert_allclose(fisher, exact[:free, :free], rtol=1e-8, atol=1e-9)


def log_probabilities(mu, u, cuts):
    """log P of every level, shape (K, n), and its derivatives and the roots of their Fisher matrix for each."""
    n, levels = len(mu), range(len(cuts) + 1)
    log_p, pulls, roots = np.empty((len(levels), n)), np.empty((len(levels), 2, n)), np.empty((2, 2, n))
    for k in levels:
        for r in range(n):
            own, of_own = np.empty((2, 1)), np.empty((2, 2, 1))
            arguments = mu[r : r + 1], u[r : r + 1], np.array([k]), cuts, LOGISTIC_DEVIATION, LOG_VARIANCE_LIMIT
            log_p[k, r] = -ordinal_terms(*arguments, own, of_own)
            pulls[k, :, r], roots[:, :, r] = own[:, 0], of_own[:, :, 0]
    return log_p, pulls, roots


@pytest.mark.parametrize("far", [-40.0, 40.0, 300.0])
def test_probabilities_stay_finite_and_add_up_far_out(far):
    cuts = np.array([-1.0, 0.0, 1.0])
    for u in (-5000.0, -60.0, 0.0, 60.0, 5000.0):
        log_p, pulls, roots = log_probabilities(np.array([far]), np.array([u]), cuts)
        assert np.isfinite(log_p).all()
        assert np.isfinite(pulls).all()
        assert np.isfinite(roots).all()
        assert np.exp(log_p).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("levels", [2, 5])
def test_without_parents_the_levels_have_their_shares(levels):
    y = np.random.default_rng(1).integers(0, levels, size=200)
    shares = np.bincount(y) / y.size
    fit = fit_node(np.empty((0, 200)), OrdinalResponse(y.astype(float)))
    assert fit.objective == pytest.approx(-np.log(shares[y]).sum())
    assert np.isfinite(fit.evidence)


def test_binary_effects_are_logistic_regressions():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(1, 2000))
    chance = expit(3.0 * np.tanh(1.5 * x[0]))
    target = OrdinalResponse((rng.random(2000) < chance).astype(float))
    fit = fit_node(x, target)
    system = OrdinalObjective(x, target.levels, target.thresholds, 5)
    _, mean, u = system.outputs(fit.theta)
    log_p, *_ = log_probabilities(mean, u, target.thresholds)
    assert np.abs(np.exp(log_p[1]) - chance).max() < 0.1
    np.testing.assert_array_equal(u, 0.0)
    assert fit.converged
    assert fit.evidence < fit_node(x[:0], target).evidence - 100
    noise = OrdinalResponse(rng.integers(0, 2, size=2000).astype(float))
    assert fit_node(x, noise).evidence > fit_node(x[:0], noise).evidence - 2


def test_levels_whose_spread_alone_depends_on_the_cause():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(1, 1000))
    y = np.digitize(np.exp(0.8 * x[0]) * rng.normal(size=1000), (-1.5, -0.4, 0.4, 1.5)).astype(float)
    assert fit_node(x, OrdinalResponse(y)).evidence < fit_node(x[:0], OrdinalResponse(y)).evidence - 40


def test_the_values_of_levels_do_not_matter_and_their_signs_mirror_the_weights():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(1, 300))
    y = np.digitize(x[0] + rng.normal(size=300), (-1.0, 0.5)).astype(float)
    fit = fit_node(x, OrdinalResponse(y))
    assert fit_node(x, OrdinalResponse(100.0 * y**3 - 7.0)).evidence == fit.evidence
    assert fit_node(x, OrdinalResponse(-y)).evidence == pytest.approx(fit.evidence, abs=1e-6)


def test_levels_that_a_cause_determines_stay_finite():
    x = np.random.default_rng(5).normal(size=(1, 100))
    for y in ((x[0] > 0).astype(float), np.digitize(x[0], (-1.0, 0.0, 1.0)).astype(float)):
        fit = fit_node(x, OrdinalResponse(y))
        assert np.isfinite([fit.objective, fit.evidence]).all()
        assert fit.evidence < fit_node(x[:0], OrdinalResponse(y)).evidence - 20
