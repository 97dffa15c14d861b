"""Entropies of samples, and what a noise distribution is worth beyond a Gaussian, by evidence."""

import numpy as np
import pytest
from helpers import cases
from scipy.stats import kstest, norm, t
from support.families import Free, Student, noise_gain, student_gain
from support.utils import GAUSSIAN_ENTROPY, cells, drawn_from_cells, entropy, negentropy, spread_ties, vasicek_entropy


@pytest.mark.parametrize(
    ("distribution", "exact"),
    [("uniform", 0.0), ("normal", GAUSSIAN_ENTROPY), ("laplace", 1 + np.log(2)), ("exponential", 1.0)],
)
def test_entropy_of_known_densities(distribution, exact):
    sample = getattr(np.random.default_rng(0), distribution)(size=100_000)
    assert [entropy(sample), vasicek_entropy(sample, 300)] == pytest.approx([exact] * 2, abs=0.03)


def test_entropy_moves_with_scale_and_not_with_shift_or_sign_and_leaves_its_input():
    x = np.random.default_rng(1).normal(size=300)
    before, own = x.copy(), entropy(x)
    assert [entropy(8.0 * x), entropy(-x), entropy(x + 3.0)] == pytest.approx([own + np.log(8.0), own, own])
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_negentropy_is_zero_on_average_for_gaussian_samples(n):
    rng = np.random.default_rng(2)
    values = [negentropy(rng.normal(size=n), None) for _ in range(300)]
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(300) + 0.005


def test_entropies_are_finite_whatever_the_ties():
    rng = np.random.default_rng(4)
    x = rng.normal(size=2000)
    assert entropy(np.round(x, 1)) == pytest.approx(entropy(x), abs=0.05)
    assert np.isfinite(entropy(rng.integers(0, 3, size=500).astype(float)))
    for sample in (np.ones(9), np.zeros(9), np.array([1.0] * 8 + [1.0 + 2**-52]), np.full(9, 5e-324), np.eye(9)[0]):
        assert np.isfinite([entropy(sample), negentropy(sample, None), vasicek_entropy(sample, 2)]).all()
        assert entropy(sample) < entropy(x)


def test_ties_are_drawn_anew_from_their_intervals_and_all_else_stays():
    x = np.array([3.0, 1.0, 2.0, 1.0, 1.0])
    draws = np.array([drawn_from_cells(*cells(x), np.random.default_rng(seed)) for seed in range(500)])
    assert (draws[:, [0, 2]] == [3.0, 2.0]).all()
    tied = draws[:, [1, 3, 4]].ravel()
    assert kstest(tied, "uniform", (0.5, 1.0)).pvalue > 0.01
    assert len(np.unique(tied)) == tied.size


def test_a_grid_does_not_change_the_entropy_of_what_was_recorded_on_it():
    """Evenly spaced places would make that of small windows too large, by 0.1 nats and more."""
    rng = np.random.default_rng(7)
    errors = [
        vasicek_entropy(drawn_from_cells(*cells(np.floor(rng.uniform(0, 12, 500))), rng), 5) - np.log(12)
        for _ in range(40)
    ]
    assert abs(np.mean(errors)) < 0.03


@cases(("estimate", "n", "draws", "bias"), (entropy, 400, 200, 0.01), (vasicek_entropy, 24, 2000, 0))
@pytest.mark.parametrize("width", [1, 3, 12])
def test_spacings_of_any_width_give_the_entropy_of_uniform_samples(estimate, n, draws, bias, width):
    """The correction of one estimate is exact, that of the other up to 1 / (2 n)."""
    rng = np.random.default_rng(7)
    values = [estimate(rng.uniform(size=n), width) for _ in range(draws)]
    assert np.mean(values) == pytest.approx(0.0, abs=4 * np.std(values) / np.sqrt(draws) + bias)


def test_ties_are_spread_over_the_interval_nearest_to_them_and_single_values_stay():
    np.testing.assert_allclose(spread_ties(np.array([0.0, 1.0, 1.0, 4.0, 6.0, 6.0])), [0.0, 1.0, 2.0, 4.0, 5.5, 6.5])
    assert spread_ties(np.array([0.0, 1.0, 5.0])).tolist() == [0.0, 1.0, 5.0]


def test_students_t_gains_what_its_best_likelihood_does():
    e = np.random.default_rng(0).standard_t(4, size=800)
    dof, _, scale = t.fit(e, floc=0.0)
    best = t.logpdf(e, dof, 0.0, scale).sum() - norm.logpdf(e, 0.0, np.sqrt(np.mean(e**2))).sum()
    assert student_gain(e, None) == pytest.approx(best - 0.5 * np.log(800), abs=1.0)
    assert student_gain(1e-6 * e, None) == pytest.approx(student_gain(e, None))
    assert student_gain(np.zeros(10), None) == 0.0


@cases(
    ("distribution", "parameters", "chosen"),
    ("normal", (), "gaussian"),
    ("standard_t", (3,), "student"),
    ("uniform", (-1, 1), "free"),
    ("exponential", (), "free"),
)
def test_the_evidence_chooses_the_distribution_that_drew_the_noise(distribution, parameters, chosen):
    draws = getattr(np.random.default_rng(1), distribution)(*parameters, size=(30, 600))
    found = [noise_gain([draw - draw.mean()], "auto", None) for draw in draws]
    assert sum(name == chosen for _, name in found) >= 28
    assert min(worth for worth, _ in found) >= 0.0


def test_fixed_distributions_are_worth_what_they_are():
    e, other = np.random.default_rng(2).uniform(size=(2, 300))
    for name in ("gaussian", "student"):
        assert noise_gain([e], name, None) == (0.0, name)
    worth = 300 * (negentropy(e, None) + negentropy(other, None)) / 2
    assert noise_gain([e, other], "free", None) == (pytest.approx(worth), "free")


def test_quantiles_of_a_free_density_are_finite_short_of_one():
    """The sum of shares and their running sum differ in the last digit."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        shares = rng.dirichlet(np.ones(68))
        density = Free(Student(3.0, 0.7), shares)
        assert np.isfinite(density.quantile(np.array([1e-15, 0.5, 1.0 - 5e-16]))).all()
        assert np.isfinite(density.deviation)


@pytest.mark.parametrize("draw", ["normal", "exponential", "uniform"])
def test_equal_weights_are_none(draw):
    sample = getattr(np.random.default_rng(0), draw)(size=500)
    assert negentropy(sample, np.full(500, 3.0)) == pytest.approx(negentropy(sample, None), abs=1e-9)
