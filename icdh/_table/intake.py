"""Any container that users pass as a table, converted to named columns of numbers, or an error that says why not."""

from collections.abc import Collection, Hashable, Mapping
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from icdh._ground.labels import default_names
from icdh._table.categories import ENCODE, MISSING_TYPES, Categories
from icdh._table.frames import as_array, column_labels

_DATES = ("Timestamp", "Timedelta", "datetime", "datetime64", "date", "timedelta", "timedelta64", "Period")
_ENCODE_OR_SEARCH = f"{ENCODE} (HNMSearch takes a column of few labels as it is)"


class Intake(NamedTuple):
    """A table as numbers.

    Attributes
    ----------
    values : ndarray, shape (N, M)
        The numbers, float64 in C order.
    labels : list or None
        N column names of any type; None if there are none.
    categories : dict of int to Categories
        The labels that the numbers of a column stand for, by position of the column.
    """

    values: np.ndarray
    labels: list[Hashable] | None
    categories: dict[int, Categories]


def values_and_labels(
    X: Any,
    argument: str,
    categorical: Collection[Hashable] | None = None,
    known: Mapping[int, Categories] | None = None,
) -> Intake:
    """Return a table as float64 with variables in rows, shape (N, M), a copy in C order, and its column labels.

    Parameters
    ----------
    X : array_like or DataFrame, shape (M, N)
        Observations in rows, variables in columns: numbers or truth values, also pandas' nullable ones, or objects that
        are numbers. What is missing, or masked, becomes NaN. Tables of pandas, polars and pyarrow have labels.
    argument : str
        The name of the argument in error messages.
    categorical : collection of names and positions, optional
        Categorical columns. If not None (even if empty), columns of repeated text and of pandas' type category are
        treated as categorical. By default labels are refused.
    known : mapping from positions to Categories, optional
        The labels that columns may hold.

    Returns
    -------
    Intake
        Numbers, column names, and the labels that numbers stand for.

    Raises
    ------
    TypeError
        If X is not a table, or holds cells that are neither real numbers nor accepted labels.
    ValueError
        If X is ragged or not 2-D, has no columns or duplicated names, or holds an unknown label.
    """
    _reject_what_is_no_table(X, argument)
    raw = _as_array(X, argument)
    if raw.ndim != 2:
        raise ValueError(
            f"{argument} must be 2-D (observations in rows, variables in columns), got {raw.ndim}-D; "
            "reshape a single variable with X.reshape(-1, 1)"
        )
    if raw.shape[1] == 0:
        raise ValueError(f"{argument} has no columns; pass at least one variable")
    labels = column_labels(X)
    names = default_names(raw.shape[1]) if labels is None else labels
    if len(set(names)) != len(names):
        duplicated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{argument} has more than one column called {duplicated!r}; rename the columns")
    values, categories = _numbers(X, raw, names, argument, categorical, known or {})
    return Intake(values, labels, categories)


def _reject_what_is_no_table(X, argument):
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(f"{argument} is a sparse matrix; pass a dense array ({argument}.toarray())")
    if X is None:
        raise TypeError(f"{argument} is None; pass a table of observations")
    if isinstance(X, (str, bytes, PathLike)):
        raise TypeError(f"{argument} is the text {X!r}; read a file by icdh.files.read_table(path) and pass the result")
    if isinstance(X, Mapping):
        raise TypeError(f"{argument} is a {type(X).__name__}; pass a table, such as pandas.DataFrame({argument})")


def _as_array(X, argument):
    try:
        raw = as_array(X)
    except ValueError as error:
        raise ValueError(f"{argument} is no table, its rows differ in length: {error}") from error
    if raw.ndim == 0 and raw.dtype == object:
        raise TypeError(f"{argument} is a {type(X).__name__}; pass a table of observations in rows")
    return raw


def _numbers(X, raw, names, argument, categorical, known):
    if np.iscomplexobj(raw):
        raise TypeError(f"{argument} is complex; pass real numbers (for instance {argument}.real)")
    types = list(getattr(X, "dtypes", ()))
    of_categories = [str(dtype) == "category" for dtype in types] or [False] * len(names)
    if raw.dtype.kind in "biuf" and not any(of_categories) and not known:
        with np.errstate(over="ignore"):  # of long doubles; infinity is reported where NaN is
            return np.array(raw.T, dtype=np.float64, order="C"), {}
    values, found = np.empty(raw.T.shape), {}
    for i, name in enumerate(names):
        cells, column = list(raw[:, i]), f"column {name!r} of {argument}"
        own = known.get(i)
        if own is None and of_categories[i] and categorical is None:
            # The order of the codes may mean nothing.
            raise TypeError(f"{column} has type category, not numbers; {_ENCODE_OR_SEARCH}")
        if own is None and categorical is not None:
            dtype, declared = types[i] if of_categories[i] else None, name in categorical or i in categorical
            own = Categories.found(cells, dtype, declared, column)
        if own is None:
            values[i] = [_number(cell, column, categorical is None) for cell in cells]
        else:
            values[i], found[i] = own.encoded(cells, column), own
    return values, found


def _number(cell, column, refuses_labels):
    kind = type(cell).__name__
    if kind in MISSING_TYPES:
        return np.nan
    if isinstance(cell, (str, bytes)):
        remedy = _ENCODE_OR_SEARCH if refuses_labels else ENCODE
        raise TypeError(f"{column} holds text such as {cell!r}, not numbers; {remedy}")
    if kind in _DATES:
        raise TypeError(f"{column} holds dates or times, not numbers; turn them into numbers, such as days, or drop it")
    try:
        return float(cell)
    except OverflowError:
        return np.inf
    except (TypeError, ValueError) as error:
        raise TypeError(f"{column} holds a {kind}, not a number ({error}); {ENCODE}") from error
