"""Where a table stands in a text: titles above it, names of the columns, marks of its numbers, rows; and its columns.

Of one column: its numbers, days or labels; or why it cannot be read, and the option that helps.
"""

import logging
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from icdh._table.codes import MOST_LABELS, Codes, Declared, looks_like_a_number, max_guessed_labels
from icdh._utils.checks import Number
from icdh._utils.labels import counted, listed
from icdh.exceptions import ArgumentValueError, option
from icdh.files.text import (
    DELIMITERS,
    MISSING,
    THOUSANDS,
    Quoted,
    Source,
    days_of,
    is_date,
    is_label,
    is_number,
    looks_like_a_value,
    name_of,
    number,
    read_text,
    rows_of,
    sniffed_delimiter,
    table_start,
    thousands_mark,
)

Part: TypeAlias = "NDArray[np.float64] | Sequence[str]"
TRUTH = {"true": 1.0, "false": 0.0}


class RefusedColumn(ValueError):
    """A column cannot be read.

    Attributes
    ----------
    cell : str or None
        The first cell that stands in the way; None of a whole column.
    option, value : str, object
        The argument of `icdh.files.read_table` that helps; empty if none does. A list is added to what the user gave.
    """

    def __init__(self, what: str, cell: str | None = None, option: str = "", value: object = None):
        super().__init__(what)
        self.cell, self.option, self.value = cell, option, value


@dataclass
class Column:
    """A column: where it stands, how it is read, and its cells.

    Attributes
    ----------
    at, name, key : int, str, str
        Its position, its name, and the word that options know it by.
    decimal, thousands : str, str or None
        The marks in numbers.
    labels : bool
        Whether columns of text are read as labels.
    alone : bool
        Whether there is no other column: a separator may have been missed.
    codes : Codes
        What means a gap, beside the usual markers.
    dates, declared : bool
        Whether the column is declared to hold dates, or labels.
    many : bool
        Whether any number of labels will do: the column is no variable.
    parts : list
        Consecutive cells; where all are plain numbers, the numbers.
    """

    at: int
    name: str
    key: str
    decimal: str
    thousands: str | None
    labels: bool
    alone: bool
    codes: Codes
    dates: bool
    declared: bool
    many: bool
    parts: list[Part] = field(default_factory=list)

    def add(self, cells: Sequence[str]) -> None:
        """Append cells."""
        plain = self.decimal == "." and not (self.thousands or self.dates or self.declared)
        self.parts.append(_plain_numbers(cells) if plain else cells)

    @property
    def counts(self) -> Counter[str]:
        """The number of rows that hold each cell, of cells that are not numbers yet."""
        return Counter(chain.from_iterable(part for part in self.parts if not isinstance(part, np.ndarray)))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(map(len, self.parts))

    def row_of(self, cell: str | None) -> int | None:
        """Return the first row that holds a cell."""
        row = 0
        for part in self.parts:
            if cell is not None and not isinstance(part, np.ndarray) and cell in part:
                return row + part.index(cell)
            row += len(part)
        return None

    def number(self, cell: str) -> float | None:
        """Return the number in a cell; None if it holds none."""
        return number(cell, self.decimal, self.thousands)

    def is_gap(self, cell: str) -> bool:
        """Return whether a cell means a gap."""
        usual = not cell if self.codes.nothing_else else cell in MISSING
        return usual or cell in self.codes.texts or self.number(cell) in self.codes.numbers

    @property
    def words_for_gaps(self) -> list[str]:
        """The words that mean a gap by themselves, not by the user's word; labels may be called so."""
        return [cell for cell in self.counts if cell.isalpha() and cell not in self.codes.texts and self.is_gap(cell)]

    def values(self) -> NDArray[np.generic]:
        """Return the values, shape (M,): numbers, NaN in gaps; or objects that are labels, None in gaps.

        Raises
        ------
        RefusedColumn
            If the cells are not what the column should hold.
        """
        counts = self.counts
        present = [cell for cell in counts if not self.is_gap(cell)]
        if self.alone and not (self.declared or self.dates or self.thousands):
            _check_separated(present)
        beside_numbers = any(isinstance(part, np.ndarray) and not np.isnan(part).all() for part in self.parts)
        of_text = present != [] and all(is_label(cell) or cell in MISSING for cell in present)  # these if declared
        of_labels = not self.dates and (self.declared or (self.labels and of_text and not beside_numbers))
        values: dict[str, float | str | None] = dict.fromkeys(counts, None if of_labels else np.nan)
        if of_labels:
            self._check_label_count(present)
            values |= {cell: name_of(cell) for cell in present}
        elif self.dates:
            values |= _days(present)
        else:
            values |= self._numbers(present, counts)
        kind: type = object if of_labels else np.float64
        parts = [part if isinstance(part, np.ndarray) else [values[cell] for cell in part] for part in self.parts]
        column = np.concatenate([np.zeros(0, dtype=kind), *(np.array(part, dtype=kind) for part in parts)])
        if self.codes.numbers and not of_labels:
            column[np.isin(column, list(self.codes.numbers))] = np.nan
        return column

    def _check_label_count(self, present: Sequence[str]) -> None:
        """Raise RefusedColumn if there are more labels than a model takes, or too many to be guessed categorical."""
        if self.many:
            return
        limit = MOST_LABELS if self.declared else _max_labels(self.n_rows)
        text = f"holds text, {counted(len(present), 'different label')} such as {next(iter(present), '')!r}"
        if len(present) > limit:
            raise RefusedColumn(f"{text}, more than {limit}", present[0], "drop", [self.key])
        if not self.declared and len(present) > max_guessed_labels(self.n_rows):
            raise RefusedColumn(f"{text} in {self.n_rows} rows", present[0], "categorical", [self.key])

    def _numbers(self, present: Sequence[str], counts: Counter[str]) -> dict[str, float]:
        """Return the numbers in cells."""
        numbers = {cell: value for cell in present if (value := self.number(cell)) is not None}
        odd = [cell for cell in present if cell not in numbers]
        if odd and not self.labels and all(cell.lower() in TRUTH for cell in odd):
            return numbers | {cell: TRUTH[cell.lower()] for cell in odd}
        if odd:
            raise self._refusal(odd, counts)
        if len(set(numbers.values())) < len({int(cell) for cell in present if cell.isdigit()}):
            what = "holds whole numbers that double precision cannot tell apart"
            raise RefusedColumn(what, present[0], "drop", [self.key])
        return numbers

    def _refusal(self, odd: Sequence[str], counts: Counter[str]) -> RefusedColumn:
        """Return the error about cells that are no numbers: what they are, the most specific first."""
        cell, rows = odd[0], sum(counts[cell] for cell in odd)
        other, mark = "," if self.decimal == "." else ".", thousands_mark(odd, self.decimal)

        def refused(what: str, option: str, value: object) -> RefusedColumn:
            return RefusedColumn(f"{cell!r} is not a number; {what}", cell, option, value)

        if all(map(is_date, odd)):
            return _refused_dates(self.key, odd)
        if mark:
            decimals = mark == other and any(is_number(cell, other) for cell in odd)
            more = f", unless {mark!r} is its decimal mark" if decimals else ""
            return refused(f"thousands are separated in it{more}", "thousands", mark)
        for between in (None, *THOUSANDS):
            if between != other and all(is_number(cell, other, between) for cell in odd):
                what = f"its decimal mark is {'a point' if other == '.' else 'a comma'}"
                what += ", and it has thousands" if between else ""
                return refused(what, *(("thousands", ".") if between == "." else ("decimal", other)))
        alike = [cell for cell in odd if looks_like_a_number(cell)]
        if len(odd) <= 3 and rows <= 0.3 * self.n_rows and not alike:  # at most three words in a minority of rows
            return refused(f"in {counted(rows, 'row')}, it may mean a missing value", "missing_values", odd)
        unit = " without its unit" if len(alike) == len(odd) else "s"
        if self.labels and len(counts) <= _max_labels(self.n_rows):
            return refused(f"write the number{unit}, or declare the column categorical", "categorical", [self.key])
        return refused(f"write the number{unit}, or leave the column out", "drop", [self.key])


def _plain_numbers(cells: Sequence[str]) -> Part:
    """Return cells as numbers if all are plain ones that double precision can tell apart, else the cells."""
    text = "".join(cells)
    if "_" in text or not text.isascii():
        return cells
    try:
        numbers = np.array(list(map(float, cells)))
    except ValueError:
        return cells
    return cells if (np.abs(numbers) >= 2.0**53).any() else numbers


def _max_labels(rows: int) -> int:
    """Return how many labels a column may hold to be declared categorical."""
    return min(MOST_LABELS, max(rows // 2, 2))


def _days(present: Sequence[str]) -> dict[str, float]:
    try:
        return days_of(present)
    except ValueError as error:
        raise RefusedColumn(str(error), next((cell for cell in present if repr(cell) in str(error)), None)) from None


def _check_separated(present: Sequence[str]) -> None:
    """Raise RefusedColumn if every cell of the only column holds a mark that may separate cells."""
    mark = next((mark for mark in (*DELIMITERS, " ") if present and all(mark in cell for cell in present)), None)
    if mark and not all(is_number(cell, mark) for cell in present):
        raise RefusedColumn(f"{present[0]!r} may be several cells", present[0], "delimiter", mark)


def _refused_dates(name: str, odd: Sequence[str]) -> RefusedColumn:
    """Return the error about dates that were not declared."""
    try:
        days_of(odd)
    except ValueError as error:
        return RefusedColumn(str(error), odd[0], "drop", [name])
    return RefusedColumn(f"{odd[0]!r} is a date, to be counted in days or left out", odd[0], "dates", [name])


class UnreadableTableError(ValueError):
    """A file cannot be read as a table with these options.

    Attributes
    ----------
    problems : str
        What stands in the way, with the places.
    options : dict or None
        The arguments of `icdh.files.read_table` that read the file, in addition to those that were given; lists are
        added to what was given. None if there are no such arguments.
    units : list of str
        Columns of text that repeats: they may name what several rows belong to.
    """

    def __init__(self, problems: str, options: dict[str, object] | None, units: Sequence[str] = ()):
        remedy = ", ".join(f"{name}={value!r}" for name, value in (options or {}).items())
        super().__init__(f"{problems}; pass {remedy}" if remedy else problems)
        self.problems, self.options, self.units = problems, options, list(units)


class Refusals:
    """What stands in the way of a table; reading goes on as if every remedy had been given.

    Parameters
    ----------
    name : str
        The name of the file in messages.

    Attributes
    ----------
    gaps : bool
        Whether there are gaps in columns that were refused.
    units : list of str
        Refused columns of text that repeats.
    words : dict of str to list of str
        By column of labels, the words in it that are read as gaps.
    columns : list of str
        The variables: to leave out all of them is no remedy.
    """

    def __init__(self, name: str):
        self.name, self.unsolved, self.gaps = name, False, False
        self.problems: list[str] = []
        self.units: list[str] = []
        self.words: dict[str, list[str]] = {}
        self.columns: list[str] = []
        self.options: dict[str, Any] = {}

    def add(self, problem: str, option: str, value: object) -> None:
        """Add a problem, and the argument that solves it; an empty one if none does."""
        self.problems.append(problem)
        self.unsolved |= not option
        if option and isinstance(value, list):
            value = list(dict.fromkeys([*self.options.get(option, ()), *value]))
        if option:
            self.options[option] = value

    def check(self) -> None:
        """Raise UnreadableTableError if there was a problem."""
        self.unsolved |= "drop" in self.options and set(self.columns) <= set(self.options["drop"])
        if self.problems:
            more = len(self.problems) - 20
            problems = "; ".join(self.problems[:20]) + (f"; and {more} more" if more > 0 else "")
            raise UnreadableTableError(f"{self.name}: {problems}", None if self.unsolved else self.options, self.units)


logger = logging.getLogger("icdh.files")

_POINT_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")

Row: TypeAlias = tuple[int, list[str]]


class Options(NamedTuple):
    """How a table is to be read: the arguments of `icdh.files.read_with_labels`."""

    header: bool | None = None
    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    skip_rows: int = 0
    comment: str | None = None
    units_row: bool = False
    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()
    dates: Sequence[str] = ()
    gaps: bool = False
    categorical: Collection[str] | None = None
    missing_values: Declared = None
    labels: Sequence[str] = ()
    mentioned: Sequence[str] = ()  # columns that must be there
    partly: bool = False  # whether the file may lack some of ``columns``, or hold no value of them

    def check(self) -> None:
        """Raise ValueError if an argument about the format has a value that it must not have."""
        for name, value, marks in (("decimal", self.decimal, ".,"), ("thousands", self.thousands, ".,' _")):
            if value is not None and value not in list(marks):
                raise ArgumentValueError(name, f"must be one of {' '.join(map(repr, marks))}; got {value!r}")
        if self.delimiter is not None and (not isinstance(self.delimiter, str) or len(self.delimiter) != 1):
            raise ArgumentValueError("delimiter", f"must be one character; got {self.delimiter!r}")
        Number(0, integer=True).check("skip_rows", self.skip_rows)


class Sheet(NamedTuple):
    """A table in a text.

    Attributes
    ----------
    top : list of str
        The cells of its first row.
    labels : list of str or None
        The names in them, if they are names.
    rows : iterator of pairs
        Line number and cells of every row of values.
    row_labels : str
        How the first column shows that it holds row labels; empty if it does not.
    decimal, thousands : str, str or None
        The marks in its numbers.
    """

    top: list[str]
    labels: list[str] | None
    rows: Iterator[Row]
    row_labels: str
    decimal: str
    thousands: str | None


def sheet_of(source: Source, options: Options, refusals: Refusals) -> Sheet:
    """Return the table in a file; what stands in its way is added to the refusals, as if its remedy had been given.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is empty or no text, or an argument is wrong.
    """
    options.check()
    name, text = refusals.name, read_text(source, options.encoding)
    start, line, written = table_start(text, options.skip_rows)
    delimiter = options.delimiter or written or sniffed_delimiter(text, options.decimal, start)
    rows = rows_of(name, text, delimiter, start=start, line=line, comment=options.comment)
    head = list(islice(rows, 1000))  # shows titles and the marks of numbers
    if not head:
        raise ValueError(f"{name} is empty; it must hold a table of numbers")
    if _holds_comments(head):
        refusals.add(f"line {head[0][0]}: {head[0][1][0]!r} is a comment", "comment", "#")
        head, rows = list(_without_comments(head)), _without_comments(rows)
    head = _below_titles(head, refusals)
    decimal, thousands = _marks(head, delimiter, options, refusals)
    if decimal == thousands:
        raise ValueError(f"{name}: {decimal!r} cannot separate thousands and be the decimal mark; leave out one")
    are_quoted = any(isinstance(cell, Quoted) and decimal in cell for _, row in head for cell in row)
    if delimiter == decimal and not are_quoted:
        raise ValueError(f"{name}: {delimiter!r} cannot be both delimiter and decimal mark; pass {option('delimiter')}")
    top, following = head[0][1], head[1][1] if len(head) > 1 else None
    while following is not None and len(top) > max(len(following), 1) and not top[-1]:
        top = top[:-1]  # a comma at its end
    named = _is_header(top, following) if options.header is None else options.header
    if named and options.header is None and (odd := _odd_names(top, [cells for _, cells in head[1:]])):
        names, are_values = odd
        named = not are_values
        other = f"{option('header', are_values)} if it holds {'names' if are_values else 'values'}"
        refusals.add(f"line {head[0][0]}: {listed(names, 5)} may be values, not names ({other})", "header", named)
    one_short = named and _names_are_one_short(head)
    top = ["", *top] if one_short else top
    has_units = named and (options.units_row or _holds_units([cells for _, cells in head[1:]], decimal, thousands))
    if has_units and not options.units_row:
        refusals.add(f"line {head[1][0]}: it holds units, not values", "units_row", True)
    body = chain(head[named + has_units :], rows)
    row_labels = "has no name" if one_short else _shown_row_labels(top, following) if named and following else ""
    return Sheet(top, [name_of(cell) for cell in top] if named else None, body, row_labels, decimal, thousands)


def _names_are_one_short(head: Sequence[Row]) -> bool:
    """Return whether R wrote the table: the names are one fewer than the cells below, and the first of these differ."""
    below = [cells for _, cells in head[1:]]
    longer = len(below) > 1 and all(len(cells) == len(head[0][1]) + 1 for cells in below)
    return longer and any(cells[-1] for cells in below) and len({cells[0] for cells in below}) == len(below)


def _holds_comments(head: Sequence[Row]) -> bool:
    """Return whether lines above a table, or among its rows, begin with "#"."""
    widths = {cells[0].startswith("#"): len(cells) for _, cells in head}
    return head[0][1][0].startswith("#") and len(widths) == 2 and len(head[0][1]) != widths[False]


def _holds_units(rows: Sequence[list[str]], decimal: str, thousands: str | None) -> bool:
    """Return whether the first row has no numbers, and text where all rows below have numbers or nothing."""
    if not rows or any(is_number(cell, decimal, thousands) for cell in rows[0]):
        return False
    columns = list(zip(*rows, strict=False))
    kinds = [[None if cell in MISSING else is_number(cell, decimal, thousands) for cell in cells] for cells in columns]
    return any(kind[0] is False and False not in kind[1:] and True in kind for kind in kinds)


def _without_comments(rows: Iterable[Row]) -> Iterator[Row]:
    return (row for row in rows if not row[1][0].startswith("#"))


def _below_titles(head: list[Row], refusals: Refusals) -> list[Row]:
    """Return the first rows without those above the table, which have fewer cells."""
    widths = [len(cells) for _, cells in head]
    usual = Counter(widths).most_common(1)[0][0]
    first = next(k for k, width in enumerate(widths) if width >= usual - (usual > 2))
    if not first or len(head) < first + 2:
        return head
    line = head[first][0]
    refusals.add(f"line {head[0][0]}: {' '.join(head[0][1])[:40]!r} stands above the table", "skip_rows", line - 1)
    return head[first:]


def _marks(head: Sequence[Row], delimiter: str, options: Options, refusals: Refusals) -> tuple[str, str | None]:
    """Return the decimal mark and what separates thousands, None if nothing does."""
    if options.thousands or options.decimal:
        return options.decimal or ("," if options.thousands == "." else "."), options.thousands
    first = {cell for _, cells in head for cell in cells}
    numbers = [cell for cell in first if is_number(cell) and "." in cell]
    commas = [cell for cell in first if re.fullmatch(r"[+-]?\d*,\d+([eE][+-]?\d+)?", cell)]
    fractions = any(not re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", cell) for cell in commas)  # else it may be thousands
    if not numbers and delimiter != "," and fractions:
        logger.info("numbers of %s such as %s are read with a decimal comma", refusals.name, min(commas))
        return ",", None
    if numbers and all(map(_POINT_THOUSANDS.fullmatch, numbers)):
        for cells in zip(*(cells for _, cells in head if len(cells) == len(head[-1][1])), strict=True):
            short = [cell for cell in cells if cell.isdigit() and not cell.startswith("0")]
            long = [cell for cell in cells if _POINT_THOUSANDS.fullmatch(cell)]
            if short and long:
                what = f"{long[0]} beside {short[0]} may be a thousand and more, or a decimal fraction"
                refusals.add(f"{what} ({option('decimal', '.')})", "thousands", ".")
                return ",", "."
    return ".", None


def _is_header(top: Sequence[str], following: Sequence[str] | None) -> bool:
    """Return whether the first row holds names: text, or a quoted cell above one that is not."""
    are_gaps = any(top) and all(cell in MISSING for cell in top)
    return are_gaps or not all(map(looks_like_a_value, top)) or _is_quoted_above(top, following or [])


def _odd_names(top: Sequence[str], below: Sequence[list[str]]) -> tuple[list[str], bool] | None:
    """Return the cells of a header that may be values, and whether all of it rather is; None if there are none.

    They are numbers or, in most columns, what other rows hold there, too. A name without a digit, as "inf", is none.
    """
    if not below or _is_quoted_above(top, below[0]):
        return None
    columns = zip(*(cells for cells in below if len(cells) == len(top) and cells != top), strict=True)
    numbers = [cell for cell in top if cell not in MISSING and looks_like_a_value(cell) and re.search(r"\d", cell)]
    again = [
        cell for cell, values in zip(top, columns, strict=False) if cell in values and not looks_like_a_value(cell)
    ]
    if not numbers and 2 * len(again) <= len(top):
        return None
    return numbers + again, bool(again) or not all(map(str.isdecimal, numbers))


def _is_quoted_above(top: Sequence[str], below: Sequence[str]) -> bool:
    return any(isinstance(cell, Quoted) and not isinstance(under, Quoted) for cell, under in zip_longest(top, below))


def _shown_row_labels(top: Sequence[str], following: Sequence[str]) -> str:
    """Return how the first column shows that it holds row labels, "" if it does not.

    R quotes the empty name and the labels below it. An empty quoted name above an unquoted cell is an ordinary name.
    """
    if len(top) == 1:
        return ""
    if not top[0] and isinstance(top[0], Quoted) == isinstance(following[0], Quoted):
        return "has no name"
    if re.fullmatch(r"Unnamed: 0(\.\d+)?", top[0]) and re.fullmatch(r"[+-]?\d+", following[0]):
        return f"is called {top[0]!r}, pandas' word for no name"
    return ""
