"""What a column is: its kind, with what follows from it before any model, and how it is guessed.

Its likelihood as an effect is a response of the same name (`icdh._node_model.columns`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from icdh._table.categories import MOST_LABELS, Categories
from icdh._table.ties import FEW_VALUES, TIES, is_heaped
from icdh._utils.arrays import Floats, Integers
from icdh._utils.density import fit_counts


@dataclass(frozen=True)
class CountLimits:
    """Thresholds for counts."""

    rows: int = 5  # observations a value: rounded numbers have more values
    misfit: float = 0.1  # nats a row that the likeliest distribution of counts may lack


COUNTS = CountLimits()


class Observed:
    """The values of a column, without gaps, and their labels if there are any; what kinds are guessed from."""

    def __init__(self, values: Floats, categories: Categories | None):
        self.values, self.categories = values, categories

    @cached_property
    def counts(self) -> Integers:
        """How often each value is there, in ascending order of the values."""
        return np.unique(self.values, return_counts=True)[1]

    @property
    def has_few_values(self) -> bool:
        """Whether the values are few, in order, among many rows."""
        if self.categories is not None:
            return self.categories.is_scale
        return self.counts.size < FEW_VALUES <= self.values.size


def _is_binary(column: Observed) -> bool:
    return column.counts.size == 2 and column.has_few_values


def _is_ordinal(column: Observed) -> bool:
    is_heap = column.categories is None and column.counts.size <= MOST_LABELS
    return column.has_few_values or (is_heap and is_heaped(column.values))


def _is_count(column: Observed) -> bool:
    values, distinct = column.values, np.unique(column.values)
    if distinct[0] != 0.0 or distinct.size * COUNTS.rows > values.size or (distinct != np.rint(distinct)).any():
        return False
    n, shares = values.size, column.counts / values.size
    misfit = fit_counts(distinct, column.counts.astype(np.float64)).surprise / n + float(shares @ np.log(shares))
    return misfit - (distinct.size - 1) / (2 * n) < COUNTS.misfit  # beyond chance


def _is_gridded(column: Observed) -> bool:
    return bool(column.counts[column.counts > 1].sum() > TIES.tied_share * column.values.size)


def _no_counts(values: Floats) -> Floats:
    strange: Floats = values[(values < 0.0) | (values != np.rint(values))]
    return strange


def _none(values: Floats) -> Floats:
    """Refuse no value."""
    return values[:0]


@dataclass(frozen=True)
class Kind:
    """A kind of columns.

    Attributes
    ----------
    name : str
        What users call it.
    guess : callable
        Whether a column is of this kind, if it is of none of those before it.
    refused : callable
        Which of some values no such column holds: a response would take them for others.
    varies : bool
        Whether such a column has causes and effects.
    is_number : bool
        Whether its values are amounts, which transforms and point masses are about.
    has_levels : bool
        Whether its values are few and in order, each with a probability.
    has_labels : bool
        Whether its values are labels without an order.
    repeats : bool
        Whether a new value is one of those observed.
    takes_labels : bool
        Whether text may be declared so.
    most_values : float
        The most different values.
    remedy : str
        What to do about more.
    demand : str
        What to do about a value that is refused.
    reading, question : str
        What a column guessed so is read as, and what a user should think of; empty if it is what any number is.
    exact : str
        The kind of the same values, taken for exact.
    rival : str
        The kind of the same values that a guess has to hold against this one, by evidence; empty if it is no guess.
    """

    name: str
    guess: Callable[[Observed], bool]
    refused: Callable[[Floats], Floats]
    is_number: bool
    repeats: bool = False
    varies: bool = True
    has_levels: bool = False
    has_labels: bool = False
    takes_labels: bool = False
    most_values: float = np.inf
    remedy: str = ""
    demand: str = ""
    reading: str = ""
    question: str = "mere codes?"
    exact: str = ""
    rival: str = ""

    def of_so_many(self, distinct: int, of_labels: bool) -> str:
        """Return the name of the kind of a declared column of so many values, or of labels without an order."""
        if distinct == 2 and not self.is_number:
            return "categorical" if of_labels else "binary"
        return self.name


TOO_MANY = f", more than {MOST_LABELS}; "
KINDS = {
    kind.name: kind
    for kind in (
        Kind("constant", lambda column: column.counts.size == 1, _none, is_number=False, varies=False),
        Kind(
            "binary",
            _is_binary,
            _none,
            is_number=False,
            repeats=True,
            has_levels=True,
            takes_labels=True,
            most_values=2,
        ),
        Kind(
            "ordinal",
            _is_ordinal,
            _none,
            is_number=False,
            repeats=True,
            has_levels=True,
            most_values=MOST_LABELS,
            remedy=f"{TOO_MANY}declare it gridded",
            reading="grades",
        ),
        Kind(
            "categorical",
            lambda column: column.categories is not None,
            _none,
            is_number=False,
            repeats=True,
            has_labels=True,
            takes_labels=True,
            most_values=MOST_LABELS,
            remedy=f"{TOO_MANY}join rare ones",
            reading="labels",
            question="to confirm,",
        ),
        Kind(
            "count",
            _is_count,
            _no_counts,
            is_number=False,
            repeats=True,
            demand="counts are whole numbers from zero on, declare it gridded",
            rival="gridded",
        ),
        # Recorded on a grid, so that values repeat.
        Kind("gridded", _is_gridded, _none, is_number=True, repeats=True, exact="continuous"),
        Kind("continuous", lambda column: True, _none, is_number=True),
    )
}
DECLARABLE = ("continuous", "gridded", "count", "ordinal", "binary", "categorical")


def numbers_among(kinds: Sequence[str]) -> list[int]:
    """Return the places of amounts among kinds, by name."""
    return [n for n, kind in enumerate(kinds) if KINDS[kind].is_number]


def guessed(values: Floats, categories: Categories | None) -> str:
    """Return the name of the first kind that a column, shape (M,), looks like."""
    column = Observed(values, categories)
    return next(name for name, kind in KINDS.items() if kind.guess(column))
