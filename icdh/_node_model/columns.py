"""The columns of a table as causes and as responses, under one monotone transform of all of them.

A column recorded on a grid is spread over its cells once, as a cause and as a response alike: all graphs are then about
the same continuous variables. Values far more frequent than their neighbours are point masses, with a probability of
their own (`icdh._node_model.point_masses`). The cell of another value that many rows share is widened until its density
is at most that of a spread over one standard deviation of the column: a narrow cell would be a spike that no noise
explains, and would decide the arrow. Where numbers were rounded to different digits there are heaps; the distribution
of the noise is measured with every heap spread half-way to the next ones. An ordinal column is not spread. A column of
K categories is, as a cause, K network inputs of zeros and ones, which enter and leave a family together.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from icdh._node_model.discrete import CategoricalResponse, CountResponse, OrdinalResponse
from icdh._node_model.gaussian import GaussianResponse
from icdh._node_model.network import indicators
from icdh._node_model.point_masses import PointMassResponse
from icdh._node_model.response import Response
from icdh._table.kinds import DECLARABLE, spread_of, wide_heaps
from icdh._table.transforms import Rescaled, Transform, fit_transform, is_heavy_tailed, normal_scores
from icdh._utils.arrays import Floats, Integers, Mask, cells, deviation_of, mean_of, of_rows, sum_of

DRAWS = 3


class Column(NamedTuple):
    """What a column is read from.

    Attributes
    ----------
    kind : str
        Its kind; see `Table.kinds`.
    values : ndarray, shape (n,)
        Its standardised values; categories as 0 ... K - 1.
    n_categories : int
        K, of labels.
    masses : sequence of float
        The values of a number that have a probability of their own.
    transform : {"none", "log", "yeo-johnson"}, or Rescaled
        What is applied to a number; fitted to its values, if this is a name.
    rng : Generator
        Draws places in the cells of a grid.
    of_counts : tuple of float
        The value that is zero in the units of the data, and what one more adds.
    weights : ndarray, shape (n,), or None
        How often each value counts; None if once. The cells of a grid are those of the rows as they are.
    """

    kind: str
    values: Floats
    n_categories: int
    masses: Sequence[float]
    transform: str | Rescaled
    rng: np.random.Generator
    of_counts: tuple[float, float]
    weights: Floats | None


class Reading(NamedTuple):
    """A column as a cause and as a response.

    Attributes
    ----------
    causes : ndarray, shape (k, n)
        Its network inputs.
    response : Response
        As an effect.
    log_jacobian : float
        Log-likelihood of the values of the column minus that of the response.
    exact : bool
        Whether it is a function of the values alone, which `transform` gives.
    transform : Rescaled, optional
        What was applied to a number; None if nothing was.
    """

    causes: Floats
    response: Response
    log_jacobian: float = 0.0
    exact: bool = True
    transform: Rescaled | None = None


def read_labels(column: Column) -> Reading:
    """Read labels without an order."""
    codes = column.values.astype(np.int64)
    response = CategoricalResponse(codes, column.n_categories, column.weights)
    return Reading(indicators(codes, column.n_categories), response)


def read_levels(column: Column) -> Reading:
    """Read few ordered values."""
    return Reading(column.values[np.newaxis], OrdinalResponse(column.values, column.weights))


def read_counts(column: Column) -> Reading:
    """Read whole numbers from zero on."""
    zero, unit = column.of_counts
    counts = np.rint((column.values - zero) / unit)
    return Reading(column.values[np.newaxis], CountResponse(counts, column.weights, zero, unit))


class Columns(NamedTuple):
    """What a search over graphs reads.

    Attributes
    ----------
    causes : ndarray, shape (R, n)
        The columns as causes, standardised; a categorical column takes several rows.
    widths : ndarray of int, shape (N,)
        How many rows of ``causes`` every column takes.
    responses : list of Response
        The columns as effects.
    log_jacobians : ndarray, shape (N,)
        Log-likelihood, in nats, of the original values minus that of ``responses``, for each column; minus the cost of
        the transform's parameter.
    exact : ndarray of bool, shape (N,)
        Which columns are functions of their values alone, and neither spread over cells nor replaced by ranks.
    transforms : list
        The fitted transform of every column, a `Rescaled`; None of those that are not transformed.
    """

    causes: Floats
    widths: Integers
    responses: list[Response]
    log_jacobians: Floats
    exact: Mask
    transforms: list[Rescaled | None]

    @classmethod
    def of(cls, columns: Sequence[Column]) -> "Columns":
        """Return columns as causes and responses."""
        readings = [_read(column) for column in columns]
        return cls(
            np.vstack([reading.causes for reading in readings]),
            np.array([len(reading.causes) for reading in readings], dtype=np.int64),
            [reading.response for reading in readings],
            np.array([reading.log_jacobian for reading in readings]),
            np.array([reading.exact for reading in readings]),
            [reading.transform for reading in readings],
        )

    @property
    def log_jacobian(self) -> float:
        """The sum over all columns."""
        return float(self.log_jacobians.sum())

    @property
    def from_number_to_binary(self) -> Mask:
        """Which edges lead from a number to a binary column, of two values or categories; bool, shape (N, N)."""
        binary = np.array([response.law.n_values == 2 for response in self.responses])
        ordered = np.array([response.ordered for response in self.responses])
        return np.outer(ordered & ~binary, binary)

    def are_exact(self, family: tuple[int, tuple[int, ...]]) -> bool:
        """Return whether node and parents are functions of their values alone."""
        node, parents = family
        return bool(self.exact[[node, *parents]].all())

    def under_laws_of(self, rows: Mask) -> "Columns":
        """Return the columns whose responses have the laws of the rows that count for each, shape (N, n)."""
        return self._replace(
            responses=[response.under_law_of(of) for response, of in zip(self.responses, rows, strict=True)]
        )

    def transformed(self, values: Floats) -> Floats:
        """Return standardised values of the columns under their transforms, both of shape (N, M)."""
        pairs = zip(values, self.transforms, strict=True)
        return np.array([column if of is None else of.apply(column) for column, of in pairs])

    def with_normal_scores(self) -> "Columns":
        """Return the columns with very heavy-tailed causes, and counts, replaced by their normal scores.

        Any increasing function of a cause serves as well as the cause, and needs no Jacobian. Hidden units would see
        only the few outliers of a very heavy-tailed cause.
        """
        causes, exact = self.causes.copy(), self.exact.copy()
        numbers = [(r.codes is None, r.codes is None and r.law.is_discrete) for r in self.responses]
        continuous, counts = np.repeat(numbers, self.widths, axis=0).T
        heavy = counts | (continuous & [is_heavy_tailed(cause) for cause in self.causes])
        for row in np.flatnonzero(heavy):
            causes[row] = normal_scores(causes[row])
        exact[np.repeat(np.arange(len(exact)), self.widths)[heavy]] = False
        return self._replace(causes=causes, exact=exact)


def _read(column: Column) -> Reading:
    """Read a column; raise TypeError if its response forgets its weights, or does not agree with its own law."""
    reading = READERS[column.kind](column)
    response, name = reading.response, type(reading.response).__name__
    said = {
        "weights": (column.weights is not None, response.weights is not None),
        "a density, whose noise residuals choose": (response.law.density is not None, response.density is not None),
    }
    for what, (here, there) in said.items():
        if here != there:
            raise TypeError(f"{name} of a {column.kind} column has {what}, or its column or law, but not both")
    return reading


def _read_number(column: Column, cells_of: Callable[[Floats], tuple[Floats, Floats]]) -> Reading:
    """Read a number under a transform, given the cells that its values stand for. Point masses keep their value."""
    values, masses = column.values, np.zeros(column.values.size, dtype=np.int64)
    for k, value in enumerate(column.masses, start=1):
        masses[values == value] = k
    rows, without_masses = np.flatnonzero(masses == 0), not masses.any()
    numbers = values if without_masses else values[rows]
    (low, high), samples = cells_of(numbers), [numbers]
    if low is not high:
        drawn = column.rng.random((DRAWS, numbers.size))  # even places would have too large an entropy without causes
        wide_low, wide_high = wide_heaps(numbers, low, high)
        numbers = low + drawn[0] * (high - low)
        samples = [wide_low + place * (wide_high - wide_low) for place in drawn]
    weights = of_rows(column.weights, rows)
    if without_masses and column.transform == "none":
        response = GaussianResponse.over_cells(low, high, samples, weights)
        return Reading(numbers[np.newaxis], response)

    transform, gain = _transform_of(column, samples, min(low.min(), values.min()), weights)
    numbers = transform.apply(numbers)
    cause = transform.apply(values)
    cause[rows] = numbers
    given = column.transform
    whole = given if isinstance(given, Rescaled) else _standardised(transform, cause, column.weights)
    own = whole if without_masses else _standardised(transform, numbers, weights)
    scaled = (numbers - own.offset) / own.scale
    if low is high:
        low, high, samples = scaled, scaled, [scaled]
    else:
        low, high, *samples = ((transform.apply(x) - own.offset) / own.scale for x in (low, high, *samples))
    gain -= sum_of(weights, rows.size) * math.log(own.scale)
    response = GaussianResponse.over_cells(low, high, samples, weights)
    if without_masses:
        return Reading(scaled[np.newaxis], response, gain, transform=own)
    causes = ((cause - whole.offset) / whole.scale)[np.newaxis]
    if column.transform == "none":
        whole = replace(whole, offset=0.0, scale=1.0)
    everywhere = np.zeros(values.size, dtype=np.int64)
    everywhere[rows] = np.arange(rows.size)  # what stands at point masses is not read
    at_masses = (transform.apply(np.array(column.masses)) - whole.offset) / whole.scale
    place = (own.offset - whole.offset) / whole.scale, own.scale / whole.scale
    of_all_rows = response.take(everywhere)
    of_all_rows.weights = column.weights
    with_masses = PointMassResponse(masses, of_all_rows, at_masses, *place)
    return Reading(causes, with_masses, gain, transform=None if column.transform == "none" else whole)


def _transform_of(
    column: Column, samples: Sequence[Floats], least: float, weights: Floats | None
) -> tuple[Transform, float]:
    """Return the transform of a column, and the log-likelihood that it adds, less the cost of its parameter."""
    given, n = column.transform, sum_of(weights, samples[0].size)
    if given == "none" or not np.ptp(samples[0]) > 0.0:  # beside a point mass there may be one value alone
        return Transform(), 0.0
    transform = fit_transform(given, samples[0], least, weights) if isinstance(given, str) else given.transform
    slopes = np.array([transform.log_slope(sample) for sample in samples])
    slope = np.mean(slopes) if weights is None else mean_of(slopes, weights).mean()
    return transform, n * float(slope) - 0.5 * math.log(n)


def _standardised(transform: Transform, values: Floats, weights: Floats | None) -> Rescaled:
    """Return a transform whose values, shape (n,), have mean zero and variance one."""
    return Rescaled(transform, 1.0, float(mean_of(values, weights)), float(deviation_of(values, weights) or 1.0))


READERS: dict[str, Callable[[Column], Reading]] = {
    "continuous": lambda column: _read_number(column, lambda values: (values, values)),  # its own cell
    "gridded": lambda column: _read_number(column, _wide_cells)._replace(exact=False),
    "ordinal": read_levels,
    "binary": read_levels,
    "categorical": read_labels,
    "count": read_counts,
}
if unread := {*DECLARABLE} ^ {*READERS}:
    raise TypeError(f"columns of these kinds cannot be read, or have no guess: {', '.join(unread)}")


def _wide_cells(values: Floats) -> tuple[Floats, Floats]:
    """Return the cells of a gridded column, those of point masses widened."""
    low, high = cells(values)
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    lacking = np.where(counts > 1, counts / values.size * spread_of(values), 0.0)[index] - (high - low)
    return low - np.maximum(lacking, 0.0) / 2, high + np.maximum(lacking, 0.0) / 2
