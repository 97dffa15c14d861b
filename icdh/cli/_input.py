"""The input of a command: its table, and what it knows of the rows: groups, order, conditions of experiments."""

import argparse
import shlex
from collections.abc import Collection, Hashable, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icdh._ground.arrays import Floats, Mask
from icdh._ground.labels import default_names, printable
from icdh._model.structural import StructuralModel
from icdh._table.experiments import Interventions
from icdh.cli._files import check_table, source
from icdh.cli._messages import as_option, report
from icdh.cli._options import DONE_ABOUT_GAPS, Learned, names_in, option_named
from icdh.files import LabelledTable, UnreadableTableError, read_with_labels
from icdh.files.sheet import Options
from icdh.progress import Progress

DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "bar": "|"}


def form_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return what the options say of the file of a table, as arguments of `icdh.files.read_table`."""
    form = {name: getattr(args, name) for name in Options._fields if hasattr(args, name)}
    return {name: DELIMITERS.get(value, value) if isinstance(value, str) else value for name, value in form.items()}


def read(args: argparse.Namespace, model: StructuralModel | None = None) -> tuple[LabelledTable, dict[str, list[str]]]:
    """Return the table that the arguments describe, and the labels of its rows by the option that names their column.

    Columns are called x0, x1, ... if the file does not name them.

    Parameters
    ----------
    args : Namespace
        The options.
    model : StructuralModel, optional
        The model whose variables are read, in place of the columns that the options name.
    """
    columns, categorical = args.columns, None
    if args.method == "search":  # others take no text
        categorical = [name for name, kind in getattr(args, "kinds", ()) if kind == "categorical"]
    if model is not None:
        columns = [str(name) for name in model.names]
        categorical = [columns[n] for n, labels in model.categories.items() if labels.of_text] or None
    roles = {"condition_column": args.condition_column, "group_column": args.group_column}
    roles = {option: column for option, column in roles.items() if column is not None}  # columns that are no variables
    drop = [*(args.drop or ()), *roles.values()]
    check_table(args.data, args.model)
    form = form_of(args) | {"drop": drop, "gaps": args.missing != "error", "categorical": categorical}
    form["columns"] = columns and [column for column in columns if column not in drop]
    with Progress("", shown=False if args.quiet else None, doing=f"reading {args.data}"):
        try:
            (values, names), labels = read_with_labels(source(args.data), list(roles.values()), **form)
        except UnreadableTableError as error:
            raise ValueError(f"{error.problems}{_units(args, error)}{_remedy(args, error.options or {})}") from None
    table = LabelledTable(values, names or default_names(values.shape[1]))
    if codes := args.missing_values:  # the estimator knows no numbers of columns that are not read
        args.missing_values = {name: codes[name] for name in (None, *table.names) if name in codes}
    args.changes = _changes(table, drop, args)
    if not args.quiet:
        for line in args.changes:
            report("note", line)
        if args.drop is not None:
            _say_what_numbers_the_rows(table, args.dates)
    return table, dict(zip(roles, labels, strict=True))


def _remedy(args: argparse.Namespace, options: Mapping[str, object]) -> str:
    """Return the command that reads the table, "" if no options do."""
    given, words = args.words, []
    for name, value in options.items():
        several = value if isinstance(value, list) else []
        if name == "gaps":
            words += ["--missing", "drop"]
        elif name == "categorical":
            words += ["--kinds", *(f"{column}=categorical" for column in several)]
        elif name == "missing_values":
            words.append("--na=" + ",".join(several))
        elif isinstance(value, bool):
            words.append(as_option(name, (value,)))
        elif several:
            words += [option_named(name), *several]
        else:
            given = _without(given, option_named(name), f"--{name.replace('_', '-')}")
            character = next((word for word, mark in DELIMITERS.items() if mark == value), str(value))
            words += [option_named(name), character]
    if not words:
        return ""
    of_pair = getattr(args, "cause", None) and not args.values  # its rows must be complete
    unfit = ("error", "drop", "impute" if of_pair else "")
    others = [f"--missing {way}" for way in args.parser.choices_of("missing") if way not in unfit]
    other = f" (or {' or '.join(others)})" if others and "gaps" in options else ""
    return f"; this reads it: {shlex.join(['icdh', *given, *words])}{other}"


def _units(args: argparse.Namespace, error: UnreadableTableError) -> str:
    """Return that a column may name units of several rows; "" where no option says so."""
    unfit = args.group_column is not None or args.method == "icdh" or not args.parser.takes("group_column")
    if not error.units or unfit:
        return ""
    return f"; if {error.units[0]!r} names persons or places of several rows each, say --group-column"


def _without(words: list[str], *options: str) -> list[str]:
    """Return a command without an option of one value, which has these names."""
    for k, word in enumerate(words):
        if word.partition("=")[0] in options:
            return [*words[:k], *words[k + (1 if "=" in word else 2) :]]
    return words


def complete_rows(table: LabelledTable) -> LabelledTable:
    """Return the rows without gaps."""
    return LabelledTable(table.values[~table.gaps.any(axis=1)], table.columns)


def _say_what_numbers_the_rows(table: LabelledTable, dates: Collection[str]) -> None:
    """Write a note about columns that look like row numbers, which are no variables."""
    for name, column in zip(table.names, table.values.T, strict=True):
        if name not in dates and len(column) >= 10 and _counts_up(column):  # in fewer rows a variable may, too
            remedy = f"if it numbers the rows, say --drop {shlex.quote(name)}"
            report("note", f"{name} rises by one from row to row; {remedy}")


def _counts_up(column: NDArray[np.generic]) -> bool:
    try:
        return bool((np.diff(column.astype(np.float64)) == 1.0).all())
    except (TypeError, ValueError):  # labels
        return False


def _changes(table: LabelledTable, drop: Sequence[str], args: argparse.Namespace) -> list[str]:
    """Return a line about every change to the table."""
    lines = [f"left out: {', '.join(drop)}"] if drop else []
    lines += [f"dates as days since 1970: {', '.join(args.dates)}"] if args.dates else []
    gaps = table.gaps
    rows = np.count_nonzero(gaps.any(axis=1))
    if rows and args.missing != "error":
        lines.append(f"{DONE_ABOUT_GAPS[args.missing]}: {np.count_nonzero(gaps)} gaps in {rows} of {len(gaps)} rows")
    return lines


class Input(NamedTuple):
    """The table of a command, and what is known of its rows.

    Attributes
    ----------
    table : LabelledTable
        The variables.
    interventions : Interventions or None
        What was done to the rows.
    groups : list of str or None
        The group of every row.
    sequence : bool
        Whether rows depend on those before them.
    truth : ndarray or None
        The true graph of a data set of the package.
    """

    table: LabelledTable
    interventions: Interventions | None = None
    groups: list[str] | None = None
    sequence: bool = False
    truth: Floats | None = None

    def complete(self) -> "Input":
        """Return the rows without gaps."""
        full: Mask = np.logical_not(self.table.gaps.any(axis=1))
        interventions = None if self.interventions is None else self.interventions.of_rows(full)
        groups = None if self.groups is None else list(compress(self.groups, full.tolist()))
        return self._replace(table=complete_rows(self.table), interventions=interventions, groups=groups)


def read_input(args: argparse.Namespace, model: StructuralModel | None = None) -> Input:
    """Return the table that the options describe, and what they say of its rows; arguments as of `read`."""
    _check(args)
    if args.dataset:
        from icdh.datasets import load_sachs

        sachs = load_sachs(experiments=args.dataset == "sachs-experiments")
        return Input(sachs.table, sachs.interventions, sequence=args.sequence, truth=sachs.adjacency.astype(float))
    table, labels = read(args, model)
    interventions = _interventions(args, labels.get("condition_column"))
    return Input(table, interventions, labels.get("group_column"), args.sequence)


def _check(args: argparse.Namespace) -> None:
    """Raise ValueError if the options about rows do not go together or with the others."""
    if args.targets is not None and args.condition_column is None:
        raise ValueError("--targets goes with --condition-column NAME, the column that holds the conditions")
    if args.condition_column is not None and args.dataset:
        raise ValueError("--condition-column is about a file; the conditions of a data set of the package are known")
    if args.group_column is not None and args.dataset:
        raise ValueError("--group-column is about a file; the rows of a data set of the package have no groups")
    if (args.group_column is not None or args.sequence) and args.method == "icdh":
        raise ValueError("--group-column and --sequence need the evidence that --method search weighs; leave them out")


def _interventions(args: argparse.Namespace, conditions: Sequence[str] | None) -> Interventions | None:
    """Return what was done to the rows, given the condition of each; say in a line what every condition does."""
    if conditions is None:
        return None
    present = list(dict.fromkeys(conditions))
    targets: dict[Hashable, list[str] | None] = dict.fromkeys(present)
    if args.targets is not None:
        targets = _targets(args.targets)
    for condition in present:
        if condition not in targets:
            raise ValueError(
                f"--targets says nothing of condition {condition!r}, which column {args.condition_column!r} holds; "
                f"add {condition}=NAME for what it sets, {condition}= if it sets nothing, {condition}=? if that is not "
                "known"
            )
    if not args.quiet:
        known = any(targets[condition] is not None for condition in present)
        for k, condition in enumerate(present):
            does = _said(targets[condition]) if k or known else "what the others are compared with"
            report("note", f"condition {condition!r}, {conditions.count(condition)} rows: {does}")
    return Interventions(conditions, targets)


def _said(targets: Sequence[object] | None) -> str:
    if targets is None:
        return "what it does is to be found"
    return f"sets {', '.join(map(str, targets))}" if targets else "sets nothing"


def _targets(text: str) -> dict[Hashable, list[str] | None]:
    """Return conditions and their targets, given as CONDITION=NAMES with semicolons between them."""
    parts = [part.rpartition("=") for part in text.split(";") if part.strip()]
    for condition, equals, names in parts:
        if not equals or not condition.strip():
            raise ValueError(f"--targets is given as 'A=x y; B=?; C='; got {(condition + equals + names).strip()!r}")
    targets = names_in([names for *_, names in parts])
    return {
        condition.strip(): None if names == ["?"] else names
        for (condition, *_), names in zip(parts, targets, strict=True)
    }


def target_lines(model: Learned) -> list[str]:
    """Return for every condition of unknown targets a line about what it was found to act on."""
    least = getattr(model, "threshold", 0.0)
    return [
        f"condition {printable(str(condition))} acts on "
        f"{_strongest(weights, model.model_.names, least) or 'nothing that was found'}"
        for condition, weights in model.targets_.items()
    ]


def _strongest(weights: Floats, names: Sequence[Hashable], least: float) -> str:
    reached = sorted((-weight, str(name)) for weight, name in zip(weights, names, strict=True) if weight > least)
    return ", ".join(f"{printable(name)} ({-weight:.3g})" for weight, name in reached)
