"""A row of weight w counts as w equal rows do, in whatever is asked of the families of a table.

The slow obvious version of a weight is the table with every row repeated.
"""

import numpy as np
import pytest
from helpers import models_of
from support.families import (
    FamilyScore,
    LinearGains,
    ScoreSettings,
    Start,
    TableGains,
    _lead,
    at_fixed_point,
    columns_of,
    fit_linear,
    fit_node,
    gain_estimates,
    lingam_order,
    mean_and_spread_losses,
    misfit,
    pair_gains,
)
from support.responses import SUBJECTS
from support.utils import negentropy

N, UNITS = 120, 2
COUNTS = np.random.default_rng(3).integers(1, 4, size=N)
WEIGHTS = COUNTS.astype(float)
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def repeated(values):
    return np.repeat(values, COUNTS, axis=-1)


@pytest.fixture(params=SUBJECTS)
def both(request):
    """A response with weights, and that of the repeated rows."""
    own = SUBJECTS[request.param]
    weighted = own(np.random.default_rng(1), N, weights=WEIGHTS).response
    return weighted, own(np.random.default_rng(1), N, repeats=COUNTS).response


def test_the_likelihood_and_its_derivatives_are_those_of_repeated_rows():
    for own in SUBJECTS.values():
        weighted, rows = own(np.random.default_rng(1), N, weights=WEIGHTS), own(np.random.default_rng(1), N, COUNTS)
        outputs = np.random.default_rng(2).uniform(-1.5, 1.5, size=(weighted.law.n_outputs, N))
        outputs[weighted.free :] = 0.0
        found, expected = weighted.terms(outputs, WEIGHTS), rows.terms(repeated(outputs))
        assert found[0] == pytest.approx(expected[0], rel=1e-10)
        for part, slow in zip(found[1:], expected[1:], strict=True):
            np.testing.assert_allclose(repeated(part / WEIGHTS), slow, rtol=1e-9, atol=1e-12)


def test_fits_have_the_weights_and_the_evidence_of_repeated_rows(both):
    x = np.random.default_rng(4).normal(size=(2, N))
    fits = [fit_node(own, response, hidden_units=UNITS) for own, response in zip((x, repeated(x)), both, strict=True)]
    alone = [fit_node(own[:0], response) for own, response in zip((x, repeated(x)), both, strict=True)]
    for fit, slow in (fits, alone):
        assert fit.evidence == pytest.approx(slow.evidence, rel=1e-9)
        assert fit.log_determinant == pytest.approx(slow.log_determinant, rel=1e-7)  # of first order in the weights
        np.testing.assert_allclose(fit.theta, slow.theta, rtol=1e-6, atol=1e-6)
    ends = [
        at_fixed_point(own, response, fit, prior_precision=3.0, weight=1.0)
        for own, response, fit in zip((x, repeated(x)), both, fits, strict=True)
    ]
    assert ends[0].evidence == pytest.approx(ends[1].evidence, rel=1e-10)


def test_some_rows_keep_their_weights(both):
    some = np.arange(N) % 3 == 0
    weighted, rows = (response.take(chosen) for response, chosen in zip(both, (some, repeated(some)), strict=True))
    assert weighted.n_counted == len(rows) == rows.n_counted
    outputs = [weighted.without_parents(0)[1], rows.without_parents(0)[1]]
    assert outputs[0] == pytest.approx(outputs[1], rel=1e-10)


def test_estimates_of_gains_are_those_of_repeated_rows(both):
    rng = np.random.default_rng(5)
    x, candidates = rng.normal(size=(1, N)), rng.normal(size=(3, N))
    theta = fit_node(x, both[0], hidden_units=UNITS).theta
    found = []
    for response, repeats, weights in ((both[0], np.asarray, WEIGHTS), (both[1], repeated, None)):
        scores = response.standardised_scores(repeats(x), theta, UNITS)
        found.append(gain_estimates(repeats(candidates), repeats(x), *scores, weights))
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-9)


KINDS = ["continuous", "continuous", "continuous", "ordinal", "categorical", "count", "continuous", "binary"]


def table():
    """A table of all kinds, a column each: the last number is zero in many rows."""
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(2, N))
    c = np.tanh(2.0 * a) + 0.5 * b * np.abs(b) + 0.3 * rng.standard_t(4, size=N)
    grade = np.digitize(a + 0.5 * rng.normal(size=N), [-0.7, 0.4, 1.2]).astype(float)
    label = (rng.integers(3, size=N) + (b > 0)) % 3
    count = rng.poisson(np.exp(0.5 * c)).astype(float)
    zeros = np.where(a > 0.3, 0.0, np.exp(c))
    group = (c + rng.normal(size=N) > 0).astype(float)
    return np.array([a, b, c, grade, label, count, zeros, group])


def models_of_columns(values, weights, transform="none", rows=None, only=slice(None)):
    numbers = range(8)[only] if isinstance(only, slice) else only
    kinds, masses = [KINDS[k] for k in numbers], [[0.0] if k == 6 else [] for k in numbers]
    columns = columns_of(values[only], kinds, transform, n_categories=[3] * len(kinds), masses=masses, weights=weights)
    return columns, models_of(columns.causes, columns.responses, widths=columns.widths, rows=rows)


def pair_of(transform="none", of_some=False, only=slice(None)):
    """The models of a table with weights, and of the table with repeated rows."""
    values, rows = table(), None
    if of_some:
        rows = np.random.default_rng(7).random(values[only].shape) < 0.8
    weighted = models_of_columns(values, WEIGHTS, transform, rows, only)
    rows = None if rows is None else repeated(rows)
    return weighted, models_of_columns(repeated(values), None, transform, rows, only)


GRAPH = ((), (), (0, 1), (0,), (1,), (2, 4), (0, 2), (2,))


@pytest.mark.parametrize("of_some", [False, True])
@pytest.mark.parametrize("transform", ["none", "yeo-johnson"])
def test_families_have_the_scores_and_estimates_of_repeated_rows(transform, of_some):
    (columns, weighted), (slow_columns, rows) = pair_of(transform, of_some)
    np.testing.assert_allclose(columns.log_jacobians, slow_columns.log_jacobians, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(weighted.families.counts(), rows.families.counts(), rtol=1e-12)
    for family in enumerate(GRAPH):
        start = Start(tol=1e-9, precision_updates=0) if transform == "none" else Start()
        fits = [models.fit(family, UNITS, start) for models in (weighted, rows)]
        close = {"rel": 1e-9} if transform == "none" else {"rel": 1e-4, "abs": 1e-3}  # parameters have a tolerance
        assert fits[0].evidence == pytest.approx(fits[1].evidence, **close)
        if transform != "none":
            continue
        for noise in ("gaussian", "student"):
            found = [own.score(family, fits[0], noise) for own in (weighted, rows)]
            assert found[0] == pytest.approx(found[1], rel=1e-10)
            found = [own.linear_score(family, noise) for own in (weighted, rows)]
            assert found[0] == pytest.approx(found[1], rel=1e-9)
            found = [own.additive_score(family, noise) for own in (weighted, rows)]
            assert np.isfinite(found[0]) == np.isfinite(found[1])
        estimates = [own.gain_estimates(family, fits[0]) for own in (weighted, rows)]
        np.testing.assert_allclose(estimates[0], estimates[1], rtol=1e-7, atol=1e-7)
        misfits = [misfit(own.families, family, fits[0]) for own in (weighted, rows)]
        assert misfits[0] == pytest.approx(misfits[1], rel=1e-6, abs=1e-6)


def test_linear_models_are_those_of_repeated_rows_and_of_weighted_least_squares():
    statsmodels = pytest.importorskip("statsmodels.api")
    (_, weighted), (_, rows) = pair_of()
    (x, response), (slow_x, slow) = weighted.families.data((2, (0, 1))), rows.families.data((2, (0, 1)))
    fit, expected = fit_linear(x, response), fit_linear(slow_x, slow)
    wls = statsmodels.WLS(response.centre, statsmodels.add_constant(x.T), weights=WEIGHTS).fit()
    np.testing.assert_allclose(fit.slopes, wls.params[1:], rtol=1e-10)
    np.testing.assert_allclose(fit.slopes, expected.slopes, rtol=1e-10)
    assert fit.evidence == pytest.approx(expected.evidence, rel=1e-12)
    for node in (0, 1, 2):
        gains = [LinearGains(models.families)(node, [k for k in (3, 5) if k != node]) for models in (weighted, rows)]
        np.testing.assert_allclose(gains[0], gains[1], **CLOSE)


def test_additive_models_are_those_of_repeated_rows_on_the_same_splines():
    (_, weighted), (_, rows) = pair_of()
    models, slow = weighted.additive, rows.additive
    for row in range(3):
        slow._splines[row] = models._splines_of(row)
    family = 2, (0, 1)
    fit, expected = models.fit(family), slow.fit(family)
    assert fit.evidence == pytest.approx(expected.evidence, rel=1e-10)
    at = table()[:2]
    outputs = [own.predictor(family).outputs(at, weighted.families.responses[2].law) for own in (models, slow)]
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-9)
    scores = [own.additive_score(family, "student") for own in (weighted, rows)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-10)


def test_all_models_of_a_family_have_about_the_scores_of_repeated_rows():
    """Splines have knots at quantiles of the rows as they are."""
    of_models = []
    for _, models in pair_of(only=[0, 1, 2]):
        scores = FamilyScore(models.families, ScoreSettings(UNITS, UNITS, noise="gaussian", n_restarts=1, n_jobs=1))
        scores([(2, (0, 1))])
        of_models.append(scores._scores_by_model((2, (0, 1)), "gaussian"))
    assert of_models[0] == pytest.approx(of_models[1], rel=0.05)
    assert np.isfinite([of_models[0][model] for model in ("network", "linear", "additive")]).all()


def test_the_lead_of_causes_is_that_of_repeated_rows():
    rng = np.random.default_rng(12)
    cause = rng.laplace(size=N)
    values = np.array([0.8 * cause + rng.laplace(size=N), cause])
    np.testing.assert_allclose(_lead(values, WEIGHTS), _lead(repeated(values), None), **CLOSE)
    assert lingam_order(values, WEIGHTS) == lingam_order(repeated(values), None)


def test_tables_of_labels_are_those_of_repeated_rows():
    labels = [3, 4, 7]
    (_, weighted), (_, rows) = pair_of(only=labels)
    for node in range(3):
        for parents in ([], [(node + 1) % 3], [(node + 1) % 3, (node + 2) % 3]):
            gains = [TableGains(own.families)(node, parents) for own in (weighted, rows)]
            np.testing.assert_allclose(gains[0], gains[1], **CLOSE)


def test_pairs_of_parents_promise_what_they_do_among_repeated_rows():
    only = [0, 1, 2]
    rng = np.random.default_rng(8)
    values = table()
    values[2] = np.sign(values[0] * values[1]) + 0.3 * rng.normal(size=N)
    found = []
    for own, weights in ((values, WEIGHTS), (repeated(values), None)):
        _, models = models_of_columns(own, weights, only=only)
        fits = [((node, ()), models.fit((node, ()), UNITS)) for node in range(3)]
        found.append([pair for pairs in pair_gains(models.families, fits) for pair in pairs])
    assert [pair[:2] for pair in found[0]] == [pair[:2] for pair in found[1]] != []
    np.testing.assert_allclose([pair[2] for pair in found[0]], [pair[2] for pair in found[1]], rtol=1e-6)


def test_mean_and_spread_are_told_apart_as_among_repeated_rows():
    losses, family = [], (2, (0, 1))
    for _, models in pair_of():
        scores = FamilyScore(models.families, ScoreSettings(UNITS, UNITS, noise="gaussian", n_restarts=1, n_jobs=1))
        scores([family])
        losses.append(mean_and_spread_losses(scores, family))
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6, atol=1e-6)


def test_negentropy_by_weights_is_that_of_the_population():
    """Rows of a population come to the table the likelier the larger they are; weights make up for it."""
    rng, errors, plain = np.random.default_rng(10), [], []
    for _ in range(20):
        population = rng.uniform(-1.0, 1.0, size=4000)
        chance = np.where(population > 0.6, 0.9, 0.1)
        kept = rng.random(population.size) < chance
        sample, weights = population[kept], 1.0 / chance[kept]
        errors.append(negentropy(sample, weights) - 0.176)
        plain.append(negentropy(sample, None) - 0.176)
    assert abs(np.mean(errors)) < 0.01 < 0.1 < abs(np.mean(plain))


def test_a_search_score_goes_on_with_weights():
    """A subsample of rows keeps their weights, and scores on a part of the rows scale by the weights of that part."""
    weighted = pair_of(only=[0, 1, 2])[0][1].families
    part, every = weighted.subsample(40), WEIGHTS[:: -(-N // 40)]
    np.testing.assert_array_equal(part.weights, every)
    assert part.counts()[0] == pytest.approx(every.sum())
    assert part.share()[0] == pytest.approx(every.sum() / WEIGHTS.sum())
    scores = FamilyScore(weighted, ScoreSettings(hidden_units=2, most_units=2, noise="auto", n_restarts=1, n_jobs=1))
    wider = scores.on(weighted.with_causes([np.random.default_rng(1).normal(size=N)], [0]))
    assert wider.families.responses[-1].weights is weighted.weights
