"""Categorical columns: how to recognise them, and the numbers that stand for their labels.

In an ordered column the numbers are ranks. In any other column they are codes, and the most frequent label is 0:
renaming labels changes no result.
"""

import re
from collections import Counter
from collections.abc import Sequence
from numbers import Real
from typing import NamedTuple, TypeAlias, TypeGuard

import numpy as np

from icdh._utils.arrays import Cells, Floats, Foreign
from icdh._utils.labels import counted
from icdh.exceptions import option

MISSING_TYPES = ("NoneType", "NAType", "NaTType")
MOST_LABELS = 50
ENCODE = "encode it as numbers or drop it"


Label: TypeAlias = float | str


class Categories(NamedTuple):
    """The labels that the numbers 0 ... K - 1 of a column stand for.

    Attributes
    ----------
    labels : tuple
        K labels, text or numbers: by decreasing frequency or, in an ordered column, in their order.
    ordered : bool
        Whether the numbers are ranks.
    declared : bool
        Whether the user declared the column categorical; otherwise it was guessed.
    unseen : tuple
        Labels without an order that the column may hold and no row of the fit held. Their numbers are K, K + 1, ...: as
        causes they are like a typical label.
    """

    labels: tuple[Label, ...]
    ordered: bool = False
    declared: bool = False
    unseen: tuple[Label, ...] = ()

    @classmethod
    def of(cls, cells: Sequence[object], declared: bool, possible: Sequence[object] = ()) -> "Categories":
        """Return the categories of a column without an order; None and NaN stand for gaps.

        Parameters
        ----------
        cells : sequence, length M
            The cells.
        declared : bool
            Whether the user declared the column categorical.
        possible : sequence
            All labels that the column may hold, if declared.
        """
        counts: Counter[Label] = Counter()
        for cell, count in _counted(cells).items():
            if not _is_missing(cell):
                counts[_label(cell)] += count
        labels = tuple(sorted(counts, key=lambda label: (-counts[label], str(label))))
        unseen = tuple(label for label in map(_label, possible) if label not in counts)
        return cls(labels, declared=declared, unseen=unseen)

    @classmethod
    def of_column(cls, cells: Sequence[object], dtype: Foreign, declared: bool, column: str) -> "Categories | None":
        """Return the categories of a column; None if it holds no labels.

        Parameters
        ----------
        cells : sequence, length M
            The cells.
        dtype : pandas.CategoricalDtype or None
            The pandas type of the column.
        declared : bool
            Whether the user declared it categorical. Otherwise only repeated text that holds no numbers counts as
            labels.
        column : str
            The name of the column in messages.

        Raises
        ------
        TypeError
            If it has too many labels.
        """
        if dtype is not None:
            categories = _of_type(dtype, cells)
        else:
            categories = cls.of(cells, declared) if _are_labels(cells, declared) else None
        if categories is not None:
            _check_label_count(categories, len(cells), column)
        return categories

    def encoded(self, cells: Sequence[object], column: str) -> Floats:
        """Return the numbers of labels, NaN in gaps; ``column`` begins the message about an unknown label."""
        cells, codes = list(cells), {label: float(code) for code, label in enumerate(self.labels + self.unseen)}
        try:
            numbers = {cell: np.nan if _is_missing(cell) else codes[_label(cell)] for cell in _counted(cells)}
        except KeyError as error:
            known = ", ".join(map(repr, self.labels))
            raise ValueError(f"{column} holds {error.args[0]!r}, but its labels are {known}") from None
        return np.array([numbers[cell] for cell in cells])

    def decoded(self, codes: Cells) -> Cells:
        """Return the labels that numbers stand for: floats if all labels are numbers, else objects."""
        labels: Cells = np.empty(len(self.labels + self.unseen), dtype=object)
        labels[:] = self.labels + self.unseen
        chosen: Cells = labels[codes.astype(int)]
        return chosen if self.of_text else chosen.astype(np.float64)

    def nearest(self, codes: Cells) -> Cells:
        """Return the label nearest to each number."""
        return self.decoded(np.clip(np.rint(codes), 0, len(self.labels) - 1))

    def reads(self, cells: object) -> bool:
        """Return whether cells, such as what an intervention sets the column to, are its labels and not its ranks."""
        array = np.asarray(cells)
        is_text = array.dtype.kind in "US" or any(isinstance(cell, str) for cell in array.ravel())
        return is_text or not self.ordered

    @property
    def is_scale(self) -> bool:
        """Whether its numbers may be read as such: labels in order, or two of them, whose order does not matter."""
        return self.ordered or len(self.labels + self.unseen) == 2

    @property
    def of_text(self) -> bool:
        """Whether any label is text."""
        return any(isinstance(label, str) for label in self.labels)


def _is_missing(cell: object) -> bool:
    return type(cell).__name__ in MISSING_TYPES or (isinstance(cell, float) and cell != cell)


def _label(cell: object) -> Label:
    """Return a cell as a label: a number or text."""
    return float(cell) if _is_number(cell) else str(cell)


def _is_number(cell: object) -> TypeGuard[float]:
    return isinstance(cell, (Real, np.bool_))


def _of_type(dtype: Foreign, cells: Sequence[object]) -> Categories | None:
    if not dtype.ordered:
        return Categories.of(cells, declared=True, possible=dtype.categories)
    if all(map(_is_number, dtype.categories)):
        return None
    return Categories(tuple(map(_label, dtype.categories)), ordered=True, declared=True)


def _are_labels(cells: Sequence[object], declared: bool) -> bool:
    present = [cell for cell in _counted(cells) if not _is_missing(cell)]
    texts = [cell for cell in present if isinstance(cell, str)]
    if declared:
        return bool(texts) and all(isinstance(cell, str) or _is_number(cell) for cell in present)
    are_numbers = any(map(_is_numeral, texts)) or all(map(looks_like_a_number, texts))
    return len(texts) == len(present) and not are_numbers


def _counted(cells: Sequence[object]) -> Counter[object]:
    """Return how often every cell occurs; of cells that are not hashable, how often their types do."""
    try:
        return Counter(cells)
    except TypeError:
        return Counter(map(type, cells))


def _is_numeral(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def looks_like_a_number(cell: str) -> bool:
    """Return whether a cell holds digits and little else, such as a unit, a currency or an ending."""
    return bool(re.fullmatch(r"[^\w\s]?\s?[+-]?[\d.,]*\d[\d.,]*\s?[^\d\s]{0,3}", cell))


def max_guessed_labels(n_rows: int) -> int:
    """Return how many labels a column of text may hold to be taken for categorical."""
    return max(min(20, n_rows // 5), 2)


def _check_label_count(categories: Categories, n_rows: int, column: str) -> None:
    """Raise TypeError if a column has more labels than the model allows, or too many to be guessed categorical."""
    limit = MOST_LABELS if categories.declared else max_guessed_labels(n_rows)
    if len(categories.labels) <= limit:
        return
    labels = counted(len(categories.labels), "different label")
    examples = f"{column} holds text, {labels} such as {categories.labels[0]!r}"
    if len(categories.labels) > MOST_LABELS:
        raise TypeError(f"{examples}, more than {MOST_LABELS}; drop it, join rare labels, or encode it as numbers")
    raise TypeError(
        f"{examples}, more than {limit} in {n_rows} rows; drop it, or declare it categorical by {option('kinds')} if "
        "they are labels nevertheless"
    )
