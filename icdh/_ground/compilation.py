"""Tell the log, once, that kernels are being compiled, when that has taken two seconds in all.

Numba compiles a kernel where it is first called and keeps it for later processes. The logger
``icdh.compilation`` says so at level INFO: a user who waits should know why, and that it happens once.
"""

import logging
import threading
import time

from numba.core import event

from icdh._ground.clock import compiling

logger = logging.getLogger("icdh.compilation")

EVERY_TIME = "compiling; no folder keeps the result: set NUMBA_CACHE_DIR to one that can be written"


class CompilationWatch(event.Listener):
    """Counts what this process compiles, and logs one line when that has taken longer than ``patience``, in seconds.

    Kernels that are loaded from the cache do not count.
    """

    def __init__(self, patience: float = 2.0):
        self.compiled = 0
        self.patience = patience
        self.message = "compiling what is needed for the first time; later runs find it"
        self._told = False
        self._running = 0
        self._lock = threading.RLock()

    def on_start(self, event: event.Event) -> None:
        """Begin to wait, unless this is called for by another kernel that is being compiled."""
        with self._lock:
            self._running += 1
            if self._running == 1:
                self._begin = time.monotonic()
                compiling.begin()
                self._timer = threading.Timer(max(self.patience, 0.0), self._tell)
                self._timer.daemon = True
                if not self._told and logger.isEnabledFor(logging.INFO):
                    self._timer.start()

    def on_end(self, event: event.Event) -> None:
        """Stop waiting when the outermost kernel is done."""
        with self._lock:
            self.compiled += 1
            self._running -= 1
            if self._running == 0:
                self._timer.cancel()
                compiling.end()
                self.patience -= time.monotonic() - self._begin

    def _tell(self) -> None:
        with self._lock:
            told, self._told = self._told, True
        if not told:
            logger.info(self.message)


watch = CompilationWatch()
event.register("numba:compile", watch)  # type: ignore[no-untyped-call]
