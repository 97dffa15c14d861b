"""Gain estimates of candidates, and searches that score only moves with a positive estimate."""

import naive
import numpy as np
import pytest
from helpers import all_families, family_evidence, free, node_system, scores_of_columns, standardised
from numpy.testing import assert_allclose
from scipy.stats import chi2_contingency, multivariate_normal
from support.families import (
    NONE,
    OPTIMISM,
    GaussianResponse,
    Start,
    add_products_of_features,
    columns_of,
    fit_node,
    gain_estimates,
    label_gain_estimates,
    odds_without_parents,
)
from support.search import Climber, FamilyScores, greedy_search

from icdh import HNMSearch

N = 600
NO_UNITS = np.empty((0, N))


def noise_of(seed, *shape):
    return np.random.default_rng(seed).normal(size=(*shape, N))


def estimates_for(candidates, y, x=NO_UNITS, hidden=NO_UNITS):
    return gain_estimates(candidates, x, hidden, np.stack([y, (y**2 - 1.0) / np.sqrt(2.0)]), None)


def test_estimates_of_noise_are_next_to_nothing():
    values = standardised(*noise_of(0, 201))
    found = estimates_for(values[1:], values[0])
    assert found.min() >= 0.0
    assert np.mean(found > 1.0) < 0.2
    assert found.max() < 8.0


def test_estimates_are_those_of_slow_regressions():
    values = standardised(*noise_of(4, 6))
    y, x, hidden = values[0] + 0.3 * values[3] * values[1], values[1:3], np.tanh(values[1:3] * [[0.5], [2.0]])
    y = y + 0.4 * values[4] ** 2 + 0.2 * values[5]
    for family in ((NO_UNITS, NO_UNITS), (x, hidden)):
        found = estimates_for(values[3:], y, *family)
        scores = np.stack([y, (y**2 - 1.0) / np.sqrt(2.0)])
        assert_allclose(found, [naive.gain_estimate(own, *family, scores) for own in values[3:]], rtol=1e-3)
        assert found.min() > 0.0


EFFECTS = {
    "linear": lambda x, e: x + 0.5 * e,
    "even": lambda x, e: x**2 / 2 + 0.7 * e,
    "wave": lambda x, e: np.sin(2 * x) + 0.5 * e,
    "spread": lambda x, e: np.exp(0.7 * np.tanh(x)) * e,
    "weak": lambda x, e: 0.25 * x + e,
}


@pytest.mark.parametrize("effect", EFFECTS)
def test_an_estimate_is_about_what_a_fit_gains(effect):
    x, e, other = noise_of(1, 3)
    scores = family_evidence(standardised(EFFECTS[effect](x, e), x, other))
    empty, full = scores([(0, ()), (0, (1,))])
    estimated = (scores.gain_estimates([(0, ())])[0][1] + 2.0) / OPTIMISM
    assert 0.5 * (empty - full + 2.0) < estimated < 2.0 * (empty - full + 2.0)


def test_what_gains_beside_a_parent_alone_is_estimated():
    """A product with it; and where y depends on the small difference of two columns that are nearly the same."""
    x, z, e = noise_of(3, 3)
    scores = family_evidence(standardised(x + 0.7 * x * z + 0.5 * e, x, z))
    assert scores.gain_estimates([(0, (1,))])[0][2] > 60.0
    scores = family_evidence(standardised(x + z + 0.3 * e, x, x + 0.1 * z))
    empty, full = scores([(0, (1,)), (0, (1, 2))])
    assert scores.gain_estimates([(0, (1,))])[0][2] > empty - full > 200.0


@pytest.mark.parametrize("units", [0, 2])
def test_functions_of_candidates_are_multiplied_over_all_rows(units):
    """N is more than two blocks of rows, and no multiple of one."""
    rng = np.random.default_rng(6)
    candidates, hidden, others = rng.normal(size=(3, N)), rng.normal(size=(units, N)), rng.normal(size=(4, N))
    size = 4 * -(-(3 + units) // 4)
    grams, products = np.zeros((3, size, size)), np.zeros((3, size, 4))
    add_products_of_features(candidates, hidden, NONE, others, grams, products)
    for x, gram, product in zip(candidates, grams, products, strict=True):
        features = np.vstack([np.tanh(0.8 * x), np.tanh(0.8 * x) ** 2, x, x * hidden])
        assert_allclose(gram[: 3 + units, : 3 + units], features @ features.T, rtol=1e-12, atol=1e-10)
        assert_allclose(product[: 3 + units], features @ others.T, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_duplicates_constants_and_outliers_have_finite_estimates(size):
    rng = np.random.default_rng(6)
    x = rng.standard_t(2, size=N)
    candidates = size * np.stack([x, x, np.sign(x), np.zeros(N), x**3, x + 1e-9 * rng.normal(size=N)])
    hidden = np.stack([np.tanh(x), np.tanh(x), np.zeros(N)])
    found = estimates_for(candidates, rng.standard_t(2, size=N) ** 3, size * x[np.newaxis], hidden)
    assert np.isfinite(found).all()
    assert found[3] == 0.0
    assert estimates_for(candidates[:0], x).shape == (0,)


def test_odds_without_a_parent_are_those_of_savage_and_dickey():
    """The covariance of a parent's weights is a block of the inverse Fisher matrix, their prior one of precision a."""
    rng = np.random.default_rng(10)
    x = rng.normal(size=(2, 200))
    y = np.tanh(x[0]) + 0.1 * x[1] + 0.5 * rng.normal(size=200)
    target = GaussianResponse.exact(y, None)
    fit = fit_node(x, target, hidden_units=3)
    saving, cost = odds_without_parents(x, target, fit)
    penalty = np.full(fit.theta.size, 1e-8)
    for layer, precision in zip(target.law.layers(2, 3), fit.precision, strict=True):
        penalty[layer] = precision
    covariance = np.linalg.inv(node_system(x, y, np.zeros(200), fit.theta, penalty, 3)[2])
    for k in range(2):
        own = slice(3 * k, 3 * k + 3)
        prior = multivariate_normal(np.zeros(3), np.eye(3) / fit.precision[0]).logpdf(np.zeros(3))
        posterior = multivariate_normal(fit.theta[own], covariance[own, own]).logpdf(np.zeros(3))
        assert saving[k] - cost[k] == pytest.approx(posterior - prior, rel=1e-6)
    assert cost[0] > 3.0 * cost[1] > 0.0


def test_only_a_parent_that_gains_nothing_may_go():
    x, z, e = noise_of(11, 3)
    scores = family_evidence(standardised(3.0 * np.tanh(x) + 0.1 * e, x, z))
    estimates = scores.gain_estimates([(0, (1, 2))])[0]
    assert estimates[1] < 0.0 < estimates[2]


class Told(FamilyScores):
    """Random scores, and gain estimates that are so many times the gains."""

    def __init__(self, seed, optimism):
        rng, self.scores, self.optimism, self.asked = np.random.default_rng(seed), {}, optimism, set()
        worth = rng.normal(size=(5, 5)) * 10.0
        for node, own in all_families(5):
            self.scores[node, own] = -sum(worth[node, list(own)]) + rng.normal() * (len(own) > 1)

    def __call__(self, families):
        self.asked.update(families)
        return [self.scores[family] for family in families]

    def gain_estimates(self, families):
        return [self.gains(*family) for family in families]

    def gains(self, node, parents):
        own = self.scores[node, parents]
        changed = [self.scores.get((node, tuple(sorted({*parents} ^ {i}))), own) for i in range(5)]
        return np.maximum(self.optimism * (own - np.array(changed)), 0.0)

    def polish(self, families):
        pass


@pytest.mark.parametrize("optimism", [1.0, 3.0])
def test_estimates_that_are_not_too_low_change_no_climb_and_save_scores(optimism):
    saved = 0
    for seed in range(20):
        every, some = Told(seed, np.inf), Told(seed, optimism)
        every.gain_estimates = lambda families: np.full((len(families), 5), np.inf)
        graphs = [Climber(told, free(5), 4).climb(((),) * 5)[0] for told in (every, some)]
        assert graphs[0] == graphs[1]
        assert some.asked <= every.asked
        saved += len(every.asked) - len(some.asked)
    assert saved > 20 * 10


def test_moves_without_a_positive_estimate_are_never_scored():
    told = Told(0, 0.0)
    graph, moves, *_ = greedy_search(told, free(5))
    assert (graph, moves) == (((),) * 5, [])
    assert told.asked <= {(node, ()) for node in range(5)}


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
    (a, b, e), family = noise_of(5, 3), (2, (0,))
    scores = family_evidence(standardised(a, b, np.tanh(3 * a) + 0.5 * b * a + 0.3 * e), noise=noise)
    scores.keep(family, scores.fit(family, Start(tol=1e6)))
    stale = scores.gain_estimates([family])[0][1]
    scores.keep(family, scores.fit(family))
    fresh = scores.gain_estimates([family])[0][1]
    for scores.noise in (noise, "gaussian" if noise == "auto" else "auto"):
        assert scores.network_score_of(family) == scores.score_by(family, scores.fit_of(family))
    scores.noise = noise
    scores.memory.estimates.clear()
    assert scores.gain_estimates([family])[0][1] == fresh != stale


def shares(codes, n_categories):
    return np.repeat(np.bincount(codes, minlength=n_categories)[:, np.newaxis] / codes.size, codes.size, axis=1)


def labels(n_categories, rng, n=500):
    return rng.integers(0, n_categories, size=n)


def test_of_labels_without_parents_it_is_pearsons_statistic_less_its_degrees_of_freedom():
    rng = np.random.default_rng(0)
    y, x, z = labels(3, rng), labels(4, rng), labels(2, rng)
    found = label_gain_estimates(y, shares(y, 3), [x, z], [], None)
    for estimate, candidate in zip(found, (x, z), strict=True):
        counts = np.histogram2d(y, candidate, bins=(3, candidate.max() + 1))[0]
        pearson = chi2_contingency(counts, correction=False)
        assert_allclose(estimate, pearson.statistic - pearson.dof)


def test_a_label_that_acts_only_together_with_a_parent_is_seen():
    rng = np.random.default_rng(1)
    parent, x, noise = labels(2, rng), labels(2, rng), labels(2, rng)
    y = parent ^ x
    alone, none = label_gain_estimates(y, shares(y, 2), [x, noise], [], None)
    together, still_none = label_gain_estimates(y, shares(y, 2), [x, noise], [parent], None)
    assert max(alone, none, still_none) < 10.0
    assert together > 100.0


def test_a_single_observation_is_no_large_excess():
    y = np.eye(500, dtype=int)[0]
    assert label_gain_estimates(y, shares(y, 2), [y], [], None)[0] < 3.0


def chain_of_labels(seed):
    """Return labels a -> b -> c and an unrelated d; b and d have two, the others three."""
    rng, n = np.random.default_rng(seed), 500
    a, d = labels(3, rng), labels(2, rng)
    b = np.where(rng.random(n) < 0.8, a == 0, rng.random(n) < 0.5).astype(int)
    c = np.where(rng.random(n) < 0.7, 2 * b, labels(3, rng))
    values = np.array([a, b, c, d], dtype=float)
    values[[1, 3]] = standardised(b, d)
    return columns_of(values, ["categorical", "binary", "categorical", "binary"])


@pytest.mark.parametrize("rows", [500, 400])
def test_estimates_of_labels_exceed_what_fits_gain_and_are_small_where_there_is_nothing(rows):
    counted = None if rows == 500 else np.tile(np.arange(500) < rows, (4, 1))
    scores = scores_of_columns(chain_of_labels(2), rows=counted)
    for family, cause in [((0, ()), 1), ((1, ()), 0), ((2, ()), 1), ((2, (0,)), 1), ((1, (2,)), 0)]:
        node, parents = family
        before, after = scores([family, (node, tuple(sorted((*parents, cause))))])
        assert scores.gain_estimates([family])[0][cause] > before - after > 5.0
    assert scores.gain_estimates([(0, (1,))])[0][3] < 5.0
    assert scores.gain_estimates([(2, (1,))])[0][0] < 5.0


def test_a_search_of_labels_finds_the_same_with_and_without_estimates():
    some, every = scores_of_columns(chain_of_labels(3)), scores_of_columns(chain_of_labels(3))
    every.gain_estimates = lambda families: np.full((len(families), 4), np.inf)
    assert greedy_search(some, free(4)).graph == greedy_search(every, free(4)).graph
    assert len(some.fitted()) < len(every.fitted())
