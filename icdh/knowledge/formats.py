"""Files of knowledge: TOML, JSON, and the text format of Tetrad."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from pathlib import Path

from icdh.exceptions import import_extra

SECTIONS = {"addtemporal": "tiers", "forbiddirect": "forbidden", "requiredirect": "required"}


def read_mapping(path: str | os.PathLike[str]) -> dict[str, object]:
    """Return the content of a file of knowledge with the parameters of `icdh.Knowledge` as keys.

    Parameters
    ----------
    path : str or Path
        ``.toml``, ``.json``, or a file in Tetrad's format.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not in its format.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError("not text in UTF-8") from error
    readers: dict[str, Callable[[str], object]] = {".toml": _toml, ".json": json.loads}
    reader: Callable[[str], object] = readers.get(path.suffix.lower(), _tetrad)
    content = reader(text)
    if not isinstance(content, dict):
        raise ValueError('it must hold an object, for instance {"roots": ["age"]}')
    return content


def _toml(text: str) -> object:
    try:
        import tomllib
    except ModuleNotFoundError:  # before Python 3.11
        tomllib = import_extra("tomli", "toml")
    return tomllib.loads(text)


def _tetrad(text: str) -> dict[str, object]:
    """Return the knowledge in Tetrad's format: ``/knowledge``, then sections of tiers and of edges.

    A tier is a line ``1 a b``. ``1*`` forbids edges within the tier, ``1-`` lets it cause the next tier alone.
    """
    lines = _lines(text)
    if next(lines, (0, [""]))[1] != ["/knowledge"]:
        raise ValueError("line 1: neither .toml nor .json, nor Tetrad's format, which begins with the line /knowledge")
    by_number: dict[int, list[str]] = {}
    edges: dict[str, list[Sequence[str]]] = {"forbidden": [], "required": []}
    marks: dict[int, str] = {}
    section = None
    for number, words in lines:
        if len(words) == 1 and words[0] in SECTIONS:
            section = SECTIONS[words[0]]
        elif section == "tiers":
            tier = words[0].rstrip("*-")
            if not tier.isdigit():
                raise ValueError(f"line {number}: a tier begins with its number, as in '1 age sex'; got {words[0]!r}")
            by_number.setdefault(int(tier), []).extend(words[1:])
            marks[int(tier)] = words[0][len(tier) :]
        elif section and len(words) == 2:
            edges[section].append(words)
        else:
            raise ValueError(
                f"line {number}: {' '.join(words)!r} is neither an edge 'cause effect' nor one of the sections "
                f"{', '.join(SECTIONS)}"
            )
    tiers = [names for _, names in sorted(by_number.items())]
    edges["forbidden"] += _forbidden_by_marks(tiers, [mark for _, mark in sorted(marks.items())])
    return {**edges, "tiers": tiers}


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield number and words of the lines that are not blank."""
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.replace(",", " ").split()
        if words:
            yield number, words


def _forbidden_by_marks(tiers: Sequence[Sequence[str]], marks: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the edges that the marks ``*`` and ``-`` of tiers forbid."""
    for k, (tier, mark) in enumerate(zip(tiers, marks, strict=True)):
        if "*" in mark:
            yield from permutations(tier, 2)
        if "-" in mark:
            yield from ((cause, effect) for later in tiers[k + 2 :] for cause in tier for effect in later)
