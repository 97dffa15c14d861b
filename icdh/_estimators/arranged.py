"""The table as the two phases see it: columns that vary, and both columns and rows in an order of their values."""

from collections.abc import Hashable
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from icdh._estimators.users_columns import edges_among_all, move_among_all
from icdh._ground.arrays import Floats, Integers, Mask
from icdh._table.experiments import Design
from icdh._table.table import Table
from icdh.knowledge.rules import EdgeRules
from icdh.network import Weights
from icdh.search.moves import Move

SORT_COLUMNS = 8  # that decide the order of observations, beside the sum of all


class ArrangedTable(NamedTuple):
    """The columns that vary, and the contexts. Their values alone decide the order of columns and observations.

    So the result of a fit depends neither on the order of the user's columns nor on that of the rows.

    Attributes
    ----------
    values : ndarray, shape (n, M)
        The scaled columns, one a row; contexts last.
    rows : ndarray of bool, shape (n, M), or None
        The observations that count for each; None if all do.
    rules : EdgeRules
        Edges among them that must not, and that must, appear.
    order : ndarray of int, shape (n,)
        Where each stands among the user's columns, followed by the contexts.
    n_columns : int
        How many of them are the user's; the others are contexts.
    names : list of str
        The names of all of the user's columns, followed by the contexts.
    """

    values: Floats
    rows: Mask | None
    rules: EdgeRules
    order: Integers
    n_columns: int
    names: list[Hashable]

    @classmethod
    def of(cls, table: Table, values: Floats, design: Design, rules: EdgeRules) -> "ArrangedTable":
        """Arrange a scaled table.

        Parameters
        ----------
        table : Table
            The user's table.
        values : ndarray, shape (N + K, M)
            Its scaled columns, and the K contexts.
        design : Design
            The interventions.
        rules : EdgeRules
            Edges among columns and contexts that must not, and that must, appear.
        """
        names, varying = [*table.names, *design.conditions], np.flatnonzero(table.varying)
        order = np.append(varying[_order_of_columns(values[varying])], np.arange(table.n_variables, len(names)))
        observations = _order_of_observations(values[order])
        return cls(
            values=np.ascontiguousarray(values[order][:, observations]),
            rows=None if design.rows is None else np.ascontiguousarray(design.rows[order][:, observations]),
            rules=rules.among(order),
            order=order,
            n_columns=varying.size,
            names=names,
        )

    def network_in_users_order(self, weights: Weights) -> Weights:
        """Return a network of the table's columns as one of all of the user's columns and the contexts.

        A column that does not vary gets a node without edges, of mean zero and scale one.
        """
        size, units = len(self.names), weights.hidden_units
        w1 = np.zeros((size, units, size))
        w1[np.ix_(self.order, np.arange(units), self.order)] = weights.w1
        others = [field.name for field in fields(weights) if field.name != "w1"]
        parts: dict[str, Any] = {name: self._widened(getattr(weights, name)) for name in others}
        return Weights(w1, **parts)

    def edges_in_users_order(self, edges: Floats) -> Floats:
        """Return what is known of edges among the table's columns, shape (n, n), among all columns and contexts."""
        return edges_among_all(edges, self.order, len(self.names))

    def move_in_users_columns(self, move: Move) -> Move:
        """Return a move of the last stage in the user's columns."""
        return move_among_all(move, self.order)

    def _widened(self, part: Floats | None) -> Floats | None:
        if part is None:
            return None
        full = np.zeros((len(self.names), *part.shape[1:]))
        full[self.order] = part
        return full


def _order_of_columns(values: Floats) -> Integers:
    """Return an order of the columns that depends on their values alone."""
    quantiles = np.linspace(0, values.shape[1] - 1, 5).astype(int)
    keys = []
    for column in values:
        ranked = np.sort(column)
        with np.errstate(over="ignore"):
            keys.append([*ranked[quantiles], ranked.sum(), np.square(ranked).sum()])
    return np.lexsort(np.transpose(keys))


def _order_of_observations(values: Floats) -> Integers:
    """Return an order of the observations that depends on their values and the order of the columns alone."""
    return np.lexsort((*values[:SORT_COLUMNS], values.sum(axis=0)))
