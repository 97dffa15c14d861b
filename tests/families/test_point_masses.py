"""Columns with many zeros: a probability of the frequent value beside a density, both with the same parents."""

from functools import partial

import naive
import numpy as np
import pytest
from helpers import assert_agrees_with_shares, evidence_gain, standardised
from numpy.testing import assert_allclose
from support.families import (
    CategoricalResponse,
    GaussianResponse,
    OrdinalResponse,
    PointMassResponse,
    columns_of,
    fit_node,
    with_twice_the_units,
)
from support.families import response as _response
from support.table import point_masses

from icdh import DataWarning, HNMSearch, Knowledge

UNITS = 3


def problem(n_masses, n=60, p=2):
    rng = np.random.default_rng(n_masses)
    x, y = rng.normal(size=(p, n)), rng.normal(size=n)
    codes = rng.integers(0, n_masses + 1, size=n)
    response = PointMassResponse(codes, GaussianResponse.exact(y, None), 5.0 + np.arange(n_masses))
    size = response.law.n_weights(p, UNITS)
    return x, y, response, 0.6 * rng.normal(size=size), rng.uniform(0.3, 2.0, size=size)


@pytest.mark.parametrize("n_masses", [1, 2, 3])
def test_objective_gradient_and_fisher_matrix_agree_with_their_definitions(n_masses):
    x, y, response, theta, penalty = problem(n_masses)
    probabilities = partial(naive.part_probabilities, units=UNITS, log_odds=response.law.log_odds)
    assert_agrees_with_shares(response, probabilities, x, theta, penalty, UNITS, y, 1e-8)


def test_doubled_units_compute_nearly_the_same():
    x, _, response, theta, _ = problem(2)
    fit = fit_node(x, response, hidden_units=UNITS, start=theta)
    values = []
    for weights, units in ((fit.theta, UNITS), (with_twice_the_units(fit.theta, len(x), UNITS, 0), 2 * UNITS)):
        assert weights.size == response.law.n_weights(len(x), units)
        values.append(response.objective(x, units).quadratic_model(weights, np.zeros(weights.size))[0])
    assert values[1] == pytest.approx(values[0], rel=0.05)


def test_masses_at_both_ends_are_told_from_grids_and_rounded_numbers():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    assert point_masses(x) == []
    assert point_masses(np.round(x, 1)) == []
    assert point_masses(rng.poisson(1.5, size=2000).astype(float)) == []
    assert point_masses(np.clip(x, -0.5, 1.2)) == [-0.5, 1.2]


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.3, 0.5, 0.65])
@pytest.mark.parametrize("decimals", [0, 1, 3])
def test_no_edge_is_lost_at_zeros(share, decimals):
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    table = np.column_stack([x, 0.8 * x + 0.6 * rng.normal(size=1000)])
    table = np.maximum(table, np.quantile(table, share, axis=0))
    table = np.round(1000 * (table - table.min(axis=0)), decimals)
    model = HNMSearch(knowledge=Knowledge(tiers=[["x0"], ["x1"]]))
    with pytest.warns(DataWarning, match="point mass"):
        model.fit(table)
    ((cause, effect, strength, *_),) = model.edge_list()
    assert (cause, effect) == ("x0", "x1")
    assert strength > 100


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
def test_values_that_an_intervention_set_are_no_point_mass():
    rng = np.random.default_rng(4)
    was_set = np.zeros((600, 2), dtype=bool)
    was_set[:200, 0] = True
    x = np.where(was_set[:, 0], 1.5, rng.normal(size=600))
    model = HNMSearch().fit(np.column_stack([x, x**2 + 0.5 * rng.normal(size=600)]), interventions=was_set)
    assert [edge[:2] for edge in model.edge_list()] == [("x0", "x1")]
    response = model._found.columns.responses[list(model._found.table.order).index(0)]
    assert isinstance(response, GaussianResponse)


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
def test_independent_columns_of_many_zeros_have_no_edge():
    rng = np.random.default_rng(1)
    tables = [np.maximum(rng.normal(size=(500, 4)), [0.0, -0.5, 0.5, -9.0]) for _ in range(5)]
    assert sum(len(HNMSearch().fit(table).edge_list()) for table in tables) <= 1


def test_what_stands_at_a_mass_is_not_read_and_shifts_and_scales_change_nothing():
    rng = np.random.default_rng(2)
    x = rng.normal(size=400)
    y, gains = np.maximum(np.tanh(2 * x) + 0.4 * rng.normal(size=400), 0.0), []
    for unit, zero in ((1.0, 0.0), (1000.0, 0.0), (1.0, -5.0)):
        values = standardised(x, np.where(y == 0, zero, unit * (y + 1.0)))
        columns = columns_of(values, ["continuous"] * 2, masses=[[], point_masses(values[1])])
        gains.append(evidence_gain(columns.causes[:1], columns.responses[1]))
    assert gains == pytest.approx([gains[0]] * 3, rel=1e-6)
    assert gains[0] > 50


RESPONSES = {
    "point mass": lambda y: PointMassResponse((y > 0.9).astype(np.int64), GaussianResponse.exact(y, None), [2.0]),
    "levels": lambda y: OrdinalResponse(np.digitize(y, [-0.5, 0.0, 0.7]).astype(float), None),
    "labels": lambda y: CategoricalResponse(np.digitize(y, [-0.5, 0.0, 0.7]), 4, None),
}


@pytest.mark.parametrize("kind", RESPONSES)
def test_steps_whose_direction_some_observations_give_end_at_the_minimum_of_all(kind, monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, 4000))
    response = RESPONSES[kind](np.sin(x[0]) + 0.4 * rng.normal(size=4000))
    theta = 0.5 * rng.normal(size=response.law.n_weights(1, UNITS))
    own = response.objective(x, UNITS)
    value, gradient, fisher = own.quadratic_model(theta, np.ones(theta.size))
    same_value, same_gradient, about = own.quadratic_model(theta, np.ones(theta.size), 4)
    assert (same_value, same_gradient.tolist()) == (value, gradient.tolist())
    assert 0.0 < np.abs(about - fisher).max() < 0.2 * np.abs(fisher).max()
    ends, weights = [], 0.1 * theta
    for enough in (np.inf, 16):
        monkeypatch.setattr(_response, "ENOUGH", enough)
        factor = np.zeros((theta.size, theta.size))
        fit = response.minimiser(x, UNITS)(weights, np.ones(theta.size), theta.size, (300, 1e-6, 2), factor)
        ends.append([*fit[:2], np.log(np.diag(factor)[: own.free]).sum()])
        weights = weights + 0.02 * rng.normal(size=theta.size)
    assert_allclose(ends[1], ends[0], rtol=0.0, atol=0.01)


@pytest.fixture(scope="module")
def floored():
    """A table whose second column is zero in half of the rows and whose third follows it, and a model of it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    y = np.maximum(x + 0.8 * rng.normal(size=1000), 0.0)
    X = np.column_stack([x, y, y + (0.3 + 0.2 * y) * rng.normal(size=1000)])
    with pytest.warns(DataWarning, match="point mass"):
        return X, HNMSearch(knowledge=Knowledge(required=[("x0", "x1"), ("x1", "x2")])).fit(X)


def test_samples_have_the_zeros_of_the_table(floored):
    X, model = floored
    drawn = model.sample(20_000, random_state=1)
    assert np.mean(drawn[:, 1] == 0.0) == pytest.approx(np.mean(X[:, 1] == 0.0), abs=0.03)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.1)
    np.testing.assert_allclose(drawn.std(axis=0), X.std(axis=0), rtol=0.1)
    low, high = (np.mean(model.sample(5000, random_state=1, do={"x0": dose})[:, 1] == 0.0) for dose in (1.5, -1.5))
    assert low < 0.15 < 0.85 < high


def test_means_count_the_zeros_and_the_score_their_probability(floored):
    X, model = floored
    near = np.abs(X[:, 0]) < 0.2
    assert model.predict(X)[near, 1].mean() == pytest.approx(X[near, 1].mean(), abs=0.1)
    of_units = np.log(model.scale_) @ np.array([1.0, np.mean(X[:, 1] != 0.0), 1.0])  # none of a value at the mass
    assert model.score(10.0 * X / 10.0) == pytest.approx(-model.nll_ - of_units, abs=1e-6)


def test_a_zero_does_not_determine_its_noise_and_other_values_do(floored):
    X, model = floored
    positive = X[X[:, 1] > 0.0]
    np.testing.assert_allclose(model.counterfactual(positive, {"x0": positive[:, 0]}), positive, atol=1e-6)
    assert (model.counterfactual(positive, {"x0": positive[:, 0] + 1.0})[:, 1] >= positive[:, 1] - 1e-9).mean() > 0.9
    with pytest.raises(ValueError, match="the intervention reaches 'x1': what the value of a row"):
        model.counterfactual(X, {"x0": 0.0})
    np.testing.assert_array_equal(model.counterfactual(X, {"x2": 0.0})[:, :2], X[:, :2])
