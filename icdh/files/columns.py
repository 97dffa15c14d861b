"""One column of a text table: its numbers, days or labels; or why it cannot be read, and the option that helps."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from icdh._ground.labels import counted
from icdh._table.categories import MOST_LABELS, most_guessed
from icdh._table.missing_codes import Codes
from icdh.files.cells import (
    MISSING,
    TRUTH,
    days_of,
    is_date,
    is_label,
    is_number,
    looks_like_a_number,
    number,
    thousands_mark,
)
from icdh.files.text import DELIMITERS, name_of

MOST_MARKERS = 3  # different cells beside numbers that may all mean a gap
MARKED_SHARE = 0.3  # of the rows: no more are gaps
EXACT = 2.0**53  # not every whole number above it is a float64

Part: TypeAlias = "NDArray[np.float64] | Sequence[str]"


@dataclass(frozen=True)
class Reading:
    """How the cells of a column are read.

    Attributes
    ----------
    decimal, thousands : str, str or None
        The marks in numbers.
    codes : Codes
        What means a gap, beside the usual markers.
    dates, declared : bool
        Whether the user said that the column holds dates, or labels.
    labels : bool
        Whether columns of text are read as labels.
    many : bool
        Whether any number of labels will do: the column is no variable.
    alone : bool
        Whether there is no other column: a separator may have been missed.
    """

    decimal: str
    thousands: str | None
    codes: Codes
    dates: bool
    declared: bool
    labels: bool
    many: bool
    alone: bool

    @property
    def plain(self) -> bool:
        """Whether cells may be numbers that Python reads."""
        return self.decimal == "." and not (self.thousands or self.dates or self.declared)

    def number(self, cell: str) -> float | None:
        """Return the number in a cell; None if it holds none."""
        return number(cell, self.decimal, self.thousands) if is_number(cell, self.decimal, self.thousands) else None

    def is_gap(self, cell: str) -> bool:
        """Return whether a cell means a gap."""
        usual = not cell if self.codes.nothing_else else cell in MISSING
        return usual or cell in self.codes.texts or self.number(cell) in self.codes.numbers


class RefusedColumn(ValueError):
    """A column cannot be read.

    Attributes
    ----------
    cell : str or None
        The first cell that stands in the way; None of a whole column.
    option, value : str, object
        The argument of `icdh.files.read_table` that helps; empty if none does. A list is added to what the user gave.
    """

    def __init__(self, what: str, cell: str | None = None, option: str = "", value: Any = None):
        super().__init__(what)
        self.cell, self.option, self.value = cell, option, value


def plain_numbers(cells: Sequence[str]) -> Part:
    """Return cells as numbers if all are plain ones that double precision can tell apart, else the cells."""
    text = "".join(cells)
    if "_" in text or not text.isascii():
        return cells
    try:
        numbers = np.array(list(map(float, cells)))
    except ValueError:
        return cells
    return cells if (np.abs(numbers) >= EXACT).any() else numbers


def read_column(name: str, parts: Sequence[Part], how: Reading) -> NDArray[Any]:
    """Return the values of a column, shape (M,): numbers, NaN in gaps; or objects that are labels, None in gaps.

    Parameters
    ----------
    name : str
        The column, as options name it.
    parts : sequence of parts
        Consecutive cells; some may be numbers already.
    how : Reading
        How to read the cells.

    Raises
    ------
    RefusedColumn
        If the cells are not what the column should hold.
    """
    counts: Counter[str] = Counter()
    for part in parts:
        if not isinstance(part, np.ndarray):
            counts.update(part)
    present = [cell for cell in counts if not how.is_gap(cell)]
    if how.alone and not (how.declared or how.dates or how.thousands):
        _check_separated(present)
    beside_numbers = any(isinstance(part, np.ndarray) and not np.isnan(part).all() for part in parts)
    of_labels = not how.dates and (
        how.declared or (how.labels and present != [] and not beside_numbers and all(map(is_label, present)))
    )
    values: dict[str, Any] = dict.fromkeys(counts, None if of_labels else np.nan)
    if of_labels:
        if not how.many:
            _check_few_labels(name, counts, present, how.declared)
        values |= {cell: name_of(cell) for cell in present}
    elif how.dates:
        values |= _days(present)
    else:
        values |= _numbers(name, present, counts, sum(map(len, parts)), how)
    kind: Any = object if of_labels else np.float64
    whole = [
        part if isinstance(part, np.ndarray) else np.array([values[cell] for cell in part], dtype=kind)
        for part in parts
    ]
    column = np.concatenate([np.zeros(0, dtype=kind), *whole])
    if how.codes.numbers and not of_labels:
        column[np.isin(column, list(how.codes.numbers))] = np.nan
    return column


def _check_few_labels(name, counts, present, declared):
    """Raise RefusedColumn if a column holds more labels than a model takes, or than are taken without a word."""
    rows = sum(counts.values())
    most = MOST_LABELS if declared else most_labels(rows)
    text = f"holds text, {counted(len(present), 'different label')} such as {next(iter(present), '')!r}"
    if len(present) > most:
        raise RefusedColumn(f"{text}, more than {most}", present[0], "drop", [name])
    if not declared and len(present) > most_guessed(rows):
        raise RefusedColumn(f"{text} in {rows} rows", present[0], "categorical", [name])


def most_labels(rows: int) -> int:
    """Return how many labels a column may hold to be worth declaring it categorical."""
    return min(MOST_LABELS, max(rows // 2, 2))


def _days(present):
    try:
        return days_of(present)
    except ValueError as error:
        raise RefusedColumn(str(error), next((cell for cell in present if repr(cell) in str(error)), None)) from None


def _numbers(name, present, counts, n_rows, how):
    """Return the numbers in cells."""
    numbers = {cell: how.number(cell) for cell in present}
    odd = [cell for cell in present if numbers[cell] is None]
    if odd and not how.labels and all(cell.lower() in TRUTH for cell in odd):
        return numbers | {cell: TRUTH[cell.lower()] for cell in odd}
    if odd:
        raise _refusal(name, odd, counts, n_rows, how)
    if len(set(numbers.values())) < len({int(cell) for cell in present if cell.isdigit()}):
        raise RefusedColumn("holds whole numbers that double precision cannot tell apart", present[0], "drop", [name])
    return numbers


def _check_separated(present):
    """Raise RefusedColumn if every cell of the only column holds a mark that may separate cells."""
    mark = next((mark for mark in (*DELIMITERS, " ") if present and all(mark in cell for cell in present)), None)
    if mark and not all(is_number(cell, mark) for cell in present):
        raise RefusedColumn(f"{present[0]!r} may be several cells", present[0], "delimiter", mark)


def _refused_dates(name, odd):
    """Return the error about dates that were not declared."""
    try:
        days_of(odd)
    except ValueError as error:
        return RefusedColumn(str(error), odd[0], "drop", [name])
    return RefusedColumn(f"{odd[0]!r} is a date, to be counted in days or left out", odd[0], "dates", [name])


def _refusal(name, odd, counts, n_rows, how):
    """Return the error about cells that are no numbers: what they are, the most specific first."""
    cell, rows = odd[0], sum(counts[cell] for cell in odd)
    no_number = f"{cell!r} is not a number"

    def refused(what, option, value):
        return RefusedColumn(f"{no_number}; {what}" if what else no_number, cell, option, value)

    other = "," if how.decimal == "." else "."
    mark = thousands_mark(odd, how.decimal)
    if all(map(is_date, odd)):
        return _refused_dates(name, odd)
    if mark == other and not any(is_number(cell, other) for cell in odd):
        return refused("thousands are separated in it", "thousands", mark)
    if mark:
        more = f", unless {mark!r} is its decimal mark" if mark == other else ""
        return refused(f"thousands are separated in it{more}", "thousands", mark)
    if all(is_number(cell, other) for cell in odd):
        return refused(f"its decimal mark is {'a point' if other == '.' else 'a comma'}", "decimal", other)
    if len(odd) <= MOST_MARKERS and rows <= MARKED_SHARE * n_rows and not any(map(looks_like_a_number, odd)):
        return refused(f"in {counted(rows, 'row')}, it may mean a missing value", "missing_values", odd)
    unit = " without its unit" if all(map(looks_like_a_number, odd)) else "s"
    if how.labels and len(counts) <= most_labels(n_rows):
        return refused(f"write the number{unit}, or declare the column categorical", "categorical", [name])
    return refused(f"write the number{unit}, or leave the column out", "drop", [name])
