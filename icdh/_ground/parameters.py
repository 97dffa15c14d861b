"""What a parameter of an estimator may be: behind its default, the check of its value and its command-line option."""

import math
from dataclasses import field, fields
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from icdh._ground.checks import check_choice, check_number, n_workers
from icdh.exceptions import ArgumentTypeError, ArgumentValueError

Settings = TypeVar("Settings")


class Constraint(Protocol):
    """What a value has to obey."""

    def check(self, name: str, value: object) -> None:
        """Raise ArgumentValueError or ArgumentTypeError, which name the parameter, unless the value obeys."""


class Number(NamedTuple):
    """A finite number.

    Attributes
    ----------
    low : float
        The least number.
    above : bool
        Whether ``low`` itself is too small.
    integer : bool
        Whether it must be an integer.
    words : tuple of str
        What may stand in place of the number.
    optional : bool
        Whether None may.
    """

    low: float = -math.inf
    above: bool = False
    integer: bool = False
    words: tuple[str, ...] = ()
    optional: bool = False

    def check(self, name: str, value: object) -> None:
        """See `Constraint`."""
        if (value is None and self.optional) or (isinstance(value, str) and value in self.words):
            return
        if isinstance(value, str) and self.words:
            others = " or ".join([*map(repr, self.words), *(["None"] if self.optional else [])])
            raise ArgumentValueError(
                name, f"must be {'an integer' if self.integer else 'a number'} or {others}; got {value!r}"
            )
        check_number(name, value, low=self.low, low_open=self.above, integer=self.integer)


class Choice(NamedTuple):
    """One of several words."""

    choices: tuple[str, ...]

    def check(self, name: str, value: object) -> None:
        """See `Constraint`."""
        check_choice(name, value, self.choices)


class Flag(NamedTuple):
    """True or False."""

    def check(self, name: str, value: object) -> None:
        """See `Constraint`."""
        if not isinstance(value, (bool, np.bool_)):
            raise ArgumentTypeError(name, f"must be True or False; got {value!r}")


class Workers(NamedTuple):
    """A number of workers, -1 for one a core."""

    def check(self, name: str, value: object) -> None:
        """See `Constraint`."""
        n_workers(cast(int, value))


def parameter(default: Any, constraint: Constraint) -> Any:
    """Return a field of a dataclass: a parameter with its default and what it has to obey."""
    return field(default=default, metadata={"constraint": constraint})


def constraints_of(parameters: Any) -> dict[str, Constraint]:
    """Return what the parameters of a dataclass, or of an instance of it, have to obey, by name."""
    return {own.name: own.metadata["constraint"] for own in fields(parameters) if own.metadata}


def settings_of(kind: type[Settings], estimator: Settings) -> Settings:
    """Return those parameters of an estimator that a dataclass, from which it inherits them, has."""
    return kind(**{own.name: getattr(estimator, own.name) for own in fields(kind)})  # type: ignore[arg-type]
