"""The parser of a command: errors in one line, with suggestions; short help by default."""

import argparse
import re
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from icdh._ground.labels import did_you_mean, listed
from icdh.cli._files import is_model
from icdh.cli._messages import BAD_INPUT
from icdh.cli._options import NOT_GIVEN, Command, Either, Option


class _HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Show defaults, but for options that have none."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        silent = action.default is None or action.default is False or action.default == []
        return action.help if silent else super()._get_help_string(action)


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors fit on one line, name the command and suggest what was meant.

    Attributes
    ----------
    usual : collection of str
        The destinations of the options that ``--help`` shows; all, if there are none. ``--help-all`` shows the others.
    """

    usual: Collection[str] = ()

    def __init__(self, **kwargs: Any):
        super().__init__(formatter_class=_HelpFormatter, **kwargs)
        self._negative_number_matcher = re.compile(r"-\.?\d")  # -999,* is a value, too

    def take(self, command: Command) -> None:
        """Read the options of a command."""
        self.set_defaults(run=command.run, parser=self, **NOT_GIVEN)
        for title, options in command.options.items():
            _add(self.add_argument_group(title) if title else self, options)
        self.add_argument("--debug", action="store_true", help="show where in the program an error arose")
        if command.usual:
            self.usual, self.usage = ("help", "help_all", *command.usual), f"{self.prog} [options] data.csv"
            self.add_argument("--help-all", action=_HelpAll, nargs=0, help="show all options and exit")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Refuse unknown arguments at once, with a suggestion."""
        known, unknown = super().parse_known_args(args, namespace)
        takes_model = "--model" in self._option_string_actions and not known.model and is_model(known.data)
        if takes_model and len(unknown) == 1 and not unknown[0].startswith("-"):
            known.model, known.data, unknown = known.data, unknown[0], []  # first the model, then the table
        if unknown:
            options = [option for option in self._option_string_actions if option.startswith("--")]
            meant = did_you_mean(unknown[0].partition("=")[0], options) if unknown[0].startswith("-") else ""
            self.error(f"no such option or argument here: {' '.join(unknown)}{meant}")
        return known, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            argument = action if action.option_strings else None
            meant = did_you_mean(value, action.choices)
            raise argparse.ArgumentError(argument, f"{value!r} is none of {listed(action.choices)}{meant}")

    def choices_of(self, destination: str) -> list[str]:
        """Return the words that an option takes."""
        return [word for action in self._actions if action.dest == destination for word in action.choices or ()]

    def format_help(self) -> str:
        """Return the help of the usual options, and the number of the others."""
        hidden = {action: action.help for action in self._actions if self.usual and action.dest not in self.usual}
        try:
            for action in hidden:
                action.help = argparse.SUPPRESS
            text = super().format_help()
        finally:
            for action, help in hidden.items():
                action.help = help
        return f"{text}\n{len(hidden)} more options: {self.prog} --help-all\n" if hidden else text

    def error(self, message: str) -> NoReturn:
        """Print the error in one line, with the command that shows help, and exit."""
        if message == "one of the arguments data --dataset is required":
            message = (
                f"a table is missing; it stands before options that take several names: {self.prog} data.csv --drop id"
            )
        self.exit(BAD_INPUT, f"{self.prog}: error: {message}; see {self.prog} --help\n".replace("?;", "?"))


def _add(group: Any, options: Mapping[str, Option | Either]) -> None:
    for flags, option in options.items():
        if isinstance(option, Either):
            _add(group.add_mutually_exclusive_group(required=option.required), option.options)
        else:
            group.add_argument(*flags.split(), **option)


class _HelpAll(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        parser.usual = ()
        parser.print_help()
        parser.exit()
