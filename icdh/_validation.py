"""Checks of what users pass in: every message names the argument or the column, and the remedy."""

import numbers
import warnings
from typing import NamedTuple

import numpy as np

from icdh.exceptions import DataWarning


class Table(NamedTuple):
    """A checked table: float64 values of shape (M, N) in C order, N column labels, whether labels were given."""

    values: np.ndarray
    names: list
    named: bool


def check_table(X, *, min_rows=2, argument="X"):
    """Return the table as finite float64 values with column labels; the input is never modified.

    Parameters
    ----------
    X : array_like or DataFrame, shape (M, N)
        Observations in rows, variables in columns.
    min_rows : int
        The fewest rows accepted.
    argument : str
        The name of the argument in error messages.

    Returns
    -------
    Table
        The values, the labels ("x0", "x1", ... where none were given), and whether labels were given.

    Raises
    ------
    TypeError
        If the table is sparse, complex, or not numeric.
    ValueError
        If it is not 2-D, has too few rows, no columns, duplicated labels, or a NaN or infinite cell.
    """
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(f"{argument} is a sparse matrix; pass a dense array ({argument}.toarray())")
    columns = getattr(X, "columns", None)
    if columns is not None:
        _reject_text_columns(X, argument)
    raw = np.asarray(X)
    if raw.ndim != 2:
        raise ValueError(
            f"{argument} must be 2-D (observations in rows, variables in columns), got {raw.ndim}-D; "
            "reshape a single variable with X.reshape(-1, 1)"
        )
    if raw.shape[1] == 0:
        raise ValueError(f"{argument} has no columns; pass at least one variable")
    if raw.shape[0] < min_rows:
        raise ValueError(f"{argument} has {raw.shape[0]} row(s); at least {min_rows} observations are needed")
    named = columns is not None and all(isinstance(name, str) for name in columns)
    names = list(columns) if named else [f"x{i}" for i in range(raw.shape[1])]
    if len(set(names)) != len(names):
        duplicated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{argument} has more than one column called {duplicated!r}; rename the columns")
    values = as_float(raw, argument)
    finite = np.isfinite(values).all(axis=0)
    if not finite.all():
        column = names[int(np.argmin(finite))]
        raise ValueError(f"column {column!r} of {argument} holds NaN or infinity; drop or impute these rows first")
    return Table(values, names, named)


def _reject_text_columns(frame, argument):
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if getattr(dtype, "kind", "O") not in "biufc":
            raise TypeError(
                f"column {name!r} of {argument} has type {dtype}, not numbers; encode it as numbers or drop it"
            )


def as_float(raw, argument):
    """Return a copy of an array as float64 in C order, or raise TypeError if it does not hold real numbers."""
    if np.iscomplexobj(raw):
        raise TypeError(f"{argument} is complex; pass real numbers (for instance {argument}.real)")
    if raw.dtype.kind not in "biuf":
        raise TypeError(f"{argument} has type {raw.dtype}, not numbers; encode text as numbers or drop it")
    return np.array(raw, dtype=np.float64, order="C")


def constant_columns(values):
    """Return which columns of a table hold one value only, shape (N,)."""
    return values.min(axis=0) == values.max(axis=0)


def warn_about_columns(table, stacklevel=3):
    """Warn about constant columns, duplicated columns and fewer rows than columns.

    Parameters
    ----------
    table : Table
        A checked table.
    stacklevel : int
        That of the warnings, as in `warnings.warn`.
    """
    values, names, _ = table
    constant = constant_columns(values)
    if constant.any():
        labels = ", ".join(repr(names[i]) for i in np.flatnonzero(constant))
        warnings.warn(
            f"constant column(s) {labels}: they can have no causes or effects", DataWarning, stacklevel=stacklevel
        )
    duplicated = _duplicated_columns(values, names, ~constant)
    if duplicated:
        warnings.warn(
            f"column {duplicated[1]!r} repeats column {duplicated[0]!r}: which of them is a cause cannot be told; "
            "drop one",
            DataWarning,
            stacklevel=stacklevel,
        )
    if values.shape[0] < values.shape[1]:
        warnings.warn(
            f"{values.shape[0]} observations of {values.shape[1]} variables: expect an unreliable graph; "
            "collect more rows or drop columns",
            DataWarning,
            stacklevel=stacklevel,
        )


def _duplicated_columns(values, names, candidates):
    seen = {}
    for i in np.flatnonzero(candidates):
        first = seen.setdefault(values[:, i].tobytes(), names[i])
        if first != names[i]:
            return first, names[i]
    return None


def check_forbidden_edges(forbidden_edges, n_variables):
    """Return the mask of forbidden edges, shape (N, N), its diagonal forbidden; None forbids self-loops alone.

    Parameters
    ----------
    forbidden_edges : array_like of bool, shape (N, N), or None
        ``forbidden_edges[i, j]`` is True where the edge i -> j must not appear.
    n_variables : int
        N.

    Raises
    ------
    TypeError
        If the mask is not boolean.
    ValueError
        If its shape is not (N, N).
    """
    mask = np.eye(n_variables, dtype=bool)
    if forbidden_edges is None:
        return mask
    given = np.asarray(forbidden_edges)
    if given.shape != (n_variables, n_variables):
        raise ValueError(
            f"forbidden_edges must have shape ({n_variables}, {n_variables}), one row and column a variable; "
            f"got {given.shape}"
        )
    if given.dtype != bool:
        raise TypeError(f"forbidden_edges must be boolean, got {given.dtype}; convert with .astype(bool)")
    return mask | given


def check_choice(name, value, choices):
    """Raise ValueError unless ``value`` is one of ``choices``."""
    if value not in choices:
        options = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {options}; got {value!r}")


def check_number(name, value, *, low, low_open=False, integer=False):
    """Raise unless ``value`` is a finite real number (an integer if asked) that is at least, or above, ``low``."""
    kind = numbers.Integral if integer else numbers.Real
    if isinstance(value, bool) or not isinstance(value, kind):
        raise TypeError(f"{name} must be {'an integer' if integer else 'a number'}; got {value!r}")
    if not np.isfinite(value) or value < low or (low_open and value == low):
        raise ValueError(f"{name} must be {'above' if low_open else 'at least'} {low}; got {value!r}")


def random_generator(random_state):
    """Return `numpy.random.default_rng` of ``random_state``, or raise TypeError or ValueError that names it."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"random_state must be None, a non-negative integer, a SeedSequence or a Generator; got {random_state!r}"
        ) from error
