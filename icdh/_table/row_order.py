"""What depends on the set of the rows of a table alone: an order of the rows, mean and deviation of a column."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def rows_by_content(keys: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
    """Return the order of observations by their content, shape (M,).

    They are sorted and then permuted, always in the same way: evenly spaced rows of a sorted table would be no sample
    of it.

    Parameters
    ----------
    keys : sequence of ndarray, each of shape (M,)
        What tells observations apart; those that tie by one are sorted by the next.
    """
    order, ranks = np.arange(len(keys[0])), np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        order = np.lexsort((key, ranks))
        ranks[order] = np.append(0, np.cumsum((np.diff(ranks[order]) > 0) | (np.diff(key[order]) != 0)))
        if ranks[order[-1]] == ranks.size - 1:
            break
    return np.random.default_rng(0).permutation(order)


def mean_and_deviation(column: NDArray[np.float64]) -> tuple[float, float]:
    """Return mean and standard deviation of a column, shape (M,), by sums without rounding.

    Neither the order of the rows nor the sign of the column changes a bit of them.
    """
    mean = math.fsum(column.tolist()) / column.size
    return mean, math.sqrt(math.fsum(np.square(column - mean).tolist()) / column.size)
