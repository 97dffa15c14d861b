"""A categorical response: a variable of categories without an order, by a softmax of the hidden units.

With K categories and hidden units of `icdh._node_model.network`,

    P(k | x) = exp(eta_k) / sum_j exp(eta_j),    eta_k = log share_k + c_k + pi / 6^(1/2) sum_h w_kh hidden_h(x).

Equivalently, the category is that of the largest of K hidden variables with Gumbel noise of unit variance, so that
two categories make the model of `icdh._node_model.ordinal`. The weights are theta = [w1 (p, m), b1 (m), c (K - 1),
w (K, m)]. The prior treats the weights w of all categories alike; c has a flat prior, and c of the first category,
the most frequent one, is zero. The shares make the model without parents c = 0.

With p the probabilities, the Fisher matrix of one observation by eta is diag(p) - p p^T.

Observations whose causes are equal count together. Causes that are labels, too, have few joint labels, and F is as
cheap among many observations as among few.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from icdh._node_model._outputs_kernels import LOGISTIC_DEVIATION, fill_covariances, softmax_terms
from icdh._node_model.law import EQUAL_SHARES, DiscreteLaw
from icdh._node_model.network import indicators, network_outputs
from icdh._node_model.response import TRACE, CodedResponse, Objective, Terms
from icdh._utils.arrays import Floats, Integers, of_rows

GUMBEL_DEVIATION = math.pi / math.sqrt(6.0)  # standard deviation of the standard Gumbel distribution
HALF_A_COUNT = 0.5  # added to the count of every category that counts


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
