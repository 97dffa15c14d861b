"""Phase II (Algorithm 3): the means, W1 and W2, given the scales, under the constraint h = 0.

The objective is

    (1/M) sum of (X_n - f_n)^2 / (2 sigma_n^2) + l1 |W1|_1 + (l2/2) (|W1|^2 + |W2|^2) + alpha h + (rho/2) h^2

and it is minimised by L-BFGS-B in a form that is cheap to evaluate and well conditioned:

- W2 is eliminated (variable projection): given W1 it solves a ridge regression of m1 unknowns a node, and because it is
  optimal, the gradient by W1 needs no derivative of it.
- The l1 term is exact: W1 = W1+ - W1- with both parts non-negative.
- Weights are measured in units of 1 / sqrt(mean of x_i^2 / sigma_n^2), in which they have like curvature.
- Only weights of edges that are not zero are unknowns; self-loops and forbidden edges never are.
- Once h is small the graph is decided up to its weakest edges: those that close a cycle are dropped, and the rest is
  minimised where h is exactly zero, in place of the ill-conditioned end of the augmented Lagrangian method.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from icdh.acyclicity import acyclicity
from icdh.graphs import break_cycles
from icdh.network import Weights, features_first

PROGRESS = 0.25  # c: rho stays once h fell below c times its last value
GROWTH = 10.0  # s: the factor of rho otherwise
FINAL_TOLERANCE = 1e-9  # of the last minimisation
GRADIENT_TOLERANCE = 1e-8
MAX_ADDITIONS = 10  # rounds of adding edges to the DAG
OPTIMALITY = 0.01  # relative excess of a gradient over the lasso penalty that is worth another edge
# A ridge on W2 that only removes the ambiguity of units that do the same, for l2 = 0.
SMALLEST_RIDGE = 1e-10


class Effort(NamedTuple):
    """How far the augmented Lagrangian method is followed.

    Attributes
    ----------
    decided_h : float
        Once h is below, edges that close cycles are dropped.
    tolerance : float
        Relative decrease at which a subproblem ends.
    reaches : tuple of float
        On the DAG every node is also minimised from random weights of these largest sizes, in units of 1 / (root mean
        square of the input), which escapes poor local minima; the best of all is kept.
    """

    decided_h: float
    tolerance: float
    reaches: tuple


THOROUGH = Effort(decided_h=1e-2, tolerance=1e-6, reaches=(1.0, 2.0, 4.0))
# Where rounds follow, each mends what the one before left: as good graphs in a third of the time.
ALTERNATING = Effort(decided_h=1.0, tolerance=1e-4, reaches=(1.0,))


class MeanStep(NamedTuple):
    """What Phase II returns: the weights, and how the augmented Lagrangian ended."""

    weights: Weights
    objective: float
    h: float
    rho: float
    alpha: float
    evaluations: int
    status: int
    message: str


class MeanProblem:
    """The objective of Phase II with W2 eliminated, as a function of the weights of a set of inputs.

    Parameters
    ----------
    X : ndarray, shape (M, N)
        Observations.
    scale : ndarray, shape (M, N)
        The standard deviations sigma, fixed.
    template : Weights
        Gives the shapes, whether there are intercepts, and the scale weights to carry along.
    forbidden_edges : ndarray of bool, shape (N, N)
        ``forbidden_edges[i, j]`` removes the edge i -> j; the diagonal is always removed.
    l1, l2 : float
        The penalties.

    Attributes
    ----------
    effects, causes : ndarray, shape (inputs,)
        All allowed inputs, sorted by effect: the edges ``causes[k]`` -> ``effects[k]``, and with intercepts one
        further input of every node, cause N, which is one everywhere and not penalised. Sets of inputs are arrays of
        indices k, in ascending order, and their weights arrays of shape (inputs, m1).
    is_edge : ndarray of bool, shape (inputs,)
        False for intercepts.
    """

    def __init__(self, X, scale, template, forbidden_edges, l1, l2):
        from icdh import _kernels

        self.template = template
        self.l1, self.l2 = l1, l2
        bias = template.hidden_bias is not None
        self.features = features_first(X, bias)
        self.precision = np.ascontiguousarray((1.0 / (scale * scale)).T)
        variables, units = template.w2.shape
        allowed = np.ones((variables, variables + bias), dtype=bool)
        allowed[:, :variables] = ~(forbidden_edges.T | np.eye(variables, dtype=bool))
        self.effects, self.causes = np.nonzero(allowed)
        self.is_edge = self.causes < variables
        self.every_input, self.every_node = np.arange(self.effects.size), np.arange(variables)
        curvature = self.precision @ np.square(self.features.T) / X.shape[0]
        self.units = (1.0 / np.sqrt(np.where(curvature > 0.0, curvature, 1.0)))[self.effects, self.causes]
        ridge = max(l2, SMALLEST_RIDGE * self.precision.mean())
        self._ridge = np.append(np.full(units, ridge), np.zeros(int(bias)))
        self._w2 = np.zeros((variables, units + bias))
        self._work = np.empty((-(-X.shape[0] // _kernels.ROWS), units + bias, _kernels.ROWS))
        self._node_evaluations = 0

    @property
    def evaluations(self) -> int:
        """Evaluations of the whole objective so far; those of single nodes count as their share of it."""
        return -(-self._node_evaluations // self.every_node.size)

    def input_weights(self, weights: Weights) -> np.ndarray:
        """Return the weights of every input, shape (inputs, m1)."""
        w1 = weights.w1 if weights.hidden_bias is None else np.dstack([weights.w1, weights.hidden_bias])
        return w1[self.effects, :, self.causes]

    def network(self, w: np.ndarray, inputs: np.ndarray) -> Weights:
        """Return all weights, W2 optimal, given those of some inputs; the others are zero."""
        self.loss(inputs)(w)
        variables, units = self.template.w2.shape
        full = np.zeros((variables, units, self.features.shape[0]))
        full[self.effects[inputs], :, self.causes[inputs]] = w
        bias = self.template.hidden_bias is not None
        return dataclasses.replace(
            self.template,
            w1=full[:, :, :variables],
            w2=self._w2[:, :units],
            hidden_bias=full[:, :, variables] if bias else None,
            output_bias=self._w2[:, units] if bias else None,
        )

    def loss(self, inputs: np.ndarray, nodes: np.ndarray | None = None) -> Callable:
        """Return the weighted least squares part of the likelihood plus the ridge on W2, minimised over W2.

        Parameters
        ----------
        inputs : ndarray of int
            The inputs present, of these nodes only.
        nodes : ndarray of int, optional
            The nodes to sum over, in ascending order; by default all.

        Returns
        -------
        callable
            Takes ``w``, shape (inputs, m1); returns the value, in nats, mean over observations, and its gradient.
        """
        from icdh import _kernels

        nodes = self.every_node if nodes is None else nodes
        effects, causes = self.effects[inputs], self.causes[inputs]
        starts = np.append(np.searchsorted(effects, nodes), effects.size)

        def value_and_gradient(w):
            self._node_evaluations += nodes.size
            gradient = np.empty(w.shape)
            value = _kernels.projected_least_squares(
                self.features, self.precision, nodes, causes, starts, w, self._ridge, self._w2, gradient, self._work
            )
            return value, gradient

        return value_and_gradient

    def adjacency(self, w: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Return the weighted adjacency matrix, A[i, n] = |w1[n, :, i]|."""
        A = np.zeros((self.features.shape[0], self.every_node.size))
        A[self.causes[inputs], self.effects[inputs]] = np.linalg.norm(w, axis=1)
        return A[: self.every_node.size]

    def acyclicity(self, w: np.ndarray, inputs: np.ndarray) -> tuple[float, np.ndarray]:
        """Return h of the weighted adjacency matrix and its derivative by the weights of the inputs.

        With A[i, n]^2 = sum over h of w1[n, h, i]^2, dh/dw1[n, h, i] = (dh/dA)[i, n] / A[i, n] w1[n, h, i].
        """
        A = self.adjacency(w, inputs)
        h, dh_dA = acyclicity(A)
        ratio = np.zeros((self.features.shape[0], self.every_node.size))
        np.divide(dh_dA, A, out=ratio[: self.every_node.size], where=A > 0.0)
        return h, ratio[self.causes[inputs], self.effects[inputs], np.newaxis] * w

    def lagrangian(self, inputs, rho=0.0, alpha=0.0, nodes=None) -> Callable:
        """Return the augmented Lagrangian without its l1 term; arguments and result as of `loss`."""
        loss = self.loss(inputs, nodes)
        l2 = self.l2 * self.is_edge[inputs, np.newaxis]

        def value_and_gradient(w):
            value, gradient = loss(w)
            value += 0.5 * np.vdot(w, l2 * w)
            gradient += l2 * w
            if rho > 0.0 or alpha > 0.0:
                h, dh = self.acyclicity(w, inputs)
                value += alpha * h + 0.5 * rho * h * h
                gradient += (alpha + rho * h) * dh
            return value, gradient

        return value_and_gradient

    def objective(self, w: np.ndarray, inputs: np.ndarray) -> float:
        """Return the regularised objective without the terms in h."""
        return float(self.lagrangian(inputs)(w)[0] + self.l1 * np.abs(w[self.is_edge[inputs]]).sum())

    def minimise(self, w, inputs, tolerance, rho=0.0, alpha=0.0, nodes=None):
        """Minimise the augmented Lagrangian over the weights of the inputs by L-BFGS-B.

        Parameters
        ----------
        w : ndarray, shape (inputs, m1)
            Where to start.
        inputs : ndarray of int
            The inputs that may be present, of these nodes only.
        tolerance : float
            Relative decrease at which to stop.
        rho, alpha : float
            Penalty weight and multiplier.
        nodes : ndarray of int, optional
            The nodes to sum over; by default all.

        Returns
        -------
        w : ndarray, shape (inputs, m1)
            The minimum.
        result : OptimizeResult
            What SciPy says of it.
        """
        split = SplitVector(self.is_edge[inputs], self.units[inputs], self.l1)
        start = split.vector(w)
        if start.size == 0:
            return w, OptimizeResult(status=0, message="NO UNKNOWNS")
        result = minimize(
            split.penalised(self.lagrangian(inputs, rho, alpha, nodes)),
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=split.bounds(start.size),
            options={"ftol": tolerance, "gtol": GRADIENT_TOLERANCE, "maxiter": 15_000, "maxfun": 1_000_000},
        )
        return split.weights(result.x), result


class SplitVector:
    """The flat vector of L-BFGS-B: W1+ (or, of intercepts, W1), then W1- of the edges, each in its unit.

    Parameters
    ----------
    is_edge : ndarray of bool, shape (inputs,)
        Edges are split in two non-negative parts; intercepts are free.
    units : ndarray, shape (inputs,)
        Weight = unit times entry of the vector.
    l1 : float
        The lasso penalty on edges.
    """

    def __init__(self, is_edge, units, l1):
        self.is_edge = is_edge
        self.units = units[:, np.newaxis]
        self.edge_units = self.units[is_edge]
        self.l1 = l1

    def vector(self, w: np.ndarray) -> np.ndarray:
        """Return the vector of the weights, shape (inputs, m1)."""
        first = w / self.units
        second = np.maximum(-first[self.is_edge], 0.0)
        first[self.is_edge] = np.maximum(first[self.is_edge], 0.0)
        return np.concatenate([first.ravel(), second.ravel()])

    def weights(self, theta: np.ndarray) -> np.ndarray:
        """Return the weights of the vector, shape (inputs, m1)."""
        first, second = self._parts(theta)
        w = first * self.units
        w[self.is_edge] -= second * self.edge_units
        return w

    def penalised(self, smooth: Callable) -> Callable:
        """Return a function of the vector: a function of the weights and its gradient plus the l1 term."""

        def value_and_gradient(theta):
            first, second = self._parts(theta)
            value, by_w = smooth(self.weights(theta))
            lasso = np.vdot(first[self.is_edge] + second, np.broadcast_to(self.edge_units, second.shape))
            by_first = by_w * self.units
            by_second = self.l1 * self.edge_units - by_first[self.is_edge]
            by_first[self.is_edge] += self.l1 * self.edge_units
            return value + self.l1 * lasso, np.concatenate([by_first.ravel(), by_second.ravel()])

        return value_and_gradient

    def bounds(self, size: int) -> Bounds:
        """Return the bounds: both parts of the weights of edges are non-negative."""
        units = size // max(1, self.is_edge.size + np.count_nonzero(self.is_edge))
        first = np.where(np.repeat(self.is_edge, units), 0.0, -np.inf)
        lower = np.concatenate([first, np.zeros(size - first.size)])
        return Bounds(lower, np.full(size, np.inf))

    def _parts(self, theta):
        units = theta.size // (self.is_edge.size + np.count_nonzero(self.is_edge))
        first = theta[: self.is_edge.size * units].reshape(-1, units)
        return first, theta[first.size :].reshape(-1, units)


def fit_means(
    X: np.ndarray,
    scale: np.ndarray,
    weights: Weights,
    forbidden_edges: np.ndarray,
    l1: float,
    l2: float,
    h_tol: float,
    rho_max: float,
    effort: Effort = THOROUGH,
    explore: Weights | None = None,
) -> MeanStep:
    """Minimise the objective of Phase II under h = 0 by the augmented Lagrangian method (Algorithm 3).

    Parameters
    ----------
    X : ndarray, shape (M, N)
        Observations.
    scale : ndarray, shape (M, N)
        The standard deviations sigma, fixed in this phase.
    weights : Weights
        Where to start; w3 and w3_bias are carried along.
    forbidden_edges : ndarray of bool, shape (N, N)
        Edges that must not appear.
    l1, l2 : float
        Penalties on W1 (lasso) and on W1 and W2 (ridge).
    h_tol : float
        h at which the constraint counts as met.
    rho_max : float
        The penalty weight at which the method gives up.
    effort : Effort
        How far the augmented Lagrangian method is followed.
    explore : Weights, optional
        Random weights for the further starts on the DAG; ``weights`` by default.

    Returns
    -------
    MeanStep
        The weights, the regularised objective at h = 0, and how the method ended.

    References
    ----------
    Yin, Gao, Yu, Ji: "Effective Causal Discovery under Identifiable Heteroscedastic Noise Model", AAAI 2024,
    Algorithm 3, its inner loop ended as soon as h < c h_previous (as printed it does not end).
    """
    problem = MeanProblem(X, scale, weights, forbidden_edges, l1, l2)
    w, inputs = problem.input_weights(weights), problem.every_input
    rho, alpha, h_previous = 1.0, 0.0, np.inf
    while True:
        while True:
            w, result = problem.minimise(w, inputs, effort.tolerance, rho, alpha)
            w, inputs = _present(problem, w, inputs)
            h = problem.acyclicity(w, inputs)[0]
            if h <= PROGRESS * h_previous or rho >= rho_max:
                break
            rho *= GROWTH
        alpha += rho * h
        h_previous = h
        if h <= max(h_tol, effort.decided_h) or rho >= rho_max:
            break
    if h <= effort.decided_h:
        starts = _starts(problem, weights if explore is None else explore, effort.reaches)
        w, inputs, result = _minimise_on_dag(problem, *_without_cycles(problem, w, inputs), starts)
        h = problem.acyclicity(w, inputs)[0]
    evaluations = problem.evaluations
    objective, network = problem.objective(w, inputs), problem.network(w, inputs)
    return MeanStep(network, objective, h, rho, alpha, evaluations, int(result.status), str(result.message))


def _present(problem, w, inputs):
    """Drop edges of zero weight."""
    present = ~problem.is_edge[inputs] | (np.abs(w).max(axis=1, initial=0.0) > 0.0)
    return w[present], inputs[present]


def _without_cycles(problem, w, inputs):
    """Drop every edge that closes a cycle of edges with larger weights."""
    dag = break_cycles(problem.adjacency(w, inputs)).adjacency
    is_edge = problem.is_edge[inputs]
    keep = ~is_edge
    keep[is_edge] = dag[problem.causes[inputs[is_edge]], problem.effects[inputs[is_edge]]] > 0.0
    return w[keep], inputs[keep]


def _starts(problem, explore, reaches):
    """Return weights of every input for each reach: those of ``explore``, the largest of each node set to the reach."""
    w = problem.input_weights(explore)
    rms = np.sqrt(np.mean(np.square(problem.features), axis=1))[problem.causes]
    sizes = np.abs(w).max(axis=1, initial=0.0) * rms
    largest = np.zeros(problem.every_node.size)
    np.maximum.at(largest, problem.effects, sizes)
    shares = w / np.where(largest > 0.0, largest, 1.0)[problem.effects, np.newaxis]
    return [reach * shares for reach in reaches]


def _minimise_node(problem, n, w, inputs, starts):
    """Return the best minimum of one node from its weights and from every further start."""
    outcomes = [
        problem.minimise(begin, inputs, FINAL_TOLERANCE, nodes=np.array([n]))
        for begin in (w, *(start[inputs] for start in starts))
    ]
    return min(outcomes, key=lambda outcome: outcome[1].fun)


def _minimise_on_dag(problem, w, inputs, starts):
    """Minimise on a DAG, node by node, and add edges that lower the objective and close no cycle until none is left."""
    nodes = problem.every_node
    worst = OptimizeResult(status=0, message="NO UNKNOWNS")
    for _ in range(MAX_ADDITIONS):
        for n in nodes:
            own = np.flatnonzero(problem.effects[inputs] == n)
            if own.size > 0:
                w[own], result = _minimise_node(problem, n, w[own], inputs[own], starts)
                worst = result if result.status >= worst.status else worst
        w, inputs = _present(problem, w, inputs)
        added = _missing_edges(problem, w, inputs)
        if added.size == 0:
            break
        inputs, order = np.unique(np.concatenate([inputs, added]), return_index=True)
        w = np.concatenate([w, np.zeros((added.size, w.shape[1]))])[order]
        nodes = np.unique(problem.effects[added])
    return w, inputs, worst


def _missing_edges(problem, w, inputs):
    """Return the absent edges that would lower the objective, the best first, unless they close a cycle.

    An absent edge is optimal as long as no derivative by its weights exceeds the lasso penalty.
    """
    every = np.zeros((problem.every_input.size, w.shape[1]))
    every[inputs] = w
    gradient = problem.lagrangian(problem.every_input)(every)[1]
    promise = np.maximum(np.abs(gradient).max(axis=1, initial=0.0) - (1.0 + OPTIMALITY) * problem.l1, 0.0)
    promise[inputs] = 0.0
    strength = promise.copy()
    strength[inputs] = 1.0 + promise.max(initial=0.0)
    dag = break_cycles(problem.adjacency(strength[:, np.newaxis], problem.every_input)).adjacency
    edges = np.flatnonzero(promise > 0.0)
    return edges[dag[problem.causes[edges], problem.effects[edges]] > 0.0]
