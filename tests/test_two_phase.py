import dataclasses

import numpy as np
import pytest
from helpers import fit_two_phase as fit_features
from helpers import hetero_chain, random_weights

from icdh._ground.parallel import _bundled_openblas, single_blas_thread
from icdh.likelihood import nll
from icdh.network import forward, initial_weights
from icdh.two_phase import procedure
from icdh.two_phase.procedure import MeanStep
from icdh.two_phase.rounds import FAST, FAST_ALONE, FAST_AND_WIDE, Schedule, schedule_for


def fit_two_phase(X, **options):
    return fit_features(np.ascontiguousarray(X.T), **options)


@pytest.fixture(scope="module")
def table():
    return hetero_chain(np.random.default_rng(0), 400)


@pytest.fixture(scope="module")
def result(table):
    return fit_two_phase(table, random_state=1)


def criterion_by_hand(X, weights, l1=0.01, l2=0.01):
    squares = sum(float(entry) ** 2 for part in (weights.w1, weights.w2) for entry in part.ravel())
    return nll(X, weights) + l1 * sum(abs(float(entry)) for entry in weights.w1.ravel()) + 0.5 * l2 * squares


def test_weights_and_record_belong_to_the_round_of_the_lowest_criterion(table, result):
    assert result.best == min(result.history, key=lambda record: record.criterion)
    assert result.best.nll == pytest.approx(nll(table, result.weights), rel=1e-12)
    assert result.best.criterion == pytest.approx(criterion_by_hand(table, result.weights), rel=1e-12)
    assert [record.round for record in result.history] == list(range(1, len(result.history) + 1))


def test_intercepts_and_scales_cost_nothing():
    weights = random_weights(np.random.default_rng(2), bias=True)
    bare = dataclasses.replace(weights, w3=0.0 * weights.w3, hidden_bias=None, output_bias=None)
    assert procedure.penalties(weights, 0.3, 0.7) == procedure.penalties(bare, 0.3, 0.7) > 0.0


def test_a_dense_first_round_of_higher_likelihood_is_not_kept(table, monkeypatch):
    """As it happens on real tables: round 1 has the lower nll, and weights that cost more than that is worth."""
    dense = random_weights(np.random.default_rng(0), 3, 4, bias=False)
    sparse = dataclasses.replace(dense, w1=0.1 * dense.w1)

    def step(problem, scale, weights, *_):
        return MeanStep(next(steps), 1.0, 0.0, 1.0, 0.0, 1, 0, "")

    monkeypatch.setattr(procedure, "fit_means", step)
    monkeypatch.setattr(procedure, "fit_scales", lambda problem, weights: weights)
    monkeypatch.setattr(procedure, "gaussian_nll", lambda *_: next(values))
    steps, values = iter([dense, sparse, sparse, sparse]), iter([1.0, 1.1, 1.1, 1.1])
    result = fit_two_phase(table, random_state=0)
    assert result.best.round == 2
    assert result.weights is sparse


def test_the_chain_is_found(result):
    A = result.weights.adjacency() > 0.3
    assert A[0, 1]
    assert A[1, 2]
    assert not A[2].any()


def test_rounds_lower_the_criterion_until_they_do_not(result):
    values = [record.criterion for record in result.history]
    falls = -np.diff(values)
    assert np.all(falls[:-1] >= 1e-2)
    assert result.converged == (len(values) < 10 or falls[-1] < 1e-2)


def test_same_seed_same_bits(table, result):
    again = fit_two_phase(table, random_state=1)
    for field in dataclasses.fields(again.weights):
        np.testing.assert_array_equal(getattr(again.weights, field.name), getattr(result.weights, field.name))


def test_the_global_generator_is_neither_read_nor_moved(table, result):
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    fit_two_phase(table, random_state=1, max_rounds=1)
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


def test_equal_noise_is_one_round_with_scale_one(table):
    result = fit_two_phase(table, noise="equal", random_state=1)
    assert len(result.history) == 1
    assert result.converged
    assert np.all(result.weights.w3 == 0)
    assert np.all(result.weights.w3_bias == 0)


def test_heteroscedastic_fits_better_than_unequal_than_equal(table):
    values = [
        fit_two_phase(table, noise=noise, random_state=1).best.nll for noise in ("heteroscedastic", "unequal", "equal")
    ]
    assert values[0] < values[1] < values[2]


def test_intercepts_let_an_even_function_be_learned():
    rng = np.random.default_rng(3)
    x = rng.uniform(-2, 2, size=300)
    X = np.column_stack([x, x**2 + 0.2 * rng.normal(size=300)])
    X -= X.mean(axis=0)
    forbidden = np.array([[True, False], [True, True]])
    values = [
        fit_two_phase(X, bias=bias, noise="equal", forbidden_edges=forbidden, random_state=0).best.nll
        for bias in (False, True)
    ]
    assert values[1] < values[0] - 0.3


def test_the_callback_sees_every_round(table):
    seen = []
    result = fit_two_phase(table, random_state=1, max_rounds=2, callback=seen.append)
    assert seen == result.history


def test_every_round_goes_on_from_the_last_and_explores_from_other_weights(table, monkeypatch):
    """Means begin at those of the round before, under the scales of the round before."""
    calls, steps, honest = [], [], procedure.fit_means

    def recorded(features, scale, weights, *others):
        calls.append((scale.copy(), weights, next(value for value in others if isinstance(value, list))))
        steps.append(honest(features, scale, weights, *others))
        return steps[-1]

    monkeypatch.setattr(procedure, "fit_means", recorded)
    fit_two_phase(table, random_state=1, max_rounds=4, tol=-1e9)
    assert len(calls) == 4
    np.testing.assert_array_equal(calls[0][0], 1.0)
    for step, (scale, weights, _) in zip(steps, calls[1:], strict=False):
        np.testing.assert_array_equal(weights.w1, step.weights.w1)
        np.testing.assert_array_equal(weights.w2, step.weights.w2)
        np.testing.assert_array_equal(scale, forward(table, weights)[1].T)
    first = [explore[0] for *_, explore in calls]
    assert len({id(weights) for weights in first}) == 4
    assert all(len(explore) == len(calls[0][2]) for *_, explore in calls)


@pytest.mark.parametrize(("gains", "decided"), [((3.0, 0.05, 1.0), 3), ((0.05, 3.0, 1.0), 2)])
def test_the_first_round_of_little_gain_decides_the_graph(table, monkeypatch, gains, decided):
    """Little is 0.02 nats for each of three variables; from then on edges may go but not come, unless they must."""
    weights = random_weights(np.random.default_rng(0), 3, 4, bias=False)
    weights.w1[2] = 0.0
    required, calls, values = np.zeros((3, 3), dtype=bool), [], iter(10.0 - np.cumsum([0.0, *gains]))
    required[1, 2] = True

    def step(problem, scale, start, rho_max, plan, *_):
        calls.append((problem.rules.forbidden, plan.reaches))
        return MeanStep(weights, 1.0, 0.0, 1.0, 0.0, 1, 0, "")

    monkeypatch.setattr(procedure, "fit_means", step)
    monkeypatch.setattr(procedure, "fit_scales", lambda problem, weights: weights)
    monkeypatch.setattr(procedure, "gaussian_nll", lambda *_: next(values))
    fit_two_phase(table, random_state=0, max_rounds=4, required_edges=required)
    present = {(0, 1), (1, 0), (2, 0), (1, 2)}  # but 2 -> 1, against what is required, and 0 -> 2
    for number, (forbidden, reaches) in enumerate(calls, start=1):
        free = {tuple(map(int, edge)) for edge in np.argwhere(~forbidden)}
        assert (reaches == ()) == (number > decided)
        assert free == (present if number > decided else present | {(0, 2)})


@pytest.mark.parametrize(("noise", "variables", "schedule"), [
    ("unequal", 11, FAST), ("unequal", 12, FAST_AND_WIDE), ("equal", 12, FAST_ALONE),
])  # fmt: skip
def test_a_table_is_wide_with_more_than_one_further_variable_for_fifty_rows(noise, variables, schedule):
    assert schedule_for(noise, variables, 500) == schedule


@pytest.mark.parametrize(("observations", "rounds"), [(100, 3), (1000, 4)])
def test_of_a_wide_table_a_round_within_the_noise_is_the_last(monkeypatch, observations, rounds):
    """Noise alone gains a nat for each of 30 edges; nothing is made of it if that decides no graph."""
    table = np.random.default_rng(0).normal(size=(observations, 6))
    weights = random_weights(np.random.default_rng(0), 6, 4, bias=False)
    monkeypatch.setattr(procedure, "fit_scales", lambda problem, weights: weights)
    tolerances, nlls = [], iter(10.0 - np.cumsum([0.0, 31.0 / observations, 29.0 / observations, 0.1]))

    def step(*arguments):
        tolerances.append(next(own.tolerance for own in arguments if isinstance(own, Schedule)))
        return MeanStep(weights, 1.0, 0.0, 1.0, 0.0, 1, 0, "")

    monkeypatch.setattr(procedure, "fit_means", step)
    monkeypatch.setattr(procedure, "gaussian_nll", lambda *_: next(nlls))
    result = fit_two_phase(table, random_state=0, max_rounds=4)
    assert len(result.history) == rounds
    assert (len(set(tolerances)) == 2) == (rounds == 3)  # and only then is the first coarse
    assert tolerances[0] == max(tolerances)


def test_few_rows_decide_the_graph_of_a_long_table(table, monkeypatch):
    """The network and its record are those of all rows; no edge comes in once the few rows are left."""
    monkeypatch.setattr(procedure, "FEW_OBSERVATIONS", 100)
    start = procedure.draw_initial_weights(table.T, 4, False, np.random.default_rng(1))
    long = fit_two_phase(table, initial=start)
    few = fit_two_phase(np.ascontiguousarray(table[::4]), initial=start)
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
    few = fit_two_phase(np.ascontiguousarray(table[::4]), random_state=1)

    def interrupt(record):
        if record.round == at:
            raise KeyboardInterrupt

    for at in (1, len(few.history) + 1):
        result = fit_two_phase(table, random_state=1, callback=interrupt)
        assert result.interrupted
        assert len(result.history) == at


@pytest.mark.parametrize(("noise", "at"), [("heteroscedastic", 2), ("equal", 1)])  # of equal noise there is one round
def test_an_interrupt_returns_the_best_round_so_far_and_is_no_convergence(table, noise, at):
    def interrupt(record):
        if record.round == at:
            raise KeyboardInterrupt

    result = fit_two_phase(table, noise=noise, random_state=1, callback=interrupt)
    assert result.interrupted
    assert not result.converged
    assert len(result.history) == at
    assert result.best.nll == pytest.approx(nll(table, result.weights), rel=1e-12)


def test_an_interrupt_before_the_first_round_is_raised(table, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(procedure, "fit_means", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fit_two_phase(table, random_state=1)


def test_fewer_rounds_than_needed_is_not_convergence(table):
    assert not fit_two_phase(table, random_state=1, max_rounds=1).converged


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_extreme_units_raise_no_floating_point_error(table, unit):
    with np.errstate(all="raise", under="ignore"):
        result = fit_two_phase(table * unit, random_state=1, max_rounds=2)
    assert np.isfinite(result.best.nll)
    assert np.isfinite(result.weights.adjacency()).all()


def test_blas_threads_are_limited_inside_and_restored_after():
    controls = _bundled_openblas()
    before = [get() for get, _ in controls]
    with single_blas_thread(), single_blas_thread():
        assert all(get() == 1 for get, _ in controls)
    assert [get() for get, _ in controls] == before
