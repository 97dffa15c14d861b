"""Greedy search over directed acyclic graphs for a score that is a sum over families.

A family is a node with its set of parents, written (node, parents) with parents a sorted tuple. The search starts from
the empty graph and makes the best of all insertions, deletions and reversals of one edge until none lowers the score.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

Family = tuple[int, tuple[int, ...]]


class Move(NamedTuple):
    """One step of the search: what was done to the edge cause -> effect, and the nats it gained."""

    kind: str
    cause: int
    effect: int
    gain: float


def greedy_search(
    family_scores: Callable[[Sequence[Family]], Sequence[float]],
    forbidden: np.ndarray,
    *,
    max_parents: int = 8,
    min_gain: float = 1e-6,
    callback: Callable[[Move], None] | None = None,
) -> tuple[list[tuple[int, ...]], list[Move]]:
    n_variables = forbidden.shape[0]
    parents = [()] * n_variables
    moves = []
    while True:
        candidates = _legal_moves(parents, forbidden, max_parents)
        changes = [_changed_families(parents, *move) for move in candidates]
        needed = sorted({family for change in changes for family in change} | set(enumerate(parents)))
        score = dict(zip(needed, family_scores(needed), strict=True))
        gains = [
            sum(score[node, parents[node]] - score[node, changed] for node, changed in change) for change in changes
        ]
        best = int(np.argmax(gains)) if gains else -1
        if best < 0 or gains[best] <= min_gain:
            return parents, moves
        for node, changed in changes[best]:
            parents[node] = changed
        moves.append(Move(*candidates[best], gains[best]))
        if callback is not None:
            callback(moves[-1])


def ancestors(parents: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Return the reachability matrix: [i, j] is True where a directed path leads from i to j (i = j included)."""
    n_variables = len(parents)
    reaches = np.eye(n_variables, dtype=bool)
    pending = set(range(n_variables))
    while pending:
        ready = [j for j in pending if pending.isdisjoint(parents[j])]
        for j in ready:
            reaches[:, j] |= reaches[:, list(parents[j])].any(axis=1)
        pending.difference_update(ready)
    return reaches


def _legal_moves(parents, forbidden, max_parents):
    """Return (kind, cause, effect) of every move that keeps the graph acyclic, within max_parents and allowed."""
    reaches = ancestors(parents)
    moves = []
    for effect, causes in enumerate(parents):
        for cause in range(len(parents)):
            if cause in causes:
                moves.append(("delete", cause, effect))
                others = [k for k in causes if k != cause]
                detour = reaches[cause, others].any()
                if not (detour or forbidden[effect, cause] or len(parents[cause]) >= max_parents):
                    moves.append(("reverse", cause, effect))
            elif not (forbidden[cause, effect] or reaches[effect, cause] or len(causes) >= max_parents):
                moves.append(("insert", cause, effect))
    return moves


def _changed_families(parents, kind, cause, effect):
    """Return the families that a move puts in place."""
    if kind == "insert":
        return [(effect, with_parent(parents[effect], cause))]
    without = (effect, without_parent(parents[effect], cause))
    if kind == "delete":
        return [without]
    return [without, (cause, with_parent(parents[cause], effect))]


def with_parent(parents, new):
    return tuple(sorted((*parents, new)))


def without_parent(parents, old):
    return tuple(k for k in parents if k != old)
