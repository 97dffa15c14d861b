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

References
----------
Cameron and Trivedi, "Regression Analysis of Count Data", Cambridge 2013.
Hilbe, "Negative Binomial Regression", Cambridge 2011.
"""

import math
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, digamma, gammaln

from icdh._node_model._outputs_kernels import fill_dispersion_information
from icdh._node_model.law import ProbabilityLaw
from icdh._node_model.scoring import FittedByScoring, Terms, minimise, weighted_terms
from icdh._utils.arrays import Floats, Integers, Mask
from icdh._utils.weighted import mean_of, of_rows, sum_of, times

LIMIT = 8.0  # of the logarithms' distance from those without causes
LEAST_EXCESS = 0.01  # variance beyond Poisson's, a share of it, of a column that has none
PRIOR = 3.0  # precision of the prior of b3 without causes


@dataclass(frozen=True)
class CountLaw(ProbabilityLaw):
    """A count; the outputs are the logarithms of mean and dispersion, less those without causes.

    Attributes
    ----------
    zero, unit : float
        The value of a count of zero, and what one more adds.
    log_mean, log_dispersion : float
        Without causes.
    """

    zero: float
    unit: float
    log_mean: float
    log_dispersion: float
    odd = ()
    has_mean = True
    value = "count"
    spread = 1

    @property
    def n_outputs(self) -> int:
        """Two."""
        return 2

    def layers(self, n_inputs: int, hidden_units: int) -> list[slice]:
        """Return the slices of theta that share a prior precision; the intercept of the dispersion is one."""
        *others, dispersion = super().layers(n_inputs, hidden_units)
        return [*others, slice(dispersion.start - 1, dispersion.start), dispersion]

    def counts(self, observed: Floats) -> Floats:
        """Return the counts nearest to values."""
        counts: Floats = np.maximum(np.rint((observed - self.zero) / self.unit), 0.0)
        return counts

    def parameters(self, outputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and r."""
        mean, dispersion = np.clip(outputs, -LIMIT, LIMIT) + [[self.log_mean], [self.log_dispersion]]
        return np.exp(mean), np.exp(-dispersion)

    def log_density(self, observed: Floats, outputs: Floats) -> Floats:
        """Return the log-probabilities of values."""
        counts, (mean, r) = self.counts(observed), self.parameters(outputs)
        return log_probability(counts, mean, r)

    def mean_and_scale(self, outputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation."""
        mean, r = self.parameters(outputs)
        return self.zero + self.unit * mean, abs(self.unit) * np.sqrt(mean + mean * mean / r)

    def _up_to(self, counts: Floats, outputs: Floats) -> Floats:
        """Return the distribution function."""
        mean, r = self.parameters(outputs)
        share: Floats = np.where(counts < 0.0, 0.0, betainc(r, np.maximum(counts, 0.0) + 1.0, r / (r + mean)))
        return share

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
        return CountLaw(-self.zero, -self.unit, self.log_mean, self.log_dispersion)

    def faults(self, n_labels: int, levels: Floats | None) -> Iterator[str]:
        """Yield what contradicts itself."""
        if self.unit == 0.0:
            yield "counts have no unit"


def log_probability(counts: Floats, mean: Floats, r: Floats) -> Floats:
    """Return log P, shape (n,), of counts given mean and r."""
    nats: Floats = (
        gammaln(counts + r) - gammaln(r) - gammaln(counts + 1.0) - r * np.log1p(mean / r) - counts * np.log1p(r / mean)
    )
    return nats


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
        mean = max(float(mean_of(counts, weights)), 0.5 / sum_of(weights, counts.size))
        self.counts, self.weights = counts, weights
        self._law = CountLaw(zero, unit, math.log(mean), _log_dispersion(counts, mean, weights))

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
        return 2

    def __len__(self) -> int:
        return self.counts.size

    def take(self, rows: Mask | Integers) -> "CountResponse":
        """Return the response at some observations."""
        part = copy(self)
        part.counts, part.weights = self.counts[rows], of_rows(self.weights, rows)
        return part

    def terms(self, outputs: Floats) -> Terms:
        """Return the terms of the likelihood by the logarithms of mean and dispersion."""
        counts, (mean, r) = self.counts, self.law.parameters(outputs)
        pull, curvature = np.empty((2, mean.size)), np.zeros((3, mean.size))
        pull[0] = (mean - counts) / (1.0 + mean / r)
        pull[1] = r * (digamma(counts + r) - digamma(r) - np.log1p(mean / r) + (mean - counts) / (r + mean))
        pull[np.abs(outputs) >= LIMIT] = 0.0
        curvature[0] = mean / (1.0 + mean / r)
        fill_dispersion_information(mean, r, curvature[2])
        surprise = -log_probability(counts, mean, r)
        terms = Terms(float(surprise.sum()), pull, lambda columns: curvature[:, columns])
        return terms if self.weights is None else weighted_terms(terms, surprise, self.weights)

    def without_parents(self, hidden_units: int) -> tuple[Floats, float, float]:
        """Return weights, F and log det H of the constant model, the prior of b3 taken off the determinant."""
        few, factor = np.zeros(2), np.zeros((2, 2))
        objective = self.objective(np.empty((0, len(self))), 0)
        value, log_determinant, _, _ = minimise(objective, few, np.array([0.0, PRIOR]), 50, 1e-8, 2, factor)
        theta = np.zeros(self.law.n_weights(0, hidden_units))
        theta[self.law.intercepts(0, hidden_units)] = few
        return theta, value, log_determinant - math.log(PRIOR)


def _log_dispersion(counts: Floats, mean: float, weights: Floats | None) -> float:
    """Return the likeliest logarithm of the dispersion of counts without causes."""
    from scipy.optimize import minimize_scalar

    def surprise(log_dispersion: float) -> float:
        log_p = log_probability(counts, np.array(mean), np.array(math.exp(-log_dispersion)))
        return -float(times(weights, log_p).sum())

    least = math.log(LEAST_EXCESS / mean)
    bounds = least, max(least, 5.0) + 5.0
    found = minimize_scalar(surprise, bounds=bounds, options={"xatol": 1e-6})
    return float(found.x)
