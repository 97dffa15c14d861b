"""The columns of a table as causes and as responses, under one monotone transform of all of them.

A column recorded on a grid is spread over its cells once, as a cause and as a response alike: all graphs are then about
the same continuous variables. A value that many rows share is a point mass. Its cell is widened until its density is
at most that of a spread over one standard deviation of the column: a narrow cell would be a spike that no noise
explains, and would decide the arrow. An ordinal column is not spread. A column of K categories is, as a cause, K
network inputs of zeros and ones, which enter and leave a family together.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from icdh._ground.entropy import cells, places
from icdh._node_model.categorical import CategoricalResponse
from icdh._node_model.gaussian import GaussianResponse
from icdh._node_model.network import indicators
from icdh._node_model.ordinal import OrdinalResponse
from icdh._node_model.responses import Response
from icdh._table.table import LEVEL_KINDS
from icdh._table.transforms import fit_transform, normal_scores

DRAWS = 3
QUARTILES_OF_GAUSSIAN = 1.349
HEAVY = 20.0  # fourth moment of a standardised column


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
        Which columns are categorical, ordinal, or continuous and not transformed.
    """

    causes: np.ndarray
    widths: np.ndarray
    responses: list[Response]
    log_jacobians: np.ndarray
    exact: np.ndarray

    @property
    def log_jacobian(self) -> float:
        """The sum over all columns."""
        return float(self.log_jacobians.sum())

    @property
    def from_number_to_binary(self) -> np.ndarray:
        """Which edges lead from a number to a binary column, of two values or categories; bool, shape (N, N)."""
        binary = np.array([not isinstance(own, GaussianResponse) and own.is_binary for own in self.responses])
        categorical = np.array([isinstance(own, CategoricalResponse) for own in self.responses])
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
        continuous = np.repeat([isinstance(own, GaussianResponse) for own in self.responses], self.widths)
        heavy = continuous & (np.mean(self.causes**4, axis=1) > HEAVY)
        causes, exact = self.causes.copy(), self.exact.copy()
        for row in np.flatnonzero(heavy):
            causes[row] = normal_scores(causes[row])
        exact[np.repeat(np.arange(len(exact)), self.widths)[heavy]] = False
        return self._replace(causes=causes, exact=exact)


def columns_of(
    values: np.ndarray,
    kinds: Sequence[str],
    transform: str = "none",
    random_state: int = 0,
    n_categories: Sequence[int] | None = None,
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
    """
    causes, responses, log_jacobians = [], [], np.zeros(len(values))
    for k, (own, kind) in enumerate(zip(values, kinds, strict=True)):
        if kind == "categorical":
            K = int(own.max()) + 1 if n_categories is None else n_categories[k]
            causes.append(indicators(own, K))
            responses.append(CategoricalResponse(own.astype(np.int64), K))
        elif kind in LEVEL_KINDS:
            causes.append(own[np.newaxis])
            responses.append(OrdinalResponse(own))
        else:
            rng = np.random.default_rng([random_state, k])
            response, log_jacobians[k] = _gaussian_response(own, kind == "gridded", transform, rng)
            causes.append(response.samples[0][np.newaxis])
            responses.append(response)
    plain = {"categorical", *LEVEL_KINDS} | ({"continuous"} if transform == "none" else set())
    exact = np.array([kind in plain for kind in kinds], dtype=bool)
    widths = np.array([len(inputs) for inputs in causes], dtype=np.int64)
    return Columns(np.vstack(causes), widths, responses, log_jacobians, exact)


def _gaussian_response(values, gridded, transform, rng):
    """Return the response of a column under a transform, and the column's part of the log Jacobian."""
    if gridded:
        low, high = _wide_cells(values)
        samples = [low + places(values, rng) * (high - low) for _ in range(DRAWS)]
    else:
        low, samples = values, [values]
    if transform == "none":
        return (GaussianResponse.over_cells(low, high, samples) if gridded else GaussianResponse.exact(values)), 0.0
    chosen = fit_transform(transform, samples[0], low=low.min())
    first = chosen.apply(samples[0])
    mean, deviation = first.mean(), first.std()

    def moved(x):
        return (chosen.apply(x) - mean) / deviation

    slope = np.mean([chosen.log_slope(sample) for sample in samples])
    gain = values.size * (slope - np.log(deviation)) - 0.5 * np.log(values.size)
    if not gridded:
        return GaussianResponse.exact(moved(values)), float(gain)
    return GaussianResponse.over_cells(moved(low), moved(high), [moved(sample) for sample in samples]), float(gain)


def _wide_cells(values):
    """Return the cells of a gridded column, those of point masses widened."""
    low, high = cells(values)
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    quartiles = np.quantile(values, (0.25, 0.75))
    scale = min(values.std(), np.ptp(quartiles) / QUARTILES_OF_GAUSSIAN) or values.std()
    lacking = np.where(counts > 1, counts / values.size * scale, 0.0)[index] - (high - low)
    return low - np.maximum(lacking, 0.0) / 2, high + np.maximum(lacking, 0.0) / 2
