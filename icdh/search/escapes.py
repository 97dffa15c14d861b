"""Greedy search over directed acyclic graphs for a score that is a sum over families; a lower score is better.

The search climbs from the graph of the required edges, by default the empty one. It then tries to leave the local
optimum: each node in turn loses all parents that are not required, the climb goes on while it gets no other, then
freely, and the outcome stays if it is better. Where there is no escape the families of the graph are refined, and the
search goes on if that leads to another. Then the scores settle on the graph; if that changed them the search goes on
from there, or from where a climb from the beginning leads now.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from icdh._clock import OutOfTime
from icdh.search.climb import MIN_GAIN, Climber, FamilyScores
from icdh.search.moves import Graph, Move

FAR = 100.0  # nats: more than what further hidden units make up for
REFINING_MARGIN = 10.0  # nats: what refining the families of a detour may make up for
LEAST_GAIN = 1.0  # nats that another round of escapes is worth


class SearchResult(NamedTuple):
    """What a search found.

    Attributes
    ----------
    graph : tuple
        The parents of every node.
    moves : list of Move
        What led there from the graph of the required edges.
    interrupted : bool
        Whether a KeyboardInterrupt ended the search early.
    timed_out : bool
        Whether the scores had no more time.
    """

    graph: Graph
    moves: list
    interrupted: bool
    timed_out: bool = False

    @property
    def ended_early(self) -> bool:
        """Whether the search ended before it was at its end."""
        return self.interrupted or self.timed_out


def greedy_search(
    scores: FamilyScores,
    forbidden: np.ndarray,
    *,
    max_parents: int = 8,
    required: np.ndarray | None = None,
    callback: Callable[[Move], None] | None = None,
    start: SearchResult | None = None,
) -> SearchResult:
    """Return the parents of every node in the best graph found, and the moves that led to it.

    Parameters
    ----------
    scores : FamilyScores
        The decomposable score.
    forbidden : ndarray of bool, shape (N, N)
        [i, j] is True where the edge i -> j must not appear (the diagonal always).
    max_parents : int
        The most parents of a node, unless more are required.
    required : ndarray of bool, shape (N, N), optional
        [i, j] is True where the edge i -> j of an acyclic graph must appear.
    callback : callable, optional
        Called with every move of the first climb, with every move of an escape as it is tried (its ``kept`` is False),
        and with the moves of every accepted escape. It may raise KeyboardInterrupt to end the search.
    start : SearchResult, optional
        What a search by other scores found: the climb goes on from there, and there are no escapes.

    Returns
    -------
    SearchResult
        The graph and the moves that led to it. After a KeyboardInterrupt, the best graph so far; the interrupt is
        raised again if there is no move yet. After an OutOfTime of the scores too, whether there is a move or not.
    """
    climber = Climber(scores, forbidden, max_parents, required)
    search = _Search(climber, callback or (lambda move: None), [] if start is None else list(start.moves))
    try:
        search.climb(climber.least_graph() if start is None else start.graph)
        if start is None:
            search.escape()
        while start is None and search.choose_noise():
            search.escape()
    except KeyboardInterrupt:
        if not search.moves:
            raise
        return SearchResult(search.graph, search.moves, True)
    except OutOfTime:
        return SearchResult(search.graph, search.moves, False, True)
    return SearchResult(search.graph, search.moves, False)


class _Search:
    """The best graph so far, and the moves that led to it."""

    def __init__(self, climber, callback, moves):
        self.climber = climber
        self.callback = callback
        self.graph, self.moves = (), moves

    def climb(self, graph):
        self.graph = graph
        self.graph, _ = self.climber.climb(graph, self._keep)

    def choose_noise(self):
        """Let the scores settle on the graph; return whether they changed.

        Then another graph may be the best by far: the climb goes on from this one, and another one begins anew.
        """
        if not self.climber.choose_noise(self.graph):
            return False
        self.climb(self.graph)
        least = self.climber.least_graph()
        moves = [self._detach(node, own) for node, own in enumerate(least) if self.graph[node] != own]
        graph, further = self.climber.climb(least, self._try)
        self._take_if_better(graph, moves + further)
        return True

    def _keep(self, move, graph):
        self.graph = graph
        self.moves.append(move)
        self.callback(move)

    def _try(self, move, graph):
        self.callback(move._replace(kept=False))

    def escape(self):
        """Escape from every node, until the graph where that leads stays one when its families are refined."""
        while self._escape_from_every_node():
            graph = self.graph
            self.climb(graph)
            if self.graph == graph:
                return

    def _escape_from_every_node(self):
        """Detach one node after the other, round and round, until no escape from any leads to a much better graph.

        Returns whether any led to a better one.
        """
        start = self.graph
        node, failed = 0, 0
        while failed < len(self.graph):
            failed = 0 if self._escape(node) > LEAST_GAIN else failed + 1
            node = (node + 1) % len(self.graph)
        return self.graph != start

    def _escape(self, node):
        """Detach a node from all parents that are not required; return what that gains."""
        least = self.climber.least_graph()[node]
        if self.graph[node] == least:
            return 0.0
        return self._take_if_better(*self._detour(node, least))

    def _take_if_better(self, graph, detour):
        gain = self.climber.total(self.graph) - self.climber.total(graph)
        if not gain > MIN_GAIN:
            return 0.0
        self.graph = graph
        self.moves += detour
        for move in detour:
            self.callback(move)
        return gain

    def _detach(self, node, least):
        """Return the move that leaves a node the least parents."""
        before, after = self.climber.scores([(node, self.graph[node]), (node, least)])
        return Move("detach", node, node, before - after)

    def _detour(self, node, least):
        """Climb while the detached node gets no parent, then freely.

        What then comes close to the graph at hand, and is not better yet, is refined as that is.
        """
        climber = self.climber
        moves = [self._detach(node, least)]
        source = climber.forbidden.copy()
        source[:, node] = True
        graph = tuple(least if j == node else parents for j, parents in enumerate(self.graph))
        graph, first = climber.climb_once(graph, source, self._try)
        if not first:  # nothing wants the node for a parent: all would come back as it was
            return self.graph, []
        graph, second = climber.climb_once(graph, climber.forbidden, self._try)
        third = []
        if self._is_within(FAR, graph):
            climber.grow(graph)  # the graph at hand has all the room it asks for: only so do the two compare
        if self._is_within(REFINING_MARGIN, graph) and not self._is_within(0.0, graph):
            climber.scores.polish([*enumerate(graph), *enumerate(self.graph)])
            graph, third = climber.climb_once(graph, climber.forbidden, self._try)
        return graph, moves + first + second + third

    def _is_within(self, nats, graph):
        return self.climber.total(graph) < self.climber.total(self.graph) + nats
