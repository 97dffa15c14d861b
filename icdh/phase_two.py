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
  minimised where h is exactly zero (`icdh.dag_descent`), in place of the ill-conditioned end of the augmented
  Lagrangian method. There every node is a problem of its own, small enough for Newton's method.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from icdh.acyclicity import acyclicity
from icdh.dag_descent import further_starts, minimise_on_dag
from icdh.network import Weights, features_first

PROGRESS = 0.25  # c: rho stays once h fell below c times its last value
GROWTH = 10.0  # s: the factor of rho otherwise
NEWTON_EVALUATIONS = 300
GRADIENT_TOLERANCE = 1e-8
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
    turns : bool
        Whether edges of the DAG are turned around where that lowers the objective.
    """

    decided_h: float
    tolerance: float
    reaches: tuple
    turns: bool


THOROUGH = Effort(decided_h=1e-1, tolerance=1e-5, reaches=(1.0, 2.0, 4.0, 1.0, 2.0, 4.0), turns=True)
# Where rounds follow, each mends what the one before left: as good graphs in a fraction of the time.
ALTERNATING = Effort(decided_h=1.0, tolerance=1e-4, reaches=(1.0,), turns=False)


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
        self.template = template
        self.l1, self.l2 = l1, l2
        bias = template.hidden_bias is not None
        self.features = features_first(X, bias)
        self.roots = np.ascontiguousarray(1.0 / (scale.T * np.sqrt(X.shape[0])))
        variables, units = template.w2.shape
        allowed = np.ones((variables, variables + bias), dtype=bool)
        allowed[:, :variables] = ~(forbidden_edges.T | np.eye(variables, dtype=bool))
        self.effects, self.causes = np.nonzero(allowed)
        self.is_edge = self.causes < variables
        self.every_input, self.every_node = np.arange(self.effects.size), np.arange(variables)
        curvature = np.square(self.roots) @ np.square(self.features.T)
        self.curvature = np.where(curvature > 0.0, curvature, 1.0)[self.effects, self.causes]
        self.units = 1.0 / np.sqrt(self.curvature)
        ridge = max(l2, SMALLEST_RIDGE * np.square(self.roots).sum(axis=1).mean())
        self._ridge = np.append(np.full(units, ridge), np.zeros(int(bias)))
        self._w2 = np.zeros((variables, units + bias))
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
                self.features, self.roots, nodes, causes, starts, w, self._ridge, self._w2, gradient
            )
            return value, gradient

        return value_and_gradient

    def present(self, w: np.ndarray, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return weights and inputs without the edges of zero weight."""
        present = ~self.is_edge[inputs] | (np.abs(w).max(axis=1, initial=0.0) > 0.0)
        return w[present], inputs[present]

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
            ridge = l2 * w
            value += 0.5 * np.vdot(w, ridge)
            gradient += ridge
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

    def minimise_node(self, n, w, inputs, tolerance):
        """Minimise the objective of one node over the weights of its inputs by Newton's method.

        Parameters
        ----------
        n : int
            The node.
        w : ndarray, shape (inputs, m1)
            Where to start.
        inputs : ndarray of int
            The inputs that may be present, of this node only.
        tolerance : float
            Relative decrease at which to stop.

        Returns
        -------
        w : ndarray, shape (inputs, m1)
            The minimum.
        result : OptimizeResult
            Objective, evaluations and status, as SciPy reports them.
        """
        from icdh import _kernels

        w, is_edge = w.copy(), self.is_edge[inputs].astype(float)
        value, evaluations, converged = _kernels.minimise_node(
            self.features,
            n,
            self.causes[inputs],
            w,
            self.roots[n],
            self._ridge,
            self.l1 * is_edge,
            self.l2 * is_edge,
            self.curvature[inputs],
            tolerance,
            NEWTON_EVALUATIONS,
        )
        self._node_evaluations += evaluations
        status, message = (0, "CONVERGED") if converged else (1, "LIMIT OF NEWTON STEPS")
        return w, OptimizeResult(fun=value, nfev=evaluations, status=status, message=message)


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
        self.inputs = is_edge.size
        self.edges = slice(None) if is_edge.all() else is_edge  # views where they can be
        self.is_bounded = np.concatenate([is_edge, np.ones(np.count_nonzero(is_edge), dtype=bool)])
        self.units = units[:, np.newaxis]
        self.cost = l1 * np.concatenate([units * is_edge, units[is_edge]])[:, np.newaxis]

    def vector(self, w: np.ndarray) -> np.ndarray:
        """Return the vector of the weights, shape (inputs, m1)."""
        first = w / self.units
        second = np.maximum(-first[self.edges], 0.0)
        first[self.edges] = np.maximum(first[self.edges], 0.0)
        return np.concatenate([first.ravel(), second.ravel()])

    def weights(self, theta: np.ndarray) -> np.ndarray:
        """Return the weights of the vector, shape (inputs, m1)."""
        rows = theta.reshape(self.is_bounded.size, -1)
        first = rows[: self.inputs].copy()
        first[self.edges] -= rows[self.inputs :]
        first *= self.units
        return first

    def penalised(self, smooth: Callable) -> Callable:
        """Return a function of the vector: a function of the weights and its gradient plus the l1 term."""

        def value_and_gradient(theta):
            value, by_w = smooth(self.weights(theta))
            gradient = np.empty((self.is_bounded.size, by_w.shape[1]))
            np.multiply(by_w, self.units, out=gradient[: self.inputs])
            np.negative(gradient[: self.inputs][self.edges], out=gradient[self.inputs :])
            gradient += self.cost
            lasso = np.dot(theta.reshape(gradient.shape).sum(axis=1), self.cost[:, 0])
            return value + lasso, gradient.ravel()

        return value_and_gradient

    def bounds(self, size: int) -> Bounds:
        """Return the bounds: both parts of the weights of edges are non-negative."""
        lower = np.where(self.is_bounded, 0.0, -np.inf)
        return Bounds(np.repeat(lower, size // lower.size), np.full(size, np.inf))


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
    explore: Sequence[Weights] = (),
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
    explore : sequence of Weights, optional
        Random weights for the further starts on the DAG, used in turn; ``weights`` by default.

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
            w, inputs = problem.present(w, inputs)
            h = problem.acyclicity(w, inputs)[0]
            if h <= PROGRESS * h_previous or rho >= rho_max:
                break
            rho *= GROWTH
        alpha += rho * h
        h_previous = h
        if h <= max(h_tol, effort.decided_h) or rho >= rho_max:
            break
    if h <= effort.decided_h:
        starts = further_starts(problem, explore or [weights], effort.reaches)
        w, inputs, result = minimise_on_dag(problem, w, inputs, starts, effort.tolerance, effort.turns)
        h = problem.acyclicity(w, inputs)[0]
    evaluations = problem.evaluations
    objective, network = problem.objective(w, inputs), problem.network(w, inputs)
    return MeanStep(network, objective, h, rho, alpha, evaluations, int(result.status), str(result.message))
