"""Draw mutants that nobody chose: one operator, sign or bound of a random line of the numerical modules changes.

A list of mutants brings its tests with it; drawn ones measure the tests. Some compute the
same as the module (a shift that cancels, a bound that is never met); each survivor has to be read.
"""

import ast
import random
from pathlib import Path

OTHER = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.Pow: "*",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.And: "or",
    ast.Or: "and",
}
SIGNS = {"+", "-", "*", "/", "**", "<", "<=", ">", ">=", "==", "!=", "and", "or", "min", "max", "argmin", "argmax"}
NAMES = {"min": "max", "max": "min", "argmin": "argmax", "argmax": "argmin", "any": "all", "all": "any"}


def drawn(root: Path, modules: list[str], count: int, seed: int) -> list[tuple[str, str, str]]:
    """Return ``count`` triples of module, fragment and what it becomes, drawn uniformly from all changes there are."""
    changes = [(module, *change) for module in modules for change in changes_of((root / module).read_text())]
    return random.Random(seed).sample(changes, count)


def changes_of(source: str) -> list[tuple[str, str]]:
    """Return every change of one operator, as a fragment that stands in the source once and its replacement."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def position(line, column):
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    changes = []
    for begin, end, text in replacements(ast.parse(source), position, source):
        fragment = unique_fragment(source, begin, end)
        if fragment is not None:
            first, last = fragment
            changes.append((source[first:last], source[first:begin] + text + source[end:last]))
    return changes


def replacements(tree: ast.Module, position, source: str):
    """Yield begin, end and new text of every operator, minus and name of a bound that can be changed."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.BinOp)
            and type(node.op) in OTHER
            and not isinstance(node.left, ast.Constant | ast.JoinedStr)
        ):
            yield from between(node.left, node.right, OTHER[type(node.op)], position, source)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OTHER:
            yield from between(node.left, node.comparators[0], OTHER[type(node.ops[0])], position, source)
        elif isinstance(node, ast.BoolOp) and len(node.values) == 2:
            yield from between(*node.values, OTHER[type(node.op)], position, source)
        elif (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.USub)
            and not isinstance(node.operand, ast.Constant)
        ):
            begin = position(node.lineno, node.col_offset)
            yield begin, begin + 1, ""
        elif isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name in NAMES:
                end = position(node.end_lineno, node.end_col_offset)
                yield end - len(name), end, NAMES[name]


def between(left: ast.expr, right: ast.expr, other: str, position, source: str):
    """Yield the place of the operator between two expressions, where nothing but it and spaces stands there."""
    begin, end = position(left.end_lineno, left.end_col_offset), position(right.lineno, right.col_offset)
    sign = source[begin:end].strip()
    if sign in SIGNS:
        begin = source.index(sign, begin)
        yield begin, begin + len(sign), other


def unique_fragment(source: str, begin: int, end: int) -> tuple[int, int] | None:
    """Return the whole lines around a place, as many as it takes to stand in the source once."""
    first, last = source.rfind("\n", 0, begin) + 1, source.find("\n", end)
    while source.count(source[first:last]) > 1:
        first = source.rfind("\n", 0, first - 1) + 1
        if first == 0:
            return None
    return first, last
