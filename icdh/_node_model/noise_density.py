"""Densities of the standardised noise of a number: Gaussian, Student's t, and a free one relative to a t.

A free density is F0's density f0 times a function of the place u = F0(e) in [0, 1], constant on B equal bins,

    f(e - c) = f0(e) B p_b,    b = the bin of F0(e),

where c makes the mean zero, and F0 is the best Student's t of at most 20 degrees of freedom, which gives the tails.
`icdh._node_model.noise` fits them.

References
----------
Handcock, Morris: "Relative distribution methods in the social sciences", Springer 1999.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from icdh._utils.arrays import Floats, Integers
from icdh._utils.density import LOG_SQRT_2PI

HEAVIEST = 2.0  # degrees of freedom up to which Student's t has no variance
FARTHEST = 1e9  # deviations; noise of a standardised residual is never so far
LEAST_PLACE = 1e-16  # of a draw: quantiles at zero and one are infinite


class Noise(ABC):
    """The distribution of standardised noise; its mean is zero.

    Attributes
    ----------
    name : str
        What `icdh.HNMSearch` calls it.
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def deviation(self) -> float:
        """Its standard deviation; where there is none, that of the standardised residuals, one."""

    @abstractmethod
    def log_density(self, noise: Floats) -> Floats:
        """Return the log-density, shape (n,)."""

    @abstractmethod
    def distribution(self, noise: Floats) -> Floats:
        """Return the distribution function, shape (n,)."""

    @abstractmethod
    def quantile(self, places: Floats) -> Floats:
        """Return the inverse of the distribution function, shape (n,)."""

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Return independent draws, shape (size,)."""
        return self.quantile(np.clip(rng.random(size), LEAST_PLACE, 1.0 - LEAST_PLACE))

    def at_places(self) -> tuple[Floats, Floats]:
        """Return quantiles as dense as those of a normal distribution, and the probabilities about them."""
        places = Gaussian().distribution(np.linspace(-8.0, 8.0, 2001))
        return self.quantile((places[1:] + places[:-1]) / 2), np.diff(places)

    @abstractmethod
    def turned(self) -> "Noise":
        """Return the distribution of minus the noise."""

    @abstractmethod
    def faults(self) -> Iterator[str]:
        """Yield what contradicts itself."""


@dataclass(frozen=True)
class Gaussian(Noise):
    """The standard normal distribution."""

    name = "gaussian"

    @property
    def deviation(self) -> float:
        """One."""
        return 1.0

    def log_density(self, noise: Floats) -> Floats:
        """Return the log-density."""
        with np.errstate(over="ignore"):
            log_density: Floats = -0.5 * np.square(noise) - LOG_SQRT_2PI
        return log_density

    def distribution(self, noise: Floats) -> Floats:
        """Return the distribution function."""
        from scipy.special import ndtr

        places: Floats = ndtr(noise)
        return places

    def quantile(self, places: Floats) -> Floats:
        """Return the inverse of the distribution function."""
        from scipy.special import ndtri

        noise: Floats = ndtri(places)
        return noise

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Return independent draws."""
        return rng.standard_normal(size)

    def turned(self) -> "Gaussian":
        """Return the distribution itself."""
        return self

    def faults(self) -> Iterator[str]:
        """Yield nothing."""
        yield from ()


@dataclass(frozen=True)
class Student(Noise):
    """Student's t.

    Attributes
    ----------
    degrees : float
        Its degrees of freedom.
    scale : float
        What a variable of this distribution is divided by to be Student's t.
    """

    degrees: float
    scale: float
    name = "student"

    @property
    def deviation(self) -> float:
        """Its standard deviation, or one."""
        return self.scale * math.sqrt(self.degrees / (self.degrees - 2.0)) if self.degrees > HEAVIEST else 1.0

    def log_density(self, noise: Floats) -> Floats:
        """Return the log-density."""
        half = 0.5 * (self.degrees + 1.0)
        constant = math.lgamma(half) - math.lgamma(0.5 * self.degrees)
        constant -= 0.5 * math.log(math.pi * self.degrees) + math.log(self.scale)
        return constant - half * np.log1p(np.square(noise / self.scale) / self.degrees)

    def distribution(self, noise: Floats) -> Floats:
        """Return the distribution function."""
        from scipy.special import stdtr

        places: Floats = stdtr(self.degrees, noise / self.scale)
        return places

    def quantile(self, places: Floats) -> Floats:
        """Return the inverse of the distribution function."""
        from scipy.special import betaincinv

        # By the incomplete beta function: some SciPy never come back from stdtrit of places next to zero.
        below, half = np.maximum(np.minimum(places, 1.0 - places), 0.0), 0.5 * self.degrees
        tail = np.maximum(betaincinv(half, 0.5, np.minimum(2.0 * below, 0.5)), self.degrees * np.finfo(float).tiny)
        middle = betaincinv(0.5, half, np.maximum(1.0 - 2.0 * below, 0.0))
        squares = np.where(below < 0.25, 1.0 / tail - 1.0, middle / np.maximum(1.0 - middle, 0.1))
        noise: Floats = np.copysign(self.scale * np.sqrt(self.degrees * squares), places - 0.5)
        return noise

    def turned(self) -> "Student":
        """Return the distribution itself."""
        return self

    def faults(self) -> Iterator[str]:
        """Yield what contradicts itself."""
        if not (self.degrees > 0.0 and 0.0 < self.scale < FARTHEST):
            yield "Student's t has no degrees of freedom or no scale"


@dataclass(frozen=True)
class Free(Noise):
    """A density of any shape.

    Attributes
    ----------
    reference : Noise
        The distribution F0 that it is relative to.
    shares : ndarray, shape (B,)
        The probability of each bin.
    shift : float
        c, by which the noise is moved so that its mean is zero.
    """

    reference: Noise
    shares: Floats
    shift: float = 0.0
    name = "free"

    @cached_property
    def _edges(self) -> Floats:
        """The distribution function at the edges of the bins, shape (B + 1,)."""
        edges: Floats = np.append(0.0, np.cumsum(self.shares))
        edges /= edges[-1]
        return edges  # the sum by itself may differ in its last digit, and quantiles near one be infinite

    @property
    def _places(self) -> Floats:
        """The edges of the bins, places of the reference, shape (B + 1,)."""
        return np.linspace(0.0, 1.0, self.shares.size + 1)

    @property
    def deviation(self) -> float:
        """Its standard deviation, or one."""
        return self._deviation

    @cached_property
    def _deviation(self) -> float:
        if isinstance(self.reference, Student) and self.reference.degrees <= HEAVIEST:
            return self.reference.deviation
        values, weights = self.at_places()
        return math.sqrt(float(weights @ np.square(values)))

    def log_density(self, noise: Floats) -> Floats:
        """Return the log-density."""
        heights = np.log(np.diff(self._edges) * self.shares.size)
        moved = noise + self.shift
        return self.reference.log_density(moved) + heights[bins_of(self.reference, moved, heights.size)]

    def distribution(self, noise: Floats) -> Floats:
        """Return the distribution function."""
        return np.interp(self.reference.distribution(noise + self.shift), self._places, self._edges)

    def quantile(self, places: Floats) -> Floats:
        """Return the inverse of the distribution function."""
        return self.reference.quantile(np.interp(places, self._edges, self._places)) - self.shift

    def turned(self) -> "Free":
        """Return the distribution of minus the noise."""
        return replace(self, shares=self.shares[::-1].copy(), shift=-self.shift)

    def faults(self) -> Iterator[str]:
        """Yield what contradicts itself."""
        if self.reference.name == "free" or not (self.shares.size and (self.shares > 0.0).all()):
            yield "a free density has no shares, or no reference"
        if not abs(self.shift) < FARTHEST:
            yield "a free density is moved too far"
        yield from self.reference.faults()


def bins_of(reference: Noise, noise: Floats, n_bins: int) -> Integers:
    """Return the bins that noise falls in, equally probable ones under a reference, shape (n,)."""
    return np.minimum((reference.distribution(noise) * n_bins).astype(np.int64), n_bins - 1)


NOISE_DENSITIES: dict[str, type] = {kind.name: kind for kind in (Gaussian, Student, Free)}
NOISE_DISTRIBUTIONS = ("auto", *NOISE_DENSITIES)
