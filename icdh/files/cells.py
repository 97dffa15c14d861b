"""Cells of a text table: how to recognise numbers, dates, labels and gaps, and how to explain any other cell."""

import math
import re
from datetime import datetime, timedelta, timezone

MISSING = frozenset(["", "NA", "N/A", "n/a", "<NA>", "#N/A", "null", "NULL", "None", "?", ".", "-"])

_NO_DATE = frozenset(["NaT", "NaN", "nan"])  # how other programs write a missing date
_WRITTEN_DATE = re.compile(r"(\d{1,2})([./])(\d{1,2})\2(\d{4}|\d{2})(?:[T ]+(\d{1,2})(:\d{2}(?::\d{2})?))?")
_FIRST_YEAR_OF_TWO_DIGITS = 1969  # POSIX reads two digits as a year from 1969 to 2068

_SEPARATED_THOUSANDS = re.compile(
    r"[+-]?(\d{1,3}([ '_\u00a0\u202f]\d{3})+([.,]\d*)?|\d+(_\d+)+"
    r"|\d{1,3}(,\d{3})+\.\d*|\d{1,3}(\.\d{3})+,\d*|\d{1,3}(,\d{3}){2,}|\d{1,3}(\.\d{3}){2,})"
)
_ENCODE = "encode the column as numbers or leave it out (--drop)"
# What a cell without a number is likely to be, the most specific first.
_KINDS = [
    (re.compile(pattern), remedy)
    for pattern, remedy in (
        (
            r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?",
            "it looks like a date or time; say dates= (--dates) if days are to be counted, drop= (--drop) if not",
        ),
        (
            r"\d{1,2}:\d{2}.*",
            "it looks like a time of day; write it as a number of hours, or leave the column out (--drop)",
        ),
        (r"(?i:true|false|yes|no)", "write truth values as 1 and 0"),
        (_SEPARATED_THOUSANDS, "thousands are separated in it; write it without separators"),
        (
            r"[+-]?\d*,\d+([eE][+-]?\d+)?",
            "if the comma is the decimal mark say decimal=',' (--decimal ','), if it separates thousands take it out",
        ),
        (r"[+-]?\d*\.\d+([eE][+-]?\d+)?", "its decimal mark is a point; leave out decimal=',' (--decimal ',')"),
        (r".*\|.*", "if bars separate the cells say delimiter='|' (--sep '|')"),
        (r".*;.*", "if semicolons separate the cells say delimiter=';' (--sep ';')"),
        (r".*\t.*", "if tabs separate the cells say delimiter='\\t' (--sep tab)"),
        (
            r"(?!\d{1,3}(,\d{3})+\D*$)[+-]?\d+(\.\d*)?(,[^,]*){2,}",
            "if commas separate the cells say delimiter=',' (--sep ',')",
        ),
        (r"\S*\d\S*(\s+\S*\d\S*)+", "if spaces separate the cells say delimiter=' ' (--sep space)"),
        (r"[$€£¥]\s?[+-]?\d[\d.,]*|[+-]?\d[\d.,]*\s?[^\d\s.,]{1,3}", "write the number without its unit"),
    )
]

_NO_LABELS = [(pattern, remedy) for pattern, remedy in _KINDS if not pattern.fullmatch("yes")]


def number(cell: str, decimal: str = ".") -> float:
    """Return the number in a cell, or raise ValueError.

    Digits are ASCII. Unlike Python, underscores between digits are an error.

    Parameters
    ----------
    cell : str
        The text.
    decimal : {".", ","}
        The decimal mark.
    """
    if "_" in cell or not cell.isascii():
        raise ValueError(f"{cell!r} is not a number")
    if decimal == ",":
        if "." in cell:
            raise ValueError(f"{cell!r} is not a number with a decimal comma")
        cell = cell.replace(",", ".")
    return float(cell)


def number_or_gap(cell: str, decimal: str = ".") -> float:
    """Return the number in a cell, NaN if it is missing, or raise ValueError; arguments as of `number`."""
    return math.nan if cell in MISSING else number(cell, decimal)


def date_or_gap(cell: str, month_first: bool = False) -> float:
    """Return days since the beginning of 1970 of a date, NaN if it is missing, or raise ValueError.

    A time of day is a fraction; one with a time zone is taken to UTC. Years of two digits are 1969 to 2068.

    Parameters
    ----------
    cell : str
        The text, such as 2024-03-31, 2024-03-31 12:30:00, 31.03.2024 or 31/03/2024.
    month_first : bool
        Whether the month comes first in dates with slashes.
    """
    if cell in MISSING or cell in _NO_DATE:
        return math.nan
    if written := _WRITTEN_DATE.fullmatch(cell):
        cell = _iso(*written.groups(), month_first)
    when = datetime.fromisoformat(cell)
    since = when.astimezone(timezone.utc) if when.tzinfo else when.replace(tzinfo=timezone.utc)
    return (since - datetime(1970, 1, 1, tzinfo=timezone.utc)) / timedelta(days=1)


def _iso(first, mark, second, year, hour, minutes, month_first):
    """Return the parts of a written date in ISO format."""
    month, day = (first, second) if month_first and mark == "/" else (second, first)
    if len(year) == 2:
        year = _FIRST_YEAR_OF_TWO_DIGITS + (int(year) - _FIRST_YEAR_OF_TWO_DIGITS) % 100
    return f"{year}-{month:0>2}-{day:0>2} {hour or 0:0>2}{minutes or ':00'}"


def is_number(cell: str, decimal: str = ".") -> bool:
    """Return whether a cell holds a number."""
    try:
        number(cell, decimal)
    except ValueError:
        return False
    return True


def looks_like_a_value(cell: str) -> bool:
    """Return whether a cell is missing or a number in any notation; such a cell is a name only if it is quoted."""
    return cell in MISSING or is_number(cell) or is_number(cell, ",") or bool(_SEPARATED_THOUSANDS.fullmatch(cell))


def is_label(cell: str) -> bool:
    """Return whether a cell holds text that is neither missing nor a date nor a number in any notation."""
    return cell not in MISSING and not is_number(cell) and not any(pattern.fullmatch(cell) for pattern, _ in _NO_LABELS)


def complaint(cell: str) -> str:
    """Return the message about a cell that should be a number: what is wrong, and the remedy.

    Parameters
    ----------
    cell : str
        The text.
    """
    if not cell:
        return "an empty cell is not a number; drop or impute such rows first"
    if cell in MISSING:
        return f"{cell!r} is not a number but a missing one; drop or impute such rows first"
    remedy = next((remedy for pattern, remedy in _KINDS if pattern.fullmatch(cell)), _ENCODE)
    return f"{cell!r} is not a number; {remedy}"
