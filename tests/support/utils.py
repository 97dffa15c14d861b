"""The private names of what all rooms share that tests use, so that a move inside the package edits one file."""

from icdh._utils import clock, jit, parallel
from icdh._utils.arrays import cells, drawn_from_cells
from icdh._utils.checks import Choice, Flag, Number, constraints_of
from icdh._utils.clock import Clock, OutOfTime, compiling
from icdh._utils.density import (
    GAUSSIAN_ENTROPY,
    entropy,
    fit_counts,
    gaussian_nll,
    negentropy,
    spread_ties,
    vasicek_entropy,
)
from icdh._utils.jit import CompilationWatch, logger, watch
from icdh._utils.parallel import (
    _bundled_openblas,
    deferred_interrupts,
    follows_interrupt,
    in_parallel,
    single_blas_thread,
)
