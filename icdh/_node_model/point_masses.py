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
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np

from icdh._node_model._outputs_kernels import LOGISTIC_DEVIATION
from icdh._node_model.discrete import HALF_A_COUNT, label_terms, log_softmax, odds_of_masses
from icdh._node_model.gaussian import GaussianLaw, GaussianResponse
from icdh._node_model.law import SAME, UNLIMITED, Law
from icdh._node_model.network import indicators
from icdh._node_model.noise import LEAST_PLACE, Noise
from icdh._node_model.response import Density, FittedByScoring, Terms
from icdh._utils.arrays import Floats, Integers, Mask


@dataclass(frozen=True)
class PointMassLaw(Law):
    """A number some of whose values have a probability; the outputs are mean, log-variance and log odds.

    Attributes
    ----------
    masses : ndarray, shape (K,)
        The values that have a probability.
    log_odds : ndarray, shape (K,)
        The logarithms of their shares over that of the density.
    offset, scale : float
        What mean and standard deviation of the density are multiples of: those of all its values.
    numbers : GaussianLaw
        The law of all other values, less the offset and divided by the scale.
    """

    masses: Floats
    log_odds: Floats
    offset: float = 0.0
    scale: float = 1.0
    numbers: GaussianLaw = field(default_factory=GaussianLaw)
    name = "point masses"
    odd = (0,)
    means = (0,)
    is_discrete = False
    has_mean = True
    value = "value"
    spread = 1

    @property
    def n_outputs(self) -> int:
        """Two more than there are masses."""
        return 2 + self.masses.size

    def network_outputs(self, theta: Floats, hidden: Floats) -> Floats:
        """Return the outputs, shape (2 + K, n), given the hidden units, shape (m, n)."""
        weights = theta[-self.n_outputs * (len(hidden) + 1) :].reshape(self.n_outputs, -1)
        return weights[:, :1] + weights[:, 1:] @ hidden

    def log_parts(self, outputs: Floats) -> Floats:
        """Return the log-probabilities of the density and of every mass, shape (K + 1, n)."""
        return log_softmax(odds_of_masses(self.log_odds, outputs))

    def _parts(self, observed: Floats) -> Integers:
        """Return 0 where a value has a density, k where it is the k-th mass, shape (n,)."""
        parts = np.zeros(observed.size, dtype=np.int64)
        for k, mass in enumerate(self.masses.tolist(), start=1):
            parts[np.abs(observed - mass) <= SAME] = k
        return parts

    def log_density(self, observed: Floats, outputs: Floats) -> Floats:
        """Return the log-density of values, of masses their log-probability."""
        parts = self._parts(observed)
        of_part: Floats = self.log_parts(outputs)[parts, np.arange(observed.size)]
        of_density = self.numbers.log_density(self._among_numbers(observed), outputs) - math.log(self.scale)
        return of_part + np.where(parts == 0, of_density, 0.0)

    def _among_numbers(self, values: Floats | float) -> Floats:
        """Return values as those that the density is of."""
        return np.asarray((values - self.offset) / self.scale)

    def has_density(self, observed: Floats) -> Mask:
        """Return which values are no masses."""
        has_density: Mask = self._parts(observed) == 0
        return has_density

    def mean_and_scale(self, outputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of density and masses together."""
        mean, scale = self.numbers.mean_and_scale(outputs)
        return self._together(outputs, self.offset + self.scale * mean, self.scale * scale, self.masses)

    def moments_of(self, function: Callable[[Floats], Floats], outputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of a function of the values."""
        mean, scale = self.numbers.moments_of(lambda x: function(self.offset + self.scale * x), outputs)
        return self._together(outputs, mean, scale, function(self.masses))

    def _together(self, outputs: Floats, mean: Floats, scale: Floats, masses: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation, given those of the density and the values of the masses."""
        p, values = np.exp(self.log_parts(outputs)), masses[:, np.newaxis]
        whole = p[0] * mean + (p[1:] * values).sum(axis=0)
        variance = p[0] * (np.square(scale) + np.square(mean - whole)) + (p[1:] * np.square(values - whole)).sum(axis=0)
        return whole, np.sqrt(variance)

    def _distribution(self, limit: Floats | float, outputs: Floats) -> Floats:
        """Return the distribution function of the density, shape (n,)."""
        return self.numbers.errors.distribution(self.numbers.noise(self._among_numbers(limit), outputs))

    def draw(self, outputs: Floats, noise: Floats) -> Floats:
        """Return the values at which the distribution function reaches the noise, which is uniform."""
        p, left, drawn = np.exp(self.log_parts(outputs)), noise.copy(), np.full(noise.size, np.nan)
        for k in np.argsort(self.masses).tolist():
            below = p[0] * self._distribution(self.masses[k], outputs)
            beyond = left >= below + p[k + 1]
            drawn[(left >= below) & ~beyond & np.isnan(drawn)] = self.masses[k]
            left = np.where(beyond, left - p[k + 1], left)
        with np.errstate(divide="ignore", invalid="ignore"):
            places = np.clip(left / p[0], LEAST_PLACE, 1.0 - LEAST_PLACE)
            of_density = self.numbers.draw(outputs, self.numbers.errors.quantile(places))
        return np.where(np.isnan(drawn), self.offset + self.scale * of_density, drawn)

    def noise(self, observed: Floats, outputs: Floats) -> Floats:
        """Return the distribution function at observed values; NaN at masses, which do not determine their noise."""
        shares = self.quantile_residuals(observed, outputs, np.random.default_rng(0))
        return np.where(self.has_density(observed), shares, np.nan)

    @property
    def density(self) -> GaussianLaw:
        """That of all other values."""
        return self.numbers

    def density_scale(self, outputs: Floats) -> Floats:
        """Return the scale of all other values, as a share of theirs."""
        return self.numbers.density_scale(outputs)

    def with_noise(self, noise: Noise) -> "PointMassLaw":
        """Return the law under another distribution of the noise of the density."""
        return replace(self, numbers=self.numbers.with_noise(noise))

    def within(self, low: float, high: float) -> "PointMassLaw":
        """Return the law of values nearly all of which are in a range."""
        ends = (end if abs(end) == UNLIMITED else float(self._among_numbers(end)) for end in (low, high))
        return replace(self, numbers=self.numbers.within(*ends))

    def with_levels(self, levels: Floats) -> "PointMassLaw":
        """Return the law of masses that are known to more digits."""
        return replace(self, masses=levels[np.argmin(np.abs(levels - self.masses[:, np.newaxis]), axis=1)])

    def quantile_residuals(self, observed: Floats, outputs: Floats, rng: np.random.Generator) -> Floats:
        """Return the distribution function at observed values, at masses a place drawn below it."""
        p, parts, shares = np.exp(self.log_parts(outputs)), self._parts(observed), rng.random(observed.size)
        below: Floats = p[0] * self._distribution(observed, outputs)
        for k, mass in enumerate(self.masses.tolist(), start=1):
            below += p[k] * np.where(parts == k, shares, observed > mass)
        return below

    def turned(self) -> "PointMassLaw":
        """Return the law of minus the variable."""
        return PointMassLaw(-self.masses, self.log_odds, -self.offset, self.scale, self.numbers.turned())

    def faults(self, n_labels: int, levels: Floats | None) -> Iterator[str]:
        """Yield what contradicts itself."""
        if not 0 < self.masses.size == self.log_odds.size:
            yield "point masses do not go with their probabilities"
        if not self.scale > 0.0:
            yield "a scale is not positive"
        yield from self.numbers.faults(0, None)


class PointMassResponse(FittedByScoring):
    """A continuous variable, or one recorded on a grid, some of whose values are point masses.

    Parameters
    ----------
    masses : ndarray of int, shape (n,)
        0 where the value has a density, k where it is the k-th point mass.
    numbers : GaussianResponse
        The values, and how often each counts; those at point masses are not read.
    values : ndarray, shape (K,)
        The point masses.
    offset, scale : float
        Which values ``numbers`` are: offset + scale * numbers.
    """

    ordered = True

    def __init__(
        self, masses: Integers, numbers: GaussianResponse, values: Floats, offset: float = 0.0, scale: float = 1.0
    ):
        self.masses, self.numbers, self.weights = masses, numbers, numbers.weights
        self._density: Density | None = None
        self._values, self._place = np.asarray(values, dtype=np.float64), (offset, scale)
        self._set_law(self.weights)

    def _set_law(self, weights: Floats | None) -> None:
        counts = np.bincount(self.masses, weights, minlength=self._values.size + 1) + HALF_A_COUNT
        self._law = PointMassLaw(self._values, np.log(counts[1:] / counts[0]), *self._place)

    @property
    def law(self) -> PointMassLaw:
        """Its distribution given mean, log-variance and log odds."""
        return self._law

    @property
    def codes(self) -> None:
        """None: it is a number."""
        return None

    @property
    def rank(self) -> int:
        """That of what an observation adds to the Fisher matrix."""
        return self.law.n_outputs

    def __len__(self) -> int:
        return self.masses.size

    def take(self, rows: Mask | Integers) -> "PointMassResponse":
        """Return the response at some observations."""
        part = copy(self)
        part.masses, part.numbers = self.masses[rows], self.numbers.take(rows)
        part.weights = part.numbers.weights
        part._density = None
        return part

    @property
    def n_dense(self) -> float:
        """How many values are no point masses."""
        return self.density.numbers.n_counted

    @property
    def density(self) -> Density:
        """The values that are no point masses."""
        if self._density is None:
            rows = np.flatnonzero(self.masses == 0)
            self._density = Density(self.numbers.take(rows), rows)
        return self._density

    def terms(self, outputs: Floats) -> Terms:
        """Return the terms of the likelihood by mean, log-variance and log odds."""
        width, n = outputs.shape
        weights = np.ones(n) if self.weights is None else self.weights
        value, pull, squares = self.numbers.terms(np.where(self.masses == 0, weights, 0.0), outputs)
        odds = odds_of_masses(self.law.log_odds, outputs)
        of_parts = label_terms(weights * indicators(self.masses, width - 1), weights, odds)

        def curvature(columns: slice) -> Floats:
            among_masses = of_parts.curvature(columns)[width - 1 :]
            of_columns = np.zeros((2 * width - 1 + len(among_masses), among_masses.shape[1]))
            of_columns[[0, width]] = squares[:, columns]
            np.multiply(LOGISTIC_DEVIATION**2, among_masses, out=of_columns[2 * width - 1 :])
            return of_columns

        pull = np.concatenate([pull, LOGISTIC_DEVIATION * of_parts.pull[1:]])
        return Terms(value + of_parts.value, pull, curvature)

    def without_parents(self, hidden_units: int) -> tuple[Floats, float, float]:
        """Return weights, F and log det H of the constant model, in closed form."""
        of_density, objective, log_determinant = self.numbers.take(self.masses == 0).without_parents(hidden_units)
        theta = np.zeros(self.law.n_weights(0, hidden_units))
        theta[: of_density.size] = of_density
        log_p = self.law.log_parts(np.zeros((self.rank, 1)))
        counts = np.bincount(self.masses, self.weights, minlength=len(log_p))
        objective -= float(counts @ log_p[:, 0])
        # det (diag(p) - p p^T) of the masses is the product of all probabilities, that of the density among them.
        odds = (self.rank - 2) * math.log(self.n_counted * LOGISTIC_DEVIATION**2) + float(log_p.sum())
        return theta, objective, log_determinant + odds
