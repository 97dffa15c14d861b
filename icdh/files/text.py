"""Delimited text: from the bytes of a file to rows of cells, and back; and what a cell holds.

That is a gap, a number, a date or a label. A cell without quotes is stripped. A quoted cell is text, including its
spaces, even if it looks like a number. A name that a spreadsheet would run as a formula has an apostrophe in front,
which is no part of it.
"""

import codecs
import gzip
import os
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from functools import cache
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeAlias

from icdh._table.codes import looks_like_a_number
from icdh.exceptions import ArgumentValueError, option

FORMULA = re.compile(r"'*[=+\-@\t\r]")
_MISSING = "NA N/A n/a <NA> #N/A NaN nan NaT null NULL None ? . - \u2013 \u2014"
MISSING = frozenset(["", *_MISSING.split()])
_TYPOGRAPHIC = str.maketrans("\u2212\u2019\uff0b", "-'+")  # a minus, an apostrophe and a plus of print
THOUSANDS = ",.' _"
SPACES = " \u00a0\u202f"  # what separates thousands in print
Source: TypeAlias = str | os.PathLike[str] | BinaryIO  # a path, or an open file of bytes
DELIMITERS = "\t;,|"  # where several fit (1,5;2,5), the first is the likeliest
_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
_BYTE_ORDER_MARKS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_MARK = "\ufeff"  # the byte order mark once decoded
_NO_TEXT = {
    b"PK\x03\x04": "an Excel workbook or a ZIP archive",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"PAR1": "a Parquet file",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a file of NumPy",
    b"BZh": "compressed by bzip2",
    b"\xfd7zXZ": "compressed by xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
}
_LINE_END = re.compile(r"\r\n|\n|\r")


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


def label_of(source: Source) -> str:
    """Return the name of a source, a path or an open file, in messages.

    Examples
    --------
    >>> from icdh.files import label_of
    >>> label_of("data.csv")
    'data.csv'
    """
    return str(source if isinstance(source, str | os.PathLike) else getattr(source, "name", source))


def read_text(source: Source, encoding: str | None = None) -> str:
    """Return the text of a file, unpacked if gzip packed it.

    Parameters
    ----------
    source : str, Path or binary file
        What to read.
    encoding : str, optional
        By default what the byte order mark says, or UTF-8.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is no text, or not in this encoding.

    Examples
    --------
    >>> import gzip, io
    >>> from icdh.files import read_text
    >>> read_text(io.BytesIO(gzip.compress(b"a,b")))
    'a,b'
    """
    name = label_of(source)
    data: bytes = Path(source).read_bytes() if isinstance(source, str | os.PathLike) else source.read()
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{name} is a damaged gzip file: {error}; copy or download it again") from error
    for start, kind in _NO_TEXT.items():
        if data.startswith(start):
            raise ValueError(f"{name} is not text but {kind}; give it the ending of its format, or export it as CSV")
    text = _decoded(name, data, encoding)
    if re.match(r"\s*(<!doctype html|<html|<head)", text.removeprefix(_MARK), re.IGNORECASE):
        raise ValueError(f"{name} is a web page, not a table; download the file itself, often by a link called raw")
    if "\0" in text:
        remedy = f"pass {option('encoding', 'utf-16')} if that is its encoding, else export the table as CSV"
        raise ValueError(f"{name} is not text in {encoding or 'UTF-8'}: it holds NUL characters; {remedy}")
    return text.removeprefix(_MARK)


def _decoded(name: str, data: bytes, encoding: str | None) -> str:
    marked = (codec for mark, codec in _BYTE_ORDER_MARKS.items() if data.startswith(mark))
    encoding = encoding or next(marked, "utf-8")
    try:
        return data.decode(encoding)
    except LookupError:
        demand = f"must be one that Python knows, such as 'latin-1'; got {encoding!r}"
        raise ArgumentValueError("encoding", demand) from None
    except UnicodeDecodeError as error:
        line, byte = data.count(b"\n", 0, error.start) + 1, data[error.start]
        older, excel = f"{option('encoding', 'latin-1')} or 'cp1252'", option("encoding", "utf-16")
        raise ValueError(
            f"{name} is not text in {encoding.upper()}: byte 0x{byte:02x} in line {line}; pass {older} for older "
            f"programs, {excel} for Excel, or export the table as UTF-8"
        ) from error


def sniffed_delimiter(text: str, decimal: str | None = None, start: int = 0) -> str:
    """Return the delimiter that occurs equally often in most of the first lines; of several, the likeliest."""
    first = re.sub(r'"[^"]*"', "", text[start : start + 1_000_000])
    lines = [line for line in _LINE_END.split(first, 20)[:20] if line.strip()]

    def agreeing(delimiter: str) -> int:
        counts = Counter(line.count(delimiter) for line in lines if delimiter in line)
        return max(counts.values(), default=0)

    return max((delimiter for delimiter in DELIMITERS if delimiter != decimal), key=agreeing)


def table_start(text: str, skipped: int = 0) -> tuple[int, int, str | None]:
    """Return where a table begins: its position, the number of its first line, and the separator of a line "sep=;".

    ``skipped`` is the number of lines above the table.
    """
    starts = [0, *(end.end() for end in islice(_LINE_END.finditer(text), skipped)), len(text)]
    start = starts[min(skipped, len(starts) - 1)]
    separator = re.compile(r'"?sep=(.)"?[ \t]*(?:\r\n|\n|\r)', re.IGNORECASE).match(text, start)  # as Excel writes it
    return (separator.end(), skipped + 2, separator[1]) if separator else (start, skipped + 1, None)


def rows_of(
    name: str, text: str, delimiter: str, *, start: int = 0, line: int = 1, comment: str | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of every line that is not blank; a space as delimiter stands for any white space.

    Parameters
    ----------
    name : str
        The name of the text in messages.
    text : str
        The text.
    delimiter : str
        One character.
    start, line : int
        The position of the first row, and the number of its line.
    comment : str, optional
        What lines that are no rows begin with.

    Raises
    ------
    ValueError
        If a quote is not closed; the message gives the line.
    """
    while start < len(text):
        end = _LINE_END.search(text, start)
        stop, following = end.span() if end else (len(text), len(text))
        record = text[start:stop]
        if comment and record.lstrip().startswith(comment):
            pass
        elif '"' in record:
            cells, following = _cells_with_quotes(name, line, text, start, delimiter)
            yield line, cells
        elif record.strip() or (delimiter != " " and delimiter in record):
            yield line, record.split() if delimiter == " " else [cell.strip() for cell in record.split(delimiter)]
        line += sum(1 for _ in _LINE_END.finditer(text, start, following))
        start = following


def _cells_with_quotes(name: str, line: int, text: str, start: int, delimiter: str) -> tuple[list[str], int]:
    """Return the cells of the record that begins at ``start``, which may span lines, and where the next begins."""
    separator, stop = ("[ \t]+", " \t") if delimiter == " " else (re.escape(delimiter), re.escape(delimiter))
    cell = re.compile(rf'[ ]*"([^"]*(?:""[^"]*)*)"[ ]*(?=[{stop}\r\n]|\Z)|([^{stop}\r\n]*)')
    after = re.compile(rf"({separator})|[ \t]*(?:\r\n|\n|\r|\Z)")
    cells: list[str] = []
    while match := cell.match(text, start):
        quoted, plain = match.groups()
        if quoted is None and plain.lstrip().startswith('"'):
            raise ValueError(f"{name}, line {line}: the quote before {plain.strip()[1:20]!r} is not closed; close it")
        cells.append(plain.strip() if quoted is None else Quoted(quoted.replace('""', '"')))
        end = after.match(text, match.end())
        start = end.end() if end else len(text)
        if end is None or end.group(1) is None:
            break
    return cells, start


def delimited(rows: Sequence[Sequence[object]], delimiter: str) -> str:
    """Return names, and rows of labels, numbers and None (an empty cell), as text that reads back to the same values.

    A name that is a label of its column, too, is quoted: the first line might be taken for a row. Whole numbers are
    written as such.
    """
    columns = [*zip(*rows[1:], strict=True)] or [()] * len(rows[0])
    names = [Quoted(name) if name in column else name for name, column in zip(rows[0], columns, strict=True)]
    return "".join(delimiter.join(map(_cell, row)) + "\n" for row in (names, *rows[1:]))


def _cell(value: object) -> str:
    if not isinstance(value, str):
        return "" if value is None else str(value).removesuffix(".0")
    text = f"'{value}" if FORMULA.match(value) else value
    special = any(character in text for character in (*DELIMITERS, '"', "\n", "\r", _MARK))
    if special or isinstance(value, Quoted) or text != text.strip() or looks_like_a_value(text):
        return '"' + text.replace('"', '""') + '"'
    return text
