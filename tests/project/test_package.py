"""What the package shows: names and defaults on import, types to checkers, a source distribution to an index."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from email.parser import Parser
from importlib import import_module
from pathlib import Path

import pytest
from helpers import ROOT, cases

import icdh

SCRIPT = """
import numpy as np

import icdh
from icdh import ICDH, HNMSearch, Interventions, Knowledge, Shift, bootstrap, causal_direction, load, posterior
from icdh import check, refits, simulate
from icdh.datasets import load_sachs

sachs = load_sachs()
model = ICDH(scaling="standardize", random_state=0).fit(sachs.table)
for edge in model.edge_list():
    print(f"{edge.cause} -> {edge.effect}  {edge.strength:.2f}")
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


def run(*command, **options):
    return subprocess.run(command, **{"capture_output": True, "text": True, "check": False, "cwd": ROOT} | options)


def printed(*command, **options):
    """What Python prints in a process of its own that ends well."""
    result = run(sys.executable, *command, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@cases("statement", "import icdh", "import icdh; icdh.ICDH()", "import icdh.cli; icdh.cli.build_parser()")
def test_importing_loads_nothing_heavy(statement):
    heavy = ("numba", "scipy.optimize", "scipy.linalg", "pandas", "sklearn", "matplotlib", "networkx")
    loaded = printed("-c", f"import sys; {statement}; print([name for name in {heavy!r} if name in sys.modules])")
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
    assert printed("-c", code).strip() == "True"


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


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


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


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The folder that a source distribution unpacks to."""
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("sdist")
    ignored = shutil.ignore_patterns(".git", ".venv", "build", "dist", "*.egg-info", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, folder / "tree", ignore=ignored)
    code = "from setuptools.build_meta import build_sdist; build_sdist('..')"
    printed("-W", "ignore", "-c", code, cwd=folder / "tree")
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return folder / archive.name.removesuffix(".tar.gz")


def test_a_source_distribution_holds_the_package_alone(unpacked):
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md"):
        assert (unpacked / name).is_file(), name
    files = [path.relative_to(ROOT) for path in (ROOT / "icdh").rglob("*.*") if "__pycache__" not in path.parts]
    needed = [path for path in files if path.suffix in (".py", ".gz", ".csv", ".html")]
    assert [path for path in needed if not (unpacked / path).exists()] == []
    assert {path.name for path in unpacked.iterdir() if path.is_dir()} == {"icdh", "icdh.egg-info"}
    assert not list(unpacked.rglob("*.pyc"))
    assert sum(path.stat().st_size for path in unpacked.rglob("*") if path.is_file()) < 2_000_000


def test_the_page_of_promises_has_every_public_name():
    page = (ROOT / "docs" / "promises.rst").read_text(encoding="utf-8").partition("How a name goes")[0]
    names = set(re.findall(r"``(icdh\.\w+|[A-Za-z]\w+)``", page)) - {"icdh", "random_state", "n_jobs", "__all__"}
    assert names == {*icdh._PUBLIC, *(f"icdh.{name}" for name in icdh._MODULES)}


def test_metadata_name_the_authors_and_show_the_readme(unpacked):
    metadata = Parser().parsestr((unpacked / "PKG-INFO").read_text(encoding="utf-8"))
    assert metadata["Author"] == "icdh contributors"
    assert metadata.get_payload().strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()


def test_links_of_the_readme_lead_to_files_and_to_the_address_on_an_index():
    links = re.findall(r"\]\(([^()]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    relative = [link.partition("#")[0] for link in links if not link.startswith(("http", "#"))]
    assert relative
    assert [link for link in relative if not (ROOT / link).exists()] == []
    shown = printed(".ci/readme_for_index.py", "https://example.org/icdh")
    for link in re.findall(r"\]\(([^()]+)\)", shown):
        assert link.startswith(("http", "#")), link
    assert f"](https://example.org/icdh/blob/main/{relative[-1]})" in shown
