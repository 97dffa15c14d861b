"""Where a Cholesky factorisation fails there is no number: nothing plausible is made of what it leaves half-written."""

import dataclasses

import numpy as np
import pytest
from helpers import family_evidence, hetero_chain, problem_of, recorded
from support.article import (
    FamilyObjective,
    NetworkObjective,
    fit_means,
    minimise_by_lbfgs,
    minimise_by_newton,
    minimise_on_dag,
)
from support.families import (
    Start,
    at_fixed_point,
    family_models,
    fit_node,
    gaussian,
    node_outputs,
    odds_without_parents,
)

from icdh.network import initial_weights


def table(n=3, m=64):
    return np.ascontiguousarray(hetero_chain(np.random.default_rng(0), m)[:, :n].T)


def network_objective(values, penalty):
    return NetworkObjective.of(problem_of(values, l1=penalty, l2=penalty), np.ones(values.shape))


def problem_without_a_solution(node):
    """Hidden units that do the same, and no ridge: W2 of this node is undetermined, and rounding does not hide it.

    With 64 observations of scale one and activations of one half all sums are exact.
    """
    problem = network_objective(table(), 0.01)
    families = list(problem.families)
    families[node] = dataclasses.replace(families[node], output_ridge=0.0)
    problem = problem.of_families(families)
    w = problem.input_weights(initial_weights(table().T, 2, False, np.random.default_rng(1)))
    w[problem.effects == node] = 0.0
    return problem, w


@pytest.mark.parametrize("node", range(3))
def test_the_objective_and_every_derivative_are_not_a_number_where_w2_is_undetermined(node):
    problem, w = problem_without_a_solution(node)
    family, hidden = list(problem.by_child(w))[node]
    evaluation, (value, gradient) = family.evaluate(hidden), problem.smooth(w)
    assert np.isnan([evaluation.value, *evaluation.gradient.flat, value]).all()
    assert np.isnan(gradient[problem.effects == node]).all()
    np.testing.assert_array_equal(evaluation.w2, 0.0)


def test_minimisers_give_such_a_start_back_and_say_so():
    problem, w = problem_without_a_solution(1)
    family, start = list(problem.by_child(w))[1]
    for minimum in minimise_by_newton(family, start, 1e-9), minimise_by_lbfgs(family, start, 1e-9):
        np.testing.assert_array_equal(minimum.w, start)
        assert minimum[1:] == (np.inf, 2, "NOT A NUMBER")


def test_the_descent_reports_a_child_without_a_solution_and_solves_the_others():
    problem, w = problem_without_a_solution(0)
    chain = problem.without(problem.effects <= problem.causes, w)
    part, minimum = minimise_on_dag(problem, *chain, [], 1e-6)
    assert minimum.status == 2
    assert np.isfinite(minimum.w).all()
    assert part.adjacency(minimum.w)[0, 1] > 0.3


def undefined_beyond(monkeypatch, reach):
    """Objectives that are not a number where any weight exceeds ``reach``; return the count of such evaluations."""
    honest, undefined = FamilyObjective.evaluate, []

    def evaluate(self, w):
        evaluation = honest(self, w)
        if np.abs(w).max(initial=0.0) <= reach:
            return evaluation
        undefined.append(w)
        return evaluation._replace(value=np.nan, gradient=np.full(w.shape, np.nan))

    monkeypatch.setattr(FamilyObjective, "evaluate", evaluate)
    return undefined


@pytest.mark.parametrize("minimise", [minimise_by_newton, minimise_by_lbfgs])
def test_steps_that_end_where_there_is_no_number_are_shortened(monkeypatch, minimise):
    values = table(2, 300)
    weights = initial_weights(values.T, 3, False, np.random.default_rng(2))
    problem = network_objective(values, 1e-4)
    family, start = list(problem.by_child(problem.input_weights(weights)))[1]
    undefined = undefined_beyond(monkeypatch, 0.8)
    minimum = minimise(family, start, 1e-9)
    assert undefined
    assert np.abs(minimum.w).max() <= 0.8
    value = family.smooth(minimum.w)[0] + 1e-4 * np.abs(minimum.w).sum()
    assert minimum.value == pytest.approx(value, rel=1e-9)
    assert value < 0.8 * family.smooth(start)[0]


def test_a_phase_two_without_any_number_says_so(monkeypatch):
    values = table()
    weights = initial_weights(values.T, 2, False, np.random.default_rng(1))
    undefined_beyond(monkeypatch, -1.0)
    step = fit_means(problem_of(values), np.ones(values.shape), weights, 1e16)
    assert np.isnan(step.objective)
    assert step.status == 2
    assert np.isfinite(step.weights.w1).all()


def never_factorised(table, theta, penalty, units, freeze, until, factor):
    """What a fit returns whose Fisher matrix is indefinite, with numbers where a factor should be."""
    theta[:] = 7.0
    factor[:] = 7.0
    return 0.0, np.nan, 1, True


def test_parents_without_a_factor_are_worth_what_no_parents_are(monkeypatch):
    x, y = table(1), table(2)[1]
    monkeypatch.setattr(gaussian, "node_fit", never_factorised)
    fit = fit_node(x, y)
    assert fit.evidence == fit_node(x[:0], y).evidence
    assert np.isfinite(fit.log_determinant)
    assert not fit.converged
    mean, deviation = node_outputs(fit.theta, x)
    np.testing.assert_allclose(mean, y.mean(), atol=1e-12)
    np.testing.assert_allclose(deviation, y.std(), rtol=1e-9)
    monkeypatch.undo()  # what stands for a fit is not gone on from
    assert at_fixed_point(x, gaussian.GaussianResponse.exact(y, None), fit, prior_precision=3.0, weight=1.0) is fit


def test_one_small_step_ends_a_fit_after_an_update_of_the_precisions_and_no_other(monkeypatch):
    """Not of the first one, which creeps at times; nor of its cold start, which has constant variance."""
    fits = recorded(monkeypatch, gaussian, "node_fit")
    fit_node(table(1, 200), table(2, 200)[1], tol=1e-6)
    assert [given[-2][-1] for given, _ in fits] == [2, 2, 1, 1]


@pytest.mark.parametrize("failing", [2, 3])
def test_a_failed_factor_ends_the_updates_of_the_precisions(monkeypatch, failing):
    """The first call of a cold start has constant variance; later ones may fail: the fits before them count."""
    x, y = table(1, 200), table(2, 200)[1]
    before, honest, calls = fit_node(x, y, precision_updates=0), gaussian.node_fit, []

    def fails(*given):
        calls.append(given)
        return never_factorised(*given) if len(calls) == failing else honest(*given)

    monkeypatch.setattr(gaussian, "node_fit", fails)
    fit = fit_node(x, y)
    assert len(calls) == failing
    if failing == 2:
        assert fit.evidence == fit_node(x[:0], y).evidence
    else:
        np.testing.assert_array_equal(fit.theta, before.theta)
        assert fit.evidence == before.evidence


def test_without_a_factor_nothing_is_known_of_the_parents_and_they_cost_nothing(monkeypatch):
    x, y = table(2, 100), table(3, 100)[2]
    fit = fit_node(x, y)
    monkeypatch.setattr(gaussian, "node_fit", never_factorised)
    odds = odds_without_parents(x, gaussian.GaussianResponse.exact(y, None), fit)
    np.testing.assert_array_equal(odds, [[np.inf, np.inf], [0.0, 0.0]])


def gaussian_families(values):
    return family_evidence(values, hidden_units=3, edge_penalty=1.0, n_restarts=2)


def test_no_fit_starts_where_a_failed_one_ended(monkeypatch):
    scores, honest = gaussian_families(table(3, 200)), gaussian.node_fit
    monkeypatch.setattr(gaussian, "node_fit", never_factorised)
    scores([(2, (0,))])
    monkeypatch.setattr(gaussian, "node_fit", honest)
    fits = recorded(monkeypatch, family_models, "fit_node")
    scores([(2, (0, 1))])
    assert [start.theta for (*_, start), _ in fits] == [None]


@pytest.mark.parametrize(("behind", "found"), [(99.0, 99.0), (101.0, 7.0)])
def test_where_a_start_leads_far_below_no_parents_a_cold_one_is_tried(monkeypatch, behind, found):
    scores = gaussian_families(table(2, 200))
    scores([(1, ())])
    alone = scores.fit_of((1, ()))

    def fit(family, units, start):
        return alone._replace(evidence=alone.evidence + (7.0 if start.theta is None else behind))

    monkeypatch.setattr(scores.models, "fit", fit)
    assert scores.fit((1, (0,)), Start(alone.theta)).evidence == alone.evidence + found


def test_a_family_whose_first_fit_failed_takes_the_first_that_does_not(monkeypatch):
    values, family, honest = table(2, 200), (1, (0,)), gaussian.node_fit
    scores = gaussian_families(values)
    monkeypatch.setattr(gaussian, "node_fit", never_factorised)
    constant = scores([family, (1, ())])[1]
    assert scores.network_score_of(family) == pytest.approx(constant + 1.0, rel=1e-12)
    monkeypatch.setattr(gaussian, "node_fit", honest)
    scores.polish([family])
    expected = fit_node(values[:1], values[1], hidden_units=3, random_state=1).evidence
    assert scores.network_score_of(family) == pytest.approx(expected + 1.0, abs=2.0)
    assert expected < fit_node(values[:0], values[1]).evidence - 10.0
