"""Messages and exit codes that all commands share."""

import os
import sys
from typing import TextIO

from icdh._ground.labels import printable

SUCCESS = 0
DEFECT = 1
BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141


def report(kind: str, message) -> None:
    """Write one line to the standard error stream; a closed stream must not cost a fit."""
    try:
        print(f"icdh: {kind}: {printable(' '.join(str(message).split()))}", file=sys.stderr, flush=True)
    except OSError:
        drop(sys.stderr)


def drop(stream: TextIO) -> None:
    """Discard what a stream did not accept, as Python would report it again when it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
