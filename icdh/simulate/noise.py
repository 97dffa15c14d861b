"""Noise: how the spread of a variable depends on its causes, and the shape of the noise itself.

X = f + sigma Z, where f is the mean, sigma the standard deviation given the causes, and Z the noise, of mean 0 and
variance 1. A variable without causes has f = 0 and sigma = 1 (but for ``homo-nv``).
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from icdh._ground.arrays import Floats
from icdh.simulate.mechanisms import MECHANISMS, Drawn, Function, mlp

DEGREES_OF_FREEDOM = 5  # of Student's t
STUDENT_DEVIATION = np.sqrt(DEGREES_OF_FREEDOM / (DEGREES_OF_FREEDOM - 2))
SMALLEST_VARIANCE, LARGEST_VARIANCE = 0.5, 2.0


MomentsFunction: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]  # from causes to mean and spread


class Moments(NamedTuple):
    """Mean and spread of one variable given its P causes.

    Attributes
    ----------
    mean, std : ndarray, shape (M,)
        Mean and standard deviation at every observation.
    weights : ndarray, shape (P,)
        The strength of every cause in the mean.
    function : callable
        What gives both: from causes of shape (K, P) to mean and standard deviation, each of shape (K,).
    """

    mean: Floats
    std: Floats
    weights: Floats
    function: MomentsFunction


def draw_moments(parents: Floats, mechanism: str, noise: str, spread: float, rng: np.random.Generator) -> Moments:
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
    """
    has_causes = parents.shape[1] > 0
    if has_causes and noise in SHARED_LAYER:
        outputs, weights, function = mlp(parents, rng, n_outputs=2)
        moments = partial(_of_shared_layer, variance=SHARED_LAYER[noise])
        return Moments(*moments(outputs), weights, partial(_composed, outer=moments, inner=function))
    zero: Function = partial(_constant, value=0.0)
    mean = MECHANISMS[mechanism](parents, rng) if has_causes else Drawn(zero(parents), np.zeros(0), zero)
    if has_causes and noise in SCALES:
        g = MECHANISMS[mechanism](parents, rng)
        scale = SCALES[noise](g.values, spread)
        std, std_function = scale(g.values), partial(_composed, outer=scale, inner=g.function)
    else:
        value = np.sqrt(rng.uniform(SMALLEST_VARIANCE, LARGEST_VARIANCE)) if noise == "homo-nv" else 1.0
        std_function = partial(_constant, value=value)
        std = std_function(parents)
    return Moments(mean.values, std, mean.weights, partial(_both, mean=mean.function, std=std_function))


def _both(parents: Floats, mean: Function, std: Function) -> tuple[Floats, Floats]:
    return mean(parents), std(parents)


def _of_shared_layer(outputs: Floats, variance: Function) -> tuple[Floats, Floats]:
    return outputs[:, 0], np.sqrt(variance(outputs[:, 1]))


def _softplus(g: Floats) -> Floats:
    return np.logaddexp(0.0, g)


def _constant(parents: Floats, value: float) -> Floats:
    return np.full(len(parents), value)


def _composed(parents: Floats, outer: Callable[[Floats], Any], inner: Function) -> Any:
    return outer(inner(parents))


def bounded_exponential(g: Floats, spread: float) -> Function:
    """Return exp(g), g shifted and scaled so that the values at the observations go from spread^-1/2 to spread^1/2.

    Parameters
    ----------
    g : ndarray, shape (M,)
        A random function of the causes, at the observations.
    spread : float
        Largest over smallest value.
    """
    return partial(_bounded_exponential, middle=0.5 * (g.min() + g.max()), slope=np.log(spread) * _inverse_width(g))


def _bounded_exponential(g: Floats, middle: float, slope: float) -> Floats:
    return np.exp(slope * (g - middle))


def piecewise(g: Floats, spread: float) -> Function:
    """Return 1 + relu(g), g shifted to median 0 and scaled so that the values at the observations end at ``spread``.

    Constant where g is below its median and a nonlinear function elsewhere: the piecewise scale for which Theorem 1
    of the paper shows that the graph can be identified, of the form that the learned scale has (Eq. 10).

    Parameters
    ----------
    g : ndarray, shape (M,)
        A random function of the causes, at the observations.
    spread : float
        Largest over smallest value.
    """
    median = np.median(g)
    return partial(_piecewise, median=median, slope=(spread - 1.0) * _inverse_width(np.maximum(g, median)))


def _piecewise(g: Floats, median: float, slope: float) -> Floats:
    return 1.0 + slope * np.maximum(g - median, 0.0)


def _inverse_width(g: Floats) -> float:
    """Return what scales the range of the values to 1, or 0 if all are equal."""
    width = np.ptp(g)
    return 1.0 / width if width > 0 else 0.0


SCALES: dict[str, Callable[[Floats, float], Function]] = {
    "exp": lambda g, spread: np.exp,
    "exp-bounded": bounded_exponential,
    "piecewise": piecewise,
}
SHARED_LAYER: dict[str, Function] = {"softplus-shared": _softplus, "exp-shared": np.exp}  # variances
NOISES = ("homo-ev", "homo-nv", *SHARED_LAYER, *SCALES)


DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "gaussian": lambda rng, size: rng.standard_normal(size),
    "laplace": lambda rng, size: rng.laplace(scale=np.sqrt(0.5), size=size),
    "student-t": lambda rng, size: rng.standard_t(DEGREES_OF_FREEDOM, size) / STUDENT_DEVIATION,
    "uniform": lambda rng, size: rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size),
}
