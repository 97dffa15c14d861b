"""The effect of one variable on another: estimates against truths and oracles, what is said, and what is refused."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from helpers import cases
from scipy.stats import ttest_ind
from support.families import CategoricalResponse
from support.model import (
    Interval,
    adjustment_set,
    augmented,
    by_probability,
    by_regression,
    contrasts_of,
    natural_spline,
    reference_of,
)
from support.model import families as _families
from support.table import Categories

import icdh
from icdh import DataWarning, HNMSearch, Knowledge
from icdh.files import write_table

COLUMNS = ["age", "dose", "answer"]


def confounded(seed=0, n=500, share=1.0):
    """A covariate raises both the chance of treatment and the answer; the effect is one."""
    rng = np.random.default_rng(seed)
    age = rng.normal(size=n)
    dose = (rng.random(n) < 1.0 / (1.0 + np.exp(-share * age))).astype(float)
    return np.column_stack([age, dose, dose + 2.0 * age + rng.normal(size=n)])


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame(confounded(), columns=COLUMNS)


@pytest.fixture(scope="module")
def answer(table):
    return icdh.effect(table, "dose", "answer", ["age"])


def test_without_covariates_it_is_the_difference_of_means_and_welchs_interval(table):
    answer = icdh.effect(table, "dose", "answer", [])
    treated, others = (table.answer[table.dose == value] for value in (1, 0))
    welch = ttest_ind(treated, others, equal_var=False).confidence_interval(0.95)
    crude = answer.comparisons[0].crude
    assert [answer.difference, crude] == pytest.approx([treated.mean() - others.mean()] * 2)
    np.testing.assert_allclose([answer.lower, answer.upper], welch, rtol=0.02)
    assert list(answer.effective_rows.values()) == pytest.approx([len(others), len(treated)])


def test_intervals_cover_the_truth_that_the_crude_difference_misses():
    answers = [icdh.effect(confounded(seed, 200), 1, 2, [0]) for seed in range(20)]
    assert sum(answer.lower < 1.0 < answer.upper for answer in answers) >= 17
    assert not any(answer.lower < answer.comparisons[0].crude < answer.upper for answer in answers)
    assert np.mean([answer.difference for answer in answers]) == pytest.approx(1.0, abs=0.15)


def test_covariates_that_neither_model_keeps_are_named_and_change_nothing(table, answer):
    idle = np.random.default_rng(1).normal(size=(2, len(table)))
    more = icdh.effect(table.assign(b=idle[0], c=idle[1]), "dose", "answer", ["b", "age", "c"])
    assert more.notes == ("the models of cause and effect leave out what adds nothing to them: b, c",)
    assert (more.difference, answer.notes) == (answer.difference, ())


@pytest.mark.parametrize("unit", [1e-40, 1000.0, 1e40])
def test_units_names_and_the_order_of_columns_change_nothing_else(table, answer, unit):
    shift = 5.0 if unit == 1000.0 else 0.0
    other = table[["answer", "age", "dose"]].assign(answer=unit * table.answer + shift, age=table.age / 7.0)
    again = icdh.effect(other, "dose", "answer", ["age"])
    assert [again.difference / unit, again.lower / unit] == pytest.approx([answer.difference, answer.lower])
    assert again.comparisons[0].spread_ratio.estimate == pytest.approx(answer.comparisons[0].spread_ratio.estimate)


def width(answer):
    return answer.upper - answer.lower


def test_rows_given_twice_with_their_groups_say_no_more_than_once(table, answer):
    twice = pd.concat([table, table], ignore_index=True)
    with pytest.warns(DataWarning, match="1000 rows hold 500 different ones.*copies make edges and intervals too sure"):
        alone = icdh.effect(twice, "dose", "answer", ["age"])
    grouped = icdh.effect(twice, "dose", "answer", ["age"], groups=np.tile(np.arange(len(table)), 2))
    assert width(grouped) == pytest.approx(width(answer), rel=0.1)
    assert width(alone) < 0.8 * width(grouped)


def test_quantiles_of_a_rounded_effect_say_what_an_interval_without_width_is():
    rng, given = np.random.default_rng(2), np.arange(4000) % 2.0
    score = (3.0 * given + 3.0 * rng.normal(size=4000)).round()
    answer, plain = (
        icdh.effect(np.column_stack([given, y]), 0, 1, []) for y in (score, score + 0.01 * rng.random(4000))
    )
    assert any(moved.lower == moved.upper for moved in answer.comparisons[0].quantiles.values())
    assert "interval without width is of a quantile that stays at one value" in answer.summary()
    assert "without width" not in plain.summary()


def test_spread_and_quantiles_of_a_heteroscedastic_effect():
    """The treated have the same mean and three times the spread: their quantiles move apart."""
    rng = np.random.default_rng(1)
    treated = rng.integers(0, 2, size=2000).astype(float)
    X = np.column_stack([rng.normal(size=2000), treated, (1.0 + 2.0 * treated) * rng.normal(size=2000)])
    (comparison,) = icdh.effect(X, 1, 2, [0]).comparisons
    ratio = comparison.spread_ratio
    assert ratio.lower < 3.0 < ratio.upper
    # The logarithm of the standard deviation of n Gaussian values has the variance 1 / (2 n).
    assert np.log(ratio.upper / ratio.lower) == pytest.approx(2.0 * 1.96 * np.sqrt(2.0 / 2000), rel=0.2)
    low, median, high = comparison.quantiles.values()
    assert low.lower < -2.56 < low.upper < 0.0 < high.lower < 2.56 < high.upper
    assert median.lower < 0.0 < median.upper


def labelled(n=800):
    rng = np.random.default_rng(2)
    sex = rng.choice(["man", "woman"], n, p=[0.6, 0.4])
    colour = rng.choice(["red", "green", "blue"], n, p=[0.5, 0.3, 0.2])
    survived = np.where(rng.random(n) < 0.2 + 0.5 * (sex == "woman"), "yes", "no")
    return pd.DataFrame({"sex": sex, "colour": colour, "survived": survived, "age": rng.normal(size=n)})


def test_risks_of_labels_each_compared_with_the_reference():
    table = labelled()
    (comparison,) = icdh.effect(table, "sex", "survived", []).comparisons
    man, woman = table.assign(yes=table.survived == "yes").groupby("sex").yes.mean()
    assert (comparison.reference, comparison.value, comparison.outcome) == ("man", "woman", "yes")
    assert comparison.difference.estimate == pytest.approx(woman - man)
    assert comparison.ratio.estimate == pytest.approx(woman / man)
    assert comparison.ratio.lower > 1.0
    assert comparison.spread_ratio is None
    by_colour = icdh.effect(table, "colour", "survived", ["sex"]).comparisons
    assert [(own.reference, own.value) for own in by_colour] == [("red", "green"), ("red", "blue")]
    of_colour = icdh.effect(table, "sex", "colour", []).comparisons
    assert [own.outcome for own in of_colour] == ["red", "green", "blue"]
    assert sum(own.difference.estimate for own in of_colour) == pytest.approx(0.0, abs=1e-9)


def test_intervals_of_risks_are_risks():
    treated = np.random.default_rng(0).permutation(np.arange(40) % 2)
    X = np.column_stack([treated, (treated == 1) & (np.arange(40) > 3)]).astype(float)
    (comparison,) = icdh.effect(X, "x0", "x1", adjust=[], kinds={"x0": "binary", "x1": "binary"}).comparisons
    assert all(0.0 <= risk.lower <= risk.estimate <= risk.upper <= 1.0 for risk in comparison.means)
    assert comparison.difference.upper <= 1.0


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
def test_a_model_alone_answers_by_its_own_draws(table):
    model = HNMSearch(knowledge={"tiers": [["age"], ["dose"], ["answer"]], "required": [("dose", "answer")]}).fit(table)
    (answer,) = icdh.effect(model, "dose", "answer").comparisons
    low, high = answer.means
    assert answer.difference.estimate == pytest.approx(high.estimate - low.estimate)
    assert answer.difference.estimate == pytest.approx(1.0, abs=0.3)
    assert 0.0 < answer.standard_error < 0.05


def test_what_a_model_holds_as_labels_are_labels(tmp_path, printed):
    rng = np.random.default_rng(0)
    code = rng.choice([1.0, 2.0, 3.0], size=300)
    X = pd.DataFrame({"code": code, "y": np.array([0.0, 2.0, 0.5])[code.astype(int) - 1] + rng.normal(size=300)})
    model = HNMSearch(kinds={"code": "categorical"}, knowledge={"roots": ["code"]}).fit(X)
    answer = icdh.effect(X, "code", "y", model=model)
    assert answer.comparisons == icdh.effect(X, "code", "y", [], kinds={"code": "categorical"}).comparisons
    assert len(answer.comparisons) == 2
    model.save(tmp_path / "m.icdh")
    X.to_csv(tmp_path / "x.csv", index=False)
    question = ("--cause", "code", "--effect", "y", "--json", "--quiet")
    assert len(json.loads(printed("effects", tmp_path / "m.icdh", tmp_path / "x.csv", *question))["comparisons"]) == 2


def test_target_and_where_choose_the_rows():
    """The effect is one plus age: larger among the treated, who are older."""
    rng, X = np.random.default_rng(3), confounded(4, 3000)
    X[:, 2] += X[:, 1] * X[:, 0]
    X = np.column_stack([X, rng.integers(0, 2, size=3000)])
    answers = [icdh.effect(X, 1, 2, [0], target=target) for target in ("untreated", "treated")]
    for value, answer in enumerate(answers):
        rows = X[:, 1] == value
        assert answer.lower < 1.0 + X[rows, 0].mean() < answer.upper
        assert answer.n_target == rows.sum()
    assert answers[1].effective_rows[1.0] == pytest.approx(X[:, 1].sum())  # they stand for themselves alone
    assert answers[1].effective_rows[0.0] < 0.9 * np.count_nonzero(X[:, 1] == 0)
    assert icdh.effect(X, 1, 2, [0], where={3: 1}).n_target == X[:, 3].sum()


def test_grades_are_compared_value_by_value():
    rng = np.random.default_rng(5)
    dose = rng.choice([10.0, 20.0, 30.0, 40.0, 60.0], size=300, p=[0.1, 0.2, 0.2, 0.3, 0.2])
    answer = 2.0 * (dose == 30.0) + rng.normal(size=300)
    X = np.column_stack([dose, answer])
    own = icdh.effect(X, "x0", "x1", [], contrast=(20, 30))
    assert own.difference == pytest.approx(answer[dose == 30.0].mean() - answer[dose == 20.0].mean())
    assert own.effective_rows == pytest.approx({value: np.sum(dose == value) for value in (20.0, 30.0)})
    by_nature = icdh.effect(X, "x0", "x1", []).comparisons[0]
    assert (by_nature.reference, by_nature.value) == (30.0, 40.0)
    with pytest.warns(DataWarning, match="no row has a cause near 25, 35: a smooth curve alone answers there"):
        between = icdh.effect(X, "x0", "x1", [], contrast=(25, 35))
    assert np.isnan(between.comparisons[0].crude)
    legends = [drawn.plot().axes[0].get_legend().get_texts() for drawn in (own, between)]
    assert ["crude" in [text.get_text() for text in legend] for legend in legends] == [True, False]
    rare = np.append(X, [[70.0, 0.0]], axis=0)  # one row has no mean and error: the curve answers
    assert np.isnan(icdh.effect(rare, "x0", "x1", [], contrast=(60, 70)).comparisons[0].crude)
    of_treated = icdh.effect(X, "x0", "x1", [], contrast=(20, 30), target="treated")
    assert of_treated.difference == pytest.approx(own.difference)


def test_of_a_numeric_cause_that_its_covariates_nearly_determine_few_rows_speak():
    age, noise, rest = np.random.default_rng(0).normal(size=(3, 200))
    dose = 8.0 * age + noise
    with pytest.warns(DataWarning, match="effective rows? at .* covariates move with the cause") as said:
        answer = icdh.effect(np.column_stack([age, dose, dose + rest]), 1, 2, [0])
    few = [rows for rows in answer.effective_rows.values() if rows < 20.0]
    assert len(few) == len(answer.notes) == len(said)


def test_a_numeric_cause_goes_up_by_about_its_standard_deviation_between_two_of_its_values():
    age, noise, rest = np.random.default_rng(5).normal(size=(3, 800))
    dose = 3.0 * age + 4.0 * noise
    X = np.column_stack([age, dose, 0.2 * dose + age + rest])
    answer = icdh.effect(X, 1, 2, [0])
    (comparison,) = answer.comparisons
    assert comparison.value - comparison.reference == pytest.approx(dose.std(), rel=0.01)
    assert np.isin([comparison.reference, comparison.value], dose).all()
    assert answer.lower < 0.2 * dose.std() < answer.upper
    assert icdh.effect(X, 1, 2, [0], contrast=[0.0, 1.0]).difference == pytest.approx(0.2, abs=0.1)
    with pytest.warns(DataWarning, match="the rows go from"):
        icdh.effect(X, 1, 2, [0], contrast=[0.0, 100.0])


def test_what_is_correct_on_average_needs_one_right_family():
    """By hand: with right probabilities any mean will do, and with right means any probabilities."""
    rng, ones = np.random.default_rng(6), np.ones(200_000)
    w = rng.integers(0, 2, size=ones.size)
    p = np.where(w, 0.8, 0.3)
    a = rng.random(ones.size) < p
    y = 1.0 * a + 2.0 * w + rng.normal(size=ones.size)
    wrong_mean = augmented(y, 0.3 * ones, 0.3 * ones, by_probability(a, p, ones, ones))
    wrong_share = augmented(y, a + 2.0 * w, 1.0 + 2.0 * w, by_probability(a, 0.5 * ones, ones, ones))
    for estimate in (wrong_mean, wrong_share):
        assert estimate.value == pytest.approx(2.0, abs=0.03)
        assert estimate.influence.mean() == pytest.approx(0.0, abs=1e-2)


def test_the_weights_of_a_number_correct_a_mean_that_is_wrong():
    """The fitted mean ignores the cause; the residuals on splines of the cause bring its curve back."""
    w, a, noise = np.random.default_rng(7).normal(size=(3, 50_000))
    a += w
    y = np.tanh(a) + 3.0 * w + 0.1 * noise
    mean, target = 3.0 * w, np.ones(w.size)
    low, high = (augmented(y, mean, mean, by_regression(v, a, w, target, target, 5)).value for v in (-0.5, 0.5))
    assert high - low == pytest.approx(2.0 * np.tanh(0.5), abs=0.03)


def test_of_networks_from_several_starts_the_best_is_taken(monkeypatch):
    fits = {start: SimpleNamespace(evidence=nats) for start, nats in enumerate((3.0, 1.0, 2.0))}
    monkeypatch.setattr(_families, "fit_node", lambda x, response, random_state, hidden_units: fits[random_state])
    labels = CategoricalResponse(np.array([0, 1, 0, 1]), 2)
    assert _families._best_network(np.ones((1, 4)), labels, 0, 3) is fits[1]


def test_a_line_leaves_residuals_without_correlation_and_has_their_spread():
    *x, noise = np.random.default_rng(8).normal(size=(3, 60))
    x, y = np.array(x), 1.0 + x[0] - 2.0 * x[1] + 0.5 * noise
    mean, deviation = _families._Line.of(np.arange(2), np.ones(2, dtype=int), x, y).mean_and_scale(x)
    np.testing.assert_allclose([*x @ (y - mean), (y - mean).sum()], 0.0, atol=1e-9)
    np.testing.assert_allclose(deviation, (y - mean).std())


def test_natural_splines_are_linear_beyond_their_knots():
    knots = np.array([-1.0, 0.0, 0.5, 2.0])
    for outside in (np.linspace(-9.0, -1.0, 5), np.linspace(2.0, 9.0, 5)):
        np.testing.assert_allclose(np.diff(natural_spline(outside, knots), n=2, axis=1), 0.0, atol=1e-9)


def test_no_path_is_no_estimate(table):
    X = table.assign(noise=np.random.default_rng(8).normal(size=len(table)))
    tiers = {"tiers": [["age"], ["dose", "noise"], ["answer"]]}
    model = HNMSearch(knowledge=tiers, kinds={"dose": "binary"}).fit(X)
    with pytest.raises(ValueError, match="not evidence of no effect"):
        icdh.effect(X, "noise", "answer", model=model)
    with pytest.raises(ValueError, match="opposite direction: dose -> answer"):
        icdh.effect(model, "answer", "dose")
    by_graph = icdh.effect(X, "dose", "answer", model=model)
    assert by_graph.adjusted == ("age",)
    assert by_graph.difference == pytest.approx(1.0, abs=0.4)
    alone = icdh.effect(model, "dose", "answer")
    assert alone.difference == pytest.approx(by_graph.difference, abs=0.3)
    assert np.isnan(alone.lower)
    assert "no interval" in alone.summary()


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
    with pytest.warns(DataWarning) as caught:
        first, second = icdh.effect(X, "dose", "answer", ["level", "mood"], model=model).notes
    assert "level is by the graph on a path from dose to answer" in first
    assert "mood is by the graph caused by dose" in second
    assert len(caught) == 2
    assert icdh.effect(X, 0, 2, [1]).notes == ()


@pytest.mark.parametrize("adjust", ["graph", ["other"]])
def test_covariates_of_later_tiers_are_said(adjust):
    """Whoever chose them: the graph has no arrow from the cause to what the tiers place after it."""
    dose, other, noise = np.random.default_rng(3).normal(size=(3, 300))
    X = pd.DataFrame({"dose": dose, "other": other, "answer": dose + other + 0.5 * noise})
    with pytest.warns(DataWarning, match="other is in a later tier than dose"):
        answer = icdh.effect(X, "dose", "answer", adjust, knowledge=Knowledge(tiers=[[name] for name in X]))
    assert answer.adjusted == ("other",)
    assert answer.lower < 1.0 < answer.upper


def test_an_extrapolation_is_said_with_its_remedy(recwarn):
    X = confounded(10, 300, share=6.0)
    with pytest.warns(DataWarning, match="trim=0.05"):
        whole = icdh.effect(X, 1, 2, [0])
    trimmed = icdh.effect(X, 1, 2, [0], trim=0.05)
    assert trimmed.n_target < 250
    assert trimmed.beyond_support < whole.beyond_support > 0.2
    assert trimmed.lower < 1.0 < trimmed.upper


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
    icdh.effect(X, 0, 1, [], groups=np.arange(400) // 40)
    blocks = icdh.effect(X, 0, 1, [], groups=np.arange(400) // 20)
    assert icdh.effect(X, 0, 1, [], sequence=True).comparisons == blocks.comparisons
    write_table(tmp_path / "walks.csv", X, ["a", "b"])
    question = ("effects", tmp_path / "walks.csv", "--cause", "a", "--effect", "b", "--adjust", "none")
    for options, beside in ([], False), (["--json"], True):  # once below the answer, or beside JSON too
        code, out, err = shown(*question, *options)
        assert (code, message in out, message in err) == (0, True, beside)


@pytest.mark.parametrize("few_values", [False, True])
def test_a_cause_that_is_constant_within_units_which_no_column_names_is_said(few_values):
    """Sixty schools of ten pupils: size tells the school, and whether it is treated."""
    rng = np.random.default_rng(5)
    school = rng.permutation(np.repeat(np.arange(60), 10))
    size, level, treated = rng.permutation(np.arange(60.0)), rng.normal(size=60), rng.permutation(60) % 2.0
    answer = (treated + level)[school] + rng.normal(size=600)
    causes, question = ([size, treated], ("x1", "x2", [0])) if few_values else ([size], ("x0", "x1", []))
    X = np.column_stack([*(cause[school] for cause in causes), answer])
    with pytest.warns(DataWarning, match="'x0' resemble one another, and the cause is the same .* by groups"):
        alone = icdh.effect(X, *question)
    assert width(icdh.effect(X, *question, groups=school)) > 1.5 * width(alone)  # and a warning would be an error
    X[:, -1] = rng.normal(size=600)
    icdh.effect(X, *question)


def test_a_covariate_that_tells_the_cause_leaves_no_answer():
    rng = np.random.default_rng(0)
    dose = np.where(rng.random(400) < 0.5, rng.uniform(1.0, 3.0, 400), 0.0)
    given = (dose > 0.0).astype(float)
    with pytest.warns(DataWarning, match="the number is no answer"):
        icdh.effect(np.column_stack([dose, given, given + rng.normal(size=400)]), "x1", "x2", ["x0"])


def test_a_value_between_the_rows_is_an_extrapolation_and_no_contrast_of_its_own():
    """Years 2000 to 2008 and 2014 on: nothing is known of 2011."""
    rng = np.random.default_rng(3)
    year = np.r_[np.tile(np.arange(2000, 2009), 40), np.tile(np.arange(2014, 2026), 40)].astype(float)
    table = np.column_stack([year, 0.1 * year + rng.normal(size=year.size)])
    with pytest.warns(DataWarning, match="no row has a cause near 2011: a smooth curve alone answers there"):
        icdh.effect(table, "x0", "x1", [], contrast=(2008, 2011))
    (comparison,) = icdh.effect(table, "x0", "x1", []).comparisons
    assert {comparison.reference, comparison.value} <= {*year}


def test_a_change_of_several_units_is_said_for_each_too():
    rng = np.random.default_rng(0)
    years = rng.normal(12.0, 3.0, size=400)
    table = np.column_stack([years, 0.5 * years + rng.normal(size=400)])
    answer = icdh.effect(table, "x0", "x1", [], contrast=(10, 14))
    (line,) = (line for line in answer.summary().splitlines() if line.startswith("for each unit"))
    assert float(line.split()[5]) == pytest.approx(answer.difference / 4.0, abs=0.01)
    assert "for each unit" not in icdh.effect(np.round(rng.random((400, 2))), "x0", "x1", []).summary()


def test_it_is_shown_and_written(answer):
    text = answer.summary()
    assert str(answer) == text
    assert text in answer._repr_html_().replace("&gt;", ">")
    assert text.startswith("dose -> answer, 500 rows, adjusted for age")
    assert "crude difference" in text
    record = json.loads(json.dumps(answer.to_dict()))
    assert record["comparisons"][0]["difference"][0] == answer.difference
    assert answer.plot().axes[0].get_yticklabels()[0].get_text() == "0 -> 1"


@cases(
    ("numbers", "text"),
    ((1794.3424, 470.7, 3118.0), "1,794 [471, 3,118]"),
    ((0.51993, 0.47531, 0.56454), "0.5199 [0.4753, 0.5645]"),
    ((2.0,), "2"),
    ((-7.0, -7.0, -7.0), "-7 [-7, -7]"),
    ((3e-20, 1e-20, 5e-20), "3e-20 [1e-20, 5e-20]"),
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
    assert reference_of(Categories(("yes", "no"))) == 1


@cases(
    ("arguments", "message"),
    ({"effect": "dose"}, "both 'dose'"),
    ({"cause": "does"}, "did you mean 'dose'"),
    ({"adjust": ["dose"]}, "adjust has the cause"),
    ({"adjust": "all"}, "adjust, if not a list"),
    ({"contrast": [1.0]}, "contrast must be a pair"),
    ({"contrast": [1.0, 1.0]}, "two different"),
    ({"contrast": [0.0, 7.0]}, "fewer than two rows"),
    ({"target": "some"}, "target must be one of"),
    ({"cause": "age", "adjust": [], "target": "treated"}, "is a number"),
    ({"where": {"dose": 3}}, "where leaves no row"),
    ({"level": 1.5}, "level must be between"),
    ({"trim": 0.7}, "trim must be at least 0"),
    ({"groups": [1, 2]}, "groups"),
)
def test_what_is_refused(table, arguments, message):
    with pytest.raises(ValueError, match=message):
        icdh.effect(table, **({"cause": "dose", "effect": "answer", "adjust": ["age"]} | arguments))


def test_gaps_matter_in_the_columns_of_the_question_alone(table, answer):
    gaps = table.assign(other=np.where(np.arange(len(table)) < 9, np.nan, table.age))
    assert icdh.effect(gaps, "dose", "answer", ["age"]).difference == answer.difference
    with pytest.raises(ValueError, match="9 in 'other'"):
        icdh.effect(gaps, "dose", "answer", ["age", "other"])


def test_text_of_two_labels_may_be_declared_binary():
    table = labelled(200)
    binary = icdh.effect(table, "sex", "survived", [], kinds={"survived": "binary", "sex": "binary"})
    assert binary.difference == icdh.effect(table, "sex", "survived", []).difference
    model = HNMSearch(kinds=dict.fromkeys(["sex", "survived"], "binary") | {"colour": "categorical"}).fit(table)
    assert model.kinds_ == ["categorical", "categorical", "categorical", "continuous"]
    with pytest.raises(ValueError, match="3 different values"):
        icdh.effect(table, "sex", "survived", [], kinds={"colour": "binary"})


@pytest.mark.parametrize(("noise", "is_said"), [(0.0, True), (0.1, False)])
def test_an_effect_that_seems_computed_is_said(noise, is_said, recwarn):
    a, b, rest = np.random.default_rng(0).normal(size=(3, 300))
    answer = icdh.effect(np.column_stack([a, b, a + b + noise * rest]), 0, 2, [1])
    assert any("hardly any noise of the effect" in note for note in answer.notes) == is_said
    assert answer.difference == pytest.approx(a.std(), abs=0.1)
