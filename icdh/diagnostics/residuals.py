"""The residuals of a model: the quantile residuals of every variable given its causes.

The distribution function of a variable at its value is uniform if the model is right, and independent of the causes. As
a Gaussian quantile it is the residual, whatever the noise. A value that has a probability, and one that stands for a
cell of a grid, gets a place that is drawn evenly between the distribution function below it and at it.

Node models have a floor under the variance: 0.3 % of the column's standard deviation. Where noise is as small as that,
the residual shows the floor, not the noise, and depends on the causes although the noise does not. So only those
observations count whose standard deviation is above 1 % of the column's. The causes alone choose them, so the noise of
a right model is independent there, too.

References
----------
Dunn, Smyth: "Randomized quantile residuals", J. Computational and Graphical Statistics 5 (1996).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from icdh._model.structural import StructuralModel
from icdh._node_model.family_models import RESOLVED_VARIANCE
from icdh._node_model.network import indicators
from icdh._node_model.noise import noise_gain
from icdh._node_model.pair_estimates import misfit_of_residual
from icdh._table.experiments import LEAST_PART
from icdh._table.table import Table
from icdh._utils.arrays import Floats, Mask

LEAST_PLACE = 1e-12  # of a quantile
RESOLVED = math.sqrt(RESOLVED_VARIANCE)  # standard deviations of a column


class Residual(NamedTuple):
    """The residual of a variable given its causes.

    Attributes
    ----------
    values : ndarray, shape (n,)
        At the observations that count for the variable and have noise enough to be seen.
    rows : ndarray of bool, shape (M,)
        Which of all observations these are.
    seen : ndarray of bool
        Which of those that count for the variable these are.
    mean : ndarray, shape (n,), or None
        The mean that the causes predict; None of few values and labels.
    noise : str
        What its distribution is called, and "none" of few values and labels, and without any residual.
    misfit : float
        The nats that single causes still tell of the residual.
    """

    values: Floats
    rows: Mask
    seen: Mask
    mean: Floats | None
    noise: str
    misfit: float = 0.0


def residuals_of(model: StructuralModel, table: Table, counts: Mask, rng: np.random.Generator) -> dict[int, Residual]:
    """Return the residuals of all variables of a model that vary, by their places in the table.

    Parameters
    ----------
    model : StructuralModel
        The model.
    table : Table
        Observations of its variables.
    counts : ndarray of bool, shape (N, M)
        The observations that count for each variable.
    rng : Generator
        Draws places in cells and between probabilities.
    """
    scaled, residuals = model.scaled(table), {}
    for node in np.flatnonzero(table.varying).tolist():
        counted = counts[node] & (np.count_nonzero(counts[node]) >= LEAST_PART)
        given = model.conditionals[node]
        law, outputs = given.law, given.outputs(model.others_held(node, scaled))
        density, seen = law.density, counted
        if density is not None:
            spread = density.location_and_scale(outputs)[1]
            seen = counted & (spread > RESOLVED * scaled[node].std())
        places = _places(model, node, table.values[node], scaled[node], outputs, rng)[seen]
        residual: Floats = ndtri(np.clip(places, LEAST_PLACE, 1.0 - LEAST_PLACE))
        parents = np.flatnonzero(model.adjacency[:, node]).tolist()
        causes = [_as_cause(table, cause)[:, seen] for cause in parents]
        noise, mean = "none", None
        if density is not None:
            mean = law.mean_and_scale(outputs)[0][seen]
            noise = noise_gain([residual], "auto", None)[1] if residual.size else noise
            noise = density.errors.name if noise == "gaussian" else noise
        misfit = misfit_of_residual(residual, causes)
        residuals[node] = Residual(residual, seen, seen[counts[node]], mean, noise, misfit)
    return residuals


def _places(
    model: StructuralModel, node: int, observed: Floats, scaled: Floats, outputs: Floats, rng: np.random.Generator
) -> Floats:
    """Return where observed values, and scaled, are in their distributions, those of a grid anywhere in their cells."""
    law = model.conditionals[node].law
    places = law.quantile_residuals(scaled, outputs, rng)
    if node not in model.columns.grids:
        return places
    ends = (model.columns.scaling.apply(end, node) for end in model.columns.grids[node].cells(observed))
    low, high = (law.quantile_residuals(end, outputs, rng) for end in ends)
    return np.where(law.has_density(scaled), low + (high - low) * rng.random(low.size), places)


def _as_cause(table: Table, variable: int) -> Floats:
    """Return a variable as a cause, shape (w, M): labels as indicators."""
    values = table.values[variable]
    return indicators(values, int(values.max()) + 1) if variable in table.unordered else values[np.newaxis]
