"""``icdh example``: commented scripts to start from."""

import argparse
import sys
from pathlib import Path

from icdh._ground.labels import aligned
from icdh.cli._options import Command, text
from icdh.files import write_text

FOLDER = Path(__file__).parent / "scripts"
NAMES = ("first-hour", "effect", "knowledge", "how-sure", "what-if", "as-library")


def run(args: argparse.Namespace) -> int:
    """List the scripts, print one, or write one and say how to run it."""
    scripts = {name: (FOLDER / f"{name.replace('-', '_')}.py").read_text(encoding="utf-8") for name in NAMES}
    if args.name is None:
        if args.output:
            raise ValueError(f"--output needs the name of a script: {', '.join(NAMES)}")
        titles = [(name, script.partition('"""')[2].partition("\n")[0].rstrip('"')) for name, script in scripts.items()]
        print(*aligned(titles), sep="\n")
        print("print one: icdh example first-hour; keep one: icdh example first-hour --output first_hour.py")
    elif args.output is None:
        sys.stdout.write(scripts[args.name])
    elif Path(args.output).exists():
        raise FileExistsError(f"{args.output} is there already; name another file")
    else:
        write_text(args.output, scripts[args.name])
        print(f"python {args.output}")
    return 0


COMMAND = Command(
    "print or write one of six commented scripts to start from",
    "Print a commented Python script, or write it with --output; without a name, list all scripts.",
    {
        "": {
            "name": {"nargs": "?", "choices": NAMES, "help": "which script"},
            "-o --output": text("FILE", "file to write; an existing one is kept"),
        }
    },
    run,
)
