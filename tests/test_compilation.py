"""What is compiled once, what says so, and what never is compiled again."""

import ast
import logging
import threading
from pathlib import Path

import pytest
from helpers import IMPATIENT, python, warmed_up, without_progress
from numba import njit

from icdh import cli
from icdh._ground.compilation import CompilationWatch, logger
from icdh._node_model import _descent_kernels
from icdh.cli import warmup

ROOT = Path(__file__).parent.parent
FITS_OF_EVERY_KIND = """
import warnings
import numpy as np
from icdh import ICDH, HNMSearch, Knowledge, causal_direction, posterior
from icdh._ground.compilation import watch
from icdh.likelihood import nll_and_gradient
warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
X = rng.normal(size=(300, 4))
X[:, 1] += 2.0 * np.tanh(X[:, 0])
read_only = X.copy()
read_only.flags.writeable = False
for table in (X, np.asfortranarray(X), X.astype(np.float32), X[::2], read_only, X[:, :2]):
    models = ICDH(max_rounds=1).fit(table), HNMSearch().fit(table)
    for model in models:
        model.score(table), model.sample(5, random_state=0)
    causal_direction(table[:, 0], table[:, 1])
known = Knowledge(forbidden=[(0, 2)], required=[(0, 1)])
for options in ({"bias": True}, {"noise": "equal"}, {"noise": "unequal"}, {"schedule": "paper"}, {"knowledge": known},
                {"hidden_units": 1}):
    model = ICDH(max_rounds=2, **options).fit(X)
    model.score(X), nll_and_gradient(X, model.network_)
for options in ({"noise_distribution": "gaussian"}, {"knowledge": known}, {"search": "exact"}):
    posterior(HNMSearch(**options).fit(X), n_samples=10)
HNMSearch(hidden_causes=True, n_restarts=1).fit(rng.normal(size=(300, 1)) + rng.normal(size=(300, 5)))
set_by_experiment = np.zeros(X.shape, dtype=bool)
set_by_experiment[:150, 1] = True
for method in (ICDH(max_rounds=1), HNMSearch()):
    method.fit(X, interventions=set_by_experiment)
counted = np.column_stack([X, np.digitize(X[:, 0], (-1, 0, 1)), X[:, 1] > 0, np.digitize(X[:, 2], (-1, 1))])
for table in (counted, np.asfortranarray(counted), counted[::2]):
    HNMSearch(kinds={6: "categorical"}).fit(table)
print(watch.compiled)
"""


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A folder that the command ``warmup`` filled, and what it wrote to both streams."""
    return warmed_up(tmp_path_factory.mktemp("warm"))


@pytest.fixture
def table(tmp_path, chain):
    """The chain as a CSV file."""
    path = tmp_path / "data.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in [chain.columns, *chain.values]), encoding="utf-8")
    return path


def kernels():
    """Module and name of every function that is compiled on its own."""
    for path in (ROOT / "icdh").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            decorators = [ast.unparse(d) for d in getattr(node, "decorator_list", ())]
            if any(d.startswith("kernel(") and "inline" not in d for d in decorators):
                yield f"{path.stem}.{node.name}"


def test_the_command_compiles_every_kernel_once_and_says_so_once(warm):
    folder, out, err = warm
    kept = [path.name.partition("-")[0] for path in folder.rglob("*.nbi")]
    assert sorted(kept) == sorted(kernels())
    assert "functions compiled in" in out
    assert str(folder) in out
    assert err == "icdh: note: compiling what is needed for the first time; later runs find it\n"


def test_after_it_no_fit_compiles_anything(warm):
    """No kernel is compiled twice either, for another layout of an array."""
    assert python(warm[0], "-c", FITS_OF_EVERY_KIND).stdout == "0\n"
    assert not list(warm[0].rglob("*.2.nbc"))


def test_the_command_line_is_silent_when_nothing_is_compiled(warm, table):
    for command in (["fit", table], ["direction", table, "--columns", "a", "b"]):
        assert without_progress(python(warm[0], "-c", IMPATIENT, *command).stderr) == ""
    again = python(warm[0], "-c", IMPATIENT, "warmup")
    assert again.stdout.startswith("nothing to compile; kept under ")
    assert without_progress(again.stderr) == ""


def test_the_command_fails_where_nothing_can_be_kept(monkeypatch, capsys):
    monkeypatch.setattr(warmup, "call_every_kernel", lambda: None)
    monkeypatch.setattr(_descent_kernels, "node_fit", njit(lambda: None))
    assert cli.main(["warmup"]) == 2
    assert "set NUMBA_CACHE_DIR" in capsys.readouterr().err


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
        assert hearer.heard.wait(60.0)
        watch.on_end(None)
        watch.on_end(None)
    assert hearer.messages == ["compiling what is needed for the first time; later runs find it"]
    assert watch.compiled == 6


def test_patience_is_spent_by_many_short_compilations(hearer):
    watch = CompilationWatch(patience=0.05)
    while not hearer.heard.is_set():
        watch.on_start(None)
        hearer.heard.wait(0.01)
        watch.on_end(None)
    assert watch.patience <= 0.05


def test_a_patient_watch_says_nothing_and_none_does_unless_asked(hearer):
    patient = CompilationWatch(patience=3600.0)
    patient.on_start(None)
    patient.on_end(None)
    logger.setLevel(logging.WARNING)
    unasked = CompilationWatch(patience=0.0)
    unasked.on_start(None)
    assert not hearer.heard.wait(0.05)
    unasked.on_end(None)
    assert hearer.messages == []
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
