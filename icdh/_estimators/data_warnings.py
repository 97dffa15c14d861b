"""Warnings of the estimators about tables: guessed kinds, unusual units, computed columns, dependent rows."""

from collections.abc import Hashable, Sequence

import numpy as np

from icdh._ground.arrays import ByColumn, Floats
from icdh._ground.labels import listed
from icdh._model.conditionals import is_of_labels
from icdh._model.structural import StructuralModel
from icdh._rows.repeats import Repeats, repeated_combinations
from icdh._rows.serial import Sequence as SerialRows
from icdh._rows.serial import serial_dependence
from icdh._table.experiments import Design
from icdh._table.table import Scaling, Table
from icdh.exceptions import DataWarning, option, warn

DETERMINED = 0.01  # of the spread of a column

READINGS = {"binary": "yes/no", "ordinal": "grades", "categorical": "labels"}  # of kinds of columns, in words


def warn_about_guessed_kinds(table: Table, kinds: Sequence[str], declared: ByColumn[str] | None) -> None:
    """Name the columns whose kind was guessed, unless it is that of any number.

    Parameters
    ----------
    table : Table
        The columns.
    kinds : sequence of str
        Their kinds.
    declared : mapping or None
        The kinds that the user named, by column.
    """
    told = {table.position(column) for column in declared or ()}
    told |= {k for k, known in table.categories.items() if known.declared}
    guessed = {
        kind: [table.names[k] for k, guess in enumerate(kinds) if guess == kind and k not in told] for kind in READINGS
    }
    guessed = {kind: names for kind, names in guessed.items() if names}
    if guessed:
        readings = "; as ".join(f"{READINGS[kind]}: {_quoted(names)}" for kind, names in guessed.items())
        kind, names = list(guessed.items())[-1]
        other = "to confirm," if kind == "categorical" else "mere codes?"
        warn(f"read as {readings}; {other} say {option('kinds', {names[0]: 'categorical'})}", DataWarning)


def _quoted(names: Sequence[Hashable]) -> str:
    return ", ".join(map(repr, names))


def warn_about_determined_columns(model: StructuralModel, table: Table) -> None:
    """Name the columns that the fitted model leaves hardly any noise, without those that a threshold gives.

    Parameters
    ----------
    model : StructuralModel
        The fitted model.
    table : Table
        The columns.
    """
    from icdh._node_model._kernels import VARIANCE_FLOOR

    named, values = table.cuts, model.scaled(table)  # `Table.warn` names the cuts
    for name, conditional in zip(model.names, model.conditionals, strict=True):
        if is_of_labels(conditional) or name in named:
            continue
        _, deviation = conditional.mean_and_scale(values)
        if len(conditional.inputs) and np.quantile(deviation**2, 0.9) < 2 * VARIANCE_FLOOR:
            labels = ", ".join(repr(model.names[k]) for k in conditional.inputs)
            warn(
                f"column {name!r} is determined by {labels} up to a hundredth of its spread or less: a "
                "model of noise cannot tell the direction of these edges; drop columns computed from others",
                DataWarning,
            )


def warn_about_dependent_rows(model: StructuralModel, table: Table, design: Design) -> None:
    """Say if rows depend on one another: what tells it, how many rows the table is worth, and the remedy.

    Parameters
    ----------
    model : StructuralModel
        The fitted model.
    table : Table
        The columns; nothing is said where it knows which rows depend on one another.
    design : Design
        The interventions.
    """
    if table.related is not None:
        return
    repeats = repeated_combinations(table.values)
    if repeats is not None:
        names = [table.names[k] for k in repeats.columns]
        warn(said_of_repeats(repeats, names, table.n_observations), DataWarning)
        return
    serial = serial_dependence(table.values, model.standardised_residuals(model.scaled(table)), design.classes)
    if serial is not None:
        warn(_of_sequence(table, serial), DataWarning)


def said_of_repeats(repeats: Repeats, names: Sequence[Hashable], n_rows: int) -> str:
    """Return a text that says which columns repeat together in a table of so many rows, and the remedy."""
    worth = f"the table is worth about {repeats.n_distinct} independent rows"
    if repeats.whole_rows:
        return (
            f"{n_rows} rows hold {repeats.n_distinct} different ones: {worth}, and copies make edges and intervals too "
            f"sure; drop the copies, or pass {option('groups')} with one label for all copies of a row"
        )
    return (
        f"columns {listed(map(repr, names))} hold {repeats.n_distinct} different combinations in {n_rows} rows, as if "
        f"several rows came from each person or place: for edges among these columns {worth}; pass "
        f"{option('groups')} with one label a person, or keep one row a person"
    )


def _of_sequence(table: Table, serial: SerialRows) -> str:
    names = listed(map(repr, (table.names[k] for k in serial.columns)))
    return (
        f"rows depend on those before them in the columns {names}: for edges among these columns "
        f"{table.n_observations} rows are worth about {max(round(table.n_observations / serial.effect), 1)} "
        f"independent rows; pass {option('sequence', True)}, {option('groups')} if rows of the same unit follow each "
        "other, or take differences"
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


def warn_about_columns(table: Table, scaling: Scaling) -> None:
    """Name the columns whose spread is far from one, and those that are sums or multiples of those before them.

    Parameters
    ----------
    table : Table
        The columns.
    scaling : Scaling
        What is done to them before a fit.
    """
    spread = scaling.apply(table.values).std(axis=1)
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
    """Name sums up to a hundredth of their spread; of long columns some rows are enough, of few rows all are sums."""
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
    """Return values less their mean, over their length."""
    shares = values / (np.abs(values).max() or 1.0)
    shares -= shares.mean()
    return shares / (np.linalg.norm(shares) or 1.0)
