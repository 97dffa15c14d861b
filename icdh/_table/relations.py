"""Which rows of a user's table depend on one another: groups as a column or as labels, and rows in sequence."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from icdh._rows.related import RelatedRows
from icdh._table.experiments import Design, InterventionsLike
from icdh._table.frames import column_labels, without_column
from icdh._table.table import Table
from icdh._utils.arrays import TableLike
from icdh._utils.checks import check_same_rows
from icdh._utils.labels import counted

Groups = Hashable | Iterable[Hashable] | None


def without_groups(X: TableLike, groups: Groups) -> tuple[TableLike, list[Hashable] | None]:
    """Return a table without the column of its groups, and the label of every row's group; None without groups.

    Parameters
    ----------
    X : array_like or DataFrame, shape (M, N)
        The user's table.
    groups : column label, or array_like of shape (M,), optional
        A column of X by its label, or of an array by its number; or the labels.
    """
    if groups is None:
        return X, None
    if _is_column(groups, X):
        return without_column(X, groups)
    check_same_rows(X, groups, "groups")
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise TypeError(f"groups must name a column of X or hold a label for every row; got {groups!r}")
    labels = groups.tolist() if hasattr(groups, "tolist") else list(groups)  # pyright: ignore[reportAttributeAccessIssue]
    return X, labels


def _is_column(groups: Groups, X: TableLike) -> TypeGuard[Hashable]:
    if isinstance(X, Table) or not isinstance(groups, Hashable) or isinstance(groups, bool):
        return False
    if isinstance(groups, (str, bytes, int, np.integer)):
        return True
    return isinstance(groups, tuple) and groups in (column_labels(X) or [])


def with_relations(table: Table, labels: Sequence[Hashable] | None, sequence: bool) -> Table:
    """Return a table that knows which of its rows depend on one another.

    Parameters
    ----------
    table : Table
        The table.
    labels : sequence, optional
        The label of every row's group.
    sequence : bool
        Whether rows, of a group if there are any, are in sequence.

    Raises
    ------
    ValueError
        If there is not one label for every row, or one is missing.
    TypeError
        If a label is not hashable.
    """
    if not isinstance(sequence, bool):
        raise TypeError(f"sequence must be True or False; got {sequence!r}")
    if labels is None and not sequence:
        return table
    if labels is not None:
        _check(labels, table.n_observations)
    related = RelatedRows.of(labels, sequence, table.n_observations)
    return replace(table, related=None if labels is not None and related.are_independent else related)


def _check(labels: Sequence[Hashable], n_rows: int) -> None:
    if len(labels) != n_rows:
        raise ValueError(f"groups has {counted(len(labels), 'label')} where X has {counted(n_rows, 'row')}")
    for label in labels:
        if not isinstance(label, Hashable):
            raise TypeError(f"groups must hold a label for every row, such as a number or a name; got {label!r}")
        if label is None or label != label:  # NaN
            raise ValueError("groups has a gap: give every row a label, a row that stands alone one of its own")
    if len(set(labels)) == 1:
        raise ValueError(f"groups holds one label alone, {labels[0]!r}: nothing is left to compare; leave groups out")


def without_copies(table: Table, interventions: InterventionsLike) -> tuple[Table, InterventionsLike]:
    """Return one row of every group, if the rows of each group are equal, and what was done to them; else all."""
    related = table.related
    if related is None or related.places is not None:
        return table, interventions
    design = Design.of(interventions, table)
    _, first, group = np.unique(related.groups, return_index=True, return_inverse=True)
    copied = first[group.ravel()]
    parts = table.values, design.left_alone, design.contexts
    if not all(np.array_equal(part, part[:, copied], equal_nan=part.dtype != bool) for part in parts):
        return table, design
    rows = np.sort(first)
    return replace(table.of_rows(rows), related=None), design.of_rows(rows)
