"""Noise: how the spread of a variable depends on its causes, and the shape of the noise itself.

X = f + sigma Z, where f is the mean, sigma the standard deviation given the causes, and Z the noise, of mean 0 and
variance 1. A variable without causes has f = 0 and sigma = 1 (but for ``homo-nv``).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from icdh.simulate.mechanisms import MECHANISMS, mlp

STUDENT_DEGREES_OF_FREEDOM = 5
SMALLEST_VARIANCE, LARGEST_VARIANCE = 0.5, 2.0


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

    mean: np.ndarray
    std: np.ndarray
    weights: np.ndarray
    function: Callable


def draw_moments(parents: np.ndarray, mechanism: str, noise: str, spread: float, rng: np.random.Generator) -> Moments:
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
    n_observations, n_causes = parents.shape
    if n_causes == 0:
        mean, weights, mean_function = np.zeros(n_observations), np.zeros(0), _zero
    elif noise in SHARED_LAYER:
        outputs, weights, function = mlp(parents, rng, n_outputs=2)
        moments = partial(_of_shared_layer, variance=SHARED_LAYER[noise])
        return Moments(*moments(outputs), weights, partial(_composed, outer=moments, inner=function))
    else:
        mean, weights, mean_function = MECHANISMS[mechanism](parents, rng)
    if noise == "homo-nv":
        std_function = partial(_constant, value=np.sqrt(rng.uniform(SMALLEST_VARIANCE, LARGEST_VARIANCE)))
        std = std_function(parents)
    elif noise == "homo-ev" or n_causes == 0:
        std_function = partial(_constant, value=1.0)
        std = std_function(parents)
    else:
        g, _, g_function = MECHANISMS[mechanism](parents, rng)
        scale = SCALES[noise](g, spread)
        std, std_function = scale(g), partial(_composed, outer=scale, inner=g_function)
    return Moments(mean, std, weights, partial(_both, mean=mean_function, std=std_function))


def _both(parents, mean, std):
    return mean(parents), std(parents)


def _of_shared_layer(outputs, variance):
    return outputs[:, 0], np.sqrt(variance(outputs[:, 1]))


def _softplus(g):
    return np.logaddexp(0.0, g)


def _zero(parents):
    return np.zeros(len(parents))


def _constant(parents, value):
    return np.full(len(parents), value)


def _composed(parents, outer, inner):
    return outer(inner(parents))


def exponential(g: np.ndarray, spread: float | None = None) -> Callable:
    """Return the function exp(g), whose range nothing bounds.

    Parameters
    ----------
    g : ndarray, shape (M,)
        A random function of the causes, at the observations.
    spread : float
        Not used.
    """
    return np.exp


def bounded_exponential(g: np.ndarray, spread: float) -> Callable:
    """Return exp(g), g shifted and scaled so that the values at the observations go from spread^-1/2 to spread^1/2.

    Parameters
    ----------
    g : ndarray, shape (M,)
        A random function of the causes, at the observations.
    spread : float
        Largest over smallest value.
    """
    return partial(_bounded_exponential, middle=0.5 * (g.min() + g.max()), slope=np.log(spread) * _inverse_width(g))


def _bounded_exponential(g, middle, slope):
    return np.exp(slope * (g - middle))


def piecewise(g: np.ndarray, spread: float) -> Callable:
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


def _piecewise(g, median, slope):
    return 1.0 + slope * np.maximum(g - median, 0.0)


def _inverse_width(g):
    """Return what scales the range of the values to 1, or 0 if all are equal."""
    width = np.ptp(g)
    return 1.0 / width if width > 0 else 0.0


SCALES = {"exp": exponential, "exp-bounded": bounded_exponential, "piecewise": piecewise}
SHARED_LAYER = {"softplus-shared": _softplus, "exp-shared": np.exp}  # variances
NOISES = ("homo-ev", "homo-nv", *SHARED_LAYER, *SCALES)


def _laplace(rng, size):
    return rng.laplace(scale=np.sqrt(0.5), size=size)


def _student_t(rng, size):
    variance = STUDENT_DEGREES_OF_FREEDOM / (STUDENT_DEGREES_OF_FREEDOM - 2)
    return rng.standard_t(STUDENT_DEGREES_OF_FREEDOM, size=size) / np.sqrt(variance)


def _uniform(rng, size):
    return rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size=size)


DISTRIBUTIONS = {
    "gaussian": np.random.Generator.standard_normal,
    "laplace": _laplace,
    "student-t": _student_t,
    "uniform": _uniform,
}
