"""Options as a table: how argparse reads each, those that several commands share, and a command as a value."""

import argparse
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from icdh._ground.checks import Choice, Constraint, Flag, Number, Workers
from icdh.exceptions import ArgumentError

Option = dict[str, Any]  # the arguments of argparse
OTHER_NAMES = {  # arguments of the library that are called otherwise where they are options
    "random_state": "seed",
    "n_jobs": "jobs",
    "delimiter": "sep",
    "groups": "group-column",
    "missing_values": "na",
    "n_resamples": "bootstrap",
    "n_samples": "rows",
    "n_observations": "observations",
    "n_variables": "variables",
}
DONE_ABOUT_GAPS = {
    "drop": "rows with gaps are left out",
    "impute": "gaps are imputed",
    "keep": "results that depend on a gap stay empty",
}


class Either(NamedTuple):
    """Options of which each excludes the others."""

    options: dict[str, Option]
    required: bool = False


class Command(NamedTuple):
    """A command of the command line.

    Attributes
    ----------
    summary, description : str
        Its line in the list of commands, and what stands above its options.
    options : mapping of mappings
        Groups of options by their title; those without a title stand first.
    run : callable
        Does the work and returns the exit code.
    usual : sequence of str
        The destinations of the options that ``--help`` shows, if not all.
    """

    summary: str
    description: str
    options: Mapping[str, Mapping[str, Option | Either]]
    run: Callable[[argparse.Namespace], int]
    usual: Sequence[str] = ()


def text(metavar: str | None, help: str, **more: object) -> Option:
    """Return an option that takes a text."""
    return {"metavar": metavar, "help": help, **more}


def flag(help: str) -> Option:
    """Return an option that takes no value."""
    return {"action": "store_true", "help": help}


def choice(choices: Collection[str], help: str, default: str | None = None) -> Option:
    """Return an option that takes one of several words."""
    return {"choices": choices, "default": default, "help": help}


def several(metavar: str, help: str, **more: object) -> Option:
    """Return an option that takes several values, and adds those of every time that it is given."""
    return {"nargs": "+", "action": "extend", "metavar": metavar, "help": help, **more}


def repeated(metavar: str, help: str, **more: object) -> Option:
    """Return an option that may be given several times, with one value each."""
    return {"action": "append", "default": [], "metavar": metavar, "help": help, **more}


def number(default: float | None, help: str, *, low: float = 0, integer: bool = False, **more: object) -> Option:
    """Return an option that takes a number of at least ``low``."""
    return {**parameter(Number(low, integer=integer)), "default": default, "help": help, **more}


def seed(help: str) -> Option:
    """Return the option ``--seed``."""
    return number(0, help, integer=True)


def parameter(constraint: Constraint) -> Option:
    """Return how argparse reads a parameter: whatever breaks its constraint is refused at once."""
    if isinstance(constraint, Choice):
        return {"choices": constraint.choices}
    if isinstance(constraint, Flag):
        return {"action": argparse.BooleanOptionalAction}
    is_integer = isinstance(constraint, Workers) or (isinstance(constraint, Number) and constraint.integer)
    return {"type": _reader(constraint, int if is_integer else float), "metavar": "N" if is_integer else "X"}


def _reader(constraint: Constraint, kind: type[int] | type[float]) -> Callable[[str], object]:
    """Return what reads the text of an option, or says what it must be."""

    def read(text: str) -> object:
        words, optional = getattr(constraint, "words", ()), getattr(constraint, "optional", False)
        if text in words or (optional and text == "none"):
            value: object = None if text == "none" else text
        else:
            value = kind(text)
        try:
            constraint.check("", value)
        except ArgumentError as error:
            raise argparse.ArgumentTypeError(error.demand) from None
        return value

    read.__name__ = {int: "integer", float: "number"}[kind]  # argparse says "invalid number value"
    return read


def option_named(argument: str) -> str:
    """Return the option that stands for an argument of the library."""
    return "--" + OTHER_NAMES.get(argument, argument).replace("_", "-")


class _MissingValues(argparse.Action):
    """Collects codes of missing values by column; None stands for every column."""

    def __call__(self, parser: object, namespace: object, values: Any, option_string: str | None = None) -> None:
        column, equals, codes = values.rpartition("=")
        known = dict(getattr(namespace, self.dest, None) or {})
        key = column if equals else None
        known[key] = [*known.get(key, ()), *filter(None, codes.split(","))]
        setattr(namespace, self.dest, known)


TABLE = text(None, "table as text (CSV, TSV, ..., also packed by gzip), observations in rows; - is standard input")
MODEL = text(None, "a fitted model, written by icdh fit --save")
TEXT_FORMAT = {
    "--sep --delimiter": text(
        "C",
        "separator of the cells: a character, tab or space (any white space); detected by default",
        dest="delimiter",
    ),
    "--decimal": choice((".", ","), "the decimal mark; detected by default"),
    "--encoding": text("NAME", "such as latin-1 or utf-16; by default UTF-8"),
}
FORMAT = {
    "--header": {
        "action": argparse.BooleanOptionalAction,
        "default": None,
        "help": "whether the first line holds names; by default if it holds text",
    },
    **TEXT_FORMAT,
    "--thousands": text("C", "what separates thousands: . , ' _ or space"),
    "--skip-rows": number(0, "lines above the table", integer=True),
    "--comment": text("C", "leave out lines that begin with it, such as '#'"),
    "--units-row": flag("leave out the line of units below the names"),
}
COLUMNS = {
    "--columns": several("NAME", "the variables, by name or by number from 1; by default all columns"),
    "--drop": several("NAME", "columns to leave out, likewise; a first column without a name is left out", default=[]),
}
RELATIONS = {
    "--group-column": text(
        "NAME",
        "the column of labels of groups whose rows depend on one another (visits of a person); it is no variable",
    ),
    "--sequence": flag("rows depend on those before them; with --group-column, on those of their group"),
}
EXPERIMENTS = {
    "--condition-column": text(
        "NAME", "the column of text that says under which condition a row was observed; it is no variable"
    ),
    "--targets": text(
        "'A=x y; B=?; C='",
        "the variables that each condition sets, whose values then say nothing of their causes: names or patterns, ? "
        "if it is not known what a condition does, nothing if it leaves all alone; by default it is not known of any "
        "condition, and the first one in the table is what the others are compared with",
    ),
}
ACTIONS = {
    "--do": repeated("NAME=VALUE", "set a variable to a value, in its units, or to a label; may be repeated"),
    "--shift": repeated("NAME=AMOUNT", "add an amount to a variable, whatever its causes make it; may be repeated"),
}
LOUDNESS = Either(
    {
        "--verbose": flag("report every round, move or five seconds on the standard error stream"),
        "--quiet": flag("print nothing but warnings and errors"),
    }
)
OUTPUT_TABLE = text("FILE", "output file: .csv or .tsv; by default standard output")
NOTHING = ("columns", "condition_column", "dataset", "drop", "group_column", "missing_values", "model")
NOT_GIVEN = {  # what a command knows of options that it does not have
    **dict.fromkeys(NOTHING),
    **dict.fromkeys(("quiet", "sequence", "verbose"), False),
    "dates": (),
    "method": "search",
    "missing": "error",
}


def cells(missing: Sequence[str]) -> dict[str, Option]:
    """Return the options for dates and gaps; ``missing`` is what can be done about the latter."""
    remedies = [f"{way}: {DONE_ABOUT_GAPS[way]}" for way in missing if way != "error"]
    return {
        "--dates": several("NAME", "columns of dates (2024-03-31, 31.03.2024) read as days since 1970", default=[]),
        "--na": {
            "dest": "missing_values",
            "action": _MissingValues,
            "metavar": "CODES",
            "help": "numbers and texts that mean a gap, such as -999,* or, of one column, income=-9; '': none",
        },
        "--missing": choice(
            missing, f"how to deal with gaps (empty cells, NA, NaN, ?): {'; '.join(remedies)}", "error"
        ),
    }
