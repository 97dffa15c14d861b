"""The kernel of distance covariance: a sum over all pairs in n log n steps."""

import numpy as np

from icdh._utils.arrays import Floats, Integers
from icdh._utils.jit import CONTRACT, kernel


@kernel(fastmath=CONTRACT)
def sum_of_products_of_distances(x: Floats, y: Floats, place: Integers) -> float:
    """Return the sum over all ordered pairs of |x_i - x_j| |y_i - y_j|.

    ``x`` ascends, and ``place`` is the rank of y_i among all y, from 1 to n. All
    observations before j are in four binary indexed trees over these ranks (count, x, y, x y), so that sums over those
    of them with a smaller y take log n steps.
    """
    n = x.size
    below = np.zeros((n + 1, 4))
    whole = np.zeros(4)
    total = 0.0
    for j in range(n):
        count, of_x, of_y, of_xy = 0.0, 0.0, 0.0, 0.0
        at = place[j]
        while at > 0:
            count += below[at, 0]
            of_x += below[at, 1]
            of_y += below[at, 2]
            of_xy += below[at, 3]
            at -= at & -at
        under = x[j] * y[j] * count - x[j] * of_y - y[j] * of_x + of_xy
        total += 2.0 * under - (x[j] * y[j] * whole[0] - x[j] * whole[2] - y[j] * whole[1] + whole[3])
        at = place[j]
        while at <= n:
            below[at, 0] += 1.0
            below[at, 1] += x[j]
            below[at, 2] += y[j]
            below[at, 3] += x[j] * y[j]
            at += at & -at
        whole[0] += 1.0
        whole[1] += x[j]
        whole[2] += y[j]
        whole[3] += x[j] * y[j]
    return 2.0 * total
