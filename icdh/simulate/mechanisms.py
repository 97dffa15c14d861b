"""Random functions of the causes of a variable: each is drawn and evaluated at the observations in one step.

References
----------
Zheng, Dan, Aragam, Ravikumar, Xing: "Learning sparse nonparametric DAGs", AISTATS 2020.
"""

from typing import NamedTuple

import numpy as np

HIDDEN_UNITS = 100
SMALLEST_WEIGHT, LARGEST_WEIGHT = 0.5, 2.0
# The kernel matrix of close observations is singular in floating point; this adds a standard deviation of 1e-4.
GAUSSIAN_PROCESS_JITTER = 1e-8


class Drawn(NamedTuple):
    """A random function of P causes, evaluated.

    Attributes
    ----------
    values : ndarray, shape (M,) or (M, n_outputs)
        The function at every observation.
    weights : ndarray, shape (P,)
        The strength of every cause.
    """

    values: np.ndarray
    weights: np.ndarray


def draw_weights(shape, rng) -> np.ndarray:
    """Draw weights whose absolute values are uniform on [0.5, 2] and whose signs are fair coins.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the array.
    rng : Generator
        Source of randomness.
    """
    return rng.uniform(SMALLEST_WEIGHT, LARGEST_WEIGHT, size=shape) * rng.choice((-1.0, 1.0), size=shape)


def linear(parents, rng) -> Drawn:
    """Draw a weighted sum; the weights are its coefficients.

    Parameters
    ----------
    parents : ndarray, shape (M, P)
        The causes.
    rng : Generator
        Source of randomness.
    """
    weights = draw_weights(parents.shape[1], rng)
    return Drawn(parents @ weights, weights)


def mlp(parents, rng, n_outputs=None) -> Drawn:
    """Draw a network with one layer of 100 sigmoid units and no intercepts, s(x W1) W2.

    The weight of a cause is the Euclidean norm of its column of W1, as in the adjacency matrix that is learned.

    Parameters
    ----------
    parents : ndarray, shape (M, P)
        The causes.
    rng : Generator
        Source of randomness.
    n_outputs : int, optional
        Number of outputs that share the hidden layer; by default one, without an axis of its own.
    """
    first_layer = draw_weights((parents.shape[1], HIDDEN_UNITS), rng)
    outputs = draw_weights(HIDDEN_UNITS if n_outputs is None else (HIDDEN_UNITS, n_outputs), rng)
    # 0.5 + tanh / 2 is the logistic sigmoid without overflow
    hidden = 0.5 + 0.5 * np.tanh(0.5 * (parents @ first_layer))
    return Drawn(hidden @ outputs, np.linalg.norm(first_layer, axis=1))


def multiple_index(parents, rng) -> Drawn:
    """Draw tanh(x . w1) + cos(x . w2) + sin(x . w3); the weight of a cause is the norm of its three coefficients.

    Parameters
    ----------
    parents : ndarray, shape (M, P)
        The causes.
    rng : Generator
        Source of randomness.
    """
    coefficients = draw_weights((parents.shape[1], 3), rng)
    indices = parents @ coefficients
    values = np.tanh(indices[:, 0]) + np.cos(indices[:, 1]) + np.sin(indices[:, 2])
    return Drawn(values, np.linalg.norm(coefficients, axis=1))


def gaussian_process(parents, rng) -> Drawn:
    """Draw from a Gaussian process of all causes with kernel exp(-|x - x'|^2 / 2); every weight is 1.

    Parameters
    ----------
    parents : ndarray, shape (M, P)
        The causes. Memory grows with M^2, time with M^3.
    rng : Generator
        Source of randomness.
    """
    covariance = np.exp(-0.5 * sum(np.subtract.outer(cause, cause) ** 2 for cause in parents.T))
    covariance[np.diag_indices_from(covariance)] = 1.0 + GAUSSIAN_PROCESS_JITTER
    return Drawn(np.linalg.cholesky(covariance) @ rng.standard_normal(len(parents)), np.ones(parents.shape[1]))


def additive_gaussian_process(parents, rng) -> Drawn:
    """Draw the sum of one Gaussian process per cause; every weight is 1.

    Parameters
    ----------
    parents : ndarray, shape (M, P)
        The causes.
    rng : Generator
        Source of randomness.
    """
    values = sum(gaussian_process(cause[:, None], rng).values for cause in parents.T)
    return Drawn(values, np.ones(parents.shape[1]))


MECHANISMS = {
    "mlp": mlp,
    "mim": multiple_index,
    "gp": gaussian_process,
    "gp-add": additive_gaussian_process,
    "linear": linear,
}
