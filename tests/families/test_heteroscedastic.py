"""The heteroscedastic linear model of a family: a linear mean whose spread a network has."""

import numpy as np
import pytest
from helpers import families_of, family_evidence, standardised
from naive import heteroscedastic_evidence
from support.families import (
    AdditivePredictor,
    GaussianLaw,
    GaussianResponse,
    HeteroscedasticModels,
    LinearMeanNetwork,
    NodeNetwork,
    WholeScore,
    _promise,
    fit_linear,
    least_squares,
)

from icdh import HNMSearch, load

N, FAMILY = 600, (2, (0, 1))


def wedge(seed=0, n=N):
    """Two causes and a line of them whose spread rises with the first one."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, n))
    return standardised(*x, x[0] - x[1] + np.exp(0.8 * x[0]) * rng.normal(size=n))


def fit_of(values, effect=None):
    responses = [GaussianResponse.exact(column, None) for column in values]
    responses[2] = effect or responses[2]
    families, scores = families_of(values, responses), family_evidence(values)
    scores([FAMILY])
    return HeteroscedasticModels(families, 0.01).fit(FAMILY, scores.fit_of(FAMILY))


def test_the_evidence_is_that_of_the_slow_sum():
    values, spread = wedge(), np.random.default_rng(1).uniform(0.0, 0.01, N)
    fit = fit_of(values, GaussianResponse(values[2], spread, [values[2]], None))
    slow = heteroscedastic_evidence(values[:2].T, values[2], spread, fit, families_of(values).prior_precision)
    assert fit.evidence == pytest.approx(slow, abs=1e-5)


def test_the_slopes_are_weighted_least_squares_and_know_more_than_plain_ones():
    errors = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(2, N))
        values = np.vstack([x, x[0] - x[1] + np.exp(x[0]) * rng.normal(size=N)])
        fit = fit_of(values)
        (residual,) = fit.residuals(x, GaussianResponse.exact(values[2], None))
        deviation = (values[2] - fit.intercept - fit.slopes @ x) / residual
        _, slopes, rank = least_squares(x, values[2], deviation**-2)
        np.testing.assert_allclose(fit.slopes, slopes, atol=0.02)
        assert rank == 2
        assert np.std(residual) == pytest.approx(1.0, abs=0.05)
        plain = least_squares(x, values[2], None)[1]
        errors.append([np.square(own - [1.0, -1.0]).sum() for own in (fit.slopes, plain)])
    weighted, plain = np.mean(errors, axis=0)
    assert weighted < 0.5 * plain


def test_a_line_of_varying_spread_is_its_own_and_a_line_of_one_spread_the_linear_models():
    for seed in range(5):
        scores = family_evidence(wedge(seed))
        score = scores([FAMILY])[0]
        assert scores.model_of(FAMILY) == "heteroscedastic"
        assert score < min(scores.network_score_of(FAMILY), scores.baseline_score_of(FAMILY, "linear")) - 5.0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(2, 300))
        scores = family_evidence(standardised(*x, x[0] - x[1] + rng.normal(size=300)))
        assert scores.model_of(FAMILY) == "linear"


def test_a_curve_is_the_networks():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, N))
    scores = family_evidence(standardised(*x, np.sin(2.0 * x[0]) + np.exp(0.5 * x[1]) * 0.2 * rng.normal(size=N)))
    assert scores.model_of(FAMILY) == "network"


def test_a_better_network_is_begun_with_again_and_never_raises_the_score():
    scores = family_evidence(wedge())
    before = scores([FAMILY])[0]
    scores.polish([FAMILY])
    assert scores([FAMILY])[0] <= before


def test_few_rows_and_one_spread_have_none():
    assert fit_of(wedge(n=450)) is None
    values = wedge()
    constant = values.copy()
    constant[2] = values[0] - values[1] + np.random.default_rng(0).normal(size=N)
    assert fit_of(constant) is None  # no spread promises anything


def test_weights_are_repeated_rows():
    values, weights = wedge(), np.random.default_rng(5).integers(0, 4, N)
    fit = fit_of(values, GaussianResponse.exact(values[2], weights.astype(float)))
    *causes, effect = np.repeat(values, weights, axis=1)
    prior = families_of(values).prior_precision
    slow = heteroscedastic_evidence(np.transpose(causes), effect, np.zeros(effect.size), fit, prior)
    assert fit.evidence == pytest.approx(slow, abs=1e-5)


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-5])
def test_causes_that_determine_an_effect_give_finite_scores(noise):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, N))
    for effect in (x[0] - x[1], x[0] - x[1] + noise * np.exp(2.0 * x[0]) * rng.normal(size=N)):
        scores = family_evidence(standardised(*x, effect))
        assert np.isfinite(scores([FAMILY])[0])
        assert scores([FAMILY])[0] <= scores.baseline_score_of(FAMILY, "linear")


def test_its_network_computes_what_the_fit_does_at_other_signs_and_with_causes_held():
    values = wedge()
    fit, law = fit_of(values), GaussianLaw()
    network = fit.predictor(np.arange(2), np.ones(2, dtype=int))
    mean, scale = law.location_and_scale(network.outputs(values[:2], law))
    (residual,) = fit.residuals(values[:2], GaussianResponse.exact(values[2], None))
    np.testing.assert_allclose((values[2] - mean) / scale, residual, rtol=0.01)  # but for the floor of the variance
    signs = np.array([-1.0, 1.0])
    turned = network.in_original_signs(signs, -1.0, law).outputs(signs[:, np.newaxis] * values[:2], law)
    np.testing.assert_allclose(turned, network.outputs(values[:2], law) * [[-1.0], [1.0]], rtol=1e-9, atol=1e-12)
    held = network.held(np.array([True, False]), np.array([0.0, 0.7]))
    there = np.vstack([values[0], np.full(N, 0.7)])
    np.testing.assert_allclose(held.outputs(values[:1], law), network.outputs(there, law), rtol=1e-9, atol=1e-12)
    assert not list(network.faults(law, [1, 1]))
    assert list(LinearMeanNetwork(*(network.inputs, network.widths, network.theta, 5), np.ones(3)).faults(law, [1, 1]))


def test_lines_of_varying_spread_are_found_and_the_model_keeps_them(tmp_path):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        first, second = rng.normal(size=(2, 1000))
        X = np.column_stack([first - second + np.exp(0.8 * first) * rng.normal(size=1000), first, second])
        model = HNMSearch(noise_distribution="gaussian").fit(X)
        np.testing.assert_array_equal(np.argwhere(np.asarray(model.adjacency_matrix_)), [[1, 0], [2, 0]])
        assert isinstance(model.model_.conditionals[0].predictor, LinearMeanNetwork)
    points = np.column_stack([np.zeros(3), [-1.0, 0.0, 1.0], np.ones(3)])
    np.testing.assert_allclose(model.predict(points)[:, 0], [-2.0, -1.0, 0.0], atol=0.15)
    np.testing.assert_allclose(model.predict_scale(points)[:, 0], np.exp([-0.8, 0.0, 0.8]), rtol=0.2)
    model.save(tmp_path / "m.icdh")
    again = load(tmp_path / "m.icdh")
    np.testing.assert_array_equal(again.predict(points), model.predict(points))
    assert again.score(X) == model.score(X)


def test_what_lacks_a_cause_is_fitted_from_what_has_it():
    """A third cause of no effect: its family must not seem better than the one without it by a better start."""
    rng = np.random.default_rng(3)
    values = standardised(*wedge(3), rng.normal(size=N))
    family, scores = (2, (0, 1, 3)), family_evidence(values)
    before = scores([FAMILY, family])
    assert scores.model_of(family) == "heteroscedastic"
    scores.try_deletions([family])
    after = scores([FAMILY, family])
    assert after[0] <= before[0]
    assert after[1] == before[1]
    lines = scores.models.heteroscedastic
    begun, fit = lines.start_without(family, 3), lines.fit(FAMILY, scores.fit_of(FAMILY))
    assert begun.spread.theta.size == fit.spread.theta.size
    assert fit.evidence <= lines.fit(FAMILY, scores.fit_of(FAMILY), begun).evidence
    whole = lines.fit(family, scores.fit_of(family))
    assert lines.start_of(family).spread.theta.size == whole.spread.theta.size


def test_results_do_not_depend_on_threads():
    X = np.column_stack([*wedge(1)])
    graphs = [np.asarray(HNMSearch(n_jobs=n).fit(X).edge_strength_) for n in (1, 2)]
    np.testing.assert_array_equal(*graphs)


@pytest.mark.parametrize(("hopeless", "last"), [(np.inf, 8.0), (8.9, 8.0), (8.2, 8.9)])
def test_fits_in_turn_end_where_one_gains_less_than_the_tolerance_or_is_hopeless(monkeypatch, hopeless, last):
    values, fit = wedge(), fit_of(wedge())
    turns = iter([fit._replace(evidence=nats) for nats in (8.9, 8.0, 7.8, 7.0)])
    monkeypatch.setattr("icdh._node_model.heteroscedastic._fit_in_turn", lambda *given: next(turns))
    models = HeteroscedasticModels(families_of(values), 0.5)
    assert models._descent(*models.families.with_numbers(FAMILY), fit, hopeless).evidence == last


def test_each_model_of_a_family_is_kept_as_what_it_is():
    scores = family_evidence(wedge())
    scores([FAMILY])
    kept = {"network": NodeNetwork, "linear": AdditivePredictor, "additive": AdditivePredictor}
    for model, kind in (kept | {"heteroscedastic": LinearMeanNetwork}).items():
        assert type(scores.models.predictor(FAMILY, model, scores.fit_of(FAMILY))) is kind


def test_the_promise_of_a_spread_is_a_score_test_by_regression():
    x, effect = wedge()[:2], GaussianResponse.exact(wedge()[2], None)
    linear, bent = fit_linear(x, effect), np.tanh(x)
    excess = (effect.centre - linear.mean) ** 2 / linear.variance - 1.0
    design = np.column_stack([np.ones(N), bent.T, bent.T**2])
    explained = design @ np.linalg.lstsq(design, excess, rcond=None)[0] - excess.mean()
    assert _promise(x, effect, linear) == pytest.approx(0.25 * explained @ explained - np.log(N), rel=1e-3)


def test_a_copy_of_scores_has_the_fits_that_were_scored():
    """A copy that fits them anew may score another model than the one that was chosen."""
    values = wedge(2)
    scores = family_evidence(values)
    scores([(2, (0,)), FAMILY])
    scores.models.heteroscedastic.fit(FAMILY, scores.fit_of(FAMILY), scores.models.heteroscedastic.start_of(FAMILY))
    fit = scores.models.heteroscedastic.known(FAMILY)
    for other in (scores.copy(), scores.on(scores.families, keep=[FAMILY]), scores.with_more_units([FAMILY], 5)):
        assert other.models.heteroscedastic.known(FAMILY) is fit
        assert other.model_of(FAMILY) == "heteroscedastic"
        assert other([FAMILY]) == scores([FAMILY])


def test_all_observations_go_on_from_the_fit_to_some():
    scores = family_evidence(wedge(4, n=3000))
    some = scores.on(scores.families.subsample(1000))
    whole = WholeScore(some)
    whole([FAMILY])
    assert whole._start_of_line(FAMILY) is some.models.heteroscedastic.known(FAMILY)
    assert whole.model_of(FAMILY) == "heteroscedastic"
