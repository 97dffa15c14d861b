"""A causal order of variables whose effects are linear and whose noise is not Gaussian: DirectLiNGAM, from moments.

Of two standardised variables with correlation r, x comes first if x and the residual of y given x, y - r x over its
standard deviation, are together farther from Gaussian than y and the residual of x given y: the right pair is
independent, and mixing makes Gaussian. The distance is negentropy in its expansion by cumulants,

    J(u) = k3(u)^2 / 12 + k4(u)^2 / 48,

and the moments of residuals follow from joint moments of x and y. So all pairs take a few matrix products. The variable
that no other one precedes is first in the order; the others are replaced by their residuals given it, and so on.

References
----------
Shimizu et al., "DirectLiNGAM: a direct method for learning a linear non-Gaussian structural equation model", JMLR 12
(2011).
Hyvärinen and Smith, "Pairwise likelihood ratios for estimation of non-Gaussian structural equation models", JMLR 14
(2013).
"""

from collections.abc import Callable

import numpy as np

from icdh._ground.arrays import Floats

MOST_DEVIATIONS = 4.0  # values beyond are held there: third and fourth moments of heavy tails are a few rows
LEAST_APART = 1e-4  # share of the variance of two variables' difference below which neither tells anything


def lingam_order(x: Floats, before_each: Callable[[], None] = lambda: None) -> list[int]:
    """Return the variables, causes first.

    Parameters
    ----------
    x : ndarray, shape (N, n)
        The variables, standardised, one a row.
    before_each : callable
        Called before each variable is chosen; what it raises ends the call.
    """
    left: Floats = np.clip(x, -MOST_DEVIATIONS, MOST_DEVIATIONS)
    order: list[int] = []
    places = list(range(len(x)))
    while len(places) > 1:
        before_each()
        left = _standardised(left)
        lead = _lead(left)
        first = int(np.argmin(np.square(np.minimum(lead, 0.0)).sum(axis=1)))
        order.append(places.pop(first))
        cause, left = left[first], np.delete(left, first, axis=0)
        left = left - np.outer(left @ cause / cause.size, cause)
    return order + places


def _standardised(x: Floats) -> Floats:
    centred = x - x.mean(axis=1, keepdims=True)
    standardised: Floats = centred / np.maximum(centred.std(axis=1, keepdims=True), np.finfo(float).tiny)
    return standardised


def _negentropy(third: Floats, fourth: Floats) -> Floats:
    return third**2 / 12 + (fourth - 3.0) ** 2 / 48


def _lead(x: Floats) -> Floats:
    """Return by how much the data favour i before j, nats an observation, shape (N, N); antisymmetric."""
    n, square = x.shape[1], x**2
    r = x @ x.T / n
    m21, m22, m31 = square @ x.T / n, square @ square.T / n, (square * x) @ x.T / n  # E x^2 y, E x^2 y^2, E x^3 y
    third, fourth = np.diag(m21), np.diag(m22)
    rest = np.maximum(1.0 - r**2, LEAST_APART)
    # of y - r x, where x is the row and y the column
    residual_third = third - 3 * r * m21.T + 3 * r**2 * m21 - r**3 * third[:, np.newaxis]
    residual_fourth = fourth - 4 * r * m31.T + 6 * r**2 * m22 - 4 * r**3 * m31 + r**4 * fourth[:, np.newaxis]
    of_residual = _negentropy(residual_third / rest**1.5, residual_fourth / rest**2)
    forward = _negentropy(third, fourth)[:, np.newaxis] + of_residual
    return np.where(rest > LEAST_APART, forward - forward.T, 0.0)
