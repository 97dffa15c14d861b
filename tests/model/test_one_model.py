"""What was scored is what answers: transform, mean model, noise and grid are those of the fit."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import trapezoid
from scipy.stats import kstest
from support.families import AdditivePredictor

import icdh
from icdh import ICDH, HNMSearch, Knowledge
from icdh.exceptions import DataWarning

ARROW = Knowledge(required=[("x0", "x1")])


@pytest.fixture(scope="module")
def model():
    x, noise = np.random.default_rng(0).normal(size=(2, 800))
    X = np.exp(np.column_stack([x, 1.0 + 0.8 * x + 0.5 * noise]))
    return HNMSearch(column_transform="log", noise_distribution="gaussian", knowledge=ARROW).fit(X)


def test_the_mean_under_a_transform_is_that_of_the_units(model):
    x = np.array([-0.7, 0.0, 0.7])
    rows = np.column_stack([np.exp(x), np.ones(3)])
    expected = np.exp(1.0 + 0.8 * x + 0.125)
    np.testing.assert_allclose(model.predict(rows)[:, 1], expected, rtol=0.08)
    np.testing.assert_allclose(model.predict_scale(rows)[:, 1], expected * np.sqrt(np.expm1(0.25)), rtol=0.15)
    drawn = model.sample(40_000, random_state=0, do={"x0": np.exp(0.7)})[:, 1]
    assert drawn.mean() == pytest.approx(model.predict(rows)[2, 1], rel=0.03)
    assert drawn.min() > -0.1


def test_the_score_is_a_density_in_the_units_of_the_table(model):
    y = np.linspace(-0.5, 60.0, 4001)
    log_density = np.array([model.score(np.array([[1.5, value]])) for value in y])
    total = trapezoid(np.exp(log_density), y)
    cause = model.model_.conditionals[0]
    scaled = model.model_.scaled(np.array([[1.5, 1.0]]))
    scaling = model.model_.columns.scaling
    of_cause = cause.log_density(scaled[0], scaled) + scaling.log_slope(scaled[0], 0) - np.log(scaling.scale[0])
    assert total == pytest.approx(np.exp(of_cause[0]), rel=0.01)


@pytest.mark.filterwarnings("ignore::icdh.exceptions.DataWarning")
def test_the_likelihood_of_the_fit_is_that_of_its_model_where_a_transform_is_steep_at_a_mass():
    rng = np.random.default_rng(3)
    income = np.exp(0.5 * rng.normal(size=800)) * 1000.0
    spending = np.where(rng.random(800) < 0.4, 0.0, income * 0.1 * np.exp(0.3 * rng.normal(size=800)))
    X = np.column_stack([income, spending])
    model = HNMSearch(column_transform="log").fit(X)
    table = model.model_.columns.as_table(X)
    assert list(model.model_.columns.masses) == [1]
    assert model.nll_ == pytest.approx(model.model_.nll(model.model_.scaled(table), None, None), rel=1e-4)


def test_a_linear_winner_answers_as_a_line():
    rng = np.random.default_rng(1)
    x = rng.normal(size=500)
    X = np.column_stack([x, 2.0 * x + rng.laplace(size=500)])
    model = HNMSearch(column_transform="none", knowledge=ARROW).fit(X)
    assert isinstance(model.model_.conditionals[1].predictor, AdditivePredictor)
    ends = model.predict(np.column_stack([[-30.0, 0.0, 30.0], np.zeros(3)]))[:, 1]
    assert ends[2] - ends[1] == pytest.approx(ends[1] - ends[0], rel=1e-9)
    assert (ends[2] - ends[0]) / 60.0 == pytest.approx(np.polyfit(X[:, 0], X[:, 1], 1)[0], rel=1e-6)


@pytest.mark.parametrize("noise", [lambda rng, n: rng.standard_t(3, n), lambda rng, n: rng.exponential(size=n) - 1.0])
def test_the_score_tells_noise_by_new_rows_and_samples_have_it(noise):
    rng = np.random.default_rng(2)

    def table(n):
        x = rng.normal(size=n)
        return np.column_stack([x, x + noise(rng, n)])

    X, further = table(1500), table(10_000)
    fits = [
        HNMSearch(noise_distribution=name, knowledge=ARROW, column_transform="none").fit(X)
        for name in ("gaussian", "auto")
    ]
    assert fits[1].score(further) > fits[0].score(further) + 0.1
    drawn = fits[1].sample(4000, random_state=0)
    residuals = drawn[:, 1] - drawn[:, 0]
    assert kstest(residuals, noise(np.random.default_rng(3), 4000)).statistic < 0.06


def test_a_value_that_a_column_of_few_values_cannot_have_is_not_scored_without_a_word():
    x, noise = np.random.default_rng(0).normal(size=(2, 300))
    X = np.column_stack([x, np.digitize(x + noise, [-1.0, 0.0, 1.0]) + 1.0])
    model, unknown = HNMSearch(kinds={"x1": "ordinal"}).fit(X).model_, X.copy()
    unknown[0, 1] = 7.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.score(X)
    for answer in (model.score, partial(icdh.check, model), partial(model.counterfactual, do={"x1": 2.0})):
        with pytest.warns(DataWarning, match="a value is 7, but column 'x1' holds 1, 2, 3, 4 alone"):
            answer(unknown)
    with pytest.warns(DataWarning, match="in 20 of 6000 rows such values count") as said:
        icdh.check(model, np.tile(unknown, (20, 1)))  # of which it draws rows
    assert len(said) == 1


def test_a_column_in_another_unit_is_not_scored_without_a_word():
    """In kilograms, not grams: the check took its noise for none."""
    rng = np.random.default_rng(1)
    weight = rng.uniform(200.0, 900.0, size=300)
    X = np.column_stack([weight, 0.01 * weight + rng.normal(size=300)])
    model = HNMSearch(column_transform="none", knowledge=ARROW).fit(X)
    model.score(X[:50])
    relive = partial(model.counterfactual, do={"x1": 2.0})
    for answer, unit in (
        (model.score, 0.001),
        (partial(icdh.check, model), 0.001),
        (model.score, 100.0),
        (relive, 0.001),
    ):
        with pytest.warns(DataWarning, match="column 'x0' is beyond what fit saw, 20.* to 89.*: check units"):
            answer(X * [unit, 1.0])


LIBRARIES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pytest.importorskip("polars").from_pandas(frame),
    "pyarrow": lambda frame: pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False),
    "names": lambda frame: icdh.files.LabelledTable(frame.to_numpy(), list(frame.columns)),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_prediction_needs_the_causes_alone(library):
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(2, 400))
    group, y = np.where(noise + x > 0.0, "b", "a"), 2.0 * x + rng.normal(size=400)
    known = {"required": [("x", "y"), ("x", "group"), ("y", "z")], "forbidden": [("group", "*")]}
    frame = pd.DataFrame({"x": x, "group": group, "y": y, "z": y + rng.normal(size=400)})
    of = LIBRARIES[library]
    model = HNMSearch(knowledge=known, kinds={"group": "categorical"}, column_transform="none").fit(of(frame)).model_

    def cells_of(answer):  # of an old pyarrow an array holds the columns
        return np.asarray(answer.to_pandas() if library == "pyarrow" else answer, dtype=object)

    def of_y_and_group(ask, rows):
        return cells_of(ask(of(rows)))[:, [1, 2]].tolist()

    some = frame[20:30]
    probabilities = partial(model.probabilities, "group")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ask in (model.predict, model.predict_scale):
            whole = of_y_and_group(ask, some)
            for rows in (some[["x", "y"]], some[["x", "y", "z"]], some.assign(group=None)):
                assert of_y_and_group(ask, rows) == whole
            assert pd.isna(cells_of(model.residuals(of(some[["x", "y"]])))[:, [1, 3]]).all()
            one = some.assign(x=np.where(some.index == 22, np.nan, some["x"]))
            found = of_y_and_group(ask, one)
            assert [row for row in found if pd.notna(row).all()] == [row for k, row in enumerate(whole) if k != 2]
            assert pd.isna(found[2]).all()
    with pytest.warns(DataWarning, match="X has no value of 'x': what rests on them is left empty, of 'group', 'y'$"):
        lacks = cells_of(model.predict(of(some[["y"]])))
    assert pd.isna(lacks).all(axis=0).tolist() == [False, True, True, False]
    assert pd.isna(cells_of(probabilities(of(one)))).any(axis=1).tolist() == [k == 2 for k in range(10)]
    np.testing.assert_array_equal(probabilities(of(some[["x", "y"]])), probabilities(of(some)))
    np.testing.assert_array_equal(probabilities(of(some[["y", "group", "x"]])), probabilities(of(some)))
    with pytest.raises(ValueError, match="column 0 of X is 'y' where fit saw 'x'; pass the same columns"):
        model.predict(of(some[["y", "group", "x", "z"]]))


@pytest.mark.filterwarnings("ignore::icdh.exceptions.DataWarning")
def test_what_needs_a_column_that_is_not_there_says_so(model):
    rows, lacking = np.ones((2, 2)), np.array([[1.0, np.nan]])
    with pytest.raises(ValueError, match=r"X has 1 features, .* 2 features .*; a DataFrame with their names may lack"):
        model.predict(rows[:, :1])
    with pytest.raises(ValueError, match=r"X, without names, has gaps .*'x1'; drop these rows, or pass a DataFrame"):
        model.predict(lacking)
    named = pd.DataFrame(lacking, columns=["x0", "x1"])
    with pytest.raises(ValueError, match="column 'x1' of X holds no value at all, only NaN; its values are needed"):
        model.score(named)
    with pytest.raises(ValueError, match=r"X has 3 features, .* 2 .*: pass the columns that fit saw, or some"):
        model.predict(named.assign(y=1.0))
    assert model.predict(named[["x0"]])[0, 1] == pytest.approx(model.predict(rows)[0, 1], rel=1e-12)


def test_samples_and_counterfactuals_are_on_the_grid_of_the_column(tmp_path):
    rng = np.random.default_rng(4)
    hours = np.round(40.0 + 10.0 * rng.normal(size=600))
    wage = np.round(3.0 + 0.2 * hours + 2.0 * rng.normal(size=600), 2)
    model = HNMSearch().fit(np.column_stack([hours, wage]))
    drawn = model.sample(500, random_state=0)
    assert not (drawn[:, 0] % 1.0).any()
    assert drawn[:, 1].tolist() == [float(f"{value:.2f}") for value in drawn[:, 1]]
    model.save(tmp_path / "m.icdh")
    np.testing.assert_array_equal(icdh.load(tmp_path / "m.icdh").sample(500, random_state=0), drawn)


@pytest.mark.parametrize("noise", ["gaussian", "auto"])
def test_amounts_are_hardly_ever_drawn_below_zero_nor_shares_beyond_one(noise):
    rng = np.random.default_rng(6)
    x = rng.normal(size=1000)
    amount = np.abs(0.5 * x + 0.6 * rng.normal(size=1000))
    share = 1.0 / (1.0 + np.exp(-2.0 * x - 1.5 * rng.normal(size=1000)))
    X = np.column_stack([x, amount, share])
    fits = [HNMSearch(noise_distribution=noise, column_transform="none").fit(own) for own in (X, X * [1.0, -1.0, 1.0])]
    for fit, sign in zip(fits, (1.0, -1.0), strict=True):
        drawn = fit.sample(20_000, random_state=0) * [1.0, sign, 1.0]
        assert np.mean((drawn[:, 1] < 0.0) | (drawn[:, 2] < 0.0) | (drawn[:, 2] > 1.0)) < 2e-3
        np.testing.assert_allclose(drawn.mean(axis=0)[1:], X.mean(axis=0)[1:], atol=0.04)
        assert np.isfinite(fit.score(X * [1.0, -3.0 * sign, 1.0]))  # a row beyond is improbable, not impossible
        assert not icdh.check(fit, fit.sample(1000, random_state=1)).rejected
    assert fits[1].score(X * [1.0, -1.0, 1.0]) == pytest.approx(fits[0].score(X), abs=1e-6)
    natural = fits[0].counterfactual(X, do={})
    np.testing.assert_allclose(natural, X, atol=1e-6)


def test_no_count_that_is_drawn_is_a_negative_zero():
    rng = np.random.default_rng(5)
    x = rng.normal(size=500)
    model = HNMSearch(kinds={1: "count"}).fit(np.column_stack([x, rng.poisson(np.exp(0.5 + 0.5 * x))]))
    below = model.model_.columns.scaling.apply(np.full(3, -0.1), 1)
    assert not np.signbit(model.model_.in_units(1, below)).any()


@pytest.mark.filterwarnings("ignore::icdh.exceptions.DataWarning")
@pytest.mark.parametrize("method", [HNMSearch, ICDH])
def test_beyond_the_rows_of_a_fit_no_spread_is_larger_and_no_mean_is_far(method, tmp_path):
    """Where a floor of 30 % hides the cause, the fitted spread rises 10^6 times just below it."""
    rng = np.random.default_rng(121)
    exact = rng.normal(size=120)
    X = np.column_stack([np.maximum(exact, np.quantile(exact, 0.3)), exact])
    model = method(knowledge=ARROW).fit(X).model_
    limited = model.conditionals[1]
    rows, far = model.scaled(X), model.scaled(np.column_stack([np.linspace(-50.0, 50.0, 2001), np.zeros(2001)]))
    outputs, beyond = limited.outputs(rows), limited.outputs(far)
    # The rows themselves stay, but for the rounding of their transform, which so steep a spread enlarges.
    np.testing.assert_allclose(outputs, replace(limited, limits=None).outputs(rows), rtol=1e-9)
    rounding = 1e-4  # limits are those at rows in single precision
    assert outputs[1].min() - rounding <= beyond[1].min() <= beyond[1].max() <= outputs[1].max() + rounding
    assert np.ptp(beyond[0]) <= 3.0 * np.ptp(outputs[0])
    assert model.sample(5000, random_state=0)[:, 1].std() < 2.0 * exact.std()
    model.save(tmp_path / "m.icdh")
    np.testing.assert_array_equal(icdh.load(tmp_path / "m.icdh").conditionals[1].outputs(far), beyond)


@pytest.mark.parametrize("seed", [0, 2])
def test_the_spread_that_is_predicted_is_that_of_samples_where_noise_has_no_variance(seed):
    """Student's t of 1.2 degrees of freedom, held to five times the range of the rows."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=400)
    y = np.sin(2.0 * x) + 0.05 * np.exp(1.5 * np.sin(3.0 * x)) * rng.standard_t(1.2, size=400)
    model = HNMSearch(column_transform="none", knowledge=ARROW).fit(np.column_stack([x, y]))
    drawn = model.sample(40_000, random_state=0)
    explained, left = model.predict(drawn)[:, 1], model.predict_scale(drawn)[:, 1]
    assert drawn[:, 1].std() == pytest.approx(np.sqrt(explained.var() + np.mean(left**2)), rel=0.1)
    assert np.mean(np.abs(drawn[:, 1]) > 5.0 * np.abs(y).max()) < 1e-4
    assert drawn[:, 1].std() < 1.5 * y.std()
