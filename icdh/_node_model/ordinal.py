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

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_expit

from icdh._node_model._kernels import LOG_VARIANCE_LIMIT
from icdh._node_model._outputs_kernels import LEAST_GAP, LOGISTIC_DEVIATION, ordinal_terms
from icdh._node_model.law import DiscreteLaw, Law
from icdh._node_model.response import TRACE, CodedResponse, Terms, weighted_terms
from icdh._table.categories import MOST_LABELS
from icdh._table.ties import nearest
from icdh._utils.arrays import Floats, Integers


def thresholds(levels: Integers, weights: Floats | None) -> Floats:
    """Return the K - 1 thresholds that give the levels 0 ... K - 1 their shares under the logistic distribution."""
    counts = np.maximum(np.bincount(levels, weights), TRACE)
    shares = np.cumsum(counts)[:-1] / counts.sum()
    cuts: Floats = np.log(shares / (1.0 - shares)) / LOGISTIC_DEVIATION
    return cuts


@dataclass(frozen=True)
class LevelLaw(DiscreteLaw):
    """A variable of few ordered values; the outputs are mean and log-variance of the hidden variable.

    Attributes
    ----------
    levels : ndarray, shape (K,)
        The values, in ascending order.
    cuts : ndarray, shape (K - 1,)
        The thresholds between them.
    """

    levels: Floats
    cuts: Floats
    name = "levels"
    odd = (0,)
    means = (0,)
    has_mean = True
    value = "level"

    @property
    def n_outputs(self) -> int:
        """Two."""
        return 2

    @property
    def n_values(self) -> int:
        """K."""
        return self.levels.size

    @property
    def n_free(self) -> int:
        """One for two levels, whose scale is no unknown."""
        return 1 if self.cuts.size == 1 else 2

    def log_probabilities(self, outputs: Floats) -> Floats:
        """Return the log-probabilities of the levels, shape (K, M), given the outputs, shape (2, M)."""
        mu, u = outputs
        slope = LOGISTIC_DEVIATION * np.exp(-0.5 * np.clip(u, -LOG_VARIANCE_LIMIT, LOG_VARIANCE_LIMIT))
        t = (self.cuts[:, np.newaxis] - mu) * slope
        log_p = np.zeros((self.levels.size, mu.size))
        log_p[:-1] += log_expit(t)
        log_p[1:] += log_expit(-t)
        log_p[1:-1] += np.log(-np.expm1(-np.maximum(np.diff(t, axis=0), LEAST_GAP)))
        return log_p

    def places(self, observed: Floats) -> Integers:
        """Return the places of the levels nearest to values: of a number that no row of the fit held, too."""
        return nearest(self.levels, observed)

    def values(self, places: Integers) -> Floats:
        """Return the levels at these places."""
        return self.levels[places]

    def mean_and_scale(self, outputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation, each of shape (M,), given the outputs, shape (2, M)."""
        p = np.exp(self.log_probabilities(outputs))
        mean = self.levels @ p
        variance = (p * np.square(self.levels[:, np.newaxis] - mean)).sum(axis=0)
        return mean, np.sqrt(np.maximum(variance, 1e-40))  # zero where one level has all probability

    def turned(self) -> "LevelLaw":
        """Return the law of minus the variable."""
        return LevelLaw(*(np.ascontiguousarray(-part[::-1]) for part in (self.levels, self.cuts)))

    def with_levels(self, levels: Floats) -> Law:
        """Return the law of the levels nearest to its own."""
        return replace(self, levels=levels[nearest(levels, self.levels)])

    def faults(self, n_labels: int, levels: Floats | None) -> Iterator[str]:
        """Yield what contradicts itself, or the levels that a model has for the variable."""
        if not (1 < self.levels.size <= MOST_LABELS and (np.diff(self.levels) > 0.0).all()):
            yield "levels do not ascend"
        if not (self.cuts.size == self.levels.size - 1 and (np.diff(self.cuts) >= 0.0).all()):
            yield "cuts do not ascend"
        if levels is None or levels.size != self.levels.size:
            yield "levels do not go with their probabilities"


class OrdinalResponse(CodedResponse):
    """A variable of few ordered values.

    Parameters
    ----------
    values : ndarray, shape (n,)
        The values. Only their order counts.
    weights : ndarray, shape (n,), or None
        How often each observation counts; None if once.
    """

    ordered = True

    def __init__(self, values: Floats, weights: Floats | None):
        self._levels, codes = np.unique(values, return_inverse=True)
        super().__init__(codes, weights)
        self._set_law(weights)

    def _set_law(self, weights: Floats | None) -> None:
        self._law = LevelLaw(self._levels, thresholds(self._codes, weights))

    @property
    def law(self) -> LevelLaw:
        """Its distribution given mean and log-variance of the hidden variable."""
        return self._law

    @property
    def rank(self) -> int:
        """That of what an observation adds to the Fisher matrix."""
        return self.law.n_free

    def terms(self, outputs: Floats) -> Terms:
        """Return the terms of the likelihood by mu and u."""
        mu, u = outputs
        pull, curvature = np.empty((2, mu.size)), np.empty((3, mu.size))
        value = ordinal_terms(mu, u, self.codes, self.law.cuts, pull, curvature)
        if self.rank == 1:
            pull[1] = 0.0
        terms = Terms(value, pull, lambda columns: curvature[:, columns])
        if self.weights is None:
            return terms
        return weighted_terms(terms, -self.law.log_density(self.law.levels[self.codes], outputs), self.weights)
