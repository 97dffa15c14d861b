"""The command line: one module of this package for each command.

A command's module has ``COMMAND``, the table of its options, and ``run(args) -> int``, which does the work and returns
the exit code. Modules import what is heavy inside ``run``, so that ``icdh --help`` answers at once.
"""

import argparse
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from icdh._version import __version__
from icdh.cli._messages import BAD_INPUT, as_option, explain
from icdh.cli._messages import report as say  # the name of a command is taken
from icdh.cli._parser import CommandParser
from icdh.exceptions import ConvergenceWarning, DataWarning, naming

COMMANDS = (
    "fit",
    "predict",
    "sample",
    "effects",
    "check",
    "report",
    "direction",
    "simulate",
    "evaluate",
    "warmup",
)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = CommandParser(
        prog="icdh",
        description="Learn from a table which variable causes which. Start with: icdh fit data.csv",
    )
    parser.add_argument("--version", action="version", version=f"icdh {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="command", required=True)
    for name in COMMANDS:
        command = import_module(f"icdh.cli.{name}").COMMAND
        subparsers.add_parser(name, help=command.summary, description=command.description).take(command)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : list of str, optional
        The arguments, without the program's name; by default those of the process.

    Returns
    -------
    int
        0 on success, 2 on bad usage or bad input (one line on stderr explains it), 130 if interrupted, 141 if the
        output was closed, 1 on a defect of icdh.
    """
    return run(parse(argv))


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """Return the parsed arguments of `main`; without any, show the list of commands."""
    parser = build_parser()
    if not (sys.argv[1:] if argv is None else argv):
        parser.print_help(sys.stderr)
        parser.exit(BAD_INPUT)
    try:
        args = parser.parse_args(argv)
        args.words = list(sys.argv[1:] if argv is None else argv)
        return args
    except SystemExit as end:  # after --help or --version, which argparse writes without a flush
        raise SystemExit(_flushed(end.code)) from None


def _flushed(code: Any) -> Any:
    """Flush the standard output; return the exit code, or another one if that fails."""
    if sys.stdout is None:
        return code
    try:
        sys.stdout.flush()
        return code
    except OSError as error:
        return explain(error)


def run(args: argparse.Namespace) -> int:
    """Run the command that `parse` found, and return its exit code."""
    _prepare_streams()
    with warnings.catch_warnings(), naming(as_option), _notes_of_the_library(args.quiet):
        warnings.showwarning = _Warnings()
        for category in (ConvergenceWarning, DataWarning):
            warnings.simplefilter("always", category)
        try:
            code: int = args.run(args)
            sys.stdout.flush()
            return code
        except (KeyboardInterrupt, Exception) as error:
            if args.debug:
                traceback.print_exc()
            return explain(error)


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started the process
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the process ends
        if hasattr(getattr(sys, name), "reconfigure"):  # a name that the terminal cannot show is no reason to fail
            getattr(sys, name).reconfigure(errors="backslashreplace")


class _Warnings:
    """Shows a warning once, not again with every pair of columns or resample that it is about."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def __call__(self, message: Any, *where: Any, **details: Any) -> None:
        if str(message) not in self._said:
            self._said.add(str(message))
            say("warning", message)


class _Notes(logging.Handler):
    """Shows records of a log as notes of the command line."""

    def emit(self, record: logging.LogRecord) -> None:
        say("note", record.getMessage())


@contextmanager
def _notes_of_the_library(quiet: bool) -> Iterator[None]:
    """Show notes about compiling, and about how a file was read."""
    logs, notes = [logging.getLogger(name) for name in ("icdh.compilation", "icdh.files")], _Notes()
    levels = [log.level for log in logs]
    for log in () if quiet else logs:
        log.setLevel(logging.INFO)
        log.addHandler(notes)
    try:
        yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)
            log.removeHandler(notes)
