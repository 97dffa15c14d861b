"""What a structural model asks of the distribution of one variable given others.

A numeric variable is its mean plus scale times noise, with the log-density of Gaussian noise. A categorical or ordinal
variable is drawn by inverting its cumulative probabilities: the noise is uniform on [0, 1] and selects the label or
level. A label does not determine its noise, so categorical and ordinal variables have no counterfactuals. The noise E
of a number has mean 0 and variance 1 as far as the fit goes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeGuard

import numpy as np

from icdh._ground.arrays import Floats, Integers
from icdh._ground.density import pointwise_nll

EQUAL_SHARES = 1e-20  # variance of log P below which all labels are equally probable up to rounding


class Conditional(Protocol):
    """The distribution of one variable given others, on scaled data."""

    @property
    def inputs(self) -> Integers:
        """The variables that mean and scale depend on."""
        ...

    def mean_and_scale(self, values: Floats) -> tuple[Floats, Floats]:
        """Return mean and scale, each of shape (M,), given all variables, one a row, shape (N, M).

        For categorical variables these are the most probable label, and the total probability of the other labels.
        """
        ...


class Discrete(Conditional, Protocol):
    """The distribution of an ordinal or categorical variable.

    An ordinal variable takes its K ``levels``, a categorical one the codes 0 ... K - 1.
    """

    def log_probabilities(self, values: Floats) -> Floats:
        """Return the log-probability of every label or level, shape (K, M), given all variables, shape (N, M)."""
        ...


class HiddenPosterior(Protocol):
    """What rows tell of a hidden cause: the mean and variance of its value in each, of shape (M,)."""

    mean: Floats
    variance: Floats

    def draw(self, rng: np.random.Generator) -> Floats:
        """Return standardised draws of the hidden values, shape (M,)."""
        ...


class Confounded(Conditional, Protocol):
    """The distribution of a child of a hidden cause."""

    loading: float

    def mean_and_scale_at(self, values: Floats, hidden: Floats) -> tuple[Floats, Floats]:
        """Return mean and scale, each of shape (M,), given all variables and the hidden values, shape (M,)."""
        ...

    def posterior_with(
        self, children: "Sequence[Confounded]", observed: Floats, values: Floats
    ) -> tuple[HiddenPosterior, Floats]:
        """Return what rows tell of the hidden values, and the joint negative log-density of all children, shape (M,).

        The children are of one kind; the values observed have shape (c, M), all variables (N, M).
        """
        ...


@dataclass(frozen=True)
class Constant:
    """A variable that does not vary: zero on scaled data. It adds nothing to a likelihood."""

    inputs: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def mean_and_scale(self, values: Floats) -> tuple[Floats, Floats]:
        """Return mean and scale, each of shape (M,), given all variables, one a row, shape (N, M)."""
        return np.zeros(values.shape[1]), np.zeros(values.shape[1])


def has_probabilities(conditional: Conditional) -> TypeGuard[Discrete]:
    """Return whether the variable is ordinal or categorical."""
    return hasattr(conditional, "log_probabilities")


def is_confounded(conditional: Conditional) -> TypeGuard[Confounded]:
    """Return whether the variable is a child of a hidden cause."""
    return hasattr(conditional, "loading")


def confounded(conditionals: Sequence[Conditional], nodes: Sequence[int]) -> list[Confounded]:
    """Return the distributions of the children of a hidden cause."""
    return [given for given in (conditionals[node] for node in nodes) if is_confounded(given)]


def is_of_labels(conditional: Conditional) -> TypeGuard[Discrete]:
    """Return whether the variable takes labels, which have probabilities but no mean."""
    return has_probabilities(conditional) and _levels(conditional) is None


def _levels(conditional: Conditional) -> Floats | None:
    return getattr(conditional, "levels", None)


def nearest(levels: Floats, values: Floats) -> Integers:
    """Return the index of the level nearest to each value, shape (M,); levels are in ascending order."""
    return np.searchsorted((levels[1:] + levels[:-1]) / 2, values)


def _of_observed(conditional: Discrete, log_p: Floats, observed: Floats) -> Floats:
    """Return the log-probability of each value; a number that ``fit`` did not see gets the nearest level."""
    levels = _levels(conditional)
    codes = observed.astype(np.int64) if levels is None else nearest(levels, observed)
    if (codes >= len(log_p)).any():
        raise ValueError("a label that no row of the fit held has no probability; leave out the rows that hold it")
    return log_p[codes, np.arange(observed.size)]


def log_density(conditional: Conditional, observed: Floats, values: Floats) -> Floats:
    """Return the log-density of a variable's values, both of shape (M,); for discrete ones the log-probability."""
    if has_probabilities(conditional):
        return _of_observed(conditional, conditional.log_probabilities(values), observed)
    if isinstance(conditional, Constant):
        return np.zeros(observed.size)
    mean, scale = conditional.mean_and_scale(values)
    with np.errstate(over="ignore"):
        return -pointwise_nll(observed, mean, scale)


def response(conditional: Conditional, values: Floats, noise: Floats) -> Floats:
    """Return a variable's values, shape (M,), given all variables, shape (N, M), and its noise, shape (M,)."""
    if has_probabilities(conditional):
        shares = np.cumsum(np.exp(conditional.log_probabilities(values)), axis=0)
        codes: Integers = (shares[:-1] <= noise).sum(axis=0)
        levels = _levels(conditional)
        return codes.astype(np.float64) if levels is None else levels[codes]
    mean, scale = conditional.mean_and_scale(values)
    return mean + scale * noise


def standardised(conditional: Conditional, observed: Floats, values: Floats) -> Floats:
    """Return residuals of mean 0 and variance 1 if the model holds, shape (M,).

    For categorical variables, the surprise -log P is standardised: minus its mean, over its standard deviation.
    """
    if is_of_labels(conditional):
        log_p = conditional.log_probabilities(values)
        p, surprise = np.exp(log_p), -_of_observed(conditional, log_p, observed)
        mean = -(p * log_p).sum(axis=0)
        variance = (p * np.square(log_p + mean)).sum(axis=0)
        return np.where(variance > EQUAL_SHARES, (surprise - mean) / np.sqrt(np.maximum(variance, EQUAL_SHARES)), 0.0)
    mean, scale = conditional.mean_and_scale(values)
    return (observed - mean) / np.where(scale > 0.0, scale, 1.0)  # of a constant, how far a row is from it


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
