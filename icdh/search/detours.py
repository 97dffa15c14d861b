"""Detours: graphs that a climb reaches after one node was detached from its parents."""

from collections.abc import Callable

from icdh.search.climb import MIN_GAIN, Climber
from icdh.search.moves import Graph, Move, differing_families

FAR = 100.0  # nats: more than growth gains
LEAST_SHARE = 0.01  # of what the node loses as an effect, that a large move gains
FEW_SMALL_MOVES = 3  # as many large moves: more than small ones win back
POLISH_MARGIN = 10.0  # nats: an upper estimate of what polish gains for a detour's families


def detour(
    climber: Climber, graph: Graph, node: int, tell: Callable[[Move, Graph], None], least_regain: float = 0.0
) -> tuple[Graph, list[Move]] | None:
    """Detach a node, climb while it gets no parent, then freely; return a better graph and the moves to it, if any.

    If the graph at the end scores nearly as well as the first one, it is polished like the first one.

    Parameters
    ----------
    climber : Climber
        What climbs; it keeps all that it has scored.
    graph : tuple
        The parents of every node; those of ``node`` are more than are required.
    node : int
        The node to detach.
    tell : callable
        Called with every tried move.
    least_regain : float
        The share of what the node loses as an effect that it has to win back as a cause, by estimates; else there is no
        climb. Where it is positive, there is none either if large moves alone leave too much to be won by small ones.
    """
    moves, end = [detach(climber, graph, node)], _without_parents(climber, graph, node)
    if least_regain > 0.0:
        if climber.worth_as_cause(graph, node) < -least_regain * moves[0].gain:
            return None
        large = LEAST_SHARE * -moves[0].gain
        if climber.fall(graph, _climb_as_source(climber, end, node, tell, large)[0]) < -FEW_SMALL_MOVES * large:
            return None
    end, further = _climb_as_source(climber, end, node, tell)
    if not further:  # no node gains it as a parent: the climb would lead back
        return None
    moves += further
    if climber.fall(graph, end) > -FAR:  # the graph that the detour set out from has grown: scores compare if both have
        climber.grow(differing_families(end, graph))
    if -POLISH_MARGIN < climber.fall(graph, end) <= 0.0:
        climber.polish([*differing_families(end, graph), *differing_families(graph, end)])
        end, further = climber.climb_once(end, climber.forbidden, tell)
        moves += further
    return (end, moves) if climber.fall(graph, end) > MIN_GAIN else None


def _climb_as_source(
    climber: Climber, graph: Graph, node: int, tell: Callable[[Move, Graph], None], least_gain: float = 0.0
) -> tuple[Graph, list[Move]]:
    """Climb while a node gets no parent, then freely if it became one."""
    source = climber.forbidden.copy()
    source[:, node] = True
    end, moves = climber.climb_once(graph, source, tell, least_gain)
    if moves:
        end, further = climber.climb_once(end, climber.forbidden, tell, least_gain)
        moves += further
    return end, moves


def detach(climber: Climber, graph: Graph, node: int) -> Move:
    """Return the move that leaves a node only its required parents."""
    before, after = climber.scores([(node, graph[node]), (node, climber.least_graph()[node])])
    return Move("detach", node, node, before - after)


def _without_parents(climber: Climber, graph: Graph, node: int) -> Graph:
    return tuple(climber.least_graph()[node] if j == node else parents for j, parents in enumerate(graph))
