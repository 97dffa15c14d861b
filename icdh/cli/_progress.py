"""Progress messages of commands that take long."""

import argparse
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from icdh._ground.clock import Clock
from icdh._ground.labels import counted
from icdh.progress import Progress

FIRST, SILENCE = 1.0, 2.0  # seconds until the first line on a terminal, and between lines
PIPE_SILENCE = 10.0  # seconds between lines elsewhere


@contextmanager
def watched(args: argparse.Namespace, what: str, total: int | None = None) -> Iterator[Any]:
    """Yield a callback for every step: a bar or a line on a terminal, lines elsewhere, nothing with --quiet."""
    quiet, verbose = args.quiet, args.verbose
    with Progress(what, total, shown=False if quiet or verbose else None) as bar:
        if bar.shown:
            yield bar
        elif quiet:
            yield None
        else:
            with ProgressLines(what, total, steps_are_shown=verbose) as lines:
                yield lines


@contextmanager
def busy(args: argparse.Namespace, doing: str) -> Iterator[None]:
    """Show on a terminal what is being done, every few seconds."""
    if args.quiet or not sys.stderr.isatty():
        yield
    else:
        with ProgressLines("", doing=doing):
            yield


class ProgressLines:
    """Writes a line every few seconds; on a terminal, where steps are not shown, in the place of the one before.

    Parameters
    ----------
    what : str
        What is counted, in the plural.
    total : int, optional
        The largest number of steps.
    silence : float, optional
        Seconds between lines; by default 2 on a terminal, where the first comes earlier, and 10 elsewhere.
    doing : str
        What is being done.
    steps_are_shown : bool
        Whether each step is shown already, so that lines are needed only where none is done for a while.
    """

    def __init__(
        self,
        what: str,
        total: int | None = None,
        silence: float | None = None,
        *,
        doing: str = "at work",
        steps_are_shown: bool = False,
    ):
        self.doing, self.steps_are_shown = doing, steps_are_shown
        on_terminal = sys.stderr.isatty()
        self.what, self.total, self.steps = what, total, 0
        self.silence = silence or (SILENCE if on_terminal else PIPE_SILENCE)
        self._stays, self._shown = on_terminal and not steps_are_shown, 0
        self._clock: Clock | None = None
        self._begin = self._last = time.monotonic()
        self._wait = min(FIRST, self.silence) if on_terminal else self.silence
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def follow(self, clock: Clock) -> None:
        """Read the current task from the clock of a fit."""
        self._clock = clock

    def __call__(self, record: Any = None) -> None:
        """Count a step."""
        self.steps += 1
        if self.steps_are_shown:
            self._last = time.monotonic()

    def __enter__(self) -> "ProgressLines":
        self._thread.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._over.set()
        self._thread.join()
        if self._shown:
            self._write("\r" + " " * self._shown + "\r")

    def _run(self) -> None:
        while not self._over.wait(max(self._last + self._wait - time.monotonic(), 0.01)):
            now = time.monotonic()
            if now >= self._last + self._wait:
                self._last, self._wait = now, self.silence
                line = f"icdh: {self._line(now - self._begin)}"
                if self._stays:
                    line = line[: shutil.get_terminal_size().columns - 1]
                    self._write(f"\r{line:<{self._shown}}")
                    self._shown = len(line)
                else:
                    self._write(f"{line}\n")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

    def _line(self, seconds: float) -> str:
        line = f"{self.doing} for {seconds:.0f} s"
        line += f", {counted(self.steps, self.what.removesuffix('s'))} so far" if self.what else ""
        if self.total and self.steps:
            line += f", at most about {seconds / self.steps * (self.total - self.steps):.0f} s left"
        now = self._clock.describe() if self._clock else ""
        return f"{line}; now: {now}" if now else line
