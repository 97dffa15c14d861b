"""Arguments of the public mathematics as arrays: new ones, float64 in C order; or an error that names the argument.

Kernels are compiled anew for every layout, type and write protection of an array. They meet one.
"""

import numpy as np

from icdh._table.frames import column_labels, columns_as_numbers, columns_of
from icdh._table.table import LARGEST_SCALED_VALUE
from icdh._utils.arrays import Floats, Foreign, Mask, TableLike
from icdh._utils.checks import aligned, as_float, check_same_rows
from icdh.exceptions import ArgumentTypeError, ArgumentValueError

Shape = tuple[int | str, ...]


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
