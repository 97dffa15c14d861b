"""Codes of missing values: those that the user declares, and those that a column seems to hold."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from icdh._utils.arrays import Floats
from icdh.exceptions import option

Code: TypeAlias = float | str
Declared: TypeAlias = Collection[Code] | Mapping[Hashable, Collection[Code] | Code] | None

MOST_GRADES = 20  # different whole numbers up to which a negative one beside them may be a code
_POWERS = frozenset([1e15 * 10.0**k for k in range(25)])  # 1e20, 1e30, ...


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
    Or it is 8 or 9 where the others are the grades from 1 to one at least three below.

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
    others = np.delete(distinct, at)
    if others.size < 2:  # no spread to measure distances by
        return {}
    low, high = others[0], others[-1]
    with np.errstate(over="ignore"):  # no value lies farther than a range that overflows
        room = 0.5 * (high - low)  # between the other values and a code
        far = (distinct < low - room) | (distinct > high + room)
    return {float(distinct[k]): int(counts[k]) for k in at if far[k]}


def _negative_among_grades(distinct: Floats) -> int:
    """Return how many sorted values, one or two, are negative and apart from few whole numbers; else 0."""
    negative = int(np.count_nonzero(distinct < 0.0))
    are_grades = 0 < negative <= 2 and 3 <= distinct.size - negative <= MOST_GRADES and not (distinct % 1.0).any()
    return negative if are_grades and distinct[negative] - distinct[negative - 1] > 1.0 else 0


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
