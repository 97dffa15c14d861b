"""The input table of a command, and the options that describe its format."""

import argparse
import shlex
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from icdh._ground.labels import default_names
from icdh.cli._files import check_table, copies, source
from icdh.cli._messages import report
from icdh.cli._options import add_number
from icdh.cli._progress import busy
from icdh.files import LabelledTable, UnreadableTableError, read_labels, read_table

FEWEST_NUMBERED = 10  # rows; in fewer a variable may rise by one in every row
DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "bar": "|"}
DONE_ABOUT_GAPS = {
    "drop": "rows with gaps are left out",
    "impute": "gaps are imputed",
    "keep": "results that depend on a gap stay empty",
}
TABLE_HELP = "table as text (CSV, TSV, ..., also packed by gzip), observations in rows; - is standard input"


def add_format_options(parser, *, header: bool = True) -> None:
    """Describe the options for the format of a table; `format_of` returns them."""
    if header:
        parser.add_argument(
            "--header",
            action=argparse.BooleanOptionalAction,
            default=None,
            help="whether the first line holds names; by default if it holds text",
        )
    parser.add_argument(
        "--sep",
        "--delimiter",
        dest="delimiter",
        metavar="C",
        help="separator of the cells: a character, tab or space (any white space); detected by default",
    )
    parser.add_argument("--decimal", choices=(".", ","), help="the decimal mark; detected by default")
    if header:
        parser.add_argument("--thousands", metavar="C", help="what separates thousands: . , ' _ or space")
        add_number(parser, "--skip-rows", default=0, integer=True, help="lines above the table")
        parser.add_argument("--comment", metavar="C", help="leave out lines that begin with it, such as '#'")
        parser.add_argument("--units-row", action="store_true", help="leave out the line of units below the names")
    parser.add_argument("--encoding", metavar="NAME", help="such as latin-1 or utf-16; by default UTF-8")


def add_column_options(parser, *, missing: Sequence[str]) -> None:
    """Describe the options that choose columns and deal with gaps; `read` uses all of them."""
    parser.add_argument(
        "--columns",
        nargs="+",
        metavar="NAME",
        help="the variables, by name or by number from 1; by default all columns",
    )
    parser.add_argument(
        "--drop",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="columns to leave out, by name or by number from 1",
    )
    parser.add_argument(
        "--id-column",
        metavar="NAME",
        help="the column of row labels, which is not a variable, by name or by number; a first column without a "
        "name is taken as one",
    )
    add_cell_options(parser, missing=missing)


def add_cell_options(parser, *, missing: Sequence[str]) -> None:
    """Describe the options for dates and for gaps."""
    parser.add_argument(
        "--dates",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="columns of dates (2024-03-31, 31.03.2024) read as days since 1970",
    )
    parser.add_argument(
        "--na",
        dest="missing_values",
        action=_MissingValues,
        metavar="CODES",
        help="numbers and texts that mean a gap, such as -999,* or, of one column, income=-9; '': none",
    )
    remedies = [choice for choice in missing if choice != "error"]
    parser.add_argument(
        "--missing",
        choices=missing,
        default="error",
        help="how to deal with gaps (empty cells, NA, NaN, ?): "
        + "; ".join(f"{remedy}: {DONE_ABOUT_GAPS[remedy]}" for remedy in remedies),
    )
    parser.set_defaults(remedies=[f"--missing {remedy}" for remedy in remedies])


class _MissingValues(argparse.Action):
    """Collects codes of missing values by column; None stands for every column."""

    def __call__(self, parser, namespace, values, option_string=None):
        column, equals, codes = values.rpartition("=")
        known = dict(getattr(namespace, self.dest, None) or {})
        key = column if equals else None
        known[key] = [*known.get(key, ()), *filter(None, codes.split(","))]
        setattr(namespace, self.dest, known)


class RowsOfFile(NamedTuple):
    """What a file says of its rows.

    Attributes
    ----------
    table : LabelledTable
        The variables.
    conditions, groups : list of str, or None
        The condition of every row, and the group; None without such a column.
    """

    table: LabelledTable
    conditions: list[str] | None
    groups: list[str] | None


def add_relation_options(parser: Any) -> None:
    """Describe the options about rows that depend on one another."""
    parser.add_argument(
        "--group-column",
        metavar="NAME",
        help="the column of labels of groups whose rows depend on one another (visits of a person); it is no variable",
    )
    parser.add_argument(
        "--sequence",
        action="store_true",
        help="rows depend on those before them; with --group-column, on those of their group",
    )


def read_rows(args: argparse.Namespace, categorical: Collection[str] | None = None) -> RowsOfFile:
    """Return the table that the arguments describe, as `read`, and the labels of its rows."""
    columns = [getattr(args, role, None) for role in ("condition_column", "group_column")]
    given = len([column for column in columns if column is not None])
    first, *others = copies(args.data, 1 + given) if given else [None]
    table = read(args, data=first, categorical=categorical)
    labels = [None if column is None else read_labels(others.pop(), column, **format_of(args)) for column in columns]
    return RowsOfFile(table, *labels)


def relations_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return what the options say of rows that depend on one another, as arguments of ``fit``."""
    return {"groups": getattr(args, "group_labels", None), "sequence": getattr(args, "sequence", False)}


def format_of(args: argparse.Namespace) -> dict:
    """Return the format of the file, as arguments of `icdh.files.read_table`."""
    marks = {
        name: DELIMITERS.get(getattr(args, name), getattr(args, name))
        for name in ("delimiter", "thousands")
        if hasattr(args, name)
    }
    names = ("header", "decimal", "encoding", "skip_rows", "comment", "units_row")
    return marks | {name: getattr(args, name) for name in names if hasattr(args, name)}


def read(
    args: argparse.Namespace,
    columns: Sequence[str] | None = None,
    data: Any = None,
    categorical: Collection[str] | None = None,
) -> LabelledTable:
    """Return the table that the arguments describe, its columns named x0, x1, ... if the file does not name them.

    Parameters
    ----------
    args : Namespace
        The options.
    columns : sequence of str, optional
        The columns to read, in place of those that the options name.
    data : path or binary file, optional
        What to read, in place of what the options name.
    categorical : collection of str, optional
        Categorical columns. By default text is refused; an empty collection lets columns of text be categorical.
    """
    roles = (getattr(args, role, None) for role in ("id_column", "condition_column", "group_column"))
    drop = [*getattr(args, "drop", ()), *filter(None, roles)]
    dates, missing = getattr(args, "dates", ()), getattr(args, "missing", "error")
    columns = columns or getattr(args, "columns", None)
    check_table(args.data, getattr(args, "model", None))
    with busy(args, f"reading {args.data}"):
        try:
            values, names = read_table(
                source(args.data) if data is None else data,
                **format_of(args),
                columns=columns and [column for column in columns if column not in drop],
                drop=drop,
                dates=dates,
                gaps=missing != "error",
                categorical=categorical,
                missing_values=getattr(args, "missing_values", None),
            )
        except UnreadableTableError as error:
            raise ValueError(f"{error.problems}{_said_of_command(args, error.options or {})}") from None
    table = LabelledTable(values, names or default_names(values.shape[1]))
    if codes := getattr(args, "missing_values", None):  # the estimator knows no numbers of columns that are not read
        args.missing_values = {name: codes[name] for name in (None, *table.columns) if name in codes}
    if not getattr(args, "quiet", False):
        _say_what_was_done(table, drop, dates, missing)
        if hasattr(args, "drop"):
            _say_what_numbers_the_rows(table, dates)
    return table


def _said_of_command(args, options):
    """Return how the command that reads the table continues, "" if no options do."""
    words = []
    for name, value in options.items():
        if name == "gaps":
            words += ["--missing", "drop"]
        elif name == "categorical":
            words += ["--kinds", *(f"{column}=categorical" for column in value)]
        elif name == "missing_values":
            words.append("--na=" + ",".join(value))
        elif name == "units_row":
            words.append("--units-row")
        else:
            flag = "--" + {"delimiter": "sep"}.get(name, name).replace("_", "-")
            shown = next((word for word, mark in DELIMITERS.items() if mark == value), value)
            words += [flag, *(value if isinstance(value, list) else [str(shown)])]
    if not words:
        return ""
    other = " or ".join(args.remedies[1:]) if "gaps" in options else ""
    return f"; this reads it: {shlex.join(['icdh', *args.words, *words])}{other and f' (or {other})'}"


def complete_rows(table: LabelledTable) -> LabelledTable:
    """Return the rows without gaps."""
    return LabelledTable(table.values[~table.gaps.any(axis=1)], table.columns)


def _say_what_numbers_the_rows(table, dates):
    """Write a note about columns that look like row numbers, which are no variables."""
    for name, column in zip(table.columns, table.values.T, strict=True):
        if name not in dates and len(column) >= FEWEST_NUMBERED and _counts_up(column):
            remedy = f"if it numbers the rows, say --drop {shlex.quote(name)}"
            report("note", f"{name} rises by one from row to row; {remedy}")


def _counts_up(column):
    try:
        return bool((np.diff(column.astype(np.float64)) == 1.0).all())
    except (TypeError, ValueError):  # labels
        return False


def _say_what_was_done(table, drop, dates, missing):
    """Write a note about every change to the table."""
    if drop:
        report("note", f"left out: {', '.join(drop)}")
    if dates:
        report("note", f"dates as days since 1970: {', '.join(dates)}")
    gaps = table.gaps
    rows = np.count_nonzero(gaps.any(axis=1))
    if rows and missing != "error":
        report("note", f"{DONE_ABOUT_GAPS[missing]}: {np.count_nonzero(gaps)} gaps in {rows} of {len(gaps)} rows")
