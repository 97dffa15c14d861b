"""Search over orders of the variables, for a score whose change by each parent is known at once.

Along an order every variable has parents among those before it that neither a further one improves nor the loss of one.
Each variable in turn moves to the place of the order where the graph scores best, until none moves. On its way a family
changes only where it loses a parent, or where a further one pays. An order is worth many graphs: where a climb over
graphs has to turn a chain edge by edge, past worse graphs, here one variable moves.

Such searches end at local optima, too. So a few pairs of variables swap their places in the best order, the search goes
on from there, and the end stays if it is better (iterated local search). Parents that pay only together are missed as
long as they enter one by one. So in the end each variable may begin with all before it, and lose those that do not pay.

References
----------
Andrews, Ramsey, Sanchez-Romero, Camchong, Kummerfeld, "Fast scalable and accurate discovery of DAGs using the best
order score search and grow-shrink trees", NeurIPS 2023.
Wienöbst, Henckel, Weichwald, "Embracing discrete search: a reasonable approach to causal structure learning",
arXiv:2510.04970, 2025.
"""

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from icdh._utils.arrays import Floats, Mask
from icdh.graphs import causes_first
from icdh.knowledge import EdgeRules
from icdh.search.climb import MIN_GAIN, Graph, toggled

DIGITS = 6  # of gains: of those that are equal but for rounding the first one counts
Parents = tuple[int, ...]
Gains = Callable[[int, Parents], Floats]
Choice = tuple[Parents, float]  # parents, and by how much the score falls with them


def search_orders(
    gains: Gains, start: Graph, rules: EdgeRules, max_parents: int, n_swaps: int = 0, most_at_once: int = 0
) -> Graph:
    """Return the parents of every variable in the graph of the best order found.

    Parameters
    ----------
    gains : callable
        Returns, for a variable and its parents, by how much the score falls if each variable is added or removed.
    start : tuple
        A graph, at which the search begins.
    rules : EdgeRules
        Edges that must not appear, and that must, as they do in ``start``.
    max_parents : int
        The most parents of a variable, unless more are required.
    n_swaps : int
        How often in a row to go on in vain from the best order with a few variables swapped.
    most_at_once : int
        The most parents that a variable begins with in the end.
    """
    search, rng = _Orders(gains, rules, max_parents), np.random.default_rng(0)
    best = search.improved(search.along(causes_first(start), start))
    in_vain = 0
    while in_vain < n_swaps:
        end = search.improved(search.along(search.swapped(best.order, rng), best.parents))
        best, in_vain = (end, 0) if end.score < best.score - MIN_GAIN else (best, in_vain + 1)
    return search.improved(search.shrunk(best, most_at_once)).parents if most_at_once else best.parents


def graph_of_order(
    gains: Gains, order: list[int], rules: EdgeRules, max_parents: int, most_at_once: int = 0
) -> Graph | None:
    """Return the graph of one order; None if the order puts an effect before a cause that it has to have.

    Parameters
    ----------
    gains, rules, max_parents, most_at_once
        As of `search_orders`.
    order : list of int
        The variables, causes first.
    """
    place = np.argsort(order)
    causes, effects = np.nonzero(rules.required)
    if (place[causes] > place[effects]).any():
        return None
    search = _Orders(gains, rules, max_parents)
    return search.shrunk(search.along(order, rules.required_parents), most_at_once).parents


class Arrangement(NamedTuple):
    """An order of the variables, and their parents along it.

    Attributes
    ----------
    order : list of int
        The variables, causes first.
    parents : tuple
        The parents of every variable.
    score : float
        That of the graph, less that of the required edges alone.
    """

    order: list[int]
    parents: Graph
    score: float


class _Orders:
    """Arrangements under rules."""

    def __init__(self, gains: Gains, rules: EdgeRules, max_parents: int):
        self.gains = cache(lambda *family: np.round(gains(*family), DIGITS))
        self._pays, self.max_parents = cache(self._those_that_pay), max_parents
        self.least: Graph = rules.required_parents
        self._free: Mask = np.ascontiguousarray(~(rules.forbidden | rules.required).T)  # [effect, cause]

    def swapped(self, order: list[int], rng: np.random.Generator) -> list[int]:
        """Return an order in which a few pairs of variables have swapped places; required causes come first."""
        drawn = np.array(order)
        for _ in range(max(2, round(math.log(len(order))))):
            pair = rng.integers(drawn.size, size=2)
            drawn[pair] = drawn[pair[::-1]]
        place = np.argsort(drawn)
        return [int(drawn[k]) for k in causes_first([tuple(place[list(self.least[k])]) for k in drawn])]

    def along(self, order: list[int], parents: Graph) -> Arrangement:
        """Return an order with the parents that pay, beginning at those of these parents that come before."""
        before, families, score = np.zeros(len(order), dtype=bool), list(self.least), 0.0
        for variable in order:
            start = tuple(parent for parent in parents[variable] if before[parent])
            families[variable], fall = self._settled(variable, start, before)
            score -= self._worth(variable, start) + fall
            before[variable] = True
        return Arrangement(order, tuple(families), score)

    def _those_that_pay(self, variable: int, parents: Parents) -> list[bool]:
        pays: list[bool] = (self._free[variable] & (self.gains(variable, parents) > MIN_GAIN)).tolist()
        return pays

    def _worth(self, variable: int, parents: Parents) -> float:
        """Return by how much the score falls with parents beyond those that are required."""
        reached, fall = self.least[variable], 0.0
        for parent in parents:
            if parent not in reached:
                fall += float(self.gains(variable, reached)[parent])
                reached = toggled(reached, parent)
        return fall

    def _settled(self, variable: int, parents: Parents, before: Mask) -> Choice:
        """Return parents after the best changes of one of those before, as long as they pay, and what that gains."""
        fall, free = 0.0, before & self._free[variable]
        while True:
            gains = np.where(free, self.gains(variable, parents), -np.inf)
            if len(parents) >= self.max_parents:
                inside, gains = gains, np.full(gains.size, -np.inf)
                gains[list(parents)] = inside[list(parents)]
            best = int(gains.argmax())
            if not gains[best] > MIN_GAIN:
                return parents, fall
            fall, parents = fall + float(gains[best]), toggled(parents, best)

    def _without(self, variable: int, parents: Parents, lost: int, before: Mask) -> Choice:
        """Return parents where one is lost, and what that gains."""
        left, fall = self._settled(variable, toggled(parents, lost), before)
        return left, fall + float(self.gains(variable, parents)[lost])

    def shrunk(self, arrangement: Arrangement, most: int) -> Arrangement:
        """Return an arrangement with the better parents of variables that begin with the most of all before them."""
        before, families, score = np.zeros(len(arrangement.order), dtype=bool), *arrangement[1:]
        for variable in arrangement.order:
            least, others = self.least[variable], np.flatnonzero(before & self._free[variable]).tolist()
            losses = self.gains(variable, tuple(sorted({*least, *others})))
            others.sort(key=lambda k: losses[k])
            every = tuple(sorted({*least, *others[: max(most - len(least), 0)]}))
            parents, _ = self._settled(variable, every, before)
            gain = self._worth(variable, parents) - self._worth(variable, families[variable])
            if gain > MIN_GAIN:
                families, score = (*families[:variable], parents, *families[variable + 1 :]), score - gain
            before[variable] = True
        return arrangement._replace(parents=families, score=score)

    def improved(self, arrangement: Arrangement) -> Arrangement:
        """Return an arrangement in which no variable has a better place."""
        variable = unmoved = 0
        while unmoved < len(self.least):
            better = self.moved(arrangement, variable)
            arrangement, unmoved = (arrangement, unmoved + 1) if better is None else (better, 1)
            variable = (variable + 1) % len(self.least)
        return arrangement

    def moved(self, arrangement: Arrangement, variable: int) -> Arrangement | None:
        """Return an arrangement with a variable at its best place; None if it is there."""
        order, place = arrangement.order, arrangement.order.index(variable)
        best, end = MIN_GAIN, None
        for step, ways in ((1, self._later(arrangement, variable)), (-1, self._earlier(arrangement, variable))):
            for k, (gain, changed) in enumerate(ways, 1):
                if gain > best:
                    best, end = gain, (place + step * k, changed)
        if end is None:
            return None
        others = [other for other in order if other != variable]
        others.insert(end[0], variable)
        parents = tuple(end[1].get(node, own) for node, own in enumerate(arrangement.parents))
        return Arrangement(others, parents, arrangement.score - best)

    def _later(self, arrangement: Arrangement, variable: int) -> Iterator[tuple[float, dict[int, Parents]]]:
        """Yield what it gains to move a variable behind each one after it, and the families that this changes."""
        order, changed, gain = arrangement.order, {variable: arrangement.parents[variable]}, 0.0
        place, before = order.index(variable), np.zeros(len(order), dtype=bool)
        before[order[:place]] = True
        pays = self._pays(variable, changed[variable])
        for other in order[place + 1 :]:
            if variable in self.least[other]:
                return
            if variable in arrangement.parents[other]:
                left, fall = self._without(other, arrangement.parents[other], variable, before)
                changed, gain = {**changed, other: left}, gain + fall
            before[other] = True
            if pays[other]:
                more, fall = self._settled(variable, changed[variable], before)
                changed, gain, pays = {**changed, variable: more}, gain + fall, self._pays(variable, more)
            yield gain, changed

    def _earlier(self, arrangement: Arrangement, variable: int) -> Iterator[tuple[float, dict[int, Parents]]]:
        """Yield what it gains to move a variable before each one that comes before it, the last one first."""
        order, changed, gain = arrangement.order, {variable: arrangement.parents[variable]}, 0.0
        place, before = order.index(variable), np.zeros(len(order), dtype=bool)
        before[order[:place]] = True
        for other in order[:place][::-1]:
            if other in self.least[variable]:
                return
            before[other] = False
            if other in changed[variable]:
                left, fall = self._without(variable, changed[variable], other, before)
                changed, gain = {**changed, variable: left}, gain + fall
            if self._pays(other, arrangement.parents[other])[variable]:
                before[variable] = True
                more, fall = self._settled(other, arrangement.parents[other], before)
                before[variable] = False
                changed, gain = {**changed, other: more}, gain + fall
            yield gain, changed
