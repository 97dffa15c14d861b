"""Weights of rows: frequency weights are repeated rows, and sampling weights those of a population."""

import warnings

import numpy as np
import pandas as pd
import pytest
from helpers import cases
from support.table import Table

import icdh
from icdh import ICDH, HNMSearch, Interventions, bootstrap, check, posterior, refits
from icdh.files import LabelledTable
from icdh.uncertainty import direction_loss, hidden_loss

pytestmark = pytest.mark.filterwarnings("ignore")
M = 120
RNG = np.random.default_rng(0)
COUNTS = RNG.integers(0, 4, size=M)
SHARES = RNG.uniform(0.2, 3.0, size=M)


def numbers(rows=M, seed=1):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=rows)
    b = np.tanh(2.0 * a) + (0.3 + 0.2 * (a > 0)) * rng.normal(size=rows)
    return np.column_stack([a, b, a * b + 0.5 * rng.normal(size=rows)])


def mixed(rows=M):
    """Numbers, grades, labels, counts and a number with many zeros."""
    rng = np.random.default_rng(2)
    a, b, _ = numbers(rows).T
    grade = np.digitize(a + rng.logistic(size=rows), [-1.0, 0.5, 2.0])
    label = np.array(list("xyz"))[(rng.integers(3, size=rows) + (b > 0)) % 3]
    count = rng.poisson(np.exp(0.5 * b))
    zeros = np.where(a > 0.5, 0.0, np.exp(b))
    return pd.DataFrame({"a": a, "grade": grade, "label": label, "count": count, "zeros": zeros})


def quick(**options):
    return HNMSearch(n_restarts=1, **options)


def assert_same(one, other, rel=0.0):
    np.testing.assert_allclose(one.adjacency_matrix_, other.adjacency_matrix_, rtol=rel, atol=rel)
    names = ("evidence_", "nll_") if isinstance(one, HNMSearch) else ("nll_",)
    for name in names:
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=rel or 1e-15, abs=1e-15)
    assert one.sample(5, 0).__repr__() == other.sample(5, 0).__repr__() or rel


TABLES = {"numbers": (numbers(), {}), "mixed": (mixed(), {})}
ESTIMATORS = {"search": quick, "icdh": lambda **options: ICDH(max_rounds=1, scaling="standardize", **options)}


def repeated(X, counts=COUNTS):
    rows = np.repeat(np.arange(M), counts)
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


@pytest.mark.parametrize(("table", "method"), [("numbers", "search"), ("numbers", "icdh"), ("mixed", "search")])
def test_frequency_weights_are_repeated_rows(table, method):
    X, options = TABLES[table]
    fit = ESTIMATORS[method](**options).fit(X, sample_weight=COUNTS, weights="frequency")
    rows = ESTIMATORS[method](**options).fit(repeated(X))
    assert_same(fit, rows)
    assert fit.model_.about["n_observations"] == COUNTS.sum()
    assert fit.score(X, sample_weight=COUNTS) == pytest.approx(rows.score(repeated(X)), rel=1e-10)


def test_frequency_weights_repeat_what_was_done_to_a_row():
    X, condition = numbers(), np.where(np.arange(M) % 3 == 0, "set", "none")
    X[condition == "set", 1] = 2.0
    done = Interventions(condition, {"none": [], "set": [1]})
    fit = quick().fit(X, interventions=done, sample_weight=COUNTS, weights="frequency")
    rows = np.repeat(np.arange(M), COUNTS)
    assert_same(fit, quick().fit(X[rows], interventions=Interventions(condition[rows], {"none": [], "set": [1]})))


@pytest.mark.parametrize(("table", "method"), [("numbers", "search"), ("numbers", "icdh"), ("mixed", "search")])
def test_rows_of_no_weight_are_left_out(table, method):
    X, options = TABLES[table]
    kept, shares = COUNTS > 0, np.where(COUNTS > 0, SHARES, 0.0)
    fit = ESTIMATORS[method](**options).fit(X, sample_weight=shares)
    assert_same(fit, ESTIMATORS[method](**options).fit(X[kept], sample_weight=SHARES[kept]))
    weighted = fit.score(X, sample_weight=shares)
    assert weighted == pytest.approx(fit.score(X[kept], sample_weight=SHARES[kept]), rel=1e-12)
    assert weighted != pytest.approx(fit.score(X[kept]), rel=1e-6)


def test_labels_of_rows_of_no_weight_alone_are_no_labels():
    X = mixed()
    X.loc[0, "label"] = "never"
    weights = np.ones(M)
    weights[0] = 0.0
    assert_same(quick().fit(X, sample_weight=weights), quick().fit(X.iloc[1:]))


@pytest.mark.parametrize("method", ESTIMATORS)
def test_neither_the_unit_of_sampling_weights_nor_the_order_of_rows_matters(method):
    X, shuffled = numbers(), np.random.default_rng(5).permutation(M)
    first = ESTIMATORS[method]().fit(X, sample_weight=SHARES)
    assert_same(ESTIMATORS[method]().fit(X, sample_weight=1234.5 * SHARES), first, 1e-12)
    assert_same(ESTIMATORS[method]().fit(X[shuffled], sample_weight=SHARES[shuffled]), first, 1e-6)


@pytest.mark.parametrize("method", ESTIMATORS)
def test_equal_sampling_weights_are_none(method):
    assert_same(ESTIMATORS[method]().fit(numbers(), sample_weight=np.full(M, 7.3)), ESTIMATORS[method]().fit(numbers()))


def test_evidence_counts_the_effective_rows():
    """Of two copies of a table the second one counts for nothing, nearly: there are M effective rows."""
    X = numbers()
    weights = np.append(np.ones(M), np.full(M, 1e-6))
    kinds = dict.fromkeys(range(3), "continuous")
    twice = quick(kinds=kinds, noise_distribution="gaussian").fit(np.vstack([X, X]), sample_weight=weights)
    once = quick(kinds=kinds, noise_distribution="gaussian").fit(X)
    assert twice.model_.about["n_effective"] == pytest.approx(M, rel=1e-5)
    np.testing.assert_allclose(twice.adjacency_matrix_, once.adjacency_matrix_, rtol=1e-2, atol=0.1)


def test_noise_is_that_of_the_population():
    """Exponential noise, of which rows near its end were chosen more often."""
    noise = np.random.default_rng(5).exponential(size=1500)
    chance = np.exp(-0.5 * noise)
    kept = np.random.default_rng(6).random(1500) < chance
    model = quick(noise_distribution="free").fit(noise[kept, np.newaxis], sample_weight=1.0 / chance[kept])
    drawn = model.sample(20_000, random_state=0)
    assert (drawn.mean(), drawn.std()) == (pytest.approx(1.0, abs=0.1), pytest.approx(1.0, abs=0.15))
    assert np.mean(drawn > 2.0) == pytest.approx(np.exp(-2.0), abs=0.03)


def test_rows_of_large_weight_are_warned_of():
    """A fit takes them for copies, and may see no noise near them."""
    X = numbers()
    weights = np.append(np.ones(M - 1), 20.0)
    with pytest.warns(icdh.DataWarning, match=r"row 119 counts for 5.4 of 37 effective rows: .* trim the weights"):
        quick().fit(X, sample_weight=weights)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick().fit(X, sample_weight=np.minimum(weights, 5.0 * weights.mean()))


@pytest.mark.parametrize("method", ESTIMATORS)
def test_weights_make_up_for_how_rows_were_chosen(method):
    """Rows of large effects were seldom kept: unweighted, the mean of the effect is flat."""
    rng = np.random.default_rng(6)
    cause = rng.normal(size=8000)
    effect = cause + rng.normal(size=8000)
    chance = np.maximum(1.0 / (1.0 + np.exp(2.0 * effect)), 0.05)
    kept = rng.random(8000) < chance
    X, weights = np.column_stack([cause, effect])[kept], 1.0 / chance[kept]
    options = {"knowledge": icdh.Knowledge(required=[(0, 1)])}
    options |= {"column_transform": "none"} if method == "search" else {"bias": True}
    plain, weighted = (ESTIMATORS[method](**options).fit(X, sample_weight=own) for own in (None, weights))
    at = np.column_stack([[-1.0, 1.0], [0.0, 0.0]])
    slopes = [np.ptp(fit.predict(at)[:, 1]) / 2.0 for fit in (plain, weighted)]
    assert slopes[0] < 0.8
    assert slopes[1] == pytest.approx(1.0, abs=0.12)
    centre = weighted.offset_ if method == "search" else weighted.model_.columns.centre
    np.testing.assert_allclose(centre, 0.0, atol=0.12)


def test_gaps_are_dropped_or_imputed_with_the_weights_of_their_rows():
    X = numbers()
    X[::7, 1] = np.nan
    kept = ~np.isnan(X).any(axis=1)
    dropped = quick(missing="drop").fit(X, sample_weight=SHARES)
    assert_same(dropped, quick().fit(X[kept], sample_weight=SHARES[kept]))
    imputed = quick(missing="impute", n_imputations=2).fit(X, sample_weight=SHARES)
    assert imputed.model_.about["n_effective"] == pytest.approx(SHARES.sum() ** 2 / np.square(SHARES).sum())


def test_what_follows_a_weighted_fit_uses_the_weights():
    """A posterior, and what is lost by turned arrows, are of the scores of the fit."""
    X = numbers()
    fits = [quick().fit(X, sample_weight=own) for own in (None, SHARES)]
    losses = [direction_loss(fit) for fit in fits]
    assert np.nanmax(np.abs(losses[0] - losses[1])) > 0.1
    assert hidden_loss(fits[1]).shape == (3, 3)
    assert posterior(fits[1]).edge_probability.shape == (3, 3)
    again = fits[1].rethreshold(min_strength=1e9)
    assert not again.adjacency_matrix_.any()
    alike = bootstrap(quick(), X, 3, sample_weight=SHARES, random_state=1).edge_probability
    assert alike.shape == (3, 3)
    rows = bootstrap(quick(), X, 3, sample_weight=COUNTS, weights="frequency").edge_probability
    np.testing.assert_array_equal(rows, bootstrap(quick(), repeated(X), 3).edge_probability)
    models = refits(fits[1], X, 2, sample_weight=SHARES)
    assert models[0].about["weights"] == "sampling"


def test_a_saved_model_knows_that_rows_had_weights(tmp_path):
    fit = quick().fit(numbers(), sample_weight=SHARES)
    fit.save(tmp_path / "m.icdh")
    again = icdh.load(tmp_path / "m.icdh")
    assert again.about["weights"] == "sampling"
    with pytest.raises(ValueError, match="model was fitted with sample_weight, and the tests of a check count every"):
        check(again, numbers())


def with_weight(value, row=3):
    weights = np.ones(M)
    weights[row] = value
    return weights


@cases(
    ("weights", "options", "message"),
    (["heavy"] * M, {}, "sample_weight"),
    (np.ones(3), {}, r"sample_weight must have shape \(120,\), one a row; got \(3,\)"),
    (with_weight(-1.0), {}, "sample_weight holds a negative number in row 3; drop the row, or give it weight 0"),
    (with_weight(np.nan), {}, "sample_weight holds a gap or infinity in row 3; drop the row"),
    (with_weight(np.inf), {}, "sample_weight holds a gap or infinity in row 3"),
    (np.zeros(M), {}, "sample_weight must be above zero in at least 2 rows"),
    (np.eye(M)[0], {}, "sample_weight must be above zero in at least 2 rows"),
    (SHARES, {"weights": "frequency"}, "sample_weight holds .*; frequency weights are whole numbers"),
    (with_weight(1e9), {"weights": "frequency"}, "sample_weight stands for 1000000119 rows, more than 10,000,000"),
    (None, {"weights": "frequency"}, "weights is 'frequency', but there are none; pass sample_weight"),
    (SHARES, {"weights": "survey"}, "weights must be one of 'sampling', 'frequency'; got 'survey'"),
    (SHARES, {"sequence": True}, "sample_weight cannot go with groups or sequence; leave one of them out"),
    (SHARES, {"groups": np.arange(M) // 2}, "sample_weight cannot go with groups or sequence"),
    (pd.Series(SHARES, index=np.arange(M) + 1), {}, "sample_weight has other row labels than X"),
)
def test_weights_that_are_none_are_refused(weights, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        quick().fit(pd.DataFrame(numbers(), columns=list("abc")), sample_weight=weights, **options)


def test_what_takes_no_account_of_weights_refuses_them():
    fit = quick().fit(numbers(), sample_weight=SHARES)
    with pytest.raises(ValueError, match="model was fitted with sample_weight"):
        check(fit, numbers())
    with pytest.raises(ValueError, match="sample_weight is what the estimator was fitted with; pass it here, too"):
        bootstrap(fit, numbers(), 2)
    counted = quick().fit(numbers(), sample_weight=COUNTS, weights="frequency")
    with pytest.raises(ValueError, match="model was fitted with sample_weight"):
        check(counted, numbers())


def test_weights_are_not_modified_and_stay_beside_a_labelled_table():
    X, weights = LabelledTable(numbers(), ["a", "b", "c"]), SHARES.copy()
    quick().fit(X, sample_weight=weights)
    np.testing.assert_array_equal(weights, SHARES)
    table = Table.of(numbers())
    assert table.effective_weights is None
    assert table.n_effective == M
