"""Input and output files of a command, checked before any work is done; saved models, and what is asked of them."""

import argparse
import os
import sys
import zipfile
from collections.abc import Callable, Hashable, Sequence
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from icdh._ground.labels import variable_index
from icdh._model.structural import StructuralModel, load
from icdh._table.experiments import Shift
from icdh._table.table import Table
from icdh.cli._messages import report
from icdh.files import check_writable, write_table
from icdh.files.text import delimited

STANDARD_INPUT = "-"
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
