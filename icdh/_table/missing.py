"""Gaps in a table: dropping rows, and first values for imputation."""

import numpy as np

from icdh._ground.arrays import Floats, Mask
from icdh._ground.labels import counted, listed, plural
from icdh._table.table import Table
from icdh.exceptions import DataWarning, option, warn

MISSING = ("error", "drop", "impute")
CHUNK = 1000  # rows compared with all donors at once


def complete_rows(table: Table) -> Mask:
    """Return which rows are complete, shape (M,).

    Raises
    ------
    ValueError
        If fewer than two rows are complete.
    """
    complete: Mask = np.logical_not(table.gaps.any(axis=0))
    if np.count_nonzero(complete) < min(2, complete.size):
        raise ValueError(
            f"{option('missing', 'drop')} leaves {np.count_nonzero(complete)} of {counted(complete.size, 'row')}; use "
            f"{option('missing', 'impute')}, or drop the columns with most gaps"
        )
    return complete


def warn_about_mostly_imputed_columns(table: Table) -> None:
    """Name the columns of which more than half is missing."""
    counts = table.gaps.sum(axis=1)
    columns = [f"{table.names[n]!r} ({counts[n]})" for n in np.flatnonzero(2 * counts > table.n_observations)]
    if columns:
        warn(
            f"{plural(columns, 'column')} of which more than half of {table.n_observations} rows are imputed: "
            f"{listed(columns)}; drop {'it' if len(columns) == 1 else 'them'}, unless gaps come by chance alone",
            DataWarning,
        )


def neighbours_values(table: Table, rng: np.random.Generator) -> Floats:
    """Return the values with every gap filled from a similar row, shape (N, M).

    Each gap takes the value of a donor drawn from the five nearest rows that have one. The distance is the mean squared
    difference of standardised columns over the cells that both rows have. At most 2000 random rows are donors. Unlike
    means, donated values keep spread, skewness and dependence, so that a first graph can be learned from them.

    Parameters
    ----------
    table : Table
        With gaps as NaN.
    rng : Generator
        Source of randomness.
    """
    values: Floats = table.values.copy()
    scaled = _scaled(values)
    donors = rng.permutation(values.shape[1])[:2000]
    receivers = np.flatnonzero(table.gaps.any(axis=0))
    for start in range(0, receivers.size, CHUNK):
        rows = receivers[start : start + CHUNK]
        distance = _distances(scaled[:, rows], scaled[:, donors])
        for n in np.flatnonzero(table.gaps[:, rows].any(axis=1)):
            giving = np.flatnonzero(~table.gaps[n, donors])
            if giving.size == 0:
                donated = rng.choice(table.values[n, ~table.gaps[n]], size=np.count_nonzero(table.gaps[n, rows]))
            else:
                near = np.argsort(distance[table.gaps[n, rows]][:, giving], axis=1, kind="stable")[:, :5]
                chosen = near[np.arange(len(near)), rng.integers(near.shape[1], size=len(near))]
                donated = table.values[n, donors[giving[chosen]]]
            values[n, rows[table.gaps[n, rows]]] = donated
    return values


def _scaled(values: Floats) -> Floats:
    mean, spread = np.nanmean(values, axis=1, keepdims=True), np.nanstd(values, axis=1, keepdims=True)
    scaled: Floats = (values - mean) / np.where(spread > 0.0, spread, 1.0)
    return scaled


def _distances(a: Floats, b: Floats) -> Floats:
    """Return mean squared differences between columns of a and b over shared cells; infinite if there are none."""
    has_a, has_b = (~np.isnan(x) for x in (a, b))
    a, b = np.nan_to_num(a), np.nan_to_num(b)
    total = (a**2).T @ has_b + has_a.T @ b**2 - 2.0 * a.T @ b
    shared = has_a.T.astype(float) @ has_b
    return np.where(shared > 0.0, total / np.maximum(shared, 1.0), np.inf)
