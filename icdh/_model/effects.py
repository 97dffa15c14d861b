"""Effects of an intervention on one variable on another: curves of means, and a table of all pairs."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from icdh import graphs
from icdh._ground.checks import as_float, check_number, random_generator
from icdh._ground.labels import variable_index
from icdh._model.conditionals import is_of_labels
from icdh._model.intervene import drawn, under
from icdh._table.categories import holds_text

CURVE = np.linspace(0.05, 0.95, 9)  # the quantiles of a cause at which the curve of a total effect is taken
LOW_AND_HIGH = (0.1587, 0.8413)  # quantiles: one standard deviation below and above the mean of a Gaussian


class AverageEffect(NamedTuple):
    """The average effect of one variable on another.

    Attributes
    ----------
    cause, effect : str
        The variables.
    values : ndarray, shape (K,)
        The values set for the cause, in its units, or its labels.
    mean, std : ndarray, shape (K,)
        Mean and standard deviation of the effect at each of these values, in its units.
    lower, upper : ndarray, shape (K,), or None
        The band of the mean over other fits; None if there are none.
    """

    cause: str
    effect: str
    values: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None

    def plot(self, ax: Any = None):
        """Draw mean, band and spread, and return the matplotlib figure; needs the extra ``[plot]``."""
        from icdh.plotting import plot_effect

        return plot_effect(self, ax)


class TotalEffect(NamedTuple):
    """The effect of a variable on one of its descendants, along all paths together.

    Attributes
    ----------
    cause, effect : str
        The variables.
    change : float
        Half the change of the effect's mean when the cause is set from its 16 % to its 84 % quantile (of a Gaussian,
        one standard deviation below its mean and one above), in units of the effect.
    strength : float
        The standard deviation of the effect's mean as the cause is set to its quantiles from 5 to 95 %, divided by
        the standard deviation of the effect. It also detects effects that rise and fall.
    spread_ratio : float
        The standard deviation of the effect with the cause at its 84 % quantile, over that with the cause at 16 %.

    Notes
    -----
    A cause of labels is set to all of them: ``change`` is then half the range of the effect's mean, ``strength`` the
    standard deviation of that mean over the labels as frequent as they are, and ``spread_ratio`` the largest standard
    deviation over the smallest.
    """

    cause: str
    effect: str
    change: float
    strength: float
    spread_ratio: float


def average_effect(
    model: Any,
    cause: Any,
    effect: Any,
    values: Any,
    n_samples: int = 10_000,
    models: Sequence = (),
    level: float = 0.9,
    random_state: Any = 0,
) -> AverageEffect:
    """Return what `icdh._model.structural.StructuralModel.average_effect` says."""
    check_number("n_samples", n_samples, low=1, integer=True)
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be between 0 and 1; got {level!r}")
    source, target = (variable_index(key, model.names, name) for name, key in (("cause", cause), ("effect", effect)))
    if is_of_labels(model.conditionals[target]):
        raise ValueError(f"effect is {effect!r}, which has labels and no mean; count those of sample(do=...)")
    shown, points = _points(model, source, values)
    if points.ndim != 1 or not points.size or not np.isfinite(points).all():
        raise ValueError(f"values must be one finite number or several, shape (K,); got {values!r}")
    for other in models:
        if other.names != model.names or other.categories != model.categories:
            raise ValueError("models must hold fits of the same variables, in the same order, as this model")
    seed = random_generator(random_state).integers(2**63)
    mean, std = _curve(model, source, target, points, n_samples, seed)
    band = (None, None)
    if len(models):
        means = [_curve(other, source, target, points, n_samples, seed)[0] for other in models]
        band = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return AverageEffect(model.names[source], model.names[target], shown, mean, std, *band)


def _points(model, source, values):
    """Return what the cause is set to, as the user says it and as numbers, each of shape (K,)."""
    known = model.categories.get(source)
    if known is None or (known.ordered and not holds_text(values)):
        points = np.atleast_1d(as_float(np.asarray(values), "values"))
        return points, points
    labels = np.atleast_1d(np.asarray(values, dtype=object))
    return labels, known.encoded(list(labels.ravel()), "values")


def _curve(model, source, target, points, n_samples, seed):
    """Return mean and standard deviation of the target at every point, each of shape (K,)."""
    rows = drawn(model, n_samples, np.random.default_rng(seed))
    results = [under(model, rows, {source: float(point)})[target] for point in points]
    return np.array([r.mean() for r in results]), np.array([r.std() for r in results])


def total_effects(model: Any, n_samples: int = 2000, random_state: Any = 0) -> list[TotalEffect]:
    """Return the effects of all variables on all that they reach, strongest first."""
    check_number("n_samples", n_samples, low=2, integer=True)
    rows = drawn(model, n_samples, random_generator(random_state))
    reach = graphs.descendants(model.adjacency)
    labels = np.array([is_of_labels(conditional) for conditional in model.conditionals])
    effects = []
    for cause in range(len(model.names)):
        reached = np.flatnonzero(reach[cause] & ~labels)
        if reached.size:
            measure = _effects_of_labels if labels[cause] else _effects_of_number
            numbers = np.array(measure(model, rows, cause, reached))
            effects += [
                TotalEffect(model.names[cause], model.names[effect], *map(float, own))
                for effect, own in zip(reached, numbers.T, strict=True)
            ]
    return sorted(effects, key=lambda effect: -effect.strength)


def _effects_of_number(model, rows, cause, reached):
    """Return change, strength and ratio of spreads of every effect."""
    natural = rows.values[cause]
    low, high = (under(model, rows, {cause: float(point)})[reached] for point in np.quantile(natural, LOW_AND_HIGH))
    curve = [under(model, rows, {cause: float(point)})[reached].mean(axis=1) for point in np.quantile(natural, CURVE)]
    change = (high.mean(axis=1) - low.mean(axis=1)) / 2
    strength = [_ratio(*pair) for pair in zip(np.std(curve, axis=0), rows.values[reached].std(axis=1), strict=True)]
    spread = [_ratio(*pair) for pair in zip(high.std(axis=1), low.std(axis=1), strict=True)]
    return change, strength, spread


def _effects_of_labels(model, rows, cause, reached):
    codes, counts = np.unique(rows.values[cause], return_counts=True)
    results = [under(model, rows, {cause: float(code)})[reached] for code in codes]
    means, spreads = (np.array([getattr(own, moment)(axis=1) for own in results]) for moment in ("mean", "std"))
    about = means - np.average(means, axis=0, weights=counts)
    deviation = np.sqrt(np.average(np.square(about), axis=0, weights=counts))
    strength = [_ratio(*pair) for pair in zip(deviation, rows.values[reached].std(axis=1), strict=True)]
    ratio = [_ratio(*pair) for pair in zip(spreads.max(axis=0), spreads.min(axis=0), strict=True)]
    return np.ptp(means, axis=0) / 2, strength, ratio


def _ratio(above, below):
    if below > 0.0:
        return above / below
    return math.inf if above > 0.0 else 1.0
