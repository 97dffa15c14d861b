"""An effect where the graph is not known: the mixture over the graphs of a posterior.

Given a graph, adjusting for the parents of the cause gives its effect, and the effect is zero where the graph has no
path. So the effect has the distribution

    sum over sets of parents S of P(S is the set, there is a path) t_S  +  P(no path) delta_0,

with t_S the distribution of Student's t around the estimate that is adjusted for S. Its mean is the estimate, its
quantiles are the ends of the interval, and 1 - P(no path) is the probability that there is an effect.

References
----------
Maathuis, Kalisch, Bühlmann: "Estimating high-dimensional intervention effects from observational data", Annals of
Statistics 37, 2009.
Pensar, Talvitie, Hyttinen, Koivisto: "A Bayesian approach for estimating causal effects from observational data", AAAI
2020.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from icdh import graphs
from icdh._effect.sample import Estimate
from icdh._utils.arrays import Floats, Mask

LEAST_PROBABILITY = 1e-3  # of all sets of parents that are left out together


class Mixture(NamedTuple):
    """An effect over graphs.

    Attributes
    ----------
    value, lower, upper : float
        Its mean, and its quantiles.
    probability : float
        The probability that there is a path from cause to effect.
    unanswered : float
        The probability of the sets of parents that leave no answer; the others are weighed up.
    """

    value: float
    lower: float
    upper: float
    probability: float
    unanswered: float


def parent_sets(drawn: Mask, weights: Floats, cause: int, effect: int) -> dict[tuple[int, ...], float]:
    """Return the probabilities of the sets of parents of a cause, in the graphs where it reaches the effect.

    Parameters
    ----------
    drawn : ndarray of bool, shape (S, N, N)
        Graphs.
    weights : ndarray, shape (S,)
        Their probabilities.
    cause, effect : int
        Their positions.
    """
    sets: dict[tuple[int, ...], float] = {}
    for graph, weight in zip(drawn, weights.tolist(), strict=True):
        if graphs.descendants(graph)[cause, effect]:
            parents = tuple(np.flatnonzero(graph[:, cause]).tolist())
            sets[parents] = sets.get(parents, 0.0) + weight
    return sets


def mixture(
    sets: Mapping[tuple[int, ...], float], answer: Callable[[tuple[int, ...]], Estimate], level: float
) -> Mixture:
    """Return the mixture of the estimates that sets of parents give, and of zero.

    Parameters
    ----------
    sets : dict
        The probabilities of the sets; what they lack to one is that of no path.
    answer : callable
        The estimate that is adjusted for a set.
    level : float
        The probability of the interval.
    """
    from scipy.special import stdtr

    probability, left = sum(sets.values()), LEAST_PROBABILITY
    parts, unanswered = [], 0.0
    for parents, weight in sorted(sets.items(), key=lambda pair: pair[1]):
        left -= weight
        if left > 0.0 and weight < max(sets.values()):
            continue
        estimate = answer(parents)
        if math.isfinite(estimate.error):
            parts.append((weight, estimate.value, max(estimate.error, 1e-300), estimate.degrees))
        else:
            unanswered += weight
    if not parts:
        value = math.nan if sets else 0.0
        return Mixture(value, value, value, probability, unanswered)
    weights, means, errors, degrees = np.array(parts).T
    weights *= probability / weights.sum()

    def below(x: float) -> float:
        return float(weights @ stdtr(degrees, (x - means) / errors)) + (1.0 - probability) * (x >= 0.0)

    def quantile(share: float) -> float:
        low = min(float((means - 50.0 * errors).min()), 0.0)
        high = max(float((means + 50.0 * errors).max()), 0.0)
        if below(0.0) >= share > below(math.nextafter(0.0, -1.0)):
            return 0.0
        for _ in range(100):
            middle = (low + high) / 2.0
            low, high = (low, middle) if below(middle) >= share else (middle, high)
        return high

    tail = (1.0 - level) / 2.0
    return Mixture(float(weights @ means), quantile(tail), quantile(1.0 - tail), probability, unanswered)
