"""An arrangement of columns that depends on their values alone."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from icdh.experiments import Design
from icdh.knowledge.rules import EdgeRules
from icdh.table import Table


class CanonicalTable(NamedTuple):
    """The columns that vary and the contexts, in an order and with signs that depend on their values alone.

    The search sees the table so arranged: neither the order of the user's columns nor their signs change its result.

    Attributes
    ----------
    values : ndarray, shape (n, M)
        The standardised columns, one a row.
    kinds : list of str
        Their n kinds.
    n_labels : list of int
        How many labels each has; zero for numbers.
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
    """

    values: np.ndarray
    kinds: list
    n_labels: list
    rows: np.ndarray | None
    rules: EdgeRules
    order: np.ndarray
    signs: np.ndarray
    names: list

    @classmethod
    def of(
        cls, table: Table, values: np.ndarray, kinds: Sequence[str], design: Design, rules: EdgeRules
    ) -> "CanonicalTable":
        """Arrange a table.

        Parameters
        ----------
        table : Table
            The user's table.
        values : ndarray, shape (N, M)
            Its standardised columns, one a row.
        kinds : sequence of str
            Their kinds.
        design : Design
            What was done to them; its contexts become columns.
        rules : EdgeRules
            Edges among columns and contexts that must not, and that must, appear.
        """
        N, extended, names = table.n_variables, design.with_contexts(values), [*table.names, *design.conditions]
        columns = np.append(np.flatnonzero(table.varying), np.arange(N, len(names)))
        order, signs = _order_and_signs(extended, columns)
        signs[np.isin(order, table.unordered)] = 1.0
        return cls(
            values=extended[order] * signs[:, np.newaxis],
            kinds=[kinds[k] if k < N else "continuous" for k in order],
            n_labels=[len(table.categories[k].labels) if k in table.categories else 0 for k in order],
            rows=None if design.rows is None else design.rows[order],
            rules=rules.among(order),
            order=order,
            signs=signs,
            names=names,
        )

    def in_users_columns(self, n_variables: int) -> np.ndarray:
        """Return the values of the user's columns in their order and with their signs, shape (N, M)."""
        values = np.zeros((n_variables, self.values.shape[1]))
        own = self.order < n_variables
        values[self.order[own]] = self.values[own] * self.signs[own, np.newaxis]
        return values


def _order_and_signs(values, columns):
    """Return the columns by their fourth and third moments, and for each the sign that makes the third positive."""
    third, fourth = (np.array([np.mean(values[k] ** power) for k in columns]) for power in (3, 4))
    order = np.lexsort((np.abs(third), fourth))
    return columns[order], np.where(third[order] < 0, -1.0, 1.0)
