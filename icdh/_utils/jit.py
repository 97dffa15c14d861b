"""What every file of kernels shares: how they are compiled, an exponential, linear algebra, damping.

Kernels read tables features first: row ``i`` of ``features`` holds variable ``i`` at consecutive observations, so that
every inner loop runs over contiguous memory and vectorises; ``error_model="numpy"`` is part of that, because Python's
check for a zero divisor is a branch. Observations are processed in blocks of `ROWS`: activations stay in cache.

The fast-math flags are named: `CONTRACT` (fused multiply-add) keeps every digit that matters; `REASSOCIATE` lets sums
over observations use several accumulators. NaN and infinity keep their meaning everywhere.

What compiles fast: no array slice is assigned to (that compiles Numba's error messages), one call of each large
kernel (each is optimised again inside its caller), one layout of every argument. Numba's cache does not notice edits
in another file than a kernel's own; ``tests/conftest.py`` keys it by the content of all of them.

Numba compiles a kernel where it is first called and keeps it for later processes. The logger ``icdh.compilation`` says
so once, at level INFO, when that has taken two seconds in all. A user who waits should know why.

Damped loops have Levenberg and Marquardt's damping, the factor it grows by after a failed step, and the number of small
steps in a row. Plain functions say what comes next: kernels compile them, and NumPy loops call them.
"""

import logging
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numba.core import event

from icdh._utils.arrays import Floats
from icdh._utils.clock import compiling

logger = logging.getLogger("icdh.compilation")
EVERY_TIME = "compiling; no folder keeps the result: set NUMBA_CACHE_DIR to one that can be written"

CONTRACT = {"contract"}
REASSOCIATE = {"contract", "reassoc"}
ROWS = 256
PIVOTS = 4  # columns of a Cholesky factor that update the rest at once; the loop is unrolled by hand

LARGEST_EXPONENT = 708.0
LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
ROUNDING = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the nearest integer in the low bits

SMALLEST_DAMPING, LARGEST_DAMPING = 1e-12, 1e20
FIRST_DAMPING = 0.03  # of a node model, for each observation


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


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return the decorator of a kernel: lazily compiled, free of the GIL, cached where there is a place."""
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}

    def compile_lazily(function: Callable[..., Any]) -> Any:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError as error:  # neither the package's nor the user's cache folder can be written
            watch.message = EVERY_TIME
            logging.getLogger("icdh").debug("kernel %s is compiled anew by every process: %s", function.__name__, error)
            return njit(**options)(function)

    return compile_lazily


@kernel(fastmath=CONTRACT, inline="always")
def exp(x: float) -> float:
    """Exponential of x in [-708, 708], clipped outside: branch free, so that loops over it vectorise."""
    x = min(max(x, -LARGEST_EXPONENT), LARGEST_EXPONENT)
    shifted = x * LOG2_E + ROUNDING
    k = shifted - ROUNDING
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    # Estrin's scheme for Taylor's polynomial: its longest chain of dependent operations is half that of Horner's.
    r2 = r * r
    r4 = r2 * r2
    p0 = (1.0 + r) + r2 * (1 / 2 + r * (1 / 6))
    p4 = (1 / 24 + r * (1 / 120)) + r2 * (1 / 720 + r * (1 / 5040))
    p8 = (1 / 40320 + r * (1 / 362880)) + r2 * (1 / 3628800 + r * (1 / 39916800))
    p12 = 1 / 479001600 + r * (1 / 6227020800)
    p = p0 + r4 * (p4 + r4 * (p8 + r4 * p12))
    bits = np.float64(p).view(np.int64) + (np.float64(shifted).view(np.int64) << 52)
    return np.int64(bits).view(np.float64)


@kernel()
def padded(size: int) -> int:
    """Return the next multiple of four: as many rows `add_gram` and `add_product` take."""
    return (size + 3) // 4 * 4


@kernel()
def empty_block(size: int) -> Floats:
    """Return memory for ``size`` rows of a block, and zeros up to the next multiple of four rows.

    Products with that padding are never read. But what an earlier object left there is often subnormal if taken for
    numbers, and a processor needs a hundred times as long for those.
    """
    block = np.empty((padded(size), ROWS))
    for i in range(size, block.shape[0]):
        row = block[i]
        for r in range(ROWS):
            row[r] = 0.0
    return block


@kernel(fastmath=CONTRACT)
def multiply_by_roots(weights: Floats, first: int, rows: int, block: Floats) -> None:
    """Multiply the rows of a block by the roots of the weights of its observations, if there are any weights."""
    for i in range(block.shape[0] if weights.size else 0):
        row = block[i]
        for r in range(rows):
            row[r] *= math.sqrt(weights[first + r])


@kernel(fastmath=REASSOCIATE, inline="always")
def _add_tile(a: Floats, i: int, b: Floats, j: int, rows: int, product: Floats) -> None:
    """Add two by four entries of a @ b.T, of the first ``rows`` columns, to ``product``: they share their loads."""
    a0, a1 = a[i, :rows], a[i + 1, :rows]
    b0, b1, b2, b3 = b[j, :rows], b[j + 1, :rows], b[j + 2, :rows], b[j + 3, :rows]
    s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = 0.0
    for r in range(rows):
        s0 += a0[r] * b0[r]
        s1 += a0[r] * b1[r]
        s2 += a0[r] * b2[r]
        s3 += a0[r] * b3[r]
        t0 += a1[r] * b0[r]
        t1 += a1[r] * b1[r]
        t2 += a1[r] * b2[r]
        t3 += a1[r] * b3[r]
    product[i, j] += s0
    product[i, j + 1] += s1
    product[i, j + 2] += s2
    product[i, j + 3] += s3
    product[i + 1, j] += t0
    product[i + 1, j + 1] += t1
    product[i + 1, j + 2] += t2
    product[i + 1, j + 3] += t3


@kernel(fastmath=REASSOCIATE)
def add_gram(a: Floats, rows: int, gram: Floats) -> None:
    """Add a @ a.T, of the first ``rows`` columns of ``a``, to ``gram``, on and above the diagonal and some below.

    The number of rows of ``a`` is a multiple of four.
    """
    for i in range(0, a.shape[0], 2):
        for j in range(i - i % 4, a.shape[0], 4):
            _add_tile(a, i, a, j, rows, gram)


@kernel(fastmath=REASSOCIATE)
def add_product(a: Floats, size: int, b: Floats, rows: int, product: Floats) -> None:
    """Add a @ b.T, of ``size`` rows of a and all of b, multiples of four, and the first ``rows`` columns of both."""
    for j in range(0, b.shape[0], 4):
        for i in range(0, size, 2):
            _add_tile(a, i, b, j, rows, product)


@kernel()
def fill_product(a: Floats, size: int, b: Floats, rows: int, product: Floats) -> None:
    """Fill ``size`` rows of a product with a @ b.T, of as many rows of a, and the first ``rows`` columns of both."""
    for i in range(size):
        row = product[i]
        for j in range(row.size):
            row[j] = 0.0
    add_product(a, padded(size), b, rows, product)


@kernel(fastmath=CONTRACT)
def cholesky_in_place(a: Floats, size: int) -> float:
    """Overwrite the upper triangle of a leading block of a with R, block = R^T R; return log det of the block.

    NaN, with half-written factors, unless the block is positive definite: callers must look.
    """
    log_determinant = 0.0
    for first in range(0, size, PIVOTS):
        last = min(first + PIVOTS, size)
        for k in range(first, last):
            pivot, source = a[k, k], a[k, k:size]
            if not pivot > 0.0:
                return math.nan
            log_determinant += math.log(pivot)
            scale = 1.0 / math.sqrt(pivot)
            for j in range(size - k):
                source[j] *= scale
            for i in range(k + 1, last):
                factor, source, target = a[k, i], a[k, i:size], a[i, i:size]
                for j in range(size - i):
                    target[j] -= factor * source[j]
        for i in range(last, size):
            r0, r1, r2, r3 = a[first, i:size], a[first + 1, i:size], a[first + 2, i:size], a[first + 3, i:size]
            f0, f1, f2, f3, target = r0[0], r1[0], r2[0], r3[0], a[i, i:size]
            for j in range(size - i):
                target[j] -= f0 * r0[j] + f1 * r1[j] + f2 * r2[j] + f3 * r3[j]
    return log_determinant


@kernel(fastmath=REASSOCIATE)
def cholesky_solve(factor: Floats, b: Floats) -> None:
    """Overwrite b with the solution of R^T R b = b."""
    size = b.shape[0]
    for k in range(size):
        b[k] /= factor[k, k]
        value, row, rest = b[k], factor[k, k + 1 : size], b[k + 1 : size]
        for j in range(size - k - 1):
            rest[j] -= value * row[j]
    for k in range(size - 1, -1, -1):
        total, row, rest = 0.0, factor[k, k + 1 : size], b[k + 1 : size]
        for j in range(size - k - 1):
            total += row[j] * rest[j]
        b[k] = (b[k] - total) / factor[k, k]


def next_damping(damping: float, growth: float, ratio: float) -> tuple[float, float]:
    """Return damping and growth after a step whose fall was ``ratio`` times the predicted one.

    References
    ----------
    Nielsen, "Damping parameter in Marquardt's method", Technical University of Denmark, IMM-REP-1999-05.
    """
    if ratio > 0.0:
        return max(damping * max(1.0 / 3.0, 1.0 - (2.0 * ratio - 1.0) ** 3), SMALLEST_DAMPING), 2.0
    return damping * growth, 2.0 * growth


def small_steps(small: int, fall: float, predicted: float, tol: float) -> int:
    """Return the number of small steps in a row, ``small`` before this one, which are below ``tol``.

    A failed step is small if the predicted fall is; otherwise it neither counts nor ends the row.
    """
    if (fall if fall > 0.0 else predicted) < tol:
        return small + 1
    return 0 if fall > 0.0 else small
