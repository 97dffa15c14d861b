import ast
import re
import subprocess
import sys

import pytest
from helpers import ROOT

import icdh


def run(code):
    """Run Python code in a process of its own and return what it prints."""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize(
    "statement", ["import icdh", "import icdh; icdh.ICDH(l1=0.1)", "import icdh.cli; icdh.cli.build_parser()"]
)
def test_importing_loads_nothing_heavy(statement):
    heavy = ("numba", "scipy.optimize", "scipy.linalg", "pandas", "sklearn", "matplotlib", "networkx")
    loaded = run(f"import sys; {statement}; print([name for name in {heavy!r} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_importing_touches_no_global_state():
    code = """
import os, warnings, logging
import numpy as np
state = lambda: (np.get_printoptions(), np.geterr(), np.random.get_state()[1].tolist(), dict(os.environ),
                 list(warnings.filters), logging.getLogger().handlers[:], logging.getLogger().level)
before = state()
import icdh
import icdh._estimators.icdh, icdh.graphs, icdh.files, icdh.network, icdh.likelihood
print(before == state())
"""
    assert run(code).strip() == "True"


def test_public_names_are_listed_found_and_documented_and_an_unknown_one_is_an_attribute_error():
    assert set(icdh.__all__) <= set(dir(icdh))
    for name in icdh.__all__:
        assert name == "__version__" or getattr(icdh, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = icdh.nonsense


@pytest.mark.parametrize("estimator", [icdh.ICDH, icdh.HNMSearch])
def test_docstrings_name_the_defaults(estimator):
    described = estimator.__doc__.partition("Parameters\n")[2].partition("Attributes\n")[0]
    lines = dict(re.findall(r"^    (\w[\w, ]*) : (.*)$", described, flags=re.MULTILINE))
    documented = {name: line for names, line in lines.items() for name in names.split(", ")}
    parameters = estimator().get_params()
    assert documented.keys() == parameters.keys()
    for name, value in parameters.items():
        default = documented[name].partition("default ")[2]
        assert (ast.literal_eval(default) == value) if default else value is None, name
