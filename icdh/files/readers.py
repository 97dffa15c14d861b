"""What makes numbers of the cells of a column of a text file: of plain numbers, of dates, or of labels."""

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np

from icdh.files.cells import MISSING, complaint, date_or_gap, is_label
from icdh.files.text import name_of


class LabelReader:
    """Reads a column of numbers or of labels, whichever its first cell that is not missing is; labels as codes."""

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
        """Return what is wrong with a cell that ought to be like those before it, and the remedy."""
        if self.codes and not is_label(cell) and cell not in MISSING:
            return f"{cell!r} stands in a column of labels such as {next(iter(self.codes))!r}; leave the column out"
        return complaint(cell)


def reader_of(
    column: str, plain: Callable[[str, str], float], of_dates: bool, categorical: Collection[str] | None
) -> Callable[[str, str], float]:
    """Return what makes a number of a cell of a column, given what makes one of a cell of a plain column."""
    if of_dates:
        return date_or_gap
    return plain if categorical is None else LabelReader(plain, column in categorical)


def with_labels(values: np.ndarray, readers: Sequence[Callable[[str, str], float]]) -> np.ndarray:
    """Return values with labels, and None in gaps, where codes stand for these; as they are if there are none."""
    of_labels = {k: list(reader.codes) for k, reader in enumerate(readers) if getattr(reader, "codes", None)}
    if not of_labels:
        return values
    table = values.astype(object)
    for k, labels in of_labels.items():
        table[:, k] = [None if math.isnan(code) else labels[int(code)] for code in values[:, k]]
    return table
