import dataclasses
from itertools import pairwise

import naive
import numpy as np
import pytest
from helpers import of_both_activations, random_weights
from scipy.optimize import check_grad
from scipy.special import expit
from support.article import activation, bend_of, slope_of, weighed_slope_of

from icdh.acyclicity import acyclicity
from icdh.likelihood import nll, nll_and_gradient
from icdh.network import NetworkConditional, Weights, forward, initial_weights

NAMES = ("w1", "w2", "w3", "w3_bias", "hidden_bias", "output_bias")
ROUNDING = 1e-18  # s (1 - s) of a saturated unit, s = 1, is zero instead of exp(-z)


def assert_gradient_is_exact(X, weights):
    names = [name for name in NAMES if getattr(weights, name) is not None]
    expected = naive.complex_step(lambda w: naive.nll(X, w), weights, names)
    value, gradient = nll_and_gradient(X, weights)
    assert value == pytest.approx(naive.nll(X, naive.as_dict(weights)), rel=1e-12)
    for name in names:
        slack = 1e-9 * np.abs(expected[name]).max(initial=0.0) + ROUNDING
        np.testing.assert_allclose(getattr(gradient, name), expected[name], rtol=1e-9, atol=slack)


AWKWARD = {
    "random": lambda w: w,
    "dead": lambda w: dataclasses.replace(w, w3=-np.abs(w.w3) - 1.0),  # the ReLU is off at every observation
    "saturated": lambda w: dataclasses.replace(w, w1=w.w1 * 2000.0),
    "near the floor": lambda w: dataclasses.replace(w, w3=-np.abs(w.w3), w3_bias=np.full(w.n_variables, -12.0)),
    "below the clip": lambda w: dataclasses.replace(w, w3=np.abs(w.w3), w3_bias=np.full(w.n_variables, -400.0)),
    "above the clip": lambda w: dataclasses.replace(w, w3_bias=np.full(w.n_variables, 400.0)),
}


@of_both_activations
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("point", AWKWARD)
def test_gradient_at_random_and_awkward_points(bias, point, activation):
    rng = np.random.default_rng(1)
    weights = AWKWARD[point](random_weights(rng, bias=bias, activation=activation))
    X = rng.normal(size=(7, 4))
    assert_gradient_is_exact(X, weights)
    assert (np.abs(weights.w1.reshape(-1, 4) @ X.T).max() > 700) == (point == "saturated")


@pytest.mark.parametrize(
    ("m", "n", "m1", "unit"),
    [(1, 3, 2, 1), (5, 1, 3, 1), (6, 3, 1, 1), (1, 1, 1, 1), (40, 2, 10, 1), (8, 4, 3, 1e-6), (8, 4, 3, 1e6)],
)
@of_both_activations
@pytest.mark.parametrize("bias", [False, True])
def test_gradient_at_the_smallest_shapes_and_with_columns_in_tiny_and_huge_units(m, n, m1, unit, bias, activation):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(m, n)) * np.where(np.arange(n) % 2, 1.0, unit)
    assert_gradient_is_exact(X, random_weights(rng, n, m1, bias, activation))


@pytest.mark.parametrize("low", [0.0, -1.0, -0.3])
def test_what_is_known_of_the_activation(low):
    """Its slope and its bend are derivatives, and it lies between ``low`` and one."""
    z, step = np.linspace(-6.0, 6.0, 25), 1e-4
    s, ahead, behind = (activation(z + k * step, low) for k in (0, 1, -1))
    slope = np.array([slope_of(each, low) for each in s])
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-6)
    np.testing.assert_allclose([weighed_slope_of(each, 3.0, low) for each in s], 3.0 * slope, rtol=1e-12)
    bend = [bend_of(each, low) for each in s] * slope
    np.testing.assert_allclose(bend, (ahead - 2 * s + behind) / step**2, atol=1e-6)
    assert low < s.min() < low + 0.01 < 0.99 < s.max() < 1.0


@of_both_activations
def test_activations_are_what_they_are_called(activation):
    z = np.append(np.linspace(-40.0, 40.0, 161), [-800.0, 800.0])
    w1 = np.zeros((2, 1, 2))
    w1[1, 0, 0] = 1.0
    network = Weights(w1, np.ones((2, 1)), np.zeros((2, 1)), np.zeros(2), activation=activation)
    expected = {"sigmoid": expit, "tanh": np.tanh}[activation.name](z)
    np.testing.assert_allclose(forward(np.column_stack([z, z]), network)[0][:, 1], expected, rtol=1e-14, atol=1e-15)


@of_both_activations
@pytest.mark.parametrize("bias", [False, True])
def test_forward_equals_the_naive_loops(bias, activation):
    rng = np.random.default_rng(4)
    X, weights = rng.normal(size=(30, 5)) * 3, random_weights(rng, 5, 4, bias, activation)
    for fast, slow in zip(forward(X, weights), naive.forward(X, weights), strict=True):
        np.testing.assert_allclose(fast, slow, rtol=1e-12, atol=1e-12)


def test_a_table_longer_than_a_block_is_the_mean_of_its_parts():
    rng = np.random.default_rng(5)
    X, weights = rng.normal(size=(1200, 4)), random_weights(rng)
    value, gradient = nll_and_gradient(X, weights)
    parts = [nll_and_gradient(part, weights) for part in np.split(X, 12)]
    assert value == pytest.approx(np.mean([part[0] for part in parts]), rel=1e-13)
    for name in NAMES:
        mean = np.mean([getattr(part[1], name) for part in parts], axis=0)
        np.testing.assert_allclose(getattr(gradient, name), mean, rtol=1e-11, atol=1e-14)
    joined = np.concatenate([forward(part, weights)[1] for part in np.split(X, 12)])
    np.testing.assert_allclose(forward(X, weights)[1], joined, rtol=1e-13)


def test_known_value_of_a_standard_normal_table():
    X = np.array([[0.0, 1.0], [2.0, 0.0]])
    weights = Weights(np.zeros((2, 3, 2)), np.zeros((2, 3)), np.zeros((2, 3)), np.zeros(2))
    assert nll(X, weights) == pytest.approx(np.log(2 * np.pi) + 5 / 4)


@pytest.mark.parametrize("bias", [False, True])
def test_weights_of_self_loops_count_neither_for_the_value_nor_for_the_gradient(bias):
    """So that SciPy's `check_grad` passes at any weights, with all of them as unknowns."""
    rng = np.random.default_rng(8)
    X, given = rng.normal(size=(50, 3)), random_weights(rng, n=3, m1=2, bias=bias)
    sizes = np.cumsum([0, given.w1.size, given.w2.size, given.w3.size])

    def weights(flat):
        w1, w2, w3 = (part.reshape(-1, 2) for part in (flat[a:b] for a, b in pairwise(sizes)))
        return dataclasses.replace(given, w1=w1.reshape(3, 2, 3), w2=w2, w3=w3)

    def gradient(flat):
        found = nll_and_gradient(X, weights(flat))[1]
        return np.concatenate([part.ravel() for part in (found.w1, found.w2, found.w3)])

    at = rng.normal(size=sizes[-1])
    at[0] = 0.0  # one of a self-loop, others of it are not
    before = at.copy()
    assert check_grad(lambda flat: nll(X, weights(flat)), gradient, at) < 1e-5
    np.testing.assert_array_equal(at, before)


@pytest.mark.parametrize(("bias", "reach"), [(False, 0.1), (True, 1.0)])
def test_initial_weights_have_the_reach_that_they_are_said_to_have(bias, reach):
    """In units of 1 / (root mean square of the input), off the self-loops; all else begins at zero."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(60, 4)) * [2.0, 5.0, 30.0, 0.0]
    weights = initial_weights(X, 50, bias, rng)
    rms = np.append(np.sqrt(np.mean(X[:, :3] ** 2, axis=0)), 1.0)
    assert not np.diagonal(weights.adjacency()).any()
    drawn = np.abs(weights.w1 * rms)[~np.eye(4, dtype=bool)[:, np.newaxis].repeat(50, axis=1)]
    assert 0.95 * reach < drawn.max() <= reach
    assert drawn.mean() == pytest.approx(reach / 2, rel=0.1)
    for rest in (weights.w2, weights.w3, weights.w3_bias, weights.output_bias):
        assert rest is None or not rest.any()
    assert 0.95 < np.abs(weights.hidden_bias).max() <= 1.0 if bias else weights.hidden_bias is None


@pytest.mark.parametrize("bias", [False, True])
def test_initial_weights_of_tiny_units_do_not_drown_the_others(bias):
    """However small the units of a column, the acyclicity of the weights that a fit begins with stays moderate."""
    rng = np.random.default_rng(9)
    A = initial_weights(rng.normal(size=(60, 4)) * [1e-9, 1.0, 30.0, 1e-3], 10, bias, rng).adjacency()
    assert np.isfinite(A).all()
    assert acyclicity(A)[0] < 1e6


def test_a_conditional_depends_on_inputs_of_any_sign_and_adjacency_is_the_norm_over_hidden_units():
    w1 = np.zeros((2, 2, 2))
    w1[1, :, 0] = -3.0, -4.0
    weights = Weights(w1, w2=np.ones((2, 2)), w3=np.ones((2, 2)), w3_bias=np.zeros(2))
    np.testing.assert_array_equal(weights.adjacency(), [[0.0, 5.0], [0.0, 0.0]])
    X, conditional = np.array([[0.3, 0.0], [-2.0, 1.0]]), NetworkConditional.of(weights, 1)
    assert conditional.inputs.tolist() == [0]
    for ours, theirs in zip(conditional.mean_and_scale(X.T), forward(X, weights), strict=True):
        np.testing.assert_allclose(ours, theirs[:, 1], rtol=1e-13)


@of_both_activations
@pytest.mark.parametrize("bias", [False, True])
def test_an_input_that_is_held_gives_the_network_at_that_value(bias, activation):
    rng = np.random.default_rng(9)
    weights = random_weights(rng, bias=bias, activation=activation)
    X, centre = rng.normal(size=(9, 4)), rng.normal(size=4)
    held = NetworkConditional.of(weights, 1).with_each_input_held(X.T, centre, np.ones(4, dtype=bool))
    for i, *outputs in held:
        there = X.copy()
        there[:, i] = centre[i]
        for ours, theirs in zip(outputs, forward(there, weights), strict=True):
            np.testing.assert_allclose(ours, theirs[:, 1], rtol=1e-12)


def test_a_wrong_shape_of_w1_is_named():
    w = np.zeros((2, 3))
    with pytest.raises(ValueError, match="w1 must have shape"):
        Weights(w, w, w, np.zeros(2))
