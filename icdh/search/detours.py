"""Detours: graphs that a climb reaches after one node was detached from its parents.

Every detour starts from the same state and keeps what it fits to itself. So several can be made side by side, and what
they find does not depend on how many threads do so.
"""

from collections.abc import Callable
from typing import NamedTuple

from icdh.search.climb import MIN_GAIN, Climber
from icdh.search.moves import Graph, Move, differing_families

FAR = 100.0  # nats: more than growth gains
POLISH_MARGIN = 10.0  # nats: an upper estimate of what polish gains for a detour's families


class Detour(NamedTuple):
    """What a detour came to.

    Attributes
    ----------
    climber : Climber
        The branch that made it, with all that it has scored.
    graph : tuple
        Where it ended.
    moves : list of Move
        How it got there.
    gains : bool
        Whether its graph is better than the one it set out from.
    grown : bool
        Whether models grew on the way.
    """

    climber: Climber
    graph: Graph
    moves: list
    gains: bool
    grown: bool


def detour(climber: Climber, graph: Graph, node: int, tell: Callable[[Move, Graph], None]) -> Detour:
    """Detach a node, climb while it gets no parent, then freely.

    If the graph at the end scores nearly as well as the first one, it is polished like the first one.

    Parameters
    ----------
    climber : Climber
        A branch of its own.
    graph : tuple
        The parents of every node; those of ``node`` are more than are required.
    node : int
        The node to detach.
    tell : callable
        Called with every tried move.
    """
    moves, end = [detach(climber, graph, node)], _without_parents(climber, graph, node)
    source = climber.forbidden.copy()
    source[:, node] = True
    end, further = climber.climb_once(end, source, tell)
    if not further:  # no node gains it as a parent: the climb would lead back
        return Detour(climber, graph, [], gains=False, grown=False)
    moves += further
    end, further = climber.climb_once(end, climber.forbidden, tell)
    moves += further
    # The graph that the detour set out from has grown: scores compare only if both have.
    grown = climber.fall(graph, end) > -FAR and climber.grow(differing_families(end, graph))
    if -POLISH_MARGIN < climber.fall(graph, end) <= 0.0:
        climber.polish([*differing_families(end, graph), *differing_families(graph, end)])
        end, further = climber.climb_once(end, climber.forbidden, tell)
        moves += further
    return Detour(climber, end, moves, gains=climber.fall(graph, end) > MIN_GAIN, grown=grown)


def detach(climber: Climber, graph: Graph, node: int) -> Move:
    """Return the move that leaves a node only its required parents."""
    before, after = climber.scores([(node, graph[node]), (node, climber.least_graph()[node])])
    return Move("detach", node, node, before - after)


def _without_parents(climber, graph, node):
    return tuple(climber.least_graph()[node] if j == node else parents for j, parents in enumerate(graph))
