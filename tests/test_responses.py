"""What every kind of response owes: one likelihood, by which it is fitted, and which the fitted model has, draws, saves.

A further kind is a line in `responses.SUBJECTS`.
"""

import numpy as np
import pytest
from responses import SUBJECTS
from scipy.stats import kstest

import icdh

STEP = 1e-3
ROWS = 12


@pytest.fixture(params=SUBJECTS)
def kind(request):
    return request.param


def subject_of(kind, n=ROWS, seed=0):
    """A response of n rows, and outputs of each, shape (o, n)."""
    rng = np.random.default_rng(seed)
    subject = SUBJECTS[kind](rng, n)
    return subject, rng.uniform(-1.5, 1.5, size=(subject.outputs, n))


def derivative(function, outputs, k):
    """The derivative of a function of each row by its k-th output, by differences of the eighth order."""
    total = 0.0
    for distance, weight in enumerate((4 / 5, -1 / 5, 4 / 105, -1 / 280), start=1):
        ahead, behind = outputs.copy(), outputs.copy()
        ahead[k] += distance * STEP
        behind[k] -= distance * STEP
        total = total + weight * (function(ahead) - function(behind)) / STEP
    return total


def of_cells(subject, outputs):
    """The log-density of the values, shape (n,), averaged over the cell of each."""
    places = subject.cell / 2 * np.array([-1.0, 1.0]) / np.sqrt(3.0)  # Gauss and Legendre's, exact for squares
    return np.mean([subject.log_density(subject.observed + place, outputs) for place in places], axis=0)


def not_yet(kind, *kinds):
    if kind in kinds:
        pytest.xfail("the fitted model does not hold what was scored")


def test_what_is_fitted_is_the_density_of_the_law(kind):
    not_yet(kind, "point masses")
    subject, outputs = subject_of(kind)
    other = np.random.default_rng(1).uniform(-1.5, 1.5, size=outputs.shape)
    constants = [subject.terms(own)[0] + of_cells(subject, own).sum() for own in (outputs, other)]
    assert constants[0] == pytest.approx(constants[1], abs=1e-9)


def test_derivatives_by_the_outputs_are_those_of_the_log_density(kind):
    not_yet(kind, "point masses")
    subject, outputs = subject_of(kind)
    _, pull, _ = subject.terms(outputs)
    for k in range(subject.outputs):
        expected = derivative(lambda own: -of_cells(subject, own), outputs, k)
        np.testing.assert_allclose(pull[k], expected, rtol=1e-8, atol=1e-8)


def test_the_fisher_matrix_is_the_mean_of_squared_scores(kind):
    """Over draws of the law, evenly spread, at the same outputs in all rows."""
    not_yet(kind, "point masses")
    n = 20_000
    subject, outputs = subject_of(kind)
    at = np.repeat(outputs[:, :1], n, axis=1)
    observed = subject.draw(at, (np.arange(n) + 0.5) / n)
    scores = np.array([derivative(lambda own: subject.log_density(observed, own), at, k) for k in range(len(at))])
    fisher = subject.terms(outputs)[2][:, :, 0]
    np.testing.assert_allclose(scores @ scores.T / n, fisher, rtol=3e-3, atol=3e-3 * np.abs(fisher).max())
    np.testing.assert_allclose(scores.mean(axis=1), 0.0, atol=3e-3 * np.sqrt(np.abs(fisher).max()))


def test_no_constant_fits_better_than_the_model_without_parents(kind):
    subject, _ = subject_of(kind, 400)
    constant, value = subject.without_parents()

    def at(outputs):
        return subject.terms(np.repeat(outputs[:, np.newaxis], 400, axis=1))[0]

    assert at(constant) == pytest.approx(value, abs=1e-6)
    for k, step in np.ndindex(subject.outputs, 2):
        moved = constant.copy()
        moved[k] += (-0.2, 0.2)[step]
        assert at(moved) > value - 0.02  # shares have half a count more


def test_the_law_of_the_other_sign_has_the_density_of_minus_the_value(kind):
    not_yet(kind, "point masses")
    subject, outputs = subject_of(kind)
    if not subject.odd:
        return
    turned = outputs.copy()
    turned[list(subject.odd)] *= -1.0
    found = subject.log_density(-subject.observed, turned, sign=-1.0)
    np.testing.assert_allclose(found, subject.log_density(subject.observed, outputs), rtol=1e-10)


def shares_and_density(subject, at):
    """The probabilities of the support, and the density on a grid, at outputs of shape (o,)."""
    n = len(subject.support)
    shares = np.exp(subject.log_density(np.array(subject.support, dtype=float), np.repeat(at[:, np.newaxis], n, 1)))
    grid = np.linspace(-14.0, 14.0, 40_001) + 1e-7 if subject.dense else np.zeros(0)
    density = np.exp(subject.log_density(grid, np.repeat(at[:, np.newaxis], grid.size, 1))) if grid.size else grid
    return shares, grid, density


def test_probabilities_and_density_add_up_to_one(kind):
    not_yet(kind, "point masses")
    subject, outputs = subject_of(kind)
    for at in outputs.T[:4]:
        shares, grid, density = shares_and_density(subject, at)
        assert shares.sum() + (np.trapezoid(density, grid) if grid.size else 0.0) == pytest.approx(1.0, abs=1e-6)


def test_draws_have_the_probabilities_and_the_density(kind):
    not_yet(kind, "point masses")
    n = 2000
    subject, outputs = subject_of(kind)
    for at in outputs.T[:4]:
        drawn = subject.draw(np.repeat(at[:, np.newaxis], n, axis=1), (np.arange(n) + 0.5) / n)
        shares, grid, density = shares_and_density(subject, at)
        for value, share in zip(subject.support, shares, strict=True):
            assert np.mean(drawn == value) == pytest.approx(share, abs=2.0 / n)
        rest = np.sort(drawn[~np.isin(drawn, subject.support)])
        if grid.size:
            below = np.append(0.0, np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid)))
            places = np.interp(rest, grid, below / below[-1])
            np.testing.assert_allclose(places, (np.arange(rest.size) + 0.5) / rest.size, atol=3.0 / n)
        else:
            assert not rest.size


def test_mean_and_scale_are_those_of_draws(kind):
    not_yet(kind, "point masses")
    n = 20_000
    subject, outputs = subject_of(kind)
    at = np.repeat(outputs[:, :1], n, axis=1)
    drawn, (mean, scale) = subject.draw(at, (np.arange(n) + 0.5) / n), subject.mean_and_scale(at)
    if kind == "labels":  # the most probable one, and the probability of the others
        values, counts = np.unique(drawn, return_counts=True)
        assert (mean[0], scale[0]) == pytest.approx((values[counts.argmax()], 1.0 - counts.max() / n), abs=1e-3)
    else:
        assert (mean[0], scale[0]) == pytest.approx((drawn.mean(), drawn.std()), rel=1e-3, abs=2e-3)


def test_quantile_residuals_are_uniform(kind):
    rng = np.random.default_rng(3)
    n = 3000
    subject, _ = subject_of(kind)
    outputs = rng.uniform(-1.0, 1.0, size=(subject.outputs, n))
    uniform = subject.residuals(subject.draw(outputs, rng.random(n)), outputs, rng)
    if uniform is None:
        pytest.xfail("fitted models have no quantile residuals")
    assert kstest(uniform, "uniform").pvalue > 0.01


def test_what_is_saved_is_loaded(kind, tmp_path):
    not_yet(kind, "point masses")
    subject, outputs = subject_of(kind)
    model = subject.model()
    model.save(tmp_path / "m.icdh")
    again, table = icdh.load(tmp_path / "m.icdh"), np.vstack([outputs, subject.observed])
    for own in (lambda m: m.nll(table), lambda m: m.mean_and_scale(table)):
        np.testing.assert_array_equal(own(again), own(model))
