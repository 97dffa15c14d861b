"""Interventions, effects and counterfactuals of fitted models and of simulated truths."""

import pickle

import numpy as np
import pandas as pd
import pytest

from icdh import ICDH, DataWarning, HNMSearch, NotFittedError, Shift, bootstrap, load, refits, simulate
from icdh._model.conditionals import Constant, Empirical, Gaussian
from icdh._model.effects import TotalEffect
from icdh._model.structural import StructuralModel
from icdh._table.table import Scaling
from icdh.simulate.mechanisms import MECHANISMS, NOISES, SHARED_LAYER

CHAIN_AND_LONER = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])


class Known:
    """A conditional with mean slope . causes and a scale that grows with the first cause."""

    def __init__(self, inputs, slope, floor=1.0):
        self.inputs, self.slope, self.floor = np.array(inputs, dtype=int), np.array(slope, dtype=float), floor

    def mean_and_scale(self, values):
        mean = self.slope @ values[self.inputs] if self.inputs.size else np.zeros(values.shape[1])
        spread = np.abs(values[self.inputs[0]]) if self.inputs.size else 0.0
        return mean, self.floor + spread


@pytest.fixture(scope="module")
def known():
    """a -> b -> c and a -> c with known coefficients, d alone; scaled data differ from the users' units."""
    conditionals = [Known([], []), Known([0], [2.0]), Known([0, 1], [1.0, -3.0]), Known([], [])]
    scaling = Scaling(np.array([10.0, -5.0, 0.0, 1e3]), np.array([2.0, 0.5, 4.0, 1e-3]))
    return StructuralModel(list("abcd"), True, scaling, CHAIN_AND_LONER, conditionals, np.zeros(4))


@pytest.fixture(scope="module")
def observed(known):
    return known.sample(50, random_state=1)


def test_setting_a_variable_moves_its_descendants_alone(known):
    plain = known.sample(1000, random_state=3)
    set_ = known.sample(1000, random_state=3, do={"b": 4.0})
    assert (set_[:, 1] == 4.0).all()
    np.testing.assert_array_equal(set_[:, [0, 3]], plain[:, [0, 3]])
    assert not (set_[:, 2] == plain[:, 2]).any()


def test_interventional_means_are_those_of_the_equations(known):
    """E[c | do(b = v)] = offset + scale (E[z_a] - 3 z_b): the mean of a does not hear of b."""
    c = known.sample(200_000, random_state=0, do={"b": -4.0})[:, 2]
    z_b = (-4.0 + 5.0) / 0.5
    assert c.mean() == pytest.approx(4.0 * (-3.0 * z_b), abs=0.1)


@pytest.mark.parametrize("key", ["b", 1, np.int64(1)])
def test_names_and_indices_are_the_same(known, key):
    np.testing.assert_array_equal(
        known.sample(20, random_state=0, do={key: 1.0}), known.sample(20, random_state=0, do={"b": 1.0})
    )


def test_arrays_set_every_row_exactly_and_functions_see_what_would_have_been(known):
    values = np.random.default_rng(0).normal(size=30) * 1e3 + 0.1
    result = known.sample(30, random_state=0, do={"d": values, "a": lambda natural: natural + 3.0})
    np.testing.assert_array_equal(result[:, 3], values)
    np.testing.assert_allclose(result[:, 0], known.sample(30, random_state=0)[:, 0] + 3.0)
    np.testing.assert_array_equal(
        result[:, :3], known.sample(30, random_state=0, do={"a": Shift(3.0), "d": 0.0})[:, :3]
    )


def test_what_an_intervention_is_given_depends_on_the_others(known):
    """A function of b, with a set, sees b as it is once a is set."""
    seen = []
    known.sample(20, random_state=0, do={"b": lambda natural: seen.append(natural.copy()) or natural, "a": 10.0})
    np.testing.assert_allclose(seen[0], known.sample(20, random_state=0, do={"a": 10.0})[:, 1])


def test_a_function_cannot_change_the_model_in_its_hands(known, observed):
    def spoil(natural):
        natural[:] = 0.0
        return 1.0

    before = observed.copy()
    known.counterfactual(observed, {"a": spoil})
    np.testing.assert_array_equal(observed, before)


def test_nothing_done_changes_nothing(known, observed):
    np.testing.assert_array_equal(known.counterfactual(observed, {}), observed)
    np.testing.assert_array_equal(known.counterfactual(observed, {"d": observed[:, 3]}), observed)


def test_what_is_not_reached_keeps_its_bits():
    """Even where mean + scale * noise would round to another number than the one observed."""
    graph = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 0]])
    scaling = Scaling(np.array([0.1, 0.2, 0.3]), np.array([1.1, 1.2, 1.3]))
    parts = [Known([], []), Known([], []), Known([1], [0.37], floor=0.7)]
    model = StructuralModel(["alone", "x", "y"], True, scaling, graph, parts, np.zeros(3))
    X = np.random.default_rng(0).normal(size=(500, 3))
    np.testing.assert_array_equal(model.counterfactual(X, {"alone": 1.0})[:, 1:], X[:, 1:])


def test_effects_stay_within_the_range_of_a_skewed_cause():
    """A cause whose mean less a standard deviation is a value that never occurs is not set to it."""
    cause = np.append(np.zeros(900), np.full(100, 50.0))
    parts = [Known([], []), Known([0], [1.0], floor=1.0)]
    noise = [Empirical(cause), Gaussian()]
    graph, scaling = np.array([[0, 1], [0, 0]]), Scaling(np.zeros(2), np.ones(2))
    model = StructuralModel(["x", "y"], True, scaling, graph, parts, np.zeros(2), noise)
    (effect,) = model.effects()
    assert effect.contrast == "0 -> 50"
    assert effect.change == pytest.approx(50.0, abs=4 * effect.error)


def test_setting_to_what_was_observed_is_no_change(known, observed):
    """Consistency: under do(a = what a was), every row is what it was."""
    np.testing.assert_allclose(known.counterfactual(observed, {"a": observed[:, 0]}), observed, atol=1e-9)


def test_counterfactuals_keep_the_noise(known, observed):
    """By hand: z_b = 2 z_a + (1 + |z_a|) e, with e from the row."""
    z_a, z_b = (observed[:, 0] - 10.0) / 2.0, (observed[:, 1] + 5.0) / 0.5
    e = (z_b - 2.0 * z_a) / (1.0 + np.abs(z_a))
    result = known.counterfactual(observed, {"a": 16.0})
    np.testing.assert_allclose(result[:, 1], -5.0 + 0.5 * (6.0 + 4.0 * e))


def test_counterfactuals_compose(known, observed):
    """Setting b to what it would be under do(a) changes nothing more."""
    under_a = known.counterfactual(observed, {"a": 3.0})
    both = known.counterfactual(observed, {"a": 3.0, "b": under_a[:, 1]})
    np.testing.assert_allclose(both, under_a, atol=1e-9)


def test_counterfactuals_of_draws_are_draws_under_the_intervention(known):
    plain = known.sample(200, random_state=5)
    np.testing.assert_allclose(
        known.counterfactual(plain, {"a": Shift(1.0)}), known.sample(200, random_state=5, do={"a": Shift(1.0)})
    )


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        ({"z": 1.0}, ValueError, "'z', which is not one of a, b, c, d"),
        ({4: 1.0}, ValueError, "index 4, but the variables are numbered 0"),
        ({-1: 1.0}, ValueError, "index -1"),
        ({True: 1.0}, TypeError, "by name or index"),
        ({2.5: 1.0}, ValueError, "2.5, which is not one of"),
        ({"a": np.nan}, ValueError, r"do\['a'\] holds NaN"),
        ({"a": "2"}, TypeError, r"do\['a'\] has type"),
        ({"a": [1.0, 2.0]}, ValueError, r"have shape \(5,\), one a row; got shape \(2,\)"),
        ({"a": lambda natural: np.inf}, ValueError, r"the result of do\['a'\] holds NaN or infinity"),
        ({"a": lambda natural: natural[:2]}, ValueError, "got shape"),
        ({"a": 1e300}, ValueError, "'a' to values far beyond"),
        ({"a": 1.0, 0: 2.0}, ValueError, "'a' twice"),
        (["a"], TypeError, "do must map variables to values"),
    ],
)
def test_bad_interventions_are_refused(known, do, error, message):
    with pytest.raises(error, match=message):
        known.sample(5, do=do)
    with pytest.raises((ValueError, TypeError)):
        known.counterfactual(np.zeros((5, 4)) + known.scaling.offset, do)


def test_shift_must_be_a_number():
    with pytest.raises(TypeError, match="by must be a number"):
        Shift("1")
    with pytest.raises(ValueError, match="by must be"):
        Shift(np.nan)


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
        parts = [known.conditionals[0], Known([0], [slope]), *known.conditionals[2:]]
        return StructuralModel(known.names, True, known.scaling, known.adjacency, parts, known.centre)

    others = [with_slope(slope) for slope in (1.0, 2.0, 3.0)]
    found = known.average_effect("a", "b", [16.0], models=others, level=0.999, n_samples=50_000)
    np.testing.assert_allclose([found.lower[0], found.upper[0]], [-5 + 0.5 * 3, -5 + 0.5 * 9], atol=0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": [np.nan]}, "values must be"),
        ({"values": []}, "values must be"),
        ({"cause": "q"}, "cause has the variable 'q'"),
        ({"level": 1.5}, "level must be between"),
        ({"n_samples": 0}, "n_samples must be"),
    ],
)
def test_bad_questions_about_effects_are_refused(known, arguments, message):
    with pytest.raises(ValueError, match=message):
        known.average_effect(**{"cause": "a", "effect": "b", "values": 1.0} | arguments)


def test_other_fits_must_be_of_the_same_variables(known):
    other = StructuralModel(list("abce"), True, known.scaling, known.adjacency, known.conditionals, known.centre)
    with pytest.raises(ValueError, match="models must hold fits of the same variables"):
        known.average_effect("a", "b", 1.0, models=[other])


def test_total_effects_are_those_of_the_equations(known):
    found = {(effect.cause, effect.effect): effect for effect in known.effects(n_samples=20_000)}
    assert set(found) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert found["a", "b"].change == pytest.approx(0.5 * 2.0, rel=0.03)
    assert found["a", "c"].change == pytest.approx(4.0 * (1.0 - 6.0), rel=0.05)
    assert found["a", "b"].spread_ratio == pytest.approx(1.0, abs=0.05)
    shares = [effect.share for effect in known.effects()]
    assert shares == sorted(shares, reverse=True)
    assert all(0.0 < share < 1.0 for share in shares)


def test_inputs_that_are_no_causes_are_held_at_their_mean():
    """A weak input that the threshold removed neither transmits an intervention nor enters a counterfactual."""
    conditionals = [Known([], []), Known([0], [2.0])]
    graph, scaling = np.zeros((2, 2)), Scaling(np.zeros(2), np.ones(2))
    model = StructuralModel(["a", "b"], True, scaling, graph, conditionals, np.array([0.5, 0.0]))
    assert model.sample(5000, random_state=0, do={"a": 100.0})[:, 1].mean() == pytest.approx(1.0, abs=0.1)
    X = np.array([[3.0, 1.0]])
    np.testing.assert_array_equal(model.counterfactual(X, {"a": -7.0}), [[-7.0, 1.0]])


def test_constant_variables_stay_unless_set():
    scaling = Scaling(np.array([7.0, 0.0]), np.ones(2))
    model = StructuralModel(["k", "x"], True, scaling, np.zeros((2, 2)), [Constant(), Known([], [])], np.zeros(2))
    X = np.array([[7.0, 1.0]])
    np.testing.assert_array_equal(model.counterfactual(X, {"k": 9.0}), [[9.0, 1.0]])


def test_noise_of_any_shape_comes_from_the_residuals():
    """Skewed, bounded noise: draws must be skewed and bounded as the table is, where Gaussian ones are not."""
    rng = np.random.default_rng(0)
    x = rng.exponential(size=600)
    y = np.tanh(x) + 0.3 * (1 + x) * (rng.exponential(size=600) - 1.0)
    model = HNMSearch(noise_distribution="free").fit(np.column_stack([x, y]))
    assert all(isinstance(noise, Empirical) for noise in model.model_.noise)
    drawn = model.sample(20_000, random_state=0)
    np.testing.assert_allclose(np.quantile(drawn[:, 0], [0.01, 0.5, 0.99]), np.quantile(x, [0.01, 0.5, 0.99]), atol=0.4)
    assert drawn[:, 0].min() > -0.1
    gaussian = HNMSearch(noise_distribution="gaussian").fit(np.column_stack([x, y]))
    assert gaussian.sample(20_000, random_state=0)[:, 0].min() < -0.5


def test_fits_answer_before_and_after(fitted, chain):
    np.testing.assert_array_equal(fitted.sample(9, 0, do={"a": 1.0}), fitted.model_.sample(9, 0, do={"a": 1.0}))
    relived = fitted.counterfactual(chain, {"c": 0.0})
    np.testing.assert_array_equal(relived[:, :2], chain.values[:, :2])
    with pytest.raises(NotFittedError, match="call fit"):
        HNMSearch().effects()


def test_refits_are_the_fits_of_the_bootstrap(chain):
    estimator = HNMSearch(noise_distribution="gaussian", n_restarts=1)
    models = refits(estimator, chain, 3, random_state=4)
    ensemble = bootstrap(estimator, chain, 3, random_state=4)
    np.testing.assert_array_equal([model.adjacency != 0 for model in models], ensemble.graphs)
    assert [model.names for model in models] == [["a", "b", "c"]] * 3
    assert len({model.score(chain) for model in models}) == 3
    assert not hasattr(estimator, "model_")


def test_tables_come_back_as_they_went_in(known):
    frame = pd.DataFrame(hetero(), columns=["dose", "answer"], index=[f"row {i}" for i in range(200)])
    model = HNMSearch(noise_distribution="gaussian", n_restarts=1).fit(frame)
    for table in (model.predict(frame), model.predict_scale(frame), model.residuals(frame)):
        assert isinstance(table, pd.DataFrame)
        assert list(table.columns) == ["dose", "answer"]
        assert list(table.index) == list(frame.index)
    pd.testing.assert_frame_equal(
        model.counterfactual(frame, {"dose": frame["dose"].to_numpy()})[["dose"]], frame[["dose"]]
    )
    assert list(model.sample(3, 0).columns) == ["dose", "answer"]
    assert [type(effect) for effect in model.effects()] == [TotalEffect]
    assert isinstance(known.sample(3), np.ndarray)
    assert isinstance(HNMSearch(n_restarts=1).fit(frame.to_numpy()).predict(frame.to_numpy()), np.ndarray)


@pytest.mark.parametrize("labels", [[2019, 2020], [("a", 1), ("a", 2)], [0, 1]])
def test_labels_of_any_type_name_variables(labels, tmp_path):
    columns = pd.MultiIndex.from_tuples(labels) if isinstance(labels[0], tuple) else labels
    frame = pd.DataFrame(hetero(), columns=columns)
    model = HNMSearch(noise_distribution="gaussian", n_restarts=1).fit(frame)
    drawn = model.sample(3, 0, do={labels[1]: 0.5})
    assert list(drawn.columns) == labels
    assert (drawn.iloc[:, 1] == 0.5).all()
    pd.testing.assert_frame_equal(model.sample(3, 0, do={1: 0.5}), drawn)
    model.save(tmp_path / "m.icdh")
    again = load(tmp_path / "m.icdh")
    assert again.names == labels
    pd.testing.assert_frame_equal(again.sample(3, 0, do={labels[1]: 0.5}), drawn)


def hetero():
    rng = np.random.default_rng(0)
    dose = rng.normal(size=200)
    return np.column_stack([dose, np.tanh(dose) + (0.2 + 0.2 * (dose > 0)) * rng.normal(size=200)])


# Simulated truths


def every_kind():
    for mechanism in MECHANISMS:
        for noise in NOISES:
            if noise not in SHARED_LAYER or mechanism == "mlp":
                yield mechanism, noise


@pytest.mark.parametrize(("mechanism", "noise"), list(every_kind()))
@pytest.mark.parametrize("standardize", [False, True])
def test_true_functions_give_the_drawn_moments(mechanism, noise, standardize):
    data = simulate.simulate_sem(
        CHAIN_AND_LONER, 60, mechanism=mechanism, noise=noise, standardize=standardize, random_state=4
    )
    np.testing.assert_allclose(data.mean + data.std * data.noise, data.X, rtol=1e-9, atol=1e-9)
    for n, function in enumerate(data.functions):
        mean, std = function(data.X[:, CHAIN_AND_LONER[:, n] != 0])
        # The jitter of Gaussian processes: the function passes the drawn values by about a standard deviation of 1e-4.
        np.testing.assert_allclose(mean, data.mean[:, n], rtol=1e-2, atol=1e-2)
        np.testing.assert_allclose(std, data.std[:, n], rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_true_counterfactuals_keep_the_noise(mechanism):
    data = simulate.simulate_sem(CHAIN_AND_LONER, 60, mechanism=mechanism, noise="exp-bounded", random_state=4)
    np.testing.assert_array_equal(data.counterfactual({}), data.X)
    relived = data.counterfactual({"x0": 0.3, 3: Shift(2.0)})
    np.testing.assert_array_equal(relived[:, 0], np.full(60, 0.3))
    np.testing.assert_array_equal(relived[:, 3], data.X[:, 3] + 2.0)
    mean, std = data.functions[1](relived[:, :1])
    np.testing.assert_array_equal(relived[:, 1], mean + std * data.noise[:, 1])


@pytest.mark.parametrize("distribution", ["gaussian", "uniform"])
def test_fresh_draws_follow_the_truth(distribution):
    data = simulate.simulate_sem(
        CHAIN_AND_LONER, 4000, mechanism="linear", noise="homo-ev", distribution=distribution, random_state=0
    )
    fresh = data.sample(40_000, random_state=1)
    np.testing.assert_allclose(np.cov(fresh.T), np.cov(data.X.T), rtol=0.1, atol=0.1)
    set_ = data.sample(40_000, random_state=1, do={"x1": 2.0})
    assert set_[:, 2].mean() == pytest.approx(2.0 * data.weights[1, 2], abs=0.05)
    np.testing.assert_array_equal(set_[:, [0, 3]], fresh[:, [0, 3]])


def test_truths_can_be_pickled():
    data = simulate.simulate_sem(
        CHAIN_AND_LONER, 20, mechanism="gp-add", noise="piecewise", center=True, random_state=0
    )
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.sample(5, 0, do={"x0": 1.0}), data.sample(5, 0, do={"x0": 1.0}))


def test_bounded_spreads_are_centred_on_one():
    data = simulate.simulate_sem(CHAIN_AND_LONER, 200, noise="exp-bounded", spread=25.0, random_state=0)
    for n in (1, 2):
        assert data.std[:, n].min() == pytest.approx(1 / 5)
        assert data.std[:, n].max() == pytest.approx(5)


@pytest.mark.parametrize("estimator", [HNMSearch(n_restarts=1), ICDH()])
def test_constant_columns_are_constant_in_all_that_a_model_says(estimator, tmp_path):
    rng = np.random.default_rng(0)
    cause = rng.normal(size=200)
    X = np.column_stack([cause, np.full(200, 2020.0), cause + (0.3 + 0.2 * (cause > 0)) * rng.normal(size=200)])
    with pytest.warns(DataWarning, match="constant column"):
        model = estimator.set_params(knowledge={"required": [("x0", "x1")]}).fit(X)
    without = type(estimator)(n_restarts=1).fit(X[:, [0, 2]])
    model.save(tmp_path / "m.icdh")
    for fitted in (model, load(tmp_path / "m.icdh")):
        assert np.all(fitted.sample(20, random_state=0)[:, 1] == 2020.0)
        assert np.all(fitted.sample(20, random_state=0, do={"x0": 3.0})[:, 1] == 2020.0)
        assert np.all(fitted.predict(X)[:, 1] == 2020.0)
        assert np.all(fitted.predict_scale(X)[:, 1] == 0.0)
        assert np.all(fitted.residuals(X)[:, 1] == 0.0)
        assert fitted.score(X) == pytest.approx(without.score(X[:, [0, 2]]), rel=1e-12)
        on_constant = [total for total in fitted.effects() if total.effect == "x1"]
        assert on_constant
        assert all(total[4:] == (0.0, 0.0, 0.0, 1.0) for total in on_constant)
    assert model.nll_ == pytest.approx(without.nll_, rel=1e-12)


@pytest.fixture(scope="module")
def graded():
    rng = np.random.default_rng(0)
    sex, grade = rng.integers(0, 2, 300).astype(float), rng.integers(1, 5, 300).astype(float)
    X = np.column_stack([sex, grade, sex + 0.3 * grade + 0.5 * rng.normal(size=300)])
    return HNMSearch(n_restarts=1, kinds={0: "binary", 1: "ordinal"}).fit(X)


@pytest.mark.parametrize("do", [{"x0": 0.5}, {"x1": [1.0, 7.0]}, {"x1": Shift(0.5)}])
def test_a_column_of_few_values_is_set_to_one_of_them(graded, do):
    with pytest.raises(ValueError, match=r"do\['x\d'\] is .*, but column 'x\d' holds .* alone"):
        graded.sample(2, random_state=0, do=do)
    with pytest.raises(ValueError, match=r"values is 0\.5, but column 'x0' holds 0, 1 alone"):
        graded.average_effect("x0", "x2", [0.0, 0.5])
    assert graded.sample(2, random_state=0, do={"x0": 1, "x1": np.array([1, 4])})[:, :2].tolist() == [[1, 1], [1, 4]]


def test_numbers_far_from_all_rows_are_said_to_be(graded, tmp_path):
    graded.save(tmp_path / "m.icdh")
    for model in (graded, load(tmp_path / "m.icdh")):
        for do in ({"x2": 50.0}, {"x2": Shift(-50.0)}):
            with pytest.warns(DataWarning, match=r"do\['x2'\] is .*, far from the rows of column 'x2'"):
                model.sample(5, random_state=0, do=do)
        model.sample(5, random_state=0, do={"x2": Shift(1.0)})
