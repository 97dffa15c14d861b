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
from functools import cached_property
from typing import Any

import numpy as np

from icdh._rows import ranks_of
from icdh._utils.arrays import Floats, deviation_of, mean_of

TRANSFORMS = ("none", "log", "yeo-johnson")
LEAST_LOG = 1e-3  # of the parameter: the logarithm of less is that of so much
LEAST_SLOPE = 0.1  # of the mean slope: below it a small step of the transformed column would be a very large one


@dataclass(frozen=True)
class Transform:
    """A strictly increasing function of a standardised column.

    Above the range of the column it goes on as a straight line, and below it, too, but for the logarithm, whose values
    have a limit there. So what a model extrapolates grows in proportion, and not exponentially.

    Attributes
    ----------
    kind : {"none", "log", "yeo-johnson"}
        The transform.
    parameter : float
        c or l.
    low, high : float
        The range of the column.
    """

    kind: str = "none"
    parameter: float = 1.0
    low: float = 0.0
    high: float = 0.0

    def apply(self, x: Floats) -> Floats:
        """Return the transformed values."""
        if self.kind == "none":
            return x
        inside = self._inside(x)
        return self._inner(inside) + (x - inside) * np.where(x > inside, self._slopes[1], self._slopes[0])

    def undo(self, z: Floats) -> Floats:
        """Return the values that are transformed to these."""
        if self.kind == "none":
            return z
        low, high = self._inner(np.array([self.low, self.high])).tolist()
        beyond: Floats = np.maximum(z - high, 0.0) / self._slopes[1]
        if self.kind == "log":
            beyond += np.exp(np.minimum(z, high)) + self.low - self.parameter
            return beyond
        inside = np.clip(z, low, high)
        power, size = self.parameter, np.abs(inside)
        values: Floats = np.where(inside >= 0.0, _root(size, power), -_root(size, 2.0 - power))
        below: Floats = np.minimum(z - low, 0.0) / self._slopes[0]
        return values + beyond + below

    def log_slope(self, x: Floats) -> Floats:
        """Return the logarithm of the derivative."""
        if self.kind == "none":
            return np.zeros_like(x)
        inside = self._inside(x)
        ends = np.where(x > inside, math.log(self._slopes[1]), math.log(self._slopes[0]))
        return np.where(x == inside, self._inner_log_slope(inside), ends)

    def _inside(self, x: Floats) -> Floats:
        """Return values, those beyond the range at its ends; the logarithm ends at a thousandth of its parameter."""
        return np.clip(x, self.low - (1.0 - LEAST_LOG) * self.parameter if self.kind == "log" else self.low, self.high)

    def _inner(self, x: Floats) -> Floats:
        if self.kind == "log":
            return np.log(x - self.low + self.parameter)
        above, below = np.log1p(np.maximum(x, 0.0)), np.log1p(np.maximum(-x, 0.0))
        return np.where(x >= 0.0, _power(above, self.parameter), -_power(below, 2.0 - self.parameter))

    def _inner_log_slope(self, x: Floats) -> Floats:
        if self.kind == "log":
            return -self._inner(x)
        return (self.parameter - 1.0) * np.sign(x) * np.log1p(np.abs(x))

    @cached_property
    def _slopes(self) -> tuple[float, float]:
        """The slopes below and above the range: those at its ends, if the function is not nearly flat there."""
        ends = np.array([self.low, self.high])
        steps = np.diff(self._inner(ends)) / max(self.high - self.low, np.finfo(float).tiny)
        low, high = np.maximum(np.exp(self._inner_log_slope(ends)), LEAST_SLOPE * steps).tolist()
        return low, high

    def log_density_gain(self, x: Floats, weights: Floats | None) -> float:
        """Return mean log z' - log sd z: the gain in Gaussian log-likelihood, in nats per observation."""
        return float(mean_of(self.log_slope(x), weights) - np.log(deviation_of(self.apply(x), weights)))


@dataclass(frozen=True)
class Rescaled:
    """A transform of a standardised column, or of minus the column, whose values are standardised again.

    Attributes
    ----------
    transform : Transform
        The transform.
    sign : float
        What the column is multiplied by before, and its transformed values after.
    offset, scale : float
        Mean and standard deviation of the transformed values.
    """

    transform: Transform
    sign: float
    offset: float
    scale: float

    def apply(self, x: Floats) -> Floats:
        """Return the transformed values."""
        return self.sign * (self.transform.apply(self.sign * x) - self.offset) / self.scale

    def undo(self, z: Floats) -> Floats:
        """Return the values that are transformed to these."""
        return self.sign * self.transform.undo(self.sign * z * self.scale + self.offset)

    def log_slope(self, x: Floats) -> Floats:
        """Return the logarithm of the derivative."""
        return self.transform.log_slope(self.sign * x) - math.log(self.scale)


def _root(z: Floats, power: float) -> Floats:
    """Return (1 + power z)^(1 / power) - 1, and its limit at power 0."""
    return np.expm1(z if abs(power) < 1e-8 else np.log1p(np.maximum(power * z, -1.0 + 1e-15)) / power)


def _power(log_base: Floats, power: float) -> Floats:
    """Return (exp(power log_base) - 1) / power, and its limit at power 0."""
    return log_base if abs(power) < 1e-8 else np.expm1(power * log_base) / power


def is_heavy_tailed(x: Floats) -> bool:
    """Return whether a sample, shape (n,), has a kurtosis so large that a few outliers hide all else."""
    squares = np.square((x - x.mean()) / (x.std() or 1.0))
    return bool(np.mean(np.square(squares)) > 20.0)  # kurtosis; three of a Gaussian


def normal_scores(x: Floats) -> Floats:
    """Return the Gaussian quantiles of a sample's mid-ranks, shape (n,); increasing transforms do not change them."""
    from scipy.special import ndtri

    scores: Floats = ndtri(ranks_of(x[np.newaxis])[0])
    return scores


def fit_transform(kind: str, x: Floats, low: float, weights: Floats | None) -> Transform:
    """Fit the parameter of a transform to a standardised column.

    Parameters
    ----------
    kind : {"log", "yeo-johnson"}
        The transform.
    x : ndarray, shape (n,)
        The column, not constant.
    low : float
        For "log": the smallest value expected.
    weights : ndarray, shape (n,), or None
        How often each value counts; None if once.
    """
    high = float(x.max())
    if kind == "yeo-johnson":
        return _best(lambda power: Transform(kind, power, float(x.min()), high), x, weights, (-3.0, 5.0))
    bounds = math.log(1e-3), math.log(1e3)
    return _best(lambda shift: Transform(kind, math.exp(shift), low, high), x, weights, bounds)


def _best(
    transform: Callable[[float], Transform], x: Floats, weights: Floats | None, bounds: tuple[float, float]
) -> Transform:
    """Return the transform of a number within bounds that gains most on a column."""
    from scipy.optimize import minimize_scalar

    optimum: Any = minimize_scalar(lambda at: -transform(at).log_density_gain(x, weights), bounds=bounds)
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
