"""The kinds of responses as one contract asks of them: likelihood by the outputs, law, and values to observe."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from icdh._model import conditionals
from icdh._model.structural import StructuralModel
from icdh._node_model._descent_kernels import node_gradient
from icdh._node_model._kernels import VARIANCE_FLOOR
from icdh._node_model.categorical import GUMBEL_DEVIATION, CategoricalResponse
from icdh._node_model.gaussian import GaussianResponse
from icdh._node_model.network import forward
from icdh._node_model.ordinal import OrdinalResponse
from icdh._node_model.point_masses import PointMassResponse
from icdh._table.categories import Categories
from icdh._table.table import Scaling

BOUND = 8.0  # of an output: hidden units that are the outputs over it carry them to what takes weights


@dataclass
class Subject:
    """A response of n rows.

    ``observed`` are its values as a fitted model reads them, (n,); ``cell`` the width of the cell of each; ``support``
    the values that have a probability; ``outputs`` how many functions of the causes there are.
    """

    response: object
    observed: np.ndarray
    outputs: int
    support: tuple = ()
    dense: bool = False
    odd: tuple = ()
    cell: float = 0.0
    unit: float = 1.0

    def _theta(self):
        """Weights of as many hidden units as outputs, each of which is one of them over the bound."""
        p = m = self.outputs
        theta = np.zeros(self.response.n_weights(p, m))
        theta[: p * m] = np.eye(m).ravel()
        weights = self._places(p, m)[1]
        for k, start in enumerate(weights[: self.outputs]):
            theta[start + k] = BOUND / self.unit
        return theta

    def _places(self, p, m):
        if hasattr(self.response, "layout"):
            return self.response.layout(p, m)[:2]
        intercepts = np.array(self.response.intercepts(p, m))
        return intercepts, intercepts + 1

    def terms(self, outputs):
        """The sum of -log P, its derivatives by the outputs (o, n), and their Fisher matrices (o, o, n)."""
        theta, hidden, n = self._theta(), outputs / BOUND, outputs.shape[1]
        rows, columns = np.triu_indices(self.outputs)
        fisher = np.zeros((self.outputs, self.outputs, n))
        if isinstance(self.response, GaussianResponse):
            _, mean, variance = forward(theta, np.arctanh(hidden), self.outputs)
            y, spread = self.response.centre, self.response.spread
            pull, none = np.empty((2, n)), np.zeros(theta.size)
            node_gradient(np.arctanh(hidden), y, spread, theta, none, hidden, mean, variance, pull, none.copy())
            value = 0.5 * float((np.log(variance) + (np.square(y - mean) + spread) / variance).sum())
            fisher[0, 0], fisher[1, 1] = 1.0 / variance, 0.5 * np.square((variance - VARIANCE_FLOOR) / variance)
            return value, pull, fisher
        value, pull, curvature = self.response.terms(theta, np.ascontiguousarray(hidden))
        for entry, i, j in zip(curvature(slice(None)), rows, columns, strict=False):
            fisher[i, j] = fisher[j, i] = entry
        return value, pull[: self.outputs], fisher

    def conditional(self, sign=1.0):
        ones = np.ones(self.outputs, dtype=np.int64)
        return self.response.conditional(np.arange(self.outputs), ones, self._theta(), self.outputs, sign)

    def log_density(self, observed, outputs, sign=1.0):
        """Log-density or log-probability of values, of shape (n,), given the outputs (o, n)."""
        return conditionals.log_density(self.conditional(sign), observed, np.arctanh(outputs / BOUND))

    def mean_and_scale(self, outputs):
        return self.conditional().mean_and_scale(np.arctanh(outputs / BOUND))

    def draw(self, outputs, uniform):
        """Values of which the distribution function is ``uniform``."""
        noise = ndtri(uniform) if self.dense else uniform
        return conditionals.response(self.conditional(), np.arctanh(outputs / BOUND), noise)

    def residuals(self, observed, outputs, rng):
        """Quantile residuals, uniform if the model holds; None where the model has none."""
        return None

    def without_parents(self):
        """The outputs (o,) of the constant model, and F."""
        theta, value, _ = self.response.without_parents(0)
        places = self._places(0, 0)[0]
        return np.array([theta[place] if place >= 0 else 0.0 for place in places])[: self.outputs], value

    def model(self):
        """A structural model of the outputs as causes, and the response as their effect."""
        o = self.outputs
        labels = {o: Categories(tuple("abcdefgh"[: len(self.support)]))} if self.unit == GUMBEL_DEVIATION else {}
        given = [*(conditionals.Constant() for _ in range(o)), self.conditional()]
        return StructuralModel(
            names=[f"x{k}" for k in range(o + 1)],
            named=True,
            scaling=Scaling(np.zeros(o + 1), np.ones(o + 1)),
            adjacency=np.pad(np.ones((o, 1)), ((0, 1), (o, 0))),
            conditionals=given,
            centre=np.zeros(o + 1),
            categories=labels,
            levels={} if labels or self.dense else {o: np.array(self.support, dtype=float)},
        )


def continuous(rng, n):
    y = rng.normal(size=n)
    return Subject(GaussianResponse.exact(y), y, 2, dense=True, odd=(0,))


def rounded(rng, n):
    y = np.round(2.0 * rng.normal(size=n)) / 2.0
    cells = y - 0.25, y + 0.25
    return Subject(GaussianResponse.over_cells(*cells, [y]), y, 2, dense=True, odd=(0,), cell=0.5)


def levels(count):
    def of(rng, n):
        values = np.array([-1.5, -0.4, 0.1, 0.9, 2.5])[:count]
        y = values[np.append(np.arange(count), rng.integers(count, size=n - count))]
        return Subject(OrdinalResponse(y), y, min(count - 1, 2), support=tuple(values), odd=(0,))

    return of


def labels(rng, n):
    codes = np.append(np.arange(4), rng.integers(4, size=n - 4))
    return Subject(CategoricalResponse(codes, 4), codes.astype(float), 4, support=(0, 1, 2, 3), unit=GUMBEL_DEVIATION)


def masses(rng, n):
    codes = np.append([0, 1, 2], rng.integers(3, size=n - 3))
    y = np.where(codes == 0, rng.normal(size=n), np.array([np.nan, -1.0, 2.0])[codes])
    response = PointMassResponse(codes, GaussianResponse.exact(y), 2)
    return Subject(response, y, 4, support=(-1.0, 2.0), dense=True, odd=(0,))


SUBJECTS = {
    "continuous": continuous,
    "rounded": rounded,
    "two levels": levels(2),
    "levels": levels(5),
    "labels": labels,
    "point masses": masses,
}
