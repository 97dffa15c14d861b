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

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit

from icdh._node_model._outputs_kernels import LEAST_GAP, add_ordinal_fisher, backpropagate, ordinal_terms
from icdh._node_model.network import GivenParents, MeanAndVariance, hidden_units_of, intercepts, layers, n_weights
from icdh._node_model.scoring import FittedByScoring, empty_fisher, every, with_penalty

LOGISTIC_DEVIATION = math.pi / math.sqrt(3.0)  # standard deviation of the standard logistic distribution
LOG_VARIANCE_LIMIT = 30.0
LEAST_VARIANCE = 1e-40  # where one level has all probability: residuals are divided by its root


def thresholds(levels: np.ndarray) -> np.ndarray:
    """Return the K - 1 thresholds that give the levels 0 ... K - 1 their shares under the logistic distribution."""
    shares = np.cumsum(np.bincount(levels))[:-1] / levels.size
    return np.log(shares / (1.0 - shares)) / LOGISTIC_DEVIATION


def outputs(theta: np.ndarray, x: np.ndarray, hidden_units: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return hidden units (m, n), mean (n,) and log-variance (n,) at the parents' values x (p, n)."""
    hidden, (b2, b3) = hidden_units_of(theta, x, hidden_units), intercepts(len(x), hidden_units)
    return hidden, theta[b2] + theta[b2 + 1 : b3] @ hidden, theta[b3] + theta[b3 + 1 :] @ hidden


class OrdinalResponse(FittedByScoring, MeanAndVariance):
    """A variable of few ordered values.

    Parameters
    ----------
    values : ndarray, shape (n,)
        The values. Only their order counts.
    """

    def __init__(self, values: np.ndarray):
        self.values, self.levels = np.unique(values, return_inverse=True)
        self.thresholds = thresholds(self.levels)

    @property
    def codes(self) -> np.ndarray:
        """The levels, as those of a categorical response, shape (n,)."""
        return self.levels

    @property
    def is_binary(self) -> bool:
        """Whether there are two levels."""
        return len(self.thresholds) == 1

    def layers(self, n_inputs: int, hidden_units: int) -> Sequence[slice]:
        """Return the slices of theta that share a prior precision; of two levels the scale is no unknown."""
        return layers(n_inputs, hidden_units)[: 2 if self.is_binary else 3]

    def take(self, rows: np.ndarray) -> "OrdinalResponse":
        """Return the response at some observations."""
        part = object.__new__(type(self))
        part.values, part.levels, part.thresholds = self.values, self.levels[rows], self.thresholds
        return part

    def __len__(self) -> int:
        return self.levels.size

    def conditional(
        self, inputs: np.ndarray, widths: np.ndarray, theta: np.ndarray, hidden_units: int, sign: float = 1.0
    ) -> "OrdinalConditional":
        """Return the fitted node model; parameters as of `icdh._node_model.network.GivenParents`.

        ``sign`` is what the values were multiplied by; the weights are of the variable as it is.
        """
        own = sign * self.values, sign * self.thresholds
        ascending = (np.ascontiguousarray(part[:: int(sign)]) for part in own)
        return OrdinalConditional(inputs, widths, theta, hidden_units, *ascending)

    def objective(self, x: np.ndarray, hidden_units: int) -> "OrdinalObjective":
        """Return F of the levels given these parents, of shape (p, n)."""
        return OrdinalObjective(x, self.levels, self.thresholds, hidden_units)

    def standardised_scores(self, x: np.ndarray, theta: np.ndarray, hidden_units: int) -> tuple[np.ndarray, np.ndarray]:
        """Return hidden units and standardised derivatives, as `GaussianResponse.standardised_scores` does."""
        return self.objective(x, hidden_units).standardised_scores(theta)


class OrdinalObjective:
    """F, its gradient and its Fisher matrix for one ordinal variable given its parents.

    Parameters
    ----------
    x : ndarray, shape (p, n)
        The parents, one a row.
    levels : ndarray of int, shape (n,)
        The variable's level, 0 ... K - 1.
    cuts : ndarray, shape (K - 1,)
        The thresholds.
    hidden_units : int
        m.
    """

    def __init__(self, x: np.ndarray, levels: np.ndarray, cuts: np.ndarray, hidden_units: int):
        self.x, self.levels, self.cuts, self.units = np.ascontiguousarray(x), levels, cuts, hidden_units
        self.b2, self.b3 = intercepts(len(x), hidden_units)
        self.n_observations = levels.size
        self.n_outputs = 1 if len(cuts) == 1 else 2  # of two levels the scale is no unknown
        self.rank = self.n_outputs
        self.free = self.b3 if self.n_outputs == 1 else n_weights(len(x), hidden_units)
        of_outputs = np.array([self.b2, self.b3])[: self.n_outputs]
        self.layout = of_outputs, of_outputs + 1

    def outputs(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return hidden units (m, n), mean (n,) and log-variance (n,)."""
        return outputs(theta, self.x, self.units)

    def terms(self, theta: np.ndarray) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
        """Return hidden units, the sum of -log P, its derivatives by mu and u (2, n), and Fisher roots."""
        hidden, mu, u = self.outputs(theta)
        pull, roots = np.empty((2, mu.size)), np.empty((2, 2, mu.size))
        value = ordinal_terms(mu, u, self.levels, self.cuts, LOGISTIC_DEVIATION, LOG_VARIANCE_LIMIT, pull, roots)
        return hidden, value, pull, roots

    def standardised_scores(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return hidden units (m, n) and the derivatives of log P by mu and u (2, n), over their standard deviations.

        Of two levels the scale is no unknown: its derivative is zero.
        """
        hidden, _, pull, roots = self.terms(theta)
        deviation = np.sqrt(np.square(roots).sum(axis=0))
        standardised = -pull / np.maximum(deviation, 1e-150)
        if self.n_outputs == 1:
            standardised[1] = 0.0
        return hidden, standardised

    def quadratic_model(
        self, theta: np.ndarray, penalty: np.ndarray, apart: int = 1
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return F, its gradient and, by every ``apart``-th column of x, its Fisher matrix over the free weights."""
        hidden, value, pull, roots = self.terms(theta)
        gradient, fisher = penalty * theta, empty_fisher(self.free)
        backpropagate(self.x, hidden, theta, *self.layout, 1.0, pull[: self.n_outputs], gradient)
        some_x, some_hidden, some_roots = every(apart, self.x, hidden, roots)
        share = math.sqrt(roots.shape[-1] / some_roots.shape[-1])
        add_ordinal_fisher(some_x, some_hidden, theta, *self.layout, share * some_roots, fisher)
        value += 0.5 * float(penalty @ theta**2)
        return value, gradient[: self.free], with_penalty(fisher, penalty[: self.free])


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

    levels: np.ndarray
    cuts: np.ndarray

    def log_probabilities(self, values: np.ndarray) -> np.ndarray:
        """Return the logarithms of the levels' probabilities, shape (K, M), given all variables, shape (N, M)."""
        _, mu, u = outputs(self.theta, self.network_inputs(values), self.hidden_units)
        slope = LOGISTIC_DEVIATION * np.exp(-0.5 * np.clip(u, -LOG_VARIANCE_LIMIT, LOG_VARIANCE_LIMIT))
        t = (self.cuts[:, np.newaxis] - mu) * slope
        log_p = np.zeros((self.levels.size, mu.size))
        log_p[:-1] += log_expit(t)
        log_p[1:] += log_expit(-t)
        log_p[1:-1] += np.log(-np.expm1(-np.maximum(np.diff(t, axis=0), LEAST_GAP)))
        return log_p

    def mean_and_scale(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation, each of shape (M,), given all variables, one a row, shape (N, M)."""
        p = np.exp(self.log_probabilities(values))
        mean = self.levels @ p
        variance = (p * np.square(self.levels[:, np.newaxis] - mean)).sum(axis=0)
        return mean, np.sqrt(np.maximum(variance, LEAST_VARIANCE))
