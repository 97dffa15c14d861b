"""Whether probabilities of edges mean what they say: how often edges of probability p are there."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from icdh._ground.arrays import Floats, Integers, Mask


@dataclass(frozen=True)
class ReliabilityCurve:
    """How often edges are there, by their probability.

    Attributes
    ----------
    probability : ndarray, shape (B,)
        The mean probability of the possible edges in each bin of probabilities that holds any.
    frequency : ndarray, shape (B,)
        The share of them that are true edges.
    count : ndarray of int, shape (B,)
        How many they are.
    """

    probability: Floats
    frequency: Floats
    count: Integers


def brier_score(probability: ArrayLike, truth: ArrayLike) -> float:
    """Return the mean squared difference of probability and truth over all possible directed edges; lower is better.

    Parameters
    ----------
    probability : array_like, shape (N, N) or (S, N, N)
        Probabilities of i -> j in one graph, or in S graphs.
    truth : array_like, of the same shape
        The true graphs; an entry is not zero where there is an edge.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If the shapes do not fit or an entry off the diagonal is no probability.

    References
    ----------
    Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78 (1950).

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.metrics import brier_score
    >>> truth = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> probability = np.where(truth, 0.8, 0.1)
    >>> round(brier_score(probability, truth), 3)
    0.02
    """
    p, t = _possible_edges(probability, truth)
    return float(np.square(p - t).mean())


def log_score(probability: ArrayLike, truth: ArrayLike) -> float:
    """Return the mean of minus the log probability of what is true of each possible edge, in nats; lower is better.

    Probabilities are taken to be at least 0.001 away from 0 and 1, so that no single error is worth infinitely much.

    Parameters
    ----------
    probability, truth : array_like
        As in `brier_score`.

    Raises
    ------
    ValueError
        As `brier_score`.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.metrics import log_score
    >>> truth = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> probability = np.where(truth, 0.8, 0.1)
    >>> round(log_score(probability, truth), 3)
    0.145
    """
    p, t = _possible_edges(probability, truth)
    p = np.clip(p, 0.001, 0.999)
    return float(-np.log(np.where(t, p, 1.0 - p)).mean())


def reliability_curve(probability: ArrayLike, truth: ArrayLike, n_bins: int = 10) -> ReliabilityCurve:
    """Return how often edges are there, in bins of equal width of their probability.

    Parameters
    ----------
    probability, truth : array_like
        As in `brier_score`.
    n_bins : int
        How many bins, by default 10.

    Raises
    ------
    ValueError
        As `brier_score`.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.metrics import reliability_curve
    >>> truth = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> probability = np.where(truth, 0.8, 0.1)
    >>> int(reliability_curve(probability, truth).count.sum())
    6
    """
    p, t = _possible_edges(probability, truth)
    place = np.minimum((p * n_bins).astype(int), n_bins - 1)
    count = np.bincount(place, minlength=n_bins)
    held = count > 0
    mean, frequency = (np.bincount(place, values, n_bins)[held] / count[held] for values in (p, t.astype(float)))
    return ReliabilityCurve(mean, frequency, count[held])


def calibration_error(probability: ArrayLike, truth: ArrayLike, n_bins: int = 10) -> float:
    """Return the expected calibration error: the mean distance of frequency and probability, over bins by count.

    Parameters
    ----------
    probability, truth : array_like
        As in `brier_score`.
    n_bins : int
        How many bins, by default 10.

    Raises
    ------
    ValueError
        As `brier_score`.

    References
    ----------
    Naeini, Cooper, Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.metrics import calibration_error
    >>> truth = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> probability = np.where(truth, 0.8, 0.1)
    >>> round(calibration_error(probability, truth), 3)
    0.133
    """
    curve = reliability_curve(probability, truth, n_bins)
    return float(curve.count @ np.abs(curve.frequency - curve.probability) / curve.count.sum())


def _possible_edges(probability: ArrayLike, truth: ArrayLike) -> tuple[Floats, Mask]:
    """Return probabilities and truth of all entries off the diagonals, flat."""
    p, t = np.asarray(probability, dtype=float), np.asarray(truth) != 0
    if p.shape != t.shape or p.ndim not in (2, 3) or p.shape[-1] != p.shape[-2]:
        raise ValueError(f"probability and truth must both have shape (N, N) or (S, N, N); got {p.shape} and {t.shape}")
    possible = np.broadcast_to(~np.eye(p.shape[-1], dtype=bool), p.shape)
    p, t = p[possible], t[possible]
    if p.size == 0:
        raise ValueError("probability has no entries off its diagonal; a graph has at least two variables")
    if not ((p >= 0.0) & (p <= 1.0 + 1e-9)).all():
        raise ValueError("probability must hold numbers from 0 to 1 off its diagonal")
    return np.minimum(p, 1.0), t
