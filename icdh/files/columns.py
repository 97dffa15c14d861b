"""One column of a text table: its numbers, days or labels; or why it cannot be read, and the option that helps."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from icdh._table.codes import MOST_LABELS, Codes, looks_like_a_number, max_guessed_labels
from icdh._utils.labels import counted
from icdh.files.text import (
    DELIMITERS,
    MISSING,
    THOUSANDS,
    days_of,
    is_date,
    is_label,
    is_number,
    name_of,
    number,
    thousands_mark,
)

Part: TypeAlias = "NDArray[np.float64] | Sequence[str]"
TRUTH = {"true": 1.0, "false": 0.0}


class RefusedColumn(ValueError):
    """A column cannot be read.

    Attributes
    ----------
    cell : str or None
        The first cell that stands in the way; None of a whole column.
    option, value : str, object
        The argument of `icdh.files.read_table` that helps; empty if none does. A list is added to what the user gave.
    """

    def __init__(self, what: str, cell: str | None = None, option: str = "", value: object = None):
        super().__init__(what)
        self.cell, self.option, self.value = cell, option, value


@dataclass
class Column:
    """A column: where it stands, how it is read, and its cells.

    Attributes
    ----------
    at, name, key : int, str, str
        Its position, its name, and the word that options know it by.
    decimal, thousands : str, str or None
        The marks in numbers.
    labels : bool
        Whether columns of text are read as labels.
    alone : bool
        Whether there is no other column: a separator may have been missed.
    codes : Codes
        What means a gap, beside the usual markers.
    dates, declared : bool
        Whether the column is declared to hold dates, or labels.
    many : bool
        Whether any number of labels will do: the column is no variable.
    parts : list
        Consecutive cells; where all are plain numbers, the numbers.
    """

    at: int
    name: str
    key: str
    decimal: str
    thousands: str | None
    labels: bool
    alone: bool
    codes: Codes
    dates: bool
    declared: bool
    many: bool
    parts: list[Part] = field(default_factory=list)

    def add(self, cells: Sequence[str]) -> None:
        """Append cells."""
        plain = self.decimal == "." and not (self.thousands or self.dates or self.declared)
        self.parts.append(_plain_numbers(cells) if plain else cells)

    @property
    def counts(self) -> Counter[str]:
        """The number of rows that hold each cell, of cells that are not numbers yet."""
        return Counter(chain.from_iterable(part for part in self.parts if not isinstance(part, np.ndarray)))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(map(len, self.parts))

    def row_of(self, cell: str | None) -> int | None:
        """Return the first row that holds a cell."""
        row = 0
        for part in self.parts:
            if cell is not None and not isinstance(part, np.ndarray) and cell in part:
                return row + part.index(cell)
            row += len(part)
        return None

    def number(self, cell: str) -> float | None:
        """Return the number in a cell; None if it holds none."""
        return number(cell, self.decimal, self.thousands)

    def is_gap(self, cell: str) -> bool:
        """Return whether a cell means a gap."""
        usual = not cell if self.codes.nothing_else else cell in MISSING
        return usual or cell in self.codes.texts or self.number(cell) in self.codes.numbers

    @property
    def words_for_gaps(self) -> list[str]:
        """The words that mean a gap by themselves, not by the user's word; labels may be called so."""
        return [cell for cell in self.counts if cell.isalpha() and cell not in self.codes.texts and self.is_gap(cell)]

    def values(self) -> NDArray[np.generic]:
        """Return the values, shape (M,): numbers, NaN in gaps; or objects that are labels, None in gaps.

        Raises
        ------
        RefusedColumn
            If the cells are not what the column should hold.
        """
        counts = self.counts
        present = [cell for cell in counts if not self.is_gap(cell)]
        if self.alone and not (self.declared or self.dates or self.thousands):
            _check_separated(present)
        beside_numbers = any(isinstance(part, np.ndarray) and not np.isnan(part).all() for part in self.parts)
        of_text = present != [] and all(is_label(cell) or cell in MISSING for cell in present)  # these if declared
        of_labels = not self.dates and (self.declared or (self.labels and of_text and not beside_numbers))
        values: dict[str, float | str | None] = dict.fromkeys(counts, None if of_labels else np.nan)
        if of_labels:
            self._check_label_count(present)
            values |= {cell: name_of(cell) for cell in present}
        elif self.dates:
            values |= _days(present)
        else:
            values |= self._numbers(present, counts)
        kind: type = object if of_labels else np.float64
        parts = [part if isinstance(part, np.ndarray) else [values[cell] for cell in part] for part in self.parts]
        column = np.concatenate([np.zeros(0, dtype=kind), *(np.array(part, dtype=kind) for part in parts)])
        if self.codes.numbers and not of_labels:
            column[np.isin(column, list(self.codes.numbers))] = np.nan
        return column

    def _check_label_count(self, present: Sequence[str]) -> None:
        """Raise RefusedColumn if there are more labels than a model takes, or too many to be guessed categorical."""
        if self.many:
            return
        limit = MOST_LABELS if self.declared else _max_labels(self.n_rows)
        text = f"holds text, {counted(len(present), 'different label')} such as {next(iter(present), '')!r}"
        if len(present) > limit:
            raise RefusedColumn(f"{text}, more than {limit}", present[0], "drop", [self.key])
        if not self.declared and len(present) > max_guessed_labels(self.n_rows):
            raise RefusedColumn(f"{text} in {self.n_rows} rows", present[0], "categorical", [self.key])

    def _numbers(self, present: Sequence[str], counts: Counter[str]) -> dict[str, float]:
        """Return the numbers in cells."""
        numbers = {cell: value for cell in present if (value := self.number(cell)) is not None}
        odd = [cell for cell in present if cell not in numbers]
        if odd and not self.labels and all(cell.lower() in TRUTH for cell in odd):
            return numbers | {cell: TRUTH[cell.lower()] for cell in odd}
        if odd:
            raise self._refusal(odd, counts)
        if len(set(numbers.values())) < len({int(cell) for cell in present if cell.isdigit()}):
            what = "holds whole numbers that double precision cannot tell apart"
            raise RefusedColumn(what, present[0], "drop", [self.key])
        return numbers

    def _refusal(self, odd: Sequence[str], counts: Counter[str]) -> RefusedColumn:
        """Return the error about cells that are no numbers: what they are, the most specific first."""
        cell, rows = odd[0], sum(counts[cell] for cell in odd)
        other, mark = "," if self.decimal == "." else ".", thousands_mark(odd, self.decimal)

        def refused(what: str, option: str, value: object) -> RefusedColumn:
            return RefusedColumn(f"{cell!r} is not a number; {what}", cell, option, value)

        if all(map(is_date, odd)):
            return _refused_dates(self.key, odd)
        if mark:
            decimals = mark == other and any(is_number(cell, other) for cell in odd)
            more = f", unless {mark!r} is its decimal mark" if decimals else ""
            return refused(f"thousands are separated in it{more}", "thousands", mark)
        for between in (None, *THOUSANDS):
            if between != other and all(is_number(cell, other, between) for cell in odd):
                what = f"its decimal mark is {'a point' if other == '.' else 'a comma'}"
                what += ", and it has thousands" if between else ""
                return refused(what, *(("thousands", ".") if between == "." else ("decimal", other)))
        alike = [cell for cell in odd if looks_like_a_number(cell)]
        if len(odd) <= 3 and rows <= 0.3 * self.n_rows and not alike:  # at most three words in a minority of rows
            return refused(f"in {counted(rows, 'row')}, it may mean a missing value", "missing_values", odd)
        unit = " without its unit" if len(alike) == len(odd) else "s"
        if self.labels and len(counts) <= _max_labels(self.n_rows):
            return refused(f"write the number{unit}, or declare the column categorical", "categorical", [self.key])
        return refused(f"write the number{unit}, or leave the column out", "drop", [self.key])


def _plain_numbers(cells: Sequence[str]) -> Part:
    """Return cells as numbers if all are plain ones that double precision can tell apart, else the cells."""
    text = "".join(cells)
    if "_" in text or not text.isascii():
        return cells
    try:
        numbers = np.array(list(map(float, cells)))
    except ValueError:
        return cells
    return cells if (np.abs(numbers) >= 2.0**53).any() else numbers


def _max_labels(rows: int) -> int:
    """Return how many labels a column may hold to be declared categorical."""
    return min(MOST_LABELS, max(rows // 2, 2))


def _days(present: Sequence[str]) -> dict[str, float]:
    try:
        return days_of(present)
    except ValueError as error:
        raise RefusedColumn(str(error), next((cell for cell in present if repr(cell) in str(error)), None)) from None


def _check_separated(present: Sequence[str]) -> None:
    """Raise RefusedColumn if every cell of the only column holds a mark that may separate cells."""
    mark = next((mark for mark in (*DELIMITERS, " ") if present and all(mark in cell for cell in present)), None)
    if mark and not all(is_number(cell, mark) for cell in present):
        raise RefusedColumn(f"{present[0]!r} may be several cells", present[0], "delimiter", mark)


def _refused_dates(name: str, odd: Sequence[str]) -> RefusedColumn:
    """Return the error about dates that were not declared."""
    try:
        days_of(odd)
    except ValueError as error:
        return RefusedColumn(str(error), odd[0], "drop", [name])
    return RefusedColumn(f"{odd[0]!r} is a date, to be counted in days or left out", odd[0], "dates", [name])
