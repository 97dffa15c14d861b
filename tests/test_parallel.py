import os
import signal

import joblib
import pytest

from icdh._parallel import in_parallel
from icdh.exceptions import WorkerLostError


def square(number):
    return number * number, os.getpid()


def killed(number):
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(number):
    raise ValueError(f"{number} is no task")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_come_in_the_order_of_the_tasks(n_jobs):
    results = list(in_parallel(square, list(range(7)), n_jobs))
    assert [value for value, _ in results] == [0, 1, 4, 9, 16, 25, 36]
    assert (os.getpid() in {process for _, process in results}) == (n_jobs == 1)


def test_a_killed_worker_is_an_error_that_says_so():
    with pytest.raises(WorkerLostError, match="lower n_jobs"):
        list(in_parallel(killed, [1, 2], 2))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_of_a_task_are_those_of_the_caller(n_jobs):
    with pytest.raises(ValueError, match="is no task"):
        list(in_parallel(refuse, [1, 2], n_jobs))


def test_stopping_early_is_quiet():
    results = in_parallel(square, list(range(50)), 2)
    assert next(results)[0] == 0
    results.close()


def test_workers_that_do_not_close_do_not_hide_an_interrupt(monkeypatch):
    class HalfStarted:
        def __iter__(self):
            raise KeyboardInterrupt

        def close(self):
            raise RuntimeError("no executor")

    monkeypatch.setattr(joblib, "Parallel", lambda **options: lambda calls: HalfStarted())
    with pytest.raises(KeyboardInterrupt):
        list(in_parallel(square, [1, 2], 2))
