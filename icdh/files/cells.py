"""What a cell of text holds: a gap, a number, a date or a label.

A quoted cell is text, including its spaces, even if it looks like a number. A name that a spreadsheet would run as a
formula has an apostrophe in front, which is no part of it.
"""

import re
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from functools import cache

from icdh._table.categories import looks_like_a_number

FORMULA = re.compile(r"'*[=+\-@\t\r]")
_MISSING = "NA N/A n/a <NA> #N/A NaN nan NaT null NULL None ? . - \u2013 \u2014"
MISSING = frozenset(["", *_MISSING.split()])
_TYPOGRAPHIC = str.maketrans("\u2212\u2019\uff0b", "-'+")  # a minus, an apostrophe and a plus of print
THOUSANDS = ",.' _"
SPACES = " \u00a0\u202f"  # what separates thousands in print


@cache
def _with_thousands(mark: str, decimal: str) -> re.Pattern[str]:
    """Return the pattern of a number whose thousands a mark separates."""
    between = f"[{SPACES}]" if mark == " " else re.escape(mark)
    return re.compile(rf"[+-]?[1-9]\d{{0,2}}({between}\d{{3}})+({re.escape(decimal)}\d*)?")  # 0,105 is none


def number(cell: str, decimal: str = ".", thousands: str | None = None) -> float | None:
    """Return the number in a cell, None if it holds none.

    Digits are ASCII. Unlike Python, underscores between digits are an error.

    Parameters
    ----------
    cell : str
        The text.
    decimal : {".", ","}
        The decimal mark.
    thousands : str, optional
        What separates thousands.
    """
    if not cell.isascii():
        cell = cell.translate(_TYPOGRAPHIC)
    if thousands and _with_thousands(thousands, decimal).fullmatch(cell):
        cell = re.sub(f"[{SPACES}]" if thousands == " " else re.escape(thousands), "", cell)
    if "_" in cell or not cell.isascii() or (decimal == "," and "." in cell):
        return None
    try:
        return float(cell.replace(",", ".") if decimal == "," else cell)
    except ValueError:
        return None


def is_number(cell: str, decimal: str = ".", thousands: str | None = None) -> bool:
    """Return whether a cell holds a number."""
    return number(cell, decimal, thousands) is not None


def thousands_mark(cells: Collection[str], decimal: str) -> str | None:
    """Return the mark that makes all cells numbers with separated thousands, None if there is none."""
    printed = [cell.translate(_TYPOGRAPHIC) for cell in cells]
    marks = (mark for mark in THOUSANDS if mark != decimal)
    return next((mark for mark in marks if all(map(_with_thousands(mark, decimal).fullmatch, printed))), None)


def days_of(cells: Collection[str]) -> dict[str, float]:
    """Return dates as days since the beginning of 1970, by cell.

    A time of day is a fraction; one with a time zone is taken to UTC. Years of two digits are 1969 to 2068. In dates
    with slashes, the cells together decide whether day or month comes first.

    Parameters
    ----------
    cells : collection of str
        Such as 2024-03-31, 2024-03-31 12:30:00, 31.03.2024 or 31/03/2024.

    Raises
    ------
    ValueError
        If a cell is no date, or the order of day and month is ambiguous.
    """
    readings = _readings(cells)
    if readings and readings[0] == readings[-1]:
        return readings[0]
    if strange := [cell for cell in cells if not is_date(cell)]:
        raise ValueError(f"{strange[0]!r} is no date such as 2024-03-31 or 31.03.2024")
    example = next(cell for cell in cells if "/" in cell)
    raise ValueError(f"the order of day and month in dates such as {example!r} is ambiguous; write 2024-03-31")


def is_date(cell: str) -> bool:
    """Return whether a cell holds a date."""
    return _readings([cell]) != []


def _readings(cells: Collection[str]) -> list[dict[str, float]]:
    """Return the days of all cells, read with the day first and with the month first, where they can be read so."""
    readings = []
    for month_first in (False, True):
        with suppress(ValueError):
            readings.append({cell: _days(cell, month_first) for cell in cells})
    return readings


def _days(cell: str, month_first: bool) -> float:
    if written := re.fullmatch(r"(\d{1,2})([./])(\d{1,2})\2(\d{4}|\d{2})(?:[T ]+(\d{1,2})(:\d{2}(?::\d{2})?))?", cell):
        first, mark, second, year, hour, minutes = written.groups()
        month, day = (first, second) if month_first and mark == "/" else (second, first)
        if len(year) == 2:
            year = str(1969 + (int(year) - 1969) % 100)  # as POSIX reads two digits
        cell = f"{year}-{month:0>2}-{day:0>2} {hour or 0:0>2}{minutes or ':00'}"
    when = datetime.fromisoformat(cell)
    since = when.astimezone(timezone.utc) if when.tzinfo else when.replace(tzinfo=timezone.utc)
    return (since - datetime(1970, 1, 1, tzinfo=timezone.utc)) / timedelta(days=1)


def looks_like_a_value(cell: str) -> bool:
    """Return whether a cell is missing or a number in any notation; such a cell is a name only if it is quoted."""
    return cell in MISSING or any(is_number(cell, mark) or thousands_mark([cell], mark) for mark in ".,")


def is_label(cell: str) -> bool:
    """Return whether a cell holds text that nobody takes for a number or a date."""
    like_a_date = re.fullmatch(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?|\d{1,2}:\d{2}.*", cell)
    return not looks_like_a_number(cell) and not like_a_date and not looks_like_a_value(cell)


class Quoted(str):
    """A cell that stood in quotes."""

    __slots__ = ()


def name_of(cell: str) -> str:
    """Return the name that a cell holds."""
    return str(cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell)
