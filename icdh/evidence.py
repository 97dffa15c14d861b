"""Fit and Bayesian evidence of one node of a heteroscedastic noise model, given its parents.

The node model of a variable y with p parents x, every column standardised, shares m hidden units
between mean and log-variance, so that both have the same parents (Definition 1 of the paper, with
intercepts and an exponential scale):

- hidden units   s = tanh(w1^T x + b1)
- mean           mu = b2 + w2 · s
- variance       v = 1e-5 + exp(u),  u = b3 + w3 · s

Its weights are one flat vector ``theta`` = [w1 (p, m), b1 (m), b2, w2 (m), b3, w3 (m)]. They minimise

    F(theta) = sum over rows of [log v / 2 + (y - mu)^2 / (2 v)] + (1/2) sum_k penalty_k theta_k^2,

the penalty being ``l2`` (a Gaussian prior of variance 1 / l2) on all weights but the intercepts b2 and
b3, whose prior is flat. With H the Fisher matrix at the minimum plus the penalties, Laplace's
approximation of the negative log evidence is

    F + (1/2) log det H - (1/2) sum over penalised weights of log l2,

in nats, without the constants that every parent set shares.
"""

import math
from typing import NamedTuple

import numpy as np

from icdh._kernels import inverse_diagonal, node_fit, node_forward, node_objective

FLAT = 1e-8
VARIANCE_FLOOR = 1e-5
LOG_VARIANCE_LIMIT = 30.0


class NodeFit(NamedTuple):
    """One fitted node model.

    Attributes
    ----------
    theta : ndarray, shape (m (p + 3) + 2,)
        The weights, in the order the module's docstring gives.
    objective : float
        F at the weights, in nats.
    log_determinant : float
        log det H.
    evidence : float
        The negative log evidence in nats (smaller is better), without constants shared by all parent sets.
    steps : int
        Fisher scoring steps taken.
    converged : bool
        Whether the last steps lowered F by less than the tolerance.
    """

    theta: np.ndarray
    objective: float
    log_determinant: float
    evidence: float
    steps: int
    converged: bool


def fit_node(
    x: np.ndarray,
    y: np.ndarray,
    *,
    hidden_units: int = 10,
    l2: float = 3.0,
    random_state: int = 0,
    start: np.ndarray | None = None,
    max_steps: int = 100,
    tol: float = 1e-2,
    precision_updates: int = 3,
) -> NodeFit:
    """Fit the node model of y given its parents by Fisher scoring and return it with its evidence.

    The fit releases the GIL and depends on nothing but its arguments, so threads may run many at once.

    Parameters
    ----------
    x : ndarray of float64, shape (n, p)
        The parents, standardised, p >= 0.
    y : ndarray of float64, shape (n,)
        The node, standardised.
    hidden_units : int
        m.
    l2 : float
        The penalty of the squared weights (the precision of their prior).
    random_state : int
        Seed of the cold start's first layer; the start depends on it and on p alone.
    start : ndarray, shape (m (p + 3) + 2,), optional
        Weights to start from. The default is a cold start: a random first layer, then the mean
        fitted under constant variance, then both together.
    max_steps : int
        The most steps of each fit.
    tol : float
        Stop when two steps in a row lower F by less than this many nats.

    Returns
    -------
    NodeFit
        The weights that minimise F, and what they are worth.
    """
    n_parents = x.shape[1]
    if n_parents == 0:
        return _fit_without_parents(y, hidden_units)
    layers = _layers(n_parents, hidden_units)
    precision = np.full(len(layers), float(l2))
    if start is None:
        theta = cold_start(n_parents, hidden_units, random_state)
        factor = np.empty((theta.size, theta.size))
        penalty = _penalties(layers, precision, theta.size)
        constant_variance = theta.size - hidden_units
        node_fit(x, y, theta, penalty, hidden_units, constant_variance, max_steps, tol, factor)
    else:
        theta = start.copy()
        factor = np.empty((theta.size, theta.size))
    best = None
    for _ in range(precision_updates + 1):
        penalty = _penalties(layers, precision, theta.size)
        objective, log_determinant, steps, converged = node_fit(
            x, y, theta, penalty, hidden_units, theta.size, max_steps, tol, factor
        )
        evidence = objective + 0.5 * log_determinant + _prior_cost(layers, precision, l2)
        if best is None or evidence < best.evidence:
            best = NodeFit(theta.copy(), objective, log_determinant, evidence, steps, converged)
        precision = _updated_precision(theta, inverse_diagonal(factor), layers, precision, l2)
    return best


def _layers(n_parents, hidden_units):
    """Return the slices of theta that share a prior precision: first layer, mean weights, scale weights."""
    b2, b3 = _intercepts(n_parents, hidden_units)
    return slice(0, b2), slice(b2 + 1, b3), slice(b3 + 1, None)


def _penalties(layers, precision, size):
    penalty = np.full(size, FLAT)
    for layer, value in zip(layers, precision, strict=True):
        penalty[layer] = value
    return penalty


def _prior_cost(layers, precision, l2):
    """Return what the prior adds to the evidence: its normalisation, and the hyperprior of the precisions."""
    ratio = precision / l2
    hyperprior = 0.5 * (ratio - 1.0 - np.log(ratio)).sum()
    sizes = np.array([layers[0].stop, layers[1].stop - layers[1].start, layers[1].stop - layers[1].start])
    return hyperprior - 0.5 * (sizes * np.log(precision)).sum()


def _updated_precision(theta, posterior_variance, layers, precision, l2):
    """Return MacKay's fixed-point update of the precisions under a Gamma hyperprior of mode about l2."""
    updated = np.empty_like(precision)
    for k, layer in enumerate(layers):
        determined = max(float((1.0 - precision[k] * posterior_variance[layer]).sum()), 0.0)
        updated[k] = (determined + 1.0) / (float(theta[layer] @ theta[layer]) + 1.0 / l2)
    return updated


def predict_node(theta: np.ndarray, x: np.ndarray, hidden_units: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Return the node's mean and standard deviation, both (n,), at the parents' rows x (n, p)."""
    n = x.shape[0]
    mean, log_variance = np.empty(n), np.empty(n)
    node_forward(x, theta, hidden_units, np.empty((n, hidden_units)), mean, log_variance)
    variance = VARIANCE_FLOOR + np.exp(np.clip(log_variance, -LOG_VARIANCE_LIMIT, LOG_VARIANCE_LIMIT))
    return mean, np.sqrt(variance)


def cold_start(n_parents: int, hidden_units: int, random_state: int) -> np.ndarray:
    """Return weights with a random first layer and constant outputs (mean 0, variance 1)."""
    theta = np.zeros(hidden_units * (n_parents + 3) + 2)
    first_layer = (n_parents + 1) * hidden_units
    theta[:first_layer] = np.random.default_rng(random_state).normal(size=first_layer)
    return theta


def _intercepts(n_parents, hidden_units):
    b2 = (n_parents + 1) * hidden_units
    return b2, b2 + hidden_units + 1


def _fit_without_parents(y, hidden_units):
    """Return the constant model, in closed form: H = diag(n / v, n / 2) over b2 and b3."""
    n = y.size
    theta = cold_start(0, hidden_units, 0)
    theta[:hidden_units] = 0.0
    b2, b3 = _intercepts(0, hidden_units)
    theta[b2] = y.mean()
    variance = max(y.var(), 2.0 * VARIANCE_FLOOR)
    theta[b3] = math.log(variance - VARIANCE_FLOOR)
    objective = node_objective(y, theta, np.zeros(theta.size), np.full(n, theta[b2]), np.full(n, theta[b3]))
    log_determinant = math.log(n / variance) + math.log(n / 2)
    return NodeFit(theta, objective, log_determinant, objective + 0.5 * log_determinant, 0, True)
