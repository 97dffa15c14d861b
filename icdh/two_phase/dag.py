"""Phase II on a DAG. There h = 0 whatever the weights, and the objective is a sum over children.

Each child is minimised by itself, from several starts. Then absent edges are added, as long as that lowers the
objective and closes no cycle.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import cycle
from typing import NamedTuple

import numpy as np

from icdh._utils.arrays import Floats, Integers, Mask
from icdh.graphs import break_cycles
from icdh.network import Weights, node_inputs, root_mean_square
from icdh.two_phase.objective import FamilyObjective, Minimum, NetworkObjective
from icdh.two_phase.solvers import minimise_by_lbfgs, minimise_by_newton

FINAL_TOLERANCE = 1e-9  # relative decrease at which the minimisation of a child ends
NEWTON_WEIGHTS = 200  # the most of a child for Newton's method; a step's cost grows with their square and more
PROMISING = 0.01  # a further start this near to the best minimum (relative excess) is minimised to the end
EDGE_ROUNDS = 10  # of adding edges
OPTIMALITY = 0.01  # an edge is added if a derivative exceeds the lasso penalty by this share
Start = Sequence[Floats]  # the weights of all features for every child, each of shape (features, m1)


class ChildMinimum(NamedTuple):
    """The minimum of a child: its objective by the inputs that are present, and where it is lowest."""

    family: FamilyObjective
    minimum: Minimum


def minimise_on_dag(
    network: NetworkObjective, part: NetworkObjective, w: Floats, starts: Sequence[Start], tolerance: float
) -> tuple[NetworkObjective, Minimum]:
    """Minimise the objective of Phase II over DAGs; return that of the best DAG's inputs, and its minimum.

    Parameters
    ----------
    network : NetworkObjective
        The objective by all inputs that are allowed.
    part : NetworkObjective
        The same by the inputs of a graph; of each of its cycles the weakest edge is dropped.
    w : ndarray, shape (inputs, m1)
        Their weights.
    starts : sequence
        Further weights to start every child from.
    tolerance : float
        Relative decrease at which a start is judged; the best is minimised to the end.
    """
    descent = DagDescent(network, starts, tolerance)
    descent.begin(*without_cycles(part, w))
    for _ in range(EDGE_ROUNDS):
        if not descent.add_edges():
            break
    best, w = descent.graph()
    worst = max((child.minimum for child in descent.minima), key=lambda minimum: minimum.status)
    return best, worst._replace(w=w, value=sum(child.minimum.value for child in descent.minima))


class DagDescent:
    """The minima of all children of a DAG, which grows by edges; arguments as of `minimise_on_dag`."""

    def __init__(self, network: NetworkObjective, starts: Sequence[Start], tolerance: float):
        self.network, self.starts, self.tolerance, self.clock = network, starts, tolerance, network.problem.clock
        self._look = partial(self.clock.check, 1)
        self.minima: list[ChildMinimum] = []

    def begin(self, part: NetworkObjective, w: Floats) -> None:
        """Minimise every child from these weights of a DAG."""
        self.clock.begin("node by node", len(part.families))
        self.minima = [self._minimise(*child) for child in part.by_child(w)]

    def graph(self) -> tuple[NetworkObjective, Floats]:
        """Return the objective by the inputs of the DAG, and their weights."""
        part = self.network.of_families(child.family for child in self.minima)
        return part, np.concatenate([child.minimum.w for child in self.minima])

    def add_edges(self) -> bool:
        """Add the absent edges that would lower the objective, the best first, unless they close a cycle."""
        missing = missing_edges(self.network, *self.graph())
        effects, causes = self.network.effects[missing], self.network.causes[missing]
        children = np.unique(effects)
        self.clock.begin("missing edges, node by node", children.size)
        for n in children:
            self.minima[n] = self._minimise(*self._with_causes(n, causes[effects == n]))
        return bool(missing.any())

    def _with_causes(self, n: int, causes: Integers) -> tuple[FamilyObjective, Floats]:
        """Return objective and weights of a child with further causes of weight zero."""
        family, minimum = self.minima[n]
        inputs = np.union1d(family.inputs, causes)
        w = np.zeros((inputs.size, minimum.w.shape[1]))
        w[np.searchsorted(inputs, family.inputs)] = minimum.w
        return self.network.families[n].among(inputs), w

    def _minimise(self, family: FamilyObjective, w: Floats) -> ChildMinimum:
        """Return the best minimum of a child from its weights and every further start, without edges of weight zero."""
        best = self._finish(family, w)
        for start in self.starts if family.inputs.size > 0 else ():
            approach = self._approach(family, start[family.child][family.inputs])
            if approach.value < (1.0 + PROMISING) * best.value:
                best = min(best, self._finish(family, approach.w), key=lambda minimum: minimum.value)
        self.clock.part_done()
        present = ~family.is_free | best.w.any(axis=1)
        return ChildMinimum(family.among(family.inputs[present]), best._replace(w=best.w[present]))

    def _approach(self, family: FamilyObjective, w: Floats) -> Minimum:
        return minimise_by_lbfgs(family, w, self.tolerance, self._look)

    def _finish(self, family: FamilyObjective, w: Floats) -> Minimum:
        """Minimise by Newton's method, or by L-BFGS-B where there are too many weights for it."""
        if np.count_nonzero(w) > NEWTON_WEIGHTS:
            minimum = self._approach(family, w)
            w = minimum.w
            if np.count_nonzero(w) > NEWTON_WEIGHTS:
                return minimum
        return minimise_by_newton(family, w, FINAL_TOLERANCE, self._look)


def without_cycles(part: NetworkObjective, w: Floats) -> tuple[NetworkObjective, Floats]:
    """Return objective and weights without cycles: each loses its weakest edge that is not required."""
    A, required = part.adjacency(w), np.zeros((len(part.families),) * 2, dtype=bool)
    edges = part.causes < len(A)
    ends = part.causes[edges], part.effects[edges]
    required[ends] = ~part.is_free[edges]
    absent = np.zeros(part.causes.size, dtype=bool)
    absent[edges] = break_cycles(A, required).adjacency[ends] == 0.0
    return part.without(absent, w)


def further_starts(network: NetworkObjective, explore: Iterable[Weights], reaches: Sequence[float]) -> list[Start]:
    """Return one start for each reach: weights of every child, drawn from ``explore`` in turn and stretched to it."""
    return [_stretched(network, weights, reach) for weights, reach in zip(cycle(explore), reaches, strict=False)]


def _stretched(network: NetworkObjective, weights: Weights, reach: float) -> Start:
    """Return the weights, rescaled so that each child's largest is ``reach / root mean square of the input``."""
    rms, stretched = root_mean_square(network.problem.features), []
    for n, family in enumerate(network.families):
        w = node_inputs(weights, n)
        largest = (np.abs(w[family.inputs]).max(axis=1, initial=0.0) * rms[family.inputs]).max(initial=0.0)
        stretched.append(w * (reach / (largest if largest > 0.0 else 1.0)))
    return stretched


def missing_edges(network: NetworkObjective, part: NetworkObjective, w: Floats) -> Mask:
    """Return the absent edges that would lower the objective, without those that close a cycle with better ones.

    A weight of zero is optimal as long as the derivative by it does not exceed the lasso penalty. By how much it does
    is the violation of the optimality condition.

    Parameters
    ----------
    network : NetworkObjective
        The objective by all inputs that are allowed.
    part : NetworkObjective
        The same by the inputs of a DAG.
    w : ndarray, shape (inputs, m1)
        Their weights.

    Returns
    -------
    ndarray of bool, shape (inputs,)
        Which of the inputs of ``network`` to add.
    """
    N = len(network.families)
    present = np.zeros((N, N + 1), dtype=bool)
    present[part.effects, part.causes] = True
    held = present[network.effects, network.causes]
    every = np.zeros((held.size, w.shape[1]))
    every[held] = w
    gradient = network.smooth(every)[1]
    excess = np.abs(gradient).max(axis=1, initial=0.0) - (1.0 + OPTIMALITY) * network.lasso
    violation = np.where(held, 0.0, np.fmax(excess, 0.0))  # what is not a number is no violation
    strength = np.where(held, 1.0 + violation.max(initial=0.0), violation)
    dag = break_cycles(network.adjacency(strength[:, np.newaxis])).adjacency
    missing: Mask = violation > 0.0
    missing[missing] = dag[network.causes[missing], network.effects[missing]] > 0.0
    return missing
