"""Ctrl-C at moments that cannot bear it: it waits, or was heard already, and is never taken for the error after it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

POSIX = hasattr(signal, "pthread_sigmask")


@contextmanager
def postponed() -> Iterator[None]:
    """Have an interrupt wait for the end of the block; processes that start inside it never hear of any.

    Where half of something is started nothing can close it: the error of the attempt would take the interrupt's place.
    Ctrl-C on a terminal is for all processes at once, and those that are just loading would show where they were.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # interrupts reach the main thread alone
        return
    waiting = []

    def wait(number: int, frame: Any) -> None:
        waiting.append(number)

    signal.signal(signal.SIGINT, wait)  # the system may deliver it to any thread
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]) if POSIX else ()
    try:
        yield
    finally:
        if POSIX:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        signal.signal(signal.SIGINT, before)
        if waiting:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def unheard() -> Iterator[None]:
    """Have interrupts do nothing until the end of the block: one was heard, and what it asked for is under way."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def follows_interrupt(error: BaseException, before: BaseException | None = None) -> bool:
    """Return whether an error arose while an interrupt was handled, one later than the error ``before``."""
    context: BaseException | None = error
    while context is not None and context is not before:
        if isinstance(context, KeyboardInterrupt):
            return True
        context = context.__context__
    return False
