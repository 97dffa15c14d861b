"""Rows that depend on one another: what they are worth, by the user's word, and tests for them, from a table alone.

By the user's word rows are related if they are of a group, or in sequence. An effect whose residual resembles itself in
related rows, and a cause that does so, too, seem to be joined more often than chance allows. If independent, the
variance of the sum of their products over the n rows is that of independent rows times the design effect

    1 + sum over kinds of pairs k of (n_k / n) rho_e(k) rho_x(k).

Of groups there is one kind of pair, two rows of a group: rho is the intraclass correlation. Of rows in sequence every
lag is a kind of its own, and rho the autocorrelation.

Tests look for copies, rows of the same unit, and rows in sequence. Related are rows that share a value, or stand one
after the other, up to four of them. They depend on one another if they resemble one another in what a smooth function
leaves. In windows of twenty rows, in the order of the values or of the table, a line is taken out of the ranks of a
series. The mean product of related rows, over the mean square, is then their intraclass correlation; it is zero on
average if rows are independent.

Sorted rows are independent all the same: the line takes out a smooth trend. So are rows stored in blocks: a jump
concerns the one window that it lies in. Values repeat by rounding, too, but then related rows differ as neighbours do.

References
----------
Kish, "Survey Sampling", 1965, section 5.4.
Moulton, "Random group effects and the precision of regression estimates", Journal of Econometrics 32 (1986).
Bartlett, "Some aspects of the time-correlation problem in regard to tests of significance", Journal of the Royal
Statistical Society 98 (1935).
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import legvander

from icdh._utils.arrays import Cells, Floats, Integers, Mask
from icdh._utils.labels import listed
from icdh.exceptions import option

WINDOW, MOST_RELATED = 20, 4
MOST_APART = 8  # rows between two windows, fewer than so many
DEVIATIONS = 3.0  # of the correlation of independent rows, from which related rows are alike
MOST_ROWS, MOST_SORTED = 4000, 50_000  # that are compared, and that are sorted by several columns
MOST_TIES = 0.1  # probability that two rows share a value, up to which a column may name units
LEAST_LINK, LEAST_COPIES = 0.3, 0.5  # correlations of columns that repeat together
LEAST_PRODUCT = 0.02  # of the correlations of a residual and a cause, from which a sequence matters
IN_ORDER, LEAST_DRIFT = 0.95, 0.2  # autocorrelation of a column that is sorted, or a trend; of what a fit leaves
LEAST_EFFECT = 1.3  # rows of a combination, on average, from which it may be one unit
FEWEST_DIFFERENT = 20  # rows: fewer may all occur an even number of times by chance
MOST_LABELS = 20  # values of a column that may name blocks
MOST_COLUMNS = 200  # that are compared
FLAT = 0.03**2 / 12.0  # variance of ranks that differ by three hundredths of the rows: less is no noise
INDEPENDENT = 0.1  # of the spread of a column, that sums of others must leave
BATCHES = 4, 8, 16, 32, 64  # rows in a row
OVERLAP, FEWEST = 800.0 / 1848.0, 10.0  # independent ones of overlapping third differences; fewest of these
BEYOND_CHANCE = 4.0  # standard errors of the correlation of neighbours
IN_ONE_DIRECTION = 0.9  # share of the steps of a column that sorts the rows
BY_CHANCE = 0.0003  # probability that a sum of independent rows varies so much
DEGREE, MOST_FUNCTIONS = 5, 100  # of a polynomial of a column; of all columns together
SHORTEST_TREND = 8  # rows: fewer are in order by chance
TRENDING = 0.8  # correlation of ranks with the number of the row, in tables of less than two windows


@dataclass(frozen=True)
class RelatedRows:
    """The group of every row and, if rows are in sequence, its place there.

    Attributes
    ----------
    groups : ndarray of int, shape (M,)
        Numbers from zero.
    places : ndarray of int, shape (M,), or None
        The place of every row in the sequence of its group; None if its order has no meaning.
    """

    groups: Integers
    places: Integers | None = None

    @classmethod
    def of(cls, labels: Iterable[Hashable] | None, in_sequence: bool, n_rows: int) -> "RelatedRows":
        """Return the relations of rows with these labels of groups, or of one sequence if there are none."""
        groups = np.zeros(n_rows, dtype=np.int64) if labels is None else numbered(labels)
        return cls(groups, _places(groups) if in_sequence else None)

    def of_rows(self, rows: Integers | Mask) -> "RelatedRows":
        """Return the relations of selected rows: a mask of shape (M,), or positions."""
        return RelatedRows(self.groups[rows], None if self.places is None else self.places[rows])

    @property
    def units(self) -> Integers:
        """The number of every row's unit, shape (M,); resamples are drawn of whole units.

        A unit is a group or, of a single sequence, a block of consecutive rows, as many as there are blocks.
        """
        if self.places is None or self.groups.any():
            return self.groups
        return self.places // max(int(np.sqrt(self.places.size)), 1)

    def every(self, step: int) -> Mask:
        """Return the first row of each group and those whose place in it is a multiple of ``step``."""
        kept: Mask = (_places(self.groups) if self.places is None else self.places) % step == 0
        return kept

    def drawn(self, draws: Integers) -> "RelatedRows":
        """Return the relations of resampled rows: each draw of a unit, numbered by ``draws``, becomes a group."""
        groups = numbered(zip(self.groups.tolist(), draws.tolist(), strict=True))
        return RelatedRows(groups, None if self.places is None else _places(groups))

    @cached_property
    def pairs(self) -> Floats:
        """The number of ordered pairs of rows of every kind, divided by the number of rows, shape (K,)."""
        n = self.groups.size
        if self.places is None:
            return np.array([float(np.square(np.bincount(self.groups)).sum() - n) / n])
        return 2.0 * self._lagged_sums(np.ones((1, n)), self.places)[0, 1:].round() / n

    def correlations(self, series: Floats) -> Floats:
        """Return the mean correlation of pairs of rows of every kind, shape (K,), given one or more series, (s, M).

        Several series are the coordinates of one vector.
        """
        centred = series - series.mean(axis=1, keepdims=True)
        squares = float(np.square(centred).sum())
        if self.places is None:
            sums = np.array([np.bincount(self.groups, row) for row in centred])
            products = np.array([float(np.square(sums).sum()) - squares])
        else:
            products = 2.0 * self._lagged_sums(centred, self.places).sum(axis=0)[1:]
        counted = (self.pairs > 0.0) & (squares > 0.0)
        return np.where(counted, products / np.where(counted, self.pairs * squares, 1.0), 0.0)

    def design_effects(self, first: Floats, second: Floats) -> Floats:
        """Return the design effects of all pairs of variables, at least one, given their `correlations`, (s, K)."""
        return np.maximum(1.0 + (first * self.pairs) @ second.T, 1.0)

    def _lagged_sums(self, series: Floats, places: Integers) -> Floats:
        """Return the sums of products of rows at lags 0 ... K in the same sequence, shape (s, K + 1)."""
        n_lags = int(places.max()) + 1
        axis = self.groups * (2 * n_lags) + places  # sequences of groups are so far apart that no lag joins two
        placed = np.zeros((len(series), int(axis.max()) + 1))
        placed[:, axis] = series
        size = 1 << (placed.shape[1] + n_lags - 1).bit_length()  # sums that wrap around come after the last lag
        spectrum = np.square(np.abs(np.fft.rfft(placed, size, axis=1)))
        return np.fft.irfft(spectrum, size, axis=1)[:, :n_lags]


def numbered(labels: Iterable[Hashable]) -> Integers:
    """Return a number for every label, from zero in the order of their first rows."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)


def _places(groups: Integers) -> Integers:
    """Return the place of every row among those of its group."""
    order = np.argsort(groups, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(groups))[:-1])
    places = np.empty(groups.size, dtype=np.int64)
    places[order] = np.arange(groups.size) - starts[groups[order]]
    return places


class Dependence(NamedTuple):
    """How rows of a table depend on one another.

    Attributes
    ----------
    kind : {"copies", "units", "sequence", "trend"}
        What they are: a trend is that of a table too short to test for a sequence.
    columns : list of int
        The columns that show it.
    n_independent : int
        The effective sample size.
    """

    kind: str
    columns: list[int]
    n_independent: int

    def message(self, names: Sequence[Hashable], n_rows: int) -> str:
        """Return a message that names the columns, of a table of these names and so many rows, and the remedy."""
        columns = listed(repr(names[k]) for k in self.columns)
        size = f"is about {self.n_independent}"
        of_edges = f"the effective sample size for edges among them {size}"
        return {
            "copies": f"{n_rows} rows hold {self.n_independent} different ones: the effective sample size {size}, and "
            f"copies make edges and intervals too certain; drop them, or pass {option('groups')} with one label for "
            "all copies of a row",
            "units": f"columns {columns} hold {self.n_independent} different combinations in {n_rows} rows, as if "
            f"several rows came from each person or place: {of_edges}; pass {option('groups')} with one label a "
            "person, or keep one row a person",
            "sequence": f"rows depend on those before them in the columns {columns}: {of_edges} of {n_rows} rows; "
            f"pass {option('sequence', True)}, {option('groups')} if rows of the same unit follow each other, or take "
            "differences",
            "trend": f"the columns {columns} rise or fall from row to row: in the order of time, trends join columns "
            f"without a cause, and {n_rows} rows cannot separate the two; take differences",
        }[self.kind]


class Relation(NamedTuple):
    """Rows in some order, whole windows of them: their positions, places along a line, and numbers of units."""

    rows: Integers
    places: Floats
    units: Integers

    @classmethod
    def of_consecutive(cls, n_rows: int) -> "Relation":
        """Relate rows that stand one after the other, in windows at uneven distances.

        Even ones would each lie in one block of a table that is stored in blocks of as many rows, or of half as many.
        """
        gaps = np.random.default_rng(0).integers(MOST_APART, size=n_rows // WINDOW)
        starts = WINDOW * np.arange(gaps.size) + np.cumsum(gaps) - gaps
        starts = starts[starts + WINDOW <= n_rows]
        rows = (starts[:, np.newaxis] + np.arange(WINDOW)).ravel()
        return cls(rows, rows / n_rows, np.arange(rows.size) // MOST_RELATED)

    @classmethod
    def of_equal(cls, values: Cells) -> "Relation":
        """Relate rows that share a value, shape (M,)."""
        order = np.random.default_rng(0).permutation(values.size)  # of equal values, the order of the table is none
        order = order[np.argsort(values[order], kind="stable")]
        _, value, sizes = np.unique(values[order], return_inverse=True, return_counts=True)
        ends = np.cumsum(sizes)
        place = np.arange(values.size) - (ends - sizes)[value]
        turn = place // MOST_RELATED
        is_alone = (place % MOST_RELATED == 0) & (place == sizes[value] - 1)
        kept = np.flatnonzero(~is_alone)
        kept = kept[np.lexsort((value[kept], turn[kept]))][:MOST_ROWS]
        kept = kept[: kept.size // WINDOW * WINDOW]
        places = (ends - 0.5 * sizes)[value[kept]] / values.size
        return cls(order[kept], places, turn[kept] * sizes.size + value[kept])

    def alike(self, series: Floats) -> Floats:
        """Return the intraclass correlations of ranks of series, shape (k, M); zero where chance may be behind one."""
        correlations, deviations = self.resemblance(series)
        return np.where(deviations > DEVIATIONS, correlations, 0.0)

    def resemblance(self, series: Floats) -> tuple[Floats, Floats]:
        """Return the intraclass correlations of ranks of series, shape (k, M), and each over its standard deviation."""
        windows = np.arange(0, self.rows.size, WINDOW)
        if not windows.size:
            return np.zeros(len(series)), np.zeros(len(series))
        begins = np.diff(self.units, prepend=-1) != 0
        begins[windows] = True
        units = np.flatnonzero(begins)
        units_of_windows = np.searchsorted(units, windows)

        def of_pairs(x: Floats) -> Floats:
            """Return the sums of products of related rows, by window."""
            sums = np.square(np.add.reduceat(x, units, axis=-1))
            whole: Floats = np.add.reduceat(sums, units_of_windows, axis=-1)
            return 0.5 * (whole - np.add.reduceat(x * x, windows, axis=-1))

        line = _centred(self.places)
        length = np.linalg.norm(line, axis=-1, keepdims=True)
        rises = length > 0.1 / self.places.size  # the places of a single value differ by rounding
        line = np.where(rises, line / np.where(rises, length, 1.0), 0.0)
        left = _centred(series[:, self.rows])
        left -= (left * line).sum(axis=-1, keepdims=True) * line
        mean = np.square(left).sum(axis=-1) / (WINDOW - 1 - rises[:, 0])
        n_pairs = of_pairs(np.ones(self.rows.size))
        expected = -mean * (n_pairs / WINDOW + of_pairs(line.ravel()))  # as all else was taken out of both rows
        alike = of_pairs(left.reshape(len(series), -1)) - expected
        shares = np.divide(alike, mean, out=np.zeros(alike.shape), where=mean > FLAT)
        correlations: Floats = shares.sum(axis=-1) / n_pairs.sum()
        return correlations, correlations * np.sqrt(n_pairs.sum())


def dependence(values: Floats, residuals: Floats) -> Dependence | None:
    """Return how rows depend on one another; None if no test rejects independence.

    Parameters
    ----------
    values, residuals : ndarray, shape (N, M)
        The table, one variable a row, and the residuals of a graph that was fitted to it.
    """
    return repeats(values) or _sequence(values, residuals) or _trend(values)


def repeats(values: Floats, whole: Floats | None = None) -> Dependence | None:
    """Return the largest set of columns, of many values, whose values repeat together; None if there is none.

    Rows that repeat are copies where they do in the whole table, shape (N, M); by default it has these columns alone.
    Rows that are all written twice, or more often, are copies whatever their columns hold.
    """
    n, whole = values.shape[1], values if whole is None else whole
    counts = [np.unique(column, return_counts=True)[1] for column in values]
    ties = np.array([float(each @ (each - 1.0)) / (n * (n - 1.0)) for each in counts])  # in pairs of rows
    tied = np.flatnonzero((ties > 0.0) & (ties <= MOST_TIES))
    if tied.size > 1:
        tied = tied[:: -(-tied.size // MOST_COLUMNS)]
        columns = tied if _rows_repeat(values[tied]) else tied[_linked(values[tied])]
        n_distinct = _n_distinct(values[columns])
        is_copied = _n_distinct(whole) == n_distinct
        if columns.size > 1 and (is_copied or LEAST_EFFECT * n_distinct <= n):
            return Dependence("copies" if is_copied else "units", columns.tolist(), n_distinct)
    if all(np.gcd.reduce(times) > 1 for times in counts):
        times = np.unique(whole, axis=1, return_counts=True)[1]
        if times.size >= FEWEST_DIFFERENT and np.gcd.reduce(times) > 1:
            return Dependence("copies", [*range(len(values))], times.size)
    return None


def alike_in_units(ranks: Floats, column: Cells, least: float = LEAST_LINK) -> Mask:
    """Return which columns, given as ranks, (N, M), are alike in rows that share a value of a column, (M,)."""
    return np.asarray(Relation.of_equal(column).alike(ranks) > least)


def left_by_smooth(series: Floats, column: Floats) -> Floats:
    """Return what a smooth function of a column, (M,), leaves of the variance between its values, of series, (N, M)."""
    _, value, sizes = np.unique(column, return_inverse=True, return_counts=True)
    powers = np.linalg.qr(legvander(2.0 * ranks_of(column[np.newaxis])[0] - 1.0, DEGREE))[0]

    def variances(fitted: Floats, freedom: int) -> Floats:
        return np.asarray(np.square(series - fitted).sum(axis=1) / (column.size - freedom))

    sums = np.add.reduceat(series[:, np.argsort(value)], np.cumsum(sizes) - sizes, axis=1)
    within = variances((sums / sizes)[:, value], sizes.size)
    rest = variances((series @ powers) @ powers.T, DEGREE + 1) - within
    between = variances(series.mean(axis=1, keepdims=True), 1) - within
    return rest / np.maximum(between, np.finfo(float).tiny)


def resembles_its_past(series: Floats, values: Floats, others: Floats | None = None) -> bool:
    """Return whether a series, shape (M,), depends on its past, beyond what columns of a table, (N, M), explain.

    Where none of these columns, and of ``others``, sorts the rows, ranks of neighbours have no correlation. It is all
    that a short series tells.

    Sums of so many consecutive ranks are independent, too, if rows are. Then the squares of their third differences are
    1, 9, 9 and 1 times those of the ranks, in the mean; so it is in sorted tables, which change smoothly.
    """
    from scipy.special import chdtrc

    series, values = series[:MOST_SORTED], values[:, :MOST_SORTED]
    labels = _labels(values)
    if Relation.of_consecutive(series.size).alike(_ranks_beside(labels, series[np.newaxis]))[0] > 0.0:
        return True
    rest = _ranks_beside(_with_polynomials(labels, values), series[np.newaxis])[0]
    sorting = values if others is None else np.vstack([values, others[:, :MOST_SORTED]])
    if _lag_one(rest[np.newaxis])[0] > BEYOND_CHANCE / rest.size**0.5 and not _sorts(sorting).any():
        return True
    for length in BATCHES if float(np.square(rest).mean()) > FLAT else ():
        parts = rest[: rest.size // length * length].reshape(-1, length)
        if len(parts) < 4 / OVERLAP:
            break
        expected = np.convolve(np.square(parts).sum(axis=1), [1.0, 9.0, 9.0, 1.0], "valid")
        freedom = OVERLAP * expected.sum() ** 2 / np.square(expected).sum()  # Satterthwaite's
        ratio = np.square(np.diff(parts.sum(axis=1), 3)).sum() / expected.sum()
        if freedom >= FEWEST and chdtrc(freedom, freedom * ratio) < BY_CHANCE:
            return True
    return False


def _with_polynomials(labels: Floats, values: Floats) -> Floats:
    """Return orthonormal functions, shape (k, M): those of labels, and polynomials of numbers, at each label if few."""
    most = min(values.shape[1] // 4, MOST_FUNCTIONS)
    numbers = ranks_of(values[[np.unique(column).size > MOST_LABELS for column in values]])
    powers = [own for column in numbers for own in legvander(2.0 * column - 1.0, DEGREE).T[1:]]
    if len(labels) * (1 + len(powers)) <= most:
        powers = [label * power for power in powers for label in labels]
    return np.linalg.qr(np.array([*labels, *powers[: max(most - len(labels), 0)]]).T)[0].T


def _centred(x: Floats) -> Floats:
    """Return values, (..., M), minus the means of their windows, (..., M / WINDOW, WINDOW)."""
    parts = x.reshape(*x.shape[:-1], -1, WINDOW)
    centred: Floats = parts - parts.mean(axis=-1, keepdims=True)
    return centred


def ranks_of(columns: Floats) -> Floats:
    """Return ranks from 0 to 1, ties at their mean: tails that are heavy have no weight."""
    ranks = np.empty(columns.shape)
    for column, ranked in zip(columns, ranks, strict=True):
        _, index, counts = np.unique(column, return_inverse=True, return_counts=True)
        ranked[:] = (np.cumsum(counts) - 0.5 * counts)[index.ravel()] / column.size
    return ranks


def _rows_repeat(values: Floats) -> bool:
    """Return whether every column is alike in rows that are equal in all others; coarse ones rarely are."""
    centred = values - values.mean(axis=1, keepdims=True)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    apart = np.abs(np.diag(np.linalg.qr(centred.T, mode="r"))) > INDEPENDENT  # of as many columns as there are rows
    values = values[: apart.size][apart][:8]
    values = values[:, :: -(-values.shape[1] // MOST_SORTED)]
    if len(values) < 3:  # two identify a row, and the third agrees
        return False
    others = (np.unique(np.delete(values, k, axis=0), axis=1, return_inverse=True)[1] for k in range(len(values)))
    ranks = ranks_of(values)[:, np.newaxis]
    return all(alike_in_units(own, rows.ravel(), LEAST_COPIES)[0] for own, rows in zip(ranks, others, strict=True))


def _linked(values: Floats) -> Integers:
    """Return the largest set of columns in which rows that are equal in one are alike in another."""
    from scipy.sparse.csgraph import connected_components

    ranks = ranks_of(values)
    linked = np.array([alike_in_units(ranks, column) for column in values])
    # Others determine a computed column, which does not determine them.
    part = connected_components(linked & linked.T)[1]
    return np.flatnonzero(part == np.argmax(np.bincount(part)))


def _sequence(values: Floats, residuals: Floats) -> Dependence | None:
    n_rows, values, residuals = values.shape[1], values[:, :MOST_SORTED], residuals[:, :MOST_SORTED]
    relation, labels = Relation.of_consecutive(values.shape[1]), _labels(values)
    alike = [relation.alike(_ranks_beside(labels, series)) for series in (residuals, values)]
    # A column in order may be what the file is sorted by, but then what it leaves of others does not drift.
    in_order = _lag_one(ranks_of(values)) > IN_ORDER
    serial = np.flatnonzero((np.maximum(*alike) > 0.0) | in_order)
    matters = np.outer(*(own[serial] for own in alike)) >= LEAST_PRODUCT
    matters |= np.outer(alike[0][serial] >= LEAST_DRIFT, in_order[serial])
    np.fill_diagonal(matters, False)
    if not matters.any():
        return None
    sequence = RelatedRows.of(None, True, values.shape[1])
    past = [
        np.array([sequence.correlations(row[np.newaxis]) for row in ranks_of(x[serial])]) for x in (residuals, values)
    ]
    past[0] *= np.minimum.accumulate(past[0], axis=1) > 0.0  # later lags of trends are negative
    effect = (sequence.design_effects(*past) * matters).max()
    n_independent = max(round(n_rows / effect), 1)
    if n_independent >= n_rows:  # no strength counts less, so there is nothing to say
        return None
    columns = serial[matters.any(axis=0) | matters.any(axis=1)]
    return Dependence("sequence", columns.tolist(), n_independent)


def _sorts(values: Floats) -> Mask:
    """Return which columns, (N, M), sort the rows, or blocks of them: nearly all steps are in one direction."""
    steps = np.sign(np.diff(values, axis=1))
    return np.asarray(np.maximum((steps >= 0.0).mean(axis=1), (steps <= 0.0).mean(axis=1)) > IN_ONE_DIRECTION)


def _lag_one(series: Floats) -> Floats:
    """Return the autocorrelations of series, shape (N, M), at a lag of one row."""
    rest = series - series.mean(axis=1, keepdims=True)
    squares = np.maximum(np.square(rest).sum(axis=1), np.finfo(float).tiny)
    return np.asarray((rest[:, 1:] * rest[:, :-1]).sum(axis=1) / squares)


def _labels(values: Floats) -> Floats:
    """Return orthonormal functions of the columns with at most 20 values, which may name blocks of rows, (k, M)."""
    distinct = [np.unique(column) for column in values]
    indicators = [np.ones(values.shape[1])]
    for k in sorted(range(len(values)), key=lambda k: distinct[k].size):
        if distinct[k].size > MOST_LABELS or 4 * (len(indicators) + distinct[k].size) > values.shape[1]:
            break
        indicators += [(values[k] == value).astype(float) for value in distinct[k][1:]]
    return np.linalg.qr(np.array(indicators).T)[0].T


def _ranks_beside(labels: Floats, series: Floats) -> Floats:
    """Return ranks of series without what functions of labels explain."""
    ranks = ranks_of(series)
    return ranks - (ranks @ labels.T) @ labels


def _trend(values: Floats) -> Dependence | None:
    """Return the columns of a table too short to test for a sequence, all of which may be trends."""
    M = values.shape[1]
    if not SHORTEST_TREND <= M < 2 * WINDOW:
        return None
    ranks, line = ranks_of(values) - 0.5, np.linspace(-0.5, 0.5, M)
    length = np.linalg.norm(ranks, axis=1) * np.linalg.norm(line)
    columns = np.flatnonzero(np.abs(ranks @ line) > TRENDING * length)
    return Dependence("trend", columns.tolist(), M) if columns.size > max(2, len(values) / 2) else None


def _n_distinct(values: Floats) -> int:
    return int(np.unique(values, axis=1).shape[1])
