"""The score of linear graphs with hidden common causes, from covariances alone: for searches that ask for many.

A hidden cause is a factor of the noise (`icdh._node_model.hidden`), and all effects are linear. Then its posterior mean
is a linear function of the table and its posterior variance is the same in all rows, so that EM needs no rows.
"""

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from icdh._ground.arrays import Floats, Mask
from icdh._node_model._hidden_kernels import em_of_covariances
from icdh._node_model.families import Families
from icdh._node_model.linear_gains import RIDGE

MOST_STEPS = 60
TOLERANCE = 0.02  # nats
AT_START = 0.9  # the variance of a hidden cause that its children tell, before EM


class LinearFit(NamedTuple):
    """A graph with hidden causes, fitted.

    Attributes
    ----------
    score : float
        The negative log evidence without constants; lower is better.
    moments : ndarray, shape (N + K, N + K)
        Second moments of the variables and the hidden causes.
    spreads : ndarray, shape (K,)
        The variances of the hidden values given a row.
    """

    score: float
    moments: Floats
    spreads: Floats


class LinearGraphs:
    """The score of graphs on N variables and some hidden causes, the last nodes; what was asked for once is kept.

    Parameters
    ----------
    families : Families
        The data.
    """

    def __init__(self, families: Families):
        self.families, self.N, self.n = families, len(families), families.n_observations
        self._known: dict[tuple[tuple[int, ...], ...], LinearFit] = {}

    @cached_property
    def covariances(self) -> Floats:
        """Those of the variables, shape (N, N)."""
        covariances: Floats = np.cov(self.families.causes, bias=True) + RIDGE * np.eye(self.N)
        return covariances

    def __call__(self, graph: tuple[tuple[int, ...], ...], near: LinearFit | None = None) -> LinearFit:
        """Return the fit of a graph, begun at that of a graph with the same hidden causes if one is given."""
        if graph not in self._known:
            uses, penalty = np.zeros((self.N, len(graph)), dtype=bool), self.families.edge_penalty.T
            for node, parents in enumerate(graph[: self.N]):
                uses[node, list(parents)] = True
            prices = np.hstack([penalty, np.tile(penalty.diagonal()[:, np.newaxis], len(graph) - self.N)])
            moments, spreads = self._start(uses) if near is None else (near.moments.copy(), near.spreads.copy())
            bound = em_of_covariances(moments, spreads, uses, self.n, TOLERANCE, MOST_STEPS)
            score = bound + float((prices[uses] + 0.5 * math.log(self.n)).sum())
            self._known[graph] = LinearFit(score, moments, spreads)
        return self._known[graph]

    def draw(self, graph: tuple[tuple[int, ...], ...], rng: np.random.Generator) -> list[Floats]:
        """Return draws of the hidden values of a graph, standardised, each of shape (n,)."""
        _, moments, spreads = self(graph)
        means = np.linalg.solve(self.covariances, moments[: self.N, self.N :]).T @ self.families.causes
        values = means + np.sqrt(spreads)[:, np.newaxis] * rng.standard_normal(means.shape)
        values -= values.mean(axis=1, keepdims=True)
        return list(values / values.std(axis=1, keepdims=True))

    def _start(self, uses: Mask) -> tuple[Floats, Floats]:
        """Return moments with each hidden cause as the first principal component of its children, and spreads."""
        K = uses.shape[1] - self.N
        moments = np.eye(self.N + K)
        moments[: self.N, : self.N] = self.covariances
        for k in range(self.N, self.N + K):
            children = np.flatnonzero(uses[:, k])
            sizes, directions = np.linalg.eigh(self.covariances[np.ix_(children, children)])
            moments[k, : self.N] = directions[:, -1] @ self.covariances[children] * math.sqrt(AT_START / sizes[-1])
        moments[: self.N, self.N :] = moments[self.N :, : self.N].T
        return moments, np.full(K, 1.0 - AT_START)
