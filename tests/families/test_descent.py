"""How a node model's F is minimised: scoring on some of the observations, then quasi-Newton steps; damping."""

import numpy as np
import pytest
from helpers import node_system
from naive import node_objective
from support.families import NONE, _descent_kernels, cold_start, forward, intercepts, minimise, node_fit

UNITS = 4


def problem(n=2000, p=6, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(p, n))
    y = np.tanh(2.0 * x[0]) + 0.5 * x[-1] ** 2 + 0.1 * np.exp(0.5 * x[0]) * rng.normal(size=n)
    y = (y - y.mean()) / y.std()
    theta = cold_start(p, UNITS, seed)
    penalty = np.full(theta.size, 3.0)
    penalty[list(intercepts(p, UNITS))] = 1e-8
    return x, y, np.full(n, 0.01), theta, penalty


def system(*given):
    return node_system(*given, UNITS)


def started(n=2000):
    """A problem, its weights after a few steps."""
    given = problem(n)
    fitted(*given, tol=3.0)
    return given


def fitted(x, y, spread, theta, penalty, freeze=None, max_steps=500, tol=1e-7, patience=2, node_fit=node_fit):
    factor, freeze = np.zeros((theta.size, theta.size)), theta.size if freeze is None else freeze
    return factor, *node_fit((x, y, spread, NONE), theta, penalty, UNITS, freeze, (max_steps, tol, patience), factor)


def steps_of(kernel, theta, *arguments, damping=1.0, gradient=None, fisher=None):
    gradient = np.empty(theta.size) if gradient is None else gradient
    fisher = np.empty((theta.size, theta.size)) if fisher is None else fisher
    return kernel(*arguments, damping, (gradient, fisher)), gradient, fisher


@pytest.mark.parametrize(
    ("n", "held", "p"), [(40, 0, 6), (777, 0, 6), (10_007, 0, 6), (10_007, 0, 1), (2000, UNITS, 6)]
)
def test_a_fit_ends_where_the_gradient_is_zero_with_the_factor_of_all_observations(n, held, p):
    """Of 10,007 some are used for the matrix on the way, and of 40 there are fewer than weights; some are not free.

    Of one cause there are so few weights that scoring takes all steps.
    """
    given = problem(n, p)
    theta, free = given[3], given[3].size - held
    factor, value, log_determinant, steps, converged = fitted(*given, freeze=free)
    exact, gradient, fisher = system(*given)
    pull, fisher, root = gradient[:free], fisher[:free, :free], np.triu(factor[:free, :free])
    assert converged
    assert 0 < steps < 500
    assert value == pytest.approx(exact, rel=1e-12)
    assert pull @ np.linalg.solve(fisher, pull) < 1e-4
    np.testing.assert_allclose(root.T @ root, fisher, rtol=1e-8, atol=1e-8 * fisher.max())
    assert held or log_determinant == pytest.approx(np.linalg.slogdet(fisher)[1], rel=1e-9)
    assert not theta[free:].any()
    assert not held or np.abs(gradient[free:]).max() > 1.0


@pytest.mark.parametrize("log_variance", [0.0, 40.0])
def test_with_no_steps_a_fit_says_what_is_there(log_variance):
    """Where a variance is at its limit, too: steps must not lead there, but a fit may begin there."""
    x, y, spread, theta, penalty = problem(10_007)
    theta[intercepts(6, UNITS)[1]] = log_variance
    before = theta.copy()
    factor, value, _, steps, converged = fitted(x, y, spread, theta, penalty, max_steps=0)
    exact, _, fisher = system(x, y, spread, theta, penalty)
    np.testing.assert_array_equal(theta, before)
    assert (steps, converged) == (0, False)
    assert value == pytest.approx(exact, rel=1e-12)
    np.testing.assert_allclose(np.triu(factor).T @ np.triu(factor), fisher, rtol=1e-9, atol=1e-9 * fisher.max())


def test_a_fit_takes_no_more_steps_than_it_may():
    needed = fitted(*problem(10_007))[3]
    for most in range(1, needed):
        _, _, _, steps, converged = fitted(*problem(10_007), max_steps=most)
        assert steps <= most
        assert not converged


@pytest.mark.slow
@pytest.mark.parametrize("slow", [0.0, 1e9])
def test_scoring_alone_and_quasi_newton_from_the_first_step_reach_the_same_minimum(monkeypatch, slow):
    value = fitted(*problem(600))[1]
    monkeypatch.setattr(_descent_kernels, "SLOW", slow)
    _, other, _, _, converged = fitted(*problem(600), max_steps=5000, tol=1e-5, node_fit=node_fit.py_func)
    assert converged
    assert other == pytest.approx(value, abs=0.01)


@pytest.mark.parametrize("n", [300, 301, 302])
def test_the_matrix_of_every_third_observation_counts_for_all(n):
    x, y, spread, theta, penalty = problem(n)
    theta = theta + 0.3 * np.random.default_rng(1).normal(size=theta.size)
    some = tuple(np.ascontiguousarray(part[..., ::3]) for part in (x, y, spread))
    tables, until = ((x, y, spread, NONE), (3, (*some, NONE))), (0, 0.1, 2, 1.0)
    network = penalty, UNITS, theta.size
    found, gradient, fisher = steps_of(_descent_kernels.scoring_steps, theta, *tables, theta, network, until)
    value, exact, _ = system(x, y, spread, theta, penalty)
    _, _, of_some = system(*some, theta, 0.0 * penalty)
    assert found[0] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(gradient, exact, rtol=1e-9, atol=1e-9 * np.abs(exact).max())
    expected = 3.0 * of_some + np.diag(penalty)
    np.testing.assert_allclose(np.triu(fisher), np.triu(expected), rtol=1e-9, atol=1e-9 * expected.max())


def quasi_newton(x, y, spread, theta, penalty, most=30, tol=1e-6, patience=2, damping=1.0, fisher=None):
    """Take steps from theta; return what is said of them, and the values of F at their ends."""
    _, gradient, exact = system(x, y, spread, theta, penalty)
    options = theta, (penalty, UNITS, theta.size), (most, tol, patience)
    there = {"damping": damping, "gradient": gradient, "fisher": exact if fisher is None else fisher}
    return steps_of(_descent_kernels.quasi_newton_steps, theta, (x, y, spread, NONE), *options, **there)[:2]


def test_quasi_newton_steps_lower_the_objective_and_keep_the_gradient():
    given = started()
    values = [system(*given)[0]]
    for most in (1, 2, 7):
        said, gradient = quasi_newton(*given, most)
        value, exact, _ = system(*given)
        assert said == (most, False)
        np.testing.assert_allclose(gradient, exact, rtol=1e-8, atol=1e-8 * np.abs(exact).max())
        values.append(value)
    assert (np.diff(values) < 0.0).all()


def test_remembered_steps_do_better_than_the_first_matrix_alone():
    """From a matrix that is much too large steps are too short, until the changes of the gradient say so.

    A thousand times as large would be too much: where F bends a thousandth as much as the slope nothing is remembered.
    """
    x, y, spread, start, penalty = started()
    (value, _, fisher), falls = system(x, y, spread, start, penalty), []
    for most in (1, 12):
        theta = start.copy()
        quasi_newton(x, y, spread, theta, penalty, most, fisher=300.0 * fisher)
        falls.append(value - system(x, y, spread, theta, penalty)[0])
    assert falls[1] > 5 * 12 * falls[0] > 0.0


def test_damping_shortens_the_first_step():
    x, y, spread, start, penalty = started()
    moved = []
    for damping in (0.0, 1e9):
        theta = start.copy()
        quasi_newton(x, y, spread, theta, penalty, 1, damping=damping)
        moved.append(np.linalg.norm(theta - start))
    assert 0.0 < moved[1] < 1e-3 * moved[0]


def test_steps_that_are_too_long_are_shortened_and_where_none_helps_the_weights_stay():
    x, y, spread, theta, penalty = given = started()
    value, gradient, fisher = system(*given)
    assert system(x, y, spread, theta - np.linalg.solve(fisher / 20.0, gradient), penalty)[0] > value
    line = np.linalg.solve(fisher / 20.0, gradient) * np.geomspace(1e-3, 1.0, 40)[:, np.newaxis]
    lowest = min(system(x, y, spread, theta - step, penalty)[0] for step in line)
    (steps, _), _ = quasi_newton(*given, 1, damping=0.0, fisher=fisher / 20.0)
    assert steps == 1
    assert value - system(*given)[0] > 0.5 * (value - lowest) > 0.0  # by a parabola through both ends
    fitted(*given, tol=1e-10)
    before, fisher = theta.copy(), system(*given)[2]
    assert quasi_newton(*given, damping=0.0, fisher=fisher * 1e-12)[0] == (-1, False)
    np.testing.assert_array_equal(theta, before)


def test_where_the_first_quasi_newton_step_fails_the_damping_grows_until_one_does_not(monkeypatch):
    value, dampings, honest = fitted(*problem(600))[1], [], _descent_kernels.quasi_newton_steps

    def fails_twice(*arguments):
        dampings.append(arguments[4])
        return (-1, False) if len(dampings) < 3 else honest(*arguments)

    monkeypatch.setattr(_descent_kernels, "quasi_newton_steps", fails_twice)
    _, other, _, _, converged = fitted(*problem(600), node_fit=node_fit.py_func)
    assert converged
    assert other == pytest.approx(value, abs=0.5)
    np.testing.assert_allclose(np.divide(dampings[1:3], dampings[:2]), [2.0, 4.0])


def test_a_start_whose_residuals_are_enormous_does_not_end_at_the_limit_of_the_variance():
    """The first steps in the log-variance would leap there, where its derivative vanishes."""
    x, y, spread, theta, penalty = problem(400, p=1)
    b2, _ = intercepts(1, UNITS)
    theta[:b2] = np.random.default_rng(2).normal(size=b2)
    theta[b2 + 1 : b2 + 1 + UNITS] = 3e3
    start = node_objective(x.T, y, theta, penalty, UNITS)
    _, value, *_ = fitted(x, y, spread, theta, penalty)
    _, _, variance = forward(theta, x, UNITS)
    assert start > 1e6
    assert value < 0.5 * y.size
    assert variance.max() < 1e3


def scoring(x, y, spread, theta, penalty, most, tol, patience, slow, damping):
    """Take steps of scoring from theta with the matrix of all observations."""
    table = x, y, spread, NONE
    options = theta, (penalty, UNITS, theta.size), (most, tol, patience, slow)
    return steps_of(_descent_kernels.scoring_steps, theta, table, (1, table), *options, damping=damping)[0]


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_steps_of_any_kind_end_after_so_many_small_ones_in_a_row(patience):
    _, steps, small, _ = scoring(*problem(), 50, 1e9, patience, 0.0, 60.0)
    assert (steps, small) == (patience, True)
    assert quasi_newton(*problem(), tol=1e9, patience=patience)[0] == (patience, True)
    assert fitted(*problem(), tol=1e9, patience=patience)[3:] == (patience, True)
    assert minimised(Quadratic(0), tol=1e9, patience=patience)[4:] == (patience, True)


def test_scoring_ends_after_one_slow_step():
    _, steps, small, _ = scoring(*problem(), 50, 1e-9, 2, 1e9, 60.0)
    assert (steps, small) == (1, False)


def test_where_no_step_can_be_computed_the_weights_stay_and_what_is_no_number_has_no_matrix():
    x, y, spread, theta, penalty = problem()
    before = theta.copy()
    _, steps, small, _ = scoring(x, y, spread, theta, -1e12 * penalty, 50, 0.1, 2, 0.0, 0.0)
    assert (steps, small) == (0, False)
    np.testing.assert_array_equal(theta, before)
    theta[:] = np.nan
    _, value, log_determinant, steps, converged = fitted(x, y, spread, theta, penalty)
    assert np.isnan(log_determinant)
    assert (value, steps, converged) == (np.inf, 0, False)


@pytest.mark.slow
def test_a_table_that_cannot_be_written_to_is_fitted_all_the_same():
    """Such are the tables that workers share; and of so many rows some are enough for the matrix."""
    given = problem(10_007)
    for part in given[:3]:
        part.flags.writeable = False
    assert fitted(*given)[1] == fitted(*problem(10_007))[1]


def test_some_of_the_observations_lead_to_the_minimum_in_about_as_many_steps_as_all(monkeypatch):
    *_, some, _ = fitted(*problem(10_007), tol=0.1)
    monkeypatch.setattr(_descent_kernels, "ENOUGH", 10**6)
    *_, every, _ = fitted(*problem(10_007), tol=0.1, node_fit=node_fit.py_func)
    assert some < 2 * every


CURVATURE, MINIMUM = np.array([[4.0, 1.0], [1.0, 2.0]]), np.array([1.0, -2.0])


class Quadratic:
    """F = (1/2) (theta - minimum)^T C (theta - minimum), of so many observations as the first damping takes it for."""

    free, rank = 2, 1
    x = np.zeros((0, 1))

    def __init__(self, n_observations, curvature=CURVATURE):
        self.n_observations, self.curvature = n_observations, curvature

    def quadratic_model(self, theta, penalty, apart=1):
        pull = self.curvature @ (theta - MINIMUM)
        return 0.5 * float((theta - MINIMUM) @ pull), pull, self.curvature


def minimised(system, max_steps=100, tol=1e-10, patience=2):
    theta, factor = np.zeros(2), np.zeros((2, 2))
    return theta, factor, *minimise(system, theta, np.zeros(2), max_steps, tol, patience, factor)


def test_one_step_without_damping_solves_a_quadratic():
    theta, factor, value, log_determinant, steps, converged = minimised(Quadratic(0), max_steps=1)
    np.testing.assert_allclose(theta, MINIMUM, rtol=1e-12)
    assert value == pytest.approx(0.0, abs=1e-20)
    assert log_determinant == pytest.approx(np.log(7.0))
    np.testing.assert_allclose(np.triu(factor).T @ np.triu(factor), CURVATURE)
    assert (steps, converged) == (1, False)  # two small steps say so


def test_damping_takes_more_steps_to_the_same_minimum_of_a_quadratic():
    theta, _, value, _, steps, converged = minimised(Quadratic(10_000))
    np.testing.assert_allclose(theta, MINIMUM, atol=1e-4)
    assert value < 1e-8
    assert steps > 4
    assert converged


def test_without_a_positive_fisher_matrix_there_is_no_determinant():
    theta, _, _, log_determinant, *said = minimised(Quadratic(1, -CURVATURE))
    assert np.isnan(log_determinant)
    assert said == [0, False]
    np.testing.assert_array_equal(theta, 0.0)
