"""Independent tasks on one core, on all of them, or on a cluster."""

import multiprocessing
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from multiprocessing import resource_tracker
from typing import TypeVar

from icdh._ground.interrupts import follows_interrupt, postponed
from icdh.exceptions import WorkerLostError, import_extra, option

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_parallel(
    function: Callable[[Task], Result], tasks: Sequence[Task], n_jobs: int
) -> Generator[Result, None, None]:
    """Yield the result of every task, in the order of the tasks, each as soon as it and all before it are done.

    One job runs in this process and needs nothing. More run in processes of joblib (extra ``[parallel]``), which end
    within a second of their parent, even if it was killed; inside ``joblib.parallel_config("dask")`` they run on that
    cluster.

    Parameters
    ----------
    function : callable
        Takes a task; a function of a module, so that other processes find it.
    tasks : sequence
        Its arguments.
    n_jobs : int
        How many workers.

    Raises
    ------
    MissingExtraError
        If more than one job is asked for and joblib is not installed.
    WorkerLostError
        If a worker process was killed.
    """
    n_jobs = min(n_jobs, len(tasks))
    if n_jobs <= 1:
        yield from map(function, tasks)
        return
    joblib = import_extra("joblib", "parallel")
    calls = (joblib.delayed(function)(task) for task in tasks)
    watch = {"initializer": _end_with, "initargs": (os.getpid(),)}
    handled, results = sys.exc_info()[1], None
    try:
        if os.name == "posix":
            for tracker in (resource_tracker, joblib.externals.loky.backend.resource_tracker):
                tracker.ensure_running()  # whose start lets interrupts in
        with postponed():  # until the workers have started
            results = joblib.Parallel(n_jobs=n_jobs, return_as="generator", **watch)(calls)
        for result in results:  # noqa: UP028 - `yield from` would close them before the filter below is set
            yield result
    except Exception as error:
        if follows_interrupt(error, handled):  # joblib met it while it closed its workers
            raise KeyboardInterrupt from error
        if not isinstance(error, joblib.externals.loky.BrokenProcessPool):
            raise
        remedy = f"lower {option('n_jobs')} and try again"
        raise WorkerLostError(
            f"a worker process ended before its task, perhaps for lack of memory; {remedy}"
        ) from error
    finally:
        # An interrupt may find the workers half started: what closing them then raises must not take its place.
        with warnings.catch_warnings(), suppress(Exception):
            warnings.simplefilter("ignore", UserWarning)  # warns that tasks are left undone, which is intended here
            results.close()  # type: ignore[union-attr]


def _end_with(parent: int) -> None:
    """Have this process of joblib end soon after its parent; workers of a cluster have other parents and stay."""
    if os.getppid() == parent:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    elif multiprocessing.current_process().name.startswith("LokyProcess"):
        os._exit(1)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
