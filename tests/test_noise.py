"""What a noise distribution is worth beyond a Gaussian, by evidence."""

import numpy as np
import pytest
from scipy.stats import norm, t

from icdh._ground.entropy import negentropy
from icdh._node_model.noise import noise_gain, student_gain


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
    found = [noise_gain([draw(rng)], "auto") for _ in range(30)]
    assert sum(name == chosen for _, name in found) >= 28
    assert min(worth for worth, _ in found) >= 0.0


def test_fixed_distributions_are_worth_what_they_are():
    rng = np.random.default_rng(2)
    e, other = rng.uniform(size=(2, 300))
    assert noise_gain([e], "gaussian") == (0.0, "gaussian")
    assert noise_gain([e], "student") == (0.0, "student")
    worth = 300 * (negentropy(e) + negentropy(other)) / 2
    assert noise_gain([e, other], "free") == (pytest.approx(worth), "free")


def test_constant_residuals_are_no_reason_to_fail():
    assert student_gain(np.zeros(10)) == 0.0
