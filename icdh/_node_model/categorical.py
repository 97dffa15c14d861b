"""A categorical response: a variable of categories without an order, by a softmax of the hidden units.

With K categories and hidden units of `icdh._node_model.network`,

    P(k | x) = exp(eta_k) / sum_j exp(eta_j),    eta_k = log share_k + c_k + pi / 6^(1/2) sum_h w_kh hidden_h(x).

Equivalently, the category is that of the largest of K hidden variables with Gumbel noise of unit variance, so that
two categories make the model of `icdh._node_model.ordinal`. The weights are theta = [w1 (p, m), b1 (m), c (K - 1),
w (K, m)]. The prior treats the weights w of all categories alike; c has a flat prior, and c of the first category,
the most frequent one, is zero. The shares make the model without parents c = 0.

With p the probabilities, the Fisher matrix of one observation by eta is diag(p) - p p^T, and by theta

    sum_k p_k (J_k - J) (J_k - J)^T,    J_k = d eta_k / d theta,    J = sum_k p_k J_k.

Observations whose causes are equal count together. Causes that are labels, too, have few joint labels, and F is as
cheap among many observations as among few.
"""

import math
from dataclasses import dataclass

import numpy as np

from icdh._node_model._outputs_kernels import add_categorical_fisher, backpropagate
from icdh._node_model.network import GivenParents, hidden_units_of
from icdh._node_model.scoring import FittedByScoring, empty_fisher, every, with_penalty

GUMBEL_DEVIATION = math.pi / math.sqrt(6.0)  # standard deviation of the standard Gumbel distribution
HALF_A_COUNT = 0.5  # added to every category's count: a subset of the observations may lack one


def log_shares(codes: np.ndarray, n_categories: int) -> np.ndarray:
    """Return the logarithms of the shares of the categories 0 ... K - 1, shape (K,)."""
    counts = np.bincount(codes, minlength=n_categories) + HALF_A_COUNT
    return np.log(counts / counts.sum())


def n_categorical_weights(n_inputs: int, hidden_units: int, n_categories: int) -> int:
    """Return the size of theta, m (p + 1 + K) + K - 1."""
    return hidden_units * (n_inputs + 1 + n_categories) + n_categories - 1


def categorical_layers(n_inputs: int, hidden_units: int, n_categories: int) -> tuple[slice, slice]:
    """Return the slices of theta that share a prior precision: first layer, weights of the categories."""
    first = (n_inputs + 1) * hidden_units
    return slice(0, first), slice(first + n_categories - 1, n_categorical_weights(n_inputs, hidden_units, n_categories))


def log_probabilities(hidden: np.ndarray, theta: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return log P of every category, shape (K, n), given the hidden units, shape (m, n)."""
    n_categories, m = shares.size, len(hidden)
    weights = theta[theta.size - n_categories * m :]
    c = theta[theta.size - n_categories * m - n_categories + 1 : theta.size - n_categories * m]
    eta = (shares + np.append(0.0, c))[:, np.newaxis] + GUMBEL_DEVIATION * (weights.reshape(n_categories, m) @ hidden)
    eta -= eta.max(axis=0)
    return eta - np.log(np.exp(eta).sum(axis=0))


class CategoricalResponse(FittedByScoring):
    """A variable of categories without an order.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Categories from 0 to K - 1.
    n_categories : int
        K.
    """

    def __init__(self, codes: np.ndarray, n_categories: int):
        self.codes, self.shares = codes, log_shares(codes, n_categories)

    @property
    def is_binary(self) -> bool:
        """Whether there are two categories."""
        return self.shares.size == 2

    def take(self, rows: np.ndarray) -> "CategoricalResponse":
        """Return the response at some observations."""
        part = object.__new__(type(self))
        part.codes, part.shares = self.codes[rows], self.shares
        return part

    def n_weights(self, n_inputs: int, hidden_units: int) -> int:
        """Return the size of theta."""
        return n_categorical_weights(n_inputs, hidden_units, self.shares.size)

    def intercepts(self, n_inputs: int, hidden_units: int) -> list[int]:
        """Return the indices of the weights that a model without parents has."""
        first, others = self.layers(n_inputs, hidden_units)
        return list(range(first.stop, others.start))

    def layers(self, n_inputs: int, hidden_units: int) -> tuple[slice, slice]:
        """Return the slices of theta that share a prior precision."""
        return categorical_layers(n_inputs, hidden_units, self.shares.size)

    def conditional(
        self, inputs: np.ndarray, widths: np.ndarray, theta: np.ndarray, hidden_units: int, sign: float = 1.0
    ) -> "CategoricalConditional":
        """Return the fitted node model; parameters as of `icdh._node_model.network.GivenParents`, ``sign`` is one."""
        return CategoricalConditional(inputs, widths, theta, hidden_units, self.shares)

    def __len__(self) -> int:
        return self.codes.size

    def objective(self, x: np.ndarray, hidden_units: int) -> "CategoricalObjective":
        """Return F of the categories given these parents, of shape (p, n)."""
        return CategoricalObjective(*counted(x, self.codes, self.shares.size), self.shares, hidden_units)


def counted(x: np.ndarray, codes: np.ndarray, n_categories: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the q different columns of x, shape (p, q), and how often each category is there, shape (K, q)."""
    if len(x) == 0:
        return x[:, :1], np.bincount(codes, minlength=n_categories)[:, np.newaxis].astype(np.float64)
    order = np.lexsort(x)
    arranged = x[:, order]
    new = np.append(True, (arranged[:, 1:] != arranged[:, :-1]).any(axis=0))
    group = np.cumsum(new) - 1
    q = group[-1] + 1
    counts = np.bincount(codes[order] * q + group, minlength=n_categories * q)
    return arranged[:, new], counts.reshape(n_categories, q).astype(np.float64)


class CategoricalObjective:
    """F, its gradient and its Fisher matrix for one categorical variable given its parents.

    Parameters
    ----------
    x : ndarray, shape (p, q)
        The parents, one a row.
    counts : ndarray, shape (K, q)
        How many observations of each category have these values of the parents.
    shares : ndarray, shape (K,)
        The logarithms of the categories' shares.
    hidden_units : int
        m.
    """

    def __init__(self, x: np.ndarray, counts: np.ndarray, shares: np.ndarray, hidden_units: int):
        self.x, self.counts, self.shares, self.units = np.ascontiguousarray(x), counts, shares, hidden_units
        self.totals = counts.sum(axis=0)
        self.n_observations = int(self.totals.sum())
        self.free, self.rank = n_categorical_weights(len(x), hidden_units, shares.size), shares.size - 1
        first, others = categorical_layers(len(x), hidden_units, shares.size)
        order = np.arange(shares.size)
        intercepts = np.append(-1, first.stop + order[:-1])  # that of the first category is zero
        self.layout = intercepts, others.start + hidden_units * order, GUMBEL_DEVIATION

    def quadratic_model(
        self, theta: np.ndarray, penalty: np.ndarray, apart: int = 1
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return F, its gradient and, by every ``apart``-th column of x, its Fisher matrix over the free weights."""
        hidden = hidden_units_of(theta, self.x, self.units)
        log_p = log_probabilities(hidden, theta, self.shares)
        value = float(0.5 * penalty @ theta**2 - np.vdot(self.counts, log_p))
        p = np.exp(log_p)
        gradient, fisher = penalty * theta, empty_fisher(self.free)
        some_x, some_hidden, some_p, totals = every(apart, self.x, hidden, p, self.totals)
        totals = totals * (self.n_observations / totals.sum())
        add_categorical_fisher(some_x, some_hidden, theta, *self.layout, some_p, totals, fisher)
        backpropagate(self.x, hidden, theta, *self.layout, self.totals * p - self.counts, gradient)
        return value, gradient, with_penalty(fisher, penalty)


@dataclass(frozen=True)
class CategoricalConditional(GivenParents):
    """A fitted node model of a categorical variable: probabilities of its categories given the parents.

    Attributes
    ----------
    inputs, widths, theta, hidden_units
        As of `icdh._node_model.network.GivenParents`; theta as above.
    log_shares : ndarray, shape (K,)
        The logarithms of the categories' shares.
    """

    log_shares: np.ndarray

    def log_probabilities(self, values: np.ndarray) -> np.ndarray:
        """Return the logarithms of the probabilities, shape (K, M), given all variables, shape (N, M)."""
        hidden = hidden_units_of(self.theta, self.network_inputs(values), self.hidden_units)
        return log_probabilities(hidden, self.theta, self.log_shares)

    def mean_and_scale(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the most probable category, and the probability of all others, each of shape (M,)."""
        p = np.exp(self.log_probabilities(values))
        best = p.argmax(axis=0)
        return best.astype(np.float64), 1.0 - p[best, np.arange(p.shape[1])]
