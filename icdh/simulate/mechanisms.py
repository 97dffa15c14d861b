"""Random functions of the causes of a variable: each is drawn, and evaluated at the observations, in one step.

References
----------
Zheng, Dan, Aragam, Ravikumar, Xing: "Learning sparse nonparametric DAGs", AISTATS 2020.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from icdh._utils.arrays import Floats

Function: TypeAlias = Callable[[Floats], Floats]  # picklable: a partial of a function of its module


class Drawn(NamedTuple):
    """A random function of P causes, evaluated.

    Attributes
    ----------
    values : ndarray, shape (M,) or (M, n_outputs)
        The function at every observation.
    weights : ndarray, shape (P,)
        The strength of every cause.
    function : callable
        The function itself, from causes of shape (K, P) to its values there.
    """

    values: Floats
    weights: Floats
    function: Function


def draw_weights(shape: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Draw weights whose absolute values are uniform on [0.5, 2] and whose signs are fair coins.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the array.
    rng : Generator
        Source of randomness.
    """
    weights: Floats = rng.uniform(0.5, 2.0, size=shape) * rng.choice((-1.0, 1.0), size=shape)
    return weights


def linear(parents: Floats, rng: np.random.Generator) -> Drawn:
    """Draw a weighted sum; the weights are its coefficients.

    Parameters
    ----------
    parents : ndarray, shape (M, P)
        The causes.
    rng : Generator
        Source of randomness.
    """
    weights = draw_weights(parents.shape[1], rng)
    return _evaluated(partial(_weighted_sum, weights=weights), parents, weights)


def _evaluated(function: Function, parents: Floats, weights: Floats) -> Drawn:
    return Drawn(function(parents), weights, function)


def _weighted_sum(parents: Floats, weights: Floats) -> Floats:
    return parents @ weights


def mlp(parents: Floats, rng: np.random.Generator, n_outputs: int | None = None) -> Drawn:
    """Draw a network with one layer of 100 sigmoid units and no intercepts, s(x W1) W2.

    The weight of a cause is the Euclidean norm of its column of W1, as in the adjacency matrix that is learned.

    Parameters
    ----------
    parents, rng
        See `linear`.
    n_outputs : int, optional
        Number of outputs that share the hidden layer; by default one, without an axis of its own.
    """
    first_layer = draw_weights((parents.shape[1], 100), rng)
    outputs = draw_weights(100 if n_outputs is None else (100, n_outputs), rng)
    function = partial(_network, first_layer=first_layer, outputs=outputs)
    return _evaluated(function, parents, np.linalg.norm(first_layer, axis=1))


def _network(parents: Floats, first_layer: Floats, outputs: Floats) -> Floats:
    # 0.5 + tanh / 2 is the logistic sigmoid without overflow
    return (0.5 + 0.5 * np.tanh(0.5 * (parents @ first_layer))) @ outputs


def multiple_index(parents: Floats, rng: np.random.Generator) -> Drawn:
    """Draw tanh(x . w1) + cos(x . w2) + sin(x . w3); the weight of a cause is the norm of its three coefficients.

    Parameters
    ----------
    parents, rng
        See `linear`.
    """
    coefficients = draw_weights((parents.shape[1], 3), rng)
    return _evaluated(partial(_indices, coefficients=coefficients), parents, np.linalg.norm(coefficients, axis=1))


def _indices(parents: Floats, coefficients: Floats) -> Floats:
    indices = parents @ coefficients
    return np.tanh(indices[:, 0]) + np.cos(indices[:, 1]) + np.sin(indices[:, 2])


def gaussian_process(parents: Floats, rng: np.random.Generator) -> Drawn:
    """Draw from a Gaussian process of all causes with kernel exp(-|x - x'|^2 / 2); every weight is 1.

    The function is the process's mean given the values drawn: smooth between the observations, zero far from them.

    Parameters
    ----------
    parents : ndarray, shape (M, P)
        The causes. Memory grows with M^2, time with M^3.
    rng : Generator
        Source of randomness.
    """
    from scipy.linalg import solve_triangular  # slow to load

    covariance = _kernel(parents, parents)
    # The matrix of close observations is singular in floating point; this adds a standard deviation of 1e-4.
    covariance[np.diag_indices_from(covariance)] = 1.0 + 1e-8
    factor, normal = np.linalg.cholesky(covariance), rng.standard_normal(len(parents))
    # The mean at x is k(x, parents) K^-1 values, and K^-1 L z = L^-T z.
    dual = solve_triangular(factor, normal, lower=True, trans=1)
    function = partial(_process_mean, parents=parents.copy(), dual=dual)
    return Drawn(factor @ normal, np.ones(parents.shape[1]), function)


def _kernel(a: Floats, b: Floats) -> Floats:
    kernel: Floats = np.exp(-0.5 * sum(np.subtract.outer(x, y) ** 2 for x, y in zip(a.T, b.T, strict=True)))
    return kernel


def _process_mean(at: Floats, parents: Floats, dual: Floats) -> Floats:
    return _kernel(at, parents) @ dual


def additive_gaussian_process(parents: Floats, rng: np.random.Generator) -> Drawn:
    """Draw the sum of one Gaussian process per cause; every weight is 1.

    Parameters
    ----------
    parents, rng
        See `linear`.
    """
    parts = [gaussian_process(cause[:, None], rng) for cause in parents.T]
    function = partial(_sum_of_parts, functions=[part.function for part in parts])
    return Drawn(np.sum([part.values for part in parts], axis=0), np.ones(parents.shape[1]), function)


def _sum_of_parts(at: Floats, functions: list[Function]) -> Floats:
    parts = [function(cause[:, None]) for function, cause in zip(functions, at.T, strict=True)]
    total: Floats = np.sum(parts, axis=0)
    return total


MECHANISMS = {
    "mlp": mlp,
    "mim": multiple_index,
    "gp": gaussian_process,
    "gp-add": additive_gaussian_process,
    "linear": linear,
}


MomentsFunction: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]  # from causes to mean and spread


def draw_moments(
    parents: Floats, mechanism: str, noise: str, spread: float, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats, MomentsFunction]:
    """Draw the mean and the standard deviation of a variable as functions of its causes.

    Parameters
    ----------
    parents : ndarray, shape (M, P)
        The causes; P may be zero.
    mechanism : str
        A key of `MECHANISMS`.
    noise : str
        One of `NOISES`.
    spread : float
        Largest over smallest standard deviation, where the noise bounds it.
    rng : Generator
        Source of randomness.

    Returns
    -------
    mean, std : ndarray, shape (M,)
        Mean and standard deviation at every observation.
    weights : ndarray, shape (P,)
        The strength of every cause in the mean.
    function : callable
        What gives both: from causes of shape (K, P) to mean and standard deviation, each of shape (K,).
    """
    has_causes = parents.shape[1] > 0
    if has_causes and noise in SHARED_LAYER:
        _, weights, outputs = mlp(parents, rng, n_outputs=2)
        moments = partial(_of_shared_layer, outputs=outputs, variance=SHARED_LAYER[noise])
        return *moments(parents), weights, moments
    mean = MECHANISMS[mechanism](parents, rng) if has_causes else _constant(parents, 0.0)
    if has_causes and noise in SCALES:
        g = MECHANISMS[mechanism](parents, rng)
        scale: Function = partial(SCALES[noise], sample=g.values, spread=spread)
        std = Drawn(scale(g.values), g.weights, partial(_scaled, g=g.function, scale=scale))
    else:
        std = _constant(parents, np.sqrt(rng.uniform(0.5, 2.0)) if noise == "homo-nv" else 1.0)
    return mean.values, std.values, mean.weights, partial(_both, mean=mean.function, std=std.function)


def _both(parents: Floats, mean: Function, std: Function) -> tuple[Floats, Floats]:
    return mean(parents), std(parents)


def _of_shared_layer(parents: Floats, outputs: Function, variance: Function) -> tuple[Floats, Floats]:
    mean, g = outputs(parents).T
    return mean, np.sqrt(variance(g))


def _constant(parents: Floats, value: float) -> Drawn:
    return _evaluated(partial(_filled, value=value), parents, np.zeros(0))


def _filled(parents: Floats, value: float) -> Floats:
    return np.full(len(parents), value)


def _scaled(parents: Floats, g: Function, scale: Function) -> Floats:
    return scale(g(parents))


def exponential(g: Floats, sample: Floats, spread: float) -> Floats:
    """Return exp(g), whatever its spread."""
    return np.exp(g)


def bounded_exponential(g: Floats, sample: Floats, spread: float) -> Floats:
    """Return exp(g), g shifted and scaled so that the values at the observations go from spread^-1/2 to spread^1/2.

    Parameters
    ----------
    g : ndarray, shape (K,)
        A random function of the causes.
    sample : ndarray, shape (M,)
        The same at the observations.
    spread : float
        Largest over smallest value.
    """
    slope, middle = float(np.log(spread)) * _inverse_width(sample), float(0.5 * (sample.min() + sample.max()))
    return np.exp(slope * (g - middle))


def piecewise(g: Floats, sample: Floats, spread: float) -> Floats:
    """Return 1 + relu(g), g shifted to median 0 and scaled so that the values at the observations end at ``spread``.

    Constant where g is below its median and a nonlinear function elsewhere: the piecewise scale for which Theorem 1
    of the paper shows that the graph can be identified, of the form that the learned scale has (Eq. 10).

    Parameters
    ----------
    g : ndarray, shape (K,)
        A random function of the causes.
    sample : ndarray, shape (M,)
        The same at the observations.
    spread : float
        Largest over smallest value.
    """
    median = float(np.median(sample))
    slope = (spread - 1.0) * _inverse_width(np.maximum(sample, median))
    return 1.0 + slope * np.maximum(g - median, 0.0)


def _inverse_width(g: Floats) -> float:
    """Return what scales the range of the values to 1, or 0 if all are equal."""
    width = np.ptp(g)
    return 1.0 / width if width > 0 else 0.0


SCALES: dict[str, Callable[..., Floats]] = {
    "exp": exponential,
    "exp-bounded": bounded_exponential,
    "piecewise": piecewise,
}
SHARED_LAYER: dict[str, Function] = {"softplus-shared": partial(np.logaddexp, 0.0), "exp-shared": np.exp}  # variances
NOISES = ("homo-ev", "homo-nv", *SHARED_LAYER, *SCALES)


DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "gaussian": lambda rng, size: rng.standard_normal(size),
    "laplace": lambda rng, size: rng.laplace(scale=np.sqrt(0.5), size=size),
    "student-t": lambda rng, size: rng.standard_t(5, size) / np.sqrt(5 / 3),
    "uniform": lambda rng, size: rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size),
}
