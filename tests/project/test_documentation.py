"""Every public function says what each of its parameters is: to tools by a hint, to people by a word."""

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import re
import runpy
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import icdh
from icdh.files import write_table

# What users are told of.
PUBLIC = ["icdh._utils.density", "icdh._utils.density", "icdh", *(f"icdh.{module}" for module in icdh._MODULES)]
MANUALS = [Path(__file__).parent.parent.parent / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
MODULES = sorted(name for _, name, _ in pkgutil.walk_packages(icdh.__path__, "icdh."))


def public_things(name):
    """What a module offers: the names it lists, or its own without an underscore."""
    module = importlib.import_module(name)
    own = [key for key, thing in vars(module).items() if getattr(thing, "__module__", None) == name and key[0] != "_"]
    things = [getattr(module, key) for key in getattr(module, "__all__", own)]
    return [thing for thing in things if inspect.isclass(thing) or inspect.isfunction(thing)]


def functions(thing):
    """A function, or the constructor and the public methods of a class; each with its name and its docstring."""
    if inspect.isfunction(thing):
        yield thing.__qualname__, thing, thing.__doc__ or ""
        return
    if inspect.isfunction(thing.__init__) and not getattr(thing, "_is_protocol", False):
        inherited = [owner.__doc__ or "" for owner in thing.__mro__ if owner.__module__.startswith("icdh.")]
        yield f"{thing.__qualname__}()", thing.__init__, "\n".join(inherited)
    for owner in thing.__mro__:
        for name, member in vars(owner).items():
            function = getattr(member, "__func__", member)
            if owner.__module__.startswith("icdh.") and not name.startswith("_") and inspect.isfunction(function):
                yield f"{thing.__qualname__}.{name}", function, function.__doc__ or ""


def offered(name):
    """Whatever can be called of a module: what it is called, its parameters and its docstring."""
    for thing in public_things(name):
        for label, function, text in functions(thing):
            itself = {"self", "cls"} | (
                {"model"} if "." in label else set()
            )  # some methods of a model are functions of it
            yield (
                label,
                [own for own in inspect.signature(function).parameters.values() if own.name not in itself],
                text,
            )


@pytest.mark.parametrize("name", ["icdh", *(name for name in MODULES if "._" not in name)])
def test_every_parameter_has_a_hint(name):
    empty = inspect.Parameter.empty
    assert not {f"{label}: {own.name}" for label, taken, _ in offered(name) for own in taken if own.annotation is empty}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_of_what_users_call_is_explained(name):
    """By its name in the docstring; several parameters take a section of their own, as numpydoc has it."""
    for label, taken, text in offered(name):
        silent = [parameter.name for parameter in taken if not re.search(rf"\b{parameter.name}\b", text)]
        assert not silent, label
        assert len(taken) < 2 or "Parameters\n" in text or "Attributes\n" in text, label


@pytest.mark.parametrize("path", [*sorted(Path(icdh.__file__).parent.rglob("*.py")), *MANUALS], ids=str)
def test_every_name_that_a_text_tells_of_exists(path):
    names = re.findall(r"(?<!`)`(icdh(?:\.\w+)+)`(?!`)", path.read_text(encoding="utf-8"))
    assert not {name for name in names if not exists(name)}


def exists(name):
    """Whether a dotted name leads to a module or to something in one."""
    thing, parts = icdh, name.split(".")
    for k, part in enumerate(parts[1:], start=2):
        if not hasattr(thing, part):
            try:
                importlib.import_module(".".join(parts[:k]))
            except ImportError:
                return part in getattr(thing, "__annotations__", ())
        thing = getattr(thing, part)
    return True


def test_what_users_call_has_one_address():
    by_thing = {}
    for module in ("icdh", *(f"icdh.{name}" for name in icdh._MODULES)):
        for thing in public_things(module):
            by_thing.setdefault(thing, set()).add(f"{module}.{thing.__name__}")
    twice = {name for names in by_thing.values() if len(names) > 1 for name in names}
    assert not twice - {"icdh.Knowledge", "icdh.knowledge.Knowledge"}


def examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in MODULES:
        if not name.rpartition(".")[2].startswith("_"):
            # What other modules show as well is tested where it is.
            tests = finder.find(importlib.import_module(name), name)
            yield from (pytest.param(test, id=test.name) for test in tests if test.examples)


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@pytest.mark.parametrize("test", list(examples()))
def test_the_examples_in_docstrings_run(test, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    with np.printoptions(legacy=False):
        runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


def test_everything_public_has_an_example():
    """But for what a test cannot call."""
    things = [
        getattr(icdh, name) for name in set(icdh._PUBLIC) - {"ConvergenceWarning", "DataWarning", "NotFittedError"}
    ]
    things += [
        thing for module in icdh._MODULES for thing in public_things(f"icdh.{module}") if inspect.isfunction(thing)
    ]
    silent = {thing.__qualname__ for thing in things if ">>> " not in thing.__doc__}
    assert not silent


def test_the_page_of_effects_prints_what_it_shows():
    page = Path(__file__).parent.parent.parent / "docs" / "effects.rst"
    found = doctest.testfile(str(page), module_relative=False)
    assert (found.failed, found.attempted > 30) == (0, True)


EXAMPLES = Path(__file__).parent.parent.parent / "docs" / "examples"
SHOWN = {  # by each script, at the least
    "first_hour": ["150 observations of a, b, c\nHNMSearch: 150 observations of 3 variables", "a -> b: probability"],
    "knowledge": ["with knowledge", "no knowledge: SHD", "watched alone: ", "with an experiment: x1 -> x0 if"],
    "effect": ["estimate            -0.00771", "within sizes: +0.054", "women, third -> crew: 0.4"],
    "how_sure": ["if turned", "a guess", "by the posterior:", "by resamples:", "a path from x0 to x2"],
    "what_if": ["one more unit of dose", "dose on answer", "raised by 1", "with the dose at zero"],
    "as_library": ["negative log-likelihood", "finite differences", "h = ", "SHD to the truth"],
    "train_it_yourself": ["negative log-likelihood", "by icdh.two_phase.algorithm_1", "SHD to the truth"],
    "check_a_gradient": ["differences: ", "complex step: ", "automatic differentiation: ", "the values differ by"],
}


WITHOUT_PICTURES = {"train_it_yourself", "check_a_gradient"}


def test_the_three_algorithms_take_thirty_lines():
    path = EXAMPLES / "train_it_yourself.py"
    lines, functions = path.read_text(encoding="utf-8").splitlines(), ast.parse(path.read_bytes()).body
    taken = [lines[own.lineno - 1 : own.end_lineno] for own in functions if isinstance(own, ast.FunctionDef)]
    assert len(taken) == 3
    assert sum(bool(line.strip()) for own in taken for line in own) <= 30


def test_every_script_is_tested():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SHOWN)


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@pytest.mark.parametrize("name", list(SHOWN))
def test_every_script_prints_what_it_explains(name, tmp_path, monkeypatch, chain, capsys):
    """In this process; the site runs each as one of its own."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLES / f"{name}.py", ".")
    write_table("data.csv", chain.values[:150], chain.columns)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "data.csv"])
    runpy.run_path(f"{name}.py", run_name="__main__")
    out, err = capsys.readouterr()
    assert err == ""
    assert [part for part in SHOWN[name] if part not in out] == []
    pictures = [] if name in WITHOUT_PICTURES else [f"{name}.png"]
    written = ["graph.csv", "graph.png", "model.icdh", "report.html"] if name == "first_hour" else pictures
    assert sorted(os.listdir()) == sorted([*written, f"{name}.py", "data.csv"])
    if name == "first_hour":
        assert icdh.load("model.icdh").names == ["a", "b", "c"]
        assert "</html>" in Path("report.html").read_text(encoding="utf-8")
    if name == "train_it_yourself":
        before, ours, theirs = map(float, re.findall(r" (\d\.\d{3})", out))
        assert ours == pytest.approx(theirs, abs=0.01)
        assert ours < before - 0.2
    if name == "check_a_gradient":
        by_differences, *exact = (float(number) for number in re.findall(r" (\d+e[-+]\d+)", out))
        assert max(exact) < 1e-12 < by_differences < 1e-4
    distances = [int(number) for number in re.findall(r"knowledge: SHD (\d+)", out)]
    assert distances == sorted(distances, reverse=True)
    losses = [float(number) for number in re.findall(r"if turned: (\S+) nats", out)]
    assert losses == [] or losses[0] + 5 < losses[1]
    if name == "what_if":
        seen, done = map(float, re.search(r"dose: (\S+) where it is seen, (\S+) where", out).groups())
        assert seen < done - 0.3
        assert done == pytest.approx(float(re.search(r"the truth: (\S+)", out)[1]), abs=0.25)


# What this project used to say where the field says: effective sample size, identified, query, baseline, candidates.
PRIVATE_WORDS = re.compile(r"\b(worth|told|asked|unheard|rivals?|hopeful|contenders?|foretold|tells? of)\b")


def messages(module):
    """The texts in a module that are no docstrings: parts of messages, help and reports."""
    tree = ast.parse(Path(importlib.import_module(module).__file__).read_text(encoding="utf-8"))
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [node.value for node in texts if id(node) not in statements and " " in node.value]


@pytest.mark.parametrize("name", MODULES)
def test_messages_and_help_have_the_words_of_the_field(name):
    assert not [text for text in messages(name) if PRIVATE_WORDS.search(text)]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_docstrings_have_the_words_of_the_field(name):
    texts = [thing.__doc__ or "" for thing in public_things(name)]
    texts += [text for thing in public_things(name) for _, _, text in functions(thing)]
    assert not [text for text in texts if PRIVATE_WORDS.search(text)]


@pytest.mark.parametrize("path", [MANUALS[0], *(MANUALS[0].parent / "docs").glob("*.rst")], ids=lambda path: path.stem)
def test_pages_have_the_words_of_the_field(path):
    assert not PRIVATE_WORDS.findall(path.read_text(encoding="utf-8"))
