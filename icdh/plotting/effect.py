"""A picture of what one variable does to another."""

from typing import Any

from icdh._ground.labels import printable
from icdh.exceptions import import_extra

LINE_COLOR = "#0072b2"


def plot_effect(effect: Any, ax: Any = None):
    """Draw the mean of an effect against the values set for its cause, with its band and one standard deviation.

    Parameters
    ----------
    effect : icdh._model.effects.AverageEffect
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
    >>> from icdh._model.effects import AverageEffect
    >>> from icdh.plotting import plot_effect
    >>> doses = np.array([1.0, 2.0, 3.0])
    >>> plot_effect(AverageEffect("dose", "answer", doses, doses**2, np.ones(3))).axes[0].get_xlabel()
    'dose, set from outside'
    """
    if ax is None:
        figure = import_extra("matplotlib.figure", "plot").Figure(figsize=(6.0, 4.2), layout="constrained")
        ax = figure.add_subplot()
    order = effect.values.argsort()
    at, mean, std = (part[order] for part in (effect.values, effect.mean, effect.std))
    spread = {"color": "#999999", "alpha": 0.2, "linewidth": 0, "label": "one standard deviation of single rows"}
    ax.fill_between(at, mean - std, mean + std, **spread)
    if effect.lower is not None:
        band = effect.lower[order], effect.upper[order]
        ax.fill_between(at, *band, color=LINE_COLOR, alpha=0.35, linewidth=0, label="band of the mean over refits")
    ax.plot(at, mean, color=LINE_COLOR, marker="o", markersize=3, label="mean")
    ax.set_xlabel(f"{printable(effect.cause)}, set from outside", parse_math=False)
    ax.set_ylabel(printable(effect.effect), parse_math=False)
    ax.legend(frameon=False, fontsize="small")
    return ax.figure
