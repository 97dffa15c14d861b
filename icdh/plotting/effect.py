"""Pictures of one variable against another: effects, curves of a model, what a hidden cause would do."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from icdh._model.effects import AverageEffect
from icdh._utils.arrays import Floats
from icdh._utils.labels import printable
from icdh.exceptions import import_extra
from icdh.plotting.graph import LOOK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from icdh._effect.result import Effect


FEW_VALUES = 5  # of a cause: they alone are the points of its curve


def plot_effect(effect: AverageEffect, ax: "Axes | None" = None) -> "Figure":
    """Draw the mean of an effect against the values set for its cause, with its band and one standard deviation.

    Of few values, such as those of a binary cause, the means are points with bars.

    Parameters
    ----------
    effect : icdh.AverageEffect
        What to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh import AverageEffect
    >>> from icdh.plotting import plot_effect
    >>> doses = np.array([1.0, 2.0, 3.0])
    >>> plot_effect(AverageEffect("dose", "answer", doses, doses**2, np.ones(3))).axes[0].get_xlabel()
    'dose, set from outside'
    """
    ax = _axes(ax)
    order = effect.values.argsort()
    at, mean, std = effect.values[order], effect.mean[order], effect.std[order]
    bands = [(LOOK.soft, "mean ± one standard deviation of single rows, not its error", mean - std, mean + std)]
    if effect.lower is not None and effect.upper is not None:
        bands.append((LOOK.curve, "interval of the mean over refits", effect.lower[order], effect.upper[order]))
    _draw_mean(ax, at, mean, bands)
    ax.set_ylabel(printable(effect.effect), parse_math=False)
    return _labelled(ax, f"{printable(effect.cause)}, set from outside")


def _draw_mean(ax: "Axes", at: Floats, mean: Floats, bands: Sequence[tuple[str, str, Floats, Floats]]) -> None:
    """Draw a mean with bands, each with its colour, label and ends; at few places as points with bars."""
    are_points = at.size <= FEW_VALUES
    for k, (color, label, low, high) in enumerate(bands):
        if are_points:
            ax.errorbar(at, mean, [mean - low, high - mean], fmt="none", ecolor=color, elinewidth=2.0 + k, label=label)
        else:
            ax.fill_between(at, low, high, linewidth=0, color=color, alpha=0.25, label=label)
    ax.plot(at, mean, "o" if are_points else "-", color=LOOK.curve, label="mean")
    if are_points:
        ax.set_xticks(at, [f"{value:.4g}" for value in at])
        ax.margins(x=1.0 / (2 * at.size))


def plot_answer(effect: "Effect", ax: "Axes | None" = None) -> "Figure":
    """Draw the curve of a numeric cause, or the estimates with their intervals; beside it what a hidden cause would do.

    Parameters
    ----------
    effect : icdh.Effect
        What to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw curve or estimates alone; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> import icdh
    >>> rng = np.random.default_rng(0)
    >>> given = np.arange(100) % 2
    >>> X = np.column_stack([given, given + rng.normal(size=100)])
    >>> icdh.plotting.plot_answer(icdh.effect(X, 0, 1, [])).axes[0].get_xlabel()
    'effect on x1 of x0'
    """
    if ax is None and np.isfinite(effect.scale):
        figure = import_extra("matplotlib.figure", "plot").Figure(figsize=(10.0, 4.2), layout="constrained")
        ax, right = figure.subplots(1, 2)
        plot_hidden_cause(effect, right)
    ax, curve = _axes(ax), effect.curve
    names = printable(effect.cause), printable(effect.effect)
    if curve is not None:
        band = f"{100 * effect.level:g} % interval"
        ax.fill_between(curve.values, curve.lower, curve.upper, color=LOOK.curve, alpha=0.25, linewidth=0, label=band)
        ax.plot(curve.values, curve.change, color=LOOK.curve, label="curve")
        straight = curve.slope.estimate * (curve.values - curve.values[0])
        ax.plot(curve.values, straight, color=LOOK.soft, linestyle="--", label="straight line")
        ax.set_ylabel(f"change of {names[1]}", parse_math=False)
        return _labelled(ax, names[0])
    answers = [effect, *effect.others]
    rows, estimates = list(range(len(answers))), np.array([each.interval for each in answers])
    numbers = np.flatnonzero(np.isfinite(estimates).all(axis=1))  # the others have no answer
    if numbers.size:
        value, low, high = estimates[numbers].T
        label = f"adjusted, {100 * effect.level:g} % interval"
        reach = [value - low, high - value]
        ax.errorbar(value, numbers, xerr=reach, fmt="o", color=LOOK.curve, capsize=3, label=label)
    ax.plot([each.unadjusted for each in answers], rows, "x", color=LOOK.soft, label="not adjusted")
    ax.axvline(0.0, color=LOOK.soft, linewidth=0.8)
    ax.set_yticks(rows, [f"{each.outcome} {each.change}".strip() for each in answers], parse_math=False)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    return _labelled(ax, f"effect on {names[1]} of {names[0]}")


def plot_hidden_cause(effect: "Effect", ax: "Axes | None" = None) -> "Figure":
    """Draw what is left of an estimate beside a hidden cause, by the shares of cause and effect that it explains.

    Parameters
    ----------
    effect : icdh.Effect
        With a finite ``scale``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure: lines of equal estimates, the worst that a hidden cause may leave; zero in another colour; a point
        for the strongest observed covariate.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ValueError
        If nothing is known of what a hidden cause would do.

    References
    ----------
    Cinelli, Hazlett: "Making sense of sensitivity", Journal of the Royal Statistical Society B 82, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> import icdh
    >>> rng = np.random.default_rng(0)
    >>> given = np.arange(100) % 2
    >>> X = np.column_stack([given, given + rng.normal(size=100)])
    >>> icdh.plotting.plot_hidden_cause(icdh.effect(X, 0, 1, [])).axes[0].get_xlabel()
    'share of x0 that a hidden cause explains'
    """
    if not np.isfinite(effect.scale):
        raise ValueError("nothing is known of what a hidden cause would do to this answer")
    ax, strongest = _axes(ax), effect.strongest
    shares = [effect.robustness_value] if strongest is None else [effect.robustness_value, *strongest[1:3]]
    at = np.linspace(0.0, min(1.4 * max(*shares, 0.05), 0.95), 101)
    moved = effect.scale * np.sqrt(at[:, np.newaxis] * at / (1.0 - at))
    left = effect.estimate - np.copysign(moved, effect.estimate)
    ax.clabel(ax.contour(at, at, left, levels=8, colors=LOOK.soft, linewidths=0.8), fontsize="small")
    ax.contour(at, at, left, levels=[0.0], colors=LOOK.zero, linewidths=1.6)
    ax.plot([], [], color=LOOK.zero, label="no effect left")
    if strongest is not None:
        label = f"as strong as {printable(strongest.name)}"
        ax.plot(strongest.of_cause, strongest.of_effect, "o", color=LOOK.curve, label=label)
    ax.set_ylabel(f"share of {printable(effect.effect)} that it explains", parse_math=False)
    return _labelled(ax, f"share of {printable(effect.cause)} that a hidden cause explains")


def _axes(ax: "Axes | None", size: tuple[float, float] = (6.0, 4.2)) -> "Axes":
    if ax is not None:
        return ax
    figure = import_extra("matplotlib.figure", "plot").Figure(figsize=size, layout="constrained")
    return cast("Axes", figure.add_subplot())


def _labelled(ax: "Axes", label: str) -> "Figure":
    """Return the figure of axes, with a label below and a legend above."""
    ax.set_xlabel(label, parse_math=False)
    ax.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0.0, 1.0))
    return cast("Figure", ax.figure)


def plot_curve(x: Floats, y: Floats, at: Floats, mean: Floats, spread: Floats, names: tuple[str, str]) -> "Figure":
    """Draw observations, with a fitted mean and one standard deviation on either side.

    Parameters
    ----------
    x, y : ndarray, shape (M,)
        Cause and effect.
    at, mean, spread : ndarray, shape (K,)
        The curve; at few places points with bars stand in place of it.
    names : (str, str)
        Cause and effect.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    ax = _axes(None, (3.6, 2.4))
    ax.plot(x, y, "o", color=LOOK.dot, alpha=0.45, markersize=3.0, markeredgewidth=0.0)
    _draw_mean(ax, at, mean, [(LOOK.curve, "", mean - spread, mean + spread)])
    ax.locator_params(axis="y", nbins=5)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=9.0)
    ax.set_xlabel(printable(names[0]), fontsize=9.0, parse_math=False)
    ax.set_ylabel(printable(names[1]), fontsize=9.0, parse_math=False)
    return cast("Figure", ax.figure)
