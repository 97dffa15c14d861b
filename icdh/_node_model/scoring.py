"""Damped Fisher scoring in NumPy: the solver of responses whose likelihood gives F, gradient and Fisher matrix."""

import math
from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs  # pyright: ignore[reportAttributeAccessIssue]

from icdh._ground.arrays import Floats, Integers, Mask
from icdh._ground.damping import FIRST_DAMPING, LARGEST_DAMPING, next_damping, small_steps
from icdh._ground.jit import ROWS
from icdh._node_model._outputs_kernels import add_fisher, backpropagate
from icdh._node_model.network import Minimiser, Response, hidden_units_of

Own = TypeVar("Own", bound="FittedByScoring")  # typing.Self of Python 3.11

ENOUGH = 128  # ranks of the observations of a Fisher matrix, for every weight, that give steps a direction
BLOCK = 4 * ROWS  # observations whose Fisher matrices by the outputs are in memory at once


def minimise(
    objective: "Objective", theta: Floats, penalty: Floats, max_steps: int, tol: float, patience: int, factor: Floats
) -> tuple[float, float, int, bool]:
    """Minimise F over theta, in place; result and ``factor`` as of `icdh._node_model._descent_kernels.node_fit`."""
    # Gaussian responses have a compiled loop: this one takes 1.4 (5000 rows) to 5.4 times (200 rows) its CPU.
    free = objective.free
    apart = max(objective.x.shape[1] * objective.rank // (ENOUGH * free), 1) if max_steps else 1
    value, gradient, fisher = objective.quadratic_model(theta, penalty, apart)
    damping, growth, steps, small = FIRST_DAMPING * objective.n_observations, 2.0, 0, 0
    while steps < max_steps and small < patience and damping < LARGEST_DAMPING:
        root, failed = dpotrf(fisher + damping * np.eye(free))
        if failed:
            break
        step, _ = dpotrs(root, -gradient)
        predicted = 0.5 * float(step @ (damping * step - gradient))
        trial = theta.copy()
        trial[:free] += step
        tried = objective.quadratic_model(trial, penalty, apart)
        steps += 1
        fall = value - tried[0]
        small = small_steps(small, fall, predicted, tol)
        damping, growth = next_damping(damping, growth, fall / max(predicted, 1e-300))
        if fall > 0.0:
            theta[:] = trial
            value, gradient, fisher = tried
    if apart > 1:  # only the directions of steps depended on it
        _, _, fisher = objective.quadratic_model(theta, penalty)
    root, failed = dpotrf(fisher)
    factor[:free, :free] = root
    log_determinant = math.nan if failed else 2.0 * float(np.log(np.diag(root)).sum())
    return value, log_determinant, steps, small >= patience


class Terms(NamedTuple):
    """The likelihood at given outputs.

    Attributes
    ----------
    value : float
        The sum of -log P.
    pull : ndarray, shape (o, q)
        Its derivatives by the outputs, for every column of x.
    curvature : callable
        Returns, for some columns of x, the Fisher matrix by the outputs on and above its diagonal, row by row; shape
        (o (o + 1) / 2, columns).
    """

    value: float
    pull: Floats
    curvature: Callable[[slice], Floats]


class Objective:
    """F of a response given its parents.

    Parameters
    ----------
    response : FittedByScoring
        The response.
    x : ndarray, shape (p, q)
        The parents, one a row.
    hidden_units : int
        m.
    terms : callable
        Returns the `Terms` of the likelihood, given theta and the hidden units.
    counts : ndarray, shape (q,), optional
        How many observations each column of x is; by default one.

    Attributes
    ----------
    n_observations : int
        n.
    free : int
        How many weights are free: the first ones of theta.
    rank : int
        That of what each column of x adds to the Fisher matrix.
    """

    def __init__(
        self,
        response: "FittedByScoring",
        x: Floats,
        hidden_units: int,
        terms: Callable[[Floats, Floats], Terms],
        counts: Floats | None = None,
    ):
        self.x, self.units, self.terms = np.ascontiguousarray(x), hidden_units, terms
        self.counts = np.ones(x.shape[1]) if counts is None else counts
        self.layout, self.n_observations = response.layout(len(x), hidden_units), len(response)
        self.free, self.rank = response.layers(len(x), hidden_units)[-1].stop, response.rank

    def quadratic_model(self, theta: Floats, penalty: Floats, apart: int = 1) -> tuple[float, Floats, Floats]:
        """Return F, its gradient and, by every ``apart``-th column of x, its Fisher matrix over the free weights."""
        hidden = hidden_units_of(theta, self.x, self.units)
        value, pull, curvature = self.terms(theta, hidden)
        gradient, fisher = penalty * theta, np.zeros((self.free, self.free))
        backpropagate(self.x, hidden, theta, *self.layout, pull[: self.layout[0].size], gradient)
        for first in range(0, self.x.shape[1], BLOCK * apart):
            columns = slice(first, first + BLOCK * apart, apart)
            inputs, units = (np.ascontiguousarray(part[:, columns]) for part in (self.x, hidden))
            add_fisher(inputs, units, theta, *self.layout, np.ascontiguousarray(curvature(columns)), fisher)
        fisher *= self.counts.sum() / self.counts[::apart].sum()
        fisher += np.triu(fisher, 1).T + np.diag(penalty[: self.free])
        return value + 0.5 * float(penalty @ theta**2), gradient[: self.free], fisher


class FittedByScoring(Response):
    """A response whose likelihood has `Terms`; all its weights are fitted at once.

    Attributes
    ----------
    rank : int
        That of what an observation adds to the Fisher matrix.
    codes : ndarray of int, shape (n,)
        The level, the category, or the point mass of every observation.
    """

    rank: int
    codes: Integers

    def __len__(self) -> int:
        return self.codes.size

    def take(self: Own, rows: Mask | Integers) -> Own:
        """Return the response at some observations."""
        part = copy(self)
        part.codes = self.codes[rows]
        return part

    @abstractmethod
    def terms(self, theta: Floats, hidden: Floats) -> Terms:
        """Return the terms of the likelihood."""

    def layout(self, n_inputs: int, hidden_units: int) -> tuple[Integers, Integers, float]:
        """Return what `icdh._node_model._outputs_kernels` calls intercepts, weights and unit."""
        intercepts = np.array(self.intercepts(n_inputs, hidden_units))[: self.rank]
        return intercepts, intercepts + 1, 1.0

    def objective(self, x: Floats, hidden_units: int) -> Objective:
        """Return F given these parents, of shape (p, n)."""
        return Objective(self, x, hidden_units, self.terms)

    def minimiser(self, x: Floats, hidden_units: int) -> Minimiser:
        """Return what minimises F; its argument ``freeze`` is ignored."""
        objective = self.objective(x, hidden_units)
        return lambda theta, penalty, freeze, *options: minimise(objective, theta, penalty, *options)

    def without_parents(self, hidden_units: int) -> tuple[Floats, float, float]:
        """Return weights, F and log det H of the model without parents, which gives the observed shares."""
        zeros = np.zeros(self.n_weights(0, 0))
        value, _, fisher = self.objective(np.empty((0, len(self))), 0).quadratic_model(zeros, zeros)
        return np.zeros(self.n_weights(0, hidden_units)), value, float(np.linalg.slogdet(fisher)[1])

    def standardised_scores(self, x: Floats, theta: Floats, hidden_units: int) -> tuple[Floats, Floats]:
        """Return hidden units and standardised derivatives, as of `Response`."""
        hidden = hidden_units_of(theta, x, hidden_units)
        _, pull, curvature = self.terms(theta, hidden)
        squares = curvature(slice(None))[np.equal(*np.triu_indices(len(pull)))]
        return hidden, -pull / np.sqrt(np.maximum(squares, 1e-300))
