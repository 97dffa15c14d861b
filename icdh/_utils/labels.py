"""Names of columns: default names, names as text, the index of a name. And other words of messages."""

import numbers
from collections.abc import Hashable, Iterable, Sequence, Sized
from difflib import get_close_matches
from typing import TypeVar
from unicodedata import category

from icdh.exceptions import option

T = TypeVar("T")


def default_names(n_variables: int) -> list[str]:
    """Return "x0", "x1", ..., the names of columns without labels."""
    return [f"x{i}" for i in range(n_variables)]


def printable(label: object) -> str:
    r"""Return a label of any type as one line of text, control characters written out: a line end becomes ``\n``."""
    # Controls, surrogates, unassigned characters, separators of lines and paragraphs: they break XML and terminals.
    unprintable = {"Cc", "Cs", "Cn", "Zl", "Zp"}
    return "".join(c.encode("unicode_escape").decode() if category(c) in unprintable else c for c in str(label))


def texts(names: Iterable[Hashable]) -> list[str]:
    """Return names as text, for formats that know text alone.

    Raises
    ------
    ValueError
        If two of them, such as 1 and "1", have the same text.
    """
    by_text: dict[str, Hashable] = {}
    for name in names:
        if str(name) in by_text:
            raise ValueError(f"the names {by_text[str(name)]!r} and {name!r} are the same as text; rename one column")
        by_text[str(name)] = name
    return list(by_text)


def variable_index(key: Hashable, names: Sequence[Hashable], argument: str) -> int:
    """Return the index of a variable given by name, or else by index, or raise an error that names the argument."""
    names = list(names)
    if isinstance(key, bool) or not isinstance(key, Hashable):
        got = repr(key) if isinstance(key, bool) else f"a {type(key).__name__}"
        raise TypeError(f"{option(argument)} must give variables by name or index; got {got}")
    if key in names:
        return names.index(key)
    if not isinstance(key, numbers.Integral):
        known = f"{listed(names)}{did_you_mean(key, names)}"
        raise ValueError(f"{option(argument)} has the variable {key!r}, which is not one of {known}")
    if not 0 <= int(key) < len(names):
        known = f"the variables are numbered 0 ... {len(names) - 1}"
        raise ValueError(f"{option(argument)} has the index {key}, but {known}")
    return int(key)


def counted(number: int, noun: str) -> str:
    """Return a number and what is counted: "1 edge", "2 edges"."""
    return f"{number} {plural(range(number), noun)}"


def plural(things: Sized, noun: str) -> str:
    """Return the noun for so many things: "edge" of one, else "edges"."""
    return noun if len(things) == 1 else noun + ("es" if noun.endswith("ch") else "s")


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """Return the question that ends a complaint about an unknown word, empty where no known one resembles it."""
    by_lower = {str(name).casefold(): str(name) for name in known}
    near = get_close_matches(str(word).casefold(), by_lower, n=1)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""


def listed(names: Iterable[object], limit: int = 20) -> str:
    """Return names separated by commas, no more than fit a message."""
    shown, n_more = first(list(map(str, names)), limit)
    return ", ".join(shown) + (f" and {n_more} more" if n_more else "")


def first(things: Sequence[T], limit: int) -> tuple[Sequence[T], int]:
    """Return the first things of a list, and how many more there are: never one, which has room for itself."""
    shown = things if len(things) <= limit + 1 else things[:limit]
    return shown, len(things) - len(shown)


def aligned(rows: Sequence[Sequence[str]], sides: str = "<") -> list[str]:
    """Return rows of text as lines: columns two spaces apart, each aligned to the left or to the right.

    Parameters
    ----------
    rows : sequence of sequences of str
        The cells, with the heading if there is one.
    sides : str
        "<" or ">" for each column; the last one holds for all that follow.

    Examples
    --------
    >>> from icdh._utils.labels import aligned
    >>> aligned([("edge", "nats"), ("a -> b", "7")], "<>")
    ['edge    nats', 'a -> b     7']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = sides.ljust(len(widths), sides[-1])
    form = "  ".join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True))
    return [form.format(*row).rstrip() for row in rows]


def edge_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cause, effect and cells as aligned lines, the arrows below one another, the heading first."""
    width = max(len(cause) for cause, *_ in rows)
    return aligned([(f"{cause:>{width}} -> {effect}", *cells) for cause, effect, *cells in rows], "<>")


def short(number: float, digits: int = 3) -> str:
    """Return a number with few digits, but without an exponent where it need not have one.

    Examples
    --------
    >>> from icdh._utils.labels import short
    >>> short(2051.4), short(0.61349)
    ('2051', '0.613')
    """
    return f"{number:.0f}" if 10.0**digits <= abs(number) < 1e9 else f"{number:.{digits}g}"
