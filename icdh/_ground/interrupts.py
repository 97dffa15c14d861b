"""Ctrl-C at moments that cannot bear it: it waits, or was heard already, and is never taken for the error after it."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

POSIX = hasattr(signal, "pthread_sigmask")


@contextmanager
def unheard(note: Callable[[int], None] = lambda number: None) -> Iterator[bool]:
    """Have interrupts do nothing until the end of the block: one was heard, and what it asked for is under way.

    Parameters
    ----------
    note : callable
        What is called with the number of the signal instead.

    Yields
    ------
    bool
        Whether interrupts reach this thread: only the main one, and only if something hears them.
    """
    before = signal.getsignal(signal.SIGINT)
    reaches = threading.current_thread() is threading.main_thread() and callable(before)
    if reaches:
        signal.signal(signal.SIGINT, lambda number, frame: note(number))
    try:
        yield reaches
    finally:
        if reaches:
            signal.signal(signal.SIGINT, before)


@contextmanager
def postponed() -> Iterator[None]:
    """Have an interrupt wait for the end of the block; processes that start inside it never hear of any.

    Where half of something is started nothing can close it: the error of the attempt would take the interrupt's place.
    Ctrl-C on a terminal is for all processes at once, and those that are just loading would show where they were.
    """
    waiting: list[int] = []
    try:
        with unheard(waiting.append) as reaches:  # the system may deliver it to any thread
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT] if reaches else []) if POSIX else ()
            try:
                yield
            finally:
                if POSIX:
                    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    finally:
        if waiting:
            signal.raise_signal(signal.SIGINT)


def follows_interrupt(error: BaseException, before: BaseException | None = None) -> bool:
    """Return whether an error arose while an interrupt was handled, one later than the error ``before``."""
    context: BaseException | None = error
    while context is not None and context is not before:
        if isinstance(context, KeyboardInterrupt):
            return True
        context = context.__context__
    return False
