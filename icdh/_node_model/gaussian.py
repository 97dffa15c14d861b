"""A continuous response: Gaussian given its parents, of a value that is known exactly or up to a cell of a grid.

With mean mu and variance v of `icdh._node_model.network`, an exact value y costs log v / 2 + (y - mu)^2 / (2 v) nats.
A value recorded on a grid stands for a cell, half-way to its neighbours. The value is spread evenly over the cell and
the log-likelihood is averaged over it: with c the cell's centre and w its width,

    E (z - mu)^2 = (c - mu)^2 + w^2 / 12.

The density of the noise (`icdh._node_model.noise`) is measured on a few draws of the spread values. So neither a grid
nor its fineness makes a variable look determined.

A rival of the network is the linear model: a linear mean of the causes and one variance. A network describes a linear
effect, but pays for all other functions that it could have described. So a family has the evidence of the better of the
two models. With v the mean squared residual of least squares and r its rank, the negative log evidence of the linear
model is, in nats and without the constants that `icdh._node_model.evidence` leaves out,

    (n / 2) (log v + 1) + (1/2) log det diag(n / v, n / 2) + (r / 2) log n.

The determinant is that of intercept and log-variance, so without causes the linear model is the network's constant
model. Every coefficient costs (1/2) log n, as in Schwarz's criterion: the evidence under a prior that holds as much as
one observation. The sum over all families is the same for all graphs of an equivalence class, as it has to be: linear
Gaussian data do not tell these apart.

References
----------
Schwarz, "Estimating the dimension of a model", The Annals of Statistics 6 (1978).
Kass and Wasserman, "A reference Bayesian test for nested hypotheses and its relationship to the Schwarz criterion",
Journal of the American Statistical Association 90 (1995).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from icdh._node_model._descent_kernels import node_fit
from icdh._node_model._kernels import LEAST_VARIANCE, VARIANCE_FLOOR, fill_outputs, fill_variance
from icdh._node_model._outputs_kernels import density_terms
from icdh._node_model.law import NormalLaw
from icdh._node_model.network import forward
from icdh._node_model.response import Density, Minimiser, Numbers, Response
from icdh._utils.arrays import NONE, Floats, Integers, Mask, mean_of, of_rows, roots_of, times

LEAST_ROWS = 5  # observations for each weight: with fewer the criterion is no evidence
RESOLVED = 1e-10  # eigenvalue of the correlations of causes: smaller ones are rounding


@dataclass(frozen=True)
class GaussianLaw(NormalLaw):
    """A number, mean + scale E; the outputs are mean and log-variance."""

    name = "mean and log-variance"
    spread = 1

    def network_outputs(self, theta: Floats, hidden: Floats) -> Floats:
        """Return mean and log-variance, shape (2, n), given the hidden units, shape (m, n)."""
        outputs = np.empty((2, hidden.shape[1]))
        fill_outputs(hidden, theta, outputs)
        return outputs

    def location_and_scale(self, outputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and scale."""
        variance = np.empty(outputs.shape[1])
        fill_variance(outputs[1], variance)
        return outputs[0], np.sqrt(variance)


class GaussianResponse(Numbers, Response):
    """A continuous variable, or one recorded on a grid."""

    ordered = True

    def take(self, rows: Mask | Integers) -> "GaussianResponse":
        """Return the response at some observations."""
        samples = [sample[rows] for sample in self.samples]
        return GaussianResponse(self.centre[rows], self.spread[rows], samples, of_rows(self.weights, rows))

    @property
    def law(self) -> GaussianLaw:
        """Its distribution given mean and log-variance."""
        return GaussianLaw()

    @property
    def codes(self) -> None:
        """None: it is a number."""
        return None

    @property
    def least_squares(self) -> Numbers:
        """All values."""
        return self

    @property
    def density(self) -> Density:
        """All values."""
        return Density(self)

    def terms(self, weights: Floats, outputs: Floats) -> tuple[float, Floats, Floats]:
        """Return the sum of -log P, without its constant, its derivatives, and their expected squares.

        Rows count as often as ``weights`` (n,) say. Derivatives and squares, by mean and log-variance, have shape
        (2, n). Mean and log-variance are orthogonal.
        """
        pull, squares = np.empty((2, len(self))), np.empty((2, len(self)))
        return density_terms(self.centre, self.spread, weights, outputs, pull, squares), pull, squares

    def minimiser(self, x: Floats, hidden_units: int) -> Minimiser:
        """Return what minimises F over theta, in place; its other arguments and its result are those of `node_fit`."""
        table = x, self.centre, self.spread, NONE if self.weights is None else self.weights
        return lambda theta, penalty, *options: node_fit(table, theta, penalty, hidden_units, *options)

    def standardised_scores(self, x: Floats, theta: Floats, hidden_units: int) -> tuple[Floats, Floats]:
        """Return hidden units and standardised derivatives by mean and log-variance, as of `Response`."""
        hidden, mean, variance = forward(theta, x, hidden_units)
        residual = self.centre - mean
        squares = (np.square(residual) + self.spread) / variance
        scores = np.stack([residual / np.sqrt(variance), math.sqrt(0.5) * (squares - 1.0)])
        return hidden, times(roots_of(self.weights), scores)

    def without_parents(self, hidden_units: int) -> tuple[Floats, float, float]:
        """Return weights, F and log det H of the constant model, in closed form: H = diag(n / v, n / 2)."""
        n, weights = self.n_counted, self.weights
        theta = np.zeros(self.law.n_weights(0, hidden_units))
        b2, b3 = self.law.intercepts(0, hidden_units)
        theta[b2] = mean_of(self.centre, weights)
        squares = np.square(self.centre - theta[b2]) + self.spread
        variance = max(float(mean_of(squares, weights)), 2.0 * VARIANCE_FLOOR)
        theta[b3] = math.log(variance - VARIANCE_FLOOR)
        objective = 0.5 * float(times(weights, squares).sum() / variance + n * math.log(variance))
        return theta, objective, math.log(n / variance) + math.log(n / 2)


class LinearFit(NamedTuple):
    """The least-squares fit of a family.

    Attributes
    ----------
    mean : ndarray, shape (n,)
        The mean given the causes.
    variance : float
        v.
    evidence : float
        The negative log evidence in nats; infinite with fewer than ten observations for each weight.
    slopes : ndarray, shape (p,)
        What one unit of each cause adds to the mean.
    """

    mean: np.ndarray
    variance: float
    evidence: float
    slopes: np.ndarray


def resolved_causes(x: Floats, weights: Floats | None) -> tuple[Floats, Floats, Floats, Floats]:
    """Return causes x, (p, n), centred and of unit length, their lengths (p,), and directions (p, r) that are resolved.

    Beside them stand the squared lengths (r,) of the causes along these directions.
    """
    causes = x - mean_of(x, weights)[:, np.newaxis]
    sums_of_squares = times(weights, np.square(causes)).sum(axis=1, keepdims=True)
    lengths = np.maximum(np.sqrt(sums_of_squares), np.finfo(float).tiny)
    causes /= lengths
    squares, directions = np.linalg.eigh(times(weights, causes) @ causes.T)
    resolved = squares > RESOLVED
    return causes, lengths[:, 0], directions[:, resolved], squares[resolved]


def least_squares(x: Floats, values: Floats, weights: Floats | None) -> tuple[Floats, Floats, int]:
    """Return the mean given causes x, shape (p, n), its slopes, shape (p,), and the rank of the causes.

    Observations count as often as ``weights``, shape (n,), say; once if they are None.
    """
    causes, lengths, directions, squares = resolved_causes(x, weights)
    slopes = directions / squares @ (directions.T @ (times(weights, causes) @ values))
    mean = mean_of(values, weights) + slopes @ causes
    return mean, slopes / lengths, squares.size


def fit_linear(x: np.ndarray, effect: Numbers) -> LinearFit:
    """Return the linear model of an effect given its causes.

    Parameters
    ----------
    x : ndarray, shape (p, n)
        The causes, one network input a row.
    effect : Numbers
        The effect.
    """
    n, values, weights = effect.n_counted, effect.centre, effect.weights
    mean, slopes, rank = least_squares(x, values, weights)
    squares = np.square(values - mean) + effect.spread
    variance = max(float(mean_of(squares, weights)), LEAST_VARIANCE)
    if n < LEAST_ROWS * (rank + 2):
        return LinearFit(mean, variance, math.inf, slopes)
    objective = 0.5 * (float(times(weights, squares).sum()) / variance + n * math.log(variance))
    log_determinant = math.log(n / variance) + math.log(n / 2)
    return LinearFit(mean, variance, objective + 0.5 * log_determinant + 0.5 * rank * math.log(n), slopes)
