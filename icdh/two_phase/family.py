"""A family, one child given its causes: its scales (Phase I, Algorithm 2), and a fit by both phases in turn.

Phase I finds W3 and W3_0, given the means. With W1 and W2 fixed the likelihood separates into one problem of m1 + 1
unknowns a child, over cached hidden activations. Each is solved in units of the child's root mean squared residual, so
the units of the data do not matter to the optimiser.

On a DAG the likelihood of Eq. 11 is a sum over families. Each is a small problem of its own: Phase II by Newton's
method, and Phase I. Together they minimise

    the negative log-likelihood + l1 |W1|_1 + (l2/2) (|W1|^2 + |W2|^2).

Likelihood and penalties are in nats over all observations: the penalties are the same whatever M.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv  # pyright: ignore[reportAttributeAccessIssue]

from icdh._utils.arrays import NONE, Floats, Mask, mean_of, of_rows, times
from icdh._utils.clock import OutOfTime
from icdh._utils.density import node_nll
from icdh._utils.jit import next_damping, small_steps
from icdh.network import NetworkConditional, Weights, activations, root_mean_square
from icdh.search.climb import Family
from icdh.two_phase._kernels import scale_objective
from icdh.two_phase.objective import FamilyObjective, Problem
from icdh.two_phase.solvers import NEWTON_FIRST_DAMPING, NEWTON_LARGEST_DAMPING, minimise_by_newton

# Smallest floor exp(W3_n0) of a scale, in units of the root mean squared residual: the likelihood is unbounded as a
# scale goes to zero.
RELATIVE_FLOOR = 1e-3
SMALLEST_SCALE = 1e-60
LARGEST_SCALE_WEIGHT = 1e300
HIGHEST_FLOOR = 10.0  # of W3_n0, in the same units
MOST_STEPS = 200
PATIENCE = 2  # small steps in a row that end a descent
LEAST_UNIT = 1e-6  # of an entry in the damping, beside the largest: a dead ReLU has no information
SCALE_TOLERANCE = 1e-7  # nats an observation: a descent ends after two steps that gain less
PHASE_ROUNDS = 10  # of both phases
LEAST_ROUND_GAIN = 0.5  # nats over all observations: a round that gains less is the last
FRESH_STARTS = 2  # random weights that a family is fitted from, too: minima are at times hundreds of nats apart
FRESH_REACH = 3.0  # largest random weight, in 1 / (root mean square of the cause)
FRESH_SCALE = 0.03  # the first scale beside random weights, in root mean squares of the child
FAMILY_TOLERANCE = 1e-6  # relative decrease at which Newton's method ends


def fit_scales(problem: Problem, weights: Weights) -> Weights:
    """Return the weights with W3 and W3_0 refitted; the negative log-likelihood never rises.

    Parameters
    ----------
    problem : Problem
        What to fit. Its ``noise`` "heteroscedastic" fits W3 and W3_0 by Fisher scoring; "unequal" sets each scale to
        the root mean squared residual, the maximum of the likelihood among constants (Eq. 16-18); "equal" leaves
        scales at one (Eq. 15). Once its time is over, the scales of the nodes that are left are constants.
    weights : Weights
        The network; its w1, w2 and intercepts stay.

    References
    ----------
    Yin, Gao, Yu, Ji: "Effective Causal Discovery under Identifiable Heteroscedastic Noise Model", AAAI 2024,
    Algorithm 2.
    """
    problem.check_activation_of(weights)
    if problem.noise == "equal":
        return weights
    w3, w3_bias, clock = weights.w3.copy(), weights.w3_bias.copy(), problem.clock
    clock.begin("scales", weights.n_variables)
    for n in range(weights.n_variables):
        s = activations(problem.features, weights, n)
        residual = problem.features[n] - weights.w2[n] @ s
        residual -= 0.0 if weights.output_bias is None else weights.output_bias[n]
        kind = "unequal" if clock.is_over else problem.noise
        w3[n], w3_bias[n] = fit_scale(problem, n, s, residual, w3[n], w3_bias[n], kind)
        clock.part_done()
    return replace(weights, w3=w3, w3_bias=w3_bias)


def fit_scale(
    problem: Problem, node: int, s: Floats, residual: Floats, w3: Floats, w3_bias: float, noise: str
) -> tuple[Floats, float]:
    """Return W3_n and W3_n0 of one node.

    Parameters
    ----------
    problem : Problem
        Says which observations count, and how often, and has the activation.
    node : int
        The node.
    s : ndarray, shape (m1, M)
        Its hidden activations.
    residual : ndarray, shape (M,)
        Its residuals.
    w3, w3_bias : ndarray, shape (m1,), and float
        Where to start; returned where no observation counts.
    noise : {"heteroscedastic", "unequal", "equal"}
        See `fit_scales`.
    """
    rows, weights = problem.rows_of(node), problem.weights
    if rows is not None:
        s, residual, weights = np.ascontiguousarray(s[:, rows]), residual[rows], of_rows(weights, rows)
    if noise == "equal" or residual.size == 0:
        return w3, w3_bias
    rms = max(float(np.sqrt(mean_of(residual**2, weights))), SMALLEST_SCALE)
    if noise == "unequal":
        return np.zeros_like(w3), np.log(rms)
    shares = NONE if weights is None else weights * (residual.size / weights.sum())
    start = np.append(w3 / rms, w3_bias - np.log(rms))
    theta = _minimise(s, residual / rms, shares, start, problem.activation.low)
    limit = LARGEST_SCALE_WEIGHT / max(rms, 1.0)  # extreme units and a scale that is all but dead
    return np.clip(theta[:-1], -limit, limit) * rms, theta[-1] + np.log(rms)


def rising_weights(s: Floats, residual: Floats, weights: Floats | Mask | None) -> Floats:
    """Return W3_n by which a scale of floor 1/2 rises where residuals are large, for activations of both signs.

    With equal weights it would be dead at about half of the observations, whichever these are.

    Parameters
    ----------
    s, residual
        See `scale_objective`.
    weights : ndarray, shape (M,), or None
        How often each observation counts, or whether it does; None if once.
    """
    weighed, spread = times(weights, s), np.sqrt(0.5 * np.pi) * np.abs(residual)  # whose expectation is sigma
    gram, right = weighed @ s.T, weighed @ (spread - 0.5)
    gram.ravel()[:: len(gram) + 1] += 1e-10 * gram.trace()  # units may do the same
    rising: Floats = dposv(gram, right)[1]  # zero, as ``right`` is, where they do nothing for want of inputs
    return rising


def descend(
    s: Floats, residual: Floats, weights: Floats, theta: Floats, lowest: float, tolerance: float
) -> tuple[Floats, float]:
    """Minimise L by Fisher scoring with Levenberg-Marquardt damping; return theta and L there.

    It ends after two steps in a row that gain less than ``tolerance``. L is infinite if it is no number at the start.

    Parameters
    ----------
    s, residual, weights
        See `scale_objective`.
    theta : ndarray, shape (m1 + 1,)
        Where to start.
    lowest : float
        The lowest W3_n0, which stays below ``HIGHEST_FLOOR``.
    tolerance : float
        Nats an observation.
    """
    value, gradient, fisher = scale_objective(s, residual, weights, theta)
    if not value < np.inf:
        return theta, np.inf
    damping, growth, small = NEWTON_FIRST_DAMPING, 2.0, 0
    for _ in range(MOST_STEPS):
        step = _damped_step(gradient, fisher, damping, theta[-1], lowest)
        predicted = -float(step @ (gradient + 0.5 * (fisher @ step)))
        if not predicted > 0.0:
            damping, growth = next_damping(damping, growth, -1.0)
            if damping > NEWTON_LARGEST_DAMPING:
                break
            continue
        reached, *derivatives = scale_objective(s, residual, weights, theta + step)
        fall = value - reached
        if fall > 0.0:
            theta, value, (gradient, fisher) = theta + step, reached, derivatives
        small = small_steps(small, fall, predicted, tolerance)
        damping, growth = next_damping(damping, growth, fall / predicted)
        if small == PATIENCE or damping > NEWTON_LARGEST_DAMPING:
            break
    return theta, value


def _damped_step(gradient: Floats, fisher: Floats, damping: float, floor: float, lowest: float) -> Floats:
    """Return a step in which W3_n0 stays within its bounds; NaN if there is none."""
    outward = (floor <= lowest and gradient[-1] > 0.0) or (floor >= HIGHEST_FLOOR and gradient[-1] < 0.0)
    free, system, diagonal = gradient.size - outward, fisher.copy(), fisher.diagonal()
    system.ravel()[:: gradient.size + 1] += damping * np.maximum(diagonal, LEAST_UNIT * diagonal.max())
    step = np.zeros(gradient.size)
    _, step[:free], failed = dposv(system[:free, :free], -gradient[:free])
    step[-1] = min(max(floor + step[-1], lowest), HIGHEST_FLOOR) - floor
    return np.full(gradient.size, np.nan) if failed else step


def _minimise(s: Floats, residual: Floats, weights: Floats, start: Floats, low: float) -> Floats:
    """Return the better of the minima reached from the start and from a scale that is alive wherever it can be."""
    lowest = min(np.log(RELATIVE_FLOOR), start[-1])
    start = np.append(start[:-1], min(start[-1], HIGHEST_FLOOR))
    if low >= 0.0:
        activity = (s @ weights).mean() / weights.sum() if weights.size else s.mean()
        w3 = np.full(s.shape[0], 0.5 / activity / s.shape[0])
    else:
        w3 = rising_weights(s, residual, weights if weights.size else None)
    alive = np.append(w3, np.log(0.5))  # a scale of about one
    ends = [descend(s, residual, weights, begin, lowest, SCALE_TOLERANCE) for begin in (start, alive)]
    return min(ends, key=lambda end: end[1])[0]


class FamilyFit(NamedTuple):
    """A fitted family.

    Attributes
    ----------
    hidden : ndarray, shape (p or p + 1, m1)
        Weights of each cause, in ascending order; a last row of intercepts, if there are any.
    w2 : ndarray, shape (m1 or m1 + 1,)
        Output weights of the mean; the intercept last, if there is one.
    w3, w3_bias : ndarray, shape (m1,), and float
        The scale.
    penalised : float
        Negative log-likelihood and penalties, sum over the observations that count.
    """

    hidden: Floats
    w2: Floats
    w3: Floats
    w3_bias: float
    penalised: float


@dataclass(frozen=True)
class FamilyFitter:
    """Fits families of one table.

    Attributes
    ----------
    problem : Problem
        The table, the penalties, the kind of noise, and when to end.
    unit : float
        What a unit of the penalties costs, in nats over all observations.
    """

    problem: Problem
    unit: float

    def refit(self, weights: Weights, families: Iterable[Family], rng: np.random.Generator | None = None) -> Weights:
        """Return a network with families, a child and its causes each, fitted again.

        Parameters
        ----------
        weights : Weights
            A fitted network, from which the fits start.
        families : iterable of Family
            At most one for every child; the others stay. Once the time is over, output weights and a constant scale
            alone are fitted.
        rng : Generator, optional
            Draws further weights that fits start from; by default none.
        """
        self.problem.check_activation_of(weights)
        w1, w2, w3, w3_bias = (part.copy() for part in (weights.w1, weights.w2, weights.w3, weights.w3_bias))
        hidden_bias, output_bias = copy(weights.hidden_bias), copy(weights.output_bias)
        for child, causes in families:
            fit = self._refit(weights, child, causes, rng)
            w1[child] = 0.0
            w1[child][:, list(causes)] = fit.hidden[: len(causes)].T
            w2[child], w3[child], w3_bias[child] = fit.w2[: weights.hidden_units], fit.w3, fit.w3_bias
            if hidden_bias is not None and output_bias is not None:
                hidden_bias[child], output_bias[child] = fit.hidden[-1], fit.w2[-1]
        return replace(weights, w1=w1, w2=w2, w3=w3, w3_bias=w3_bias, hidden_bias=hidden_bias, output_bias=output_bias)

    def _refit(self, weights: Weights, child: int, causes: Sequence[int], rng: np.random.Generator | None) -> FamilyFit:
        hidden, w3_bias = weights.w1[child][:, list(causes)].T, float(weights.w3_bias[child])
        if weights.hidden_bias is not None:
            hidden = np.vstack([hidden, weights.hidden_bias[child]])
        hidden = np.ascontiguousarray(hidden)
        scale = NetworkConditional.of(weights, child).mean_and_scale(self.problem.values)[1]
        try:
            fits = [self.fit(child, causes, hidden, weights.w3[child], w3_bias, scale)]
            if causes and rng is not None:
                units, n_starts = weights.hidden_units, FRESH_STARTS
                fits += [self.fit_afresh(child, causes, units, rng) for _ in range(n_starts)]
        except OutOfTime:
            return self._adapt(child, causes, hidden)
        return min(fits, key=lambda fit: fit.penalised)

    def fit(
        self, child: int, causes: Sequence[int], hidden: Floats, w3: Floats, w3_bias: float, scale: Floats
    ) -> FamilyFit:
        """Fit a family by both phases in turn, and return the best round.

        Parameters
        ----------
        child : int
            The child.
        causes : tuple of int
            Its causes, in ascending order.
        hidden, w3, w3_bias
            Where to start, as of `FamilyFit`.
        scale : ndarray, shape (M,)
            The standard deviations of the first Phase II.
        """
        best: FamilyFit | None = None
        gain, rounds = np.inf, 0
        while True:
            self.problem.clock.check()
            objective = self._objective(child, causes, scale)
            hidden = minimise_by_newton(objective, hidden, FAMILY_TOLERANCE, self.problem.clock.check).w
            fit, scale = self._with_scale(objective, hidden, w3, w3_bias, self.problem.noise)
            w3, w3_bias, rounds = fit.w3, fit.w3_bias, rounds + 1
            if best is not None:
                gain = best.penalised - fit.penalised
            best = fit if best is None or gain > 0.0 else best
            if self.problem.noise == "equal" or gain < LEAST_ROUND_GAIN or rounds == PHASE_ROUNDS:
                return best

    def fit_afresh(self, child: int, causes: Sequence[int], units: int, rng: np.random.Generator) -> FamilyFit:
        """Fit a family from random weights.

        The first scale is small, so that penalties hardly count in the first Phase II. With a scale of one, fits of
        children that are nearly functions of their causes end in minima hundreds of nats above the best.

        Parameters
        ----------
        child, causes
            See `fit`.
        units : int
            m1, hidden units.
        rng : Generator
            Draws the weights.
        """
        rms, reach = root_mean_square(self.problem.values[list(causes)]), FRESH_REACH
        hidden = rng.uniform(-reach, reach, (len(causes), units))
        hidden /= np.where(rms > 0.0, rms, 1.0)[:, np.newaxis]
        if self.problem.bias:
            hidden = np.vstack([hidden, np.zeros(units)])
        rows, values = self.problem.rows_of(child), self.problem.values[child]
        counted = values if rows is None else values[rows]
        spread = np.sqrt(np.mean(np.square(counted))) if counted.size else 0.0
        scale = np.full(values.size, FRESH_SCALE * (spread if spread > 0.0 else 1.0))
        return self.fit(child, causes, hidden, np.zeros(units), np.log(scale[0]), scale)

    def _adapt(self, child: int, causes: Sequence[int], hidden: Floats) -> FamilyFit:
        """Fit w2 and a constant scale alone, in closed form, whatever the clock says."""
        units = hidden.shape[1]
        objective = self._objective(child, causes, np.ones(self.problem.values.shape[1]))
        noise = "equal" if self.problem.noise == "equal" else "unequal"
        return self._with_scale(objective, hidden, np.zeros(units), 0.0, noise)[0]

    def _objective(self, child: int, causes: Sequence[int], scale: Floats) -> FamilyObjective:
        return FamilyObjective.of(self._in_the_mean, child, causes, scale)

    @cached_property
    def _in_the_mean(self) -> Problem:
        """The problem with penalties in nats an observation."""
        l1, l2 = (self.unit * penalty / self.problem.n_counted for penalty in (self.problem.l1, self.problem.l2))
        return replace(self.problem, l1=l1, l2=l2)

    def _with_scale(
        self, objective: FamilyObjective, hidden: Floats, w3: Floats, w3_bias: float, noise: str
    ) -> tuple[FamilyFit, Floats]:
        """Return the family after a Phase I that follows these hidden weights, and its scale at every observation."""
        child, units, means = objective.child, hidden.shape[1], objective.evaluate(hidden)
        s, mean = means.s[:units], means.w2 @ means.s
        values, rows, weights = self.problem.values[child], self.problem.rows_of(child), self.problem.weights
        w3, w3_bias = fit_scale(self.problem, child, s, values - mean, w3, w3_bias, noise)
        scale: Floats = np.maximum(w3 @ s, 0.0) + np.exp(w3_bias)
        nats = self.problem.n_counted * node_nll(values, mean, scale, rows, weights)
        edges = hidden[: len(hidden) - self.problem.bias]
        lasso = np.abs(hidden[objective.is_free]).sum()
        squares = np.vdot(edges, edges) + np.vdot(means.w2[:units], means.w2[:units])
        penalties = self.unit * (self.problem.l1 * lasso + 0.5 * self.problem.l2 * squares)
        return FamilyFit(hidden, means.w2, w3, w3_bias, float(nats + penalties)), scale
