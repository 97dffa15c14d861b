"""Search over orders of the variables, for a score whose change by each parent is known at once.

Given an order, every variable grows its parents among those before it, the best first, and then loses those that do not
pay. Each variable in turn moves to the place of the order where the graph scores best, until none moves. An order is
worth many graphs: where a climb over graphs has to turn a chain edge by edge, past worse graphs, here one variable
moves. Such searches end at local optima, too, so some begin at random orders, and the best end counts.

References
----------
Andrews, Ramsey, Sanchez-Romero, Camchong, Kummerfeld, "Fast scalable and accurate discovery of DAGs using the best
order score search and grow-shrink trees", NeurIPS 2023.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from icdh._ground.arrays import Floats
from icdh.graphs import causes_first
from icdh.knowledge import EdgeRules
from icdh.search.climb import MIN_GAIN, first_least
from icdh.search.moves import Graph, toggled

Gains = Callable[[int, tuple[int, ...]], Floats]
Change = tuple[float, int]  # a gain, and the variable that is added or removed
Choice = tuple[tuple[int, ...], float]  # parents, and the score with them


class Choices:
    """Parents that variables choose among others by gains, remembered for searches with other rules, too.

    Parameters
    ----------
    gains : callable
        As of `search_orders`.
    """

    def __init__(self, gains: Gains):
        self.gains, self.family, self._changes = gains, cache(self._grown_and_shrunk), cache(self._changes_that_pay)

    def _grown_and_shrunk(self, variable: int, allowed: int, least: tuple[int, ...], most: int) -> Choice:
        """Return the best parents found among those allowed (bits of a number) and the least, and their score."""
        parents, score = least, 0.0
        while len(parents) < most:
            further = (change for change in self._changes(variable, parents)[0] if allowed >> change[1] & 1)
            if (best := next(further, None)) is None:
                break
            score, parents = score - best[0], toggled(parents, best[1])
        while fewer := [change for change in self._changes(variable, parents)[1] if change[1] not in least]:
            score, parents = score - fewer[0][0], toggled(parents, fewer[0][1])
        return parents, score

    def _changes_that_pay(self, variable: int, parents: tuple[int, ...]) -> tuple[list[Change], list[Change]]:
        """Return what pays, as gain and variable, the largest first: further parents, and the loss of one."""
        gains = self.gains(variable, parents)
        ranked = np.argsort(-np.round(gains / MIN_GAIN), kind="stable")
        pays = [(float(gains[k]), int(k)) for k in ranked[gains[ranked] > MIN_GAIN]]
        return [change for change in pays if change[1] not in parents], [
            change for change in pays if change[1] in parents
        ]


def search_orders(gains: Gains | Choices, start: Graph, rules: EdgeRules, max_parents: int, n_random: int = 4) -> Graph:
    """Return the parents of every variable in the graph of the best order found.

    Parameters
    ----------
    gains : callable or Choices
        Returns, for a variable and its parents, by how much the score falls if each variable is added or removed.
    start : tuple
        A graph, at whose order the search begins first.
    rules : EdgeRules
        Edges that must not appear, and that must, as they do in ``start``.
    max_parents : int
        The most parents of a variable, unless more are required.
    n_random : int
        How many random orders to begin at, too.
    """
    search, rng = _Orders(gains, rules, max_parents), np.random.default_rng(0)
    orders = [causes_first(start), *(search.random_order(rng) for _ in range(n_random))]
    improved = list(map(search.improved, orders))
    return search.graph(improved[first_least(list(map(search.total, improved)))])


def graph_of_order(gains: Gains, order: list[int], rules: EdgeRules, max_parents: int) -> Graph | None:
    """Return the graph of one order; None if the order puts an effect before a cause that it has to have.

    Parameters
    ----------
    gains, rules, max_parents
        As of `search_orders`.
    order : list of int
        The variables, causes first.
    """
    search = _Orders(gains, rules, max_parents)
    return search.graph(order) if search.total(order) < math.inf else None


class _Orders:
    """Parents and scores of variables given the set of those before them, the bits of a number.

    Scores are relative to those of the parents that are required.
    """

    def __init__(self, gains: Gains | Choices, rules: EdgeRules, max_parents: int):
        self.choices, self.max_parents = gains if isinstance(gains, Choices) else Choices(gains), max_parents
        self.least: Graph = rules.required_parents
        self._required = [sum(1 << parent for parent in parents) for parents in self.least]
        self._free = [sum(1 << int(k) for k in np.flatnonzero(~column)) for column in rules.forbidden.T]

    def random_order(self, rng: np.random.Generator) -> list[int]:
        """Return an order, drawn at random, of causes before what they have to be causes of."""
        drawn = rng.permutation(len(self.least))
        place = np.argsort(drawn)
        return [int(drawn[k]) for k in causes_first([tuple(place[list(self.least[k])]) for k in drawn])]

    def improved(self, order: Sequence[int]) -> list[int]:
        """Return an order in which no variable has a better place."""
        order, moved = list(order), True
        while moved:
            moved = False
            for variable in range(len(order)):
                place, gain = self.best_place(order, variable)
                if gain > MIN_GAIN:
                    order.remove(variable)
                    order.insert(place, variable)
                    moved = True
        return order

    def best_place(self, order: list[int], variable: int) -> tuple[int, float]:
        """Return the place where a variable lowers the score most, and by how much it does."""
        before = 0
        there: list[float] = []
        without: list[float] = []
        beside: list[float] = []
        for other in order:
            if other != variable:
                there.append(self.family(variable, before)[1])
                without.append(self.family(other, before)[1])
                beside.append(self.family(other, before | 1 << variable)[1])
                before |= 1 << other
        there.append(self.family(variable, before)[1])
        totals = there + np.append(0.0, np.cumsum(without)) + np.append(np.cumsum(beside[::-1])[::-1], 0.0)
        best = first_least(totals)
        return best, totals[order.index(variable)] - totals[best]

    def total(self, order: Sequence[int]) -> float:
        """Return the score of the graph of an order."""
        return sum(score for _, score in self._families(order))

    def graph(self, order: Sequence[int]) -> Graph:
        """Return the graph of an order."""
        families = dict(zip(order, self._families(order), strict=True))
        return tuple(families[variable][0] for variable in range(len(order)))

    def _families(self, order: Sequence[int]) -> list[Choice]:
        before = [sum(1 << other for other in order[:k]) for k in range(len(order))]
        return list(map(self.family, order, before))

    def family(self, variable: int, before: int) -> Choice:
        """Return the best parents found; required ones that are not before a variable make its score infinite."""
        if self._required[variable] & ~before:
            return self.least[variable], math.inf
        return self.choices.family(variable, before & self._free[variable], self.least[variable], self.max_parents)
