"""Options that stand for arguments of the library: how they are read, and which option an argument is."""

import argparse
from collections.abc import Callable
from typing import Any

from icdh._ground.parameters import Choice, Constraint, Flag, Number, Workers
from icdh.exceptions import ArgumentError

OTHER_NAMES = {  # arguments of the library that are called otherwise where they are options
    "random_state": "seed",
    "n_jobs": "jobs",
    "delimiter": "sep",
    "n_resamples": "bootstrap",
    "n_samples": "rows",
    "n_observations": "observations",
    "n_variables": "variables",
}


def option_of(constraint: Constraint) -> dict[str, Any]:
    """Return how argparse reads a parameter: whatever breaks its constraint is refused at once."""
    if isinstance(constraint, Choice):
        return {"choices": constraint.choices}
    if isinstance(constraint, Flag):
        return {"action": argparse.BooleanOptionalAction}
    if isinstance(constraint, Workers):
        return {"type": reader(constraint, int), "metavar": "N"}
    assert isinstance(constraint, Number)
    return {
        "type": reader(constraint, int if constraint.integer else float),
        "metavar": "N" if constraint.integer else "X",
    }


def reader(constraint: Constraint, kind: type[int] | type[float]) -> Callable[[str], Any]:
    """Return what reads the text of an option, or says what it must be."""

    def read(text: str) -> Any:
        words, optional = getattr(constraint, "words", ()), getattr(constraint, "optional", False)
        if text in words or (optional and text == "none"):
            value: Any = None if text == "none" else text
        else:
            value = kind(text)
        try:
            constraint.check("", value)
        except ArgumentError as error:
            raise argparse.ArgumentTypeError(error.demand) from None
        return value

    read.__name__ = {int: "integer", float: "number"}[kind]  # argparse says "invalid number value"
    return read


def add_number(
    group: Any, *flags: str, default: Any, help: str, integer: bool = False, low: float = 0, **options: Any
) -> None:
    """Add an option that takes a number of at least ``low``."""
    details = option_of(Number(low, integer=integer)) | options
    group.add_argument(*flags, default=default, help=help, **details)


def add_seed(group: Any, help: str) -> None:
    """Add ``--seed``."""
    add_number(group, "--seed", default=0, help=help, integer=True)


def option_named(argument: str) -> str:
    """Return the option that stands for an argument of the library."""
    return "--" + OTHER_NAMES.get(argument, argument).replace("_", "-")
