"""The input table of a command: read in the format that its options describe."""

import argparse
import shlex
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from icdh._ground.labels import default_names
from icdh.cli._files import check_table, source
from icdh.cli._messages import report
from icdh.cli._options import DONE_ABOUT_GAPS, option_named
from icdh.cli._progress import busy
from icdh.files import LabelledTable, UnreadableTableError, read_table

FEWEST_NUMBERED = 10  # rows; in fewer a variable may rise by one in every row
DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "bar": "|"}
FORMAT = ("header", "delimiter", "decimal", "thousands", "encoding", "skip_rows", "comment", "units_row")
NO_VARIABLES = ("id_column", "condition_column", "group_column")  # what such options name


def format_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return the format of the file, as arguments of `icdh.files.read_table`."""
    form = {name: getattr(args, name) for name in FORMAT if hasattr(args, name)}
    return {name: DELIMITERS.get(value, value) if isinstance(value, str) else value for name, value in form.items()}


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
    drop = [*(args.drop or ()), *filter(None, (getattr(args, role) for role in NO_VARIABLES))]
    columns = columns or args.columns
    check_table(args.data, args.model)
    with busy(args, f"reading {args.data}"):
        try:
            values, names = read_table(
                source(args.data) if data is None else data,
                **format_of(args),
                columns=columns and [column for column in columns if column not in drop],
                drop=drop,
                dates=args.dates,
                gaps=args.missing != "error",
                categorical=categorical,
                missing_values=args.missing_values,
            )
        except UnreadableTableError as error:
            raise ValueError(f"{error.problems}{_remedy(args, error.options or {})}") from None
    table = LabelledTable(values, names or default_names(values.shape[1]))
    if codes := args.missing_values:  # the estimator knows no numbers of columns that are not read
        args.missing_values = {name: codes[name] for name in (None, *table.columns) if name in codes}
    args.changes = _changes(table, drop, args)
    if not args.quiet:
        for line in args.changes:
            report("note", line)
        if args.drop is not None:
            _say_what_numbers_the_rows(table, args.dates)
    return table


def _remedy(args: argparse.Namespace, options: dict[str, Any]) -> str:
    """Return the command that reads the table, "" if no options do."""
    words = []
    for name, value in options.items():
        if name == "gaps":
            words += ["--missing", "drop"]
        elif name == "categorical":
            words += ["--kinds", *(f"{column}=categorical" for column in value)]
        elif name == "missing_values":
            words.append("--na=" + ",".join(value))
        elif value is True:
            words.append(option_named(name))
        else:
            character = next((word for word, mark in DELIMITERS.items() if mark == value), value)
            words += [option_named(name), *(value if isinstance(value, list) else [str(character)])]
    if not words:
        return ""
    others = [f"--missing {way}" for way in args.parser.choices_of("missing") if way not in ("error", "drop")]
    other = f" (or {' or '.join(others)})" if others and "gaps" in options else ""
    return f"; this reads it: {shlex.join(['icdh', *args.words, *words])}{other}"


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


def _changes(table, drop, args):
    """Return a line about every change to the table."""
    lines = [f"left out: {', '.join(drop)}"] if drop else []
    lines += [f"dates as days since 1970: {', '.join(args.dates)}"] if args.dates else []
    gaps = table.gaps
    rows = np.count_nonzero(gaps.any(axis=1))
    if rows and args.missing != "error":
        lines.append(f"{DONE_ABOUT_GAPS[args.missing]}: {np.count_nonzero(gaps)} gaps in {rows} of {len(gaps)} rows")
    return lines
