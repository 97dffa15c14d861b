"""Names of columns: default ones, as text, and the index that a name means."""

import numbers
import unicodedata
from collections.abc import Hashable, Sequence
from typing import Any

# Controls, surrogates, what is no character, separators of lines and paragraphs: XML and terminals take them amiss.
_UNPRINTABLE = {"Cc", "Cs", "Cn", "Zl", "Zp"}


def default_names(n_variables: int) -> list[str]:
    """Return "x0", "x1", ..., the names of columns without labels."""
    return [f"x{i}" for i in range(n_variables)]


def printable(label: Any) -> str:
    r"""Return a label of any type as one line of text, control characters written out: a line end becomes ``\n``."""
    return "".join(
        character.encode("unicode_escape").decode() if unicodedata.category(character) in _UNPRINTABLE else character
        for character in str(label)
    )


def variable_index(key: Hashable, names: Sequence[Hashable], argument: str) -> int:
    """Return the index of a variable given by name, or else by index, or raise an error that names the argument."""
    names = list(names)
    if isinstance(key, bool):
        raise TypeError(f"{argument} must give variables by name or index; got {key!r}")
    if key in names:
        return names.index(key)
    if not isinstance(key, numbers.Integral):
        raise ValueError(f"{argument} has the variable {key!r}, which is not one of {', '.join(map(str, names))}")
    if not 0 <= key < len(names):
        raise ValueError(f"{argument} has the index {key}, but the variables are numbered 0 ... {len(names) - 1}")
    return int(key)
