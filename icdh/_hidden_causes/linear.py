"""The score of linear graphs with hidden common causes, from covariances alone: for searches that ask for many.

A hidden cause is a factor of the noise (`icdh._node_model.confounded`), and all effects are linear. Then its posterior
mean is a linear function of the table and its posterior variance is the same in all rows, so that EM needs no rows.

Where to begin is read from the inverse covariances. Those of a graph with one hidden cause are sparse, as each edge and
each pair of causes of one effect leaves an entry, less a matrix of rank one whose vector weighs the columns as the
posterior mean does. The convex program of Chandrasekaran, Parrilo and Willsky splits the two, by the alternating
directions method of multipliers. It has no local optima. How sparse and how low in rank the parts should be is not
known, so that several penalties are tried.

References
----------
Chandrasekaran, Parrilo, Willsky, "Latent variable graphical model selection via convex optimization", The Annals of
Statistics 40 (2012).
Boyd, Parikh, Chu, Peleato, Eckstein, "Distributed optimization and statistical learning via the alternating direction
method of multipliers", Foundations and Trends in Machine Learning 3 (2011).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from icdh._hidden_causes._kernels import em_of_covariances
from icdh._node_model.families import Families
from icdh._node_model.screening import RIDGE
from icdh._utils.arrays import Floats, Mask


@dataclass(frozen=True)
class EMTuning:
    """Constants of the fits, and of where they begin."""

    most_steps: int = 400
    tolerance: float = 0.02  # nats
    at_start: float = 0.9  # the variance of a hidden cause that its children tell, before EM
    sparsities: tuple[float, ...] = (0.02, 0.04, 0.08)  # penalties on entries of the sparse part, for correlations
    ranks: tuple[float, ...] = (2.0, 3.0, 4.0, 6.0)  # penalties on the trace of the other part, in those of entries
    same: float = 0.98  # correlation of hidden values from where on they are the same
    split_steps: int = 400
    split_tolerance: float = 1e-4


EM = EMTuning()


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
            bound = em_of_covariances(moments, spreads, uses, self.n, EM.tolerance, EM.most_steps)
            score = bound + float((prices[uses] + 0.5 * math.log(self.n)).sum())
            self._known[graph] = LinearFit(score, moments, spreads)
        return self._known[graph]

    def with_one_more(self, fit: LinearFit, free: Mask, share: float) -> Iterator[LinearFit]:
        """Yield moments to begin at with one hidden cause more, of which the free variables tell this share."""
        inside = np.flatnonzero(free)
        for weights in hidden_weights(self.covariances[np.ix_(inside, inside)]):
            with_hidden = math.sqrt(share) * fit.moments[:, inside] @ weights
            column = np.append(with_hidden, 1.0)
            moments = np.block([[fit.moments, with_hidden[:, np.newaxis]], [column]])
            yield LinearFit(math.inf, moments, np.append(fit.spreads, 1.0 - share))

    def values(self, fit: LinearFit, rng: np.random.Generator) -> list[Floats]:
        """Return draws of the hidden values of a fit, standardised, each of shape (n,)."""
        _, moments, spreads = fit
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
            scale = math.sqrt(EM.at_start / sizes[-1])
            moments[k, : self.N] = directions[:, -1] @ self.covariances[children] * scale
        moments[: self.N, self.N :] = moments[self.N :, : self.N].T
        return moments, np.full(K, 1.0 - EM.at_start)


def hidden_weights(covariances: Floats) -> list[Floats]:
    """Return weights of variables that may tell a hidden cause, for values of unit variance, each of shape (N,)."""
    found: list[Floats] = []
    for sparsity in EM.sparsities:
        for rank in EM.ranks:
            sizes, directions = np.linalg.eigh(sparse_and_low_rank(covariances, sparsity, rank * sparsity)[1])
            for weights in directions.T[sizes > sizes[-1] * 1e-3][:-3:-1]:
                scaled = weights / math.sqrt(weights @ covariances @ weights)
                if all(abs(scaled @ covariances @ other) < EM.same for other in found):
                    found.append(scaled)
    return found


def sparse_and_low_rank(covariances: Floats, sparsity: float, rank: float) -> tuple[Floats, Floats]:
    """Return a sparse S and a positive L of low rank whose difference R stands for the inverse covariances.

    They minimise trace(R covariances) - log det R + sparsity * sum_(i != j) |S_ij| + rank * trace L.
    """
    N = len(covariances)
    penalty = sparsity * (1.0 - np.eye(N))
    sparse, low, dual = np.eye(N), np.zeros((N, N)), np.zeros((N, N))
    for _ in range(EM.split_steps):
        sizes, directions = np.linalg.eigh(sparse - low - dual - covariances)
        inverse = (directions * (0.5 * (sizes + np.sqrt(np.square(sizes) + 4.0)))) @ directions.T
        near, last = inverse + low + dual, sparse
        sparse = np.sign(near) * np.maximum(np.abs(near) - penalty, 0.0)
        sizes, directions = np.linalg.eigh(sparse - inverse - dual)
        low = (directions * np.maximum(sizes - rank, 0.0)) @ directions.T
        gap = inverse - sparse + low
        dual += gap
        if max(np.abs(gap).max(), np.abs(sparse - last).max()) < EM.split_tolerance:
            break
    return sparse, low
