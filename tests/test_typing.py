"""What type checkers see of the package: a user's script with deliberate mistakes has these errors and no others."""

import ast
import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from helpers import ROOT

import icdh

SCRIPT = """
import numpy as np

import icdh
from icdh import ICDH, HNMSearch, Interventions, Knowledge, Shift, bootstrap, causal_direction, load, posterior
from icdh import check, refits, simulate
from icdh.datasets import load_sachs

sachs = load_sachs()
model = ICDH(scaling="standardize", random_state=0).fit(sachs.table)
for cause, effect, strength in model.edge_list():
    print(f"{cause} -> {effect}  {strength:.2f}")
search = HNMSearch(knowledge=Knowledge(roots=["PKC"]), max_edges=9).fit(sachs.data)
again = search.rethreshold(max_edges=3)
total: float = again.evidence_ + again.nll_ + again.score(sachs.data)
print(posterior(search).edge_probability.round(2), bootstrap(search, sachs.data).edge_probability, refits, check)
order: list[int] = icdh.graphs.causal_order(search.adjacency_matrix_)
search.save("m.icdh")
print(load("m.icdh").sample(3, do={"PKA": Shift(2.0)}), search.sample(3, random_state=1), search.to_networkx())
data = simulate.simulate_sem(simulate.erdos_renyi(4, 1, random_state=3), 500, random_state=3)
verdict: str = causal_direction(data.X[:, 0], data.X[:, 1]).direction
weights = icdh.network.initial_weights(data.X, 4, False, np.random.default_rng(0))
value, gradient = icdh.likelihood.nll_and_gradient(data.X, weights)
print(search.set_params(n_jobs=2).n_jobs, search.average_effect(0, 1, [1.0]).mean, Interventions, model.network_.w1)

HNMSearch(edge_penalti=3)  # wrong
ICDH(hidden_units="ten")  # wrong
model.rethreshold(max_edges="two")  # wrong
search.sampel(3)  # wrong
search.sample("three", random_state=0)  # wrong
icdh.HNMSerach()  # wrong
load(3.0)  # wrong
search.evidence_.upper()  # wrong
icdh.graphs.causal_order()  # wrong
"""
WRONG = [number for number, line in enumerate(SCRIPT.splitlines(), start=1) if line.endswith("# wrong")]


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.mark.slow
def test_mypy_finds_the_mistakes_of_a_script_and_no_others(script, tmp_path):
    pytest.importorskip("mypy")
    options = ["--strict", "--follow-imports=silent", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    paths = os.environ | {"MYPYPATH": str(ROOT)}
    found = run(sys.executable, "-m", "mypy", *options, str(script), cwd=tmp_path, env=paths)
    assert not found.stderr
    assert [int(line) for line in re.findall(r":(\d+): error:", found.stdout)] == WRONG, found.stdout


def pyright_runs():
    """Return whether pyright is there, and needs no download."""
    try:
        return run("pyright", "--version", timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@pytest.mark.slow
def test_pyright_finds_the_mistakes_of_a_script_and_no_others(script, tmp_path):
    if not pyright_runs():
        pytest.skip("pyright is not installed")
    settings = {"include": [script.name], "extraPaths": [str(ROOT)], "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    found = run("pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path), cwd=tmp_path).stdout
    errors = json.loads(found)["generalDiagnostics"]
    assert [error["range"]["start"]["line"] + 1 for error in errors] == WRONG, found


def test_type_checkers_are_told_of_every_public_name():
    source = ast.parse(Path(icdh.__file__).read_text())
    told = [node for node in source.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    names = {alias.asname: (own.module, alias.name) for node in told for own in node.body for alias in own.names}
    assert names.keys() == set(icdh.__all__) - {"__version__"}
    for name, (module, there) in names.items():
        assert there == name
        assert getattr(icdh, name) is getattr(import_module(module), name)
