"""The clock of a fit: when it has to end, and what it is at."""

import math
import time


class _Waiting:
    """Seconds that this process has spent waiting for the compiler, which no fit can help."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.since: float | None = None  # when a wait under way began

    def begin(self) -> None:
        """Note that the compiler is at work."""
        self.since = time.monotonic()

    def end(self) -> None:
        """Note that the compiler is done."""
        self.seconds, self.since = self.until(time.monotonic()), None

    def until(self, now: float) -> float:
        """Return the seconds of waiting until ``now``, those of a wait under way included."""
        since = self.since
        return self.seconds if since is None else self.seconds + now - since


compiling = _Waiting()


class OutOfTime(Exception):
    """The time limit of a fit is over; the caller keeps the best result so far."""


class Clock:
    """Counts the seconds of a fit, those of the compiler aside, and knows what is being done and how much of it.

    Copies in other processes end with it, wherever their monotonic clocks began.

    Parameters
    ----------
    max_seconds : float, optional
        How long the fit may take from now on; by default as long as it likes.

    Attributes
    ----------
    stage : str
        What the tasks are for, where that needs saying.
    task : str
        What is being done.
    total, done : int
        How many parts it has, zero if unknown, and how many are done.
    work : int
        The units of work that `check` counted, for instance evaluations of one variable.
    """

    def __init__(self, max_seconds: float | None = None):
        self.max_seconds = max_seconds
        self._begin = time.monotonic()
        self._compiled = compiling.until(self._begin)
        self.stage, self.work = "", 0
        self.begin("")

    def followed_by(self, callback: object) -> "Clock":
        """Tell a callback that would follow the clock, as `icdh.Progress` does, and return the clock."""
        getattr(callback, "follow", lambda clock: None)(self)
        return self

    def begin(self, task: str, total: int = 0) -> None:
        """Note what is done next, in how many parts."""
        self.task, self.total, self.done, self._task_begin = task, total, 0, time.monotonic()

    def part_done(self) -> None:
        """Note that one more part is done."""
        self.done += 1

    @property
    def left(self) -> float:
        """Seconds until the fit has to end."""
        if self.max_seconds is None:
            return math.inf
        now = time.monotonic()
        return self._begin + self.max_seconds - now + compiling.until(now) - self._compiled

    @property
    def is_over(self) -> bool:
        """Whether the fit has to end."""
        return self.left <= 0.0

    def check(self, work: int = 0) -> None:
        """Raise OutOfTime if the fit has to end; else count some units of work, which then begin."""
        if self.is_over:
            raise OutOfTime
        self.work += work

    def describe(self) -> str:
        """Return what is being done, and an estimate of how long that still takes."""
        if compiling.since is not None:
            return "compiling"
        parts = [self.stage, self.task]
        if 0 < self.done < self.total:
            parts.append(f"{self.done} of {self.total}")
            seconds = (time.monotonic() - self._task_begin) * (self.total - self.done) / self.done
            parts.append(f"about {seconds:.0f} s")
        if self.max_seconds is not None:
            parts.append(f"at most {self.left:.0f} s left" if self.left > 0.0 else "time is over, the result follows")
        return ", ".join(filter(None, parts))

    def __getstate__(self) -> dict[str, float]:
        now = time.monotonic()
        begin = self._begin + compiling.until(now) - self._compiled
        return {**vars(self), "_begin": begin - now + time.time()}

    def __setstate__(self, state: dict[str, float]) -> None:
        now = time.monotonic()
        begin = state["_begin"] - time.time() + now
        self.__dict__ = {**state, "_begin": begin, "_compiled": compiling.until(now)}
