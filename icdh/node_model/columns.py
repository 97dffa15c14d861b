"""The columns of a table as causes and as effects, under one monotone transform of all of them.

A column recorded on a grid is spread over its cells once, as a cause and as an effect alike: all graphs are then about
the same continuous variables. A value that many rows share, a point mass, gets a cell that is at least as wide as a
density of one over the column's standard deviation needs: a narrow cell would be a spike that no noise explains, and
so decide the arrow. A column of few levels is not spread: as a cause it is itself, as an effect it has `Levels`. One of
K labels is as a cause K rows of zeros and ones, which come and go together, and as an effect has `Labels`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from icdh.entropy import cells, places
from icdh.node_model.fit import indicators
from icdh.node_model.targets import Density, Labels, Levels, Target
from icdh.table import LEVEL_KINDS
from icdh.transforms import fit_transform

DRAWS = 3
QUARTILES_OF_GAUSSIAN = 1.349
HEAVY = 20.0  # fourth moment of a standardised column


class Columns(NamedTuple):
    """What a search over graphs reads.

    Attributes
    ----------
    causes : ndarray, shape (R, n)
        The columns as causes, standardised; those of labels are several rows.
    widths : ndarray of int, shape (N,)
        How many rows of ``causes`` every column is.
    targets : list of Target
        The columns as effects.
    log_jacobians : ndarray, shape (N,)
        The log-likelihood, in nats, of the values as they were less that of ``targets``, column by column; what the
        transforms' parameters cost is taken off.
    exact : ndarray of bool, shape (N,)
        Which columns are labels, few levels, or continuous and not transformed.
    """

    causes: np.ndarray
    widths: np.ndarray
    targets: list[Target]
    log_jacobians: np.ndarray
    exact: np.ndarray

    @property
    def log_jacobian(self) -> float:
        """The sum over all columns."""
        return float(self.log_jacobians.sum())

    @property
    def from_number_to_binary(self) -> np.ndarray:
        """Which edges lead from a number to one of two values or labels; bool, shape (N, N)."""
        binary = np.array([not isinstance(own, Density) and own.are_two for own in self.targets])
        labels = np.array([isinstance(own, Labels) for own in self.targets])
        return np.outer(~(binary | labels), binary)

    def as_they_are(self, family: tuple[int, tuple[int, ...]]) -> bool:
        """Return whether neither node nor parents are transformed or spread."""
        node, parents = family
        return bool(self.exact[[node, *parents]].all())

    def with_normal_scores(self) -> "Columns":
        """Return the columns with causes of very heavy tails replaced by their normal scores.

        As a cause any increasing function of a column is as good as the column, without a Jacobian. Of a column whose
        tails are very heavy the units would see a few outliers and nothing else.
        """
        continuous = np.repeat([isinstance(target, Density) for target in self.targets], self.widths)
        heavy = continuous & (np.mean(self.causes**4, axis=1) > HEAVY)
        causes, exact = self.causes.copy(), self.exact.copy()
        for row in np.flatnonzero(heavy):
            causes[row] = _normal_scores(causes[row])
        exact[np.repeat(np.arange(len(exact)), self.widths)[heavy]] = False
        return self._replace(causes=causes, exact=exact)


def columns_of(
    values: np.ndarray,
    kinds: Sequence[str],
    transform: str = "none",
    random_state: int = 0,
    n_labels: Sequence[int] | None = None,
) -> Columns:
    """Return standardised columns as causes and effects.

    Parameters
    ----------
    values : ndarray, shape (N, n)
        The standardised table, one variable a row; labels as 0 ... K - 1.
    kinds : sequence of str
        "continuous", "gridded", "ordinal", "binary" or "categorical", one a variable; see `icdh.table.Table.kinds`.
    transform : {"none", "log", "yeo-johnson"}
        What is applied to continuous and gridded columns.
    random_state : int
        Draws places in the cells.
    n_labels : sequence of int, optional
        K of every column of labels; by default as many as it takes.
    """
    causes, targets, log_jacobians = [], [], np.zeros(len(values))
    for k, (own, kind) in enumerate(zip(values, kinds, strict=True)):
        if kind == "categorical":
            most = int(own.max()) + 1 if n_labels is None else n_labels[k]
            causes.append(indicators(own, most))
            targets.append(Labels(own.astype(np.int64), most))
        elif kind in LEVEL_KINDS:
            causes.append(own[np.newaxis])
            targets.append(Levels(own))
        else:
            rng = np.random.default_rng([random_state, k])
            density, log_jacobians[k] = _density(own, kind == "gridded", transform, rng)
            causes.append(density.samples[0][np.newaxis])
            targets.append(density)
    plain = {"categorical", *LEVEL_KINDS} | ({"continuous"} if transform == "none" else set())
    exact = np.array([kind in plain for kind in kinds], dtype=bool)
    widths = np.array([len(rows) for rows in causes], dtype=np.int64)
    return Columns(np.vstack(causes), widths, targets, log_jacobians, exact)


def over_cells(low: np.ndarray, high: np.ndarray, samples: Sequence[np.ndarray]) -> Density:
    """Return the target of values that are spread evenly over cells, from which ``samples`` are drawn."""
    return Density((low + high) / 2, np.square(high - low) / 12, samples)


def _normal_scores(x):
    """Return the Gaussian quantiles of the mid-ranks of a sample."""
    _, index, counts = np.unique(x, return_inverse=True, return_counts=True)
    return ndtri((np.cumsum(counts) - counts / 2) / x.size)[index]


def _density(values, gridded, transform, rng):
    """Return the target of a column under a transform, and its part of the log Jacobian."""
    if gridded:
        low, high = _wide_cells(values)
        samples = [low + places(values, rng) * (high - low) for _ in range(DRAWS)]
    else:
        low, samples = values, [values]
    if transform == "none":
        return (over_cells(low, high, samples) if gridded else Density.exact(values)), 0.0
    chosen = fit_transform(transform, samples[0], low=low.min())
    first = chosen.apply(samples[0])
    mean, deviation = first.mean(), first.std()

    def moved(x):
        return (chosen.apply(x) - mean) / deviation

    slope = np.mean([chosen.log_slope(sample) for sample in samples])
    gain = values.size * (slope - np.log(deviation)) - 0.5 * np.log(values.size)
    if not gridded:
        return Density.exact(moved(values)), float(gain)
    return over_cells(moved(low), moved(high), [moved(sample) for sample in samples]), float(gain)


def _wide_cells(values):
    """Return the cells of a gridded column, those of point masses widened."""
    low, high = cells(values)
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    quartiles = np.quantile(values, (0.25, 0.75))
    scale = min(values.std(), np.ptp(quartiles) / QUARTILES_OF_GAUSSIAN) or values.std()
    lacking = np.where(counts > 1, counts / values.size * scale, 0.0)[index] - (high - low)
    return low - np.maximum(lacking, 0.0) / 2, high + np.maximum(lacking, 0.0) / 2
