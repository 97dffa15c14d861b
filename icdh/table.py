"""The table behind the door: what users pass in, checked once and laid out the way every kernel reads it.

Users' tables hold observations in rows. A `Table` holds variables in rows, features first: row ``i`` of ``values``
is variable ``i`` at consecutive observations, so that inner loops run over contiguous memory. It is scaled once
(`Scaling`) and never transposed again; results alone are turned back.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from icdh._categories import MOST_LABELS, Categories
from icdh._checks import check_choice
from icdh._frames import library_of
from icdh._intake import values_and_labels
from icdh._labels import counted, default_names, plural, variable_index
from icdh.exceptions import DataWarning, warn

SCALINGS = ("none", "center", "standardize")
LARGEST_SCALED_VALUE = 1e60  # the square of a residual in units of the smallest scale stays finite
LARGEST_VALUE = {"none": LARGEST_SCALED_VALUE, "center": LARGEST_SCALED_VALUE, "standardize": 1e300}
SMALLEST_VALUE = {"none": 1e-60, "center": 1e-60, "standardize": 1e-290}  # a largest one, for weights in its inverse
FEW_VALUES = 10
MOST_NAMED = 5  # columns in a message
TIED_SHARE = 0.05
MASS_SHARE, MASS_OVER_NEIGHBOURS, NEIGHBOURS = 0.05, 5.0, 3
HEAP_OVER_OTHERS = 3.0
# binary: two values; ordinal: few ordered ones (guessed below ten); gridded: recorded on a grid, so that values repeat
# (guessed where more than a twentieth of them does); categorical: labels without an order (guessed of text).
KINDS = ("constant", "continuous", "gridded", "ordinal", "binary", "categorical")
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
    frame : str
        The library whose table they came in, "pandas", "polars" or "pyarrow"; empty if it was an array.
    categories : dict of int to Categories
        The labels of some columns, whose values are numbers that stand for them.
    """

    values: np.ndarray
    names: list
    named: bool
    frame: str = ""
    categories: dict[int, Categories] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        X: Any,
        *,
        min_rows: int = 2,
        argument: str = "X",
        gaps: bool = False,
        categorical: Collection[Hashable] | None = None,
        known: Mapping[int, Categories] | None = None,
    ) -> "Table":
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
        categorical : collection of names and positions, optional
            Columns of labels; if given, were it empty, columns of repeating text are taken for such, too.
        known : mapping from positions to Categories, optional
            The labels that columns may hold.

        Raises
        ------
        TypeError
            If it is no table, or holds anything but real numbers: text where it is not taken, dates, complex ones.
        ValueError
            If it is not 2-D, has too few rows, no columns, duplicated labels, or a NaN or infinite cell.
        """
        if isinstance(X, Table):
            return X
        values, labels, categories = values_and_labels(X, argument, categorical, known)
        n_variables, n_observations = values.shape
        if n_observations < min_rows:
            raise ValueError(
                f"{argument} has {counted(n_observations, 'row')}; at least {min_rows} observations are needed"
            )
        names = default_names(n_variables) if labels is None else labels
        infinite = np.isinf(values).any(axis=1)
        if infinite.any():
            raise ValueError(
                f"column {names[int(np.argmax(infinite))]!r} of {argument} holds infinity; drop these rows"
            )
        _check_gaps(np.isnan(values), names, argument, gaps)
        named = labels is not None and labels != list(range(n_variables))
        return cls(values, names, named, library_of(X), categories)

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
        """Return the table of some rows, given by a mask of shape (M,) or by their positions."""
        return replace(self, values=np.ascontiguousarray(self.values[:, rows]))

    @cached_property
    def varying(self) -> np.ndarray:
        """Which variables hold more than one value, shape (N,); the others are no cause and no effect."""
        return self.values.min(axis=1) < self.values.max(axis=1)

    @cached_property
    def kinds(self) -> list[str]:
        """The kind of every variable, guessed from its values: see `KINDS`."""
        return [_kind(values, self.categories.get(n)) for n, values in enumerate(self.values)]

    @property
    def unordered(self) -> list[int]:
        """The columns of labels without an order."""
        return [n for n, own in self.categories.items() if not own.ordered]

    def coded(self, declared: Mapping[str | int, str] | None) -> "Table":
        """Return the table with codes in the columns of numbers that `kinds_given` makes categorical."""
        values, categories = self.values.copy(), dict(self.categories)
        for n, kind in enumerate(self.kinds_given(declared)):
            if kind == "categorical" and n not in self.unordered:
                cells = categories[n].decoded(values[n]) if n in categories else values[n]
                categories[n] = Categories.of(cells, declared=True)
                values[n] = categories[n].encoded(cells, f"column {self.names[n]!r}")
        return replace(self, values=values, categories=categories)

    def of_kind(self, *kinds: str) -> list[str]:
        """Return the names of the variables of some kinds."""
        return [name for name, own in zip(self.names, self.kinds, strict=True) if own in kinds]

    def kinds_given(self, declared: Mapping[str | int, str] | None) -> list[str]:
        """Return the kind of every variable: what was declared, and for the others what is guessed.

        Parameters
        ----------
        declared : mapping from names or positions to kinds, optional
            "continuous", "gridded", "ordinal", "binary" or "categorical".

        Raises
        ------
        TypeError, ValueError
            If it is no mapping, names a column that there is not or a kind that there is not, declares binary a column
            of other than two values, of few levels one that has more than 50, or gives labels an order.
        """
        if declared is None:
            return list(self.kinds)
        if not isinstance(declared, Mapping):
            raise TypeError(f"kinds must map columns to kinds, got {type(declared).__name__}; pass a dict")
        kinds = list(self.kinds)
        for column, kind in declared.items():
            at = self.position(column)
            check_choice(f"kinds[{column!r}]", kind, KINDS[1:])
            self._check_kind(column, at, kind)
            few = kind == "ordinal" or (kind == "categorical" and at not in self.unordered)
            if self.n_distinct(at) > 1:
                kinds[at] = "binary" if few and self.n_distinct(at) == 2 else kind
        return kinds

    def n_distinct(self, column: int) -> int:
        """Return how many different values a column holds, gaps aside."""
        return np.unique(self.values[column][~np.isnan(self.values[column])]).size

    def _check_kind(self, column, at, kind):
        distinct = self.n_distinct(at)
        if kind == "binary" and distinct > 2:
            raise ValueError(f"kinds[{column!r}] is 'binary', but the column holds {distinct} different values")
        if kind in ("ordinal", "categorical") and distinct > MOST_LABELS:
            raise ValueError(
                f"kinds[{column!r}] is {kind!r}, but the column holds {distinct} different values, more than "
                f"{MOST_LABELS}; {'declare it gridded' if kind == 'ordinal' else 'join rare ones'}"
            )
        if at in self.unordered and kind != "categorical":
            raise ValueError(
                f"kinds[{column!r}] is {kind!r}, but the column holds labels such as "
                f"{self.categories[at].labels[0]!r}; pass numbers, or an ordered pandas categorical"
            )

    def position(self, column: str | int) -> int:
        """Return the position of a column, given its name or its position."""
        return variable_index(column, self.names, "kinds")

    def check_learnable(self) -> None:
        """Raise ValueError if no variable varies."""
        if not self.varying.any():
            raise ValueError("every column of X is constant; there is nothing to learn")

    def warn(self) -> None:
        """Warn about constant and duplicated columns, point masses and few rows."""
        found = (self._about_constants(), self._about_duplicates(), self._about_point_masses(), self._about_shape())
        for message in filter(None, found):
            warn(message, DataWarning)

    def _about_constants(self):
        labels = [repr(self.names[i]) for i in np.flatnonzero(~self.varying)]
        return labels and f"constant {plural(labels, 'column')} {', '.join(labels)}: no causes and no effects"

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

    def _about_point_masses(self):
        masses = {
            self.names[n]: point_mass(self.values[n])
            for n, kind in enumerate(self.kinds)
            if kind in ("continuous", "gridded")
        }
        found = [f"{name!r} ({mass})" for name, mass in masses.items() if mass is not None]
        return found and (
            f"{plural(found, 'column')} with a point mass, as of censored values or of many zeros: {', '.join(found)}: "
            "the direction of their edges cannot be trusted"
        )

    def _about_shape(self):
        if self.n_observations >= self.n_variables:
            return None
        return (
            f"{self.n_observations} observations of {self.n_variables} variables: expect an unreliable graph; "
            "collect more rows or drop columns"
        )


class PointMass(NamedTuple):
    """One value of a column that repeats far more often than a grid explains.

    Attributes
    ----------
    value : float
        The value.
    share : float
        How many of all rows hold it.
    """

    value: float
    share: float

    def __str__(self):
        return f"{self.value:g} in {100 * self.share:.0f} % of the rows"


def point_mass(values: np.ndarray) -> PointMass | None:
    """Return the point mass of a column, None if there is none.

    Parameters
    ----------
    values : ndarray, shape (M,)
        The column.

    Returns
    -------
    PointMass or None
        The most frequent value, if it holds more than 5 % of the rows and five times as many as any of the three next
        lower and the three next higher values (on a grid, neighbours are about as frequent), and rounding does not
        explain it.

    Notes
    -----
    Of 92 edges of 30 simulated tables of 1000 rows that touch the variable with most edges one was turned as they are;
    with 6 % of its rows set to its median 10 were, with 5 % set below all others 24. With 15 % of them rounded to the
    median two were, with a quarter of them rounded coarsely three.
    """
    distinct, counts = np.unique(values, return_counts=True)
    top = int(np.argmax(counts))
    around = np.delete(counts[max(top - NEIGHBOURS, 0) : top + NEIGHBOURS + 1], min(top, NEIGHBOURS))
    if around.size == 0 or counts[top] <= MASS_SHARE * values.size or counts[top] < MASS_OVER_NEIGHBOURS * around.max():
        return None
    if _is_one_of_several(counts, top) or _is_what_a_gap_would_hold(distinct, counts, top):
        return None
    return PointMass(float(distinct[top]), float(counts[top] / values.size))


def _is_one_of_several(counts, top):
    """Return whether other values are nearly as frequent: some of the rows were rounded coarsely."""
    others = np.sort(np.delete(counts, top))[-NEIGHBOURS:]
    return others.size == NEIGHBOURS and counts[top] < HEAP_OVER_OTHERS * others[0]


def _is_what_a_gap_would_hold(distinct, counts, top):
    """Return whether so many rows would be in the gap around a value if it were as full as what is next to it.

    They are then those of the gap, rounded.
    """
    if not 0 < top < distinct.size - 1:
        return False
    low, high = distinct[top - 1], distinct[top + 1]
    beside = high / 2 - low / 2
    with np.errstate(over="ignore"):  # a limit beyond the largest number excludes nothing
        inside = (distinct >= low - beside) & (distinct <= high + beside)
    rows = counts[inside].sum() - counts[top]
    return 2 * rows >= counts[top]


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


def _kind(values, categories):
    distinct = np.unique(values, return_counts=True)[1]
    if distinct.size == 1:
        return "constant"
    if categories is not None:
        return ("binary" if distinct.size == 2 else "ordinal") if categories.ordered else "categorical"
    if distinct.size < FEW_VALUES <= values.size:
        return "binary" if distinct.size == 2 else "ordinal"
    return "gridded" if distinct[distinct > 1].sum() > TIED_SHARE * values.size else "continuous"


@dataclass(frozen=True)
class Scaling:
    """What is subtracted from, and divides, every variable: ``scaled = (values - offset) / scale``.

    Codes of labels stay as they are.

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
        offset[table.unordered], scale[table.unordered] = 0.0, 1.0
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
