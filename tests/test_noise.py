"""What a noise distribution is worth beyond a Gaussian, by evidence."""

import numpy as np
import pytest
from scipy.stats import norm, t

from icdh.entropy import negentropy, without_ties
from icdh.node_model.noise import student_gain, worth_of_noise


def test_students_t_gains_what_its_best_likelihood_does():
    e = np.random.default_rng(0).standard_t(4, size=800)
    dof, _, scale = t.fit(e, floc=0.0)
    best = t.logpdf(e, dof, 0.0, scale).sum() - norm.logpdf(e, 0.0, np.sqrt(np.mean(e**2))).sum()
    assert student_gain(e) == pytest.approx(best - 0.5 * np.log(800), abs=1.0)
    assert student_gain(1e-6 * e) == pytest.approx(student_gain(e))


@pytest.mark.parametrize(
    ("draw", "chosen"),
    [
        (lambda rng: rng.normal(size=600), "gaussian"),
        (lambda rng: rng.standard_t(3, size=600), "student"),
        (lambda rng: rng.uniform(size=600), "free"),
        (lambda rng: rng.exponential(size=600) - 1, "free"),
    ],
)
def test_the_evidence_chooses_the_distribution_that_drew_the_noise(draw, chosen):
    rng = np.random.default_rng(1)
    found = [worth_of_noise([draw(rng)], "auto") for _ in range(30)]
    assert sum(name == chosen for _, name in found) >= 28
    assert min(worth for worth, _ in found) >= 0.0


def test_fixed_distributions_are_worth_what_they_are():
    rng = np.random.default_rng(2)
    e, other = rng.uniform(size=(2, 300))
    assert worth_of_noise([e], "gaussian") == (0.0, "gaussian")
    assert worth_of_noise([e], "student") == (0.0, "student")
    worth = 300 * (negentropy(e) + negentropy(other)) / 2
    assert worth_of_noise([e, other], "free") == (pytest.approx(worth), "free")


def test_heaps_at_favoured_numbers_are_worth_little():
    """Weights to the half, two of three people rounding to whole ones: Gaussian but for the heaps."""
    rng = np.random.default_rng(4)
    exact = rng.normal(70.0, 5.0, size=1000)
    weights = np.where(rng.random(1000) < 2 / 3, np.round(exact), np.round(2.0 * exact) / 2.0)
    heap = np.unique(weights, return_counts=True)[1].max()
    samples = [without_ties((weights - weights.mean()) / weights.std(), rng) for _ in range(3)]
    assert worth_of_noise(samples, "auto")[0] > 50.0
    assert worth_of_noise(samples, "auto", heap)[0] < 5.0


def test_constant_residuals_are_no_reason_to_fail():
    assert student_gain(np.zeros(10)) == 0.0
