"""Interventions, effects and counterfactuals of fitted models and of simulated truths."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers import cases
from numpy.testing import assert_allclose
from sklearn.base import clone
from support.families import CONSTANT, Conditional, NormalLaw
from support.model import ModelColumns, StructuralModel, TotalEffect
from support.table import Scaling

from icdh import ICDH, DataWarning, HNMSearch, Shift, load, simulate
from icdh.simulate import MECHANISMS, NOISES, SHARED_LAYER

CHAIN_AND_LONER = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
QUICK = {"noise_distribution": "gaussian", "n_restarts": 1}


class Known:
    """A predictor of mean slope . causes and a scale that grows with the first cause."""

    def __init__(self, inputs, slope, floor=1.0):
        self.inputs, self.slope, self.floor = np.array(inputs, dtype=int), np.array(slope, dtype=float), floor

    def predict(self, values, law):
        mean = self.slope @ values[self.inputs] if self.inputs.size else np.zeros(values.shape[1])
        spread = np.abs(values[self.inputs[0]]) if self.inputs.size else np.zeros(values.shape[1])
        return np.array([mean, self.floor + spread])


def model_of(names, edges, parts, offset=0.0, scale=1.0, centre=0.0):
    N = len(names)
    graph = np.zeros((N, N))
    for i, j in edges:
        graph[i, j] = 1.0
    scaling = Scaling(np.zeros(N) + offset, np.zeros(N) + scale)
    parts = [part if part is CONSTANT else Conditional(part, NormalLaw()) for part in parts]
    return StructuralModel(ModelColumns(list(names), True, scaling, np.zeros(N) + centre), graph, parts)


@pytest.fixture(scope="module")
def known():
    """a -> b -> c and a -> c with known coefficients, d alone; scaled data differ from the users' units."""
    parts = [Known([], []), Known([0], [2.0]), Known([0, 1], [1.0, -3.0]), Known([], [])]
    return model_of("abcd", [(0, 1), (0, 2), (1, 2)], parts, [10.0, -5.0, 0.0, 1e3], [2.0, 0.5, 4.0, 1e-3])


@pytest.fixture(scope="module")
def observed(known):
    return known.sample(50, random_state=1)


def test_setting_a_variable_moves_its_descendants_alone(known):
    plain, set_ = (known.sample(1000, random_state=3, do=do) for do in (None, {"b": 4.0}))
    assert (set_[:, 1] == 4.0).all()
    np.testing.assert_array_equal(set_[:, [0, 3]], plain[:, [0, 3]])
    assert not (set_[:, 2] == plain[:, 2]).any()
    for key in (1, np.int64(1)):
        np.testing.assert_array_equal(known.sample(1000, random_state=3, do={key: 4.0}), set_)


def test_interventional_means_are_those_of_the_equations(known):
    """E[c | do(b = v)] = offset + scale (E[z_a] - 3 z_b): the mean of a does not hear of b."""
    c, z_b = known.sample(200_000, random_state=0, do={"b": -4.0})[:, 2], (-4.0 + 5.0) / 0.5
    assert c.mean() == pytest.approx(4.0 * (-3.0 * z_b), abs=0.1)


def test_arrays_set_every_row_exactly_and_functions_see_what_would_have_been(known):
    """A function of b, with a set, sees b as it is once a is set."""
    values, seen = np.random.default_rng(0).normal(size=30) * 1e3 + 0.1, []
    result = known.sample(30, random_state=0, do={"d": values, "a": lambda natural: natural + 3.0})
    np.testing.assert_array_equal(result[:, 3], values)
    np.testing.assert_allclose(result[:, 0], known.sample(30, random_state=0)[:, 0] + 3.0)
    shifted = known.sample(30, random_state=0, do={"a": Shift(3.0), "d": 0.0})
    np.testing.assert_array_equal(result[:, :3], shifted[:, :3])
    known.sample(20, random_state=0, do={"b": lambda natural: seen.append(natural.copy()) or natural, "a": 10.0})
    np.testing.assert_allclose(seen[0], known.sample(20, random_state=0, do={"a": 10.0})[:, 1])


def test_a_function_cannot_change_the_model_in_its_hands(known, observed):
    def spoil(natural):
        natural[:] = 0.0
        return 1.0

    before = observed.copy()
    known.counterfactual(observed, {"a": spoil})
    np.testing.assert_array_equal(observed, before)


@cases(
    ("do", "expected"),
    (lambda X: {"a": X[:, 0]}, lambda known, X: X),  # what was observed
    # Setting b to what it would be under do(a) changes nothing more.
    (
        lambda X: {"a": 3.0},
        lambda known, X: known.counterfactual(X, {"a": 3.0, "b": known.counterfactual(X, {"a": 3.0})[:, 1]}),
    ),
    # Counterfactuals of draws are draws under the intervention.
    (lambda X: {"a": Shift(1.0)}, lambda known, X: known.sample(50, random_state=1, do={"a": Shift(1.0)})),
)
def test_counterfactuals_are_consistent_and_compose(known, observed, do, expected):
    np.testing.assert_allclose(known.counterfactual(observed, do(observed)), expected(known, observed), atol=1e-9)


def test_what_is_not_reached_keeps_its_bits(known, observed):
    """Even where mean + scale * noise would round to another number than the one observed."""
    parts = [Known([], []), Known([], []), Known([1], [0.37], floor=0.7)]
    model = model_of(["alone", "x", "y"], [(1, 2)], parts, [0.1, 0.2, 0.3], [1.1, 1.2, 1.3])
    X = np.random.default_rng(0).normal(size=(500, 3))
    np.testing.assert_array_equal(model.counterfactual(X, {"alone": 1.0})[:, 1:], X[:, 1:])
    for do in ({}, {"d": observed[:, 3]}):
        np.testing.assert_array_equal(known.counterfactual(observed, do), observed)


def test_effects_stay_within_the_range_of_a_skewed_cause():
    """A cause whose mean less a standard deviation is a value that never occurs is not set to it."""
    X = np.random.default_rng(0).exponential(size=(900, 2)) ** 2
    X[:, 1] = X[:, 0] + np.random.default_rng(1).normal(size=900)
    (effect,) = HNMSearch(noise_distribution="free", n_restarts=1).fit(X).effects()
    low, high = map(float, effect.contrast.split(" -> "))
    assert -0.1 < low < high < X[:, 0].max()
    assert effect.change == pytest.approx(high - low, rel=0.1)


def test_counterfactuals_keep_the_noise(known, observed):
    """By hand: z_b = 2 z_a + (1 + |z_a|) e, with e from the row."""
    z_a, z_b = (observed[:, 0] - 10.0) / 2.0, (observed[:, 1] + 5.0) / 0.5
    e = (z_b - 2.0 * z_a) / (1.0 + np.abs(z_a))
    result = known.counterfactual(observed, {"a": 16.0})
    np.testing.assert_allclose(result[:, 1], -5.0 + 0.5 * (6.0 + 4.0 * e))


@cases(
    ("do", "error", "message"),
    ({"z": 1.0}, ValueError, "'z', which is not one of a, b, c, d"),
    ({4: 1.0}, ValueError, "index 4, but the variables are numbered 0"),
    ({-1: 1.0}, ValueError, "index -1"),
    ({True: 1.0}, TypeError, "by name or index"),
    ({2.5: 1.0}, ValueError, "2.5, which is not one of"),
    ({"a": "2"}, TypeError, r"do\['a'\] has type"),
    ({"a": [1.0, 2.0, np.nan, 0.0, 1.0]}, ValueError, r"do\['a'\] holds NaN"),
    ({"a": [1.0, 2.0]}, ValueError, r"have shape \(5,\), one a row; got shape \(2,\)"),
    ({"a": lambda natural: np.inf}, ValueError, "the result of the intervention on 'a' holds NaN or infinity"),
    ({"a": lambda natural: natural[:2]}, ValueError, "got shape"),
    ({"a": 1e300}, ValueError, "'a' to values far beyond"),
    ({"a": 1.0, 0: 2.0}, ValueError, "'a' twice"),
    (["a"], TypeError, "do must map variables to values"),
)
def test_bad_interventions_are_refused(known, do, error, message):
    with pytest.raises(error, match=message):
        known.sample(5, do=do)
    with pytest.raises((ValueError, TypeError)):
        known.counterfactual(np.zeros((5, 4)) + known.columns.scaling.offset, do)


@pytest.mark.parametrize(("by", "error"), [("1", TypeError), (np.nan, ValueError)])
def test_shift_must_be_a_number(by, error):
    with pytest.raises(error, match="by must be"):
        Shift(by)


def test_average_effects_are_those_of_the_equations(known):
    found = known.average_effect("a", "c", [8.0, 10.0, 14.0], n_samples=100_000)
    z_a = (np.array([8.0, 10.0, 14.0]) - 10.0) / 2.0
    np.testing.assert_allclose(found.mean, 4.0 * (z_a - 3.0 * 2.0 * z_a), atol=0.3)
    # c given a: variance of -3 (1 + |a|) e_b, plus that of (1 + |a|) e_c
    np.testing.assert_allclose(found.std, 4.0 * np.sqrt(10.0) * (1.0 + np.abs(z_a)), rtol=0.02)
    assert (found.cause, found.effect, found.lower, found.upper) == ("a", "c", None, None)


def test_effects_do_not_run_backwards(known):
    with pytest.warns(DataWarning, match="joins 'c' to 'a' by no path, so the curve is flat by construction"):
        found = known.average_effect("c", "a", [0.0, 100.0])
    assert found.mean[0] == found.mean[1]


def test_bands_are_quantiles_over_other_fits(known):
    def with_slope(slope):
        first, _, *others = known.conditionals
        return replace(known, conditionals=[first, Conditional(Known([0], [slope]), NormalLaw()), *others])

    models = [with_slope(slope) for slope in (1.0, 2.0, 3.0)]
    found = known.average_effect("a", "b", [16.0], models=models, level=0.999, n_samples=50_000)
    np.testing.assert_allclose([found.lower[0], found.upper[0]], [-5 + 0.5 * 3, -5 + 0.5 * 9], atol=0.05)
    with pytest.raises(ValueError, match="models must hold fits of the same variables"):
        known.average_effect("a", "b", 1.0, models=[replace(known, columns=replace(known.columns, names=list("abce")))])


@cases(
    ("arguments", "message"),
    ({"values": [1.0, np.inf]}, "values must be"),
    ({"values": []}, "values must be"),
    ({"cause": "q"}, "cause has the variable 'q'"),
    ({"level": 1.5}, "level must be above 0 and below 1"),
    ({"n_samples": 0}, "n_samples must be"),
)
def test_bad_questions_about_effects_are_refused(known, arguments, message):
    with pytest.raises(ValueError, match=message):
        known.average_effect(**{"cause": "a", "effect": "b", "values": 1.0} | arguments)


def test_total_effects_are_those_of_the_equations(known):
    effects = known.effects(n_samples=20_000)
    found = {(effect.cause, effect.effect): effect for effect in effects}
    assert set(found) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert found["a", "b"].change == pytest.approx(0.5 * 2.0, rel=0.03)
    assert found["a", "c"].change == pytest.approx(4.0 * (1.0 - 6.0), rel=0.05)
    assert found["a", "b"].spread_ratio == pytest.approx(1.0, abs=0.05)
    assert 0.0 < found["a", "c"].error < 0.01 * abs(found["a", "c"].change)  # Monte Carlo error of so many draws
    shares = [effect.share for effect in effects]
    assert 1.0 > shares[0] >= shares[1] >= shares[2] > 0.0


def test_inputs_that_are_no_causes_are_held_at_their_mean():
    """A weak input that the threshold removed neither transmits an intervention nor enters a counterfactual."""
    model = model_of("ab", [], [Known([], []), Known([0], [2.0])], centre=[0.5, 0.0])
    assert model.sample(5000, random_state=0, do={"a": 100.0})[:, 1].mean() == pytest.approx(1.0, abs=0.1)
    np.testing.assert_array_equal(model.counterfactual(np.array([[3.0, 1.0]]), {"a": -7.0}), [[-7.0, 1.0]])


def test_constant_variables_stay_unless_set():
    model = model_of("kx", [], [CONSTANT, Known([], [])], offset=[7.0, 0.0])
    np.testing.assert_array_equal(model.counterfactual(np.array([[7.0, 1.0]]), {"k": 9.0}), [[9.0, 1.0]])


@pytest.mark.parametrize("step", [1.0, 2.0])
def test_rounded_numbers_move_with_their_causes(step):
    """Also beyond all rows, and by less than a step."""
    rng = np.random.default_rng(0)
    cause = rng.normal(size=1000)
    table = np.column_stack([cause, step * np.round((30.0 + 4.0 * cause + 3.0 * rng.normal(size=1000)) / step)])
    model = HNMSearch(knowledge={"required": [(0, 1)]}, column_transform="none").fit(table).model_
    for shift in (0.05, 0.3, 3.0):
        moved, expected = model.counterfactual(table, do={0: Shift(shift)}), 4.0 * shift
        assert np.mean(moved[:, 1] - table[:, 1]) == pytest.approx(expected, rel=0.1)
    assert_allclose(model.counterfactual(table, do={0: Shift(0.0)}), table, atol=1e-9)
    beyond = np.array([4.0, 5.0])
    answer = model.average_effect(0, 1, beyond, n_samples=4000, random_state=0)
    assert_allclose(answer.mean, model.predict(np.column_stack([beyond, [0.0, 0.0]]))[:, 1], atol=0.05 * step)
    assert (answer.std > 2.5).all()
    assert not (model.sample(500, do={0: 5.0}, random_state=0)[:, 1] % step).any()


def test_noise_of_any_shape_has_the_density_of_the_residuals():
    """Skewed, bounded noise: draws must be skewed and bounded as the table is, where Gaussian ones are not."""
    x, noise = np.random.default_rng(0).exponential(size=(2, 2000))
    X = np.column_stack([x - 1.0, np.tanh(x) + 0.3 * (1 + x) * (noise - 1.0)])  # no amounts, whose limit is zero
    model, gaussian = (HNMSearch(noise_distribution=of, column_transform="none").fit(X) for of in ("free", "gaussian"))
    assert {given.law.errors.name for given in model.model_.conditionals} == {"free"}
    drawn, levels = model.sample(20_000, random_state=0)[:, 0], [0.01, 0.5, 0.99]
    np.testing.assert_allclose(np.quantile(drawn, levels), np.quantile(x - 1.0, levels), atol=0.4)
    assert np.mean(drawn < -1.1) < 0.001  # no value there was seen, and it is as improbable as two rows of 2000
    assert np.mean(gaussian.sample(20_000, random_state=0)[:, 0] < -1.1) > 0.1


def test_tables_come_back_as_they_went_in(known):
    frame = pd.DataFrame(hetero(), columns=["dose", "answer"], index=[f"row {i}" for i in range(200)])
    model = HNMSearch(**QUICK).fit(frame)
    for table in (model.predict(frame), model.predict_scale(frame), model.residuals(frame)):
        assert (list(table.columns), list(table.index)) == (["dose", "answer"], list(frame.index))
    again = model.counterfactual(frame, {"dose": frame["dose"].to_numpy()})
    pd.testing.assert_frame_equal(again[["dose"]], frame[["dose"]])
    assert list(model.sample(3, 0).columns) == ["dose", "answer"]
    assert [type(effect) for effect in model.effects()] == [TotalEffect]
    assert isinstance(known.sample(3), np.ndarray)
    assert isinstance(HNMSearch(n_restarts=1).fit(hetero()).predict(hetero()), np.ndarray)


@pytest.mark.parametrize("labels", [[2019, 2020], [0, 1]])
def test_labels_that_are_numbers_name_variables(labels):
    model = HNMSearch(**QUICK).fit(pd.DataFrame(hetero(), columns=labels))
    drawn = model.sample(3, 0, do={labels[1]: 0.5})
    assert list(drawn.columns) == labels
    assert (drawn.iloc[:, 1] == 0.5).all()
    pd.testing.assert_frame_equal(model.sample(3, 0, do={1: 0.5}), drawn)


def hetero():
    rng = np.random.default_rng(0)
    dose = rng.normal(size=200)
    return np.column_stack([dose, np.tanh(dose) + (0.2 + 0.2 * (dose > 0)) * rng.normal(size=200)])


# Simulated truths


def simulated(m, **options):
    return simulate.simulate_sem(CHAIN_AND_LONER, m, **options)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("standardize", [False, True])
def test_true_functions_give_the_drawn_moments(noise, standardize):
    for mechanism in ("mlp",) if noise in SHARED_LAYER else MECHANISMS:
        data = simulated(60, mechanism=mechanism, noise=noise, standardize=standardize, random_state=4)
        np.testing.assert_allclose(data.mean + data.std * data.noise, data.X, rtol=1e-9, atol=1e-9)
        for n, function in enumerate(data.functions):
            mean, std = function(data.X[:, CHAIN_AND_LONER[:, n] != 0])
            # The jitter of Gaussian processes: the function passes the drawn values by a standard deviation of 1e-4.
            np.testing.assert_allclose(mean, data.mean[:, n], rtol=1e-2, atol=1e-2)
            np.testing.assert_allclose(std, data.std[:, n], rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_true_counterfactuals_keep_the_noise(mechanism):
    data = simulated(60, mechanism=mechanism, noise="exp-bounded", random_state=4)
    np.testing.assert_array_equal(data.counterfactual({}), data.X)
    relived = data.counterfactual({"x0": 0.3, 3: Shift(2.0)})
    np.testing.assert_array_equal(relived[:, 0], np.full(60, 0.3))
    np.testing.assert_array_equal(relived[:, 3], data.X[:, 3] + 2.0)
    mean, std = data.functions[1](relived[:, :1])
    np.testing.assert_array_equal(relived[:, 1], mean + std * data.noise[:, 1])


@pytest.mark.parametrize("distribution", ["gaussian", "uniform"])
def test_fresh_draws_follow_the_truth(distribution):
    data = simulated(4000, mechanism="linear", noise="homo-ev", distribution=distribution, random_state=0)
    fresh, set_ = (data.sample(40_000, random_state=1, do=do) for do in (None, {"x1": 2.0}))
    np.testing.assert_allclose(np.cov(fresh.T), np.cov(data.X.T), rtol=0.1, atol=0.1)
    assert set_[:, 2].mean() == pytest.approx(2.0 * data.weights[1, 2], abs=0.05)
    np.testing.assert_array_equal(set_[:, [0, 3]], fresh[:, [0, 3]])


def test_truths_can_be_pickled():
    data = simulated(20, mechanism="gp-add", noise="piecewise", standardize=True, random_state=0)
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.sample(5, 0, do={"x0": 1.0}), data.sample(5, 0, do={"x0": 1.0}))


@pytest.mark.parametrize("estimator", [HNMSearch(n_restarts=1), ICDH(), ICDH(bias=True, scaling="standardize")])
def test_constant_columns_are_constant_in_all_that_a_model_says(estimator, tmp_path):
    X = np.insert(hetero(), 1, 2020.0, axis=1)
    without = clone(estimator).fit(X[:, [0, 2]])
    with pytest.warns(DataWarning, match="constant column.*'x1'"):
        model = estimator.set_params(knowledge={"required": [("x0", "x1")]}).fit(X)
    found = model.adjacency_matrix_
    np.testing.assert_array_equal(found[::2, ::2], without.adjacency_matrix_)
    assert (np.flatnonzero(found[:, 1]).tolist(), found[1].any()) == ([0], False)
    model.save(tmp_path / "m.icdh")
    for fitted in (model, load(tmp_path / "m.icdh")):
        for do in (None, {"x0": 3.0}):
            assert np.all(fitted.sample(20, random_state=0, do=do)[:, 1] == 2020.0)
        for asked, answer in ((fitted.predict, 2020.0), (fitted.predict_scale, 0.0), (fitted.residuals, 0.0)):
            assert np.all(asked(X)[:, 1] == answer)
        assert fitted.score(X) == pytest.approx(without.score(X[:, [0, 2]]), rel=1e-12)
        (on_constant,) = (total for total in fitted.effects() if total.effect == "x1")
        assert on_constant[4:] == (0.0, 0.0, 0.0, 1.0)
    assert model.nll_ == pytest.approx(without.nll_, rel=1e-12)


@pytest.fixture(scope="module")
def graded():
    rng = np.random.default_rng(0)
    sex, grade = rng.integers(0, 2, 300).astype(float), rng.integers(1, 5, 300).astype(float)
    X = np.column_stack([sex, grade, sex + 0.3 * grade + 0.5 * rng.normal(size=300)])
    return HNMSearch(n_restarts=1, kinds={0: "binary", 1: "ordinal"}).fit(X)


@pytest.mark.parametrize("do", [{"x0": 0.5}, {"x1": [1.0, 7.0]}, {"x1": Shift(0.5)}])
def test_a_column_of_few_values_is_set_to_one_of_them(graded, do):
    with pytest.raises(ValueError, match=r"'x\d'(\])? is .*, but column 'x\d' holds .* alone"):
        graded.sample(2, random_state=0, do=do)
    with pytest.raises(ValueError, match=r"values is 0\.5, but column 'x0' holds 0, 1 alone"):
        graded.average_effect("x0", "x2", [0.0, 0.5])
    assert graded.sample(2, random_state=0, do={"x0": 1, "x1": np.array([1, 4])})[:, :2].tolist() == [[1, 1], [1, 4]]


@pytest.mark.parametrize("by", [1.0, -1.0, 3.0])
@pytest.mark.parametrize("n_samples", [1, 300])
def test_whether_a_shift_of_few_values_is_refused_does_not_depend_on_the_draws(graded, by, n_samples):
    for seed in range(5):
        with pytest.raises(
            ValueError, match=r"result of the intervention on 'x1' is .*, but column 'x1' holds 1, 2, 3, 4"
        ):
            graded.sample(n_samples, random_state=seed, do={"x1": Shift(by)})
    assert set(graded.sample(n_samples, random_state=0, do={"x1": Shift(0.0)})[:, 1]) <= {1.0, 2.0, 3.0, 4.0}
    rows = np.array([[0.0, 2.0, 1.0]])  # these are given
    model, down = graded.model_, {"x1": Shift(-1.0)}
    assert model.counterfactual(rows, do=down)[0, 1] == 1.0


def test_numbers_far_from_all_rows_are_said_to_be(graded, tmp_path):
    graded.save(tmp_path / "m.icdh")
    for model in (graded, load(tmp_path / "m.icdh")):
        for do in ({"x2": 50.0}, {"x2": Shift(-50.0)}):
            with pytest.warns(DataWarning, match=r"'x2'(\])? is .*, far from the rows of column 'x2'"):
                model.sample(5, random_state=0, do=do)
        model.sample(5, random_state=0, do={"x2": Shift(1.0)})


def test_an_amount_that_is_set_below_zero_is_said_to_be_far():
    model = HNMSearch(n_restarts=1).fit(np.random.default_rng(0).gamma(2.0, size=(200, 2)) - [0.0, 1.0])
    with pytest.warns(DataWarning, match="'x0'.* is -0.5, far from the rows"):
        model.sample(5, random_state=0, do={"x0": -0.5})
    model.sample(5, random_state=0, do={"x1": -1.5})  # a warning would be an error


def test_whole_numbers_that_are_shifted_by_one_stay_whole():
    rng = np.random.default_rng(0)
    price = np.round(np.exp(rng.normal(11.0, 0.4, size=300)), -1)
    model = HNMSearch(n_restarts=1).fit(np.column_stack([price, np.round(price * np.exp(rng.normal(size=300)))]))
    shifted = np.asarray(model.sample(200, random_state=0, do={"x0": Shift(10_001.0)}))
    assert not (shifted % 1.0).any()


@pytest.mark.filterwarnings("ignore::icdh.exceptions.DataWarning")
def test_values_are_set_as_they_are_printed():
    """A level of single precision is 17.600000381; contrasts stay within the rows."""
    rng = np.random.default_rng(0)
    ratio = rng.choice(np.float32([15.2, 17.6, 19.1, 20.2]), 300).astype(float)
    dose = np.exp(rng.normal(size=300))
    model = HNMSearch().fit(np.column_stack([ratio, dose, dose + 0.1 * ratio + rng.normal(size=300)])).model_
    assert model.sample(10, do={0: 17.6}, random_state=0)[:, 0] == pytest.approx(17.6, abs=1e-5)
    with pytest.raises(ValueError, match=r"is 17\.7, but column"):
        model.sample(10, do={0: 17.7}, random_state=0)
    ends = [float(end) for effect in model.effects() if effect.cause == "x1" for end in effect.contrast.split(" -> ")]
    assert ends
    assert min(ends) >= float(f"{dose.min():.4g}")
