"""``icdh example``: commented scripts to start from."""

import argparse
import ast
import sys
from pathlib import Path
from typing import Any

from icdh.cli._help import HelpFormatter
from icdh.files import replace_on_success

FOLDER = Path(__file__).parent / "scripts"
NAMES = ("first-hour", "effect", "knowledge", "how-sure", "what-if", "as-library")


def add_parser(subparsers: Any) -> None:
    """Describe the command's options."""
    parser = subparsers.add_parser(
        "example",
        help="print or write one of six commented scripts to start from",
        description="Print a commented Python script, or write it with --output; without a name, list all scripts.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("name", nargs="?", choices=NAMES, help="which script")
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write; an existing one is kept")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List the scripts, print one, or write one and say how to run it."""
    if args.name is None:
        if args.output:
            raise ValueError(f"--output needs the name of a script: {', '.join(NAMES)}")
        print("\n".join(f"{name:<11} {_title(name)}" for name in NAMES))
        print("print one: icdh example first-hour; keep one: icdh example first-hour --output first_hour.py")
        return 0
    if args.output is None:
        sys.stdout.write(_text(args.name))
        return 0
    if Path(args.output).exists():
        raise FileExistsError(f"{args.output} is there already; name another file")
    with replace_on_success(args.output) as temporary:
        temporary.write_text(_text(args.name), encoding="utf-8")
    print(f"python {args.output}")
    return 0


def _text(name):
    return (FOLDER / f"{name.replace('-', '_')}.py").read_text(encoding="utf-8")


def _title(name):
    return ast.get_docstring(ast.parse(_text(name))).splitlines()[0]
