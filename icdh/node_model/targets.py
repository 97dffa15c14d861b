"""What a variable is as an effect: how its values enter the likelihood of the node model.

Every variable is an effect once in every graph, so graphs compare as long as each has one target:

- `Density`: a continuous variable; or one recorded on a grid, whose values stand for cells. A value is then spread
  evenly over its cell, half-way to its neighbours, and the Gaussian log-likelihood averaged over the cell: with c its
  centre and w its width, E (z - mu)^2 = (c - mu)^2 + w^2 / 12. What is left, the noise's own density, is measured on
  a few draws of such spread values. Neither the grid nor its fineness makes a variable look determined.
- `Levels`: a variable of few ordered values (`icdh.node_model.levels`).
"""

import math
from collections.abc import Sequence

import numpy as np

from icdh.node_model._kernels import VARIANCE_FLOOR, node_fit
from icdh.node_model.fit import forward, intercepts, n_weights
from icdh.node_model.levels import LevelsSystem, thresholds


class Density:
    """A continuous variable, or one recorded on a grid.

    Parameters
    ----------
    low, high : ndarray, shape (n,)
        The ends of the cell that every value stands for, standardised; equal where a value is but itself.
    samples : sequence of ndarray, each of shape (n,)
        Values drawn from the cells.
    """

    n_layers = 3

    def __init__(self, low: np.ndarray, high: np.ndarray, samples: Sequence[np.ndarray]):
        self.centre, self.spread, self.samples = (low + high) / 2, np.square(high - low) / 12, tuple(samples)

    @classmethod
    def exact(cls, values: np.ndarray) -> "Density":
        """Return the target of values without a grid."""
        return cls(values, values, (values,))

    def take(self, rows: np.ndarray) -> "Density":
        """Return the target at some observations."""
        part = object.__new__(type(self))
        part.centre, part.spread = self.centre[rows], self.spread[rows]
        part.samples = tuple(sample[rows] for sample in self.samples)
        return part

    def minimise(
        self,
        x: np.ndarray,
        theta: np.ndarray,
        penalty: np.ndarray,
        hidden_units: int,
        freeze: int,
        max_steps: int,
        tol: float,
        factor: np.ndarray,
    ) -> tuple[float, float, int, bool]:
        """Minimise F over theta, in place; see `_kernels.node_fit`."""
        return node_fit(x, self.centre, self.spread, theta, penalty, hidden_units, freeze, max_steps, tol, factor)

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


class Levels:
    """A variable of few ordered values.

    Parameters
    ----------
    values : ndarray, shape (n,)
        The values, whatever their unit; their order counts.
    """

    def __init__(self, values: np.ndarray):
        self.values, self.levels = np.unique(values, return_inverse=True)
        self.cuts = thresholds(self.levels)
        self.n_layers = 2 if len(self.cuts) == 1 else 3

    def take(self, rows: np.ndarray) -> "Levels":
        """Return the target at some observations."""
        part = object.__new__(type(self))
        part.values, part.levels, part.cuts, part.n_layers = self.values, self.levels[rows], self.cuts, self.n_layers
        return part

    def minimise(
        self,
        x: np.ndarray,
        theta: np.ndarray,
        penalty: np.ndarray,
        hidden_units: int,
        freeze: int,
        max_steps: int,
        tol: float,
        factor: np.ndarray,
    ) -> tuple[float, float, int, bool]:
        """Minimise F over theta, in place; see `LevelsSystem.minimise`."""
        return LevelsSystem(x, self.levels, self.cuts, hidden_units).minimise(theta, penalty, max_steps, tol, factor)

    def scores(self, x: np.ndarray, theta: np.ndarray, hidden_units: int) -> tuple[np.ndarray, np.ndarray]:
        """Return hidden units and standardised derivatives by mean and log-variance, as `Density.scores`."""
        return LevelsSystem(x, self.levels, self.cuts, hidden_units).scores(theta)

    def without_parents(self, hidden_units: int) -> tuple[np.ndarray, float, float]:
        """Return weights, F and log det H of the model of the levels' shares."""
        system = LevelsSystem(np.empty((0, self.levels.size)), self.levels, self.cuts, 0)
        objective, _, fisher = system.system(np.zeros(2), np.zeros(2))
        return np.zeros(n_weights(0, hidden_units)), objective, float(np.linalg.slogdet(fisher)[1])


Target = Density | Levels
