"""A family, one child given its causes, fitted by the article's two phases in turn.

On a DAG the likelihood of Eq. 11 is a sum over families. Each is a small problem of its own: Phase II by Newton's
method, Phase I as in `icdh.two_phase.scales`. Together they minimise

    the negative log-likelihood + l1 |W1|_1 + (l2/2) (|W1|^2 + |W2|^2).

Likelihood and penalties are in nats over all observations: the penalties are the same whatever M.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from icdh._utils.arrays import Floats, Mask
from icdh._utils.clock import Clock, OutOfTime
from icdh._utils.density import node_nll
from icdh.network import NetworkConditional, Weights, root_mean_square
from icdh.search.moves import Family
from icdh.two_phase.objective import FamilyObjective, Problem
from icdh.two_phase.scales import fit_scale
from icdh.two_phase.solvers import minimise_by_newton


@dataclass(frozen=True)
class FamilyTuning:
    """Constants of the fits of families, chosen by measurement.

    Attributes
    ----------
    most_rounds : int
        Rounds of both phases.
    least_gain : float
        Nats over all observations: a round that gains less is the last.
    fresh_reach : float
        Largest random weight, in 1 / (root mean square of the cause).
    fresh_scale : float
        The first scale beside random weights, in root mean squares of the child.
    tolerance : float
        Relative decrease at which Newton's method ends.
    hopeless_nats, hopeless_gains : float
        A family is given up if its first round misses its limit by more nats, or a later one by more times its gain.
    """

    most_rounds: int = 10
    least_gain: float = 0.5
    fresh_reach: float = 3.0
    fresh_scale: float = 0.03
    tolerance: float = 1e-6
    hopeless_nats: float = 100.0
    hopeless_gains: float = 3.0


TUNING = FamilyTuning()


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
    nats : float
        Negative log-likelihood, sum over the observations that count.
    penalised : float
        The same with the penalties.
    finished : bool
        Whether the rounds ended because they gained nothing any more.
    """

    hidden: Floats
    w2: Floats
    w3: Floats
    w3_bias: float
    nats: float
    penalised: float
    finished: bool


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

    def until(self, clock: Clock) -> "FamilyFitter":
        """Return the fitter with another clock."""
        return replace(self, problem=replace(self.problem, clock=clock))

    def fit(
        self,
        child: int,
        causes: Sequence[int],
        hidden: Floats,
        w3: Floats,
        w3_bias: float,
        scale: Floats,
        limit: float = np.inf,
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
        limit : float
            Nats that the family must reach to be of use; one that is far from it is given up.
        """
        best: FamilyFit | None = None
        gain, hopeless, rounds = np.inf, TUNING.hopeless_nats, 0
        while True:
            self.problem.clock.check()
            objective = self._objective(child, causes, scale)
            hidden = minimise_by_newton(objective, hidden, TUNING.tolerance, self.problem.clock.check).w
            fit, scale = self._with_scale(objective, hidden, w3, w3_bias, self.problem.noise)
            w3, w3_bias, rounds = fit.w3, fit.w3_bias, rounds + 1
            if best is not None:
                gain = best.penalised - fit.penalised
                hopeless = TUNING.hopeless_gains * gain
            best = fit if best is None or gain > 0.0 else best
            finished = self.problem.noise == "equal" or gain < TUNING.least_gain
            if finished or rounds == TUNING.most_rounds or fit.nats - limit > hopeless:
                return best._replace(finished=finished or limit == np.inf)

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
        rms, reach = root_mean_square(self.problem.values[list(causes)]), TUNING.fresh_reach
        hidden = rng.uniform(-reach, reach, (len(causes), units))
        hidden /= np.where(rms > 0.0, rms, 1.0)[:, np.newaxis]
        if self.problem.bias:
            hidden = np.vstack([hidden, np.zeros(units)])
        rows, values = self.problem.rows_of(child), self.problem.values[child]
        counted = values if rows is None else values[rows]
        spread = np.sqrt(np.mean(np.square(counted))) if counted.size else 0.0
        scale = np.full(values.size, TUNING.fresh_scale * (spread if spread > 0.0 else 1.0))
        return self.fit(child, causes, hidden, np.zeros(units), np.log(scale[0]), scale)

    def adapt(self, child: int, causes: Sequence[int], hidden: Floats) -> FamilyFit:
        """Fit w2 and a constant scale alone, in closed form, whatever the clock says."""
        units = hidden.shape[1]
        objective = self._objective(child, causes, np.ones(self.problem.values.shape[1]))
        noise = "equal" if self.problem.noise == "equal" else "unequal"
        return self._with_scale(objective, hidden, np.zeros(units), 0.0, noise)[0]

    def outputs(self, child: int, causes: Sequence[int], fit: FamilyFit) -> tuple[Floats, Floats]:
        """Return mean and scale of a fitted family, each of shape (M,)."""
        units, intercept = fit.hidden.shape[1], float(fit.w2[-1]) if self.problem.bias else 0.0
        inputs, floor = np.array(causes, dtype=np.int64), float(np.exp(fit.w3_bias))
        conditional = NetworkConditional(inputs, fit.hidden, fit.w2[:units], fit.w3, floor, intercept)
        return conditional.mean_and_scale(self.problem.values)

    def nats(self, child: int, mean: Floats, scale: Floats) -> float:
        """Return the negative log-likelihood of a child given mean and scale, sum over the observations that count."""
        return mean.size * node_nll(self.problem.values[child], mean, scale, self.problem.rows_of(child))

    def _objective(self, child: int, causes: Sequence[int], scale: Floats) -> FamilyObjective:
        return FamilyObjective.of(self._in_the_mean, child, causes, scale)

    @cached_property
    def _in_the_mean(self) -> Problem:
        """The problem with penalties in nats an observation."""
        l1, l2 = (self.unit * penalty / self.problem.values.shape[1] for penalty in (self.problem.l1, self.problem.l2))
        return replace(self.problem, l1=l1, l2=l2)

    def _with_scale(
        self, objective: FamilyObjective, hidden: Floats, w3: Floats, w3_bias: float, noise: str
    ) -> tuple[FamilyFit, Floats]:
        """Return the family after a Phase I that follows these hidden weights, and its scale at every observation."""
        child, units, means = objective.child, hidden.shape[1], objective.evaluate(hidden)
        s, mean = means.s[:units], means.w2 @ means.s
        residual, rows = self.problem.values[child] - mean, self.problem.rows_of(child)
        w3, w3_bias = fit_scale(s, residual, w3, w3_bias, noise, rows)
        scale: Floats = np.maximum(w3 @ s, 0.0) + np.exp(w3_bias)
        nats, edges = self.nats(child, mean, scale), hidden[: len(hidden) - self.problem.bias]
        lasso = np.abs(hidden[objective.is_free]).sum()
        squares = np.vdot(edges, edges) + np.vdot(means.w2[:units], means.w2[:units])
        l1, l2 = self.unit * self.problem.l1, self.unit * self.problem.l2
        penalised = float(nats + l1 * lasso + 0.5 * l2 * squares)
        return FamilyFit(hidden, means.w2, w3, w3_bias, nats, penalised, False), scale


def refit_to_graph(weights: Weights, graph: Mask, fitter: FamilyFitter) -> dict[Family, FamilyFit]:
    """Return fits of the families of a graph whose causes are not the inputs that a network has for the child.

    Parameters
    ----------
    weights : Weights
        A fitted network, from which the refits start.
    graph : ndarray of bool, shape (N, N)
        The DAG.
    fitter : FamilyFitter
        Fits a child given its causes. Once its time is over, output weights and a constant scale alone are fitted.
    """
    fits = {}
    for child in range(weights.n_variables):
        if not np.array_equal(weights.w1[child].any(axis=0), graph[:, child]):
            family = child, tuple(np.flatnonzero(graph[:, child]).tolist())
            try:
                fits[family] = fit_from_network(fitter, weights, *family)
            except OutOfTime:
                fits[family] = fitter.adapt(*family, _hidden_of(weights, *family))
    return fits


def fit_from_network(fitter: FamilyFitter, weights: Weights, child: int, causes: Sequence[int]) -> FamilyFit:
    """Fit a family from the weights that a network has for it."""
    scale = NetworkConditional.of(weights, child).mean_and_scale(fitter.problem.values)[1]
    hidden, w3_bias = _hidden_of(weights, child, causes), float(weights.w3_bias[child])
    return fitter.fit(child, causes, hidden, weights.w3[child], w3_bias, scale)


def _hidden_of(weights: Weights, child: int, causes: Sequence[int]) -> Floats:
    hidden = weights.w1[child][:, list(causes)].T
    if weights.hidden_bias is not None:
        hidden = np.vstack([hidden, weights.hidden_bias[child]])
    return np.ascontiguousarray(hidden)


def with_families(weights: Weights, fits: Mapping[Family, FamilyFit]) -> Weights:
    """Return a network with the weights of fitted families, one a child at most."""
    w1, w2, w3, w3_bias = (part.copy() for part in (weights.w1, weights.w2, weights.w3, weights.w3_bias))
    hidden_bias, output_bias = copy(weights.hidden_bias), copy(weights.output_bias)
    for (child, causes), fit in fits.items():
        w1[child] = 0.0
        w1[child][:, list(causes)] = fit.hidden[: len(causes)].T
        w2[child], w3[child], w3_bias[child] = fit.w2[: weights.hidden_units], fit.w3, fit.w3_bias
        if hidden_bias is not None and output_bias is not None:
            hidden_bias[child], output_bias[child] = fit.hidden[-1], fit.w2[-1]
    return Weights(w1, w2, w3, w3_bias, hidden_bias, output_bias)
