"""Draws of missing values from a fitted model, given the observed values of the same row."""

from dataclasses import replace
from typing import Any

import numpy as np

from icdh._model.conditionals import has_probabilities, log_density, nearest, response
from icdh._table.table import LEVEL_KINDS, Table

SWEEPS = 10
STEP = 0.5  # of a random walk, in units of the standard deviation given the causes


def redrawn(model: Any, table: Table, gaps: np.ndarray, rng: np.random.Generator) -> Table:
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


def draw_gaps(model: Any, values: np.ndarray, gaps: np.ndarray, rng: np.random.Generator) -> np.ndarray:
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
    for sweep in range(SWEEPS):
        for n in np.flatnonzero(gaps.any(axis=1)):
            rows = values[:, gaps[n]]
            values[n, gaps[n]] = _stepped(model.conditionals, rows, n, effects[n], sweep % 2 == 1, rng)
    return values


def _stepped(conditionals, rows, n, effects, walks, rng):
    """Return what one step of the walk makes of variable n in these rows, shape (rows,)."""
    proposed = rows.copy()
    if has_probabilities(conditionals[n]):  # a walk is one of densities
        proposed[n], gain = response(conditionals[n], rows, rng.random(rows.shape[1])), 0.0
    else:
        proposed[n], gain = _proposed_number(conditionals[n], rows, n, walks, rng)
    gain = gain + _log_density(conditionals, proposed, effects) - _log_density(conditionals, rows, effects)
    accepted = np.log(rng.random(rows.shape[1])) < gain
    return np.where(accepted, proposed[n], rows[n])


def _proposed_number(conditional, rows, n, walks, rng):
    """Return proposals, and their own part of the gain; draws given the causes already follow their density."""
    mean, scale = conditional.mean_and_scale(rows)
    noise = rng.standard_normal(rows.shape[1])
    if not walks:
        return mean + scale * noise, 0.0
    proposed = rows[n] + STEP * scale * noise
    return proposed, (np.square(rows[n] - mean) - np.square(proposed - mean)) / (2.0 * np.square(scale))


def _log_density(conditionals, rows, nodes):
    """Return the log density of some variables given their causes, shape (rows,)."""
    return sum((log_density(conditionals[j], rows[j], rows) for j in nodes), np.zeros(rows.shape[1]))
