"""Tables of numbers and labels as files: read column by column, and written; those of other programs are read.

Formats of statistical programs are known by their endings, and read through the libraries that know them.
"""

import os
import warnings
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from icdh._table.codes import Declared, codes_of
from icdh._table.frames import LabelledValues, column_labels, columns_of
from icdh._table.kinds import FEW_VALUES
from icdh._table.table import gaps_message
from icdh._utils.arrays import Cells, Mask
from icdh._utils.atomic import write_text
from icdh._utils.labels import default_names, did_you_mean, listed
from icdh.exceptions import MissingExtraError, import_extra, option, warn
from icdh.files.sheet import Column, Options, Refusals, RefusedColumn, Sheet, logger, sheet_of
from icdh.files.text import Quoted, Source, delimited, label_of

# Functions of pandas, read_..., by the ending of a file; labels of values stay labels, and the format's codes are gaps.
PANDAS = {".dta": "stata", ".sav": "spss", ".zsav": "spss", ".sas7bdat": "sas", ".xpt": "sas"}
PANDAS |= dict.fromkeys((".xlsx", ".xlsm", ".xls", ".ods"), "excel")
ARROW = {".parquet": "pyarrow.parquet", ".feather": "pyarrow.feather"}
OPTIONS = {".sas7bdat": {"format": "sas7bdat", "encoding": "infer"}, ".xpt": {"format": "xport", "encoding": "utf-8"}}

_Values: TypeAlias = "list[tuple[str, NDArray[np.generic]]]"  # of columns, with the words that options know them by


def ending(source: Source) -> str:
    """Return the ending of the format of a file, empty if it is text."""
    suffix = Path(label_of(source)).suffix.lower()
    return suffix if suffix in PANDAS or suffix in ARROW else ""


def columns_of_file(path: Source) -> tuple[list[str], list[Cells]]:
    """Return names and columns of a file of another program.

    Raises
    ------
    OSError
        If there is no such file.
    MissingExtraError
        If the library that reads it is not installed.
    ValueError
        If the file is damaged.
    """
    name, suffix = label_of(path), ending(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other libraries
            if suffix in ARROW:
                frame = import_extra(ARROW[suffix], "parquet").read_table(path)
            else:
                read = getattr(import_extra("pandas", "formats"), f"read_{PANDAS[suffix]}")
                frame = read(path, **OPTIONS.get(suffix, {}))
    except Exception as error:  # each library has errors of its own
        if isinstance(error, MissingExtraError) or (isinstance(error, OSError) and error.errno is not None):
            raise
        if isinstance(error, ImportError):
            raise MissingExtraError(f"{name} needs a further library: pip install 'icdh[formats]' ({error})") from error
        raise ValueError(f"{name} cannot be read as {suffix}: {error}") from error
    return list(map(str, column_labels(frame) or [])), columns_of(frame) or []


def text_of(cells: Cells) -> list[str]:
    """Return the cells of a column that holds more than numbers as text, as a text file would hold them."""
    moments = cells.astype("datetime64[us]") if cells.dtype.kind == "M" else cells
    return [_text(cell) for cell in moments.tolist()]


def _text(cell: object) -> str:
    if cell is None or cell != cell:
        return ""
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2.0**53 else cell)


class LabelledTable(LabelledValues):
    """Values with column labels, accepted wherever a DataFrame is, without needing pandas.

    Attributes
    ----------
    values : ndarray, shape (M, N)
        Observations in rows: numbers, or objects if there are columns of labels.
    columns : list of str
        N labels; None where the file had no header.
    """

    @property
    def names(self) -> list[str]:
        """The labels; "x0", "x1", ... without a header."""
        return self.columns or default_names(self.values.shape[1])

    @property
    def gaps(self) -> Mask:
        """Where cells are missing, shape (M, N)."""
        return _gaps(self.values)


def read_table(
    path: Source,
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    skip_rows: int = 0,
    comment: str | None = None,
    units_row: bool = False,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    dates: Sequence[str] = (),
    gaps: bool = False,
    categorical: Collection[str] | None = None,
    missing_values: Declared = None,
) -> LabelledTable:
    r"""Read a table of numbers from a text file, or from one of another program, by its ending.

    Parameters
    ----------
    path : str, Path or binary file
        A CSV or TSV file, packed by gzip or not. Or, through pandas, a file of Stata (``.dta``), SPSS (``.sav``), SAS
        (``.sas7bdat``, ``.xpt``) or Excel (``.xlsx``, its first sheet), all by the extra ``[formats]``, or a Parquet or
        Feather file (the extra ``[parquet]``). Labels of values stay labels, and codes of missing values are gaps.
    header : bool, optional
        Whether the first line holds the column names. By default it does if it holds text, or a quoted cell above one
        that is not quoted.
    delimiter : str, optional
        One character; a space stands for any white space. By default, tab, semicolon, comma or bar: the one that
        occurs equally often in each of the first lines.
    decimal : {".", ","}, optional
        The decimal mark. The default is a point. It is a comma under three conditions: another character separates the
        cells, no number in the first rows has a point, and one has an unambiguous decimal comma (0,5). The logger
        ``icdh.files`` then reports the decimal comma at level INFO.
    thousands : str, optional
        What separates thousands in numbers: "." (the decimal mark then is a comma), ",", "'", "_" or a space.
    encoding : str, optional
        By default what the byte order mark says, or UTF-8.
    skip_rows : int
        The number of lines above the table.
    comment : str, optional
        Lines that begin with it are left out.
    units_row : bool
        Whether the line below the names holds units, to be left out.
    columns : sequence of str, optional
        The columns to read, in this order ("x0", "x1", ... where the file has no header); the others may hold anything.
        Here and below, "3" means the third column unless a column has that name.
    drop : sequence of str
        Columns not to read.
    dates : sequence of str
        Columns of dates (2024-03-31, 2024-03-31 12:30, 31.03.2024) that become days since the beginning of 1970. In
        dates with slashes (31/03/2024), all cells together decide whether the day or the month comes first.
    gaps : bool
        Whether cells that are empty, or hold a marker of missing values (NA, ?, ...), are read as NaN.
    categorical : collection of str, optional
        Categorical columns. If not None (even if empty), columns that hold only text are read as categorical. By
        default text is refused.
    missing_values : collection or mapping of str to collections, optional
        Numbers and texts that mean a gap beside the usual markers, in every column or in those that a mapping names:
        ``[-999, "*"]``, ``{"income": [-9]}``. With an empty list for a column, only an empty cell is a gap there:
        NA and None are labels.

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
        If the file is empty, ragged or not text; the message gives the line.
    UnreadableTableError
        If cells are not what their columns should hold. The message names all of them, and the arguments that read the
        file.

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
    form = header, delimiter, decimal, thousands, encoding, skip_rows, comment, units_row
    return _read(path, Options(*form, columns, drop, dates, gaps, categorical, missing_values))[0]


def read_with_labels(path: Source, labels: Sequence[str], **options: Any) -> tuple[LabelledTable, list[list[str]]]:
    r"""Read a table, and columns of it that are no variables as text: the condition of every row, or its group.

    Parameters
    ----------
    path : str, Path or binary file
        The file.
    labels : sequence of str
        The columns of text.
    **options : object
        Further arguments of `read_table`.

    Returns
    -------
    table : LabelledTable
        The variables.
    labels : list of lists of str
        For each column of text one label a row, as it stands in the file.

    Raises
    ------
    OSError, ValueError
        As `read_table`, and if a row has no label and gaps are not allowed; with ``gaps`` it is left out.

    Examples
    --------
    >>> import io
    >>> from icdh.files import read_with_labels
    >>> table, (condition,) = read_with_labels(io.BytesIO(b"condition,dose\nnone,1\ndrug,2\n"), ["condition"])
    >>> table.columns, condition
    (['dose'], ['none', 'drug'])
    """
    return _read(path, Options(**options, labels=labels))


def _read(path: Source, options: Options) -> tuple[LabelledTable, list[list[str]]]:
    """Return the wanted columns of a file as a table, and the labels of its rows; see `read_with_labels`."""
    refusals = Refusals(label_of(path))
    read = _read_foreign if ending(path) else _read_text
    names, values = read(path, options, refusals)
    labels = [column for _, column in values[len(values) - len(options.labels) :]]
    values, names = values[: len(values) - len(labels)], names and names[: len(names) - len(labels)]
    _check_gaps(values, options, names is None, refusals)
    masks = [_gaps(cells) for cells in labels]
    for column, empty in zip(options.labels, masks, strict=True):
        if empty.any() and not options.gaps:
            count = np.count_nonzero(empty)
            rows = f"{count} rows, first in " if count > 1 else ""
            where = f"column {column!r} is empty in {rows}row {np.argmax(empty) + 1}"
            refusals.add(f"{where}; fill the cell or delete the row", "gaps", True)
    refusals.check()
    labelled = np.logical_not(np.any(masks, axis=0))
    columns = [column for _, column in values]
    table = np.column_stack(columns) if columns else np.empty((0, 0))
    if columns and not labelled.all():
        table = table[labelled]  # a row that names no group has no place
        logger.info("%d rows that name no %s are left out", np.count_nonzero(~labelled), " or no ".join(options.labels))
    return LabelledTable(table, names), [list(map(str, cells[labelled])) for cells in labels]


def _read_text(path: Source, options: Options, refusals: Refusals) -> tuple[list[str] | None, _Values]:
    """Return names and values of the columns of a text file."""
    sheet = sheet_of(path, options, refusals)
    columns = _columns_of(sheet, options, refusals)
    lines = _fill(refusals.name, sheet, columns)
    if sheet.labels is not None and options.columns is None:
        columns = list(_with_names(columns, sheet.top, refusals))
    values = _values(columns, lines, sheet.labels is not None, refusals)
    if options.header is None and sheet.labels is None:
        _warn_about_numbers_that_may_be_names(refusals.name, sheet.top, columns)
    named = sheet.labels is not None or options.columns is not None or options.drop or options.labels
    return [column.name for column in columns] if named else None, values


def _columns_of(sheet: Sheet, options: Options, refusals: Refusals) -> list[Column]:
    """Return the columns that are wanted, still without cells: variables, then labels of the rows."""
    known = sheet.labels or default_names(len(sheet.top))

    def places(columns: Iterable[str]) -> list[int]:
        return [column_at(refusals.name, column, known) for column in columns]

    if isinstance(options.missing_values, Mapping):
        places(str(column) for column in options.missing_values if column is not None)
    places(options.mentioned)
    drop, dates, of_labels = places(options.drop), places(options.dates), places(options.labels)
    if options.columns is None and sheet.row_labels and 0 not in drop:
        what = "the first column of %s %s: its cells are taken for labels of the rows"
        logger.info(what, refusals.name, sheet.row_labels)
    chosen = options.columns
    if chosen is not None and options.partly and sheet.labels is not None:
        chosen = [column for column in chosen if column in known] or chosen
    wanted = range(bool(sheet.row_labels), len(known)) if chosen is None else places(chosen)
    variables = [k for k in wanted if k not in drop and k not in of_labels]
    alike = sheet.decimal, sheet.thousands, options.categorical is not None, len(known) == 1

    def column(k: int, is_label: bool) -> Column:
        key = known[k] if known[k] and known.count(known[k]) == 1 else str(k + 1)
        codes = codes_of({key: ()} if is_label else options.missing_values, known[k], str(k + 1))
        declared = is_label or not {known[k], key}.isdisjoint(options.categorical or ())
        return Column(k, known[k], key, *alike, codes, k in dates and not is_label, declared, many=is_label)

    return [*(column(k, False) for k in variables), *(column(k, True) for k in of_labels)]


def _fill(name: str, sheet: Sheet, columns: Sequence[Column]) -> "array[int]":
    """Give every column its cells, and return the numbers of their lines."""
    lines, width = array("q"), len(sheet.top)
    while rows := list(islice(sheet.rows, 10_000)):
        for line, cells in rows:
            if len(cells) != width and (len(cells) < width or any(cells[width:])):
                remedy = "; name the column of row labels" if len(cells) == width + 1 and sheet.labels else ""
                raise ValueError(f"{name}, line {line}: {len(cells)} cells where the first line has {width}{remedy}")
            lines.append(line)
        for column in columns:
            column.add([cells[column.at] for _, cells in rows])
    return lines


def _with_names(columns: list[Column], top: Sequence[str], refusals: Refusals) -> Iterator[Column]:
    """Yield the columns that have a name. Refuse the others, unless they are empty, and names that repeat."""
    seen: set[str] = set()
    for column in columns:
        check_names([column.name], f"{refusals.name}, line 1")
        if column.many:
            yield column
        elif not top[column.at] and not isinstance(top[column.at], Quoted):
            if any(isinstance(part, np.ndarray) or any(part) for part in column.parts) or not column.parts:
                refusals.add(f"line 1: column {column.key} has no name; name it or leave it out", "drop", [column.key])
        elif column.name in seen:
            refusals.add(f"line 1: two columns are called {column.name!r}", "drop", [str(column.at + 1)])
        else:
            yield column
        seen.add(column.name)


def _values(columns: Sequence[Column], lines: Sequence[int] | None, named: bool, refusals: Refusals) -> _Values:
    """Return the values of the columns that can be read; ``lines`` are those of the rows, if it has any."""
    values = []
    refusals.columns = [column.key for column in columns if not column.many]
    for column in columns:
        try:
            values.append((column.key, column.values()))
            if values[-1][1].dtype == object and not column.many and (words := column.words_for_gaps):
                refusals.words[column.key] = words
        except RefusedColumn as refusal:
            row = column.row_of(refusal.cell)
            is_kept = refusal.option != "drop" and any(map(column.is_gap, column.counts))
            refusals.gaps |= refusal.option == "missing_values" or is_kept
            if refusal.option in ("drop", "categorical") and FEW_VALUES <= len(column.counts) <= column.n_rows / 2:
                refusals.units.append(column.key)
            line = "" if row is None or lines is None else f"line {lines[row]}, "
            header = "" if named or row != 0 else f", or pass {option('header', True)} if the line holds names"
            called = repr(column.name) if named else column.at + 1
            refusals.add(f"{line}column {called}: {refusal}{header}", refusal.option, refusal.value)
    return values


def _check_gaps(values: _Values, options: Options, unnamed: bool, refusals: Refusals) -> None:
    """Refuse gaps and empty columns, unless they are allowed."""
    partly, masks, allowed = [], [], options.gaps
    for key, column in values:
        gaps = _gaps(column)
        if allowed or not (gaps.size and gaps.all()):
            partly.append(key)
            masks.append(gaps)
        elif not options.partly:
            refusals.add(f"column {key!r} holds no value at all", "drop", [key])
    if refusals.gaps and not allowed:
        refusals.options["gaps"] = True
    labels = "".join(
        f"; {listed(map(repr, words))} in {key!r} is read as a gap; for a label pass "
        f"{option('missing_values', {key: []})}"
        for key, words in refusals.words.items()
    )
    if allowed and labels:
        logger.info("%s", labels.removeprefix("; "))
    if not allowed and any(gaps.any() for gaps in masks):
        first = unnamed and any(gaps[0] for gaps in masks)
        header = f"; or pass {option('header', True)} if the first line holds names" if first else ""
        refusals.add(f"gaps in {gaps_message(np.array(masks), partly)}{labels}{header}", "gaps", True)


def _gaps(values: NDArray[np.generic]) -> Mask:
    mask: Mask = (values != values) | np.equal(values, np.array(None))
    return mask


def column_at(name: str, column: str, known: Sequence[str]) -> int:
    """Return where a column of a file stands, given its name or its number from one, or raise ValueError."""
    if known.count(column) == 1:
        return known.index(column)
    if column in known:
        raise ValueError(f"{name} has several columns called {column!r}; rename them, or give its number from 1")
    if str(column).isdecimal() and 1 <= int(column) <= len(known):
        return int(column) - 1
    named = listed(filter(None, known))
    raise ValueError(f"{name} has no column {column!r}; it has {named}{did_you_mean(column, known)}")


def check_names(names: Sequence[str], place: str) -> None:
    """Raise ValueError if two names are equal, or one is not fit for a file; ``place`` begins the message."""
    seen = set()
    for name in names:
        if "\0" in name or (not name.isascii() and any("\ud800" <= c <= "\udfff" for c in name)):
            raise ValueError(f"{place}: the name {name!r} holds characters that no text file can; rename it")
        if name in seen:
            raise ValueError(f"{place}: two columns are called {name!r}; rename one")
        seen.add(name)


def _read_foreign(path: Source, options: Options, refusals: Refusals) -> tuple[list[str] | None, _Values]:
    """Return names and values of the columns of a file that is not text."""
    names, arrays = columns_of_file(path)
    if not arrays or not arrays[0].size:
        raise ValueError(f"{refusals.name} is empty; it must hold a table of numbers")
    columns = _columns_of(Sheet(names, names, iter(()), "", ".", None), options, refusals)
    flat = []
    for column in columns:
        cells = arrays[column.at]
        if cells.dtype == object and any(isinstance(cell, dict | list | tuple | np.ndarray) for cell in cells):
            refusals.add(f"column {column.name!r} holds several values a cell", "drop", [column.key])
            continue
        flat.append(column)
        if cells.dtype.kind in "biuf" and not column.declared:
            column.parts.append(cells.astype(np.float64))
        else:
            column.add(text_of(cells))
    return [column.name for column in columns], _values(flat, None, True, refusals)


def _warn_about_numbers_that_may_be_names(name: str, top: Sequence[str], columns: Sequence[Column]) -> None:
    """Warn if the first row holds distinct whole numbers, evenly spaced or above columns of fractions only."""
    first = [top[column.at] for column in columns]
    if len(set(first)) < len(first) or not all(cell.lstrip("+-").isdecimal() for cell in first):
        return
    evenly = len(first) > 2 and np.ptp(np.diff(np.array(first, dtype=np.float64))) == 0.0
    parts = [part for column in columns for part in column.parts[:1] if isinstance(part, np.ndarray)]
    fractions = any(len(part) > 3 and (part[1:] != np.round(part[1:])).all() for part in parts)
    if evenly or fractions:
        remedy = f"pass {option('header', True)} if it holds names, {option('header', False)} if not"
        warn(f"{name}: the first line ({listed(first, 5)}) is read as numbers; {remedy}")


def write_table(path: str | os.PathLike[str], values: NDArray[np.generic], names: Sequence[str]) -> None:
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
    write_text(path, delimited([names, *np.asarray(values).tolist()], delimiter))
