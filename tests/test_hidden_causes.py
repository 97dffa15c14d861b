"""Hidden common causes: their EM against integrals and loops, and the search for them."""

import numpy as np
import pytest
from helpers import family_evidence
from naive import district_score, hidden_cause_nll

from icdh._node_model.gaussian import GaussianResponse
from icdh._node_model.hidden import Districts, Posterior, extrapolated, posterior

LOADINGS = np.array([0.8, -0.7, 0.6, 0.9])


def confounded(seed=0, n=600, spread=0.0):
    """Four children of a hidden cause, the first a cause of the second, and a cause of the last; and the values."""
    rng = np.random.default_rng(seed)
    U, outside, *noise = rng.normal(size=(6, n))
    x = LOADINGS[:, np.newaxis] * U + 0.6 * np.array(noise)
    x[1] += 0.8 * x[0]
    x[3] += 0.7 * outside
    table = np.vstack([x, outside])
    table = (table - table.mean(axis=1, keepdims=True)) / table.std(axis=1, keepdims=True)
    return table, U


FAMILIES = ((0, ()), (1, (0,)), (2, ()), (3, (4,)))


def test_the_bound_at_the_posterior_is_the_marginal_likelihood():
    rng = np.random.default_rng(0)
    residuals, variances, loadings = rng.normal(size=(3, 5)), rng.uniform(0.2, 2.0, (3, 5)), np.array([0.9, -0.4, 0.0])
    hidden = posterior(residuals, variances, loadings)

    def bound(of):
        rest = residuals - np.outer(loadings, of.mean)
        squares = rest**2 + np.outer(loadings**2, of.variance)
        return 0.5 * (np.log(variances) + squares / variances).sum() + of.divergence()

    np.testing.assert_allclose(bound(hidden), hidden_cause_nll(residuals, variances, loadings), rtol=1e-10)
    for other in (Posterior(hidden.mean + 0.1, hidden.variance), Posterior(hidden.mean, 0.5 * hidden.variance)):
        assert bound(other) > bound(hidden) + 1e-4


@pytest.mark.parametrize("linear", [True, False])
def test_the_score_agrees_with_naive_and_the_hidden_values_with_the_true_ones(linear):
    table, U = confounded()
    scores = family_evidence(table)
    found = Districts(scores, linear=linear)(FAMILIES)
    fits = [(table[list(parents)].T, table[node], np.zeros(U.size)) for node, parents in FAMILIES]
    price = 2.0 + 0.5 * np.log(U.size)
    expected = district_score(FAMILIES, fits, found.loadings, *found.hidden, price)
    np.testing.assert_allclose(found.score, expected, rtol=1e-9)
    assert abs(np.corrcoef(found.hidden.mean, U)[0, 1]) > 0.85
    signs = np.sign(found.loadings)
    np.testing.assert_array_equal(signs * signs[0], np.sign(LOADINGS))
    assert found.score < sum(scores(FAMILIES)) - 100.0


def test_em_ends_at_the_posterior_where_the_bound_is_tight():
    table, _U = confounded(1)
    found = Districts(family_evidence(table), linear=True)(FAMILIES)
    residuals = table[:4] - np.array([child.mean for child in found.children])
    variances = np.array([child.variance for child in found.children])
    last = posterior(residuals, variances, found.loadings)
    np.testing.assert_allclose(found.hidden.mean, last.mean, atol=0.02)
    nll = hidden_cause_nll(residuals[:, :50], variances[:, :50], found.loadings)
    part = Posterior(found.hidden.mean[:50], found.hidden.variance[:50])
    rest = residuals[:, :50] - np.outer(found.loadings, part.mean)
    squares = rest**2 + np.outer(found.loadings**2, part.variance)
    bound = 0.5 * (np.log(variances[:, :50]) + squares / variances[:, :50]).sum() + part.divergence()
    assert nll - 1e-8 <= bound < nll + 0.01


def test_a_step_of_em_never_raises_the_bound_of_linear_models():
    table, U = confounded(2)
    districts = Districts(family_evidence(table), linear=True)
    step = districts._step(FAMILIES, *districts._cold_start(FAMILIES))
    for _ in range(10):
        last, step = step, districts._step(FAMILIES, districts._posterior(step), step.children)
        assert step.score <= last.score + 1e-9
    start = Posterior(np.random.default_rng(0).normal(size=U.size), np.full(U.size, 0.5))
    assert districts._em(FAMILIES, start, step.children).score <= districts._step(FAMILIES, start, step.children).score


def test_the_score_depends_neither_on_the_order_of_rows_nor_on_signs_nor_on_the_start():
    table, U = confounded(3)
    found = Districts(family_evidence(table), linear=True)(FAMILIES)
    rows, signs = np.random.default_rng(0).permutation(U.size), np.array([1.0, -1.0, -1.0, 1.0, -1.0])
    other = Districts(family_evidence(np.ascontiguousarray(table[:, rows]) * signs[:, np.newaxis]), linear=True)
    again = other(FAMILIES)
    np.testing.assert_allclose(again.score, found.score, atol=0.2)
    turn = np.sign(again.hidden.mean @ found.hidden.mean[rows])
    np.testing.assert_allclose(turn * again.hidden.mean, found.hidden.mean[rows], atol=0.02)
    np.testing.assert_allclose(turn * again.loadings * signs[:4], found.loadings, atol=0.02)
    districts = Districts(family_evidence(table), linear=True)
    districts(tuple((node, (4,)) for node in range(4)))  # a worse district of these children, to start from
    np.testing.assert_allclose(districts(FAMILIES).score, found.score, atol=0.2)
    drawn = districts.again(found, np.random.default_rng(1))
    np.testing.assert_allclose(drawn.score, found.score, atol=0.2)


def test_networks_and_cells_of_a_grid_have_a_hidden_cause_as_well():
    table, U = confounded(4)
    table[2] += 0.8 * np.tanh(2.0 * table[4]) * (1.0 + 0.5 * table[4])
    responses = [GaussianResponse.exact(own) for own in table]
    responses[0] = GaussianResponse.over_cells(table[0] - 0.1, table[0] + 0.1, [table[0]])
    families = ((0, ()), (1, (0,)), (2, (4,)), (3, (4,)))
    found = Districts(family_evidence(table, responses))(families)
    assert [child.lead > 0.0 for child in found.children] == [False, True, False, True]
    assert abs(np.corrcoef(found.hidden.mean, U)[0, 1]) > 0.85
    exact = Districts(family_evidence(table))(families)
    assert found.score > exact.score  # a cell says less than a value


def test_an_extrapolation_finds_the_end_of_a_geometric_sequence():
    end, start = Posterior(np.array([1.0, -2.0]), np.array([0.5, 0.25])), np.array([0.3, 0.7])
    path = [Posterior(end.mean + 0.9**k * start, np.exp(np.log(end.variance) - 0.9**k * start)) for k in range(3)]
    found = extrapolated(*path)
    np.testing.assert_allclose(found.mean, end.mean, atol=1e-9)
    np.testing.assert_allclose(found.variance, end.variance, atol=1e-9)
