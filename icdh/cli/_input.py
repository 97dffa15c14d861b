"""The files of a command, checked before any work is done: its table, what it knows of the rows, saved models."""

import os
import shlex
import sys
import zipfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import reduce
from itertools import compress
from operator import or_
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from icdh._model.causal import ModelColumns
from icdh._model.structural import StructuralModel, load
from icdh._table.experiments import Interventions, Shift
from icdh._table.table import Table
from icdh._utils.arrays import ByColumn, Floats, Mask, Observations
from icdh._utils.labels import counted, variable_index
from icdh.cli._messages import as_option, report
from icdh.cli._options import DELIMITERS, DONE_ABOUT_GAPS, STANDARD_INPUT, Actions, Command, File, names_in
from icdh.files import LabelledTable, UnreadableTableError, check_writable, read_with_labels, write_table
from icdh.files.sheet import Options
from icdh.files.text import delimited
from icdh.knowledge import Knowledge
from icdh.progress import Progress

MODEL = ".icdh"


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


def with_files(known: Knowledge, paths: Sequence[str]) -> Knowledge:
    """Return knowledge and that of files together."""
    return reduce(or_, map(Knowledge.read, paths), known)


def check_files(given: Sequence[tuple[str, File, str]]) -> None:
    """Raise ValueError or OSError if an output cannot be written, or would replace an input or another output.

    Parameters
    ----------
    given : sequence of tuples
        As of `Command.files`.
    """
    inputs = [(called, path) for called, file, path in given if not file.written]
    if sum(path == STANDARD_INPUT for _, path in inputs) > 1:
        raise ValueError(f"only one of {', '.join(called for called, _ in inputs)} can be -, the standard input")
    taken = [(called, path) for called, path in inputs if path != STANDARD_INPUT]
    outputs = [(called, file, path) for called, file, path in given if file.written]
    for called, _, path in outputs:
        for other, seen in taken:
            if _is_same_file(path, seen):
                raise ValueError(f"{called} would write to {path}, which is {other}; choose another file")
        taken.append((called, path))
    for _, file, path in outputs:
        check_writable(path)
        file.check(path)


def _is_same_file(a: str, b: str) -> bool:
    try:
        return os.path.samefile(a, b)
    except OSError:  # one of them does not exist yet
        return os.path.normcase(os.path.realpath(a)) == os.path.normcase(os.path.realpath(b))


def succeeds(write: Callable[..., None], path: str | None, *arguments: object) -> bool:
    """Write a file if a path was given, report an error if that fails, and return whether none did."""
    try:
        if path is not None:
            write(path, *arguments)
    except (OSError, ValueError) as error:
        report("error", error)
        return False
    return True


def do_of(actions: Actions, model: StructuralModel) -> dict[Hashable, object]:
    """Return the intervention on variables of a model that the options describe."""
    do: dict[Hashable, object] = {}
    columns, by_text = model.columns, {str(name): name for name in model.names}
    for option, text in [*(("--do", text) for text in actions.do), *(("--shift", text) for text in actions.shift)]:
        name, equals, value = text.rpartition("=")
        if not equals:
            raise ValueError(f"{option} needs NAME=NUMBER; got {text!r}")
        node = by_text.get(name, name)
        if node in do:
            raise ValueError(f"the variable {node!r} is given to --do or --shift twice; keep one")
        do[node] = Shift(_number(option, value)) if option == "--shift" else cell_of(columns, node, value, option)
    return do


def cell_of(of: ModelColumns | Table, name: Hashable, text: str, option: str) -> float | str:
    """Return a value of a variable that an option holds: one of its labels, or a number."""
    known = of.categories.get(variable_index(name, of.names, option))
    if known is None:
        return _number(option, text)
    return {str(label): label for label in known.labels}.get(text, text)


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(
            f"{option} needs a number, with a decimal point if any, whatever the table has; {text!r} is none"
        ) from None


def give_table(path: str | None, values: Observations, names: Sequence[object]) -> None:
    """Write a table into a file, or onto the standard output if there is no path."""
    cells, texts = np.asarray(values), list(map(str, names))
    if path is None:
        sys.stdout.write(delimited([texts, *cells.tolist()], ","))
    else:
        write_table(path, cells, texts)


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
    weights : dict of str to object
        How much rows count, as arguments of the functions of the library that take it; empty if all count alike.
    units : dict of str to list of str
        The units of every row that rows are compared within, by column.
    missing_values : mapping or None
        Codes of missing values in the columns that are read.
    changes : sequence of str
        A line about every change to the table.
    truth : ndarray or None
        The true graph of a data set of the package.
    """

    table: LabelledTable
    interventions: Interventions | None = None
    groups: list[str] | None = None
    sequence: bool = False
    weights: Mapping[str, Any] = MappingProxyType({})
    units: Mapping[str, Any] = MappingProxyType({})
    missing_values: ByColumn[Sequence[str]] | None = None
    changes: Sequence[str] = ()
    truth: Floats | None = None

    @property
    def relations(self) -> dict[str, Any]:
        """What is known of the rows, as arguments of the functions of the library that take it."""
        return {"interventions": self.interventions, "groups": self.groups, "sequence": self.sequence, **self.weights}

    def complete(self, read: Sequence[Hashable] | None = None) -> "Input":
        """Return the rows without gaps in the columns that are ``read``, by default all."""
        full: Mask = np.logical_not(_gaps(self.table, read).any(axis=1))
        interventions = None if self.interventions is None else self.interventions.of_rows(full)
        groups = None if self.groups is None else list(compress(self.groups, full.tolist()))
        units = {name: list(compress(of, full.tolist())) for name, of in self.units.items()}
        weights = {name: of[full] if name == "sample_weight" else of for name, of in self.weights.items()}
        table = LabelledTable(self.table.values[full], self.table.columns)
        return self._replace(table=table, interventions=interventions, groups=groups, units=units, weights=weights)


def _gaps(table: LabelledTable, read: Sequence[Hashable] | None) -> Mask:
    return table.gaps if read is None else table.gaps[:, [name in read for name in table.names]]


def read_input(
    command: Command,
    model: StructuralModel | None = None,
    read: Sequence[Hashable] | None = None,
    partly: bool = False,
) -> Input:
    """Return the table that a command describes, and what it declares about the rows.

    Columns are called x0, x1, ... if the file does not name them.

    Parameters
    ----------
    command : Command
        The options.
    model : StructuralModel, optional
        The model whose variables are read, in place of the columns that the options name.
    read : sequence of str, optional
        The columns whose gaps matter, by default all.
    partly : bool
        Whether the table may lack variables of the model.
    """
    _check(command)
    if command.dataset:
        from icdh.datasets import load_sachs

        sachs = load_sachs(experiments=command.dataset == "sachs-experiments")
        return Input(sachs.table, sachs.interventions, sequence=command.sequence, truth=sachs.adjacency.astype(float))
    columns, categorical = command.columns, None
    if command.method == "search":  # others take no text
        categorical = [name for name, kind in command.kinds if kind == "categorical"]
    if model is not None:
        columns = [str(name) for name in model.names]
        categorical = [columns[n] for n, labels in model.columns.categories.items() if labels.of_text] or None
    of_rows = (command.condition_column, command.group_column, *command.within)
    labels = list(dict.fromkeys(column for column in of_rows if column is not None))  # columns that are no variables
    drop = [*command.drop, *labels]
    check_table(command.data, command.model)
    form = {name: getattr(command, name) for name in Options._fields if hasattr(command, name)}
    form |= {"drop": drop, "gaps": command.missing != "error", "categorical": categorical, "partly": partly}
    weighing = [*filter(None, [command.weights])]
    form["mentioned"] = [*weighing, *(name for name, _ in command.kinds)]
    form["columns"] = [name for name in dict.fromkeys([*columns, *weighing]) if name not in drop] if columns else None
    with Progress("", shown=False if command.quiet else None, doing=f"reading {command.data}"):
        try:
            table, cells = read_with_labels(source(command.data), labels, **form)
        except UnreadableTableError as error:
            remedy = _remedy(command, error.options or {})
            raise ValueError(f"{error.problems}{_units(command, error)}{remedy}") from None
    table, weights = _weights(LabelledTable(table.values, table.names), command)
    for name, _ in command.kinds:
        if name in drop or (columns and name not in columns):
            raise ValueError(f"--kinds names {name!r}, which --drop or --columns leaves out; read it, or give no kind")
    changes = _changes(_gaps(table, read), weights.get("sample_weight"), command)
    for line in () if command.quiet else changes:
        report("note", line)
    labels_of: dict[str | None, list[str]] = dict(zip(labels, cells, strict=True))
    interventions = _interventions(command, labels_of.get(command.condition_column))
    units = {column: labels_of[column] for column in command.within}
    codes = command.missing_values or {}  # the estimator knows no numbers of columns that are not read
    in_table = {name: codes[name] for name in (None, *table.names) if name in codes} or None
    groups = labels_of.get(command.group_column)
    return Input(table, interventions, groups, command.sequence, weights, units, in_table, changes)


def _weights(table: LabelledTable, command: Command) -> tuple[LabelledTable, dict[str, Any]]:
    """Return a table without the column of its weights, and these as arguments of a fit."""
    if command.weights is None:
        return table, {}
    at, column = variable_index(command.weights, table.names, "sample_weight"), f"column {command.weights!r}"
    cells = table.values[:, at].tolist()
    if text := [cell for cell in cells if isinstance(cell, str)]:
        raise ValueError(f"{column} of --weights holds text such as {text[0]!r}; name a column of numbers")
    weights = np.array(cells, dtype=float)
    if command.missing == "drop":
        weights[np.isnan(weights)] = 0.0
    if (strange := ~(weights >= 0.0)).any():
        row = int(np.argmax(strange))
        found = "is empty" if np.isnan(weights[row]) else f"holds the negative number {weights[row]:g}"
        raise ValueError(f"{column} of --weights {found} in row {row + 1}; correct the cell, or delete the row")
    values, names = np.delete(table.values, at, axis=1), [*table.names[:at], *table.names[at + 1 :]]
    how = "frequency" if command.frequency else "sampling"
    return LabelledTable(values, names), {"sample_weight": weights, "weights": how}


def _changes(gaps: Mask, weights: Floats | None, command: Command) -> list[str]:
    """Return a line about every change to the table."""
    lines = [f"left out: {', '.join(command.drop)}"] if command.drop else []
    if weights is not None and not weights.all():
        lines.append(f"rows without weight are left out: {np.count_nonzero(weights == 0.0)} of {weights.size}")
    lines += [f"dates as days since 1970: {', '.join(command.dates)}"] if command.dates else []
    rows, n_gaps = np.count_nonzero(gaps.any(axis=1)), int(np.count_nonzero(gaps))
    if rows and command.missing != "error":
        lines.append(f"{DONE_ABOUT_GAPS[command.missing]}: {counted(n_gaps, 'gap')} in {rows} of {len(gaps)} rows")
    return lines


def _remedy(command: Command, options: Mapping[str, object]) -> str:
    """Return the command that reads the table, "" if no options do, or if it would leave out what is asked for."""
    given, words = list(command.words), []
    drop = options.get("drop")
    if drop and "drop" not in command.options():  # a saved model needs all of its columns
        return ""
    if named := [column for column in (drop if isinstance(drop, list) else []) if column in command.columns]:
        return f"; to compare rows within each of them, pass --within {named[0]}" * ("within" in command.options())
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
            words += [as_option(name), *several]
        else:
            given = _without(given, as_option(name), f"--{name.replace('_', '-')}")
            known = DELIMITERS.items() if name == "delimiter" else ()
            words += [as_option(name), next((word for word, mark in known if mark == value), str(value))]
    if not words:
        return ""
    choices = command.options()["missing"].metadata["how"]["choices"]
    others = [f"--missing {way}" for way in choices if way not in ("error", "drop")]
    other = f" (or {' or '.join(others)})" if others and "gaps" in options else ""
    return f"; this reads it: {shlex.join(['icdh', *given, *words])}{other}"


def _units(command: Command, error: UnreadableTableError) -> str:
    """Return a hint that a column may name units of several rows; "" where no option takes it."""
    unfit = command.group_column is not None or command.method == "icdh" or "group_column" not in command.options()
    if not error.units or unfit:
        return ""
    return f"; if {error.units[0]!r} names persons or places of several rows each, pass --group-column"


def _without(words: list[str], *options: str) -> list[str]:
    """Return a command without an option of one value, which has these names."""
    for k, word in enumerate(words):
        if word.partition("=")[0] in options:
            return [*words[:k], *words[k + (1 if "=" in word else 2) :]]
    return words


def _check(command: Command) -> None:
    """Raise ValueError if the options about rows do not go together or with the others."""
    if command.targets is not None and command.condition_column is None:
        raise ValueError("--targets goes with --condition-column NAME, the column that holds the conditions")
    of_file = [name for name in ("condition_column", "group_column", "weights") if getattr(command, name) is not None]
    if command.dataset and of_file:
        raise ValueError(f"{as_option(of_file[0])} is about a file, not a data set of the package; leave it out")
    if command.weights in command.drop or (command.frequency and command.weights is None):
        raise ValueError("--weights must name a column that --drop keeps, and --frequency goes with it")
    if (command.group_column is not None or command.sequence) and command.method == "icdh":
        raise ValueError("--group-column and --sequence need the evidence that --method search weighs; leave them out")


def _interventions(command: Command, conditions: Sequence[str] | None) -> Interventions | None:
    """Return what was done to the rows, given the condition of each; report in a line what every condition does."""
    if conditions is None:
        return None
    present = list(dict.fromkeys(conditions))
    targets: dict[Hashable, list[str] | None] = dict.fromkeys(present)
    if command.targets is not None:
        targets = _targets(command.targets)
    for condition in present:
        if condition not in targets:
            lacks = f"--targets lacks condition {condition!r}, which column {command.condition_column!r} holds"
            how = f"for what it sets, {condition}= if it sets nothing, {condition}=? if that is not known"
            raise ValueError(f"{lacks}; add {condition}=NAME {how}")
    if not command.quiet:
        known = any(targets[condition] is not None for condition in present)
        for k, condition in enumerate(present):
            does = _action_in_words(targets[condition]) if k or known else "what the others are compared with"
            report("note", f"condition {condition!r}, {conditions.count(condition)} rows: {does}")
    return Interventions(conditions, targets)


def _action_in_words(targets: Sequence[object] | None) -> str:
    if targets is None:
        return "what it does is to be found"
    return f"sets {', '.join(map(str, targets))}" if targets else "sets nothing"


def _targets(text: str) -> dict[Hashable, list[str] | None]:
    """Return conditions and their targets, given as CONDITION=NAMES with semicolons between them."""
    parts = [part.rpartition("=") for part in text.split(";") if part.strip()]
    for condition, equals, names in parts:
        if not equals or not condition.strip():
            raise ValueError(f"--targets is given as 'A=x y; B=?; C='; got {(condition + equals + names).strip()!r}")
    pairs = zip(parts, names_in([names for *_, names in parts]), strict=True)
    return {condition.strip(): None if names == ["?"] else names for (condition, *_), names in pairs}
