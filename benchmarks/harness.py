"""What the benchmarks share: CPU time after a warm-up, facts of the machine, results that survive an interruption.

CPU time of one thread is what is compared: wall time depends on who else uses the machine.
"""

import json
import os
import platform
import signal
import time
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from icdh import Knowledge
from icdh.files import replace_on_success

PACKAGES = ("numpy", "scipy", "numba", "torch", "gcastle", "dagma", "dowhy")
SHORTEST_ROUND = 0.02  # seconds: far above the resolution of the clock


def machine() -> dict:
    """Return what a reader needs to judge figures in seconds."""
    found = {"processor": _processor(), "cores": os.cpu_count(), "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())


def interleaved(functions: dict, rounds: int = 9) -> dict:
    """Return the CPU seconds of a call of each function, one entry a round; rounds take turns after a warm-up."""
    calls = {name: _calls_per_round(function) for name, function in functions.items()}
    seconds = {name: np.empty(rounds) for name in functions}
    for number in range(rounds):
        for name, function in functions.items():
            begin = time.process_time()
            for _ in range(calls[name]):
                function()
            seconds[name][number] = (time.process_time() - begin) / calls[name]
    return seconds


def _calls_per_round(function):
    function()
    begin = time.process_time()
    function()
    return max(1, int(SHORTEST_ROUND / max(time.process_time() - begin, 1e-6)))


def only(truth):
    """Return the knowledge that the graph is this one, shape (N, N)."""
    apart = ~truth & ~np.eye(len(truth), dtype=bool)
    return Knowledge(required=np.argwhere(truth).tolist(), forbidden=np.argwhere(apart).tolist())


def summary(values, digits: int = 2) -> str:
    """Return median and range."""
    low, median, high = (f"{value:.{digits}f}" for value in np.quantile(np.asarray(values, dtype=float), [0, 0.5, 1]))
    return f"{median} ({low} to {high})"


def exponent(sizes, values) -> float:
    """Return p of the least squares fit of values proportional to sizes**p."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


@contextmanager
def cpu_limit(seconds: float):
    """Raise TimeoutError in the body once it used so much CPU time."""

    def stop(signum, frame):
        raise TimeoutError("limit of CPU time")

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, previous)


class Results:
    """Rows of figures in a JSON file, written after each, so that a run that stops can go on where it was.

    Parameters
    ----------
    path : Path
        The file; read if it exists.
    key : tuple of str
        The fields that name a row.
    """

    def __init__(self, path, key):
        self.path, self.key = Path(path), key

    @property
    def rows(self) -> list:
        """Every row in the file."""
        return json.loads(self.path.read_text(encoding="utf-8"))["rows"] if self.path.exists() else []

    def has(self, **key) -> bool:
        """Return whether there is a row with these values of the key."""
        return any(all(row[name] == key[name] for name in self.key) for row in self.rows)

    def add(self, row: dict):
        """Append a row, in place of the one of the same key."""
        others = [old for old in self.rows if any(old[name] != row[name] for name in self.key)]
        rows = sorted([*others, row], key=lambda row: [row[name] for name in self.key])
        with replace_on_success(self.path) as temporary:
            temporary.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", encoding="utf-8")
