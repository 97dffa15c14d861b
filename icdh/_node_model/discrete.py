"""Responses each value of which has a probability: levels by a cumulative logit, labels by a softmax, and counts.

Their outputs are functions of the hidden units of the node model.

An ordinal response has few ordered values. Of K levels, the observed one says between which thresholds c_k a hidden
variable z falls:

    P(level <= k | x) = F(t_k),    t_k = (c_k - mu(x)) / sigma(x),    k = 1 ... K - 1,

F the logistic distribution function of unit variance. Mean mu, variance sigma^2 = exp(u), hidden units, weights and
prior are those of `icdh._node_model.network`. The thresholds make the model without parents, mu = 0 and sigma = 1,
give the observed shares of the levels. They are the same for all sets of parents, and so is their cost. Of two levels
(logistic regression) the scale is no separate unknown: sigma = 1.

The derivatives of log P by the upper and the lower t are simple, because

    F(b) - F(a) = F(b) (1 - F(a)) (1 - exp(a - b))

for the logistic F. The Fisher matrix of one observation by (mu, u) is the mean over levels of the outer product of
the scores.

A categorical response has categories without an order. With K categories,

    P(k | x) = exp(eta_k) / sum_j exp(eta_j),    eta_k = log share_k + c_k + pi / 6^(1/2) sum_h w_kh hidden_h(x).

Equivalently, the category is that of the largest of K hidden variables with Gumbel noise of unit variance, so that two
categories make the ordinal model. The weights are theta = [w1 (p, m), b1 (m), c (K - 1), w (K, m)]. The prior treats
the weights w of all categories alike; c has a flat prior, and c of the first category, the most frequent one, is zero.
The shares make the model without parents c = 0.

With p the probabilities, the Fisher matrix of one observation by eta is diag(p) - p p^T.

Observations whose causes are equal count together. Causes that are labels, too, have few joint labels, and F is as
cheap among many observations as among few.

Counts are whole numbers from zero on, negative binomial given the causes, with a logarithmic link. With mean mu and
dispersion a, both functions of the causes,

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
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations_with_replacement

import numpy as np
from scipy.special import betainc, log_expit

from icdh._node_model._kernels import LOG_VARIANCE_LIMIT
from icdh._node_model._outputs_kernels import (
    LEAST_GAP,
    LOGISTIC_DEVIATION,
    fill_covariances,
    fill_dispersion_information,
    ordinal_terms,
    softmax_terms,
)
from icdh._node_model.law import EQUAL_SHARES, DiscreteLaw, Law, ProbabilityLaw
from icdh._node_model.network import indicators, network_outputs
from icdh._node_model.response import TRACE, CodedResponse, FittedByScoring, Objective, Terms, minimise, weighted_terms
from icdh._table.codes import MOST_LABELS
from icdh._table.kinds import nearest
from icdh._utils.arrays import Floats, Integers, Mask, of_rows
from icdh._utils.density import fit_counts, log_probability, surprise_derivatives

GUMBEL_DEVIATION = math.pi / math.sqrt(6.0)  # standard deviation of the standard Gumbel distribution
HALF_A_COUNT = 0.5  # added to the count of every category that counts
LIMIT = 8.0  # of the logarithms' distance from those without causes
PRIOR = 3.0  # precision of the prior of b3, and of c, without causes


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

    @property
    def terms_given_outputs(self) -> Callable[[Floats], Terms]:
        """The terms of the likelihood by mu and u."""
        return self.terms

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


def log_shares(codes: Integers, n_categories: int, weights: Floats | None) -> Floats:
    """Return the logarithms of the shares of the categories 0 ... K - 1, shape (K,)."""
    counts = np.bincount(codes, weights, minlength=n_categories).astype(np.float64)
    counts = np.where(counts > 0.0, counts + HALF_A_COUNT, TRACE)
    logs: Floats = np.log(counts / counts.sum())
    return logs


def log_softmax(eta: Floats) -> Floats:
    """Return the logarithms of the probabilities proportional to exp(eta), shape (K, n)."""
    below = eta - eta.max(axis=0)
    logs: Floats = below - np.log(np.exp(below).sum(axis=0))
    return logs


def odds_of_masses(log_odds: Floats, outputs: Floats) -> Floats:
    """Return logarithms of odds, shape (1 + K, n): zero of all other values, and of K point masses.

    Parameters
    ----------
    log_odds : ndarray, shape (K,)
        Those of the masses without causes.
    outputs : ndarray, shape (2 + K, n)
        Their last K say how far the odds are from these, in deviations of the logistic distribution.
    """
    eta = np.zeros((1 + log_odds.size, outputs.shape[1]))
    eta[1:] = log_odds[:, np.newaxis] + LOGISTIC_DEVIATION * outputs[2:]
    return eta


@dataclass(frozen=True)
class LabelLaw(DiscreteLaw):
    """A variable of categories without an order, 0 ... K - 1; the outputs are the eta.

    Attributes
    ----------
    log_shares : ndarray, shape (K,)
        The logarithms of the categories' shares.
    """

    log_shares: Floats
    name = "labels"
    odd = ()
    means = ()
    has_mean = False
    value = "label"

    @property
    def n_outputs(self) -> int:
        """K."""
        return self.log_shares.size

    @property
    def n_values(self) -> int:
        """K."""
        return self.n_outputs

    def intercepts(self, n_inputs: int, hidden_units: int) -> list[int]:
        """Return the indices in theta of the weights that a model without parents has."""
        first = (n_inputs + 1) * hidden_units
        return list(range(first, first + self.n_outputs - 1))

    def n_weights(self, n_inputs: int, hidden_units: int) -> int:
        """Return the size of theta, m (p + 1 + K) + K - 1."""
        return hidden_units * (n_inputs + 1 + self.n_outputs) + self.n_outputs - 1

    def layers(self, n_inputs: int, hidden_units: int) -> list[slice]:
        """Return the slices of theta that share a prior precision: first layer, weights of the categories."""
        first = (n_inputs + 1) * hidden_units
        return [slice(0, first), slice(first + self.n_outputs - 1, self.n_weights(n_inputs, hidden_units))]

    def layout(self, n_inputs: int, hidden_units: int) -> tuple[Integers, Integers, float]:
        """Return intercepts, weights and unit; the intercept of the first category is zero."""
        weights = self.layers(n_inputs, hidden_units)[1].start + hidden_units * np.arange(self.n_outputs)
        return np.append(-1, self.intercepts(n_inputs, hidden_units)), weights, GUMBEL_DEVIATION

    def network_outputs(self, theta: Floats, hidden: Floats) -> Floats:
        """Return the eta, shape (K, n), given the hidden units, shape (m, n)."""
        K, m = self.n_outputs, len(hidden)
        free, eta = theta[-(K * (m + 1) - 1) :], self.log_shares.copy()
        eta[1:] += free[: K - 1]
        return eta[:, np.newaxis] + GUMBEL_DEVIATION * (free[K - 1 :].reshape(K, m) @ hidden)

    def log_probabilities(self, outputs: Floats) -> Floats:
        """Return the log-probabilities of the categories, shape (K, M), given the outputs, shape (K, M)."""
        return log_softmax(outputs)

    def places(self, observed: Floats) -> Integers:
        """Return categories as whole numbers."""
        return observed.astype(np.int64)

    def values(self, places: Integers) -> Floats:
        """Return categories as numbers."""
        return places.astype(np.float64)

    def mean_and_scale(self, outputs: Floats) -> tuple[Floats, Floats]:
        """Return the most probable category, and the probability of all others, each of shape (M,)."""
        p = np.exp(self.log_probabilities(outputs))
        best = p.argmax(axis=0)
        return best.astype(np.float64), 1.0 - p[best, np.arange(p.shape[1])]

    def standardised(self, observed: Floats, outputs: Floats) -> Floats:
        """Return the surprise -log P, standardised."""
        log_p = self.log_probabilities(outputs)
        p, surprise = np.exp(log_p), -self._of_observed(observed, log_p)
        mean = -(p * log_p).sum(axis=0)
        variance = (p * np.square(log_p + mean)).sum(axis=0)
        return np.where(variance > EQUAL_SHARES, (surprise - mean) / np.sqrt(np.maximum(variance, EQUAL_SHARES)), 0.0)

    def turned(self) -> "LabelLaw":
        """Return the law itself: labels have no sign."""
        return self

    def faults(self, n_labels: int, levels: Floats | None) -> Iterator[str]:
        """Yield what contradicts itself, or the labels that a model has for the variable."""
        if self.log_shares.size != n_labels:
            yield "labels do not go with their probabilities"
        if self.log_shares.size <= 1:
            yield "labels are too few"


class CategoricalResponse(CodedResponse):
    """A variable of categories without an order.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Categories from 0 to K - 1.
    n_categories : int
        K.
    weights : ndarray, shape (n,), or None
        How often each observation counts; None if once.
    """

    ordered = False

    def __init__(self, codes: Integers, n_categories: int, weights: Floats | None):
        super().__init__(codes, weights)
        self._n_categories = n_categories
        self._set_law(weights)

    def _set_law(self, weights: Floats | None) -> None:
        self._law = LabelLaw(log_shares(self._codes, self._n_categories, weights))

    @property
    def law(self) -> LabelLaw:
        """Its distribution given the eta."""
        return self._law

    @property
    def rank(self) -> int:
        """That of what an observation adds to the Fisher matrix."""
        return self.law.n_outputs - 1

    def objective(self, x: Floats, hidden_units: int) -> Objective:
        """Return F of the categories given these parents, of shape (p, n), equal ones together."""
        x, counts = counted(x, self.codes, self.law.n_outputs, self.weights)
        totals = counts.sum(axis=0)
        return Objective(self, x, hidden_units, partial(label_terms, counts, totals), totals)

    def residual_series(self, x: Floats, theta: Floats, hidden_units: int) -> Floats:
        """Return one vector: where each category is, less its probability."""
        probabilities = np.exp(self.law.log_probabilities(network_outputs(theta, x, hidden_units, self.law)))
        return (indicators(self.codes, self.law.n_outputs) - probabilities)[np.newaxis]

    def terms(self, outputs: Floats) -> Terms:
        """Return the terms of the likelihood by the eta."""
        weights = np.ones(len(self)) if self.weights is None else self.weights
        return label_terms(weights * indicators(self.codes, self.law.n_outputs), weights, outputs)


def label_terms(counts: Floats, totals: Floats, eta: Floats) -> Terms:
    """Return the terms of the likelihood by the eta, given how often each category is in every column, shape (K, q).

    ``totals`` (q,) are the sums of the columns.
    """
    pull, p = np.empty_like(eta), np.empty_like(eta)

    def curvature(columns: slice) -> Floats:
        part = np.ascontiguousarray(p[:, columns])
        of_columns = np.empty((len(p) * (len(p) + 1) // 2, part.shape[1]))
        fill_covariances(part, np.ascontiguousarray(totals[columns]), of_columns)
        return of_columns

    return Terms(softmax_terms(eta, counts, totals, pull, p), pull, curvature)


def counted(x: Floats, codes: Integers, n_categories: int, weights: Floats | None) -> tuple[Floats, Floats]:
    """Return the q different columns of x, shape (p, q), and how often each category is there, shape (K, q)."""
    if len(x) == 0:
        return x[:, :1], np.bincount(codes, weights, minlength=n_categories)[:, np.newaxis].astype(np.float64)
    order = np.lexsort(x)
    arranged = x[:, order]
    new = np.append(True, (arranged[:, 1:] != arranged[:, :-1]).any(axis=0))
    group = np.cumsum(new) - 1
    q = group[-1] + 1
    counts = np.bincount(codes[order] * q + group, of_rows(weights, order), minlength=n_categories * q)
    return arranged[:, new], counts.reshape(n_categories, q).astype(np.float64)


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
