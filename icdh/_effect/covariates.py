"""What to adjust for: what a graph asks for, and what it and tiers have against what a user names."""

from collections.abc import Hashable, Sequence

import numpy as np

from icdh import graphs
from icdh._utils.arrays import Floats
from icdh._utils.labels import listed, printable
from icdh.exceptions import option
from icdh.knowledge import Knowledge


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
    adjacency: Floats | None,
    knowledge: Knowledge,
    names: Sequence[Hashable],
    cause: int,
    effect: int,
    covariates: Sequence[int],
) -> list[str]:
    """Return what a graph and tiers have against covariates.

    Parameters
    ----------
    adjacency : ndarray, shape (N, N), or None
        The graph, if there is one.
    knowledge : Knowledge
        With or without tiers.
    names : sequence
        The variables.
    cause, effect : int
        Their positions.
    covariates : sequence of int
        The positions of the covariates.
    """
    cannot_cause = Knowledge(tiers=knowledge.tiers).rules(names, strict=False).forbidden[:, cause]
    reach = graphs.descendants(np.zeros(cannot_cause.shape * 2) if adjacency is None else adjacency)
    notes = [
        f"after {printable(names[cause])} by the {source} {'comes' if len(late) == 1 else 'come'} {listed(late)}: "
        "adjusting for what comes after the cause may bias the answer, or take a part of the effect away"
        for source, is_late in (("graph", reach[cause]), ("tiers", cannot_cause))
        if (late := [names[k] for k in covariates if is_late[k]])
    ]
    back = f"the graph has a path from {printable(names[effect])} to {printable(names[cause])}"
    return notes + [back] * bool(reach[effect, cause])
