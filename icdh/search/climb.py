"""Greedy climbing: the best insertion, deletion or reversal of one edge, again and again, until none pays.

Scoring a move is expensive; an optimistic estimate of its gain is cheap. Moves with the largest estimates are scored
first, until one gains more than the estimates of all that are left. Moves without a positive estimate are never scored.

Every climb ends: scores are finite, and the total of a graph, rounded once, falls strictly with every move, so no
graph occurs twice.

A move changes one edge of a directed acyclic graph, and so families. A family is a node with its parents, written
(node, parents), parents a sorted tuple.

Under the prior over graphs the price of an edge grows with the number of variables. Among N variables a node has about
N candidate parents. The best of the false ones gains about log N nats by chance. A price of edges that suits few
variables is therefore too low for many. The prior probability of an edge must fall like 1 / N to keep the expected
number of parents constant. The extended BIC penalises the number of parent sets of the same size; for few parents among
many variables this is also about log N for each parent.

References
----------
Chen and Chen, "Extended Bayesian information criteria for model selection with large model spaces", Biometrika 95
(2008).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from icdh._utils.arrays import Floats, Integers, Mask
from icdh.knowledge import EdgeRules

Family = tuple[int, tuple[int, ...]]
Graph = tuple[tuple[int, ...], ...]
DOUBTFUL = 6.0  # nats: a direction that loses less is in doubt
FEW_VARIABLES = 10  # prices of edges were chosen on tables of so many
KINDS = ("insert", "delete", "reverse")
MIN_GAIN = 1e-4  # nats
Pair: TypeAlias = tuple[int, tuple[int, int], float]  # a node, two further parents, and the nats that they promise
RESOLUTION = 1e-7  # share of the evidence: two scores that differ by less are equal but for rounding
FIRST_BATCH, LARGEST_BATCH = 2, 32  # moves scored at once: twice as many each time while none of them is the best
CONTENDER_MARGIN = 100.0  # nats that polish may gain for a family that lacks a parent


class Move(NamedTuple):
    """One step of the search, and by how much the score fell.

    The kind is "insert", "delete" or "reverse" of the edge cause -> effect, or "detach" of the effect from all causes
    that are not required (``cause`` then repeats it). Moves of a detour that may be rejected have ``kept`` False.
    """

    kind: str
    cause: int
    effect: int
    gain: float
    kept: bool = True


Report: TypeAlias = Callable[[Move, Graph], None]


def parents_matrix(graph: Graph) -> np.ndarray:
    """Return the adjacency matrix of a graph, bool, shape (N, N)."""
    matrix = np.zeros((len(graph), len(graph)), dtype=bool)
    for node, parents in enumerate(graph):
        matrix[list(parents), node] = True
    return matrix


def with_ancestors(graph: Graph, known: tuple[Graph, list[int]] | None = None) -> list[int]:
    """Return, for every node, itself and its ancestors as the bits of a number: far faster than a matrix of N^2.

    Parameters
    ----------
    graph : tuple
        The parents of every node.
    known : tuple, optional
        Another graph of these nodes, and what this function returns for it. Only what differs is computed anew.
    """
    lines, left = [0] * len(graph), list(range(len(graph)))
    if known is not None:
        differing = sum(1 << node for node, _ in differing_families(graph, known[0]))
        left = [node for node, line in enumerate(known[1]) if line & differing]
        lines = known[1].copy()
        for node in left:
            lines[node] = 0
    for node in left:
        waiting = [] if lines[node] else [node]
        while waiting:
            last = waiting[-1]
            unknown = [parent for parent in graph[last] if not lines[parent]]
            waiting += unknown
            if not unknown:
                line = 1 << waiting.pop()
                for parent in graph[last]:
                    line |= lines[parent]
                lines[last] = line
    return lines


def changed_families(graph: Graph, kind: str, cause: int, effect: int) -> list[Family]:
    """Return the families that a move changes, as they are after it."""
    changed = [(effect, toggled(graph[effect], cause))]
    return changed if kind != "reverse" else [*changed, (cause, toggled(graph[cause], effect))]


def differing_families(graph: Graph, other: Graph) -> list[Family]:
    """Return the families of a graph that another one of these nodes does not have."""
    return [(node, parents) for node, parents in enumerate(graph) if parents != other[node]]


def toggled(parents: tuple[int, ...], variable: int) -> tuple[int, ...]:
    """Return parents with a variable more, or without it if it was one of them."""
    return tuple(sorted({*parents} ^ {variable}))


def price_of_width(n_variables: int) -> float:
    """Return the extra price of an edge beyond that among ten variables, in nats: log(N / 10), at least 0.

    Parameters
    ----------
    n_variables : int
        N.
    """
    return math.log(max(n_variables, FEW_VARIABLES) / FEW_VARIABLES)


class FamilyScores(Protocol):
    """The score of families, evaluated in batches so that they may be computed in parallel."""

    def __call__(self, families: Sequence[Family]) -> Sequence[float]:
        """Return the score of each family, a finite number; lower is better."""
        ...

    def gain_estimates(self, families: Sequence[Family]) -> Sequence[Floats]:
        """Return, for each variable, an optimistic estimate of the fall of each score if it is added, or removed."""
        ...

    def polish(self, families: Sequence[Family]) -> None:
        """Spend more effort on these families: later calls may return lower scores for them."""

    def try_deletions(self, families: Sequence[Family]) -> None:
        """Fit what lacks one parent of these families from their fits: later calls may return lower scores for it."""

    def grow(self, families: Sequence[Family]) -> bool:
        """Let the models of a graph's families grow; return whether scores changed. Growth must come to an end."""
        return False

    def choose_noise(self, families: Sequence[Family]) -> bool:
        """Choose the noise distribution, given the families of the best graph; return whether scores changed."""
        return False

    def revoke_noise(self, families: Sequence[Family], score_before: float) -> bool:
        """Take the choice back if the best graph found by it gains little over one of that score from before it.

        Return whether scores changed.
        """
        return False

    def pair_gains(self, families: Sequence[Family]) -> Sequence[Pair]:
        """Return two further parents each that may gain together, given the families of a graph, the best first."""
        return ()


def ignored(move: Move, graph: Graph) -> None:
    """Hear of a move, and do nothing."""


class Climber:
    """The moves allowed, and the climbs they make up.

    Parameters
    ----------
    scores : FamilyScores
        The decomposable score; lower is better.
    rules : EdgeRules
        Edges that must not, and that must, appear.
    max_parents : int
        The most parents of a node, unless more are required.
    contender_margin : float
        The nats that polish may gain for a family that lacks a parent.
    doubt : float
        The nats, such as the tolerance of fits, that an insertion or a reversal must gain, but no deletion.

    Attributes
    ----------
    least : tuple
        The graph of the required edges alone.
    """

    def __init__(
        self,
        scores: FamilyScores,
        rules: EdgeRules,
        max_parents: int,
        contender_margin: float = CONTENDER_MARGIN,
        doubt: float = 0.0,
    ):
        self.scores, self.rules, self.max_parents = scores, rules, max_parents
        self.contender_margin, self.doubt = contender_margin, doubt
        self.least: Graph = rules.required_parents
        shape = rules.forbidden.shape
        self._scored: dict[Family, tuple[int, ...]] = {}  # for each family, the variables whose change was scored
        self._gains = np.zeros(shape)  # of toggling i -> j, scored or estimated: the columns that are up to date
        self._certain = np.zeros(shape, dtype=bool)  # which of them are scored
        self._own = np.zeros(len(self.least))  # scores of the families of the graph
        self._up_to_date: dict[int, tuple[int, ...]] = {}  # the parents that a node's columns and own score are about
        self._hopeful = np.zeros(shape, dtype=bool)  # the insertions that may gain: few of the N^2 edges
        self._last = self.least, with_ancestors(self.least)  # the graph looked at last

    def total(self, graph: Graph) -> float:
        """Return the score of a graph."""
        return math.fsum(self.scores(list(enumerate(graph))))

    def fall(self, graph: Graph, other: Graph) -> float:
        """Return by how much the score falls from a graph to another, a sum over what differs, rounded once."""
        before = self.scores(differing_families(graph, other))
        after = self.scores(differing_families(other, graph))
        return math.fsum([*before, *(-score for score in after)])

    def climb(self, graph: Graph, report: Report = ignored) -> tuple[Graph, list[Move]]:
        """Climb to a graph that is a local optimum even after its families are polished and grown."""
        graph, moves = self.climb_once(graph, report)
        while True:
            self.polish(self._contenders(graph))
            graph, further = self.climb_once(graph, report)
            if not further:
                self.try_deletions(list(enumerate(graph)))
                graph, further = self.climb_once(graph, report)
            moves += further
            if not further and not self.grow(list(enumerate(graph))):
                return graph, moves

    def polish(self, families: Sequence[Family]) -> None:
        """Spend more effort on families."""
        before = self.scores(families)
        self.scores.polish(families)
        for (node, _), old, new in zip(families, before, self.scores(families), strict=True):
            if new != old:
                self._up_to_date.pop(node, None)

    def try_deletions(self, families: Sequence[Family]) -> None:
        """Fit what lacks one parent of families from their fits."""
        self.scores.try_deletions(families)
        self._up_to_date.clear()

    def grow(self, families: Sequence[Family]) -> bool:
        """Let the models of a graph's families grow; return whether scores changed."""
        return self._forget_if(self.scores.grow(families))

    def choose_noise(self, graph: Graph) -> bool:
        """Choose the noise distribution by the families of a graph; return whether scores changed."""
        changed = self.scores.choose_noise(list(enumerate(graph)))
        self._up_to_date.clear()  # families may have better fits, even where the noise stays
        return self._forget_if(changed)

    def revoke_noise(self, graph: Graph, score_before: float) -> bool:
        """Take the choice of the noise back if a graph gains little over one from before it; return whether it was."""
        return self._forget_if(self.scores.revoke_noise(list(enumerate(graph)), score_before))

    def _forget_if(self, changed: bool) -> bool:
        """Forget what moves gain if scores changed; return whether they did."""
        if changed:
            self._up_to_date.clear()
            self._scored.clear()  # moves that were worth scoring need not be so any more
        return changed

    def climb_once(
        self, graph: Graph, report: Report = ignored, least_gain: float = 0.0, rules: EdgeRules | None = None
    ) -> tuple[Graph, list[Move]]:
        """Climb to a graph that no move improves by more than ``least_gain``, by the scores as they are.

        ``rules`` may forbid more than those of the climber.
        """
        moves = []
        while (best := self._best_move(graph, rules or self.rules, least_gain)) is not None:
            move, graph = best
            moves.append(move)
            report(move, graph)
        return graph, moves

    def _contenders(self, graph: Graph) -> list[Family]:
        """Return the families of a graph, and those with a parent fewer that score nearly as well."""
        families = list(enumerate(graph))
        fewer = [
            (node, toggled(parents, i)) for node, parents in families for i in parents if i not in self.least[node]
        ]
        limits = np.add(self.scores(families), self.contender_margin)
        close = [family for family, score in zip(fewer, self.scores(fewer), strict=True) if score < limits[family[0]]]
        return sorted({*families, *close})

    def _best_move(self, graph: Graph, rules: EdgeRules, least_gain: float) -> tuple[Move, Graph] | None:
        self._update(graph)
        tie = max(MIN_GAIN, RESOLUTION * float(np.abs(self._own).sum()))
        least_gain = max(tie, least_gain)
        lines = with_ancestors(graph, self._last)
        self._last = graph, lines
        hopeful = np.divmod(np.flatnonzero(self._hopeful), len(graph))
        legal = legal_moves(graph, rules, self.max_parents, hopeful, lines)
        prospects, count = Prospects(legal, self._gains, self._certain, self.doubt, least_gain), FIRST_BATCH
        # A tie is no reason to go on.
        while prospects.largest > least_gain and prospects.best < prospects.largest - tie:
            chosen, count = prospects.first(count, tie), min(2 * count, LARGEST_BATCH)
            self._score(graph, prospects.moves(chosen))
            prospects.update(chosen)
        if not prospects.largest > least_gain:
            return None
        kind, cause, effect, gain = prospects.best_move(tie)
        move = kind, cause, effect
        changed = changed_families(graph, *move)
        scores = self._own.copy()
        scores[[node for node, _ in changed]] = self.scores(changed)
        if not math.fsum(scores) < math.fsum(self._own):  # rounding hides a smaller gain
            return None
        families = dict(changed)
        return Move(*move, gain), tuple(families.get(node, parents) for node, parents in enumerate(graph))

    def _update(self, graph: Graph) -> None:
        """Update the gains of every node whose parents or scores have changed; a move changes one or two nodes."""
        changed = [family for family in enumerate(graph) if self._up_to_date.get(family[0]) != family[1]]
        changes = zip(changed, self.scores(changed), self.scores.gain_estimates(changed), strict=True)
        for (node, parents), score, gains in changes:
            self._up_to_date.pop(node, None)  # until the whole of its column is there
            self._own[node], self._gains[:, node], self._certain[:, node] = score, gains, False
            self._hopeful[:, node] = gains > MIN_GAIN
            self._hopeful[list(parents), node] = False
        self._fill(graph, [(i, family[0]) for family in changed for i in self._scored.get(family, ())])
        self._up_to_date.update(changed)

    def _score(self, graph: Graph, moves: Sequence[tuple[bool, int, int]]) -> None:
        """Score the families that these moves (whether it is a reversal, cause, effect) change."""
        edges = [(i, j) for _, i, j in moves] + [(j, i) for turns, i, j in moves if turns]
        edges = [edge for edge in dict.fromkeys(edges) if not self._certain[edge]]
        for i, j in edges:
            self._scored[j, graph[j]] = (*self._scored.get((j, graph[j]), ()), i)
        self._fill(graph, edges)

    def _fill(self, graph: Graph, edges: Sequence[tuple[int, int]]) -> None:
        scores = self.scores([*((j, toggled(graph[j], i)) for i, j in edges), *((j, graph[j]) for _, j in edges)])
        for (i, j), before, after in zip(edges, scores[len(edges) :], scores, strict=False):
            gain = before - after
            self._gains[i, j] = -np.inf if math.isnan(gain) else gain
            self._certain[i, j] = True
            self._hopeful[i, j] = gain > MIN_GAIN and i not in graph[j]


def legal_moves(
    graph: Graph, rules: EdgeRules, max_parents: int, insertions: tuple[Integers, ...], lines: list[int]
) -> tuple[Integers, Integers, Integers]:
    """Return which changes of one edge leave an allowed acyclic graph: the places in `KINDS`, causes and effects.

    They are in this order: by kind, then by cause, then by effect.

    Parameters
    ----------
    graph : tuple
        The parents of every node.
    rules : EdgeRules
        Edges that must not appear, and that must be neither deleted nor reversed.
    max_parents : int
        The most parents of a node.
    insertions : tuple of ndarray of int
        Causes and effects of the edges to insert that are in question, by cause, then by effect: none of the graph's.
    lines : list of int
        What `with_ancestors` returns for the graph.
    """
    causes, effects = insertions
    full = np.array([len(parents) for parents in graph]) >= max_parents
    allowed = ~(rules.forbidden[causes, effects] | full[effects] | _are_ancestors(lines, effects, causes))
    inserted = np.stack([causes[allowed], effects[allowed]])
    edges = sorted((cause, effect) for effect, parents in enumerate(graph) for cause in parents)
    edges = [edge for edge in edges if not rules.required[edge]]
    acyclic = [
        (cause, effect)
        for cause, effect in edges
        if not [other for other in graph[effect] if other != cause and lines[other] >> cause & 1]
    ]
    deleted, turned = (np.array(some, dtype=np.int64).reshape(-1, 2).T for some in (edges, acyclic))
    turned = turned[:, ~(rules.forbidden[turned[1], turned[0]] | full[turned[0]])]
    found = inserted, deleted, turned
    kinds = np.repeat(np.arange(len(KINDS)), [ends.shape[1] for ends in found])
    return kinds, *np.concatenate(found, axis=1)


def _are_ancestors(lines: list[int], ancestors: Integers, nodes: Integers) -> Mask:
    """Return whether each of these nodes has that ancestor, or is it."""
    size = -(-len(lines) // 8)
    octets = np.frombuffer(b"".join(line.to_bytes(size, "little") for line in lines), dtype=np.uint8)
    bits: Mask = (octets[nodes * size + ancestors // 8] >> (ancestors % 8).astype(np.uint8) & 1).astype(bool)
    return bits


class Prospects:
    """The legal moves of a graph: what those that are scored gain, and those that may gain more, the largest first.

    An insertion shares its gain with no other move. So only what was scored is looked at again, unless that is a
    deletion, which shares its gain with the reversal of the edge.

    Parameters
    ----------
    moves : tuple of ndarray of int, each of shape (L,)
        The moves, as of `legal_moves`: kinds, causes and effects.
    gains, scored : ndarray, shape (N, N)
        Of toggling i -> j: what it gains, by its score or an estimate, and whether it is scored. They are read again.
    doubt : float
        The nats that an insertion or a reversal must gain, but no deletion.
    least_gain : float
        Moves that may gain no more are left out.

    Attributes
    ----------
    best, largest : float
        The largest gain of a scored move, and of all.
    """

    def __init__(
        self, moves: tuple[Integers, Integers, Integers], gains: Floats, scored: Mask, doubt: float, least_gain: float
    ):
        kinds, causes, effects = moves
        self._kinds, self._ends, self._gains, self._scored = kinds, (causes, effects), gains, scored
        self._turns, self._least_gain = kinds == KINDS.index("reverse"), least_gain
        self._turned = effects[self._turns], causes[self._turns]
        self._doubt = np.where(kinds == KINDS.index("delete"), 0.0, doubt)
        self._look()

    def _look(self) -> None:
        self._estimates, self._certain = self._gains[self._ends] - self._doubt, self._scored[self._ends]
        self._estimates[self._turns] += self._gains[self._turned]
        self._certain[self._turns] &= self._scored[self._turned]
        self._rank()

    def _rank(self) -> None:
        self.best = float(self._estimates.max(where=self._certain, initial=-np.inf))
        self._waiting = np.flatnonzero(~self._certain & (self._estimates > max(self._least_gain, self.best)))
        self.largest = float(self._estimates[self._waiting].max(initial=self.best))

    def first(self, count: int, tie: float) -> Integers:
        """Return which moves to score next, so many: those that may gain most, and more than the best one."""
        hopes = self._estimates[self._waiting]
        place = max(hopes.size - count, 0)
        near = self._waiting[hopes >= np.partition(hopes, place)[place] - tie]
        chosen: Integers = near[first_largest(self._estimates[near], count, tie)]
        return chosen

    def moves(self, chosen: Integers) -> list[tuple[bool, int, int]]:
        """Return whether each of these moves is a reversal, its cause and its effect."""
        return list(zip(*(part[chosen].tolist() for part in (self._turns, *self._ends)), strict=True))

    def update(self, chosen: Integers) -> None:
        """Read what moves gain that were the first, and are scored now."""
        if (self._kinds[chosen] != KINDS.index("insert")).any():
            return self._look()
        self._estimates[chosen] = self._gains[self._ends[0][chosen], self._ends[1][chosen]] - self._doubt[chosen]
        self._certain[chosen] = True
        self._rank()

    def best_move(self, tie: float) -> tuple[str, int, int, float]:
        """Return the first move within a tie of the largest gain: its kind, cause and effect, and what it gains."""
        k = int(np.argmax(self._certain & (self._estimates >= self.largest - tie)))
        gain = float(self._estimates[k] + self._doubt[k])
        return KINDS[self._kinds[k]], int(self._ends[0][k]), int(self._ends[1][k]), gain


def first_largest(values: Floats, count: int, tie: float) -> Integers:
    """Return where the largest values are, the largest first; of values within ``tie`` of the largest, the first."""
    left, places = values.copy(), []
    for _ in range(min(count, values.size)):
        places.append(int(np.argmax(left >= left.max() - tie)))
        left[places[-1]] = -np.inf
    return np.array(places, dtype=np.int64)
