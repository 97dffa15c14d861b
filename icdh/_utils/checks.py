"""Checks of single arguments, what every parameter of an estimator may be, and labels of frames.

Every message names the argument and says what it must be.
"""

import math
import numbers
import os
from collections.abc import Hashable, Sequence
from dataclasses import field, fields
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from icdh._utils.arrays import Cells, Foreign, RandomState, TableLike
from icdh.exceptions import ArgumentTypeError, ArgumentValueError

Settings = TypeVar("Settings")


def as_float(raw: np.ndarray, argument: str) -> np.ndarray:
    """Return a copy of an array as float64 in C order, or raise TypeError if it does not hold real numbers."""
    if np.iscomplexobj(raw):
        raise TypeError(f"{argument} is complex; pass real numbers (for instance {argument}.real)")
    if raw.dtype.kind not in "biuf":
        raise TypeError(f"{argument} has type {raw.dtype}, not numbers; encode text as numbers or drop it")
    return np.array(raw, dtype=np.float64, order="C")


def n_workers(n_jobs: int) -> int:
    """Return how many workers ``n_jobs`` asks for: a positive number, or -1 for one a core.

    Raises
    ------
    TypeError, ValueError
        If it is neither.
    """
    if n_jobs == -1:
        return os.cpu_count() or 1
    Number(1, integer=True).check("n_jobs", n_jobs)
    return int(n_jobs)


def check_callback(callback: object) -> None:
    """Raise TypeError unless ``callback`` can be called or is None."""
    if callback is not None and not callable(callback):
        raise ArgumentTypeError("callback", f"must be callable or None; got {callback!r}")


def random_generator(random_state: RandomState) -> np.random.Generator:
    """Return `numpy.random.default_rng` of ``random_state``, or raise TypeError or ValueError that names it."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        kind = ArgumentTypeError if isinstance(error, TypeError) else ArgumentValueError
        demand = f"must be None, a non-negative integer, a SeedSequence or a Generator; got {random_state!r}"
        raise kind("random_state", demand) from error


class Number(NamedTuple):
    """A finite number.

    Attributes
    ----------
    low : float
        The least number.
    above : bool
        Whether ``low`` itself is too small.
    integer : bool
        Whether it must be an integer.
    words : tuple of str
        What may stand in place of the number.
    optional : bool
        Whether None may.
    high : float
        The largest number.
    below : bool
        Whether ``high`` itself is too large.
    """

    low: float = -math.inf
    above: bool = False
    integer: bool = False
    words: tuple[str, ...] = ()
    optional: bool = False
    high: float = math.inf
    below: bool = False

    def check(self, name: str, value: object) -> None:
        """Raise an error that names the parameter unless the value obeys."""
        if (value is None and self.optional) or (isinstance(value, str) and value in self.words):
            return
        kind = "an integer" if self.integer else "a number"
        if isinstance(value, str) and self.words:
            others = " or ".join([*map(repr, self.words), *(["None"] if self.optional else [])])
            raise ArgumentValueError(name, f"must be {kind} or {others}; got {value!r}")
        if isinstance(value, bool) or not isinstance(value, numbers.Integral if self.integer else numbers.Real):
            raise ArgumentTypeError(name, f"must be {kind}; got {value!r}")
        number, bounds = float(value), f"{'above' if self.above else 'at least'} {self.low}"
        if math.isfinite(self.high):
            bounds += f" and {'below' if self.below else 'at most'} {self.high}"
        outside = number < self.low or number > self.high
        outside |= (self.above and number == self.low) or (self.below and number == self.high)
        if not math.isfinite(number) or outside:
            raise ArgumentValueError(name, f"must be {bounds}; got {value!r}")


# The probability of an interval.
LEVEL = Number(0, above=True, high=1, below=True)


class Choice(NamedTuple):
    """One of several words."""

    choices: tuple[str, ...]

    def check(self, name: str, value: object) -> None:
        """Raise an error that names the parameter unless the value obeys."""
        if value not in self.choices:
            raise ArgumentValueError(name, f"must be one of {', '.join(map(repr, self.choices))}; got {value!r}")


class Flag(NamedTuple):
    """True or False."""

    def check(self, name: str, value: object) -> None:
        """Raise an error that names the parameter unless the value obeys."""
        if not isinstance(value, (bool, np.bool_)):
            raise ArgumentTypeError(name, f"must be True or False; got {value!r}")


class Workers(NamedTuple):
    """A number of workers, -1 for one a core."""

    def check(self, name: str, value: object) -> None:
        """Raise an error that names the parameter unless the value obeys."""
        n_workers(cast(int, value))


Constraint: TypeAlias = Number | Choice | Flag | Workers


def parameter(default: object, constraint: Constraint) -> Any:
    """Return a field of a dataclass: a parameter with its default and what it has to obey."""
    return field(default=default, metadata={"constraint": constraint})


def constraints_of(parameters: Any) -> dict[str, Constraint]:
    """Return what the parameters of a dataclass, or of an instance of it, have to obey, by name."""
    return {part.name: part.metadata["constraint"] for part in fields(parameters) if part.metadata}


def settings_of(kind: type[Settings], estimator: Settings) -> Settings:
    """Return those parameters of an estimator that a dataclass, from which it inherits them, has."""
    return kind(**{part.name: getattr(estimator, part.name) for part in fields(kind)})  # type: ignore[arg-type]


def aligned(frame: TableLike, names: Sequence[Hashable], argument: str, *, square: bool = False) -> Cells:
    """Return the cells of a frame with its columns in the order of the variables, and if ``square`` its rows, too.

    What has no labels, or the default ones 0, 1, ..., is taken as it is.

    Raises
    ------
    ValueError
        If the labels are not the names of the variables.
    """
    cells = np.asarray(frame)
    if cells.ndim != 2:
        return cells
    columns = getattr(frame, "column_names", None)
    cells = cells[:, _places(getattr(frame, "columns", ()) if columns is None else columns, names, argument)]
    return cells[_places(getattr(frame, "index", ()), names, argument)] if square else cells


def _places(labels: Foreign, names: Sequence[Hashable], argument: str) -> list[int] | slice:
    """Return the place of every variable among the labels."""
    labels = [] if callable(labels) or isinstance(labels, np.ndarray) else list(labels)
    if labels in (list(names), list(range(len(labels)))):
        return slice(None)
    if sorted(map(repr, labels)) != sorted(map(repr, names)):
        strange = next((label for label in labels if label not in names), None)
        differs = f"has the label {strange!r}, which no variable has" if strange is not None else "lacks variables"
        raise ValueError(f"{argument} {differs}; label it as the table is, or pass its values without labels")
    return [labels.index(name) for name in names]


def check_same_rows(X: Foreign, other: Foreign, argument: str) -> None:
    """Raise ValueError if a pandas object has other labels of rows than a pandas frame, or another order.

    An object that keeps the labels of the rows that it was made of has them as ``row_labels``.
    """
    labels = other.index if hasattr(other, "iloc") else getattr(other, "row_labels", None)
    if hasattr(X, "iloc") and labels is not None and not X.index.equals(labels):
        made_of = argument if hasattr(other, "iloc") else "conditions"
        raise ValueError(f"{argument} has other row labels than X; pass {made_of}.loc[X.index], or its values alone")
