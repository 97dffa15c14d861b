"""The node model of a variable that takes few ordered values: a cumulative logit on the same hidden units.

A variable of K levels shows between which thresholds a hidden variable z falls,

    P(level <= k | x) = F((c_k - mu(x)) / sigma(x)),    k = 1 ... K - 1,

F the logistic distribution function of unit variance. Mean mu, variance sigma^2 = exp(u) and hidden units are those of
`icdh.node_model.fit`, with the same weights and the same prior. The thresholds c_k make the model without parents,
mu = 0 and sigma = 1, give the shares of the levels as they are; they are the same whatever the parents, so what they
cost is too. Of two levels (logistic regression) the scale is no separate unknown and stays one.

With t_k = (c_k - mu) / sigma the derivatives of log P by the upper and the lower t are simple, because

    F(b) - F(a) = F(b) (1 - F(a)) (1 - exp(a - b))

for the logistic F; the Fisher matrix of one observation by (mu, u) is the mean over levels of the outer product of
the scores.
"""

import math

import numpy as np
from scipy.special import expit, log_expit

from icdh.node_model.fit import hidden_units_of, intercepts, n_weights

UNIT_VARIANCE = math.pi / math.sqrt(3.0)  # the standard logistic distribution's standard deviation
LOG_VARIANCE_LIMIT = 30.0


def thresholds(levels: np.ndarray) -> np.ndarray:
    """Return the K - 1 thresholds at which the shares of the levels 0 ... K - 1 are those of the logistic."""
    shares = np.cumsum(np.bincount(levels))[:-1] / levels.size
    return np.log(shares / (1.0 - shares)) / UNIT_VARIANCE


def level_scores(mu: np.ndarray, u: np.ndarray, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log P of every level, and its derivatives by mu and u.

    Parameters
    ----------
    mu, u : ndarray, shape (n,)
        Mean and log-variance of z.
    cuts : ndarray, shape (K - 1,)
        The thresholds.

    Returns
    -------
    tuple of ndarray
        log P, shape (K, n), and the derivatives, shape (2, K, n).
    """
    slope = UNIT_VARIANCE * np.exp(-0.5 * np.clip(u, -LOG_VARIANCE_LIMIT, LOG_VARIANCE_LIMIT))
    inner = (cuts[:, np.newaxis] - mu) * slope
    gap = np.maximum(np.diff(inner, axis=0), 1e-300)
    share = 1.0 / np.expm1(np.minimum(gap, 700.0))
    log_p = np.zeros((len(cuts) + 1, mu.size))
    by_upper, by_lower = np.zeros_like(log_p), np.zeros_like(log_p)
    below = expit(inner)
    log_p[:-1] += log_expit(inner)
    log_p[1:] += log_expit(-inner)
    log_p[1:-1] += np.log(-np.expm1(-gap))
    by_upper[:-1] = 1.0 - below
    by_lower[1:] = -below
    by_upper[1:-1] += share
    by_lower[1:-1] -= share
    scores = np.zeros((2, *log_p.shape))
    scores[0, :-1] -= by_upper[:-1] * slope
    scores[0, 1:] -= by_lower[1:] * slope
    scores[1, :-1] -= 0.5 * by_upper[:-1] * inner
    scores[1, 1:] -= 0.5 * by_lower[1:] * inner
    return log_p, scores


class LevelsSystem:
    """F, its gradient and its Fisher matrix for one variable of few levels given its parents.

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
        self.x, self.levels, self.cuts, self.units = x, levels, cuts, hidden_units
        self.b2, self.b3 = intercepts(len(x), hidden_units)
        self.free = self.b3 if len(cuts) == 1 else n_weights(len(x), hidden_units)
        self.n_observations, self.rows = levels.size, np.arange(levels.size)

    def outputs(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return hidden units (m, n), mean (n,) and log-variance (n,)."""
        hidden = hidden_units_of(theta, self.x, self.units)
        return (
            hidden,
            theta[self.b2] + theta[self.b2 + 1 : self.b3] @ hidden,
            theta[self.b3] + theta[self.b3 + 1 :] @ hidden,
        )

    def objective(self, theta: np.ndarray, penalty: np.ndarray) -> float:
        """Return F: the negative log-likelihood plus the penalty."""
        _, mu, u = self.outputs(theta)
        log_p, _ = level_scores(mu, u, self.cuts)
        return float(0.5 * penalty @ theta**2 - log_p[self.levels, self.rows].sum())

    def scores(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return hidden units (m, n) and the derivatives of log P by mu and u (2, n), in units of their deviations.

        Of two levels the scale is no unknown: its derivative is zero.
        """
        hidden, mu, u = self.outputs(theta)
        log_p, scores = level_scores(mu, u, self.cuts)
        deviation = np.sqrt(np.einsum("kn,ikn->in", np.exp(log_p), np.square(scores)))
        standardised = scores[:, self.levels, self.rows] / np.maximum(deviation, 1e-150)
        if len(self.cuts) == 1:
            standardised[1] = 0.0
        return hidden, standardised

    def system(self, theta: np.ndarray, penalty: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return F, its gradient and its Fisher matrix over the free weights."""
        hidden, mu, u = self.outputs(theta)
        log_p, scores = level_scores(mu, u, self.cuts)
        value = float(0.5 * penalty @ theta**2 - log_p[self.levels, self.rows].sum())
        pull = -scores[:, self.levels, self.rows]
        p = np.exp(log_p)
        mean_mean, mean_scale, scale_scale = (
            np.einsum("kn,kn,kn->n", p, scores[i], scores[j]) for i, j in ((0, 0), (0, 1), (1, 1))
        )
        root = np.sqrt(mean_mean)
        cross = mean_scale / np.maximum(root, 1e-150)
        rest = np.sqrt(np.maximum(scale_scale - cross**2, 0.0))
        by_mean = self._jacobian(hidden, theta, self.b2)
        by_scale = self._jacobian(hidden, theta, self.b3)
        gradient = penalty * theta + by_mean @ pull[0] + by_scale @ pull[1]
        first = (root * by_mean + cross * by_scale)[: self.free]
        second = (rest * by_scale)[: self.free]
        fisher = first @ first.T + second @ second.T
        fisher[np.diag_indices(self.free)] += penalty[: self.free]
        return value, gradient[: self.free], fisher

    def _jacobian(self, hidden, theta, out):
        """Return the derivatives of the output whose intercept is theta[out] by all weights, shape (size, n)."""
        m = self.units
        jacobian = np.zeros((theta.size, hidden.shape[1]))
        jacobian[out] = 1.0
        jacobian[out + 1 : out + 1 + m] = hidden
        bias = theta[out + 1 : out + 1 + m, np.newaxis] * (1.0 - hidden**2)
        jacobian[self.b2 - m : self.b2] = bias
        for j, cause in enumerate(self.x):
            jacobian[j * m : (j + 1) * m] = bias * cause
        return jacobian
