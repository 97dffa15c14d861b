"""The user's table, checked once and laid out as every kernel reads it.

Users' tables hold observations in rows. A `Table` holds variables in rows: ``values[i]`` is variable ``i`` at
consecutive observations, so that inner loops run over contiguous memory. The table is scaled once (`Scaling`) and
never transposed again; only results are turned back.
"""

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256

import numpy as np

from icdh._rows import RelatedRows
from icdh._table.codes import MOST_LABELS, Categories, Declared, codes_message
from icdh._table.frames import LARGEST_SCALED_VALUE, columns_as_numbers, library_of
from icdh._table.kinds import DECLARABLE, FEW_VALUES, KINDS, PointMass, guessed, heap, numbers_among, point_mass
from icdh._table.transforms import Rescaled
from icdh._utils.arrays import ByColumn, Floats, Integers, Mask, TableLike, of_rows, sum_of, times
from icdh._utils.checks import Choice
from icdh._utils.labels import counted, plural, variable_index
from icdh.exceptions import option, warn

SCALINGS = ("none", "center", "standardize")
LARGEST_VALUE = {"none": LARGEST_SCALED_VALUE, "center": LARGEST_SCALED_VALUE, "standardize": 1e300}
SMALLEST_VALUE = {"none": 1e-60, "center": 1e-60, "standardize": 1e-290}  # of a column's maximum
MOST_NAMED = 5  # columns in a message
MOST_DISTINCT = 10_000  # values of a column that are compared; of many more, some always agree in single precision
DIGITS_APART = 1e-6  # relative difference below which values of a column are one, computed twice
MOST_MERGED = 0.01  # share of the different values of a column that may agree with the next one in single precision


@dataclass(frozen=True)
class Table:
    """N variables at M observations.

    Attributes
    ----------
    values : ndarray, shape (N, M)
        Finite float64 in C order, one variable a row; gaps are NaN where they are allowed.
    names : list
        N names as the user gave them, of any type; "x0", "x1", ... if there were none.
    named : bool
        Whether the user gave names. The default column numbers 0, 1, ... of a DataFrame do not count.
    frame : str
        The library of the user's table: "pandas", "polars" or "pyarrow"; empty for an array.
    categories : dict of int to Categories
        The labels that the numbers of a column stand for, by position of the column.
    imputed : ndarray of bool, shape (N, M), or None
        Which values were drawn for gaps. They do not count for the kind of a column.
    related : RelatedRows or None
        Which observations depend on one another, by the user's word; None if none do.
    declared : dict of int to str, or None
        The kinds of columns, by position, that the user named; None where kinds do not matter.
    weights : ndarray, shape (M,), or None
        Sampling weights, all of them positive; None if all observations count alike.
    weighting : str
        What weights the user gave, "sampling" or "frequency"; empty if none.
    """

    values: Floats
    names: list[Hashable]
    named: bool
    frame: str = ""
    categories: dict[int, Categories] = field(default_factory=dict)
    imputed: Mask | None = None
    related: RelatedRows | None = None
    declared: dict[int, str] | None = None
    weights: Floats | None = None
    weighting: str = ""

    @classmethod
    def of(
        cls,
        X: TableLike,
        *,
        min_rows: int = 2,
        argument: str = "X",
        gaps: bool = False,
        categorical: Collection[Hashable] | None = None,
        known: Mapping[int, Categories] | None = None,
        missing_values: Declared = None,
    ) -> "Table":
        """Check a user's table and return it features first; the input is never modified.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations in rows, variables in columns.
        min_rows : int
            The smallest number of rows accepted.
        argument : str
            The name of the argument in error messages.
        gaps : bool
            Whether cells may be missing (NaN); of ``known`` columns all of them.
        categorical : collection of names and positions, optional
            Categorical columns. If not None (even if empty), columns of repeated text are treated as categorical.
        known : mapping from positions to Categories, optional
            The labels that columns may hold.
        missing_values : collection or mapping, optional
            What means a missing value: see `icdh._table.codes.codes_of`.

        Raises
        ------
        TypeError
            If X is not a table, or holds dates, complex numbers, or text where text is not accepted.
        ValueError
            If X is not 2-D, has too few rows, no columns, duplicated names, or a NaN or infinite cell.
        """
        if isinstance(X, Table):
            return X
        argument = option(argument)
        values, names, named, categories = columns_as_numbers(X, argument, categorical, known, missing_values)
        if values.shape[1] < min_rows:
            rows = counted(values.shape[1], "row")
            raise ValueError(f"{argument} has {rows}; at least {min_rows} observations are needed")
        infinite = np.isinf(values).any(axis=1)
        if infinite.any():
            name = names[int(np.argmax(infinite))]
            raise ValueError(f"column {name!r} of {argument} holds infinity; drop these rows")
        _check_gaps(np.isnan(values), names, argument, gaps, known is not None)
        return cls(values, names, named, library_of(X), categories)

    @property
    def n_variables(self) -> int:
        """N."""
        return len(self.values)

    @property
    def n_observations(self) -> int:
        """M."""
        return int(self.values.shape[1])

    @cached_property
    def gaps(self) -> Mask:
        """Where cells are missing, shape (N, M)."""
        return np.isnan(self.values)

    def of_rows(self, rows: Integers | Mask) -> "Table":
        """Return the table of selected observations: a mask of shape (M,), or positions."""
        imputed = None if self.imputed is None else self.imputed[:, rows]
        related = None if self.related is None else self.related.of_rows(rows)
        values = np.ascontiguousarray(self.values[:, rows])
        return replace(self, values=values, imputed=imputed, related=related, weights=of_rows(self.weights, rows))

    @property
    def effective_weights(self) -> Floats | None:
        """The weights, scaled so that their sum is Kish's effective number of rows; None if all are equal.

        Neither their unit nor the order of the rows changes a bit: they are rounded to single precision.
        """
        if self.weights is None or np.ptp(self.weights) == 0.0:
            return None
        shares = (self.weights / self.weights.max()).tolist()
        scale = math.fsum(shares) / math.fsum(share * share for share in shares)
        return (scale * np.array(shares)).astype(np.float32).astype(float)

    @property
    def n_effective(self) -> float:
        """Kish's effective number of rows, (sum w)^2 / sum w^2."""
        return float(sum_of(self.effective_weights, self.n_observations))

    @cached_property
    def varying(self) -> Mask:
        """Which variables hold more than one value, shape (N,). Constant variables get no edges."""
        varying: Mask = self.values.min(axis=1) < self.values.max(axis=1)
        return varying

    @cached_property
    def guesses(self) -> list[str]:
        """The kind of every variable, guessed from its values: see `KINDS`."""
        return [guessed(self.observed(n), self.categories.get(n)) for n in range(self.n_variables)]

    @cached_property
    def kinds(self) -> list[str]:
        """The kind of every variable: the declared kind if there is one, else the guessed kind."""
        kinds = self.guesses.copy()
        for at, kind in (self.declared or {}).items():
            if (distinct := self.n_distinct(at)) > 1:
                kinds[at] = KINDS[kind].of_so_many(distinct, at in self.unordered)
        return kinds

    def rival(self, column: int) -> str:
        """Return the kind that rivals that of a column, by its place; empty if it has none, or was declared."""
        is_guess = column < self.n_variables and column not in (self.declared or {})
        return KINDS[self.kinds[column]].rival if is_guess else ""

    def declaring(self, kinds: Mapping[int, str]) -> "Table":
        """Return the table with further columns of declared kinds, by their places."""
        return replace(self, declared={**(self.declared or {}), **kinds})

    def observed(self, column: int) -> Floats:
        """Return the values of a column that are neither gaps nor imputed."""
        values = self.values[column]
        seen: Floats = values[~np.isnan(values) if self.imputed is None else ~self.imputed[column]]
        return seen

    @property
    def seen_together(self) -> Floats:
        """The share of the observations in which both of two variables were seen, and not imputed, shape (N, N).

        What was drawn from a model says nothing new: of the evidence of an edge, so much is that of the data.
        """
        if self.imputed is None:
            return np.ones((self.n_variables, self.n_variables))
        seen = (~self.imputed).astype(float)
        shares: Floats = seen @ seen.T / self.n_observations
        return shares

    @property
    def unordered(self) -> list[int]:
        """The positions of the columns of labels without an order, but for those of two, which are read as 0 and 1."""
        return [n for n, known in self.categories.items() if not known.is_scale]

    def coded(self, declared: ByColumn[str] | None) -> "Table":
        """Return the table whose columns are of declared kinds; numbers that are declared categorical become codes.

        Parameters
        ----------
        declared : mapping from names or positions to kinds, optional
            "continuous", "gridded", "count", "ordinal", "binary" or "categorical".

        Raises
        ------
        TypeError, ValueError
            If ``declared`` is not a mapping, or names an unknown column or kind. If a column declared count has other
            values than whole numbers from zero on. If a column declared binary has more than two values, one declared
            ordinal or categorical more than 50, or labels without an order are declared anything but categorical or,
            of two, binary.
        """
        if not isinstance(declared, Mapping | None):
            raise TypeError(f"{option('kinds')} must map columns to kinds, got {type(declared).__name__}; pass a dict")
        kinds: dict[int, str] = {}
        for column, kind in (declared or {}).items():
            at = variable_index(column, self.names, "kinds")
            Choice(DECLARABLE).check(option("kinds", of=column), kind)
            self._check_kind(column, at, kind)
            kinds[at] = kind
        table = replace(self, declared=kinds)
        categorical = [n for n, kind in enumerate(table.kinds) if KINDS[kind].has_labels]
        return table._coded_anew([n for n in categorical if n not in self.unordered])

    def of_its_labels(self) -> "Table":
        """Return the table whose labels without an order are those that its rows hold."""
        return self._coded_anew(self.unordered)

    def _coded_anew(self, columns: list[int]) -> "Table":
        if not columns:
            return self
        values, categories = self.values.copy(), dict(self.categories)
        for n in columns:
            known, cells = categories.get(n, Categories((), declared=True)), values[n].astype(object)
            if n in categories:
                cells[:] = None
                cells[~np.isnan(values[n])] = known.decoded(self.observed(n))
            categories[n] = Categories.of(cells, known.declared or known.ordered, known.unseen)
            values[n] = categories[n].encoded(cells, f"column {self.names[n]!r}")
        return replace(self, values=values, categories=categories)

    def digest(self, column: int) -> bytes:
        """Return what tells a column from those that are not equal to it."""
        return sha256(self.values[column]).digest()

    def n_distinct(self, column: int) -> int:
        """Return the number of distinct values in a column, without gaps."""
        return np.unique(self.observed(column)).size

    def _check_kind(self, column: str | int, at: int, kind: str) -> None:
        distinct, argument, known = self.n_distinct(at), option("kinds", of=column), KINDS[kind]
        if distinct > known.most_values:
            raise ValueError(f"{argument} is {kind!r}, but the column holds {distinct} different values{known.remedy}")
        labels = self.categories.get(at)
        of_labels = labels is not None and not labels.ordered
        strange = np.zeros(0) if of_labels else known.refused(self.observed(at))
        if strange.size:
            raise ValueError(f"{argument} is {kind!r}, but the column holds {strange[0]:g}; {known.demand}")
        if of_labels and not known.takes_labels:
            raise ValueError(
                f"{argument} is {kind!r}, but the column holds labels such as "
                f"{self.categories[at].labels[0]!r}; pass numbers, or an ordered pandas categorical"
            )

    def check_learnable(self) -> None:
        """Raise ValueError if every variable is constant."""
        if not self.varying.any():
            raise ValueError(f"every column of {option('X')} is constant; there is nothing to learn")

    def warn(self, codes: bool = True) -> None:
        """Warn about constant, duplicated and cut columns, point masses, few rows, labels that differ by case alone.

        ``codes`` says whether to warn about values that look like codes of missing ones, too.
        """
        for message in self._doubts(codes):
            warn(message)

    def _doubts(self, codes: bool) -> Iterator[str]:
        """Yield what a user should know of the columns before a fit."""
        if labels := [repr(self.names[i]) for i in np.flatnonzero(~self.varying)]:
            yield f"constant {plural(labels, 'column')} {', '.join(labels)}: no causes and no effects"
        if repeated := next(self.repeated_columns(), None):
            again, first = repeated
            yield f"column {again!r} repeats column {first!r}: no data identify which of them is a cause; drop one"
        if cuts := [f"{name!r} (of {number!r})" for name, number in self.cuts.items()]:
            what = f"{plural(cuts, 'column')} of two values, given by a threshold: {', '.join(cuts)}"
            yield f"{what}: the direction of these edges is not identified; drop computed columns"
        numbers = numbers_among(self.guesses)
        if masses := [f"{self.names[n]!r} ({mass})" for n in numbers if (mass := point_mass(self.values[n]))]:
            yield (
                f"{plural(masses, 'column')} with a point mass: {', '.join(masses)}; where true values are hidden "
                "behind it (a floor of an instrument, a top code), the direction of its edges cannot be trusted"
            )
        if self.n_observations < self.n_variables:
            yield (
                f"{self.n_observations} observations of {self.n_variables} variables: expect an unreliable graph; "
                "collect more rows or drop columns"
            )
        if by_case := next(self.labels_that_differ_by_case(range(self.n_variables)), None):
            yield by_case
        if self.declared is not None:
            yield from self._readings(self.declared)
        if heaps := [f"{name!r} ({of})" for name, of in self.heaps.items()]:
            yield (
                f"{plural(heaps, 'column')} with a heap: {', '.join(heaps)}: noise explains it without causes, so that "
                "an arrow there may be missing or point the wrong way; compare "
                f"{option('kinds', dict.fromkeys(self.heaps, 'ordinal'))}"
            )
        if merged := [f"{name!r} ({of})" for name, of in self.merged.items()]:
            yield (
                f"{plural(merged, 'column')} with values that agree in single precision, so far out are others: "
                f"{', '.join(merged)}; drop or correct rows with wrong values, or take logarithms before the fit"
            )
        if codes and (text := self.codes_message(range(self.n_variables))):
            yield text

    def codes_message(self, columns: Iterable[int]) -> str | None:
        """Return a text that names what may be codes of missing values in these columns; None if nothing may."""
        numbers = [n for n in columns if n not in self.categories]
        return codes_message([self.values[n] for n in numbers], [self.names[n] for n in numbers])

    def repeated_columns(self) -> Iterator[tuple[Hashable, Hashable]]:
        """Yield the name of every column that repeats one before it, and the name of that one."""
        seen: dict[bytes, int] = {}
        for i in np.flatnonzero(self.varying).tolist():
            first = seen.setdefault(self.digest(i), i)
            if first != i:
                yield self.names[i], self.names[first]

    def without_copies(self, columns: Sequence[int]) -> list[int]:
        """Return those of some columns that vary, and repeat none before them."""
        first: dict[bytes, int] = {}
        return [k for k in columns if self.varying[k] and first.setdefault(self.digest(k), k) == k]

    def labels_that_differ_by_case(self, columns: Collection[int]) -> Iterator[str]:
        """Yield what to know of the labels of some columns that are equal but for upper and lower case, or blanks."""
        for n, categories in self.categories.items():
            if n not in columns:
                continue
            by_lower: dict[str, str] = {}
            for label in map(str, categories.labels):
                other = by_lower.setdefault(label.casefold().strip(), label)
                if other != label:
                    by = "case" if other.casefold() == label.casefold() else "blanks"
                    yield f"column {self.names[n]!r}: {other!r} and {label!r} differ by {by} alone; join equal labels"

    def _readings(self, declared: Collection[int]) -> Iterator[str]:
        """Yield what columns that are not declared are read as, where it is not what any number is."""
        known = {*declared, *(n for n, categories in self.categories.items() if categories.declared)}
        columns = [(kind, self.names[n]) for n, kind in enumerate(self.kinds) if n not in known]
        read = {
            kind: [name for guess, name in columns if guess == kind.name] for kind in KINDS.values() if kind.reading
        }
        if read := {kind: names for kind, names in read.items() if names}:
            readings = (f"{kind.reading}: {', '.join(map(repr, names))}" for kind, names in read.items())
            kind, names = list(read.items())[-1]
            grades = [n for n, kind in enumerate(self.kinds) if n not in known and KINDS[kind].has_levels]
            heaped = [self.names[n] for n in grades if self.n_distinct(n) >= FEW_VALUES]
            few = [name for name in names if name not in heaped]
            codes = f"; {kind.question} pass {option('kinds', {few[0]: 'categorical'})}" if few else ""
            amounts = f"; amounts? pass {option('kinds', {heaped[0]: 'gridded'})}" if heaped else ""
            yield f"read as {'; as '.join(readings)}{codes}{amounts}"

    @cached_property
    def merged(self) -> dict[Hashable, str]:
        """The names of columns that lose values in the single precision of a search, and how many; see `heaps`."""
        merged: dict[Hashable, str] = {}
        for n in [] if self.declared is None else numbers_among(self.kinds):
            values = self.observed(n) / np.abs(self.observed(n)).max()
            distinct = np.unique(values)
            distinct = distinct[:: -(-distinct.size // MOST_DISTINCT)]
            scaled = ((distinct - values.mean()) / values.std()).astype(np.float32)
            apart = np.diff(distinct) > DIGITS_APART * np.abs(distinct[1:])
            lost = np.count_nonzero(apart & (np.diff(scaled) == 0.0))
            if lost > MOST_MERGED * distinct.size:
                merged[self.names[n]] = f"{lost} of {distinct.size}"
        return merged

    @cached_property
    def heaps(self) -> dict[Hashable, PointMass]:
        """The names of the columns with a heap at one number, and the heap; none where kinds do not matter."""
        declared = range(self.n_variables) if self.declared is None else self.declared
        grids = [n for n, kind in enumerate(self.kinds) if kind == "gridded" and n not in declared]
        return {self.names[n]: of for n in grids if (of := heap(self.observed(n), MOST_LABELS))}

    @cached_property
    def cuts(self) -> dict[Hashable, Hashable]:
        """The names of columns of two values that a threshold of a number gives, and the number of each."""
        cuts: dict[Hashable, Hashable] = {}
        known = [KINDS[kind] for kind in self.guesses]
        numbers = [k for k, kind in enumerate(known) if kind.varies and not kind.has_labels and kind.most_values > 2]
        for n in (n for n in range(self.n_variables) if self.n_distinct(n) == 2):
            above = self.values[n] == self.values[n].max()
            if self.n_observations < 50 or min(np.count_nonzero(above), np.count_nonzero(~above)) < 10:
                continue  # it may be an accident
            high, low = self.values[np.ix_(numbers, above)], self.values[np.ix_(numbers, ~above)]
            is_cut = (high.min(axis=1) > low.max(axis=1)) | (high.max(axis=1) < low.min(axis=1))
            if is_cut.any():
                cuts[self.names[n]] = self.names[numbers[int(np.argmax(is_cut))]]
        return cuts


def _check_gaps(gaps: Mask, names: Sequence[Hashable], argument: str, allowed: bool, known: bool) -> None:
    """Raise ValueError if a column is empty, or if there are gaps, unless that is allowed."""
    counts = gaps.sum(axis=1)
    if (counts == gaps.shape[1]).any() and not (allowed and known):
        name, remedy = names[int(np.argmax(counts))], "its values are needed here" if known else "drop it"
        raise ValueError(f"column {name!r} of {argument} holds no value at all, only NaN; {remedy}")
    if counts.any() and not allowed:
        raise ValueError(
            f"{argument} has gaps (NaN) in {gaps_message(gaps, names)}; drop these rows or impute: "
            f"{option('missing', 'drop')} or {option('missing', 'impute')}"
        )


def gaps_message(gaps: Mask, names: Sequence[Hashable]) -> str:
    """Return a text that counts rows with gaps, and gaps by column; ``gaps`` is their mask, shape (N, M)."""
    counts = gaps.sum(axis=1)
    counted_gaps = [f"{count} in {name!r}" for count, name in zip(counts, names, strict=True) if count]
    more = f" and {len(counted_gaps) - MOST_NAMED} more columns" if len(counted_gaps) > MOST_NAMED else ""
    rows = f"{np.count_nonzero(gaps.any(axis=0))} of {gaps.shape[1]} rows"
    return f"{rows}: {', '.join(counted_gaps[:MOST_NAMED])}{more}"


@dataclass(frozen=True)
class Scaling:
    """Offset and scale of every variable, ``scaled = (values - offset) / scale``, and the transform that may follow.

    Codes of labels are not scaled.

    Attributes
    ----------
    offset, scale : ndarray, shape (N,)
        In the units of the variables.
    transforms : dict of int to Rescaled
        Those of the variables that are transformed.
    """

    offset: Floats
    scale: Floats
    transforms: dict[int, Rescaled] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, how: str) -> "Scaling":
        """Return the scaling of a table: "none", "center" or "standardize"; a constant variable becomes zero.

        Raises
        ------
        ValueError
            If the values of a column are too large or too small to be scaled; the message names the column.
        """
        largest = np.abs(table.values).max(axis=1)
        tiny = table.varying & (largest < SMALLEST_VALUE[how])
        for beyond, values, limit in (
            (largest > LARGEST_VALUE[how], "values", LARGEST_VALUE[how]),
            (tiny, "no values", SMALLEST_VALUE[how]),
        ):
            if beyond.any():
                name = table.names[int(np.argmax(beyond))]
                raise ValueError(f"column {name!r} holds {values} above {limit:.0e}; divide it by its spread")
        peak = np.where(largest > 0.0, largest, 1.0)
        shares = table.values / peak[:, np.newaxis]
        weights = table.effective_weights
        average, deviation = np.transpose([mean_and_deviation(column, weights) for column in shares])
        mean = np.where(table.varying, average * peak, table.values[:, 0])
        offset = np.where(table.varying & (how == "none"), 0.0, mean)
        scale = np.where(table.varying & (how == "standardize"), deviation * peak, 1.0)
        offset[table.unordered], scale[table.unordered] = 0.0, 1.0
        return cls(offset, scale)

    def apply(self, values: Floats, variable: int | None = None) -> Floats:
        """Return scaled values of all variables, shape (N, M), or of one, shape (M,)."""
        offset, scale = self._of(variable)
        return self.transformed((values - offset) / scale, variable)

    def undo(self, values: Floats, variable: int | None = None) -> Floats:
        """Return values of all variables, shape (N, M), or of one, shape (M,), in their units."""
        offset, scale = self._of(variable)
        return self._each(values, variable, Rescaled.undo) * scale + offset

    def transformed(self, values: Floats, variable: int | None = None) -> Floats:
        """Return scaled values given those before the transforms."""
        return self._each(values, variable, Rescaled.apply)

    def log_slope(self, values: Floats, variable: int) -> Floats:
        """Return the logarithm of the derivative of a variable's transform at scaled values, shape (M,)."""
        transform = self.transforms.get(variable)
        return np.zeros(values.shape) if transform is None else transform.log_slope(transform.undo(values))

    def _each(self, values: Floats, variable: int | None, change: Callable[[Rescaled, Floats], Floats]) -> Floats:
        if variable is not None:
            transform = self.transforms.get(variable)
            return values if transform is None else change(transform, np.asarray(values))
        if self.transforms:
            values = values.copy()
        for n, transform in self.transforms.items():
            values[n] = change(transform, values[n])
        return values

    def _of(self, variable: int | None) -> tuple[Floats, Floats]:
        at = (slice(None), np.newaxis) if variable is None else variable
        return self.offset[at], self.scale[at]


def rows_by_content(keys: Sequence[Floats | Integers]) -> Integers:
    """Return the order of observations by their content, shape (M,).

    They are sorted and then permuted, always in the same way: evenly spaced rows of a sorted table would be no sample
    of it.

    Parameters
    ----------
    keys : sequence of ndarray, each of shape (M,)
        What tells observations apart; those that tie by one are sorted by the next.
    """
    order, ranks = np.arange(len(keys[0])), np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        order = np.lexsort((key, ranks))
        ranks[order] = np.append(0, np.cumsum((np.diff(ranks[order]) > 0) | (np.diff(key[order]) != 0)))
        if ranks[order[-1]] == ranks.size - 1:
            break
    return np.random.default_rng(0).permutation(order)


def mean_and_deviation(column: Floats, weights: Floats | None) -> tuple[float, float]:
    """Return mean and standard deviation of a column, shape (M,), by sums without rounding.

    Neither the order of the rows nor the sign of the column changes a bit of them. ``weights`` (M,) say how often each
    observation counts.
    """
    n = column.size if weights is None else math.fsum(weights.tolist())
    mean = math.fsum(times(weights, column).tolist()) / n
    return mean, math.sqrt(math.fsum(times(weights, np.square(column - mean)).tolist()) / n)
