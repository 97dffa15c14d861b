"""The command line: one module of this package for each command.

A command's module has ``add_parser(subparsers)``, which describes its options and sets ``run`` as a default, and
``run(args) -> int``, which does the work and returns the exit code. Modules import what is heavy inside ``run``, so
that ``icdh --help`` answers at once.
"""

import argparse
import os
import sys
import warnings
from importlib import import_module

from icdh._version import __version__
from icdh.exceptions import ConvergenceWarning, DataWarning, MissingExtraError

COMMANDS = ("fit", "direction", "simulate", "evaluate", "datasets")

SUCCESS = 0
BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(prog="icdh", description="Causal graphs from tables with heteroscedastic noise.")
    parser.add_argument("--version", action="version", version=f"icdh {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="command", required=True)
    for name in COMMANDS:
        import_module(f"icdh.cli.{name}").add_parser(subparsers)
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
        0 on success, 2 on bad usage or bad input, which one line on stderr explains, 130 if interrupted, 141 if
        nobody reads the output any more.
    """
    args = build_parser().parse_args(argv)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        for category in (ConvergenceWarning, DataWarning):
            warnings.simplefilter("always", category)
        try:
            code = args.run(args)
            sys.stdout.flush()
            return code
        except BrokenPipeError:
            # Nobody reads the output any more; Python would complain once more when it closes it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return BROKEN_PIPE
        except (ValueError, TypeError, OSError, MissingExtraError) as error:
            _report("error", error)
            return BAD_INPUT
        except KeyboardInterrupt:
            _report("error", "interrupted")
            return INTERRUPTED


def _show_warning(message, category, filename, lineno, file=None, line=None):
    _report("warning", message)


def _report(kind, message):
    print(f"icdh: {kind}: {' '.join(str(message).split())}", file=sys.stderr)
