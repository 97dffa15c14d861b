"""``icdh explain``: what the output of a fit means."""

import re
from dataclasses import dataclass
from importlib.resources import files

from icdh.cli._options import Command


@dataclass(frozen=True, kw_only=True)
class Explain(Command):
    """The command."""

    summary = "what the output of a fit means"
    description = "Explain every number, mark and line that icdh fit prints, on an example whose true graph is known."

    def run(self) -> None:
        """Print the page of the manual, without its marks."""
        page = files("icdh.cli").joinpath("reading.rst").read_text(encoding="utf-8")
        marks = r"``|(?<!\S)\*(?=\w+\*)|(?<=\w)\*(?=[\s.])"
        print(re.sub(marks, "", page.replace(".. code-block:: text\n\n", "")), end="")
