"""The examples in docstrings say the truth."""

import doctest
import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from test_documentation import public_things

import icdh

MODULES = sorted(
    name
    for _, name, _ in pkgutil.walk_packages(icdh.__path__, "icdh.")
    if not name.endswith("__main__") and not name.rpartition(".")[2].startswith("_")
)


def examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in MODULES:
        module = importlib.import_module(name)
        for test in finder.find(module, name):
            # What other modules show as well is tested where it is.
            if test.examples:
                yield pytest.param(test, id=test.name)


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@pytest.mark.parametrize("test", list(examples()))
def test_the_examples_in_docstrings_run(test, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    with np.printoptions(legacy=False):
        runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


def public_functions():
    """What the public names and modules offer to be called, but for what a test cannot call."""
    for name in sorted(set(icdh._PUBLIC) - {"ConvergenceWarning", "DataWarning", "NotFittedError"}):
        yield pytest.param(getattr(icdh, name), id=name)
    for module in icdh._MODULES:
        for thing in public_things(f"icdh.{module}"):
            if inspect.isfunction(thing) and thing.__name__ != "fetch_tuebingen":  # it downloads
                yield pytest.param(thing, id=f"{module}.{thing.__name__}")


@pytest.mark.parametrize("thing", list(public_functions()))
def test_everything_public_has_an_example(thing):
    assert ">>> " in thing.__doc__
