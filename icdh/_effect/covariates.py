"""What to adjust for: what a graph asks for, and what it and tiers have against what a user names."""

from collections.abc import Hashable, Sequence

import numpy as np

from icdh import graphs
from icdh._utils.arrays import Floats
from icdh._utils.labels import listed, printable
from icdh.exceptions import option
from icdh.knowledge import Knowledge

BIASED = "adjusting for what comes after the cause may bias the answer"


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
    if graphs.descendants(adjacency)[cause, effect]:
        return
    opposite = "".join(f" (it has the {way})" for way in _opposite_direction(adjacency, names, cause, effect))
    raise ValueError(
        f"the graph has no path from {names[cause]!r} to {names[effect]!r}{opposite}, so it gives no estimate; that is "
        "not evidence of no effect: an edge may be too weak for so few rows. Name the common causes of the two in "
        f"{option('adjust')}; in a randomised trial there are none"
    )


def _opposite_direction(adjacency: Floats, names: Sequence[Hashable], cause: int, effect: int) -> list[str]:
    """Return the directed path from the effect to the cause of a DAG, if any: an arrow back closes a cycle."""
    if not graphs.descendants(adjacency)[effect, cause]:
        return []
    closed = adjacency.copy()
    closed[cause, effect] = 1.0
    cycle = graphs.find_cycle(closed)[:-1]
    first = cycle.index(effect)
    return [f"opposite direction: {' -> '.join(printable(names[k]) for k in cycle[first:] + cycle[:first])}"]


def adjustment_set(adjacency: Floats, cause: int, effect: int) -> list[int]:
    """Return the covariates that a graph asks for: the other parents of the variables on paths from cause to effect.

    Of all valid sets this one gives the most precise answer.

    Parameters
    ----------
    adjacency : ndarray, shape (N, N)
        The graph.
    cause, effect : int
        Their positions.

    References
    ----------
    Henckel, Perkovic, Maathuis: "Graphical criteria for efficient total effect estimation via adjustment in causal
    linear models", Journal of the Royal Statistical Society B 84, 2022.
    """
    reach = graphs.descendants(adjacency)
    between = reach[cause] & (reach[:, effect] | (np.arange(len(adjacency)) == effect))
    chosen = (adjacency[:, between] != 0).any(axis=1) & ~between
    chosen[cause] = False
    return np.flatnonzero(chosen).tolist()


def notes_on_covariates(
    adjacency: Floats, names: Sequence[Hashable], cause: int, effect: int, covariates: Sequence[int]
) -> list[str]:
    """Return what a graph has against covariates that a user chose.

    Parameters
    ----------
    adjacency : ndarray, shape (N, N)
        The graph.
    names : sequence
        Its variables.
    cause, effect : int
        Their positions.
    covariates : sequence of int
        The positions of the covariates.
    """
    reach = graphs.descendants(adjacency)
    after = [k for k in covariates if reach[cause, k]]
    path = (
        f"on a path from {printable(names[cause])} to {printable(names[effect])}, so adjusting takes that part of the "
    )
    notes = _note([names[k] for k in after if reach[k, effect]], f"by the graph {path}effect away")
    biased = f"by the graph caused by {names[cause]}: {BIASED}"
    notes += _note([names[k] for k in after if not reach[k, effect]], biased)
    return notes + [f"the graph has the {way}" for way in _opposite_direction(adjacency, names, cause, effect)]


def notes_on_tiers(knowledge: Knowledge, names: Sequence[Hashable], cause: int, covariates: Sequence[int]) -> list[str]:
    """Return what tiers have against covariates, whoever chose them.

    Parameters
    ----------
    knowledge : Knowledge
        With or without tiers.
    names : sequence
        The variables.
    cause : int
        Its position.
    covariates : sequence of int
        The positions of the covariates.
    """
    cannot_cause = Knowledge(tiers=knowledge.tiers).rules(names, strict=False).forbidden[:, cause]
    return _note([names[k] for k in covariates if cannot_cause[k]], f"in a later tier than {names[cause]}: {BIASED}")


def _note(names: Sequence[Hashable], what: str) -> list[str]:
    return [f"{listed(names)} {'is' if len(names) == 1 else 'are'} {what}"] if names else []
