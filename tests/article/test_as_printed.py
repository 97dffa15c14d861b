"""Algorithms 1 to 3 as printed: the trace of the augmented Lagrangian, stationary points, and what rounds return."""

import dataclasses

import naive
import numpy as np
import pytest
from helpers import fit_two_phase, hetero_chain, of_both_activations, problem_of, random_weights
from scipy import stats
from support.article import Unknowns, as_printed, fit_means, fit_scales

from icdh import ICDH
from icdh.acyclicity import acyclicity
from icdh.knowledge import EdgeRules
from icdh.likelihood import nll, nll_and_gradient
from icdh.network import ACTIVATIONS, TANH, forward, initial_weights
from icdh.two_phase import Limits, Problem, algorithm_2, algorithm_3, phase_two_objective

FREE = EdgeRules.of(np.eye(3, dtype=bool))


@pytest.fixture(scope="module")
def X():
    return hetero_chain(np.random.default_rng(0), 200)


@pytest.fixture(scope="module", params=ACTIVATIONS)
def weights(X, request):
    return initial_weights(X, 4, False, np.random.default_rng(1), ACTIVATIONS[request.param])


def phase_two(X, weights, rules=FREE, l1=0.01, l2=0.01, h_tol=1e-8, rho_max=1e16, **options):
    of_weights = {"activation": weights.activation, "l1": l1, "l2": l2}
    problem = problem_of(X.T, rules.forbidden, rules.required, **of_weights, **options)
    return algorithm_3(problem, np.ones(X.shape), weights, Limits(h_tol=h_tol, rho_max=rho_max))


@of_both_activations
@pytest.mark.parametrize("bias", [False, True])
def test_objective_and_gradient_equal_the_naive_loops(bias, activation):
    rng = np.random.default_rng(1)
    X, weights = rng.normal(size=(7, 4)), random_weights(rng, 4, 3, bias, activation)
    weights = dataclasses.replace(weights, w1=0.3 * weights.w1)  # h and its square would drown all else
    scale, penalties = rng.uniform(0.5, 2.0, size=X.shape), (0.03, 0.05, 3.0, 0.7)
    named = dict(zip(("l1", "l2", "rho", "alpha"), penalties, strict=True))
    value, gradient = phase_two_objective(X, scale, weights, **named)
    assert value == pytest.approx(naive.phase_two_objective(X, scale, naive.as_dict(weights), *penalties), rel=1e-10)
    names = ["w1", "w2", *(["hidden_bias", "output_bias"] if bias else [])]
    exact = naive.complex_step(lambda w: naive.phase_two_objective(X, scale, w, *penalties), weights, names)
    for name in names:
        np.testing.assert_allclose(getattr(gradient, name), exact[name], rtol=1e-9, atol=1e-12)
    assert not np.any([*gradient.w3.flat, *gradient.w3_bias])


@pytest.mark.parametrize("bias", [False, True])
def test_theta_and_weights_are_one(bias):
    weights = random_weights(np.random.default_rng(4), 3, 4, bias)
    unknowns = Unknowns(weights, FREE, 0.03)
    assert unknowns.weights(unknowns.of(weights)) == weights
    assert unknowns.lasso(unknowns.of(weights)) == pytest.approx(0.03 * np.abs(weights.w1).sum(), rel=1e-12)


def test_the_derivatives_by_theta_are_those_by_the_weights_with_a_lasso_that_is_linear():
    """By W1+ they are l1 more than those of the rest by W1, by W1- l1 less them; required edges pay nothing."""
    weights, required = random_weights(np.random.default_rng(4), 3, 4, bias=True), np.zeros((3, 3), dtype=bool)
    required[0, 1] = True
    unknowns = Unknowns(weights, EdgeRules.of(np.eye(3, dtype=bool), required), 0.03)
    edges = weights.w1[unknowns.allowed]
    paid = np.where(edges == 0.0, 0.0, 0.03)  # the edge 1 -> 0, which would close a cycle, is no unknown
    ends = np.split(unknowns.gradient(weights), [edges.size, 2 * edges.size])
    to_first = np.repeat(required.T[:, np.newaxis], 4, axis=1)[unknowns.allowed]
    np.testing.assert_allclose(ends[0], edges + np.where(to_first, 0.0, paid))
    np.testing.assert_allclose(ends[1], np.where(to_first, 0.0, paid) - edges)
    np.testing.assert_array_equal(ends[2], [*weights.w2.flat, *weights.hidden_bias.flat, *weights.output_bias])


def test_the_derivatives_given_a_scale_and_rows_are_those_of_the_rows():
    rng = np.random.default_rng(3)
    X, weights = rng.normal(size=(600, 3)), random_weights(rng, 3, 4, bias=True)
    own, scale = rng.uniform(size=600) < 0.5, forward(X, weights)[1]
    value, gradient = nll_and_gradient(X, weights, rows=np.repeat(own[:, np.newaxis], 3, axis=1))
    own_value, of_own = nll_and_gradient(X[own], weights)
    assert value == pytest.approx(own.mean() * own_value, rel=1e-12)
    np.testing.assert_allclose(gradient.w1, own.mean() * of_own.w1, rtol=1e-10, atol=1e-13)
    fixed_value, fixed = nll_and_gradient(X, weights, scale=scale)
    assert fixed_value == pytest.approx(nll(X, weights), rel=1e-12)
    assert not np.any([*fixed.w3.flat, *fixed.w3_bias])
    dead = dataclasses.replace(weights, w3=-np.abs(weights.w3))
    given = nll_and_gradient(X, dead, scale=forward(X, dead)[1])[1].w1
    np.testing.assert_allclose(given, nll_and_gradient(X, dead)[1].w1, rtol=1e-10)


def test_phase_two_ends_just_below_h_tol_or_gives_up_at_rho_max(X, weights):
    step, early = phase_two(X, weights, h_tol=1e-6), phase_two(X, weights, rho_max=100.0)
    assert step.h == acyclicity(step.weights.adjacency())[0]
    assert 0.0 < step.h <= 1e-6 < phase_two(X, weights, h_tol=1e-4).h
    assert early.rho == 100.0
    assert early.h > 1e-8


def test_the_multiplier_adds_up_rho_times_h(X, weights, monkeypatch):
    """alpha grows by rho h after each inner loop, which ends once h fell below a quarter; else rho grows tenfold."""
    seen, honest = {}, as_printed._smooth_part

    def watched(problem, sigma, weights, rho, alpha, shift):
        seen[rho, alpha] = acyclicity(weights.adjacency())[0]
        return honest(problem, sigma, weights, rho, alpha, shift)

    monkeypatch.setattr(as_printed, "_smooth_part", watched)
    end = phase_two(X, weights)
    *stages, of_end = seen
    assert of_end == (0.0, 0.0)  # the value at the end
    assert stages[0] == (1.0, 0.0)
    reference = np.inf
    for (rho, alpha), follows in zip(stages, [*stages[1:], (end.rho, end.alpha)], strict=True):
        h = seen[rho, alpha]
        enough = h <= 0.25 * reference
        assert follows == ((rho, alpha + rho * h) if enough else (10.0 * rho, alpha))
        reference = h if enough else reference
    assert len({rho for rho, _ in stages}) > 3


def test_the_end_is_a_stationary_point_of_the_lagrangian(X, weights, monkeypatch):
    """No slow derivative by a weight that moves is left, and none at zero exceeds the lasso penalty."""
    monkeypatch.setattr(as_printed, "TOLERANCE", 1e-14)
    end = phase_two(X, weights, h_tol=1e-2)
    alpha, scale = end.alpha - end.rho * end.h, np.ones(X.shape)
    derivatives = naive.complex_step(
        lambda entries: naive.phase_two_objective(X, scale, entries, 0.0, 0.01, end.rho, alpha),
        end.weights,
        ("w1", "w2"),
    )
    off = np.repeat(~np.eye(3, dtype=bool)[:, np.newaxis], 4, axis=1)
    w1, gradient = end.weights.w1[off], derivatives["w1"][off]
    lasso = np.where(w1 == 0.0, np.clip(-gradient, -0.01, 0.01), 0.01 * np.sign(w1))
    np.testing.assert_allclose(gradient + lasso, 0.0, atol=2e-4)
    np.testing.assert_allclose(derivatives["w2"], 0.0, atol=2e-4)


def test_a_minimum_of_the_fast_procedure_is_one_of_the_printed_objective(monkeypatch):
    """One allowed edge, so that the constraint is void: from the fast minimum nothing is left to gain."""
    X = hetero_chain(np.random.default_rng(3), 100)[:, :2]
    values, forbidden = np.ascontiguousarray(X.T), np.array([[True, False], [True, True]])
    weights = initial_weights(X, 2, False, np.random.default_rng(0))
    fast = fit_means(problem_of(values, forbidden, l1=0.05, l2=0.1), np.ones(values.shape), weights, 1e16)
    monkeypatch.setattr(as_printed, "TOLERANCE", 1e-13)
    printed = phase_two(X, fast.weights, EdgeRules.of(forbidden), l1=0.05, l2=0.1)
    assert printed.objective == pytest.approx(fast.objective, rel=1e-6)
    np.testing.assert_allclose(printed.weights.w1, fast.weights.w1, atol=0.01)


def test_phase_one_raises_the_likelihood_and_moves_the_scales_alone(X, weights):
    means = phase_two(X, weights, h_tol=1e-3).weights
    kinds, activation = ("heteroscedastic", "unequal", "equal"), weights.activation
    problem, *others = (Problem.of(X, noise=noise, activation=activation) for noise in kinds)
    found, constant, same = (algorithm_2(own, means) for own in (problem, *others))
    np.testing.assert_array_equal(found.w1, means.w1)
    np.testing.assert_array_equal(found.w2, means.w2)
    assert nll(X, algorithm_2(problem, found)) <= nll(X, found) < nll(X, constant) < nll(X, means)
    residual = X - forward(X, means)[0]
    np.testing.assert_allclose(forward(X, constant)[1][0], np.sqrt(np.mean(residual**2, axis=0)), rtol=1e-12)
    assert same is means


def test_rows_that_do_not_count_say_nothing_of_the_variable(X):
    """What x1 was set to is nothing to its own distribution; to its effects it is a cause as ever."""
    rows, other, own = np.ones(X.shape, dtype=bool), X.copy(), np.array([False, True, False])
    rows[:50, 1] = False
    other[:50, 1] += 7.0
    weights = random_weights(np.random.default_rng(2), 3, 4, bias=False)
    of_itself = [nll_and_gradient(table, weights, rows=rows & own)[0] for table in (X, other)]
    assert of_itself[0] == of_itself[1]

    def means(table, **counted):
        return algorithm_3(problem_of(table.T, **counted), np.ones(X.shape), weights, Limits(h_tol=1e6)).objective

    assert means(X, rows=rows.T) != means(other, rows=rows.T)
    assert means(X, rows=np.ones(X.T.shape, dtype=bool)) == pytest.approx(means(X), rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("phase_one", [algorithm_2, fit_scales])
def test_scales_of_activations_of_both_signs_begin_where_residuals_are_large(phase_one, seed):
    """They are as likely as the truth; from equal weights they were 0.2 nats above. Rows that do not count are mute."""
    rng = np.random.default_rng(seed)
    cause, counts = rng.normal(size=1200), np.repeat([True, False], [800, 400])
    scale = np.where(counts, 0.3 + np.abs(cause), 5.0 * np.exp(-(cause**2)))
    X = np.column_stack([cause, scale * rng.normal(size=1200)])
    weights = random_weights(rng, 2, 10, True, TANH)
    weights = dataclasses.replace(weights, **{own: 0.0 * getattr(weights, own) for own in ("w2", "w3", "output_bias")})
    counted = {"rows": np.array([counts, counts])} if phase_one is algorithm_2 else {"weights": counts.astype(float)}
    fitted = phase_one(problem_of(X.T, bias=True, activation=TANH, **counted), weights)
    found, truth = (stats.norm.logpdf(X[counts, 1], 0.0, own[counts]) for own in (forward(X, fitted)[1][:, 1], scale))
    assert found.mean() > truth.mean() - 0.02


def one_round(values, **options):
    return fit_two_phase(values, random_state=1, max_rounds=1, hidden_units=4, schedule="paper", **options)


def test_h_tol_and_rho_max_act_as_printed(X):
    strict, loose, early = (one_round(X.T, **given).history[0] for given in ({}, {"h_tol": 1e-3}, {"rho_max": 10.0}))
    assert strict.h <= 1e-8 < loose.h <= 1e-3
    assert loose.evaluations < strict.evaluations
    assert early.rho == 10.0
    assert early.h > 1e-8


def test_rounds_end_where_the_likelihood_stands_still(X):
    result = fit_two_phase(X.T, random_state=1, hidden_units=4, schedule="paper", tol=0.05)
    values = [record.nll for record in result.history]
    assert np.all(-np.diff(values)[:-1] >= 0.05)
    assert -np.diff(values)[-1] < 0.05
    assert result.best.nll == min(values) == pytest.approx(nll(X, result.weights), rel=1e-12)
    assert [record.criterion for record in result.history] == values


def test_required_and_forbidden_edges_are_kept(X):
    forbidden, required = np.zeros((2, 3, 3), dtype=bool)
    forbidden[0, 1] = required[2, 1] = True
    A = one_round(X.T, forbidden_edges=forbidden, required_edges=required, h_tol=1e-4).weights.adjacency()
    assert (A[0, 1], A[1, 2]) == (0.0, 0.0)
    assert A[2, 1] > 0.0


def test_the_article_by_name_finds_the_chain(chain):
    model = ICDH(schedule="paper", scaling="standardize", hidden_units=5, tol=0.1).fit(chain)
    assert (model.causal_order_, model.converged_, model.moves_) == ([0, 1, 2], True, [])
