"""What graphs say of an effect: what to adjust for, and the average over the graphs of a posterior.

Given a graph, adjusting for the parents of the cause gives its effect, and the effect is zero where the graph has no
path. So where the graph is not known, the effect has the distribution

    sum over sets of parents S of P(S is the set, there is a path) t_S  +  P(no path) delta_0,

with t_S the distribution of Student's t around the estimate that is adjusted for S. Its mean is the estimate, and
1 - P(no path) is the probability that there is an effect.

Quantiles of this mixture hold 95 % over all pairs of variables, but too few effects of those with a path: the true set
often has little probability, and the quantiles cut its interval. So the interval is the hull of those of the most
probable sets, together 95 % of all that have a path, each at 95 %; and of zero, unless a path is 95 % probable.

References
----------
Maathuis, Kalisch, Bühlmann: "Estimating high-dimensional intervention effects from observational data", Annals of
Statistics 37, 2009.
Strieder, Drton: "Confidence in causal inference under structure uncertainty in linear causal models with equal
variances", Journal of Causal Inference 11, 2023.
Pensar, Talvitie, Hyttinen, Koivisto: "A Bayesian approach for estimating causal effects from observational data", AAAI
2020.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np

from icdh import graphs
from icdh._effect.result import Interval
from icdh._effect.sample import Estimate
from icdh._utils.arrays import Floats, Mask
from icdh._utils.labels import listed, printable
from icdh.exceptions import option
from icdh.knowledge import Knowledge

LEAST_PROBABILITY = 1e-3  # of all sets of parents that are left out together


def check_path(adjacency: Floats, names: Sequence[Hashable], cause: int, effect: int) -> None:
    """Raise ValueError if a graph has no path from a cause to an effect: it then gives no estimate, not even zero.

    Parameters
    ----------
    adjacency : ndarray, shape (N, N)
        The graph.
    names : sequence
        Its variables.
    cause, effect : int
        Their positions.
    """
    reach = graphs.descendants(adjacency)
    if reach[cause, effect]:
        return
    back = f" (it has one from {names[effect]!r} to {names[cause]!r})" if reach[effect, cause] else ""
    raise ValueError(
        f"the graph has no path from {names[cause]!r} to {names[effect]!r}{back}, so it gives no estimate; that is not "
        "evidence of no effect: an edge may be too weak for so few rows. Name the common causes of the two in "
        f"{option('adjust')}; in a randomised trial there are none"
    )


def adjustment_set(adjacency: Floats, cause: int, effect: int, late: Mask | None = None) -> list[int]:
    """Return the covariates that a graph asks for: the other parents of the variables on paths from cause to effect.

    Of all valid sets this one gives the most precise answer. If it holds a variable that is known to come after the
    cause, the parents of the cause are taken.

    Parameters
    ----------
    adjacency : ndarray, shape (N, N)
        The graph.
    cause, effect : int
        Their positions.
    late : ndarray of bool, shape (N,), optional
        The variables that are known to come after the cause.

    References
    ----------
    Henckel, Perkovic, Maathuis: "Graphical criteria for efficient total effect estimation via adjustment in causal
    linear models", Journal of the Royal Statistical Society B 84, 2022.
    """
    reach = graphs.descendants(adjacency)
    between = reach[cause] & (reach[:, effect] | (np.arange(len(adjacency)) == effect))
    chosen = (adjacency[:, between] != 0).any(axis=1) & ~between
    chosen[cause] = False
    if late is not None and (chosen & late).any():
        chosen = adjacency[:, cause] != 0
    return np.flatnonzero(chosen).tolist()


def after_by_tiers(knowledge: Knowledge, names: Sequence[Hashable], cause: int) -> Mask:
    """Return which variables cannot cause a cause, as they are in later tiers; bool, shape (N,)."""
    return np.asarray(Knowledge(tiers=knowledge.tiers).rules(names, strict=False).forbidden[:, cause])


def notes_on_covariates(
    adjacency: Floats | None,
    knowledge: Knowledge,
    names: Sequence[Hashable],
    cause: int,
    effect: int,
    covariates: Sequence[int],
) -> list[str]:
    """Return what a graph and knowledge have against covariates, and against an effect of the cause.

    Parameters
    ----------
    adjacency : ndarray, shape (N, N), or None
        The graph, if there is one.
    knowledge : Knowledge
        What the user knows.
    names : sequence
        The variables.
    cause, effect : int
        Their positions.
    covariates : sequence of int
        The positions of the covariates.
    """
    cannot_cause = after_by_tiers(knowledge, names, cause)
    reach = graphs.descendants(np.zeros(cannot_cause.shape * 2) if adjacency is None else adjacency)
    notes = [
        f"after {printable(names[cause])} by the {source} {'comes' if len(late) == 1 else 'come'} {listed(late)}: "
        "adjusting for what comes after the cause may bias the answer, or take a part of the effect away"
        for source, is_late in (("graph", reach[cause]), ("tiers", cannot_cause))
        if (late := [names[k] for k in covariates if is_late[k]])
    ]
    ends = printable(names[cause]), printable(names[effect])
    if reach[effect, cause]:
        notes.append(f"the graph has a path from {ends[1]} to {ends[0]}")
    if knowledge.rules(names, strict=False).forbidden[cause, effect]:
        notes.append(f"what is known rules {ends[0]} -> {ends[1]} out: unless columns lie between, the effect is zero")
    return notes


def note_on_arrows_of_cause(
    adjacency: Floats, knowledge: Knowledge, names: Sequence[Hashable], cause: int, effect: int
) -> list[str]:
    """Return what to know where a graph has arrows from a cause of two values or labels to what the effect is tied to.

    Values of covariates that decide a treatment are, given that, nearly shifted ones. So in 40 of 40 tables with
    Gaussian covariates such arrows pointed from the treatment, and no interval held the truth.

    Parameters
    ----------
    adjacency, knowledge, names, cause, effect
        As of `notes_on_covariates`.
    """
    reach, settled = graphs.descendants(adjacency), knowledge.rules(names, strict=False).settled[cause]
    is_tied = (adjacency[cause] != 0) & (reach[:, effect] | reach[effect]) & ~settled
    tied = [names[k] for k in np.flatnonzero(is_tied).tolist()]
    if not tied:
        return []
    arrows = listed(f"{names[cause]} -> {name}" for name in tied)
    return [
        f"the graph has {arrows}, and so it does not adjust for {listed(tied)}; of a cause with two values or labels "
        f"data hardly tell such arrows: name what comes before it in {option('adjust')}, or average over graphs by "
        f"{option('adjust', 'posterior')}"
    ]


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
) -> tuple[Interval, float]:
    """Return the mixture of the estimates that sets of parents give, and of zero.

    Beside it stands the probability of the sets that give no answer; the others are weighed up.

    Parameters
    ----------
    sets : dict
        The probabilities of the sets; what they lack to one is that of no path.
    answer : callable
        The estimate that is adjusted for a set.
    level : float
        The probability of the interval.
    """
    probability, ranked = sum(sets.values()), sorted(sets, key=sets.__getitem__, reverse=True)
    left = probability - np.cumsum([sets[parents] for parents in ranked])
    estimates = [(sets[key], answer(key)) for key in ranked[: 1 + np.count_nonzero(left >= LEAST_PROBABILITY)]]
    parts = [(weight, each.value, *each.interval(level)) for weight, each in estimates if math.isfinite(each.error)]
    unanswered = sum(weight for weight, each in estimates if not math.isfinite(each.error))
    if not parts:
        return Interval(*[math.nan if sets else 0.0] * 3), unanswered
    weights, means, lower, upper = np.array(parts).T
    weights /= weights.sum()
    kept = int(np.searchsorted(np.cumsum(weights), level)) + 1 if probability > 1.0 - level else 0
    ends = [*lower[:kept], *upper[:kept], *[0.0] * (probability < level)]
    return Interval(probability * float(weights @ means), float(min(ends)), float(max(ends))), unanswered
