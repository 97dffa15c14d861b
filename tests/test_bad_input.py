"""Each kind of bad input meets a message that names it, or a warning, and never a NaN."""

import warnings

import numpy as np
import pandas as pd
import pytest
from helpers import hetero_chain
from scipy import sparse

from icdh import ICDH, DataWarning

X = hetero_chain(np.random.default_rng(0), 100)


def quick(**params):
    return ICDH(**{"max_rounds": 2, "tol": 1e9, "random_state": 0, **params})


def with_cell(value, row=3, column=1):
    table = X.copy()
    table[row, column] = value
    return table


@pytest.mark.parametrize("shape", [(), (12,), (3, 2, 2)])
def test_not_two_dimensional(shape):
    with pytest.raises(ValueError, match=rf"X must be 2-D .* got {len(shape)}-D; reshape"):
        quick().fit(np.ones(shape))


@pytest.mark.parametrize("rows", [0, 1])
def test_fewer_than_two_rows(rows):
    with pytest.raises(ValueError, match=rf"X has {rows} row\(s\); at least 2 observations"):
        quick().fit(X[:rows])


def test_no_columns():
    with pytest.raises(ValueError, match="X has no columns"):
        quick().fit(np.ones((5, 0)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_cell_that_is_not_finite_is_named_by_its_column(value):
    with pytest.raises(ValueError, match="column 'x1' of X holds NaN or infinity; drop or impute"):
        quick().fit(with_cell(value))
    with pytest.raises(ValueError, match="column 'age' of X holds NaN or infinity"):
        quick().fit(pd.DataFrame(with_cell(value), columns=["id", "age", "sex"]))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_cell_that_is_not_finite_in_predict(value):
    model = quick().fit(X)
    with pytest.raises(ValueError, match="column 'x1' of X holds NaN"):
        model.predict(with_cell(value))


@pytest.mark.parametrize("value", [1e61, -1e308])
def test_a_value_beyond_all_units_in_score(value):
    model = quick(scaling="standardize").fit(X * 1e-5)
    with pytest.raises(ValueError, match="column 'x1' of X holds values far beyond those that fit saw"):
        model.score(with_cell(value))
    assert np.isfinite(model.score(with_cell(1e50)))


def test_text_is_named_by_its_column():
    frame = pd.DataFrame(X, columns=["id", "age", "sex"]).assign(sex="f")
    with pytest.raises(TypeError, match=r"column 'sex' of X has type .*, not numbers; encode it"):
        quick().fit(frame)


@pytest.mark.parametrize("kind", [str, object])
def test_arrays_of_text_or_objects(kind):
    with pytest.raises(TypeError, match=r"X has type .*, not numbers"):
        quick().fit(X.astype(kind))


def test_complex_numbers():
    with pytest.raises(TypeError, match=r"X is complex; pass real numbers \(for instance X.real\)"):
        quick().fit(X + 0j)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.coo_array])
def test_sparse_matrices(kind):
    with pytest.raises(TypeError, match=r"X is a sparse matrix; pass a dense array \(X.toarray\(\)\)"):
        quick().fit(kind(X))


def test_duplicated_names():
    with pytest.raises(ValueError, match="more than one column called 'a'; rename"):
        quick().fit(pd.DataFrame(X, columns=["a", "b", "a"]))


def test_a_constant_column_is_warned_about():
    with pytest.warns(DataWarning, match=r"constant column\(s\) 'x1': they can have no causes or effects") as caught:
        quick().fit(np.column_stack([X[:, 0], np.full(100, 3.0), X[:, 1]]))
    assert caught[0].filename == __file__


def test_nothing_but_constant_columns():
    with (
        pytest.warns(DataWarning, match="constant"),
        pytest.raises(ValueError, match="every column of X is constant; there is nothing to learn"),
    ):
        quick().fit(np.ones((10, 3)))


def test_duplicated_columns_are_warned_about():
    with pytest.warns(DataWarning, match="column 'x3' repeats column 'x0': which of them is a cause"):
        model = quick().fit(np.column_stack([X, X[:, 0]]))
    assert np.isfinite(model.nll_)


def test_fewer_rows_than_columns_are_warned_about():
    with pytest.warns(DataWarning, match="2 observations of 3 variables: expect an unreliable graph"):
        model = quick(scaling="standardize").fit(X[:2])
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize("noise", ["heteroscedastic", "unequal", "equal"])
@pytest.mark.parametrize("unit", [1e9, 1e-9, 1e50, 1e-200])
def test_extreme_units_are_warned_about_and_stay_finite(unit, noise):
    with np.errstate(over="raise", divide="raise", invalid="raise"), warnings.catch_warnings():
        warnings.simplefilter("always")
        with pytest.warns(DataWarning, match="column 'x0' has standard deviation .* use scaling='standardize'"):
            model = quick(noise=noise).fit(X * unit)
        found = [model.nll_, model.score(X * unit), *model.weights_.ravel(), *model.sample(5, random_state=0).ravel()]
    assert np.isfinite(found).all()


@pytest.mark.parametrize("unit", [1e9, 1e-9, 1e290, 1e-290])
def test_extreme_units_mean_nothing_once_standardized(unit):
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        model = quick(scaling="standardize").fit(X * unit)
    np.testing.assert_allclose(model.weights_, quick(scaling="standardize").fit(X).weights_, atol=1e-2)


@pytest.mark.parametrize(("scaling", "limit"), [("none", 1e60), ("center", 1e60), ("standardize", 1e300)])
def test_values_that_would_overflow(scaling, limit):
    with pytest.raises(ValueError, match=r"column 'x1' holds values above 1e.* divide it"):
        quick(scaling=scaling).fit(with_cell(2 * limit))


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"noise": "loud"}, ValueError, "noise must be one of 'heteroscedastic', 'unequal', 'equal'; got 'loud'"),
        ({"scaling": "log"}, ValueError, "scaling must be one of 'none', 'center', 'standardize'; got 'log'"),
        ({"scaling": ["none"]}, ValueError, "scaling must be one of"),
        ({"l1": -0.1}, ValueError, "l1 must be at least 0; got -0.1"),
        ({"l2": -1}, ValueError, "l2 must be at least 0"),
        ({"l1": np.nan}, ValueError, "l1 must be at least 0; got nan"),
        ({"l2": "a lot"}, TypeError, "l2 must be a number; got 'a lot'"),
        ({"threshold": -0.3}, ValueError, "threshold must be at least 0"),
        ({"hidden_units": 0}, ValueError, "hidden_units must be at least 1"),
        ({"hidden_units": 2.5}, TypeError, "hidden_units must be an integer; got 2.5"),
        ({"hidden_units": True}, TypeError, "hidden_units must be an integer"),
        ({"n_restarts": 0}, ValueError, "n_restarts must be at least 1"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be at least 1"),
        ({"max_rounds": 0}, ValueError, "max_rounds must be at least 1"),
        ({"tol": -1e-3}, ValueError, "tol must be at least 0"),
        ({"h_tol": 0.0}, ValueError, "h_tol must be above 0"),
        ({"rho_max": np.inf}, ValueError, "rho_max must be above 0; got inf"),
        ({"bias": "yes"}, TypeError, "bias must be True or False; got 'yes'"),
        ({"callback": "print"}, TypeError, "callback must be callable or None; got 'print'"),
        ({"random_state": "lucky"}, TypeError, "random_state must be None, a non-negative integer.*got 'lucky'"),
        ({"random_state": -1}, ValueError, "random_state must be None, a non-negative integer.*got -1"),
        ({"forbidden_edges": np.ones((2, 2), bool)}, ValueError, r"forbidden_edges must have shape \(3, 3\)"),
        ({"forbidden_edges": np.ones((3, 3))}, TypeError, "forbidden_edges must be boolean, got float64"),
    ],
    ids=str,
)
def test_parameters_are_checked_by_fit(params, error, message):
    with pytest.raises(error, match=message):
        quick(**params).fit(X)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_samples": 0}, ValueError, "n_samples must be at least 1"),
        ({"n_samples": 2.0}, TypeError, "n_samples must be an integer"),
        ({"random_state": "lucky"}, TypeError, "random_state must be"),
    ],
)
def test_arguments_of_sample_are_checked(fitted, arguments, error, message):
    with pytest.raises(error, match=message):
        fitted.sample(**arguments)


@pytest.mark.parametrize("value", [-1.0, np.nan, "0.3", None])
def test_rethreshold_checks_its_argument_and_changes_nothing(chain, value):
    model = quick().fit(chain)
    before = model.adjacency_matrix_.copy()
    with pytest.raises((ValueError, TypeError), match="threshold must be"):
        model.rethreshold(value)
    np.testing.assert_array_equal(model.adjacency_matrix_, before)
    assert model.threshold == 0.3
