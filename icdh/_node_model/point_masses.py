"""A response with point masses: a number that takes one value, or a few, much more often than their neighbours.

Zeros of a spending, the floor of an instrument and a top code are such values. With K of them, each has a probability
given the parents, and all other values have a density:

    P(k | x) = exp(eta_k) / sum_j exp(eta_j),    eta_0 = 0,    eta_k = log (share_k / share_0) + c_k + d w_k · s,
    p(y | x) = P(0 | x) N(y; mu, v).

Mean mu, variance v and hidden units s are those of `icdh._node_model.network`, so that probabilities, mean and variance
have the same parents; d is the deviation of the logistic distribution. The weights are theta = [w1 (p, m), b1 (m),
b2, w2 (m), b3, w3 (m), c_1, w_1 (m), ..., c_K, w_K (m)], and w_k has a prior as w2 and w3 have.

One density of the noise cannot do this: it explains the frequent value without a cause, and no longer with one, for the
residuals of equal values differ. Edges of hundreds of nats were lost so.

References
----------
Cragg, "Some statistical models for limited dependent variables", Econometrica 39 (1971).
"""

import math

import numpy as np

from icdh._ground.arrays import Floats, Integers, Mask
from icdh._node_model._kernels import LOG_VARIANCE_LIMIT, VARIANCE_FLOOR
from icdh._node_model._outputs_kernels import LOGISTIC_DEVIATION
from icdh._node_model.categorical import HALF_A_COUNT, covariances, log_softmax
from icdh._node_model.gaussian import GaussianResponse
from icdh._node_model.network import NodeConditional
from icdh._node_model.scoring import FittedByScoring, Terms


class PointMassResponse(FittedByScoring):
    """A continuous variable, or one recorded on a grid, some of whose values are point masses.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        0 where the value has a density, k where it is the k-th point mass.
    density : GaussianResponse
        The values; those at point masses are not read.
    n_masses : int
        K.
    """

    def __init__(self, codes: Integers, density: GaussianResponse, n_masses: int):
        self.codes, self.density = codes, density
        counts = np.bincount(codes, minlength=n_masses + 1) + HALF_A_COUNT
        self.log_odds = np.log(counts[1:] / counts[0])
        self.n_outputs = self.rank = 2 + n_masses

    def take(self, rows: Mask | Integers) -> "PointMassResponse":
        """Return the response at some observations."""
        part = super().take(rows)
        part.density = self.density.take(rows)
        return part

    @property
    def has_density(self) -> Mask:
        """Where the value has a density; bool, shape (n,)."""
        has_density: Mask = self.codes == 0
        return has_density

    def with_density(self, x: Floats) -> tuple[Floats, GaussianResponse]:
        """Return the parents and the response where the value has a density."""
        rows = np.flatnonzero(self.has_density)
        return np.ascontiguousarray(x[:, rows]), self.density.take(rows)

    def terms(self, theta: Floats, hidden: Floats) -> Terms:
        """Return the terms of the likelihood by mean, log-variance and log odds."""
        weights, has_density = (
            theta[-self.n_outputs * (len(hidden) + 1) :].reshape(self.n_outputs, -1),
            self.has_density,
        )
        outputs = weights[:, :1] + weights[:, 1:] @ hidden
        scale = np.exp(np.clip(outputs[1], -LOG_VARIANCE_LIMIT, LOG_VARIANCE_LIMIT))
        variance = VARIANCE_FLOOR + scale
        residual = self.density.centre - outputs[0]
        squares = (np.square(residual) + self.density.spread) / variance
        log_p = _log_probabilities(outputs[2:], self.log_odds)
        values = np.where(has_density, 0.5 * (np.log(variance) + squares), 0.0)
        values = values - log_p[self.codes, np.arange(len(self))]
        p = np.exp(log_p[1:])
        pull = np.empty_like(outputs)
        pull[0] = np.where(has_density, -residual / variance, 0.0)
        pull[1] = np.where(has_density, 0.5 * scale / variance * (1.0 - squares), 0.0)
        pull[2:] = LOGISTIC_DEVIATION * (p - (self.codes == np.arange(1, len(log_p))[:, np.newaxis]))
        among_masses = covariances(np.exp(log_p))[len(log_p) :]
        curvature = np.zeros((2 * len(outputs) - 1 + len(among_masses), len(self)))
        curvature[0] = has_density / variance
        curvature[len(outputs)] = has_density * 0.5 * np.square(scale / variance)
        curvature[2 * len(outputs) - 1 :] = LOGISTIC_DEVIATION**2 * among_masses
        return Terms(float(values.sum()), pull, lambda columns: curvature[:, columns])

    def conditional(
        self, inputs: Integers, widths: Integers, theta: Floats, hidden_units: int, sign: float = 1.0
    ) -> NodeConditional:
        """Return mean and variance where there is a density; parameters as of `Response.conditional`."""
        end = self.intercepts(int(widths.sum()), hidden_units)[2]
        return NodeConditional(inputs, widths, theta[:end], hidden_units)

    def without_parents(self, hidden_units: int) -> tuple[Floats, float, float]:
        """Return weights, F and log det H of the constant model, in closed form."""
        density = self.with_density(np.empty((0, len(self))))[1]
        of_density, objective, log_determinant = density.without_parents(hidden_units)
        theta = np.zeros(self.n_weights(0, hidden_units))
        theta[: of_density.size] = of_density
        log_p = _log_probabilities(np.zeros((self.log_odds.size, 1)), self.log_odds)
        counts = np.bincount(self.codes, minlength=len(log_p))
        objective -= float(counts @ log_p[:, 0])
        # det (diag(p) - p p^T) of the masses is the product of all probabilities, that of the density among them.
        odds = self.log_odds.size * math.log(len(self) * LOGISTIC_DEVIATION**2) + float(log_p.sum())
        return theta, objective, log_determinant + odds


def _log_probabilities(outputs: Floats, log_odds: Floats) -> Floats:
    """Return log P of the density and of every point mass, shape (K + 1, n), given the outputs, shape (K, n)."""
    return log_softmax(np.vstack([np.zeros(outputs.shape[1]), log_odds[:, np.newaxis] + LOGISTIC_DEVIATION * outputs]))
