"""Interventions on a fitted model: rows and their values after them, curves of means, and a table of all effects.

A fitted model is an invertible structural model: Z_n = mean_n(causes) + scale_n(causes) E_n determines E_n from Z. So
the three steps of a counterfactual, abduction (the noise of every row), action and prediction, need no assumption
beyond those of the fit.

What a cause is set from and to, and what is said of an effect of labels, is defined here once. A cause of two values
goes from the first to the second, "no" to "yes"; a cause of labels from its reference to each other label; numbers
and grades between the two of their values that are nearest to half a standard deviation below and above the mean.

References
----------
Pearl: "Causality: Models, Reasoning, and Inference", 2nd edition, 2009, Theorem 7.1.7.
Peters, Janzing, Schölkopf: "Elements of Causal Inference", 2017, Sections 6.3 and 6.4.
"""

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from icdh import graphs
from icdh._model.causal import CausalModel
from icdh._model.export import shell
from icdh._table.codes import Categories, Label
from icdh._table.experiments import Action, AsNumbers, actions_of, carry_out
from icdh._utils.arrays import ByColumn, Floats, RandomState
from icdh._utils.checks import LEVEL, Number, random_generator
from icdh._utils.labels import printable, short, variable_index
from icdh.exceptions import option, warn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


NO = frozenset({"0", "absent", "control", "false", "no", "none", "off", "placebo", "untreated"})
YES_AND_NO = ("t", "f"), ("y", "n")  # letters that mean "no" in these pairs alone: F beside M is female


class Contrast(NamedTuple):
    """Two values of a cause.

    Attributes
    ----------
    low, high : float
        From and to what the cause is set; codes of labels.
    reference, value : hashable
        The same as a user says them.
    """

    low: float
    high: float
    reference: Label
    value: Label

    def __str__(self) -> str:
        return " -> ".join(map(shown, (self.reference, self.value)))


def shown(value: Hashable) -> str:
    """Return a value of a variable as text."""
    return short(value, 4) if isinstance(value, float) else printable(value)


def contrasts_of(
    values: Floats, categories: Categories | None = None, contrast: Sequence[Label] | None = None
) -> list[Contrast]:
    """Return the contrasts of a cause.

    Parameters
    ----------
    values : ndarray, shape (n,)
        The values that the cause takes, not all of them equal; codes of labels.
    categories : Categories, optional
        Its labels.
    contrast : pair, optional
        From and to what the user sets the cause.

    Raises
    ------
    ValueError
        If ``contrast`` is no pair of different values that the cause may have.
    """
    if contrast is not None:
        return [_requested(contrast, categories)]
    taken = np.unique(values)
    if categories is not None:  # of ordered labels some may be declared that no row holds
        held = [(code, categories.labels[int(code)]) for code in taken.tolist()]
        code, label = held.pop(reference_of(categories._replace(labels=tuple(label for _, label in held))))
        return [Contrast(code, other, label, value) for other, value in held]
    if taken.size == 2:
        low, high = map(float, taken)
    else:
        unit = float(values.std())
        low = min(max(float(values.mean()) - unit / 2, float(taken[0])), float(taken[-1]) - unit)
        first, second = (int(np.argmin(np.abs(taken - value))) for value in (low, low + unit))
        first = min(first, taken.size - 2)
        low, high = float(taken[first]), float(taken[max(second, first + 1)])  # not the same value
    return [Contrast(low, high, low, high)]


def _requested(contrast: Sequence[Label], categories: Categories | None) -> Contrast:
    if np.ndim(contrast) != 1 or len(contrast) != 2:
        raise ValueError(f"contrast must be a pair: what the cause is set from, and to; got {contrast!r}")
    if categories is not None and categories.reads(contrast):
        low, high = categories.encoded(list(contrast), "contrast")
        pair = Contrast(float(low), float(high), *contrast)
    else:
        try:
            low, high = (float(value) for value in contrast)
        except (TypeError, ValueError) as error:
            raise ValueError(f"contrast must hold numbers, as the cause does; got {contrast!r}") from error
        pair = Contrast(low, high, low, high)
    if not np.isfinite(pair[:2]).all() or pair.low == pair.high:
        raise ValueError(f"contrast must hold two different finite values; got {contrast!r}")
    return pair


def reference_of(categories: Categories) -> int:
    """Return the code of the reference label: "no" beside "yes", else the first one."""
    words = tuple(str(label).casefold() for label in categories.labels)
    return int(words in YES_AND_NO or [word in NO for word in words] == [False, True])


def outcomes_of(categories: Categories | None) -> list[tuple[str, int | None]]:
    """Return the outcomes to compare, as text and code: the risk of each label, of two that of "yes"; or the mean."""
    if categories is None or categories.ordered:
        return [("", None)]
    several = len(categories.labels) > 2
    codes = range(len(categories.labels)) if several else [1 - reference_of(categories)]
    return [(printable(categories.labels[code]), code) for code in codes]


class Rows(NamedTuple):
    """Observations of a `StructuralModel` without interventions, one variable a row.

    Attributes
    ----------
    values : ndarray, shape (N, M)
        In the units of the data.
    scaled : ndarray, shape (N, M)
        The same, scaled.
    noise : ndarray, shape (N, M)
        The standardised noise of every variable.
    is_rounded : bool
        Whether numbers that an intervention changes are rounded as their column is. The noise of an observed number is
        that of the middle of its cell, so that all rows would be rounded the same way.
    """

    values: Floats
    scaled: Floats
    noise: Floats
    is_rounded: bool = True


def drawn(model: CausalModel, n_rows: int, rng: np.random.Generator) -> Rows:
    """Return rows drawn from a model, causes before effects."""
    values, noise = np.empty((len(model.names), n_rows)), np.empty((len(model.names), n_rows))
    scaled = np.repeat(model.columns.centre[:, np.newaxis], n_rows, axis=1)
    for node in model.causal_order():
        noise[node] = model.conditionals[node].law.draw_noise(n_rows, rng)
        scaled[node] = _natural(model, node, scaled, noise[node])
        values[node] = model.in_units(node, scaled[node])
    return Rows(values, scaled, noise)


def _natural(model: CausalModel, node: int, scaled: Floats, noise: Floats, is_rounded: bool = True) -> Floats:
    """Return a variable given its causes and its noise, all of shape (M,), rounded as its column is or not."""
    natural = model.conditionals[node].draw(model.others_held(node, scaled), noise)
    if not is_rounded or node not in model.columns.grids:
        return natural
    return model.columns.scaling.apply(model.in_units(node, natural), node)


def abducted(model: CausalModel, values: Floats, scaled: Floats) -> Rows:
    """Return observed rows with their noise under the model; values and scaled have shape (N, M).

    The noise of a label, a level or a point mass is not determined: it is NaN.
    """
    noise = np.full_like(scaled, np.nan)
    for node, conditional in enumerate(model.conditionals):
        if (of_rows := conditional.noise(scaled[node], model.others_held(node, scaled))) is not None:
            noise[node] = of_rows
    return Rows(values, scaled, noise, is_rounded=False)


def under(model: CausalModel, rows: Rows, do: ByColumn[object] | None, as_numbers: AsNumbers | None = None) -> Floats:
    """Return the rows under an intervention with the noise they have, shape (N, M), in the units of the data.

    Values that the intervention does not reach keep their bits. It must not reach rows whose noise is not
    determined: labels, levels and point masses.
    """
    values, scaled = rows.values.copy(), rows.scaled.copy()

    def in_units(node: int, natural: Floats) -> Floats:
        return model.in_units(node, natural, rows.is_rounded or bool(np.isnan(rows.noise[node]).any()))

    def respond(node: int, scaled: Floats) -> Floats:
        if np.isnan(rows.noise[node]).any():
            if node not in actions:
                value = "label" if node in model.nominal else model.conditionals[node].law.value
                raise ValueError(
                    f"the intervention reaches {model.names[node]!r}: what the {value} of a row would have been is not "
                    "determined; set it as well, or see what sample draws under the intervention"
                )
            as_set: Floats = scaled[node]
            return as_set
        natural = _natural(model, node, scaled, rows.noise[node], rows.is_rounded)
        values[node] = in_units(node, natural)
        return natural

    def on_scaled(node: int, action: Action) -> Action:
        def act(natural: Floats) -> Floats:
            values[node] = action(in_units(node, natural))
            return model.columns.scaled_action(node, values[node])

        return act

    actions = actions_of(do, model.names, values.shape[1], as_numbers)
    carry_out(model.adjacency, {node: on_scaled(node, action) for node, action in actions.items()}, scaled, respond)
    return values


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

    Examples
    --------
    >>> import numpy as np
    >>> import icdh
    >>> curve = icdh.AverageEffect("dose", "answer", np.array([0.0, 1.0]), np.array([2.0, 5.0]), np.ones(2))
    >>> float(curve.mean[1] - curve.mean[0])
    3.0
    """

    cause: Hashable
    effect: Hashable
    values: np.ndarray
    mean: Floats
    std: Floats
    lower: Floats | None = None
    upper: Floats | None = None

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw mean, band and spread on ``ax``, and return the matplotlib figure; needs the extra ``[plot]``."""
        figure: Figure = shell("plotting").plot_effect(self, ax)
        return figure


class TotalEffect(NamedTuple):
    """The effect of a variable on one of its descendants, along all paths together.

    Attributes
    ----------
    cause, effect : str
        The variables.
    outcome : str
        The label of the effect whose probability changes; empty if the effect is a number, whose mean does.
    contrast : str
        From and to what the cause is set, see `icdh._model.effects`.
    change : float
        How far that moves the mean of the effect, in its units, or the probability of the outcome.
    error : float
        The standard error of the change that is left by the number of rows drawn.
    share : float
        The standard deviation of that mean, divided by that of the effect. The cause takes its quantiles from 5 to 95
        %, or its labels as frequent as they are. It also detects effects that rise and fall.
    spread_ratio : float
        The standard deviation of the effect at the second value of the contrast over that at the first.

    Examples
    --------
    >>> import icdh
    >>> total = icdh.TotalEffect("dose", "answer", "", "0 -> 1", 2.0, 0.01, 0.9, 1.0)
    >>> total.contrast, total.change
    ('0 -> 1', 2.0)
    """

    cause: Hashable
    effect: Hashable
    outcome: str
    contrast: str
    change: float
    error: float
    share: float
    spread_ratio: float


def average_effect(
    model: CausalModel,
    cause: Hashable,
    effect: Hashable,
    values: object,
    *,
    n_samples: int = 10_000,
    models: Sequence[CausalModel] = (),
    level: float = 0.9,
    random_state: RandomState = 0,
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
    icdh.AverageEffect
        Mean, standard deviation and band of the effect at every value; ``plot()`` draws them.

    Raises
    ------
    ValueError, TypeError
        If an argument is not what it should be.

    Warns
    -----
    DataWarning
        If the graph has no path from cause to effect: the curve then is flat, whatever the table says.
    """
    Number(1, integer=True).check("n_samples", n_samples)
    LEVEL.check("level", level)
    source, target = (variable_index(key, model.names, name) for name, key in (("cause", cause), ("effect", effect)))
    if target in model.nominal:
        raise ValueError(
            f"{option('effect')} is {effect!r}, which has labels and no mean; count those that sample draws with "
            f"{option('do')}"
        )
    points = np.atleast_1d(model.columns.as_numbers(source, values, "values"))
    known = model.columns.categories.get(source)
    shown = points if known is None or not known.reads(values) else np.atleast_1d(np.asarray(values, dtype=object))
    if points.ndim != 1 or not points.size or not np.isfinite(points).all():
        raise ValueError(f"values must be one finite number or several, shape (K,); got {values!r}")
    for other in models:
        if other.names != model.names or other.columns.categories != model.columns.categories:
            raise ValueError("models must hold fits of the same variables, in the same order, as this model")
    if source != target and not graphs.descendants(model.adjacency)[source, target]:
        warn(
            f"the graph joins {model.names[source]!r} to {model.names[target]!r} by no path, so the curve is flat by "
            "construction: that is no evidence of no effect"
        )
    seed = int(random_generator(random_state).integers(2**63))
    mean, std = _curve(model, source, target, points, n_samples, seed)
    answer = AverageEffect(model.names[source], model.names[target], shown, mean, std)
    if not len(models):
        return answer
    means = [_curve(other, source, target, points, n_samples, seed)[0] for other in models]
    lower, upper = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return answer._replace(lower=lower, upper=upper)


def _curve(
    model: CausalModel, source: int, target: int, points: Floats, n_samples: int, seed: int
) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the target at every point, each of shape (K,)."""
    rows = drawn(model, n_samples, np.random.default_rng(seed))
    results = [under(model, rows, {source: float(point)})[target] for point in points]
    return np.array([r.mean() for r in results]), np.array([r.std() for r in results])


def effects(model: CausalModel, *, n_samples: int = 2000, random_state: RandomState = 0) -> list[TotalEffect]:
    """Return the total effects of all variables on all that they reach, strongest first.

    ``pandas.DataFrame(model.effects())`` makes a table of them.

    Parameters
    ----------
    n_samples : int
        How many rows are drawn; every intervention meets the same noise.
    random_state : int, SeedSequence, Generator or None
        Draws the noise.

    Returns
    -------
    list of icdh.TotalEffect
        One entry, or one for each label, for every ordered pair with a directed path. Between others the graph has no
        path, which is no evidence of no effect.
    """
    Number(2, integer=True).check("n_samples", n_samples)
    rows = drawn(model, n_samples, random_generator(random_state))
    reach = graphs.descendants(model.adjacency)
    total = []
    for cause in np.flatnonzero(reach.any(axis=1)).tolist():
        if np.ptp(rows.values[cause]) > 0.0:
            total += _effects_of(model, rows, cause, np.flatnonzero(reach[cause]).tolist())
    return sorted(total, key=lambda effect: -effect.share)


def _effects_of(model: CausalModel, rows: Rows, cause: int, reached: list[int]) -> list[TotalEffect]:
    """Return the effects of one cause under each of its contrasts."""
    natural, ends = rows.values[cause], model.columns.observed_range
    seen, labels = natural if ends is None else np.clip(natural, *ends[:, cause]), model.columns.categories.get(cause)
    if labels is not None:  # draws may lack a rare one
        seen = model.columns.levels.get(cause, np.arange(float(len(labels.labels))))
    contrasts = contrasts_of(seen, labels)
    settings, shares = _settings(model, cause, natural)
    values = {*settings, *(value for contrast in contrasts for value in contrast[:2])}
    results = {value: under(model, rows, {cause: value}) for value in values}
    total = []
    for effect in reached:
        for outcome, code in outcomes_of(model.columns.categories.get(effect)):
            means = np.array([outcome_values(results[value][effect], code).mean() for value in settings])
            deviation = math.sqrt(np.average(np.square(means - np.average(means, weights=shares)), weights=shares))
            share = _ratio(deviation, float(outcome_values(rows.values[effect], code).std()), of_zeros=0.0)
            for contrast in contrasts:
                low, high = (outcome_values(results[value][effect], code) for value in contrast[:2])
                moved = high - low
                error = float(moved.std()) / math.sqrt(moved.size)
                names = model.names[cause], model.names[effect]
                spread = _ratio(float(high.std()), float(low.std()))
                total.append(TotalEffect(*names, outcome, str(contrast), float(moved.mean()), error, share, spread))
    return total


def _settings(model: CausalModel, cause: int, natural: Floats) -> tuple[list[float], Floats]:
    """Return the values that a cause takes in turn, and how much each counts."""
    values, counts = np.unique(natural, return_counts=True)
    if cause in model.columns.categories or values.size == 2:
        return values.tolist(), counts.astype(np.float64)
    curve = np.quantile(natural, np.linspace(0.05, 0.95, 9))
    return curve.tolist(), np.ones(curve.size)


def outcome_values(values: Floats, code: int | None) -> Floats:
    """Return an effect as it is, or where it has a label, as zeros and ones."""
    return values if code is None else (values == code).astype(np.float64)


def _ratio(above: float, below: float, of_zeros: float = 1.0) -> float:
    return above / below if below > 0.0 else math.inf if above > 0.0 else of_zeros
