"""A picture of a verdict on two variables: both fitted directions and their noises. Needs the extra ``[plot]``."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from icdh._ground.arrays import Floats
from icdh._ground.labels import printable
from icdh.exceptions import import_extra
from icdh.pairs.comparison import CausalDirection, DirectionFit

MOST_POINTS = 2000
POINT = {"s": 6, "alpha": 0.5, "linewidths": 0, "color": "#44546a"}
LINE_COLOR = "#c55a11"


def plot_direction(x: Floats, y: Floats, result: CausalDirection, names: tuple[str, str] = ("x", "y")) -> Any:
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
    figure = import_extra("matplotlib.figure", "plot").Figure(figsize=(9.0, 6.5), layout="constrained")
    axes = figure.subplots(2, 2, height_ratios=(2, 1), sharex="col")
    shown = np.arange(0, len(x), -(-len(x) // MOST_POINTS))
    x, y = np.asarray(x)[shown].ravel(), np.asarray(y)[shown].ravel()
    _draw_direction(axes[:, 0], x, y, result.forward, names)
    _draw_direction(axes[:, 1], y, x, result.backward, names[::-1])
    figure.suptitle(_verdict(result, names), parse_math=False)
    return figure


def _draw_direction(axes: Any, cause: Floats, effect: Floats, fit: DirectionFit, names: Sequence[str]) -> None:
    data, noise = axes
    data.scatter(cause, effect, **POINT)
    data.plot(fit.cause_values, fit.mean, color=LINE_COLOR)
    for deviations in (1, 2):
        band = fit.mean - deviations * fit.scale, fit.mean + deviations * fit.scale
        data.fill_between(fit.cause_values, *band, color=LINE_COLOR, alpha=0.2, linewidth=0)
    length = f"description length {fit.description_length:.3f}"
    data.set_title(f"{names[0]} -> {names[1]}\n{length}", fontsize="medium", parse_math=False)
    data.set_ylabel(names[1], parse_math=False)
    mean, scale = (np.interp(cause, fit.cause_values, curve) for curve in (fit.mean, fit.scale))
    noise.scatter(cause, (effect - mean) / scale, **POINT)
    noise.axhline(0.0, color=LINE_COLOR)
    noise.set_xlabel(names[0], parse_math=False)
    noise.set_ylabel("noise")


def _verdict(result: CausalDirection, names: tuple[str, str]) -> str:
    x, y = names
    verdict = {"x->y": f"{x} causes {y}", "y->x": f"{y} causes {x}"}.get(result.direction, "undecided")
    return f"{verdict}: {abs(result.score):.4f} nats, confidence {result.confidence:.1f}"
