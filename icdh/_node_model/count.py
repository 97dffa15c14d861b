"""A response of counts: whole numbers from zero on, negative binomial given the causes, with a logarithmic link.

With mean mu and dispersion a, both functions of the causes,

    P(k | x) = Gamma(k + r) / (Gamma(r) k!) (r / (r + mu))^r (mu / (r + mu))^k,    r = 1 / a,
    mu = exp(log mean + b2 + w2 · s),    a = exp(log dispersion + b3 + w3 · s),

its variance is mu + a mu^2; as a goes to zero it is Poisson's. Hidden units s and weights are those of
`icdh._node_model.network`; mean and dispersion of the column without causes make b2 = b3 = 0. Mean and dispersion are
orthogonal: the Fisher matrix of an observation by the two logarithms is diag(mu / (1 + a mu), I).

As a cause a count has its normal score, as columns with heavy tails have (`icdh._node_model.columns`). On eight public
tables that has 0 to 22 nats more evidence than log(1 + k), and 1 to 13 less where log(1 + k) is the truth.

Where counts are Poisson's, no data tell log a, and a flat prior of b3 would be a reward without a bound. So b3 has a
prior as weights have, of a precision of its own.

Counts may be zero-inflated, as a density may have a point mass,

    P(0 | x) = p + (1 - p) NB(0 | x),    log p / (1 - p) = log odds + c + d w · s,

where w and c have one prior. The column without causes tells whether there are such further zeros.

References
----------
Cameron and Trivedi, "Regression Analysis of Count Data", Cambridge 2013.
Hilbe, "Negative Binomial Regression", Cambridge 2011.
"""

import math
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement

import numpy as np
from scipy.special import betainc

from icdh._node_model._outputs_kernels import LOGISTIC_DEVIATION, fill_dispersion_information
from icdh._node_model.discrete import log_softmax, odds_of_masses
from icdh._node_model.law import ProbabilityLaw
from icdh._node_model.response import FittedByScoring, Terms, minimise, weighted_terms
from icdh._utils.arrays import Floats, Integers, Mask, of_rows
from icdh._utils.density import fit_counts, log_probability, surprise_derivatives

LIMIT = 8.0  # of the logarithms' distance from those without causes
PRIOR = 3.0  # precision of the prior of b3, and of c, without causes


@dataclass(frozen=True)
class CountLaw(ProbabilityLaw):
    """A count; the outputs are the logarithms of mean and dispersion, less those without causes.

    Attributes
    ----------
    zero, unit : float
        The value of a count of zero, and what one more adds.
    log_mean, log_dispersion : float
        Without causes.
    log_odds : ndarray, shape (K,)
        The log odds of further zeros without causes; K is 1, or 0 if there are none.
    """

    zero: float
    unit: float
    log_mean: float
    log_dispersion: float
    log_odds: Floats = field(default_factory=lambda: np.zeros(0))
    name = "counts"
    odd = ()
    means = ()
    has_mean = True
    value = "count"
    spread = 1

    @property
    def n_outputs(self) -> int:
        """Two, and one more if the counts are zero-inflated."""
        return 2 + self.log_odds.size

    def layers(self, n_inputs: int, hidden_units: int) -> list[slice]:
        """Return the slices of theta that share a prior precision; the intercept of the dispersion is one."""
        first, mean, dispersion, *odds = super().layers(n_inputs, hidden_units)
        of_odds = [slice(part.start - 1, part.stop) for part in odds]
        return [first, mean, slice(dispersion.start - 1, dispersion.start), dispersion, *of_odds]

    def counts(self, observed: Floats) -> Floats:
        """Return the counts nearest to values."""
        return np.maximum(np.rint((observed - self.zero) / self.unit), 0.0)

    def parameters(self, outputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and r of the counts."""
        mean, dispersion = np.clip(outputs[:2], -LIMIT, LIMIT) + [[self.log_mean], [self.log_dispersion]]
        return np.exp(mean), np.exp(-dispersion)

    def log_parts(self, outputs: Floats) -> Floats:
        """Return the log-probabilities of the counts, and of a further zero, shape (1 + K, n)."""
        return log_softmax(odds_of_masses(self.log_odds, outputs))

    def log_density(self, observed: Floats, outputs: Floats) -> Floats:
        """Return the log-probabilities of values."""
        counts, (mean, r) = self.counts(observed), self.parameters(outputs)
        return self.zero_inflated(counts, outputs, log_probability(counts, mean, r))

    def zero_inflated(self, counts: Floats, outputs: Floats, log_p: Floats) -> Floats:
        """Return log-probabilities, shape (n,), given those of the counts alone."""
        log_parts = self.log_parts(outputs)
        log_p = log_parts[0] + log_p
        for further in log_parts[1:]:
            log_p = np.where(counts == 0.0, np.logaddexp(further, log_p), log_p)
        return log_p

    def mean_and_scale(self, outputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation."""
        (mean, r), share = self.parameters(outputs), np.exp(self.log_parts(outputs)[0])
        variance = share * (mean + mean * mean / r) + share * (1.0 - share) * mean * mean
        return self.zero + self.unit * (share * mean), abs(self.unit) * np.sqrt(variance)

    def _up_to(self, counts: Floats, outputs: Floats) -> Floats:
        """Return the distribution function."""
        (mean, r), share = self.parameters(outputs), np.exp(self.log_parts(outputs)[0])
        of_counts = betainc(r, np.maximum(counts, 0.0) + 1.0, r / (r + mean))
        return np.where(counts < 0.0, 0.0, share * of_counts + (1.0 - share))

    def draw(self, outputs: Floats, noise: Floats) -> Floats:
        """Return the smallest values whose distribution function is beyond the noise, by bisection."""
        mean, scale = self.mean_and_scale(outputs)
        low, high = np.full(noise.size, -1.0), np.ceil((np.abs(mean - self.zero) + 8.0 * scale) / abs(self.unit)) + 8.0
        while (short := self._up_to(high, outputs) <= np.minimum(noise, 1.0 - 1e-15)).any():
            high = np.where(short, 2.0 * high, high)
        while (high - low > 1.0).any():
            middle = np.floor((low + high) / 2)
            beyond = self._up_to(middle, outputs) > noise
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return self.zero + self.unit * high

    def distribution(self, observed: Floats, outputs: Floats) -> tuple[Floats, Floats]:
        """Return the distribution function below observed values, and at them."""
        counts = self.counts(observed)
        return self._up_to(counts - 1.0, outputs), self._up_to(counts, outputs)

    def rounded(self, values: Floats) -> Floats:
        """Return whole numbers."""
        return np.rint(values) + 0.0  # no negative zero

    def turned(self) -> "CountLaw":
        """Return the law of minus the variable."""
        return replace(self, zero=-self.zero, unit=-self.unit)

    def faults(self, n_labels: int, levels: Floats | None) -> Iterator[str]:
        """Yield what contradicts itself."""
        if self.unit == 0.0:
            yield "counts have no unit"
        if self.log_odds.size > 1:
            yield "further zeros have several probabilities"


class CountResponse(FittedByScoring):
    """A variable of counts.

    Parameters
    ----------
    counts : ndarray, shape (n,)
        Whole numbers from zero on, as floats.
    weights : ndarray, shape (n,), or None
        How often each observation counts; None if once.
    zero, unit : float
        The values that they stand for: zero + unit * counts.
    """

    ordered = True

    def __init__(self, counts: Floats, weights: Floats | None, zero: float = 0.0, unit: float = 1.0):
        self.counts, self.weights, self._units = counts, weights, (zero, unit)
        self._set_law(weights)

    def _set_law(self, weights: Floats | None) -> None:
        fit = fit_counts(self.counts, weights)
        log_odds = np.array([fit.log_odds] if fit.log_odds > -math.inf else [])
        self._law = CountLaw(*self._units, fit.log_mean, fit.log_dispersion, log_odds)

    @property
    def law(self) -> CountLaw:
        """Its distribution given the logarithms of mean and dispersion."""
        return self._law

    @property
    def codes(self) -> None:
        """None: it is a number."""
        return None

    @property
    def density(self) -> None:
        """None: every value has a probability."""
        return None

    @property
    def rank(self) -> int:
        """That of what an observation adds to the Fisher matrix."""
        return self.law.n_outputs

    def __len__(self) -> int:
        return self.counts.size

    def take(self, rows: Mask | Integers) -> "CountResponse":
        """Return the response at some observations."""
        part = copy(self)
        part.counts, part.weights = self.counts[rows], of_rows(self.weights, rows)
        return part

    def terms(self, outputs: Floats) -> Terms:
        """Return the terms of the likelihood by the logarithms of mean and dispersion, and by the log odds."""
        counts, (mean, r), width = self.counts, self.law.parameters(outputs), len(outputs)
        pull, curvature = np.empty(outputs.shape), np.zeros((width * (width + 1) // 2, mean.size))
        pull[:2] = surprise_derivatives(counts, mean, r)
        pull[:2][np.abs(outputs[:2]) >= LIMIT] = 0.0
        curvature[0] = mean / (1.0 + mean / r)
        fill_dispersion_information(mean, r, curvature[width])
        log_p = log_probability(counts, mean, r)
        surprise = -self.law.zero_inflated(counts, outputs, log_p)
        if self.law.log_odds.size:
            self._add_odds(outputs, log_p + surprise, pull, curvature)
        terms = Terms(float(surprise.sum()), pull, lambda columns: curvature[:, columns])
        return terms if self.weights is None else weighted_terms(terms, surprise, self.weights)

    def _add_odds(self, outputs: Floats, log_ratio: Floats, pull: Floats, curvature: Floats) -> None:
        """Turn derivatives and Fisher matrix of the counts into those of zero-inflated ones.

        ``log_ratio`` (n,) is the log-probability that the counts alone give the values, less that of the law.
        """
        (mean, r), (log_share, further) = self.law.parameters(outputs), self.law.log_parts(outputs)
        share, of_counts = np.exp(log_share), np.exp(log_share + log_ratio)
        pull[:2] *= of_counts
        pull[2] = LOGISTIC_DEVIATION * (of_counts - share)
        # What one does not see of a zero, whether it is a further one, is missing information.
        zero = log_share - r * np.log1p(mean / r)
        missing = np.exp(zero + further - np.logaddexp(zero, further))
        by_output = [*surprise_derivatives(np.zeros(mean.size), mean, r), np.full(mean.size, LOGISTIC_DEVIATION)]
        curvature *= share
        curvature[-1] = LOGISTIC_DEVIATION**2 * share * (1.0 - share)
        for entry, (i, j) in zip(curvature, combinations_with_replacement(range(3), 2), strict=True):
            entry -= missing * by_output[i] * by_output[j]

    def without_parents(self, hidden_units: int) -> tuple[Floats, float, float]:
        """Return weights, F and log det H of the constant model, priors of intercepts taken off the determinant."""
        few, factor = np.zeros(self.rank), np.zeros((self.rank, self.rank))
        objective, prior = self.objective(np.empty((0, len(self))), 0), np.full(self.rank, PRIOR)
        prior[0] = 0.0
        value, log_determinant, _, _ = minimise(objective, few, prior, 50, 1e-8, 2, factor)
        theta = np.zeros(self.law.n_weights(0, hidden_units))
        theta[self.law.intercepts(0, hidden_units)] = few
        return theta, value, log_determinant - (self.rank - 1) * math.log(PRIOR)
