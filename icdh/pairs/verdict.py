"""The verdict on two variables: both fitted directions, and which is the better one."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class DirectionFit:
    """The node model of the effect given the cause, in one direction.

    Attributes
    ----------
    cause_values : ndarray, shape (200,)
        Evenly spaced values of the cause, from its least to its greatest, in its units.
    mean, scale : ndarray, shape (200,)
        Mean and standard deviation of the effect at these values, in its units: those of the mixture of all fits.
        Beyond the 0.05th and 99.95th percentile of the cause they are constant.
    description_length : float
        L of the standardised variables, in nats per observation.
    """

    cause_values: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    description_length: float


@dataclass(frozen=True)
class CausalDirection:
    """The verdict of `causal_direction`.

    Attributes
    ----------
    direction : {"x->y", "y->x", "undecided"}
        The verdict; "undecided" if the confidence is below what was asked for, or both directions are equal.
    score : float
        By how many nats per observation x -> y is better than y -> x; negative if y -> x is the better one.
    confidence : float
        The absolute score over its standard deviation across random subsamples of the rows.
    forward, backward : DirectionFit
        The fitted model of x -> y and of y -> x.
    """

    direction: str
    score: float
    confidence: float
    forward: DirectionFit
    backward: DirectionFit

    def swapped(self) -> "CausalDirection":
        """Return the verdict with x and y exchanged."""
        direction = {"x->y": "y->x", "y->x": "x->y"}.get(self.direction, self.direction)
        return replace(self, direction=direction, score=-self.score, forward=self.backward, backward=self.forward)
