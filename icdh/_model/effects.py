"""Effects of an intervention on one variable on another: curves of means, and a table of all pairs."""

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from icdh import graphs
from icdh._ground.arrays import Floats, Integers
from icdh._ground.checks import as_float, check_number, random_generator
from icdh._ground.labels import variable_index
from icdh._ground.shell import shell
from icdh._model.conditionals import is_of_labels
from icdh._model.intervene import Rows, drawn, under
from icdh._table.categories import holds_text
from icdh._table.frames import records_as_frame

if TYPE_CHECKING:
    from icdh._model.structural import StructuralModel

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
    values: Any
    mean: Floats
    std: Floats
    lower: Floats | None = None
    upper: Floats | None = None

    def plot(self, ax: Any = None) -> Any:
        """Draw mean, band and spread, and return the matplotlib figure; needs the extra ``[plot]``."""
        return shell("plotting").plot_effect(self, ax)


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
    model: "StructuralModel",
    cause: Hashable,
    effect: Hashable,
    values: Any,
    *,
    n_samples: int = 10_000,
    models: Sequence["StructuralModel"] = (),
    level: float = 0.9,
    random_state: Any = 0,
) -> AverageEffect:
    """Return the mean of an effect for values that an intervention sets for its cause.

    Parameters
    ----------
    cause, effect : str or int
        The variables.
    values : float or array_like, shape (K,)
        The values set for the cause, in its units.
    n_samples : int
        How many rows are drawn; every value meets the same noise.
    models : sequence of StructuralModel
        Other fits, such as those of `icdh.refits` to resampled rows: the band is theirs.
    level : float
        The share of these fits that the band holds.
    random_state : int, SeedSequence, Generator or None
        Draws the noise.

    Returns
    -------
    icdh._model.effects.AverageEffect
        Mean, standard deviation and band of the effect at every value; ``plot()`` draws them.

    Raises
    ------
    ValueError, TypeError
        If an argument is not what it should be.
    """
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
    seed = int(random_generator(random_state).integers(2**63))
    mean, std = _curve(model, source, target, points, n_samples, seed)
    answer = AverageEffect(model.names[source], model.names[target], shown, mean, std)
    if not len(models):
        return answer
    means = [_curve(other, source, target, points, n_samples, seed)[0] for other in models]
    lower, upper = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return answer._replace(lower=lower, upper=upper)


def _points(model: "StructuralModel", source: int, values: Any) -> tuple[Any, Floats]:
    """Return what the cause is set to, as the user says it and as numbers, each of shape (K,)."""
    known = model.categories.get(source)
    if known is None or (known.ordered and not holds_text(values)):
        points = np.atleast_1d(as_float(np.asarray(values), "values"))
        return points, points
    labels = np.atleast_1d(np.asarray(values, dtype=object))
    return labels, known.encoded(list(labels.ravel()), "values")


def _curve(
    model: "StructuralModel", source: int, target: int, points: Floats, n_samples: int, seed: int
) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the target at every point, each of shape (K,)."""
    rows = drawn(model, n_samples, np.random.default_rng(seed))
    results = [under(model, rows, {source: float(point)})[target] for point in points]
    return np.array([r.mean() for r in results]), np.array([r.std() for r in results])


def effects(model: "StructuralModel", *, n_samples: int = 2000, random_state: Any = 0) -> Any:
    """Return the total effects of all variables on all that they reach, strongest first.

    Parameters
    ----------
    n_samples : int
        How many rows are drawn; every intervention meets the same noise.
    random_state : int, SeedSequence, Generator or None
        Draws the noise.

    Returns
    -------
    list of icdh._model.effects.TotalEffect, or DataFrame
        One entry for every ordered pair with a directed path; all others have no effect.
    """
    records = total_effects(model, n_samples, random_state)
    return records_as_frame(model.frame, records, TotalEffect._fields)


def total_effects(model: "StructuralModel", n_samples: int = 2000, random_state: Any = 0) -> list[TotalEffect]:
    """Return what `effects` tabulates as a list."""
    check_number("n_samples", n_samples, low=2, integer=True)
    rows = drawn(model, n_samples, random_generator(random_state))
    reach = graphs.descendants(model.adjacency)
    labels = np.array([is_of_labels(conditional) for conditional in model.conditionals])
    total = []
    for cause in range(len(model.names)):
        reached = np.flatnonzero(reach[cause] & ~labels)
        if reached.size:
            measure = _effects_of_labels if labels[cause] else _effects_of_number
            numbers = np.array(measure(model, rows, cause, reached))
            total += [
                TotalEffect(model.names[cause], model.names[effect], float(change), float(strength), float(ratio))
                for effect, (change, strength, ratio) in zip(reached, numbers.T, strict=True)
            ]
    return sorted(total, key=lambda effect: -effect.strength)


def _effects_of_number(
    model: "StructuralModel", rows: Rows, cause: int, reached: Integers
) -> tuple[Floats, list[float], list[float]]:
    """Return change, strength and ratio of spreads of every effect."""
    natural = rows.values[cause]
    low, high = (under(model, rows, {cause: float(point)})[reached] for point in np.quantile(natural, LOW_AND_HIGH))
    curve = [under(model, rows, {cause: float(point)})[reached].mean(axis=1) for point in np.quantile(natural, CURVE)]
    change = (high.mean(axis=1) - low.mean(axis=1)) / 2
    strength = _ratios(np.std(curve, axis=0), rows.values[reached].std(axis=1), of_zeros=0.0)
    return change, strength, _ratios(high.std(axis=1), low.std(axis=1))


def _effects_of_labels(
    model: "StructuralModel", rows: Rows, cause: int, reached: Integers
) -> tuple[Floats, list[float], list[float]]:
    codes, counts = np.unique(rows.values[cause], return_counts=True)
    results = [under(model, rows, {cause: float(code)})[reached] for code in codes]
    means = np.array([result.mean(axis=1) for result in results])
    spreads = np.array([result.std(axis=1) for result in results])
    about = means - np.average(means, axis=0, weights=counts)
    deviation = np.sqrt(np.average(np.square(about), axis=0, weights=counts))
    strength = _ratios(deviation, rows.values[reached].std(axis=1), of_zeros=0.0)
    return np.ptp(means, axis=0) / 2, strength, _ratios(spreads.max(axis=0), spreads.min(axis=0))


def _ratios(above: Floats, below: Floats, of_zeros: float = 1.0) -> list[float]:
    return [a / b if b > 0.0 else math.inf if a > 0.0 else of_zeros for a, b in zip(above, below, strict=True)]
