"""The node model of a variable that takes labels without an order: a softmax of the same hidden units.

The label is that of the largest of K hidden variables z_k = mu_k(x) + E_k, whose noises E_k are Gumbel of unit
variance, so that two labels are as `icdh.node_model.levels` has them:

    P(k | x) = exp(eta_k) / sum_j exp(eta_j),    eta_k = log share_k + c_k + pi / 6^(1/2) sum_h w_kh hidden_h(x).

The hidden units are those of `icdh.node_model.fit`, with the same prior; the weights are theta =
[w1 (p, m), b1 (m), c (K - 1), w (K, m)]. The weights w of all labels are penalised alike, so that no label is special;
c has a flat prior, and that of the first label, the most frequent one, is zero. The shares make the model without
parents c = 0.

With p the probabilities, the Fisher matrix of one observation by eta is diag(p) - p p^T, and by theta

    sum_k p_k (J_k - J) (J_k - J)^T,    J_k = d eta_k / d theta,    J = sum_k p_k J_k.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from icdh.node_model._outputs_kernels import add_fisher_of_labels, backpropagate
from icdh.node_model.fit import GivenParents, hidden_units_of
from icdh.node_model.scoring import empty_fisher, with_penalty

UNIT_VARIANCE = math.pi / math.sqrt(6.0)  # the standard Gumbel distribution's standard deviation
HALF_A_ROW = 0.5  # added to the count of every label: of a part of the rows, one may have none


def log_shares(labels: np.ndarray, n_labels: int) -> np.ndarray:
    """Return the logarithms of the shares of the labels 0 ... K - 1, shape (K,)."""
    counts = np.bincount(labels, minlength=n_labels) + HALF_A_ROW
    return np.log(counts / counts.sum())


def n_label_weights(n_inputs: int, hidden_units: int, n_labels: int) -> int:
    """Return the size of theta, m (p + 1 + K) + K - 1."""
    return hidden_units * (n_inputs + 1 + n_labels) + n_labels - 1


def label_layers(n_inputs: int, hidden_units: int, n_labels: int) -> tuple[slice, slice]:
    """Return the slices of theta that share a prior precision: first layer, weights of the labels."""
    first = (n_inputs + 1) * hidden_units
    return slice(0, first), slice(first + n_labels - 1, n_label_weights(n_inputs, hidden_units, n_labels))


def log_probabilities(hidden: np.ndarray, theta: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return log P of every label, shape (K, n), given the hidden units, shape (m, n)."""
    n_labels, m = shares.size, len(hidden)
    weights = theta[theta.size - n_labels * m :]
    c = theta[theta.size - n_labels * m - n_labels + 1 : theta.size - n_labels * m]
    eta = (shares + np.append(0.0, c))[:, np.newaxis] + UNIT_VARIANCE * (weights.reshape(n_labels, m) @ hidden)
    return eta - logsumexp(eta, axis=0)


class LabelsSystem:
    """F, its gradient and its Fisher matrix for one variable of labels given its parents.

    Parameters
    ----------
    x : ndarray, shape (p, n)
        The parents, one a row.
    labels : ndarray of int, shape (n,)
        The variable's label, 0 ... K - 1.
    shares : ndarray, shape (K,)
        The logarithms of the labels' shares.
    hidden_units : int
        m.
    """

    def __init__(self, x: np.ndarray, labels: np.ndarray, shares: np.ndarray, hidden_units: int):
        self.x, self.labels, self.shares, self.units = np.ascontiguousarray(x), labels, shares, hidden_units
        self.n_observations, self.rows = labels.size, np.arange(labels.size)
        self.free = n_label_weights(len(x), hidden_units, shares.size)
        first, others = label_layers(len(x), hidden_units, shares.size)
        order = np.arange(shares.size)
        of_first = -1  # its intercept is zero
        self.layout = np.append(of_first, first.stop + order[:-1]), others.start + hidden_units * order, UNIT_VARIANCE

    def system(self, theta: np.ndarray, penalty: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return F, its gradient and its Fisher matrix over the free weights."""
        hidden = hidden_units_of(theta, self.x, self.units)
        log_p = log_probabilities(hidden, theta, self.shares)
        value = float(0.5 * penalty @ theta**2 - log_p[self.labels, self.rows].sum())
        p = np.exp(log_p)
        gradient, fisher = penalty * theta, empty_fisher(self.free)
        add_fisher_of_labels(self.x, hidden, theta, *self.layout, p, fisher)
        p[self.labels, self.rows] -= 1.0
        backpropagate(self.x, hidden, theta, *self.layout, p, gradient)
        return value, gradient, with_penalty(fisher, penalty)


@dataclass(frozen=True)
class LabelConditional(GivenParents):
    """A fitted node model of labels: their probabilities given the parents.

    Attributes
    ----------
    inputs, widths, theta, hidden_units
        As of `icdh.node_model.fit.GivenParents`; theta as above.
    log_shares : ndarray, shape (K,)
        The logarithms of the labels' shares.
    """

    log_shares: np.ndarray

    def log_probabilities(self, values: np.ndarray) -> np.ndarray:
        """Return the logarithms of the labels' probabilities, shape (K, M), given all variables, shape (N, M)."""
        hidden = hidden_units_of(self.theta, self.rows(values), self.hidden_units)
        return log_probabilities(hidden, self.theta, self.log_shares)

    def mean_and_scale(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the most probable label, and the probability of all others, each of shape (M,)."""
        p = np.exp(self.log_probabilities(values))
        best = p.argmax(axis=0)
        return best.astype(np.float64), 1.0 - p[best, np.arange(p.shape[1])]
