"""The additive model of a family, a rival of network and linear model."""

import numpy as np
import pytest
from helpers import families_of, family_evidence, standardised
from naive import additive_evidence
from scipy.optimize import minimize
from support.families import (
    CHOICE_COST,
    FAR_BEHIND,
    SMOOTH_COST,
    SPLINES,
    VARIANCE_FLOOR,
    AdditiveModels,
    AdditivePredictor,
    GaussianLaw,
    GaussianResponse,
    Splines,
    fit_linear,
)

from icdh import HNMSearch, simulate

N = 300


def additive_table(seed=0, n=N, noise=0.5):
    """Three causes and the sum of a function of each, standardised, one variable a row."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3, n))
    y = np.sin(2.0 * x[0]) + 0.5 * x[1] ** 2 + np.abs(x[2]) + noise * rng.normal(size=n)
    return standardised(*x, y)


def additive_models(values, responses=None, **options):
    return AdditiveModels(families_of(np.ascontiguousarray(values), responses, **options))


@pytest.mark.parametrize("parents", [(0,), (0, 1), (0, 1, 2)])
def test_the_evidence_is_the_best_that_dense_covariances_give(parents):
    values, spread = additive_table(n=80), np.random.default_rng(1).uniform(0.0, 0.1, size=80)
    responses = [
        *(GaussianResponse.exact(x, None) for x in values[:3]),
        GaussianResponse(values[3], spread, [values[3]], None),
    ]
    found = additive_models(values, responses).fit((3, parents)).evidence
    found -= CHOICE_COST + SMOOTH_COST * len(parents)
    bends = [Splines.of(values[k]).at(values[k])[1:] for k in parents]

    def of_logs(logs):
        return additive_evidence(values[list(parents)], values[3], spread, bends, np.exp(logs))

    best = minimize(of_logs, np.zeros(len(parents)), method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-4}).fun
    assert best - 1e-3 < found < best + 0.1


def test_splines_are_centred_bends_the_smoothest_first():
    column = np.random.default_rng(0).normal(size=5000)
    splines = Splines.of(column)
    line, *bends = splines.at(column)
    np.testing.assert_array_equal(line, column)
    assert len(bends) == SPLINES
    assert (np.diff(np.var(bends, axis=1)) < 0.0).all()
    assert sum(np.var(bends, axis=1)) == pytest.approx(1.0, abs=0.1)
    np.testing.assert_allclose(np.corrcoef(np.vstack([line, bends]))[0, 1:], 0.0, atol=0.1)
    far = splines.at(np.array([10.0, 11.0, 12.0]))  # straight beyond the knots
    np.testing.assert_allclose(far[:, 2] - far[:, 1], far[:, 1] - far[:, 0], rtol=1e-6)


def test_a_cause_of_few_values_has_a_line_alone():
    column = np.repeat([-1.0, 0.0, 1.0], 100)
    assert len(Splines.of(column).weights) == 1
    effect = column + np.random.default_rng(0).normal(size=300)
    assert additive_models(np.stack([column, effect])).fit((1, (0,))) is None


def test_the_score_of_a_sum_of_functions_is_that_of_the_additive_model():
    scores, family = family_evidence(additive_table()), (3, (0, 1, 2))
    score = scores([family])[0]
    assert scores.model_of(family) == "additive"
    assert score == scores.baseline_score_of(family, "additive") < scores.network_score_of(family) - 10.0


@pytest.mark.parametrize("model", ["additive", "linear"])
def test_a_model_that_is_far_behind_is_not_fitted_with_a_further_parent(model):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2, 600))
    values = standardised(*x, np.exp(1.5 * x[0]) * rng.normal(size=600))
    known, fresh = family_evidence(values), family_evidence(values)
    known([(2, (0,))])
    assert known.baseline_score_of((2, (0,)), model) > known([(2, (0,))])[0] + FAR_BEHIND
    assert known.model_of((2, (0, 1))) != model
    assert known.baseline_score_of((2, (0, 1)), model) == np.inf > fresh.baseline_score_of((2, (0, 1)), model)
    failed = family_evidence(values)
    failed([(2, (0,))])
    failed.keep((2, (0, 1)), failed.fit((2, (0, 1))), failed([(2, (0,))])[0] + FAR_BEHIND + 1.0)
    assert np.isfinite(failed.baseline_score_of((2, (0, 1)), model))


def test_a_joint_function_is_the_networks():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 500))
    scores = family_evidence(standardised(*x, x[0] * x[1] + 0.3 * rng.normal(size=500)))
    assert scores.model_of((2, (0, 1))) != "additive"


def test_chance_bends_no_lines():
    for seed in range(10):
        x = np.random.default_rng(seed).normal(size=(3, 200))
        scores = family_evidence(standardised(*x, x.sum(axis=0) + np.random.default_rng(99 + seed).normal(size=200)))
        assert scores.model_of((3, (0, 1, 2))) == "linear"


def test_causes_may_be_equal_and_in_any_order():
    values = additive_table()
    models = additive_models(values[[0, 0, 1, 2, 3]])
    once, twice = models.fit((4, (0, 2))), models.fit((4, (0, 1, 2)))
    assert once.evidence < twice.evidence < once.evidence + 5.0
    turned = additive_models(values[[2, 1, 0, 3]]).fit((3, (0, 1, 2)))
    assert turned.evidence == pytest.approx(models.fit((4, (0, 2, 3))).evidence, rel=1e-9)


def test_rows_that_count_are_those_that_are_read():
    values, rows = additive_table(), np.ones((4, N), dtype=bool)
    rows[3, ::3] = False
    other = np.where(rows, values, 7.0)
    masked, same, whole = (
        additive_models(table, rows=own).fit((3, (0, 1))).evidence
        for table, own in ((values, rows), (other, rows), (values, None))
    )
    assert masked == same != whole


def test_an_exact_function_stops_at_the_floor_of_the_variance():
    x = np.random.default_rng(0).normal(size=(2, N))
    fit = additive_models(standardised(*x, x[0] + x[1])).fit((2, (0, 1)))
    assert fit.variance == 2.0 * VARIANCE_FLOOR
    assert np.isfinite(fit.evidence)


def test_its_predictor_computes_what_it_does():
    """The same mean at rows of the fit; a line beyond the knots; the mirror image under other signs."""
    values, family = additive_table(), (3, (0, 1, 2))
    models = additive_models(values)
    fit, predictor = models.fit(family), models.predictor(family)
    mean, log_variance = predictor.outputs(values[:3], GaussianLaw())
    parts = [Splines.of(column).at(column) for column in values[:3]]
    curves = [own @ (part.T - part.mean(axis=1)).T for own, part in zip(fit.coefficients, parts, strict=True)]
    np.testing.assert_allclose(mean, values[3].mean() + sum(curves), atol=1e-9)
    np.testing.assert_allclose(np.exp(log_variance) + VARIANCE_FLOOR, fit.variance, rtol=1e-9)
    far = np.array([[50.0, 60.0, 70.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    first, second, third = predictor.outputs(far, GaussianLaw())[0]
    assert third - second == pytest.approx(second - first)
    signs = np.array([-1.0, 1.0, -1.0])
    mirrored = predictor.in_original_signs(signs, -1.0, GaussianLaw())
    turned = mirrored.outputs(signs[:, np.newaxis] * values[:3], GaussianLaw())
    np.testing.assert_allclose(turned, [-mean, log_variance], rtol=1e-9)


def test_a_linear_winner_is_least_squares():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 300))
    y = 0.5 + x.T @ [2.0, -1.0] + rng.normal(size=300)
    linear = AdditivePredictor.linear(np.arange(2), np.ones(2, int), fit_linear(x, GaussianResponse.exact(y, None)), x)
    solution, *_ = np.linalg.lstsq(np.column_stack([np.ones(300), x.T]), y, rcond=None)
    np.testing.assert_allclose([linear.intercept, *(curve.slope for curve in linear.curves)], solution, rtol=1e-9)
    held = linear.held(np.array([True, False]), np.array([0.0, 2.0]))
    assert held.intercept == pytest.approx(linear.intercept + 2.0 * linear.curves[1].slope)


def test_a_model_with_additive_families_predicts():
    graph = np.zeros((4, 4), dtype=int)
    graph[:3, 3] = 1
    data = simulate.simulate_sem(graph, 400, mechanism="gp-add", noise="homo-ev", random_state=5)
    model = HNMSearch(column_transform="none", noise_distribution="gaussian").fit(data.X[:300])
    found, fresh = model.found_graph(), data.X[300:]
    family = next(own for own in enumerate(found.graph) if len(own[1]) == 3)
    assert found.scores.model_of(family) == "additive"
    assert np.var((fresh - model.predict(fresh))[:, 3]) < 1.4 * np.var(fresh[:, 3] - data.mean[300:, 3])
