"""Damped Fisher scoring in NumPy, for likelihoods of few levels or labels."""

import math
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from icdh._jit import FIRST_DAMPING, LARGEST_DAMPING, next_damping, padded
from icdh.node_model._outputs_kernels import mirror_with_penalty


class System(Protocol):
    """F of one variable given its parents, with its derivatives.

    Attributes
    ----------
    n_observations : int
        n.
    free : int
        How many weights are free: the first ones of theta.
    """

    n_observations: int
    free: int

    def system(self, theta: np.ndarray, penalty: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return F, its gradient and its Fisher matrix over the free weights."""


def minimise(
    own: System, theta: np.ndarray, penalty: np.ndarray, max_steps: int, tol: float, patience: int, factor: np.ndarray
) -> tuple[float, float, int, bool]:
    """Minimise F over theta, in place; returns and ``factor`` as `icdh.node_model._descent_kernels.node_fit`."""
    # Not for densities: with their kernels it takes 1.4 (5000 rows) to 5.4 times (200) the CPU of the compiled loop.
    free = own.free
    value, gradient, fisher = own.system(theta, penalty)
    damping, growth, steps, small = FIRST_DAMPING * own.n_observations, 2.0, 0, 0
    while steps < max_steps and small < patience and damping < LARGEST_DAMPING:
        root, failed = dpotrf(fisher + damping * np.eye(free))
        if failed:
            break
        step, _ = dpotrs(root, -gradient)
        predicted = 0.5 * float(step @ (damping * step - gradient))
        trial = theta.copy()
        trial[:free] += step
        tried = own.system(trial, penalty)
        steps += 1
        fall = value - tried[0]
        if (fall if fall > 0.0 else predicted) < tol:
            small += 1
        elif fall > 0.0:
            small = 0
        damping, growth = next_damping(damping, growth, fall / max(predicted, 1e-300))
        if fall > 0.0:
            theta[:] = trial
            value, gradient, fisher = tried
    root, failed = dpotrf(fisher)
    factor[:free, :free] = root
    log_determinant = math.nan if failed else 2.0 * float(np.log(np.diag(root)).sum())
    return value, log_determinant, steps, small >= patience


def empty_fisher(free: int) -> np.ndarray:
    """Return zeros that a kernel may add the Fisher matrix of so many weights to."""
    return np.zeros((padded(free), padded(free)))


def with_penalty(fisher: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Return the whole of a matrix that is known on and above its diagonal, with the penalties, (free,), added."""
    whole = np.empty((penalty.size, penalty.size))
    mirror_with_penalty(fisher, penalty, whole)
    return whole
