"""Damped Fisher scoring in NumPy: the solver of responses whose likelihood gives F, gradient and Fisher matrix."""

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from icdh._ground.damping import FIRST_DAMPING, LARGEST_DAMPING, next_damping, small_steps
from icdh._ground.jit import padded
from icdh._node_model._outputs_kernels import mirror_with_penalty

ENOUGH = 128  # ranks of the observations of a Fisher matrix, for every weight, that give steps a direction


class Objective(Protocol):
    """F of one variable given its parents.

    Attributes
    ----------
    n_observations : int
        n.
    free : int
        How many weights are free: the first ones of theta.
    x : ndarray, shape (p, q)
        The parents, of observations or of groups of equal ones.
    rank : int
        That of what each of these adds to the Fisher matrix.
    """

    n_observations: int
    free: int
    x: np.ndarray
    rank: int

    def quadratic_model(
        self, theta: np.ndarray, penalty: np.ndarray, apart: int = 1
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return F, its gradient and, by every ``apart``-th column of x, its Fisher matrix over the free weights."""


def minimise(
    objective: Objective,
    theta: np.ndarray,
    penalty: np.ndarray,
    max_steps: int,
    tol: float,
    patience: int,
    factor: np.ndarray,
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


def every(apart: int, *arrays: np.ndarray) -> list[np.ndarray]:
    """Return every ``apart``-th observation, the last dimension, of some arrays."""
    return [np.ascontiguousarray(values[..., ::apart]) for values in arrays]


def empty_fisher(free: int) -> np.ndarray:
    """Return zeros that a kernel may add the Fisher matrix of so many weights to."""
    return np.zeros((padded(free), padded(free)))


def with_penalty(fisher: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Return the whole of a matrix that is known on and above its diagonal, with the penalties, (free,), added."""
    whole = np.empty((penalty.size, penalty.size))
    mirror_with_penalty(fisher, penalty, whole)
    return whole


class FittedByScoring:
    """A response whose ``objective`` gives F, gradient and Fisher matrix; all its weights are fitted at once."""

    def minimiser(self, x: np.ndarray, hidden_units: int) -> Callable[..., tuple[float, float, int, bool]]:
        """Return what minimises F; its argument ``freeze`` is ignored."""
        objective = self.objective(x, hidden_units)
        return lambda theta, penalty, freeze, *options: minimise(objective, theta, penalty, *options)

    def without_parents(self, hidden_units: int) -> tuple[np.ndarray, float, float]:
        """Return weights, F and log det H of the model without parents, which gives the observed shares."""
        no_parents = np.empty((0, len(self)))
        zeros = np.zeros(self.n_weights(0, 0))
        objective, _, fisher = self.objective(no_parents, 0).quadratic_model(zeros, zeros)
        return np.zeros(self.n_weights(0, hidden_units)), objective, float(np.linalg.slogdet(fisher)[1])
