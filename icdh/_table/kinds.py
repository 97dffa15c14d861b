"""What a column is: its kind, with what follows from it before any model, how it is guessed, and what repeats in it.

Values that many rows share are point masses, heaps of rounded numbers, or numbers of the grid that a column is recorded
on. The likelihood of a kind as an effect is a response of the same name (`icdh._node_model.columns`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from icdh._table.codes import MOST_LABELS, Categories
from icdh._utils.arrays import Floats, Integers, Mask, edges_of_cells
from icdh._utils.density import fit_counts

FEW_VALUES = 10
MOST_DIGITS = 6  # decimals of a grid
LARGEST_WHOLE = 2.0**52


@dataclass(frozen=True)
class TieLimits:
    """Thresholds for ties, point masses and heaps of a column."""

    tied_share: float = 0.05
    mass_share: float = 0.05
    mass_over_neighbours: float = 5.0
    neighbours: int = 3
    heap_over_others: float = 3.0
    heap_over_neighbours: float = 3.0
    fewest_in_heap: int = 10
    lacking_by_chance: float = 3.0  # rows that the neighbours of a value may lack
    fewest_heaps: int = 3
    heaped_share: float = 1 / 3
    share_of_one_heap: float = 0.25
    fewest_others: int = 20  # rows that a column needs beside its point masses
    new_share: float = 0.01  # of the rows with a value that no other row holds, below which new rows repeat values


TIES = TieLimits()


class PointMass(NamedTuple):
    """One value of a column that repeats far more often than a grid explains.

    Attributes
    ----------
    value : float
        The value.
    share : float
        The fraction of the observations that hold it.
    """

    value: float
    share: float

    def __str__(self) -> str:
        return f"{self.value:g} in {100 * self.share:.0f} % of the rows"


def point_mass(values: Floats) -> PointMass | None:
    """Return the point mass of a column, None if there is none.

    Parameters
    ----------
    values : ndarray, shape (M,)
        The column.

    Returns
    -------
    PointMass or None
        The most frequent value, if three conditions hold. More than 5 % of the observations have this value. It is
        at least five times as frequent as each of the three next lower and three next higher values (on a grid,
        neighbours are about equally frequent). Rounding does not explain it.

    Notes
    -----
    Point masses reverse edges; rounding hardly does. In 30 simulated tables of 1000 rows, 92 edges touch the variable
    with most edges. The search reversed 1 of them on the original tables; 10 with 6 % of that variable's values set to
    its median; 24 with 5 % set below all others. It reversed 2 with 15 % of the values rounded to the median, and 3
    with a quarter of them rounded coarsely.
    """
    distinct, counts = np.unique(values, return_counts=True)
    top = int(np.argmax(counts))
    reach = TIES.neighbours
    around = np.delete(counts[max(top - reach, 0) : top + reach + 1], min(top, reach))
    least = TIES.mass_over_neighbours * around.max(initial=0)
    if around.size == 0 or counts[top] <= TIES.mass_share * values.size or counts[top] < least:
        return None
    if _is_one_of_several(counts, top) or _is_what_a_gap_would_hold(distinct, counts, top):
        return None
    return PointMass(float(distinct[top]), float(counts[top] / values.size))


def point_masses(values: Floats) -> list[float]:
    """Return the point masses of a column, the most frequent one first; see `point_mass`.

    Parameters
    ----------
    values : ndarray, shape (M,)
        The column.
    """
    masses, rest = [], values
    while rest.size > TIES.fewest_others and (mass := point_mass(rest)) is not None:
        if mass.share * rest.size <= TIES.mass_share * values.size:
            break
        masses.append(mass.value)
        rest = rest[rest != mass.value]
    return masses if rest.size > TIES.fewest_others else []


def nearest(levels: Floats, values: Floats) -> Integers:
    """Return the index of the level nearest to each value, shape (M,); levels are in ascending order."""
    return np.searchsorted((levels[1:] + levels[:-1]) / 2, values)


@dataclass(frozen=True)
class Grid:
    """The numbers that a column is recorded by.

    They are (first + k step) / 10^digits for whole k. Where new rows repeat what others hold, they are the observed
    values, and beyond the cells of these the former, if the observed ones are of that form.

    Attributes
    ----------
    first, step : int
        One of the numbers, and the distance of the next one, both times 10^digits.
    digits : int
        How many decimals there are.
    single : bool
        Whether the numbers were recorded in single precision.
    observed : ndarray, shape (k,)
        The values that new rows repeat, in ascending order; empty if they need not.
    """

    first: int
    step: int
    digits: int
    single: bool
    observed: Floats

    def nearest(self, values: Floats) -> Floats:
        """Return the nearest numbers, shape (n,), to the last bit as decimals are read."""
        regular, observed = self._regular(values), self.observed
        if not observed.size:
            return regular
        edges = edges_of_cells(observed)
        is_beyond = (values < edges[0]) | (values > edges[-1])
        goes_on = np.array_equal(self._regular(observed), observed)
        return np.where(is_beyond & goes_on, regular, observed[nearest(observed, values)])

    def _regular(self, values: Floats) -> Floats:
        steps = np.rint((values * 10.0**self.digits - self.first) / self.step)
        return self.decimals(self.first + self.step * steps)

    def cells(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the ends of the cells around values, each of shape (n,): half-way to the next numbers."""
        if not self.observed.size:
            half = 0.5 * self.step / 10.0**self.digits
            return values - half, values + half
        edges, place = edges_of_cells(self.observed), nearest(self.observed, values)
        return edges[place], edges[place + 1]

    def neighbour(self, value: float, above: Mask) -> Floats:
        """Return the number of the grid above one of its numbers where ``above`` says so, else below it, shape (n,)."""
        low, high = (float(end[0]) for end in self.cells(np.array([value])))
        return self.nearest(np.where(above, 1.01 * high - 0.01 * low, 1.01 * low - 0.01 * high))

    def decimals(self, whole: Floats) -> Floats:
        """Return whole / 10^digits, shape (n,), in the precision of the column."""
        numbers = whole / 10.0**self.digits
        return numbers.astype(np.float32).astype(np.float64) if self.single else numbers


def grid_of(values: Floats) -> Grid | None:
    """Return the grid of a column, shape (M,); None if its numbers have more than six decimals and seldom repeat.

    The share of rows that hold a value alone is that of new rows with a new value (Good, 1953).
    """
    distinct, counts = np.unique(values, return_counts=True)
    repeats = distinct.size > 1 and np.count_nonzero(counts == 1) < TIES.new_share * values.size
    observed = distinct if repeats else np.zeros(0)
    largest = float(np.abs(distinct).max())
    for digits in range(MOST_DIGITS + 1):
        if largest * 10.0**digits > LARGEST_WHOLE:
            break
        whole = np.rint(distinct * 10.0**digits)
        for single in (False, True):
            grid = Grid(int(whole[0]), 1, digits, single, observed)
            if np.array_equal(grid.decimals(whole), distinct):
                step = int(np.gcd.reduce((whole - whole[0]).astype(np.int64)))
                return replace(grid, step=step) if step else None
    return Grid(0, 1, 0, False, observed) if repeats else None


def is_heaped(values: Floats) -> bool:
    """Return whether many values were reported at round numbers: cigarettes a day at 10, 20 and 30.

    Beside point masses a third of the observations are at three or more heaps, values three times as frequent as their
    neighbours. A density of the noise explains heaps without causes only, for they stay where they are when the mean
    moves. Probabilities of levels do not mind: in 16 tables of six variables, two of them heaped, errors fell from 4.8
    to 3.2 (1.7 before anybody rounded).

    Parameters
    ----------
    values : ndarray, shape (M,)
        The column.
    """
    rest = values[~np.isin(values, point_masses(values))]
    _, counts = np.unique(rest, return_counts=True)
    if counts.size < FEW_VALUES:
        return False
    heaps = counts[(counts >= TIES.fewest_in_heap) & (counts >= TIES.heap_over_neighbours * _adjacent(counts))]
    return bool(heaps.size >= TIES.fewest_heaps and heaps.sum() >= TIES.heaped_share * rest.size)


def heap(values: Floats, most_values: int) -> PointMass | None:
    """Return a value inside a column, shape (M,), that is no point mass, but three times as frequent as its neighbours.

    None where it has less than a quarter of the rows, or where there are more than ``most_values`` different ones.
    Noise that explains a heap of 30 to 40 % of 3000 rows gains more than a cause of a hundred nats does.
    """
    distinct, counts = np.unique(values, return_counts=True)
    top = int(np.argmax(counts))
    least = max(TIES.share_of_one_heap * values.size, TIES.heap_over_neighbours * _adjacent(counts)[top])
    is_inside = 0 < top < counts.size - 1 and FEW_VALUES <= counts.size <= most_values
    if not is_inside or counts[top] < least or point_masses(values):
        return None
    return PointMass(float(distinct[top]), float(counts[top] / values.size))


def wide_heaps(values: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return cells around values in which heaps reach half-way to the next heaps, as numbers do that were rounded.

    No heap reaches farther than half a standard deviation: nobody rounds coarser.

    Parameters
    ----------
    values : ndarray, shape (n,)
        A column.
    low, high : ndarray, shape (n,)
        The ends of the cells that its values have without heaps.

    References
    ----------
    Heitjan, Rubin: "Inference from coarse data via multiple imputation with application to age heaping", JASA 85, 1990.
    """
    distinct, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    heaps = np.flatnonzero(counts >= TIES.heap_over_neighbours * (_adjacent(counts) + TIES.lacking_by_chance))
    if heaps.size < 2:
        return low, high
    ends = np.stack([np.full(distinct.size, np.inf), np.full(distinct.size, -np.inf)])
    edges, reach = edges_of_cells(distinct[heaps]), 0.5 * spread_of(values)
    ends[0, heaps] = np.maximum(edges[:-1], distinct[heaps] - reach)
    ends[1, heaps] = np.minimum(edges[1:], distinct[heaps] + reach)
    return np.minimum(low, ends[0, index]), np.maximum(high, ends[1, index])


def spread_of(values: Floats) -> float:
    """Return the standard deviation of a column, or less by its quartiles."""
    return float(min(values.std(), np.ptp(np.quantile(values, (0.25, 0.75))) / 1.349) or values.std())


def _adjacent(counts: Integers) -> Floats:
    """Return the mean count of the two neighbours of every value."""
    return np.convolve(np.pad(counts, 1, mode="reflect"), (0.5, 0.0, 0.5), mode="valid")


def _is_one_of_several(counts: Integers, top: int) -> bool:
    """Return whether other values are nearly as frequent, as where some values were rounded coarsely."""
    others = np.sort(np.delete(counts, top))[-TIES.neighbours :]
    return bool(others.size == TIES.neighbours and counts[top] < TIES.heap_over_others * others[0])


def _is_what_a_gap_would_hold(distinct: Floats, counts: Integers, top: int) -> bool:
    """Return whether rounding explains a frequent value.

    Rounding empties an interval around the value. It explains the value if the adjacent intervals, together as wide,
    hold at least half as many observations. Of a grid these are the two next numbers alone.
    """
    if not 0 < top < distinct.size - 1:
        return False
    low, high = distinct[top - 1], distinct[top + 1]
    adjacent = high / 2 - low / 2
    with np.errstate(over="ignore"):  # a limit that overflows excludes nothing
        inside = (distinct > low - adjacent) & (distinct < high + adjacent)
    return bool(2 * (counts[inside].sum() - counts[top]) >= counts[top])


@dataclass(frozen=True)
class CountLimits:
    """Thresholds for counts."""

    rows: int = 5  # observations a value: rounded numbers have more values
    misfit: float = 0.1  # nats a row that the likeliest distribution of counts may lack


COUNTS = CountLimits()


class Observed:
    """The values of a column, without gaps, and their labels if there are any; what kinds are guessed from."""

    def __init__(self, values: Floats, categories: Categories | None):
        self.values, self.categories = values, categories

    @cached_property
    def counts(self) -> Integers:
        """How often each value is there, in ascending order of the values."""
        return np.unique(self.values, return_counts=True)[1]

    @property
    def has_few_values(self) -> bool:
        """Whether the values are few, in order, among many rows."""
        if self.categories is not None:
            return self.categories.is_scale
        return self.counts.size < FEW_VALUES <= self.values.size


def _is_binary(column: Observed) -> bool:
    return column.counts.size == 2 and column.has_few_values


def _is_ordinal(column: Observed) -> bool:
    is_heap = column.categories is None and column.counts.size <= MOST_LABELS
    return column.has_few_values or (is_heap and is_heaped(column.values))


def _is_count(column: Observed) -> bool:
    values, distinct = column.values, np.unique(column.values)
    if distinct[0] != 0.0 or distinct.size * COUNTS.rows > values.size or (distinct != np.rint(distinct)).any():
        return False
    n, shares = values.size, column.counts / values.size
    misfit = fit_counts(distinct, column.counts.astype(np.float64)).surprise / n + float(shares @ np.log(shares))
    return misfit - (distinct.size - 1) / (2 * n) < COUNTS.misfit  # beyond chance


def _is_gridded(column: Observed) -> bool:
    return bool(column.counts[column.counts > 1].sum() > TIES.tied_share * column.values.size)


def _no_counts(values: Floats) -> Floats:
    strange: Floats = values[(values < 0.0) | (values != np.rint(values))]
    return strange


def _none(values: Floats) -> Floats:
    """Refuse no value."""
    return values[:0]


@dataclass(frozen=True)
class Kind:
    """A kind of columns.

    Attributes
    ----------
    name : str
        What users call it.
    guess : callable
        Whether a column is of this kind, if it is of none of those before it.
    refused : callable
        Which of some values no such column holds: a response would take them for others.
    varies : bool
        Whether such a column has causes and effects.
    is_number : bool
        Whether its values are amounts, which transforms and point masses are about.
    has_levels : bool
        Whether its values are few and in order, each with a probability.
    has_labels : bool
        Whether its values are labels without an order.
    repeats : bool
        Whether a new value is one of those observed.
    takes_labels : bool
        Whether text may be declared so.
    most_values : float
        The most different values.
    remedy : str
        What to do about more.
    demand : str
        What to do about a value that is refused.
    reading, question : str
        What a column guessed so is read as, and what a user should think of; empty if it is what any number is.
    exact : str
        The kind of the same values, taken for exact.
    rival : str
        The kind of the same values that a guess has to hold against this one, by evidence; empty if it is no guess.
    """

    name: str
    guess: Callable[[Observed], bool]
    refused: Callable[[Floats], Floats]
    is_number: bool
    repeats: bool = False
    varies: bool = True
    has_levels: bool = False
    has_labels: bool = False
    takes_labels: bool = False
    most_values: float = np.inf
    remedy: str = ""
    demand: str = ""
    reading: str = ""
    question: str = "mere codes?"
    exact: str = ""
    rival: str = ""

    def of_so_many(self, distinct: int, of_labels: bool) -> str:
        """Return the name of the kind of a declared column of so many values, or of labels without an order."""
        if distinct == 2 and not self.is_number:
            return "categorical" if of_labels else "binary"
        return self.name


TOO_MANY = f", more than {MOST_LABELS}; "
KINDS = {
    kind.name: kind
    for kind in (
        Kind("constant", lambda column: column.counts.size == 1, _none, is_number=False, varies=False),
        Kind(
            "binary",
            _is_binary,
            _none,
            is_number=False,
            repeats=True,
            has_levels=True,
            takes_labels=True,
            most_values=2,
        ),
        Kind(
            "ordinal",
            _is_ordinal,
            _none,
            is_number=False,
            repeats=True,
            has_levels=True,
            most_values=MOST_LABELS,
            remedy=f"{TOO_MANY}declare it gridded",
            reading="grades",
        ),
        Kind(
            "categorical",
            lambda column: column.categories is not None,
            _none,
            is_number=False,
            repeats=True,
            has_labels=True,
            takes_labels=True,
            most_values=MOST_LABELS,
            remedy=f"{TOO_MANY}join rare ones",
            reading="labels",
            question="to confirm,",
        ),
        Kind(
            "count",
            _is_count,
            _no_counts,
            is_number=False,
            repeats=True,
            demand="counts are whole numbers from zero on, declare it gridded",
            rival="gridded",
        ),
        # Recorded on a grid, so that values repeat.
        Kind("gridded", _is_gridded, _none, is_number=True, repeats=True, exact="continuous"),
        Kind("continuous", lambda column: True, _none, is_number=True),
    )
}
DECLARABLE = ("continuous", "gridded", "count", "ordinal", "binary", "categorical")


def numbers_among(kinds: Sequence[str]) -> list[int]:
    """Return the places of amounts among kinds, by name."""
    return [n for n, kind in enumerate(kinds) if KINDS[kind].is_number]


def guessed(values: Floats, categories: Categories | None) -> str:
    """Return the name of the first kind that a column, shape (M,), looks like."""
    column = Observed(values, categories)
    return next(name for name, kind in KINDS.items() if kind.guess(column))
