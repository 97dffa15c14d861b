"""The kinds of responses as one contract asks of them: likelihood by the outputs, law, and values to observe."""

from dataclasses import dataclass

import numpy as np

from icdh._model.causal import ModelColumns
from icdh._model.structural import StructuralModel
from icdh._node_model.discrete import CategoricalResponse, CountResponse, OrdinalResponse
from icdh._node_model.gaussian import GaussianResponse
from icdh._node_model.law import CONSTANT, Conditional
from icdh._node_model.network import NodeNetwork
from icdh._node_model.noise import NOISE_DENSITIES, Noise, Student, fit_noise
from icdh._node_model.point_masses import PointMassResponse
from icdh._node_model.response import Response
from icdh._table.codes import Categories
from icdh._table.table import Scaling


@dataclass
class Subject:
    """A response of n rows.

    ``observed`` are its values as a fitted model reads them, (n,); ``support`` those that have a probability, if
    ``dense`` beside a density; ``cell`` is the width of the cell of each; ``noise`` replaces that it is fitted under.
    """

    response: Response
    observed: np.ndarray
    support: tuple = ()
    dense: bool = False
    cell: float = 0.0
    noise: Noise | None = None
    limits: tuple | None = None

    @property
    def law(self):
        law = self.response.law if self.noise is None else self.response.law.with_noise(self.noise)
        return law if self.limits is None else law.within(*self.limits)

    @property
    def free(self):
        """How many outputs are fitted, the first ones."""
        return len(self.law.layout(1, 1)[1])

    def terms(self, outputs, weights=None):
        """The sum of -log P, its derivatives by the outputs (o, n), and their Fisher matrices (o, o, n)."""
        o, n = self.free, outputs.shape[1]
        fisher = np.zeros((o, o, n))
        if self.response.least_squares is not None:
            value, pull, squares = self.response.terms(np.ones(n) if weights is None else weights, outputs)
            fisher[np.arange(o), np.arange(o)] = squares
            return value, pull, fisher
        value, pull, curvature = self.response.terms(outputs)
        pairs = dict(zip(zip(*np.triu_indices(len(pull)), strict=True), curvature(slice(None)), strict=True))
        for i, j in np.ndindex(o, o):
            fisher[i, j] = pairs[min(i, j), max(i, j)]
        return value, pull[:o], fisher

    def without_parents(self):
        """The outputs (o,) of the constant model, and F."""
        theta, value, _ = self.response.without_parents(0)
        return self.law.network_outputs(theta, np.zeros((0, 1)))[:, 0], value

    def model(self, rng):
        """A structural model of two causes, and the response as the effect of a network."""
        network = NodeNetwork(np.arange(2), np.ones(2, dtype=np.int64), rng.normal(size=self.law.n_weights(2, 3)), 3)
        labels = {} if self.law.has_mean else {2: Categories(tuple("abcdefgh"[: len(self.support)]))}
        has_levels = not labels and self.response.codes is not None
        columns = ModelColumns(
            names=["x0", "x1", "y"],
            named=True,
            scaling=Scaling(np.zeros(3), np.ones(3)),
            centre=np.zeros(3),
            categories=labels,
            levels={2: np.array(self.support, dtype=float)} if has_levels else {},
        )
        graph = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
        return StructuralModel(columns, graph, [CONSTANT, CONSTANT, Conditional(network, self.law)])


def continuous(rng, n, repeats=1, weights=None):
    y = np.repeat(rng.normal(size=n), repeats)
    return Subject(GaussianResponse.exact(y, weights), y, dense=True)


def rounded(rng, n, repeats=1, weights=None):
    y = np.repeat(np.round(2.0 * rng.normal(size=n)) / 2.0, repeats)
    return Subject(GaussianResponse.over_cells(y - 0.25, y + 0.25, [y], weights), y, dense=True, cell=0.5)


def levels(count):
    def of(rng, n, repeats=1, weights=None):
        values = np.array([-1.5, -0.4, 0.1, 0.9, 2.5])[:count]
        y = np.repeat(values[np.append(np.arange(count), rng.integers(count, size=n - count))], repeats)
        return Subject(OrdinalResponse(y, weights), y, support=tuple(values))

    return of


def labels(rng, n, repeats=1, weights=None):
    codes = np.repeat(np.append(np.arange(4), rng.integers(4, size=n - 4)), repeats)
    return Subject(CategoricalResponse(codes, 4, weights), codes.astype(float), support=(0, 1, 2, 3))


def masses(rng, n, repeats=1, weights=None):
    codes = np.repeat(np.append([0, 1, 2], rng.integers(3, size=n - 3)), repeats)
    y = np.where(codes == 0, np.repeat(rng.normal(size=n), repeats), np.array([np.nan, -1.0, 2.0])[codes])
    response = PointMassResponse(codes, GaussianResponse.exact(y, weights), np.array([-1.0, 2.0]))
    return Subject(response, y, support=(-1.0, 2.0), dense=True)


def under(subject, noise, limits=None):
    """The same kind with another noise of its law, and perhaps limits of its values."""

    def of(rng, n):
        given = subject(rng, n)
        given.noise, given.limits = noise, limits
        return given

    return of


def counts(rng, n, repeats=1, weights=None):
    k = np.repeat(rng.negative_binomial(3, 0.5, size=n).astype(float), repeats)
    response = CountResponse(k, weights, -0.8, 0.25)
    return Subject(response, -0.8 + 0.25 * k, support=tuple(-0.8 + 0.25 * np.arange(500.0)))


def inflated_counts(rng, n, repeats=1, weights=None):
    k = np.repeat(rng.negative_binomial(8, 0.25, size=n) * (np.arange(n) % 3 > 0.0), repeats)
    response = CountResponse(k, weights, -0.8, 0.25)
    return Subject(response, -0.8 + 0.25 * k, support=tuple(-0.8 + 0.25 * np.arange(500.0)))


SUBJECTS = {
    "continuous": continuous,
    "rounded": rounded,
    "two levels": levels(2),
    "levels": levels(5),
    "labels": labels,
    "point masses": masses,
    "counts": counts,
    "counts, zero-inflated": inflated_counts,
}

SKEWED = (np.random.default_rng(0).beta(1.0, 3.0, size=400) - 0.25) / 0.19
NOISES = {name: fit_noise(SKEWED, name, None) for name in NOISE_DENSITIES} | {"student": Student(8.0, 0.8)}
LAWS = {
    f"{name} under {noise.name} noise": under(subject, noise)
    for name, subject in (("a number", continuous), ("point masses", masses))
    for noise in NOISES.values()
    if noise.name != "gaussian"
} | {
    f"{name} within limits under {noise.name} noise": under(subject, noise, (-0.7, 1.1))
    for name, subject in (("a number", continuous), ("point masses", masses))
    for noise in NOISES.values()
}
