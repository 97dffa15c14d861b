"""Noise: how the spread of a variable depends on its causes, and the shape of the noise itself.

X = f + sigma Z, where f is the mean, sigma the standard deviation given the causes, and Z the noise, of mean 0 and
variance 1. A variable without causes has f = 0 and sigma = 1 (but for ``homo-nv``).
"""

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
    """

    mean: np.ndarray
    std: np.ndarray
    weights: np.ndarray


def draw_moments(parents, mechanism, noise, spread, rng) -> Moments:
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
        mean, weights = np.zeros(n_observations), np.zeros(0)
    elif noise == "softplus-shared":
        outputs, weights = mlp(parents, rng, n_outputs=2)
        return Moments(outputs[:, 0], np.sqrt(np.logaddexp(0.0, outputs[:, 1])), weights)
    else:
        mean, weights = MECHANISMS[mechanism](parents, rng)
    if noise == "homo-nv":
        std = np.sqrt(rng.uniform(SMALLEST_VARIANCE, LARGEST_VARIANCE))
    elif noise == "homo-ev" or n_causes == 0:
        std = 1.0
    else:
        std = SCALES[noise](MECHANISMS[mechanism](parents, rng).values, spread)
    return Moments(mean, np.broadcast_to(std, mean.shape), weights)


def exponential(g, spread=None) -> np.ndarray:
    """Return exp(g), whose range nothing bounds.

    Parameters
    ----------
    g : ndarray, shape (M,)
        A random function of the causes.
    spread : float
        Not used.
    """
    return np.exp(g)


def bounded_exponential(g, spread) -> np.ndarray:
    """Return exp(g) with g shifted and scaled so that the values go from 1 / sqrt(spread) to sqrt(spread).

    Parameters
    ----------
    g : ndarray, shape (M,)
        A random function of the causes.
    spread : float
        Largest over smallest value.
    """
    unit = _to_unit_range(g)
    return np.exp(np.log(spread) * (unit - 0.5 * (unit.min() + unit.max())))


def piecewise(g, spread) -> np.ndarray:
    """Return 1 + relu(g) with g shifted to median 0 and scaled so that the values go from 1 to ``spread``.

    Constant where g is below its median and a nonlinear function elsewhere: the piecewise scale for which Theorem 1
    of the paper shows that the graph can be identified, of the form that the learned scale has (Eq. 10).

    Parameters
    ----------
    g : ndarray, shape (M,)
        A random function of the causes.
    spread : float
        Largest over smallest value.
    """
    unit = _to_unit_range(np.maximum(g, np.median(g)))
    return 1.0 + (spread - 1.0) * (unit - unit.min())


def _to_unit_range(g):
    """Scale to a range of 1, or return zeros if all values are equal."""
    width = np.ptp(g)
    return g / width if width > 0 else np.zeros_like(g)


SCALES = {"exp": exponential, "exp-bounded": bounded_exponential, "piecewise": piecewise}
NOISES = ("homo-ev", "homo-nv", "softplus-shared", *SCALES)


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
