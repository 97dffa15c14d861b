"""Fit and Bayesian evidence of one node of a heteroscedastic noise model, given its parents.

The node model of a variable y with p parents x, every column standardised, shares m hidden units
between mean and log-variance, so that both have the same parents (Definition 1 of the paper, with
intercepts and an exponential scale):

- hidden units   s = tanh(w1^T x + b1)
- mean           mu = b2 + w2 · s
- variance       v = 1e-5 + exp(u),  u = b3 + w3 · s

Its weights are one flat vector ``theta`` = [w1 (p, m), b1 (m), b2, w2 (m), b3, w3 (m)]. They minimise

    F(theta) = sum over rows of [log v / 2 + (y - mu)^2 / (2 v)] + (1/2) sum_k penalty_k theta_k^2,

where the penalty of the weights of each layer, {w1, b1}, {w2} and {w3}, is the precision of their Gaussian prior;
the intercepts b2 and b3 have a flat prior. With H the Fisher matrix at the minimum plus the penalties, Laplace's
approximation of the negative log evidence is, in nats and without the constants that all parent sets share,

    F + (1/2) log det H - (1/2) sum over penalised weights of log penalty_k.

The precisions start at ``l2``. They are then updated, and the weights refitted, by MacKay's fixed point under a Gamma
hyperprior around ``l2``, whose cost is part of the evidence: weak dependences get smooth functions that cost few nats,
nearly deterministic ones get the large weights they need.

References
----------
MacKay, "A practical Bayesian framework for backpropagation networks", Neural Computation 4 (1992), Eq. 4.
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from icdh._kernels import inverse_diagonal, node_fit, node_forward, node_objective
from icdh.entropy import negentropy

FLAT = 1e-8
VARIANCE_FLOOR = 1e-5


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
    hidden_units: int = 5,
    l2: float = 3.0,
    random_state: int = 0,
    start: np.ndarray | None = None,
    max_steps: int = 100,
    tol: float = 1e-2,
    precision_updates: int = 2,
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
        The precision of the weights' prior to start from.
    random_state : int
        Seed of the cold start's first layer; the start depends on it and on p alone.
    start : ndarray, shape (m (p + 3) + 2,), optional
        Weights to start from. The default is a cold start: a random first layer, then the mean
        fitted under constant variance, then both together.
    max_steps : int
        The most steps of each fit.
    tol : float
        Stop when two steps in a row lower F by less than this many nats.
    precision_updates : int
        How often the prior's precisions are updated; zero keeps them at ``l2``.

    Returns
    -------
    NodeFit
        The weights that minimise F, and what they are worth.
    """
    n_parents = x.shape[1]
    if n_parents == 0:
        return _fit_without_parents(y, hidden_units)
    x = np.ascontiguousarray(x.T)
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
    first_layer, output = layers[0].stop, layers[1].stop - layers[1].start
    return float(hyperprior - 0.5 * (np.log(precision) * [first_layer, output, output]).sum())


def _updated_precision(theta, posterior_variance, layers, precision, l2):
    """Return MacKay's fixed-point update of the precisions under a Gamma hyperprior of mode about l2."""
    updated = np.empty_like(precision)
    for k, layer in enumerate(layers):
        determined = max(float((1.0 - precision[k] * posterior_variance[layer]).sum()), 0.0)
        updated[k] = (determined + 1.0) / (float(theta[layer] @ theta[layer]) + 1.0 / l2)
    return updated


def predict_node(theta: np.ndarray, x: np.ndarray, hidden_units: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Return the node's mean and standard deviation, both (n,), at the parents' rows x (n, p)."""
    n = x.shape[0]
    mean, variance = np.empty(n), np.empty(n)
    node_forward(np.ascontiguousarray(x.T), theta, hidden_units, np.empty((hidden_units, n)), mean, variance)
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
    objective = node_objective(y, theta, np.zeros(theta.size), np.full(n, theta[b2]), np.full(n, variance))
    log_determinant = math.log(n / variance) + math.log(n / 2)
    return NodeFit(theta, objective, log_determinant, objective + 0.5 * log_determinant, 0, True)


class FamilyEvidence:
    """The negative log evidence of families (node, parents), plus a penalty for each edge: a score for a search.

    Fits are cached. New families are fitted in parallel, each from the best fit with one parent fewer that was known
    before the call, so that results do not depend on the number of threads.

    Parameters
    ----------
    Z : ndarray, shape (n, N)
        The standardised table.
    hidden_units, l2, random_state
        As in `fit_node`.
    edge_penalty : float
        Nats to pay for each parent.
    free_noise : bool
        Whether the density of the standardised residuals is free: the score then falls by n times their negentropy.
    restarts : int
        How many cold starts `refine` adds.
    n_jobs : int
        Threads.
    """

    def __init__(self, Z, *, hidden_units, l2, edge_penalty, random_state, free_noise, restarts, n_jobs):
        self.columns = np.ascontiguousarray(Z.T)
        self.options = {"hidden_units": hidden_units, "l2": l2}
        self.edge_penalty = edge_penalty
        self.random_state = random_state
        self.free_noise = free_noise
        self.restarts = restarts
        self.n_jobs = n_jobs
        self.fits = {}
        self._scores = {}
        self._refined = set()

    def __call__(self, families: Sequence) -> list[float]:
        """Return the score of each family, in nats; lower is better."""
        new = [family for family in dict.fromkeys(families) if family not in self.fits]
        self._keep(new, self._map(self._fit, new, [self._warm_start(*family) for family in new]))
        return [self._scores[family] for family in families]

    def refine(self, families: Sequence) -> None:
        """Fit these families from further cold starts and keep the best."""
        new = [family for family in families if family[1] and family not in self._refined]
        self._refined.update(new)
        self(new)
        seeds = range(self.random_state + 1, self.random_state + 1 + self.restarts)
        tasks = [(family, seed) for family in new for seed in seeds]
        fits = self._map(lambda task: self._fit(task[0], None, task[1]), tasks)
        self._keep([family for family, _ in tasks], fits)

    def residuals(self, family):
        """Return the standardised residuals of a family that was scored, shape (n,)."""
        return self._residuals(family, self.fits[family])

    def _residuals(self, family, fit):
        mean, deviation = predict_node(fit.theta, self._inputs(family), self.options["hidden_units"])
        return (self.columns[family[0]] - mean) / deviation

    def _keep(self, families, fits):
        for family, fit in zip(families, fits, strict=True):
            score = self._score(family, fit)
            if family not in self.fits or score < self._scores[family]:
                self.fits[family], self._scores[family] = fit, score

    def _score(self, family, fit):
        score = fit.evidence + self.edge_penalty * len(family[1])
        if self.free_noise:
            residuals = self._residuals(family, fit)
            score -= residuals.size * negentropy(residuals)
        return score

    def _fit(self, family, start, seed=None):
        seed = self.random_state if seed is None else seed
        return fit_node(self._inputs(family), self.columns[family[0]], start=start, random_state=seed, **self.options)

    def _inputs(self, family):
        return np.ascontiguousarray(self.columns[list(family[1])].T)

    def _warm_start(self, node, parents):
        """Return the weights of the best known fit with one parent fewer, the new parent's at zero."""
        known = [k for k in range(len(parents)) if (node, parents[:k] + parents[k + 1 :]) in self.fits]
        if len(parents) < 2 or not known:
            return None
        smaller, k = min(((self.fits[node, parents[:k] + parents[k + 1 :]], k) for k in known), key=_evidence_first)
        units = self.options["hidden_units"]
        return np.insert(smaller.theta, k * units, np.zeros(units))

    def _map(self, function, *arguments):
        if self.n_jobs == 1:
            return list(map(function, *arguments))
        with ThreadPoolExecutor(self.n_jobs) as pool:
            return list(pool.map(function, *arguments))


def _evidence_first(fit_and_position):
    return fit_and_position[0].evidence
