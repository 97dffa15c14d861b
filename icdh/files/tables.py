"""Tables of numbers as files, with column names in the first line or without."""

import logging
import os
import re
from array import array
from collections.abc import Collection, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from icdh._ground.atomic import replace_on_success
from icdh._ground.labels import default_names, did_you_mean, listed
from icdh.exceptions import DataWarning, import_extra, warn
from icdh.files.cells import MISSING, complaint, is_number, looks_like_a_value, number, number_or_gap
from icdh.files.readers import DateReader, LabelReader, fill_in_dates, reader_of, with_labels
from icdh.files.text import Quoted, delimited, label_of, name_of, read_text, rows_of, sniffed_delimiter

MOST_NAMED = 20  # columns in a message
FEW_ROWS = 3  # too few rows to tell whether the first one differs in kind

ROWS_OF_MARK = 1000  # rows from which the decimal mark is detected

logger = logging.getLogger("icdh.files")

_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # thousands, unless it is a decimal comma
_INDEX_OF_PANDAS = re.compile(r"Unnamed: 0(\.\d+)?")  # what pandas calls a column without a name


class LabelledTable(NamedTuple):
    """Values with column labels, accepted wherever a DataFrame is, without needing pandas.

    Attributes
    ----------
    values : ndarray, shape (M, N)
        Observations in rows: numbers, or objects if there are columns of labels.
    columns : list of str
        N labels; None where the file had no header.
    """

    values: np.ndarray
    columns: list | None

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)

    @property
    def gaps(self) -> np.ndarray:
        """Where cells are missing, shape (M, N)."""
        return (self.values != self.values) | np.equal(self.values, None)

    @property
    def dtypes(self) -> list:
        """The type of every column."""
        return [self.values.dtype] * self.values.shape[1]


def read_table(
    path: str | os.PathLike | BinaryIO,
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    dates: Sequence[str] = (),
    gaps: bool = False,
    categorical: Collection[str] | None = None,
) -> LabelledTable:
    r"""Read a table of numbers from a text file, or from a Parquet file (``.parquet``; needs the extra ``[parquet]``).

    Parameters
    ----------
    path : str, Path or binary file
        A CSV or TSV file, packed by gzip or not.
    header : bool, optional
        Whether the first line holds the column names; by default it does if it holds text, or a quoted cell above one
        that is not quoted.
    delimiter : str, optional
        One character; a space stands for any white space. By default, tab, semicolon, comma or bar: the one that
        occurs equally often in each of the first lines.
    decimal : {".", ","}, optional
        The decimal mark. The default is a point, unless three conditions hold: another character than the comma
        separates the cells, no number in the first rows has a point, and at least one has an unambiguous decimal
        comma (0,5). The logger ``icdh.files`` then reports the decimal comma at level INFO.
    encoding : str, optional
        By default what the byte order mark says, or UTF-8.
    columns : sequence of str, optional
        The columns to read, in this order ("x0", "x1", ... where the file has no header); the others may hold anything.
        Here and below, "3" means the third column unless a column has that name.
    drop : sequence of str
        Columns not to read.
    dates : sequence of str
        Columns of dates (2024-03-31, 2024-03-31 12:30, 31.03.2024) that become days since the beginning of 1970. In
        dates with slashes (31/03/2024), the column tells whether the day or the month comes first.
    gaps : bool
        Whether cells that are empty, or say that they are missing (NA, ?, ...), are read as NaN.
    categorical : collection of str, optional
        Categorical columns. If not None (even if empty), columns that hold only text are read as categorical. By
        default text is refused.

    Returns
    -------
    LabelledTable
        The values, shape (M, N), and the column names. A first column without a name, as pandas and R write it, holds
        row labels. It is not read, and the logger ``icdh.files`` reports this at level INFO.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is empty, ragged, not text, or holds a cell that is not a number; the message gives the line.

    Warns
    -----
    DataWarning
        If the first line holds whole numbers that may be names, such as years.

    Examples
    --------
    >>> import io
    >>> from icdh.files import read_table
    >>> table = read_table(io.BytesIO(b"id;dose;answer\nr1;0,5;2\nr2;;3\n"), drop=["id"], gaps=True)
    >>> table.columns, table.values.tolist()
    (['dose', 'answer'], [[0.5, 2.0], [nan, 3.0]])
    """
    if _is_parquet(path):
        return read_parquet(path, columns=columns, drop=drop, dates=dates, categorical=categorical)
    name, top, labels, rows, decimal = _head_and_rows(path, header, delimiter, decimal, encoding)
    known = labels or default_names(len(top))
    left_out, of_dates = ({column_at(name, column, known) for column in group} for group in (drop, dates))
    if columns is None:
        index, rows = _row_labels(top, labels, rows)
        if index and 0 not in left_out:
            logger.info("the first column of %s %s: its cells are taken for labels of the rows", name, index)
        wanted = [k for k in range(len(top)) if k not in left_out and (k or not index)]
        if labels is not None:
            check_header(name, top, wanted)
    else:
        wanted = [at for at in (column_at(name, column, known) for column in columns) if at not in left_out]
    plain = number_or_gap if gaps else number
    readers = [reader_of(known[k], plain, k in of_dates, categorical) for k in wanted]
    values = _values(name, rows, len(top), wanted, readers, labels, decimal)
    if header is None and labels is None:
        _warn_about_numbers_that_may_be_names(name, [top[k] for k in wanted], values)
    try:
        fill_in_dates(values, readers, [known[k] for k in wanted])
    except ValueError as problem:
        raise ValueError(f"{name}, {problem}") from None
    values = with_labels(values, readers)
    chosen = columns is not None or left_out
    return LabelledTable(values, [known[k] for k in wanted] if labels is not None or chosen else None)


def read_labels(
    path: str | os.PathLike | BinaryIO,
    column: str,
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> list[str]:
    r"""Read one column of a table as text, such as the condition of every row.

    Parameters
    ----------
    path, header, delimiter, decimal, encoding
        As of `read_table`.
    column : str
        The column.

    Returns
    -------
    list of str
        One label a row, as it stands in the file.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is not a table, the column does not exist, or a row has no label; the message gives the line.

    Examples
    --------
    >>> import io
    >>> from icdh.files import read_labels
    >>> read_labels(io.BytesIO(b"condition,dose\nnone,1\ndrug,2\n"), "condition")
    ['none', 'drug']
    """
    if _is_parquet(path):
        table = import_extra("pyarrow.parquet", "parquet").read_table(path)
        at = column_at(str(path), column, table.column_names)
        labels = enumerate(table.column(at).to_pylist(), start=1)
        return [_stated(path, f"row {row}", column, "" if cell is None else str(cell)) for row, cell in labels]
    name, top, labels, rows, _ = _head_and_rows(path, header, delimiter, decimal or ".", encoding)
    known = labels or default_names(len(top))
    at = column_at(name, column, known)
    return [_stated(name, f"line {line}", column, row[at] if at < len(row) else "") for line, row in rows]


def _stated(name, place, column, cell):
    if not cell:
        raise ValueError(f"{name}, {place}: column {column!r} says nothing; fill the cell or delete the row")
    return str(cell)


def _is_parquet(path):
    return str(path).lower().endswith(".parquet")


def _head_and_rows(path, header, delimiter, decimal, encoding):
    """Return name and first row of a file, the labels in that or None, the rows of values, and the decimal mark."""
    name, rows, decimal = _rows(path, delimiter, decimal, encoding)
    head = list(islice(rows, 2))
    if not head:
        raise ValueError(f"{name} is empty; it must hold a table of numbers")
    top = head[0][1]
    named = _is_header(top, head[-1][1]) if header is None else header
    return name, top, [name_of(cell) for cell in top] if named else None, chain(head[named:], rows), decimal


def _rows(source, delimiter, decimal, encoding):
    """Return the name of the file, its rows as line numbers and cells, and the decimal mark."""
    if decimal not in (".", ",", None):
        raise ValueError(f"decimal must be '.' or ','; got {decimal!r}")
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1):
        raise ValueError(f"delimiter must be one character; got {delimiter!r}")
    name, text = label_of(source), read_text(source, encoding)
    delimiter = delimiter or sniffed_delimiter(text, decimal)
    if decimal is None:
        decimal = _decimal_mark(name, text, delimiter)
    if delimiter == decimal:
        raise ValueError(f"{name}: {decimal!r} cannot be both delimiter and decimal mark; say delimiter= (--sep)")
    return name, rows_of(name, text, delimiter), decimal


def _decimal_mark(name, text, delimiter):
    """Return the decimal mark of a text: a comma only if its first rows allow no other reading."""
    if delimiter == ",":
        return "."
    first = {cell for _, row in islice(rows_of(name, text, delimiter), ROWS_OF_MARK) for cell in row}
    commas = [cell for cell in first if _DECIMAL_COMMA.fullmatch(cell)]
    if any("." in cell and is_number(cell) for cell in first) or all(map(_THOUSANDS.fullmatch, commas)):
        return "."
    logger.info("numbers of %s such as %s are read with a decimal comma", name, min(commas))
    return ","


def _is_header(top, following):
    """Return whether the first row holds names: text, or a quoted cell above one that is not."""
    below = [] if following is top else following
    if any(isinstance(cell, Quoted) and not isinstance(under, Quoted) for cell, under in zip_longest(top, below)):
        return True
    if not all(map(looks_like_a_value, top)):
        return True
    return any(top) and all(cell in MISSING for cell in top)


def _row_labels(top, labels, rows):
    """Return how the first column shows that it holds row labels ("" if it does not), and the rows.

    R quotes the empty name and the labels below it. An empty quoted name above an unquoted cell is an ordinary name.
    """
    following = next(rows, None)
    rows = rows if following is None else chain([following], rows)
    if labels is None or len(top) == 1 or following is None:
        return "", rows
    below = following[1][0] if following[1] else ""
    if not top[0] and isinstance(top[0], Quoted) == isinstance(below, Quoted):
        return "has no name", rows
    if _INDEX_OF_PANDAS.fullmatch(top[0]) and _INTEGER.fullmatch(below):
        return f"is called {top[0]!r}, pandas' word for no name", rows
    return "", rows


def column_at(name: str, column: str, known: Sequence[str]) -> int:
    """Return where a column of a file stands, given its name or its number from one, or raise ValueError."""
    if known.count(column) == 1:
        return known.index(column)
    if column in known:
        raise ValueError(
            f"{name} has several columns called {column!r}; rename them, or give its number, 1 for the first"
        )
    if str(column).isdecimal() and 1 <= int(column) <= len(known):
        return int(column) - 1
    named = listed(filter(None, known))
    raise ValueError(f"{name} has no column {column!r}; it has {named}{did_you_mean(column, known)}")


def check_header(path: str, cells: Sequence[str], wanted: Sequence[int] | None = None) -> list:
    """Return the names in the cells of a first line, by default all; raise ValueError if one is empty or repeated."""
    wanted = range(len(cells)) if wanted is None else wanted
    for k in wanted:
        if not cells[k] and not isinstance(cells[k], Quoted):
            raise ValueError(
                f"{path}, line 1: column {k + 1} has no name; name it, or leave it out by its number (--drop {k + 1})"
            )
    names = [name_of(cells[k]) for k in wanted]
    check_names(names, f"{path}, line 1")
    return names


def check_names(names: Sequence[str], place: str) -> None:
    """Raise ValueError if two names are equal, or one is not fit for a file; ``place`` begins the message."""
    seen = set()
    for name in names:
        if "\0" in name or (not name.isascii() and any("\ud800" <= c <= "\udfff" for c in name)):
            raise ValueError(f"{place}: the name {name!r} holds characters that no text file can; rename it")
        if name in seen:
            raise ValueError(f"{place}: two columns are called {name!r}; rename one")
        seen.add(name)


def _values(name, rows, width, wanted, readers, labels, decimal):
    cells = array("d")
    for line, row in rows:
        if len(row) != width:
            remedy = "; name the column of row labels" if len(row) == width + 1 and labels else ""
            raise ValueError(f"{name}, line {line}: {len(row)} cells where the first line has {width}{remedy}")
        try:
            cells.extend([reader(row[k], decimal) for k, reader in zip(wanted, readers, strict=True)])
        except ValueError:
            raise ValueError(_complaint(name, line, row, wanted, readers, labels, decimal)) from None
    return np.array(cells, dtype=np.float64).reshape(-1, len(wanted))


def _complaint(name, line, row, wanted, readers, labels, decimal):
    if not any(row):
        return f"{name}, line {line}: every cell is empty; delete the line"
    (at, reader), *others = (
        (k, reader) for k, reader in zip(wanted, readers, strict=True) if not _reads(reader, row[k], decimal)
    )
    place = f"{name}, line {line}, column {repr(labels[at]) if labels else at + 1}"
    remedy = ", or say header=True (--header) if the line holds names" if line == 1 and labels is None else ""
    also = [repr(labels[k]) for k, _ in others] if labels else []
    more = f" and {len(also) - MOST_NAMED} more columns" if len(also) > MOST_NAMED else ""
    either = f"; no numbers either in {', '.join(also[:MOST_NAMED])}{more}" if also else ""
    what = reader.complaint(row[at]) if isinstance(reader, DateReader | LabelReader) else complaint(row[at])
    if labels:
        for option in ("dates", "drop"):
            what = what.replace(f"{option}= (--{option})", _of_column(option, labels[at]))
    return f"{place}: {what}{remedy}{either}"


def _of_column(option, column):
    """Return how to name a column to an option."""
    return f"{option}=[{column!r}] (--{option} {column!r})"


def _reads(reader, cell, decimal):
    try:
        reader(cell, decimal)
    except ValueError:
        return False
    return True


def read_parquet(
    path: str | os.PathLike,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    dates: Sequence[str] = (),
    categorical: Collection[str] | None = None,
) -> LabelledTable:
    """Read columns of numbers and truth values from a Parquet file; arguments and errors as of `read_table`.

    What is missing becomes NaN.
    """
    table = import_extra("pyarrow.parquet", "parquet").read_table(path)
    known = table.column_names
    chosen, drop, dates = (
        [known[column_at(str(path), column, known)] for column in group] for group in (columns or known, drop, dates)
    )
    wanted = [column for column in chosen if column not in drop]
    text = () if categorical is None else [column for column in wanted if _is_text(table.schema.field(column).type)]
    cells = [
        table[column].to_pylist() if column in text else _arrow_numbers(path, table, column, dates) for column in wanted
    ]
    if not text:
        return LabelledTable(np.column_stack(cells), wanted)
    values = np.empty((table.num_rows, len(wanted)), dtype=object)
    for k, own in enumerate(cells):
        values[:, k] = own
    return LabelledTable(values, wanted)


def _is_text(kind):
    return str(kind).startswith(("string", "large_string", "dictionary<values=string"))


def _arrow_numbers(path, table, column, dates):
    kind = str(table.schema.field(column).type)
    if kind.startswith(("timestamp", "date")):
        if column not in dates:
            raise ValueError(
                f"{path}, column {column!r} holds dates; say {_of_column('dates', column)} if days are to be counted, "
                f"{_of_column('drop', column)} if not"
            )
        moments = table[column].to_numpy().astype("datetime64[us]")
        days = (moments - np.datetime64(0, "us")) / np.timedelta64(1, "D")
        return np.where(np.isnat(moments), np.nan, days)
    if not kind.startswith(("int", "uint", "float", "double", "half", "bool", "decimal")):
        raise ValueError(
            f"{path}, column {column!r} holds {kind}, not numbers; encode it as numbers or say "
            f"{_of_column('drop', column)}"
        )
    return np.array([np.nan if cell is None else float(cell) for cell in table[column].to_pylist()])


def _warn_about_numbers_that_may_be_names(name, top, values):
    """Warn if the first row holds distinct whole numbers, evenly spaced or above columns of fractions only."""
    if len(set(top)) < len(top) or not all(map(_INTEGER.fullmatch, top)):
        return
    evenly = len(top) > 2 and np.ptp(np.diff(values[0])) == 0.0
    fractions = len(values) > FEW_ROWS and (values[1:] != np.round(values[1:])).all(axis=0).any()
    if evenly or fractions:
        warn(
            f"{name}: the first line ({', '.join(top[:5])}{', ...' if len(top) > 5 else ''}) is read as numbers; say "
            "header=True (--header) if it holds names, header=False (--no-header) if not",
            DataWarning,
        )


def write_table(path: str | os.PathLike, values: np.ndarray, names: Sequence[str]) -> None:
    """Write a table with its column names in the first line; names and numbers read back exactly.

    Parameters
    ----------
    path : str or Path
        Tabs separate the cells if it ends in ``.tsv``, commas otherwise.
    values : ndarray, shape (M, N)
        Observations in rows.
    names : sequence of str
        N labels. One that a spreadsheet would take for a formula (it begins with =, +, - or @) gets an apostrophe in
        front, which `read_table` takes away.

    Raises
    ------
    ValueError
        If two names are equal.
    OSError
        If the file cannot be written; an older one then stays as it was.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.files import read_table, write_table
    >>> write_table("data.csv", np.array([[0.1, 2.0]]), ["dose", "answer"])
    >>> read_table("data.csv").values.tolist()
    [[0.1, 2.0]]
    """
    names = list(map(str, names))
    check_names(names, str(path))
    delimiter = "\t" if Path(path).suffix.lower() == ".tsv" else ","
    text = delimited([names, *np.asarray(values).tolist()], delimiter)
    with replace_on_success(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
