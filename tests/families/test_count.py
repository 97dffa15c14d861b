"""Counts: negative binomial given the causes, Poisson in the limit."""

import numpy as np
import pytest
from helpers import cases
from scipy.special import betainc
from scipy.stats import nbinom, poisson
from support.families import CountLaw, CountResponse, fill_dispersion_information
from support.table import guessed
from support.utils import fit_counts

import icdh
from icdh import HNMSearch
from icdh.exceptions import DataWarning
from icdh.uncertainty import mean_and_spread_loss

CLEAN = {"column_transform": "none", "noise_distribution": "gaussian"}


@pytest.mark.parametrize("dispersion", [1e-7, 0.05, 0.8, 6.0])
def test_probabilities_are_those_of_scipy(dispersion):
    law, k = CountLaw(0.0, 1.0, np.log(3.0), np.log(dispersion)), np.arange(40.0)
    outputs = np.tile([[0.3], [0.0]], 40)
    mean, r = 3.0 * np.exp(0.3), 1.0 / dispersion
    np.testing.assert_allclose(law.log_density(k, outputs), nbinom.logpmf(k, r, r / (r + mean)), rtol=1e-6)
    if dispersion < 1e-6:
        np.testing.assert_allclose(law.log_density(k, outputs), poisson.logpmf(k, mean), rtol=1e-4)
    uniform = (np.arange(40) + 0.5) / 40
    np.testing.assert_array_equal(law.draw(outputs, uniform), nbinom.ppf(uniform, r, r / (r + mean)))


@pytest.mark.parametrize("a", [0.002, 0.1, 0.29, 0.31, 1.0, 8.0])
def test_the_information_about_the_dispersion_is_its_sum(a):
    mean, r = np.array([1e-3, 0.05, 0.5, 3.0, 20.0, 90.0]), np.full(6, 1.0 / a)
    found = np.empty(6)
    fill_dispersion_information(mean, r, found)
    j = np.arange(200_000.0)
    beyond = betainc(j + 1.0, r[0], (mean / (r + mean))[:, np.newaxis])  # P(count > j)
    expected = r**2 * (beyond / (r[0] + j) ** 2).sum(axis=1) - r * mean / (r + mean)
    np.testing.assert_allclose(found, expected, rtol=0.015, atol=1e-9)


def visits(n=1500, seed=0):
    """Age makes visits more frequent and income makes them more dispersed; more visits make a bill."""
    rng = np.random.default_rng(seed)
    age, income = rng.normal(size=(2, n))
    mean, dispersion = np.exp(0.8 + 0.6 * age), np.exp(-0.8 + 0.9 * income)
    counts = rng.poisson(mean * rng.gamma(1.0 / dispersion, dispersion))
    return np.column_stack([age, income, counts, np.sqrt(counts) + (0.3 + 0.1 * counts) * rng.normal(size=n)])


@pytest.fixture(scope="module")
def fit():
    return HNMSearch(knowledge={"tiers": [["x0", "x1"], ["x2"], ["x3"]]}, **CLEAN).fit(visits())


def test_counts_are_known_and_cause_and_are_caused(fit):
    assert fit.kinds_ == ["continuous", "continuous", "count", "continuous"]
    assert {edge[:2] for edge in fit.edge_list()} == {("x0", "x2"), ("x1", "x2"), ("x2", "x3")}
    mean, spread = mean_and_spread_loss(fit)
    assert mean[0, 2] > 10 > spread[0, 2]
    assert spread[1, 2] > 10 > mean[1, 2]


def test_draws_are_counts_like_those_of_the_table(fit):
    drawn, table = fit.sample(20_000, random_state=0)[:, 2], visits()[:, 2]
    assert (drawn >= 0).all()
    np.testing.assert_array_equal(drawn, np.rint(drawn))
    assert np.mean(drawn == 0) == pytest.approx(np.mean(table == 0), abs=0.03)
    assert drawn.mean() == pytest.approx(table.mean(), rel=0.1)
    assert drawn.std() == pytest.approx(table.std(), rel=0.2)
    done = fit.sample(20_000, random_state=0, do={"x0": 1.0, "x1": 0.0})[:, 2]
    assert done.mean() == pytest.approx(np.exp(1.4), rel=0.15)


def test_a_fitted_model_of_counts_passes_its_check_and_is_saved(fit, tmp_path):
    assert not icdh.check(fit, visits()).rejected
    fit.save(tmp_path / "m.icdh")
    again = icdh.load(tmp_path / "m.icdh")
    assert again.score(visits(seed=1)) == fit.score(visits(seed=1))
    with pytest.raises(ValueError, match="what the count of a row would have been is not determined"):
        fit.counterfactual(visits(), do={"x0": 0.0})
    with pytest.raises(ValueError, match="'x2' has causes and few values or counts"):
        fit.model_.to_dowhy()


def test_the_sign_and_the_unit_of_a_column_do_not_matter():
    """A search may turn columns: the counts stay counts."""
    model, other = (HNMSearch(**CLEAN).fit(X) for X in (visits()[:, :3], visits()[:, [2, 1, 0]] * [1.0, -5.0, 9.0]))
    back = other.adjacency_matrix_[::-1, ::-1]
    np.testing.assert_allclose(back, model.adjacency_matrix_, rtol=1e-6)
    assert other.nll_ == pytest.approx(model.nll_, abs=1e-6)


def test_independent_counts_get_no_edges():
    """Nor does the Poisson limit, where nothing tells the dispersion."""
    rng = np.random.default_rng(3)
    for mean in (0.8, 3.0, 30.0):
        table = rng.poisson(mean, size=(400, 5))
        assert len(HNMSearch(kinds=dict.fromkeys(range(5), "count")).fit(table).edge_list()) <= 1


def test_a_column_without_rows_of_its_own_keeps_the_law():
    rng = np.random.default_rng(0)
    whole = CountResponse(rng.poisson(3.0, size=500).astype(float), None)
    part = whole.take(np.arange(500) < 100)
    assert len(part) == 100
    assert part.law == whole.law


def zero_inflated(seed=0, share=0.4, dispersion=0.0, n=1500):
    """Two causes and a zero-inflated count of mean 4, whose further zeros the second cause makes rarer."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    mean = 4.0 * np.exp(0.4 * a)
    counts = rng.poisson(mean * rng.gamma(1.0 / dispersion, dispersion, size=n) if dispersion else mean)
    odds = share / (1.0 - share) * np.exp(-b)
    return np.column_stack([a, b, counts * (rng.random(n) > odds / (1.0 + odds))])


def test_further_zeros_are_drawn_as_often_as_they_are(monkeypatch):
    table = zero_inflated()
    known = {"tiers": [["x0", "x1"], ["x2"]]}
    fit, response = HNMSearch(knowledge=known, **CLEAN).fit(table), CountResponse(table[:, 2], None)
    assert response.law.log_odds.size == 1
    assert fit.kinds_[2] == "count"
    assert {edge[:2] for edge in fit.edge_list()} == {("x0", "x2"), ("x1", "x2")}
    drawn, further = fit.sample(40_000, random_state=0)[:, 2], zero_inflated(seed=1, n=40_000)[:, 2]
    assert np.mean(drawn == 0) == pytest.approx(np.mean(table[:, 2] == 0), abs=0.02)
    assert (drawn.mean(), drawn.std()) == pytest.approx((further.mean(), further.std()), rel=0.05)
    assert not icdh.check(fit, table).rejected
    few = fit.sample(40_000, random_state=0, do={"x0": 0.0, "x1": 2.0})[:, 2]
    assert np.mean(few == 0) == pytest.approx(1.0 / (1.0 + 1.5 * np.exp(2.0)) + np.exp(-4.0), abs=0.03)

    nothing = fit_counts(np.zeros(2), None)._replace(surprise=np.inf)
    monkeypatch.setattr("icdh._utils.density._zero_inflated", lambda *_: nothing)
    with pytest.warns(DataWarning, match="point mass"):
        plain = HNMSearch(knowledge=known, kinds={"x2": "count"}, **CLEAN).fit(table)
    assert fit.evidence_ > plain.evidence_ + 100
    assert fit.score(zero_inflated(seed=1)) > plain.score(zero_inflated(seed=1)) + 0.05


def test_counts_without_further_zeros_get_none():
    for dispersion, seed in ((0.0, 0), (0.0, 1), (0.5, 2), (2.0, 3), (5.0, 4)):
        assert not CountResponse(zero_inflated(seed, 0.0, dispersion)[:, 2], None).law.log_odds.size
    rng = np.random.default_rng(5)
    for spread in (0.5, 1.0, 1.5):  # causes that vary the mean
        counts = rng.poisson(np.exp(0.5 + spread * rng.normal(size=3000))).astype(float)
        assert not CountResponse(counts, None).law.log_odds.size


@cases(
    ("column", "kind"),
    (lambda rng: rng.poisson(6.0, 500), "count"),
    (lambda rng: rng.negative_binomial(1, 0.2, 500), "count"),
    (lambda rng: rng.poisson(6.0, 500) - 1, "gridded"),
    (lambda rng: rng.poisson(6.0, 500) + 0.5, "gridded"),
    (lambda rng: rng.poisson(0.7, 500), "ordinal"),
    (lambda rng: rng.integers(0, 90, 500), "gridded"),
    (lambda rng: np.where(rng.random(500) < 0.7, 0, rng.poisson(20.0, 500)), "count"),
    (lambda rng: np.where(rng.random(500) < 0.7, 0, 40 + rng.poisson(9.0, 500)), "gridded"),
    (lambda rng: np.append(0, np.round(40 + 12 * rng.normal(size=500)).clip(1)), "gridded"),
    (lambda rng: np.append(0, np.round(np.exp(8 + rng.normal(size=500)))), "gridded"),
)
def test_counts_are_told_from_other_whole_numbers(column, kind):
    assert guessed(np.asarray(column(np.random.default_rng(0)), dtype=float), None) == kind


@pytest.mark.parametrize("value", [-1.0, 0.5])
def test_what_is_no_count_cannot_be_declared_one(value):
    table = np.column_stack([np.arange(20.0), np.arange(20.0) ** 2])
    table[3, 0] = value
    with pytest.raises(ValueError, match=rf"'count', but the column holds {value:g}; .* declare it gridded"):
        HNMSearch(kinds={0: "count"}).fit(table)
