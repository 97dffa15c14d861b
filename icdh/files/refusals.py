"""All that stands in the way of a table, said at once with the options that read it."""

from typing import Any

MOST_NAMED = 20  # problems in a message


class UnreadableTableError(ValueError):
    """A file cannot be read as a table with these options.

    Attributes
    ----------
    problems : str
        What stands in the way, with the places.
    options : dict or None
        The arguments of `icdh.files.read_table` that read the file, in addition to those that were given; lists are
        added to what was given. None if there are no such arguments.
    """

    def __init__(self, problems: str, options: dict[str, Any] | None):
        said = ", ".join(f"{name}={value!r}" for name, value in (options or {}).items())
        super().__init__(f"{problems}; say {said}" if said else problems)
        self.problems, self.options = problems, options


class Refusals:
    """What stands in the way of a table; reading goes on as if every remedy had been given.

    Parameters
    ----------
    name : str
        The name of the file in messages.

    Attributes
    ----------
    gaps : bool
        Whether there are gaps in columns that were refused.
    """

    def __init__(self, name: str):
        self.name, self.unsolved, self.gaps = name, False, False
        self.problems: list[str] = []
        self.options: dict[str, Any] = {}

    def add(self, problem: str, option: str, value: Any) -> None:
        """Add a problem, and the argument that solves it; an empty one if none does."""
        self.problems.append(problem)
        self.unsolved |= not option
        if option:
            known = self.options.get(option, [])
            new = [part for part in value if part not in known] if isinstance(value, list) else []
            self.options[option] = known + new if isinstance(value, list) else value

    def check(self) -> None:
        """Raise UnreadableTableError if there was a problem."""
        if self.problems:
            more = len(self.problems) - MOST_NAMED
            said = "; ".join(self.problems[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
            raise UnreadableTableError(f"{self.name}: {said}", None if self.unsolved else self.options)
