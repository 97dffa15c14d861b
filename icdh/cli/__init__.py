"""The command line: commands that are about the same stand in one module of this package.

A command is a frozen dataclass: its fields are the options, and ``run`` does the work and returns the exit code, or
None for 0. Modules import what is heavy inside ``run``, so that ``icdh --help`` answers at once.
"""

import argparse
import logging
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from functools import cache, partial
from importlib import import_module
from typing import Any, NoReturn

from icdh._utils.labels import did_you_mean, listed
from icdh._version import __version__
from icdh.cli._input import MODEL, check_files
from icdh.cli._messages import BAD_INPUT, as_option, explained
from icdh.cli._messages import report as say  # the name of a command is taken
from icdh.cli._options import PARAMETERS, REQUIRED, Command, EstimatorOptions, Once, parameter
from icdh.exceptions import ConvergenceWarning, DataWarning, naming

# The commands and their modules, in the order of the help.
COMMANDS = {
    "fit": "fit",
    "predict": "saved_model",
    "sample": "saved_model",
    "effects": "effects",
    "check": "saved_model",
    "report": "saved_model",
    "direction": "direction",
    "simulate": "known_graph",
    "evaluate": "known_graph",
    "explain": "fit",
}


def build_parser(whole: bool = True) -> argparse.ArgumentParser:
    """Return the parser of all commands, whose help is whole or shows what is usual."""
    summary = "Learn from a table which variable causes which. Start with: icdh fit data.csv"
    parser = CommandParser(prog="icdh", description=summary)
    parser.add_argument("--version", action="version", version=f"icdh {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="command", required=True)
    for name, module in COMMANDS.items():
        command: type[Command] = getattr(import_module(f"icdh.cli.{module}"), name.capitalize())
        subparsers.add_parser(name, help=command.summary, description=command.description).take(command, whole)
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


def parse(argv: list[str] | None = None) -> Command:
    """Return the command that the arguments of `main` are; without any, show the list of commands."""
    words = sys.argv[1:] if argv is None else argv
    parser = build_parser(whole=any(word.startswith("--help-") for word in words))
    if not words:
        parser.print_help(sys.stderr)
        parser.exit(BAD_INPUT)
    try:
        return _command(**vars(parser.parse_args(words)), words=words)
    except SystemExit:  # after --help or --version, which argparse writes without a flush
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError as error:
            raise SystemExit(explained(error)) from None
        raise


def _command(kind: type[Command], **given: Any) -> Command:
    names = {part.name for part in fields(kind)}
    parameters = {name: given.pop(name) for name in list(given) if name not in names}
    return kind(parameters=parameters, **given)


def run(command: Command) -> int:
    """Run a command, and return its exit code."""
    _prepare_streams()
    say_once = cache(partial(say, "warning"))  # not again with every pair of columns or resample
    with warnings.catch_warnings(), naming(as_option), _notes_of_the_library(command.quiet):
        warnings.showwarning = lambda message, *where, **details: say_once(str(message))
        for category in (ConvergenceWarning, DataWarning):
            warnings.simplefilter("always", category)
        try:
            check_files(command.files)
            code = command.run()
            sys.stdout.flush()
            return code or 0
        except (KeyboardInterrupt, Exception) as error:
            if command.debug:
                traceback.print_exc()
            return explained(error)


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started the process
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the process ends
        if hasattr(getattr(sys, name), "reconfigure"):  # a name that the terminal cannot show is no reason to fail
            getattr(sys, name).reconfigure(errors="backslashreplace")


class _Notes(logging.Handler):
    """Shows records of a log as notes of the command line."""

    def emit(self, record: logging.LogRecord) -> None:
        say("note", record.getMessage())


@contextmanager
def _notes_of_the_library(quiet: bool) -> Iterator[None]:
    """Show notes about compiling, and about how a file was read."""
    notes = _Notes()
    with ExitStack() as after:
        for log in () if quiet else map(logging.getLogger, ("icdh.compilation", "icdh.files")):
            after.callback(log.setLevel, log.level)
            after.callback(log.removeHandler, notes)
            log.setLevel(logging.INFO)
            log.addHandler(notes)
        yield


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors fit on one line, name the command and suggest what was meant."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.register("action", None, Once)
        self._negative_number_matcher = re.compile(r"-\.?\d")  # -999,* is a value, too

    def take(self, command: type[Command], whole: bool) -> None:
        """Read the options of a command; its help is whole or shows those that are usual."""
        self.set_defaults(kind=command)
        for title, options in command.groups():
            group = self.add_argument_group(title) if title else self
            exclusive: dict[str, argparse._ActionsContainer] = {}
            for option in options:
                either, how = option.metadata["either"], option.metadata["how"]
                if either and either not in exclusive:
                    exclusive[either] = group.add_mutually_exclusive_group(required=either == REQUIRED)
                names = [option.name]
                if not getattr(how.get("type"), "called", "") or option.metadata["flags"]:
                    names = (option.metadata["flags"] or f"--{option.name.replace('_', '-')}").split()
                    how = {**how, "dest": option.name}
                exclusive.get(either, group).add_argument(*names, default=argparse.SUPPRESS, **how)
            for name in PARAMETERS if title == EstimatorOptions.title else ():
                flags = ("--n-jobs", "--jobs") if name == "n_jobs" else (f"--{name.replace('_', '-')}",)
                group.add_argument(*flags, default=argparse.SUPPRESS, **parameter(name))
        self.add_argument("--debug", action="store_true", help="show where in the program an error arose")
        if command.usual:
            self.usage = f"{self.prog} [options] data.csv"
            self.add_argument("--help-all", action="help", help="show all options and exit")
        if command.usual and not whole:
            hidden = [action for action in self._actions if action.dest not in ("help", "help_all", *command.usual)]
            for action in hidden:
                action.help = argparse.SUPPRESS
            self.epilog = f"{len(hidden)} more options: {self.prog} --help-all"

    def parse_known_args(  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuse unknown arguments at once, with a suggestion."""
        known, unknown = super().parse_known_args(args, namespace or argparse.Namespace())
        model = str(getattr(known, "data", None))
        is_first = "--model" in self._option_string_actions and model.lower().endswith(MODEL)
        if is_first and not hasattr(known, "model") and len(unknown) == 1 and not unknown[0].startswith("-"):
            known.model, known.data, unknown = model, unknown[0], []  # first the model, then the table
        if unknown and unknown[0].startswith(("--where", "--filter", "--rows-where")):
            self.error("no option selects rows: write those to read into a file of their own; quote > and < in a shell")
        if unknown:
            options = [option for option in self._option_string_actions if option.startswith("--")]
            meant = did_you_mean(unknown[0].partition("=")[0], options) if unknown[0].startswith("-") else ""
            words = [*(args or unknown)]
            before = [word for word in words[: words.index(unknown[0])] if word in options]
            metavar = self._option_string_actions[before[-1]].metavar if before else None
            if not meant and "," in str(metavar):
                meant = f"; names are separated by commas: {before[-1]} {metavar}"
            self.error(f"no such option or argument here: {' '.join(unknown)}{meant}")
        return known, unknown

    def _check_value(self, action: argparse.Action, value: str) -> None:
        if action.choices is not None and value not in action.choices:
            argument = action if action.option_strings else None
            meant = did_you_mean(value, action.choices)
            raise argparse.ArgumentError(argument, f"{value!r} is none of {listed(action.choices)}{meant}")

    def error(self, message: str) -> NoReturn:
        """Print the error in one line, with the command that shows help, and exit."""
        if message.startswith("one of the arguments data "):
            place = f"before options that take several names: {self.prog} data.csv --drop id"
            model = "; a model may stand in its place" if "--model" in self._option_string_actions else ""
            message = f"a table is missing; it stands {place}{model}"
        if message.endswith("required: data") and "model" in [action.dest for action in self._actions]:
            place = f"{self.prog} m.icdh data.csv, after icdh fit data.csv --save m.icdh"
            message = f"a model and a table are required: {place}"
        self.exit(BAD_INPUT, f"{self.prog}: error: {message}; see {self.prog} --help\n".replace("?;", "?"))
