"""A family, one child given its causes, fitted by the article's two phases in turn.

On a DAG the likelihood of Eq. 11 is a sum over families. Each is a small problem of its own: Phase II by Newton's
method, Phase I as in `icdh.two_phase.scales`. Together they minimise

    the negative log-likelihood + l1 |W1|_1 + (l2/2) (|W1|^2 + |W2|^2).

Likelihood and penalties are in nats over all observations: the penalties are the same whatever M.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from icdh._utils.arrays import Floats
from icdh._utils.clock import OutOfTime
from icdh._utils.density import node_nll
from icdh.network import NetworkConditional, Weights, root_mean_square
from icdh.search.moves import Family
from icdh.two_phase.objective import FamilyObjective, Problem
from icdh.two_phase.scales import fit_scale
from icdh.two_phase.solvers import minimise_by_newton

PHASE_ROUNDS = 10  # of both phases
LEAST_ROUND_GAIN = 0.5  # nats over all observations: a round that gains less is the last
FRESH_STARTS = 2  # random weights that a family is fitted from, too: minima are at times hundreds of nats apart
FRESH_REACH = 3.0  # largest random weight, in 1 / (root mean square of the cause)
FRESH_SCALE = 0.03  # the first scale beside random weights, in root mean squares of the child
FAMILY_TOLERANCE = 1e-6  # relative decrease at which Newton's method ends


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
