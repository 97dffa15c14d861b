"""Edges reversed at the end of a search, judged by families that are polished like those of the graph.

A climb polishes the families of its graph, but not those of its reversals. So a reversal may look worse than it is.
"""

import math
from collections.abc import Callable

import numpy as np

from icdh._ground.clock import OutOfTime
from icdh.search.climb import MIN_GAIN, TUNING, Climber, FamilyScores
from icdh.search.escapes import SearchResult
from icdh.search.moves import KINDS, Family, Graph, Move, changed_families, legal_moves

Reversed = dict[tuple[int, int], list[Family]]  # by edge, the families that its reversal changes


def reversal_losses(climber: Climber, graph: Graph, margin: float = math.inf) -> dict[tuple[int, int], float]:
    """Return by how much the score of a graph rises if one of its edges is reversed.

    Parameters
    ----------
    climber : Climber
        The scores, and the moves allowed.
    graph : tuple
        The parents of every node; its families are polished, and those of reversals.
    margin : float
        Of reversals that lose more the families are not polished, and the loss is an upper bound.

    Returns
    -------
    dict
        By (cause, effect) the loss; edges whose reversal is not allowed are missing.
    """
    none = np.empty(0, dtype=np.int64)
    moves = legal_moves(graph, climber.forbidden, climber.max_parents, climber.required, insertions=(none, none))
    turned = [(i, j) for kind, i, j in np.transpose(moves).tolist() if KINDS[kind] == "reverse"]
    reversed_ = {(i, j): changed_families(graph, "reverse", i, j) for i, j in turned}
    close = [edge for edge, loss in _losses(climber.scores, graph, reversed_).items() if loss < margin]
    climber.polish([*enumerate(graph), *(family for edge in close for family in reversed_[edge])])
    return _losses(climber.scores, graph, reversed_)


def _losses(scores: FamilyScores, graph: Graph, reversed_: Reversed) -> dict[tuple[int, int], float]:
    own = scores(list(enumerate(graph)))
    after = {edge: scores(families) for edge, families in reversed_.items()}
    return {(i, j): sum(after[i, j]) - own[i] - own[j] for i, j in reversed_}


def reverse_while_it_gains(
    climber: Climber, found: SearchResult, callback: Callable[[Move], None] | None = None
) -> SearchResult:
    """Return the graph of a search after all reversals that gain, and the moves to which they lead.

    Parameters
    ----------
    climber : Climber
        The scores, and the moves allowed.
    found : SearchResult
        Of a search by these scores.
    callback : callable, optional
        Called with every move; it may raise KeyboardInterrupt to end the search.
    """

    def keep(move: Move, graph: Graph) -> None:
        nonlocal found
        found = found._replace(graph=graph, moves=[*found.moves, move])
        if callback is not None:
            callback(move)

    try:
        while (best := _best_reversal(climber, found.graph)) is not None:
            keep(*best)
            climber.climb(found.graph, keep)
    except KeyboardInterrupt:
        return found._replace(interrupted=True)
    except OutOfTime:
        return found._replace(timed_out=True)
    return found


def _best_reversal(climber: Climber, graph: Graph) -> tuple[Move, Graph] | None:
    """Return the reversal that gains most, with its graph; None if none gains."""
    losses = reversal_losses(climber, graph, TUNING.reversal_margin)
    if not losses:
        return None
    i, j = min(losses, key=lambda edge: losses[edge])
    families = dict(changed_families(graph, "reverse", i, j))
    turned = tuple(families.get(node, parents) for node, parents in enumerate(graph))
    gain = climber.total(graph) - climber.total(turned)
    return (Move("reverse", i, j, gain), turned) if gain > MIN_GAIN else None
