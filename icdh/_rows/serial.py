"""Serial dependence: rows in sequence, each of which resembles those before it.

Two independent series seem to be correlated if both resemble their own past. With rho the autocorrelations of both,
the variance of their correlation is that of independent rows times the design effect

    1 + 2 sum over lags k of (1 - k / M) rho_e(k) rho_x(k).

Of an edge e is the residual of the effect, x the cause.

Rows that somebody sorted, by a number or by a class, are independent all the same. What a smooth function of their
position or the class explains is taken out of all columns first.

References
----------
Bartlett, "Some aspects of the time-correlation problem in regard to tests of significance", Journal of the Royal
Statistical Society 98 (1935).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from icdh._ground.arrays import Floats, Integers, Mask
from icdh._ground.labels import listed
from icdh.exceptions import option


@dataclass(frozen=True)
class Tuning:
    """Limits of the test.

    Attributes
    ----------
    deviations : float
        Standard deviations by which the autocorrelation at lag one must differ from zero.
    least_effect : float
        Design effect from which rows count as dependent.
    point_mass : float
        Share of the rows that have one value, from which the rows may be sorted by whether they have it.
    most_blocks, most_nested : int
        Blocks of equal or of rising values up to which a column says that the rows are sorted; blocks within blocks.
    waves : int
        Cosines of the position of sorted rows.
    rows_a_function : int
        Rows that the test needs for every function taken out.
    most_rows : int
        Rows that are looked at, the first ones.
    """

    deviations: float = 3.5
    least_effect: float = 1.3
    point_mass: float = 0.05
    most_blocks: int = 10
    most_nested: int = 40
    waves: int = 8
    rows_a_function: int = 4
    most_rows: int = 100_000


TUNING = Tuning()


class SerialDependence(NamedTuple):
    """Columns that depend on their own past.

    Attributes
    ----------
    columns : list of int
        Their positions.
    effect : float
        The largest design effect of an edge: by this factor the rows are worth fewer independent ones.
    """

    columns: list[int]
    effect: float

    def said(self, names: Sequence[Hashable], n_rows: int) -> str:
        """Return a text that names the columns, of a table of these names and so many rows, and the remedy."""
        columns = listed(repr(names[k]) for k in self.columns)
        return (
            f"rows depend on those before them in the columns {columns}: for edges among these columns {n_rows} rows "
            f"are worth about {max(round(n_rows / self.effect), 1)} independent rows; pass {option('sequence', True)}, "
            f"{option('groups')} if rows of the same unit follow each other, or take differences"
        )


def serial_dependence(values: Floats, residuals: Floats, classes: Integers) -> SerialDependence | None:
    """Return the columns of rows in sequence; None if at most one of them depends on its past.

    Parameters
    ----------
    values, residuals : ndarray, shape (N, M)
        The table, one variable a row, and the residuals of a graph that was fitted to it.
    classes : ndarray of int, shape (M,)
        The condition of every row, whose effects are taken out, too.
    """
    values, residuals = values[:, : TUNING.most_rows], residuals[:, : TUNING.most_rows]
    explained, is_sorted = _explained_by_position(values, classes[: TUNING.most_rows])
    M = values.shape[1]
    if TUNING.rows_a_function * len(explained) > M:
        return None
    of_columns, of_residuals = (_autocorrelations_left(part, explained) for part in (values, residuals))
    limit = TUNING.deviations / np.sqrt(M)
    serial_columns, serial_residuals = (~is_sorted & (np.abs(rho[:, 1]) > limit) for rho in (of_columns, of_residuals))
    if not (serial_columns.any() and serial_residuals.any()):
        return None
    effects = bartlett(of_residuals, of_columns) * np.outer(serial_residuals, serial_columns)
    np.fill_diagonal(effects, 0.0)
    if effects.max() < TUNING.least_effect:
        return None
    concerned = (effects >= TUNING.least_effect).any(axis=0) | (effects >= TUNING.least_effect).any(axis=1)
    return SerialDependence(np.flatnonzero(concerned).tolist(), float(effects.max()))


def resembles_its_past(series: Floats, values: Floats) -> bool:
    """Return whether a series depends on its past, beyond what the position of sorted rows explains.

    Parameters
    ----------
    series : ndarray, shape (M,)
        What each row says.
    values : ndarray, shape (N, M)
        The table, which tells whether the rows are sorted.
    """
    M = series.size
    explained, _ = _explained_by_position(values, np.zeros(M, dtype=np.int64))
    if TUNING.rows_a_function * len(explained) > M:
        return False
    return bool(_autocorrelations_left(series[np.newaxis], explained)[0, 1] > TUNING.deviations / np.sqrt(M))


def autocorrelations(series: Floats) -> Floats:
    """Return the autocorrelations at lags 0 ... M - 1 of series of mean zero, both of shape (N, M); zero if constant.

    The sum of the M - k products at lag k is divided by that at lag 0.
    """
    M = series.shape[1]
    sums = lagged_sums(series, 2 * M)[:, :M]
    sums /= np.where(sums[:, :1] > 0.0, sums[:, :1], np.inf)
    return sums


def lagged_sums(series: Floats, least: int) -> Floats:
    """Return the sums of products of values at all lags, shape (N, at least ``least``).

    Sums wrap around: they are right up to lag ``least`` - M for series of length M.
    """
    size = 1 << (least - 1).bit_length()
    return np.fft.irfft(np.square(np.abs(np.fft.rfft(series, size, axis=1))), size, axis=1)


def bartlett(first: Floats, second: Floats) -> Floats:
    """Return the design effects of all pairs of series, given the autocorrelations of both, (N, M) and (K, M)."""
    M = first.shape[1]
    effects: Floats = 1.0 + 2.0 * (first[:, 1:] * (M / (M - np.arange(1, M)))) @ second[:, 1:].T
    return effects


def _explained_by_position(columns: Floats, classes: Integers) -> tuple[Floats, Mask]:
    """Return functions of classes, and of the position of sorted rows, and by which columns the rows are sorted.

    Functions are orthonormal, shape (k, M).
    """
    M = columns.shape[1]
    blocks, is_sorted = _nested_blocks(columns)
    functions = [classes == label for label in np.unique(classes)] + _functions_of_blocks(blocks, M, rises=False)
    for k in np.flatnonzero(~is_sorted):
        starts = _rising_blocks(columns[k])
        if starts is not None:
            is_sorted[k] = True
            functions += _functions_of_blocks(starts, M, rises=True)
    return np.linalg.qr(np.array(functions, dtype=float).T)[0].T, is_sorted


def _nested_blocks(columns: Floats) -> tuple[Integers, Mask]:
    """Return where the blocks of rows begin that were sorted by one column of few values within another.

    Also which columns these are. Each has one run of every value that it has in a block of the columns before it.
    """
    blocks, is_nested = np.zeros(1, dtype=np.int64), np.zeros(len(columns), dtype=bool)
    changes = [np.flatnonzero(np.diff(values)) + 1 for values in columns]
    while True:
        for k in np.flatnonzero(~is_nested):
            finer = np.union1d(blocks, changes[k])
            limit = TUNING.most_blocks if blocks.size == 1 else TUNING.most_nested
            if blocks.size < finer.size <= limit and _has_single_runs(columns[k], blocks, finer):
                blocks, is_nested[k] = finer, True
                break
        else:
            return blocks, is_nested


def _has_single_runs(values: Floats, blocks: Integers, finer: Integers) -> bool:
    """Return whether no value has two runs in one block, given where blocks and runs begin."""
    runs = np.column_stack([np.searchsorted(blocks, finer, side="right"), values[finer]])
    return len(np.unique(runs, axis=0)) == len(runs)


def _rising_blocks(values: Floats) -> Integers | None:
    """Return where the few blocks of rising or falling values begin; None if the values are not sorted.

    Rows may also be sorted by whether a column has its most frequent value: all zeros last.
    """
    steps = np.sign(np.diff(values))
    for direction in (1.0, -1.0):
        breaks = np.flatnonzero(steps == -direction) + 1
        if breaks.size < min(TUNING.most_blocks, 0.1 * np.count_nonzero(steps)):
            return np.append(0, breaks)
    numbers, counts = np.unique(values, return_counts=True)
    if counts.max() > TUNING.point_mass * values.size:
        changes = np.flatnonzero(np.diff(values == numbers[counts.argmax()])) + 1
        return np.append(0, changes) if changes.size == 1 else None
    return None


def _functions_of_blocks(starts: Integers, M: int, rises: bool) -> list[Floats]:
    """Return for every block its indicator and, if its values rise or fall, waves of the position in it."""
    functions = []
    for start, end in zip(starts, np.append(starts[1:], M), strict=True):
        position = (np.arange(end - start) + 0.5) / (end - start)
        n_waves = min(max(TUNING.waves // len(starts), 2), end - start) if rises else 0
        for k in range(n_waves + 1):
            wave = np.zeros(M)
            wave[start:end] = np.cos(np.pi * k * position)
            functions.append(wave)
    return functions


def _autocorrelations_left(series: Floats, explained: Floats) -> Floats:
    """Return the autocorrelations of the ranks of series without what the position of sorted rows explains."""
    ranks: Floats = np.empty(series.shape)  # ties at their mean; of ranks, tails that are heavy have no weight
    for column, ranked in zip(series, ranks, strict=True):
        _, index, counts = np.unique(column, return_inverse=True, return_counts=True)
        ranked[:] = (np.cumsum(counts) - 0.5 * counts)[index.ravel()]
    ranks -= ranks.mean(axis=1, keepdims=True)
    return autocorrelations(ranks - (ranks @ explained.T) @ explained)
