"""The table as the search sees it: scaled, with an order and signs of columns that depend on their values alone."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from icdh._estimators.users_columns import edges_among_all, move_among_all
from icdh._ground.arrays import Floats, Integers
from icdh._rows.related import RelatedRows
from icdh._table.experiments import Design
from icdh._table.row_order import rows_by_content
from icdh._table.table import Scaling, Table, point_masses
from icdh.knowledge.rules import EdgeRules
from icdh.search.moves import Move

DIGITS = 9  # of moments of standardised columns that do not depend on the order of sums and on units


class CanonicalTable(NamedTuple):
    """The columns that vary and the contexts, in an order and with signs that depend on their values alone.

    So neither the order of the user's columns nor their signs change the result of a search; `with_rows_by_content`
    says the same of the order of the rows.

    Attributes
    ----------
    values : ndarray, shape (n, M)
        The standardised columns, one a row.
    kinds : list of str
        Their n kinds.
    n_categories : list of int
        How many categories each has; zero for numbers.
    rows : ndarray of bool, shape (n, M), or None
        The observations that count for each; None if all do.
    rules : EdgeRules
        Edges among them that must not, and that must, appear.
    order : ndarray of int, shape (n,)
        Where each stands among the user's columns, followed by the contexts.
    signs : ndarray, shape (n,)
        What each was multiplied by.
    names : list of str
        The names of all of the user's columns, followed by the contexts.
    baseline : ndarray of bool, shape (N, M), or None
        The observations of the user's columns where nothing was set; None if all.
    related : RelatedRows or None
        Which observations depend on one another; None if none do.
    """

    values: np.ndarray
    kinds: list[str]
    n_categories: list[int]
    rows: np.ndarray | None
    rules: EdgeRules
    order: np.ndarray
    signs: np.ndarray
    names: list[Hashable]
    baseline: np.ndarray | None
    related: RelatedRows | None

    @classmethod
    def of(
        cls, table: Table, scaling: Scaling, kinds: Sequence[str], design: Design, rules: EdgeRules
    ) -> "CanonicalTable":
        """Scale and arrange a table.

        Parameters
        ----------
        table : Table
            The user's table.
        scaling : Scaling
            Offset and scale of its columns.
        kinds : sequence of str
            Their kinds.
        design : Design
            The interventions; their contexts become columns.
        rules : EdgeRules
            Edges among columns and contexts that must not, and that must, appear.
        """
        N, names = table.n_variables, [*table.names, *design.conditions]
        extended = design.with_contexts(scaling.apply(table.values))
        columns = np.append(np.flatnonzero(table.varying), np.arange(N, len(names)))
        order, signs = _order_and_signs(extended, columns)
        signs[np.isin(order, table.unordered)] = 1.0
        return cls(
            values=extended[order] * signs[:, np.newaxis],
            kinds=[kinds[k] if k < N else "continuous" for k in order],
            n_categories=[len(table.categories[k].labels) if k in table.categories else 0 for k in order],
            rows=None if design.rows is None else design.rows[order],
            rules=rules.among(order),
            order=order,
            signs=signs,
            names=names,
            baseline=design.baseline,
            related=table.related,
        )

    def columns(self, transform: str, random_state: int, masses: bool = True) -> Any:
        """Return the columns as causes and responses; see `icdh._node_model.columns.columns_of`.

        Values that an intervention set are no point masses: their rows do not count for the column.
        """
        from icdh._node_model.columns import columns_of

        counts = np.ones(self.values.shape, dtype=bool) if self.rows is None else self.rows
        frequent = [
            point_masses(own[rows]) if masses and kind in ("continuous", "gridded") else []
            for own, rows, kind in zip(self.values, counts, self.kinds, strict=True)
        ]
        return columns_of(self.values, self.kinds, transform, random_state, self.n_categories, frequent)

    def without_grids(self) -> "CanonicalTable":
        """Return the table with gridded columns taken for continuous."""
        return self._replace(kinds=["continuous" if kind == "gridded" else kind for kind in self.kinds])

    def in_users_columns(self, n_variables: int) -> np.ndarray:
        """Return the values of the user's columns in their order and with their signs, shape (N, M)."""
        values = np.zeros((n_variables, self.values.shape[1]))
        own = self.order < n_variables
        values[self.order[own]] = self.values[own] * self.signs[own, np.newaxis]
        return values

    def in_users_order(self, edges: np.ndarray) -> np.ndarray:
        """Return what is known of edges among the table's columns, shape (n, n), among the user's columns and contexts.

        Parameters
        ----------
        edges : ndarray, shape (n, n)
            Zero where there is no edge, as in the result for columns that do not vary.
        """
        return edges_among_all(edges, self.order, len(self.names))

    def move_in_users_columns(self, move: Move) -> Move:
        """Return a move of the search in the user's columns."""
        return move_among_all(move, self.order)

    def with_rows_by_content(self) -> "CanonicalTable":
        """Return the table with its observations in an order that depends on the set of them alone."""
        keys = [*self.values] if self.rows is None else [*self.values, *self.rows.astype(float)]
        observations = rows_by_content(keys)
        return self._replace(
            values=np.ascontiguousarray(self.values[:, observations]),
            rows=None if self.rows is None else np.ascontiguousarray(self.rows[:, observations]),
            baseline=None if self.baseline is None else self.baseline[:, observations],
            related=None if self.related is None else self.related.of_rows(observations),
        )

    def part(self, columns: np.ndarray, observations: np.ndarray) -> "CanonicalTable":
        """Return some of the columns at some of the observations, given their positions."""
        return self._replace(
            values=self.values[np.ix_(columns, observations)],
            kinds=[self.kinds[k] for k in columns],
            n_categories=[self.n_categories[k] for k in columns],
            rows=None if self.rows is None else self.rows[np.ix_(columns, observations)],
            rules=self.rules.among(columns),
            order=self.order[columns],
            signs=self.signs[columns],
            related=None if self.related is None else self.related.of_rows(observations),
        )


def _order_and_signs(values: Floats, columns: Integers) -> tuple[Integers, Floats]:
    """Return the columns by their fourth and third moments, and for each the sign that makes the third positive.

    Where rounding would decide, other columns do: by what the columns have in common, and by the sum of those whose
    signs are known.
    """
    chosen = values[columns]
    third: Floats = np.round((chosen**3).mean(axis=1), DIGITS)
    fourth: Floats = np.round((chosen**4).mean(axis=1), DIGITS)
    shared = np.round(np.abs(chosen @ chosen.T).sum(axis=1) / chosen.shape[1], DIGITS)
    order = np.lexsort((shared, np.abs(third), fourth))
    signs = np.sign(third[order])
    for k in np.flatnonzero(signs == 0.0):
        together = np.round(np.mean((signs @ chosen[order]) * chosen[order[k]]), DIGITS)
        signs[k] = -1.0 if together < 0.0 else 1.0
    return columns[order], signs
