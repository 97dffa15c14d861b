"""Distance correlation, and the test of independence that it gives without any permutation.

With a_ij the distance of two observations of x, centred as

    A_ij = a_ij - sum_k a_ik / (n - 2) - sum_k a_kj / (n - 2) + sum_kl a_kl / ((n - 1) (n - 2)),    i != j,

and B likewise of y, the mean of A_ij B_ij over all pairs, with n (n - 3) in place of their number, is zero in
expectation if x and y are independent. Divided by the root of that of x with itself times that of y with itself it is
the distance correlation R. Its population value is zero under independence alone. The test compares n R + 1 with a
chi-square of one degree of freedom, whose upper tail is hardly ever lighter, whatever the distributions.

The distance of two numbers is that on the line, of two labels zero if they are the same and else one.

References
----------
Székely, Rizzo: "Partial distance correlation with methods for dissimilarities", Annals of Statistics 42 (2014).
Huo, Székely: "Fast computing for distance covariance", Technometrics 58 (2016).
Shen, Panda, Vogelstein: "The chi-square test of distance correlation", J. Computational and Graphical Statistics 31
(2022).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import erfc

from icdh._ground.arrays import Floats
from icdh.diagnostics._kernels import sum_of_products_of_distances

FEWEST_PAIRS = 4


class Distances(NamedTuple):
    """A sample, and the sums of its distances.

    Attributes
    ----------
    values : ndarray, shape (n,)
        Numbers, or labels 0 ... K - 1.
    of_labels : bool
        Which of these.
    sums : ndarray, shape (n,)
        For every observation, its distances to all others.
    variance : float
        The distance variance: zero of a constant, and of samples too small to tell.
    """

    values: Floats
    of_labels: bool
    sums: Floats
    variance: float

    @classmethod
    def of(cls, values: Floats, of_labels: bool = False) -> "Distances":
        """Return the distances of at least four observations, shape (n,)."""
        if of_labels:
            sizes = np.bincount(values.astype(int))
            sums = values.size - sizes[values.astype(int)].astype(float)
            squares = float(sums.sum())
        else:
            sums = _sums_of_distances(values)
            squares = 2.0 * values.size * float(np.square(values - values.mean()).sum())
        variance = _centred(squares, sums, sums)
        return cls(values, of_labels, sums, variance if variance > 1e-12 * squares else 0.0)


def distance_correlation(x: Distances, y: Distances) -> float:
    """Return the distance correlation of two samples, unbiased; zero if one is constant.

    Parameters
    ----------
    x, y : Distances
        Of the same observations; ``y`` of numbers.
    """
    if not min(x.variance, y.variance) > 0.0:
        return 0.0
    products = _products_with_labels(x, y) if x.of_labels else _products(x.values, y.values)
    return _centred(products, x.sums, y.sums) / math.sqrt(x.variance * y.variance)


def p_value(correlation: float, n_observations: int) -> float:
    """Return how often independent samples have as high a distance correlation, by the chi-square test."""
    return float(erfc(math.sqrt(max(n_observations * correlation + 1.0, 0.0) / 2.0)))


def _centred(products: float, sums_of_x: Floats, sums_of_y: Floats) -> float:
    """Return the distance covariance, given the sum over pairs of the products of distances."""
    n = sums_of_x.size
    rows = float(sums_of_x @ sums_of_y) * 2.0 / (n - 2)
    whole = float(sums_of_x.sum()) * float(sums_of_y.sum()) / ((n - 1) * (n - 2))
    return (products - rows + whole) / (n * (n - 3))


def _sums_of_distances(values: Floats) -> Floats:
    """Return the sum of the distances of every number to all others."""
    order = np.argsort(values, kind="stable")
    ascending = values[order] - values.mean()
    below = np.cumsum(ascending) - ascending
    position = np.arange(values.size)
    sums = np.empty(values.size)
    sums[order] = (2 * position + 1 - values.size) * ascending + ascending.sum() - ascending - 2.0 * below
    return sums


def _products(x: Floats, y: Floats) -> float:
    order = np.argsort(x, kind="stable")
    x, y = x[order] - x.mean(), y[order] - y.mean()
    place = np.empty(x.size, dtype=np.int64)
    place[np.argsort(y, kind="stable")] = np.arange(1, x.size + 1)
    return float(sum_of_products_of_distances(x, y, place))


def _products_with_labels(labels: Distances, y: Distances) -> float:
    """Return the sum of the distances in y over all pairs of different labels."""
    same = sum(_sums_of_distances(y.values[labels.values == k]).sum() for k in np.unique(labels.values))
    return float(y.sums.sum() - same)
