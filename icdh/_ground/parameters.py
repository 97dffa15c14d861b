"""What a parameter of an estimator may be: the one table behind the check of its value and its command-line option."""

import math
from typing import Any, NamedTuple, Protocol

from icdh._ground.checks import check_callback, check_choice, check_flag, check_number, n_workers
from icdh.exceptions import ArgumentValueError


class Constraint(Protocol):
    """What a value has to obey."""

    def check(self, name: str, value: Any) -> None:
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

    def check(self, name: str, value: Any) -> None:
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

    def check(self, name: str, value: Any) -> None:
        """See `Constraint`."""
        check_choice(name, value, self.choices)


class Flag(NamedTuple):
    """True or False."""

    def check(self, name: str, value: Any) -> None:
        """See `Constraint`."""
        check_flag(name, value)


class Workers(NamedTuple):
    """A number of workers, -1 for one a core."""

    def check(self, name: str, value: Any) -> None:
        """See `Constraint`."""
        n_workers(value)


class Callback(NamedTuple):
    """What can be called, or None."""

    def check(self, name: str, value: Any) -> None:
        """See `Constraint`."""
        check_callback(value)
