"""Threads: one for the BLAS for a while, several for tasks that release the GIL.

L-BFGS-B runs many BLAS calls on short vectors, which a second thread makes ten times slower and more
(https://github.com/scipy/scipy/issues/22438).
"""

import ctypes
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np

logger = logging.getLogger("icdh")

Result = TypeVar("Result")

Control = Callable[..., int]  # reads, or sets, the number of threads

LOADED_ONLY = getattr(os, "RTLD_NOLOAD", ctypes.DEFAULT_MODE)  # Windows has no such mode

_lock = threading.Lock()
_depth = 0
_restore: list[tuple[Control, int]] = []


@cache
def _bundled_openblas() -> list[tuple[Control, Control]]:
    """Return (get, set) pairs of functions for the OpenBLAS libraries that the wheels of NumPy and SciPy bring."""
    import scipy.linalg  # only SciPy knows what its library needs, so SciPy loads it

    controls: list[tuple[Control, Control]] = []
    for package in (np, scipy):
        root = Path(str(package.__file__)).parent
        for folder in (root.parent / f"{root.name}.libs", root / ".dylibs"):
            for path in sorted(folder.glob("*openblas*")):
                controls.extend(_thread_controls(path))
    if not controls:
        logger.debug("no bundled OpenBLAS found: set OMP_NUM_THREADS=1 if fits are slow")
    return controls


def _thread_controls(path: Path) -> Iterator[tuple[Control, Control]]:
    try:
        library = ctypes.CDLL(str(path), mode=LOADED_ONLY)
    except OSError as error:  # a fit on two threads is slow; a fit that does not start is worse
        logger.debug("threads of %s are left as they are: %s", path.name, error)
        return
    for prefix in ("scipy_openblas_", "openblas_"):
        for suffix in ("64_", ""):
            getter = getattr(library, f"{prefix}get_num_threads{suffix}", None)
            setter = getattr(library, f"{prefix}set_num_threads{suffix}", None)
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


def _listening(work: Callable[[], None]) -> None:
    """Work on another thread: Python hears of an interrupt between two of its own instructions, not inside a kernel."""
    over, failed = threading.Event(), []

    def attempt() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)
        over.set()

    threading.Thread(target=attempt, daemon=True).start()
    while not over.wait(0.5):  # on Windows a wait without an end hears of no interrupt
        pass
    if failed:
        raise failed[0]


def map_on_threads(
    function: Callable[..., Result],
    arguments: Sequence[Sequence[object]],
    n_threads: int,
    part_done: Callable[[], None],
    *,
    listens: bool = False,
) -> list[Result]:
    """Return the results of a function for each of these arguments; this thread is one of the workers.

    Parameters
    ----------
    function : callable
        A function that releases the GIL.
    arguments : sequence of sequences of equal length
        As of the built-in ``map``.
    n_threads : int
        The most threads.
    part_done : callable
        Called after each result.
    listens : bool
        Whether another thread works in place of this one, which then hears of an interrupt while a task runs. The task
        is left to itself.
    """
    tasks = list(zip(*arguments, strict=True))
    results: dict[int, Result] = {}
    order = iter(range(len(tasks)))

    def work() -> None:
        for k in order:
            results[k] = function(*tasks[k])
            part_done()

    helpers = ThreadPoolExecutor(max(n_threads, 1))  # begins a thread for each of those asked for
    try:
        helping = [helpers.submit(work) for _ in range(min(n_threads, len(tasks)) - 1)]
        _listening(work) if listens else work()
        for helper in helping:
            helper.result()
    finally:
        for _ in order:  # after Ctrl-C no further task begins
            pass
        helpers.shutdown()
    return [results[k] for k in range(len(tasks))]
