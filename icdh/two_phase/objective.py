"""The objective of Phase II (Algorithm 3): the means, W1 and W2, given the scales.

The objective is

    (1/M) sum of (X_n - f_n)^2 / (2 sigma_n^2) + l1 |W1|_1 + (l2/2) (|W1|^2 + |W2|^2) + alpha h + (rho/2) h^2

in a form that is cheap to evaluate and well conditioned:

- W2 is eliminated (variable projection): given W1 it solves a ridge regression of m1 unknowns a node, and because it is
  optimal, the gradient by W1 needs no derivative of it.
- Weights have units: 1 / sqrt(mean of x_i^2 / sigma_n^2), in which they have like curvature.
- Only weights of edges that are not zero are unknowns; self-loops and forbidden edges never are.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from icdh._ground.clock import Clock
from icdh.acyclicity import acyclicity
from icdh.network import Weights
from icdh.two_phase._kernels import projected_least_squares

# A ridge on W2 that only removes the ambiguity of units that do the same, for l2 = 0.
SMALLEST_RIDGE = 1e-10


class MeanProblem:
    """The objective of Phase II with W2 eliminated, as a function of the weights of a set of inputs.

    Parameters
    ----------
    features : ndarray, shape (N or N + 1, M)
        Observations, one variable a row; a last row of ones if the network has intercepts.
    scale : ndarray, shape (N, M)
        The standard deviations sigma, fixed.
    template : Weights
        Gives the shapes, whether there are intercepts, and the scale weights to carry along.
    forbidden_edges : ndarray of bool, shape (N, N)
        ``forbidden_edges[i, j]`` removes the edge i -> j; the diagonal is always removed.
    l1, l2 : float
        The penalties.
    rows : ndarray of bool, shape (N, M), optional
        The observations that count for each variable, for instance those where nobody set it; by default all.
    required_edges : ndarray of bool, shape (N, N), optional
        Edges that are always present, and not subject to the lasso; their reverse paths must be forbidden.
    clock : Clock, optional
        Says when evaluations must end, by raising OutOfTime; by default never.

    Attributes
    ----------
    effects, causes : ndarray, shape (inputs,)
        All allowed inputs, sorted by effect: the edges ``causes[k]`` -> ``effects[k]``, and with intercepts one
        further input of every node, cause N, which is one everywhere and not penalised. Sets of inputs are arrays of
        indices k, in ascending order, and their weights arrays of shape (inputs, m1).
    is_edge : ndarray of bool, shape (inputs,)
        False for intercepts.
    is_free : ndarray of bool, shape (inputs,)
        Whether the data decide on the input, by the lasso: an edge that is not required.
    reached : tuple of ndarray
        Weights and inputs of the whole graph as far as it is minimised: at first what is not free, as it is given.
    """

    def __init__(
        self,
        features: np.ndarray,
        scale: np.ndarray,
        template: Weights,
        forbidden_edges: np.ndarray,
        l1: float,
        l2: float,
        rows: np.ndarray | None = None,
        required_edges: np.ndarray | None = None,
        clock: Clock | None = None,
    ):
        self.template = template
        self.clock = clock or Clock()
        self.features = features
        self.l1, self.l2 = l1, l2
        variables, units = template.w2.shape
        bias = template.hidden_bias is not None
        self.roots = 1.0 / (scale * np.sqrt(features.shape[1]))
        if rows is not None:
            self.roots *= rows
        allowed = np.ones((variables, variables + bias), dtype=bool)
        allowed[:, :variables] = ~(forbidden_edges.T | np.eye(variables, dtype=bool))
        self.effects, self.causes = np.nonzero(allowed)
        self.is_edge = self.causes < variables
        self.required = np.zeros((variables, variables), dtype=bool) if required_edges is None else required_edges
        self.is_free = self.is_edge.copy()
        self.is_free[self.is_edge] = ~self.required[self.causes[self.is_edge], self.effects[self.is_edge]]
        self.every_input, self.every_node = np.arange(self.effects.size), np.arange(variables)
        curvature = np.square(self.roots) @ np.square(features.T)
        self.curvature = np.where(curvature > 0.0, curvature, 1.0)[self.effects, self.causes]
        self.units = 1.0 / np.sqrt(self.curvature)
        self.ridge = np.zeros((variables, units + bias))
        self.ridge[:, :units] = np.maximum(l2, SMALLEST_RIDGE * np.square(self.roots).sum(axis=1))[:, np.newaxis]
        self.w2 = np.zeros((variables, units + bias))
        self.hidden = np.ones((units + bias, features.shape[1]))
        self.residual = np.empty(features.shape[1])
        self._node_evaluations = 0
        given = self.every_input[~self.is_free]
        self.reached = self.input_weights(template)[given], given

    @property
    def evaluations(self) -> int:
        """Evaluations of the whole objective so far; those of single nodes count as their share of it."""
        return -(-self._node_evaluations // self.every_node.size)

    def input_weights(self, weights: Weights) -> np.ndarray:
        """Return the weights of every input, shape (inputs, m1)."""
        w1 = weights.w1 if weights.hidden_bias is None else np.dstack([weights.w1, weights.hidden_bias])
        return w1[self.effects, :, self.causes]

    def solution(self, w: np.ndarray, inputs: np.ndarray) -> tuple[float, Weights]:
        """Return the regularised objective without the terms in h, and all weights, W2 optimal, given those of inputs.

        Parameters
        ----------
        w : ndarray, shape (inputs, m1)
            Their weights; those of other inputs are zero.
        inputs : ndarray of int
            The inputs.
        """
        value, _ = self.lagrangian(inputs)(w)
        value += self.l1 * np.abs(w[self.is_free[inputs]]).sum()
        variables, units = self.template.w2.shape
        full = np.zeros((variables, units, self.features.shape[0]))
        full[self.effects[inputs], :, self.causes[inputs]] = w
        bias = self.template.hidden_bias is not None
        network = dataclasses.replace(
            self.template,
            w1=full[:, :, :variables],
            w2=self.w2[:, :units].copy(),
            hidden_bias=full[:, :, variables] if bias else None,
            output_bias=self.w2[:, units].copy() if bias else None,
        )
        return float(value), network

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
            Both are NaN where rounding leaves W2 undetermined. The call leaves W2 of these nodes in ``w2``, and hidden
            activations and standardised residuals of the last of them in ``hidden`` and ``residual``.
        """
        nodes = self.every_node if nodes is None else nodes
        effects, causes = self.effects[inputs], self.causes[inputs]
        starts = np.append(np.searchsorted(effects, nodes), effects.size)

        def value_and_gradient(w):
            self.clock.check()
            self._node_evaluations += nodes.size
            gradient = np.empty(w.shape)
            value = projected_least_squares(
                self.features,
                self.roots,
                nodes,
                causes,
                starts,
                np.ascontiguousarray(w),
                self.ridge,
                self.w2,
                gradient,
                self.hidden,
                self.residual,
            )
            if np.isnan(value):
                gradient.fill(np.nan)
            return value, gradient

        return value_and_gradient

    def present(self, w: np.ndarray, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return weights and inputs without the free edges of zero weight."""
        present = ~self.is_free[inputs] | (np.abs(w).max(axis=1, initial=0.0) > 0.0)
        return w[present], inputs[present]

    def adjacency(self, w: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Return the weighted adjacency matrix, A[i, n] = |w1[n, :, i]|; those of required edges are never zero."""
        A = np.zeros((self.features.shape[0], self.every_node.size))
        least = np.where(self.is_free[inputs], 0.0, np.finfo(float).tiny)
        A[self.causes[inputs], self.effects[inputs]] = np.maximum(np.linalg.norm(w, axis=1), least)
        return A[: self.every_node.size]

    def acyclicity(self, w: np.ndarray, inputs: np.ndarray) -> tuple[float, np.ndarray]:
        """Return h of the weighted adjacency matrix and its derivative by the weights of the inputs.

        With A[i, n]^2 = sum over h of w1[n, h, i]^2, dh/dw1[n, h, i] = (dh/dA)[i, n] / A[i, n] w1[n, h, i]. Both are
        NaN where weights are so large that A overflows.
        """
        A = self.adjacency(w, inputs)
        if not np.isfinite(A).all():
            return np.nan, np.full(w.shape, np.nan)
        h, dh_dA = acyclicity(A)
        ratio = np.zeros((self.features.shape[0], self.every_node.size))
        np.divide(dh_dA, A, out=ratio[: self.every_node.size], where=A > 0.0)
        return h, ratio[self.causes[inputs], self.effects[inputs], np.newaxis] * w

    def lagrangian(
        self, inputs: np.ndarray, rho: float = 0.0, alpha: float = 0.0, nodes: np.ndarray | None = None
    ) -> Callable:
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
