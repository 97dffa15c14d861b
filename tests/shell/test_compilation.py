"""What is compiled once and kept, what says so, what never is compiled again, and that nothing depends on it."""

import ast
import logging
import os
import shutil
import subprocess
import sys
import threading

import pytest
from helpers import IMPATIENT, ROOT, python, warmed_up, without_progress
from support.utils import CompilationWatch, compiling, logger

FITS_OF_EVERY_KIND = """
import gc, warnings
from dataclasses import replace
import numpy as np
from numba.core.dispatcher import Dispatcher
from pandas import DataFrame
from icdh import ICDH, HNMSearch, Knowledge, causal_direction, posterior
from icdh._utils.jit import watch
from icdh.likelihood import nll, nll_and_gradient
from icdh.network import forward, initial_weights
from icdh.two_phase import phase_two_objective
warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
X = rng.normal(size=(300, 4))
X[:, 1] += 2.0 * np.tanh(X[:, 0])
read_only, read_only_columns = X.copy(), np.asfortranarray(X)
read_only.flags.writeable = read_only_columns.flags.writeable = False
unaligned = np.zeros(X.nbytes + 1, dtype=np.uint8)[1:].view(float).reshape(X.shape)
unaligned[...] = X
layouts = [X, np.asfortranarray(X), X.astype(np.float32), (10.0 * X).astype(int), X[::2], X[:, ::-1], X[:, :2]]
layouts += [read_only, read_only_columns, X.astype(">f8"), unaligned, DataFrame(X).astype("float32")]
for table in layouts:
    models = ICDH(max_rounds=1).fit(table), HNMSearch().fit(table)
    for model in models:
        model.score(table), model.sample(5, random_state=0)
    causal_direction(np.asarray(table)[:, 0], np.asarray(table)[:, 1])
    for bias, units in ((False, 3), (True, 1)):
        weights = initial_weights(table, units, bias, rng)
        for given in (weights, replace(weights), weights.from_vector(weights.to_vector())):
            rows, scale = np.asarray(table) > 0.0, np.exp(np.asarray(table, dtype=float) / 10.0)
            nll(table, given), forward(table, given), nll_and_gradient(table, given, rows=rows)
            nll_and_gradient(table, given, scale=np.asfortranarray(scale), rows=rows.astype(int))
            phase_two_objective(table, DataFrame(scale), given, l1=0.1, l2=0.1, rho=1.0, alpha=1.0)
known = Knowledge(forbidden=[(0, 2)], required=[(0, 1)])
for options in ({"bias": True}, {"noise": "equal"}, {"noise": "unequal"}, {"schedule": "paper"}, {"knowledge": known},
                {"hidden_units": 1}):
    model = ICDH(max_rounds=2, **options).fit(X)
    model.score(X), nll_and_gradient(X, model.network_)
for options in ({"noise_distribution": "gaussian"}, {"knowledge": known}, {"search": "exact"}):
    posterior(HNMSearch(**options).fit(X), n_samples=10)
set_by_experiment = np.zeros(X.shape, dtype=bool)
set_by_experiment[:150, 1] = True
for method in (ICDH(max_rounds=1), HNMSearch()):
    method.fit(X, interventions=set_by_experiment)
X[:, 3] = np.maximum(X[:, 3], 0.0)
counted = np.column_stack([X, np.digitize(X[:, 0], (-1, 0, 1)), X[:, 1] > 0, np.digitize(X[:, 2], (-1, 1))])
for table in (counted, np.asfortranarray(counted), counted[::2]):
    HNMSearch(kinds={6: "categorical"}).fit(table)
print(watch.compiled)
kernels = [own for own in gc.get_objects() if isinstance(own, Dispatcher) and own.__module__.startswith("icdh.")]
print([own.__name__ for own in kernels if len(own.signatures) > 1])
"""


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A folder that fits of every kind filled, and what was said meanwhile."""
    return warmed_up(tmp_path_factory.mktemp("warm"))


def kernels():
    """Module and name of every function that is compiled on its own."""
    for path in (ROOT / "icdh").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            decorators = [ast.unparse(d) for d in getattr(node, "decorator_list", ())]
            if any(d.startswith("kernel(") and "inline" not in d for d in decorators):
                yield f"{path.stem}.{node.name}"


def test_every_kernel_is_compiled_once_which_is_said_once(warm):
    folder, said = warm
    assert sorted([path.name.partition("-")[0] for path in folder.rglob("*.nbi")]) == sorted(kernels())
    assert said == "icdh: note: compiling what is needed for the first time; later runs find it\n"


def test_after_it_no_fit_compiles_anything(warm):
    """No kernel is compiled twice either, for another layout or type of an array, or one that is write-protected."""
    assert python(warm[0], "-c", FITS_OF_EVERY_KIND).stdout == "0\n[]\n"
    assert not list(warm[0].rglob("*.2.nbc"))


def test_the_command_line_is_silent_when_nothing_is_compiled(warm, chain_file):
    path = chain_file.resolve()
    commands = ["fit", path], ["direction", path, "--columns", "a", "b"]
    done = [python(warm[0], "-c", IMPATIENT, *command) for command in commands]
    assert [without_progress(own.stderr) for own in done] == ["", ""]


class Hearer(logging.Handler):
    """Collects messages, and can be waited for."""

    def __init__(self):
        super().__init__()
        self.messages, self.heard = [], threading.Event()

    def emit(self, record):
        self.messages.append(record.getMessage())
        self.heard.set()


@pytest.fixture
def hearer():
    hearer = Hearer()
    logger.addHandler(hearer)
    logger.setLevel(logging.INFO)
    yield hearer
    logger.setLevel(logging.NOTSET)
    logger.removeHandler(hearer)


def test_a_watch_tells_once_and_counts_all(hearer):
    watch = CompilationWatch(patience=0.0)
    for _ in range(3):
        watch.on_start(None)
        watch.on_start(None)
        watch.on_end(None)
        watch.on_end(None)
    assert hearer.messages == ["compiling what is needed for the first time; later runs find it"]
    assert watch.compiled == 6


def test_patience_is_spent_by_many_short_compilations(hearer):
    watch = CompilationWatch(patience=compiling.seconds + 0.05)
    watch.on_start(None)
    assert hearer.messages == []
    while not hearer.messages:
        hearer.heard.wait(0.01)
        watch.on_end(None)
        watch.on_start(None)
    watch.on_end(None)
    assert compiling.since is None


def test_a_patient_watch_says_nothing_and_none_does_unless_asked(hearer):
    patient = CompilationWatch(patience=3600.0)
    patient.on_start(None)
    patient.on_end(None)
    logger.setLevel(logging.WARNING)
    unasked = CompilationWatch(patience=0.0)
    unasked.on_start(None)
    unasked.on_end(None)
    assert hearer.messages == []


OUTPUTS = """
import logging, sys
import numpy as np
from icdh.network import forward, initial_weights
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
X = np.random.default_rng(0).normal(size=(600, 3))
mean, scale = forward(X, initial_weights(X, 2, False, np.random.default_rng(1)))
print(mean.tobytes().hex(), scale.tobytes().hex())
"""


def start(root, **settings):
    """Begin a process that computes the outputs of a network; no caches but those of ``settings``."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    environment = {**kept, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", **settings}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", OUTPUTS], cwd=root, env=environment, **pipes)


def finish(process):
    """Return what a process printed and logged; it must end well."""
    printed, logged = process.communicate()
    assert process.returncode == 0, logged
    return printed, logged


@pytest.fixture(scope="module")
def four_at_once(tmp_path_factory):
    """The cache folder and the outputs of four processes that began together when it was empty."""
    folder = tmp_path_factory.mktemp("kernels")
    processes = [start(ROOT, NUMBA_CACHE_DIR=str(folder)) for _ in range(4)]
    return folder, [finish(process) for process in processes]


def test_processes_that_fill_one_cache_together_agree_and_it_serves_the_next(four_at_once):
    folder, outputs = four_at_once
    files = {path: path.stat().st_mtime_ns for path in folder.rglob("*.nb*")}
    assert files
    assert len({printed for printed, _ in outputs}) == 1
    assert not any("compiled anew" in logged for _, logged in outputs)
    assert finish(start(ROOT, NUMBA_CACHE_DIR=str(folder)))[0] == outputs[0][0]
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.nb*")} == files


def test_without_any_place_for_a_cache_it_works_and_says_so_to_the_log(tmp_path, four_at_once):
    package = tmp_path / "icdh"
    shutil.copytree(ROOT / "icdh", package, ignore=shutil.ignore_patterns("__pycache__"))
    # files where Numba would make folders: nobody can write there, whatever the permissions of the user
    (package / "__pycache__").touch()
    printed, logged = finish(start(tmp_path, HOME=os.devnull, XDG_CACHE_HOME=os.devnull, LOCALAPPDATA=os.devnull))
    assert printed == four_at_once[1][0][0]
    assert "kernel node_activations is compiled anew by every process" in logged
