"""Responses of few values, by the hidden units of the node model: levels by a cumulative logit, labels by a softmax.

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

Equivalently, the category is that of the largest of K hidden variables with Gumbel noise of unit variance, so that
two categories make the ordinal model. The weights are theta = [w1 (p, m), b1 (m), c (K - 1),
w (K, m)]. The prior treats the weights w of all categories alike; c has a flat prior, and c of the first category,
the most frequent one, is zero. The shares make the model without parents c = 0.

With p the probabilities, the Fisher matrix of one observation by eta is diag(p) - p p^T.

Observations whose causes are equal count together. Causes that are labels, too, have few joint labels, and F is as
cheap among many observations as among few.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import log_expit

from icdh._node_model._kernels import LOG_VARIANCE_LIMIT
from icdh._node_model._outputs_kernels import (
    LEAST_GAP,
    LOGISTIC_DEVIATION,
    fill_covariances,
    ordinal_terms,
    softmax_terms,
)
from icdh._node_model.law import EQUAL_SHARES, DiscreteLaw, Law
from icdh._node_model.network import indicators, network_outputs
from icdh._node_model.response import TRACE, CodedResponse, Objective, Terms, weighted_terms
from icdh._table.codes import MOST_LABELS
from icdh._table.kinds import nearest
from icdh._utils.arrays import Floats, Integers, of_rows

GUMBEL_DEVIATION = math.pi / math.sqrt(6.0)  # standard deviation of the standard Gumbel distribution
HALF_A_COUNT = 0.5  # added to the count of every category that counts


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
