"""Independent tasks on threads, on all cores or on a cluster, and interrupts that wait where they would do harm.

The BLAS gets one thread for a while: L-BFGS-B runs many BLAS calls on short vectors, which a second thread makes ten
times slower and more (https://github.com/scipy/scipy/issues/22438).
"""

import ctypes
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import cache
from itertools import product
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TypeVar

import numpy as np

from icdh.exceptions import WorkerLostError, import_extra, option

POSIX = hasattr(signal, "pthread_sigmask")
logger = logging.getLogger("icdh")

Result = TypeVar("Result")
Task = TypeVar("Task")
Control = Callable[..., int]  # reads, or sets, the number of threads

LOADED_ONLY = getattr(os, "RTLD_NOLOAD", ctypes.DEFAULT_MODE)  # Windows has no such mode

_lock = threading.Lock()
_depth = 0
_restore: list[tuple[Control, int]] = []


@cache
def _bundled_openblas() -> list[tuple[Control, Control]]:
    """Return (get, set) pairs of functions for the OpenBLAS libraries that the wheels of NumPy and SciPy bring."""
    import scipy.linalg  # only SciPy knows what its library needs, so SciPy loads it

    roots = [Path(str(package.__file__)).parent for package in (np, scipy)]
    folders = [folder for root in roots for folder in (root.parent / f"{root.name}.libs", root / ".dylibs")]
    paths = [path for folder in folders for path in sorted(folder.glob("*openblas*"))]
    controls = [pair for path in paths for pair in _thread_controls(path)]
    if not controls:
        logger.debug("no bundled OpenBLAS found: set OMP_NUM_THREADS=1 if fits are slow")
    return controls


def _thread_controls(path: Path) -> Iterator[tuple[Control, Control]]:
    try:
        library = ctypes.CDLL(str(path), mode=LOADED_ONLY)
    except OSError as error:  # a fit on two threads is slow; a fit that does not start is worse
        logger.debug("threads of %s are left as they are: %s", path.name, error)
        return
    for prefix, suffix in product(("scipy_openblas_", "openblas_"), ("64_", "")):
        getter, setter = (getattr(library, f"{prefix}{does}_num_threads{suffix}", None) for does in ("get", "set"))
        if getter is not None and setter is not None:
            yield getter, setter
            return


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Run the body on one BLAS thread; the number of threads is restored when the last such body ends."""
    global _depth
    with _lock:
        if _depth == 0:
            _restore[:] = [(setter, getter()) for getter, setter in _bundled_openblas()]
            for setter, _ in _restore:
                setter(1)
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                for setter, threads in _restore:
                    setter(threads)


def map_on_threads(
    function: Callable[..., Result],
    arguments: Sequence[Sequence[object]],
    n_threads: int,
    part_done: Callable[[], None],
    *,
    listens: bool = False,
) -> list[Result]:
    """Return the results of a function for each of these arguments; one task or none runs in place.

    Parameters
    ----------
    function : callable
        A function that releases the GIL.
    arguments : sequence of sequences of equal length
        See the built-in ``map``.
    n_threads : int
        The most threads.
    part_done : callable
        Called after each result.
    listens : bool
        Whether an interrupt ends the wait for tasks that run; it always ends the wait for those that have not begun.
        Python handles interrupts between its own instructions, so a kernel of this thread would hold one up.
    """
    tasks = list(zip(*arguments, strict=True))
    results: dict[int, Result] = {}
    order = iter(range(len(tasks)))

    def work() -> None:
        for k in order:
            results[k] = function(*tasks[k])
            part_done()

    n_threads = min(n_threads, len(tasks))
    if n_threads > 1 or (listens and tasks):
        _on_threads(work, n_threads, order, waits=not listens)
    else:
        work()
    return [results[k] for k in range(len(tasks))]


def _on_threads(work: Callable[[], None], n_threads: int, order: Iterator[int], *, waits: bool) -> None:
    """Have threads take tasks from ``order``; after an error or an interrupt they begin no further one.

    Threads of an executor would hold up the end of the process until their tasks are done.
    """

    def attempt(outcome: Future[None]) -> None:
        try:
            work()
            outcome.set_result(None)
        except BaseException as error:
            list(order)
            outcome.set_exception(error)

    outcomes: list[Future[None]] = []
    try:
        with deferred_interrupts():
            for _ in range(n_threads):
                outcome: Future[None] = Future()
                threading.Thread(target=attempt, args=[outcome], daemon=True).start()
                outcomes.append(outcome)
        while wait(outcomes, 0.5).not_done:  # on Windows a wait without an end handles no interrupt
            pass
    finally:
        list(order)
        wait(outcomes if waits else [])
    for outcome in outcomes:
        outcome.result()


@contextmanager
def deferred_interrupts(*, ignored: bool = False) -> Iterator[None]:
    """Raise an interrupt at the end of the block; processes that start inside it never receive any.

    Where half of something is started nothing can close it: the error of the attempt would take the interrupt's place.
    Ctrl-C on a terminal is for all processes at once, and those that are just loading would show where they were.

    Parameters
    ----------
    ignored : bool
        Whether it is not raised at all: one was handled before, and what it asked for is under way.
    """
    before, pending = signal.getsignal(signal.SIGINT), []
    if threading.current_thread() is not threading.main_thread() or not callable(before):  # none reaches this thread
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: pending.append(number))  # of any thread that the system chooses
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]) if POSIX else ()
    try:
        yield
    finally:
        if POSIX:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        signal.signal(signal.SIGINT, before)
        if pending and not ignored:
            signal.raise_signal(signal.SIGINT)


def follows_interrupt(error: BaseException, before: BaseException | None = None) -> bool:
    """Return whether an error arose while an interrupt was handled, one later than the error ``before``."""
    context: BaseException | None = error
    while context is not None and context is not before:
        if isinstance(context, KeyboardInterrupt):
            return True
        context = context.__context__
    return False


def in_parallel(
    function: Callable[[Task], Result], tasks: Sequence[Task], n_jobs: int
) -> Generator[Result, None, None]:
    """Yield the result of every task, in the order of the tasks, each as soon as it and all before it are done.

    One job runs in this process and needs nothing. More run in processes of joblib (extra ``[parallel]``), which end
    within a second of their parent, even if it was killed. Inside ``joblib.parallel_config`` they run as that says:
    "threading" in this process, "dask" on its cluster.

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
    ValueError
        If joblib was configured with a backend that returns all results at once, such as "multiprocessing".
    WorkerLostError
        If a worker process was killed.
    """
    n_jobs = min(n_jobs, len(tasks))
    if n_jobs <= 1:
        yield from map(function, tasks)
        return
    joblib = import_extra("joblib", "parallel")
    try:
        share = joblib.Parallel(n_jobs=n_jobs, return_as="generator", initializer=_end_with, initargs=(os.getpid(),))
    except ValueError as error:
        raise ValueError(
            "joblib is configured with a backend that returns all results at the end, so that an interrupt would lose "
            'them; use "loky", its default, "threading" or "dask"'
        ) from error
    calls = (joblib.delayed(function)(task) for task in tasks)
    handled, results = sys.exc_info()[1], None
    try:
        if os.name == "posix":
            for tracker in (resource_tracker, joblib.externals.loky.backend.resource_tracker):
                tracker.ensure_running()  # whose start lets interrupts in
        with deferred_interrupts():  # until the workers have started
            results = share(calls)
        for result in results:  # noqa: UP028 - `yield from` would close them, and joblib warn of tasks that are left
            yield result
    except Exception as error:
        if follows_interrupt(error, handled):  # joblib met it while it closed its workers
            raise KeyboardInterrupt from error
        if not isinstance(error, joblib.externals.loky.BrokenProcessPool):
            raise
        message = "a worker process ended before its task, perhaps for lack of memory; lower"
        raise WorkerLostError(f"{message} {option('n_jobs')} and try again") from error
    finally:
        # An interrupt may find the workers half started: what ending them then raises must not take its place.
        with suppress(Exception):
            results.throw(RuntimeError)  # type: ignore[union-attr]


def leaves_this_process() -> bool:
    """Return whether joblib was configured to run tasks in other processes or on a cluster, not on threads."""
    joblib = sys.modules.get("joblib")
    backend = joblib and joblib.parallel.get_active_backend(prefer="threads")[0]
    return joblib is not None and not getattr(backend, "uses_threads", False)


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
