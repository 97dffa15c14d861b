"""A child of a hidden common cause: its distribution, and the posterior of the hidden values given all children.

The children i of a hidden cause U ~ N(0, 1) have noise of their own and a part in common,

    x_i = f_i(pa_i) + lambda_i U + sigma_i(pa_i) E_i.

Given the table the value of U in a row is Gaussian, with variance and mean

    V = 1 / (1 + sum_i lambda_i^2 / sigma_i^2),    u = V sum_i lambda_i (x_i - f_i) / sigma_i^2.

For any u and V the negative log-likelihood of the children in a row is, without constants, at most

    sum_i [log sigma_i^2 / 2 + ((x_i - lambda_i u - f_i)^2 + lambda_i^2 V) / (2 sigma_i^2)] + KL(N(u, V) || N(0, 1)),

with equality at the posterior above.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from icdh._node_model.evidence import NodeFit
from icdh._node_model.families import Family
from icdh._node_model.law import Conditional
from icdh._node_model.response import Response
from icdh._utils.arrays import Floats
from icdh._utils.density import pointwise_nll


class Posterior(NamedTuple):
    """The hidden values of every row: means and variances, both of shape (n,)."""

    mean: Floats
    variance: Floats

    def divergences(self) -> Floats:
        """Return KL(N(mean, variance) || N(0, 1)) of every row, in nats, shape (n,)."""
        nats: Floats = 0.5 * (np.square(self.mean) + self.variance - 1.0 - np.log(self.variance))
        return nats

    def scaled(self) -> tuple["Posterior", float]:
        """Return the posterior of hidden values of unit variance, and the scale that they were divided by."""
        scale = math.sqrt(float((np.square(self.mean) + self.variance).mean()))
        return Posterior(self.mean / scale, self.variance / scale**2), scale

    def draw(self, rng: np.random.Generator) -> Floats:
        """Return draws of the hidden values with mean 0 and variance 1, shape (n,)."""
        values: Floats = self.mean + np.sqrt(self.variance) * rng.standard_normal(self.mean.size)
        values -= values.mean()
        values /= values.std()
        return values


def posterior(residuals: Floats, variances: Floats, loadings: Floats) -> Posterior:
    """Return the posterior of the hidden values.

    Parameters
    ----------
    residuals, variances : ndarray, shape (c, n)
        x_i - f_i and sigma_i^2 of every child and row.
    loadings : ndarray, shape (c,)
        The lambda_i.
    """
    weights = loadings[:, np.newaxis] / variances
    variance = 1.0 / (1.0 + loadings @ weights)
    return Posterior(variance * (weights * residuals).sum(axis=0), variance)


@dataclass(frozen=True)
class ConfoundedConditional(Conditional):
    """A child of a hidden cause, whose standard normal values add ``loading`` times themselves to it."""

    loading: float

    def mean_and_scale(self, values: Floats) -> tuple[Floats, Floats]:
        """Return mean and scale, each of shape (M,), given all variables; the hidden value is unknown."""
        mean, scale = super().mean_and_scale(values)
        return mean, np.hypot(scale, self.loading)

    def mean_and_scale_at(self, values: Floats, hidden: Floats) -> tuple[Floats, Floats]:
        """Return mean and scale, each of shape (M,), given all variables and the hidden values, shape (M,)."""
        mean, scale = super().mean_and_scale(values)
        return mean + self.loading * hidden, scale

    def draw(self, values: Floats, noise: Floats, hidden: Floats) -> Floats:
        """Return the variable, shape (M,), given all variables, its noise and the hidden values."""
        mean, scale = self.mean_and_scale_at(values, hidden)
        return mean + scale * noise

    def log_density(self, observed: Floats, values: Floats) -> Floats:
        """Return the log-density of values, the hidden value unknown."""
        return -pointwise_nll(observed, *self.mean_and_scale(values))

    def standardised(self, observed: Floats, values: Floats) -> Floats:
        """Return residuals of mean 0 and variance 1, the hidden value unknown."""
        mean, scale = self.mean_and_scale(values)
        return (observed - mean) / scale

    noise = standardised

    def posterior_with(
        self, children: "Sequence[ConfoundedConditional]", observed: Floats, values: Floats
    ) -> tuple[Posterior, Floats]:
        """Return the posterior of the hidden values given all children, and the joint negative log-density.

        Both are of shape (M,); that of the density is the bound where it is tight.
        """
        outputs = [own.mean_and_scale_at(values, np.zeros(values.shape[1])) for own in children]
        residuals, scales = observed - [mean for mean, _ in outputs], np.array([scale for _, scale in outputs])
        loadings = np.array([own.loading for own in children])
        hidden = posterior(residuals, np.square(scales), loadings)
        spread = np.outer(np.square(loadings), hidden.variance)
        rest = residuals - np.outer(loadings, hidden.mean)
        own = pointwise_nll(rest, np.zeros(rest.shape), scales) + 0.5 * spread / np.square(scales)
        nll: Floats = own.sum(axis=0) + hidden.divergences()
        return hidden, nll


class ConfoundedFit(NamedTuple):
    """The children of one hidden cause, fitted.

    Attributes
    ----------
    families : tuple of Family
        The children and their parents.
    loadings : ndarray, shape (c,)
        The lambda_i.
    networks : list of (Response, NodeFit)
        What the hidden cause leaves of every child, and its f_i and sigma_i.
    strength : float
        The nats that the score of the graph loses without the hidden cause.
    """

    families: tuple[Family, ...]
    loadings: Floats
    networks: list[tuple[Response, NodeFit]]
    strength: float
