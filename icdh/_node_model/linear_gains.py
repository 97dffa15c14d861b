"""What the evidence of a linear model gains by each further cause and by the loss of each, for all variables at once.

Variances and covariances of the table say it for every set of causes, without a fit.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from icdh._ground.arrays import Floats
from icdh._node_model._kernels import VARIANCE_FLOOR
from icdh._node_model.families import Families
from icdh._node_model.gaussian import GaussianResponse
from icdh._node_model.linear import LEAST_ROWS

RIDGE = 1e-9  # added to the variances of causes, which are one: collinear causes share their effect


class Moments(NamedTuple):
    """Covariances of the causes, those with a response, its variance, and the number of observations."""

    causes: Floats
    with_response: Floats
    variance: float
    n: int


class LinearGains:
    """By how much the score falls with each change of one parent, if models are linear and their noise is Gaussian.

    Parameters
    ----------
    families : Families
        The data.
    """

    def __init__(self, families: Families):
        self.families = families
        self.single = families.widths == 1
        self._shared: Floats | None = None
        self._moments: dict[int, Moments] = {}

    def __call__(self, node: int, parents: Sequence[int]) -> Floats:
        """Return by how much the score of a node falls if each variable is added to its parents, or removed.

        Parameters
        ----------
        node : int
            A variable with a Gaussian response.
        parents : sequence of int
            Its parents.

        Returns
        -------
        ndarray, shape (N,)
            Nats; minus infinity for the node itself and for variables of several network inputs.
        """
        moments, inside = self._moments_of(node), self.families.inputs_of(parents)
        inverse = np.linalg.inv(moments.causes[np.ix_(inside, inside)])
        slopes = inverse @ moments.with_response[inside]
        variance = moments.variance - float(slopes @ moments.with_response[inside])
        between = moments.causes[:, inside]
        left = moments.causes.diagonal() - ((between @ inverse) * between).sum(axis=1)
        covariance = moments.with_response - between @ slopes
        resolved = left > 1e-6 * moments.causes.diagonal()  # what other causes leave of a further one
        after = variance - np.where(resolved, np.square(covariance) / np.where(resolved, left, 1.0), 0.0)
        after[inside] = variance + np.square(slopes) / inverse.diagonal()
        price = np.full(after.size, 0.5 * math.log(moments.n))
        price[inside] *= -1.0
        if moments.n < LEAST_ROWS * (len(inside) + 3):
            price[price > 0.0] = np.inf
        floor = 2.0 * VARIANCE_FLOOR
        gains = 0.5 * (moments.n - 1) * np.log(max(variance, floor) / np.maximum(after, floor)) - price
        found = np.full(len(self.families), -np.inf)
        found[self.single] = gains[self.families.inputs_of(np.flatnonzero(self.single).tolist())]
        found -= self.families.edge_penalty[:, node] * np.where(np.isin(np.arange(found.size), parents), -1.0, 1.0)
        found[node] = -np.inf
        return found

    def _moments_of(self, node: int) -> Moments:
        if node not in self._moments:
            families, (_, response) = self.families, self.families.data((node, ()))
            assert isinstance(response, GaussianResponse)
            x = families.causes if families.rows is None else families.causes[:, families.rows[node]]
            values, n = response.centre - response.centre.mean(), x.shape[1]
            shared = self._shared
            if families.rows is not None or shared is None:  # threads may ask for several nodes at once
                shared = self._shared = np.cov(x, bias=True).reshape(len(x), len(x)) + RIDGE * np.eye(len(x))
            variance = float(np.square(values).mean() + response.spread.mean())
            self._moments[node] = Moments(shared, x @ values / n, variance, n)
        return self._moments[node]
