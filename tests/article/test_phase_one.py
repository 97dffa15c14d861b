import dataclasses

import naive
import numpy as np
import pytest
from helpers import hetero_chain, of_both_activations, problem_of, random_weights
from scipy.optimize import minimize
from support.article import NONE, descend, family, scale_objective

from icdh.likelihood import nll
from icdh.network import SIGMOID, TANH, Weights, initial_weights


def fit_scales(X, weights, noise):
    of_weights = {"bias": weights.hidden_bias is not None, "activation": weights.activation}
    return family.fit_scales(problem_of(X.T, noise=noise, **of_weights), weights)


@of_both_activations
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_likelihood_never_falls(seed, bias, activation):
    rng = np.random.default_rng(seed)
    X, weights = hetero_chain(rng), random_weights(rng, 3, 4, bias, activation)
    once = fit_scales(X, weights, "heteroscedastic")
    assert nll(X, fit_scales(X, once, "heteroscedastic")) - 1e-12 <= nll(X, once) <= nll(X, weights)


@of_both_activations
@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_fit_does_not_depend_on_the_unit(unit, activation):
    rng = np.random.default_rng(1)
    X, weights = hetero_chain(rng), random_weights(rng, 3, 5, bias=False, activation=activation)
    scaled = {"w1": weights.w1 / unit, "w2": weights.w2 * unit, "w3_bias": np.full(3, np.log(unit))}
    if activation is TANH:  # where starts that are not the same may end at minima that are not
        scaled |= {"w3": weights.w3 * unit, "w3_bias": weights.w3_bias + np.log(unit)}
    here = fit_scales(X, weights, "heteroscedastic")
    there = fit_scales(X * unit, dataclasses.replace(weights, **scaled), "heteroscedastic")
    np.testing.assert_allclose(nll(X * unit, there), nll(X, here) + 3 * np.log(unit), rtol=1e-6)


@pytest.mark.parametrize(("activation", "side"), [(SIGMOID, 2.0), (TANH, 2.0), (TANH, -2.0)])
def test_a_dead_relu_comes_alive_where_the_spread_varies(activation, side):
    """Scale 0.2 + relu(2 s) with a hidden unit s of the cause, or -2 s: the fit is as likely as the truth."""
    rng = np.random.default_rng(2)
    cause = rng.normal(size=3000)
    s = np.tanh(2.0 * cause) if activation is TANH else 1.0 / (1.0 + np.exp(-2.0 * cause))
    truth = 0.2 + np.maximum(side * s, 0.0)
    X = np.column_stack([cause, truth * rng.normal(size=3000)])
    w1 = np.zeros((2, 2, 2))
    w1[1, :, 0] = 2.0, 0.5
    dead = Weights(w1, np.zeros((2, 2)), w3=np.full((2, 2), -1.0), w3_bias=np.zeros(2), activation=activation)
    fitted = fit_scales(X, dead, "heteroscedastic")
    np.testing.assert_allclose(naive.forward(X[:200], fitted)[1][:, 1], truth[:200], rtol=0.15)
    assert nll(X, fitted) < nll(X, fit_scales(X, dead, "unequal")) - 0.1


@of_both_activations
def test_a_node_without_causes_has_the_scale_of_its_residuals(activation):
    """Whatever its units are worth at zero, where those of tanh are nothing."""
    X = hetero_chain(np.random.default_rng(8))
    weights = Weights(np.zeros((3, 4, 3)), *np.zeros((2, 3, 4)), np.zeros(3), activation=activation)
    scale = naive.forward(X[:1], fit_scales(X, weights, "heteroscedastic"))[1][0]
    np.testing.assert_allclose(scale, np.sqrt(np.mean(X**2, axis=0)), rtol=1e-3)


def test_unequal_scales_are_root_mean_squared_residuals_and_maximise_the_likelihood_and_equal_ones_stay():
    rng = np.random.default_rng(3)
    X, weights = hetero_chain(rng), random_weights(rng, 3, 4)
    fitted = fit_scales(X, weights, "unequal")
    residual = X - naive.forward(X, weights)[0].real
    np.testing.assert_allclose(np.exp(fitted.w3_bias), np.sqrt(np.mean(residual**2, axis=0)), rtol=1e-10)
    best = minimize(lambda b: nll(X, dataclasses.replace(fitted, w3_bias=b)), np.zeros(3), method="BFGS")
    assert nll(X, fitted) == pytest.approx(best.fun, abs=1e-9)
    assert fit_scales(X, weights, "equal") is weights


@pytest.mark.parametrize(("w3", "w3_bias"), [(None, 0.5), (-1.0, 0.3), (-1.0, -9.0), (0.0, 0.3)])
def test_gradient_of_one_node(w3, w3_bias):
    """At random weights, of a dead ReLU, near the floor, and at the kink, where it is that of the dead side."""
    rng = np.random.default_rng(5)
    s, residual = rng.uniform(size=(4, 9)), rng.normal(size=9)
    start = np.append(rng.normal(size=4) if w3 is None else np.full(4, w3), w3_bias)

    def slow(theta):
        total = 0
        for m in range(9):
            slope = theta[:4] @ s[:, m]
            sigma = (slope if slope.real > 0 else 0) + np.exp(theta[4])
            total += np.log(sigma) + residual[m] ** 2 / (2 * sigma**2)
        return total / 9

    value, gradient, fisher = scale_objective(s, residual, NONE, start)
    assert value == pytest.approx(slow(start.astype(complex)).real, rel=1e-12)
    np.testing.assert_allclose(gradient, naive.complex_step_gradient(slow, start), rtol=1e-10, atol=1e-14)
    slope = start[:4] @ s
    by_theta = np.vstack([s * (slope > 0), np.full(9, np.exp(w3_bias))]) / (np.maximum(slope, 0) + np.exp(w3_bias))
    np.testing.assert_allclose(fisher, 2.0 * by_theta @ by_theta.T / 9, rtol=1e-12)


def test_no_scale_falls_below_a_thousandth_of_the_residuals():
    """Half of the observations are fitted exactly, and the cause tells which: the likelihood has no maximum."""
    rng = np.random.default_rng(7)
    cause = np.repeat([-1.0, 1.0], 200)
    X = np.column_stack([cause, np.where(cause > 0, 3.0 * rng.normal(size=400), 0.0)])
    w1 = np.zeros((2, 2, 2))
    w1[1, :, 0] = 40.0, -40.0
    fitted = fit_scales(X, Weights(w1, np.zeros((2, 2)), np.zeros((2, 2)), np.zeros(2)), "heteroscedastic")
    scale, rms = naive.forward(X, fitted)[1][:, 1], np.sqrt(np.mean(X[:, 1] ** 2))
    assert scale.min() == pytest.approx(1e-3 * rms, rel=1e-3)
    assert scale.max() == pytest.approx(np.sqrt(2.0) * rms, rel=0.05)


def test_a_node_that_is_fitted_exactly_keeps_a_finite_likelihood():
    X = np.column_stack([np.linspace(-1, 1, 20), np.zeros(20)])
    exact = initial_weights(X, 3, False, np.random.default_rng(6))
    reached = nll(X, fit_scales(X, exact, "heteroscedastic"))
    assert np.isfinite(reached)
    assert reached < nll(X, exact)


@pytest.mark.parametrize("seed", range(4))
def test_a_descent_ends_at_a_minimum_as_low_as_that_of_lbfgs(seed):
    rng = np.random.default_rng(seed)
    s = 1.0 / (1.0 + np.exp(-rng.uniform(0.5, 2.0, size=(3, 1)) * rng.normal(size=400)))
    residual = (0.3 + s[0]) * rng.normal(size=400)
    start = np.array([0.5, 0.5, 0.5, -1.0])
    how = {"jac": True, "method": "L-BFGS-B", "options": {"ftol": 1e-14}}
    expected = minimize(lambda at: scale_objective(s, residual, NONE, at)[:2], start, **how)
    theta, reached = descend(s, residual, NONE, start, -15.0, 1e-12)
    assert reached == scale_objective(s, residual, NONE, theta)[0]
    assert reached < expected.fun + 1e-4


def test_a_descent_stays_between_its_bounds():
    rng = np.random.default_rng(9)
    s, residual = rng.uniform(size=(2, 50)), 1e-3 * rng.normal(size=50)
    for lowest, expected in ((-2.0, -2.0), (-30.0, np.log(np.sqrt(np.mean(residual**2))))):
        theta, _ = descend(s, residual, NONE, -np.ones(3), lowest, 1e-12)  # dead: the scale is exp of W3_n0
        assert theta[-1] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("floor", "sign"), [(-2.0, 1.0), (family.HIGHEST_FLOOR, -1.0)])
def test_at_a_bound_the_other_weights_take_the_step_of_theirs_alone(floor, sign):
    root, gradient = np.random.default_rng(10).normal(size=(3, 3)), np.array([1.0, -2.0, 3.0 * sign])
    fisher = root @ root.T + np.eye(3)
    step = family._damped_step(gradient, fisher, 0.0, floor, -2.0)
    np.testing.assert_allclose(step, [*-np.linalg.solve(fisher[:2, :2], gradient[:2]), 0.0], atol=1e-12)
