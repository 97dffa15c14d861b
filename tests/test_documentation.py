"""Every public function says what each of its parameters is: to tools by a hint, to people by a word."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import icdh

# What users are told of: the names in ``__all__``, or where there is none whatever does not begin with an underscore.
PUBLIC = (
    "icdh",
    "icdh.acyclicity",
    "icdh.datasets",
    "icdh.diagnostics",
    "icdh._ground.density",
    "icdh._ground.entropy",
    "icdh.files",
    "icdh.graphs",
    "icdh.knowledge",
    "icdh.likelihood",
    "icdh.metrics",
    "icdh.network",
    "icdh.plotting",
    "icdh.search",
    "icdh.simulate",
    "icdh.two_phase",
    "icdh.uncertainty",
)
MANUALS = [Path(__file__).parent.parent / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]


def every_module():
    names = [module.name for module in pkgutil.walk_packages(icdh.__path__, "icdh.")]
    return [name for name in names if not any(part.startswith("_") for part in name.split("."))]


def public_things(name):
    """What a module offers: the names it lists, or its own without an underscore."""
    module = importlib.import_module(name)
    if hasattr(module, "__all__"):
        things = [getattr(module, listed) for listed in module.__all__]
    else:
        things = [
            thing
            for own, thing in vars(module).items()
            if not own.startswith("_") and getattr(thing, "__module__", None) == name
        ]
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


def parameters(function, label):
    named = inspect.signature(function).parameters.values()
    itself = (
        ("self", "cls", "model") if "." in label else ("self", "cls")
    )  # some methods of a model are functions of it
    return [parameter for parameter in named if parameter.name not in itself]


def offered(name):
    """Whatever can be called of a module: what it is called, its parameters and its docstring."""
    for thing in public_things(name):
        for label, function, text in functions(thing):
            yield label, parameters(function, label), text


@pytest.mark.parametrize("name", ["icdh", *every_module()])
def test_every_parameter_has_a_hint(name):
    bare = {
        f"{label}: {parameter.name}"
        for label, taken, _ in offered(name)
        for parameter in taken
        if parameter.annotation is inspect.Parameter.empty
    }
    assert not bare


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_of_what_users_call_is_explained(name):
    """By its name in the docstring; several parameters take a section of their own, as numpydoc has it."""
    for label, taken, text in offered(name):
        silent = [parameter.name for parameter in taken if not re.search(rf"\b{parameter.name}\b", text)]
        assert not silent, label
        assert len(taken) < 2 or "Parameters\n" in text or "Attributes\n" in text, label


@pytest.mark.parametrize("path", [*sorted(Path(icdh.__file__).parent.rglob("*.py")), *MANUALS], ids=str)
def test_every_name_that_a_text_tells_of_exists(path):
    strange = {
        name
        for name in re.findall(r"(?<!`)`(icdh(?:\.\w+)+)`(?!`)", path.read_text(encoding="utf-8"))
        if not exists(name)
    }
    assert not strange


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
