"""What a variable is as an effect: how its values enter the likelihood of the node model.

Every variable is an effect once in every graph, so graphs compare as long as each has one target:

- `Density`: a continuous variable; or one recorded on a grid, whose values stand for cells. A value is then spread
  evenly over its cell, half-way to its neighbours, and the Gaussian log-likelihood averaged over the cell: with c its
  centre and w its width, E (z - mu)^2 = (c - mu)^2 + w^2 / 12. What is left, the noise's own density, is measured on
  a few draws of such spread values. Neither the grid nor its fineness makes a variable look determined.
- `Levels`: a variable of few ordered values (`icdh.node_model.levels`).
- `Labels`: a variable of labels without an order (`icdh.node_model.labels`).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from icdh.node_model._descent_kernels import node_fit
from icdh.node_model._kernels import VARIANCE_FLOOR
from icdh.node_model.fit import NodeConditional, forward, intercepts, layers, n_weights
from icdh.node_model.labels import LabelConditional, LabelsSystem, label_layers, log_shares, n_label_weights
from icdh.node_model.levels import LevelsConditional, LevelsSystem, thresholds
from icdh.node_model.scoring import minimise


class _MeanAndVariance:
    """The weights of `icdh.node_model.fit`."""

    def n_weights(self, n_inputs: int, hidden_units: int) -> int:
        """Return the size of theta."""
        return n_weights(n_inputs, hidden_units)

    def intercepts(self, n_inputs: int, hidden_units: int) -> list[int]:
        """Return the indices of the weights that a model without parents has."""
        return list(intercepts(n_inputs, hidden_units))

    def layers(self, n_inputs: int, hidden_units: int) -> Sequence[slice]:
        """Return the slices of theta that share a prior precision."""
        return layers(n_inputs, hidden_units)


class Density(_MeanAndVariance):
    """A continuous variable, or one recorded on a grid.

    Parameters
    ----------
    centre, spread : ndarray, shape (n,)
        The middle of the cell that every value stands for, standardised, and the variance of an even spread over it;
        zero where a value is but itself.
    samples : sequence of ndarray, each of shape (n,)
        Values drawn from the cells.
    """

    def __init__(self, centre: np.ndarray, spread: np.ndarray, samples: Sequence[np.ndarray]):
        self.centre, self.spread, self.samples = centre, spread, tuple(samples)

    @classmethod
    def exact(cls, values: np.ndarray) -> "Density":
        """Return the target of values without a grid."""
        return cls(values, np.zeros(values.shape), [values])

    def take(self, rows: np.ndarray) -> "Density":
        """Return the target at some observations."""
        return Density(self.centre[rows], self.spread[rows], [sample[rows] for sample in self.samples])

    def minimise(self, x: np.ndarray, *options: Any) -> tuple[float, float, int, bool]:
        """Minimise F over theta, in place; options and result are those of `node_fit`."""
        return node_fit(x, self.centre, self.spread, *options)

    def scores(self, x: np.ndarray, theta: np.ndarray, hidden_units: int) -> tuple[np.ndarray, np.ndarray]:
        """Return hidden units (m, n) and the derivatives of the log-likelihood by mean and log-variance (2, n).

        Both are in units of their standard deviations under the model.
        """
        hidden, mean, variance = forward(theta, x, hidden_units)
        residual = self.centre - mean
        squares = (np.square(residual) + self.spread) / variance
        return hidden, np.stack([residual / np.sqrt(variance), math.sqrt(0.5) * (squares - 1.0)])

    def without_parents(self, hidden_units: int) -> tuple[np.ndarray, float, float]:
        """Return weights, F and log det H of the constant model, in closed form: H = diag(n / v, n / 2)."""
        n = self.centre.size
        theta = np.zeros(n_weights(0, hidden_units))
        b2, b3 = intercepts(0, hidden_units)
        theta[b2] = self.centre.mean()
        squares = np.square(self.centre - theta[b2]) + self.spread
        variance = max(squares.mean(), 2.0 * VARIANCE_FLOOR)
        theta[b3] = math.log(variance - VARIANCE_FLOOR)
        objective = 0.5 * float(squares.sum() / variance + n * math.log(variance))
        return theta, objective, math.log(n / variance) + math.log(n / 2)


class _Counted:
    """A variable of few values, whose ``system`` gives F, gradient and Fisher matrix."""

    def minimise(
        self, x: np.ndarray, theta: np.ndarray, penalty: np.ndarray, hidden_units: int, freeze: int, *options: Any
    ) -> tuple[float, float, int, bool]:
        """Minimise F over theta, in place, all weights at once; options are those of `scoring.minimise`."""
        return minimise(self.system(x, hidden_units), theta, penalty, *options)

    def without_parents(self, hidden_units: int) -> tuple[np.ndarray, float, float]:
        """Return weights, F and log det H of the model of the values' shares."""
        nothing = np.empty((0, len(self)))
        zeros = np.zeros(self.n_weights(0, 0))
        objective, _, fisher = self.system(nothing, 0).system(zeros, zeros)
        return np.zeros(self.n_weights(0, hidden_units)), objective, float(np.linalg.slogdet(fisher)[1])


class Levels(_Counted, _MeanAndVariance):
    """A variable of few ordered values.

    Parameters
    ----------
    values : ndarray, shape (n,)
        The values, whatever their unit; their order counts.
    """

    def __init__(self, values: np.ndarray):
        self.values, self.levels = np.unique(values, return_inverse=True)
        self.cuts = thresholds(self.levels)

    @property
    def are_two(self) -> bool:
        """Whether there are two levels."""
        return len(self.cuts) == 1

    def layers(self, n_inputs: int, hidden_units: int) -> Sequence[slice]:
        """Return the slices of theta that share a prior precision; of two levels the scale is no unknown."""
        return layers(n_inputs, hidden_units)[: 2 if self.are_two else 3]

    def take(self, rows: np.ndarray) -> "Levels":
        """Return the target at some observations."""
        part = object.__new__(type(self))
        part.values, part.levels, part.cuts = self.values, self.levels[rows], self.cuts
        return part

    def __len__(self) -> int:
        return self.levels.size

    def system(self, x: np.ndarray, hidden_units: int) -> LevelsSystem:
        """Return what the likelihood of the levels given these parents is computed by."""
        return LevelsSystem(x, self.levels, self.cuts, hidden_units)

    def scores(self, x: np.ndarray, theta: np.ndarray, hidden_units: int) -> tuple[np.ndarray, np.ndarray]:
        """Return hidden units and standardised derivatives by mean and log-variance, as `Density.scores`."""
        return self.system(x, hidden_units).scores(theta)


class Labels(_Counted):
    """A variable of labels without an order.

    Parameters
    ----------
    labels : ndarray of int, shape (n,)
        Labels from 0 to K - 1.
    n_labels : int
        K.
    """

    def __init__(self, labels: np.ndarray, n_labels: int):
        self.labels, self.shares = labels, log_shares(labels, n_labels)

    @property
    def are_two(self) -> bool:
        """Whether there are two labels."""
        return self.shares.size == 2

    def take(self, rows: np.ndarray) -> "Labels":
        """Return the target at some observations."""
        part = object.__new__(type(self))
        part.labels, part.shares = self.labels[rows], self.shares
        return part

    def n_weights(self, n_inputs: int, hidden_units: int) -> int:
        """Return the size of theta."""
        return n_label_weights(n_inputs, hidden_units, self.shares.size)

    def intercepts(self, n_inputs: int, hidden_units: int) -> list[int]:
        """Return the indices of the weights that a model without parents has."""
        first, others = self.layers(n_inputs, hidden_units)
        return list(range(first.stop, others.start))

    def layers(self, n_inputs: int, hidden_units: int) -> Sequence[slice]:
        """Return the slices of theta that share a prior precision."""
        return label_layers(n_inputs, hidden_units, self.shares.size)

    def __len__(self) -> int:
        return self.labels.size

    def system(self, x: np.ndarray, hidden_units: int) -> LabelsSystem:
        """Return what the likelihood of the labels given these parents is computed by."""
        return LabelsSystem(x, self.labels, self.shares, hidden_units)


Target = Density | Levels | Labels


def conditional_of(
    target: Target, inputs: np.ndarray, widths: np.ndarray, theta: np.ndarray, hidden_units: int, sign: float = 1.0
) -> NodeConditional | LevelsConditional | LabelConditional:
    """Return the fitted node model of a variable; parameters as of `icdh.node_model.fit.GivenParents`.

    ``sign`` is what the target's values were multiplied by; the weights are of the variable as it is.
    """
    if isinstance(target, Labels):
        return LabelConditional(inputs, widths, theta, hidden_units, target.shares)
    if isinstance(target, Levels):
        own = sign * target.values, sign * target.cuts
        ascending = (np.ascontiguousarray(part[:: int(sign)]) for part in own)
        return LevelsConditional(inputs, widths, theta, hidden_units, *ascending)
    return NodeConditional(inputs, widths, theta, hidden_units)
