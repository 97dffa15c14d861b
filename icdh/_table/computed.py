"""Columns that others give: dummies of one label, sums, differences, products and ratios, rounded or not."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from icdh._utils.arrays import Floats

# Shares of a column's spread that others leave: whatever rounding is, and if that explains it.
EXACT, NEARLY = 0.01, 0.15
OVER_ROUNDING = 1.5  # standard deviations of rounding errors
LEAST_OVERLAP = 10.0  # rows that two independent columns of zeros and ones would share, where none is shared
MOST_ROWS, MOST_COLUMNS = 2000, 500  # that are compared


class Computed(NamedTuple):
    """A column that others give, by their positions.

    Attributes
    ----------
    column : int
        The column.
    parts : list of int
        The others.
    """

    column: int
    parts: list[int]


def dummies(values: Floats) -> list[list[int]]:
    """Return sets of columns of zeros and ones of which at most one is one in a row, as dummies of a label are.

    Parameters
    ----------
    values : ndarray, shape (N, M)
        The table, one variable a row.
    """
    is_binary = np.array([np.isin(column, (0.0, 1.0)).all() and 0.0 < column.mean() < 1.0 for column in values])
    left = np.flatnonzero(is_binary).tolist()
    sets = []
    while left:
        members, taken = [left[0]], values[left[0]].copy()
        for k in left[1:]:
            chance = float(taken.mean() * values[k].sum())
            if chance >= LEAST_OVERLAP and not (taken @ values[k]):
                members.append(k)
                taken += values[k]
        left = [k for k in left if k not in members]
        if len(members) > 2 or (len(members) == 2 and taken.all()):
            sets.append(members)
    return sets


def sums_and_ratios(values: Floats, varying: Sequence[int]) -> Iterator[Computed]:
    """Yield columns that are sums or differences of others, or products or ratios of positive ones, but for rounding.

    Parameters
    ----------
    values : ndarray, shape (N, M)
        The table, one variable a row.
    varying : sequence of int
        The columns to compare: different ones that vary.
    """
    part = values[:, :: -(-values.shape[1] // MOST_ROWS)]
    seen: set[int] = set()
    positive = [k for k in varying if part[k].min() > 0.0 and np.unique(part[k]).size > 10]
    for columns, takes_logs in ((list(varying), False), (positive, True)):
        if not 2 <= len(columns) <= min(part.shape[1] // 2, MOST_COLUMNS):
            continue
        steps = {k: _step(part[k]) for k in columns}
        shown = np.log(part[columns]) if takes_logs else part[columns]
        roundings = np.array([np.sqrt(np.mean((steps[k] / part[k]) ** 2)) if takes_logs else steps[k] for k in columns])
        for place, parts in _given_by_others(shown, roundings):
            if columns[place] not in seen:
                seen.add(columns[place])
                yield Computed(columns[place], [columns[k] for k in parts])


def _given_by_others(values: Floats, steps: Floats) -> Iterator[Computed]:
    """Yield the columns that those before them give but for errors of rounding to these steps."""
    scales = np.abs(values).max(axis=1, keepdims=True)
    centred = values / scales
    centred -= centred.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(centred, axis=1)
    centred /= norms[:, np.newaxis]
    errors = np.square(steps / scales.ravel() / norms) * values.shape[1] / 12.0  # of columns of unit norm
    left = np.abs(np.diag(np.linalg.qr(centred.T, mode="r")))
    independent = np.flatnonzero(left > NEARLY)
    for k in np.flatnonzero(left <= NEARLY):
        before = independent[independent < k]
        weights, *_ = np.linalg.lstsq(centred[before].T, centred[k], rcond=None)
        rounding = np.sqrt(errors[k] + np.square(weights) @ errors[before])
        limit = max(EXACT, OVER_ROUNDING * float(rounding))
        for cutoff in (0.1, EXACT, 0.0):  # as few parts as do
            used = before[np.abs(weights) > cutoff]
            weights_used, *_ = np.linalg.lstsq(centred[used].T, centred[k], rcond=None)
            if np.linalg.norm(centred[k] - weights_used @ centred[used]) <= limit:
                yield Computed(int(k), used.tolist())
                break


def _step(column: Floats) -> float:
    """Return the power of ten that a column was rounded to, zero if it has more than four decimals."""
    spread = float(np.ptp(column))
    for step in (1.0, 0.1, 0.01, 0.001, 0.0001):
        if step <= spread and np.allclose(column / step, np.round(column / step), rtol=0.0, atol=1e-6):
            return step
    return 0.0
