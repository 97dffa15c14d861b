"""Damped Fisher scoring on functions whose minimum is known."""

import numpy as np
import pytest

from icdh._node_model.scoring import minimise

CURVATURE = np.array([[4.0, 1.0], [1.0, 2.0]])
MINIMUM = np.array([1.0, -2.0])


class Quadratic:
    """F = (1/2) (theta - minimum)^T C (theta - minimum), of so many observations as the first damping takes it for."""

    free, rank = 2, 1
    x = np.zeros((0, 1))

    def __init__(self, n_observations, curvature=CURVATURE):
        self.n_observations, self.curvature = n_observations, curvature

    def quadratic_model(self, theta, penalty, apart=1):
        pull = self.curvature @ (theta - MINIMUM)
        return 0.5 * float((theta - MINIMUM) @ pull), pull, self.curvature


def minimised(system, **options):
    theta, factor = np.zeros(2), np.zeros((2, 2))
    found = minimise(
        system, theta, np.zeros(2), **{"max_steps": 100, "tol": 1e-10, "patience": 2, **options}, factor=factor
    )
    return theta, factor, *found


def test_one_step_without_damping_solves_a_quadratic():
    theta, factor, value, log_determinant, steps, converged = minimised(Quadratic(0), max_steps=1)
    np.testing.assert_allclose(theta, MINIMUM, rtol=1e-12)
    assert value == pytest.approx(0.0, abs=1e-20)
    assert log_determinant == pytest.approx(np.log(7.0))
    np.testing.assert_allclose(np.triu(factor).T @ np.triu(factor), CURVATURE)
    assert steps == 1
    assert not converged  # two small steps say so


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_a_fit_ends_after_so_many_small_steps_in_a_row(patience):
    *_, steps, converged = minimised(Quadratic(0), tol=1e9, patience=patience)
    assert (steps, converged) == (patience, True)


def test_damping_takes_more_steps_to_the_same_minimum():
    theta, _, value, _, steps, converged = minimised(Quadratic(10_000))
    np.testing.assert_allclose(theta, MINIMUM, atol=1e-4)
    assert value < 1e-8
    assert steps > 4
    assert converged


def test_without_a_positive_fisher_matrix_there_is_no_determinant():
    theta, _, _, log_determinant, steps, converged = minimised(Quadratic(1, -CURVATURE))
    assert np.isnan(log_determinant)
    assert steps == 0
    assert not converged
    np.testing.assert_array_equal(theta, 0.0)
