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
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from icdh.acyclicity import acyclicity
from icdh.graphs import break_cycles
from icdh.network import Weights, features_first

PROGRESS = 0.25  # c: rho stays once h fell below c times its last value
GROWTH = 10.0  # s: the factor of rho otherwise
DECIDED_H = 0.1  # below, edges that close cycles are dropped
SEARCH_TOLERANCE = 1e-6  # relative, of the subproblems of the augmented Lagrangian method
FINAL_TOLERANCE = 1e-9  # of the last minimisation
GRADIENT_TOLERANCE = 1e-8
MAX_ADDITIONS = 10  # rounds of adding edges to the DAG
OPTIMALITY = 0.01  # relative excess of a gradient over the lasso penalty that is worth another edge
# A ridge on W2 that only removes the ambiguity of units that do the same, for l2 = 0.
SMALLEST_RIDGE = 1e-10


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
    """The objective of Phase II with W2 eliminated, as a function of the weights of a set of edges.

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
    effects, causes : ndarray, shape (E,)
        The allowed edges ``causes[e]`` -> ``effects[e]``. Sets of edges are arrays of indices e, in ascending order,
        and their weights arrays of shape (edges, m1).
    """

    def __init__(self, X, scale, template, forbidden_edges, l1, l2):
        from icdh import _kernels

        self.template = template
        self.l1, self.l2 = l1, l2
        self.bias = template.hidden_bias is not None
        self.features = features_first(X, self.bias)
        self.precision = np.ascontiguousarray((1.0 / (scale * scale)).T)
        variables, units = template.w2.shape
        self.effects, self.causes = np.nonzero(~forbidden_edges.T & ~np.eye(variables, dtype=bool))
        self.every_edge = np.arange(self.effects.size)
        self.intercepts = template.hidden_bias
        self.evaluations = 0
        curvature = self.precision @ np.square(self.features.T) / X.shape[0]
        self._units = 1.0 / np.sqrt(np.where(curvature > 0.0, curvature, 1.0))
        ridge = max(l2, SMALLEST_RIDGE * self.precision.mean())
        self._ridge = np.append(np.full(units, ridge), np.zeros(int(self.bias)))
        self._w2 = np.zeros((variables, units + self.bias))
        blocks = -(-X.shape[0] // _kernels.ROWS)
        self._work = np.empty((blocks, units + self.bias, _kernels.ROWS))

    def edge_weights(self, weights: Weights) -> np.ndarray:
        """Return the weights of every allowed edge, shape (E, m1)."""
        return weights.w1[self.effects, :, self.causes]

    def units(self, edges: np.ndarray) -> np.ndarray:
        """Return the units in which the weights of edges, then the hidden intercepts, are measured."""
        units = self._units[self.effects[edges], self.causes[edges]]
        return np.append(units, self._units[:, -1] if self.bias else [])[:, np.newaxis]

    def network(self, w: np.ndarray, edges: np.ndarray, intercepts: np.ndarray | None = None) -> Weights:
        """Return all weights, W2 optimal, given those of some edges; other edges are absent."""
        self.loss_and_gradient(w, edges, intercepts)
        units = self.template.hidden_units
        w1 = np.zeros(self.template.w1.shape)
        w1[self.effects[edges], :, self.causes[edges]] = w
        return dataclasses.replace(
            self.template,
            w1=w1,
            w2=self._w2[:, :units].copy(),
            hidden_bias=intercepts,
            output_bias=self._w2[:, units].copy() if self.bias else None,
        )

    def loss_and_gradient(self, w, edges, intercepts=None):
        """Return the weighted least squares part of the likelihood plus the ridge on W2, minimised over W2.

        Parameters
        ----------
        w : ndarray, shape (edges, m1)
            Weights of the edges.
        edges : ndarray of int
            The edges present.
        intercepts : ndarray, shape (N, m1), optional
            Intercepts of the hidden units.

        Returns
        -------
        value : float
            In nats, mean over observations.
        gradient : ndarray, shape (edges, m1)
            Derivative by ``w``.
        intercept_gradient : ndarray, shape (N, m1), or None
            Derivative by ``intercepts``.
        """
        from icdh import _kernels

        self.evaluations += 1
        effects, causes = self.effects[edges], self.causes[edges]
        if self.bias:
            variables = self._w2.shape[0]
            effects = np.append(effects, np.arange(variables))
            causes = np.append(causes, np.full(variables, variables))
            w = np.concatenate([w, intercepts])
        order = np.argsort(effects, kind="stable")
        starts = np.searchsorted(effects[order], np.arange(self._w2.shape[0] + 1))
        gradient, by_node = np.empty(w.shape), np.empty(w.shape)
        value = _kernels.projected_least_squares(
            self.features, self.precision, causes[order], starts, w[order], self._ridge, self._w2, by_node, self._work
        )
        gradient[order] = by_node
        return value, gradient[: edges.size], gradient[edges.size :] if self.bias else None

    def adjacency(self, w: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Return the weighted adjacency matrix, A[i, n] = |w1[n, :, i]|."""
        A = np.zeros((self.template.n_variables,) * 2)
        A[self.causes[edges], self.effects[edges]] = np.linalg.norm(w, axis=1)
        return A

    def acyclicity(self, w: np.ndarray, edges: np.ndarray) -> tuple[float, np.ndarray]:
        """Return h of the weighted adjacency matrix and its derivative by the weights of the edges.

        With A[i, n]^2 = sum over h of w1[n, h, i]^2, dh/dw1[n, h, i] = (dh/dA)[i, n] / A[i, n] w1[n, h, i].
        """
        A = self.adjacency(w, edges)
        h, dh_dA = acyclicity(A)
        ratio = np.divide(dh_dA, A, out=np.zeros_like(A), where=A > 0.0)
        return h, ratio[self.causes[edges], self.effects[edges], np.newaxis] * w

    def smooth_part(self, w, edges, intercepts, rho, alpha):
        """Return the augmented Lagrangian without its l1 term, with its derivatives by ``w`` and ``intercepts``."""
        value, gradient, intercept_gradient = self.loss_and_gradient(w, edges, intercepts)
        value += 0.5 * self.l2 * np.vdot(w, w)
        gradient += self.l2 * w
        if rho > 0.0 or alpha > 0.0:
            h, dh = self.acyclicity(w, edges)
            value += alpha * h + 0.5 * rho * h * h
            gradient += (alpha + rho * h) * dh
        return value, gradient, intercept_gradient

    def objective(self, w: np.ndarray, edges: np.ndarray, intercepts: np.ndarray | None = None) -> float:
        """Return the regularised objective without the terms in h."""
        return self.smooth_part(w, edges, intercepts, 0.0, 0.0)[0] + self.l1 * np.abs(w).sum()

    def minimise(self, w, edges, intercepts, rho, alpha, tolerance):
        """Minimise the augmented Lagrangian over the weights of the edges and the hidden intercepts by L-BFGS-B.

        Parameters
        ----------
        w : ndarray, shape (edges, m1)
            Where to start.
        edges : ndarray of int
            The edges that may be present.
        intercepts : ndarray, shape (N, m1), or None
            Where to start.
        rho, alpha : float
            Penalty weight and multiplier.
        tolerance : float
            Relative decrease at which to stop.

        Returns
        -------
        w, intercepts
            The minimum.
        result : OptimizeResult
            What SciPy says of it.
        """
        split = SplitVector(w.shape, self.units(edges), self.l1)
        start = split.vector(w, intercepts)
        if start.size == 0:
            return w, intercepts, OptimizeResult(status=0, message="NO UNKNOWNS")

        def value_and_gradient(theta):
            w, intercepts = split.weights(theta)
            value, *gradients = self.smooth_part(w, edges, intercepts, rho, alpha)
            return value + split.lasso(theta), split.gradient(*gradients)

        result = minimize(
            value_and_gradient,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=split.bounds(),
            options={"ftol": tolerance, "gtol": GRADIENT_TOLERANCE, "maxiter": 15_000, "maxfun": 1_000_000},
        )
        return *split.weights(result.x), result


class SplitVector:
    """The flat vector of L-BFGS-B: W1+ and W1- of the edges, then the hidden intercepts, each in its unit.

    Parameters
    ----------
    shape : tuple
        (edges, m1).
    units : ndarray, shape (edges, 1) or (edges + N, 1)
        Weight = unit times entry of the vector.
    l1 : float
        The lasso penalty.
    """

    def __init__(self, shape, units, l1):
        self.shape = shape
        self.size = shape[0] * shape[1]
        self.units, self.intercept_units = units[: shape[0]], units[shape[0] :]
        self.l1 = l1

    def vector(self, w, intercepts):
        """Return the vector of the weights and intercepts."""
        scaled = (w / self.units).ravel()
        rest = [] if intercepts is None else (intercepts / self.intercept_units).ravel()
        return np.concatenate([np.maximum(scaled, 0.0), np.maximum(-scaled, 0.0), rest])

    def weights(self, theta):
        """Return the weights of the edges and the intercepts, None where there are none."""
        positive, negative, rest = np.split(theta, [self.size, 2 * self.size])
        w = (positive - negative).reshape(self.shape) * self.units
        return w, (rest.reshape(-1, self.shape[1]) * self.intercept_units if self.intercept_units.size else None)

    def lasso(self, theta):
        """Return l1 times the sum of both parts of W1."""
        parts = theta[: 2 * self.size].reshape(2, *self.shape)
        return self.l1 * np.vdot(parts.sum(axis=(0, 2)), self.units)

    def gradient(self, by_w, by_intercepts):
        """Return the derivative by the vector, that of the l1 term included."""
        rest = [] if by_intercepts is None else (by_intercepts * self.intercept_units).ravel()
        positive = (self.l1 + by_w) * self.units
        negative = (self.l1 - by_w) * self.units
        return np.concatenate([positive.ravel(), negative.ravel(), rest])

    def bounds(self):
        """Return the bounds: both parts of W1 are non-negative."""
        intercepts = self.intercept_units.size * self.shape[1]
        lower = np.concatenate([np.zeros(2 * self.size), np.full(intercepts, -np.inf)])
        return Bounds(lower, np.full(lower.size, np.inf))


def fit_means(
    X: np.ndarray,
    scale: np.ndarray,
    weights: Weights,
    forbidden_edges: np.ndarray,
    l1: float,
    l2: float,
    h_tol: float,
    rho_max: float,
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
    w, edges, intercepts = problem.edge_weights(weights), problem.every_edge, weights.hidden_bias
    rho, alpha, h_previous = 1.0, 0.0, np.inf
    while True:
        while True:
            w, intercepts, result = problem.minimise(w, edges, intercepts, rho, alpha, SEARCH_TOLERANCE)
            w, edges = _present(w, edges)
            h = problem.acyclicity(w, edges)[0]
            if h <= PROGRESS * h_previous or rho >= rho_max:
                break
            rho *= GROWTH
        alpha += rho * h
        h_previous = h
        if h <= max(h_tol, DECIDED_H) or rho >= rho_max:
            break
    if h <= DECIDED_H:
        w, edges = _without_cycles(problem, w, edges)
        w, edges, intercepts, result = _minimise_on_dag(problem, w, edges, intercepts)
        h = problem.acyclicity(w, edges)[0]
    return _mean_step(problem, w, edges, intercepts, h, rho, alpha, result)


def _minimise_on_dag(problem, w, edges, intercepts):
    """Minimise over the edges of a DAG, adding edges that lower the objective and close no cycle until none is left."""
    for _ in range(MAX_ADDITIONS):
        w, intercepts, result = problem.minimise(w, edges, intercepts, 0.0, 0.0, FINAL_TOLERANCE)
        w, edges = _present(w, edges)
        added = _missing_edges(problem, w, edges, intercepts)
        if added.size == 0:
            break
        edges, order = np.unique(np.concatenate([edges, added]), return_index=True)
        w = np.concatenate([w, np.zeros((added.size, w.shape[1]))])[order]
    return w, edges, intercepts, result


def _missing_edges(problem, w, edges, intercepts):
    """Return the absent edges that would lower the objective, the best first, unless they close a cycle.

    An absent edge is optimal as long as no derivative by its weights exceeds the lasso penalty.
    """
    every = np.zeros((problem.every_edge.size, w.shape[1]))
    every[edges] = w
    gradient = problem.smooth_part(every, problem.every_edge, intercepts, 0.0, 0.0)[1]
    promise = np.abs(gradient).max(axis=1) - (1.0 + OPTIMALITY) * problem.l1
    promise[edges] = 0.0
    promise = np.maximum(promise, 0.0)
    A = np.zeros((problem.template.n_variables,) * 2)
    A[problem.causes, problem.effects] = promise
    A[problem.causes[edges], problem.effects[edges]] = 1.0 + promise.max(initial=0.0)
    dag = break_cycles(A).adjacency
    return np.flatnonzero((promise > 0.0) & (dag[problem.causes, problem.effects] > 0.0))


def _present(w, edges):
    """Drop edges of zero weight."""
    present = np.abs(w).max(axis=1, initial=0.0) > 0.0
    return w[present], edges[present]


def _without_cycles(problem, w, edges):
    """Drop every edge that closes a cycle of edges with larger weights."""
    dag = break_cycles(problem.adjacency(w, edges)).adjacency
    keep = dag[problem.causes[edges], problem.effects[edges]] > 0.0
    return w[keep], edges[keep]


def _mean_step(problem, w, edges, intercepts, h, rho, alpha, result: OptimizeResult) -> MeanStep:
    evaluations = problem.evaluations
    return MeanStep(
        problem.network(w, edges, intercepts),
        problem.objective(w, edges, intercepts),
        h,
        rho,
        alpha,
        evaluations,
        int(result.status),
        str(result.message),
    )
