"""Messages of the library in the words of the command line: options in place of arguments."""

import errno
import os
import re
import shlex
from pathlib import Path

from icdh._estimators.hnm_search import HNMSearch
from icdh._estimators.icdh import ICDH
from icdh._ground.labels import did_you_mean
from icdh._ground.parameters import constraints_of
from icdh.cli._options import option_named
from icdh.exceptions import ArgumentError

PARAMETERS = (
    *(constraints_of(ICDH) | constraints_of(HNMSearch)),
    "forbidden_edges",
    "random_state",
    "kinds",
    "dates",
    "drop",
    "header",
    "delimiter",
    "decimal",
    "encoding",
    "abstain_below",
    "adjust",
    "contrast",
    "groups",
    "level",
    "target",
    "trim",
    "where",
)
_NAME = rf"\b({'|'.join(sorted(PARAMETERS, key=len, reverse=True))})"
_VALUE = r"(?:'([^']*)'|([-\w.]+))"
_COLUMN = re.compile(r"column ('[^']*'|\"[^\"]*\") ")  # of a message that begins with the column it is about
# In this order: what names both says the option alone; pairs of a column and its kind; values; bare names.
_RULES = (
    (re.compile(rf"{_NAME}=(?:\[?{_VALUE}\]?)? ?\((--[^()]*(?:'[^']*')?[^()]*)\)"), lambda found: found[4]),
    (
        re.compile(r"\bkinds=\{(['\"]?)([^{}]+)\1: (['\"]?)(\w+)\3\}"),
        lambda found: f"--kinds {shlex.quote(f'{_shout(found[2])}={_shout(found[4])}')}",
    ),
    (re.compile(r"\bkinds\[(['\"])(.+?)\1\]"), lambda found: f"--kinds {shlex.quote(found[2])}"),
    (re.compile(rf"{_NAME}={_VALUE}"), lambda found: f"{option_named(found[1])} {found[2] or found[3]}"),
    (re.compile(r"\bsequence=True to HNMSearch\.fit"), lambda found: "--sequence"),
    (re.compile(r"\bgroups=( with one label [\w ]+ to HNMSearch\.fit|(?= if ))"), lambda found: "--group-column NAME"),
    (re.compile(rf"^{_NAME}(?= must be )"), lambda found: option_named(found[1])),
    (re.compile(rf"(?<=\braise ){_NAME}"), lambda found: option_named(found[1])),
    (re.compile(r"(?<=\bin )adjust\b"), lambda found: "--adjust"),
    (re.compile(rf"(?<=\bor ){_NAME}$"), lambda found: option_named(found[1])),
    (re.compile(rf"{_NAME}(?= = )"), lambda found: option_named(found[1])),
    (re.compile(r"^(do|kinds)(?= (has|names) )"), lambda found: f"--{found[1]}"),
    (re.compile(r"^X(?= (has|is|holds) )"), lambda found: "the table"),
    (re.compile(r"(?<= of )X(?= (has|is|holds)\b)"), lambda found: "the table"),
    (re.compile(r"; X has "), lambda found: "; the table has "),
)
_PLACES = ("column", "name", "kind")  # what stands for something else is written in capitals


def said(error: Exception) -> str:
    """Return the message of an error in the words of the command line: of an argument, by its option."""
    if isinstance(error, ArgumentError) and error.argument.isidentifier():
        return f"{option_named(error.argument)} {error.demand}"
    return as_options(str(error))


def as_options(text: str) -> str:
    """Return a message of the library with the options of the command line in place of its arguments.

    Examples
    --------
    >>> from icdh.cli._words import as_options
    >>> as_options("column 'a' has gaps; use missing='impute'")
    "column 'a' has gaps; use --missing impute"
    """
    if column := _COLUMN.match(text):
        text = text.replace("drop it", f"say --drop {column[1]}").replace("{name: ", f"{{{column[1]}: ")
    for pattern, words in _RULES:
        text = pattern.sub(words, text)
    return text


def _shout(word):
    return word.upper() if word in _PLACES else word


def said_of_file(error: OSError) -> str:
    """Return a message about a file that could not be opened, with a suggestion."""
    path = error.filename
    if error.errno == errno.ENOENT:
        folder = Path(path).parent
        near = [entry.name for entry in os.scandir(folder)] if folder.is_dir() else []
        return f"there is no file {path}{did_you_mean(Path(path).name, near)}"
    known = {errno.EISDIR: "is a folder, not a file", errno.EACCES: "may not be read: permission denied"}
    return f"{path} {known[error.errno]}" if error.errno in known else f"cannot use {path}: {error.strerror}"
