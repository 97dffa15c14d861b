"""Ctrl-C at moments that cannot bear it: it waits, and is never taken for the error that it leads to."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def postponed() -> Iterator[None]:
    """Have an interrupt wait for the end of the block; a second one does not wait.

    Where half of something is started nothing can close it: the error of the attempt would take the interrupt's place.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # no interrupt comes here
        return
    waiting = []

    def wait(number, frame):
        waiting.append(number)
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, wait)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if waiting:
            signal.raise_signal(signal.SIGINT)


def follows_interrupt(error: BaseException, before: BaseException | None = None) -> bool:
    """Return whether an error arose while an interrupt was handled, one later than the error ``before``."""
    while error is not None and error is not before:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False
