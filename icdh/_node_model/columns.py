"""The columns of a table as causes and as responses, under one monotone transform of all of them.

A column recorded on a grid is spread over its cells once, as a cause and as a response alike: all graphs are then about
the same continuous variables. Values far more frequent than their neighbours are point masses, with a probability of
their own (`icdh._node_model.point_masses`). The cell of another value that many rows share is widened until its density
is at most that of a spread over one standard deviation of the column: a narrow cell would be a spike that no noise
explains, and would decide the arrow. An ordinal column is not spread. A column of K categories is, as a cause, K
network inputs of zeros and ones, which enter and leave a family together.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from icdh._ground.arrays import Floats, Integers, Mask
from icdh._ground.entropy import cells, places
from icdh._node_model.categorical import CategoricalResponse
from icdh._node_model.gaussian import GaussianResponse
from icdh._node_model.network import Response, indicators
from icdh._node_model.ordinal import OrdinalResponse
from icdh._node_model.point_masses import PointMassResponse
from icdh._table.table import LEVEL_KINDS
from icdh._table.transforms import fit_transform, is_heavy_tailed, normal_scores

DRAWS = 3


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
        Which columns are categorical, ordinal, or continuous, not transformed and without point masses.
    """

    causes: Floats
    widths: Integers
    responses: list[Response]
    log_jacobians: Floats
    exact: Mask

    @property
    def log_jacobian(self) -> float:
        """The sum over all columns."""
        return float(self.log_jacobians.sum())

    @property
    def from_number_to_binary(self) -> Mask:
        """Which edges lead from a number to a binary column, of two values or categories; bool, shape (N, N)."""
        binary = np.array([response.is_binary for response in self.responses])
        categorical = np.array([isinstance(response, CategoricalResponse) for response in self.responses])
        return np.outer(~(binary | categorical), binary)

    def are_exact(self, family: tuple[int, tuple[int, ...]]) -> bool:
        """Return whether node and parents are neither transformed nor spread over cells."""
        node, parents = family
        return bool(self.exact[[node, *parents]].all())

    def with_normal_scores(self) -> "Columns":
        """Return the columns with very heavy-tailed causes replaced by their normal scores.

        Any increasing function of a cause serves as well as the cause, and needs no Jacobian. Hidden units would see
        only the few outliers of a very heavy-tailed cause.
        """
        continuous = np.repeat(
            [isinstance(response, GaussianResponse | PointMassResponse) for response in self.responses], self.widths
        )
        heavy = continuous & is_heavy_tailed(self.causes)
        causes, exact = self.causes.copy(), self.exact.copy()
        for row in np.flatnonzero(heavy):
            causes[row] = normal_scores(causes[row])
        exact[np.repeat(np.arange(len(exact)), self.widths)[heavy]] = False
        return self._replace(causes=causes, exact=exact)


def columns_of(
    values: Floats,
    kinds: Sequence[str],
    transform: str = "none",
    random_state: int = 0,
    n_categories: Sequence[int] | None = None,
    masses: Sequence[Sequence[float]] | None = None,
) -> Columns:
    """Return standardised columns as causes and responses.

    Parameters
    ----------
    values : ndarray, shape (N, n)
        The standardised table, one variable a row; categories as 0 ... K - 1.
    kinds : sequence of str
        "continuous", "gridded", "ordinal", "binary" or "categorical", one a variable; see `Table.kinds`.
    transform : {"none", "log", "yeo-johnson"}
        What is applied to continuous and gridded columns.
    random_state : int
        Draws places in the cells.
    n_categories : sequence of int, optional
        K of every categorical column; by default one more than its largest code.
    masses : sequence of sequences of float, optional
        The values of every number that have a probability of their own; by default none.
    """
    causes: list[Floats] = []
    responses: list[Response] = []
    log_jacobians = np.zeros(len(values))
    exact = np.ones(len(values), dtype=bool)
    for k, (column, kind) in enumerate(zip(values, kinds, strict=True)):
        if kind == "categorical":
            K = int(column.max()) + 1 if n_categories is None else n_categories[k]
            causes.append(indicators(column, K))
            responses.append(CategoricalResponse(column.astype(np.int64), K))
        elif kind in LEVEL_KINDS:
            causes.append(column[np.newaxis])
            responses.append(OrdinalResponse(column))
        else:
            rng = np.random.default_rng([random_state, k])
            codes = np.zeros(column.size, dtype=np.int64)
            for mass, value in enumerate(masses[k] if masses else [], start=1):
                codes[column == value] = mass
            cause, response, log_jacobians[k] = _number(column, codes, kind == "gridded", transform, rng)
            causes.append(cause[np.newaxis])
            responses.append(response)
            exact[k] = kind == "continuous" and transform == "none" and not codes.any()
    widths = np.array([len(inputs) for inputs in causes], dtype=np.int64)
    return Columns(np.vstack(causes), widths, responses, log_jacobians, exact)


def _number(
    values: Floats, codes: Integers, gridded: bool, transform: str, rng: np.random.Generator
) -> tuple[Floats, GaussianResponse | PointMassResponse, float]:
    """Return a number under a transform as a cause and as a response, and its part of the log Jacobian.

    ``codes`` says where there are point masses. As a cause these keep their value.
    """
    rows, without = np.flatnonzero(codes == 0), not codes.any()
    low, samples = values[rows], [values[rows]]
    high = low
    if gridded:
        low, high = _wide_cells(values[rows])
        samples = [low + places(values[rows], rng) * (high - low) for _ in range(DRAWS)]
    if without and transform == "none":
        response = GaussianResponse.over_cells(low, high, samples) if gridded else GaussianResponse.exact(values)
        return response.samples[0], response, 0.0

    chosen, slope, price = None, 0.0, 0.0
    if transform != "none":
        chosen = fit_transform(transform, samples[0], low=min(low.min(), values.min()))
        slope = float(np.mean([chosen.log_slope(sample) for sample in samples]))
        price = 0.5 * np.log(rows.size)

    def moved(x: Floats) -> Floats:
        return x if chosen is None else chosen.apply(x)

    first = moved(samples[0])
    mean, deviation = first.mean(), first.std() or 1.0
    low, high, *samples = ((moved(x) - mean) / deviation for x in (low, high, *samples))
    gain = rows.size * (slope - np.log(deviation)) - price
    response = GaussianResponse.over_cells(low, high, samples) if gridded else GaussianResponse.exact(samples[0])
    if without:
        return samples[0], response, float(gain)
    cause = moved(values)
    cause[rows] = first
    everywhere = np.zeros(values.size, dtype=np.int64)
    everywhere[rows] = np.arange(rows.size)  # what stands at point masses is not read
    with_masses = PointMassResponse(codes, response.take(everywhere), int(codes.max()))
    return (cause - cause.mean()) / cause.std(), with_masses, float(gain)


def _wide_cells(values: Floats) -> tuple[Floats, Floats]:
    """Return the cells of a gridded column, those of point masses widened."""
    low, high = cells(values)
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    quartiles = np.quantile(values, (0.25, 0.75))
    scale = min(values.std(), np.ptp(quartiles) / 1.349) or values.std()
    lacking = np.where(counts > 1, counts / values.size * scale, 0.0)[index] - (high - low)
    return low - np.maximum(lacking, 0.0) / 2, high + np.maximum(lacking, 0.0) / 2
