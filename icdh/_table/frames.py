"""Tables of any kind as named columns of numbers, or an error that says why not; results in the same library.

Arrays, and tables of pandas, polars and pyarrow: how to recognise them, read them, and make them.

Arguments of the public mathematics become arrays: new ones, float64 in C order; or an error names the argument. Kernels
are compiled anew for every layout, type and write protection of an array. They meet one.
"""

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from numbers import Real
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from icdh._table.codes import ENCODE, MISSING_TYPES, Categories, Codes, Declared, codes_of, looks_like_a_number
from icdh._utils.arrays import Cells, Floats, Foreign, Mask, TableLike
from icdh._utils.checks import aligned, as_float, check_same_rows
from icdh._utils.labels import default_names, variable_index
from icdh.exceptions import ArgumentTypeError, ArgumentValueError, MissingExtraError, import_extra, option

LARGEST_SCALED_VALUE = 1e60  # the square of a residual in units of the smallest scale stays finite
NUMBERS = "biuf"  # the kinds of NumPy's types of real numbers
_PLAIN = {int, float, bool, np.float64, np.int64, np.bool_, type(None)}
_DATES = ("Timestamp", "Timedelta", "datetime", "datetime64", "date", "timedelta", "timedelta64", "Period")
_IS_DATES = "{} holds dates or times, not numbers; turn them into numbers, such as days, or drop it"
_ENCODE_OR_SEARCH = f"{ENCODE} (HNMSearch takes a column of at most 20 labels as it is)"
LIBRARIES = ("pandas", "polars", "pyarrow")
Shape = tuple[int | str, ...]


class LabelledValues(NamedTuple):
    """An array of values, shape (M, N), with labels of its columns."""

    values: NDArray[Any]
    columns: list[Any] | None

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Cells:
        return np.array(self.values, dtype=dtype)


def library_of(X: Foreign) -> str:
    """Return the library of a table: "pandas" for everything that indexes like its frames, "" for arrays."""
    if hasattr(X, "iloc"):
        return "pandas"
    library = type(X).__module__.partition(".")[0]
    return library if library in LIBRARIES and hasattr(X, "columns") else ""


def column_labels(X: Foreign) -> list[Hashable] | None:
    """Return the labels of the columns of a table; None if it has none."""
    labels = getattr(X, "column_names", None) if library_of(X) == "pyarrow" else getattr(X, "columns", None)
    return None if labels is None else list(labels)


def columns_of(X: Foreign) -> list[Cells] | None:
    """Return the columns of a table, each an array of its type, shape (M,); None of anything else.

    Nulls become NaN in numbers, None or the library's null beside text.
    """
    library = library_of(X)
    if library == "pandas" and X.ndim == 2:
        return [_of_pandas(X.iloc[:, i]) for i in range(X.shape[1])]
    if library == "polars" and hasattr(X, "get_columns"):
        return [column.to_numpy() for column in X.get_columns()]
    return [np.asarray(_without_dictionary(column)) for column in X.columns] if library == "pyarrow" else None


def _of_pandas(series: Foreign) -> Cells:
    """Return a pandas column as an array, numbers without a detour by objects."""
    kind = getattr(series.dtype, "kind", "O")
    if isinstance(series.dtype, np.dtype) or kind not in "biuf":
        return np.asarray(series.to_numpy())
    whole = kind in "iu" and not series.hasnans
    return np.asarray(series.to_numpy(kind + "8") if whole else series.to_numpy(np.float64, na_value=np.nan))


def as_array(X: Foreign) -> Cells:
    """Return an array, or one column of any library, as an array. Masked cells become NaN, or None beside text."""
    if not isinstance(X, np.ma.MaskedArray) or not X.mask.any():
        return np.asarray(X)
    kind = X.dtype.kind
    filled: np.ndarray = X.data.astype(X.dtype if kind in "fc" else float if kind in "biu" else object)
    filled[np.ma.getmaskarray(X)] = None if filled.dtype == object else np.nan
    return filled


def with_columns(X: Foreign, labels: Sequence[Hashable]) -> Foreign:
    """Return a table of pandas, polars or pyarrow with these of its columns alone."""
    return X[list(labels)] if library_of(X) == "pandas" else X.select(list(labels))


def without_column(X: Foreign, label: Hashable, argument: str = "groups") -> tuple[Foreign, list[Hashable]]:
    """Return a table without one of its columns, and the cells of that column. The others keep their labels or numbers.

    Parameters
    ----------
    X : DataFrame or array_like, shape (M, N)
        A table with labels, or an array, whose columns are numbered.
    label : hashable
        The label, or else the number, of the column.
    argument : str
        What an error calls it.

    Raises
    ------
    ValueError
        If there is no such column.
    """
    labels = column_labels(X)
    if labels is None:
        cells = np.asarray(X)
        labels = list(range(cells.shape[1] if cells.ndim == 2 else 0))
    at = variable_index(label, labels, argument)
    kept = [name for name in labels if name != labels[at]]
    if not library_of(X):
        values, are_numbers = np.asarray(X), kept == list(range(len(kept)))
        return LabelledValues(np.delete(values, at, axis=1), None if are_numbers else kept), values[:, at].tolist()
    if library_of(X) == "pandas":
        return X.drop(columns=[labels[at]]), X.iloc[:, at].tolist()
    cells = X[labels[at]]
    return X.select(kept), cells.to_list() if library_of(X) == "polars" else cells.to_pylist()


def _without_dictionary(column: Foreign) -> Foreign:
    """Return a pyarrow dictionary column as text: converted directly, its nulls would become the last text."""
    return column.cast(column.type.value_type) if str(column.type).startswith("dictionary") else column


def frame_of(
    library: str,
    columns: Mapping[Hashable, np.ndarray],
    like: Foreign = None,
    ordered: Mapping[Hashable, Categories] | None = None,
) -> Foreign:
    """Return columns as a table of a library.

    Parameters
    ----------
    library : {"pandas", "polars", "pyarrow"}
        The library.
    columns : mapping from labels to arrays, each of shape (M,)
        The columns.
    like : DataFrame or array_like, optional
        The table whose labels of rows a pandas frame gets, if it has any.
    ordered : mapping from labels to Categories, optional
        The columns of labels with an order.

    Raises
    ------
    MissingExtraError
        If the library is not installed.
    """
    if library == "pandas":
        pandas, ordered = import_extra("pandas", "dataframe"), ordered or {}
        parts = [
            pandas.Categorical(column, ordered[label].labels, ordered=True) if label in ordered else column
            for label, column in columns.items()
        ]
        frame = pandas.DataFrame(dict(enumerate(parts)), index=like.index if hasattr(like, "iloc") else None)
        frame.columns = _stored(pandas.Index, list(columns))
        return frame
    try:
        module = __import__(library)
    except ImportError as error:
        raise MissingExtraError(f"this model was learned from a table of {library}, which is not installed") from error
    build = module.DataFrame if library == "polars" else module.table
    return build({label: column.tolist() if column.dtype == object else column for label, column in columns.items()})


def _stored(kind: Callable[..., Foreign], values: list[Hashable]) -> Foreign:
    """Return a pandas Index; of dtype object where pyarrow's text storage refuses a lone surrogate."""
    try:
        return kind(values)
    except UnicodeEncodeError:
        return kind(values, dtype=object)


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
        What means a missing value: see `icdh._table.codes.codes_of`.

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
        if cells.ndim > 1:
            raise TypeError(f"{place} holds several values a cell; make a column of each, or drop it")
        keys = [name] if i in names else [name, i]  # a whole number is a name first
        cells = _without_codes(cells, codes_of(missing_values, *keys))
        declared = categorical is not None and any(key in categorical for key in keys)
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
    if type(X).__name__ == "LazyFrame":
        raise TypeError(f"{argument} is a LazyFrame, whose rows are not computed yet; pass {argument}.collect()")
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
    return Categories.of_column(cells.tolist(), dtype, declared, place)


def _numbers(cells: Cells, place: str, refuses_labels: bool) -> Floats:
    """Return the numbers in a column, shape (M,)."""
    if cells.dtype.kind in "mM":
        raise TypeError(_IS_DATES.format(place))
    if cells.dtype.kind in NUMBERS or set(map(type, cells.tolist())) <= _PLAIN:
        with suppress(OverflowError), np.errstate(over="ignore"):  # infinity is reported where NaN is
            numbers: Floats = cells.astype(np.float64)
            _check_distinct(cells, numbers, place)
            return numbers
    return np.array([_number(cell, place, refuses_labels) for cell in cells])


def _check_distinct(cells: Cells, numbers: Floats, place: str) -> None:
    """Raise ValueError if whole numbers that differ, such as identifiers, become the same float64."""
    may_differ = cells.dtype.kind in "iuO" and (np.abs(numbers) >= 2.0**53).any()
    if may_differ and np.unique(numbers).size < len(set(cells.tolist())):
        raise ValueError(
            f"{place} holds whole numbers above 2**53 that double precision cannot tell apart; drop it, or subtract "
            "its smallest value"
        )


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _number(cell: Foreign, place: str, refuses_labels: bool) -> float:
    kind = type(cell).__name__
    if kind in MISSING_TYPES:
        return np.nan
    if isinstance(cell, (Mapping, list, tuple, np.ndarray)):
        what = f"a {kind}, not a number (an argument must be a string or a number)"
        raise TypeError(f"{place} holds {what}: make a column of each of its values, or drop it")
    if isinstance(cell, (str, bytes)):
        remedy = _ENCODE_OR_SEARCH if refuses_labels else ENCODE
        if not refuses_labels and looks_like_a_number(str(cell)):
            plain = "convert it by astype(float)" if _is_number(str(cell)) else "write numbers without signs and units"
            remedy = f"{plain}, or declare it categorical by {option('kinds')}"
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


def array_of(given: TableLike, argument: str, shape: Shape) -> Floats:
    """Return the numbers of an array, a list or a frame.

    Parameters
    ----------
    given : array_like or DataFrame
        The argument.
    argument : str
        Its name.
    shape : tuple of int and str
        What its shape must be; sizes that have the same name are equal.

    Raises
    ------
    TypeError
        If it does not hold real numbers, or has masked entries.
    ValueError
        If it has another shape.
    """
    if type(given) is np.ndarray and given.dtype == np.float64:  # most are, and weights are made thousands of times
        values: Floats = given.copy()
    else:
        values = as_float(_cells(given, argument), argument)
    sizes = dict(zip(shape, values.shape, strict=False))
    if values.shape != tuple(size if isinstance(size, int) else sizes.get(size) for size in shape):
        raise ArgumentValueError(argument, f"must have shape {shape}; got {values.shape}".replace("'", ""))
    return values


def finite_array_of(given: TableLike, argument: str, shape: Shape) -> Floats:
    """Return what `array_of` returns, or raise ValueError if a number is NaN or infinite."""
    values = array_of(given, argument, shape)
    if not np.isfinite(values).all():
        raise ArgumentValueError(argument, "holds NaN or infinity; drop or impute these entries first")
    return values


def square_of(A: TableLike, argument: str) -> Floats:
    """Return a square matrix of finite numbers, the rows of a frame in the order of its columns."""
    labels = column_labels(A)
    cells = A if labels is None else aligned(A, labels, argument, square=True)
    return finite_array_of(cells, argument, ("N", "N"))


def observations_of(X: TableLike, n_variables: int | str) -> Floats:
    """Return a table of observations with its variables in rows, shape (N, M), M at least one.

    Parameters
    ----------
    X : array_like or DataFrame, shape (M, N)
        Observations in rows.
    n_variables : int or str
        N, or a name where any number is right.
    """
    values = finite_array_of(X, "X", ("M", n_variables))
    if len(values) == 0:
        raise ArgumentValueError("X", "has no rows; pass at least one observation")
    if np.abs(values).max(initial=0.0) > LARGEST_SCALED_VALUE:
        raise ArgumentValueError("X", f"holds values above {LARGEST_SCALED_VALUE:.0e}; divide them by their spread")
    return np.ascontiguousarray(values.T)


def scale_like(X: TableLike, scale: TableLike, shape: Shape) -> Floats:
    """Return the standard deviations of all observations, positive, shape (N, M), given X of shape (M, N)."""
    _check_labels(X, scale, "scale")
    values = finite_array_of(scale, "scale", shape)
    if not (values > 0.0).all():
        raise ArgumentValueError("scale", f"must be positive, a standard deviation; got {values.min()}")
    return np.ascontiguousarray(values.T)


def rows_like(X: TableLike, rows: TableLike, shape: Shape) -> Mask:
    """Return which observations count for which variable, shape (N, M), given X of shape (M, N)."""
    _check_labels(X, rows, "rows")
    values = array_of(rows, "rows", shape)
    strange = values[(values != 0.0) & (values != 1.0)]
    if strange.size:
        raise ArgumentTypeError("rows", f"must hold True and False, or 1 and 0; got {strange[0]}")
    return np.ascontiguousarray(values.T == 1.0)


def _cells(given: Foreign, argument: str) -> Foreign:
    if np.ma.is_masked(given):
        raise ArgumentTypeError(argument, "has masked entries; drop or fill these entries first")
    if columns_of(given) is not None:
        return columns_as_numbers(given, argument)[0].T
    try:
        return np.asarray(given)
    except ValueError as error:
        raise ArgumentValueError(argument, "is no array: its rows differ in length") from error


def _check_labels(X: Foreign, other: Foreign, argument: str) -> None:
    """Raise ValueError if two frames have other labels of rows or columns, or in another order."""
    check_same_rows(X, other, argument)
    labels = [column_labels(table) for table in (X, other)]
    if None not in labels and labels[0] != labels[1]:
        raise ArgumentValueError(argument, f"has other columns than X: {labels[1]}; they are {labels[0]}")
