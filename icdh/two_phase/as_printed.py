"""ICDH as printed: Algorithms 1, 2 and 3 of the article, one function each, to be read beside it.

==========================  ======================================================================================
article                     here
==========================  ======================================================================================
X                           ``problem.values``, shape (N, M)
theta = (W1, W2, W3, W3_0)  ``weights``, see `icdh.network`
L (Eq. 11), its gradient    `icdh.likelihood.nll_and_gradient`; ``loss_and_gradient``, one variable a row
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

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from icdh._table.frames import observations_of, scale_like
from icdh._utils.arrays import Floats, Mask, TableLike
from icdh._utils.checks import Number
from icdh._utils.clock import OutOfTime
from icdh._utils.density import LOG_SQRT_2PI, gaussian_nll
from icdh.exceptions import ArgumentTypeError, ArgumentValueError
from icdh.knowledge import EdgeRules
from icdh.likelihood import loss_and_gradient
from icdh.network import Weights, activations, check_weights, outputs
from icdh.two_phase.objective import Problem
from icdh.two_phase.rounds import LIMITS, OUT_OF_TIME, Limits, MeanStep, Round, Rounds, TwoPhaseResult

C, S = 0.25, 10.0  # rho grows by S unless h fell below C times its last value
TOLERANCE = 1e-6  # relative decrease that ends a minimisation; the article prints none
SMALLEST_FLOOR = 1e-3  # of exp(W3_0), in root mean squared residuals: L has no lower bound as sigma goes to zero


def algorithm_1(
    problem: Problem, weights: Weights, limits: Limits = LIMITS, callback: Callable[[Round], None] | None = None
) -> TwoPhaseResult:
    """Alternate Phase II and Phase I until the likelihood stands still (Algorithm 1).

    sigma = 1; then, in turn, (W1, W2) by `algorithm_3` given sigma, (W3, W3_0) by `algorithm_2` given (W1, W2), and
    sigma_n = relu(W3_n . s_n) + exp(W3_n0).

    Parameters
    ----------
    problem : Problem
        The table, what is known of its graph, the penalties and the kind of noise.
    weights : Weights
        Where to start. The print starts at zero, where every gradient vanishes; start from small random weights, as
        `icdh.network.initial_weights` draws them.
    limits : Limits
        When the algorithm ends.
    callback : callable, optional
        Called with every `Round`.

    Returns
    -------
    TwoPhaseResult
        Weights and record of the round of the highest likelihood, and the history.

    Raises
    ------
    TypeError, ValueError
        If the weights are not those of the problem's variables.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.network import initial_weights
    >>> from icdh.two_phase import Limits, Problem, algorithm_1
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> weights = initial_weights(X, 3, False, np.random.default_rng(0))
    >>> algorithm_1(Problem.of(X), weights, Limits(max_rounds=1)).best.h < 1e-8
    True
    """
    _check(problem, weights)
    scale, tol = np.ones(problem.values.shape), np.inf if problem.noise == "equal" else limits.tol
    with Rounds(limits.max_rounds, tol, problem.clock, callback) as rounds:
        while rounds.go_on:
            begin = time.perf_counter()
            step = algorithm_3(problem, scale.T, weights, limits)
            if step.message == OUT_OF_TIME and rounds.history:
                break
            weights = algorithm_2(problem, step.weights)
            mean, scale = outputs(problem.features, weights)
            value = gaussian_nll(problem.values, mean, scale, problem.rows, problem.weights)
            rounds.add(weights, step, value, value, time.perf_counter() - begin)
    return rounds.result(limits.h_tol)


def algorithm_2(problem: Problem, weights: Weights) -> Weights:
    """Phase I: maximise the likelihood over W3 and W3_0, given W1 and W2 (Algorithm 2).

    (W3, W3_0) = argmin L(W1, W2, W3, W3_0) (Eq. 11). A constant scale ("unequal", Eq. 16-18) has its maximum in closed
    form, W3_n0 = log sqrt(mean of (X_n - f_n)^2). "equal" leaves the scale at one (Eq. 15).

    Parameters
    ----------
    problem : Problem
        See `algorithm_1`.
    weights : Weights
        The network.

    Returns
    -------
    Weights
        The same W1 and W2 with W3, shape (N, m1), and W3_0, shape (N,), refitted.

    Raises
    ------
    TypeError, ValueError
        If the weights are not those of the problem's variables.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.likelihood import nll
    >>> from icdh.network import initial_weights
    >>> from icdh.two_phase import Problem, algorithm_2
    >>> X = 3.0 * np.random.default_rng(0).normal(size=(50, 2))
    >>> weights = initial_weights(X, 3, False, np.random.default_rng(0))
    >>> nll(X, algorithm_2(Problem.of(X), weights)) < nll(X, weights)
    True
    """
    from icdh.two_phase.family import rising_weights
    from icdh.two_phase.solvers import run_lbfgs

    _check(problem, weights)
    if problem.noise == "equal":
        return weights
    rows = None if problem.rows is None else problem.rows.T
    residual = problem.values - outputs(problem.features, weights)[0]
    squares = np.square(residual)
    rms = np.sqrt(np.average(np.ascontiguousarray(squares.T), axis=0, weights=rows))
    rms = np.where(rms > 0.0, rms, np.finfo(float).tiny)
    if problem.noise == "unequal":
        return replace(weights, w3=0.0 * weights.w3, w3_bias=np.log(rms))
    N, m1 = weights.w3.shape
    if not weights.w3.any():  # The print starts at W3 = 0, where the ReLU is dead and has no gradient.
        w3 = np.repeat(rms[:, np.newaxis], m1, axis=1) / m1
        for n in range(N) if problem.activation.low < 0.0 else ():  # Of both signs these could be dead as well.
            s = activations(problem.features, weights, n)
            w3[n] = rms[n] * rising_weights(s, residual[n] / rms[n], problem.rows_of(n))
        weights = replace(weights, w3=w3, w3_bias=np.log(0.5 * rms))

    def with_scales(theta: Floats) -> Weights:
        return replace(weights, w3=theta[: N * m1].reshape(N, m1), w3_bias=theta[N * m1 :])

    def value_and_gradient(theta: Floats) -> tuple[float, Floats]:
        value, gradient = loss_and_gradient(problem.features, with_scales(theta), rows=problem.rows)
        return value, np.append(gradient.w3, gradient.w3_bias)

    start = np.append(weights.w3, weights.w3_bias)
    lower = np.append(np.full(N * m1, -np.inf), np.minimum(np.log(SMALLEST_FLOOR * rms), weights.w3_bias))
    return with_scales(run_lbfgs(value_and_gradient, start, lower, TOLERANCE).x)


def algorithm_3(problem: Problem, scale: TableLike, weights: Weights, limits: Limits = LIMITS) -> MeanStep:
    """Phase II: minimise the regularised objective over W1 and W2 under h = 0, given sigma (Algorithm 3).

    Minimises `phase_two_objective` for a growing rho. After every minimisation rho grows tenfold unless h fell below a
    quarter of its last value; then alpha grows by rho h.

    Parameters
    ----------
    problem : Problem
        See `algorithm_1`.
    scale : array_like or DataFrame, shape (M, N)
        sigma, positive, fixed.
    weights : Weights
        Where to start; W3 and W3_0 are carried along.
    limits : Limits
        Its ``h_tol`` is epsilon; at ``rho_max`` the method gives up.

    Returns
    -------
    MeanStep
        The weights, the objective without its terms in h, h, rho and alpha at the end.

    Raises
    ------
    TypeError, ValueError
        If ``scale`` is not positive, or the weights are not those of the problem's variables, or its acyclicity is not
        a number at them.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.network import initial_weights
    >>> from icdh.two_phase import Problem, algorithm_3
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> weights = initial_weights(X, 3, False, np.random.default_rng(0))
    >>> algorithm_3(Problem.of(X), np.ones(X.shape), weights).h < 1e-8
    True
    """
    from icdh.two_phase.solvers import run_lbfgs

    _check(problem, weights)
    sigma = scale_like(problem.values.T, scale, problem.values.shape[::-1])
    unknowns, clock = Unknowns(weights, problem.rules, problem.l1), problem.clock
    theta, constant = unknowns.of(weights), _constant(sigma, problem.rows)
    problem.check_start(unknowns.weights(theta).adjacency())

    def objective(theta: Floats, rho: float, alpha: float) -> tuple[float, Floats]:
        at, shift = unknowns.weights(theta), unknowns.lasso(theta) - constant
        value, gradient = _smooth_part(problem, sigma, at, rho, alpha, shift)
        return value, unknowns.gradient(gradient)

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
                result = run_lbfgs(lagrangian, theta, unknowns.lower, TOLERANCE, keep)
                theta = result.x
                h = problem.h(unknowns.weights(theta).adjacency())[0]
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
        theta = unknowns.of(replace(reached, w1=reached.w1 * kept.T[:, np.newaxis]))
        rho, alpha, h, status, message = 0.0, 0.0, 0.0, 1, OUT_OF_TIME
    value = objective(theta, 0.0, 0.0)[0]
    return MeanStep(unknowns.weights(theta), value, h, rho, alpha, clock.work - before, status, message)


def phase_two_objective(
    X: TableLike, scale: TableLike, weights: Weights, *, l1: float, l2: float, rho: float, alpha: float
) -> tuple[float, Weights]:
    """Return the objective of Phase II, the augmented Lagrangian of Algorithm 3, and its gradient by every weight.

    ``(1/M) sum of (X_n - f_n)^2 / (2 sigma_n^2) + l1 |W1|_1 + (l2/2) (|W1|^2 + |W2|^2) + alpha h + (rho/2) h^2``

    Parameters
    ----------
    X : array_like or DataFrame, shape (M, N)
        Observations.
    scale : array_like or DataFrame, shape (M, N)
        Standard deviations sigma, positive, fixed; all one in the first round.
    weights : Weights
        The network.
    l1, l2 : float
        Penalties lambda1, on W1, and lambda2, on W1 and W2.
    rho, alpha : float
        Penalty weight and multiplier of the constraint h = 0.

    Returns
    -------
    value : float
        The objective, in nats.
    gradient : Weights
        The derivatives, in the shapes of ``weights``; those by W3, W3_0 and self-loops are zero.

    Raises
    ------
    TypeError, ValueError
        If an argument is not the above; the message names it.

    Notes
    -----
    By W1 the penalties have the derivatives ``l1 sign(W1) + l2 W1 + (alpha + rho h) dh/dW1``. There ``A[i, n]`` is the
    norm of the weights from i to n, so that ``dh/dW1_nhi = (dh/dA)[i, n] W1_nhi / A[i, n]``.

    At a weight of zero the lasso has a kink; its derivative is taken for zero. A smooth optimiser needs W1 = W1+ - W1-
    with both parts non-negative: then the lasso is linear, is added outside, and ``l1=0`` is passed.

    References
    ----------
    Yin, Gao, Yu, Ji: "Effective Causal Discovery under Identifiable Heteroscedastic Noise Model", AAAI 2024,
    Algorithm 3.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.network import initial_weights
    >>> from icdh.two_phase import phase_two_objective
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> weights, penalties = initial_weights(X, 4, False, np.random.default_rng(0)), {"l1": 0.01, "l2": 0.01}
    >>> value, gradient = phase_two_objective(X, np.ones(X.shape), weights, **penalties, rho=1.0, alpha=0.0)
    >>> value > 0.0, gradient.w1.shape
    (True, (3, 4, 3))
    """
    check_weights(weights)
    values = observations_of(X, weights.n_variables)
    sigma = scale_like(X, scale, values.shape[::-1])
    for name, number in (("l1", l1), ("l2", l2), ("rho", rho), ("alpha", alpha)):
        Number(0).check(name, number)
    free, bias = EdgeRules.of(np.eye(len(values), dtype=bool)), weights.hidden_bias is not None
    problem = Problem(values, free, l1, l2, bias=bias, rows=None, weights=None, activation=weights.activation)
    shift = l1 * float(np.abs(weights.w1).sum()) - _constant(sigma, None)
    value, gradient = _smooth_part(problem, sigma, weights, rho, alpha, shift)
    return value, replace(gradient, w1=gradient.w1 + l1 * np.sign(weights.w1))


def _constant(sigma: Floats, rows: Mask | None) -> float:
    """Return what the likelihood given sigma holds beside the squares: the mean sum of log(sigma sqrt(2 pi))."""
    logs = np.log(np.ascontiguousarray(sigma.T))
    N, M = sigma.shape
    constant = np.sum(logs if rows is None else logs[rows.T]) / M
    return float(constant + LOG_SQRT_2PI * (N if rows is None else rows.sum() / M))


def _smooth_part(
    problem: Problem, sigma: Floats, weights: Weights, rho: float, alpha: float, shift: float
) -> tuple[float, Weights]:
    """Return the objective of Phase II, where ``shift`` stands for its lasso, and the gradient of all but the lasso."""
    loss, gradient = loss_and_gradient(problem.features, weights, sigma, problem.rows)
    A = weights.adjacency()
    h, dh_dA = problem.h(A)
    ratio = np.divide(dh_dA, A, out=np.zeros(A.shape), where=A > 0.0).T[:, np.newaxis]
    value = loss + shift
    value += 0.5 * problem.l2 * float(np.vdot(weights.w1, weights.w1) + np.vdot(weights.w2, weights.w2))
    value += alpha * h + 0.5 * rho * h * h
    by_w1 = gradient.w1 + (problem.l2 + (alpha + rho * h) * ratio) * weights.w1
    return value, replace(gradient, w1=by_w1, w2=gradient.w2 + problem.l2 * weights.w2)


def _check(problem: Problem, weights: Weights) -> None:
    """Raise an error unless the weights are those of a network for the problem."""
    if not isinstance(problem, Problem):
        raise ArgumentTypeError("problem", f"must be an icdh.two_phase.Problem; got a {type(problem).__name__}")
    check_weights(weights)
    if problem.weights is not None:
        raise ArgumentValueError("problem", "has weights of rows, which the article does not know; leave them out")
    expected = len(problem.values), not problem.bias, not problem.bias
    if (weights.n_variables, weights.hidden_bias is None, weights.output_bias is None) != expected:
        demand = f"must be of {expected[0]} variables, and have both kinds of intercepts or, unless bias=True, none"
        raise ArgumentValueError("weights", demand)
    problem.check_activation_of(weights)


class Unknowns:
    """The unknowns of Phase II as one vector, theta = (W1+, W1-, W2, intercepts).

    W1 = W1+ - W1- with both parts non-negative makes the l1 term linear. Forbidden edges are no unknowns.

    Parameters
    ----------
    template : Weights
        A network of the same shape, whose scale weights are carried along.
    rules : EdgeRules
        Edges that must not, and that must, appear; these are not under the lasso.
    l1 : float
        The penalty of the others.
    """

    def __init__(self, template: Weights, rules: EdgeRules, l1: float):
        self.template = template
        self.allowed = np.repeat(~rules.forbidden.T[:, np.newaxis], template.hidden_units, axis=1)
        self.costs = l1 * ~np.repeat(rules.required.T[:, np.newaxis], template.hidden_units, axis=1)[self.allowed]
        self.lower = np.full(self.of(template).size, -np.inf)
        self.lower[: 2 * self.costs.size] = 0.0

    def of(self, weights: Weights) -> Floats:
        """Return theta of a network."""
        w1 = weights.w1[self.allowed]
        return np.concatenate([np.maximum(w1, 0.0), np.maximum(-w1, 0.0), *_outputs_and_intercepts(weights)])

    def weights(self, theta: Floats) -> Weights:
        """Return the network of theta."""
        at, w1 = self.costs.size, np.zeros(self.allowed.shape)
        w1[self.allowed] = theta[:at] - theta[at : 2 * at]
        N, m1 = self.template.w2.shape
        w2, hidden, output = np.split(theta[2 * at :], [N * m1, 2 * N * m1])
        biases = (hidden.reshape(N, m1), output) if hidden.size else (None, None)
        return replace(self.template, w1=w1, w2=w2.reshape(N, m1), hidden_bias=biases[0], output_bias=biases[1])

    def lasso(self, theta: Floats) -> float:
        """Return l1 |W1|_1."""
        at = self.costs.size
        return float(self.costs @ (theta[:at] + theta[at : 2 * at]))

    def gradient(self, by_weights: Weights) -> Floats:
        """Return the derivatives by theta, given those of all but the lasso by the weights."""
        by_w1 = by_weights.w1[self.allowed]
        return np.concatenate([by_w1 + self.costs, self.costs - by_w1, *_outputs_and_intercepts(by_weights)])


def _outputs_and_intercepts(weights: Weights) -> list[Floats]:
    parts = weights.w2, weights.hidden_bias, weights.output_bias
    return [part.ravel() for part in parts if part is not None]
