"""A DAG and the distribution of every variable given its causes: what all questions to a fitted model are about.

For every variable of the DAG there is a distribution given its causes,

    Z_n = mean_n(Z) + scale_n(Z) E_n,

on scaled data; the E_n are independent, standard normal or of another density of mean zero. Scaled data are
``(X - offset) / scale`` or a transform of these, see `icdh._table.table.Scaling`.
A variable of labels, or of few ordered levels, has a probability for each of them given its causes instead.

The columns that a model was learned from know how it reads tables of them, and gives results in their units.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict

import numpy as np

from icdh import graphs
from icdh._node_model.law import SAME, Conditional
from icdh._table.codes import Categories, Label
from icdh._table.experiments import Shift
from icdh._table.frames import LARGEST_SCALED_VALUE, column_labels, frame_of
from icdh._table.kinds import Grid, nearest
from icdh._table.table import Scaling, Table, gaps_message
from icdh._utils.arrays import Floats, Foreign, Mask, Observations, TableLike, mean_of
from icdh._utils.checks import as_float
from icdh._utils.labels import listed, plural
from icdh.exceptions import option, warn

FEWEST_ROWS, OTHER_UNIT = 20, 10.0  # that show another unit, and the ratio of ranges that does
MOST_FAR = 0.05  # share of rows that may be far from those of the fit
ROUNDING = 1e-6  # of the range of levels, by which one may be missed: as printed, of single precision


@dataclass(frozen=True)
class ModelColumns:
    """The N columns of the table that a model was learned from.

    Attributes
    ----------
    names : list of str
        Their labels.
    named : bool
        Whether the table had labels.
    scaling : Scaling
        The model is about scaled data.
    centre : ndarray, shape (N,)
        The mean of the scaled data; of labels the most frequent one.
    frame : str
        The library of the table, "pandas", "polars" or "pyarrow"; empty if it was an array.
    categories : dict of int to Categories
        The labels of the columns that have labels.
    levels : dict of int to ndarray
        The values, in ascending order and in their units, of the columns that take few.
    masses : dict of int to ndarray
        The values, in their units, that have a probability of their own beside a density.
    grids : dict of int to Grid
        The grids, in their units, of the numbers that are recorded on one.
    kinds : list of str, or None
        The kinds that a search saw; None where nothing looked at kinds.
    transform : str
        The transform under which it looked for the graph.
    observed_range : ndarray, shape (2, N), or None
        The smallest and the largest value of every column.
    """

    names: list[Hashable]
    named: bool
    scaling: Scaling
    centre: Floats
    frame: str = ""
    categories: dict[int, Categories] = field(default_factory=dict)
    levels: dict[int, Floats] = field(default_factory=dict)
    masses: dict[int, Floats] = field(default_factory=dict)
    grids: dict[int, Grid] = field(default_factory=dict)
    kinds: list[str] | None = None
    transform: str = "none"
    observed_range: Floats | None = None

    @classmethod
    def of(cls, table: Table, scaling: Scaling) -> "ModelColumns":
        """Return the columns of a table, given its scaling."""
        centre = scaling.apply(mean_of(table.values, table.effective_weights)[:, np.newaxis])[:, 0]
        centre[table.unordered] = 0.0
        observed = np.array([table.values.min(axis=1), table.values.max(axis=1)])
        return cls(table.names, table.named, scaling, centre, table.frame, table.categories, observed_range=observed)

    def as_table(self, X: TableLike, gaps: bool = False) -> Table:
        """Return observations of these columns, shape (M, N), checked, in the units of X.

        Parameters
        ----------
        X : array_like or DataFrame
            The observations.
        gaps : bool
            Whether a table with names may lack cells, and columns, which are then NaN.

        Raises
        ------
        ValueError, TypeError
            If X has other columns, or holds anything but finite numbers.
        """
        labels = (column_labels(X) or []) if gaps else []
        places = [self.names.index(name) for name in labels if name in self.names]
        if not places or len(places) < len(labels):
            places = list(range(len(self.names)))
        known = {k: self.categories[n] for k, n in enumerate(places) if n in self.categories}
        table, remedy = Table.of(X, min_rows=1, known=known, gaps=gaps), "pass the columns that fit saw"
        if gaps:
            remedy += ", or some of them" if labels else "; a DataFrame with their names may lack some"
        if gaps and not labels and table.gaps.any():
            where, how = gaps_message(table.gaps, table.names), "or pass a DataFrame with the names that fit saw"
            raise ValueError(f"{option('X')}, without names, has gaps (NaN) in {where}; drop these rows, {how}")
        if labels and len(places) == table.n_variables < len(self.names):
            values = np.full((len(self.names), table.n_observations), np.nan)
            values[places] = table.values
            table = replace(table, values=values, names=self.names, categories=self.categories)
        if table.n_variables != len(self.names):
            raise ValueError(
                f"{option('X')} has {table.n_variables} features, but StructuralModel is expecting "
                f"{len(self.names)} features as input: {remedy}"
            )
        if table.named and self.named and table.names != self.names:
            at = next(i for i, name in enumerate(self.names) if table.names[i] != name)
            raise ValueError(
                f"column {at} of {option('X')} is {table.names[at]!r} where fit saw {self.names[at]!r}; "
                "pass the same columns in the same order, X[model.feature_names_in_]"
            )
        return table

    def scaled(self, table: Table) -> Floats:
        """Return scaled observations, one column a row, shape (N, M).

        Raises
        ------
        ValueError
            If values are far beyond those of the table that was fitted.
        """
        with np.errstate(over="ignore"):
            values = self.scaling.apply(table.values)
        largest = np.abs(values).max(axis=1)
        if largest.max() > LARGEST_SCALED_VALUE:
            far = [table.names[n] for n in np.flatnonzero(largest > LARGEST_SCALED_VALUE)]
            names = f"{plural(far, 'column')} {listed(map(repr, far))} of X"
            raise ValueError(f"{names}: values far beyond those that fit saw; check the units")
        return values

    def scaled_action(self, column: int, values: Floats) -> Floats:
        """Return the scaled values that an intervention sets a column to; both of shape (M,).

        Raises
        ------
        ValueError
            If the values are far beyond those of the table that was fitted.
        """
        with np.errstate(over="ignore"):
            scaled = self.scaling.apply(values, column)
        if np.abs(scaled).max() > LARGEST_SCALED_VALUE:
            raise ValueError(f"do sets {self.names[column]!r} to values far beyond those that fit saw; check units")
        return scaled

    def in_units(self, column: int, scaled: Floats) -> Floats:
        """Return values of a column in its units, shape (M,): on its grid, or among its levels."""
        exact = values = self.scaling.undo(scaled, column)
        if (grid := self.grids.get(column)) is not None:
            values = grid.nearest(exact)
        for mass in self.masses.get(column, ()):
            is_mass = np.abs(scaled - self.scaling.apply(mass, column)) <= SAME
            if grid is not None:  # no other value is rounded to it
                rounded = (values == mass) & ~is_mass
                values[rounded] = grid.neighbour(mass, exact[rounded] > mass)
            values[is_mass] = mass
        levels = self.levels.get(column)
        return values + 0.0 if levels is None else levels[nearest(levels, values)]  # no negative zero

    def as_numbers(self, column: int, action: object, argument: str) -> Foreign:
        """Return what an intervention sets a column to as numbers or codes of labels; of a function, one that does.

        Parameters
        ----------
        column : int
            The column.
        action : float, str, array_like or callable
            As in `StructuralModel.sample`.
        argument : str
            Its name in messages.

        Raises
        ------
        ValueError, TypeError
            If these are no numbers, or an unknown label, or if labels are changed by a function; if one of few values
            is set to another value.

        Warns
        -----
        DataWarning
            If a number is far from all that the model was learned from.
        """
        known = self.categories.get(column)
        if known is not None and known.reads(action):
            if callable(action):
                label = known.labels[0]
                raise TypeError(f"{argument} changes labels by a function; set the variable to {label!r}, ...")
            labels = np.asarray(action, dtype=object)
            codes = known.encoded(list(labels.ravel()), argument)
            self._check_possible(column, codes[~np.isnan(codes)], argument)
            return codes if labels.ndim else codes[0]
        if callable(action):
            return lambda natural: self.as_numbers(column, action(natural), f"the result of {argument}")
        values = as_float(np.asarray(action), argument)
        if values.size and np.isfinite(values).all():
            self._check_possible(column, values, argument)
        return values

    def as_numbers_of_draws(self, column: int, action: object, argument: str) -> Foreign:
        """Return what `as_numbers` does; a shift is refused unless it takes all levels to levels, whatever is drawn."""
        values = self.as_numbers(column, action, argument)
        if isinstance(action, Shift) and column in self.levels:
            self._check_possible(column, action(self.levels[column]), f"the result of {argument}")
        return values

    def _check_possible(self, column: int, values: Floats, argument: str) -> None:
        """Raise ValueError if a column of few values is set to another; warn if a number is far from all observed."""
        if column in self.levels:
            if (strange := self._are_no_levels(column, values)).any():
                raise ValueError(f"{argument} is {self._not_a_level(column, np.ravel(values)[strange][0])}")
        elif self.observed_range is not None and (far := self._are_far(column, values)).any():
            low, high = self.observed_range[:, column]
            rows = f"the rows of column {self.names[column]!r}, {low:g} to {high:g}"
            warn(
                f"{argument} is {np.ravel(values)[np.ravel(far)][0]:g}, far from {rows}: what follows is extrapolation"
            )

    def _are_far(self, column: int, values: Floats) -> Mask:
        """Return which numbers are farther from those of the fit than these are from one another."""
        if self.observed_range is None or column in self.levels or column in self.categories:
            return np.zeros(np.shape(values), dtype=bool)
        low, high = self.observed_range[:, column]
        least = 2.0 * low - high if low < 0.0 else max(2.0 * low - high, 0.0)  # amounts are not negative
        return np.asarray((values < least) | (values > 2.0 * high - low))

    def warn_of_extrapolation(self, table: Table) -> None:
        """Warn of columns that are far from what fit saw in more rows than heavy tails are."""
        for column, values in enumerate(table.values):
            if (far := self._are_far(column, values)).mean() > MOST_FAR:
                rows = f"{far.sum()} of {far.size} rows"
                warn(f"{rows} of column {self.names[column]!r} are far from those of the fit: this is extrapolation")

    def labels_of(self, column: int, number: int) -> list[Label]:
        """Return the labels, or else the levels, of a column that has so many."""
        levels, known = self.levels.get(column, np.arange(float(number))), self.categories.get(column)
        labels: list[Label] = (levels if known is None else known.decoded(levels)).tolist()
        return labels

    def _are_no_levels(self, column: int, values: Floats) -> Mask:
        """Return which values are no level of a column, shape (M,)."""
        levels = self.levels[column]
        return np.asarray(np.ravel(np.abs(values - levels[nearest(levels, values)]) > ROUNDING * np.ptp(levels)))

    def _not_a_level(self, column: int, value: float) -> str:
        """Return what is wrong with a value that is no level of a column."""
        levels, is_number = self.levels[column], column not in self.categories
        kind, known = option("kinds", {self.names[column]: "gridded"}), listed(self._said(column, k) for k in levels)
        others = f"; learn with {kind} if other numbers are possible" if levels.size > 2 and is_number else ""
        return f"{self._said(column, value)}, but column {self.names[column]!r} holds {known} alone{others}"

    def _said(self, column: int, value: float) -> str:
        """Return a value of a column as its users say it: a number, or a label."""
        labels = self.categories[column].labels if column in self.categories else ()
        return repr(labels[int(value)]) if value in range(len(labels)) else f"{value:g}"

    def warn_of_strange_values(self, table: Table) -> None:
        """Warn if a column of few values has one that fit did not see, or a column seems to be in another unit."""
        for column in self.levels:
            values = table.values[column]
            if (strange := self._are_no_levels(column, values)).any():
                fault, share = self._not_a_level(column, values[strange][0]), f"{strange.sum()} of {strange.size} rows"
                warn(f"a value is {fault}; in {share} such values count as the nearest of these")
        if self.observed_range is None or table.n_observations < FEWEST_ROWS:
            return
        low, high = self.observed_range
        with np.errstate(over="ignore"):
            middle, width, usual = np.median(table.values, axis=1), np.ptp(table.values, axis=1), high - low
            has_other_width = (OTHER_UNIT * width <= usual) | (width > OTHER_UNIT * usual)
        for n in np.flatnonzero(has_other_width & ((middle < low) | (middle > high))):
            seen = f"{low[n]:g} to {high[n]:g}"
            warn(f"most of column {self.names[n]!r} is beyond what fit saw, {seen}: check units")

    def observations(self, values: Floats, X: TableLike = None, of_labels: bool = True) -> Observations:
        """Return values, one column a row, as observations in rows, in the kind of table that fit saw."""
        labels = {n: known.nearest(values[n]) for n, known in self.categories.items()} if of_labels else {}
        if self.frame:
            columns = [labels[n] if n in labels else values[n] for n in range(len(values))]
            ordered = {self.names[n]: self.categories[n] for n in labels if self.categories[n].ordered}
            return frame_of(self.frame, dict(zip(self.names, columns, strict=True)), X, ordered)
        table = np.ascontiguousarray(values.T)
        if any(self.categories[n].of_text for n in labels):
            table = table.astype(object)
        for n, cells in labels.items():
            table[:, n] = cells
        return table


class About(TypedDict, total=False):
    """How a model was made."""

    estimator: str
    n_observations: int
    n_effective: float
    weights: str
    related: str
    parameters: dict[str, str]
    versions: dict[str, str]
    weight_unit: str


def about_table(table: Table) -> About:
    """Return what a model says of the rows that it was learned from."""
    about: About = {"n_observations": table.n_observations}
    if table.weighting:
        about |= {"weights": table.weighting, "n_effective": table.n_effective}
    if table.related is not None:
        about["related"] = "groups" if table.related.places is None else "sequence"
    return about


@dataclass(frozen=True)
class EdgeEvidence:
    """What speaks for the edges of a graph, each of shape (N, N); None where nobody computed it.

    Attributes
    ----------
    probability : ndarray or None
        The probability of every edge, see `icdh.StructuralModel.with_edge_probability`.
    direction_loss, hidden_loss : ndarray or None
        The nats lost by reversing an edge, and if it is a hidden common cause instead: see `icdh.uncertainty`.
    mean_loss, spread_loss : ndarray or None
        The nats lost if a cause is left out of the mean of its effect alone, or of its spread alone, likewise; NaN
        where there is no edge, or the effect is no number.
    settled : ndarray or None
        1.0 where knowledge settled the direction of an edge: it was required, or its reverse forbidden.
    unidentified : ndarray or None
        1.0 of two columns of which one computes the other or has a heap: no data tell which is the cause.
    """

    probability: Floats | None = None
    direction_loss: Floats | None = None
    hidden_loss: Floats | None = None
    mean_loss: Floats | None = None
    spread_loss: Floats | None = None
    settled: Floats | None = None
    unidentified: Floats | None = None

    def nats(self, edge: tuple[int, int]) -> dict[str, float | None]:
        """Return the losses of an edge by name; None where one is no finite number."""
        losses = {name: values for name, values in vars(self).items() if name.endswith("_loss")}
        return {name: number_at(values, edge) for name, values in losses.items()}


def number_at(values: Floats | None, edge: tuple[int, int]) -> float | None:
    """Return what is known of an edge, from a matrix; None if that is no finite number."""
    return None if values is None or not np.isfinite(values[edge]) else float(values[edge])


@dataclass(frozen=True)
class CausalModel:
    """A DAG and the distribution of every variable given its causes.

    Attributes
    ----------
    columns : ModelColumns
        The N variables as columns of a table.
    adjacency : ndarray, shape (N, N)
        The DAG; ``adjacency[i, j] != 0`` means i -> j.
    conditionals : sequence of Conditional
        One a variable, about scaled data. They may depend on more than the causes, weakly; see
        `icdh.StructuralModel.sample`.
    edge_evidence : EdgeEvidence
        What speaks for its edges.
    about : dict
        How the model was made: ``estimator``, ``parameters``, ``n_observations``, ``versions``, all of it text and
        numbers. Empty if unknown.
    """

    columns: ModelColumns
    adjacency: Floats
    conditionals: Sequence[Conditional]
    edge_evidence: EdgeEvidence = EdgeEvidence()
    about: About = field(default_factory=About)

    @property
    def names(self) -> list[Hashable]:
        """The labels of the variables."""
        return self.columns.names

    def causal_order(self) -> list[int]:
        """Return the variables, causes before effects."""
        return graphs.causal_order(self.adjacency)

    def scaled(self, X: TableLike) -> Floats:
        """Return scaled observations, one variable a row, shape (N, M).

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations of the model's variables, in their order.

        Raises
        ------
        ValueError, TypeError
            If these are not the variables of the model, or anything but finite numbers.

        Warns
        -----
        DataWarning
            If a column of few values has one that ``fit`` did not see, or a column seems to be in another unit.
        """
        table = self.columns.as_table(X)
        scaled = self.columns.scaled(table)
        self.columns.warn_of_strange_values(table)
        return scaled

    @property
    def nominal(self) -> set[int]:
        """The variables whose values are labels, which have no mean."""
        return {n for n, known in self.columns.categories.items() if not known.ordered}

    def in_units(self, node: int, scaled: Floats, is_rounded: bool = True) -> Floats:
        """Return natural values of a variable in its units, rounded as its column is or not.

        Parameters
        ----------
        node : int
            The variable.
        scaled : ndarray, shape (M,)
            Its scaled values.
        is_rounded : bool
            Whether they are.
        """
        if not is_rounded:
            return self.columns.scaling.undo(scaled, node)
        return self.conditionals[node].law.rounded(self.columns.in_units(node, scaled))

    def moments(self, node: int, values: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of one variable in its units, each of shape (M,), at scaled observations.

        Of labels these are the most probable one, and the total probability of the others.

        Parameters
        ----------
        node : int
            The variable.
        values : ndarray, shape (N, M)
            Scaled observations.
        """
        conditional, scaling = self.conditionals[node], self.columns.scaling
        if node in scaling.transforms:
            return conditional.law.moments_of(lambda scaled: scaling.undo(scaled, node), conditional.outputs(values))
        mean, deviation = conditional.mean_and_scale(values)
        mean, deviation = scaling.undo(mean, node), deviation * scaling.scale[node]
        if node in self.nominal and conditional.law.has_mean:  # of two labels, the probability of the second
            return np.rint(mean), np.minimum(mean, 1.0 - mean)
        return mean, deviation

    def others_held(self, node: int, values: Floats) -> Floats:
        """Return scaled observations with the inputs of a conditional that are not causes held at their means.

        Parameters
        ----------
        node : int
            The variable that the conditional is of.
        values : ndarray, shape (N, M)
            Scaled observations.
        """
        inputs = self.conditionals[node].inputs
        others = inputs[self.adjacency[inputs, node] == 0]
        if others.size:
            values = values.copy()
            values[others] = self.columns.centre[others, np.newaxis]
        return values

    def standardised_residuals(self, values: Floats) -> Floats:
        """Return the residuals of scaled observations ``values``, both of shape (N, M)."""
        given = enumerate(self.conditionals)
        return np.array([of.law.standardised(values[n], of.outputs(values)) for n, of in given])
