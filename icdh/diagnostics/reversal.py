"""The evidence that is lost when an arrow is turned and the rest of the graph is searched again."""

from collections.abc import Sequence
from copy import copy

import numpy as np

from icdh._estimators.graph_search import FoundGraph
from icdh._estimators.refit import strengths
from icdh.knowledge.rules import EdgeRules
from icdh.search.climb import Climber

MOST_CLIMBS = 5  # the arrows that seem to lose least


def lost_by_reversal(
    found: FoundGraph, edges: Sequence[tuple[int, int]], max_parents: int
) -> dict[tuple[int, int], float]:
    """Return for edges how many nats the graph loses if that edge is turned.

    If that closes a cycle, its weakest edge is left out. For the five edges that lose least a greedy search goes on
    from there; it keeps the edge turned and may change all else. These are losses of the whole graph, the others are
    upper bounds. A loss below zero means that the search missed a better graph.

    Parameters
    ----------
    found : FoundGraph
        What a search found; its scores are not changed.
    edges : sequence of (cause, effect)
        Edges of the graph that was found, as places in the user's table.
    max_parents : int
        The most causes of a variable.

    Returns
    -------
    dict
        By edge. Edges that knowledge does not let turn are missing; all are, if the search ran out of time.
    """
    if found.timed_out:
        return {}
    place = {int(k): node for node, k in enumerate(found.order)}
    scores, graph, rules = _copied(found.scores), found.graph, found.rules
    total = Climber(scores, rules.forbidden, max_parents).total(graph)
    weights, turned = strengths(found)[np.ix_(found.order, found.order)], []
    for edge in edges:
        if not place.keys() >= set(edge):  # a column that does not vary
            continue
        i, j = (place[end] for end in edge)
        if i in graph[j] and not (rules.required[i, j] or rules.forbidden[j, i]):
            turned.append((edge, *_turned(scores, rules, weights, (i, j), max_parents)))
    lost = {edge: climber.total(start) - total for edge, climber, start in turned}
    for edge, climber, start in sorted(turned, key=lambda own: lost[own[0]])[:MOST_CLIMBS]:
        best, _ = climber.climb_once(start, climber.forbidden)
        lost[edge] = climber.total(best) - total
    return lost


def _turned(scores, rules, weights, edge, max_parents):
    """Return the moves that keep an edge turned, and the graph to begin at."""
    i, j = edge
    required, forbidden, weights = rules.required.copy(), rules.forbidden.copy(), weights.copy()
    required[j, i], forbidden[i, j], weights[i, j] = True, True, 0.0
    start = EdgeRules.of(forbidden, required).dag(weights).adjacency
    graph = tuple(tuple(np.flatnonzero(causes).tolist()) for causes in start.T)
    return Climber(scores, forbidden, max_parents, required), graph


def _copied(scores):
    """Return a copy of scores: new fits of the copy do not reach the original."""
    copied = copy(scores)
    for name, part in vars(scores).items():
        if isinstance(part, dict):
            setattr(copied, name, copy(part))
    if hasattr(copied, "subsample"):
        copied.subsample = _copied(copied.subsample)
    return copied
