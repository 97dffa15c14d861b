"""The linear model of a family: a linear mean of the causes and one variance, a rival of the network.

A network describes a linear effect, but pays for all other functions that it could have described. So a family has the
evidence of the better of the two models. With v the mean squared residual of least squares and r its rank, the negative
log evidence of the linear model is, in nats and without the constants that `icdh._node_model.evidence` leaves out,

    (n / 2) (log v + 1) + (1/2) log det diag(n / v, n / 2) + (r / 2) log n.

The determinant is that of intercept and log-variance, so without causes the linear model is the network's constant
model. Every coefficient costs (1/2) log n, as in Schwarz's criterion: the evidence under a prior that holds as much as
one observation. The sum over all families is the same for all graphs of an equivalence class, as it has to be: linear
Gaussian data do not tell these apart.

References
----------
Schwarz, "Estimating the dimension of a model", The Annals of Statistics 6 (1978).
Kass and Wasserman, "A reference Bayesian test for nested hypotheses and its relationship to the Schwarz criterion",
Journal of the American Statistical Association 90 (1995).
"""

import math
from typing import NamedTuple

import numpy as np

from icdh._node_model._kernels import VARIANCE_FLOOR
from icdh._node_model.gaussian import GaussianResponse

LEAST_ROWS = 10  # observations for each weight: with fewer the criterion is no evidence
RESOLVED = 1e-10  # eigenvalue of the correlations of causes: smaller ones are rounding


class LinearFit(NamedTuple):
    """The least-squares fit of a family.

    Attributes
    ----------
    mean : ndarray, shape (n,)
        The mean given the causes.
    variance : float
        v.
    evidence : float
        The negative log evidence in nats; infinite with fewer than ten observations for each weight.
    """

    mean: np.ndarray
    variance: float
    evidence: float


def fit_linear(x: np.ndarray, response: GaussianResponse) -> LinearFit:
    """Return the linear model of a response given its causes.

    Parameters
    ----------
    x : ndarray, shape (p, n)
        The causes, one network input a row.
    response : GaussianResponse
        The effect.
    """
    n, values = x.shape[1], response.centre
    causes = x - x.mean(axis=1, keepdims=True)
    causes /= np.maximum(np.sqrt(np.square(causes).sum(axis=1, keepdims=True)), np.finfo(float).tiny)
    sizes, directions = np.linalg.eigh(causes @ causes.T)
    resolved = sizes > RESOLVED
    directions, sizes = directions[:, resolved], sizes[resolved]
    mean = values.mean() + (directions / sizes @ (directions.T @ (causes @ values))) @ causes
    squares = np.square(values - mean) + response.spread
    variance = max(float(squares.mean()), 2.0 * VARIANCE_FLOOR)
    rank = sizes.size
    if n < LEAST_ROWS * (rank + 2):
        return LinearFit(mean, variance, math.inf)
    objective = 0.5 * (float(squares.sum()) / variance + n * math.log(variance))
    log_determinant = math.log(n / variance) + math.log(n / 2)
    return LinearFit(mean, variance, objective + 0.5 * log_determinant + 0.5 * rank * math.log(n))
