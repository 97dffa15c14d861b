"""Any container that users pass as a table, converted to named columns of numbers, or an error that says why not."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from numbers import Real
from os import PathLike

import numpy as np

from icdh._ground.arrays import Cells, Floats, Foreign, TableLike
from icdh._ground.labels import default_names, variable_index
from icdh._table.categories import ENCODE, MISSING_TYPES, Categories
from icdh._table.frames import as_array, column_labels, columns_of
from icdh._table.missing_codes import Codes, Declared, codes_of

NUMBERS = "biuf"  # the kinds of NumPy's types of real numbers
_PLAIN = {int, float, bool, np.float64, np.int64, np.bool_, type(None)}
_DATES = ("Timestamp", "Timedelta", "datetime", "datetime64", "date", "timedelta", "timedelta64", "Period")
_IS_DATES = "{} holds dates or times, not numbers; turn them into numbers, such as days, or drop it"
_ENCODE_OR_SEARCH = f"{ENCODE} (HNMSearch takes a column of few labels as it is)"


def columns_as_numbers(
    X: TableLike,
    argument: str,
    categorical: Collection[Hashable] | None = None,
    known: Mapping[int, Categories] | None = None,
    missing_values: Declared = None,
) -> tuple[Floats, list[Hashable], bool, dict[int, Categories]]:
    """Return a table as numbers, its column names, whether it has these itself, and the labels that numbers stand for.

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
    missing_values : collection or mapping, optional
        What means a missing value: see `icdh._table.missing_codes.codes_of`.

    Returns
    -------
    values : ndarray, shape (N, M)
        The numbers, float64 in C order.
    names : list
        The N column names, of any type.
    named : bool
        Whether the table has them, other than 0, 1, ...
    categories : dict of int to Categories
        The labels that the numbers of a column stand for, by position of the column.

    Raises
    ------
    TypeError
        If X is not a table, or holds cells that are neither real numbers nor accepted labels.
    ValueError
        If X is ragged or not 2-D, has no columns or duplicated names, or holds an unknown label.
    """
    _reject_what_is_no_table(X, argument)
    columns = _columns(X, argument)
    if not len(columns):
        raise ValueError(f"{argument} has no columns; pass at least one variable")
    labels = column_labels(X)
    names: list[Hashable] = [*default_names(len(columns))] if labels is None else labels
    if len(set(names)) != len(names):
        duplicated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{argument} has more than one column called {duplicated!r}; rename the columns")
    for column in missing_values if isinstance(missing_values, Mapping) else ():
        if column is not None:
            variable_index(column, names, "missing_values")
    types = [dtype if str(dtype) == "category" else None for dtype in getattr(X, "dtypes", [None] * len(columns))]
    values, categories = np.empty((len(columns), len(columns[0]))), {}
    for i, (name, cells, dtype) in enumerate(zip(names, columns, types, strict=True)):
        place = f"column {name!r} of {argument}"
        cells = _without_codes(cells, codes_of(missing_values, name, i))
        declared = categorical is not None and (name in categorical or i in categorical)
        of_labels = (known or {}).get(i) or _labels(cells, dtype, declared, place, categorical is None)
        if of_labels is None:
            values[i] = _numbers(cells, place, categorical is None)
        else:
            values[i], categories[i] = of_labels.encoded(cells.tolist(), place), of_labels
    return values, names, labels is not None and labels != list(range(len(columns))), categories


def _reject_what_is_no_table(X: TableLike, argument: str) -> None:
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(f"{argument} is a sparse matrix; pass a dense array ({argument}.toarray())")
    if X is None:
        raise TypeError(f"{argument} is None; pass a table of observations")
    if isinstance(X, (str, bytes, PathLike)):
        raise TypeError(f"{argument} is the text {X!r}; read a file by icdh.files.read_table(path) and pass the result")
    if isinstance(X, Mapping):
        raise TypeError(f"{argument} is a {type(X).__name__}; pass a table, such as pandas.DataFrame({argument})")


def _columns(X: TableLike, argument: str) -> Sequence[Cells]:
    """Return the columns, each an array of its type: one column of text makes no other one slow."""
    columns = columns_of(X)
    if columns is not None:
        return columns
    try:
        raw = as_array(X)
    except ValueError as error:
        raise ValueError(f"{argument} is no table, its rows differ in length: {error}") from error
    if raw.ndim == 0 and raw.dtype == object:
        raise TypeError(f"{argument} is a {type(X).__name__}; pass a table of observations in rows")
    if raw.ndim != 2:
        raise ValueError(
            f"{argument} must be 2-D (observations in rows, variables in columns), got {raw.ndim}-D; "
            "reshape a single variable with X.reshape(-1, 1)"
        )
    if raw.dtype.kind == "c":
        raise TypeError(f"{argument} is complex; pass real numbers (for instance {argument}.real)")
    return list(raw.T)


def _without_codes(cells: Cells, codes: Codes) -> Cells:
    """Return a column without codes of missing values."""
    if not codes.numbers | codes.texts:
        return cells
    if cells.dtype.kind in NUMBERS:
        return np.where(np.isin(cells, list(codes.numbers)), np.nan, cells)
    gaps = [isinstance(cell, (str, Real)) and (cell in codes.texts or cell in codes.numbers) for cell in cells.tolist()]
    return np.where(gaps, np.array(None), cells)


def _labels(cells: Cells, dtype: Foreign, declared: bool, place: str, refused: bool) -> Categories | None:
    """Return the labels of a column; None if it holds numbers."""
    if refused:
        if dtype is not None:  # the order of the codes may mean nothing
            raise TypeError(f"{place} has type category, not numbers; {_ENCODE_OR_SEARCH}")
        return None
    if dtype is None and cells.dtype.kind in NUMBERS:
        return None
    return Categories.found(cells.tolist(), dtype, declared, place)


def _numbers(cells: Cells, place: str, refuses_labels: bool) -> Floats:
    """Return the numbers in a column, shape (M,)."""
    if cells.dtype.kind in "mM":
        raise TypeError(_IS_DATES.format(place))
    if cells.dtype.kind in NUMBERS or set(map(type, cells.tolist())) <= _PLAIN:
        with suppress(OverflowError), np.errstate(over="ignore"):  # infinity is reported where NaN is
            numbers: Floats = cells.astype(np.float64)
            _check_told_apart(cells, numbers, place)
            return numbers
    return np.array([_number(cell, place, refuses_labels) for cell in cells])


def _check_told_apart(cells: Cells, numbers: Floats, place: str) -> None:
    """Raise ValueError if whole numbers that differ, such as identifiers, become the same float64."""
    may_differ = cells.dtype.kind in "iuO" and (np.abs(numbers) >= 2.0**53).any()
    if may_differ and np.unique(numbers).size < len(set(cells.tolist())):
        raise ValueError(
            f"{place} holds whole numbers above 2**53 that double precision cannot tell apart; drop it, or subtract "
            "its smallest value"
        )


def _number(cell: Foreign, place: str, refuses_labels: bool) -> float:
    kind = type(cell).__name__
    if kind in MISSING_TYPES:
        return np.nan
    if isinstance(cell, (str, bytes)):
        remedy = _ENCODE_OR_SEARCH if refuses_labels else ENCODE
        raise TypeError(f"{place} holds text such as {cell!r}, not numbers; {remedy}")
    if kind in _DATES:
        raise TypeError(_IS_DATES.format(place))
    if isinstance(cell, complex):
        raise TypeError(f"{place} is complex; pass real numbers")
    try:
        return float(cell)
    except OverflowError:
        return np.inf
    except (TypeError, ValueError) as error:
        raise TypeError(f"{place} holds a {kind}, not a number ({error}); {ENCODE}") from error
