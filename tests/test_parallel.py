import os
import signal
import subprocess
import sys
from pathlib import Path

import joblib
import pytest

from icdh._ground.parallel import follows_interrupt, in_parallel, postponed
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


@pytest.mark.parametrize("where", ["while it is handled", "while workers close"])
def test_an_error_that_an_interrupt_leads_to_does_not_hide_it(monkeypatch, where):
    class HalfStarted:
        def __iter__(self):
            try:
                raise KeyboardInterrupt
            finally:
                if where == "while it is handled":
                    raise RuntimeError("cannot join thread before it is started")

        def close(self):
            if where == "while workers close":
                raise RuntimeError("no executor")

    monkeypatch.setattr(joblib, "Parallel", lambda **options: lambda calls: HalfStarted())
    with pytest.raises(KeyboardInterrupt):
        list(in_parallel(square, [1, 2], 2))


def test_an_interrupt_while_workers_start_comes_when_they_have_started(monkeypatch):
    """And they are closed."""
    course = []

    class Started:
        def __iter__(self):
            course.append("waited for")
            yield from ()

        def close(self):
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
    places = f"{Path(__file__).parent.parent}{os.pathsep}{Path(__file__).parent}"
    environment = {**os.environ, "PYTHONPATH": places}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True, text=True)
    assert result.stdout == "[True, True, True] False\n"


@pytest.mark.parametrize("deliver", [signal.raise_signal, lambda number: os.kill(os.getpid(), number)])
def test_a_postponed_interrupt_comes_once(deliver):
    passed = []

    def interrupted_twice():
        with postponed():
            for count in (1, 2):
                deliver(signal.SIGINT)
                passed.append(count)

    with pytest.raises(KeyboardInterrupt):
        interrupted_twice()
    assert passed == [1, 2]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not deafness(None)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_other_ways_to_treat_an_interrupt_stay(handler):
    before = signal.signal(signal.SIGINT, handler)
    with postponed():
        assert signal.getsignal(signal.SIGINT) == handler
    assert signal.signal(signal.SIGINT, before) == handler


def test_errors_while_an_older_interrupt_is_handled_are_errors():
    def fit_after_an_interrupt():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            list(in_parallel(refuse, [1, 2], 2))

    with pytest.raises(ValueError, match="is no task") as raised:
        fit_after_an_interrupt()
    assert follows_interrupt(raised.value)
