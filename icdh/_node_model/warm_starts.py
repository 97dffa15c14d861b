"""Where the fit of a family begins: at known fits of families with one parent fewer, or one more."""

from collections.abc import Callable, Iterable

import numpy as np

from icdh._ground.arrays import Floats
from icdh._node_model.evidence import NodeFit
from icdh._node_model.families import Families, Family


def warm_start(
    families: Families,
    family: Family,
    hidden_units: int,
    known_fit: Callable[[Family], NodeFit | None],
    known_parents: Iterable[tuple[int, ...]],
) -> dict[str, Floats]:
    """Return the arguments of a fit that starts from the best known fit of a neighbouring family.

    The best one with a parent fewer comes first; the weights of the further parent are zero. Most families of a node
    that has just got more hidden units have only neighbours with a parent more; the weights of that parent are left
    out. The prior's precisions are taken over: from their initial values all weights would shrink and grow again.

    Parameters
    ----------
    families : Families
        What is fitted.
    family : tuple
        The node and its parents.
    hidden_units : int
        m.
    known_fit : callable
        Returns the fit of a family, None if it has none.
    known_parents : iterable of tuple
        The parents that the node was fitted with: few, where there are many variables.

    Returns
    -------
    dict
        ``start`` and ``precision``; nothing for a cold start.
    """
    node, parents = family
    if not parents:
        return {}
    fewer = [((node, parents[:k] + parents[k + 1 :]), parents[k]) for k in range(len(parents))]
    if best := _best_known(fewer if len(parents) > 1 else [], known_fit):
        fit, new = best
        weights = families.weights_of(new, parents, hidden_units)
        theta = np.insert(fit.theta, weights.start, np.zeros(weights.stop - weights.start))
        return {"start": theta, "precision": fit.precision}
    more = [other for other in known_parents if len(other) == len(parents) + 1 and {*parents} < {*other}]
    if best := _best_known([((node, other), min({*other} - {*parents})) for other in more], known_fit):
        fit, new = best
        theta = np.delete(fit.theta, families.weights_of(new, parents, hidden_units))
        return {"start": theta, "precision": fit.precision}
    return {}


def _best_known(
    neighbours: Iterable[tuple[Family, int]], known_fit: Callable[[Family], NodeFit | None]
) -> tuple[NodeFit, int] | None:
    """Return the best known fit among families that are each given with a variable, and that variable."""
    fits = ((known_fit(family), variable) for family, variable in neighbours)
    known = [(fit, variable) for fit, variable in fits if fit is not None and fit.succeeded]
    return min(known, key=_evidence_first, default=None)


def _evidence_first(fit_and_variable: tuple[NodeFit, int]) -> float:
    return fit_and_variable[0].evidence
