"""Missing values: rows left out, or imputation.

Imputation draws missing values from a fitted model given the observed ones, and fits to what was drawn in turn.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np

from icdh._model.structural import StructuralModel
from icdh._table.experiments import Design, InterventionsLike
from icdh._table.kinds import KINDS, nearest
from icdh._table.table import Table
from icdh._utils.arrays import Floats, Mask
from icdh._utils.clock import Clock
from icdh._utils.labels import counted, listed, plural
from icdh.exceptions import ConvergenceWarning, WarningList, collected_warnings, option, warn

MISSING = ("error", "drop", "impute")
CHUNK = 1000  # rows compared with all donors at once
logger = logging.getLogger("icdh")


class FittedEstimator(Protocol):
    """A fit, as far as imputation goes on from it."""

    model_: StructuralModel
    adjacency_matrix_: Floats
    interrupted_: bool
    timed_out_: bool


Fitted = TypeVar("Fitted", bound=FittedEstimator)


def without_gaps(table: Table, interventions: InterventionsLike) -> tuple[Table, Design]:
    """Return the rows of a table that have no gaps, and what was done to them; warn if they are few.

    Raises
    ------
    ValueError
        If fewer than two rows are complete.
    """
    rows: Mask = np.logical_not(table.gaps.any(axis=0))
    n_complete = np.count_nonzero(rows)
    if n_complete < min(2, rows.size):
        raise ValueError(
            f"{option('missing', 'drop')} leaves {n_complete} of {counted(rows.size, 'row')}; use "
            f"{option('missing', 'impute')}, or drop the columns with most gaps"
        )
    if 2 * n_complete < rows.size:
        drops, imputes = option("missing", "drop"), option("missing", "impute")
        warn(f"{drops} keeps {n_complete} of {rows.size} rows; {imputes} keeps all")
    design = Design.of(interventions, table, rows)
    if n_complete < rows.size:
        logger.info("%d of %d rows have gaps and are left out", rows.size - n_complete, rows.size)
        table = table.of_rows(rows).of_its_labels()
    return table, design


def neighbours_values(table: Table, rng: np.random.Generator) -> Floats:
    """Return the values with every gap filled from a similar row, shape (N, M).

    Each gap takes the value of a donor drawn from the five nearest rows that have one. The distance is the mean squared
    difference of standardised columns over the cells that both rows have. At most 2000 random rows are donors. Unlike
    means, donated values keep spread, skewness and dependence, so that a first graph can be learned from them.

    Parameters
    ----------
    table : Table
        With gaps as NaN.
    rng : Generator
        Source of randomness.
    """
    values: Floats = table.values.copy()
    mean, spread = np.nanmean(values, axis=1, keepdims=True), np.nanstd(values, axis=1, keepdims=True)
    scaled: Floats = (values - mean) / np.where(spread > 0.0, spread, 1.0)
    donors = rng.permutation(values.shape[1])[:2000]
    receivers = np.flatnonzero(table.gaps.any(axis=0))
    for start in range(0, receivers.size, CHUNK):
        rows = receivers[start : start + CHUNK]
        distance = _distances(scaled[:, rows], scaled[:, donors])
        for n in np.flatnonzero(table.gaps[:, rows].any(axis=1)):
            giving = np.flatnonzero(~table.gaps[n, donors])
            if giving.size == 0:
                donated = rng.choice(table.values[n, ~table.gaps[n]], size=np.count_nonzero(table.gaps[n, rows]))
            else:
                near = np.argsort(distance[table.gaps[n, rows]][:, giving], axis=1, kind="stable")[:, :5]
                chosen = near[np.arange(len(near)), rng.integers(near.shape[1], size=len(near))]
                donated = table.values[n, donors[giving[chosen]]]
            values[n, rows[table.gaps[n, rows]]] = donated
    return values


def _distances(a: Floats, b: Floats) -> Floats:
    """Return mean squared differences between columns of a and b over shared cells; infinite if there are none."""
    has_a, has_b = (~np.isnan(x) for x in (a, b))
    a, b = np.nan_to_num(a), np.nan_to_num(b)
    total = (a**2).T @ has_b + has_a.T @ b**2 - 2.0 * a.T @ b
    shared = has_a.T.astype(float) @ has_b
    return np.where(shared > 0.0, total / np.maximum(shared, 1.0), np.inf)


def redrawn(model: StructuralModel, table: Table, gaps: Mask, rng: np.random.Generator) -> Table:
    """Return a completed table with new draws in its gaps, as `draw_gaps`, in the variables' units.

    Draws of a discrete variable, or of one recorded on a grid, are rounded to the nearest of its observed values.
    """
    varying = table.varying[:, np.newaxis]
    scaling = model.columns.scaling
    values = scaling.undo(draw_gaps(model, scaling.apply(table.values), gaps & varying, rng))
    for n, kind in enumerate(model.columns.kinds or table.kinds):
        if KINDS[kind].repeats:
            levels = np.unique(table.values[n, ~gaps[n]])
            values[n] = levels[nearest(levels, values[n])]
    return replace(table, values=np.where(gaps, values, table.values), imputed=gaps)


def draw_gaps(model: StructuralModel, values: Floats, gaps: Mask, rng: np.random.Generator) -> Floats:
    """Return scaled values with new draws in the gaps, shape (N, M).

    A Metropolis walk visits the gaps variable by variable, all rows at once. Proposals alternate between draws given
    the causes and steps of a random walk. The target density is that of the variable given its causes times those of
    its effects given theirs.

    Parameters
    ----------
    model : StructuralModel
        Fitted to ``values``.
    values : ndarray, shape (N, M)
        Scaled and complete: where the walk starts.
    gaps : ndarray of bool, shape (N, M)
        What to draw.
    rng : Generator
        Source of randomness.
    """
    values = values.copy()
    effects = [[j for j, other in enumerate(model.conditionals) if n in other.inputs] for n in range(len(values))]
    for sweep in range(10):
        for n in np.flatnonzero(gaps.any(axis=1)):
            rows = values[:, gaps[n]]
            values[n, gaps[n]] = _stepped(model, rows, int(n), effects[n], sweep % 2 == 1, rng)
    return values


def _stepped(
    model: StructuralModel, rows: Floats, n: int, effects: Sequence[int], walks: bool, rng: np.random.Generator
) -> Floats:
    """Return what one step of the walk makes of variable n in these rows, shape (rows,)."""
    conditional, size = model.conditionals[n], rows.shape[1]
    proposed, gain = rows.copy(), np.zeros(size)
    if walks and conditional.law.has_density(rows[n]).all():
        _, deviation = conditional.mean_and_scale(rows)
        proposed[n] = rows[n] + 0.5 * deviation * rng.standard_normal(size)
        gain = conditional.log_density(proposed[n], rows) - conditional.log_density(rows[n], rows)
    else:  # draws given the causes follow their density
        proposed[n] = conditional.draw(rows, conditional.law.draw_noise(size, rng))
    gain = gain + _log_density(model, proposed, effects) - _log_density(model, rows, effects)
    accepted = np.log(rng.random((size,))) < gain
    stepped: Floats = np.where(accepted, proposed[n], rows[n])
    return stepped


def _log_density(model: StructuralModel, rows: Floats, nodes: Sequence[int]) -> Floats:
    """Return the log density of some variables given their causes, shape (rows,)."""
    return sum((model.conditionals[j].log_density(rows[j], rows) for j in nodes), np.zeros(rows.shape[1]))


def fit_to_imputed(
    fit: Callable[[Table], Fitted], table: Table, n_imputations: int, rng: np.random.Generator, clock: Clock
) -> tuple[Fitted, dict[str, object], WarningList]:
    """Fit to imputed tables, each drawn from the fit before; return the fit whose graph is most typical.

    Parameters
    ----------
    fit : callable
        Returns a new estimator, fitted to a table without gaps.
    table : Table
        The table.
    n_imputations : int
        The number of fits.
    rng : Generator
        Draws values.
    clock : Clock
        Ends the fits, the first one aside.

    Returns
    -------
    typical : CausalGraphEstimator
        One of the fits.
    of_all : dict
        The attributes of an estimator that are about all fits.
    to_say : list of (str, type)
        What to warn of: the messages of the last fit, and their classes.
    """
    counts = table.gaps.sum(axis=1)
    if columns := [f"{table.names[n]!r} ({counts[n]})" for n in np.flatnonzero(2 * counts > table.n_observations)]:
        warn(
            f"{plural(columns, 'column')} of which more than half of {table.n_observations} rows are imputed: "
            f"{listed(columns)}; drop {'it' if len(columns) == 1 else 'them'}, unless gaps come by chance alone"
        )
    completed = replace(table, values=neighbours_values(table, rng), imputed=table.gaps)
    fits: list[Fitted] = []
    while True:
        with collected_warnings() as to_say:
            fits.append(fit(completed))
        if len(fits) == n_imputations or fits[-1].interrupted_ or clock.is_over:
            break
        completed = redrawn(fits[-1].model_, completed, table.gaps, rng)
    is_cut = len(fits) < n_imputations and not fits[-1].interrupted_
    if is_cut:
        ended = f"{option('max_seconds', clock.max_seconds)} ended the fit"
        done = f"{len(fits)} of {n_imputations} imputations"
        to_say = [(message, category) for message, category in to_say if category is not ConvergenceWarning]
        to_say.append((f"{ended} after {done}; the best one is kept", ConvergenceWarning))
    # The first fit, on values of similar rows and not of a model, counts only if it is the only one.
    whole = [fitted for fitted in fits[1:] if not fitted.timed_out_] or fits[:1]
    graphs = np.array([fitted.adjacency_matrix_ != 0 for fitted in whole])
    probability = graphs.mean(axis=0)
    distances = np.abs(graphs - probability).sum(axis=(1, 2))
    # Of equal ones the last: values of similar rows understate dependence, and the first draws still remember them.
    typical = whole[int(np.flatnonzero(distances == distances.min())[-1])]
    late = is_cut or typical.timed_out_
    return typical, {"edge_probability_": probability, "imputations_": whole, "timed_out_": late}, to_say
