"""A module of another library, as its author would write it on icdh's likelihood; type checkers read it strictly."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icdh import Knowledge
from icdh.acyclicity import acyclicity
from icdh.likelihood import nll, nll_and_gradient
from icdh.network import Weights, forward, initial_weights
from icdh.two_phase import Limits, Problem, Round, TwoPhaseResult, algorithm_1, algorithm_2, phase_two_objective

Floats = NDArray[np.float64]
Loss = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True)
class GradientDescent:
    """Plain gradient descent on the objective of Phase II, and the closed form of a constant scale."""

    rate: float = 0.05
    steps: int = 60
    l1: float = 0.01

    def means(self, X: Floats, scale: Floats, weights: Weights) -> Iterator[tuple[float, Weights]]:
        """Yield the objective and the weights of every step."""
        for _ in range(self.steps):
            value, gradient = phase_two_objective(X, scale, weights, l1=self.l1, l2=0.01, rho=0.1, alpha=0.1)
            yield value, weights
            weights = weights.map(lambda part, slope: part - self.rate * slope, gradient)

    def fit(self, X: Floats, seed: int = 0) -> tuple[list[float], Weights]:
        """Return the objective of every step, and the network with its scales."""
        start = initial_weights(X, 4, True, np.random.default_rng(seed)).map(lambda part: 0.3 * part)
        steps = list(self.means(X, np.ones(X.shape), start))
        problem = Problem.of(X, l1=self.l1, noise="unequal", bias=True)
        return [value for value, _ in steps], algorithm_2(problem, steps[-1][1])


def loss_of(X: Floats, weights: Weights, rows: NDArray[np.bool_] | None = None) -> Loss:
    """Return the likelihood as a function of one vector, as optimisers take it."""

    def loss(theta: Floats) -> tuple[float, Floats]:
        value, gradient = nll_and_gradient(X, weights.from_vector(theta), rows=rows)
        return value, gradient.to_vector()

    return loss


def is_nearly_acyclic(weights: Weights, tolerance: float = 1e-8) -> bool:
    """Return whether the graph of a network has no cycles."""
    h, slope = acyclicity(weights.adjacency())
    return h <= tolerance and bool(np.isfinite(slope).all())


def learned(X: Floats, roots: list[str], callback: Callable[[Round], None] | None = None) -> TwoPhaseResult:
    """Return what the algorithm of the article learns under background knowledge."""
    problem, limits = Problem.of(X, knowledge=Knowledge(roots=roots)), Limits(max_rounds=1, h_tol=1e-6)
    start = initial_weights(X, 3, False, np.random.default_rng(0))
    return algorithm_1(problem, start, limits, callback)


def standardised(X: Floats, weights: Weights) -> Floats:
    """Return residuals of variance one; log-likelihood and weights are plain numbers and hashable values."""
    mean, scale = forward(X, weights)
    seen: dict[Weights, float] = {weights: nll(X, weights)}
    return (X - mean) / scale if np.isfinite(seen[weights]) else X
