"""What nothing else in a table can cause: sex, age, birth and the calendar, by their names in common languages."""

import re
import shlex
import unicodedata
from collections.abc import Collection, Sequence
from functools import cache
from importlib.resources import files

import numpy as np

from icdh._utils.arrays import Floats
from icdh._utils.labels import printable


@cache
def _given() -> frozenset[str]:
    """Return the names of what nothing else causes, read when they are asked about."""
    return frozenset(files("icdh.cli").joinpath("roots.txt").read_text(encoding="utf-8").split())


def question_about_roots(adjacency: Floats, names: Sequence[object], dates: Collection[str] = ()) -> str | None:
    """Return the question whether variables such as age have causes; None if no arrow points to one.

    Parameters
    ----------
    adjacency : ndarray, shape (N, N)
        The graph.
    names : sequence
        Its variables.
    dates : collection of str
        Those that are dates.
    """
    given = [n for n, name in enumerate(names) if adjacency[:, n].any() and (name in dates or is_given(str(name)))]
    if not given:
        return None
    arrows = [f"{names[cause]} -> {names[n]}" for n in given for cause in np.flatnonzero(adjacency[:, n]).tolist()]
    roots = printable(",".join(str(names[n]) for n in given))
    question = f"can this be: {printable(', '.join(arrows))}? If nothing causes {roots.replace(',', ', ')}, "
    return f"{question}pass --roots {shlex.quote(roots)}"


def is_given(name: str) -> bool:
    """Return whether a name is that of what nothing else in a table causes, whatever its case, accents and numbers.

    Examples
    --------
    >>> from icdh.cli._roots import is_given
    >>> [is_given(name) for name in ("Birth_Year", "Âge (ans)", "female2", "wage")]
    [True, True, True, False]
    """
    name = re.sub(r"\(.*\)|\[.*\]", "", name).casefold()
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return "".join(filter(str.isalpha, plain)) in _given()
