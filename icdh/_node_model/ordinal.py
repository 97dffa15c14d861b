"""An ordinal response: a variable of few ordered values, by a cumulative logit on the hidden units of the node model.

Of K levels, the observed one says between which thresholds c_k a hidden variable z falls:

    P(level <= k | x) = F(t_k),    t_k = (c_k - mu(x)) / sigma(x),    k = 1 ... K - 1,

F the logistic distribution function of unit variance. Mean mu, variance sigma^2 = exp(u), hidden units, weights and
prior are those of `icdh._node_model.network`. The thresholds make the model without parents, mu = 0 and sigma = 1,
give the observed shares of the levels. They are the same for all sets of parents, and so is their cost. Of two levels
(logistic regression) the scale is no separate unknown: sigma = 1.

The derivatives of log P by the upper and the lower t are simple, because

    F(b) - F(a) = F(b) (1 - F(a)) (1 - exp(a - b))

for the logistic F. The Fisher matrix of one observation by (mu, u) is the mean over levels of the outer product of
the scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit

from icdh._ground.arrays import Floats, Integers
from icdh._node_model._kernels import LOG_VARIANCE_LIMIT
from icdh._node_model._outputs_kernels import LEAST_GAP, LOGISTIC_DEVIATION, ordinal_terms
from icdh._node_model.network import GivenParents, hidden_units_of, linear_outputs
from icdh._node_model.scoring import FittedByScoring, Terms


def thresholds(levels: Integers) -> Floats:
    """Return the K - 1 thresholds that give the levels 0 ... K - 1 their shares under the logistic distribution."""
    shares = np.cumsum(np.bincount(levels))[:-1] / levels.size
    return np.log(shares / (1.0 - shares)) / LOGISTIC_DEVIATION


class OrdinalResponse(FittedByScoring):
    """A variable of few ordered values.

    Parameters
    ----------
    values : ndarray, shape (n,)
        The values. Only their order counts.

    Attributes
    ----------
    codes : ndarray of int, shape (n,)
        The levels, 0 ... K - 1.
    """

    def __init__(self, values: Floats):
        self.values, self.codes = np.unique(values, return_inverse=True)
        self.thresholds = thresholds(self.codes)
        self.is_binary = len(self.thresholds) == 1
        self.rank = 1 if self.is_binary else 2  # of two levels the scale is no unknown

    def layers(self, n_inputs: int, hidden_units: int) -> Sequence[slice]:
        """Return the slices of theta that share a prior precision."""
        return super().layers(n_inputs, hidden_units)[: 1 + self.rank]

    def conditional(
        self, inputs: Integers, widths: Integers, theta: Floats, hidden_units: int, sign: float = 1.0
    ) -> "OrdinalConditional":
        """Return the fitted node model; parameters as of `Response.conditional`."""
        turned = sign * self.values, sign * self.thresholds
        ascending = (np.ascontiguousarray(part[:: int(sign)]) for part in turned)
        return OrdinalConditional(inputs, widths, theta, hidden_units, *ascending)

    def terms(self, theta: Floats, hidden: Floats) -> Terms:
        """Return the terms of the likelihood by mu and u."""
        mu, u = linear_outputs(theta, hidden)
        pull, curvature = np.empty((2, mu.size)), np.empty((3, mu.size))
        value = ordinal_terms(mu, u, self.codes, self.thresholds, pull, curvature)
        if self.is_binary:
            pull[1] = 0.0
        return Terms(value, pull, lambda columns: curvature[:, columns])


@dataclass(frozen=True)
class OrdinalConditional(GivenParents):
    """A fitted node model of an ordinal variable: the probabilities of its levels given the parents.

    Attributes
    ----------
    inputs, widths, theta, hidden_units
        As of `icdh._node_model.network.GivenParents`; theta as of a number.
    levels : ndarray, shape (K,)
        The values, in ascending order.
    cuts : ndarray, shape (K - 1,)
        The thresholds between them.
    """

    levels: Floats
    cuts: Floats

    def log_probabilities(self, values: Floats) -> Floats:
        """Return the logarithms of the levels' probabilities, shape (K, M), given all variables, shape (N, M)."""
        mu, u = linear_outputs(self.theta, hidden_units_of(self.theta, self.network_inputs(values), self.hidden_units))
        slope = LOGISTIC_DEVIATION * np.exp(-0.5 * np.clip(u, -LOG_VARIANCE_LIMIT, LOG_VARIANCE_LIMIT))
        t = (self.cuts[:, np.newaxis] - mu) * slope
        log_p = np.zeros((self.levels.size, mu.size))
        log_p[:-1] += log_expit(t)
        log_p[1:] += log_expit(-t)
        log_p[1:-1] += np.log(-np.expm1(-np.maximum(np.diff(t, axis=0), LEAST_GAP)))
        return log_p

    def mean_and_scale(self, values: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation, each of shape (M,), given all variables, one a row, shape (N, M)."""
        p = np.exp(self.log_probabilities(values))
        mean = self.levels @ p
        variance = (p * np.square(self.levels[:, np.newaxis] - mean)).sum(axis=0)
        return mean, np.sqrt(np.maximum(variance, 1e-40))  # zero where one level has all probability
