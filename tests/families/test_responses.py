"""What every kind of response owes: one likelihood, by which it is fitted, and which the fitted model draws and saves.

A further kind is a line in `support.responses.SUBJECTS`.
"""

from inspect import isabstract

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import kstest
from support.families import (
    Conditional,
    GaussianLaw,
    GaussianResponse,
    Law,
    NodeNetwork,
    NodeResponse,
    NormalLaw,
    columns_of,
    network_outputs,
)
from support.responses import LAWS, SUBJECTS, Subject

import icdh
from icdh.diagnostics.independence import residuals_of

STEP = 1e-3
ROWS = 12


def test_every_response_keeps_the_contract():
    subjects = [subject_of(kind)[0] for kind in SUBJECTS]
    of_package = {kind for kind in concrete(NodeResponse) if kind.__module__.startswith("icdh.")}
    assert {type(subject.response) for subject in subjects} == of_package


def concrete(kind):
    """The subclasses of a class, theirs included, that have all of its methods."""
    for subclass in kind.__subclasses__():
        yield from [] if isabstract(subclass) else [subclass]
        yield from concrete(subclass)


@pytest.fixture(params=SUBJECTS)
def kind(request):
    return request.param


@pytest.fixture(params=[*SUBJECTS, *LAWS])
def law(request):
    """A kind with the noise it is fitted under, or with another one that a fitted model may hold."""
    return request.param


def subject_of(kind, n=ROWS, seed=0):
    """A response of n rows, and outputs of each, shape (o, n)."""
    rng = np.random.default_rng(seed)
    subject = SUBJECTS[kind](rng, n) if kind in SUBJECTS else LAWS[kind](rng, n)
    outputs = rng.uniform(-1.5, 1.5, size=(subject.law.n_outputs, n))
    outputs[subject.free :] = 0.0
    return subject, outputs


def draws(subject, outputs, uniform):
    """Values at which the distribution function reaches numbers from zero to one."""
    noise = subject.law.errors.quantile(uniform) if isinstance(subject.law, NormalLaw) else uniform
    return subject.law.draw(outputs, noise)


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
    return np.mean([subject.law.log_density(subject.observed + place, outputs) for place in places], axis=0)


def test_what_is_fitted_is_the_density_of_the_law(kind):
    subject, outputs = subject_of(kind)
    other = 0.5 * outputs - 0.3 * (outputs != 0.0)
    assert subject.response.n_dense == subject.law.has_density(subject.observed).sum()
    constant = -0.5 * np.log(2.0 * np.pi) * subject.response.n_dense  # of densities alone
    constants = [subject.terms(own)[0] + of_cells(subject, own).sum() for own in (outputs, other)]
    assert constants == pytest.approx([constant, constant], abs=1e-9)


def test_derivatives_by_the_outputs_are_those_of_the_log_density(kind):
    subject, outputs = subject_of(kind)
    _, pull, _ = subject.terms(outputs)
    for k in range(subject.free):
        expected = derivative(lambda own: -of_cells(subject, own), outputs, k)
        np.testing.assert_allclose(pull[k], expected, rtol=1e-8, atol=1e-8)


def test_the_fisher_matrix_is_the_mean_of_squared_scores(kind):
    """Over draws of the law, evenly spread, at the same outputs in all rows."""
    n = 20_000
    subject, outputs = subject_of(kind)
    at = np.repeat(outputs[:, :1], n, axis=1)
    observed = draws(subject, at, (np.arange(n) + 0.5) / n)
    scores = np.array([derivative(lambda t: subject.law.log_density(observed, t), at, k) for k in range(subject.free)])
    own = subject.observed.tolist()
    rows = [
        int(np.isin(subject.observed, subject.support).argmin()),
        *(own.index(value) if value in own else 0 for value in subject.support),
    ]
    shares = [np.mean(observed == value) for value in subject.support]
    by_row = subject.terms(np.repeat(outputs[:, :1], ROWS, axis=1))[2][:, :, rows]  # given a mass, or the density
    fisher = by_row @ np.array([1.0 - sum(shares), *shares])
    np.testing.assert_allclose(scores @ scores.T / n, fisher, rtol=3e-3, atol=3e-3 * np.abs(fisher).max())
    np.testing.assert_allclose(scores.mean(axis=1), 0.0, atol=3e-3 * np.sqrt(np.abs(fisher).max()))


def test_no_constant_fits_better_than_the_model_without_parents(kind):
    subject, _ = subject_of(kind, 400)
    constant, value = subject.without_parents()

    def at(outputs):
        return subject.terms(np.repeat(outputs[:, np.newaxis], 400, axis=1))[0]

    assert at(constant) == pytest.approx(value, abs=1e-6)
    for k, step in np.ndindex(subject.free, 2):
        moved = constant.copy()
        moved[k] += (-0.2, 0.2)[step]
        assert at(moved) > value - 0.02  # shares have half a count more


def test_the_determinant_of_the_constant_model_is_that_of_its_fisher_matrix(kind):
    """Of K labels K - 1 outputs are free; priors of the dispersion of counts, and of their odds, are taken off."""
    subject, _ = subject_of(kind, 400)
    constant = np.repeat(subject.without_parents()[0][:, np.newaxis], 400, axis=1)
    fisher, priors = subject.terms(constant)[2].sum(axis=2), np.zeros(subject.free)
    priors[1:] = 3.0 if kind.startswith("counts") else 0.0
    fisher += np.diag(priors)
    free = np.linalg.matrix_rank(fisher)
    expected = np.linalg.slogdet(fisher[:free, :free])[1] - np.log(priors[priors > 0.0]).sum()
    assert subject.response.without_parents(0)[2] == pytest.approx(expected, abs=1e-3)


def test_the_law_of_the_other_sign_has_the_density_of_minus_the_value(law):
    subject, outputs = subject_of(law)
    if not subject.law.has_mean:  # labels have no sign
        return
    turned = outputs.copy()
    turned[list(subject.law.odd)] *= -1.0
    found = subject.law.turned().log_density(-subject.observed, turned)
    np.testing.assert_allclose(found, subject.law.log_density(subject.observed, outputs), rtol=1e-10)


def shares_and_density(subject, at):
    """The probabilities of the support, and the density on a grid, at outputs of shape (o,)."""
    n = len(subject.support)
    shares = np.exp(subject.law.log_density(np.array(subject.support, dtype=float), np.repeat(at[:, np.newaxis], n, 1)))
    grid = np.linspace(-14.0, 14.0, 200_001) + 1e-7 if subject.dense else np.zeros(0)
    density = np.exp(subject.law.log_density(grid, np.repeat(at[:, np.newaxis], grid.size, 1))) if grid.size else grid
    return shares, grid, density


def test_probabilities_and_density_add_up_to_one(law):
    subject, outputs = subject_of(law)
    for at in outputs.T[:4]:
        shares, grid, density = shares_and_density(subject, at)
        rough = 1e-6 if law in SUBJECTS else 2e-3  # a density of steps, or of heavy tails, on a grid
        assert shares.sum() + (trapezoid(density, grid) if grid.size else 0.0) == pytest.approx(1.0, abs=rough)


def test_the_spread_of_a_law_is_the_output_that_raises_its_scale(law):
    subject, outputs = subject_of(law)
    if subject.law.spread is None or subject.limits:  # which a wider distribution is cut off at
        return
    wider = outputs.copy()
    wider[subject.law.spread] += 0.5
    (mean, scale), (other_mean, larger) = (subject.law.mean_and_scale(own) for own in (outputs, wider))
    assert (larger > scale).all()
    np.testing.assert_allclose(other_mean, mean, rtol=1e-9)


def test_values_that_are_never_drawn_have_no_density(law):
    """Nor where outputs are far from those of a column without causes."""
    subject, _ = subject_of(law)
    if not subject.dense or subject.limits:
        return
    for at in 3.0 * np.array(np.meshgrid(*[[-1.0, 1.0]] * subject.law.n_outputs)).reshape(subject.law.n_outputs, -1).T:
        outputs = np.repeat(at[:, np.newaxis], 2, axis=1)
        ends = draws(subject, outputs, np.array([1e-14, 1.0 - 1e-14]))
        assert (subject.law.log_density(ends + np.ptp(ends) * np.array([-1.0, 1.0]), outputs) < -20.0).all()


def test_draws_have_the_probabilities_and_the_density(law):
    n = 2000
    subject, outputs = subject_of(law)
    for at in outputs.T[:4]:
        drawn = draws(subject, np.repeat(at[:, np.newaxis], n, axis=1), (np.arange(n) + 0.5) / n)
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


def test_mean_and_scale_are_those_of_draws(law):
    n = 20_000
    subject, outputs = subject_of(law)
    for k in range(3):
        at = np.repeat(outputs[:, k : k + 1], n, axis=1)
        drawn, (mean, scale) = draws(subject, at, (np.arange(n) + 0.5) / n), subject.law.mean_and_scale(at)
        if not subject.law.has_mean:  # the most probable one, and the probability of the others
            values, counts = np.unique(drawn, return_counts=True)
            assert (mean[0], scale[0]) == pytest.approx((values[counts.argmax()], 1.0 - counts.max() / n), abs=1e-3)
        else:
            assert (mean[0], scale[0]) == pytest.approx((drawn.mean(), drawn.std()), rel=1e-3, abs=2e-3)


def test_quantile_residuals_are_uniform(law):
    rng = np.random.default_rng(3)
    n = 3000
    subject, _ = subject_of(law)
    outputs = rng.uniform(-1.0, 1.0, size=(subject.law.n_outputs, n))
    drawn = draws(subject, outputs, rng.random(n))
    assert kstest(subject.law.quantile_residuals(drawn, outputs, rng), "uniform").pvalue > 0.01


def test_standardised_residuals_have_mean_zero_and_variance_one(law):
    n = 20_000
    subject, outputs = subject_of(law)
    at = np.repeat(outputs[:, :1], n, axis=1)
    residuals = subject.law.standardised(draws(subject, at, (np.arange(n) + 0.5) / n), at)
    assert (residuals.mean(), residuals.var()) == pytest.approx((0.0, 1.0), abs=5e-3)


def test_noise_that_values_determine_gives_them_back(law):
    subject, outputs = subject_of(law)
    noise = subject.law.noise(subject.observed, outputs)
    if noise is None:
        assert subject.support
    else:
        known = ~np.isnan(noise)
        np.testing.assert_array_equal(known, subject.law.has_density(subject.observed))
        again = subject.law.draw(outputs, noise)[known]
        np.testing.assert_allclose(again, subject.observed[known], rtol=1e-9)


def test_what_is_saved_is_loaded(law, tmp_path):
    rng = np.random.default_rng(4)
    subject, _ = subject_of(law)
    model, table = subject.model(rng), np.vstack([rng.normal(size=(2, ROWS)), subject.observed])
    model.save(tmp_path / "m.icdh")
    again = icdh.load(tmp_path / "m.icdh")
    for own in (lambda m: m.nll(table, None, None), lambda m: m.moments(2, table), lambda m: m.sample(9, 0).tolist()):
        np.testing.assert_array_equal(own(again), own(model))


def test_weights_of_the_other_signs_are_of_the_law_of_the_other_sign(kind):
    rng = np.random.default_rng(5)
    subject, _ = subject_of(kind)
    theta, x, signs = rng.normal(size=subject.law.n_weights(2, 3)), rng.normal(size=(2, ROWS)), np.array([1.0, -1.0])
    sign = -1.0 if subject.law.has_mean else 1.0
    law = subject.law.turned() if sign < 0.0 else subject.law
    network = NodeNetwork(np.arange(2), np.ones(2, dtype=int), theta, 3).in_original_signs(signs, sign, law)
    turned = network.outputs(signs[:, np.newaxis] * x, law)
    expected = subject.law.log_density(subject.observed, network_outputs(theta, x, 3, subject.law))
    np.testing.assert_allclose(law.log_density(sign * subject.observed, turned), expected, rtol=1e-9)


def test_standardised_scores_are_derivatives_in_units_of_their_deviations(kind):
    rng = np.random.default_rng(6)
    subject, _ = subject_of(kind)
    x, theta = rng.normal(size=(2, ROWS)), 0.5 * rng.normal(size=subject.law.n_weights(2, 3))
    theta[subject.law.layers(2, 3)[-1].stop :] = 0.0
    hidden, scores = subject.response.standardised_scores(x, theta, 3)
    _, pull, fisher = subject.terms(network_outputs(theta, x, 3, subject.law))
    deviations = np.sqrt(np.diagonal(fisher).T)
    expected = -np.divide(pull, deviations, out=np.zeros_like(pull), where=deviations > 0.0)
    np.testing.assert_allclose(hidden, np.tanh(theta[:6].reshape(2, 3).T @ x + theta[6:9, np.newaxis]), rtol=1e-12)
    np.testing.assert_allclose(scores[: subject.free], expected, rtol=1e-8)


class FixedNoiseLaw(GaussianLaw):
    """A number whose noise is Gaussian whatever the residuals say; its log-variance changes sign, but is no mean."""

    name = "fixed noise"
    odd = (0, 1)
    density = None


class FixedNoiseResponse(GaussianResponse):
    """A number of that law."""

    law = FixedNoiseLaw()
    density = None


def test_a_number_whose_noise_is_not_chosen_stays_a_number():
    rng = np.random.default_rng(7)
    values = rng.normal(size=(2, 60))
    columns = columns_of(values, ["continuous"] * 2)
    response = FixedNoiseResponse.exact(values[0], None)
    fixed = columns._replace(responses=[response, *columns.responses[1:]]).with_normal_scores()
    np.testing.assert_array_equal(fixed.causes, columns.causes)
    model = Subject(response, values[0], dense=True).model(rng)
    table = model.columns.as_table(rng.normal(size=(60, 3)))
    residual = residuals_of(model, table, np.ones(table.values.shape, dtype=bool), rng)[2]
    assert residual.mean is not None


def test_only_means_go_on_beyond_the_rows_of_a_fit():
    rng = np.random.default_rng(8)
    network = NodeNetwork(np.arange(2), np.ones(2, dtype=int), rng.normal(size=FixedNoiseLaw().n_weights(2, 3)), 3)
    given, rows = Conditional(network, FixedNoiseLaw()), rng.uniform(-1.0, 1.0, size=(2, 50))
    outputs, limits = given.outputs(rows), given.limited(rows).limits
    assert limits[0, 0] < outputs[0].min() < outputs[0].max() < limits[1, 0]
    assert limits[:, 1].tolist() == [outputs[1].min(), outputs[1].max()]


def test_a_law_that_does_not_say_what_its_outputs_are_is_refused():
    with pytest.raises(TypeError, match=r"the law of a half said does not say its means, is_discrete, has_mean"):
        type("HalfSaid", (Law,), {"name": "a half said", "odd": (), "value": "value"})
