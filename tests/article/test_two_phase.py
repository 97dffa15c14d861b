"""ICDH's two phases: what rounds return, what decides the graph, where they end; the fast schedule's parameters."""

import dataclasses
import itertools
import warnings

import numpy as np
import pytest
from helpers import fit_two_phase as fit_features
from helpers import hetero_chain, problem_of, random_weights
from support.article import FAST, FAST_ALONE, FAST_AND_WIDE, MeanStep, procedure, schedule_for

from icdh import ICDH, ConvergenceWarning, DataWarning
from icdh.likelihood import nll
from icdh.network import forward, initial_weights


def fit_two_phase(X, **options):
    return fit_features(X.T, **options)


@pytest.fixture(scope="module")
def table():
    return hetero_chain(np.random.default_rng(0), 400)


@pytest.fixture(scope="module")
def result(table):
    return fit_two_phase(table, random_state=1)


def scripted(monkeypatch, weights, nlls):
    """Rounds that end at these weights and have these likelihoods; what they are called with: the problem and plan."""
    calls = []

    def step(problem, scale, start, rho_max, plan, *_):
        calls.append((problem, plan))
        return MeanStep(next(weights), 1.0, 0.0, 1.0, 0.0, 1, 0, "")

    monkeypatch.setattr(procedure, "fit_means", step)
    monkeypatch.setattr(procedure, "fit_scales", lambda problem, weights: weights)
    monkeypatch.setattr(procedure, "gaussian_nll", lambda *_: next(nlls))
    return calls


def interrupting(*rounds):
    def interrupt(record):
        if record.round in rounds:
            raise KeyboardInterrupt

    return interrupt


def test_weights_and_record_belong_to_the_round_of_the_lowest_criterion(table, result):
    assert result.best == min(result.history, key=lambda record: record.criterion)
    value, w1, w2 = nll(table, result.weights), result.weights.w1, result.weights.w2
    penalty = 0.01 * np.abs(w1).sum() + 0.005 * ((w1**2).sum() + (w2**2).sum())
    assert (result.best.nll, result.best.criterion) == pytest.approx((value, value + penalty), rel=1e-12)
    assert [record.round for record in result.history] == list(range(1, len(result.history) + 1))
    falls = -np.diff([record.criterion for record in result.history])  # which rounds lower until they do not
    assert np.all(falls[:-1] >= 1e-2)
    assert result.converged == (len(falls) < 9 or falls[-1] < 1e-2)


def test_intercepts_and_scales_cost_nothing():
    weights = random_weights(np.random.default_rng(2), bias=True)
    bare = dataclasses.replace(weights, w3=0.0 * weights.w3, hidden_bias=None, output_bias=None)
    assert procedure.penalties(weights, 0.3, 0.7) == procedure.penalties(bare, 0.3, 0.7) > 0.0


def test_a_dense_first_round_of_higher_likelihood_is_not_kept(table, monkeypatch):
    """As it happens on real tables: round 1 has the lower nll, and weights that cost more than that is worth."""
    dense = random_weights(np.random.default_rng(0), 3, 4, bias=False)
    sparse = dataclasses.replace(dense, w1=0.1 * dense.w1)
    scripted(monkeypatch, itertools.chain([dense], itertools.repeat(sparse)), iter([1.0, 1.1, 1.1, 1.1]))
    result = fit_two_phase(table, random_state=0)
    assert result.best.round == 2
    assert result.weights is sparse


def test_the_global_generator_is_neither_read_nor_moved(table, result):
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert fit_two_phase(table, random_state=1, max_rounds=1).best.nll == result.history[0].nll
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("noise", ["equal", "heteroscedastic"])
def test_permuted_columns_give_the_permuted_graph(table, noise):
    order = np.array([2, 0, 1])
    initial = initial_weights(table, 10, False, np.random.default_rng(1))
    permuted = dataclasses.replace(
        initial, w1=initial.w1[np.ix_(order, range(10), order)], w2=initial.w2[order], w3=initial.w3[order]
    )
    here = fit_two_phase(table, noise=noise, initial=initial, max_rounds=2)
    there = fit_two_phase(table[:, order], noise=noise, initial=permuted, max_rounds=2)
    A, B = here.weights.adjacency()[np.ix_(order, order)], there.weights.adjacency()
    np.testing.assert_array_equal(A > 0.3, B > 0.3)
    np.testing.assert_allclose(A, B, atol=0.05)


def test_equal_noise_is_one_round_with_scale_one_and_fits_worse_than_unequal_than_heteroscedastic(table, result):
    unequal, equal = (fit_two_phase(table, noise=noise, random_state=1) for noise in ("unequal", "equal"))
    assert result.best.nll < unequal.best.nll < equal.best.nll
    assert (len(equal.history), equal.converged) == (1, True)
    assert not equal.weights.w3.any()
    assert not equal.weights.w3_bias.any()


def test_every_round_goes_on_from_the_last_and_explores_from_other_weights(table, monkeypatch):
    """Means begin at those of the round before, under the scales of the round before."""
    calls, steps, honest = [], [], procedure.fit_means

    def watched(problem, scale, weights, *others):
        calls.append((scale.copy(), weights, next(value for value in others if isinstance(value, list))))
        steps.append(honest(problem, scale, weights, *others))
        return steps[-1]

    monkeypatch.setattr(procedure, "fit_means", watched)
    fit_two_phase(table, random_state=1, max_rounds=4, tol=-1e9)
    assert len(calls) == 4
    np.testing.assert_array_equal(calls[0][0], 1.0)
    for step, (scale, weights, _) in zip(steps, calls[1:], strict=False):
        np.testing.assert_array_equal(weights.w1, step.weights.w1)
        np.testing.assert_array_equal(weights.w2, step.weights.w2)
        np.testing.assert_array_equal(scale, forward(table, weights)[1].T)
    assert len({id(explore[0]) for *_, explore in calls}) == 4
    assert len({len(explore) for *_, explore in calls}) == 1


@pytest.mark.parametrize(("gains", "decided"), [((3.0, 0.05, 1.0), 3), ((0.05, 3.0, 1.0), 2)])
def test_the_first_round_of_little_gain_decides_the_graph(table, monkeypatch, gains, decided):
    """Little is 0.02 nats for each of three variables; from then on edges may go but not come, unless they must."""
    weights, required = random_weights(np.random.default_rng(0), 3, 4, bias=False), np.zeros((3, 3), dtype=bool)
    required[1, 2], no_cause_of_the_last = True, np.array([1.0, 1.0, 0.0])[:, np.newaxis, np.newaxis]
    weights = dataclasses.replace(weights, w1=no_cause_of_the_last * weights.w1)
    calls = scripted(monkeypatch, itertools.repeat(weights), iter(10.0 - np.cumsum([0.0, *gains])))
    fit_two_phase(table, random_state=0, max_rounds=4, required_edges=required)
    present = {(0, 1), (1, 0), (2, 0), (1, 2)}  # but 2 -> 1, against what is required, and 0 -> 2
    for number, (problem, plan) in enumerate(calls, start=1):
        free = {tuple(map(int, edge)) for edge in np.argwhere(~problem.rules.forbidden)}
        assert (plan.reaches == ()) == (number > decided)
        assert free == (present if number > decided else present | {(0, 2)})


@pytest.mark.parametrize(
    ("noise", "variables", "schedule"),
    [("unequal", 11, FAST), ("unequal", 12, FAST_AND_WIDE), ("equal", 12, FAST_ALONE)],
)
def test_a_table_is_wide_with_more_than_one_further_variable_for_fifty_rows(noise, variables, schedule):
    assert schedule_for(noise, variables, 500) == schedule


@pytest.mark.parametrize(("observations", "rounds"), [(100, 3), (1000, 4)])
def test_of_a_wide_table_a_round_within_the_noise_is_the_last(monkeypatch, observations, rounds):
    """Noise alone gains a nat for each of 30 edges; nothing is made of it if that decides no graph."""
    table = np.random.default_rng(0).normal(size=(observations, 6))
    weights = random_weights(np.random.default_rng(0), 6, 4, bias=False)
    nlls = 10.0 - np.cumsum([0.0, 31.0 / observations, 29.0 / observations, 0.1])
    calls = scripted(monkeypatch, itertools.repeat(weights), iter(nlls))
    assert len(fit_two_phase(table, random_state=0, max_rounds=4).history) == rounds
    tolerances = [plan.tolerance for _, plan in calls]
    assert (len(set(tolerances)) == 2) == (rounds == 3)  # and only then is the first coarse
    assert tolerances[0] == max(tolerances)


def test_few_rows_decide_the_graph_of_a_long_table(table, monkeypatch):
    """The network and its record are those of all rows; no edge comes in once the few rows are left."""
    monkeypatch.setattr(procedure, "FEW_OBSERVATIONS", 100)
    start = procedure.draw_initial_weights(problem_of(table.T), 4, np.random.default_rng(1))
    long = fit_two_phase(table, initial=start)
    few = fit_two_phase(table[::4], initial=start)
    count = len(few.history)
    assert [record.criterion for record in long.history[:count]] == [record.criterion for record in few.history]
    assert [record.round for record in long.history] == list(range(1, len(long.history) + 1))
    assert long.best.round > count
    assert long.best.nll == pytest.approx(nll(table, long.weights), rel=1e-12)
    assert (few.weights.adjacency() > 0.0)[long.weights.adjacency() > 0.0].all()
    assert long.converged
    printed = fit_two_phase(table, random_state=1, schedule="paper", max_rounds=1)
    assert printed.best.nll == pytest.approx(nll(table, printed.weights), rel=1e-12)


def test_an_interrupt_after_few_rows_returns_what_they_say(table, monkeypatch):
    monkeypatch.setattr(procedure, "FEW_OBSERVATIONS", 100)
    for at in (1, len(fit_two_phase(table[::4], random_state=1).history) + 1):
        result = fit_two_phase(table, random_state=1, callback=interrupting(at))
        assert (result.interrupted, len(result.history)) == (True, at)


@pytest.mark.parametrize(("noise", "at"), [("heteroscedastic", 2), ("equal", 1)])  # of equal noise there is one round
def test_an_interrupt_returns_the_best_round_so_far_and_is_no_convergence(table, noise, at):
    result = fit_two_phase(table, noise=noise, random_state=1, callback=interrupting(at))
    assert (result.interrupted, result.converged, len(result.history)) == (True, False, at)
    assert result.best.nll == pytest.approx(nll(table, result.weights), rel=1e-12)


def test_h_tol_is_nothing_to_the_fast_schedule_whose_h_is_zero(table):
    strict, loose = (fit_two_phase(table[:200], random_state=1, max_rounds=2, h_tol=h_tol) for h_tol in (1e-12, 1e3))
    np.testing.assert_array_equal(strict.weights.w1, loose.weights.w1)
    assert [record.h for record in strict.history] == [0.0, 0.0]


def test_rho_max_acts_on_the_fast_schedule_as_well():
    """Where the graph is far from decided when the method gives up, the cycles stay, and the warning says so."""
    X, method = hetero_chain(np.random.default_rng(0), 200), ICDH(noise="equal", edge_penalty=None, random_state=0)
    patient = method.fit(X).history_[0]
    assert patient.rho > 1.0
    assert patient.h == 0.0
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        hasty = method.set_params(rho_max=1.0).fit(X).history_[0]
    said = {(warning.category, word) for warning in seen for word in str(warning.message).split()}
    assert {(ConvergenceWarning, "stayed"), (DataWarning, "cycles")} <= said
    assert hasty.rho == 1.0
    assert hasty.h > 0.0
