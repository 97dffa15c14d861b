"""What stands for something else in a column: numbers for labels, and codes for missing values.

How categorical columns are recognised. In an ordered column the numbers are ranks. In any other column they are codes,
and the most frequent label is 0: renaming labels changes no result. Codes of missing values are those that the user
declares; a column may seem to hold others.
"""

import re
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from numbers import Real
from typing import NamedTuple, TypeAlias, TypeGuard

import numpy as np

from icdh._utils.arrays import Cells, Floats, Foreign, Integers
from icdh._utils.labels import counted
from icdh.exceptions import option

MISSING_TYPES = ("NoneType", "NAType", "NaTType")
MOST_LABELS = 50
ENCODE = "encode it as numbers or drop it"
Label: TypeAlias = float | str
Code: TypeAlias = float | str
Declared: TypeAlias = Collection[Code] | Mapping[Hashable, Collection[Code] | Code] | None
FEWEST_BESIDE, FAR_BELOW = 4, 10.0  # values beside a code of one digit, and how far it is below them
MOST_GRADES = 20  # different whole numbers up to which a negative one beside them may be a code
_POWERS = frozenset([1e15 * 10.0**k for k in range(25)])  # 1e20, 1e30, ...


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
        """Return the label nearest to each number; of NaN a gap, None beside text."""
        known = ~np.isnan(codes)
        labels: Cells = np.full(codes.shape, None if self.of_text else np.nan, object if self.of_text else float)
        labels[known] = self.decoded(np.clip(np.rint(codes[known]), 0, len(self.labels) - 1))
        return labels

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


class Codes(NamedTuple):
    """What means a missing value in a column.

    Attributes
    ----------
    numbers : frozenset of float
        Codes that are numbers.
    texts : frozenset of str
        Markers that are text.
    nothing_else : bool
        Whether NA and other usual markers are labels here.
    """

    numbers: frozenset[float]
    texts: frozenset[str]
    nothing_else: bool = False


def codes_of(declared: Declared, *column: Hashable) -> Codes:
    """Return the codes of a column, which is known by a name or by several.

    Parameters
    ----------
    declared : collection, mapping, or None
        Numbers and texts that mean a missing value in every column, or in those that a mapping names, where
        None names every column. With an empty collection for a column, only an empty cell is missing there.
    *column : str or int
        The names of the column.
    """
    nothing_else = False
    if isinstance(declared, Mapping):
        of_column = [_listed(declared[name]) for name in column if name in declared]  # pyright: ignore[reportArgumentType]
        nothing_else = any(not codes for codes in of_column)
        declared = [code for codes in [_listed(declared.get(None)), *of_column] for code in codes]  # pyright: ignore[reportArgumentType]
    numbers, texts = set(), set()
    for code in _listed(declared):
        try:
            numbers.add(float(code))
        except ValueError:
            texts.add(str(code))
    return Codes(frozenset(numbers), frozenset(texts), nothing_else)


def _listed(codes: Collection[Code] | Code | None) -> list[Code]:
    """Return codes as a list; a single one may stand alone."""
    if codes is None:
        return []
    return [codes] if isinstance(codes, str) or not isinstance(codes, Collection) else list(codes)


def says_none(declared: Declared) -> bool:
    """Return whether codes of missing values are declared to be absent."""
    every = declared.get(None, (0,)) if isinstance(declared, Mapping) else declared  # pyright: ignore[reportCallIssue, reportArgumentType]
    return every is not None and not _listed(every)


def looks_like_a_code(value: float) -> bool:
    """Return whether programs write a number for gaps: equal digits, a power of ten, a limit of integers."""
    digits = f"{abs(value):.15g}".replace(".", "")
    repeated = len({*digits}) == 1 and digits[0] in "6789" and len(digits) > 1 + (digits[0] != "9")  # 99, but 666
    return repeated or abs(value) in _POWERS or value in (-32768.0, 32767.0, -(2.0**31), 2.0**31 - 1)


def suspected_codes(values: Floats) -> dict[float, int]:
    """Return the values of a column that look like codes of missing values, and how often each occurs.

    A code lies outside the other values, farther than half of their range, and is written as programs write codes
    (`looks_like_a_code`). Or it is negative where the others are a few positive whole numbers, and zero is not between.
    Or it is 8 or 9 where the others are the grades from 1 to one at least three below. Or it repeats, and is the one
    negative number, from -9 to -1, at least ten below all others; or -9 to -7 or 7 to 9 beside zero and one.

    Parameters
    ----------
    values : ndarray, shape (M,)
        The column; gaps are NaN.
    """
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    # A code is the smallest or the largest value, or next to another code.
    ends = np.r_[0 : min(3, distinct.size), max(distinct.size - 3, 0) : distinct.size]
    at = [k for k in np.unique(ends) if looks_like_a_code(float(distinct[k]))]
    if n_beyond := _beyond_grades(distinct):
        return dict(zip(distinct[-n_beyond:].tolist(), counts[-n_beyond:].tolist(), strict=True))
    if of_grades := _negative_among_grades(distinct):
        return dict(zip(distinct[:of_grades].tolist(), counts[:of_grades].tolist(), strict=True))
    digits = _single_digits(distinct, counts)
    others = np.setdiff1d(np.delete(distinct, at), [*digits])
    if others.size < 2:  # no spread to measure distances by
        return {}
    low, high = others[0], others[-1]
    with np.errstate(over="ignore"):  # no value lies farther than a range that overflows
        room = 0.5 * (high - low)  # between the other values and a code
        far = (distinct < low - room) | (distinct > high + room)
    return digits | {float(distinct[k]): int(counts[k]) for k in at if far[k]}


def _negative_among_grades(distinct: Floats) -> int:
    """Return how many sorted values, one or two, are negative and apart from few whole numbers; else 0."""
    negative = int(np.count_nonzero(distinct < 0.0))
    are_grades = 0 < negative <= 2 and 3 <= distinct.size - negative <= MOST_GRADES and not (distinct % 1.0).any()
    return negative if are_grades and distinct[negative] - distinct[negative - 1] > 1.0 else 0


def _single_digits(distinct: Floats, counts: Integers) -> dict[float, int]:
    """Return values that repeat: the one negative number of a positive column, or codes beside zero and one."""
    is_code = (counts > 1) & np.isin(distinct, [-9.0, -8.0, -7.0, 7.0, 8.0, 9.0])
    if distinct[~is_code].tolist() != [0.0, 1.0]:
        is_code = (counts > 1) & np.isin(distinct, -np.arange(1.0, 10.0)) & (np.arange(distinct.size) == 0)
        if distinct.size <= FEWEST_BESIDE or not is_code[0] or distinct[1] < distinct[0] + FAR_BELOW:
            return {}
    return dict(zip(distinct[is_code].tolist(), counts[is_code].tolist(), strict=True))


def _beyond_grades(distinct: Floats) -> int:
    """Return how many sorted values are 8 or 9, and far above grades that are all numbers from 1 on; else 0."""
    beyond = 1 + int(distinct[-2:].tolist() == [8.0, 9.0]) if distinct[-1:].tolist() in ([8.0], [9.0]) else 0
    grades = distinct[: distinct.size - beyond]
    are_grades = beyond and grades.size >= 3 and np.array_equal(grades, 1.0 + np.arange(grades.size))
    return beyond if are_grades and distinct[-beyond] - grades.size >= 3.0 else 0


def codes_message(columns: Sequence[Floats], names: Sequence[Hashable]) -> str | None:
    """Return a text that names suspected codes, their columns and the remedy; None if there are none.

    Parameters
    ----------
    columns : sequence of N arrays, each of shape (M,)
        Columns of numbers.
    names : sequence of N names
        Their names.
    """
    where: dict[float, dict[Hashable, int]] = {}
    for values, name in zip(columns, names, strict=True):
        for code, count in suspected_codes(values).items():
            where.setdefault(code, {})[name] = count
    where = {code: rows for code, rows in where.items() if sum(rows.values()) > 1}  # one cell may be an outlier
    if not where:
        return None
    lists = "; ".join(
        f"{code:g} in " + ", ".join(f"{count} rows of {name!r}" for name, count in rows.items())
        for code, rows in where.items()
    )
    codes = [int(code) if code.is_integer() and abs(code) < 1e15 else code for code in where]
    return (
        f"possible codes of missing values: {lists}; pass {option('missing_values', codes)} to take them for gaps, or "
        f"{option('missing_values', [])} to keep them"
    )
