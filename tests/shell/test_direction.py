import numpy as np
import pytest
from helpers import cases, command, to_grid
from scipy.stats import t as student

from icdh import causal_direction, pairs
from icdh.exceptions import DataWarning
from icdh.files import write_table

RAMP = np.arange(30.0)


def effect_of(x, rng):
    return np.tanh(2 * x) + x**2 / 2 + (0.1 + 0.2 * np.abs(x)) * rng.laplace(size=x.size)


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=600)
    return x, effect_of(x, rng)


@pytest.fixture(scope="module")
def verdict(pair):
    return causal_direction(*pair)


@pytest.mark.slow
@cases(
    "noise",
    lambda rng: rng.normal(size=500),
    lambda rng: rng.uniform(-1.7, 1.7, size=500),
    lambda rng: rng.exponential(size=500) - 1,
)
def test_location_scale_noise_models_are_told_apart(noise):
    rng, right = np.random.default_rng(1), 0
    for k in range(20):
        x, bend = rng.normal(size=500), rng.uniform(0.5, 2)
        y = np.sin(bend * x) + x + np.exp(rng.uniform(-1, 1) * np.tanh(x)) * 0.5 * noise(rng)
        result = causal_direction(x, y) if k % 2 else causal_direction(y, x)
        right += result.direction == ("x->y" if k % 2 else "y->x")
    assert right >= 18


def test_swapped_arguments_swap_the_answer_exactly(pair, verdict):
    swapped = causal_direction(*pair[::-1])
    assert (swapped.direction, swapped.score, swapped.confidence) == ("y->x", -verdict.score, verdict.confidence)
    for ours, theirs in ((verdict.forward, swapped.backward), (verdict.backward, swapped.forward)):
        for name in vars(ours):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


@pytest.mark.parametrize("seed", range(8))
def test_swapping_is_exact_with_ties_and_few_rows(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.poisson(4, size=40), np.round(rng.normal(size=40), 1)
    with pytest.warns(DataWarning):
        forward, backward = causal_direction(x, y, random_state=seed), causal_direction(y, x, random_state=seed)
    assert forward.score == -backward.score != 0
    assert {forward.direction, backward.direction} == {"x->y", "y->x"}


def test_swapping_is_exact_where_both_have_the_same_values(pair):
    """As ranks have."""
    ranks = [np.argsort(np.argsort(column[:150])) for column in pair]
    forward, backward = causal_direction(*ranks), causal_direction(*ranks[::-1])
    assert (forward.score, forward.confidence) == (-backward.score, backward.confidence)
    np.testing.assert_array_equal(forward.forward.mean, backward.backward.mean)


def test_pairs_that_are_there_both_ways_have_no_direction(pair):
    x, y = (column[:60] for column in pair)
    assert causal_direction(np.append(x, y), np.append(y, x)).direction == "undecided"


@cases(
    ("change_x", "change_y"),
    (lambda x: 1024 * x, lambda y: y / 8),
    (lambda x: 3.7e150 * x, lambda y: 1e-200 * y),
    (lambda x: x + 100, lambda y: y - 7),
    (lambda x: -x, lambda y: y),
    (lambda x: x, lambda y: -2 * y),
    (lambda x: 5 - x / 3, lambda y: 2 - y),
)
def test_units_offsets_and_signs_do_not_matter(pair, verdict, change_x, change_y):
    changed = causal_direction(change_x(pair[0]), change_y(pair[1]))
    assert changed.direction == verdict.direction
    assert changed.score == pytest.approx(verdict.score, rel=1e-4)
    assert changed.forward.description_length == pytest.approx(verdict.forward.description_length, rel=1e-4)


def test_the_description_length_of_independent_columns_is_the_sum_of_their_entropies():
    """In units of the standardised columns, although heavy tails are cut off."""
    x, y = np.random.default_rng(0).standard_t(2, size=(2, 2000))
    expected = 2.0 * student(2).entropy() - np.log(x.std() * y.std())
    with pytest.warns(DataWarning, match="nothing shows that they depend"):
        found = causal_direction(x, y, n_bags=2)
    assert found.forward.description_length == pytest.approx(expected, abs=0.2)


def test_fitted_curves_are_in_the_units_of_the_data(pair, verdict):
    x, y = pair
    curve, changed = verdict.forward, causal_direction(-10 * x + 3, 2 * y).forward
    np.testing.assert_allclose(changed.cause_values, 3 - 10 * curve.cause_values[::-1])
    np.testing.assert_allclose(changed.mean, 2 * curve.mean[::-1], atol=1e-2)
    np.testing.assert_allclose(changed.scale, 2 * curve.scale[::-1], rtol=1e-2)
    assert curve.cause_values[[0, -1]] == pytest.approx([x.min(), x.max()])
    cause, mean, scale = (own[20:-20] for own in (curve.cause_values, curve.mean, curve.scale))
    assert np.abs(mean - np.tanh(2 * cause) - cause**2 / 2).max() < 0.25
    assert np.abs(np.log(scale / (np.sqrt(2) * (0.1 + 0.2 * np.abs(cause))))).max() < 0.8


def test_duplicated_rows_leave_the_verdict(pair, verdict):
    with pytest.warns(DataWarning, match="'x' and 'y' have 600 effective rows of 1200: rows repeat"):
        result = causal_direction(*(np.tile(column, 2) for column in pair))
    assert (result.direction, result.n_independent) == (verdict.direction, 600)
    assert result.score == pytest.approx(verdict.score, rel=0.5)


def test_same_seed_same_answer_and_other_seeds_agree(pair, verdict):
    assert verdict.backward.description_length - verdict.forward.description_length == pytest.approx(verdict.score)
    assert causal_direction(*pair).score == verdict.score > 0
    others = [causal_direction(*pair, random_state=seed) for seed in (1, np.random.default_rng(2), None)]
    assert all(other.direction == "x->y" and other.score != verdict.score for other in others)


def test_more_observations_than_a_fit_takes():
    rng = np.random.default_rng(3)
    x = rng.uniform(-2, 2, size=30_000)
    result = causal_direction(effect_of(x, rng), x, n_bags=3)
    assert result.direction == "y->x"
    assert result.confidence > 3


def test_rounded_and_short_data_and_outliers(pair):
    x, y = pair
    for first, second, message in (
        (np.round(x, 1), np.round(y, 1), "distinct values"),
        (np.round(10 * x).astype(int), y, "'x' has 41 distinct"),
    ):
        with pytest.warns(DataWarning, match=message):
            assert causal_direction(first, second).direction == "x->y"
    with pytest.warns(DataWarning, match="'x' has 2 distinct"):
        assert np.isfinite(causal_direction(x > 0, y).score)
    with pytest.warns(DataWarning, match="20 observations"):
        assert np.isfinite(causal_direction(x[:20], y[:20]).score)
    with pytest.raises(ValueError, match="at least 20"):
        causal_direction(x[:19], y[:19])
    assert causal_direction(x, np.append([40.0, -60.0, 80.0], y[3:])).direction == "x->y"


def test_unidentifiable_pairs_have_low_confidence():
    rng, confidences = np.random.default_rng(4), []
    for _ in range(20):
        x, noise = rng.normal(size=(2, 300))
        confidences.append(causal_direction(x, x + noise).confidence)
    assert np.mean(np.array(confidences) > 3.0) <= 0.2


def test_independent_variables_are_warned_of_and_in_doubt():
    """The confidence was 9."""
    rng = np.random.default_rng(0)
    with pytest.warns(DataWarning, match="'dose' and 'answer' have p = .* nothing shows that they depend"):
        verdict = causal_direction(rng.exponential(size=300), rng.normal(size=300), names=("dose", "answer"))
    assert verdict.confidence <= 1.0


def test_abstains_below_the_confidence_asked_for(pair, verdict):
    above, below = (causal_direction(*pair, abstain_below=verdict.confidence * share) for share in (1.01, 0.99))
    assert (above.direction, above.score, below.direction) == ("undecided", verdict.score, "x->y")


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@pytest.mark.parametrize("levels", [None, 4])
def test_a_score_that_is_not_a_number_decides_nothing(pair, monkeypatch, levels):
    """It is neither above nor below what is asked for, with few values of a variable and with many."""
    monkeypatch.setattr(pairs, "mean_entropy", lambda sample: np.nan)
    x, y = pair if levels is None else (to_grid(pair[0], levels), pair[1])
    for limit in (0.0, 0.5, 100.0):
        assert causal_direction(x, y, n_bags=2, abstain_below=limit).direction == "undecided"


@pytest.mark.parametrize("slope", [1.0, -3.0])
def test_linear_functions_are_undecided(pair, slope):
    with pytest.warns(DataWarning, match="linear function"):
        result = causal_direction(pair[0], slope * pair[0] + 1.0)
    assert (result.direction, result.score, result.confidence) == ("undecided", 0.0, 0.0)


def test_columns_series_and_lists_are_taken_and_stay_as_they_are(pair, verdict):
    pandas = pytest.importorskip("pandas")
    x, y = (column.copy() for column in pair)
    x.flags.writeable = y.flags.writeable = False
    frame = pandas.DataFrame({"x": x, "y": y})
    for first, second in ((x, y), (frame["x"], frame[["y"]]), (x.tolist(), y[:, None])):
        assert causal_direction(first, second).score == verdict.score


@cases(
    ("x", "y", "error", "message"),
    (np.ones(30), RAMP, ValueError, "'x' is constant"),
    (RAMP, np.zeros(30), ValueError, "'y' is constant"),
    (RAMP, np.arange(31.0), ValueError, "30 values of 'x' and 31 of 'y'"),
    (np.arange(60.0).reshape(30, 2), RAMP, ValueError, "'x' must be one variable"),
    (np.append(RAMP[:29], np.nan), RAMP, ValueError, "NaN.* 1 in 'x'"),
    (RAMP, np.append(RAMP[:29], np.inf), ValueError, "column 'y' .* infinity"),
    (RAMP, ["a"] * 30, TypeError, "column 'y' .* not numbers"),
    (RAMP * 1j, RAMP, TypeError, "complex"),
)
def test_bad_data_are_named(x, y, error, message):
    with pytest.raises(error, match=message):
        causal_direction(x, y)


def test_a_variable_that_hardly_varies_is_refused():
    x = np.zeros(100_000)
    x[0] = 1.0
    with pytest.warns(DataWarning), pytest.raises(ValueError, match="'dose' has the same value"):
        causal_direction(x, np.arange(100_000.0), names=("dose", "response"))


@cases(
    ("options", "error", "message"),
    ({"abstain_below": -1.0}, ValueError, "abstain_below"),
    ({"abstain_below": "high"}, TypeError, "abstain_below"),
    ({"n_bags": 1}, ValueError, "n_bags"),
    ({"n_bags": 2.5}, TypeError, "n_bags"),
    ({"random_state": -1}, ValueError, "random_state"),
    ({"random_state": "x"}, TypeError, "random_state"),
)
def test_bad_parameters_are_named(pair, options, error, message):
    with pytest.raises(error, match=message):
        causal_direction(*pair, **options)


def test_command_prints_all_pairs_or_the_chosen_one(tmp_path, printed, pair, verdict):
    data = tmp_path / "data.csv"
    write_table(data, np.column_stack([*pair, np.random.default_rng(7).normal(size=600)]), ["dose", "response", "more"])
    lines = printed("direction", data).splitlines()
    assert len(lines) == 4
    assert all(words in lines[1] for words in ("dose, response", "dose -> response"))
    assert printed("direction", data, "--abstain-below", "1000").count("undecided") == 3
    out = printed("direction", data, "--columns", "response", "dose")
    assert all(words in out for words in ("dose -> response", f"{verdict.score:.4f}"))


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@pytest.mark.parametrize("n", [20, 200, 1000])
@cases(
    "effect",
    np.tanh,
    np.log,
    lambda x: np.sign(x - 1.0),
    lambda x: x**-5.0,
    lambda x: np.round(x) % 2.0,
    lambda x: x * 1e-300,
    ids=["saturated", "without noise", "sign", "power", "parity", "tiny"],
)
def test_verdicts_are_finite_however_deterministic_the_effect(n, effect):
    """Saturated effects of heavy tails leave noise of one value, whose entropy was once minus infinity."""
    x = np.exp(3.0 * np.random.default_rng(2).normal(size=n))
    result = causal_direction(x, effect(x), abstain_below=1e9)
    assert result.direction == "undecided"
    assert np.isfinite([result.score, result.confidence]).all()
    for fit in (result.forward, result.backward):
        assert all(np.isfinite(value).all() for value in vars(fit).values())


def test_a_point_mass_leaves_little_confidence():
    x, noise = np.random.default_rng(0).normal(size=(2, 400))
    y = np.tanh(2 * x) + (0.1 + 0.2 * np.abs(x)) * noise
    for limit in (0.0, 1.5):
        with pytest.warns(DataWarning, match="'y' has .* with a point mass"):
            result = causal_direction(x, np.maximum(y, np.quantile(y, 0.2)), n_bags=2, abstain_below=limit)
        assert result.confidence <= 1.0
        assert limit == 0.0 or result.direction == "undecided"
    with pytest.warns(DataWarning, match="'y' has 0 in 30 %"):  # and not what rounding leaves of it
        causal_direction(x, np.where(y > np.quantile(y, 0.3), 2.3 + y, 0.0), n_bags=2)


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@pytest.mark.parametrize("side", ["cause", "effect", "both"])
def test_ever_coarser_rounding_fades_and_never_turns_an_arrow_with_confidence(side):
    x, noise = np.random.default_rng(3).normal(size=(2, 500))
    y = np.tanh(1.5 * x) + 0.5 * x**2 + (0.2 + 0.3 * np.abs(x)) * noise
    exact = causal_direction(x, y, n_bags=2)
    assert exact.direction == "x->y"
    assert exact.confidence > 2.0
    for levels in (40, 20, 16, 12, 10, 8, 5, 3, 2):
        cause, effect = to_grid(x, levels) if side != "effect" else x, to_grid(y, levels) if side != "cause" else y
        rounded = causal_direction(cause, effect, n_bags=2)
        assert (rounded.direction == "x->y" and rounded.confidence > 1.0) if levels >= 10 else rounded.confidence <= 1.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@pytest.mark.parametrize("side", ["cause", "effect"])
def test_no_arrow_of_several_mechanisms_turns_with_confidence_when_one_side_is_rounded(side):
    rng = np.random.default_rng(8)
    x, e = rng.gamma(2.0, size=400), rng.normal(size=400)
    bend = np.tanh(x - 1.5)
    for y in (bend + 0.3 * e, x * rng.normal(size=400), np.sin(x) + (0.1 + 0.2 * x) * e, np.exp(bend + 0.3 * e)):
        for levels in range(2, 21, 3):
            rounded = (to_grid(x, levels), y) if side == "cause" else (x, to_grid(y, levels))
            result = causal_direction(*rounded)
            assert result.direction == "x->y" or result.confidence < 2.0


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
def test_where_nothing_can_be_known_the_rounded_side_is_neither_cause_nor_effect():
    rng, toward = np.random.default_rng(9), 0
    for k in range(24):
        x, e = rng.normal(size=(2, 800))
        y = 0.6 * x + 0.8 * e
        columns = (np.round(2 * x), y) if k % 2 else (x, np.round(2 * y))
        toward += (causal_direction(*columns, n_bags=4).score > 0) != bool(k % 2)
    assert 6 <= toward <= 18


def test_the_verdict_is_text_and_a_dict_and_a_frame(verdict):
    assert str(verdict).startswith("x->y: score ")
    content = verdict.to_dict()
    assert content["direction"] == "x->y"
    frame = verdict.to_frame()
    assert frame["direction"].value_counts().to_dict() == {"x->y": 200, "y->x": 200}
    np.testing.assert_array_equal(frame["mean"][:200], verdict.forward.mean)


def series(rng, m=400):
    steps = rng.gamma(2.0, size=m)
    for k in range(1, m):
        steps[k] += 0.95 * steps[k - 1]
    return steps


def test_rows_that_depend_on_those_before_them_are_said_and_marked(tmp_path, capsys, pair):
    """Of independent series with an autocorrelation of 0.95 40 % had a confidence above 2, without a word."""
    rng = np.random.default_rng(0)
    x, y = series(rng), series(rng)
    with pytest.warns(DataWarning, match="effective rows of 400: rows depend on those before them") as said:
        assert causal_direction(x, y).n_independent < 100
    assert said[0].filename == __file__
    sorted_rows = np.argsort(pair[0])
    for rows in (slice(None), sorted_rows):  # a warning would be an error
        assert causal_direction(*(column[rows] for column in pair)).n_independent is None
    write_table(tmp_path / "t.csv", np.column_stack([x, y, pair[0][:400]]), ["x", "y", "other"])
    assert command("direction", tmp_path / "t.csv") == 0
    out, err = capsys.readouterr()
    assert [line.endswith("*") for line in out.splitlines()] == [False, True, False, False, False]
    assert out.splitlines()[-1].startswith("* rows depend on those before them, or repeat")
    assert "rows depend on those before them, and such series" in err
