"""Functions of columns: monotone transforms, each with one parameter that is fitted to the column; normal scores; R2.

    log           z = log(x - low + c),  low just below the least value, c > 0
    yeo-johnson   z = ((1 + x)^l - 1) / l for x >= 0,  -((1 - x)^(2 - l) - 1) / (2 - l) for x < 0

Both are strictly increasing functions of standardised columns. The parameter maximises the Gaussian log-likelihood of
the transformed column, mean log z' - log sd z, where z' is the derivative.

References
----------
Yeo, Johnson: "A new family of power transformations to improve normality or symmetry", Biometrika 87 (2000).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from icdh._utils.arrays import Floats, Mask

TRANSFORMS = ("none", "log", "yeo-johnson")


@dataclass(frozen=True)
class Transform:
    """A strictly increasing function of a standardised column.

    Attributes
    ----------
    kind : {"none", "log", "yeo-johnson"}
        The transform.
    parameter : float
        c or l.
    low : float
        The lower limit of "log"; smaller values are treated as equal to it.
    """

    kind: str = "none"
    parameter: float = 1.0
    low: float = 0.0

    def apply(self, x: Floats) -> Floats:
        """Return the transformed values."""
        if self.kind == "none":
            return x
        if self.kind == "log":
            return np.log(np.maximum(x - self.low, 0.0) + self.parameter)
        above, below = np.log1p(np.maximum(x, 0.0)), np.log1p(np.maximum(-x, 0.0))
        power = self.parameter
        return np.where(x >= 0.0, _power(above, power), -_power(below, 2.0 - power))

    def log_slope(self, x: Floats) -> Floats:
        """Return the logarithm of the derivative."""
        if self.kind == "none":
            return np.zeros_like(x)
        if self.kind == "log":
            return -self.apply(x)
        return (self.parameter - 1.0) * np.sign(x) * np.log1p(np.abs(x))

    def log_density_gain(self, x: Floats) -> float:
        """Return mean log z' - log sd z: the gain in Gaussian log-likelihood, in nats per observation."""
        return float(self.log_slope(x).mean() - np.log(self.apply(x).std()))


def _power(log_base: Floats, power: float) -> Floats:
    """Return (exp(power log_base) - 1) / power, and its limit at power 0."""
    return log_base if abs(power) < 1e-8 else np.expm1(power * log_base) / power


def is_heavy_tailed(x: Floats) -> Mask:
    """Return whether samples, along the last axis, have a kurtosis so large that a few outliers hide all else."""
    deviation = x.std(axis=-1, keepdims=True)
    unit = (x - x.mean(axis=-1, keepdims=True)) / np.where(deviation > 0.0, deviation, 1.0)
    is_heavy: Mask = np.mean(unit**4, axis=-1) > 20.0  # kurtosis; three of a Gaussian
    return is_heavy


def normal_scores(x: Floats) -> Floats:
    """Return the Gaussian quantiles of a sample's mid-ranks, shape (n,); increasing transforms do not change them."""
    from scipy.special import ndtri

    _, index, counts = np.unique(x, return_inverse=True, return_counts=True)
    scores: Floats = ndtri((np.cumsum(counts) - counts / 2) / x.size)[index.ravel()]
    return scores


def fit_transform(kind: str, x: Floats, low: float | None = None) -> Transform:
    """Fit the parameter of a transform to a standardised column.

    Parameters
    ----------
    kind : {"none", "log", "yeo-johnson"}
        The transform.
    x : ndarray, shape (n,)
        The column, not constant.
    low : float, optional
        For "log": the smallest value expected; by default that of the column.
    """
    if kind == "none":
        return Transform()
    if kind == "yeo-johnson":
        return _best(lambda power: Transform(kind, power), x, (-3.0, 5.0))
    low = float(x.min()) if low is None else low
    return _best(lambda shift: Transform(kind, math.exp(shift), low), x, (math.log(1e-3), math.log(1e3)))


def _best(transform: Callable[[float], Transform], x: Floats, bounds: tuple[float, float]) -> Transform:
    """Return the transform of a number within bounds that gains most on a column."""
    from scipy.optimize import minimize_scalar

    optimum: Any = minimize_scalar(lambda at: -transform(at).log_density_gain(x), bounds=bounds)
    return transform(float(optimum.x))


def explained_variance(X: Floats) -> Floats:
    """Return R2 of every variable given all others, shape (N,), from observations, shape (M, N).

    It is one less the reciprocal of the variable's entry in the inverse correlation matrix.
    """
    deviations = X - X.mean(axis=0)
    norms = np.linalg.norm(deviations, axis=0)
    deviations /= np.where(norms > 0, norms, 1.0)
    eigenvalues, vectors = np.linalg.eigh(deviations.T @ deviations)
    # a variable that is a linear function of others has R2 = 1, up to rounding
    floor = len(eigenvalues) * np.finfo(float).eps
    explained: Floats = 1.0 - 1.0 / np.sum(vectors**2 / np.maximum(eigenvalues, floor), axis=1)
    return explained
