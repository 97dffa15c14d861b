"""Processes that share work: results, errors, what an interrupt does; none outlives the one that asked for it."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest
from helpers import ENVIRONMENT, ROOT, cases, hetero_chain
from support.article import Round, TwoPhaseResult
from support.estimators import best_of_restarts
from support.families import score
from support.utils import deferred_interrupts, follows_interrupt, in_parallel

from icdh import ConvergenceWarning, HNMSearch, bootstrap
from icdh.exceptions import WorkerLostError
from icdh.network import initial_weights


def square(number):
    return number * number, os.getpid()


def kill_itself(number):
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(number):
    raise ValueError(f"{number} is no task")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_come_in_the_order_of_the_tasks(n_jobs):
    results = list(in_parallel(square, list(range(7)), n_jobs))
    assert [value for value, _ in results] == [0, 1, 4, 9, 16, 25, 36]
    assert (os.getpid() in {process for _, process in results}) == (n_jobs == 1)


@cases(
    ("task", "n_jobs", "error", "message"),
    (kill_itself, 2, WorkerLostError, "lower n_jobs"),
    (refuse, 1, ValueError, "is no task"),
    (refuse, 2, ValueError, "is no task"),
)
def test_errors_of_a_task_are_those_of_the_caller(task, n_jobs, error, message):
    with pytest.raises(error, match=message):
        list(in_parallel(task, [1, 2], n_jobs))


def test_stopping_early_is_quiet():
    results = in_parallel(square, list(range(50)), 2)
    assert next(results)[0] == 0
    results.close()


@contextmanager
def configured(backend):
    if backend != "dask":
        with joblib.parallel_config(backend):
            yield
        return
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        yield


BACKENDS = ("loky", "threading", "sequential", "dask")


@pytest.mark.parametrize("backend", BACKENDS)
def test_resamples_do_not_depend_on_the_backend_of_joblib(backend):
    X = hetero_chain(np.random.default_rng(0), 80)
    estimator = HNMSearch(hidden_units=2, n_restarts=1)
    alone = bootstrap(estimator, X, 3)
    with configured(backend):
        np.testing.assert_array_equal(bootstrap(estimator, X, 3, n_jobs=2).graphs, alone.graphs)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_wide_table_is_first_scored_where_joblib_is_configured(monkeypatch, backend):
    monkeypatch.setattr(score, "WIDE", 5)
    X, sent = np.random.default_rng(1).normal(size=(80, 6)), []
    X[:, 1:] += np.tanh(2.0 * X[:, :-1])
    monkeypatch.setattr(score, "in_parallel", lambda *how: sent.extend(how[1]) or in_parallel(*how))
    alone = HNMSearch().fit(X)
    with configured(backend):
        shared = HNMSearch(n_jobs=2).fit(X)
    np.testing.assert_array_equal(shared.edge_strength_, alone.edge_strength_)
    assert shared.evidence_ == alone.evidence_
    assert [len(fits) for _, fits in sent[:2]] == [3, 3] * (backend in ("loky", "dask"))


def test_a_backend_that_would_lose_results_is_refused_in_words():
    with (
        joblib.parallel_config("multiprocessing"),
        pytest.raises(ValueError, match='an interrupt would lose them; use "loky"'),
    ):
        bootstrap(HNMSearch(), hetero_chain(np.random.default_rng(0), 80), 3, n_jobs=2)


@pytest.mark.parametrize("where", ["while it is handled", "while workers close"])
def test_an_error_that_an_interrupt_leads_to_does_not_hide_it(monkeypatch, where):
    class HalfStarted:
        def __iter__(self):
            try:
                raise KeyboardInterrupt
            finally:
                if where == "while it is handled":
                    raise RuntimeError("cannot join thread before it is started")

        def throw(self, error):
            if where == "while workers close":
                raise RuntimeError("no executor")

    monkeypatch.setattr(joblib, "Parallel", lambda **options: lambda calls: HalfStarted())
    with pytest.raises(KeyboardInterrupt):
        list(in_parallel(square, [1, 2], 2))


def test_an_interrupt_while_workers_start_comes_when_they_have_started(monkeypatch):
    course = []

    class Started:
        def __iter__(self):
            course.append("waited for")
            yield from ()

        def throw(self, error):
            course.append("closed")

    def start(calls):
        signal.raise_signal(signal.SIGINT)
        course.append("started")
        return Started()

    monkeypatch.setattr(joblib, "Parallel", lambda **options: start)
    with pytest.raises(KeyboardInterrupt):
        list(in_parallel(square, [1, 2], 2))
    assert course == ["started", "closed"]


def deafness(task):
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_workers_do_not_hear_what_their_parent_does():
    """In a process where nothing of joblib runs yet."""
    code = "import test_parallel as t; print(list(t.in_parallel(t.deafness, [1, 2, 3], 2)), t.deafness(None))"
    folders = ROOT, ROOT / "tests", Path(__file__).parent
    environment = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True, text=True)
    assert result.stdout == "[True, True, True] False\n"


@pytest.mark.parametrize("deliver", [signal.raise_signal, lambda number: os.kill(os.getpid(), number)])
def test_a_postponed_interrupt_comes_once(deliver):
    passed = []

    def interrupted_twice():
        with deferred_interrupts():
            for count in (1, 2):
                deliver(signal.SIGINT)
                passed.append(count)

    with pytest.raises(KeyboardInterrupt):
        interrupted_twice()
    assert passed == [1, 2]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not deafness(None)


def test_an_interrupt_that_is_ignored_never_comes():
    with deferred_interrupts(ignored=True):
        signal.raise_signal(signal.SIGINT)
    assert not deafness(None)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_other_ways_to_treat_an_interrupt_stay(handler):
    before = signal.signal(signal.SIGINT, handler)
    with deferred_interrupts():
        assert signal.getsignal(signal.SIGINT) == handler
    assert signal.signal(signal.SIGINT, before) == handler


def fit_after_an_interrupt():
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        list(in_parallel(refuse, [1, 2], 2))


def test_errors_while_an_older_interrupt_is_handled_are_errors():
    with pytest.raises(ValueError, match="is no task") as raised:
        fit_after_an_interrupt()
    assert follows_interrupt(raised.value)


FIT = """
import sys
import numpy as np
from icdh import ICDH
X = np.random.default_rng(0).normal(size=(500, 10))
print("begins", flush=True)
try:
    ICDH(n_restarts=1000, n_jobs=2, tol=0, max_rounds=100, scaling="standardize").fit(X)
except KeyboardInterrupt:
    sys.exit(130)
"""
SOON = 60.0  # seconds, on a machine that has far too much to do; half a second is usual


@pytest.fixture
def fitting():
    """A process in a session of its own, whose fit shares two more."""
    if not Path("/proc").exists():
        pytest.skip("needs /proc")
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-c", FIT], env=ENVIRONMENT, start_new_session=True, **quiet)
    process.stdout.readline()
    yield process
    for pid in living(process.pid):
        os.kill(pid, signal.SIGKILL)
    process.stdout.close()
    process.wait()


def living(session):
    found = []
    for entry in Path("/proc").iterdir():
        try:
            state, _, _, own = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if own == str(session) and state != "Z":
            found.append(int(entry.name))
    return found


def wait_until(condition):
    limit = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.3, 1.0, 3.0])
def test_workers_end_with_a_killed_parent(fitting, after):
    time.sleep(after)
    fitting.kill()
    fitting.wait()
    wait_until(lambda: not living(fitting.pid))


@pytest.mark.slow
def test_an_interrupt_ends_all_at_once(fitting):
    wait_until(lambda: len(living(fitting.pid)) > 3)
    fitting.send_signal(signal.SIGINT)
    assert fitting.wait(SOON) == 130
    wait_until(lambda: not living(fitting.pid))


def fit_or_die(doomed, initial, after=None):
    """Stand in for a fit: the process of one start is killed, once there is the file ``after``."""
    if initial == doomed:
        wait_until(lambda: after is None or after.exists())
        os.kill(os.getpid(), signal.SIGKILL)
    record = Round._make([float(initial)] * len(Round._fields))
    weights = initial_weights(np.eye(2), 1, False, np.random.default_rng(0))
    return TwoPhaseResult(weights, record, [record], True, False)


@pytest.mark.slow
def test_what_ended_before_a_process_was_killed_is_kept(tmp_path):
    seen, ended = [], tmp_path / "ended"

    def see(record):
        seen.append(record.nll)
        ended.touch()

    with pytest.warns(ConvergenceWarning, match=r"lower n_jobs and try again; the best of 1 restart is kept"):
        result = best_of_restarts(partial(fit_or_die, 2, after=ended), [3, 2, 1], 2, see)
    assert (result.best.nll, seen) == (3.0, [3.0])
    with pytest.raises(WorkerLostError, match="lower n_jobs and try again"):  # before any result
        best_of_restarts(partial(fit_or_die, 1), [1, 2, 3], 2, lambda record: None)
