"""What a structural model asks of the distribution of one variable given others.

A number is its mean plus scale times noise, and the log-density is that of Gaussian noise. A label, or one of few
ordered levels, is drawn by its probabilities: its noise is uniform on [0, 1], and the label that in whose share, shares
side by side, it falls. Such a noise cannot be had back from the label, so that counterfactuals of labels and levels
have no answer.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from icdh.density import pointwise_nll

EQUAL_SHARES = 1e-20  # a variance of log P below which all labels are as probable, but for rounding


class Conditional(Protocol):
    """The distribution of one variable given others, on scaled data.

    Attributes
    ----------
    inputs : ndarray of int
        The variables that mean and scale depend on.
    """

    inputs: np.ndarray

    def mean_and_scale(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and scale, each of shape (M,), given all variables, one a row, shape (N, M).

        Of labels these are the most probable one, and the probability of all others.
        """


@dataclass(frozen=True)
class Constant:
    """The distribution of a variable that never varied: its value, zero when scaled, and by convention scale one."""

    inputs: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))

    def mean_and_scale(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and scale, each of shape (M,), given all variables, one a row, shape (N, M)."""
        return np.zeros(values.shape[1]), np.ones(values.shape[1])


def has_probabilities(conditional: Conditional) -> bool:
    """Return whether the variable takes few values: there are ``log_probabilities`` then, shape (K, M).

    Where they are numbers they are the K ``levels``, else labels, 0 ... K - 1.
    """
    return hasattr(conditional, "log_probabilities")


def is_of_labels(conditional: Conditional) -> bool:
    """Return whether the variable takes labels, which have probabilities but no mean."""
    return has_probabilities(conditional) and not hasattr(conditional, "levels")


def nearest(levels: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return for each value, shape (M,), which of some levels is the nearest; they are in ascending order."""
    return np.searchsorted((levels[1:] + levels[:-1]) / 2, values)


def _codes(conditional, own):
    """Return which label or level values are; one that fit did not see counts as the level that is the nearest."""
    return own.astype(int) if is_of_labels(conditional) else nearest(conditional.levels, own)


def log_density(conditional: Conditional, own: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the log-density of a variable's own values, both of shape (M,); of few values the log-probability."""
    if has_probabilities(conditional):
        return conditional.log_probabilities(values)[_codes(conditional, own), np.arange(own.size)]
    mean, scale = conditional.mean_and_scale(values)
    with np.errstate(over="ignore"):
        return -pointwise_nll(own, mean, scale)


def response(conditional: Conditional, values: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return what a variable is given all others, shape (N, M), and its noise; both of shape (M,)."""
    if has_probabilities(conditional):
        shares = np.cumsum(np.exp(conditional.log_probabilities(values)), axis=0)
        codes = (shares[:-1] <= noise).sum(axis=0)
        return codes.astype(np.float64) if is_of_labels(conditional) else conditional.levels[codes]
    mean, scale = conditional.mean_and_scale(values)
    return mean + scale * noise


def standardised(conditional: Conditional, own: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return residuals of mean 0 and variance 1 if the model holds, shape (M,).

    Of labels it is their surprise, -log P, that is standardised: less its mean, over its standard deviation.
    """
    if is_of_labels(conditional):
        log_p = conditional.log_probabilities(values)
        p, surprise = np.exp(log_p), -log_p[_codes(conditional, own), np.arange(own.size)]
        mean = -(p * log_p).sum(axis=0)
        variance = (p * np.square(log_p + mean)).sum(axis=0)
        return np.where(variance > EQUAL_SHARES, (surprise - mean) / np.sqrt(np.maximum(variance, EQUAL_SHARES)), 0.0)
    mean, scale = conditional.mean_and_scale(values)
    return (own - mean) / scale
