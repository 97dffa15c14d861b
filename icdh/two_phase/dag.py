"""Phase II on a DAG. There h = 0 whatever the weights, and the objective is a sum over nodes.

Each node is minimised by itself, from several starts. Then absent edges are added, and edges reversed, as long as that
lowers the objective and closes no cycle.
"""

from collections.abc import Iterable
from itertools import cycle
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from icdh.graphs import break_cycles, is_dag
from icdh.network import Weights, root_mean_square
from icdh.two_phase.lbfgs import minimise_by_lbfgs
from icdh.two_phase.newton import minimise_by_newton
from icdh.two_phase.objective import MeanProblem

FINAL_TOLERANCE = 1e-9  # relative decrease at which the minimisation of a node ends
NEWTON_WEIGHTS = 200  # of a node; the cost of a step grows with their square and more
PROMISING = 0.01  # a further start this near to the best minimum (relative excess) is minimised to the end
MAX_ROUNDS = 10  # of adding and reversing edges
SMALL = 0.1  # share of a further start that the reversed edge begins with
OPTIMALITY = 0.01  # an edge is added if a derivative exceeds the lasso penalty by this share
WORTHWHILE = 1e-4  # an edge is reversed if the objective of its two ends falls by this share


class NodeMinimum(NamedTuple):
    """The minimum of one node.

    Attributes
    ----------
    inputs : ndarray of int
        The inputs that are present, as indices of the problem, in ascending order.
    w : ndarray, shape (inputs, m1)
        Their weights.
    result : OptimizeResult
        Objective and status.
    """

    inputs: np.ndarray
    w: np.ndarray
    result: OptimizeResult


def minimise_on_dag(
    problem: MeanProblem, w: np.ndarray, inputs: np.ndarray, starts: list, tolerance: float, turns: bool
) -> tuple[np.ndarray, np.ndarray, OptimizeResult]:
    """Minimise the objective of Phase II over DAGs, starting from the given graph without the edges that close cycles.

    Parameters
    ----------
    problem : MeanProblem
        The objective.
    w : ndarray, shape (inputs, m1)
        Weights of a graph with, at most, weak cycles.
    inputs : ndarray of int
        Their inputs.
    starts : list of ndarray, shape (every input, m1)
        Further weights to start every node from.
    tolerance : float
        Relative decrease at which a start is judged; the best is minimised to the end.
    turns : bool
        Whether edges are reversed as well, which needs at least one further start.

    Returns
    -------
    w : ndarray, shape (inputs, m1)
        The weights of the DAG.
    inputs : ndarray of int
        Their inputs.
    result : OptimizeResult
        Of the node that ended worst.
    """
    descent = DagDescent(problem, starts, tolerance)
    descent.begin(*without_cycles(problem, w, inputs))
    for _ in range(MAX_ROUNDS):
        if not (descent.add_edges() | (turns and bool(starts) and descent.turn_edges())):
            break
    return *descent.weights(), max((minimum.result for minimum in descent.minima), key=lambda result: result.status)


class DagDescent:
    """The minima of all nodes of a DAG, and the moves that change it; arguments as of `minimise_on_dag`."""

    def __init__(self, problem: MeanProblem, starts: list, tolerance: float):
        self.problem = problem
        self.starts = starts
        self.tolerance = tolerance
        self.minima = []
        self.index = np.full((problem.every_node.size, problem.features.shape[0]), -1)
        self.index[problem.effects, problem.causes] = problem.every_input
        self._tried = {}

    def begin(self, w: np.ndarray, inputs: np.ndarray) -> None:
        """Minimise every node from these weights of a DAG."""
        effects, nodes = self.problem.effects[inputs], self.problem.every_node
        self.problem.clock.begin("node by node", nodes.size)
        self.minima = [self._minimise(n, inputs[effects == n], w[effects == n]) for n in nodes]

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of all nodes and their inputs."""
        w = np.concatenate([minimum.w for minimum in self.minima])
        return w, np.concatenate([minimum.inputs for minimum in self.minima])

    def add_edges(self) -> bool:
        """Add the absent edges that would lower the objective, the best first, unless they close a cycle."""
        added = _missing_edges(self.problem, *self.weights())
        nodes = np.unique(self.problem.effects[added])
        self.problem.clock.begin("missing edges, node by node", nodes.size)
        for n in nodes:
            own = added[self.problem.effects[added] == n]
            absent = np.zeros((own.size, self.minima[n].w.shape[1]))
            self.minima[n] = self._minimise(n, *self._with_edges(n, own, absent))
        return added.size > 0

    def turn_edges(self) -> bool:
        """Reverse edges where that lowers the objective of their ends, the best first, at most one edge a node."""
        turned = set()
        for _, edge, back in sorted(self._falls(), key=lambda turn: -turn[0]):
            i, n = self.problem.causes[edge], self.problem.effects[edge]
            if not {i, n} & turned and self._stays_acyclic(i, n):
                self.minima[n] = self._minimise(n, *self._without_edge(n, edge))
                self.minima[i] = self._minimise(i, *self._with_reverse(i, back))
                turned |= {i, n}
        return bool(turned)

    def _falls(self) -> Iterable:
        """Yield every edge whose reversal lowers the objective, as (fall, edge, its reverse)."""
        _, inputs = self.weights()
        for edge in inputs[self.problem.is_edge[inputs]]:
            i, n = self.problem.causes[edge], self.problem.effects[edge]
            back = self.index[i, n]
            if back >= 0 and self._stays_acyclic(i, n):
                before = self.minima[n].result.fun + self.minima[i].result.fun
                after = self._try(n, *self._without_edge(n, edge)) + self._try(i, *self._with_reverse(i, back))
                if before - after > WORTHWHILE * before:
                    yield before - after, edge, back

    def _stays_acyclic(self, i, n):
        """Return whether the graph stays acyclic when i -> n is reversed."""
        A = self.problem.adjacency(*self.weights())
        A[n, i], A[i, n] = 1.0, 0.0
        return is_dag(A)

    def _without_edge(self, n, edge):
        keep = self.minima[n].inputs != edge
        return self.minima[n].inputs[keep], self.minima[n].w[keep]

    def _with_edges(self, n, edges, w):
        """Return inputs and weights of a node with further edges of weights ``w``."""
        inputs, order = np.unique(np.concatenate([self.minima[n].inputs, edges]), return_index=True)
        return inputs, np.concatenate([self.minima[n].w, w])[order]

    def _with_reverse(self, i, back):
        """Return inputs and weights of a node with one more edge. Its weights are small; zero may be a saddle point."""
        return self._with_edges(i, np.array([back]), SMALL * self.starts[0][[back]])

    def _try(self, n, inputs, w):
        """Return the objective of a node near these weights."""
        key = n, inputs.tobytes()
        if key not in self._tried:
            self._tried[key] = minimise_by_newton(self.problem, n, w, inputs, self.tolerance)[1].fun
        return self._tried[key]

    def _minimise(self, n, inputs, w):
        """Return the best minimum of a node, from its weights and every further start, without edges of weight zero."""
        w, result = self._finish(n, inputs, w)
        for start in self.starts if inputs.size > 0 else ():
            approach, approached = self._approach(n, inputs, start[inputs])
            if approached.fun < (1.0 + PROMISING) * result.fun:
                outcomes = (w, result), self._finish(n, inputs, approach)
                w, result = min(outcomes, key=lambda outcome: outcome[1].fun)
        w, inputs = self.problem.present(w, inputs)
        self.problem.clock.part_done()
        return NodeMinimum(inputs, w, result)

    def _approach(self, n, inputs, w):
        return minimise_by_lbfgs(self.problem, w, inputs, self.tolerance, nodes=np.array([n]))

    def _finish(self, n, inputs, w):
        """Minimise by Newton's method, or by L-BFGS-B where there are too many weights for it."""
        if np.count_nonzero(w) > NEWTON_WEIGHTS:
            w, result = self._approach(n, inputs, w)
            if np.count_nonzero(w) > NEWTON_WEIGHTS:
                return w, result
        return minimise_by_newton(self.problem, n, w, inputs, FINAL_TOLERANCE)


def without_cycles(problem: MeanProblem, w: np.ndarray, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and inputs without cycles: of each, the weakest edge that is not required is dropped."""
    dag = break_cycles(problem.adjacency(w, inputs), problem.required).adjacency
    is_edge = problem.is_edge[inputs]
    keep = ~is_edge
    keep[is_edge] = dag[problem.causes[inputs[is_edge]], problem.effects[inputs[is_edge]]] > 0.0
    return w[keep], inputs[keep]


def further_starts(problem: MeanProblem, explore: Iterable[Weights], reaches: tuple) -> list[np.ndarray]:
    """Return one start for each reach: weights of every input, drawn from ``explore`` in turn and stretched to it."""
    return [_stretched(problem, weights, reach) for weights, reach in zip(cycle(explore), reaches, strict=False)]


def _stretched(problem, weights, reach):
    """Return the weights, rescaled so that each node's largest is ``reach / root mean square of the input``."""
    w = problem.input_weights(weights)
    rms = root_mean_square(problem.features)[problem.causes]
    largest = np.zeros(problem.every_node.size)
    np.maximum.at(largest, problem.effects, np.abs(w).max(axis=1, initial=0.0) * rms)
    return w * (reach / np.where(largest > 0.0, largest, 1.0))[problem.effects, np.newaxis]


def _missing_edges(problem, w, inputs):
    """Return the absent edges that would lower the objective, without those that close a cycle with better ones.

    A weight of zero is optimal as long as the derivative by it does not exceed the lasso penalty. By how much it does
    is the violation of the optimality condition.
    """
    every = np.zeros((problem.every_input.size, w.shape[1]))
    every[inputs] = w
    gradient = problem.lagrangian(problem.every_input)(every)[1]
    excess = np.abs(gradient).max(axis=1, initial=0.0) - (1.0 + OPTIMALITY) * problem.l1
    violation = np.fmax(excess, 0.0)  # what is not a number is no violation
    violation[inputs] = 0.0
    strength = violation.copy()
    strength[inputs] = 1.0 + violation.max(initial=0.0)
    dag = break_cycles(problem.adjacency(strength[:, np.newaxis], problem.every_input)).adjacency
    edges = np.flatnonzero(violation > 0.0)
    return edges[dag[problem.causes[edges], problem.effects[edges]] > 0.0]
