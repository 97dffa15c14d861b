"""Greedy search over directed acyclic graphs for a score that is a sum over families; a lower score is better.

The search climbs from the graph of the required edges, by default the empty one, and from another graph if it is given
one. Then it tries to leave the local optimum by detours: each node in turn loses all parents that are not required; the
climb goes on while the node gets no other parent, then freely, and the outcome stays if it is better. Far behind, only
moves that win back a share of what is lost are made. A node whose effects are joined becomes the effect of all its
neighbours, too, where that may be better, and pairs of causes that tell something of a node only together become its
causes. Then the families of the graph are polished, and the climb goes on. Last, the noise distribution is chosen. If
that changes the scores, the search goes on from the graph at hand, or from the end of a new climb from the beginning,
if that is better. If the graph found so gains too little, noise is Student's t, and the search climbs from both graphs.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from icdh._utils.clock import OutOfTime
from icdh.knowledge import EdgeRules
from icdh.search.climb import (
    MIN_GAIN,
    Climber,
    Graph,
    Move,
    Report,
    changed_families,
    differing_families,
    ignored,
    toggled,
    with_ancestors,
)

FAR = 100.0  # nats: a detour that ends so far off is given up: more than growth gains
DETOUR_MARGIN = 10.0  # nats: an upper estimate of what polish gains for a detour's families
SHARE_OF_PROMISE = 0.5  # that a quick fit of a pair of causes must find
RECOVERED_SHARE = 0.01  # of what a detour loses, that each of its moves has to win back
GATHERED_SHARE = 0.8  # of what its effects lose, that a node has to win as their effect
OtherStart: TypeAlias = Callable[[Graph], Graph | None]
Better: TypeAlias = tuple[Graph, list[Move]]  # a better graph, and the moves to it


def detour(climber: Climber, graph: Graph, node: int, tell: Report) -> Better | None:
    """Detach a node, climb while it gets no parent, then freely; return a better graph and the moves to it, if any.

    If the graph at the end scores nearly as well as the first one, it is polished like the first one.

    Parameters
    ----------
    climber : Climber
        What climbs; it keeps all that it has scored.
    graph : tuple
        The parents of every node.
    node : int
        The node to detach. With its required parents alone there is nothing to try.
    tell : callable
        Called with every tried move.
    """
    if graph[node] == climber.least[node]:
        return None
    moves = [detach(climber, graph, node)]
    end = (*graph[:node], climber.least[node], *graph[node + 1 :])
    forbidden = climber.rules.forbidden.copy()
    forbidden[:, node] = True
    end, first = recover(climber, graph, end, RECOVERED_SHARE, tell, climber.rules._replace(forbidden=forbidden))
    if not first:  # no node gains it as a parent: the climb would lead back
        return None
    end, then = recover(climber, graph, end, RECOVERED_SHARE, tell)
    return _better_end(climber, graph, end, [*moves, *first, *then], tell)


def gather(climber: Climber, graph: Graph, node: int, tell: Report) -> Better | None:
    """Make a node the effect of all its neighbours, climb while it is no cause, then freely; return as `detour`.

    Where several causes together nearly determine an effect, each cause alone tells little of it. A climb may then take
    the effect for their cause, and needs edges between them; no single move leads from there to a better graph.

    Parameters
    ----------
    climber, graph, node, tell
        As of `detour`. Two effects of the node have to be joined: nothing else asks for it.
    """
    effects = [k for k, parents in enumerate(graph) if node in parents]
    causes = tuple(sorted({*graph[node], *effects}))
    joined = [effect for effect in effects if {*graph[effect]} & {*effects}]
    if not joined or len(causes) > climber.max_parents or climber.rules.settled[node, effects].any():
        return None
    return _climb_with_causes(climber, graph, node, _with_parents(graph, node, causes), tell)


def pair(
    climber: Climber, graph: Graph, node: int, causes: tuple[int, int], promised: float, tell: Report
) -> Better | None:
    """Give a node two causes that tell something of it only together, climb while it is no further cause, then freely.

    Other parameters and the result are those of `gather`. What comes after the node may become its cause: edges from
    the node that would close a cycle go.

    Parameters
    ----------
    causes : tuple of int
        The causes.
    promised : float
        The nats that they promise. A fit that finds much less has failed, and is polished.
    """
    least, parents = climber.least, tuple(sorted({*graph[node], *causes}))
    start = _with_parents(graph, node, parents)
    lost = [k for k, required in enumerate(least) if node in required and node not in start[k]]
    if lost or len(parents) > climber.max_parents or climber.rules.forbidden[list(parents), node].any():
        return None
    own, more = (node, graph[node]), (node, parents)
    before, after = climber.scores([own, more])
    has_failed = before - after < SHARE_OF_PROMISE * promised
    if not (has_failed or _pays(climber, graph, start, node)):
        return None
    climber.polish([own, more])
    return _climb_with_causes(climber, graph, node, start, tell)


def _led_to(graph: Graph, node: int, causes: Iterable[int]) -> list[int]:
    """Return the effects of a node that are among some variables, or lead to one of them."""
    lines = with_ancestors(graph)
    led_to = {k for cause in causes for k in range(len(graph)) if lines[cause] >> k & 1}
    return [k for k, parents in enumerate(graph) if node in parents and k in led_to]


def _with_parents(graph: Graph, node: int, causes: tuple[int, ...]) -> Graph:
    """Return the graph in which a node has these parents, without the edges from it that would close a cycle."""
    effects = _led_to(graph, node, causes)
    return tuple(
        causes if k == node else toggled(parents, node) if k in effects else parents for k, parents in enumerate(graph)
    )


def _pays(climber: Climber, graph: Graph, start: Graph, node: int) -> bool:
    """Return whether a node gains a share of what its effects lose in another graph: a climb may win the rest."""
    before, after = climber.scores([(node, graph[node]), (node, start[node])])
    lost = before - after - climber.fall(graph, start)
    return before - after >= GATHERED_SHARE * lost


def _climb_with_causes(climber: Climber, graph: Graph, node: int, start: Graph, tell: Report) -> Better | None:
    """Return what a climb finds from the graph in which a node has other parents, if it is better."""
    if not _pays(climber, graph, start, node):
        return None
    if climber.fall(graph, start) < 0.0:  # few units and one start miss much of what several causes tell together
        climber.grow(differing_families(start, graph))
        climber.polish(differing_families(start, graph))
    forbidden = climber.rules.forbidden.copy()
    forbidden[node] = True
    end, moves = recover(climber, graph, start, RECOVERED_SHARE, tell, climber.rules._replace(forbidden=forbidden))
    end, further = recover(climber, graph, end, RECOVERED_SHARE, tell)
    better = _better_end(climber, graph, end, moves + further, tell)
    return None if better is None else (better[0], moves_between(climber, graph, start) + better[1])


def _better_end(climber: Climber, graph: Graph, end: Graph, moves: list[Move], tell: Report) -> Better | None:
    """Return the graph at the end of moves, and the moves, if it is better than the first one, at last if polished."""
    if climber.fall(graph, end) > -FAR:  # the first graph has grown: scores compare if both have
        climber.grow(differing_families(end, graph))
    if -DETOUR_MARGIN < climber.fall(graph, end) <= 0.0:
        climber.polish([*differing_families(end, graph), *differing_families(graph, end)])
        end, further = climber.climb_once(end, tell)
        moves = moves + further
    return (end, moves) if climber.fall(graph, end) > MIN_GAIN else None


def recover(
    climber: Climber, graph: Graph, other: Graph, share: float, tell: Report = ignored, rules: EdgeRules | None = None
) -> tuple[Graph, list[Move]]:
    """Climb from another graph by moves that each win back a share of what it loses; return the end and the moves.

    Most other graphs are far worse, and moves that gain little do not bring them near.

    Parameters
    ----------
    climber : Climber
        What climbs.
    graph : tuple
        The graph to compare with.
    other : tuple
        The graph to climb from.
    share : float
        Of the loss at the beginning of a climb, that every move has to gain.
    tell : callable
        Called with every move.
    rules : EdgeRules, optional
        May forbid more than those of the climber.
    """
    moves: list[Move] = []
    while True:
        loss = -climber.fall(graph, other)
        other, further = climber.climb_once(other, tell, share * loss, rules)
        moves += further
        if not further:
            return other, moves


def detach(climber: Climber, graph: Graph, node: int) -> Move:
    """Return the move that leaves a node only its required parents."""
    before, after = climber.scores([(node, graph[node]), (node, climber.least[node])])
    return Move("detach", node, node, before - after)


def moves_between(climber: Climber, graph: Graph, other: Graph) -> list[Move]:
    """Return the moves from a graph to another: variables with other parents lose theirs, then get the new ones."""
    least = climber.least
    others = [node for node, _ in differing_families(graph, other)]
    moves = [detach(climber, graph, node) for node in others if graph[node] != least[node]]
    for node in others:
        parents = least[node]
        for cause in sorted({*other[node]} - {*parents}):
            more = toggled(parents, cause)
            before, after = climber.scores([(node, parents)])[0], climber.scores([(node, more)])[0]
            moves.append(Move("insert", cause, node, before - after))
            parents = more
    return moves


class SearchResult(NamedTuple):
    """What a search found.

    Attributes
    ----------
    graph : tuple
        The parents of every node.
    moves : list of Move
        The moves that led there from the graph of the required edges.
    interrupted : bool
        Whether a KeyboardInterrupt ended the search early.
    timed_out : bool
        Whether the scores ran out of time.
    """

    graph: Graph
    moves: list[Move]
    interrupted: bool
    timed_out: bool = False

    @property
    def ended_early(self) -> bool:
        """Whether an interrupt or the time limit ended the search."""
        return self.interrupted or self.timed_out


def greedy_search(
    climber: Climber, callback: Callable[[Move], None] | None, other_start: OtherStart, start_of_noise: OtherStart
) -> SearchResult:
    """Return the parents of every node in the best graph found, and the moves that led to it.

    Parameters
    ----------
    climber : Climber
        The scores, and the moves allowed.
    callback : callable or None
        Called with every move of the first climb, with every tried move of an escape (its ``kept`` is False), and with
        the moves of every accepted escape. It may raise KeyboardInterrupt to end the search.
    other_start : callable
        Returns, given the end of the first climb, a graph to climb from, too; None if there is none.
    start_of_noise : callable
        Returns, given the graph found under the first noise distribution, one whose noise is looked at, too; None if
        there is none. If either graph asks for another distribution, the search climbs from both.

    Returns
    -------
    SearchResult
        The graph and the moves that led to it; after a KeyboardInterrupt or an OutOfTime of the scores, the best graph
        so far. If there is no move yet, a KeyboardInterrupt is raised again.
    """
    search = Search(climber, callback, SearchResult(climber.least, [], False))

    def run() -> None:
        search.climb(search.graph)
        if (other := other_start(search.graph)) is not None:
            search.climb_from(other)
        search.escape()
        graph, moves = search.graph, list(search.moves)
        score = climber.total(graph)
        while search.choose_noise(start_of_noise):
            search.escape()
        if climber.revoke_noise(search.graph, score):
            by_any_noise = search.graph
            search.graph, search.moves = graph, moves
            search.climb(graph)
            search.climb_from(by_any_noise)

    return search.result_of(run)


class Search:
    """The best graph so far, and the moves that led to it.

    Parameters
    ----------
    climber : Climber
        The scores, and the moves allowed.
    callback : callable, optional
        Called with every move; it may raise KeyboardInterrupt to end the search.
    start : SearchResult
        What the search goes on from.
    """

    def __init__(self, climber: Climber, callback: Callable[[Move], None] | None, start: SearchResult):
        self.climber, self.callback = climber, callback or (lambda move: None)
        self.graph, self.moves = start.graph, list(start.moves)

    def result_of(self, run: Callable[[], None]) -> SearchResult:
        """Return what is found when these steps end, or an interrupt or the time limit ends them early."""
        try:
            run()
        except KeyboardInterrupt:
            if not self.moves:
                raise
            return SearchResult(self.graph, self.moves, True)
        except OutOfTime:
            return SearchResult(self.graph, self.moves, False, True)
        return SearchResult(self.graph, self.moves, False)

    def climb_on(self) -> SearchResult:
        """Return what a climb finds from the result of a search by other scores, which chose the noise as well."""

        def run() -> None:
            self.climber.grow(list(enumerate(self.graph)))  # misfit pays for edges
            self.climb(self.graph)

        return self.result_of(run)

    def climb(self, graph: Graph) -> None:
        """Climb from a graph, which becomes the best one."""
        self.graph = graph
        self.graph, _ = self.climber.climb(graph, self._keep)

    def choose_noise(self, start_of_noise: OtherStart) -> bool:
        """Choose the noise distribution by the graph, or by the other start; return whether scores changed.

        Another graph may then be far better. So the climb goes on from this graph, and others start anew.
        """
        other = start_of_noise(self.graph)
        graphs = [graph for graph in (self.graph, other) if graph is not None]
        for graph in graphs:
            if self.climber.choose_noise(graph):
                break
        else:
            return False
        self.climb(self.graph)
        for start in (self.climber.least, *graphs[1:]):
            self.climb_from(start)
        return True

    def climb_from(self, start: Graph) -> None:
        """Climb from another graph, too, and take the end of that climb if it is better."""
        moves = moves_between(self.climber, self.graph, start)
        graph, further = self.climber.climb(start, self._try)
        if self.climber.fall(self.graph, graph) > MIN_GAIN:
            self._take(graph, moves + further)

    def turn(self, edge: tuple[int, int], turned: Graph) -> None:
        """Turn an edge, move on to a graph in which it is turned, and climb from there."""
        (i, j), families = edge, dict(changed_families(self.graph, "reverse", *edge))
        reverse = tuple(families.get(node, parents) for node, parents in enumerate(self.graph))
        first = Move("reverse", i, j, self.climber.fall(self.graph, reverse))
        self._take(turned, [first, *moves_between(self.climber, reverse, turned)])
        self.climb(turned)

    def _keep(self, move: Move, graph: Graph) -> None:
        self.graph = graph
        self.moves.append(move)
        self.callback(move)

    def _try(self, move: Move, graph: Graph) -> None:
        self.callback(move._replace(kept=False))

    def insert_pairs(self) -> None:
        """Insert pairs of causes that gain together, and climb on, until none gains."""
        tried: set[tuple[int, tuple[int, ...], tuple[int, int]]] = set()
        waiting = list(self.climber.scores.pair_gains(list(enumerate(self.graph))))
        while waiting:
            node, causes, promised = waiting.pop(0)
            key = node, self.graph[node], causes
            better = None if key in tried else pair(self.climber, self.graph, node, causes, promised, self._try)
            tried.add(key)
            if better is not None:
                self._take(*better)
                self.climb(self.graph)
                waiting = list(self.climber.scores.pair_gains(list(enumerate(self.graph))))

    def escape(self) -> None:
        """Try to escape from every node once; climb on with polished families if that led to another graph."""
        self.insert_pairs()
        before = self.graph
        for attempt in (detour, gather):
            for node in range(len(before)):
                better = attempt(self.climber, self.graph, node, self._try)
                if better is not None:
                    self._take(*better)
        if self.graph != before:
            self.climb(self.graph)

    def _take(self, graph: Graph, moves: list[Move]) -> None:
        self.graph = graph
        self.moves += moves
        for move in moves:
            self.callback(move)
