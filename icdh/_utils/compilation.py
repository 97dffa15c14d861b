"""Tell the log, once, that kernels are being compiled, once that has taken two seconds in all.

Numba compiles a kernel where it is first called and keeps it for later processes. The logger
``icdh.compilation`` says so at level INFO: a user who waits should know why, and that it happens once.
"""

import logging
import math
import time

from numba.core import event

from icdh._utils.clock import compiling

logger = logging.getLogger("icdh.compilation")

EVERY_TIME = "compiling; no folder keeps the result: set NUMBA_CACHE_DIR to one that can be written"


class CompilationWatch(event.Listener):
    """Counts what this process compiles, and logs one line once that has taken ``patience`` seconds in all.

    Kernels that are loaded from the cache do not count. Numba compiles on one thread at a time.
    """

    def __init__(self, patience: float = 2.0):
        self.compiled = self._nesting = 0
        self.patience = patience
        self.message = "compiling what is needed for the first time; later runs find it"

    def on_start(self, event: event.Event) -> None:
        """Begin to count seconds, unless this is called for by another kernel that is being compiled."""
        self._nesting += 1
        if self._nesting == 1:
            compiling.begin()
        if compiling.until(time.monotonic()) >= self.patience and logger.isEnabledFor(logging.INFO):
            self.patience = math.inf
            logger.info(self.message)

    def on_end(self, event: event.Event) -> None:
        """Stop counting when the outermost kernel is done."""
        self.compiled += 1
        self._nesting -= 1
        if self._nesting == 0:
            compiling.end()


watch = CompilationWatch()
event.register("numba:compile", watch)  # type: ignore[no-untyped-call]
