"""The picture of the house in CONTRIBUTING.md: imports point downwards only."""

import ast
import re
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from icdh import ICDH, HNMSearch
from icdh.cli import COMMANDS

PACKAGE = Path(__file__).parent.parent.parent / "icdh"
# From the ground up; what stands in one row may import from all rows below it. The core learns and answers.
CORE = (
    ("_version", "exceptions"),
    ("_utils",),
    ("_network_kernels", "graphs", "_rows"),
    ("knowledge",),
    ("_table",),
    ("network", "acyclicity"),
    ("likelihood",),
    ("_node_model", "search"),
    ("_model",),
    ("two_phase",),
    ("_estimators",),
    ("uncertainty",),
    ("_effect",),
    ("diagnostics",),
)
# How people reach the core.
SHELL = (
    ("files", "progress"),
    ("plotting", "datasets", "simulate", "metrics"),
    ("report", "pairs"),
    ("cli",),
    ("__main__", "__init__"),
)
STOREYS = CORE + SHELL
# Inside a room, from the ground up: what stands left of < may not import what stands right of it.
ROOMS = {
    "two_phase": "rounds _kernels < objective < solvers < family < as_printed < procedure",
    "_utils": "arrays < atomic clock density labels parallel < checks jit",
    "_table": "codes transforms < frames kinds < table < experiments < rows",
    "_node_model": (
        "_kernels < noise < law < _outputs_kernels < "
        "_descent_kernels network < response < gaussian discrete < point_masses < "
        "evidence columns < families < additive heteroscedastic screening gain_estimates < generalised_linear < "
        "family_models < score"
    ),
    "search": "climb < orders < order_search < escapes < directions",
    "_model": "causal < export persist < effects < structural",
    "files": "text < sheet < tables < graphs",
    "uncertainty": "ensemble losses < posterior",
    "_estimators": (
        "imputation data_warnings < base < arranged < graph_search < refit two_phase_fit < icdh hnm_search"
    ),
    "_effect": "splines result < sample < adjustment average slope < answer",
    "diagnostics": "result < independence < check",
}


def module_of(path):
    """The dotted name of a file."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in PACKAGE.rglob("*.py")}


def imports(path, for_types=False):
    """Dotted names of all modules of the package that a file imports, lazily or not, and perhaps for types alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    unrun = set() if for_types else {inner for block in blocks for inner in ast.walk(block)}
    for node in set(ast.walk(tree)) - unrun:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "icdh":
            names = [f"{node.module}.{name.name}" for name in node.names]
            yield from (name if name in MODULES or node.module == "icdh" else node.module for name in names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("icdh."))


def storey(name):
    return next(level for level, rooms in enumerate(STOREYS) if name in rooms)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path):
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for name in imports(path):
        target = name.split(".")[1]
        assert target == room or storey(target) < storey(room), f"{room} must not import {name}"


def test_the_core_has_one_door_to_the_shell():
    """The function `shell` of `_model/export.py` loads a room by its name; nothing else in the core does."""
    rooms = {room for storey in CORE for room in storey}
    core = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0].removesuffix(".py") in rooms]
    by_name = {path for path in core if re.search("import_module|__import__", path.read_text(encoding="utf-8"))}
    known = ("_model/export.py", "_table/frames.py", "exceptions.py")
    assert by_name == {PACKAGE / name for name in known}
    asking = [path for path in core if re.search(r"(?<!def )\bshell\(", path.read_text(encoding="utf-8"))]
    assert {path.parent.name for path in asking} == {"_effect", "_model"}


def test_methods_do_not_see_one_another():
    """The article's procedure knows nothing of the node model, and a search nothing of what a family is worth."""
    for room, strangers in (("two_phase", ("_node_model", "pairs")), ("search", ("_node_model", "_model"))):
        for path in (PACKAGE / room).glob("*.py"):
            assert not {name.split(".")[1] for name in imports(path)} & set(strangers)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_inside_a_room_point_downwards(room):
    levels = {name: level for level, names in enumerate(ROOMS[room].split(" < ")) for name in names.split()}
    files = {path.stem for path in (PACKAGE / room).glob("*.py")} - {"__init__"}
    assert files == levels.keys()
    for name in files:
        for target in imports(PACKAGE / room / f"{name}.py"):
            parts = target.split(".")
            if parts[1] == room and len(parts) > 2:
                assert levels[parts[2]] < levels[name], f"{room}.{name} must not import {target}"


def test_no_modules_import_one_another_in_a_circle():
    """Of imports inside functions and for types alone, too."""
    graph = {name: {*imports(path, for_types=True)} & MODULES.keys() - {name} for name, path in MODULES.items()}
    TopologicalSorter(graph).prepare()


def test_every_room_has_a_storey():
    rooms = {path.stem for path in PACKAGE.glob("*.py")} | {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert rooms == {room for rooms in STOREYS for room in rooms}


# Whose arguments another dictates: scikit-learn, NumPy, Numba, a signal, or a function that they are handed to.
DICTATED = ("get_params", "__array__", "_leave", "answer", "check_page_path", "_try", "exponential", "ignored")


def test_what_a_function_takes_it_reads():
    """Methods that several classes have aside: one of them may need less than the others."""
    nodes = [node for path in MODULES.values() for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    methods = [part for node in nodes if isinstance(node, ast.ClassDef) for part in node.body]
    alike = Counter(part.name for part in methods if isinstance(part, ast.FunctionDef))
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and alike[node.name] < 2 and node.name not in DICTATED:
            arguments = {argument.arg for argument in node.args.args + node.args.kwonlyargs}
            read = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            assert arguments - read <= {"self", "cls"}, f"{node.name} does not read what it takes"


def test_every_parameter_of_the_estimators_is_read_where_they_fit():
    nodes = [node for path in (PACKAGE / "_estimators").glob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    read = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute)
        and ast.unparse(node.value) in ("self", "settings", "self.settings", "estimator")
    }
    for estimator in (HNMSearch, ICDH):
        assert estimator().get_params().keys() <= read


def options_of(file, command):
    """The fields that the class of a command has of its own, and the attributes of commands that it or its file reads.

    Not those that other classes of its file read.
    """
    tree = ast.parse((PACKAGE / "cli" / f"{file}.py").read_text(encoding="utf-8"))
    parts = [part for part in tree.body if not isinstance(part, ast.ClassDef) or part.name == command]
    (body,) = (part.body for part in parts if isinstance(part, ast.ClassDef))
    attributes = [node for part in parts for node in ast.walk(part) if isinstance(node, ast.Attribute)]
    return (
        {ast.unparse(part.target) for part in body if isinstance(part, ast.AnnAssign)},
        {node.attr for node in attributes if ast.unparse(node.value) in ("self", "command")},
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_read_by_it_or_is_one_of_all_commands(name):
    options, read = options_of(COMMANDS[name], name.capitalize())
    assert options <= read | options_of("_options", "Command")[0]
