"""Greedy search over directed acyclic graphs for a score that is a sum over families.

A family is a node with its parents, written (node, parents), parents a sorted tuple; a lower score is better. The
search climbs from the empty graph by the best insertion, deletion or reversal of one edge until none pays. It then
tries to leave the local optimum: each node in turn loses all its parents, the climb goes on with that node kept a
source, then freely, and the outcome stays if it is better.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

Family = tuple[int, tuple[int, ...]]
Graph = tuple[tuple[int, ...], ...]


class Move(NamedTuple):
    """One step of the search, and by how much the score fell.

    The kind is "insert", "delete" or "reverse" of the edge cause -> effect, or "detach" of the effect from all its
    causes (``cause`` then repeats it).
    """

    kind: str
    cause: int
    effect: int
    gain: float


class FamilyScores(Protocol):
    """The score of families, evaluated in batches so that they may be computed in parallel."""

    def __call__(self, families: Sequence[Family]) -> Sequence[float]:
        """Return the score of each family."""

    def refine(self, families: Sequence[Family]) -> None:
        """Spend more effort on these families: later calls may return lower scores for them."""


def greedy_search(
    scores: FamilyScores,
    forbidden: np.ndarray,
    *,
    max_parents: int = 8,
    callback: Callable[[Move], None] | None = None,
) -> tuple[Graph, list[Move]]:
    """Return the parents of every node in the best graph found, and the moves that led to it.

    Parameters
    ----------
    scores : FamilyScores
        The decomposable score.
    forbidden : ndarray of bool, shape (N, N)
        [i, j] is True where the edge i -> j must not appear (the diagonal always).
    max_parents : int
        The most parents of a node.
    callback : callable, optional
        Called with every move of the first climb, and with the moves of every accepted escape.

    Returns
    -------
    tuple
        The graph, a tuple of parents for each node, and the list of moves.
    """
    report = callback or (lambda move: None)
    climber = _Climber(scores, forbidden, max_parents)
    graph, moves = climber.climb(((),) * forbidden.shape[0], report)
    improved = True
    while improved:
        improved = False
        for node in range(len(graph)):
            if not graph[node]:
                continue
            escape, detour = climber.escape(graph, node)
            if climber.total(escape) < climber.total(graph) - _MIN_GAIN:
                graph, improved = escape, True
                moves += detour
                for move in detour:
                    report(move)
    return graph, moves


_MIN_GAIN = 1e-6


class _Climber:
    """The moves allowed, and the climbs they make up."""

    def __init__(self, scores, forbidden, max_parents):
        self.scores = scores
        self.forbidden = forbidden
        self.max_parents = max_parents

    def total(self, graph):
        """Return the score of a graph."""
        return sum(self.scores(list(enumerate(graph))))

    def escape(self, graph, node):
        """Take all parents from a node, climb while it stays a source, then climb freely."""
        detached = tuple(() if j == node else parents for j, parents in enumerate(graph))
        before, after = self.scores([(node, graph[node]), (node, ())])
        moves = [Move("detach", node, node, before - after)]
        source = self.forbidden.copy()
        source[:, node] = True
        detached, first = self._climb_once(detached, source)
        detached, second = self.climb(detached)
        return detached, moves + first + second

    def climb(self, graph, report=None):
        """Climb to a local optimum that stays one when its families are refined."""
        graph, moves = self._climb_once(graph, self.forbidden, report)
        while True:
            self.scores.refine(_families_with_fewer_parents(graph))
            graph, further = self._climb_once(graph, self.forbidden, report)
            moves += further
            if not further:
                return graph, moves

    def _climb_once(self, graph, forbidden, report=None):
        moves = []
        while (best := self._best_move(graph, forbidden)) is not None:
            move, graph = best
            moves.append(move)
            if report is not None:
                report(move)
        return graph, moves

    def _best_move(self, graph, forbidden):
        candidates = legal_moves(graph, forbidden, self.max_parents)
        changes = [changed_families(graph, *move) for move in candidates]
        needed = sorted({family for change in changes for family in change} | set(enumerate(graph)))
        score = dict(zip(needed, self.scores(needed), strict=True))
        gains = [sum(score[node, graph[node]] - score[node, new] for node, new in change) for change in changes]
        if not gains or max(gains) <= _MIN_GAIN:
            return None
        best = int(np.argmax(gains))
        changed = dict(changes[best])
        graph = tuple(changed.get(node, parents) for node, parents in enumerate(graph))
        return Move(*candidates[best], gains[best]), graph


def reachability(graph: Graph) -> np.ndarray:
    """Return the matrix whose [i, j] is True where a directed path leads from i to j, or i = j."""
    n_variables = len(graph)
    reaches = np.eye(n_variables, dtype=bool)
    pending = set(range(n_variables))
    while pending:
        ready = [j for j in pending if pending.isdisjoint(graph[j])]
        for j in ready:
            reaches[:, j] |= reaches[:, list(graph[j])].any(axis=1)
        pending.difference_update(ready)
    return reaches


def legal_moves(graph: Graph, forbidden: np.ndarray, max_parents: int) -> list[tuple[str, int, int]]:
    """Return (kind, cause, effect) of every change of one edge that leaves an allowed acyclic graph."""
    reaches = reachability(graph)
    moves = []
    for effect, causes in enumerate(graph):
        for cause in range(len(graph)):
            if cause in causes:
                moves.append(("delete", cause, effect))
                detour = any(reaches[cause, other] for other in causes if other != cause)
                if not (detour or forbidden[effect, cause] or len(graph[cause]) >= max_parents):
                    moves.append(("reverse", cause, effect))
            elif not (forbidden[cause, effect] or reaches[effect, cause] or len(causes) >= max_parents):
                moves.append(("insert", cause, effect))
    return moves


def changed_families(graph: Graph, kind: str, cause: int, effect: int) -> list[Family]:
    """Return the families that a move puts in place."""
    if kind == "insert":
        return [(effect, _with(graph[effect], cause))]
    without = (effect, _without(graph[effect], cause))
    return [without] if kind == "delete" else [without, (cause, _with(graph[cause], effect))]


def _families_with_fewer_parents(graph):
    """Return the families of the graph and those with one parent taken away."""
    fewer = [(node, _without(parents, k)) for node, parents in enumerate(graph) for k in parents]
    return sorted(set(enumerate(graph)) | set(fewer))


def _with(parents, new):
    return tuple(sorted((*parents, new)))


def _without(parents, old):
    return tuple(k for k in parents if k != old)
