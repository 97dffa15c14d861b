"""The distribution of the standardised noise E of a variable, with mean 0 and variance 1 as far as its fit goes."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from icdh._ground.arrays import Floats


class Noise(Protocol):
    """A distribution to draw from."""

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Return independent draws, shape (size,)."""
        ...


@dataclass(frozen=True)
class Gaussian:
    """The standard normal distribution."""

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Return independent draws, shape (size,)."""
        return rng.standard_normal(size)


@dataclass(frozen=True)
class Empirical:
    """The distribution of a sample: every value is as likely as it was frequent.

    Attributes
    ----------
    residuals : ndarray, shape (M,)
        The sample, in ascending order: standardised residuals of a fit.
    """

    residuals: Floats

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Return independent draws, shape (size,)."""
        return self.residuals[rng.integers(self.residuals.size, size=size)]


@dataclass(frozen=True)
class Uniform:
    """The uniform distribution on [0, 1], for labels."""

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Return independent draws, shape (size,)."""
        return rng.random(size)
