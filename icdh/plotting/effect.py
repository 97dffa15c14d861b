"""A picture of what one variable does to another."""

from typing import Any

from icdh._ground.labels import printable
from icdh._model.contrasts import shown
from icdh.exceptions import import_extra

LINE_COLOR = "#0072b2"
LEGEND = {"frameon": False, "fontsize": "small", "loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 3}
SPREAD = {"color": "#999999", "alpha": 0.2, "label": "one standard deviation of single rows"}
BAND = {"color": LINE_COLOR, "alpha": 0.35, "label": "band of the mean over refits"}


def plot_effect(effect: Any, ax: Any = None):
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
    at, mean, std = (part[order] for part in (effect.values, effect.mean, effect.std))
    bands = [(SPREAD, mean - std, mean + std)]
    if effect.lower is not None:
        bands.append((BAND, effect.lower[order], effect.upper[order]))
    few = at.size <= 2
    for style, low, high in bands:
        if few:
            label, width = style["label"], 9.0 * style["alpha"]
            ax.errorbar(
                at, mean, [mean - low, high - mean], fmt="none", ecolor=style["color"], elinewidth=width, label=label
            )
        else:
            ax.fill_between(at, low, high, linewidth=0, **style)
    ax.plot(at, mean, color=LINE_COLOR, marker="o", markersize=3 + 3 * few, linestyle="" if few else "-", label="mean")
    if few:
        ax.set_xticks(at)
        ax.margins(x=0.5)
    ax.set_xlabel(f"{printable(effect.cause)}, set from outside", parse_math=False)
    ax.set_ylabel(printable(effect.effect), parse_math=False)
    ax.legend(**LEGEND)
    return ax.figure


def plot_comparisons(effect: Any, ax: Any = None) -> Any:
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
    ax, rows = _axes(ax), range(len(effect.comparisons))
    differences = [own.difference for own in effect.comparisons]
    if not any(own.lower != own.lower for own in differences):
        reach = [[own.estimate - own.lower for own in differences], [own.upper - own.estimate for own in differences]]
        estimates = [own.estimate for own in differences]
        words = {"color": LINE_COLOR, "capsize": 3, "label": f"adjusted, {100 * effect.level:g} % interval"}
        ax.errorbar(estimates, rows, xerr=reach, fmt="o", **words)
    else:
        ax.plot([own.estimate for own in differences], rows, "o", color=LINE_COLOR, label="by the model")
    crude = [own.crude for own in effect.comparisons]
    ax.plot(crude, rows, "x", color="#999999", label="crude")
    ax.axvline(0.0, color="#999999", linewidth=0.8)
    labels = [
        " ".join(filter(None, [own.outcome, f"{shown(own.reference)} -> {shown(own.value)}"]))
        for own in effect.comparisons
    ]
    ax.set_yticks(list(rows), labels, parse_math=False)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlabel(f"difference of {printable(effect.effect)}, with {printable(effect.cause)} changed", parse_math=False)
    ax.legend(**LEGEND)
    return ax.figure


def _axes(ax):
    if ax is not None:
        return ax
    figure = import_extra("matplotlib.figure", "plot").Figure(figsize=(6.0, 4.2), layout="constrained")
    return figure.add_subplot()
