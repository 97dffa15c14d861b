"""What the command line says: exit codes, lines on the standard error stream, and its words for what went wrong."""

import errno
import os
import shlex
import sys
import sysconfig
import traceback
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TextIO, TypeVar

from icdh._utils.labels import did_you_mean, printable
from icdh._utils.parallel import follows_interrupt
from icdh.cli._options import Command, option_named
from icdh.exceptions import MissingExtraError, WarningList, WorkerLostError, collected_warnings, warn
from icdh.progress import Progress

T = TypeVar("T")
BAD_INPUT = 2
INTERRUPTED = 130
EXPECTED = (ValueError, TypeError, OSError, MissingExtraError, WorkerLostError)


def report(kind: str, message: object) -> None:
    """Write one line to the standard error stream; a closed stream must not cost a fit."""
    try:
        print(f"icdh: {kind}: {printable(' '.join(str(message).split()))}", file=sys.stderr, flush=True)
    except OSError:
        drop(sys.stderr)


def watched(command: Command, what: str, total: int | None = None, doing: str = "at work") -> Progress:
    """Return a callback that shows every step, or nothing with --quiet; with --verbose it breaks silence alone."""
    return Progress(what, total, not command.quiet, doing=doing, between=command.verbose)


def with_warnings(work: Callable[[], T], says: Callable[[T], Collection[str]] = lambda _: ()) -> tuple[T, list[str]]:
    """Return the result of some work, and its warnings. They are also shown, but for those that the result says."""
    in_result: Collection[str] = ()
    collected: WarningList = []
    try:
        with collected_warnings() as collected:
            result = work()
        in_result = says(result)
    finally:
        for message, category in collected:
            if message not in in_result:
                warn(message, category)
    return result, list(dict.fromkeys(message for message, _ in collected))


def drop(stream: TextIO) -> None:
    """Discard what a stream did not accept, as Python would report it again when it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def as_option(argument: str, value: tuple[object, ...] = (), of: object = None) -> str:
    """Return the option that stands for an argument of the library, as `icdh.exceptions.option` asks for it.

    Examples
    --------
    >>> from icdh.cli._messages import as_option
    >>> as_option("missing", ("impute",)), as_option("max_seconds"), as_option("X")
    ('--missing impute', '--max-seconds', 'the table')
    """
    if argument == "X":
        return "the table"
    words = option_named(argument) + (" NAME" if argument == "groups" and not value else "")
    for part in [*value, *([] if of is None else [of])]:
        if isinstance(part, bool):
            words = words if part else words.replace("--", "--no-")
        elif isinstance(part, Mapping):
            words += " " + " ".join(shlex.quote(f"{column}={kind or ''}") for column, kind in part.items())
        elif isinstance(part, list):
            words += f" {','.join(map(str, part)) or repr('')}"
        else:
            words += f" {part:.3g}" if isinstance(part, float) else f" {shlex.quote(str(part))}"
    return words


def explained(error: BaseException) -> int:
    """Write one line about an error, and return the exit code."""
    if isinstance(error, BrokenPipeError):
        drop(sys.stdout)
        return 141
    if follows_interrupt(error):
        report("error", "interrupted before there was a result")
        return INTERRUPTED
    if isinstance(error, MemoryError):
        report("error", f"not enough memory; use fewer rows, columns or hidden units. {error}")
    elif isinstance(error, OSError) and error.errno and error.filename is None:  # all files are named
        report("error", f"cannot use the standard input or output: {error.strerror}")
        try:
            sys.stdout.flush()
        except OSError:
            drop(sys.stdout)
    elif isinstance(error, OSError) and error.errno:
        report("error", _of_file(error))
    elif isinstance(error, EXPECTED) and not _is_foreign(error):
        report("error", error)
    else:
        what = f"{type(error).__name__}: {error}"
        report("error", f"a defect of icdh, please report it with what --debug prints: {what}")
        return 1
    return BAD_INPUT


def _is_foreign(error: BaseException) -> bool:
    """Return whether another library raised an error: what it found wrong is nothing that the user gave."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    file, paths = Path(frame.f_code.co_filename), sysconfig.get_paths()
    is_library = any(file.is_relative_to(paths[kind]) for kind in ("stdlib", "purelib", "platlib"))
    return is_library and not frame.f_globals.get("__name__", "").startswith("icdh.")


def _of_file(error: OSError) -> str:
    """Return a message about a file that could not be opened, with a suggestion."""
    path = error.filename
    if error.errno == errno.ENOENT:
        folder = Path(path).parent
        near = os.listdir(folder) if folder.is_dir() else []
        return f"there is no file {path}{did_you_mean(Path(path).name, near)}"
    known = {errno.EISDIR: "is a folder, not a file", errno.EACCES: "may not be read: permission denied"}
    return f"{path} {known[error.errno]}" if error.errno in known else f"cannot use {path}: {error.strerror}"
