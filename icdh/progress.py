"""A line that shows how far a fit or a bootstrap has come."""

import shutil
import sys
import threading
import time

from icdh._utils.clock import Clock
from icdh._utils.labels import counted

FIRST, BEAT = 1.0, 2.0  # seconds until the first line on a terminal, and between lines
SILENCE = 10.0  # seconds between lines elsewhere


class Progress:
    """A callback that shows how far rounds, moves or resamples have come, on the standard error stream.

    On a terminal it keeps one line up to date; elsewhere it writes a line every ten seconds.

    Parameters
    ----------
    what : str
        What is counted, in the plural; empty if nothing is.
    total : int, optional
        How many there will be at the most.
    shown : bool, optional
        Whether anything is shown; by default on a terminal.
    doing : str
        What is being done.
    between : bool
        Whether something else shows every step, so that lines are written only where none is done for a while.

    Attributes
    ----------
    steps : int
        How many steps were counted.
    is_interrupted : bool
        Whether every further step raises KeyboardInterrupt: Python drops what is raised inside some callbacks of C.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh import HNMSearch, Progress, bootstrap
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> with Progress("resamples", total=3) as progress:
    ...     ensemble = bootstrap(HNMSearch(noise_distribution="gaussian"), X, 3, callback=progress)
    >>> progress.steps
    3
    """

    def __init__(
        self,
        what: str,
        total: int | None = None,
        shown: bool | None = None,
        *,
        doing: str = "at work",
        between: bool = False,
    ):
        on_terminal = sys.stderr.isatty()
        self.what, self.total, self.doing, self.steps, self.is_interrupted = what, total, doing, 0, False
        self.shown = on_terminal if shown is None else shown
        self._between, self._stays, self._width = between, on_terminal and not between, 0
        self._clock: Clock | None = None
        self._is_over = False
        self._begin = self._last = time.monotonic()
        self._wait, self._beat = (FIRST, BEAT) if on_terminal else (SILENCE, SILENCE)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __call__(self, record: object = None) -> None:
        """Count a step."""
        if self.is_interrupted:
            raise KeyboardInterrupt
        self.steps += 1
        if self._between:
            self._last = time.monotonic()

    def follow(self, clock: Clock) -> None:
        """Show what is being done by the clock of a fit; estimators call it as ``fit`` begins."""
        self._clock = clock

    def __enter__(self) -> "Progress":
        if self.shown:
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        if self.shown:
            self._thread.join()
        if self._width:
            self._write("\r" + " " * self._width + "\r")

    def _run(self) -> None:
        while not self._over.wait(max(self._last + self._wait - time.monotonic(), 0.01)):
            now = time.monotonic()
            if now >= self._last + self._wait:
                self._last, self._wait = now, self._beat
                was_over, self._is_over = self._is_over, self._clock is not None and self._clock.is_over
                if was_over and not self._stays:  # said once
                    continue
                line = f"icdh: {self._line(now - self._begin)}"
                if self._stays:
                    line = line[: shutil.get_terminal_size().columns - 1]
                    self._write(f"\r{line:<{self._width}}")
                    self._width = len(line)
                else:
                    self._write(f"{line}\n")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

    def _line(self, seconds: float) -> str:
        line = f"{self.doing} for {seconds:.0f} s"
        if self.total and self.steps:
            left = seconds / self.steps * (self.total - self.steps)
            line += f", {self.steps} of {self.total} {self.what}, about {left:.0f} s left"
        elif self.what and self.steps:
            line += f", {counted(self.steps, self.what.removesuffix('s'))} so far"
        now = self._clock.describe() if self._clock else ""
        return f"{line}; now: {now}" if now else line
