"""A bar that shows how far a fit or a bootstrap has come."""

import sys
import threading
from typing import Any

from icdh.exceptions import MissingExtraError, import_extra

BEAT = 1.0  # seconds after which the bar of a fit shows what is being done


class Progress:
    """A callback that moves a tqdm bar on the standard error stream, for rounds, moves and resamples alike.

    Parameters
    ----------
    what : str
        What is counted.
    total : int, optional
        How many there will be at the most.
    shown : bool, optional
        Whether there is a bar; by default if the standard error stream is a terminal and tqdm (extra ``[progress]``)
        is installed.

    Raises
    ------
    MissingExtraError
        If ``shown`` is True and tqdm is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh import HNMSearch, Progress, bootstrap
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> with Progress("resamples", total=3) as bar:
    ...     ensemble = bootstrap(HNMSearch(noise_distribution="gaussian"), X, 3, callback=bar)
    >>> ensemble.graphs.shape
    (3, 3, 3)
    """

    def __init__(self, what: str, total: int | None = None, shown: bool | None = None):
        self._bar, self.steps = _bar(what, total, shown), 0
        self._over = threading.Event()
        self._thread = None

    @property
    def shown(self) -> bool:
        """Whether there is a bar."""
        return self._bar is not None

    def __call__(self, record: Any = None) -> None:
        """Count one more."""
        self.steps += 1
        if self.shown:
            self._bar.set_postfix_str(_described(record), refresh=False)
            self._bar.update()

    def follow(self, clock: Any) -> None:
        """Show what is being done by the clock of a fit; estimators call it as ``fit`` begins."""
        if self.shown and self._thread is None:
            self._thread = threading.Thread(target=self._beat, args=(clock,), daemon=True)
            self._thread.start()

    def _beat(self, clock):
        while not self._over.wait(BEAT):
            self._bar.set_postfix_str(clock.describe())

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self.shown:
            self._bar.close()


def _bar(what, total, shown):
    if shown is False or (shown is None and not sys.stderr.isatty()):
        return None
    # Steps are slow: each is shown.
    how = {"unit": "", "leave": False, "file": sys.stderr, "mininterval": 0.0}
    try:
        return import_extra("tqdm", "progress").tqdm(desc=what, total=total, **how)
    except MissingExtraError:
        if shown:
            raise
        return None


def _described(record):
    """Return how good the last step was: the likelihood of a round, the gain of a move."""
    for name in ("nll", "gain"):
        if hasattr(record, name):
            return f"{name} {getattr(record, name):.3f}"
    return ""
