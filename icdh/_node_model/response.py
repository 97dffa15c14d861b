"""A response: an observed column as an effect, and its likelihood given the outputs of a mean model.

A kind of column has a `Law`, which a fitted model keeps, beside its response, by which it is fitted.
`icdh._node_model.columns` reads columns as responses. Responses whose likelihood gives F, gradient and Fisher matrix
are fitted by damped Fisher scoring in NumPy.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs  # pyright: ignore[reportAttributeAccessIssue]

from icdh._node_model._outputs_kernels import add_fisher, backpropagate
from icdh._node_model.law import Law
from icdh._node_model.network import hidden_units_of
from icdh._utils.arrays import Floats, Integers, Mask, of_rows, sum_of, times
from icdh._utils.jit import FIRST_DAMPING, LARGEST_DAMPING, ROWS, next_damping, small_steps

SomeNumbers = TypeVar("SomeNumbers", bound="Numbers")  # typing.Self of Python 3.11
Minimiser: TypeAlias = Callable[[Floats, Floats, int, tuple[int, float, int], Floats], tuple[float, float, int, bool]]
Coded = TypeVar("Coded", bound="CodedResponse")  # typing.Self of Python 3.11

ENOUGH = 128  # ranks of the observations of a Fisher matrix, for every weight, that give steps a direction
BLOCK = 4 * ROWS  # observations whose Fisher matrices by the outputs are in memory at once
TRACE = 1e-3  # the count of a label that never counts: causes would gain 4 nats for each that had half a count


class Numbers:
    """Observed numbers, each known exactly or up to a cell of a grid.

    Parameters
    ----------
    centre, spread : ndarray, shape (n,)
        The centre of the cell of every value, standardised, and the variance of an even spread over the cell, w^2 / 12;
        zero where a value is exact.
    samples : sequence of ndarray, each of shape (n,)
        Values drawn from the cells.
    weights : ndarray, shape (n,), or None
        How often each value counts; None if once.
    """

    def __init__(self, centre: Floats, spread: Floats, samples: Sequence[Floats], weights: Floats | None):
        self.centre, self.spread, self.samples, self.weights = centre, spread, tuple(samples), weights

    @classmethod
    def exact(cls: type[SomeNumbers], values: Floats, weights: Floats | None) -> SomeNumbers:
        """Return exact values."""
        return cls(values, np.zeros(values.shape), [values], weights)

    @classmethod
    def over_cells(
        cls: type[SomeNumbers], low: Floats, high: Floats, samples: Sequence[Floats], weights: Floats | None
    ) -> SomeNumbers:
        """Return values spread evenly over cells from ``low`` to ``high``, all (n,); exact if the two are one array."""
        if low is high:
            return cls.exact(low, weights)
        return cls((low + high) / 2, np.square(high - low) / 12, samples, weights)

    def __len__(self) -> int:
        return self.centre.size

    @cached_property
    def half_widths(self) -> Floats:
        """Half the width of the cell of every value, and a little more for rounding, shape (n,)."""
        return np.sqrt(3.0 * self.spread) * (1.0 + 1e-6)

    @cached_property
    def at_heaps(self) -> Mask:
        """Which values are spread beyond their cells, as those of heaps are, shape (n,); of exact values none."""
        if len(self.samples) < 2:
            return np.zeros(len(self), dtype=bool)
        first, second = self.samples[:2]
        at_heaps: Mask = (np.abs(first - self.centre) > self.half_widths) & (first != second)
        return at_heaps

    @property
    def n_counted(self) -> float:
        """How many there are, each as often as it counts."""
        return sum_of(self.weights, len(self))


class Density(NamedTuple):
    """The values of a response that have a density whose noise distribution is chosen.

    Attributes
    ----------
    numbers : Numbers
        These values alone.
    rows : ndarray of int, or None
        Which observations they are; None if they are all.
    """

    numbers: Numbers
    rows: Integers | None = None

    def of(self, x: Floats) -> Floats:
        """Return these observations of parents, shape (p, n)."""
        return x if self.rows is None else np.ascontiguousarray(x[:, self.rows])

    def mask(self, n: int) -> Mask:
        """Return which of n observations these are; bool, shape (n,)."""
        mask = np.zeros(n, dtype=bool)
        mask[slice(None) if self.rows is None else self.rows] = True
        return mask


class Response(ABC):
    """One variable given its parents, observed n times.

    Attributes
    ----------
    ordered : bool
        Whether its values have an order: one more cause may move them up or down, and more hidden units tell how far.
    weights : ndarray, shape (n,), or None
        How often each observation counts, in the likelihood and in all that is told by it; None if once.
    """

    ordered: ClassVar[bool]
    weights: Floats | None

    @property
    def n_counted(self) -> float:
        """How many observations there are, each as often as it counts."""
        return sum_of(self.weights, len(self))

    @property
    def n_dense(self) -> float:
        """How many of them have a density, likewise: all, unless the law is discrete."""
        return 0.0 if self.law.is_discrete else self.n_counted

    @property
    @abstractmethod
    def law(self) -> Law:
        """Its distribution given the outputs."""

    @property
    @abstractmethod
    def codes(self) -> Integers | None:
        """The level or label of every observation, shape (n,); None of a number."""

    @property
    @abstractmethod
    def least_squares(self) -> Numbers | None:
        """The values to which a linear or an additive mean can be fitted by least squares; None if there are none."""

    @property
    def terms_given_outputs(self) -> "Callable[[Floats], Terms] | None":
        """The likelihood given the outputs, if scoring can fit a linear mean to it; by default None."""
        return None

    @abstractmethod
    def __len__(self) -> int:
        """N."""

    @abstractmethod
    def take(self, rows: Mask | Integers) -> "Response":
        """Return the response at some observations."""

    def under_law_of(self, rows: Mask) -> "Response":
        """Return the response, its law without parents that of some observations: others do not tell it."""
        return self

    @property
    @abstractmethod
    def density(self) -> Density | None:
        """The numbers whose noise distribution is chosen; None if there are none, as of a discrete law."""

    @abstractmethod
    def minimiser(self, x: Floats, hidden_units: int) -> Minimiser:
        """Return what minimises F over theta, in place, given parents x, (p, n); see `_descent_kernels.node_fit`.

        Its arguments are theta, penalty, freeze, until (max_steps, tol and patience) and factor.
        """

    @abstractmethod
    def without_parents(self, hidden_units: int) -> tuple[Floats, float, float]:
        """Return weights, F and log det H of the model without parents."""

    @abstractmethod
    def standardised_scores(self, x: Floats, theta: Floats, hidden_units: int) -> tuple[Floats, Floats]:
        """Return hidden units (m, n) and the derivatives of the log-likelihood by the outputs (o, n).

        Each derivative is divided by its standard deviation under the model, and multiplied by the root of the weight.
        """

    def residual_series(self, x: Floats, theta: Floats, hidden_units: int) -> Floats:
        """Return what a fit leaves unexplained in every row, shape (s, k, n): s vectors of k series of one unit."""
        return self.standardised_scores(x, theta, hidden_units)[1][:, np.newaxis]


def minimise(
    objective: "Objective", theta: Floats, penalty: Floats, max_steps: int, tol: float, patience: int, factor: Floats
) -> tuple[float, float, int, bool]:
    """Minimise F over theta, in place; result and ``factor`` as of `icdh._node_model._descent_kernels.node_fit`."""
    # Gaussian responses have a compiled loop: this one takes 1.4 (5000 rows) to 5.4 times (200 rows) its CPU.
    free = objective.free
    apart = max(objective.x.shape[1] * objective.rank // (ENOUGH * free), 1) if max_steps else 1
    value, gradient, fisher = objective.quadratic_model(theta, penalty, apart)
    damping, growth, steps, small = FIRST_DAMPING * objective.n_observations, 2.0, 0, 0
    while steps < max_steps and small < patience and damping < LARGEST_DAMPING:
        root, failed = dpotrf(_plus_diagonal(fisher, damping))
        if failed:
            break
        step, _ = dpotrs(root, -gradient)
        predicted = 0.5 * float(step @ (damping * step - gradient))
        trial = theta.copy()
        trial[:free] += step
        tried = objective.quadratic_model(trial, penalty, apart)
        steps += 1
        fall = value - tried[0]
        small = small_steps(small, fall, predicted, tol)
        damping, growth = next_damping(damping, growth, fall / max(predicted, 1e-300))
        if fall > 0.0:
            theta[:] = trial
            value, gradient, fisher = tried
    if apart > 1:  # only the directions of steps depended on it
        _, _, fisher = objective.quadratic_model(theta, penalty)
    root, failed = dpotrf(fisher)
    factor[:free, :free] = root
    log_determinant = np.nan if failed else 2.0 * float(np.log(np.diag(root)).sum())
    return value, log_determinant, steps, small >= patience


def _plus_diagonal(matrix: Floats, values: Floats | float) -> Floats:
    """Return a square matrix with values added to its diagonal."""
    total = matrix.copy()
    total.ravel()[:: len(total) + 1] += values
    return total


class Terms(NamedTuple):
    """The likelihood at given outputs.

    Attributes
    ----------
    value : float
        The sum of -log P.
    pull : ndarray, shape (o, q)
        Its derivatives by the outputs, for every column of x.
    curvature : callable
        Returns, for some columns of x, the Fisher matrix by the outputs on and above its diagonal, row by row; shape
        (o (o + 1) / 2, columns).
    """

    value: float
    pull: Floats
    curvature: Callable[[slice], Floats]


def weighted_terms(terms: Terms, surprise: Floats, weights: Floats) -> Terms:
    """Return terms of which each row counts as often as its weight says, given -log P of every row, shape (n,)."""
    return Terms(
        float(weights @ surprise), weights * terms.pull, lambda columns: weights[columns] * terms.curvature(columns)
    )


class Objective:
    """F of a response given its parents.

    Parameters
    ----------
    response : FittedByScoring
        The response.
    x : ndarray, shape (p, q)
        The parents, one a row.
    hidden_units : int
        m.
    terms : callable
        Returns the `Terms` of the likelihood, given the outputs.
    counts : ndarray, shape (q,), optional
        How many observations each column of x is; by default one.

    Attributes
    ----------
    n_observations : float
        n.
    free : int
        How many weights are free: the first ones of theta.
    rank : int
        That of what each column of x adds to the Fisher matrix.
    """

    def __init__(
        self,
        response: "FittedByScoring",
        x: Floats,
        hidden_units: int,
        terms: Callable[[Floats], Terms],
        counts: Floats | None = None,
    ):
        self.x, self.units, self.terms = np.ascontiguousarray(x), hidden_units, terms
        self.counts = np.ones(x.shape[1]) if counts is None else counts
        self.law, self.n_observations, self.rank = response.law, response.n_counted, response.rank
        self.layout = self.law.layout(len(x), hidden_units)
        self.free = self.law.layers(len(x), hidden_units)[-1].stop
        # After an update of the prior a fit starts where the one before ended.
        self._last: tuple[Floats, int, tuple[float, Floats, Floats]] | None = None

    def quadratic_model(self, theta: Floats, penalty: Floats, apart: int = 1) -> tuple[float, Floats, Floats]:
        """Return F, its gradient and its Fisher matrix over the free weights, on and above its diagonal.

        The matrix is by every ``apart``-th column of x.
        """
        if self._last is None or self._last[1] != apart or (self._last[0] != theta).any():
            self._last = theta.copy(), apart, self._of_likelihood(theta, apart)
        value, gradient, fisher = self._last[2]
        value, gradient = value + 0.5 * float(penalty @ theta**2), (gradient + penalty * theta)[: self.free]
        return value, gradient, _plus_diagonal(fisher, penalty[: self.free])

    def _of_likelihood(self, theta: Floats, apart: int) -> tuple[float, Floats, Floats]:
        hidden = hidden_units_of(theta, self.x, self.units)
        value, pull, curvature = self.terms(self.law.network_outputs(theta, hidden))
        gradient, fisher = np.zeros(theta.size), np.zeros((self.free, self.free))
        backpropagate(self.x, hidden, theta, self.layout, pull[: self.layout[0].size], gradient)
        for first in range(0, self.x.shape[1], BLOCK * apart):
            columns = slice(first, first + BLOCK * apart, apart)
            inputs, units = (np.ascontiguousarray(part[:, columns]) for part in (self.x, hidden))
            add_fisher(inputs, units, theta, self.layout, np.ascontiguousarray(curvature(columns)), fisher)
        if apart > 1:
            fisher *= self.counts.sum() / self.counts[::apart].sum()
        return value, gradient, fisher


class FittedByScoring(Response):
    """A response whose likelihood has `Terms`; all its weights are fitted at once.

    Its law has the distribution of the observations where all outputs' weights are zero.
    """

    @abstractmethod
    def _set_law(self, weights: Floats | None) -> None:
        """Set the law to that of the observations, each of which counts as often as its weight says."""

    def under_law_of(self, rows: Mask) -> Response:
        """Return the response, its law without parents that of some observations."""
        other = copy(self)
        other._set_law(times(self.weights, rows.astype(np.float64)))
        return other

    @property
    @abstractmethod
    def rank(self) -> int:
        """That of what an observation adds to the Fisher matrix."""

    @property
    def least_squares(self) -> None:
        """None: least squares fit no such response."""
        return None

    @abstractmethod
    def terms(self, outputs: Floats) -> Terms:
        """Return the terms of the likelihood at outputs of shape (o, n)."""

    def objective(self, x: Floats, hidden_units: int) -> Objective:
        """Return F given these parents, of shape (p, n)."""
        return Objective(self, x, hidden_units, self.terms, self.weights)

    def minimiser(self, x: Floats, hidden_units: int) -> Minimiser:
        """Return what minimises F; its argument ``freeze`` is ignored."""
        objective = self.objective(x, hidden_units)
        return lambda theta, penalty, freeze, until, factor: minimise(objective, theta, penalty, *until, factor)

    def standardised_scores(self, x: Floats, theta: Floats, hidden_units: int) -> tuple[Floats, Floats]:
        """Return hidden units and standardised derivatives, as of `Response`."""
        hidden = hidden_units_of(theta, x, hidden_units)
        _, pull, curvature = self.terms(self.law.network_outputs(theta, hidden))
        squares = curvature(slice(None))[np.equal(*np.triu_indices(len(pull)))]
        return hidden, -pull / np.sqrt(np.maximum(squares, 1e-300))


class CodedResponse(FittedByScoring):
    """A response of levels or labels, whose law has the observed shares where all outputs' weights are zero.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Which of its values every observation is.
    weights : ndarray, shape (n,), or None
        How often each observation counts; None if once.
    """

    def __init__(self, codes: Integers, weights: Floats | None):
        self._codes, self.weights = codes, weights

    def __len__(self) -> int:
        return self._codes.size

    @property
    def codes(self) -> Integers:
        """The level or label of every observation."""
        return self._codes

    @property
    def density(self) -> None:
        """None: every value has a probability."""
        return None

    def observed_as(self: Coded, codes: Integers, weights: Floats | None) -> Coded:
        """Return the response of the same law at other observations."""
        other = copy(self)
        other._codes, other.weights = codes, weights
        return other

    def take(self: Coded, rows: Mask | Integers) -> Coded:
        """Return the response at some observations."""
        return self.observed_as(self._codes[rows], of_rows(self.weights, rows))

    def without_parents(self, hidden_units: int) -> tuple[Floats, float, float]:
        """Return weights, F and log det H of the model without parents."""
        zeros = np.zeros(self.law.n_weights(0, 0))
        value, _, fisher = self.objective(np.empty((0, len(self))), 0).quadratic_model(zeros, zeros)
        fisher += np.triu(fisher, 1).T
        return np.zeros(self.law.n_weights(0, hidden_units)), value, float(np.linalg.slogdet(fisher)[1])
