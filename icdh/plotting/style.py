"""How pictures look: colours, sizes, the lines of edges with what they mean, and names in boxes."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from icdh._utils.labels import printable
from icdh.diagnostics.result import WEAK_EDGE


@dataclass(frozen=True)
class Look:
    """Colours, and sizes in points or in inches."""

    text: str = "#333333"
    edge: str = "#2f4a6d"
    doubtful: str = "#6b7684"
    node: str = "#eaf1fb"
    border: str = "#2f5597"
    curve: str = "#0072b2"
    soft: str = "#767676"  # what a curve is compared with
    font: float = 10.0  # points
    title_height: float = 0.3  # inches
    legend_height: float = 0.21  # of a line
    shown_edges: int = 25  # more of them cannot be told apart on a slide
    name_line: int = 18  # letters; longer names are broken
    name_lines: int = 4  # longer names are shortened
    line: float = 0.17  # inches: height of a line of ten points
    padding: float = 0.2  # of a box
    zero: str = "#c55a11"  # where nothing is left of an effect
    dot: str = "#44546a"


LOOK = Look()


class EdgeStyle(NamedTuple):
    """How an edge is drawn.

    Attributes
    ----------
    color : str
        Its colour.
    line : str or tuple
        Its dashes, as matplotlib names them.
    width : float or None
        Its width in points; if None, it shows the strength of the edge.
    meaning : str
        Its line of the legend.
    """

    color: str = LOOK.edge
    line: str | tuple[float, tuple[float, ...]] = "-"
    width: float | None = None
    meaning: str = ""


DOTS = (0, (0.1, 2.2))
DOUBTFUL = EdgeStyle(LOOK.doubtful, (0, (5.0, 1.5)), meaning="the data hardly tell the direction")
WEAK = EdgeStyle(LOOK.doubtful, (0, (2.0, 2.0)), meaning=WEAK_EDGE)
GIVEN = EdgeStyle(line=DOTS, meaning="your knowledge gives the direction")


def lines_of(name: str) -> list[str]:
    """Return a name in lines that fit a box, broken between words where there are any.

    Parameters
    ----------
    name : str
        The name.

    Examples
    --------
    >>> from icdh.plotting.style import lines_of
    >>> lines_of("alcohol_by_volume_percent")
    ['alcohol_by_volume_', 'percent']
    """
    lines = [""]
    for word in re.split(r"(?<=[ _\-./:])|(?<=[a-z])(?=[A-Z])", printable(name)):
        if lines[-1] and letters(lines[-1] + word.rstrip()) > LOOK.name_line:
            lines.append("")
        lines[-1] += word
        while letters(lines[-1]) > LOOK.name_line + 1:
            at = next(k for k in range(len(lines[-1]), 0, -1) if letters(lines[-1][:k]) <= LOOK.name_line)
            lines[-1:] = [lines[-1][:at], lines[-1][at:]]
    if len(lines) > LOOK.name_lines:
        lines = [*lines[: LOOK.name_lines - 1], lines[LOOK.name_lines - 1][: LOOK.name_line - 1] + "…"]
    return [line.strip() for line in lines]


def letters(line: str) -> int:
    """Return how many letters wide a line is; those of East Asia are two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in line)


def box_sizes(names: Sequence[str]) -> list[tuple[float, float]]:
    """Return width and height of the box of every name, in inches.

    Parameters
    ----------
    names : sequence of str
        The names.
    """
    letters_and_lines = [(max(map(letters, lines)), len(lines)) for lines in map(lines_of, names)]
    return [(k * 0.082 + LOOK.padding, n * LOOK.line + LOOK.padding) for k, n in letters_and_lines]
