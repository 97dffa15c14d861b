"""ICDH as printed: Algorithms 1, 2 and 3 of the article, one function each, to be read beside it.

==========================  ======================================================================================
article                     here
==========================  ======================================================================================
X                           ``X``, shape (M, N)
theta = (W1, W2, W3, W3_0)  ``weights``, see `icdh.network`
L (Eq. 11), its gradient    `icdh.likelihood.nll_and_gradient`
sigma                       ``scale``, shape (M, N)
h, its gradient             `icdh.acyclicity.acyclicity`
rho, alpha, c, s, epsilon   ``rho``, ``alpha``, ``C``, ``S``, ``h_tol``
==========================  ======================================================================================

W1 and W2 are optimised together, nothing is eliminated or rescaled. Where the print cannot be run as it stands, a
comment names the line and what replaces it. The penalties lambda1 and lambda2 are those of the published results.

References
----------
Yin, Gao, Yu, Ji: "Effective Causal Discovery under Identifiable Heteroscedastic Noise Model", AAAI 2024.
"""

import dataclasses
import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import Bounds

from icdh._ground.arrays import Floats, Mask
from icdh._ground.clock import OutOfTime
from icdh.acyclicity import acyclicity
from icdh.knowledge import EdgeRules
from icdh.likelihood import nll, nll_and_gradient
from icdh.network import Weights, forward
from icdh.two_phase.objective import Problem
from icdh.two_phase.rounds import OUT_OF_TIME, Limits, MeanStep, Round, Rounds, TwoPhaseResult
from icdh.two_phase.solvers import run_lbfgs

C, S = 0.25, 10.0  # rho grows by S unless h fell below C times its last value
TOLERANCE = 1e-6  # relative decrease that ends a minimisation; the article prints none
SMALLEST_FLOOR = 1e-3  # of exp(W3_0), in root mean squared residuals: L has no lower bound as sigma goes to zero


def algorithm_1(
    problem: Problem, weights: Weights, limits: Limits, callback: Callable[[Round], None] | None = None
) -> TwoPhaseResult:
    """Alternate Phase II and Phase I until the likelihood stands still (Algorithm 1).

    Parameters
    ----------
    problem : Problem
        The table, what is known of its graph, the penalties and the kind of noise.
    weights : Weights
        Where to start. The print starts at zero, where every gradient vanishes; start from small random weights.
    limits : Limits
        When the algorithm ends.
    callback : callable, optional
        Called with every `Round`.

    Returns
    -------
    TwoPhaseResult
        Weights and record of the round of the highest likelihood, and the history.
    """
    X, rows, noise, scale = *_observations(problem), problem.noise, np.ones(problem.values.T.shape)
    tol = np.inf if noise == "equal" else limits.tol
    with Rounds(limits.max_rounds, tol, problem.clock, callback) as rounds:
        while rounds.go_on:
            begin = time.perf_counter()
            step = algorithm_3(problem, scale, weights, limits)
            if step.message == OUT_OF_TIME and rounds.history:
                break
            weights = algorithm_2(X, step.weights, noise, rows)
            scale = forward(X, weights)[1]
            value = nll(X, weights) if rows is None else nll_and_gradient(X, weights, rows=rows)[0]
            rounds.add(weights, step, value, value, time.perf_counter() - begin)
    return rounds.result(limits.h_tol)


def _observations(problem: Problem) -> tuple[Floats, Mask | None]:
    """Return X, and which of its entries count, as the article writes them: both of shape (M, N)."""
    return problem.values.T, None if problem.rows is None else problem.rows.T


def algorithm_2(X: Floats, weights: Weights, noise: str, rows: Mask | None = None) -> Weights:
    """Phase I: maximise the likelihood over W3 and W3_0, given W1 and W2 (Algorithm 2).

    A constant scale ("unequal", Eq. 16-18) has its maximum in closed form; "equal" leaves the scale at one (Eq. 15).

    Parameters
    ----------
    X, rows
        See `algorithm_1`.
    weights : Weights
        The network.
    noise : {"heteroscedastic", "unequal", "equal"}
        The kind of scale.
    """
    if noise == "equal":
        return weights
    squares = np.square(X - forward(X, weights)[0])
    rms = np.sqrt(np.average(squares, axis=0, weights=rows))
    rms = np.where(rms > 0.0, rms, np.finfo(float).tiny)
    if noise == "unequal":
        return dataclasses.replace(weights, w3=0.0 * weights.w3, w3_bias=np.log(rms))
    N, m1 = weights.w3.shape
    if not weights.w3.any():  # The print starts at W3 = 0, where the ReLU is dead and has no gradient.
        w3 = np.repeat(rms[:, np.newaxis], m1, axis=1) / m1
        weights = dataclasses.replace(weights, w3=w3, w3_bias=np.log(0.5 * rms))

    def with_scales(theta: Floats) -> Weights:
        return dataclasses.replace(weights, w3=theta[: N * m1].reshape(N, m1), w3_bias=theta[N * m1 :])

    def value_and_gradient(theta: Floats) -> tuple[float, Floats]:
        value, gradient = nll_and_gradient(X, with_scales(theta), rows=rows)
        return value, np.append(gradient.w3, gradient.w3_bias)

    start = np.append(weights.w3, weights.w3_bias)
    lower = np.append(np.full(N * m1, -np.inf), np.minimum(np.log(SMALLEST_FLOOR * rms), weights.w3_bias))
    return with_scales(run_lbfgs(value_and_gradient, start, Bounds(lower, np.inf), TOLERANCE).x)  # pyright: ignore[reportArgumentType]


def algorithm_3(problem: Problem, scale: Floats, weights: Weights, limits: Limits) -> MeanStep:
    """Phase II: minimise the regularised objective over W1 and W2 under h = 0, given sigma (Algorithm 3).

    Parameters
    ----------
    scale : ndarray, shape (M, N)
        sigma, fixed.
    problem, weights, limits
        See `algorithm_1`.
    """
    (X, rows), clock, unknowns = _observations(problem), problem.clock, Unknowns(weights, problem.rules)
    objective = phase_two_objective(X, scale, unknowns, problem.l1, problem.l2, rows)
    theta = unknowns.of(weights)

    def lagrangian(theta: Floats) -> tuple[float, Floats]:
        clock.check(1)
        return objective(theta, rho, alpha)

    def keep(reached: Floats) -> None:
        nonlocal theta
        theta = reached.copy()

    rho, alpha, h_previous, before = 1.0, 0.0, np.inf, clock.work
    try:
        while True:
            while True:
                clock.begin(f"all nodes at once (rho {rho:.0e}, h {h_previous:.1e})")
                result = run_lbfgs(lagrangian, theta, unknowns.bounds, TOLERANCE, keep)
                theta = result.x
                h = acyclicity(unknowns.weights(theta).adjacency())[0]
                if h <= C * h_previous or rho >= limits.rho_max:  # As printed the inner loop has no end.
                    break
                rho *= S
            alpha += rho * h
            h_previous = h
            if h <= limits.h_tol or rho >= limits.rho_max:
                break
        status, message = int(result.status), str(result.message)
    except OutOfTime:  # What was reached is made a DAG.
        reached = unknowns.weights(theta)
        kept = problem.rules.dag(reached.adjacency()).adjacency > 0.0
        theta = unknowns.of(dataclasses.replace(reached, w1=reached.w1 * kept.T[:, np.newaxis]))
        rho, alpha, h, status, message = 0.0, 0.0, 0.0, 1, OUT_OF_TIME
    value = objective(theta, 0.0, 0.0)[0]
    return MeanStep(unknowns.weights(theta), value, h, rho, alpha, clock.work - before, status, message)


class Unknowns:
    """The unknowns of Phase II as one vector, theta = (W1+, W1-, W2, intercepts).

    W1 = W1+ - W1- with both parts non-negative makes the l1 term linear. Forbidden edges are no unknowns.

    Parameters
    ----------
    template : Weights
        A network of the same shape, whose scale weights are carried along.
    rules : EdgeRules
        Edges that must not, and that must, appear; these are not under the lasso.
    """

    def __init__(self, template: Weights, rules: EdgeRules):
        self.template = template
        self.allowed = np.repeat(~rules.forbidden.T[:, np.newaxis], template.hidden_units, axis=1)
        self.is_free = ~np.repeat(rules.required.T[:, np.newaxis], template.hidden_units, axis=1)[self.allowed]
        lower = np.full(self.of(template).size, -np.inf)
        lower[: 2 * self.is_free.size] = 0.0
        self.bounds = Bounds(lower, np.inf)  # pyright: ignore[reportArgumentType]

    def of(self, weights: Weights) -> Floats:
        """Return theta of a network."""
        w1 = weights.w1[self.allowed]
        rest = [part for part in (weights.w2, weights.hidden_bias, weights.output_bias) if part is not None]
        return np.concatenate([np.maximum(w1, 0.0), np.maximum(-w1, 0.0), *(part.ravel() for part in rest)])

    def weights(self, theta: Floats) -> Weights:
        """Return the network of theta."""
        at, w1 = self.is_free.size, np.zeros(self.allowed.shape)
        w1[self.allowed] = theta[:at] - theta[at : 2 * at]
        names = [name for name in ("w2", "hidden_bias", "output_bias") if getattr(self.template, name) is not None]
        shapes = [getattr(self.template, name).shape for name in names]
        rest = np.split(theta[2 * at :], np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1])
        parts = {name: part.reshape(shape) for name, part, shape in zip(names, rest, shapes, strict=True)}
        return dataclasses.replace(self.template, w1=w1, **parts)


def phase_two_objective(
    X: Floats, scale: Floats, unknowns: Unknowns, l1: float, l2: float, rows: Mask | None = None
) -> Callable[[Floats, float, float], tuple[float, Floats]]:
    """Return the objective of Phase II and its gradient, a function of theta, rho and alpha.

    (1/M) sum of (X_n - f_n)^2 / (2 sigma_n^2) + l1 |W1|_1 + (l2/2) (|W1|^2 + |W2|^2) + alpha h + (rho/2) h^2

    By W1 the penalty terms have the derivatives l2 W1 + (alpha + rho h) dh/dW1, where A[i, n] = |W1_n,i| gives
    dh/dW1_nhi = (dh/dA)[i, n] W1_nhi / A[i, n].

    Parameters
    ----------
    X, scale, l1, l2, rows
        See `algorithm_3`.
    unknowns : Unknowns
        What theta stands for.
    """
    size, lasso = unknowns.is_free.size, l1 * unknowns.is_free
    constant = np.sum(np.log(scale)[True if rows is None else rows]) / len(X)
    constant += 0.5 * np.log(2.0 * np.pi) * (X.shape[1] if rows is None else rows.sum() / len(X))

    def value_and_gradient(theta: Floats, rho: float, alpha: float) -> tuple[float, Floats]:
        weights = unknowns.weights(theta)
        value, gradient = nll_and_gradient(X, weights, scale=scale, rows=rows)
        A = weights.adjacency()
        h, dh_dA = acyclicity(A)
        ratio = np.divide(dh_dA, A, out=np.zeros(A.shape), where=A > 0.0).T[:, np.newaxis]
        by_w1 = (gradient.w1 + (l2 + (alpha + rho * h) * ratio) * weights.w1)[unknowns.allowed]
        value += lasso @ (theta[:size] + theta[size : 2 * size]) - constant
        value += 0.5 * l2 * (np.vdot(weights.w1, weights.w1) + np.vdot(weights.w2, weights.w2))
        value += alpha * h + 0.5 * rho * h * h
        by_theta = unknowns.of(dataclasses.replace(gradient, w2=gradient.w2 + l2 * weights.w2))
        by_theta[:size] = by_w1 + lasso
        by_theta[size : 2 * size] = lasso - by_w1
        return value, by_theta

    return value_and_gradient
