"""A response: an observed column as an effect, and its likelihood given the outputs of a mean model.

A kind of column is one file: its `Law`, which a fitted model keeps, and its response, by which it is fitted.
`icdh._node_model.columns` reads columns as responses.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np

from icdh._node_model.law import Law
from icdh._utils.arrays import Floats, Integers, Mask
from icdh._utils.weighted import sum_of

SomeNumbers = TypeVar("SomeNumbers", bound="Numbers")  # typing.Self of Python 3.11
Minimiser: TypeAlias = Callable[[Floats, Floats, int, int, float, int, Floats], tuple[float, float, int, bool]]


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

    @property
    def n_counted(self) -> float:
        """How many there are, each as often as it counts."""
        return sum_of(self.weights, len(self))


class Density(NamedTuple):
    """The values of a response that have a density, and so a distribution of the noise.

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
    def n_with_density(self) -> float:
        """How many observations have a value with a density, each as often as it counts."""
        return 0.0 if self.density is None else self.density.numbers.n_counted

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

    @abstractmethod
    def __len__(self) -> int:
        """N."""

    @abstractmethod
    def take(self, rows: Mask | Integers) -> "Response":
        """Return the response at some observations."""

    @property
    @abstractmethod
    def density(self) -> Density | None:
        """The values that have a density; None if none has."""

    @abstractmethod
    def minimiser(self, x: Floats, hidden_units: int) -> Minimiser:
        """Return what minimises F over theta, in place, given parents x, (p, n); see `_descent_kernels.node_fit`.

        Its arguments are theta, penalty, freeze, max_steps, tol, patience and factor.
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
