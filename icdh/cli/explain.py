"""``icdh explain``: what the output of a fit means."""

import argparse
import re
from importlib.resources import files

from icdh.cli._options import Command


def run(args: argparse.Namespace) -> None:
    """Print the page of the manual, without its marks."""
    page = files("icdh.cli").joinpath("reading.rst").read_text(encoding="utf-8")
    print(re.sub(r"``|(?<!\S)\*(?=\w+\*)|(?<=\w)\*(?=\s)", "", page.replace(".. code-block:: text\n\n", "")), end="")


COMMAND = Command(
    "what the output of a fit means",
    "Explain every number, mark and line that icdh fit prints, on an example whose true graph is known.",
    {},
    run,
)
