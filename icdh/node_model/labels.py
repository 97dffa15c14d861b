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

from icdh.node_model.fit import GivenParents, hidden_units_of

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
        self.x, self.labels, self.shares, self.units = x, labels, shares, hidden_units
        self.n_observations, self.rows = labels.size, np.arange(labels.size)
        self.free = n_label_weights(len(x), hidden_units, shares.size)

    def system(self, theta: np.ndarray, penalty: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return F, its gradient and its Fisher matrix over the free weights."""
        hidden = hidden_units_of(theta, self.x, self.units)
        log_p = log_probabilities(hidden, theta, self.shares)
        value = float(0.5 * penalty @ theta**2 - log_p[self.labels, self.rows].sum())
        p = np.exp(log_p)
        weights = theta[theta.size - p.shape[0] * self.units :].reshape(len(p), self.units)
        mean_weights = weights.T @ p
        slopes = UNIT_VARIANCE * (1.0 - hidden**2)
        gradient, fisher = penalty * theta, np.diag(penalty)
        for k, own in enumerate(p):
            jacobian = self._jacobian(k, p, hidden, slopes * (weights[k][:, np.newaxis] - mean_weights))
            gradient -= jacobian[:, self.labels == k].sum(axis=1)
            jacobian *= np.sqrt(own)
            fisher += jacobian @ jacobian.T
        return value, gradient, fisher

    def _jacobian(self, k, p, hidden, bias):
        """Return the derivatives of log P of label k by all weights, shape (size, n)."""
        n_labels, m = len(p), self.units
        jacobian = np.empty((self.free, p.shape[1]))
        out = (len(self.x) + 1) * m
        jacobian[out - m : out] = bias
        for j, cause in enumerate(self.x):
            jacobian[j * m : (j + 1) * m] = bias * cause
        by_eta = -p
        by_eta[k] += 1.0
        jacobian[out : out + n_labels - 1] = by_eta[1:]
        by_weights = jacobian[out + n_labels - 1 :].reshape(n_labels, m, p.shape[1])
        np.multiply(UNIT_VARIANCE * by_eta[:, np.newaxis], hidden, out=by_weights)
        return jacobian


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
