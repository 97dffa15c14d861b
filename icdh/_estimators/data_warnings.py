"""Warnings of the estimators about tables: unusual units, computed columns, dependent rows."""

import numpy as np

from icdh._ground.arrays import Floats
from icdh._ground.labels import listed
from icdh._model.conditionals import is_of_labels
from icdh._model.structural import StructuralModel
from icdh._rows.dependence import dependence
from icdh._table.experiments import Design
from icdh._table.table import Table
from icdh.exceptions import DataWarning, option, warn

DETERMINED = 0.01  # of the spread of a column


def warn_about_fit(model: StructuralModel, table: Table, design: Design) -> None:
    """Name columns that the fitted model leaves hardly any noise; say if rows depend on one another, and the remedy.

    Parameters
    ----------
    model : StructuralModel
        The fitted model. Columns that it determines are named if it is of standardised columns, as that of `HNMSearch`.
    table : Table
        The columns. Rows that it knows to depend on one another, and columns that a threshold gives, are not named.
    design : Design
        The interventions.
    """
    values = model.scaled(table)
    if model.kinds is not None:
        _warn_about_determined_columns(model, table, values)
    if table.related is not None:
        return
    if found := dependence(table.values, model.standardised_residuals(values)):
        warn(found.said(table.names, table.n_observations), DataWarning)


def _warn_about_determined_columns(model: StructuralModel, table: Table, values: Floats) -> None:
    from icdh._node_model._kernels import VARIANCE_FLOOR

    for name, conditional in zip(model.names, model.conditionals, strict=True):
        if is_of_labels(conditional) or name in table.cuts:  # `Table.warn` names the cuts
            continue
        _, deviation = conditional.mean_and_scale(values)
        if len(conditional.inputs) and np.quantile(deviation**2, 0.9) < 2 * VARIANCE_FLOOR:
            labels = ", ".join(repr(model.names[k]) for k in conditional.inputs)
            warn(
                f"column {name!r} is determined by {labels} up to a hundredth of its spread or less: a "
                "model of noise cannot tell the direction of these edges; drop columns computed from others",
                DataWarning,
            )


def warn_about_density(A: Floats) -> None:
    """Say that a graph has more than half of the possible edges.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Its adjacency matrix.
    """
    N, edges = len(A), np.count_nonzero(A)
    possible = N * (N - 1) // 2
    if N >= 8 and 2 * edges > possible:  # among fewer variables so dense a graph is nothing remarkable
        warn(
            f"{edges} of {possible} possible edges: so dense a graph says little, and common causes that were not "
            f"measured may be behind it; keep the strongest by {option('min_strength')} or {option('max_edges')}",
            DataWarning,
        )


def warn_about_columns(table: Table, scaled: Floats) -> None:
    """Name the columns whose spread is far from one, and those that are sums or multiples of those before them.

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
            f"penalties and threshold are made for; use {option('scaling', 'standardize')}",
            DataWarning,
        )
    _warn_about_sums(table)


def _warn_about_sums(table: Table) -> None:
    """Name columns that others sum up to but for a hundredth of their spread; none if rows are so few that all are."""
    varying = np.flatnonzero(table.varying)
    first = {table.values[n].tobytes(): n for n in varying[::-1]}
    varying = np.sort(np.fromiter(first.values(), dtype=int))  # `Table.warn` names columns that repeat others
    values = table.values[varying, :: -(-table.n_observations // 2000)]
    if values.shape[1] < 2 * varying.size:
        return
    found, independent, basis = [], [], np.empty((0, values.shape[1]))
    for n, column in enumerate(map(_unit, values)):
        left = column - (basis @ column) @ basis
        left -= (basis @ left) @ basis  # only rounding errors are left
        if np.linalg.norm(left) > DETERMINED * np.linalg.norm(column):
            independent.append(n)
            basis = np.vstack([basis, left / np.linalg.norm(left)])
        elif column.any():
            weights, *_ = np.linalg.lstsq(np.array([_unit(values[k]) for k in independent]).T, column, rcond=None)
            parts = [table.names[varying[k]] for k, w in zip(independent, weights, strict=True) if abs(w) > DETERMINED]
            found.append(f"{table.names[varying[n]]!r} (of {', '.join(map(repr, parts))})")
    if found:
        warn(
            f"column(s) that are sums or multiples of others, up to a hundredth of their spread: {'; '.join(found)}: a "
            "model of noise cannot tell the direction of their edges; drop columns computed from others",
            DataWarning,
        )


def _unit(values: Floats) -> Floats:
    """Return values minus their mean, divided by their norm."""
    shares = values / (np.abs(values).max() or 1.0)
    shares -= shares.mean()
    return shares / (np.linalg.norm(shares) or 1.0)
