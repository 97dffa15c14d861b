"""Combinations of values that repeat: copied rows, visits of the same persons.

Floats of one column repeat by rounding. Then the rows that share a value agree in another column as often as rows with
neighbouring values do: the distribution of the other column changes smoothly along the first. Copies agree, and
neighbours do not. So every pair of columns is compared with its own neighbours, whatever dependence joins the two.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from icdh._ground.arrays import Cells, Floats, Integers, Mask
from icdh._ground.labels import listed
from icdh.exceptions import option


@dataclass(frozen=True)
class Tuning:
    """Limits of the comparison.

    Attributes
    ----------
    most_ties : float
        Probability that two rows share a value, up to which a column counts as continuous.
    most_common : float
        Share of the rows from which a value is a point mass, whose rows are not compared.
    fewest_shared : float
        Share of the rows that must share their value with others.
    excess : float
        By how much the share of agreeing rows must exceed that of neighbours.
    deviations : float
        The same in standard deviations.
    least_step : float
        Change of ranks between neighbours, over the number of rows, below which the first column determines the second.
    most_rows : int
        Rows that are compared.
    most_sorted : int
        Rows, about, that are sorted by all columns but one.
    determined : float
        Share of a column's spread that sums of others must leave.
    most_of_a_step, step_mean, step_deviation : float
        Where a squared step, about chi-squared of one degree of freedom, is cut off; its mean and spread then.
    least_effect : float
        Design effect from which rows of equal values count as dependent.
    """

    most_ties: float = 0.1
    most_common: float = 0.1
    fewest_shared: float = 0.05
    excess: float = 0.25
    deviations: float = 4.0
    least_step: float = 0.05
    most_rows: int = 2000
    most_sorted: int = 50_000
    determined: float = 0.1
    most_of_a_step: float = 4.0
    step_mean: float = 0.9216
    step_deviation: float = 1.1115
    least_effect: float = 1.3


TUNING = Tuning()


class Repeats(NamedTuple):
    """Columns whose values repeat together.

    Attributes
    ----------
    columns : list of int
        Their positions.
    n_distinct : int
        How many different combinations of their values there are.
    whole_rows : bool
        Whether the rows repeat in all other columns as well.
    """

    columns: list[int]
    n_distinct: int
    whole_rows: bool

    def said(self, names: Sequence[Hashable], n_rows: int) -> str:
        """Return a text that names the columns, of a table of these names and so many rows, and the remedy."""
        worth = f"the table is worth about {self.n_distinct} independent rows"
        if self.whole_rows:
            return (
                f"{n_rows} rows hold {self.n_distinct} different ones: {worth}, and copies make edges and intervals "
                f"too sure; drop the copies, or pass {option('groups')} with one label for all copies of a row"
            )
        columns = listed(repr(names[k]) for k in self.columns)
        return (
            f"columns {columns} hold {self.n_distinct} different combinations in {n_rows} rows, as "
            f"if several rows came from each person or place: for edges among these columns {worth}; pass "
            f"{option('groups')} with one label a person, or keep one row a person"
        )


class _Pairs(NamedTuple):
    """Some rows, for each one that shares its value of a column, and one with a neighbouring value."""

    rows: Integers
    equal: Integers
    neighbours: Integers
    n_values: int


def repeated_combinations(values: Floats) -> Repeats | None:
    """Return the largest set of continuous columns whose values repeat together; None if there is none.

    Parameters
    ----------
    values : ndarray, shape (N, M)
        The table, one variable a row.
    """
    ties = np.array(list(map(_tie_probability, values)))
    tied = np.flatnonzero((ties > 0.0) & (ties <= TUNING.most_ties))
    if tied.size < 2:
        return None
    compared = _Columns(values[tied], values[tied].argsort(axis=1).argsort(axis=1), ties[tied])
    together = tied if _rows_repeat(compared) else tied[_linked_columns(compared)]
    if together.size < 2:
        return None
    n_distinct = _n_distinct(values[together])
    return Repeats(together.tolist(), n_distinct, _n_distinct(values) == n_distinct)


def effect_of_equal_values(series: Floats, values: Floats) -> float:
    """Return the design effect of rows that share a value, as if it named a unit; 1 if nothing says they are alike.

    Means of a smooth series at neighbouring values lie on a line up to chance, whose size the spread at each value
    tells. A single jump is no sign: every step counts for little.

    Parameters
    ----------
    series : ndarray, shape (M,)
        What each row says.
    values : ndarray, shape (M,)
        The column.
    """
    _, at, sizes = np.unique(values, return_inverse=True, return_counts=True)
    series = series - series.mean()
    sums, squares = np.bincount(at, series), np.bincount(at, np.square(series))
    kept = np.flatnonzero(sizes > 1)
    if kept.size < 5:
        return 1.0
    means = sums[kept] / sizes[kept]
    within = squares[kept] - sums[kept] * means
    before, here, after = slice(None, -2, 2), slice(1, -1, 2), slice(2, None, 2)
    degrees = (sizes[kept][before] + sizes[kept][here] + sizes[kept][after] - 3).astype(np.float64)
    noise = (within[before] + within[here] + within[after]) / degrees
    noise *= 1.0 / sizes[kept][here] + 0.25 / sizes[kept][before] + 0.25 / sizes[kept][after]
    steps = np.square(means[here] - 0.5 * (means[before] + means[after]))
    ratios = np.divide(steps, noise, out=np.zeros(steps.size), where=noise > 0.0)
    scores = np.minimum(degrees * np.log1p(ratios / degrees), TUNING.most_of_a_step)
    excess = (scores.mean() - TUNING.step_mean) / TUNING.step_deviation
    effect = float(np.square(sums).sum() / squares.sum()) if squares.any() else 1.0
    are_alike = excess * np.sqrt(scores.size) > TUNING.deviations and effect >= TUNING.least_effect
    return effect if are_alike else 1.0


class _Columns(NamedTuple):
    """Columns that are compared: values and ranks, both (k, M), and their probabilities of ties, (k,)."""

    values: Floats
    ranks: Integers
    ties: Floats


def _linked_columns(columns: _Columns) -> Integers:
    """Return the largest set of columns in which rows of equal values in one agree in another."""
    from scipy.sparse.csgraph import connected_components

    linked = np.zeros((len(columns.values), len(columns.values)), dtype=bool)
    for k, values in enumerate(columns.values):
        pairs = _pairs(values)
        if pairs is not None:
            linked[k] = _agreeing(columns, pairs, columns.values.shape[1])
    # What is computed from others tells them, but not they it.
    part = connected_components(linked & linked.T)[1]
    return np.flatnonzero(part == np.argmax(np.bincount(part)))


def _rows_repeat(columns: _Columns) -> bool:
    """Return whether every column agrees in the rows that agree in all other columns.

    Coarse columns have many ties. Those of all but one column together are few.
    """
    kept = _independent(columns)
    if len(kept.values) < 3:  # two tell a row, and the third agrees
        return False
    return all(_others_tell(kept, k) for k in range(len(kept.values)))


def _others_tell(columns: _Columns, k: int) -> bool:
    """Return whether rows that agree in all columns but one agree in that one, too."""
    others = np.delete(columns.values, k, axis=0)
    _, rows = np.unique(others[0], return_inverse=True)
    stride = max(others.shape[1] // TUNING.most_sorted, 1)  # of long tables, all rows of some values of one column
    part = np.flatnonzero(rows.ravel() % stride == 0)
    _, codes = np.unique(others[:, part], axis=1, return_inverse=True)
    pairs = _pairs(codes.ravel())
    if pairs is None:
        return False
    of_part = _Columns(columns.values[:, part], columns.ranks[:, part], columns.ties)
    return bool(_agreeing(of_part, pairs, columns.values.shape[1])[k])


def _independent(columns: _Columns) -> _Columns:
    """Return the columns without those that are sums of others before them."""
    centred = columns.values - columns.values.mean(axis=1, keepdims=True)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    kept = np.abs(np.diag(np.linalg.qr(centred.T, mode="r"))) > TUNING.determined
    return _Columns(columns.values[kept], columns.ranks[kept], columns.ties[kept])


def _tie_probability(values: Floats) -> float:
    """Return the probability that two different rows share a value."""
    counts = np.unique(values, return_counts=True)[1].astype(float)
    return float(counts @ (counts - 1.0)) / (values.size * (values.size - 1.0))


def _pairs(values: Cells) -> _Pairs | None:
    """Return rows that share a value, each with another such row and a row of the next value; None if they are few."""
    order = np.argsort(values, kind="stable")
    _, starts, sizes = np.unique(values[order], return_index=True, return_counts=True)
    usable = (sizes > 1) & (sizes <= max(TUNING.most_common * values.size, 2))
    if sizes[usable].sum() < TUNING.fewest_shared * values.size or sizes.size < 2:
        return None
    kept = np.flatnonzero(np.repeat(usable, sizes))
    kept = kept[:: -(-kept.size // TUNING.most_rows)]
    group = np.repeat(np.arange(sizes.size), sizes)[kept]
    within = kept - starts[group]
    beside = np.where(group + 1 < sizes.size, group + 1, group - 1)
    equal = starts[group] + (within + 1) % sizes[group]
    neighbours = starts[beside] + within % sizes[beside]
    return _Pairs(order[kept], order[equal], order[neighbours], np.unique(group).size)


def _agreeing(columns: _Columns, pairs: _Pairs, n_rows: int) -> Mask:
    """Return in which columns the rows of equal values agree far more often than neighbours do, shape (k,)."""
    values, ranks, ties = columns
    equal = (values[:, pairs.rows] == values[:, pairs.equal]).mean(axis=1)
    beside = (values[:, pairs.rows] == values[:, pairs.neighbours]).mean(axis=1)
    step = np.abs(ranks[:, pairs.rows] - ranks[:, pairs.neighbours]).mean(axis=1) / n_rows
    apart = step >= TUNING.least_step + 2.0 * ties
    share = 0.5 * (equal + beside)
    deviation = np.sqrt(np.maximum(2.0 * share * (1.0 - share), 1e-12) / pairs.n_values)
    excess = equal - beside
    agreeing: Mask = apart & (excess >= TUNING.excess) & (excess >= TUNING.deviations * deviation)
    return agreeing


def _n_distinct(values: Floats) -> int:
    return int(np.unique(values, axis=1).shape[1])
