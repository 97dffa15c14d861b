"""The two-phase procedure (Algorithm 1): alternate Phase II and Phase I until neither helps."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from icdh._clock import Clock
from icdh._threads import single_blas_thread
from icdh.density import gaussian_nll
from icdh.knowledge.rules import EdgeRules
from icdh.network import Weights, features_of, outputs, root_mean_square, weights_in_units
from icdh.two_phase.lagrangian import OUT_OF_TIME, fit_means
from icdh.two_phase.scales import fit_scales
from icdh.two_phase.schedule import FAST_ALONE, schedule_named

FEW_ROWS = 50_000  # of tables of more than twice as many, so many decide the graph
EXPLORATIONS = len(FAST_ALONE.finish.reaches)  # fresh random weights for every further start of a node


class Round(NamedTuple):
    """The record of one round: Phase II, then Phase I.

    Attributes
    ----------
    round : int
        Counted from 1.
    nll : float
        Negative log-likelihood after the round, in nats, mean over observations.
    criterion : float
        What rounds and restarts are judged by, in nats: by ``schedule="fast"`` the likelihood and the penalties,
        ``nll + l1 |W1|_1 + (l2/2) (|W1|^2 + |W2|^2)``; by "paper" ``nll``. The lowest is the best.
    objective : float
        Regularised objective of Phase II (without the terms in h) at its end.
    h : float
        Acyclicity of the weights.
    rho, alpha : float
        Penalty weight and multiplier at the end of the augmented Lagrangian method.
    evaluations : int
        Evaluations of the objective of Phase II.
    seconds : float
        Wall time of the round.
    status : int
        Status of the last L-BFGS-B run: 0 converged, 1 limit reached, 2 failed line search.
    message : str
        Its message.
    """

    round: int
    nll: float
    criterion: float
    objective: float
    h: float
    rho: float
    alpha: float
    evaluations: int
    seconds: float
    status: int
    message: str


class TwoPhaseResult(NamedTuple):
    """The best round: its weights and record, and the history up to where the procedure ended.

    Attributes
    ----------
    weights : Weights
        The network of the best round.
    best : Round
        The record of that round, the one of the lowest criterion.
    history : list of Round
        All rounds, in order.
    converged : bool
        Whether the criterion stood still and the constraint was met before ``max_rounds``.
    interrupted : bool
        Whether a KeyboardInterrupt ended the procedure early.
    timed_out : bool
        Whether the time was over before it ended.
    """

    weights: Weights
    best: Round
    history: list
    converged: bool
    interrupted: bool
    timed_out: bool = False


def fit_two_phase(
    values: np.ndarray,
    *,
    hidden_units: int = 10,
    l1: float = 0.01,
    l2: float = 0.01,
    noise: str = "heteroscedastic",
    bias: bool = False,
    max_rounds: int = 10,
    tol: float = 1e-2,
    schedule: str = "fast",
    h_tol: float = 1e-8,
    rho_max: float = 1e16,
    forbidden_edges: np.ndarray | None = None,
    required_edges: np.ndarray | None = None,
    rows: np.ndarray | None = None,
    random_state: int | np.random.SeedSequence | np.random.Generator | None = None,
    initial: Weights | Sequence[Weights] | None = None,
    callback: Callable[[Round], None] | None = None,
    clock: Clock | None = None,
) -> TwoPhaseResult:
    """Learn the network of the heteroscedastic noise model under the acyclicity constraint.

    Parameters
    ----------
    values : ndarray, shape (N, M)
        Observations, finite float64, one variable a row.
    hidden_units : int
        m1, hidden units a node.
    l1, l2 : float
        Penalties on W1 (lasso) and on W1 and W2 (ridge).
    noise : {"heteroscedastic", "unequal", "equal"}
        The scale: a function of the parents, a constant a node, or one everywhere.
    bias : bool
        Whether hidden units and means get intercepts.
    max_rounds : int
        The most rounds of Phase II and Phase I.
    tol : float
        The procedure ends when a round lowers the criterion by less, in nats.
    schedule : {"fast", "paper"}
        How Phase II is solved, and rounds are judged; see `icdh.two_phase.schedule`. By "fast" the first rounds of long
        tables, which decide the graph, are on few of the rows; later ones, numbered on, are on all.
    h_tol, rho_max : float
        Where the augmented Lagrangian method ends; see `icdh.two_phase.lagrangian.fit_means`.
    forbidden_edges : ndarray of bool, shape (N, N), optional
        Edges i -> j that must not appear.
    required_edges : ndarray of bool, shape (N, N), optional
        Edges i -> j that must appear, of an acyclic graph; whatever would close a cycle with them is forbidden.
    rows : ndarray of bool, shape (N, M), optional
        The observations that count for the distribution of each variable, for instance those where nobody set it; by
        default all.
    random_state : int, SeedSequence, Generator or None
        Draws the initial weights.
    initial : Weights or sequence of Weights, optional
        Initial weights in place of random ones. Of several the first is where the procedure begins, and all are
        further starts of Phase II, in turn.
    callback : callable, optional
        Called with the `Round` after each round.
    clock : Clock, optional
        Says when to end. A round that is cut short counts only if it is the first.

    Returns
    -------
    TwoPhaseResult
        Weights, likelihood and history, all of the same, best round.

    Notes
    -----
    A KeyboardInterrupt returns the best round so far, or is raised again if there is none yet.

    References
    ----------
    Yin, Gao, Yu, Ji: "Effective Causal Discovery under Identifiable Heteroscedastic Noise Model", AAAI 2024,
    Algorithm 1; "Generality" in its appendix for the two other kinds of noise.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.two_phase import fit_two_phase
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=300)
    >>> effect = 2.0 * np.tanh(cause) + (0.2 + 0.3 * (cause > 0.0)) * rng.normal(size=300)
    >>> result = fit_two_phase(np.array([cause, effect]), random_state=0)
    >>> result.weights.adjacency().shape, len(result.history) >= 2
    ((2, 2), True)
    """
    variables = len(values)
    if forbidden_edges is None:
        forbidden_edges = np.eye(variables, dtype=bool)
    rules = EdgeRules.of(forbidden_edges, required_edges)
    if initial is None:
        initial = draw_initial_weights(values, hidden_units, bias, np.random.default_rng(random_state))
    explore = [initial] if isinstance(initial, Weights) else list(initial)
    features = features_of(values, bias)
    weights, scale = explore[0], np.ones(values.shape)
    best, history, converged, interrupted = None, [], False, False
    clock = clock or Clock()
    plan, forbidden = schedule_named(schedule, noise, *values.shape), rules.forbidden
    tol = max(tol, plan.least_gain * variables * (variables - 1) / values.shape[1])
    every = -(-values.shape[1] // FEW_ROWS)
    if plan.decides and every > 2:
        few = fit_two_phase(
            np.ascontiguousarray(values[:, ::every]),
            l1=l1,
            l2=l2,
            noise=noise,
            bias=bias,
            max_rounds=max_rounds,
            tol=tol,
            schedule=schedule,
            h_tol=h_tol,
            rho_max=rho_max,
            forbidden_edges=rules.forbidden,
            required_edges=rules.required,
            rows=None if rows is None else rows[:, ::every],
            initial=explore,
            callback=callback,
            clock=clock,
        )
        if few.interrupted or few.timed_out:
            return few
        weights, best, best_weights, history = few.weights, few.best, few.weights, list(few.history)
        scale = outputs(features, weights)[1]
        plan, forbidden = plan.once_the_graph_is_decided(), _without_absent_edges(weights, rules)
    few_rounds = len(history)
    with single_blas_thread():
        try:
            while len(history) - few_rounds < max_rounds and not converged and not (history and clock.is_over):
                begin = time.perf_counter()
                step = fit_means(
                    features,
                    scale,
                    weights,
                    forbidden,
                    l1,
                    l2,
                    h_tol,
                    rho_max,
                    plan if history else plan.of_the_first_round(),
                    explore,
                    rows,
                    rules.required,
                    clock,
                )
                if step.message == OUT_OF_TIME and history:
                    break
                explore = explore[1:] + explore[:1]
                weights = fit_scales(features, step.weights, noise, rows, clock)
                mean, scale = outputs(features, weights)
                nll = gaussian_nll(values, mean, scale, rows)
                criterion = nll + plan.counts_penalties * penalties(weights, l1, l2)
                record = _record(len(history) + 1, nll, criterion, step, time.perf_counter() - begin)
                gain = np.inf if len(history) == few_rounds else best.criterion - criterion
                history.append(record)
                converged = (noise == "equal" or gain < tol) and not clock.is_over
                if gain > 0.0:
                    best, best_weights = record, weights
                if gain < plan.deciding_gain * variables:
                    plan, forbidden = plan.once_the_graph_is_decided(), _without_absent_edges(weights, rules)
                if callback is not None:
                    callback(record)
        except KeyboardInterrupt:
            if best is None:
                raise
            interrupted = True
    timed_out = clock.is_over and not (converged or interrupted)
    converged = converged and best.h <= h_tol and not interrupted
    return TwoPhaseResult(best_weights, best, history, converged, interrupted, timed_out)


def penalties(weights: Weights, l1: float, l2: float) -> float:
    """Return the terms of the objective of Phase II that hold weights down, l1 |W1|_1 + (l2/2) (|W1|^2 + |W2|^2)."""
    squares = np.vdot(weights.w1, weights.w1) + np.vdot(weights.w2, weights.w2)
    return float(l1 * np.abs(weights.w1).sum() + 0.5 * l2 * squares)


def draw_initial_weights(values: np.ndarray, hidden_units: int, bias: bool, rng: np.random.Generator) -> list[Weights]:
    """Draw the weights that a fit begins with, and those that its later rounds and nodes start from in turn."""
    rms = root_mean_square(values)
    return [weights_in_units(rms, hidden_units, bias, rng) for _ in range(EXPLORATIONS)]


def _without_absent_edges(weights, rules):
    """Return the edges that must not come in once the graph is decided, shape (N, N)."""
    return rules.forbidden | ((weights.adjacency() == 0.0) & ~rules.required)


def _record(number, nll, criterion, step, seconds):
    return Round(
        number,
        nll,
        criterion,
        step.objective,
        step.h,
        step.rho,
        step.alpha,
        step.evaluations,
        seconds,
        step.status,
        step.message,
    )
