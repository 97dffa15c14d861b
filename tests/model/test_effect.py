"""The effect of one variable on another: known answers, invariances, what is noticed, and what is refused."""

import json
import warnings
from itertools import product

import naive
import numpy as np
import pandas as pd
import pytest
from helpers import cases
from scipy.stats import norm, ttest_ind
from scipy.stats import t as student
from support.model import (
    PENALTIES,
    Difference,
    Estimate,
    Interval,
    Ridge,
    Sample,
    Slope,
    Splines,
    adjustment_set,
    by_frequency,
    contrasts_of,
    demeaned,
    mixture,
    multiple_of,
    natural_spline,
    oriented,
    parent_sets,
    reference_of,
    robustness_value,
    sandwich,
)
from support.table import Categories

import icdh
from icdh import DataWarning, HNMSearch, Knowledge
from icdh.files import write_table

COLUMNS = ["age", "dose", "answer"]


def confounded(seed=0, n=500, share=0.7):
    """A covariate raises both the chance of treatment and the answer; the effect is one."""
    rng = np.random.default_rng(seed)
    age = rng.normal(size=n)
    dose = (rng.random(n) < 1.0 / (1.0 + np.exp(-share * age))).astype(float)
    return np.column_stack([age, dose, dose + 2.0 * age + rng.normal(size=n)])


def doses(seed=0, n=400):
    """A covariate moves a number and its effect, a half for each unit."""
    rng = np.random.default_rng(seed)
    age, dose, noise = rng.normal(size=(3, n))
    dose += age
    return np.column_stack([age, dose, 0.5 * dose + 2.0 * age + noise])


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame(confounded(), columns=COLUMNS)


@pytest.fixture(scope="module")
def answer(table):
    return icdh.effect(table, "dose", "answer", ["age"])


def width(answer):
    return answer.upper - answer.lower


def notes_of(*question, **options):
    """The notes of an answer; its warnings are these."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return icdh.effect(*question, **options).notes


def slope_of(y, *columns):
    """The first slope of least squares."""
    return np.linalg.lstsq(np.column_stack([*columns, np.ones(len(y))]), y, rcond=None)[0][0]


# Known answers.


def test_without_covariates_it_is_the_difference_of_means_and_welchs_interval(table):
    answer = icdh.effect(table, "dose", "answer", [])
    treated, others = (table.answer[table.dose == value] for value in (1, 0))
    welch = ttest_ind(treated, others, equal_var=False).confidence_interval(0.95)
    assert [answer.difference, answer.unadjusted] == pytest.approx([treated.mean() - others.mean()] * 2)
    np.testing.assert_allclose([answer.lower, answer.upper], welch, rtol=0.02)
    assert answer.effective_rows == pytest.approx({0.0: len(others), 1.0: len(treated)})


def test_within_strata_it_is_their_mean_by_arithmetic():
    """Kidney stones: cured of treated, by size; each size weighs as often as it is (Charig et al., 1986)."""
    counts = {("small", 1): (81, 87), ("large", 1): (192, 263), ("small", 0): (234, 270), ("large", 0): (55, 80)}
    rows = [(size, given, int(k < cured)) for (size, given), (cured, all_) in counts.items() for k in range(all_)]
    stones = pd.DataFrame(rows, columns=["size", "open", "cured"])
    shares = {arm: cured / all_ for arm, (cured, all_) in counts.items()}
    by_size = {size: shares[size, 1] - shares[size, 0] for size in ("small", "large")}
    for target, rows, tolerance in (("all", stones, 0.004), ("treated", stones[stones.open == 1], 0.006)):
        expected = sum((rows["size"] == size).mean() * by_size[size] for size in by_size)
        answer = icdh.effect(stones, "open", "cured", ["size"], target=target, kinds={"cured": "binary"})
        assert answer.estimate == pytest.approx(expected, abs=tolerance)


def test_where_all_is_linear_it_is_the_slope_of_least_squares():
    X = doses(n=3000)
    answer = icdh.effect(X, "x1", "x2", ["x0"])
    assert answer.per_unit == pytest.approx(slope_of(X[:, 2], X[:, 1], X[:, 0]), abs=0.2 * width(answer))
    assert answer.curve.p_value > 0.01
    assert (answer.difference, answer.contrast) == (None, None)


@pytest.mark.parametrize("two_ways", [False, True])
def test_within_units_it_is_least_squares_with_dummies(two_ways):
    rng = np.random.default_rng(1)
    state, year = np.repeat(np.arange(60), 8), np.tile(np.arange(8), 60)
    keep = rng.random(480) < 0.8  # unbalanced, so that two-way means are no sums of one-way means
    tax = rng.normal(size=60)[state] + rng.normal(size=8)[year] + rng.normal(size=480)
    deaths = 3.0 * rng.normal(size=60)[state] - 0.5 * tax + 2.0 * rng.normal(size=8)[year] + rng.normal(size=480)
    X = pd.DataFrame({"state": state, "year": year, "tax": tax, "deaths": deaths})[keep].reset_index(drop=True)
    dummies = [(X.state == s) * 1.0 for s in range(1, 60)] + [(X.year == t) * 1.0 for t in range(1, 8)] * two_ways
    within = ["state", "year"] if two_ways else "state"
    columns = X if two_ways else X.drop(columns="year")
    answer = icdh.effect(columns, "tax", "deaths", [], within=within)
    assert answer.per_unit == pytest.approx(slope_of(X.deaths, X.tax, *dummies), rel=1e-6)
    labels = {"state": X.state.tolist()} | ({"year": X.year.tolist()} if two_ways else {})
    with pytest.raises(ValueError, match="within holds 'state' fixed already; leave it out of adjust"):
        icdh.effect(X, "tax", "deaths", ["state"], within="state")
    again = icdh.effect(X[["tax", "deaths"]], "tax", "deaths", [], within=labels)
    assert (again.estimate, again.lower) == (answer.estimate, answer.lower)


def test_groups_have_the_sandwich_of_their_sums():
    X, of = doses(), np.arange(400) // 10
    answer = icdh.effect(X, "x1", "x2", [], groups=of)
    dose, y = X[:, 1] - X[:, 1].mean(), X[:, 2] - X[:, 2].mean()
    scores, shares = (np.bincount(of, each) for each in (dose * (y - (dose @ y) / (dose @ dose) * dose), dose**2))
    error = np.sqrt(np.square(scores / (1.0 - shares / shares.sum())).sum()) / (dose @ dose)
    degrees = shares.sum() ** 2 / np.square(shares).sum() - 1.0
    assert width(answer) == pytest.approx(2.0 * student.ppf(0.975, degrees) * error)
    assert answer.effective_rows["all"] == pytest.approx(degrees + 1.0)


def crossed(seed=0, n_firms=40, n_years=25):
    """Firms and years that share parts of a cause and of its effect, a half for each unit."""
    rng = np.random.default_rng(seed)
    firm, year = np.repeat(np.arange(n_firms), n_years), np.tile(np.arange(n_years), n_firms)
    of_firms, of_years, noise = (rng.normal(size=(2, size)) for size in (n_firms, n_years, firm.size))
    cause, rest = of_firms[:, firm] + of_years[:, year] + noise
    return pd.DataFrame({"firm": firm, "year": year, "cause": cause, "effect": 0.5 * cause + rest})


def test_groups_in_two_ways_have_the_sandwich_of_both_less_that_of_their_cells():
    sm = pytest.importorskip("statsmodels.api")
    cov_cluster_2groups = pytest.importorskip("statsmodels.stats.sandwich_covariance").cov_cluster_2groups

    X = crossed()
    X = pd.concat([X, X[:200]], ignore_index=True)  # some cells hold two rows
    design = sm.add_constant(X[["cause"]])
    fit = sm.OLS(X.effect, design).fit()
    ways = X.firm.to_numpy(), X.year.to_numpy()
    influence = design.to_numpy() * fit.resid.to_numpy()[:, np.newaxis] @ np.linalg.inv(design.T @ design)
    covariances, _ = sandwich(influence, np.zeros(len(X)), ways)  # without a jackknife
    both, firms, years = cov_cluster_2groups(fit, *ways, use_correction=False)
    np.testing.assert_allclose(covariances, [firms, years, both], rtol=1e-9)
    answer = icdh.effect(X, "cause", "effect", [], groups=("firm", "year"))
    labels = icdh.effect(X[["cause", "effect"]], "cause", "effect", [], groups=ways)
    assert answer.interval == labels.interval
    reach = student.ppf(0.975, answer.effective_rows["all"] - 1.0) * both[1, 1] ** 0.5
    assert width(answer) == pytest.approx(2.0 * reach, rel=0.15)  # by the jackknife


@pytest.mark.filterwarnings("ignore")
def test_a_tuple_of_a_label_a_row_names_no_columns():
    X = np.random.default_rng(0).normal(size=(10, 2))
    answers = [icdh.effect(X, 0, 1, [], groups=form("aabbccddee")) for form in (tuple, list)]
    assert answers[0].interval == answers[1].interval


def test_groups_in_two_ways_say_no_more_than_one():
    X = crossed(1, 50, 50)
    for adjust, cause in (([], "cause"), (["other"], "cause"), (["other"], "treated")):
        table = X.assign(other=np.random.default_rng(2).normal(size=len(X)), treated=(X.cause > 0.0) * 1.0)
        widths = [
            width(icdh.effect(table.drop(columns=rest), cause, "effect", adjust, groups=groups))
            for groups, rest in (("firm", "year"), ("year", "firm"), (("firm", "year"), []))
        ]
        assert 1.1 * max(widths[:2]) < widths[2] < sum(widths[:2])
    inside, again, both = (
        icdh.effect(X, "cause", "effect", [], within=["firm", "year"], groups=groups)
        for groups in (None, "firm", ("firm", "year"))
    )
    assert inside.interval == again.interval
    assert width(both) >= 0.99 * width(inside)
    assert both.lower < 0.5 < both.upper


def test_a_number_has_a_curve_and_steps_along_it():
    rng = np.random.default_rng(2)
    age, dose, noise = rng.normal(size=(3, 2000))
    dose += age
    X = np.column_stack([age, dose, dose + 0.5 * dose**2 + age + 0.5 * noise])
    whole, step = (icdh.effect(X, 1, 2, [0], contrast=contrast) for contrast in (None, (-1.0, 2.0)))
    assert "it bends" in whole.estimand
    assert whole.curve.p_value < 1e-6
    assert whole.lower < 1.0 < whole.upper  # the mean slope
    assert step.lower < 4.5 < step.upper
    assert (step.difference, step.per_unit) == (step.estimate, None)
    curve = whole.curve
    expected = curve.values + 0.5 * curve.values**2
    np.testing.assert_allclose(curve.change, expected - expected[0], atol=0.25)
    assert curve.change[0] == curve.upper[0] == 0.0
    assert curve.slope == whole.interval


def test_an_effect_that_is_zero_but_for_rounding_does_not_bend():
    """A property of a country in a panel without gaps: no year has more of it than another."""
    land = np.random.default_rng(0).normal(size=60)
    X = pd.DataFrame({"country": np.repeat(np.arange(60), 12), "year": np.tile(1952.0 + 5.0 * np.arange(12), 60)})
    answer = icdh.effect(X.assign(land=land[X.country]), "year", "land", [], groups="country")
    assert np.isnan(answer.curve.p_value)
    assert "bends" not in answer.estimand
    assert "straight line" not in answer.summary()


def test_of_zeros_and_doses_the_curve_may_jump():
    rng = np.random.default_rng(3)
    dose = np.where(rng.random(1000) < 0.6, 0.0, rng.uniform(1.0, 10.0, size=1000))
    X = np.column_stack([dose, 2.0 * (dose > 0.0) + 0.1 * dose + 0.2 * rng.normal(size=1000)])
    start, later = (icdh.effect(X, 0, 1, [], contrast=contrast).estimate for contrast in ((0.0, 1.5), (4.0, 8.0)))
    assert [start, later] == pytest.approx([2.15, 0.4], abs=0.15)


@cases(
    ("function", "step"),
    (np.sqrt, (0.0, 5.0)),
    (lambda dose: 1.0 * (dose >= 2.0), (1.0, 2.0)),
    (lambda dose: 1.0 * (dose > 5.0), (2.0, 10.0)),  # which 1 % of the rows have
    (lambda dose: np.interp(dose, [0.0, 2.0, 5.0], [0.0, 3.0, 1.0]), (1.5, 3.5)),  # between doses
)
def test_a_few_doses_may_have_any_means(function, step):
    rng = np.random.default_rng(12)
    dose = rng.choice([0.0, 1.0, 2.0, 5.0, 10.0], p=[0.3, 0.3, 0.2, 0.19, 0.01], size=2000)
    X = np.column_stack([dose, function(dose) + 0.1 * rng.normal(size=2000)])
    answer = icdh.effect(X, 0, 1, [], contrast=step)
    low, high = (X[dose == value, 1] for value in step)
    if low.size and high.size:
        error = np.sqrt(low.var() / low.size + high.var() / high.size)
        assert answer.estimate == pytest.approx(high.mean() - low.mean())
        assert width(answer) == pytest.approx(2.0 * 1.96 * error, rel=0.1)
    assert answer.estimate == pytest.approx(float(np.diff(function(np.array(step)))[0]), abs=0.1)
    assert icdh.effect(X, 0, 1, []).estimate == pytest.approx(slope_of(X[:, 1], dose))


def test_a_target_chooses_the_rows():
    """The effect is one plus age: larger among the treated, who are older."""
    X = confounded(4, 3000)
    X[:, 2] += X[:, 1] * X[:, 0]
    answers = [icdh.effect(X, 1, 2, [0], target=target) for target in ("untreated", "treated")]
    for value, answer in enumerate(answers):
        assert answer.lower < 1.0 + X[X[:, 1] == value, 0].mean() < answer.upper
        assert f"of the rows at {value}" in answer.estimand
        assert answer.effective_rows[float(value)] == pytest.approx((X[:, 1] == value).sum())  # for themselves alone


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
def test_no_answer_says_of_what_its_numbers_are_and_which_rows_have_one():
    rng = np.random.default_rng(2)
    age = rng.normal(size=3000)
    dose = (2.5 * age + rng.logistic(size=3000) > 6.25) * 1.0
    X = np.column_stack([age, dose, dose + age + rng.normal(size=3000)])
    whole, treated = (icdh.effect(X, 1, 2, [0], target=target) for target in ("all", "treated"))
    assert np.isnan(whole.estimate)
    assert f"count for {min(whole.effective_rows.values()):.0f} rows of equal weight: no answer" in whole.notes[0]
    assert whole.notes[1] == "the rows with that value alone have an answer: pass target='treated'"
    assert treated.lower < 1.0 < treated.upper


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
def test_a_law_of_one_state_has_a_raw_difference():
    """The interval needs rows of both kinds in several groups, which a difference without adjustment has none of."""
    state, quarter = np.repeat(np.arange(20), 6), np.tile(np.arange(6), 20)
    law = ((state == 3) & (quarter > 2)) * 1
    rate = law + np.random.default_rng(0).normal(size=120)
    X = pd.DataFrame({"state": state, "quarter": quarter, "law": law, "rate": rate})
    answer = icdh.effect(X, "law", "rate", [], within=["state", "quarter"])
    assert answer.unadjusted == pytest.approx(rate[law == 1].mean() - rate[law == 0].mean())


def labelled(n=800):
    rng = np.random.default_rng(2)
    sex = rng.choice(["man", "woman"], n, p=[0.6, 0.4])
    colour = rng.choice(["red", "green", "blue"], n, p=[0.5, 0.3, 0.2])
    survived = np.where(rng.random(n) < 0.2 + 0.5 * (sex == "woman"), "yes", "no")
    return pd.DataFrame({"sex": sex, "colour": colour, "survived": survived, "age": rng.normal(size=n)})


def test_each_label_is_compared_with_the_reference_and_each_outcome_has_a_probability():
    table = labelled()
    answer = icdh.effect(table, "sex", "survived", [])
    man, woman = table.assign(yes=table.survived == "yes").groupby("sex").yes.mean()
    assert (answer.contrast, answer.outcome) == (("man", "woman"), "yes")
    assert answer.difference == pytest.approx(woman - man)
    by_colour = icdh.effect(table, "colour", "survived", ["sex"])
    assert [each.contrast for each in (by_colour, *by_colour.others)] == [("red", "green"), ("red", "blue")]
    of_colour = icdh.effect(table, "sex", "colour", [])
    assert [each.outcome for each in (of_colour, *of_colour.others)] == ["red", "green", "blue"]
    assert sum(each.estimate for each in (of_colour, *of_colour.others)) == pytest.approx(0.0, abs=1e-9)
    assert len(of_colour.to_frame()) == 3


def test_a_graph_for_comparisons_within_units_is_learned_from_dependent_rows():
    rng = np.random.default_rng(5)
    unit = np.arange(40).repeat(10)
    age, other = rng.normal(size=(2, 40))[:, unit] + 0.2 * rng.normal(size=(2, 400))
    dose = age + rng.normal(size=400)
    table = pd.DataFrame({"age": age, "other": other, "dose": dose, "answer": dose + age + rng.normal(size=400)})
    question = {"within": {"unit": unit.tolist()}, "knowledge": {"required": [("dose", "answer")]}}
    model = icdh.HNMSearch(knowledge=question["knowledge"]).fit(table, groups=unit)
    answer = icdh.effect(table, "dose", "answer", **question)  # no warning of dependent rows
    assert answer.interval == icdh.effect(table, "dose", "answer", model=model, **question).interval


def test_labels_are_compared_within_units():
    rng = np.random.default_rng(3)
    place = np.repeat(np.arange(60), 6)
    given = np.where(rng.random(360) < 0.3 + 0.4 * (place % 2), "yes", "no")
    answer = 5.0 * (place % 2) + (given == "yes") + rng.normal(size=360)
    X = pd.DataFrame({"place": place, "given": given, "answer": answer})
    inside = icdh.effect(X, "given", "answer", [], within="place")
    dummies = [(place == k) * 1.0 for k in range(1, 60)]
    assert inside.difference == pytest.approx(slope_of(answer, given == "yes", *dummies))
    assert inside.contrast == ("no", "yes")


# Invariances.


@pytest.mark.parametrize("options", [{"groups": 1}, {"within": [1]}, {"sample_weight": 1}, {"groups": (1, 3)}])
def test_columns_keep_their_numbers_where_one_is_no_variable(options):
    X, units = doses(), np.arange(400) % 80 + 1.0
    table = np.column_stack([X[:, 0], units, X[:, 1], units // 2, X[:, 2]])
    frame = pd.DataFrame(table, columns=["age", "a", "dose", "b", "answer"])
    answer, named = icdh.effect(table, 2, 4, [0], **options), {1: "a", 3: "b"}
    of_frame = {key: "a" if of == 1 else type(of)(named[column] for column in of) for key, of in options.items()}
    assert answer.interval == icdh.effect(frame, "dose", "answer", ["age"], **of_frame).interval
    assert (answer.cause, answer.effect, answer.adjusted) == (2, 4, (0,))
    with pytest.raises(ValueError, match="column 1 of X holds groups, units or weights of rows"):
        icdh.effect(table, 2, 4, [1], **options)


def test_the_order_of_rows_changes_no_slope():
    X, groups = doses(), np.arange(400) // 4
    there, back = (icdh.effect(X[::step], 1, 2, [0], groups=groups[::step]) for step in (1, -1))
    assert there.lower == pytest.approx(back.lower, rel=1e-9)


@pytest.mark.parametrize("related", ["nothing", "groups", "within"])
def test_of_equal_rows_neither_order_nor_what_is_not_asked_about_changes_anything(related):
    """Rows are put into folds by their content: the columns of the question, and the units that they are of."""
    rng = np.random.default_rng(3)
    grade, other = rng.integers(0, 4, size=(2, 293))
    units, dose = rng.integers(0, 60, size=293), (rng.random(293) < 0.3 + 0.1 * grade) * 1.0
    answer = (rng.random(293) < 0.2 + 0.1 * dose + 0.1 * grade) * 1.0
    X = pd.DataFrame({"dose": dose, "answer": answer, "other": other, "grade": grade})

    def numbers(X, units, adjust=("grade", "other")):
        known = {"nothing": {}, "groups": {"groups": units}, "within": {"within": {"unit": units.tolist()}}}[related]
        answer = icdh.effect(X, "dose", "answer", list(adjust), **known)
        return [answer.estimate, answer.lower, answer.robustness_value, *answer.effective_rows.values()]

    first, order = numbers(X, units), np.random.default_rng(0).permutation(len(X))
    assert numbers(X.iloc[order], units[order]) == pytest.approx(first, rel=1e-9)
    assert numbers(X[X.columns[::-1]], units, ["other", "grade"]) == pytest.approx(first, rel=1e-9)
    further = X.assign(further=np.where(order % 3, order % 2, np.nan))
    assert numbers(further.iloc[order, ::-1], units[order]) == pytest.approx(first, rel=1e-9)


@pytest.mark.parametrize("unit", [1e-40, 1000.0, 1e40])
@pytest.mark.parametrize("of_number", [False, True])
def test_units_names_and_the_order_of_columns_change_nothing_else(unit, of_number):
    table = pd.DataFrame(doses() if of_number else confounded(), columns=COLUMNS)
    answer, shift = icdh.effect(table, "dose", "answer", ["age"]), 5.0 if unit == 1000.0 else 0.0
    other = table[["answer", "age", "dose"]].assign(answer=unit * table.answer + shift, age=table.age / 7.0)
    again = icdh.effect(other, "dose", "answer", ["age"])
    assert [again.estimate / unit, again.lower / unit] == pytest.approx([answer.estimate, answer.lower])
    assert again.robustness_value == pytest.approx(answer.robustness_value)
    if of_number:
        again = icdh.effect(table.assign(dose=unit * table.dose + shift), "dose", "answer", ["age"])
        assert [again.estimate * unit, again.upper * unit] == pytest.approx([answer.estimate, answer.upper])
        np.testing.assert_allclose(again.curve.change, answer.curve.change, rtol=1e-6)


@pytest.mark.parametrize("balanced", [False, True])  # of as many zeros as ones the effect decides which is which
@pytest.mark.parametrize(("cause", "effect"), list(product(("arm", "dose"), ("answer", "died"))))
def test_signs_and_codes_change_nothing_but_the_sign(cause, effect, balanced):
    rng = np.random.default_rng(4)
    age, dose, noise = rng.normal(size=(3, 410))
    arm = rng.permutation(np.arange(410) % 2) * 1.0 if balanced else (rng.random(410) < 0.4 + 0.2 * (age > 0.5)) * 1.0
    table = pd.DataFrame({"age": age, "arm": arm, "dose": dose + age + np.exp(dose), "sex": (noise > age) * 1.0})
    table["answer"] = table[cause] + age**2 + table.sex + noise
    table["died"] = (table.answer > 1.5) * 1.0
    table["town"] = rng.choice([1.0, 2.0, 3.0], p=[0.5, 0.3, 0.2], size=410)
    others = {
        "effect": table.assign(**{effect: -table[effect]}),
        "cause": table.assign(**{cause: 1.0 - table[cause]}),
        "covariates": table.assign(age=3.0 - 5.0 * age, sex=np.where(table.sex > 0.0, "F", "M"), town=5.0 - table.town),
    }

    def numbers(table, sign=1.0):
        answer = icdh.effect(table, cause, effect, ["age", "sex", "town"], kinds={"town": "categorical"})
        return [sign * answer.estimate, *sorted([sign * answer.lower, sign * answer.upper]), answer.robustness_value]

    first = numbers(table)
    for of, other in others.items():
        assert numbers(other, 1.0 if of == "covariates" else -1.0) == pytest.approx(first, rel=1e-6), of


def test_codes_follow_how_often_values_occur():
    np.testing.assert_array_equal(by_frequency(np.array([5.0, 1.0, 1.0, 2.0, 2.0, 2.0])), [0, 1, 1, 2, 2, 2])
    for column in ([0.0, 0.0, 1.0], [0.0, 1.0, 5.0], [0.0, 0.0, 3.0, 3.0, 3.5, 4.0]):
        column = np.array(column)
        np.testing.assert_array_equal(oriented(-column), oriented(column))
    other, half = np.array([1.0, 2.0, 3.0, 5.0]), np.array([0.0, 1.0, 0.0, 1.0])
    np.testing.assert_array_equal(oriented(-half, other), oriented(half, other))


def test_groups_of_one_row_are_no_groups(table, answer):
    alone = icdh.effect(table, "dose", "answer", ["age"], groups=np.arange(len(table)))
    assert (alone.estimate, alone.lower) == (answer.estimate, answer.lower)


@pytest.mark.parametrize("draw", [confounded, doses])
def test_rows_given_twice_with_their_groups_say_no_more_than_once(draw):
    table = pd.DataFrame(draw(n=1000), columns=COLUMNS)
    twice, answer = pd.concat([table, table], ignore_index=True), icdh.effect(table, "dose", "answer", ["age"])
    with pytest.warns(DataWarning, match="rows hold .* different ones.*copies make edges and intervals too certain"):
        alone = icdh.effect(twice, "dose", "answer", ["age"])
    grouped = icdh.effect(twice, "dose", "answer", ["age"], groups=np.tile(np.arange(len(table)), 2))
    assert width(grouped) == pytest.approx(width(answer), rel=0.1)
    assert width(alone) < 0.8 * width(grouped)


def test_the_other_way_round_is_the_negative(table):
    there, back = (icdh.effect(table[:493], "dose", "answer", ["age"], contrast=ends) for ends in ((0, 1), (1, 0)))
    assert [back.estimate, back.lower] == pytest.approx([-there.estimate, -there.upper], rel=1e-6)


@pytest.mark.slow
def test_covariates_that_tell_who_a_person_is_do_not_act_together():
    """Splines of two covariates multiplied knew the persons: wages of unions were -0.14 [-0.46, 0.19] for 0.07."""
    for seed in range(4):
        rng, who = np.random.default_rng(seed), np.arange(200).repeat(7)
        school, work = (
            rng.integers(8, 18, size=200)[who],
            rng.integers(1, 40, size=200)[who] + np.tile(np.arange(7), 200),
        )
        union = (rng.random(200) < 0.35)[who] ^ (rng.random(who.size) < 0.1)
        wage = 0.1 * union + 0.06 * school + 0.02 * work
        wage += rng.normal(0.0, 0.3, size=200)[who] + rng.normal(0.0, 0.2, size=who.size)
        table = np.column_stack([union, school, work, wage])
        answer = icdh.effect(table, 0, 3, [1, 2], groups=who)  # no warning
        assert answer.lower < 0.1 < answer.upper < answer.lower + 0.2


# Rare events.


def events(*arms):
    """A cause and an effect of two values: events and rows of each arm."""
    return np.array([(arm, k < cases) for arm, (cases, rows) in enumerate(arms) for k in range(rows)], dtype=float)


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")  # of an arm of fewer than 20
def test_a_few_events_in_a_small_arm_are_not_extrapolated():
    """Some 24 of 800 are treated, and one or two of them have the event; a free fit to them erred by up to 1.1."""
    held, errors = 0, []
    for seed in range(40, 70):
        rng = np.random.default_rng(seed)
        age, treated = rng.normal(size=800), (rng.random(800) < 0.03) * 1.0
        died = (rng.random(800) < 0.02 + 0.05 * treated) * 1.0
        answer = icdh.effect(np.column_stack([age, treated, died]), 1, 2, [0])
        held += answer.lower < 0.05 < answer.upper
        errors.append(answer.estimate - 0.05)
    assert held >= 27
    assert max(map(abs, errors)) < 0.2


def test_an_arm_without_events_has_the_interval_of_agresti_and_caffo():
    answer = icdh.effect(events((169, 1606), (0, 23)), 0, 1, [])
    p, n = np.array([170, 1]) / np.array([1608, 25]), np.array([1608, 25])
    reach = student.ppf(0.975, 22) * np.sqrt(np.sum(p * (1.0 - p) / n))
    assert answer.estimate == pytest.approx(-169 / 1606)
    np.testing.assert_allclose([answer.lower, answer.upper], [-0.0657 - reach, -0.0657 + reach], atol=0.002)
    assert answer.upper > 0.0  # Fisher's exact test has p = 0.16
    other = icdh.effect(1.0 - events((169, 1606), (0, 23)), 0, 1, [], contrast=(1, 0))
    assert [-other.upper, -other.lower] == pytest.approx([answer.lower, answer.upper], rel=1e-6)


def test_an_arm_with_many_events_has_welchs_interval_and_none_goes_beyond_the_possible():
    X = events((300, 1000), (120, 1000))
    answer = icdh.effect(X, 0, 1, [])
    welch = ttest_ind(X[1000:, 1], X[:1000, 1], equal_var=False).confidence_interval(0.95)
    np.testing.assert_allclose([answer.lower, answer.upper], welch, atol=0.01 * width(answer))
    assert icdh.effect(events((0, 25), (25, 25)), 0, 1, []).upper == pytest.approx(1.0)


def test_rare_rows_that_were_sampled_more_often_are_as_precise_as_they_are():
    """Weighed back, they count for few rows by Kish, but for as many events as there are."""
    rng = np.random.default_rng(0)
    cause = rng.random(60_000) < 0.5
    event = rng.random(60_000) < np.where(cause, 0.01, 0.02)
    chance = np.where(event, 0.9, 0.05)
    kept = rng.random(60_000) < chance
    X, weights = np.column_stack([cause, event])[kept].astype(float), 1.0 / chance[kept]
    answer, variance = icdh.effect(X, 0, 1, [], sample_weight=weights), 0.0
    for value in (0.0, 1.0):
        y, w = X[X[:, 0] == value, 1], weights[X[:, 0] == value]
        variance += np.sum(np.square(w * (y - np.average(y, weights=w)))) / w.sum() ** 2
    assert answer.upper - answer.lower == pytest.approx(2.0 * 1.96 * np.sqrt(variance), rel=0.02)  # once a quarter more


def test_persons_given_twice_are_no_more_rows_without_events():
    once, groups = events((20, 200), (0, 30)), np.tile(np.arange(230), 2)
    answers = icdh.effect(once, 0, 1, []), icdh.effect(np.concatenate([once] * 2), 0, 1, [], groups=groups)
    assert width(answers[1]) == pytest.approx(width(answers[0]), rel=0.01)


# Weights of rows.


@pytest.mark.parametrize("draw", [confounded, doses])
def test_equal_weights_are_none_and_rows_without_weight_are_left_out(draw):
    X = draw()
    answer, n = icdh.effect(X, 1, 2, [0]), len(X)
    equal = icdh.effect(X, 1, 2, [0], sample_weight=np.full(n, 3.0))
    assert (equal.interval, equal.estimand) == (answer.interval, answer.estimand)
    more = np.concatenate([X, X[:40] + 100.0])
    left_out = icdh.effect(more, 1, 2, [0], sample_weight=[1.0] * n + [0.0] * 40)
    assert left_out.n_rows == n
    assert [left_out.estimate, left_out.upper] == [answer.estimate, answer.upper]


def test_labels_are_those_of_rows_with_weight():
    """The most frequent label is what others are compared with."""
    X = pd.DataFrame({"drug": list("aaabbbbccc") * 20, "answer": np.random.default_rng(0).normal(size=200)})
    more = pd.concat([X, pd.DataFrame({"drug": ["c"] * 29 + ["d"], "answer": 5.0})], ignore_index=True)
    kept, left_out = icdh.effect(X, 0, 1, []), icdh.effect(more, 0, 1, [], sample_weight=[1.0] * 200 + [0.0] * 30)
    assert [each.contrast for each in (left_out, *left_out.others)] == [("b", "a"), ("b", "c")]
    assert left_out.records() == kept.records()


@pytest.mark.parametrize("draw", [confounded, doses])
@pytest.mark.parametrize("adjust", [[], [0]])
def test_a_row_of_weight_three_is_three_copies_in_one_group(draw, adjust):
    X, copies = draw(n=600), np.random.default_rng(1).integers(1, 4, size=600)
    weighted = icdh.effect(X, 1, 2, adjust, sample_weight=copies)
    row = np.repeat(np.arange(600), copies)
    copied = icdh.effect(X[row], 1, 2, adjust, groups=row)
    assert weighted.unadjusted == pytest.approx(copied.unadjusted)
    tolerance = (0.1 if adjust else 0.01) * width(weighted)  # folds differ
    for name in ("estimate", "lower", "upper"):
        assert getattr(weighted, name) == pytest.approx(getattr(copied, name), abs=tolerance)
    assert weighted.scale == pytest.approx(copied.scale, rel=0.2 if adjust else 0.01)


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@pytest.mark.parametrize("draw", [confounded, doses])
@pytest.mark.parametrize("adjust", [[], [0]])
@pytest.mark.parametrize("in_groups", [False, True])
def test_a_row_of_frequency_three_is_three_rows(draw, adjust, in_groups):
    X, counts = draw(n=300), np.random.default_rng(1).integers(0, 4, size=300)
    row = np.repeat(np.arange(300), counts)
    groups, of_copies = (row // 3, np.arange(300) // 3) if in_groups else (None, None)
    counted = icdh.effect(X, 1, 2, adjust, sample_weight=counts, weights="frequency", groups=of_copies)
    copied = icdh.effect(X[row], 1, 2, adjust, groups=groups)
    assert counted.n_rows == row.size
    for name in ("interval", "estimand", "unadjusted", "effective_rows", "strongest"):
        assert getattr(counted, name) == getattr(copied, name)
    are_copies = [any("hold" in note and "different ones" in note for note in each.notes) for each in (counted, copied)]
    assert not are_copies[0]
    assert are_copies[1] or in_groups or not adjust


def test_four_cells_are_a_table_of_counts():
    cells, counts = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [40, 20, 25, 55]
    answer = icdh.effect(cells, 0, 1, [], sample_weight=counts, weights="frequency")
    rows = np.repeat(cells, counts, axis=0)
    assert answer.records() == icdh.effect(rows, 0, 1, []).records()
    assert answer.estimate == pytest.approx(55 / 80 - 20 / 60)
    with pytest.raises(ValueError, match="X stands for 8 rows; at least 10 are needed"):
        icdh.effect(cells, 0, 1, [], sample_weight=[2, 2, 2, 2], weights="frequency")
    with pytest.raises(ValueError, match="weights is 'frequency', but there are none; pass sample_weight"):
        icdh.effect(rows, 0, 1, [], weights="frequency")
    with pytest.raises(ValueError, match=r"holds 0\.5; frequency weights are whole numbers"):
        icdh.effect(cells, 0, 1, [], sample_weight=[40, 20, 25, 0.5], weights="frequency")


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
def test_whole_weights_without_an_answer_may_be_frequencies():
    cells = np.array([[a, b, c] for a in range(4) for b in (0, 1) for c in (0, 1)])
    counts = np.arange(16) * 10.0 + 3.0
    answers = [icdh.effect(cells, 1, 2, [0], kinds={0: "categorical"}, sample_weight=w) for w in (counts, counts / 4)]
    said = ["say that they are frequencies" in " ".join(answer.notes) for answer in answers]
    assert said == [True, False]
    assert np.isnan([answer.estimate for answer in answers]).all()


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("within", [None, {"unit": [k // 10 for k in range(400)]}])
def test_a_slope_is_that_of_least_squares_with_its_robust_error(within, is_weighted):
    X, weights = doses(), np.random.default_rng(2).gamma(2.0, size=400) if is_weighted else np.ones(400)
    units = [] if within is None else [(np.arange(400) // 10 == k) * 1.0 for k in range(1, 40)]
    root = np.sqrt(weights)
    design = root[:, np.newaxis] * np.column_stack([X[:, 1], *units, np.ones(400)])
    inverse = np.linalg.inv(design.T @ design)
    slopes = inverse @ design.T @ (root * X[:, 2])
    answer = icdh.effect(X, 1, 2, [], sample_weight=weights if is_weighted else None, within=within)
    assert answer.per_unit == pytest.approx(slopes[0])
    if within is None:
        leverage = ((design @ inverse) * design).sum(axis=1)
        score = (design @ inverse[0]) * (root * X[:, 2] - design @ slopes) / (1.0 - leverage)
        reach = student.ppf(0.975, answer.effective_rows["all"]) * np.sqrt(np.square(score).sum())  # HC3
        assert width(answer) == pytest.approx(2.0 * reach, rel=0.01)


def test_intervals_of_few_rows_and_many_covariates_are_no_shorter_than_those_of_least_squares():
    ratios = []
    for seed in range(4):
        noise = np.random.default_rng(seed).normal(size=(10, 150))
        w, dose = noise[:8], 0.3 * noise[:8].sum(axis=0) + noise[8]
        X = np.column_stack([*w, dose, 0.5 * dose + w.sum(axis=0) + noise[9]])
        design = np.column_stack([dose, *w, np.ones(150)])
        left = X[:, 9] - design @ np.linalg.lstsq(design, X[:, 9], rcond=None)[0]
        error = np.sqrt(left @ left / 140.0 * np.linalg.inv(design.T @ design)[0, 0])
        ratios.append(width(icdh.effect(X, 8, 9, [*range(8)])) / (2.0 * student.ppf(0.975, 140) * error))
    assert 1.0 < np.mean(ratios) < 1.4


@pytest.mark.parametrize("is_treatment", [False, True])
def test_weights_undo_unequal_sampling(is_treatment):
    """The effect is one on average; rows of a large one are sampled more often."""
    rng = np.random.default_rng(4)
    w, more, noise, chance = rng.normal(size=(4, 20_000))
    cause = ((0.5 * w + chance > 0.0) * 1.0) if is_treatment else 0.5 * w + chance
    y = cause * (1.0 + more) + w + noise
    shares = 0.1 + 0.6 / (1.0 + np.exp(-2.0 * more))
    rows = rng.random(20_000) < shares
    table = np.column_stack([w, more, cause, y, 1.0 / shares])[rows]
    weighted, plain = icdh.effect(table, 2, 3, [0, 1], sample_weight=4), icdh.effect(table[:, :4], 2, 3, [0, 1])
    assert "by weight" in weighted.estimand
    assert weighted.lower < 1.0 < weighted.upper
    assert plain.lower > 1.1
    given = icdh.effect(table[:, :4], 2, 3, [0, 1], sample_weight=table[:, 4])
    assert given.interval == weighted.interval


# How often intervals hold the truth; tables of 300 rows.


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::icdh.DataWarning")  # of 300 rows a few may lack counterparts
@pytest.mark.parametrize(("draw", "truth"), [(confounded, 1.0), (doses, 0.5)])
def test_intervals_cover_the_truth(draw, truth):
    answers = [icdh.effect(draw(seed, 300), 1, 2, [0]) for seed in range(40)]
    assert sum(answer.lower < truth < answer.upper for answer in answers) >= 33
    assert not any(answer.lower < answer.unadjusted < answer.upper for answer in answers)
    assert np.mean([answer.estimate for answer in answers]) == pytest.approx(truth, abs=0.1)
    assert min(answer.target_share for answer in answers) > 0.8
    assert sum(bool(answer.notes) for answer in answers) <= 10


# Rows without counterparts.


def test_one_row_of_a_rare_cause_does_not_decide():
    """By its probability it would count for 150 of 500 rows: the interval was [-0.92, 1.77]."""
    shifts, widths = [], []
    for seed, folds in product((5, 6), range(4)):
        rows = confounded(seed, 500, share=1.5)
        without, answer = (
            icdh.effect(pd.DataFrame(of, columns=COLUMNS), "dose", "answer", adjust=["age"], random_state=folds)
            for of in (rows, np.vstack([rows, [3.3, 0.0, 11.0]]))
        )
        assert answer.target_share == 1.0
        assert answer.lower < 1.0 < answer.upper
        shifts.append(abs(answer.estimate - without.estimate))
        widths.append(answer.upper - answer.lower)
    assert np.mean(shifts) < 0.3
    assert np.mean(widths) < 1.0


@pytest.mark.filterwarnings("ignore:some rows hardly ever")
@pytest.mark.parametrize("seed", [5, 10])
def test_the_seed_of_folds_does_not_decide_which_rows_an_answer_is_about(seed):
    """It decided a penalty, by halves: 92 or all of 100 rows, and 81 or all, had counterparts."""
    table = pd.DataFrame(confounded(seed, 500, share=1.5), columns=COLUMNS)
    answers = [icdh.effect(table, "dose", "answer", ["age"], random_state=fold) for fold in range(4)]
    assert np.ptp([answer.target_share for answer in answers]) < 0.02


def test_rows_without_counterparts_are_left_out_and_said():
    rng = np.random.default_rng(0)
    w = rng.normal(size=3000)
    given = (rng.random(3000) < 1.0 / (1.0 + np.exp(5.0 - 1.5 * w))) * 1.0
    X = np.column_stack([w, given, given * (1.0 + w) + w + rng.normal(size=3000)])
    with pytest.warns(DataWarning, match="that have counterparts") as caught:
        answer = icdh.effect(X, 1, 2, [0])
    assert caught[0].filename == __file__
    assert 0.1 < answer.target_share < 0.6
    assert f"of the {100 * answer.target_share:.0f} % that have counterparts" in answer.estimand
    assert answer.bounds[0] < 1.0 < answer.bounds[1]
    assert answer.bounds[0] < answer.lower < answer.upper < answer.bounds[1]


@pytest.mark.parametrize("target", ["all", "treated"])
def test_a_cause_that_covariates_determine_has_no_counterparts(target):
    """All weights are alike then, so that no row seems to lack one."""
    rng = np.random.default_rng(0)
    a, b, level = rng.integers(0, 2, 400), rng.integers(0, 2, 400), rng.integers(0, 4, 400)
    y = 3.0 * a + rng.normal(size=400)
    for cause, *covariates in ((a, a), (1 - a, a), (a ^ b, a, b), (a | b, a, b), (level >= 2, level)):
        names = [f"x{k}" for k in range(len(covariates))]
        table = pd.DataFrame({"cause": cause * 1, **dict(zip(names, covariates, strict=True)), "y": y})
        with pytest.warns(DataWarning, match="covariates determine the cause"):
            answer = icdh.effect(table, "cause", "y", adjust=names, target=target)
        assert np.isnan(answer.estimate)
        assert set(answer.effective_rows.values()) == {0.0}


@pytest.mark.parametrize("target", ["all", "treated"])
def test_without_overlap_there_is_no_number(target):
    rng = np.random.default_rng(0)
    severity = rng.random(1000)
    given = (severity > 0.5) * 1.0
    X = np.column_stack([severity, given, 30.0 * severity - 10.0 * given + rng.normal(size=1000)])
    with pytest.warns(DataWarning, match="no answer"):
        answer = icdh.effect(X, 1, 2, [0], target=target)
    assert np.isnan([answer.estimate, answer.lower, answer.robustness_value]).all()
    assert "no answer" in answer.summary()
    assert json.loads(json.dumps(answer.to_dict()))["estimate"] is None
    assert (answer.bounds is None) == (target == "treated")
    assert answer.bounds is None or answer.bounds[0] < 0.0 < answer.bounds[1]
    answer.plot()


@pytest.mark.parametrize("adjust", [[], [0]])
def test_one_group_with_a_value_says_nothing_and_two_do(adjust):
    rng = np.random.default_rng(0)
    w, noise, place = rng.normal(size=300), rng.normal(size=300), np.arange(300) // 10
    for treated in ([3], [3, 4]):
        given = np.isin(place, treated) * 1.0
        with pytest.warns(DataWarning, match="no answer" if len(treated) == 1 else "rests on few groups"):
            answer = icdh.effect(np.column_stack([w, given, given + w + noise]), 1, 2, adjust, groups=place)
        assert np.isnan(answer.estimate) == (len(treated) == 1)


def test_cut_by_crump_minimises_the_variance_of_the_mean():
    """Twice the mean of 1 / (p (1 - p)) of the rows that are kept is the largest that is kept (Crump et al., 2009)."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1, 2000))
    given = (rng.random(2000) < 1.0 / (1.0 + np.exp(-3.0 * x[0]))) * 1.0
    asked = Difference(Sample(rng.normal(size=2000), given, x, (False,), np.ones(2000)), (0.0, 1.0))
    kept, p = asked._counterparts(), asked._fits[0]
    variance = 1.0 / (p[0] * p[1])
    assert 0.3 < kept.mean() < 0.9
    assert variance[kept].max() == pytest.approx(2.0 * variance[kept].mean(), rel=0.02)
    assert variance[kept].max() < variance[~kept].min()
    assert kept.sum() == 1 + np.argmin(np.cumsum(np.sort(variance)) / np.arange(1, 2001) ** 2)


def test_a_cause_that_does_not_vary_within_units_has_no_answer(table):
    with pytest.warns(DataWarning, match="units determine the cause"):
        assert np.isnan(icdh.effect(table, "dose", "answer", ["age"], within={"row": list(range(500))}).estimate)


@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_a_number_that_its_covariates_determine_has_no_answer(noise):
    age, more, rest = np.random.default_rng(0).normal(size=(3, 300))
    dose = 2.0 * age + noise * more
    message = "there is no answer" if noise == 0.0 else "little is left to compare"
    with pytest.warns(DataWarning, match=message):
        answer = icdh.effect(np.column_stack([age, dose, dose + rest]), 1, 2, [0])
    assert np.isnan(answer.estimate) == (noise == 0.0)


@pytest.mark.parametrize(("n", "further"), [(1500, 0), (400, 2)])
def test_jumps_in_several_covariates_are_noticed(n, further):
    rng = np.random.default_rng(0)
    w, noise = rng.normal(size=(2 + further, n)), rng.normal(size=(2, n))
    jump, covariates = 2.0 * ((w[0] > 0.0) & (w[1] > 0.0)), list(range(2 + further))
    dose = jump + noise[0]
    X = np.column_stack([*w, dose, 0.5 * dose + 2.0 * jump + noise[1]])
    with pytest.warns(DataWarning):
        answer = icdh.effect(X, 2 + further, 3 + further, covariates)
    assert "a form that splines miss" in answer.notes[-1]
    smooth = w.sum(axis=0) + w[0] * w[1]
    X = np.column_stack([*w, smooth + noise[0], smooth + noise[1]])
    icdh.effect(X, 2 + further, 3 + further, covariates)  # a warning would be an error


def test_two_covariates_that_act_together_in_a_curve_have_their_tensor_product():
    rng = np.random.default_rng(0)
    w, noise = rng.normal(size=(2, 1500)), rng.normal(size=(2, 1500))
    together = 2.0 * np.tanh(w.sum(axis=0)) * w[0]
    dose = together + noise[0]
    X = np.column_stack([*w, dose, 0.5 * dose + 2.0 * together + noise[1]])
    with pytest.warns(DataWarning, match="act on the cause together, in curves"):
        answer = icdh.effect(X, 2, 3, [0, 1])
    assert answer.lower < 0.5 < answer.upper
    plain = Sample(X[:, 3], dose, w, (False, False), np.ones(1500))
    assert plain.is_tensor
    object.__setattr__(plain, "is_tensor", False)
    assert Slope(plain).estimate().value > 0.5 + 0.5 * width(answer)


# Hidden causes.


@pytest.mark.parametrize("of_number", [False, True])
def test_a_hidden_cause_of_known_strength_moves_the_estimate_no_further(of_number):
    rng = np.random.default_rng(5)
    w, hidden, noise = rng.normal(size=(3, 20_000))
    cause = 0.4 * hidden + 0.5 * w + rng.normal(size=w.size)
    cause = cause if of_number else (cause > 0.0) * 1.0
    y = cause + 0.5 * hidden + w + noise
    short, long = (icdh.effect(np.column_stack([cause, y, w, hidden]), 0, 1, adjust) for adjust in ([2], [2, 3]))
    moved = short.estimate - long.estimate
    if of_number:  # the bound is reached where all is linear
        design = np.column_stack([cause, w, np.ones(y.size)])
        left, rest = (column - design @ np.linalg.lstsq(design, column, rcond=None)[0] for column in (y, hidden))
        r_y, r_d = np.corrcoef(left, rest)[0, 1] ** 2, 0.4**2 / 1.16
        assert moved == pytest.approx(short.scale * np.sqrt(r_y * r_d / (1.0 - r_d)), rel=0.05)
        assert (long.strongest.name, long.strongest.of_cause) == ("x3", pytest.approx(r_d, abs=0.02))
    assert 0.0 < moved < short.estimate


def test_the_robustness_value_brings_the_estimate_to_zero():
    r = robustness_value(2.0, 5.0)
    assert 5.0 * np.sqrt(r * r / (1.0 - r)) == pytest.approx(2.0)
    assert (robustness_value(0.0, 5.0), robustness_value(1.0, 0.0)) == (0.0, 1.0)
    k = multiple_of(0.1, 0.2, 0.7, 5.0)
    assert 5.0 * np.sqrt(k * 0.1 * k * 0.2 / (1.0 - k * 0.2)) == pytest.approx(0.7)
    assert multiple_of(0.2, 0.1, 70.0, 5.0) == multiple_of(0.0, 0.0, 1.0, 5.0) == np.inf


def test_the_strongest_covariate_is_named():
    rng = np.random.default_rng(6)
    weak, strong, noise = rng.normal(size=(3, 1000))
    dose = 0.3 * weak + strong + rng.normal(size=1000)
    X = pd.DataFrame({"weak": weak, "strong": strong, "dose": dose, "y": dose + 0.3 * weak + strong + noise})
    answer = icdh.effect(X, "dose", "y", ["weak", "strong"])
    assert answer.strongest.name == "strong"
    assert answer.strongest.of_cause == pytest.approx(0.5, abs=0.05)
    assert "times as strong as strong" in answer.summary()
    assert 0.0 < answer.robustness_value_interval < answer.robustness_value < 1.0


# Graphs.


def test_no_path_is_no_estimate(table):
    X = table.assign(noise=np.random.default_rng(8).normal(size=len(table)))
    tiers = {"tiers": [["age"], ["dose", "noise"], ["answer"]]}
    model = HNMSearch(knowledge=tiers, kinds={"dose": "binary"}).fit(X)
    with pytest.raises(ValueError, match="not evidence of no effect"):
        icdh.effect(X, "noise", "answer", model=model)
    with pytest.raises(ValueError, match=r"no path from 'answer' to 'dose' \(it has one from 'dose'"):
        icdh.effect(X, "answer", "dose", model=model)
    by_graph = icdh.effect(X, "dose", "answer", model=model)
    assert by_graph.adjusted == ("age",)
    assert by_graph.estimate == pytest.approx(1.0, abs=0.4)
    with pytest.raises(TypeError, match=r"a model keeps no rows.*average_effect"):
        icdh.effect(model, "dose", "answer")


def test_what_a_model_holds_as_labels_are_labels(tmp_path, printed):
    rng = np.random.default_rng(0)
    code = rng.choice([1.0, 2.0, 3.0], size=300)
    X = pd.DataFrame({"code": code, "y": np.array([0.0, 2.0, 0.5])[code.astype(int) - 1] + rng.normal(size=300)})
    model = HNMSearch(kinds={"code": "categorical"}, knowledge={"roots": ["code"]}).fit(X)
    answer = icdh.effect(X, "code", "y", model=model)
    declared = icdh.effect(X, "code", "y", [], kinds={"code": "categorical"})
    assert (answer.estimate, len(answer.others)) == (declared.estimate, 1)
    model.save(tmp_path / "m.icdh")
    X.to_csv(tmp_path / "x.csv", index=False)
    question = ("--cause", "code", "--effect", "y", "--json", "--quiet")
    assert len(json.loads(printed("effects", tmp_path / "m.icdh", tmp_path / "x.csv", *question))["others"]) == 1


@cases(
    ("edges", "expected"),
    ([(0, 1), (0, 2), (1, 2)], [0]),  # a common cause
    ([(1, 3), (3, 2), (0, 3)], [0]),  # a cause of a mediator, which is no covariate itself
    ([(0, 1), (1, 2)], []),  # a cause of the cause alone
    ([(1, 2), (1, 3), (2, 3)], []),  # a common effect
)
def test_the_covariates_that_a_graph_asks_for(edges, expected):
    graph = np.zeros((4, 4))
    graph[tuple(np.transpose(edges))] = 1.0
    assert adjustment_set(graph, 1, 2) == expected


def test_covariates_that_come_after_the_cause_are_said():
    rng = np.random.default_rng(9)
    dose, noise = rng.integers(0, 2, size=600).astype(float), rng.normal(size=(3, 600))
    level = 2.0 * dose + noise[0]
    answer = level + noise[1]
    X = pd.DataFrame({"dose": dose, "level": level, "answer": answer, "mood": answer + dose + noise[2]})
    model = HNMSearch(knowledge={"tiers": [[name] for name in X]}, kinds={"dose": "binary"}).fit(X)
    with pytest.warns(DataWarning):
        notes = icdh.effect(X, "dose", "answer", ["level", "mood"], model=model).notes
    assert any("after dose by the graph come level, mood" in note for note in notes)
    by_word = icdh.effect(X, "dose", "answer", [], model=model)
    with pytest.warns(DataWarning, match="does not adjust for level, mood"):
        by_graph = icdh.effect(X, "dose", "answer", "graph", model=model)
    assert (by_graph.adjusted, by_graph.by_graph, by_word.by_graph) == ((), True, False)
    assert by_graph.summary().startswith("dose -> answer, 600 rows, adjusted for nothing, as the graph says\n")
    assert by_word.summary().startswith("dose -> answer, 600 rows, adjusted for nothing\n")


@cases(
    ("function", "is_said"),
    (np.exp, True),
    (lambda answer: answer > 3.0, False),  # it tells a part alone
    (lambda answer: answer + np.random.default_rng(1).normal(size=answer.size), False),
)
def test_a_covariate_that_tells_the_effect_alone_is_said(function, is_said):
    """The logarithm of a wage among the covariates of the wage leaves nothing of its effect."""
    age, dose, noise = np.random.default_rng(9).normal(size=(3, 600))
    X = pd.DataFrame({"age": age, "dose": dose + age, "answer": dose + 2.0 * age + noise})
    X["computed"] = function(X["answer"]) * 1.0
    said = "99 % of answer follows from computed alone: if that is computed from it, or comes after dose, leave it out"
    assert (said in notes_of(X, "dose", "answer", ["age", "computed"])) == is_said
    icdh.effect(X, "dose", "answer", ["age"])  # a warning would be an error


def test_covariates_of_later_tiers_are_said_and_not_chosen():
    """The graph has no arrow from the cause to what the tiers place after it; the causes of the cause suffice."""
    dose, other, noise = np.random.default_rng(3).normal(size=(3, 300))
    X = pd.DataFrame({"dose": dose, "other": other, "answer": dose + other + 0.5 * noise})
    known = Knowledge(tiers=[[name] for name in X])
    with pytest.warns(DataWarning, match="after dose by the tiers comes other"):
        named = icdh.effect(X, "dose", "answer", ["other"], knowledge=known)
    chosen = icdh.effect(X, "dose", "answer", knowledge=known)  # a warning would be an error
    assert (named.adjusted, chosen.adjusted) == (("other",), ())
    assert named.lower < 1.0 < named.upper
    assert chosen.lower < 1.0 < chosen.upper
    assert icdh.effect(X, "dose", "answer").adjusted == ("other",)


def test_arrows_from_a_treatment_that_data_hardly_tell_are_said():
    """A covariate that decides on a treatment is taken for an effect of it."""
    rng = np.random.default_rng(0)
    z, a = rng.normal(size=(2, 1000))
    arm = (rng.random(1000) < 1.0 / (1.0 + np.exp(-z - a / 2.0))) * 1.0
    X = pd.DataFrame({"z": z, "a": a, "arm": arm, "y": 2.0 * z + a + arm + rng.normal(size=1000)})
    said = "the graph has arm -> z, and so it does not adjust for z; of a cause with two values or labels"
    assert any(said in note for note in notes_of(X, "arm", "y", kinds={"arm": "binary"}))
    assert not any("hardly tell" in note for note in notes_of(X, "arm", "y", ["z", "a"], kinds={"arm": "binary"}))
    known = {"knowledge": {"tiers": [["z", "a"], ["arm"], ["y"]]}, "kinds": {"arm": "binary"}}
    for adjust, how in (("graph", known), ("posterior", {"kinds": {"arm": "binary"}})):
        answer = icdh.effect(X, "arm", "y", adjust, **how)
        assert answer.lower < 1.0 < answer.upper


@cases(
    ("knowledge", "is_said"),
    ({"forbidden": [("dose", "answer")]}, True),
    ({"required": [("answer", "dose")]}, True),
    ({"tiers": [["dose"], ["answer"]]}, False),
)
def test_knowledge_against_the_question_is_said(knowledge, is_said):
    dose, noise = np.random.default_rng(3).normal(size=(2, 300))
    X = pd.DataFrame({"dose": dose, "other": noise[::-1], "answer": dose + 0.5 * noise})
    notes = notes_of(X, "dose", "answer", ["other"], knowledge=knowledge)
    assert any("what is known rules dose -> answer out" in note for note in notes) == is_said


def test_covariates_that_may_be_codes_are_said():
    """A line through the numbers of fifteen places leaves nearly all that the places differ in."""
    rng = np.random.default_rng(0)
    place = rng.integers(15, size=500)
    level = rng.normal(size=15)[place]
    dose = level + 0.5 * rng.normal(size=500)
    X = pd.DataFrame({"place": place, "dose": dose, "answer": dose + 3.0 * level + rng.normal(size=500)})
    notes = notes_of(X, "dose", "answer", ["place"])
    (note,) = [note for note in notes if "may be codes of persons or places: 'place'" in note]
    assert note.endswith("pass kinds={'place': 'categorical'} or within='place' in place of the covariate")
    answer = icdh.effect(X, "dose", "answer", ["place"], kinds={"place": "categorical"})  # a warning would be an error
    assert answer.lower < 1.0 < answer.upper
    grouped = notes_of(X.assign(unit=place), "dose", "answer", ["place"], groups="unit")  # it is constant in its groups
    assert not any("may be codes" in note for note in grouped)


def test_years_of_school_that_decide_a_degree_are_no_codes():
    rng = np.random.default_rng(1)
    years = rng.binomial(20, 0.55, size=600)
    trained = (rng.random(600) < 0.4) * 1.0
    wage = trained + 0.1 * years + rng.normal(size=600)
    X = pd.DataFrame({"years": years, "degree": (years >= 12) * 1, "trained": trained, "wage": wage})
    assert not any("codes of persons" in note for note in notes_of(X, "trained", "wage", ["years", "degree"]))


REACH = 0.5 * norm.ppf(0.95)


@cases(
    ("shares", "estimate", "lower", "upper", "unanswered"),
    ({"b": 1.0}, 2.0, 2.0 - REACH, 2.0 + REACH, 0.0),
    ({"b": 0.5}, 1.0, 0.0, 2.0 + REACH, 0.0),
    ({"a": 0.04, "b": 0.6, "c": 0.36}, -0.12 + 1.2 + 1.8, 2.0 - REACH, 5.0 + REACH, 0.0),
    ({"b": 0.3, "c": 0.03}, 0.75, 0.0, 2.0 + REACH, 0.0),
    ({"b": 0.04}, 0.08, 0.0, 0.0, 0.0),
    ({"b": 0.4, "none": 0.6}, 2.0, 2.0 - REACH, 2.0 + REACH, 0.6),
    ({"none": 0.5}, *[np.nan] * 3, 0.5),
    ({}, *[0.0] * 3, 0.0),
)
def test_an_average_over_graphs_has_the_hull_of_the_most_probable_intervals(shares, estimate, lower, upper, unanswered):
    def answer(parents):
        value = {"a": -3.0, "b": 2.0, "c": 5.0, "none": np.nan}[parents]
        return Estimate(value, 0.5 + 0.0 * value, 1e9, 1.0, (100.0,), np.zeros(1))

    interval, share = mixture(shares, answer, 0.9)
    assert [*interval, share] == pytest.approx([estimate, lower, upper, unanswered], nan_ok=True)


def test_parents_are_counted_in_graphs_with_a_path():
    chain, turned = np.zeros((2, 3, 3), dtype=bool)
    chain[0, 1] = chain[1, 2] = turned[0, 1] = turned[2, 1] = True
    found = parent_sets(np.stack([chain, turned, chain]), np.array([0.5, 0.3, 0.2]), 1, 2)
    assert found == pytest.approx({(0,): 0.7})


def test_averaged_over_graphs_the_effect_is_that_of_the_sure_graph():
    rng = np.random.default_rng(0)
    age = rng.normal(size=400)
    dose = age + rng.laplace(size=400)
    X = pd.DataFrame({"age": age, "dose": dose, "y": dose + age + rng.laplace(size=400)})
    tiers = Knowledge(tiers=[["age"], ["dose"], ["y"]])
    answer = icdh.effect(X, "dose", "y", "posterior", knowledge=tiers)
    known = icdh.effect(X, "dose", "y", ["age"])
    assert answer.probability_of_effect == pytest.approx(1.0, abs=0.001)
    assert answer.estimate == pytest.approx(known.estimate, abs=0.02)
    assert known.upper - 0.02 < answer.upper < known.upper + 0.25 * width(known)
    assert (answer.adjusted, answer.strongest) == (None, None)
    assert "averaged over graphs" in answer.summary()
    back = icdh.effect(X, "y", "age", "posterior", knowledge=tiers)
    assert (back.estimate, back.lower, back.upper, back.probability_of_effect) == (0.0, 0.0, 0.0, 0.0)
    with pytest.raises(TypeError, match="needs a fitted HNMSearch"):
        icdh.effect(X, "dose", "y", "posterior", model=HNMSearch(knowledge=tiers).fit(X).model_)


def test_the_probability_of_an_effect_is_that_of_a_path_in_the_posterior():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 150))
    X = np.column_stack([a, 0.2 * a + b])
    graphs = icdh.posterior(HNMSearch().fit(X))
    answer = icdh.effect(X, 0, 1, "posterior")
    assert answer.probability_of_effect == pytest.approx(graphs.ancestor_probability[0, 1], rel=1e-9)
    assert 0.05 < answer.probability_of_effect < 0.95


# Rows that depend on one another.


def test_rows_that_are_equal_in_the_columns_of_a_question_alone_are_no_copies(table):
    """Air and way are those of a town: no row of the table occurs twice."""
    town = np.repeat(np.arange(100), 5)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(100, 2))[town], columns=["air", "way"]).assign(price=rng.normal(size=500))
    with pytest.warns(DataWarning, match="as if several rows came from each person or place"):
        icdh.effect(X, "air", "way", [])
    with pytest.warns(DataWarning, match="500 rows hold 100 different ones"):
        icdh.effect(X[["air", "way"]], "air", "way", [])


def test_an_interval_of_rows_in_sequence_is_said_to_be_too_narrow(tmp_path, shown):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 2))
    for t in range(1, 400):
        X[t] += 0.9 * X[t - 1]
    message = "rows depend on those before them, so the interval"
    with pytest.warns(DataWarning, match=message):
        icdh.effect(X, 0, 1, [])
    for quiet in (X[rng.permutation(400)], X[np.argsort(X[:, 1])]):
        icdh.effect(quiet, 0, 1, [])  # a warning would be an error
    with pytest.warns(DataWarning, match="few groups"):
        blocks = icdh.effect(X, 0, 1, [], groups=np.arange(400) // 20)
    with pytest.warns(DataWarning, match="few groups"):
        assert icdh.effect(X, 0, 1, [], sequence=True).interval == blocks.interval
    write_table(tmp_path / "walks.csv", X, ["a", "b"])
    question = ("effects", tmp_path / "walks.csv", "--cause", "a", "--effect", "b", "--adjust", "none")
    for options, beside in ([], False), (["--json"], True):  # once below the answer, or beside JSON too
        code, out, err = shown(*question, *options)
        assert (code, message in out, message in err) == (0, True, beside)


@pytest.mark.parametrize("rows", [7, 10, 20, 40, 50, 100])
def test_firms_of_several_rows_in_a_row_are_noticed(rows):
    """Blocks fill windows of 20 rows, or two of them do; all that the law and the firm have is the firm's."""
    rng = np.random.default_rng(rows)
    firm = np.repeat(np.arange(60), rows)
    law, noise = (rng.random(60) < 0.5)[firm] * 1.0, rng.normal(size=firm.size)
    with pytest.warns(DataWarning, match="rows depend on those before them"):
        icdh.effect(np.column_stack([law, 2.0 * rng.normal(size=60)[firm] + noise]), 0, 1, [])
    icdh.effect(np.column_stack([law, noise]), 0, 1, [])  # a warning would be an error


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@pytest.mark.parametrize("by", ["grade, cause", "cause, place", "effect", "place"])
def test_sorted_rows_are_no_sequence_where_effects_bend(by):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        place = rng.normal(size=600)
        cause = np.tanh(place) + rng.normal(size=600)
        effect = cause + 0.5 * cause**2 + np.sin(2.0 * place) + np.exp(0.3 * cause) * rng.normal(size=600)
        grade, half = np.digitize(place, [-1.0, -0.3, 0.3, 1.0]) * 1.0, (cause > 0.0) * 1.0
        keys = {"grade, cause": (cause, grade), "cause, place": (place, half), "effect": (effect,), "place": (place,)}[
            by
        ]
        beside = grade if by == "grade, cause" else place
        X = np.column_stack([half if by == "cause, place" else cause, effect, beside])[np.lexsort(keys)]
        answer = icdh.effect(X, 0, 1, [2])
        assert not [note for note in answer.notes if "before them" in note]


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@pytest.mark.parametrize("share", [0.02, 0.5])
def test_a_treatment_that_a_file_is_sorted_by_names_no_persons(share):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        treated = np.sort(rng.random(4000) < share) * 1.0
        before = np.where(rng.random(4000) < 0.6, 0.0, rng.gamma(2.0, size=4000)) + treated
        after = np.where(rng.random(4000) < 0.5, 0.0, before + rng.gamma(2.0, size=4000))
        answer = icdh.effect(np.column_stack([before, treated, after]), 1, 2, [0] if seed % 2 else [])
        assert all("counterparts" in note for note in answer.notes)


def test_a_covariate_counts_with_its_square():
    """Left out alone neither loses anything: a hidden cause seemed 250 times as strong as either."""
    rng = np.random.default_rng(0)
    age, noise = rng.uniform(20.0, 60.0, size=2000), rng.normal(size=2000)
    treated = (rng.random(2000) < 1.0 / (1.0 + np.exp(-(age - 40.0) / 8.0))) * 1.0
    X = pd.DataFrame({"age": age, "square": age**2, "treated": treated, "y": treated + 0.05 * age + noise})
    alone, both = (icdh.effect(X, "treated", "y", names).strongest for names in (["age"], ["age", "square"]))
    assert both.name == "age"
    assert both.multiple == pytest.approx(alone.multiple, rel=0.05)


def test_possible_codes_of_gaps_are_named_in_columns_that_are_asked_about():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(np.round(rng.uniform(20.0, 80.0, size=(400, 3))), columns=["age", "dose", "mark"])
    X.loc[:9, "mark"] = -999.0
    with pytest.warns(DataWarning, match="-999 in 10 rows of 'mark'"):
        icdh.effect(X, "dose", "mark", ["age"])
    with pytest.raises(ValueError, match="gaps"):
        icdh.effect(X, "dose", "mark", ["age"], missing_values=[-999])
    icdh.effect(X, "dose", "mark", ["age"], missing_values=[])  # a warning would be an error
    icdh.effect(X, "dose", "age", [])


def test_columns_that_nobody_names_need_not_be_readable():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"name": [f"n{k}" for k in range(200)], "dose": rng.normal(size=200), "y": rng.normal(size=200)})
    expected = icdh.effect(X[["dose", "y"]], "dose", "y", [])
    assert icdh.effect(X, "dose", 2, []).estimate == expected.estimate
    with pytest.raises(TypeError, match="'name' of X holds text"):
        icdh.effect(X, "name", "y", [])
    with pytest.raises(TypeError, match="'name' of X holds text"):
        icdh.effect(X, "dose", "y")  # a graph is of all columns


# What is shown, and what is refused.


def test_it_is_shown_and_written(answer):
    text = answer.summary()
    assert str(answer) == text
    assert text in answer._repr_html_().replace("&gt;", ">")
    assert text.startswith("dose -> answer, 500 rows, adjusted for age\nchange of the mean of answer if dose goes")
    record = json.loads(json.dumps(answer.to_dict()))
    assert record["estimate"] == record["difference"] == answer.estimate
    frame = answer.to_frame()
    assert frame.loc[0, ["change", "lower"]].tolist() == ["0 -> 1", answer.lower]
    assert [axes.get_xlabel() for axes in answer.plot().axes] == [
        "effect on answer of dose",
        "share of dose that a hidden cause explains",
    ]
    assert answer.plot().axes[0].get_yticklabels()[0].get_text() == "0 -> 1"
    number = icdh.effect(doses(), "x1", "x2", ["x0"])
    assert number.plot().axes[0].get_ylabel() == "change of x2"
    assert json.loads(json.dumps(number.to_dict()))["curve"]["p_value"] == number.curve.p_value


@cases(
    ("numbers", "text"),
    ((1794.3424, 470.7, 3118.0), "1,794 [471, 3,118]"),
    ((0.51993, 0.47531, 0.56454), "0.5199 [0.4753, 0.5645]"),
    ((2.0,), "2"),
    ((-7.0, -7.0, -7.0), "-7 [-7, -7]"),
    ((3e-20, 1e-20, 5e-20), "3e-20 [1e-20, 5e-20]"),
    ((-6.6, -13.2, -0.023), "-6.6 [-13.2, -0.02]"),
    ((-6.6, -13.2, 0.0), "-6.6 [-13.2, 0.0]"),
)
def test_numbers_have_the_digits_that_their_interval_supports(numbers, text):
    assert str(Interval(*numbers)) == text


def test_contrasts_by_nature():
    skewed = np.concatenate([np.zeros(900), np.full(100, 50.0), np.random.default_rng(0).uniform(size=10)])
    (pair,) = contrasts_of(skewed)
    assert (pair.low, 0.0 < pair.high < 50.0) == (0.0, True)
    labels = Categories(("a", "b", "c"))
    for values, expected in (
        ([np.array([2.0, 5.0, 5.0])], ["2 -> 5"]),
        ([np.arange(5.0)], ["1 -> 3"]),
        ([np.array([0.0] * 50 + [7.0, 9.0])], ["0 -> 7"]),
        ([np.array([0.0, 1.0]), Categories(("Yes", "No"))], ["No -> Yes"]),
        ([np.arange(3.0), labels], ["a -> b", "a -> c"]),
        ([np.arange(3.0), labels, ["c", "b"]], ["c -> b"]),
    ):
        assert [str(own) for own in contrasts_of(*values)] == expected
    references = {("yes", "no"): 1, ("Y", "N"): 1, ("t", "f"): 1, ("M", "F"): 0, ("S", "N"): 0}  # N may be north
    assert {labels: reference_of(Categories(labels)) for labels in references} == references


@cases(
    ("arguments", "message"),
    ({"effect": "dose"}, "both 'dose'"),
    ({"cause": "does"}, "did you mean 'dose'"),
    ({"adjust": ["dose"]}, "adjust has the cause"),
    ({"adjust": "all"}, "adjust, if not a list"),
    ({"adjust": None}, r"adjust must name covariates, none by \[\]"),
    ({"contrast": [1.0]}, "contrast must be a pair"),
    ({"contrast": [1.0, np.inf]}, "contrast must hold two different finite values"),
    ({"contrast": [1.0, 1.0]}, "contrast must hold two different finite values"),
    ({"contrast": [0.0, 7.0]}, "no row has one of the values of contrast, 0 -> 7"),
    ({"cause": "age", "adjust": [], "contrast": [0.0, 99.0]}, "goes beyond the rows"),
    ({"target": "some"}, "target must be one of"),
    ({"cause": "age", "adjust": [], "target": "treated"}, "is a number"),
    ({"level": 1.5}, "level must be above 0 and below 1"),
    ({"groups": [1, 2]}, "groups"),
    ({"sample_weight": "place"}, "sample_weight has the variable 'place'"),
    ({"sample_weight": [1.0, 2.0]}, r"sample_weight must have shape \(500,\), one a row; got \(2,\)"),
    ({"sample_weight": [-1.0] * 500}, "sample_weight holds a negative number in row 0"),
    ({"sample_weight": [1.0] * 9 + [0.0] * 491}, "above zero in at least 10 rows"),
    ({"sample_weight": ["a"] * 500}, "sample_weight has type <U1, not numbers"),
    ({"within": {"unit": [1, 2]}}, "2 labels where X has 500 rows"),
    ({"within": "place"}, "'place', which is not one of"),
)
def test_what_is_refused(table, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        icdh.effect(table, **({"cause": "dose", "effect": "answer", "adjust": ["age"]} | arguments))


def test_gaps_matter_in_the_columns_of_the_question_alone(table, answer):
    gaps = table.assign(other=np.where(np.arange(len(table)) < 9, np.nan, table.age))
    assert icdh.effect(gaps, "dose", "answer", ["age"]).estimate == pytest.approx(answer.estimate)
    with pytest.raises(ValueError, match="9 in 'other'"):
        icdh.effect(gaps, "dose", "answer", ["age", "other"])
    coded = gaps.fillna(-9.0)
    with pytest.raises(ValueError, match=r"or codes of missing_values\) in 9 of 500 rows: 9 in 'other'; leave these"):
        icdh.effect(coded, "dose", "answer", ["age", "other"], missing_values={"other": [-9]})
    assert np.isfinite(icdh.effect(coded[9:], "dose", "answer", ["other"], missing_values={"other": [-9]}).estimate)


def test_text_of_two_labels_may_be_declared_binary():
    table = labelled(200)
    binary = icdh.effect(table, "sex", "survived", [], kinds={"survived": "binary", "sex": "binary"})
    assert binary.estimate == icdh.effect(table, "sex", "survived", []).estimate
    with pytest.raises(ValueError, match="3 different values"):
        icdh.effect(table, "sex", "survived", [], kinds={"colour": "binary"})


def test_constant_and_repeated_covariates_change_nothing(table, answer):
    more = table.assign(one=1.0, again=table.age)
    found = icdh.effect(more, "dose", "answer", ["age", "one"])
    assert (found.estimate, found.adjusted) == (answer.estimate, ("age",))
    again = icdh.effect(more, "dose", "answer", ["age", "again"])
    assert (again.estimate, again.lower, again.adjusted) == (answer.estimate, answer.lower, ("age",))


@pytest.mark.parametrize("n", [12, 40])
def test_few_rows_and_heavy_tails_give_finite_numbers_or_say_so(n):
    rng = np.random.default_rng(n)
    X = rng.standard_cauchy(size=(n, 12))
    X[:, 1] = np.arange(n) % 2
    for cause in (0, 1):
        with pytest.warns(DataWarning):
            answer = icdh.effect(X, cause, 2, list(range(3, 12)))
        assert np.isfinite([answer.estimate, answer.lower, answer.upper]).all() or "answer" in answer.notes[0]


# What covariates tell.


def test_natural_splines_are_linear_beyond_their_knots():
    knots = np.array([-1.0, 0.0, 0.5, 2.0])
    for outside in (np.linspace(-9.0, -1.0, 5), np.linspace(2.0, 9.0, 5)):
        np.testing.assert_allclose(np.diff(natural_spline(outside, knots), n=2, axis=1), 0.0, atol=1e-9)


@cases(("steps", "most"), (0, np.inf), (4, np.inf), (0, 4.0), (4, 4.0), (16, np.inf))
def test_a_ridge_is_the_best_by_cross_validation_or_freer(steps, most):
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(40, 12)), rng.uniform(0.5, 1.5, size=40)
    y = x[:, 0] + 0.5 * x[:, 1] + 0.3 * rng.normal(size=40) + 2.0
    columns = np.column_stack([np.ones(40), x, y])
    products = columns.T @ (weights[:, np.newaxis] * columns)
    tried = [*PENALTIES, 1e12][: None if most < np.inf else -1]
    fit = Ridge(products[:-1, :-1]).fit(products[:-1, -1], products[-1, -1], steps, most)
    for found, slow in zip(fit, naive.ridge(x, y, weights, tried, steps, most), strict=True):
        np.testing.assert_allclose(found, slow, rtol=1e-6)


def test_means_and_probabilities_are_those_of_other_folds():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 4000))
    folds = np.arange(4000) % 5
    splines = Splines(x, (False, False), np.ones(4000))
    mean = np.sin(x[0]) + x[0] * x[1]
    target = mean + 0.3 * rng.normal(size=4000)
    assert np.square(splines.means(target[:, np.newaxis], folds)[0][:, 0] - mean).mean() < 0.01
    shifted = np.where(folds == 2, target + 100.0, target)  # what a fold holds does not matter to its own means
    both, _ = splines.means(np.column_stack([shifted - shifted.mean(), target - shifted.mean()]), folds)
    np.testing.assert_allclose(both[folds == 2, 0], both[folds == 2, 1], atol=1e-6)
    p = 1.0 / (1.0 + np.exp(-x[0] - 0.5 * x[1] ** 2))
    assert np.square(splines.probabilities(rng.random(4000) < p, folds) - p).mean() < 0.002
    few = rng.random(4000) < 0.05
    found = splines.means(np.where(few, mean + 1.0, mean)[:, np.newaxis], folds, rows=few)[0][:, 0]
    assert np.square(found - mean - 1.0).mean() < 0.01


def test_means_of_units_are_taken_out():
    rng = np.random.default_rng(0)
    values, first, second = rng.normal(size=(200, 3)), rng.integers(0, 9, size=200), rng.integers(0, 5, size=200)
    weights = rng.uniform(0.5, 2.0, size=200)
    left = demeaned(values, [first, second], weights)
    for groups in (first, second):
        means = [np.average(left[groups == k], axis=0, weights=weights[groups == k]) for k in range(groups.max() + 1)]
        np.testing.assert_allclose(means, 0.0, atol=1e-8)
    design = np.column_stack([first[:, np.newaxis] == np.arange(9), second[:, np.newaxis] == np.arange(5)]) * 1.0
    root = np.sqrt(weights)[:, np.newaxis]
    by_dummies = values - design @ np.linalg.lstsq(root * design, root * values, rcond=None)[0]
    np.testing.assert_allclose(left, by_dummies, atol=1e-8)


def test_the_bend_test_keeps_its_level():
    rejected = 0
    for seed in range(100):
        X = doses(seed, 300)
        rejected += Slope(Sample(X[:, 2], X[:, 1], X[:, :1].T.copy(), (False,), np.ones(300))).bend() < 0.05
    assert rejected <= 14


def tells_a_bend(x, mean, spread, rng):
    y = mean + spread * rng.normal(size=x.size)
    return Slope(Sample(y, x, np.empty((0, x.size)), (), np.ones(x.size))).bend() < 0.01


def test_the_bend_test_keeps_its_level_where_the_cause_is_skewed_and_the_spread_grows_and_has_power():
    rejected = found = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        income = np.exp(rng.normal(size=150))
        rejected += tells_a_bend(income, income, 1.0 + income, rng)
        if seed < 20:
            x = rng.uniform(-1.0, 1.0, size=1000)
            found += tells_a_bend(x, x + 0.48 * x**2, 1.0, rng)  # 2 % of what the line leaves
    assert rejected <= 3
    assert found >= 12


def test_weights_of_a_graph_that_the_answer_lacks_are_said():
    X, weights = doses(), np.random.default_rng(2).gamma(2.0, size=400)
    model = HNMSearch(n_restarts=1, knowledge={"roots": [0], "required": [(1, 2)]}).fit(X, sample_weight=weights)
    with pytest.warns(icdh.DataWarning, match="learned with weights of rows, .*; give sample_weight"):
        assert icdh.effect(X, 1, 2, [0], model=model).notes[-1].startswith("the graph was learned with weights")
    notes = icdh.effect(X, 1, 2, [0], model=model, sample_weight=weights).notes
    assert not any("weights" in note for note in notes)
    counts = {"sample_weight": np.arange(400) % 2 + 1, "weights": "frequency"}
    model.fit(X, **counts)
    assert any(
        note.endswith("is without; give sample_weight, frequencies") for note in notes_of(X, 1, 2, [0], model=model)
    )
    assert not any("weights" in note for note in notes_of(X, 1, 2, [0], model=model, **counts))


@cases(("related", "remedy"), ({"groups": np.arange(400) // 4}, "groups"), ({"sequence": True}, "sequence=True"))
def test_dependent_rows_of_a_graph_that_the_answer_lacks_are_said(related, remedy):
    X = doses()
    model = HNMSearch(n_restarts=1, knowledge={"roots": [0], "required": [(1, 2)]}).fit(X, **related)
    assert any(f"of independent ones; give {remedy}" in note for note in notes_of(X, 1, 2, [0], model=model))
    assert not any("dependent rows" in note for note in notes_of(X, 1, 2, [0], model=model, **related))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_few_groups_whose_covariates_differ_are_compared_within(seed):
    """A group is not predicted from the others, whose ages are not its own."""
    rng, n = np.random.default_rng(seed), 4000
    group, low, own = rng.integers(0, 4, n), rng.uniform(20, 40, 4), rng.normal(size=4)
    age = rng.uniform(low[group], (low + rng.uniform(8, 30, 4))[group])
    cause = (rng.random(n) < 1 / (1 + np.exp(-0.05 * (age - 40) - 0.5 * own[group]))) * 1.0
    effect_of = 2.0 * cause - 0.01 * (age - 45) ** 2 + 2.0 * own[group] + 3.0 * rng.normal(size=n)
    design = np.column_stack([cause, age, age**2, group[:, np.newaxis] == np.arange(4)])
    least_squares = np.linalg.lstsq(design, effect_of, rcond=None)[0][0]
    table = pd.DataFrame({"cause": cause, "effect": effect_of, "age": age, "group": group})
    with pytest.warns(DataWarning, match="few groups"):
        answer = icdh.effect(table, "cause", "effect", ["age"], within="group")
    assert answer.estimate == pytest.approx(least_squares, abs=0.03)  # once 0.78 in the mean


def test_steps_at_the_steep_start_of_a_curve_are_held():
    """A natural spline, straight at the ends of the curve, held 24 of 60 tables of wages."""
    held = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        years, school = np.floor(rng.gamma(1.2, 12.0, size=500)), rng.normal(size=500)
        table = np.column_stack([school, years, np.log1p(years) + school + 0.5 * rng.normal(size=500)])
        answer = icdh.effect(table, 1, 2, [0], contrast=(1.0, 6.0))
        held += answer.lower < np.log(7.0 / 2.0) < answer.upper
    assert held >= 17


def test_steps_do_not_depend_on_the_sign_of_the_cause():
    rng = np.random.default_rng(0)
    other = rng.normal(size=300)
    cause = 0.5 * other + rng.gamma(2, size=300)
    table = np.column_stack([other, cause, 2.0 * np.sqrt(np.maximum(cause, 0.0)) + other + rng.normal(size=300)])
    answer = icdh.effect(table, 1, 2, [0], contrast=(1.0, 3.0))
    turned = icdh.effect(table * [1.0, -1.0, 1.0], 1, 2, [0], contrast=(-1.0, -3.0))
    assert [turned.estimate, *turned.interval] == pytest.approx([answer.estimate, *answer.interval], rel=1e-9)


def test_notes_and_shares_of_every_contrast_are_said():
    rng = np.random.default_rng(0)
    age = rng.normal(size=900)
    arm = np.where(rng.random(900) < 0.5, "a", "b").astype(object)
    arm[(age > 1.0) & (rng.random(900) < 0.5)] = "c"  # of others no row has a counterpart there
    X = pd.DataFrame({"age": age, "arm": arm, "y": age + (arm == "c") + rng.normal(size=900)})
    with pytest.warns(DataWarning, match=r"^. -> c: some rows hardly ever"):
        answer = icdh.effect(X, "arm", "y", ["age"])
    of_c = next(each for each in (answer, *answer.others) if "c" in each.change)
    assert f"[{of_c.interval._end(of_c.lower)}, " in answer.summary()
    assert f"]  of {100.0 * of_c.target_share:.0f} % of the rows" in answer.summary()
    assert of_c.target_share < 0.5 < answer.target_share


def test_one_row_far_from_all_others_moves_little():
    rng = np.random.default_rng(0)
    last, cause = np.abs(rng.normal(size=2000)), rng.normal(size=2000)
    last[7] = 500.0
    X = np.column_stack([last, cause + np.minimum(last, 3.0), 2.0 * cause + 3.0 * np.minimum(last, 3.0)])
    X[:, 2] += rng.normal(size=2000)
    answer = icdh.effect(X, 1, 2, [0])
    assert answer.lower < 2.0 < answer.upper
    assert answer.upper - answer.lower < 0.2


def test_labels_that_differ_by_case_or_blanks_are_said():
    rng = np.random.default_rng(0)
    for other, by in (("Yes", "case"), ("yes ", "blanks")):
        arm = np.array(["no", "yes", other], dtype=object)[rng.integers(0, 3, size=300)]
        X = pd.DataFrame({"arm": arm, "y": rng.normal(size=300)})
        with pytest.warns(DataWarning, match=f"column 'arm': .* differ by {by} alone"):
            icdh.effect(X, "arm", "y", [])


def test_the_strongest_covariate_does_not_depend_on_their_order():
    rng = np.random.default_rng(5)
    strong, weak = rng.normal(size=(2, 300))
    cause = 0.3 * strong + 0.3 * weak + rng.normal(size=300)
    X = np.column_stack([strong, weak, cause, 20.0 * cause + strong + rng.normal(size=300)])
    first, second = (icdh.effect(X, 2, 3, adjust).strongest for adjust in ([0, 1], [1, 0]))
    assert first.multiple == np.inf
    assert (first.name, second.name) == ("x0", "x0")
    assert first.of_effect == pytest.approx(second.of_effect)


@cases(
    ("ask", "said"),
    (lambda X: icdh.effect(X, 1, 0, [], contrast=("no", "yes")), "contrast must hold numbers, as the cause does"),
    (lambda X: HNMSearch().fit(X).model_.probabilities(X, 0), "variable must give variables by name or index; got a"),
    (lambda X: HNMSearch().fit(X.astype({0: str})), "convert it by astype"),
)
def test_what_an_argument_is_not(ask, said):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(np.column_stack([rng.integers(10, 90, size=100), rng.integers(0, 2, size=100)]))
    with pytest.raises((TypeError, ValueError), match=said):
        ask(X)
