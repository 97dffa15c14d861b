from inspect import isfunction
from typing import get_type_hints

import naive
import numpy as np
import pytest
from scipy.linalg import expm

import icdh.acyclicity
from icdh.acyclicity import acyclicity, trace_exponential


@pytest.mark.parametrize("scale", [1e-3, 0.3, 1.0, 2.0])
@pytest.mark.parametrize("n", [1, 2, 6])
def test_value_and_gradient(scale, n):
    A = np.random.default_rng(n).normal(size=(n, n)) * scale
    h, gradient = acyclicity(A)
    assert h == pytest.approx(naive.acyclicity(A), rel=1e-11)
    assert h == pytest.approx(np.trace(expm(A * A)) - n, rel=1e-8)
    exact = naive.complex_step_gradient(lambda entries: naive.acyclicity(entries.reshape(n, n)), A.ravel())
    np.testing.assert_allclose(gradient.ravel(), exact, rtol=1e-9, atol=1e-300)


def test_a_dag_of_large_weights_scores_exactly_zero_and_a_tiny_cycle_to_full_relative_accuracy():
    assert acyclicity(np.triu(np.random.default_rng(0).normal(size=(30, 30)), 1) * 100)[0] == 0.0
    A = np.zeros((3, 3))
    A[[0, 1, 2], [1, 2, 0]] = 50.0, 1e-6, 1e-6
    assert acyclicity(A)[0] == pytest.approx(3 * 50.0**2 * 1e-24 / 6, rel=1e-12)


@pytest.mark.parametrize("scale", [30.0, 1e3, 1e9, 1e160, 1e300])
def test_finite_where_the_exponential_overflows(scale):
    with np.errstate(all="raise"):
        h, gradient = acyclicity(np.random.default_rng(1).normal(size=(5, 5)) * scale)
    assert np.isfinite([h, *gradient.flat]).all()
    assert h > 0


def test_the_continuation_has_the_gradient_it_claims():
    A = np.abs(np.random.default_rng(2).normal(size=(4, 4))) * 40
    _, gradient = acyclicity(A)
    for index in np.ndindex(A.shape):
        step = np.zeros(A.shape)
        step[index] = 1e-3 * A[index]
        f = [acyclicity(A + k * step)[0] for k in (-2, -1, 1, 2)]
        stencil = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step[index])
        assert gradient[index] == pytest.approx(stencil, rel=1e-7)


PUBLIC = [function for name, function in vars(icdh.acyclicity).items() if isfunction(function) and name[0] != "_"]


@pytest.mark.parametrize("function", [f for f in PUBLIC if get_type_hints(f) == get_type_hints(trace_exponential)])
def test_every_function_has_its_gradient_and_is_zero_for_dags_alone(function):
    A = 0.3 * np.random.default_rng(3).normal(size=(4, 4))
    for index in np.ndindex(A.shape):
        step = np.zeros(A.shape)
        step[index] = 1e-5
        slope = (function(A + step)[0] - function(A - step)[0]) / 2e-5
        assert function(A)[1][index] == pytest.approx(slope, rel=1e-6, abs=1e-9)
    assert function(np.triu(A, 1))[0] == 0.0 < function(A)[0]
