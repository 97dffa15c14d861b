"""Densities of the noise: what is fitted to a sample is the density that it was drawn from."""

from itertools import pairwise

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats
from support.families import (
    NOISE_DENSITIES,
    Families,
    FamilyModels,
    Free,
    Gaussian,
    GaussianResponse,
    NormalLaw,
    Student,
    cost_of,
    fit_noise,
    gain_by_heaps,
    noise_gain,
)

KINDS = {
    "gaussian": stats.norm(),
    "uniform": stats.uniform(-np.sqrt(3.0), 2.0 * np.sqrt(3.0)),
    "exponential": stats.expon(-1.0),
    "two humps": None,
}


def sample_of(kind, n, rng):
    if KINDS[kind] is not None:
        return KINDS[kind].rvs(size=n, random_state=rng)
    return (rng.choice([-1.0, 1.0], n) + 0.4 * rng.normal(size=n)) / np.sqrt(1.16)


@pytest.mark.parametrize("kind", KINDS)
def test_new_rows_are_nearly_as_likely_as_under_the_true_density(kind):
    rng = np.random.default_rng(0)
    noise, further = fit_noise(sample_of(kind, 2000, rng), "free", None), sample_of(kind, 20_000, rng)
    true = KINDS[kind] or stats.gaussian_kde(further, 0.03)
    assert np.mean(true.logpdf(further[:2000]) - noise.log_density(further[:2000])) < 0.06
    if kind != "gaussian":
        assert noise.log_density(further).mean() > Gaussian().log_density(further).mean() + 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_shares_of_a_free_density_are_those_of_slow_steps_but_for_the_improbable(kind):
    e = sample_of(kind, 151, np.random.default_rng(5))
    noise = fit_noise(e, "free", None)
    n_equal = 2 * round(np.sqrt(151.0)) + 4
    first = [1 / n_equal]
    for _ in range(8):
        first[:1] = [first[0] / 2] * 2
    widths = np.array([*first, *[1 / n_equal] * (n_equal - 2), *first[::-1]])
    centre = 0.0 if np.mean(e**4) <= 3.0 * np.mean(e**2) ** 2 else np.median(e)
    places = np.searchsorted(np.cumsum(widths)[:-1], noise.reference.distribution(e - centre), side="right")
    counts = np.bincount(places, minlength=widths.size)
    means = naive.free_means(counts, 151.0 * widths, np.exp(np.arange(-2.0, 14.0)))
    expected = 151.0 / 152.0 * means / means.sum() + widths / 152.0
    np.testing.assert_allclose(noise.shares, expected, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_free_density_belongs_to_its_distribution_function(kind):
    noise = fit_noise(sample_of(kind, 500, np.random.default_rng(1)), "free", None)
    assert isinstance(noise, Free)
    shares = noise.distribution(np.linspace(-3.0, 3.0, 50))
    density = lambda e: float(np.exp(noise.log_density(np.array([e])))[0])  # noqa: E731
    edges = noise.quantile(np.linspace(0.01, 0.99, 99))
    between = [integrate.quad(density, low, high, limit=200)[0] for low, high in pairwise(edges)]
    np.testing.assert_allclose(between, 0.98 / 98, rtol=0.02)
    np.testing.assert_allclose(noise.distribution(noise.quantile(shares)), shares, atol=1e-12)


def test_students_t_is_found_and_light_tails_have_none():
    rng = np.random.default_rng(2)
    found = fit_noise(rng.standard_t(3, size=4000) / np.sqrt(3.0), "student", None)
    assert isinstance(found, Student)
    assert found.degrees == 3.0
    assert found.scale == pytest.approx(1.0 / np.sqrt(3.0), rel=0.05)
    assert fit_noise(rng.random(2000) - 0.5, "student", None) == Gaussian()


@pytest.mark.parametrize("kind", ["exponential", "two humps"])
def test_the_mean_of_the_noise_is_zero_and_a_far_value_is_possible(kind):
    noise = fit_noise(sample_of(kind, 800, np.random.default_rng(3)), "free", None)
    drawn = noise.draw(200_000, np.random.default_rng(4))
    assert drawn.mean() == pytest.approx(0.0, abs=0.01)
    assert drawn.std() == pytest.approx(noise.deviation, rel=0.01)
    assert -200.0 < noise.log_density(np.array([1e3]))[0] < -20.0


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("degrees", [1.0, 1.5, 2.0])
def test_quartiles_of_noise_without_a_variance_are_those_of_the_residuals(degrees, seed):
    e = np.random.default_rng(seed).standard_t(degrees, size=500)
    e = (e - e.mean()) / e.std()
    quartiles = np.quantile(e, [0.25, 0.5, 0.75])
    noise, places = fit_noise(e, "free", None), np.array([0.25, 0.5, 0.75])
    np.testing.assert_allclose(noise.quantile(places), quartiles, rtol=0.0, atol=0.1 * (quartiles[2] - quartiles[0]))
    np.testing.assert_allclose(noise.turned().quantile(places), -noise.quantile(places)[::-1], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("shape", [0.3, 1.0])
def test_skewed_noise_keeps_its_mean_and_its_quartiles(shape):
    """The likeliest t of a gamma distribution has no variance, and much of it lies beyond the last equal bin."""
    for seed in range(8):
        e = np.random.default_rng(seed).gamma(shape, size=1000)
        e = (e - e.mean()) / e.std()
        drawn = fit_noise(e, "free", None).draw(200_000, np.random.default_rng(9))
        assert drawn.mean() == pytest.approx(0.0, abs=0.03)
        quartiles = np.quantile(e, [0.25, 0.5, 0.75])
        between = quartiles[2] - quartiles[0]
        np.testing.assert_allclose(np.quantile(drawn, [0.25, 0.5, 0.75]), quartiles, rtol=0.0, atol=0.05 * between)


@pytest.mark.parametrize("name", NOISE_DENSITIES)
def test_the_gain_of_a_noise_is_that_of_its_likelihood(name):
    e = np.random.default_rng(7).standard_t(3, size=2000)
    e /= np.sqrt(np.mean(e * e))
    gaussian = Gaussian().log_density(e).sum()
    paid = 0.0 if name == "free" else cost_of(name, e.size)
    expected = fit_noise(e, name, None).log_density(e).sum() - gaussian - paid
    error = 0.02 * e.size if name == "free" else 1e-6  # an entropy by spacings
    assert noise_gain([e], name, None) == (pytest.approx(expected, abs=error), name)


@pytest.mark.parametrize("degrees", [1, 3])
@pytest.mark.parametrize("name", NOISE_DENSITIES)
def test_noise_of_weighted_residuals_is_that_of_repeated_ones(name, degrees):
    """But for the gain of a free density, an entropy by spacings: equal values have none."""
    rng = np.random.default_rng(8)
    e, counts = rng.standard_t(degrees, size=300), rng.integers(1, 4, size=300)
    rows, weights = np.repeat(e, counts), counts.astype(float)
    if name != "free":
        assert noise_gain([e], name, weights)[0] == pytest.approx(noise_gain([rows], name, None)[0], rel=1e-9)
    twice = noise_gain([e], "free", 2.0 * weights)[0]
    assert twice == pytest.approx(2.0 * noise_gain([e], "free", weights)[0], rel=1e-9)
    densities = [fit_noise(*own).log_density(e) for own in ((e, name, weights), (rows, name, None))]
    np.testing.assert_allclose(*densities, rtol=1e-5 if name == "free" else 1e-9, atol=1e-5)


def test_few_or_equal_residuals_have_a_density():
    for residuals in (np.zeros(50), np.array([0.3, -0.3]), np.zeros(0), np.repeat([-1.0, 1.0], 30)):
        noise = fit_noise(residuals, "free", None)
        assert np.isfinite(noise.log_density(np.linspace(-5.0, 5.0, 11))).all()
        assert np.isfinite(noise.deviation)


def test_no_distribution_stands_for_another():
    residuals = np.random.default_rng(6).laplace(size=100)
    with pytest.raises(KeyError, match="lognormal"):
        noise_gain([residuals], "lognormal", None)
    with pytest.raises(ValueError, match="lognormal"):
        fit_noise(residuals, "lognormal", None)


@pytest.mark.parametrize("degrees", [2.1, 30.0, 1e9])
def test_places_next_to_zero_and_one_have_finite_quantiles(degrees):
    ends = Student(degrees, 1.0).quantile(np.array([0.0, 1e-300, 1.0]))
    assert np.isfinite(ends).all()
    assert ends[0] <= ends[1] < 0.0 < ends[2]


def test_what_wide_heaps_add_to_the_variance_of_residuals_is_no_gain_of_other_noise():
    """Evidence is about narrow cells: where a fit nearly knows a heap, its places half-way to the next are far out."""
    rng, n = np.random.default_rng(0), 600
    mean, deviation = rng.normal(size=n), np.where(rng.random(n) < 0.2, 0.01, 0.5)
    centre, reach = mean + deviation * rng.normal(size=n), np.full(n, 0.005)
    wide = np.where(deviation < 0.1, 0.4, reach)
    samples = [centre + wide * rng.uniform(-1.0, 1.0, n) for _ in range(3)]
    response = GaussianResponse.over_cells(centre - reach, centre + reach, samples, None)
    residuals = [(sample - mean) / deviation for sample in samples]
    within = (np.clip(samples[0], centre - reach, centre + reach) - mean) / deviation
    nats = n / 2 * np.log(np.mean(residuals[0] ** 2) / np.mean(within**2))
    assert gain_by_heaps(response, residuals) == pytest.approx(nats)
    assert gain_by_heaps(GaussianResponse.exact(centre, None), residuals[:1]) == 0.0
    assert noise_gain(residuals, "auto", None)[0] > 500.0
    arguments = np.ones((1, 1), dtype=int), np.full((1, 1), 2.0), 1.0, 0, None, None
    models = FamilyModels(Families(centre[np.newaxis], [response], *arguments))
    scores = {noise: models.score_of_residuals((0, ()), 0.0, residuals, noise) for noise in ("auto", "gaussian")}
    assert scores["auto"] == scores["gaussian"] == 0.0


@pytest.mark.parametrize("noise", [Gaussian(), Student(2.5, 0.5), Student(6.0, 0.8), "free"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_values_stay_at_an_end_of_the_range_however_far_the_mean_is_beyond(noise, sign):
    """Means are continuous and never rise again; draws, moments and densities say the same."""
    if noise == "free":
        noise = fit_noise(sign * (np.random.default_rng(1).gamma(2.0, 1.0, size=1000) - 2.0), "free", None)
    law = NormalLaw(noise).within(0.0, 1e15) if sign > 0.0 else NormalLaw(noise).within(-1e15, 0.0)
    location = sign * np.append(np.linspace(2.0, -8.0, 1001), -1e4)
    means = sign * law.mean_and_scale(np.array([location, np.ones(1002)]))[0]
    assert (means > 0.0).all()
    assert np.diff(means).max() < 0.002
    assert np.diff(means).min() > -0.011
    assert means[-1] < 0.6
    for far in (-6.0, -1e4):
        outputs = np.repeat([[sign * far], [1.0]], 20_000, axis=1)
        drawn = sign * law.draw(outputs, law.draw_noise(20_000, np.random.default_rng(0)))
        assert np.mean(drawn < 0.0) < 0.002
        assert_allclose(np.clip(drawn, -20.0, 20.0).mean(), means[-1], atol=0.05)
        grid = np.linspace(1e-6, 200.0, 200_001)
        density = np.exp(law.log_density(sign * grid, np.repeat([[sign * far], [1.0]], grid.size, axis=1)))
        assert integrate.trapezoid(density, grid) == pytest.approx(1.0, abs=0.01)
        assert_allclose(law.draw(outputs[:, :9], law.noise(sign * grid[1:10], outputs[:, :9])), sign * grid[1:10])
