"""No process outlives the one that asked for it, however that one ended; what was done before is not lost."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from icdh import ConvergenceWarning
from icdh._estimators.two_phase_fit import best_of_restarts
from icdh.exceptions import WorkerLostError
from icdh.network import initial_weights
from icdh.two_phase.procedure import Round, TwoPhaseResult

ROOT = Path(__file__).parent.parent
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
    command = [sys.executable, "-c", FIT]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    process.stdout.readline()
    yield process
    for pid in living(process.pid):
        os.kill(pid, signal.SIGKILL)
    process.stdout.close()
    process.wait()


def living(session):
    """Return the ids of the processes of a session."""
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
@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")
@pytest.mark.parametrize("after", [0.3, 1.0, 3.0])
def test_workers_end_with_a_killed_parent(fitting, after):
    time.sleep(after)
    fitting.kill()
    fitting.wait()
    wait_until(lambda: not living(fitting.pid))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")
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
    assert result.best.nll == 3.0
    assert seen == [3.0]


@pytest.mark.slow
def test_a_process_killed_before_any_result_is_a_clear_error():
    with pytest.raises(WorkerLostError, match="lower n_jobs and try again"):
        best_of_restarts(partial(fit_or_die, 1), [1, 2, 3], 2, lambda record: None)


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_processes():
    fit = partial(fit_or_die, None)
    alone = best_of_restarts(lambda initial, callback: fit(initial=initial), [3, 1, 2], 1, None)
    assert np.array_equal(alone.best, best_of_restarts(fit, [3, 1, 2], 2, lambda record: None).best)
