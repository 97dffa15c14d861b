"""Threads: one of the BLAS inside a fit, as before after it; those of a search change nothing that it finds."""

import ctypes
import os
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from helpers import python
from support.utils import parallel as _threads

from icdh import ConvergenceWarning, DataWarning, HNMSearch, bootstrap, simulate
from icdh.exceptions import collected_warnings, warn

FIRST_ACT = """
import numpy as np
from icdh import HNMSearch
x = np.random.default_rng(0).normal(size=(60, 2))
HNMSearch().fit(x)
from icdh._utils import parallel as _threads
print(len(_threads._bundled_openblas()))
"""


@pytest.fixture
def looked_up_anew():
    _threads._bundled_openblas.cache_clear()
    yield
    _threads._bundled_openblas.cache_clear()


def test_a_fit_as_the_first_act_of_a_process_finds_every_openblas():
    done = python(os.environ["NUMBA_CACHE_DIR"], "-c", FIRST_ACT)
    with _threads.single_blas_thread():
        assert int(done.stdout) == len(_threads._bundled_openblas())


def test_a_library_that_does_not_load_costs_speed_alone(looked_up_anew, monkeypatch):
    def unloadable(path, mode):
        raise OSError("libgfortran.so.5: cannot open shared object file")

    monkeypatch.setattr(_threads.ctypes, "CDLL", unloadable)
    with _threads.single_blas_thread():
        assert _threads._bundled_openblas() == []


@pytest.mark.skipif(not hasattr(os, "RTLD_NOLOAD"), reason="the system cannot look at loaded libraries alone")
def test_a_library_that_the_process_has_not_loaded_is_left_alone(tmp_path):
    import _ctypes_test

    copy, other = tmp_path / "libopenblas.so", tmp_path / "libopenblas-2.so"
    for library in (copy, other):
        library.write_bytes(Path(_ctypes_test.__file__).read_bytes())
    ctypes.CDLL(str(copy), mode=ctypes.DEFAULT_MODE)  # it can be loaded
    with pytest.raises(OSError, match=r"dlopen|libopenblas-2"):
        ctypes.CDLL(str(other), mode=_threads.LOADED_ONLY)
    assert list(_threads._thread_controls(other)) == []


def test_the_number_of_threads_is_restored_after_the_last_body():
    controls = _threads._bundled_openblas()
    before = [count() for count, _ in controls]
    for _, set_to in controls:
        set_to(2)
    with _threads.single_blas_thread():
        with _threads.single_blas_thread():
            pass
        assert all(count() == 1 for count, _ in controls)
    assert all(count() == 2 for count, _ in controls)
    for (_, set_to), own in zip(controls, before, strict=True):
        set_to(own)


@pytest.fixture(scope="module")
def dense():
    graph = simulate.erdos_renyi(8, 2, random_state=10)
    return simulate.simulate_sem(graph, 300, noise="homo-nv", random_state=10).X


def test_a_search_on_threads_tells_and_finds_the_same(dense):
    told, found = {}, {}
    for n_jobs in (1, 2, 3):
        moves = told[n_jobs] = []
        found[n_jobs] = HNMSearch(n_jobs=n_jobs, column_transform="none", callback=moves.append).fit(dense)
    alone = found.pop(1)
    assert any(move.kind == "detach" for move in alone.history_)
    for n_jobs, model in found.items():
        assert (model.history_, model.evidence_, told[n_jobs]) == (alone.history_, alone.evidence_, told[1])
        np.testing.assert_array_equal(model.adjacency_matrix_, alone.adjacency_matrix_)


def test_a_callback_can_stop_a_search_on_threads(dense):
    def stop(move):
        if not move.kept:
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.warns(match="interrupted"):
        model = HNMSearch(n_jobs=2, column_transform="none", callback=stop).fit(dense)
    assert model.interrupted_
    assert threading.active_count() == before


def test_threads_that_impute_and_resample_leave_the_filters_of_warnings(dense):
    """The filters belong to all threads: four that set and restore them leave those of one another."""
    table = dense[:60, :3].copy()
    table[::20, 1] = np.nan
    gate = threading.Barrier(4)

    def fit():
        estimator = HNMSearch(hidden_units=1, n_restarts=1, missing="impute", n_imputations=2).fit(table)
        gate.wait(60)
        bootstrap(estimator.set_params(n_imputations=1), table, 2)

    bootstrap(HNMSearch(hidden_units=1, n_restarts=1), dense[:60, :3], 1)  # what is imported adds filters of its own
    before = warnings.filters.copy()
    with ThreadPoolExecutor(4) as pool:
        for outcome in [pool.submit(fit) for _ in range(4)]:
            outcome.result()
    assert warnings.filters == before


def test_warnings_are_collected_for_one_thread_alone():
    with collected_warnings() as outer, ThreadPoolExecutor(1) as pool:
        warn("first", DataWarning)
        with collected_warnings() as inner:
            warn("second", ConvergenceWarning)
        with pytest.raises(DataWarning, match="elsewhere"):  # tests turn warnings into errors
            pool.submit(warn, "elsewhere", DataWarning).result()
    assert (outer, inner) == ([("first", DataWarning)], [("second", ConvergenceWarning)])
    with pytest.warns(DataWarning, match="shown again"):
        warn("shown again", DataWarning)
