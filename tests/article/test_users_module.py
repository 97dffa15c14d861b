"""What a module of another library does with the article's mathematics; `.ci/check_types.py` reads its types."""

import numpy as np
import pytest
from helpers import hetero_chain
from support import users_module

from icdh.likelihood import nll, nll_and_gradient
from icdh.network import initial_weights


@pytest.fixture(scope="module")
def X():
    table = hetero_chain(np.random.default_rng(0), 100)
    return table / table.std(axis=0)


def test_a_trainer_lowers_the_objective_and_fits_the_scales(X):
    values, network = users_module.GradientDescent().fit(X)
    assert np.all(np.diff(values) < 1e-3)
    assert values[-1] < values[0] - 0.1
    residuals = users_module.standardised(X, network)
    np.testing.assert_allclose(np.mean(residuals**2, axis=0), 1.0, rtol=1e-12)


def test_a_loss_of_a_vector_is_the_likelihood(X):
    weights = initial_weights(X, 2, False, np.random.default_rng(0))
    value, gradient = users_module.loss_of(X, weights)(weights.to_vector())
    assert value == pytest.approx(nll(X, weights), rel=1e-12)
    assert weights.from_vector(gradient) == nll_and_gradient(X, weights)[1]


def test_the_algorithm_keeps_what_is_known(X):
    rounds = []
    result = users_module.learned(X, ["x0"], rounds.append)
    assert [result.best] == rounds
    assert not result.weights.adjacency()[:, 0].any()
    assert users_module.is_nearly_acyclic(result.weights, 1e-6)
