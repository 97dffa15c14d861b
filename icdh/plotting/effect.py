"""Pictures of what one variable does to another: an effect, its comparisons, and both directions of a pair."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from icdh._ground.arrays import Floats
from icdh._ground.labels import printable
from icdh._model.effects import AverageEffect, shown
from icdh.exceptions import import_extra
from icdh.plotting.style import LOOK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from icdh._effect.result import Effect
    from icdh.pairs import CausalDirection, DirectionFit


def plot_effect(effect: AverageEffect, ax: "Axes | None" = None) -> "Figure":
    """Draw the mean of an effect against the values set for its cause, with its band and one standard deviation.

    Of two values, such as those of a binary cause, the means are points with bars.

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
    spread = "mean ± one standard deviation of single rows, not its error"
    bands = [(LOOK.soft, 0.25, spread, mean - std, mean + std)]
    if effect.lower is not None and effect.upper is not None:
        interval = "interval of the mean over refits"
        bands.append((LOOK.curve, 0.35, interval, effect.lower[order], effect.upper[order]))
    few = at.size <= 2
    for color, alpha, label, low, high in bands:
        if few:
            reach = [mean - low, high - mean]
            ax.errorbar(at, mean, reach, fmt="none", ecolor=color, elinewidth=9.0 * alpha, label=label)
        else:
            ax.fill_between(at, low, high, linewidth=0, color=color, alpha=alpha, label=label)
    ax.plot(at, mean, "o" if few else "o-", color=LOOK.curve, markersize=6 if few else 3, label="mean")
    if few:
        ax.set_xticks(at)
        ax.margins(x=0.5)
    ax.set_ylabel(printable(effect.effect), parse_math=False)
    return _labelled(ax, f"{printable(effect.cause)}, set from outside")


def plot_comparisons(effect: "Effect", ax: "Axes | None" = None) -> "Figure":
    """Draw the differences that changes of a cause make, with their intervals, beside the crude ones.

    Parameters
    ----------
    effect : icdh.Effect
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
    >>> import icdh
    >>> rng = np.random.default_rng(0)
    >>> given = np.arange(100) % 2
    >>> X = np.column_stack([given, given + rng.normal(size=100)])
    >>> icdh.plotting.plot_comparisons(icdh.effect(X, 0, 1, [])).axes[0].get_xlabel()
    'difference of x1, with x0 changed'
    """
    ax, comparisons = _axes(ax), effect.comparisons
    rows, differences = list(range(len(comparisons))), [comparison.difference for comparison in comparisons]
    estimates, lower, upper = np.array([(each.estimate, each.lower, each.upper) for each in differences]).T
    known = not np.isnan(lower).any()
    reach = [estimates - lower, upper - estimates] if known else None
    label = f"adjusted, {100 * effect.level:g} % interval" if known else "by the model"
    ax.errorbar(estimates, rows, xerr=reach, fmt="o", color=LOOK.curve, capsize=3, label=label)
    crude = [comparison.crude for comparison in comparisons]
    if not np.isnan(crude).all():
        ax.plot(crude, rows, "x", color=LOOK.soft, label="crude")
    ax.axvline(0.0, color=LOOK.soft, linewidth=0.8)
    labels = [f"{row.outcome} {shown(row.reference)} -> {shown(row.value)}".strip() for row in comparisons]
    ax.set_yticks(rows, labels, parse_math=False)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    return _labelled(ax, f"difference of {printable(effect.effect)}, with {printable(effect.cause)} changed")


def _axes(ax: "Axes | None") -> "Axes":
    if ax is not None:
        return ax
    figure = import_extra("matplotlib.figure", "plot").Figure(figsize=(6.0, 4.2), layout="constrained")
    axes: Axes = figure.add_subplot()
    return axes


def _labelled(ax: "Axes", label: str) -> "Figure":
    """Return the figure of axes, with a label below and a legend above."""
    ax.set_xlabel(label, parse_math=False)
    ax.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0.0, 1.0))
    return cast("Figure", ax.figure)


def plot_direction(x: Floats, y: Floats, result: "CausalDirection", names: tuple[str, str] = ("x", "y")) -> "Figure":
    """Draw the fitted mean and one and two standard deviations in both directions, with the noises below.

    Where cause and effect are the right way round, the noise looks alike at every value of the cause.

    Parameters
    ----------
    x, y : array_like, shape (M,)
        The observations; of more than 2000, evenly chosen ones are drawn.
    result : CausalDirection
        What `icdh.causal_direction` said about them.
    names : (str, str)
        Labels of x and y.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, which no global state of matplotlib refers to; its ``savefig`` writes it.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    names = printable(names[0]), printable(names[1])
    figure: Figure = import_extra("matplotlib.figure", "plot").Figure(figsize=(9.0, 6.5), layout="constrained")
    axes = figure.subplots(2, 2, height_ratios=(2, 1), sharex="col")
    shown = np.arange(0, len(x), -(-len(x) // 2000))
    x, y = np.asarray(x)[shown].ravel(), np.asarray(y)[shown].ravel()
    _draw_direction(axes[:, 0], x, y, result.forward, names)
    _draw_direction(axes[:, 1], y, x, result.backward, names[::-1])
    verdict = {"x->y": "{} causes {}".format(*names), "y->x": "{1} causes {0}".format(*names)}
    said = f"{verdict.get(result.direction, 'undecided')}: {abs(result.score):.4f} nats"
    figure.suptitle(f"{said}, confidence {result.confidence:.1f}", parse_math=False)
    return figure


def _draw_direction(
    axes: Sequence["Axes"], cause: Floats, effect: Floats, fit: "DirectionFit", names: Sequence[str]
) -> None:
    data, noise = axes
    data.scatter(cause, effect, s=6, alpha=0.5, linewidths=0, color=LOOK.dot)
    data.plot(fit.cause_values, fit.mean, color=LOOK.fit)
    for deviations in (1, 2):
        band = fit.mean - deviations * fit.scale, fit.mean + deviations * fit.scale
        data.fill_between(fit.cause_values, *band, color=LOOK.fit, alpha=0.2, linewidth=0)
    length = f"description length {fit.description_length:.3f}"
    data.set_title(f"{names[0]} -> {names[1]}\n{length}", fontsize="medium", parse_math=False)
    data.set_ylabel(names[1], parse_math=False)
    mean, scale = (np.interp(cause, fit.cause_values, curve) for curve in (fit.mean, fit.scale))
    noise.scatter(cause, (effect - mean) / scale, s=6, alpha=0.5, linewidths=0, color=LOOK.dot)
    noise.axhline(0.0, color=LOOK.fit)
    noise.set_xlabel(names[0], parse_math=False)
    noise.set_ylabel("noise")
