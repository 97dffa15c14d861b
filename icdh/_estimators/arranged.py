"""The table as a fit sees it: the columns that vary and the contexts, in an order that depends on their values alone.

So the result depends neither on the order of the user's columns nor on that of the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from icdh._rows import RelatedRows
from icdh._table.experiments import Design
from icdh._table.kinds import KINDS, numbers_among, point_masses
from icdh._table.table import Scaling, Table, rows_by_content
from icdh._utils.arrays import Floats, Integers, Mask, of_rows
from icdh.knowledge import EdgeRules
from icdh.network import Weights
from icdh.search.climb import Move

if TYPE_CHECKING:
    from icdh._node_model.columns import Columns
    from icdh._table.transforms import Rescaled

DIGITS = 9  # of moments of standardised columns that do not depend on the order of sums and on units


@dataclass(frozen=True)
class ColumnOrder:
    """The order in which a fit sees the columns that vary, and the contexts.

    Attributes
    ----------
    order : ndarray of int, shape (n,)
        The place of each among the user's columns, which the contexts follow.
    n_columns : int
        How many of the user's columns and contexts there are.
    """

    order: Integers
    n_columns: int

    def edges_in_users_order(self, edges: Floats) -> Floats:
        """Return a matrix about edges of the table's columns, shape (n, n), as one of the user's columns and contexts.

        Parameters
        ----------
        edges : ndarray, shape (n, n)
            Zero where there is no edge, as in the result for columns that do not vary.
        """
        every = np.zeros((self.n_columns, self.n_columns))
        causes, effects = np.nonzero(edges)
        every[self.order[causes], self.order[effects]] = edges[causes, effects]
        return every

    def network_in_users_order(self, weights: Weights) -> Weights:
        """Return a network of the table's columns as one of all of the user's columns and the contexts.

        A column that does not vary gets a node without edges, of mean zero and scale one.
        """

        def of_all(part: Floats) -> Floats:
            if part.ndim == 3:  # w1, whose last axis are causes
                causes = np.zeros((*part.shape[:2], self.n_columns))
                causes[:, :, self.order] = part
                part = causes
            every = np.zeros((self.n_columns, *part.shape[1:]))
            every[self.order] = part
            return every

        return weights.map(of_all)

    def move_in_users_columns(self, move: Move) -> Move:
        """Return a move of the search in the user's columns."""
        return move._replace(cause=int(self.order[move.cause]), effect=int(self.order[move.effect]))


@dataclass(frozen=True)
class CanonicalTable(ColumnOrder):
    """A table whose columns have signs, too, that depend on their values alone, for `HNMSearch`.

    `with_rows_by_content` arranges the rows.

    Attributes
    ----------
    values : ndarray, shape (n, M)
        The standardised columns, one a row.
    rows : ndarray of bool, shape (n, M), or None
        The observations that count for each; None if all do.
    rules : EdgeRules
        Edges among them that must not, and that must, appear.
    kinds : list of str
        Their n kinds.
    n_categories : list of int
        How many categories each has; zero for numbers.
    signs : ndarray, shape (n,)
        What each was multiplied by.
    of_counts : ndarray, shape (n, 2)
        The value of each that is zero in the user's units, and what one more adds.
    baseline : ndarray of bool, shape (N, M), or None
        The observations of the user's columns where nothing was set; None if all.
    related : RelatedRows or None
        Which observations depend on one another; None if none do.
    weights : ndarray, shape (M,), or None
        How often each observation counts; None if once.
    seen_together : ndarray, shape (n, n)
        The share of the observations in which both of two were seen, and not imputed.
    """

    values: Floats
    rows: Mask | None
    rules: EdgeRules
    kinds: list[str]
    n_categories: list[int]
    signs: Floats
    of_counts: Floats
    baseline: Mask | None
    related: RelatedRows | None
    weights: Floats | None
    seen_together: Floats

    @classmethod
    def of(cls, table: Table, scaling: Scaling, kinds: list[str], design: Design, rules: EdgeRules) -> "CanonicalTable":
        """Scale and arrange a table.

        Parameters
        ----------
        table : Table
            The user's table.
        scaling : Scaling
            Offset and scale of its columns.
        kinds : list of str
            Their kinds.
        design : Design
            The interventions; their contexts become columns.
        rules : EdgeRules
            Edges among columns and contexts that must not, and that must, appear.
        """
        N, n_columns = table.n_variables, table.n_variables + len(design.conditions)
        # Units, offsets and signs change the last digits, and a long descent makes another graph of them.
        extended = design.with_contexts(scaling.apply(table.values)).astype(np.float32).astype(float)
        columns = np.append(np.flatnonzero(table.varying), np.arange(N, n_columns))
        order, signs = _order_and_signs(extended, columns)
        signs[np.isin(order, table.unordered)] = 1.0
        offset, scale = (
            np.append(part, np.full(n_columns - N, fill))
            for part, fill in ((scaling.offset, 0.0), (scaling.scale, 1.0))
        )
        seen_together = np.ones((n_columns, n_columns))
        seen_together[:N, :N] = table.seen_together
        seen_together[:N, N:] = np.diagonal(table.seen_together)[:, np.newaxis]
        return cls(
            seen_together=seen_together[np.ix_(order, order)],
            of_counts=(signs / scale[order] * np.array([-offset[order], np.ones(order.size)])).T,
            values=extended[order] * signs[:, np.newaxis],
            kinds=[kinds[k] if k < N else "continuous" for k in order],
            n_categories=[len(table.categories[k].labels) if k in table.categories else 0 for k in order],
            rows=None if design.rows is None else design.rows[order],
            rules=rules.among(order),
            order=order,
            signs=signs,
            n_columns=n_columns,
            baseline=design.baseline,
            related=table.related,
            weights=table.effective_weights,
        )

    def columns(
        self, transform: "str | Sequence[Rescaled | None]", random_state: int, masses: bool = True
    ) -> "Columns":
        """Return the columns as causes and responses.

        Values that an intervention set are no point masses: their rows do not count for the column, nor for its law
        without parents.

        Parameters
        ----------
        transform : {"none", "log", "yeo-johnson"}, or sequence
            What is applied to numbers; or the fitted transform of every column.
        random_state : int
            Draws places in the cells of grids.
        masses : bool
            Whether numbers may have point masses.
        """
        from icdh._node_model.columns import Column, Columns

        columns, numbers = [], numbers_among(self.kinds) if masses else []
        for k, (values, kind) in enumerate(zip(self.values, self.kinds, strict=True)):
            counted = values if self.rows is None else values[self.rows[k]]
            frequent = point_masses(counted) if k in numbers else []
            of_column = transform if isinstance(transform, str) else transform[k] or "none"
            rng, (zero, unit) = np.random.default_rng([random_state, k]), self.of_counts[k].tolist()
            how = self.n_categories[k], frequent, of_column, rng, (zero, unit), self.weights
            columns.append(Column(kind, values, *how))
        read = Columns.of(columns)
        return read if self.rows is None else read.under_laws_of(self.rows)

    def as_rivals(self, columns: Sequence[int]) -> "CanonicalTable":
        """Return the table with some columns, given their positions, of the kind that rivals theirs."""
        return replace(self, kinds=[KINDS[kind].rival if k in columns else kind for k, kind in enumerate(self.kinds)])

    def without_grids(self) -> "CanonicalTable":
        """Return the table with gridded columns taken for continuous."""
        return replace(self, kinds=[KINDS[kind].exact or kind for kind in self.kinds])

    def in_users_columns(self, n_variables: int) -> Floats:
        """Return the values of the user's columns in their order and with their signs, shape (N, M)."""
        values = np.zeros((n_variables, self.values.shape[1]))
        columns = self.order < n_variables
        values[self.order[columns]] = self.values[columns] * self.signs[columns, np.newaxis]
        return values

    def with_rows_by_content(self) -> "CanonicalTable":
        """Return the table with its observations in an order that depends on the set of them alone."""
        keys = [*self.values, *([] if self.rows is None else self.rows.astype(float))]
        keys += [] if self.weights is None else [self.weights]
        return self.part(np.arange(len(self.order)), rows_by_content(keys))

    def varying_part(self, columns: Integers, observations: Integers) -> "CanonicalTable":
        """Return, of some of the columns, those that vary among some of the observations."""
        varies = np.ptp(self.values[np.ix_(columns, observations)], axis=1) > 0.0
        return self.part(columns[varies], observations)

    def part(self, columns: Integers, observations: Integers) -> "CanonicalTable":
        """Return some of the columns at some of the observations, given their positions."""
        at = np.ix_(columns, observations)
        return replace(
            self,
            values=np.ascontiguousarray(self.values[at]),
            kinds=[self.kinds[k] for k in columns],
            n_categories=[self.n_categories[k] for k in columns],
            rows=None if self.rows is None else np.ascontiguousarray(self.rows[at]),
            rules=self.rules.among(columns),
            order=self.order[columns],
            signs=self.signs[columns],
            of_counts=self.of_counts[columns],
            seen_together=self.seen_together[np.ix_(columns, columns)],
            baseline=None if self.baseline is None else self.baseline[:, observations],
            related=None if self.related is None else self.related.of_rows(observations),
            weights=of_rows(self.weights, observations),
        )


def _order_and_signs(values: Floats, columns: Integers) -> tuple[Integers, Floats]:
    """Return the columns by their fourth and third moments, and for each the sign that makes the third positive.

    Where rounding would decide, other columns decide: the order by what the columns have in common, and a sign by the
    sum of the columns whose signs are known.
    """
    chosen = values[columns]
    moments = [(np.mean(column**2 * column), np.mean(np.square(column**2))) for column in chosen]
    third, fourth = np.round(np.transpose(moments), DIGITS)
    shared = np.round(np.abs(chosen @ chosen.T).sum(axis=1) / chosen.shape[1], DIGITS)
    order = np.lexsort((shared, np.abs(third), fourth))
    signs = np.sign(third[order])
    for k in np.flatnonzero(signs == 0.0):
        together = np.round(np.mean((signs @ chosen[order]) * chosen[order[k]]), DIGITS)
        signs[k] = -1.0 if together < 0.0 else 1.0
    return columns[order], signs
