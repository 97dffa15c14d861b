"""Phase II (Algorithm 3): the means, W1 and W2, given the scales, under the constraint h = 0.

The objective is

    (1/M) sum of (X_n - f_n)^2 / (2 sigma_n^2) + l1 |W1|_1 + (l2/2) (|W1|^2 + |W2|^2) + alpha h + (rho/2) h^2

and L-BFGS-B treats the l1 term exactly: W1 = W1+ - W1- with both parts non-negative. Weights of self-loops and of
forbidden edges are not among the unknowns.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from icdh.acyclicity import acyclicity
from icdh.network import HiddenLayer, Weights

PROGRESS = 0.25  # c: rho stays once h fell below c times its last value
GROWTH = 10.0  # s: the factor of rho otherwise


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
    """The objective of Phase II as a function of one flat vector.

    The vector holds, in this order: W1+ and W1- of the allowed edges, W2, and, with ``bias``, the intercepts of the
    hidden units and of the means.

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
    """

    def __init__(self, X, scale, template, forbidden_edges, l1, l2):
        self.template = template
        self.l1, self.l2 = l1, l2
        self.bias = template.hidden_bias is not None
        self.layer = HiddenLayer(X, template.hidden_units, self.bias)
        self.precision = np.ascontiguousarray(1.0 / (scale * scale).T)
        allowed = ~forbidden_edges & ~np.eye(template.n_variables, dtype=bool)
        self.free = np.flatnonzero(np.broadcast_to(allowed.T[:, np.newaxis, :], template.w1.shape))

    def pack(self, weights: Weights) -> np.ndarray:
        """Return the flat vector of the weights."""
        w1 = weights.w1.ravel()[self.free]
        parts = [np.maximum(w1, 0.0), np.maximum(-w1, 0.0), weights.w2.ravel()]
        if self.bias:
            parts += [weights.hidden_bias.ravel(), weights.output_bias]
        return np.concatenate(parts)

    def unpack(self, theta: np.ndarray) -> Weights:
        """Return the weights of the flat vector."""
        nodes, units = self.template.w2.shape
        sizes = [self.free.size, self.free.size, nodes * units] + self.bias * [nodes * units, nodes]
        parts = np.split(theta, np.cumsum(sizes)[:-1])
        w1 = np.zeros(self.template.w1.shape)
        w1.ravel()[self.free] = parts[0] - parts[1]
        return dataclasses.replace(
            self.template,
            w1=w1,
            w2=parts[2].reshape(nodes, units),
            hidden_bias=parts[3].reshape(nodes, units) if self.bias else None,
            output_bias=parts[4] if self.bias else None,
        )

    def bounds(self) -> list:
        """Return the bounds of the flat vector: both parts of W1 are non-negative."""
        split = 2 * self.free.size
        return [(0.0, None)] * split + [(None, None)] * (self.pack(self.template).size - split)

    def loss_and_gradient(self, weights: Weights) -> tuple[float, Weights]:
        """Return the weighted least squares part of the likelihood and its gradient by W1, W2 and intercepts."""
        from icdh import _kernels

        observations = self.precision.shape[1]
        stacked = self.layer.stack(weights.w1, weights.hidden_bias)
        outputs = weights.w2[:, np.newaxis, :]
        total, d_stacked, d_outputs = 0.0, np.zeros_like(stacked), np.zeros_like(outputs)
        d_output_bias = np.zeros(weights.n_variables)
        for rows, s in self.layer.blocks(stacked):
            out = np.empty((weights.n_variables, 1, s.shape[1]))
            _kernels.combine(s, outputs, out)
            if self.bias:
                out += weights.output_bias[:, np.newaxis, np.newaxis]
            total += _kernels.weighted_squares(self.layer.variables[:, rows], self.precision[:, rows], out[:, 0])
            d_output_bias += out.sum(axis=(1, 2))
            _kernels.backpropagate(s, out, outputs, d_outputs)
            d_stacked += s @ self.layer.features[:, rows].T
        d_w1, d_hidden_bias = self.layer.unstack(d_stacked / observations, weights.w1.shape)
        gradient = dataclasses.replace(
            weights,
            w1=d_w1,
            w2=d_outputs[:, 0] / observations,
            hidden_bias=d_hidden_bias,
            output_bias=d_output_bias / observations if self.bias else None,
        )
        return total / observations, gradient

    def value_and_gradient(self, theta: np.ndarray, rho: float, alpha: float) -> tuple[float, np.ndarray]:
        """Return the augmented Lagrangian and its gradient by the flat vector."""
        weights = self.unpack(theta)
        loss, gradient = self.loss_and_gradient(weights)
        h, dh = acyclicity_of(weights)
        split = 2 * self.free.size
        value = (
            loss
            + self.l1 * theta[:split].sum()
            + 0.5 * self.l2 * (np.vdot(weights.w1, weights.w1) + np.vdot(weights.w2, weights.w2))
            + alpha * h
            + 0.5 * rho * h * h
        )
        gradient.w1[...] += self.l2 * weights.w1 + (alpha + rho * h) * dh
        gradient.w2[...] += self.l2 * weights.w2
        flat = self.pack_gradient(gradient)
        return value, flat

    def pack_gradient(self, gradient: Weights) -> np.ndarray:
        """Return the derivatives by the flat vector, those of the l1 term included."""
        d_w1 = gradient.w1.ravel()[self.free]
        parts = [d_w1 + self.l1, self.l1 - d_w1, gradient.w2.ravel()]
        if self.bias:
            parts += [gradient.hidden_bias.ravel(), gradient.output_bias]
        return np.concatenate(parts)


def acyclicity_of(weights: Weights) -> tuple[float, np.ndarray]:
    """Return h of the weighted adjacency matrix and its derivative by w1, shape (N, m1, N).

    With A[i, n]^2 = sum over h of w1[n, h, i]^2, dh/dw1[n, h, i] = (dh/dA^2)[i, n] 2 w1[n, h, i].
    """
    A = weights.adjacency()
    h, dh_dA = acyclicity(A)
    by_square = np.divide(dh_dA, A, out=np.zeros_like(A), where=A > 0.0)
    return h, by_square.T[:, np.newaxis, :] * weights.w1


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
    bounds = problem.bounds()
    theta = problem.pack(weights)
    rho, alpha, h_previous, evaluations = 1.0, 0.0, np.inf, 0
    while True:
        while True:
            result = minimize(
                problem.value_and_gradient,
                theta,
                args=(rho, alpha),
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
            )
            evaluations += result.nfev
            theta = result.x
            h = acyclicity_of(problem.unpack(theta))[0]
            if h <= PROGRESS * h_previous or rho >= rho_max:
                break
            rho *= GROWTH
        alpha += rho * h
        h_previous = h
        if h <= h_tol or rho >= rho_max:
            break
    objective = problem.value_and_gradient(theta, 0.0, 0.0)[0]
    return MeanStep(
        problem.unpack(theta), objective, h, rho, alpha, evaluations, int(result.status), str(result.message)
    )
