"""A picture of a DAG, for slides: causes above their effects, stronger edges wider; and pictures as files."""

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from icdh import graphs
from icdh._ground.arrays import Floats
from icdh._ground.labels import short
from icdh.exceptions import import_extra
from icdh.files import check_writable, replace_on_success
from icdh.plotting.layout import SPACING, Edge, Layout, bends, bounds, label_places, layered_layout
from icdh.plotting.style import DOTS, HIDDEN, LOOK, EdgeStyle, box_sizes, lines_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch
    from matplotlib.path import Path as Outline

LEAST = float(np.finfo(float).tiny)  # the strength of an edge that knowledge alone stands behind
MEANINGS = {
    "nats": "nats of evidence lost without the arrow (doubt arrows below 10)",
    "weight": "weights in the fitted network",
    "probability": "probability of the arrow",
}


def plot_graph(
    A: ArrayLike,
    names: Sequence[Hashable],
    ax: "Axes | None" = None,
    *,
    styles: Mapping[Edge, EdgeStyle] | None = None,
    title: str = "",
    unit: str = "",
    n_hidden: int = 0,
    shown_edges: int | None = LOOK.shown_edges,
    layout: Layout | None = None,
) -> "Figure":
    """Draw a DAG in rows, causes above their effects, stronger edges wider.

    Parameters
    ----------
    A : array_like, shape (N, N)
        Weighted adjacency matrix of a DAG; ``A[i, j] != 0`` is the edge i -> j, its strength the width of the arrow.
    names : sequence
        N labels.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure, which no global state of matplotlib refers to.
    styles : mapping, optional
        The styles of edges (i, j) that differ from the default, such as `DOUBTFUL`. The legend says what the styles
        of the drawn edges mean.
    title : str
        The title of the graph.
    unit : str
        The unit of the strengths, such as "nats". If given, strengths are written beside the arrows where there is
        room, and the legend below explains the widths.
    n_hidden : int
        How many of the variables, the last ones, are hidden causes: each is grey, with its nats in place of its name.
    shown_edges : int or None
        How many edges are drawn, the strongest ones, with their variables; the legend counts the others. None draws
        all.
    layout : Layout, optional
        Where to draw variables and edges; by default `layered_layout` in the shape of a screen.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; its ``savefig`` writes it.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ValueError
        If the graph has a cycle, or the number of names is not N.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.plotting import plot_graph
    >>> A = np.array([[0.0, 0.9, 0.4], [0.0, 0.0, 0.7], [0.0, 0.0, 0.0]])
    >>> [text.get_text() for text in plot_graph(A, ["dose", "level", "answer"]).axes[0].texts]
    ['dose', 'level', 'answer']
    """
    A = graphs.check_adjacency(A)
    if len(names) != len(A):
        raise ValueError(f"names must hold {len(A)} labels, one a variable; got {len(names)}")
    N, edges = len(A), graphs.strongest_first(A)
    drawn = edges[:shown_edges]
    kept = sorted({node for edge in drawn for node in edge}) if len(drawn) < len(edges) else list(range(N))
    place = {node: k for k, node in enumerate(kept)}
    labels = [str(names[k]) if k < N - n_hidden else f"{short(np.abs(A[k]).max())} nats" for k in kept]
    weights, lines, shown = {}, {}, np.zeros((len(kept), len(kept)))
    for i, j in drawn:
        edge = place[i], place[j]
        weights[edge] = shown[edge] = abs(float(A[i, j]))
        lines[edge] = HIDDEN if i >= N - n_hidden else (styles or {}).get((i, j), EdgeStyle())
    layout = layout or layered_layout(shown, box_sizes(labels), 13.3)  # the width of a slide
    strengths = {edge: weight for edge, weight in weights.items() if weight > LEAST and lines[edge] is not HIDDEN}
    texts = {edge: (short(strengths[edge]) if edge in strengths else "") + style.mark for edge, style in lines.items()}
    texts = {edge: text for edge, text in texts.items() if text} if unit else {}
    places = label_places(layout, texts)
    legend = list(dict.fromkeys(meaning for style in lines.values() for meaning in style.meanings))
    if unit and strengths:
        left_out = f", {len(texts) - len(places)} left out" if len(texts) > len(places) else ""
        least, most = short(min(strengths.values())), short(max(strengths.values()))
        legend.insert(0, f"wider: stronger, {least} to {most}; numbers: {MEANINGS.get(unit, unit)}{left_out}")
    if len(drawn) < len(edges):
        legend.append(f"the {shown_edges} strongest of {len(edges)} arrows; shown_edges shows more")
    low, high = bounds(layout)
    if ax is None:
        words = [0.095 * len(title), *(0.066 * len(line) for line in legend)]
        missing = max(max(words) + SPACING.margin - (high - low)[0], 0.0) / 2
        low = low - [missing, LOOK.legend_height * len(legend)]
        high = high + [missing, LOOK.title_height * bool(title)]
        size = (high - low) * min(40.0 / (high - low).max(), 1.0)  # wider pictures are scaled down
        ax = import_extra("matplotlib.figure", "plot").Figure(figsize=size).add_axes((0.0, 0.0, 1.0, 1.0))
    figure = cast("Figure", ax.figure)
    ax.set_axis_off()
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    scale = float((ax.get_position().size * figure.get_size_inches() / (high - low)).min())  # inches of paper
    for (i, j), style in lines.items():
        width = (style.width or edge_width(weights[i, j], max(strengths.values(), default=1.0))) * scale
        for patch in _arrow(layout.routes[i, j], width, style, scale):
            patch.set_gid(f"{lines_of(labels[i])[0]} -> {lines_of(labels[j])[0]}")
            ax.add_patch(patch)
    for node, label in zip(kept, labels, strict=True):
        colors = (LOOK.node, LOOK.border) if node < N - n_hidden else (LOOK.hidden, LOOK.hidden_border)
        _draw_node(ax, layout.positions[place[node]], layout.sizes[place[node]], label, colors, scale)
    small, left = 8.0 * scale, low[0] + SPACING.margin / 2
    for edge, at in places.items():
        _write(ax, at, texts[edge], small, ha="center", zorder=4)
    for k, line in enumerate(reversed(legend)):
        _write(ax, (left, low[1] + LOOK.legend_height * (k + 0.5)), line, small, ha="left")
    if title:
        _write(ax, (left, high[1] - LOOK.title_height / 2), title, LOOK.font * scale, ha="left", weight="bold")
    return figure


def _write(ax: "Axes", at: Sequence[float] | Floats, text: str, size: float, **how: Any) -> None:
    ax.text(at[0], at[1], text, **{"va": "center", "fontsize": size, "color": LOOK.text, "parse_math": False, **how})


def edge_width(strength: float, strongest: float) -> float:
    """Return the width, in points, of the line of an edge."""
    thin, wide = 0.8, 3.2
    return thin + min(strength / strongest, 1.0) * (wide - thin)


def _arrow(route: Floats, width: float, style: EdgeStyle, scale: float) -> "Iterator[Patch]":
    """Yield the parts of an arrow; a dashed arrow has a separate, solid head."""
    patches = import_extra("matplotlib.patches", "plot")
    path = _smooth_path(route)
    if style.line != "-":
        dotted = style.line == DOTS
        width = max(width, 1.8 * scale) if dotted else width
        line = {"linewidth": width, "linestyle": style.line, "capstyle": "round" if dotted else "butt"}
        yield patches.PathPatch(path, fill=False, edgecolor=style.color, **line)
        before, end = np.asarray(path.vertices)[-2:]
        path = _smooth_path(np.array([end + 0.05 * (before - end) / np.linalg.norm(before - end), end]))
    yield patches.FancyArrowPatch(
        path=path,
        arrowstyle=f"-|>,head_length={3 * scale + width},head_width={1.5 * scale + 0.6 * width}",
        linewidth=width,
        edgecolor=style.color,
        facecolor=style.color,
        shrinkA=0.0,
        shrinkB=0.0,
        zorder=1,
    )


def _smooth_path(route: Floats) -> "Outline":
    """Return the straight line of two points; through more, curves that are upright where they meet."""
    path: type[Outline] = import_extra("matplotlib.path", "plot").Path
    if len(route) == 2:
        return path(route)
    vertices = [route[0], *(point for curve in bends(route) for point in curve)]
    return path(vertices, [path.MOVETO, *[path.CURVE4] * (len(vertices) - 1)])


def _draw_node(ax: "Axes", place: Floats, size: Floats, label: str, colors: tuple[str, str], scale: float) -> None:
    box = import_extra("matplotlib.patches", "plot").FancyBboxPatch(
        place - size / 2,
        *size,
        boxstyle="round,pad=0,rounding_size=0.08",
        facecolor=colors[0],
        edgecolor=colors[1],
        linewidth=scale,
        zorder=2,
    )
    ax.add_patch(box)
    _write(ax, place, "\n".join(lines_of(label)), LOOK.font * scale, ha="center", linespacing=1.1, zorder=3)


def save_figure(path: str | os.PathLike[str], figure: "Figure") -> None:
    """Write a figure; the extension of the path names the format (PNG, SVG, PDF).

    Parameters
    ----------
    path : str or Path
        The file.
    figure : matplotlib.figure.Figure
        The picture.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ValueError
        If matplotlib does not know the extension.
    OSError
        If the file cannot be written; an older one then stays as it was.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.plotting import plot_graph, save_figure
    >>> A = np.array([[0.0, 0.9, 0.4], [0.0, 0.0, 0.7], [0.0, 0.0, 0.0]])
    >>> save_figure("graph.svg", plot_graph(A, ["dose", "level", "answer"]))
    """
    check_plot_path(path)
    with replace_on_success(path) as temporary:
        figure.savefig(temporary, dpi=150)


def check_plot_path(path: str | os.PathLike[str]) -> None:
    """Raise as `save_figure` would for this path, before any work is spent on the picture.

    Parameters
    ----------
    path : str or Path
        The file.

    Raises
    ------
    MissingExtraError, ValueError, OSError
        As `save_figure`.

    Examples
    --------
    >>> from icdh.plotting import check_plot_path
    >>> check_plot_path("graph.svg")
    """
    formats = import_extra("matplotlib.backends.backend_agg", "plot").FigureCanvasAgg.get_supported_filetypes()
    if Path(path).suffix.lower().lstrip(".") not in formats:
        raise ValueError(f"{path}: pictures are written as {', '.join(formats)}; choose one of these extensions")
    check_writable(path)
