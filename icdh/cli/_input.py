"""The files of a command, checked before any work is done: its table, what it knows of the rows, saved models."""

import argparse
import os
import shlex
import sys
import zipfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import compress
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icdh._model.structural import StructuralModel, load
from icdh._table.experiments import Interventions, Shift
from icdh._table.table import Table
from icdh._utils.arrays import Floats, Mask
from icdh._utils.labels import default_names, printable, variable_index
from icdh.cli._messages import as_option, report
from icdh.cli._options import DONE_ABOUT_GAPS, Learned, names_in, option_named
from icdh.files import LabelledTable, UnreadableTableError, check_writable, read_with_labels, write_table
from icdh.files.sheet import Options
from icdh.files.text import delimited
from icdh.progress import Progress

STANDARD_INPUT = "-"
MODEL = ".icdh"
WITHIN = "within "


def source(path: str) -> str | BinaryIO:
    """Return the path, or the standard input for "-"."""
    return sys.stdin.buffer if path == STANDARD_INPUT else path


def is_model(path: str | None) -> bool:
    """Return whether a file holds a fitted model."""
    return path is not None and os.path.isfile(path) and zipfile.is_zipfile(path) and path.lower().endswith(MODEL)


def check_table(path: str, model: str | None) -> None:
    """Raise ValueError if the table is a saved model, perhaps because the two were swapped.

    Parameters
    ----------
    path : str
        The table.
    model : str or None
        The model, of a command that reads one.
    """
    if is_model(path):
        swap = "; swap the two: first the model, then the table" if model and not is_model(model) else ""
        ask = "; icdh check and icdh report take it before the table" if model is None else ""
        raise ValueError(f"{path} is a fitted model, not a table{swap}{ask}")


def loaded(path: str, table: str | None = None) -> StructuralModel:
    """Return a saved model; raise ValueError if the file is none, perhaps because it was swapped with ``table``."""
    if os.path.isfile(path) and not zipfile.is_zipfile(path):
        swap = "; swap the two: first the model, then the table" if is_model(table) else ""
        raise ValueError(f"{path} is not a fitted model, which icdh fit TABLE --save MODEL{MODEL} writes{swap}")
    return load(path)


def check_files(args: argparse.Namespace) -> None:
    """Raise ValueError or OSError if an output cannot be written, or would replace an input or another output."""
    given = args.parser.files_of(args)
    inputs = {called: path for called, file, path in given if not file.written}
    if sum(path == STANDARD_INPUT for path in inputs.values()) > 1:
        raise ValueError(f"only one of {', '.join(inputs)} can be -, the standard input")
    taken = {called: path for called, path in inputs.items() if path != STANDARD_INPUT}
    outputs = [(called, file, path) for called, file, path in given if file.written]
    for called, _, path in outputs:
        for other, seen in taken.items():
            if _is_same_file(path, seen):
                raise ValueError(f"{called} would write to {path}, which is {other}; choose another file")
        taken[called] = path
    for _, file, path in outputs:
        check_writable(path)
        file.check(path)


def _is_same_file(a: str, b: str) -> bool:
    try:
        return os.path.samefile(a, b)
    except OSError:  # one of them does not exist yet
        return os.path.normcase(os.path.realpath(a)) == os.path.normcase(os.path.realpath(b))


def succeeds(write: Callable[..., None], path: str | None, *arguments: object, **options: object) -> bool:
    """Write a file if a path was given, report an error if that fails, and return whether none did."""
    try:
        if path is not None:
            write(path, *arguments, **options)
    except (OSError, ValueError) as error:
        report("error", error)
        return False
    return True


def do_of(args: argparse.Namespace, model: StructuralModel) -> dict[Hashable, object]:
    """Return the intervention on variables of a model that the options describe."""
    do: dict[Hashable, object] = {}
    by_text = {str(name): name for name in model.names}
    for option, texts in (("--do", args.do), ("--shift", args.shift)):
        for text in texts:
            name, equals, value = text.rpartition("=")
            if not equals:
                raise ValueError(f"{option} needs NAME=NUMBER; got {text!r}")
            name = by_text.get(name, name)
            if name in do:
                raise ValueError(f"the variable {name!r} is given to --do or --shift twice; keep one")
            do[name] = Shift(_number(option, value)) if option == "--shift" else cell_of(model, name, value, option)
    return do


def cell_of(of: StructuralModel | Table, name: Hashable, text: str, option: str) -> float | str:
    """Return a value of a variable that an option holds: one of its labels, or a number."""
    known = of.categories.get(variable_index(name, of.names, option))
    if known is None:
        return _number(option, text)
    return {str(label): label for label in known.labels}.get(text, text)


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option} needs numbers; {text!r} is not a number") from None


def give_table(path: str | None, values: NDArray[np.generic], names: Sequence[object]) -> None:
    """Write a table into a file, or onto the standard output if there is no path."""
    if path is None:
        sys.stdout.write(delimited([list(map(str, names)), *values.tolist()], ","))
    else:
        write_table(path, values, list(map(str, names)))


DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "bar": "|"}


def form_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return how the options read the file of a table, as arguments of `icdh.files.read_table`."""
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
    roles |= {f"{WITHIN}{column}": column for column in getattr(args, "within", None) or ()}
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
    for name, _ in getattr(args, "kinds", ()):
        if name in drop or (columns is not None and name not in columns):
            raise ValueError(f"--kinds names {name!r}, which --drop or --columns leaves out; read it, or give no kind")
    args.changes = _changes(table, drop, args)
    if not args.quiet:
        for line in args.changes:
            report("note", line)
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
            known = DELIMITERS.items() if name == "delimiter" else ()
            words += [option_named(name), next((word for word, mark in known if mark == value), str(value))]
    if not words:
        return ""
    of_pair = getattr(args, "cause", None) and not args.values  # its rows must be complete
    unfit = ("error", "drop", "impute" if of_pair else "")
    others = [f"--missing {way}" for way in args.parser.choices_of("missing") if way not in unfit]
    other = f" (or {' or '.join(others)})" if others and "gaps" in options else ""
    return f"; this reads it: {shlex.join(['icdh', *given, *words])}{other}"


def _units(args: argparse.Namespace, error: UnreadableTableError) -> str:
    """Return a hint that a column may name units of several rows; "" where no option takes it."""
    unfit = args.group_column is not None or args.method == "icdh" or not args.parser.takes("group_column")
    if not error.units or unfit:
        return ""
    return f"; if {error.units[0]!r} names persons or places of several rows each, pass --group-column"


def _without(words: list[str], *options: str) -> list[str]:
    """Return a command without an option of one value, which has these names."""
    for k, word in enumerate(words):
        if word.partition("=")[0] in options:
            return [*words[:k], *words[k + (1 if "=" in word else 2) :]]
    return words


def complete_rows(table: LabelledTable) -> LabelledTable:
    """Return the rows without gaps."""
    return LabelledTable(table.values[~table.gaps.any(axis=1)], table.columns)


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
    units : dict of str to list of str
        The units of every row that rows are compared within, by column.
    truth : ndarray or None
        The true graph of a data set of the package.
    """

    table: LabelledTable
    interventions: Interventions | None = None
    groups: list[str] | None = None
    sequence: bool = False
    units: Mapping[str, list[str]] = MappingProxyType({})
    truth: Floats | None = None

    @property
    def relations(self) -> dict[str, Any]:
        """What is known of the rows, as arguments of the functions of the library that take it."""
        return {"interventions": self.interventions, "groups": self.groups, "sequence": self.sequence}

    def complete(self) -> "Input":
        """Return the rows without gaps."""
        full: Mask = np.logical_not(self.table.gaps.any(axis=1))
        interventions = None if self.interventions is None else self.interventions.of_rows(full)
        groups = None if self.groups is None else list(compress(self.groups, full.tolist()))
        units = {name: list(compress(of, full.tolist())) for name, of in self.units.items()}
        return self._replace(table=complete_rows(self.table), interventions=interventions, groups=groups, units=units)


def read_input(args: argparse.Namespace, model: StructuralModel | None = None) -> Input:
    """Return the table that the options describe, and what they declare about its rows; arguments as of `read`."""
    _check(args)
    if args.dataset:
        from icdh.datasets import load_sachs

        sachs = load_sachs(experiments=args.dataset == "sachs-experiments")
        return Input(sachs.table, sachs.interventions, sequence=args.sequence, truth=sachs.adjacency.astype(float))
    table, labels = read(args, model)
    interventions = _interventions(args, labels.get("condition_column"))
    units = {role.removeprefix(WITHIN): of for role, of in labels.items() if role.startswith(WITHIN)}
    return Input(table, interventions, labels.get("group_column"), args.sequence, units)


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
    """Return what was done to the rows, given the condition of each; report in a line what every condition does."""
    if conditions is None:
        return None
    present = list(dict.fromkeys(conditions))
    targets: dict[Hashable, list[str] | None] = dict.fromkeys(present)
    if args.targets is not None:
        targets = _targets(args.targets)
    for condition in present:
        if condition not in targets:
            raise ValueError(
                f"--targets lacks condition {condition!r}, which column {args.condition_column!r} holds; "
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
    pairs = zip(parts, targets, strict=True)
    return {condition.strip(): None if names == ["?"] else names for (condition, *_), names in pairs}


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
