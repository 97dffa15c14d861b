"""What every command says when something is not as it should be, and its exit codes."""

import os
import sys
from typing import TextIO

from icdh._labels import printable

SUCCESS = 0
DEFECT = 1
BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141


def report(kind: str, message) -> None:
    """Write one line to the standard error stream; that it cannot be written is no reason to lose a fit."""
    try:
        print(f"icdh: {kind}: {printable(' '.join(str(message).split()))}", file=sys.stderr, flush=True)
    except OSError:
        drop(sys.stderr)


def drop(stream: TextIO) -> None:
    """Forget what a stream did not take: Python would complain of it once more when it closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
