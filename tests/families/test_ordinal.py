"""Variables of few ordered values: the cumulative logit, its gradient and its Fisher matrix."""

from functools import partial

import naive
import numpy as np
import pandas as pd
import pytest
from helpers import assert_agrees_with_shares, evidence_gain
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from support.families import (
    CategoricalResponse,
    OrdinalResponse,
    _fill_between,
    fit_generalised_linear,
    fit_node,
    hidden_units_of,
    n_weights,
    ordinal_terms,
)

import icdh
from icdh import HNMSearch

UNITS = 3


def test_the_share_between_two_thresholds_is_exact_however_near_they_are():
    gaps = np.geomspace(1e-12, 10.0, 50)
    between, by_gap = np.empty((2, 50))
    _fill_between(np.zeros(50), gaps, between, by_gap)
    assert_allclose(between, -np.expm1(-gaps), rtol=1e-11)
    assert_allclose(by_gap, gaps / np.expm1(gaps), rtol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("levels", [2, 3, 6])
def test_objective_gradient_and_fisher_matrix_agree_with_their_definitions(levels):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 300)), np.append(np.arange(levels), rng.integers(0, levels, size=300 - levels))
    response, theta = OrdinalResponse(y.astype(float), None), 0.7 * rng.normal(size=n_weights(2, UNITS))
    theta[response.objective(x, UNITS).free :] = 0.0
    penalty = rng.uniform(0.1, 2.0, size=theta.size)
    probabilities = partial(naive.level_probabilities, units=UNITS, cuts=response.law.cuts)
    assert_agrees_with_shares(response, probabilities, x, theta, penalty, UNITS)


def log_probabilities(mu, u, cuts):
    """log P of every level, shape (K, n), and its derivatives for each, and their Fisher matrix."""
    n, levels = len(mu), range(len(cuts) + 1)
    log_p, pulls, fisher = np.empty((len(levels), n)), np.empty((len(levels), 2, n)), np.empty((3, n))
    for k in levels:
        for r in range(n):
            own, of_own = np.empty((2, 1)), np.empty((3, 1))
            log_p[k, r] = -ordinal_terms(mu[r : r + 1], u[r : r + 1], np.array([k]), cuts, own, of_own)
            pulls[k, :, r], fisher[:, r] = own[:, 0], of_own[:, 0]
    return log_p, pulls, fisher


@pytest.mark.parametrize("far", [-40.0, 40.0, 300.0])
def test_probabilities_stay_finite_and_add_up_far_out(far):
    for u in (-5000.0, -60.0, 0.0, 60.0, 5000.0):
        parts = log_probabilities(np.array([far]), np.array([u]), np.array([-1.0, 0.0, 1.0]))
        assert all(np.isfinite(part).all() for part in parts)
        assert np.exp(parts[0]).sum() == pytest.approx(1.0)


KINDS = {
    "levels": lambda y: OrdinalResponse(y.astype(float), None),
    "labels": lambda y: CategoricalResponse(y, y.max() + 1, None),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [2, 5])
def test_without_parents_levels_and_labels_have_their_shares(kind, count):
    y = np.random.default_rng(1).integers(0, count, size=200)
    fit = fit_node(np.empty((0, 200)), KINDS[kind](y))
    expected = -np.log(np.bincount(y)[y] / y.size).sum()
    assert fit.objective == pytest.approx(expected, abs=None if kind == "levels" else 0.05)
    assert np.isfinite(fit.evidence)


def test_binary_effects_are_logistic_regressions():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(1, 2000))
    chance = expit(3.0 * np.tanh(1.5 * x[0]))
    target = OrdinalResponse((rng.random(2000) < chance).astype(float), None)
    fit = fit_node(x, target)
    mean, u = target.law.network_outputs(fit.theta, hidden_units_of(fit.theta, x, 5))
    log_p, *_ = log_probabilities(mean, u, target.law.cuts)
    assert np.abs(np.exp(log_p[1]) - chance).max() < 0.1
    assert not u.any()
    assert fit.converged
    assert evidence_gain(x, target) > 100
    assert evidence_gain(x, OrdinalResponse(rng.integers(0, 2, size=2000).astype(float), None)) < 2


# The linear model.


def leveled(count, n=300, seed=0):
    """Two causes, and levels of a logistic variable that depends on the first."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, n))
    return x, np.digitize(x[0] + rng.logistic(size=n), np.linspace(-1.0, 1.5, count - 1)).astype(float)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_linear_predictor_is_the_likeliest_and_costs_its_slopes(count):
    x, y = leveled(count)
    target = OrdinalResponse(y, None)
    fit = fit_generalised_linear(x, target)
    evidence, weights = naive.generalised_linear_evidence(x.T, target.codes, target.law.cuts)
    assert fit.evidence == pytest.approx(evidence, abs=1e-4)
    assert_allclose(fit.slopes, weights[1:3], atol=1e-4)
    assert fit.intercepts[0] == pytest.approx(weights[0], abs=1e-4)
    outputs = fit.predictor(np.arange(2), np.ones(2, dtype=int)).outputs(x, target.law)
    assert_allclose(outputs[0], fit.intercepts[0] + fit.slopes @ x)
    assert_allclose(outputs[1], fit.intercepts[1])


@pytest.mark.parametrize("count", [2, 4])
def test_a_linear_predictor_knows_weights_copies_of_causes_and_signs(count):
    (x, y), rng = leveled(count), np.random.default_rng(1)
    fit, times = fit_generalised_linear(x, OrdinalResponse(y, None)), rng.integers(1, 4, size=300)
    often = fit_generalised_linear(x.repeat(times, axis=1), OrdinalResponse(y.repeat(times), None))
    weighted = fit_generalised_linear(x, OrdinalResponse(y, times * 1.0))
    assert weighted.evidence == pytest.approx(often.evidence, rel=1e-10)
    assert_allclose([*weighted.intercepts, *weighted.slopes], [*often.intercepts, *often.slopes], atol=1e-6)
    copied = fit_generalised_linear(np.vstack([x, x[0] + 2.0 * x[1]]), OrdinalResponse(y, None))
    assert copied.evidence == pytest.approx(fit.evidence, rel=1e-10)
    turned = fit_generalised_linear(3.0 - 2.0 * x, OrdinalResponse(-y, None))
    assert turned.evidence == pytest.approx(fit.evidence, rel=1e-10)
    assert_allclose(turned.slopes, 0.5 * fit.slopes, rtol=1e-6)


def test_where_a_cause_separates_the_levels_there_is_no_linear_predictor():
    x, _ = leveled(2)
    assert fit_generalised_linear(x, OrdinalResponse((x[0] > 0.0) * 1.0, None)) is None
    copied = x[0] > 0.0  # of two causes one alone separates them, in half of the rows
    of_one = np.where(copied, 1.0, x[1] + x[0] > 0.0)
    assert fit_generalised_linear(np.stack([copied, x[1]]), OrdinalResponse(of_one, None)) is None
    assert fit_generalised_linear(x[:, :12], OrdinalResponse((x[1, :12] > 0.0) * 1.0, None)) is None
    assert fit_generalised_linear(x[:, :16], OrdinalResponse(np.arange(16) % 2.0, None)) is None  # too few rows
    assert fit_generalised_linear(x, CategoricalResponse((x[0] > 0.0) * 1, 2, None)) is None


def test_a_copy_of_scores_knows_the_linear_predictor():
    """It has the scores, and no fit of the model that won."""
    x, y = leveled(2, n=1000)
    learned = HNMSearch(knowledge={"required": [(0, 2), (1, 2)]}).fit(np.column_stack([*x, y])).found_graph()
    node, scores = learned.table.order.tolist().index(2), learned.scores.copy()
    family = node, learned.graph[node]
    assert scores.model_of(family) == "linear"
    there, back = (of.models.predictor(family, "linear", of.fit_of(family)) for of in (learned.scores, scores))
    assert_array_equal(there.slopes, back.slopes)


def test_where_rows_depend_on_one_another_two_values_have_no_linear_model():
    x, y = leveled(2, n=600)
    related, alone = (HNMSearch().fit(np.column_stack([*x, y]), groups=of) for of in (np.arange(600) // 5, None))
    scores = [fit.found_graph().scores for fit in (related, alone)]
    places = [fit.found_graph().table.order.tolist().index(2) for fit in (related, alone)]
    scored = [of.models.linear_score((k, ((k + 1) % 3,)), "gaussian") for of, k in zip(scores, places, strict=True)]
    assert scored[0] == np.inf > scored[1]


@pytest.mark.parametrize("count", [2, 4])
def test_a_model_keeps_the_linear_predictor(tmp_path, count):
    x, y = leveled(count, n=1000)
    table = pd.DataFrame({"a": x[0], "b": x[1], "y": y})
    fit = HNMSearch(knowledge={"required": [("a", "y")]}).fit(table)
    p = fit.model_.probabilities("y", table).to_numpy()
    slopes = np.diff(np.log(p[:, 1:].sum(axis=1) / p[:, 0])[np.argsort(x[0])]) / np.diff(np.sort(x[0]))
    assert_allclose(slopes, 1.0, atol=0.2)  # the slope of the log odds
    assert np.ptp(slopes[np.diff(np.sort(x[0])) > 1e-3]) < 1e-6
    fit.save(tmp_path / "m.icdh")
    assert_array_equal(icdh.load(tmp_path / "m.icdh").probabilities("y", table), p)
    turned = HNMSearch(knowledge={"required": [("a", "y")]}).fit(table.assign(y=-table.y, a=-table.a))
    assert_allclose(
        turned.model_.probabilities("y", table.assign(y=-table.y, a=-table.a)).to_numpy()[:, ::-1], p, rtol=1e-5
    )


def test_levels_whose_spread_alone_depends_on_the_cause():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(1, 1000))
    y = np.digitize(np.exp(0.8 * x[0]) * rng.normal(size=1000), (-1.5, -0.4, 0.4, 1.5))
    assert evidence_gain(x, OrdinalResponse(y.astype(float), None)) > 40


def test_the_values_of_levels_do_not_matter_and_their_signs_mirror_the_weights():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(1, 300))
    y = np.digitize(x[0] + rng.normal(size=300), (-1.0, 0.5)).astype(float)
    fit = fit_node(x, OrdinalResponse(y, None))
    assert fit_node(x, OrdinalResponse(100.0 * y**3 - 7.0, None)).evidence == fit.evidence
    assert fit_node(x, OrdinalResponse(-y, None)).evidence == pytest.approx(fit.evidence, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cuts", [(0.0,), (-1.0, 0.0, 1.0)])
def test_what_a_cause_determines_stays_finite(kind, cuts):
    x = np.random.default_rng(5).normal(size=(1, 100))
    response = KINDS[kind](np.digitize(x[0], cuts))
    assert np.isfinite(fit_node(x, response).objective)
    assert 20 < evidence_gain(x, response) < np.inf


GRADES = np.array([0.0, 1.0, 2.0, 3.0, 4.5])
QUICK = {"hidden_units": 3, "n_restarts": 1, "noise_distribution": "gaussian", "column_transform": "none"}
pytestmark = pytest.mark.filterwarnings("ignore:read as ")


def grades(skew, n=600, seed=0):
    """Rows of x -> grade -> y; a search turns the sign of a column that is skewed to the left."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    latent = x + 0.6 * rng.logistic(size=n)
    code = np.digitize(latent, (-2.0, -1.2, -0.5, 0.4) if skew < 0 else (-0.4, 0.5, 1.2, 2.0))
    y = np.sin(GRADES[code]) + (0.2 + 0.1 * code) * rng.normal(size=n)
    return np.column_stack([x, GRADES[code], y])


@pytest.fixture(scope="module", params=[-1, 1], ids=["left", "right"])
def graded(request):
    X = grades(request.param)
    assert np.sign(np.mean((X[:, 1] - X[:, 1].mean()) ** 3)) == request.param
    return X, HNMSearch(**QUICK).fit(X)


def shares_of(column):
    return [np.mean(column == grade) for grade in GRADES]


def test_grades_are_sampled_predicted_and_scored_by_what_was_learned(graded):
    X, model = graded
    assert_array_equal(model.adjacency_matrix_ != 0, [[False, True, False], [False, False, True], [False] * 3])
    drawn = model.sample(20_000, random_state=0)
    assert set(drawn[:, 1]) == set(GRADES)
    assert_allclose(shares_of(drawn[:, 1]), shares_of(X[:, 1]), atol=0.02)
    p = model.model_.probabilities(1, X)
    assert_allclose(model.predict(X)[:, 1], p @ GRADES)
    residuals, scale = model.residuals(X), model.predict_scale(X)
    assert_allclose(scale[:, 1], np.sqrt(p @ GRADES**2 - (p @ GRADES) ** 2), rtol=1e-6)
    assert_allclose(residuals[:, 1], (X[:, 1] - p @ GRADES) / scale[:, 1])
    assert residuals[:, 1].std() == pytest.approx(1.0, abs=0.1)
    of_grades = np.log(p[np.arange(len(X)), np.searchsorted(GRADES, X[:, 1])]).mean()
    of_numbers = -(np.log(scale) + residuals**2 / 2 + np.log(2 * np.pi) / 2)[:, [0, 2]].mean(axis=0).sum()
    assert model.score(X) == pytest.approx(of_grades + of_numbers)
    low, high = (model.sample(4000, 0, do={0: value})[:, 1].mean() for value in (-1.5, 1.5))
    assert high > low + 1.0
    assert_allclose(model.average_effect(0, 1, [-1.5, 1.5]).mean, [low, high], atol=0.1)


def test_what_was_a_grade_that_nobody_saw_counts_as_the_nearest(graded):
    X, model = graded
    other = X.copy()
    other[X[:, 1] == 4.5, 1] = 6.0
    with pytest.warns(icdh.DataWarning, match="a value is 6, but column 'x1' holds"):
        assert np.isfinite(model.score(other))
    with pytest.warns(icdh.DataWarning, match="a value is 6, but column 'x1' holds"):
        of_other = model.model_.probabilities(1, other)
    assert_array_equal(of_other, model.model_.probabilities(1, X))  # of its causes


def test_what_another_grade_would_have_been_is_not_determined(graded):
    X, model = graded
    with pytest.raises(ValueError, match="what the level of a row would have been is not determined"):
        model.counterfactual(X[:3], do={0: 0.0})
    kept = model.counterfactual(X[:3], do={1: 4.5})
    assert_array_equal(kept[:, :2], np.column_stack([X[:3, 0], [4.5] * 3]))


@pytest.mark.parametrize("transform", ["none", "log"])
def test_grades_beside_columns_that_are_spread_or_transformed(transform):
    X = grades(1)
    X[:, 0] = np.round(np.exp(X[:, 0]), 1)
    model = HNMSearch(**QUICK | {"column_transform": transform}, knowledge={"required": [(0, 1)]}).fit(X)
    assert model.kinds_[:2] == ["gridded", "ordinal"]
    p = model.model_.probabilities(1, X)
    for part in (X[:, 0] < 1.0, X[:, 0] >= 1.0):
        assert_allclose(p[part].mean(axis=0), shares_of(X[part, 1]), atol=0.05)


def test_truth_values_are_drawn_as_such():
    rng = np.random.default_rng(1)
    x = rng.normal(size=500)
    X = np.column_stack([x, rng.random(500) < expit(2.0 * x)])
    model = HNMSearch(**QUICK, knowledge={"required": [(0, 1)]}).fit(X)
    predicted = model.predict(X)[:, 1]
    assert set(model.sample(500, 0)[:, 1]) == {0.0, 1.0}
    assert np.abs(predicted - expit(2.0 * x)).mean() < 0.05
    assert_allclose(model.predict_scale(X)[:, 1], np.sqrt(predicted * (1 - predicted)), rtol=1e-6)


def test_ordered_labels_come_back_as_labels(tmp_path):
    X, sizes = grades(1), ["tiny", "small", "middle", "large", "huge"]
    size = pd.Categorical.from_codes(np.searchsorted(GRADES, X[:, 1]), sizes, ordered=True)
    frame = pd.DataFrame({"x": X[:, 0], "size": size, "y": X[:, 2]})
    model = HNMSearch(**QUICK).fit(frame)
    assert model.adjacency_matrix_[0, 1] > 0
    drawn, predicted = model.sample(4000, random_state=0), model.predict(frame)["size"]
    assert drawn["size"].dtype == predicted.dtype == size.dtype
    assert_allclose(drawn["size"].value_counts(sort=False) / 4000, size.value_counts() / len(X), atol=0.03)
    assert np.isfinite(model.score(drawn))
    p = model.model_.probabilities("size", frame)
    assert list(p.columns) == sizes
    assert list(predicted) == [sizes[rank] for rank in np.rint(p @ np.arange(5)).astype(int)]
    for given, expected in (("huge", ["huge", "huge"]), (["huge", "tiny"], ["huge", "tiny"])):
        assert list(model.sample(2, do={"size": given})["size"]) == expected
    with pytest.raises(ValueError, match="holds 'vast', but its labels are"):
        model.sample(5, do={"size": "vast"})
    by_label, by_rank = (model.average_effect("size", "y", values).mean for values in (["tiny", "large"], [0, 3]))
    assert_allclose(by_label, by_rank)
    model.save(tmp_path / "m.icdh")
    pd.testing.assert_frame_equal(icdh.load(tmp_path / "m.icdh").sample(50, 1), model.sample(50, 1))


@pytest.mark.parametrize(
    "labels", [["lo", "mid", "hi", "top"], ["none", "lo", "mid", "hi"], ["lo", "mid", "none", "hi"]]
)
def test_ordered_labels_that_no_row_holds_have_no_effect(labels):
    X, held = grades(1), ["lo", "mid", "hi"]
    size = pd.Categorical(np.array(held)[np.digitize(X[:, 1], GRADES[[1, 3]])], labels, ordered=True)
    frame = pd.DataFrame({"size": size, "y": X[:, 1] + 0.5 * np.random.default_rng(0).normal(size=len(X))})
    model = HNMSearch(**QUICK, knowledge={"required": [("size", "y")]}).fit(frame)
    assert [total.contrast for total in model.effects()] == ["lo -> mid", "lo -> hi"]
    (strange,) = {*labels} - {*held}
    for value in (strange, ["hi", strange], labels.index(strange)):
        with pytest.raises(ValueError, match=f"is '{strange}', but column 'size' holds 'lo', 'mid', 'hi' alone$"):
            model.sample(2, do={"size": value})
    with pytest.raises(ValueError, match=f"values is '{strange}', but column 'size' holds"):
        model.average_effect("size", "y", [strange])
