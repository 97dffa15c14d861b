"""Gain estimates of candidates, and searches that score only moves with a positive estimate."""

import itertools
from copy import copy

import numpy as np
import pytest
from helpers import family_evidence, free, standardised
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from icdh import HNMSearch
from icdh._node_model._kernels import add_products_of_features
from icdh._node_model.evidence import fit_node, odds_without_parents
from icdh._node_model.families import TUNING, Start
from icdh._node_model.gain_estimates import gain_estimates
from icdh._node_model.gaussian import GaussianResponse
from icdh._node_model.ordinal import OrdinalResponse
from icdh.search.climb import Climber, FamilyScores
from icdh.search.escapes import greedy_search

N = 600
NO_UNITS = np.empty((0, N))


def scores_of(y):
    return np.stack([y, (y**2 - 1.0) / np.sqrt(2.0)])


def estimates_for(candidates, y, x=NO_UNITS, hidden=NO_UNITS):
    return gain_estimates(candidates, x, hidden, scores_of(y))


def test_estimates_of_noise_are_next_to_nothing():
    rng = np.random.default_rng(0)
    values = standardised(*rng.normal(size=(201, N)))
    found = estimates_for(values[1:], values[0])
    assert found.min() >= 0.0
    assert np.mean(found > 1.0) < 0.2
    assert found.max() < 8.0


@pytest.mark.parametrize("effect", ["linear", "even", "wave", "spread", "weak"])
def test_an_estimate_is_about_what_a_fit_gains(effect):
    rng = np.random.default_rng(1)
    x, e = rng.normal(size=(2, N))
    y = {
        "linear": x + 0.5 * e,
        "even": x**2 / 2 + 0.7 * e,
        "wave": np.sin(2 * x) + 0.5 * e,
        "spread": np.exp(0.7 * np.tanh(x)) * e,
        "weak": 0.25 * x + e,
    }[effect]
    values = standardised(y, x, rng.normal(size=N))
    scores = family_evidence(values)
    empty, full = scores([(0, ()), (0, (1,))])
    estimated = (scores.gain_estimates((0, ()))[1] + 2.0) / TUNING.optimism
    assert 0.5 * (empty - full + 2.0) < estimated < 2.0 * (empty - full + 2.0)


def test_what_the_family_explains_already_gains_nothing():
    rng = np.random.default_rng(2)
    x, e = rng.normal(size=(2, N))
    values = standardised(np.tanh(2 * x) + 0.5 * e, x, x + 0.1 * rng.normal(size=N))
    scores = family_evidence(values)
    before, after = scores.gain_estimates((0, ()))[2], scores.gain_estimates((0, (1,)))[2]
    assert before > 100.0
    assert after < 8.0


def test_a_product_with_a_parent_is_estimated_though_the_candidate_alone_gains_nothing():
    rng = np.random.default_rng(3)
    x, z, e = rng.normal(size=(3, N))
    values = standardised(x + 0.7 * x * z + 0.5 * e, x, z)
    scores = family_evidence(values)
    assert scores.gain_estimates((0, (1,)))[2] > 60.0


def test_a_parent_that_matters_only_beside_what_is_collinear_with_it_is_estimated():
    """y depends on the small difference of two columns that are nearly the same."""
    rng = np.random.default_rng(4)
    x, d, e = rng.normal(size=(3, N))
    values = standardised(x + d + 0.3 * e, x, x + 0.1 * d)
    scores = family_evidence(values)
    empty, full = scores([(0, (1,)), (0, (1, 2))])
    assert empty - full > 200.0
    assert scores.gain_estimates((0, (1,)))[2] > empty - full


def test_signs_and_the_order_of_rows_and_candidates_change_no_estimate():
    rng = np.random.default_rng(5)
    values = standardised(*rng.normal(size=(4, N)))
    y, hidden = np.tanh(values[0]) + rng.normal(size=N), np.tanh(rng.normal(size=(3, 1)) * values[1])
    first = estimates_for(values[2:], y, values[1:2], hidden)
    turned = estimates_for(-values[:1:-1], y, values[1:2], hidden)
    np.testing.assert_allclose(turned[::-1], first, rtol=1e-9)
    rows = rng.permutation(N)
    np.testing.assert_allclose(estimates_for(values[2:, rows], y[rows], values[1:2, rows], hidden[:, rows]), first)


@pytest.mark.parametrize("units", [0, 2])
def test_functions_of_candidates_are_multiplied_over_all_rows(units):
    """N is more than two blocks of rows, and no multiple of one."""
    rng = np.random.default_rng(6)
    candidates, hidden, others = rng.normal(size=(3, N)), rng.normal(size=(units, N)), rng.normal(size=(4, N))
    size = 4 * -(-(3 + units) // 4)
    grams, products = np.zeros((3, size, size)), np.zeros((3, size, 4))
    add_products_of_features(candidates, hidden, others, grams, products)
    for x, gram, product in zip(candidates, grams, products, strict=True):
        features = np.vstack([np.tanh(0.8 * x), np.tanh(0.8 * x) ** 2, x, x * hidden])
        np.testing.assert_allclose(gram[: 3 + units, : 3 + units], features @ features.T, rtol=1e-12, atol=1e-10)
        np.testing.assert_allclose(product[: 3 + units], features @ others.T, rtol=1e-12, atol=1e-10)


def test_the_estimate_of_a_candidate_does_not_depend_on_the_others():
    values = standardised(*np.random.default_rng(6).normal(size=(8, N)))
    y, x = values[0] + 0.2 * values[5] + 0.2 * values[1] * values[6], values[1:2]
    hidden = np.tanh(np.array([[0.5], [1.0]]) * x)
    whole = estimates_for(values[2:], y, x, hidden)
    assert whole[3] > 5.0
    for k, alone in enumerate(values[2:]):
        np.testing.assert_allclose(estimates_for(alone[np.newaxis], y, x, hidden), whole[[k]], rtol=1e-9)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_duplicates_constants_and_outliers_have_finite_estimates(size):
    rng = np.random.default_rng(6)
    x = rng.standard_t(2, size=N)
    binary = np.sign(x)
    candidates = size * np.stack([x, x, binary, np.zeros(N), x**3, x + 1e-9 * rng.normal(size=N)])
    hidden = np.stack([np.tanh(x), np.tanh(x), np.zeros(N)])
    found = estimates_for(candidates, rng.standard_t(2, size=N) ** 3, size * x[np.newaxis], hidden)
    assert np.isfinite(found).all()
    assert found[3] == 0.0
    assert estimates_for(candidates[:0], x).shape == (0,)


def test_standardised_scores_of_a_gaussian_response():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(1, 50))
    theta = rng.normal(size=6)
    y = rng.normal(size=50)
    hidden, scores = GaussianResponse.exact(y).standardised_scores(x, theta, 1)
    np.testing.assert_allclose(hidden[0], np.tanh(theta[0] * x[0] + theta[1]))
    mean, variance = theta[2] + theta[3] * hidden[0], 1e-5 + np.exp(theta[4] + theta[5] * hidden[0])
    residual = (y - mean) / np.sqrt(variance)
    np.testing.assert_allclose(scores, [residual, (residual**2 - 1.0) / np.sqrt(2.0)], rtol=1e-9)


@pytest.mark.parametrize("n_levels", [2, 4])
def test_standardised_scores_of_levels_are_derivatives_of_unit_variance(n_levels):
    rng = np.random.default_rng(8)
    n = 40
    x, theta = rng.normal(size=(1, n)), 0.5 * rng.normal(size=6)
    levels = np.arange(n) % n_levels
    response = OrdinalResponse(levels.astype(float))
    weight, total = np.zeros((2, n)), np.zeros((2, n))
    for level in range(n_levels):  # the mean and the variance over what the level may be
        _, scores = with_levels(response, np.full(n, level)).standardised_scores(x, theta, 1)
        log_p = np.array([-one_row(x, level, response, theta, r) for r in range(n)])
        weight += np.exp(log_p) * scores
        total += np.exp(log_p) * scores**2
    np.testing.assert_allclose(weight, 0.0, atol=1e-8)
    np.testing.assert_allclose(total, np.array([[1.0], [float(n_levels > 2)]]) * np.ones((2, n)), rtol=1e-8)
    b2 = 2  # the intercept of the mean: what log P does with it is the score times its deviation
    _, scores = response.standardised_scores(x, theta, 1)
    system = response.objective(x, 1)
    none = np.zeros(theta.size)
    assert -approx_fprime(theta, lambda t: system.quadratic_model(t, none)[0], 1e-7)[b2] == pytest.approx(
        -system.quadratic_model(theta, none)[1][b2], rel=1e-4
    )
    assert np.sign(scores[0]).tolist() == np.sign(derivative_by_mean(x, levels, response, theta)).tolist()


def with_levels(response, levels):
    other = copy(response)
    other.codes = levels
    return other


def one_row(x, level, response, theta, row):
    of_row = with_levels(response, np.array([level]))
    return of_row.objective(x[:, row : row + 1], 1).quadratic_model(theta, np.zeros(theta.size))[0]


def derivative_by_mean(x, levels, response, theta):
    step = np.zeros(theta.size)
    step[2] = 1e-6
    return [
        one_row(x, level, response, theta - step, r) - one_row(x, level, response, theta + step, r)
        for r, level in enumerate(levels)
    ]


def test_odds_without_a_parent_are_those_of_savage_and_dickey():
    """The covariance of a parent's weights is a block of the inverse Fisher matrix, their prior one of precision a."""
    rng = np.random.default_rng(10)
    x = rng.normal(size=(2, 200))
    target = GaussianResponse.exact(np.tanh(x[0]) + 0.1 * x[1] + 0.5 * rng.normal(size=200))
    fit = fit_node(x, target, hidden_units=3)
    saving, cost = odds_without_parents(x, target, fit)
    size = fit.theta.size
    penalty, factor = np.full(size, 1e-8), np.zeros((size, size))
    for layer, precision in zip(target.layers(2, 3), fit.precision, strict=True):
        penalty[layer] = precision
    target.minimiser(x, 3)(fit.theta.copy(), penalty, size, 0, 1.0, 1, factor)
    covariance = np.linalg.inv(np.triu(factor).T @ np.triu(factor))
    for k in range(2):
        own = slice(3 * k, 3 * k + 3)
        prior = multivariate_normal(np.zeros(3), np.eye(3) / fit.precision[0]).logpdf(np.zeros(3))
        posterior = multivariate_normal(fit.theta[own], covariance[own, own]).logpdf(np.zeros(3))
        assert saving[k] - cost[k] == pytest.approx(posterior - prior, rel=1e-6)
    assert cost[0] > 3.0 * cost[1] > 0.0


def test_without_a_fisher_matrix_nothing_is_known_and_parents_cost_nothing(monkeypatch):
    x, y = np.random.default_rng(12).normal(size=(2, 50))
    target = GaussianResponse.exact(y)
    fit = fit_node(x[np.newaxis], target, hidden_units=2)
    monkeypatch.setattr(GaussianResponse, "minimiser", lambda *arguments: lambda *options: (0.0, np.nan, 0, True))
    saving, cost = odds_without_parents(x[np.newaxis], target, fit)
    assert saving.tolist() == [np.inf]
    assert cost.tolist() == [0.0]


def test_only_a_parent_that_gains_nothing_may_go():
    rng = np.random.default_rng(11)
    x, z, e = rng.normal(size=(3, N))
    scores = family_evidence(standardised(3.0 * np.tanh(x) + 0.1 * e, x, z))
    estimates = scores.gain_estimates((0, (1, 2)))
    assert estimates[1] < 0.0 < estimates[2]


class Told(FamilyScores):
    """Scores from a table, and gain estimates that are so many times the gains."""

    def __init__(self, scores, optimism):
        self.scores, self.optimism, self.asked = scores, optimism, set()

    def __call__(self, families):
        self.asked.update(families)
        return [self.scores[family] for family in families]

    def gain_estimates(self, family):
        node, parents = family
        gains = np.zeros(5)
        for i in range(5):
            if i != node:
                gains[i] = self.scores[family] - self.scores[node, tuple(sorted({*parents} ^ {i}))]
        return np.maximum(self.optimism * gains, 0.0)

    def polish(self, families):
        pass

    def grow(self, families):
        return False

    def choose_noise(self, families):
        return False


def random_scores(seed):
    rng = np.random.default_rng(seed)
    scores = {}
    for node in range(5):
        others = [k for k in range(5) if k != node]
        worth = rng.normal(size=5) * 10.0
        for size in range(5):
            for parents in itertools.combinations(others, size):
                scores[node, parents] = -sum(worth[list(parents)]) + rng.normal() * (size > 1)
    return scores


@pytest.mark.parametrize("optimism", [1.0, 3.0])
def test_estimates_that_are_not_too_low_change_no_climb_and_save_scores(optimism):
    saved = 0
    for seed in range(20):
        scores = random_scores(seed)
        every, some = Told(scores, np.inf), Told(scores, optimism)
        every.gain_estimates = lambda family: np.full(5, np.inf)
        graphs = [Climber(told, free(5), 4).climb(((),) * 5)[0] for told in (every, some)]
        assert graphs[0] == graphs[1]
        assert some.asked <= every.asked
        saved += len(every.asked) - len(some.asked)
    assert saved > 20 * 10


def test_moves_without_a_positive_estimate_are_never_scored():
    told = Told(random_scores(0), 0.0)
    graph, moves, *_ = greedy_search(told, free(5))
    assert moves == []
    assert told.asked <= {(node, ()) for node in range(5)}
    assert graph == ((),) * 5


def test_a_search_scores_few_of_many_independent_columns_and_finds_the_edge():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(300, 12))
    X[:, 3] = np.tanh(X[:, 5]) + 0.5 * np.exp(0.5 * X[:, 5]) * rng.normal(size=300)
    model = HNMSearch(noise_distribution="gaussian", column_transform="none").fit(X)
    assert model.adjacency_matrix_[5, 3] > 50.0
    pairs = [family for family in model.found_graph().scores.fitted() if len(family[1]) == 1]
    assert len(pairs) < 40  # of 132


@pytest.mark.parametrize("noise", ["gaussian", "auto"])
def test_a_better_fit_leaves_nothing_of_the_one_before(noise):
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, N))
    scores = family_evidence(standardised(a, b, np.tanh(3 * a) + 0.5 * b * a + 0.3 * rng.normal(size=N)), noise=noise)
    family = (2, (0,))
    poor = scores.fit(family, Start(tol=1e6))
    scores.keep(family, poor)
    stale = scores.gain_estimates(family)[1]
    scores.keep(family, scores.fit(family))
    fresh = scores.gain_estimates(family)[1]
    assert scores.network_score_of(family) == scores.score_by(family, scores.fit_of(family))
    scores.noise = "gaussian" if noise == "auto" else "auto"
    assert scores.network_score_of(family) == scores.score_by(family, scores.fit_of(family))
    assert fresh != stale
    scores.noise = noise
    scores._estimates.clear()
    assert scores.gain_estimates(family)[1] == fresh
