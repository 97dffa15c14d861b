"""The table behind the door: what users pass in, checked once and laid out the way every kernel reads it.

Users' tables hold observations in rows. A `Table` holds variables in rows, features first: row ``i`` of ``values``
is variable ``i`` at consecutive observations, so that inner loops run over contiguous memory. It is scaled once
(`Scaling`) and never transposed again; results alone are turned back.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from icdh._checks import check_choice
from icdh._intake import values_and_labels
from icdh._labels import default_names
from icdh.exceptions import DataWarning

SCALINGS = ("none", "center", "standardize")
LARGEST_SCALED_VALUE = 1e60  # the square of a residual in units of the smallest scale stays finite
LARGEST_VALUE = {"none": LARGEST_SCALED_VALUE, "center": LARGEST_SCALED_VALUE, "standardize": 1e300}
SMALLEST_VALUE = {"none": 1e-60, "center": 1e-60, "standardize": 1e-290}  # a largest one, for weights in its inverse
FEW_VALUES = 10
MOST_NAMED = 5  # columns in a message
MOST_LEVELS = 50
TIED_SHARE = 0.05
# binary: two values; ordinal: few ordered ones (guessed below ten); gridded: recorded on a grid, so that values repeat
# (guessed where more than a twentieth of them does).
KINDS = ("constant", "continuous", "gridded", "ordinal", "binary")
LEVEL_KINDS = ("binary", "ordinal")


@dataclass(frozen=True)
class Table:
    """N variables at M observations.

    Attributes
    ----------
    values : ndarray, shape (N, M)
        Finite float64 in C order, one variable a row; NaN in gaps, where these were allowed.
    names : list
        N labels as they were given, of any type; "x0", "x1", ... where there were none.
    named : bool
        Whether they mean something: a DataFrame counts its columns 0, 1, ... if it is given no labels.
    frame : bool
        Whether they came in a pandas DataFrame.
    """

    values: np.ndarray
    names: list
    named: bool
    frame: bool = False

    @classmethod
    def of(cls, X: Any, *, min_rows: int = 2, argument: str = "X", gaps: bool = False) -> "Table":
        """Check a user's table and return it features first; the input is never modified.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations in rows, variables in columns.
        min_rows : int
            The fewest rows accepted.
        argument : str
            The name of the argument in error messages.
        gaps : bool
            Whether cells may be missing, NaN.

        Raises
        ------
        TypeError
            If it is no table, or holds anything but real numbers: text, dates, complex ones.
        ValueError
            If it is not 2-D, has too few rows, no columns, duplicated labels, or a NaN or infinite cell.
        """
        values, labels = values_and_labels(X, argument)
        n_variables, n_observations = values.shape
        if n_observations < min_rows:
            raise ValueError(f"{argument} has {n_observations} row(s); at least {min_rows} observations are needed")
        names = default_names(n_variables) if labels is None else labels
        infinite = np.isinf(values).any(axis=1)
        if infinite.any():
            raise ValueError(
                f"column {names[int(np.argmax(infinite))]!r} of {argument} holds infinity; drop these rows"
            )
        _check_gaps(np.isnan(values), names, argument, gaps)
        named = labels is not None and labels != list(range(n_variables))
        return cls(values, names, named, hasattr(X, "iloc"))

    @property
    def n_variables(self) -> int:
        """N."""
        return self.values.shape[0]

    @property
    def n_observations(self) -> int:
        """M."""
        return self.values.shape[1]

    @cached_property
    def gaps(self) -> np.ndarray:
        """Where cells are missing, shape (N, M)."""
        return np.isnan(self.values)

    def of_rows(self, rows: np.ndarray) -> "Table":
        """Return the table of some rows, given by a mask of shape (M,)."""
        return replace(self, values=np.ascontiguousarray(self.values[:, rows]))

    @cached_property
    def varying(self) -> np.ndarray:
        """Which variables hold more than one value, shape (N,); the others are no cause and no effect."""
        return self.values.min(axis=1) < self.values.max(axis=1)

    @cached_property
    def kinds(self) -> list[str]:
        """The kind of every variable, guessed from its values: see `KINDS`."""
        return [_kind(values) for values in self.values]

    def of_kind(self, *kinds: str) -> list[str]:
        """Return the names of the variables of some kinds."""
        return [name for name, own in zip(self.names, self.kinds, strict=True) if own in kinds]

    def kinds_given(self, declared: Mapping[str | int, str] | None) -> list[str]:
        """Return the kind of every variable: what was declared, and for the others what is guessed.

        Parameters
        ----------
        declared : mapping from names or positions to kinds, optional
            "continuous", "gridded", "ordinal" or "binary".

        Raises
        ------
        TypeError, ValueError
            If it is no mapping, names a column that there is not or a kind that there is not, or declares binary a
            column of other than two values, or of few levels one that has more than `MOST_LEVELS`.
        """
        if declared is None:
            return list(self.kinds)
        if not isinstance(declared, Mapping):
            raise TypeError(f"kinds must map columns to kinds, got {type(declared).__name__}; pass a dict")
        kinds = list(self.kinds)
        for column, kind in declared.items():
            at = self.position(column)
            check_choice(f"kinds[{column!r}]", kind, KINDS[1:])
            distinct = np.unique(self.values[at]).size
            if kind == "binary" and distinct > 2:
                raise ValueError(f"kinds[{column!r}] is 'binary', but the column holds {distinct} different values")
            if kind == "ordinal" and distinct > MOST_LEVELS:
                raise ValueError(
                    f"kinds[{column!r}] is 'ordinal', but the column holds {distinct} different values, more than "
                    f"{MOST_LEVELS}; declare it 'gridded'"
                )
            if distinct > 1:
                kinds[at] = "binary" if kind == "ordinal" and distinct == 2 else kind
        return kinds

    def position(self, column: str | int) -> int:
        """Return the position of a column, given its name or its position."""
        if column in self.names:
            return self.names.index(column)
        if isinstance(column, (int, np.integer)) and 0 <= column < self.n_variables:
            return int(column)
        raise ValueError(f"kinds names the column {column!r}; X has {', '.join(map(repr, self.names))}")

    def check_learnable(self) -> None:
        """Raise ValueError if no variable varies."""
        if not self.varying.any():
            raise ValueError("every column of X is constant; there is nothing to learn")

    def warn(self, stacklevel: int) -> None:
        """Warn about constant and duplicated columns and fewer rows than columns; ``stacklevel`` as in `warnings`."""
        for message in filter(None, (self._about_constants(), self._about_duplicates(), self._about_shape())):
            warnings.warn(message, DataWarning, stacklevel=stacklevel + 1)

    def _about_constants(self):
        labels = ", ".join(repr(self.names[i]) for i in np.flatnonzero(~self.varying))
        return f"constant column(s) {labels}: they can have no causes or effects" if labels else None

    def _about_duplicates(self):
        seen = {}
        for i in np.flatnonzero(self.varying):
            first = seen.setdefault(self.values[i].tobytes(), self.names[i])
            if first != self.names[i]:
                return (
                    f"column {self.names[i]!r} repeats column {first!r}: which of them is a cause cannot be told; "
                    "drop one"
                )
        return None

    def _about_shape(self):
        if self.n_observations >= self.n_variables:
            return None
        return (
            f"{self.n_observations} observations of {self.n_variables} variables: expect an unreliable graph; "
            "collect more rows or drop columns"
        )


def _check_gaps(gaps, names, argument, allowed):
    """Raise ValueError if there are gaps that are not allowed, or a column holds nothing else."""
    counts = gaps.sum(axis=1)
    if (counts == gaps.shape[1]).any():
        raise ValueError(
            f"column {names[int(np.argmax(counts))]!r} of {argument} holds no value at all, only NaN; drop it"
        )
    if counts.any() and not allowed:
        raise ValueError(
            f"{argument} has gaps (NaN) in {said_of_gaps(gaps, names)}; drop these rows or impute: missing='drop' or "
            "missing='impute' of an estimator"
        )


def said_of_gaps(gaps: np.ndarray, names: Sequence) -> str:
    """Return in how many rows there are gaps, and how many in which columns, given where they are, shape (N, M)."""
    counts = gaps.sum(axis=1)
    found = [f"{counts[i]} in {names[i]!r}" for i in np.flatnonzero(counts)]
    more = f" and {len(found) - MOST_NAMED} more columns" if len(found) > MOST_NAMED else ""
    rows = f"{np.count_nonzero(gaps.any(axis=0))} of {gaps.shape[1]} rows"
    return f"{rows}: {', '.join(found[:MOST_NAMED])}{more}"


def _kind(values):
    distinct = np.unique(values, return_counts=True)[1]
    if distinct.size == 1:
        return "constant"
    if distinct.size < FEW_VALUES <= values.size:
        return "binary" if distinct.size == 2 else "ordinal"
    return "gridded" if distinct[distinct > 1].sum() > TIED_SHARE * values.size else "continuous"


@dataclass(frozen=True)
class Scaling:
    """What is subtracted from, and divides, every variable: ``scaled = (values - offset) / scale``.

    Attributes
    ----------
    offset, scale : ndarray, shape (N,)
        In the units of the variables.
    """

    offset: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, table: Table, how: str) -> "Scaling":
        """Return the scaling of a table: "none", "center" or "standardize"; a constant variable becomes zero.

        Raises
        ------
        ValueError
            If a column holds values that the scaling cannot bring into range; the message names it.
        """
        largest = np.abs(table.values).max(axis=1)
        if largest.max() > LARGEST_VALUE[how]:
            name = table.names[int(np.argmax(largest))]
            raise ValueError(f"column {name!r} holds values above {LARGEST_VALUE[how]:.0e}; divide it by its spread")
        tiny = table.varying & (largest < SMALLEST_VALUE[how])
        if tiny.any():
            name = table.names[int(np.argmax(tiny))]
            raise ValueError(
                f"column {name!r} holds no values above {SMALLEST_VALUE[how]:.0e}; divide it by its spread"
            )
        peak = np.where(largest > 0.0, largest, 1.0)
        shares = table.values / peak[:, np.newaxis]
        mean = np.where(table.varying, shares.mean(axis=1) * peak, table.values[:, 0])
        offset = np.where(table.varying & (how == "none"), 0.0, mean)
        spread = shares.std(axis=1) * peak
        scale = np.where(table.varying & (how == "standardize"), spread, 1.0)
        return cls(offset, scale)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Return scaled values, both of shape (N, M)."""
        return (values - self.offset[:, np.newaxis]) / self.scale[:, np.newaxis]

    def undo(self, values: np.ndarray) -> np.ndarray:
        """Return values in the variables' units, both of shape (N, M)."""
        return values * self.scale[:, np.newaxis] + self.offset[:, np.newaxis]

    def apply_to(self, variable: int, values: np.ndarray) -> np.ndarray:
        """Return scaled values of one variable, both of shape (M,)."""
        return (values - self.offset[variable]) / self.scale[variable]

    def undo_variable(self, variable: int, values: np.ndarray) -> np.ndarray:
        """Return values of one variable in its units, both of shape (M,)."""
        return values * self.scale[variable] + self.offset[variable]

    def undo_scale(self, scale: np.ndarray) -> np.ndarray:
        """Return standard deviations in the variables' units, both of shape (N, M)."""
        return scale * self.scale[:, np.newaxis]
