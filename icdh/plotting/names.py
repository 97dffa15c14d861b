"""Names as they stand in the boxes of a picture: in lines of a readable size."""

import re
import unicodedata
from collections.abc import Sequence

from icdh._ground.labels import printable

LONGEST_LINE, MOST_LINES = 18, 4  # letters; longer names are shortened
LETTER, LINE = 0.082, 0.17  # width of a letter and height of a line of ten points, in inches
PADDING = 0.2  # of a box, in inches
_BREAKS = re.compile(r"(?<=[ _\-./:])|(?<=[a-z])(?=[A-Z])")


def lines_of(name: str) -> list[str]:
    """Return a name in lines that fit a box, broken between words where there are any.

    Parameters
    ----------
    name : str
        The name.

    Examples
    --------
    >>> from icdh.plotting.names import lines_of
    >>> lines_of("alcohol_by_volume_percent")
    ['alcohol_by_volume_', 'percent']
    """
    lines = [""]
    for word in _BREAKS.split(printable(name)):
        if lines[-1] and letters(lines[-1] + word.rstrip()) > LONGEST_LINE:
            lines.append("")
        lines[-1] += word
        while letters(lines[-1]) > LONGEST_LINE + 1:
            at = next(k for k in range(len(lines[-1]), 0, -1) if letters(lines[-1][:k]) <= LONGEST_LINE)
            lines[-1:] = [lines[-1][:at], lines[-1][at:]]
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], lines[MOST_LINES - 1][: LONGEST_LINE - 1] + "…"]
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
    return [
        (max(map(letters, lines)) * LETTER + PADDING, len(lines) * LINE + PADDING) for lines in map(lines_of, names)
    ]
