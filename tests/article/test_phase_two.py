import dataclasses
from itertools import pairwise

import naive
import numpy as np
import pytest
from helpers import hetero_chain, of_both_activations, problem_of, random_weights, recorded
from scipy.optimize import minimize
from support.article import (
    FAST_ALONE,
    DagDescent,
    NetworkObjective,
    QuadraticModel,
    Schedule,
    SplitVector,
    further_starts,
    minimise_by_lbfgs,
    minimise_by_newton,
    minimise_on_dag,
    procedure,
    quadratic_model,
    without_cycles,
)
from support.article import _step_in_orthant as step_in_orthant
from support.utils import Clock

import icdh.acyclicity
from icdh.acyclicity import acyclicity
from icdh.graphs import is_dag
from icdh.network import SIGMOID, TANH, Weights, initial_weights
from icdh.two_phase import Limits, algorithm_3


def network_objective(X, weights, l1=0.01, l2=0.01, scale=1.0, **rules):
    of_weights = {"bias": weights.hidden_bias is not None, "activation": weights.activation}
    problem = problem_of(X.T, l1=l1, l2=l2, **of_weights, **rules)
    return NetworkObjective.of(problem, scale * np.ones(X.T.shape) if np.isscalar(scale) else scale.T)


def fit_means(X, weights, *arguments, l1=0.01, l2=0.01, scale=1.0, forbidden=None):
    of_weights = {"bias": weights.hidden_bias is not None, "activation": weights.activation}
    problem = problem_of(X.T, forbidden, l1=l1, l2=l2, **of_weights)
    return procedure.fit_means(problem, np.full(X.T.shape, scale), weights, 1e16, *arguments)


def at(problem, edges):
    """Return which inputs of a network objective are these edges."""
    return np.array([edge in edges for edge in zip(problem.causes.tolist(), problem.effects.tolist(), strict=True)])


def slow_objective(X, network, l1=0.01, l2=0.01):
    return naive.phase_two_objective(X, np.ones(X.shape), naive.as_dict(network), l1, l2, 0.0, 0.0)


UPPER = np.tril(np.ones((3, 3), dtype=bool))  # what is forbidden where causes stand before effects


def problem_and_weights(rng, m=8, n=4, m1=3, bias=True, activation=SIGMOID):
    X, scale = rng.normal(size=(m, n)) * 2, rng.uniform(0.5, 2.0, size=(m, n))
    weights = random_weights(rng, n, m1, bias, activation)
    return X, scale, weights, network_objective(X, weights, 0.03, 0.05, scale)


def assert_objective_is_exact(X, scale, weights, problem, rho, alpha):
    """Value and gradient of the augmented Lagrangian against slow loops, at the W2 that the problem found."""
    w = problem.input_weights(weights)
    value, by_w = problem.with_multipliers(rho, alpha).smooth(w)
    objective, network = problem.solution(w, weights)

    def slow(entries):
        return naive.phase_two_objective(X, scale, entries, 0.0, 0.05, rho, alpha)

    whole = naive.phase_two_objective(X, scale, naive.as_dict(network), 0.03, 0.05, 0.0, 0.0)
    assert objective == pytest.approx(whole, rel=1e-11)
    assert value == pytest.approx(slow(naive.as_dict(network)), rel=1e-11)
    names = ("w1", "w2") + (("hidden_bias", "output_bias") if weights.hidden_bias is not None else ())
    expected = naive.complex_step(slow, network, names)
    inputs = np.dstack([expected[name] for name in names if name in ("w1", "hidden_bias")])
    inputs = inputs[problem.effects, :, problem.causes]
    np.testing.assert_allclose(by_w, inputs, rtol=1e-8, atol=1e-8 * np.abs(inputs).max() + 1e-12)
    for name in set(names) & {"w2", "output_bias"}:
        np.testing.assert_allclose(expected[name], 0.0, atol=1e-8 * max(1.0, abs(value)))


@of_both_activations
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("shape", "rho", "alpha"), [
    ((8, 4, 3), 0.0, 0.0), ((8, 4, 3), 1.0, 0.5), ((8, 4, 3), 1e4, 3.0),
    ((1, 3, 2), 1.0, 0.5), ((3, 2, 1), 1.0, 0.5), ((1, 2, 1), 1.0, 0.5), ((30, 6, 4), 1.0, 0.5),
])  # fmt: skip
def test_gradient_with_and_without_the_penalty_at_small_shapes(shape, rho, alpha, bias, activation):
    X, scale, weights, problem = problem_and_weights(np.random.default_rng(1), *shape, bias, activation)
    assert_objective_is_exact(X, scale, weights, problem, rho, alpha)


@of_both_activations
def test_gradient_where_units_are_saturated(activation):
    X, _, weights, problem = problem_and_weights(np.random.default_rng(3), activation=activation)
    weights = dataclasses.replace(weights, w1=weights.w1 * 2000.0)
    assert np.abs(weights.w1.reshape(-1, 4) @ X.T).max() > 700
    value, by_w = problem.with_multipliers(1.0, 0.0).smooth(problem.input_weights(weights))
    assert np.isfinite([value, *by_w.flat]).all()


@of_both_activations
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_gradient_with_columns_in_tiny_and_huge_units(unit, activation):
    X, scale, weights, _ = problem_and_weights(np.random.default_rng(4), activation=activation)
    columns = np.array([unit, 1.0, unit, 1.0])
    X, scale, weights = X * columns, scale * columns, dataclasses.replace(weights, w1=weights.w1 / columns)
    problem = network_objective(X, weights, 0.03, 0.05, scale)
    w = problem.input_weights(weights)
    derivatives = naive.complex_step(
        lambda entries: naive.phase_two_objective(X, scale, entries, 0.0, 0.05, 0.0, 0.0),
        problem.solution(w, weights)[1],
        ("w1", "hidden_bias"),
    )
    expected = np.dstack([derivatives["w1"], derivatives["hidden_bias"]])[problem.effects, :, problem.causes]
    np.testing.assert_allclose(problem.smooth(w)[1], expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


@of_both_activations
def test_the_split_vector_is_the_augmented_lagrangian(activation):
    """The flat function that L-BFGS-B sees, l1 term and units included, against differences."""
    rng = np.random.default_rng(5)
    _, _, weights, problem = problem_and_weights(rng, activation=activation)
    problem, w = problem.without(np.arange(problem.effects.size) % 2 == 1, problem.input_weights(weights))
    split = SplitVector(problem.with_multipliers(2.0, 0.3))
    theta = split.vector(w)
    theta += rng.uniform(0.1, 0.2, size=theta.size)
    gradient = split.penalised(theta)[1]
    for k in rng.choice(theta.size, size=30, replace=False):
        step = 1e-3 * np.eye(theta.size)[k]
        f = [split.penalised(theta + c * step)[0] for c in (-2, -1, 1, 2)]
        assert gradient[k] == pytest.approx((f[0] - 8 * f[1] + 8 * f[2] - f[3]) / 12e-3, rel=1e-6, abs=1e-9)


def test_the_unit_of_a_cause_changes_no_step():
    """Without penalties, and in a unit that is a power of two, L-BFGS-B takes the same steps to the last bits."""
    X = hetero_chain(np.random.default_rng(26), 100)
    units, found = np.array([2.0**-12, 1.0, 1.0]), []
    weights = initial_weights(X, 3, False, np.random.default_rng(0))
    for unit in (np.ones(3), units):
        start, clock = dataclasses.replace(weights, w1=weights.w1 / unit), Clock()
        problem = network_objective(X * unit, start, 0.0, 0.0, np.ones(X.shape) * unit, forbidden=UPPER)
        minimum = minimise_by_lbfgs(problem, problem.input_weights(start), 1e-6, lambda clock=clock: clock.check(3))
        found.append((minimum.w * unit[problem.causes, np.newaxis], clock.work))
    (here, steps), (there, same) = found
    assert steps == same
    np.testing.assert_allclose(there, here, rtol=1e-9)


def fit(X, weights=None, **options):
    return fit_means(X, weights or initial_weights(X, 5, False, np.random.default_rng(0)), **options)


@of_both_activations
def test_the_result_is_acyclic_its_objective_is_that_of_its_weights_and_those_of_scales_stay(activation):
    rng = np.random.default_rng(7)
    X, weights = hetero_chain(rng), random_weights(rng, 3, 5, bias=False, activation=activation)
    step = fit(X, weights)
    assert acyclicity(step.weights.adjacency())[0] <= 1e-8
    assert step.objective == pytest.approx(slow_objective(X, step.weights), rel=1e-9)
    np.testing.assert_array_equal(step.weights.w3, weights.w3)


def test_with_one_allowed_edge_it_finds_the_minimum_that_a_naive_search_finds():
    """Two variables, one direction: the constraint is void and the NOTEARS-MLP objective (Eq. 15) is minimised."""
    rng = np.random.default_rng(9)
    X = hetero_chain(rng, 40)[:, :2]
    template = initial_weights(X, 2, False, rng)
    starts = [initial_weights(X, 2, False, np.random.default_rng(seed)) for seed in range(5)]
    ours = min(fit_means(X, start, l1=0.05, l2=0.1, forbidden=UPPER[:2, :2]).objective for start in starts)

    def naive_objective(theta):
        w1 = np.zeros((2, 2, 2))
        w1[1, :, 0] = theta[:2]
        return slow_objective(X, dataclasses.replace(template, w1=w1, w2=theta[2:].reshape(2, 2)), 0.05, 0.1)

    options = {"method": "Powell", "options": {"ftol": 1e-10, "maxiter": 200}}
    theirs = min(minimize(naive_objective, rng.normal(size=6), **options).fun for _ in range(3))
    assert ours == pytest.approx(theirs, rel=1e-4)


def test_noise_scales_weigh_the_observations():
    """With sigma huge everywhere the penalties alone decide, and no edge is worth its weight."""
    X = hetero_chain(np.random.default_rng(10))
    assert fit(X).weights.adjacency().max() > 0.3
    assert np.all(fit(X, scale=1e4).weights.adjacency() == 0.0)


def test_no_allowed_edges_a_single_variable_and_no_ridge():
    X = hetero_chain(np.random.default_rng(11))
    assert fit(X, forbidden=np.ones((3, 3), dtype=bool)).h == 0.0
    assert fit(X[:, :1]).weights.adjacency().shape == (1, 1)
    step = fit(X, l1=0.0, l2=0.0)
    assert np.isfinite([step.objective, *step.weights.w2.flat]).all()


def test_further_starts_leave_a_poor_minimum_and_depend_on_nothing_but_their_weights():
    """Small weights end in a wave too few of a sine."""
    rng = np.random.default_rng(15)
    x = rng.uniform(-2, 2, size=200)
    X = np.column_stack([x, 2.0 * np.sin(3.0 * x) + 0.2 * rng.normal(size=200)])
    weights = initial_weights(X, 5, False, np.random.default_rng(2))
    plans = (FAST_ALONE._replace(reaches=()),), (), ()
    alone, once, again = (fit_means(X, weights, *plan, forbidden=UPPER[:2, :2]) for plan in plans)
    assert once.objective < 0.99 * alone.objective
    np.testing.assert_array_equal(once.weights.w1, again.weights.w1)


@pytest.mark.parametrize("bias", [False, True])
def test_a_further_start_has_the_largest_weight_that_is_asked_for_at_every_node(bias):
    """In units of 1 / (root mean square of the input), whatever these units are; its weights are taken in turn."""
    rng, reaches = np.random.default_rng(21), (1.0, 2.0, 4.0)
    X = rng.normal(size=(50, 4)) * [1e-3, 1.0, 20.0, 1e6]
    explore = [initial_weights(X, 3, bias, rng) for _ in range(2)]
    problem = network_objective(X, explore[0])
    starts = further_starts(problem, explore, reaches)
    rms = np.append(np.sqrt(np.mean(X**2, axis=0)), 1.0)[problem.causes]
    for start, reach, weights in zip(starts, reaches, [*explore, explore[0]], strict=True):
        drawn = problem.input_weights(weights)
        for n, family in enumerate(problem.families):
            own, stretched = problem.effects == n, start[n][family.inputs]
            assert np.max(np.abs(stretched) * rms[own, None]) == pytest.approx(reach, rel=1e-12)
            ratio = stretched / drawn[own]
            np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-12)


def test_the_multiplier_follows_the_constraint(monkeypatch):
    """alpha grows by rho h after every minimisation that brought h down far enough; rho by ten after the others."""
    seen, honest = [], procedure.minimise_by_lbfgs

    def watched(objective, *arguments):
        minimum = honest(objective, *arguments)
        seen.append((objective.rho, objective.alpha, objective.acyclicity(minimum.w)[0]))
        return minimum

    monkeypatch.setattr(procedure, "minimise_by_lbfgs", watched)
    X = hetero_chain(np.random.default_rng(22))
    weights = initial_weights(X, 5, False, np.random.default_rng(1))
    step = fit_means(X, weights, Schedule(1e-5, decided_h=1e-6, reaches=()))
    reached = np.inf
    for (rho, alpha, h), (next_rho, next_alpha, _) in pairwise(seen):
        enough = h <= 0.25 * reached
        assert next_alpha == pytest.approx(alpha + rho * h if enough else alpha, rel=1e-12)
        assert next_rho == (rho if enough else 10.0 * rho)
        reached = h if enough else reached
    rho, alpha, h = seen[-1]
    assert step.alpha == pytest.approx(alpha + rho * h, rel=1e-12)
    assert step.alpha > seen[0][0] * seen[0][2] > 0.0
    assert len({rho for rho, *_ in seen}) > 1
    assert h <= 1e-6
    ends = procedure.fit_means(problem_of(X.T), np.ones(X.T.shape), weights, 10.0, Schedule(1e-5, 1e-6, reaches=()))
    assert max(rho for rho, *_ in seen) > ends.rho == 10.0


def empty_dag(X, l1=0.01, forbidden=None):
    """A problem, its part without inputs and the weights there, further starts, and a network of that shape."""
    weights = initial_weights(X, 5, False, np.random.default_rng(3))
    problem = network_objective(X, weights, l1, forbidden=forbidden)
    empty = problem.without(~at(problem, []), problem.input_weights(weights))
    return problem, *empty, further_starts(problem, [weights], (1.0, 2.0)), weights


def test_the_descent_adds_edges_until_no_absent_one_would_pay():
    """From the empty graph: afterwards every absent edge has a derivative within the lasso, or closes a cycle."""
    problem, empty, none, starts, weights = empty_dag(hetero_chain(np.random.default_rng(23)))
    part, (w, *_) = minimise_on_dag(problem, empty, none, starts, 1e-6)
    A = part.adjacency(w)
    assert part.solution(w, weights)[0] < 0.9 * empty.solution(none, weights)[0]
    assert (A > 0).sum() >= 2
    assert is_dag(A)
    present = at(problem, set(zip(part.causes.tolist(), part.effects.tolist(), strict=True)))
    every = np.zeros((present.size, w.shape[1]))
    every[present] = w
    slope = np.abs(problem.smooth(every)[1]).max(axis=1)
    for k in np.flatnonzero(~present):
        closed = A.copy()
        closed[problem.causes[k], problem.effects[k]] = 1.0
        assert slope[k] <= 1.02 * 0.01 or not is_dag(closed)
    descent = DagDescent(problem, starts, 1e-6)
    descent.begin(empty, none)
    assert descent.add_edges()  # not all were missing, and others may be now


def test_cycles_are_cut_at_their_weakest_edge_before_the_descent():
    problem, *_, weights = empty_dag(hetero_chain(np.random.default_rng(24)), l1=1e-6)
    strength = {(0, 1): 3.0, (1, 2): 2.0, (2, 0): 1.0, (1, 0): 0.5}
    part, w = problem.without(~at(problem, strength), problem.input_weights(weights))
    w[:] = [[strength[edge]] for edge in zip(part.causes.tolist(), part.effects.tolist(), strict=True)]
    descent = DagDescent(problem, [], 1e-6)
    descent.begin(*without_cycles(part, w))
    part, w = descent.graph()
    assert set(zip(*np.nonzero(part.adjacency(w)), strict=True)) == {(0, 1), (1, 2)}


def test_many_weights_are_minimised_as_well_as_few_and_few_to_the_end_whatever_the_tolerance(monkeypatch):
    """Newton's method ends lower than L-BFGS-B and serves children of few weights; both end at the same minimum."""
    problem, *empty, starts, weights = empty_dag(hetero_chain(np.random.default_rng(25), 200), forbidden=UPPER)

    def minimum(begin, starts, tolerance, most=procedure.NEWTON_WEIGHTS):
        monkeypatch.setattr(procedure, "NEWTON_WEIGHTS", most)
        part, (w, *_) = minimise_on_dag(problem, *begin, starts, tolerance)
        return part.solution(w, weights)[0]

    many, few = (minimum(empty, starts, 1e-7, most) for most in (0, 200))
    assert few <= many * (1.0 + 1e-12)
    assert many == pytest.approx(few, rel=1e-3)
    whole = problem, problem.input_weights(weights)
    assert minimum(whole, [], 1e-1) == pytest.approx(minimum(whole, [], 1e-9), rel=1e-6)


@of_both_activations
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("m", [7, 97, 513, 1100])  # the last three: within a block of observations, beyond two and four
def test_the_newton_model_of_a_node_holds_its_second_derivatives(m, bias, activation):
    """Hessian by w2 and moving weights, residual curvature included, against differences of slow complex steps."""
    X, scale, weights, problem = problem_and_weights(np.random.default_rng(16), m, 3, 2, bias, activation)
    required = np.zeros((3, 3), dtype=bool)
    required[0, 1] = True  # an edge without a lasso
    problem = network_objective(X, weights, 0.0, 0.05, scale, required=required)
    n, (family, w) = 1, list(problem.by_child(problem.input_weights(weights)))[1]
    is_edge = (family.inputs < 3).astype(float)
    evaluation = family.evaluate(w)
    moving, hessian, gradient, *_ = quadratic_model(family, w, evaluation)
    assert moving.tolist() == list(range(w.size))

    def half_squares(theta):
        """Mean over observations of the squares of node 1, plus ridge, by (w2, w) with complex entries."""
        out, hidden = theta[: 2 + bias], theta[2 + bias :].reshape(w.shape)
        z = family.features[family.inputs].T @ hidden
        s = np.tanh(z) if activation is TANH else 1.0 / (1.0 + np.exp(-z))
        mean = s @ out[:2] + (out[2] if bias else 0.0)
        squares = np.sum(((X[:, n] - mean) / scale[:, n]) ** 2) / (2.0 * m)
        return squares + 0.5 * family.output_ridge * np.sum(out[:2] ** 2) + 0.025 * np.sum(is_edge[:, None] * hidden**2)

    at = np.concatenate([evaluation.w2, w.ravel()])
    assert evaluation.value == pytest.approx(half_squares(at), rel=1e-12)
    identity = np.eye(at.size)
    slope = np.array([half_squares(at + 1e-30j * e).imag / 1e-30 for e in identity])
    np.testing.assert_allclose(slope[: 2 + bias], 0.0, atol=1e-12)
    np.testing.assert_allclose(gradient[2 + bias :], slope[2 + bias :], rtol=1e-9, atol=1e-12)
    curvature = np.array(
        [[(half_squares(at + 1e-4 * d + 1e-30j * e).imag - half_squares(at - 1e-4 * d + 1e-30j * e).imag) / 2e-34
          for d in identity] for e in identity]
    )  # fmt: skip
    np.testing.assert_allclose(hessian, curvature, rtol=1e-5, atol=1e-6)


@of_both_activations
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("at_zero", [False, True])
def test_newton_ends_where_no_derivative_exceeds_the_lasso(seed, bias, at_zero, activation):
    """The optimality conditions of the lasso, and an objective that L-BFGS-B cannot lower from there.

    Also from weights of which one edge is left: the others are drawn from zero.
    """
    rng = np.random.default_rng(seed)
    X = hetero_chain(rng, 700)
    weights = initial_weights(X, 4, bias, rng, activation)
    problem = network_objective(X, weights, 0.02, scale=rng.uniform(0.5, 2.0, size=X.shape))
    family, start = list(problem.by_child(problem.input_weights(weights)))[2]
    if at_zero:
        start[family.inputs == 0] = 0.0
    kept = start.copy()
    w, minimum, status, _ = minimise_by_newton(family, start, 1e-13)
    np.testing.assert_array_equal(start, kept)
    assert status == 0
    value, gradient = family.smooth(w)
    edge = family.inputs < 3
    assert minimum == pytest.approx(value + 0.02 * np.abs(w[edge]).sum(), rel=1e-12)
    np.testing.assert_allclose(gradient[~edge], 0.0, atol=1e-6)
    held = w[edge] == 0.0
    assert np.all(np.abs(gradient[edge][held]) <= 0.02 * (1 + 1e-9))
    np.testing.assert_allclose(gradient[edge][~held], -0.02 * np.sign(w[edge][~held]), atol=1e-6)
    assert minimise_by_lbfgs(family, w, 1e-12).value >= minimum * (1.0 - 1e-7)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_newton_stays_finite_in_extreme_units(unit):
    X = hetero_chain(np.random.default_rng(18)) * unit
    weights = initial_weights(X, 5, False, np.random.default_rng(0))
    problem = network_objective(X, weights, l2=0.0)
    minimum = minimise_by_newton(*list(problem.by_child(problem.input_weights(weights)))[2], 1e-9)
    assert np.isfinite([minimum.value, *minimum.w.flat]).all()


def test_a_column_of_tiny_units_leaves_the_others_as_they_are():
    """A ridge that averaged 1 / sigma^2 over nodes held W2 of all down (nll 7.25): it is each node's own."""
    rng = np.random.default_rng(0)
    X = np.hstack([hetero_chain(rng, 300), 1e-6 * rng.normal(size=(300, 1))])
    w1, ridges = np.zeros((4, 5, 4)), []
    w1[:3, :, :3] = initial_weights(X[:, :3], 5, False, rng).w1
    for n in (3, 4):
        weights = Weights(np.ascontiguousarray(w1[:n, :, :n]), np.zeros((n, 5)), np.zeros((n, 5)), np.zeros(n))
        scale = np.ones((300, 1)) * [0.5, 0.5, 0.5, 1e-6][:n]
        problem = network_objective(X[:, :n], weights, l2=0.0, scale=scale)
        ridges.append([family.output_ridge for family in problem.families])
    assert ridges[1][:3] == ridges[0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_a_step_stops_at_zero_and_is_the_best_of_the_others(seed, damping):
    """What would cross zero stops there exactly; the rest minimises the damped model; the fall is that of the model."""
    rng, size = np.random.default_rng(seed), 8
    root, at = rng.normal(size=(size, size)), rng.normal(size=size)
    hessian, gradient = root @ root.T + np.eye(size), 4.0 * rng.normal(size=size)
    model = QuadraticModel(np.arange(size), hessian, gradient, at, np.sign(at), np.full(size, 2.0))
    fall, step = step_in_orthant(model, damping)
    stopped = at + step == 0.0
    assert stopped.any()
    assert np.all(model.side * (at + step) >= 0.0)
    pull = gradient + (hessian + damping * np.diag(model.unit)) @ step
    np.testing.assert_allclose(pull[~stopped], 0.0, atol=1e-10)
    assert fall == pytest.approx(-(gradient @ step + 0.5 * step @ hessian @ step), rel=1e-12)


def test_a_child_keeps_the_weights_of_every_input_that_it_keeps():
    problem, *_, weights = empty_dag(hetero_chain(np.random.default_rng(27), 100))
    descent = DagDescent(problem, [], 1e-6)
    descent.begin(*problem.without(~at(problem, [(1, 2)]), np.ones_like(problem.input_weights(weights))))
    held = descent.minima[2].minimum.w
    both, w = descent._with_causes(2, np.array([0]))
    assert both.inputs.tolist() == [0, 1]
    np.testing.assert_array_equal(w, np.vstack([np.zeros(5), held[0]]))


def test_further_starts_are_those_that_are_given(monkeypatch):
    seen = recorded(monkeypatch, procedure, "further_starts")
    X, rng = hetero_chain(np.random.default_rng(28), 60), np.random.default_rng(0)
    own, *others = (initial_weights(X, 3, False, rng) for _ in range(3))
    for plan in ((), (FAST_ALONE, others)):
        fit_means(X, own, *plan, forbidden=UPPER)
    ((_, alone, _), _), ((_, given, _), _) = seen
    assert alone[0] is own
    assert [weights is other for weights, other in zip(given, others, strict=True)] == [True, True]


def log_determinant(A):
    """-log det(I - A∘A) and its gradient, as of DAGMA: infinite where the spectral radius of A∘A is one or more."""
    M = np.eye(len(A)) - A * A
    if np.abs(np.linalg.eigvals(A * A)).max() >= 1.0:
        return np.inf, np.full(A.shape, np.nan)
    return -np.linalg.slogdet(M)[1], 2.0 * A * np.linalg.inv(M).T


@pytest.mark.parametrize("n", [1, 2, 3, 10, 40])
def test_the_unit_of_acyclicity_is_that_of_a_cycle_among_all_variables(n):
    def polynomial(A):
        """Tr((I + A∘A / N)^N) - N: of one cycle it depends on N."""
        return np.trace(np.linalg.matrix_power(np.eye(len(A)) + A * A / len(A), len(A))) - len(A), A

    cycle = np.zeros((max(n, 2),) * 2)
    cycle[[0, 1], [1, 0]] = 0.5
    problem = problem_of(np.zeros((n, 5)))
    assert problem.h(cycle)[0] == acyclicity(cycle)[0]
    assert dataclasses.replace(problem, acyclicity=polynomial).h(cycle)[0] == pytest.approx(acyclicity(cycle)[0])


@pytest.mark.parametrize("phase", [procedure.fit_means, algorithm_3])
def test_another_function_of_acyclicity_takes_every_place_of_the_first(monkeypatch, phase):
    """Not one value is asked of the trace of the exponential."""
    X = hetero_chain(np.random.default_rng(0), 200)
    problem = dataclasses.replace(problem_of(X.T, l1=0.05), acyclicity=log_determinant)
    weights = initial_weights(X, 3, False, np.random.default_rng(2))
    monkeypatch.setattr(icdh.acyclicity, "_expm1", lambda B: pytest.fail("the exponential was asked"))
    scale, end = (np.ones(X.T.shape), 1e16) if phase is procedure.fit_means else (np.ones(X.shape), Limits(h_tol=1e-4))
    step = phase(problem, scale, weights, end)
    assert step.h == problem.h(step.weights.adjacency())[0] <= 1e-4
    assert is_dag(step.weights.adjacency() > 0.1)
    assert np.count_nonzero(step.weights.adjacency() > 0.1) >= 2
    other = dataclasses.replace(problem, acyclicity=lambda A: tuple(1024.0 * part for part in log_determinant(A)))
    np.testing.assert_array_equal(phase(other, scale, weights, end).weights.w1, step.weights.w1)  # in any unit


@pytest.mark.parametrize("phase", [procedure.fit_means, algorithm_3])
@pytest.mark.parametrize("undefined", [np.inf, np.nan, -1.0])
def test_an_acyclicity_without_a_value_at_the_first_weights_is_refused(phase, undefined):
    """The multiplier method had no end where it was infinite, gave up where it was NaN, and was done where negative."""
    X = hetero_chain(np.random.default_rng(0), 200)

    def bounded(A):
        calls.append(A)
        assert len(calls) < 1000, "there is no end"
        value, gradient = log_determinant(A)
        return (value if np.isfinite(value) else undefined), gradient

    calls, problem = [], dataclasses.replace(problem_of(X.T, l1=0.05), acyclicity=bounded)
    weights = initial_weights(X, 3, False, np.random.default_rng(2))
    weights = dataclasses.replace(weights, w1=100.0 * weights.w1)
    scale, end = (np.ones(X.T.shape), 1e16) if phase is procedure.fit_means else (np.ones(X.shape), Limits())
    with pytest.raises(ValueError, match="acyclicity must be a number for the weights that a fit begins at"):
        phase(problem, scale, weights, end)


def test_an_acyclicity_that_has_no_unit_is_refused():
    """All values in units of infinity were zero, and so all graphs acyclic."""
    problem = dataclasses.replace(problem_of(np.zeros((2, 5))), acyclicity=lambda A: log_determinant(4.0 * A))
    with pytest.raises(ValueError, match=r"acyclicity must be positive for a cycle of two weights of 0\.5; got inf"):
        problem.h(np.zeros((2, 2)))
