"""Count the lines of code of ``icdh/``: without docstrings, comments and blanks; files, constants, ``Any``."""

import ast
import io
import tokenize
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "icdh"
SHELL = {"cli", "files", "plotting", "report", "simulate", "datasets"}
SHELL |= {"metrics.py", "pairs.py", "progress.py", "__main__.py"}
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def docstring_lines(tree):
    """Return the numbers of the lines that docstrings take."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            text = node.body[0]
            yield from range(text.lineno, text.end_lineno + 1)


def count(source):
    """Return lines of code, module constants and uses of ``Any``."""
    tree = ast.parse(source)
    silent = set(docstring_lines(tree))
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in SILENT
        for line in range(token.start[0], token.end[0] + 1)
    }
    targets = [
        t for node in tree.body if isinstance(node, ast.Assign) for target in node.targets for t in ast.walk(target)
    ]
    constants = [t for t in targets if isinstance(t, ast.Name) and t.id.isupper()]
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "Any"]
    return len(lines - silent), len(constants), len(uses)


def main():
    total = {"core": [0, 0, 0, 0], "shell": [0, 0, 0, 0]}
    for path in PACKAGE.rglob("*.py"):
        house = "shell" if path.relative_to(PACKAGE).parts[0] in SHELL else "core"
        counted = (*count(path.read_text(encoding="utf-8")), 1)
        total[house] = [a + b for a, b in zip(total[house], counted, strict=True)]
    total["both"] = [sum(column) for column in zip(*total.values(), strict=True)]
    for house, (lines, constants, uses, files) in total.items():
        print(f"{house}: {lines} lines of code, {files} files, {constants} constants, {uses} Any")


if __name__ == "__main__":
    main()
