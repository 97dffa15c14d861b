"""A small picture of an effect against its cause: observations, and the fitted mean with its spread."""

from typing import TYPE_CHECKING

from icdh._utils.arrays import Floats
from icdh._utils.labels import printable
from icdh.exceptions import import_extra
from icdh.plotting.style import LOOK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW_VALUES = 5  # of a cause: they alone are the points of its curve


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
    figure: Figure = import_extra("matplotlib.figure", "plot").Figure(figsize=(3.6, 2.4))
    ax = figure.add_axes((0.17, 0.21, 0.8, 0.76))
    ax.plot(x, y, "o", color=LOOK.dot, alpha=0.45, markersize=3.0, markeredgewidth=0.0)
    if at.size > FEW_VALUES:
        ax.fill_between(at, mean - spread, mean + spread, linewidth=0.0, color=LOOK.curve, alpha=0.22)
        ax.plot(at, mean, color=LOOK.curve, linewidth=2.0)
    else:
        ax.errorbar(at, mean, spread, fmt="o", color=LOOK.curve, markersize=7.0, elinewidth=2.0, capsize=5.0)
        ax.set_xticks(at, [f"{value:.4g}" for value in at])
    ax.locator_params(axis="y", nbins=5)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(LOOK.soft)
    ax.tick_params(labelsize=9.0, length=0.0, labelcolor=LOOK.text)
    ax.set_xlabel(printable(names[0]), fontsize=9.0, color=LOOK.text, parse_math=False)
    ax.set_ylabel(printable(names[1]), fontsize=9.0, color=LOOK.text, parse_math=False)
    return figure
