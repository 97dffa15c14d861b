"""Imputation: missing values drawn from a fitted model given the observed ones, and fits to what was drawn in turn."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from icdh._ground.arrays import Floats, Mask
from icdh._ground.clock import Clock
from icdh._model.conditionals import Conditional, has_probabilities, log_density, nearest, response
from icdh._model.structural import StructuralModel
from icdh._table.missing import neighbours_values
from icdh._table.table import LEVEL_KINDS, Table

if TYPE_CHECKING:
    from icdh._estimators.base import CausalGraphEstimator

Fitted = TypeVar("Fitted", bound="CausalGraphEstimator")


def redrawn(model: "StructuralModel", table: Table, gaps: Mask, rng: np.random.Generator) -> Table:
    """Return a completed table with new draws in its gaps, as `draw_gaps`, in the variables' units.

    Draws of a discrete variable, or of one recorded on a grid, are rounded to the nearest of its observed values.
    """
    varying = table.varying[:, np.newaxis]
    values = model.scaling.undo(draw_gaps(model, model.scaling.apply(table.values), gaps & varying, rng))
    for n, kind in enumerate(model.kinds or table.kinds):
        if kind in (*LEVEL_KINDS, "gridded"):
            levels = np.unique(table.values[n, ~gaps[n]])
            values[n] = levels[nearest(levels, values[n])]
    return replace(table, values=np.where(gaps, values, table.values), imputed=gaps)


def draw_gaps(model: "StructuralModel", values: Floats, gaps: Mask, rng: np.random.Generator) -> Floats:
    """Return scaled values with new draws in the gaps, shape (N, M).

    A Metropolis walk visits the gaps variable by variable, all rows at once. Proposals alternate between draws given
    the causes and steps of a random walk. The target density is that of the variable given its causes times those of
    its effects given theirs, with Gaussian noise.

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
            values[n, gaps[n]] = _stepped(model.conditionals, rows, int(n), effects[n], sweep % 2 == 1, rng)
    return values


def _stepped(
    conditionals: Sequence[Conditional],
    rows: Floats,
    n: int,
    effects: Sequence[int],
    walks: bool,
    rng: np.random.Generator,
) -> Floats:
    """Return what one step of the walk makes of variable n in these rows, shape (rows,)."""
    proposed, gain = rows.copy(), np.zeros(rows.shape[1])
    if has_probabilities(conditionals[n]):  # a walk is one of densities
        proposed[n] = response(conditionals[n], rows, rng.random((rows.shape[1],)))
    else:
        proposed[n], gain = _proposed_number(conditionals[n], rows, n, walks, rng)
    gain = gain + _log_density(conditionals, proposed, effects) - _log_density(conditionals, rows, effects)
    accepted = np.log(rng.random((rows.shape[1],))) < gain
    stepped: Floats = np.where(accepted, proposed[n], rows[n])
    return stepped


def _proposed_number(
    conditional: Conditional, rows: Floats, n: int, walks: bool, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return proposals, and their own part of the gain; draws given the causes already follow their density."""
    mean, scale = conditional.mean_and_scale(rows)
    noise = rng.standard_normal(rows.shape[1])
    if not walks:
        return mean + scale * noise, np.zeros_like(mean)
    proposed = rows[n] + 0.5 * scale * noise
    return proposed, (np.square(rows[n] - mean) - np.square(proposed - mean)) / (2.0 * np.square(scale))


def _log_density(conditionals: Sequence[Conditional], rows: Floats, nodes: Sequence[int]) -> Floats:
    """Return the log density of some variables given their causes, shape (rows,)."""
    return sum((log_density(conditionals[j], rows[j], rows) for j in nodes), np.zeros(rows.shape[1]))


def fits_to_imputed(
    fit: Callable[[Table], Fitted], table: Table, n_imputations: int, rng: np.random.Generator, clock: Clock
) -> tuple[list[Fitted], list[warnings.WarningMessage]]:
    """Return fits to imputed tables, each drawn from the fit before, and what the last fit warned of.

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
    """
    completed = replace(table, values=neighbours_values(table, rng), imputed=table.gaps)
    fits: list[Fitted] = []
    while True:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            fits.append(fit(completed))
        if len(fits) == n_imputations or fits[-1].interrupted_ or clock.is_over:
            return fits, said
        completed = redrawn(fits[-1].model_, completed, table.gaps, rng)
