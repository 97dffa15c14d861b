"""Warnings of the estimators about tables: unusual units, computed columns, numbers of rows and units, dependence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from icdh._model.structural import StructuralModel
from icdh._rows import MOST_SORTED, alike_in_units, dependence, left_by_smooth, ranks_of
from icdh._table.codes import MOST_LABELS
from icdh._table.kinds import FEW_VALUES, is_heaped
from icdh._table.table import Table
from icdh._utils.arrays import Floats, Mask
from icdh._utils.labels import listed, plural
from icdh.exceptions import option, warn

# Shares of a column's spread that others leave: whatever rounding is, and if that explains it.
EXACT, NEARLY = 0.01, 0.15
OVER_ROUNDING = 1.5  # standard deviations of rounding errors
LEAST_OVERLAP = 10.0  # rows that two independent columns of zeros and ones would share, where none is shared
MOST_ROWS, MOST_COLUMNS = 2000, 500  # that are compared
FEWEST_POINTS = 20  # distinct values of a column and of its function; of labels and grades there are fewer
MOST_TURNS = 5.0  # times that a function may cross all its values
SMOOTH = 1e-3  # of the spread, by which points may leave the curve through their neighbours; less, if more than
POINTS = 100  # so many: those of two sorted columns are at a distance of one over their number
OFF_BY_ROUNDING = 0.4  # of the step: three quarters of the rounding errors are smaller
# Share of the differences between codes that a smooth function of them leaves. In 141 columns of public tables rows of
# one number are alike. It leaves 0.12 at most in 22, 20 of them quantities, such as years of school; in others 0.24.
DISORDER = 0.2
LONG = 100  # rows of a table from which whole numbers that rise from row to row are no accident
Computed = tuple[int, list[int]]  # a column that others give, and these, by their positions


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
    among = [k for k in varying if np.ptp(part[k]) > 0.0]  # a rare value may be in none of these rows
    positive = [
        k for k in among if part[k].min() > 0.0 and np.ptp(np.log(part[k])) > 0.0 and np.unique(part[k]).size > 10
    ]
    for columns, takes_logs in ((among, False), (positive, True)):
        if not 2 <= len(columns) <= min(part.shape[1] // 2, MOST_COLUMNS):
            continue
        steps = {k: _step(part[k]) for k in columns}
        shown = np.log(part[columns]) if takes_logs else part[columns]
        roundings = np.array([np.sqrt(np.mean((steps[k] / part[k]) ** 2)) if takes_logs else steps[k] for k in columns])
        for place, parts in _given_by_others(shown, roundings):
            if columns[place] not in seen:
                seen.add(columns[place])
                yield columns[place], [columns[k] for k in parts]


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
                yield int(k), used.tolist()
                break


def functions(values: Floats, columns: Sequence[int]) -> list[Computed]:
    """Return columns that are functions of one other, each with all of these; of two that give each other the second.

    In the order of the one, values of the other must lie on the cubic through two neighbours on each side. Noise leaves
    it by its own size, a function by the fourth power of the distance. Turns of ranks tell most pairs in one pass.

    Parameters
    ----------
    values : ndarray, shape (N, M)
        The table, one variable a row.
    columns : sequence of int
        The columns to compare: different ones.

    References
    ----------
    Chatterjee, "A new coefficient of correlation", Journal of the American Statistical Association 116 (2021).
    """
    rows = np.random.default_rng(0).permutation(values.shape[1])[:MOST_ROWS]  # every other row may have other noise
    part = values[:, np.sort(rows)]
    numbers = [k for k in columns if np.unique(part[k]).size >= FEWEST_POINTS][:MOST_COLUMNS]
    ranks = ranks_of(part[numbers])
    givers: dict[int, list[int]] = {k: [] for k in numbers}
    for i in numbers if len(numbers) > 1 else ():
        order = np.argsort(part[i], kind="stable")
        turns = np.abs(np.diff(ranks[:, order])).sum(axis=1)
        for k in (numbers[place] for place in np.flatnonzero(turns <= MOST_TURNS)):
            if k != i and _is_on_curve(part[i, order], part[k, order]):
                givers[k].append(i)
    first = {k: [i for i in parts if i < k or k not in givers[i]] for k, parts in givers.items()}
    return [(k, parts) for k, parts in first.items() if parts]


def _is_on_curve(x: Floats, y: Floats) -> bool:
    """Return whether y is a smooth function of x but for rounding; x is in ascending order."""
    starts = np.flatnonzero(np.diff(x, prepend=-np.inf) > 0.0)
    x_near, y_near = (sliding_window_view(z[starts] / np.abs(z).max(), 5) for z in (x, y))
    bends = np.ptp(y_near, axis=1) > 0.0  # a level piece fits any curve
    x_near, y_near = x_near[bends], y_near[bends]
    if len(y_near) < FEWEST_POINTS - 4:
        return False
    near = [0, 1, 3, 4]
    weights = np.array([_lagrange(x_near, k, [j for j in near if j != k]) for k in near])
    left = np.abs(y_near[:, 2] - (weights * y_near[:, near].T).sum(axis=0))
    left /= np.sqrt(1.0 + np.square(weights).sum(axis=0))
    spread = float(np.median(np.abs(y_near[:, 2] - np.median(y_near[:, 2]))))
    step = _step(y)
    rounding = step / float(np.abs(y).max()) if step < 1.0 else 0.0  # whole numbers may rise together
    limit = max(SMOOTH * spread * POINTS / max(len(left), POINTS), OFF_BY_ROUNDING * rounding)
    within = float(np.abs(np.diff(y))[np.diff(x) == 0.0].max(initial=0.0)) / float(np.abs(y).max())
    return within <= limit and bool(np.quantile(left, 0.75) <= limit)


def _lagrange(x: Floats, k: int, others: list[int]) -> Floats:
    """Return the weight of point k among it and others, in the polynomial through them, at point 2 of each row."""
    weight: Floats = np.prod((x[:, [2]] - x[:, others]) / (x[:, [k]] - x[:, others]), axis=1)
    return weight


def _step(column: Floats) -> float:
    """Return the power of ten that a column was rounded to, zero if it has more than four decimals."""
    spread = float(np.ptp(column))
    for step in (1.0, 0.1, 0.01, 0.001, 0.0001):
        if step <= spread and np.allclose(column / step, np.round(column / step), rtol=0.0, atol=1e-6):
            return step
    return 0.0


@dataclass(frozen=True)
class DataDoubts:
    """What is doubtful of a fit because of its table.

    Attributes
    ----------
    model : StructuralModel
        The fitted model. Columns that it determines count if it is of standardised columns, as that of `HNMSearch`.
    table : Table
        The columns.
    """

    model: StructuralModel
    table: Table

    def warn(self) -> None:
        """Name columns that others give, that number rows or units, and warn of dependent rows, with remedies.

        Rows that the table knows to depend on one another, and columns that a threshold gives, are not named.
        """
        for message in self._messages():
            warn(message)

    def marked(self) -> StructuralModel:
        """Return the model that knows between which columns no data tell the direction."""
        pairs, place = self._computed.copy(), {name: k for k, name in enumerate(self.table.names)}
        for name in self.table.heaps:
            pairs[place[name], self._joined] = pairs[self._joined, place[name]] = 1.0
        known = replace(self.model.edge_evidence, unidentified=pairs if pairs.any() else None)
        return replace(self.model, edge_evidence=known)

    @cached_property
    def _computed(self) -> Floats:
        """Which columns are computed from which, in either direction, shape (N, N)."""
        pairs, place = np.zeros(self.model.adjacency.shape), {name: k for k, name in enumerate(self.table.names)}
        twins = [(place[k], [place[other]]) for k, other in [*self.table.cuts.items(), *self.table.repeated_columns()]]
        of_labels = [(k, members) for members in self._dummies for k in members]
        for column, others in [*self._sums, *self._functions, *self._determined, *twins, *of_labels]:
            pairs[column, others] = pairs[others, column] = 1.0
        return pairs

    @cached_property
    def _joined(self) -> list[int]:
        """The columns with edges."""
        A = self.model.adjacency
        return np.flatnonzero(A.any(axis=0) | A.any(axis=1)).tolist()

    @cached_property
    def _numbering(self) -> list[int]:
        values, categories = self.table.values, self.table.categories
        return [k for k in self._joined if k not in categories and _numbers_rows(values[k])]

    @cached_property
    def _dummies(self) -> list[list[int]]:
        return dummies(self.table.values)

    @cached_property
    def _sums(self) -> list[Computed]:
        return list(sums_and_ratios(self.table.values, self._numbers))

    @cached_property
    def _functions(self) -> list[Computed]:
        """Functions of one column, with all such columns; a sum or ratio of one is none."""
        known = {(k, *parts) for k, parts in self._sums}
        every = functions(self.table.values, self._numbers)
        left = [(k, [i for i in parts if (k, i) not in known]) for k, parts in every]
        return [(k, parts) for k, parts in left if parts]

    @cached_property
    def _numbers(self) -> list[int]:
        """Columns of numbers, without sets of dummies, repeated columns and some others."""
        table, others = self.table, self._numbering
        numbers = [n for n in range(table.n_variables) if n not in table.categories and n not in others]
        first = table.without_copies(numbers)  # `Table.warn` names columns that repeat others
        return sorted(set(first).difference(*self._dummies))

    @cached_property
    def _determined(self) -> list[Computed]:
        """The columns that their causes determine, but for relations that are known already."""
        from icdh._node_model._kernels import VARIANCE_FLOOR

        model, determined = self.model, []
        named = [{k, *parts} for k, parts in [*self._sums, *self._functions]] + [*map(set, self._dummies)]
        for k, (name, conditional) in enumerate(zip(model.names, model.conditionals, strict=True)):
            inputs = conditional.inputs.tolist()
            # `Table.warn` names the cuts
            is_named = name in self.table.cuts or any(k in each and not each.isdisjoint(inputs) for each in named)
            if inputs and model.columns.kinds is not None and k not in model.nominal and not is_named:
                _, deviation = conditional.mean_and_scale(self._scaled)
                if np.quantile(deviation**2, 0.9) < 2 * VARIANCE_FLOOR:
                    determined.append((k, inputs))
        return determined

    @cached_property
    def _scaled(self) -> Floats:
        return self.model.scaled(self.table)

    def _messages(self) -> Iterator[str]:
        table, names, numbering = self.table, self.table.names, self._numbering
        if numbering:
            them = "them" if len(numbering) > 1 else "it"
            yield (
                f"{plural(numbering, 'column')} that may number the rows: {listed(repr(names[k]) for k in numbering)}; "
                f"the order in which rows are stored causes nothing: drop {them}, and pass {option('sequence', True)} "
                "if that order is time"
            )
        if sets := self._dummies:
            listing = "; ".join(listed(repr(names[k]) for k in members) for members in sets)
            yield (
                f"columns of which one alone is 1 in a row, as dummies of a label are: {listing}: edges among them are "
                "no causes; pass the label itself, as one column"
            )
        sums, determined = self._sums, self._determined
        of_one = {k for k, parts in sums if len(parts) == 1}
        of_others = [(k, parts[:1]) for k, parts in self._functions if k not in of_one]
        for kind, word, computed in (
            ("column(s) that are sums or multiples of others, or products or ratios, but for rounding", "of", sums),
            (f"{plural(of_others, 'column')} computed from another, but for rounding", "of", of_others),
            (f"{plural(determined, 'column')} determined by others up to a hundredth of the spread", "by", determined),
        ):
            if computed:
                given = (f"{names[k]!r} ({word} {', '.join(repr(names[i]) for i in parts)})" for k, parts in computed)
                yield (
                    f"{kind}: {'; '.join(given)}: a model of noise does not identify the direction of these edges; "
                    "drop columns computed from others"
                )
        if table.related is None and table.weighting != "frequency":  # these rows are copies by the user's word
            related = dependence(table.values, self.model.standardised_residuals(self._scaled[:, :MOST_SORTED]))
            if related is not None:
                yield related.message(names, table.n_observations)
            named = {*numbering, *([] if related is None else related.columns)}
            yield from codes_of_units(table, [k for k in self._joined if k not in named], self._computed == 0.0)


def _numbers_rows(column: Floats) -> bool:
    """Return whether a column rises or falls from row to row: evenly, or for long in whole numbers."""
    steps = np.diff(column)
    if steps.size < 10 or abs(np.sign(steps).sum()) < steps.size:
        return False
    evenly = bool(np.ptp(steps) <= 1e-9 * np.abs(steps).max())
    return evenly or (steps.size >= LONG and not (column % 1.0).any())


def codes_of_units(
    table: Table, joined: Sequence[int], counts: Mask, covariates: Sequence[int] | None = None
) -> Iterator[str]:
    """Name columns with edges that hold whole numbers of which each seems to name a person or a place.

    Codes have no order. Where a smooth function of the numbers tells as much as their levels do, they count something.
    ``counts``, shape (N, N), says which columns may show that of which: what is computed from numbers is alike, too.
    Of ``covariates`` the remedies are other ones: a column that is adjusted for cannot be that of groups.
    """
    ranks = ranks_of(table.values[joined])

    def alike(k: int) -> bool:
        others = ranks[counts[k, joined]]
        others = others[alike_in_units(others, table.values[k])]
        return bool((left_by_smooth(others, table.values[k]) > DISORDER).any())

    def names_units(k: int) -> bool:
        is_whole = k not in table.categories and not (table.values[k] % 1.0).any()
        repeats = is_whole and FEW_VALUES < table.n_distinct(k) <= table.n_observations / 2
        return repeats and bool(counts[k, joined].any()) and not _are_amounts(table.values[k]) and alike(k)

    if units := list(filter(names_units, joined)):
        name = table.names[units[0]]
        is_label = table.n_distinct(units[0]) <= MOST_LABELS
        as_labels = f"{option('kinds', {name: 'categorical'})} or " if is_label else ""
        by_unit = option("groups", name)
        if covariates is not None:
            is_covariate = units[0] in covariates
            by_unit = f"{option('within', name)} in place of the covariate" if is_covariate else "another column"
        yield (
            f"whole numbers that may be codes of persons or places: {listed(repr(table.names[k]) for k in units)}, "
            "since rows of one number are alike and those of the next are not; if so, "
            f"pass {as_labels}{by_unit}"
        )


def _are_amounts(column: Floats) -> bool:
    """Return whether whole numbers are round ones: a sum of money at 10 and 25, an age in steps of five."""
    steps = np.diff(np.unique(column))
    return is_heaped(column) or bool(steps.min() > 1.0 and not (steps % steps.min()).any())


def warn_about_density(A: Floats) -> None:
    """Warn if a graph has more than half of the possible edges.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Its adjacency matrix.
    """
    N, edges = len(A), np.count_nonzero(A)
    possible = N * (N - 1) // 2
    if N >= 8 and 2 * edges > possible:  # among fewer variables so dense a graph is nothing remarkable
        warn(
            f"{edges} of {possible} possible edges: so dense a graph is hardly informative, and unmeasured common "
            f"causes may be behind it; keep the strongest by {option('min_strength')} or {option('max_edges')}"
        )


def warn_about_columns(table: Table, scaled: Floats) -> None:
    """Name the columns whose spread is far from one.

    Parameters
    ----------
    table : Table
        The columns.
    scaled : ndarray, shape (N, M)
        What a fit sees of them.
    """
    spread = scaled.std(axis=1)
    # Penalties and threshold of `ICDH` are made for spreads near one. Where simulated columns have spreads of 1 to 7, a
    # tenth of them costs edges and a thirtieth nearly all; so do ten and thirty times. One column of 100 costs some.
    unusual = table.varying & ((spread < 0.1) | (spread > 100.0))
    if unusual.any():
        far = (f"column {table.names[n]!r} has standard deviation {spread[n]:.1e}" for n in np.flatnonzero(unusual))
        warn(
            f"{listed(far)}, far from the units near one that "
            f"penalties and threshold are made for; use {option('scaling', 'standardize')}"
        )
