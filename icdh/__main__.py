"""Run the command line: as ``python -m icdh``, or as the command ``icdh``."""

import atexit
import os
import signal
import sys
import threading

TYPE_CHECKING = False  # not imported from `typing`: an interrupt that comes while it loads would print a traceback
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import NoReturn

INTERRUPTED = 130
SOON = 0.05  # seconds


def main() -> int:
    """Run one command with the arguments of the process, and return its exit code."""
    # An interrupt inside an import would print a traceback; nothing is lost before the command runs.
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interruptible:
        signal.signal(signal.SIGINT, _leave)
        sys.excepthook, sys.unraisablehook, threading.excepthook = _last_word, _again, _of_thread
    codes: list[int] = []
    atexit.register(_end, codes)  # what is registered first runs last
    from icdh import cli

    args = cli.parse()
    if interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        codes.append(cli.run(args))
        return codes[0]
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(codes: list[int]) -> None:
    """End with the code of an interrupt: of one that passed an ``exec`` Python would make a death by the signal."""
    if codes == [INTERRUPTED]:
        try:
            sys.stdout.flush()
        finally:  # if the output was closed
            os._exit(INTERRUPTED)


def _leave(number: int, frame: "FrameType | None") -> "NoReturn":
    os.write(2, b"icdh: error: interrupted\n")
    os._exit(INTERRUPTED)


def _last_word(kind: type[BaseException], error: BaseException, trace: "TracebackType | None") -> None:
    """Show an error that nobody caught; an interrupt that the command did not handle is one line."""
    if issubclass(kind, KeyboardInterrupt):
        _leave(signal.SIGINT, None)
    sys.__excepthook__(kind, error, trace)


def _of_thread(lost: threading.ExceptHookArgs) -> None:
    """Show an error that ended a thread, but not joblib's thread: the task that it hands out may just be taken back."""
    if lost.thread is None or lost.thread.name != "ExecutorManagerThread":
        threading.__excepthook__(lost)


def _again(unraisable: "sys.UnraisableHookArgs") -> None:
    """Show an error that Python drops; an interrupt inside a destructor or a callback comes once more."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        threading.Timer(SOON, os.kill, [os.getpid(), signal.SIGINT]).start()
    else:
        sys.__unraisablehook__(unraisable)


if __name__ == "__main__":
    sys.exit(main())
