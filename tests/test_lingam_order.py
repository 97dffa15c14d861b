"""The order of DirectLiNGAM, from moments, and the search along it where noise is not Gaussian."""

import numpy as np
import pytest

from icdh import HNMSearch
from icdh._node_model.without_fits import _lead, _standardised, lingam_order


def linear_table(seed, draw, n=5, rows=200):
    """Return a table of a dense linear graph, shape (M, N), its columns in a random order, and the true graph."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.uniform(0.5, 1.5, size=(n, n)) * rng.choice([-1.0, 1.0], size=(n, n)), 1)
    noise = draw(rng, (rows, n))
    table = noise @ np.linalg.inv(np.eye(n) - weights)
    order = rng.permutation(n)
    return table[:, order], weights[np.ix_(order, order)] != 0


def uniform(rng, shape):
    return rng.uniform(-1.0, 1.0, size=shape)


def negentropy(u):
    u = (u - u.mean()) / u.std()
    return np.mean(u**3) ** 2 / 12 + (np.mean(u**4) - 3.0) ** 2 / 48


def test_the_lead_is_the_difference_of_the_negentropies_of_both_directions():
    x = _standardised(np.random.default_rng(0).exponential(size=(3, 400)).cumsum(axis=0))
    lead = _lead(x)
    for i in range(3):
        for j in range(3):
            r = np.mean(x[i] * x[j])
            if i != j:
                forward = negentropy(x[i]) + negentropy(x[j] - r * x[i])
                assert lead[i, j] == pytest.approx(forward - negentropy(x[j]) - negentropy(x[i] - r * x[j]))
    assert np.abs(lead + lead.T).max() < 1e-12


@pytest.mark.parametrize("distribution", ["uniform", "exponential", "laplace"])
def test_causes_come_first(distribution):
    def draw(rng, shape):
        return getattr(rng, distribution)(size=shape)

    against = 0
    for seed in range(5):
        table, truth = linear_table(seed, draw, rows=2000)
        place = np.argsort(lingam_order(_standardised(table.T)))
        against += sum(place[i] > place[j] for i, j in zip(*np.nonzero(truth), strict=True))
    assert against <= 5  # of 50 edges


def test_copies_constants_and_single_variables_have_an_order():
    x = np.random.default_rng(1).normal(size=50)
    assert lingam_order(np.zeros((0, 5))) == []
    assert lingam_order(x[np.newaxis]) == [0]
    assert sorted(lingam_order(np.array([x, x, np.zeros(50), -x]))) == [0, 1, 2, 3]


@pytest.mark.slow
def test_few_rows_of_uniform_noise_tell_the_direction_of_linear_effects():
    wrong = 0
    for seed in range(6):
        table, truth = linear_table(seed, uniform)
        learned = HNMSearch().fit(table).adjacency_matrix_ != 0
        wrong += int((learned & truth.T).sum())
    assert wrong <= 4  # 13 without a start along the order
