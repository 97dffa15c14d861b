"""Files that are written whole or not at all, even if the process is killed or the disk fails."""

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

fcntl: ModuleType | None = None
with suppress(ImportError):  # absent on Windows, where leftovers stay
    import fcntl

Pathname: TypeAlias = str | os.PathLike[str]
_TEMPORARY = re.compile(r"\.icdh-[0-9a-f]{8}\.tmp(\..*)?")


@contextmanager
def replace_on_success(path: Pathname) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that takes its place if the body succeeds and vanishes if it fails.

    Parameters
    ----------
    path : str or Path
        The file to write; the temporary path has the same extension. What a symbolic link points to is replaced, not
        the link, and the permissions of an older file are kept. A device or a named pipe is yielded itself.

    Raises
    ------
    OSError
        If the file cannot be written.

    Notes
    -----
    The writing process holds a lock on its temporary file. An unlocked temporary file was left by a killed process;
    the next process that writes into the same folder removes it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from icdh.files import replace_on_success
    >>> with replace_on_success("notes.txt") as temporary:
    ...     length = temporary.write_text("whole or not at all")
    >>> Path("notes.txt").read_text()
    'whole or not at all'
    """
    check_writable(path)
    target = _target(path)
    with _named(path):
        if _is_special(target):
            yield Path(path)
            return
        _remove_abandoned(target.parent)
        with _temporary_file(target, Path(path).suffix) as temporary:
            yield temporary
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            if older := _mode(target):
                os.chmod(temporary, stat.S_IMODE(older))
            os.replace(temporary, target)


def write_text(path: Pathname, text: str) -> None:
    """Write a text as a file, whole or not at all.

    Parameters
    ----------
    path : str or Path
        The file, in UTF-8.
    text : str
        Its content; line ends stay as they are.

    Raises
    ------
    OSError
        If the file cannot be written; an older one then stays as it was.

    Examples
    --------
    >>> from icdh.files import write_text
    >>> write_text("notes.txt", "whole or not at all")
    """
    with replace_on_success(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def check_writable(path: Pathname) -> None:
    """Raise OSError if a file cannot be written at ``path``, before any work is spent on its content.

    Parameters
    ----------
    path : str or Path
        The file; one that is there stays as it is.

    Raises
    ------
    OSError
        If it is a folder or write-protected, its name is too long, or no file can be created beside it.

    Examples
    --------
    >>> from icdh.files import check_writable
    >>> check_writable("graph.csv")
    """
    target = _target(path)
    with _named(path):
        if os.path.isdir(target):
            raise IsADirectoryError("it is a folder; add the name of a file")
        if not os.path.isdir(target.parent):
            raise FileNotFoundError(f"there is no folder {target.parent}")
        if _mode(target) and not os.access(target, os.W_OK):
            raise PermissionError("the file is write-protected")
        if not _is_special(target):
            with _temporary_file(target):
                pass


@contextmanager
def _named(path: Pathname) -> Iterator[None]:
    """Make every OSError say which file it is about."""
    try:
        yield
    except OSError as error:
        raise type(error)(f"cannot write {path}: {error.strerror or error}") from error


def _target(path: Pathname) -> Path:
    """Return the file that a write reaches, through symbolic links."""
    return Path(os.path.realpath(path) if os.path.islink(path) else path)


def _mode(target: Path) -> int:
    """Return what a file is and its permissions; 0 if there is none."""
    try:
        return os.stat(target).st_mode
    except FileNotFoundError:
        return 0


def _is_special(target: Path) -> bool:
    return _mode(target) != 0 and not target.is_file()


@contextmanager
def _temporary_file(target: Path, suffix: str = "") -> Iterator[Path]:
    """Yield a new file in the folder of the target, locked as long as the body runs, and gone afterwards."""
    with ExitStack() as lock:
        while True:
            # Folders limit the length of names.
            temporary = target.with_name(f".icdh-{secrets.token_hex(4)}.tmp{suffix[:16]}")
            descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
            if fcntl is None:
                os.close(descriptor)
                break
            lock.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:  # no other process removed it as abandoned before it was locked
                break
        try:
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)


def _remove_abandoned(folder: Path) -> None:
    if fcntl is None:
        return
    for leftover in [path for path in folder.iterdir() if _TEMPORARY.fullmatch(path.name)]:
        with suppress(OSError), open(leftover, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            leftover.unlink()
