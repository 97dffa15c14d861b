import hashlib
import os
import shutil
import signal
import tempfile
from pathlib import Path

# Before NumPy loads it: a second thread of the BLAS makes the short vectors of these tests ten times slower. Commands
# that run as processes (helpers.ENVIRONMENT) have as many threads as a user's.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest


def _key_kernel_cache_by_content():
    """Numba's cache does not notice edits in another file than a kernel's own: so each state of them has its own.

    Returns whether this one is new.
    """
    package = Path(__file__).parent.parent / "icdh"
    sources = [path.read_bytes() for path in sorted(package.rglob("*.py"))]
    key = hashlib.sha256(b"".join(source for source in sources if b"\n@kernel(" in source)).hexdigest()[:16]
    root = Path(os.environ.get("NUMBA_CACHE_DIR", Path(tempfile.gettempdir()) / "icdh-kernels"))
    folder = root if root.name == key else root / key  # a worker has the environment of its controller
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    return not folder.exists()


KERNELS_ARE_NEW = _key_kernel_cache_by_content()
# A shell that starts the tests in the background has Ctrl-C ignored, in what they start, too.
signal.signal(signal.SIGINT, signal.default_int_handler)

from helpers import command, hetero_chain, warmed_up  # noqa: E402

from icdh import ICDH  # noqa: E402
from icdh.files import LabelledTable, write_table  # noqa: E402


def pytest_configure(config):
    """Kernels that are new are compiled once for all workers, by the fits that `test_compilation` looks at."""
    if KERNELS_ARE_NEW and getattr(config.option, "numprocesses", None):
        folder = tempfile.mkdtemp()
        config.add_cleanup(lambda: shutil.rmtree(folder))
        warmed_up(folder)
        shutil.copytree(folder, os.environ["NUMBA_CACHE_DIR"], dirs_exist_ok=True)
        os.environ["ICDH_WARMED_UP"] = folder  # for the workers


@pytest.fixture(scope="session")
def chain():
    """400 observations of x0 -> x1 -> x2, columns named a, b, c."""
    return LabelledTable(hetero_chain(np.random.default_rng(0), 400), ["a", "b", "c"])


@pytest.fixture(scope="session")
def fitted(chain):
    """Fitted to the chain; tests must not change it."""
    return ICDH(scaling="standardize", random_state=0).fit(chain)


@pytest.fixture
def chain_file(tmp_path, chain, monkeypatch):
    """The chain as data.csv in the working directory."""
    monkeypatch.chdir(tmp_path)
    write_table("data.csv", chain.values, chain.columns)
    return Path("data.csv")


@pytest.fixture
def shown(capsys):
    """Runs the command line in this process; returns the exit code and what it writes to both streams."""
    return lambda *words: (command(*words), *capsys.readouterr())


@pytest.fixture
def printed(capsys):
    """Runs a command that succeeds, and returns what it prints."""

    def run(*words):
        code, (out, err) = command(*words), capsys.readouterr()
        assert code == 0, err
        return out

    return run


@pytest.fixture
def refused(capsys):
    """Runs a command that is refused, and returns what it says."""

    def run(*words):
        code, (out, err) = command(*words), capsys.readouterr()
        assert (code, out) == (2, "")
        return err

    return run
