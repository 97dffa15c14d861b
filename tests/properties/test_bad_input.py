"""Each kind of bad input meets a message that names it, or a warning, and never a NaN."""

import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from helpers import cases, hetero_chain
from scipy import sparse
from support.table import Table
from support.utils import Choice, Flag, Number, constraints_of

from icdh import ICDH, DataWarning, HNMSearch, NotFittedError, bootstrap, posterior, refits
from icdh.uncertainty import direction_loss, hidden_loss

X = hetero_chain(np.random.default_rng(0), 100)


def quick(**params):
    return ICDH(**{"max_rounds": 2, "tol": 1e9, "random_state": 0, **params})


def with_cell(value, row=3, column=1):
    table = X.copy()
    table[row, column] = value
    return table


FRAME = pd.DataFrame(X, columns=["id", "age", "sex"])
WHOLE, NUMBERS = np.round(X).astype(int), np.round(X * 3)
DROP = "'age'.*drop these rows"


@cases(
    ("table", "error", "message"),
    (np.ones(()), ValueError, r"X must be 2-D .* got 0-D; reshape"),
    (np.ones(12), ValueError, r"X must be 2-D .* got 1-D; reshape"),
    (np.ones((3, 2, 2)), ValueError, r"X must be 2-D .* got 3-D; reshape"),
    (X[:0], ValueError, "X has 0 rows; at least 2 observations"),
    (X[:1], ValueError, "X has 1 row; at least 2 observations"),
    (np.ones((5, 0)), ValueError, "X has no columns"),
    ([[1, 2], [3]], ValueError, "X is no table, its rows differ in length"),
    (FRAME.set_axis(["a", "b", "a"], axis=1), ValueError, "more than one column called 'a'; rename"),
    (X + 0j, TypeError, r"X is complex; pass real numbers \(for instance X.real\)"),
    (sparse.csr_matrix(X), TypeError, r"X is a sparse matrix; pass a dense array \(X.toarray\(\)\)"),
    (sparse.coo_array(X), TypeError, r"X is a sparse matrix; pass a dense array \(X.toarray\(\)\)"),
    (WHOLE.astype(str), TypeError, "column 'x0' of X holds"),
    (WHOLE.astype("S8"), TypeError, "column 'x0' of X holds"),
    (WHOLE.astype("datetime64[s]"), TypeError, "column 'x0' of X holds"),
    (None, TypeError, "X is None; pass a table"),
    ("file.csv", TypeError, r"X is the text 'file.csv'; read a file by icdh.files.read_table"),
    ({"a": [1, 2]}, TypeError, r"X is a dict; pass a table, such as pandas.DataFrame\(X\)"),
    ((row for row in X), TypeError, "X is a generator; pass a table"),
    ({1, 2}, TypeError, "X is a set; pass a table"),
    (FRAME.assign(sex="f"), TypeError, r"column 'sex' of X holds text such as 'f', not numbers; encode it"),
    (FRAME.assign(sex=["1.5"] * 100).astype(object), TypeError, "'sex' of X holds text such as '1.5', not numbers"),
    (FRAME.assign(sex=pd.Categorical([1, 2] * 50)), TypeError, "'sex' of X has type category, not numbers"),
    (FRAME.assign(sex=pd.Timestamp("2020-01-01")), TypeError, "'sex' of X holds dates.*turn them into numbers"),
    (FRAME.assign(sex=[{}] * 100), TypeError, "column 'sex' of X holds a dict, not a number"),
    (FRAME.assign(sex=1j), TypeError, "X is complex"),
    *((FRAME.assign(age=[1.0, cell] * 50), ValueError, DROP) for cell in (np.nan, np.inf, -np.inf)),
    *(
        (FRAME.assign(age=pd.Series([1.0, cell] * 50, dtype=object)), ValueError, DROP)
        for cell in (pd.NA, None, pd.NaT, np.nan, 10**400)
    ),
    (FRAME.assign(age=pd.array([1, None] * 50, dtype="Int64")), ValueError, DROP),
    (np.ones((10, 3)), ValueError, "every column of X is constant; there is nothing to learn"),
)
@pytest.mark.filterwarnings("ignore:constant column")
def test_what_is_no_table_of_numbers_is_said(table, error, message):
    with pytest.raises(error, match=message):
        quick().fit(table)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_cell_that_is_not_finite_is_named_by_its_column(value):
    for ask in (quick().fit, quick().fit(X).predict):
        with pytest.raises(ValueError, match=r"'x1'.*drop these rows"):
            ask(with_cell(value))


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")  # of other units, which these are
@pytest.mark.parametrize("value", [1e61, -1e308])
def test_a_value_beyond_all_units_in_score(value):
    model = quick(scaling="standardize").fit(X * 1e-5)
    with pytest.raises(ValueError, match="column 'x1' of X: values far beyond those that fit saw"):
        model.score(with_cell(value))
    with pytest.raises(ValueError, match="columns 'x0', 'x1', 'x2' of X: values far"):
        model.score(np.full((2, 3), value))
    assert np.isfinite(model.score(with_cell(1e50)))


@cache
def weights_of(key, scaling="none"):
    """The weights of a table that several tests compare with."""
    tables = {"numbers": NUMBERS, "X": X, "truth values": FRAME.assign(sex=X[:, 2] > 0).astype(float)}
    return quick(scaling=scaling).fit(tables[key]).weights_


TRUE = FRAME.assign(sex=X[:, 2] > 0)


@cases(
    ("key", "table"),
    ("numbers", NUMBERS.astype(object)),
    ("numbers", NUMBERS.tolist()),
    ("numbers", NUMBERS.astype(np.longdouble)),
    ("numbers", np.asfortranarray(NUMBERS)),
    ("numbers", pd.DataFrame(NUMBERS).astype("Int64")),
    ("numbers", pd.DataFrame(NUMBERS).convert_dtypes()),
    ("numbers", pd.DataFrame(NUMBERS).astype(object)),
    ("numbers", pd.DataFrame(NUMBERS).assign(**{"1": pd.array(NUMBERS[:, 1], dtype="Float64")})[[0, "1", 2]]),
    ("truth values", TRUE),
    ("truth values", TRUE.astype({"sex": "boolean"})),
    ("truth values", TRUE.astype({"sex": object})),
)
def test_numbers_are_numbers_however_they_are_held(key, table):
    np.testing.assert_array_equal(quick().fit(table).weights_, weights_of(key))


@pytest.mark.parametrize(
    "labels",
    [[2019, 2020, 2021], pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]), [1.5, "b", ("c", 0)]],
    ids=["integers", "MultiIndex", "mixed"],
)
def test_labels_of_any_type_are_names(labels):
    frame = pd.DataFrame(X, columns=labels)
    model = quick().fit(frame)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert {end for edge in model.edge_list() for end in edge[:2]} <= set(frame.columns)
    assert frame[model.edge_list()[0].cause].shape == (100,)
    assert str(frame.columns.to_list()[0]) in model.model_.to_dot()
    with pytest.raises(ValueError, match="pass the same columns in the same order"):
        model.predict(frame.iloc[:, ::-1])


def test_a_counting_index_is_no_label():
    model = quick().fit(pd.DataFrame(X))
    assert not hasattr(model, "feature_names_in_")
    assert model.model_.names == [0, 1, 2]
    quick().fit(FRAME).predict(pd.DataFrame(X))


@cases(
    ("table", "words"),
    (np.column_stack([X[:, 0], np.full(100, 3.0), X[:, 1]]), "constant column 'x1': no causes and no effects"),
    (np.column_stack([X, X[:, 0]]), "column 'x3' repeats column 'x0': no data identify which"),
    (X[:2], "2 observations of 3 variables: expect an unreliable graph"),
)
def test_what_a_table_lacks_is_warned_about(table, words):
    with pytest.warns(DataWarning, match=words) as caught:
        model = quick(scaling="standardize").fit(table)
    assert caught[0].filename == __file__
    assert np.isfinite([model.nll_, model.score(table)]).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
@cases(
    ("n_rows", "n_above", "n_wrong", "is_said"),
    (50, 10, 0, True),
    (60, 50, 0, True),
    (49, 20, 0, False),
    (50, 9, 0, False),
    (50, 41, 0, False),
    (50, 20, 1, False),
)
def test_columns_cut_at_a_threshold_are_warned_about(sign, n_rows, n_above, n_wrong, is_said, recwarn):
    """Others are cut in few rows, where it may be an accident, or hold one row on the wrong side."""
    rank = np.random.default_rng(0).permutation(n_rows)
    number, cut = rank**1.1, np.where(rank >= n_rows - n_above, sign, 0.0)
    cut[np.argsort(number)[:n_wrong]] = sign
    Table.of(np.column_stack([number, cut])).warn()
    assert any("given by a threshold: 'x1' (of 'x0')" in str(own.message) for own in recwarn) == is_said


def test_a_column_cut_at_a_threshold_is_warned_about_once(recwarn):
    number, other = (np.random.default_rng(seed).normal(size=200) for seed in (0, 1))
    HNMSearch(n_restarts=1, kinds={1: "binary"}).fit(np.column_stack([number, number > 0.3, other]))
    assert [str(own.message).partition(":")[0] for own in recwarn] == ["column of two values, given by a threshold"]


@pytest.mark.parametrize("noise", ["heteroscedastic", "unequal", "equal"])
@pytest.mark.parametrize("unit", [1e9, 1e-9, 1e50, 1e-50])
def test_extreme_units_are_warned_about_and_stay_finite(unit, noise, recwarn):
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        model = quick(noise=noise).fit(X * unit)
        (said,) = [str(own.message) for own in recwarn if "has standard deviation" in str(own.message)]
        assert re.search("column 'x0' has standard deviation .* use scaling='standardize'", said)
        found = [model.nll_, model.score(X * unit), *model.weights_.ravel(), *model.sample(5, random_state=0).ravel()]
    assert np.isfinite(found).all()


@pytest.mark.parametrize("unit", [2.0**30, 2.0**-30, 2.0**960, 2.0**-960, 1e9, 1e-9, 1e290, 1e-290])
def test_extreme_units_mean_nothing_once_standardized(unit):
    """Powers of two change no digit of the scaled table, so that not a bit of the result may change."""
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        found = quick(scaling="standardize").fit(X * unit).weights_
    expected = weights_of("X", "standardize")
    np.testing.assert_array_equal(found > 0.0, expected > 0.0)
    if np.frexp(unit)[0] == 0.5:
        np.testing.assert_array_equal(found, expected)


@cases(
    ("scaling", "table", "message"),
    ("none", with_cell(2e60), "above 1e.* divide it"),
    ("center", with_cell(2e60), "above 1e.* divide it"),
    ("standardize", with_cell(2e300), "above 1e.* divide it"),
    ("none", X * [1, 1e-100, 1], "no values above 1e-.* divide it by its spread"),
    ("center", X * [1, 1e-62, 1], "no values above 1e-.* divide it by its spread"),
    ("standardize", X * [1, 1e-310, 1], "no values above 1e-.* divide it by its spread"),
)
def test_values_that_would_overflow_or_underflow(scaling, table, message):
    with pytest.raises(ValueError, match=rf"column 'x1' holds (values )?{message}"):
        quick(scaling=scaling).fit(table)


@cases(
    ("params", "error", "message"),
    ({"noise": "loud"}, ValueError, "noise must be one of 'heteroscedastic', 'unequal', 'equal'; got 'loud'"),
    ({"l1": -1.0}, ValueError, "l1 must be at least 0; got -1.0"),
    ({"l2": "a lot"}, TypeError, "l2 must be a number; got 'a lot'"),
    ({"hidden_units": 2.5}, TypeError, "hidden_units must be an integer; got 2.5"),
    ({"h_tol": 0.0}, ValueError, "h_tol must be above 0"),
    ({"rho_max": 0.0}, ValueError, "rho_max must be above 0"),
    ({"edge_penalty": "dear"}, ValueError, "edge_penalty must be a number or 'auto' or None; got 'dear'"),
    ({"bias": "yes"}, TypeError, "bias must be True or False; got 'yes'"),
    ({"callback": "print"}, TypeError, "callback must be callable or None; got 'print'"),
    ({"random_state": "lucky"}, TypeError, "random_state must be None, a non-negative integer.*got 'lucky'"),
    ({"random_state": -1}, ValueError, "random_state must be None, a non-negative integer.*got -1"),
    ({"edge_penalty": -1.0}, ValueError, "edge_penalty must be at least 0"),
    ({"max_seconds": 0}, ValueError, "max_seconds must be above 0"),
    ({"missing": "mean"}, ValueError, "missing must be one of"),
    ({"n_imputations": 0}, ValueError, "n_imputations must be at least 1"),
    ids=str,
)
def test_parameters_are_checked_by_fit(params, error, message):
    with pytest.raises(error, match=message):
        quick(**params).fit(X)


def odd(constraint):
    """Values that break a constraint."""
    if isinstance(constraint, Number):
        yield from ("a lot", True, np.nan, np.inf, constraint.low - 1, *[constraint.low] * constraint.above)
        yield from [2.5] * constraint.integer
    else:
        yield from {Choice: ("papper", ["none"]), Flag: ("yes", 1)}.get(type(constraint), (0, 1.5))


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [(make, name, own) for make in (ICDH, HNMSearch) for name, of in constraints_of(make).items() for own in odd(of)],
)
def test_every_parameter_is_held_to_its_constraint(make, name, value):
    with pytest.raises((TypeError, ValueError), match=f"^{name} must be"):
        make(**{name: value}).fit(X)


@cases(
    ("arguments", "error", "message"),
    ({"n_samples": 0}, ValueError, "n_samples must be at least 1"),
    ({"n_samples": 2.0}, TypeError, "n_samples must be an integer"),
    ({"random_state": "lucky"}, TypeError, "random_state must be"),
)
def test_arguments_of_sample_are_checked(fitted, arguments, error, message):
    with pytest.raises(error, match=message):
        fitted.sample(**arguments)


@pytest.mark.parametrize("value", [-1.0, np.nan, "0.3"])
def test_rethreshold_checks_its_argument_and_changes_nothing(chain, value):
    model = quick().fit(chain)
    before = model.adjacency_matrix_.copy()
    with pytest.raises((ValueError, TypeError), match="threshold must be"):
        model.rethreshold(value)
    np.testing.assert_array_equal(model.adjacency_matrix_, before)
    assert model.threshold == 0.3


@pytest.mark.parametrize("question", [posterior, direction_loss, hidden_loss])
def test_what_keeps_no_evidence_of_families_is_refused(question):
    learned = quick().fit(X)
    for model in (learned, learned.model_, None, HNMSearch):
        with pytest.raises(TypeError, match=f"^model must be a fitted HNMSearch; got {type(model).__name__}"):
            question(model)
    with pytest.raises(NotFittedError, match="call fit"):
        question(HNMSearch())


@pytest.mark.parametrize("resampled", [bootstrap, refits])
def test_what_cannot_be_fitted_to_resamples_is_refused(resampled):
    for estimator in (quick().fit(X).model_, None, ICDH):
        with pytest.raises(TypeError, match=f"^estimator must be an ICDH.*; got {type(estimator).__name__}"):
            resampled(estimator, X, 2)
