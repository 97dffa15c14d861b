"""Run the recipes of the page "In other libraries": those of the libraries that are named, or installed.

python .ci/recipes.py [LIBRARY ...]
"""

import re
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

PAGE = Path(__file__).resolve().parent.parent / "docs" / "other_libraries.rst"
# Others are imported by the name they have.
MODULES = {"scikit-learn": "sklearn", "gcastle": "castle", "DoWhy": "dowhy", "causal-learn": "causallearn"}


def recipes():
    """Return the first block of the page, and pairs of a library and a block that follows."""
    text = PAGE.read_text(encoding="utf-8")
    parts = re.findall(r"^(\S+)\n[-^]+\n|^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", text, flags=re.MULTILINE)
    first, found, library = "", [], ""
    for title, block in parts:
        if title:
            library = title
        elif first:
            found.append((library, dedent(block)))
        else:
            first = dedent(block)
    return first, found


def is_installed(library):
    """Return whether a library can be imported."""
    return find_spec(MODULES.get(library, library)) is not None


def main():
    first, found = recipes()
    wanted = {name.lower() for name in sys.argv[1:]} or {name.lower() for name, _ in found if is_installed(name)}
    warnings.simplefilter("ignore")  # of other libraries
    for library, block in found:
        if library.lower() in wanted:
            try:
                exec(first + block, {"__name__": "recipe"})
            except ModuleNotFoundError as error:
                if error.name != "torch":  # too heavy for every run
                    raise
                print(f"{library}: a recipe needs torch")
            else:
                print(f"{library}: a recipe works")


if __name__ == "__main__":
    main()
