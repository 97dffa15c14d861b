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
from collections.abc import Sequence

import numpy as np

from icdh._node_model._kernels import VARIANCE_FLOOR
from icdh._node_model._outputs_kernels import add_ordinal_fisher, backpropagate
from icdh._node_model.gaussian import GaussianResponse
from icdh._node_model.network import NodeConditional, hidden_units_of
from icdh._node_model.ordinal import LOG_VARIANCE_LIMIT, LOGISTIC_DEVIATION
from icdh._node_model.scoring import FittedByScoring, empty_fisher, every, with_penalty

HALF_A_COUNT = 0.5  # added to every count: a subset of the observations may lack a mass
NEXT_TO_CERTAIN = 1e-12  # added to the Fisher matrix of the probabilities, which is singular where one of them is one


class PointMassResponse(FittedByScoring):
    """A continuous variable, or one recorded on a grid, some of whose values are point masses.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        0 where the value has a density, k where it is the k-th point mass.
    density : GaussianResponse
        The values; those at point masses are not read.
    n_masses : int
        K.
    """

    is_binary = False

    def __init__(self, codes: np.ndarray, density: GaussianResponse, n_masses: int):
        self.codes, self.density = codes, density
        counts = np.bincount(codes, minlength=n_masses + 1) + HALF_A_COUNT
        self.log_odds = np.log(counts[1:] / counts[0])

    def __len__(self) -> int:
        return self.codes.size

    def take(self, rows: np.ndarray) -> "PointMassResponse":
        """Return the response at some observations."""
        part = object.__new__(type(self))
        part.codes, part.density, part.log_odds = self.codes[rows], self.density.take(rows), self.log_odds
        return part

    @property
    def has_density(self) -> np.ndarray:
        """Where the value has a density; bool, shape (n,)."""
        return self.codes == 0

    def with_density(self, x: np.ndarray) -> tuple[np.ndarray, GaussianResponse]:
        """Return the parents and the response where the value has a density."""
        rows = np.flatnonzero(self.has_density)
        return np.ascontiguousarray(x[:, rows]), self.density.take(rows)

    def intercepts(self, n_inputs: int, hidden_units: int) -> list[int]:
        """Return the indices of the weights that a model without parents has."""
        first, outputs = (n_inputs + 1) * hidden_units, 2 + self.log_odds.size
        return [first + k * (hidden_units + 1) for k in range(outputs)]

    def n_weights(self, n_inputs: int, hidden_units: int) -> int:
        """Return the size of theta, m (p + 1) + (m + 1) (K + 2)."""
        return self.intercepts(n_inputs, hidden_units)[-1] + hidden_units + 1

    def layers(self, n_inputs: int, hidden_units: int) -> Sequence[slice]:
        """Return the slices of theta that share a prior precision."""
        of_outputs = [slice(k + 1, k + 1 + hidden_units) for k in self.intercepts(n_inputs, hidden_units)]
        return [slice(0, (n_inputs + 1) * hidden_units), *of_outputs]

    def objective(self, x: np.ndarray, hidden_units: int) -> "PointMassObjective":
        """Return F of the values given these parents, of shape (p, n)."""
        return PointMassObjective(x, self, hidden_units)

    def standardised_scores(self, x: np.ndarray, theta: np.ndarray, hidden_units: int) -> tuple[np.ndarray, np.ndarray]:
        """Return hidden units (m, n) and standardised derivatives by mean, log-variance and log odds, (2 + K, n)."""
        return self.objective(x, hidden_units).standardised_scores(theta)

    def conditional(
        self, inputs: np.ndarray, widths: np.ndarray, theta: np.ndarray, hidden_units: int, sign: float = 1.0
    ) -> NodeConditional:
        """Return mean and variance where there is a density; parameters as of `GivenParents`."""
        return NodeConditional(
            inputs, widths, theta[: self.intercepts(int(widths.sum()), hidden_units)[2]], hidden_units
        )

    def without_parents(self, hidden_units: int) -> tuple[np.ndarray, float, float]:
        """Return weights, F and log det H of the constant model, in closed form."""
        density = self.with_density(np.empty((0, len(self))))[1]
        of_density, objective, log_determinant = density.without_parents(hidden_units)
        theta = np.zeros(self.n_weights(0, hidden_units))
        theta[: of_density.size] = of_density
        log_p = _log_probabilities(np.zeros((self.log_odds.size, 1)), self.log_odds)
        counts = np.bincount(self.codes, minlength=len(log_p))
        fisher = len(self) * LOGISTIC_DEVIATION**2 * _fisher_by_log_odds(np.exp(log_p[1:]))[0]
        objective -= float(counts @ log_p[:, 0])
        return theta, objective, log_determinant + float(np.linalg.slogdet(fisher)[1])


def _log_probabilities(outputs, log_odds):
    """Return log P of the density and of every point mass, shape (K + 1, n), given the outputs, shape (K, n)."""
    eta = np.vstack([np.zeros(outputs.shape[1]), log_odds[:, np.newaxis] + LOGISTIC_DEVIATION * outputs])
    eta -= eta.max(axis=0)
    return eta - np.log(np.exp(eta).sum(axis=0))


def _fisher_by_log_odds(p):
    """Return diag(p) - p p^T of every observation, shape (n, K, K), given the masses' probabilities, shape (K, n)."""
    fisher = -np.einsum("kn,ln->nkl", p, p)
    fisher[:, np.arange(len(p)), np.arange(len(p))] += p.T + NEXT_TO_CERTAIN
    return fisher


class PointMassObjective:
    """F, its gradient and its Fisher matrix for one variable with point masses given its parents.

    Parameters
    ----------
    x : ndarray, shape (p, n)
        The parents, one a row.
    response : PointMassResponse
        The variable.
    hidden_units : int
        m.
    """

    def __init__(self, x: np.ndarray, response: PointMassResponse, hidden_units: int):
        self.x, self.response, self.units = np.ascontiguousarray(x), response, hidden_units
        self.n_observations, self.free = len(response), response.n_weights(len(x), hidden_units)
        intercepts = np.array(response.intercepts(len(x), hidden_units))
        self.layout, self.rank = (intercepts, intercepts + 1), intercepts.size

    def _terms(self, theta):
        """Return hidden units, the terms of F, derivatives by the outputs and a root of their Fisher matrix."""
        response, n = self.response, self.n_observations
        hidden = hidden_units_of(theta, self.x, self.units)
        weights = theta[self.layout[0][0] :].reshape(-1, self.units + 1)
        outputs = weights[:, :1] + weights[:, 1:] @ hidden
        has_density = response.has_density
        scale = np.exp(np.clip(outputs[1], -LOG_VARIANCE_LIMIT, LOG_VARIANCE_LIMIT))
        variance = VARIANCE_FLOOR + scale
        residual = response.density.centre - outputs[0]
        squares = (np.square(residual) + response.density.spread) / variance
        log_p = _log_probabilities(outputs[2:], response.log_odds)
        values = np.where(has_density, 0.5 * (np.log(variance) + squares), 0.0)
        values = values - log_p[response.codes, np.arange(n)]
        p = np.exp(log_p[1:])
        pull = np.empty_like(outputs)
        pull[0] = np.where(has_density, -residual / variance, 0.0)
        pull[1] = np.where(has_density, 0.5 * scale / variance * (1.0 - squares), 0.0)
        pull[2:] = LOGISTIC_DEVIATION * (p - (response.codes == np.arange(1, len(log_p))[:, np.newaxis]))
        roots = np.zeros((len(outputs), *outputs.shape))
        roots[0, 0] = has_density / np.sqrt(variance)
        roots[1, 1] = has_density * math.sqrt(0.5) * scale / variance
        roots[2:, 2:] = LOGISTIC_DEVIATION * np.linalg.cholesky(_fisher_by_log_odds(p)).transpose(2, 1, 0)
        return hidden, values, pull, roots

    def quadratic_model(
        self, theta: np.ndarray, penalty: np.ndarray, apart: int = 1
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return F, its gradient and, by every ``apart``-th column of x, its Fisher matrix over the free weights."""
        hidden, values, pull, roots = self._terms(theta)
        gradient, fisher = penalty * theta, empty_fisher(self.free)
        backpropagate(self.x, hidden, theta, *self.layout, 1.0, pull, gradient)
        some_x, some_hidden, some_roots = every(apart, self.x, hidden, roots)
        share = math.sqrt(roots.shape[-1] / some_roots.shape[-1])
        add_ordinal_fisher(some_x, some_hidden, theta, *self.layout, share * some_roots, fisher)
        value = float(values.sum() + 0.5 * penalty @ theta**2)
        return value, gradient, with_penalty(fisher, penalty)

    def standardised_scores(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return hidden units (m, n) and the derivatives of log P by the outputs over their standard deviations."""
        hidden, _, pull, roots = self._terms(theta)
        return hidden, -pull / np.sqrt(np.maximum(np.square(roots).sum(axis=0), 1e-300))
