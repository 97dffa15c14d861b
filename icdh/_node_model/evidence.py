"""The Bayesian evidence of a node model: the score of a set of parents.

With H the Fisher matrix at the minimum of F (`icdh._node_model.network`) plus the penalties, Laplace's approximation of
the negative log evidence is, in nats and without the constants that all parent sets share,

    F + (1/2) log det H - (1/2) sum over penalised weights of log penalty_k.

The precisions start at ``prior_precision``. MacKay's fixed point updates them, under a hyperprior around that value
whose cost is part of the evidence, and the weights are refitted. So weak dependences get smooth functions that cost few
nats, and nearly deterministic ones get large weights.

The hyperprior says that the ratio r of a layer's precision to ``prior_precision`` has a chi-square distribution of one
degree of freedom. Its density in log r, which has its mode at r = 1, is proportional to r^(1/2) exp(-r / 2), so that a
layer costs (r - 1 - log r) / 2 nats more than at the mode.

The m hidden units can be interchanged, and each can change its sign, so F has m! 2^m equal minima. Laplace's
approximation at one of them leaves out log(m! 2^m) nats, 8 for five units. They are left out here on purpose: they
would be a reward for the first parent of every variable. Minima of weak dependences overlap, so that they do not count
m! 2^m times; with this factor a search among 20 variables makes four extra edges.

References
----------
MacKay, "A practical Bayesian framework for backpropagation networks", Neural Computation 4 (1992).
Dickey, "The weighted likelihood ratio, linear hypotheses on normal location parameters", Annals of Mathematical
Statistics 42 (1971).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtri  # pyright: ignore[reportAttributeAccessIssue]

from icdh._node_model.network import cold_start
from icdh._node_model.response import Response
from icdh._utils.arrays import Floats, Integers, Mask

FLAT = 1e-8  # prior precision of intercepts
SEARCH_TOLERANCE = 0.3  # nats, of fits while a search compares families
HELD = 1e10  # prior precision of weights held at zero


class NodeFit(NamedTuple):
    """One fitted node model.

    Attributes
    ----------
    theta : ndarray
        The weights, in the order of `icdh._node_model.network`, or of `icdh._node_model.discrete`.
    objective : float
        F at the weights, in nats.
    log_determinant : float
        log det H.
    evidence : float
        The negative log evidence in nats (smaller is better), without log sqrt(2 pi) for every value with a density: it
        compares parent sets, and not a column read as one kind with the same column read as another.
    steps : int
        Steps taken; -1 if there is no fit, but only the constant model in its place.
    converged : bool
        Whether the last steps lowered F by less than the tolerance.
    precision : ndarray, shape (3,) or, for a binary variable, (2,)
        The precisions of the layers' prior.
    hidden_units : int
        m.
    """

    theta: Floats
    objective: float
    log_determinant: float
    evidence: float
    steps: int
    converged: bool
    precision: Floats
    hidden_units: int

    @property
    def succeeded(self) -> bool:
        """Whether there is a fit, not only the constant model in its place."""
        return self.steps >= 0


class Layers(NamedTuple):
    """Which weights share a prior precision.

    Attributes
    ----------
    of_weights : ndarray of int, shape (size,)
        The layer of every weight, 0 ... K - 1; K of intercepts and of weights that a response does not use, whose prior
        is flat; K + 1 of weights held at zero, by a prior so narrow that its cost cancels from the evidence.
    number : int
        K.
    free : int
        How many weights are fitted, the first ones.
    """

    of_weights: Integers
    number: int
    free: int

    @classmethod
    def of(cls, response: Response, n_inputs: int, hidden_units: int) -> "Layers":
        """Return the layers of the network of a response: the first layer, and the weights of each output."""
        parts = response.law.layers(n_inputs, hidden_units)
        of_weights = np.full(response.law.n_weights(n_inputs, hidden_units), len(parts))
        for k, part in enumerate(parts):
            of_weights[part] = k
        return cls(of_weights, len(parts), parts[-1].stop)

    @property
    def held(self) -> Mask:
        """Which weights are held at zero."""
        return self.of_weights > self.number

    @property
    def sizes(self) -> Integers:
        """The number of weights of each layer."""
        return np.bincount(self.of_weights, minlength=self.number)[: self.number]

    def sums(self, values: Floats) -> Floats:
        """Return the sum of the first weights' values over each layer."""
        sums = np.bincount(self.of_weights[: values.size], values, minlength=self.number)[: self.number]
        return sums.astype(np.float64)

    def penalties(self, precision: Floats) -> Floats:
        """Return the prior precision of every weight."""
        return np.array([*precision, FLAT, HELD])[self.of_weights]

    def cost(self, precision: Floats, prior_precision: float) -> float:
        """Return the prior's part of the evidence: its normalisation, and the hyperprior of the precisions."""
        cost = -math.log(HELD) * np.count_nonzero(self.held)
        for value, n in zip(precision.tolist(), self.sizes.tolist(), strict=True):
            ratio = value / prior_precision
            cost += ratio - 1.0 - math.log(ratio) - n * math.log(value)
        return 0.5 * cost


class Start(NamedTuple):
    """Where a fit begins, and when it ends.

    Attributes
    ----------
    theta : ndarray or None
        Weights to start from. None is a cold start: a random first layer, the mean fitted under constant variance, then
        both together.
    precision : ndarray or None
        The precisions of the layers' prior to start from; None takes ``prior_precision`` of all.
    seed : int
        That of a cold start's first layer, which depends on it and on the number of parents alone.
    tol : float
        Stop when two steps in a row lower F by less than this many nats; after an update of the precisions, one.
    precision_updates, max_steps : int
        The most updates of the precisions, and steps of each fit. Updates end, too, when one changes the evidence by
        less than ``tol``.
    layers : Layers or None
        Which weights share a precision, and which are held at zero; None takes those of the response's law.
    """

    theta: Floats | None = None
    precision: Floats | None = None
    seed: int = 0
    tol: float = SEARCH_TOLERANCE
    precision_updates: int = 2
    max_steps: int = 300
    layers: Layers | None = None


COLD = Start()


def fit_node(
    x: Floats, response: Response, hidden_units: int, start: Start, *, prior_precision: float, weight: float
) -> NodeFit:
    """Fit the model of a node given its parents by Fisher scoring and return it with its evidence.

    The fit releases the GIL and depends on nothing but its arguments, so threads may run many at once.

    Parameters
    ----------
    x : ndarray of float64, shape (p, n)
        The parents, standardised, one a row, p >= 0; a parent of K categories is K rows of zeros and ones.
    response : Response
        The node.
    hidden_units : int
        m.
    start : Start
        Where it begins, and when it ends.
    prior_precision : float
        The precision of the weights' prior to start from.
    weight : float
        What the log-likelihood of an observation counts; one over the design effect where they depend on one another.

    Returns
    -------
    NodeFit
        The weights that minimise F, and their evidence.
    """
    n_parents = len(x)
    if n_parents == 0:
        return _fit_without_parents(response, hidden_units)

    def enough(fits: Sequence[NodeFit]) -> bool:
        still = len(fits) > 1 and abs(fits[-2].evidence - fits[-1].evidence) < start.tol
        return len(fits) > start.precision_updates or still

    fits = _fits_of_updated_precisions(x, response, hidden_units, start, prior_precision, weight, enough)
    if not fits:
        return _constant_in_place_of_fit(response, n_parents, hidden_units, weight)
    return min(fits, key=lambda fit: fit.evidence)


def at_fixed_point(x: Floats, response: Response, fit: NodeFit, *, prior_precision: float, weight: float) -> NodeFit:
    """Update the precisions of a fit up to their fixed point.

    A search compares families after two updates, as further ones hardly change the evidence. The weights still move
    then, and would depend on the path of the search.

    Parameters
    ----------
    x : ndarray of float64, shape (p, n)
        The parents.
    response : Response
        The node.
    fit : NodeFit
        Its fit; returned as it is if it did not succeed or there are no parents.
    prior_precision : float
        The precision that the hyperprior favours.
    weight : float
        What the log-likelihood of an observation counts.

    Returns
    -------
    NodeFit
        The first fit whose objective differs from the one before by less than 1e-4 nats an observation.
    """
    if not (fit.succeeded and len(x)):
        return fit
    still = 1e-4 * response.n_counted  # nats that an update changes at the fixed point

    def enough(fits: Sequence[NodeFit]) -> bool:
        return len(fits) > 50 or (len(fits) > 1 and abs(fits[-1].objective - fits[-2].objective) < still)

    start = Start(fit.theta, fit.precision, tol=0.01 * still)
    fits = _fits_of_updated_precisions(x, response, fit.hidden_units, start, prior_precision, weight, enough)
    return fits[-1] if fits else fit


def _fits_of_updated_precisions(
    x: Floats,
    response: Response,
    hidden_units: int,
    start: Start,
    prior_precision: float,
    weight: float,
    enough: Callable[[Sequence[NodeFit]], bool],
) -> list[NodeFit]:
    """Return a fit, and one from its weights after each update of the precisions, until enough or H is not definite.

    A generator would be shorter, but closing one can swallow a KeyboardInterrupt.
    """
    layers, is_cold = start.layers or Layers.of(response, len(x), hidden_units), start.theta is None
    size = response.law.n_weights(len(x), hidden_units)
    theta = cold_start(len(x), hidden_units, start.seed, size) if start.theta is None else start.theta.copy()
    x, response = _by_labels(x, response)
    precisions = np.full(layers.number, float(prior_precision)) if start.precision is None else start.precision
    free = layers.free
    factor, minimised = np.zeros((theta.size, theta.size)), response.minimiser(x, hidden_units)
    fits: list[NodeFit] = []

    def minimise(freeze: int, patience: int = 2) -> tuple[float, float, int, bool]:
        penalty, until = layers.penalties(precisions) / weight, (start.max_steps, start.tol / weight, patience)
        objective, log_determinant, steps, converged = minimised(theta, penalty, freeze, until, factor)
        factor[:] *= math.sqrt(weight)
        return weight * objective, log_determinant + free * math.log(weight), steps, converged

    if is_cold:
        minimise(theta.size - hidden_units)  # without w3: the variance is constant
    while not enough(fits):
        if fits:
            # MacKay's fixed-point update under a Gamma hyperprior, whose mode is about the first precision.
            variances = np.square(_inverse_root(factor[:free, :free])).sum(axis=0)
            determined, squares = layers.sizes - precisions * layers.sums(variances), layers.sums(np.square(theta))
            precisions = (np.maximum(determined, 0.0) + 1.0) / (squares + 1.0 / prior_precision)
        # An update hardly moves the minimum, so after it one small step ends the fit.
        objective, log_determinant, steps, converged = minimise(theta.size, patience=1 if fits else 2)
        if np.isnan(log_determinant):
            break
        evidence = objective + 0.5 * log_determinant + layers.cost(precisions, prior_precision)
        of_fit = objective, log_determinant, evidence, steps, converged, precisions, hidden_units
        fits.append(NodeFit(theta.copy(), *of_fit))
    return fits


def _by_labels(x: Floats, response: Response) -> tuple[Floats, Response]:
    """Return parents and response with equal labels together: what `fill_causes` then leaves out is most of a block."""
    labels = x[((x == 0.0) | (x == 1.0)).all(axis=1)]
    if not len(labels):
        return np.ascontiguousarray(x), response
    order = np.argsort(0.5 ** np.arange(len(labels)) @ labels, kind="stable")
    return np.ascontiguousarray(x[:, order]), response.take(order)


def likelihood_and_cost(response: Response, n_inputs: int, fit: NodeFit) -> tuple[float, float]:
    """Return the two parts of a fit's negative log evidence: of the likelihood, weighted, and of the weights' prior.

    Parameters
    ----------
    response : Response
        The node.
    n_inputs : int
        p.
    fit : NodeFit
        Its fit given p inputs.
    """
    if not (fit.succeeded and n_inputs):
        return fit.objective, fit.evidence - fit.objective
    penalty = Layers.of(response, n_inputs, fit.hidden_units).penalties(fit.precision)
    likelihood = fit.objective - 0.5 * float(penalty @ np.square(fit.theta))
    return likelihood, fit.evidence - likelihood


def odds_without_parents(x: Floats, response: Response, fit: NodeFit) -> tuple[Floats, Floats]:
    """Return second-order estimates of what the evidence saves, and costs, without each parent.

    Under Laplace's approximation the log odds of zero weights w are saving - cost, the ratio of posterior to prior
    density there (Savage and Dickey). With S the posterior covariance of w,

        cost = (1/2) w^T S^-1 w,    saving = (1/2) log det S^-1 - (1/2) log det of the prior's precision.

    Far from zero the cost is only an order of magnitude.

    Parameters
    ----------
    x : ndarray, shape (p, n)
        The parents.
    response : Response
        The node.
    fit : NodeFit
        Its fit.

    Returns
    -------
    tuple of ndarray, both of shape (p,)
        Nats. Without a Fisher matrix nothing is known: the saving is infinite, the cost zero.
    """
    p, m = len(x), fit.hidden_units
    layers = Layers.of(response, p, m)
    theta, factor = fit.theta.copy(), np.zeros((fit.theta.size, fit.theta.size))
    penalty = layers.penalties(fit.precision)
    _, log_determinant, *_ = response.minimiser(x, m)(theta, penalty, theta.size, (0, 1.0, 1), factor)
    if np.isnan(log_determinant):
        return np.full(p, np.inf), np.zeros(p)
    free = layers.free
    roots = _inverse_root(factor[:free, :free])[:, : p * m].reshape(free, p, m).transpose(1, 0, 2)
    covariance = roots.transpose(0, 2, 1) @ roots
    weights = theta[: p * m].reshape(p, m)
    cost = 0.5 * np.einsum("pk,pk->p", weights, np.linalg.solve(covariance, weights[:, :, np.newaxis])[:, :, 0])
    return -0.5 * np.linalg.slogdet(covariance)[1] - 0.5 * m * np.log(fit.precision[0]), cost


def _inverse_root(factor: Floats) -> Floats:
    """Return L with L^T L = (R^T R)^-1, R the factor, an upper triangle."""
    root: Floats = dtrtri(factor.T, lower=1)[0]
    return root


def _constant_in_place_of_fit(response: Response, n_parents: int, hidden_units: int, weight: float) -> NodeFit:
    """Return the constant model, for parents whose Fisher matrix is indefinite by rounding: they gain nothing."""
    constant = _fit_without_parents(response, hidden_units)
    theta = np.zeros(response.law.n_weights(n_parents, hidden_units))
    theta[response.law.intercepts(n_parents, hidden_units)] = constant.theta[response.law.intercepts(0, hidden_units)]
    objective = weight * constant.objective
    evidence = objective + 0.5 * constant.log_determinant
    return constant._replace(theta=theta, objective=objective, evidence=evidence, steps=-1, converged=False)


def _fit_without_parents(response: Response, hidden_units: int) -> NodeFit:
    theta, objective, log_determinant = response.without_parents(hidden_units)
    evidence = objective + 0.5 * log_determinant
    return NodeFit(theta, objective, log_determinant, evidence, 0, True, np.full(3, np.nan), hidden_units)
