"""Readers that convert the cells of a text column to numbers: plain numbers, dates, or labels."""

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np

from icdh.files.cells import MISSING, complaint, date_or_gap, is_label
from icdh.files.text import name_of


class DateReader:
    """Reads a column of dates as days. In dates with slashes the whole column tells whether the month comes first."""

    def __init__(self):
        self.cells, self.slashed = 0, {}

    def __call__(self, cell: str, decimal: str) -> float:
        """Return the days of a date; NaN if it is missing, or for `days_of_slashed` to fill in."""
        self.cells += 1
        if "/" not in cell or cell in MISSING:
            return date_or_gap(cell)
        if math.isnan(_days(cell, True)) and math.isnan(_days(cell, False)):
            raise ValueError(f"{cell!r} is not a date")
        self.slashed[self.cells - 1] = cell
        return math.nan

    def days_of_slashed(self) -> dict[int, float]:
        """Return the days of the dates with slashes, by the number of their row, or raise ValueError."""
        days = [{row: _days(cell, month_first) for row, cell in self.slashed.items()} for month_first in (False, True)]
        possible = [own for own in days if not any(map(math.isnan, own.values()))]
        if self.slashed and (not possible or (len(possible) == 2 and days[0] != days[1])):
            example = next(iter(self.slashed.values()))
            raise ValueError(f"dates such as {example!r} do not say whether day or month comes first; write 2024-03-31")
        return possible[0]

    def complaint(self, cell: str) -> str:
        """Return the message about a cell that should be a date."""
        return f"{cell!r} is no date such as 2024-03-31 or 31.03.2024"


def _days(cell, month_first):
    try:
        return date_or_gap(cell, month_first)
    except ValueError:
        return math.nan


class LabelReader:
    """Reads a column of numbers or of labels (as codes); the first cell that is not missing decides which."""

    def __init__(self, plain: Callable[[str, str], float], declared: bool):
        self.plain, self.declared = plain, declared
        self.codes, self.numbers = {}, False

    def __call__(self, cell: str, decimal: str) -> float:
        """Return the number, or the code of the label, in a cell; NaN if it is missing."""
        if self.declared and cell not in MISSING:
            return self._code(cell)
        if not self.codes:
            try:
                value = self.plain(cell, decimal)
            except ValueError:
                if self.numbers or not is_label(cell):
                    raise
            else:
                self.numbers |= not math.isnan(value)
                return value
        return self._code(cell) if is_label(cell) else self._gap(cell, decimal)

    def _code(self, cell):
        return float(self.codes.setdefault(name_of(cell), len(self.codes)))

    def _gap(self, cell, decimal):
        if math.isnan(value := self.plain(cell, decimal)):
            return value
        raise ValueError(f"{cell!r} in a column of labels")

    def complaint(self, cell: str) -> str:
        """Return the message about a cell that differs in kind from the cells before it, with the remedy."""
        if self.codes and not is_label(cell) and cell not in MISSING:
            known = next(iter(self.codes))
            return f"{cell!r} stands in a column of labels such as {known!r}; leave the column out (--drop)"
        return complaint(cell)


def reader_of(
    column: str, plain: Callable[[str, str], float], of_dates: bool, categorical: Collection[str] | None
) -> Callable[[str, str], float]:
    """Return the reader of a column's cells; ``plain`` reads the cells of a column of plain numbers."""
    if of_dates:
        return DateReader()
    return plain if categorical is None else LabelReader(plain, column in categorical)


def fill_in_dates(values: np.ndarray, readers: Sequence[Callable[[str, str], float]], names: Sequence[str]) -> None:
    """Write the dates with slashes into a table, once all cells are read; a ValueError names the column."""
    for k, reader in enumerate(readers):
        if isinstance(reader, DateReader):
            try:
                found = reader.days_of_slashed()
            except ValueError as problem:
                raise ValueError(f"column {names[k]!r}: {problem}") from None
            for row, days in found.items():
                values[row, k] = days


def with_labels(values: np.ndarray, readers: Sequence[Callable[[str, str], float]]) -> np.ndarray:
    """Return values with labels in place of codes and None in their gaps; without such columns, values unchanged."""
    of_labels = {k: list(reader.codes) for k, reader in enumerate(readers) if getattr(reader, "codes", None)}
    if not of_labels:
        return values
    table = values.astype(object)
    for k, labels in of_labels.items():
        table[:, k] = [None if math.isnan(code) else labels[int(code)] for code in values[:, k]]
    return table
