"""The node model: one variable given its parents, under heteroscedastic noise.

The node model of a variable y with p parents x, every column standardised, shares m hidden units
between mean and log-variance, so that both have the same parents (Definition 1 of the paper, with
intercepts and an exponential scale):

- hidden units   s = tanh(w1^T x + b1)
- mean           mu = b2 + w2 · s
- variance       v = 1e-5 + exp(u),  u = b3 + w3 · s

Its weights are one flat vector ``theta`` = [w1 (p, m), b1 (m), b2, w2 (m), b3, w3 (m)]. They minimise

    F(theta) = sum over rows of [log v / 2 + (y - mu)^2 / (2 v)] + (1/2) sum_k penalty_k theta_k^2,

where the penalty of the weights of each layer, {w1, b1}, {w2} and {w3}, is the precision of their Gaussian prior;
the intercepts b2 and b3 have a flat prior. The score of a fit is in `icdh._node_model.evidence`.

Every variable is an effect once in every graph, so graphs compare as long as each variable has one response: a
distribution with a solver. `GaussianResponse` has compiled kernels (`icdh._node_model._descent_kernels`);
`OrdinalResponse`, `CategoricalResponse` and `PointMassResponse`, a probability beside a density, damped Fisher scoring
in NumPy (`icdh._node_model.response`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np

from icdh._node_model._kernels import fill_hidden, node_forward
from icdh._node_model.law import Law
from icdh._utils.arrays import Floats, Integers, Mask

Predictor = TypeVar("Predictor", bound="FamilyPredictor")
MOST_AT_ONCE = 65_536  # observations whose hidden units are in memory for a prediction
SPLIT = 0.3  # standard deviation of the step between the halves of a unit


def cold_start(n_parents: int, hidden_units: int, random_state: int, size: int) -> Floats:
    """Return weights with a random first layer and constant outputs (mean 0, variance 1), shape (size,)."""
    theta, first_layer = np.zeros(size), (n_parents + 1) * hidden_units
    theta[:first_layer] = np.random.default_rng(random_state).normal(size=first_layer)
    return theta


def with_twice_the_units(theta: Floats, n_parents: int, hidden_units: int, random_state: int) -> Floats:
    """Return weights of twice the units that compute nearly what theta computes.

    Every unit becomes two with half its output weights. Their input weights are its own plus and minus a random step,
    so the outputs change in second order only, and the two units can diverge.
    """
    first = theta[: (n_parents + 1) * hidden_units].reshape(n_parents + 1, hidden_units)
    step = SPLIT * np.random.default_rng(random_state).standard_normal(first.shape)
    outputs = theta[first.size :].reshape(-1, hidden_units + 1)
    halves = np.hstack([outputs[:, :1], outputs[:, 1:] / 2, outputs[:, 1:] / 2])
    return np.concatenate([np.hstack([first + step, first - step]).ravel(), halves.ravel()])


def node_outputs(theta: Floats, x: Floats, hidden_units: int = 5) -> tuple[Floats, Floats]:
    """Return the node's mean and standard deviation, both (n,), at the parents' values x (p, n), one parent a row."""
    mean, variance = _in_blocks(lambda rows: np.stack(forward(theta, rows, hidden_units)[1:]), x)
    return mean, np.sqrt(variance)


def forward(theta: Floats, x: Floats, hidden_units: int) -> tuple[Floats, Floats, Floats]:
    """Return hidden units (m, n), mean (n,) and variance (n,) at the parents' values x (p, n)."""
    n = x.shape[1]
    hidden, mean, variance = np.empty((hidden_units, n)), np.empty(n), np.empty(n)
    node_forward(np.ascontiguousarray(x), theta, hidden, mean, variance)
    return hidden, mean, variance


def hidden_units_of(theta: Floats, x: Floats, hidden_units: int) -> Floats:
    """Return the hidden units, shape (m, n), at the parents' values x (p, n), one parent a row."""
    hidden = np.empty((hidden_units, x.shape[1]))
    fill_hidden(np.ascontiguousarray(x), theta, hidden)
    return hidden


def indicators(codes: Floats | Integers, n_categories: int) -> Floats:
    """Return the network inputs of a parent of categories 0 ... K - 1, zeros and ones, shape (K, n)."""
    members: Floats = (codes == np.arange(n_categories)[:, np.newaxis]).astype(np.float64)
    return members


def network_inputs(values: Floats, parents: Integers, widths: Integers) -> Floats:
    """Return the network inputs that parents are, one a number or category, given all variables, shape (N, M).

    Parameters
    ----------
    values : ndarray, shape (N, M)
        The variables, one a row.
    parents, widths : ndarray of int, shape (p,)
        The parents, and how many inputs each is.
    """
    if (widths == 1).all():
        return values[parents]
    parts = zip(values[parents], widths, strict=True)
    return np.vstack([part if width == 1 else indicators(part, width) for part, width in parts])


@dataclass(frozen=True)
class FamilyPredictor(ABC):
    """A fitted mean model of a node: the outputs of its law given its parents.

    Attributes
    ----------
    inputs : ndarray of int, shape (p,)
        The parents.
    widths : ndarray of int, shape (p,)
        How many network inputs every parent is: one for a number, K for K categories.
    """

    is_network: ClassVar[bool] = False
    inputs: Integers
    widths: Integers

    def predict(self, values: Floats, law: Law) -> Floats:
        """Return the outputs of a law, shape (o, M), given all variables, one a row, shape (N, M)."""
        return self.outputs(network_inputs(values, self.inputs, self.widths), law)

    @abstractmethod
    def outputs(self, x: Floats, law: Law) -> Floats:
        """Return the outputs of a law, shape (o, M), given the network inputs x, one a row."""

    @abstractmethod
    def in_original_signs(self: Predictor, signs: Floats, sign: float, law: Law) -> Predictor:
        """Return the predictor of ``sign * y`` given ``signs * x``, when this one is of y given x."""

    @abstractmethod
    def held(self: Predictor, kept: Mask, at: Floats) -> Predictor:
        """Return the predictor of some inputs alone, numbers beside them held at values; both of shape (p,)."""

    @abstractmethod
    def faults(self, law: Law, widths: Sequence[int]) -> Iterator[str]:
        """Yield what contradicts itself, the law, or how many network inputs every parent is."""


@dataclass(frozen=True)
class NodeNetwork(FamilyPredictor):
    """A fitted network of a node.

    Attributes
    ----------
    theta : ndarray
        The weights, those of the first layer first, as the law reads them.
    hidden_units : int
        m.
    """

    is_network: ClassVar[bool] = True
    theta: Floats
    hidden_units: int

    def outputs(self, x: Floats, law: Law) -> Floats:
        """Return the outputs of a law, shape (o, M), given the network inputs x, one a row."""
        return network_outputs(self.theta, x, self.hidden_units, law)

    def in_original_signs(self, signs: Floats, sign: float, law: Law) -> "NodeNetwork":
        """Return the network of ``sign * y`` given ``signs * x``, when this one is of y given x."""
        theta = self.theta.copy()
        theta[: len(signs) * self.hidden_units] *= np.repeat(signs, self.hidden_units)
        intercepts = law.intercepts(len(signs), self.hidden_units)
        for output in law.odd:
            theta[intercepts[output] : intercepts[output] + self.hidden_units + 1] *= sign
        return replace(self, theta=theta)

    def held(self, kept: Mask, at: Floats) -> "NodeNetwork":
        """Return the network of some inputs alone, numbers beside them held at values; both of shape (p,)."""
        inputs, m = np.repeat(kept, self.widths), self.hidden_units
        first = self.theta[: inputs.size * m].reshape(inputs.size, m)
        theta = np.append(first[inputs], self.theta[first.size :])
        biases = theta[np.count_nonzero(inputs) * m :][:m]
        biases += np.repeat(at, self.widths)[~inputs] @ first[~inputs]
        return replace(self, inputs=self.inputs[kept], widths=self.widths[kept], theta=theta)

    def faults(self, law: Law, widths: Sequence[int]) -> Iterator[str]:
        """Yield what contradicts itself, the law, or how many network inputs every parent is."""
        if self.widths.tolist() != list(widths):
            yield "inputs lack their labels"
        if self.hidden_units <= 0:
            yield "there are no hidden units"
        needed = law.n_weights(int(self.widths.sum()), self.hidden_units)
        if self.theta.size != needed:
            yield f"theta has shape [{self.theta.size}], not [{needed}]"


def network_outputs(theta: Floats, x: Floats, hidden_units: int, law: Law) -> Floats:
    """Return the outputs of a law, shape (o, n), at the parents' values x (p, n), one parent a row."""
    return _in_blocks(lambda rows: law.network_outputs(theta, hidden_units_of(theta, rows, hidden_units)), x)


def _in_blocks(function: Callable[[Floats], Floats], x: Floats) -> Floats:
    """Return a function of observations, the last axis: hidden units of a long table take more memory than itself."""
    starts = range(0, max(x.shape[1], 1), MOST_AT_ONCE)
    return np.concatenate([function(x[:, first : first + MOST_AT_ONCE]) for first in starts], axis=1)
