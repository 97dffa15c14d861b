"""The objective of Phase II (Algorithm 3): the means, W1 and W2, given the scales.

One child given its causes costs

    (1/M) sum of (X_n - f_n)^2 / (2 sigma_n^2) + (l2/2) (|W1_n|^2 + |W2_n|^2) + l1 |W1_n|_1,

and a network is the sum over its children, with alpha h + (rho/2) h^2 beside it. Solvers read an objective as a smooth
part and a lasso, in a form that is cheap to evaluate and well conditioned:

- W2 is eliminated (variable projection): given W1 it solves a ridge regression of m1 unknowns a child, and because it
  is optimal, the gradient by W1 needs no derivative of it.
- Weights have units: 1 / sqrt(mean of x_i^2 / sigma_n^2), in which they have like curvature.
- The inputs of a child are its unknowns: the causes that it may have, and a constant if there are intercepts.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from icdh._table.frames import column_labels, observations_of
from icdh._utils.arrays import Floats, Integers, Mask, TableLike, of_rows, roots_of, sum_of, times
from icdh._utils.checks import Choice, Flag, Number
from icdh._utils.clock import Clock
from icdh._utils.labels import default_names
from icdh.acyclicity import Acyclicity, trace_exponential
from icdh.exceptions import ArgumentValueError
from icdh.knowledge import EdgeRules, Knowledge
from icdh.network import NOISE, SIGMOID, Activation, Weights, check_activation, features_of, node_inputs

Smooth = Callable[[Floats], tuple[float, Floats]]
LEAST_H = -1e-6  # of a DAG, by rounding
H_OF_TWO_CYCLE = trace_exponential(np.array([[0.0, 0.5], [0.5, 0.0]]))[0]  # whatever the other variables
Array = TypeVar("Array", Floats, Mask)


@dataclass(frozen=True)
class Problem:
    """A table, what is known of its graph, the penalties, the kind of noise, and when to end.

    Attributes
    ----------
    values : ndarray, shape (N, M)
        Observations, one variable a row.
    rules : EdgeRules
        Edges that must not, and that must, appear.
    l1, l2 : float
        Penalties on W1 (lasso) and on W1 and W2 (ridge).
    noise : {"heteroscedastic", "unequal", "equal"}
        The scale: a function of the parents, a constant a node, or one everywhere.
    bias : bool
        Whether hidden units and means get intercepts.
    rows : ndarray of bool, shape (N, M), or None
        The observations that count for the distribution of each variable; None if all.
    weights : ndarray, shape (M,), or None
        How often each observation counts; None if once.
    clock : Clock
        Ends fits, by raising OutOfTime.
    acyclicity : Acyclicity
        The function that is zero for DAGs alone. Its unit does not matter, see `h`.
    activation : Activation
        That of the hidden units; the article has the sigmoid.
    """

    values: Floats
    rules: EdgeRules
    l1: float
    l2: float
    noise: str = "heteroscedastic"
    bias: bool = False
    rows: Mask | None = field(kw_only=True)
    weights: Floats | None = field(kw_only=True)
    clock: Clock = field(default_factory=Clock)
    acyclicity: Acyclicity = field(default_factory=lambda: trace_exponential)
    activation: Activation = SIGMOID

    @classmethod
    def of(
        cls,
        X: TableLike,
        *,
        l1: float = 0.01,
        l2: float = 0.01,
        noise: str = "heteroscedastic",
        bias: bool = False,
        activation: Activation = SIGMOID,
        knowledge: Knowledge | None = None,
    ) -> "Problem":
        """Return the problem of a table, for `algorithm_1`, `algorithm_2` and `algorithm_3`.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations; nothing is scaled.
        l1, l2 : float
            Penalties lambda1 and lambda2.
        noise : {"heteroscedastic", "unequal", "equal"}
            The scale: a function of the parents, a constant a node, or one everywhere.
        bias : bool
            Whether hidden units and means get intercepts.
        activation : Activation
            That of the hidden units; the article has the sigmoid.
        knowledge : Knowledge, optional
            Forbidden and required edges between the columns, x0, x1, ... if they have no labels.

        Raises
        ------
        TypeError, ValueError
            If an argument is not the above; the message names it.
        """
        values = observations_of(X, "N")
        Number(0).check("l1", l1)
        Number(0).check("l2", l2)
        Choice(NOISE).check("noise", noise)
        Flag().check("bias", bias)
        check_activation(activation)
        rules = Knowledge.of(knowledge).rules(column_labels(X) or default_names(len(values)))
        return cls(values, rules, l1, l2, noise, bias, rows=None, weights=None, activation=activation)

    @cached_property
    def features(self) -> Floats:
        """The observations as the kernels read them, shape (N or N + 1, M): intercepts add a last row of ones."""
        return features_of(self.values, self.bias)

    @property
    def n_counted(self) -> float:
        """How many observations there are, each as often as it counts."""
        return sum_of(self.weights, self.values.shape[1])

    @cached_property
    def _unit_of_h(self) -> float:
        """What one unit of tr exp(A∘A) - N is of the acyclicity function, by a cycle of two edges among N variables."""
        cycle = np.zeros((max(len(self.values), 2),) * 2)
        cycle[[0, 1], [1, 0]] = 0.5
        unit = self.acyclicity(cycle)[0] / H_OF_TWO_CYCLE
        if not 0.0 < unit < np.inf:
            raise ArgumentValueError("acyclicity", f"must be positive for a cycle of two weights of 0.5; got {unit}")
        return unit

    def h(self, A: Floats) -> tuple[float, Floats]:
        """Return the acyclicity and its gradient in units of tr exp(A∘A) - N, as thresholds are.

        A value below zero, as a function may have outside of its domain, is NaN.
        """
        value, gradient = self.acyclicity(A)
        h = value / self._unit_of_h
        return h if h >= LEAST_H else np.nan, gradient / self._unit_of_h

    def check_start(self, A: Floats) -> None:
        """Raise ValueError unless the acyclicity is a number at the A that a minimisation begins at: it stays there."""
        h = self.h(A)[0]
        if np.isfinite(A).all() and not np.isfinite(h):
            demand = f"must be a number for the weights that a fit begins at; got {h}: begin at smaller ones"
            raise ArgumentValueError("acyclicity", demand)

    def check_activation_of(self, weights: Weights) -> None:
        """Raise ValueError unless the weights are of a network with the activation of the problem."""
        if weights.activation != self.activation:
            demand = f"must have the activation of the problem, {self.activation}; got {weights.activation}"
            raise ArgumentValueError("weights", demand)

    def rows_of(self, child: int) -> Mask | None:
        """Return the observations that count for a child, shape (M,); None if all do."""
        return None if self.rows is None else self.rows[child]

    def of_every(self, step: int) -> "Problem":
        """Return the problem of every ``step``-th observation."""
        rows = None if self.rows is None else np.ascontiguousarray(self.rows[:, ::step])
        values, weights = np.ascontiguousarray(self.values[:, ::step]), of_rows(self.weights, slice(None, None, step))
        return dataclasses.replace(self, values=values, rows=rows, weights=weights)


class Minimum(NamedTuple):
    """Where a solver ended.

    Attributes
    ----------
    w : ndarray, shape (inputs, m1)
        The weights.
    value : float
        The objective with its lasso; infinite where there is none.
    status : int
        0 converged, 1 limit reached, 2 no step or no number.
    message : str
        The same in words.
    """

    w: Floats
    value: float
    status: int
    message: str


class Evaluation(NamedTuple):
    """Phase II of one child at the weights of its inputs.

    Attributes
    ----------
    value : float
        The smooth part of the objective, minimised over W2; NaN where rounding leaves W2 undetermined.
    gradient : ndarray, shape (inputs, m1)
        Its gradient.
    w2 : ndarray, shape (m1 or m1 + 1,)
        W2; the intercept last, if there is one.
    s : ndarray, shape (m1 or m1 + 1, M)
        The hidden activations; a last row of ones, if there are intercepts.
    residual : ndarray, shape (M,)
        The residuals, divided by sigma_n sqrt(M); zero where an observation does not count.
    """

    value: float
    gradient: Floats
    w2: Floats
    s: Floats
    residual: Floats


@dataclass(frozen=True)
class FamilyObjective:
    """The objective of one child given its causes, by the weights of its inputs.

    Attributes
    ----------
    features : ndarray, shape (N or N + 1, M)
        Observations, one variable a row; a last row of ones if there are intercepts.
    child : int
        The child.
    inputs : ndarray of int, shape (inputs,)
        The rows of ``features`` that it depends on, in ascending order.
    is_free : ndarray of bool, shape (inputs,)
        Which inputs are edges that may be absent; intercepts and required edges are not.
    lasso : ndarray, shape (inputs,)
        The penalty on the weights of each input; zero unless it is free.
    curvature : ndarray, shape (inputs,)
        The mean of x_i^2 / sigma_n^2, in whose inverse roots weights have like units; one where it is zero.
    ridge : ndarray, shape (inputs,)
        The ridge on the weights of each input.
    output_ridge : float
        The ridge on W2, but for the intercept.
    root : ndarray, shape (M,)
        1 / (sigma sqrt(M)) at every observation, times the root of its weight; zero where it does not count.
    bias : bool
        Whether there are intercepts.
    low : float
        The least value of the activation.
    """

    features: Floats
    child: int
    inputs: Integers
    is_free: Mask
    lasso: Floats
    curvature: Floats
    ridge: Floats
    output_ridge: float
    root: Floats
    bias: bool
    low: float

    @classmethod
    def of(cls, problem: Problem, child: int, causes: Sequence[int] | Integers, scale: Floats) -> "FamilyObjective":
        """Return the objective of a child.

        Parameters
        ----------
        problem : Problem
            The table and the penalties.
        child : int
            The child.
        causes : sequence of int
            The causes that it may have, in ascending order.
        scale : ndarray, shape (M,)
            Its standard deviations, fixed.
        """
        features, inputs = problem.features, np.array(causes, dtype=np.int64)
        is_free = ~problem.rules.required[inputs, child]
        if problem.bias:
            inputs, is_free = np.append(inputs, len(features) - 1), np.append(is_free, False)
        root = times(roots_of(problem.weights), 1.0 / (scale * np.sqrt(problem.n_counted)))
        if problem.rows is not None:
            root *= problem.rows[child]
        precision = np.square(root)
        curvature = np.square(features[inputs]) @ precision
        return cls(
            features,
            child,
            inputs,
            is_free,
            lasso=np.where(is_free, problem.l1, 0.0),
            curvature=np.where(curvature > 0.0, curvature, 1.0),
            ridge=np.where(inputs < len(problem.values), problem.l2, 0.0),
            # If l2 is zero a tiny one only removes the ambiguity of units that do the same.
            output_ridge=float(max(problem.l2, 1e-10 * precision.sum())),
            root=root,
            bias=problem.bias,
            low=problem.activation.low,
        )

    def among(self, inputs: Integers) -> "FamilyObjective":
        """Return the objective by the weights of some of the inputs, in ascending order; those of others are zero."""
        at = np.searchsorted(self.inputs, inputs)
        parts = {name: getattr(self, name)[at] for name in ("is_free", "lasso", "curvature", "ridge")}
        return dataclasses.replace(self, inputs=inputs, **parts)

    def evaluate(self, w: Floats) -> Evaluation:
        """Return the objective of the child at these weights, and what it is made of."""
        from icdh.two_phase._kernels import projected_least_squares

        of_table, weights = (self.features, self.child, self.inputs, self.root), np.ascontiguousarray(w)
        value, gradient, *rest = projected_least_squares(of_table, weights, self.low, self.output_ridge, self.bias)
        if np.isnan(value):
            gradient.fill(np.nan)
        ridge = self.ridge[:, np.newaxis] * w
        value += 0.5 * np.vdot(w, ridge)
        gradient += ridge
        return Evaluation(value, gradient, *rest)

    def smooth(self, w: Floats) -> tuple[float, Floats]:
        """Return the objective without the lasso, and its gradient."""
        evaluation = self.evaluate(w)
        return evaluation.value, evaluation.gradient

    def penalty(self, w: Floats) -> float:
        """Return the lasso."""
        return float(self.lasso @ np.abs(w).sum(axis=1))


class NetworkObjective:
    """The objective of a network, the sum over its children, by the weights of all their inputs.

    Parameters
    ----------
    problem : Problem
        The table and its acyclicity function.
    families : sequence of FamilyObjective
        One for every child, in order.
    rho, alpha : float
        Penalty weight and multiplier of the terms alpha h + (rho/2) h^2; by default there are none.

    Attributes
    ----------
    effects, causes : ndarray of int, shape (inputs,)
        The inputs, sorted by effect: the edges ``causes[k]`` -> ``effects[k]``; an intercept has cause N.
    is_free, lasso, curvature
        See `FamilyObjective`; those of all children.
    """

    def __init__(self, problem: Problem, families: Iterable[FamilyObjective], rho: float = 0.0, alpha: float = 0.0):
        self.problem, self.families, self.rho, self.alpha = problem, tuple(families), rho, alpha
        sizes = [family.inputs.size for family in self.families]
        self._ends = np.cumsum(sizes)[:-1]
        self.effects = np.repeat(np.arange(len(sizes)), sizes)
        self.causes = np.concatenate([family.inputs for family in self.families])
        self.is_free = np.concatenate([family.is_free for family in self.families])
        self.lasso = np.concatenate([family.lasso for family in self.families])
        self.curvature = np.concatenate([family.curvature for family in self.families])

    @classmethod
    def of(cls, problem: Problem, scale: Floats) -> "NetworkObjective":
        """Return the objective of the network with all edges that the rules allow.

        Parameters
        ----------
        problem : Problem
            The table, the rules and the penalties.
        scale : ndarray, shape (N, M)
            The standard deviations sigma, fixed.
        """
        allowed = ~problem.rules.forbidden
        causes = [np.flatnonzero(allowed[:, n]) for n in range(len(scale))]
        return cls(problem, [FamilyObjective.of(problem, n, causes[n], scale[n]) for n in range(len(scale))])

    def of_families(self, families: Iterable[FamilyObjective]) -> "NetworkObjective":
        """Return the objective of the same children by other inputs."""
        return NetworkObjective(self.problem, families, self.rho, self.alpha)

    def with_multipliers(self, rho: float, alpha: float) -> "NetworkObjective":
        """Return the objective with the terms alpha h + (rho/2) h^2: the augmented Lagrangian."""
        return NetworkObjective(self.problem, self.families, rho, alpha)

    def by_child(self, w: Array) -> Iterator[tuple[FamilyObjective, Array]]:
        """Return the objective of every child with what belongs to its inputs, for instance their weights."""
        return zip(self.families, cast("list[Array]", np.split(w, self._ends)), strict=True)

    def input_weights(self, weights: Weights) -> Floats:
        """Return the weights that a network has for every input, shape (inputs, m1)."""
        self.problem.check_activation_of(weights)
        return np.concatenate([node_inputs(weights, n)[family.inputs] for n, family in enumerate(self.families)])

    def without(self, absent: Mask, w: Floats) -> tuple["NetworkObjective", Floats]:
        """Return the objective without some of the inputs, and the weights of the others."""
        families = (family.among(family.inputs[~missing]) for family, missing in self.by_child(absent))
        return self.of_families(families), w[~absent]

    def smooth(self, w: Floats) -> tuple[float, Floats]:
        """Return the objective without the lasso, and its gradient."""
        values, gradients = zip(*(family.smooth(hidden) for family, hidden in self.by_child(w)), strict=True)
        value, gradient = sum(values), np.concatenate(gradients)
        if self.rho == self.alpha == 0.0:
            return value, gradient
        h, dh = self.acyclicity(w)
        return value + self.alpha * h + 0.5 * self.rho * h * h, gradient + (self.alpha + self.rho * h) * dh

    def adjacency(self, w: Floats) -> Floats:
        """Return the weighted adjacency matrix, A[i, n] = |w1[n, :, i]|; those of required edges are never zero."""
        N = len(self.families)
        A = np.zeros((N + 1, N))
        least = np.where(self.is_free, 0.0, np.finfo(float).tiny)
        A[self.causes, self.effects] = np.maximum(np.linalg.norm(w, axis=1), least)
        return A[:N]

    def acyclicity(self, w: Floats) -> tuple[float, Floats]:
        """Return h of the weighted adjacency matrix and its derivative by the weights of the inputs.

        With A[i, n]^2 = sum over h of w1[n, h, i]^2, dh/dw1[n, h, i] = (dh/dA)[i, n] / A[i, n] w1[n, h, i]. Both are
        NaN where weights are so large that A overflows.
        """
        A = self.adjacency(w)
        if not np.isfinite(A).all():
            return np.nan, np.full(w.shape, np.nan)
        h, dh_dA = self.problem.h(A)
        ratio = np.zeros((len(A) + 1, len(A)))
        np.divide(dh_dA, A, out=ratio[:-1], where=A > 0.0)
        return h, ratio[self.causes, self.effects, np.newaxis] * w

    def solution(self, w: Floats, template: Weights) -> tuple[float, Weights]:
        """Return the objective with its lasso and without its terms in h, and all weights, W2 optimal.

        Parameters
        ----------
        w : ndarray, shape (inputs, m1)
            The weights of the inputs.
        template : Weights
            A network of the same shape, whose scale weights are carried along.
        """
        N, units = template.w2.shape
        value, w1, outputs = 0.0, np.zeros((N, units, N + 1)), np.zeros((N, units + 1))
        for n, (family, hidden) in enumerate(self.by_child(w)):
            evaluation = family.evaluate(hidden)
            value += evaluation.value + family.penalty(hidden)
            w1[n][:, family.inputs] = hidden.T
            outputs[n, : evaluation.w2.size] = evaluation.w2
        bias = template.hidden_bias is not None
        network = dataclasses.replace(
            template,
            w1=w1[:, :, :N],
            w2=outputs[:, :units],
            hidden_bias=w1[:, :, N] if bias else None,
            output_bias=outputs[:, units] if bias else None,
        )
        return float(value), network


Objective: TypeAlias = FamilyObjective | NetworkObjective
