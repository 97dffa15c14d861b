"""A picture of a DAG: causes above their effects, stronger edges wider."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from icdh import graphs
from icdh._ground.labels import short
from icdh.exceptions import import_extra
from icdh.plotting.labels import label_places
from icdh.plotting.layout import MARGIN, Layout, bends, bounds, layered_layout
from icdh.plotting.names import box_sizes, lines_of

EDGE_COLOR, DOUBTFUL_COLOR = "#2f4a6d", "#8a94a3"
FOOT, HEAD = 0.21, 0.3  # height of a line of the legend, and of the title, in inches
EDGE_WIDTHS = (0.8, 3.2)  # points, of the weakest and the strongest edge
FONT, SMALL_FONT = 10.0, 8.0  # points
WIDEST = 40.0  # inches; wider pictures are scaled down
TITLE_LETTER, LEGEND_LETTER = 0.095, 0.066  # width of their letters, in inches
STAR = "*: may be a hidden common cause"
DASHES = (0, (3.5, 2.0))


class EdgeStyle(NamedTuple):
    """How the line of an edge is drawn: its colour, its dashes as matplotlib names them, its width in points.

    If the width is None, it shows the strength of the edge.
    """

    color: str = EDGE_COLOR
    line: object = "-"
    width: float | None = None


def plot_graph(
    A: np.ndarray,
    names: Sequence[str],
    ax: Any = None,
    *,
    styles: Mapping[tuple[int, int], EdgeStyle] | None = None,
    title: str = "",
    unit: str = "",
    doubtful: np.ndarray | None = None,
    doubt: str = "",
    hidden: np.ndarray | None = None,
    note: str = "",
    layout: Layout | None = None,
):
    """Draw a DAG in rows, causes above their effects, stronger edges wider.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix of a DAG; ``A[i, j] != 0`` is the edge i -> j, its strength the width of the arrow.
    names : sequence of str
        N labels.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure, which no global state of matplotlib refers to.
    styles : mapping, optional
        The styles of edges (i, j) that differ from the default; doubtful edges are dashed in any style.
    title : str
        The title of the graph.
    unit : str
        The unit of the strengths, such as "nats". If given, strengths are written beside the arrows where there is
        room, and the legend below explains the widths.
    doubtful : ndarray of bool, shape (N, N), optional
        The edges to draw dashed.
    doubt : str
        The legend's explanation of the dashes.
    hidden : ndarray of bool, shape (N, N), optional
        The edges that a hidden common cause may stand behind: a star beside their strength.
    note : str
        A further line of the legend, such as the meaning of colours.
    layout : Layout, optional
        Where to draw variables and edges; by default `layered_layout`.

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
    layout = layout or layered_layout(A, box_sizes(names))
    doubtful = np.zeros(A.shape, dtype=bool) if doubtful is None else np.asarray(doubtful) & (A != 0)
    hidden = np.zeros(A.shape, dtype=bool) if hidden is None else np.asarray(hidden) & (A != 0)
    legend = [*_legend(A, unit, doubtful, doubt), *([STAR] if unit and hidden.any() else []), *([note] if note else [])]
    low, high = bounds(layout)
    if ax is None:
        low, high = low.copy(), high.copy()
        words = [TITLE_LETTER * len(title), *(LEGEND_LETTER * len(line) for line in legend)]
        missing = max(max(words) + MARGIN - (high - low)[0], 0.0) / 2
        low -= [missing, FOOT * len(legend)]
        high += [missing, HEAD * bool(title)]
        ax = _new_axes(high - low)
    ax.set_axis_off()
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set_aspect("equal")
    scale = _scale(ax, high - low)
    styles = dict(styles or {})
    dashed = EdgeStyle(DOUBTFUL_COLOR)
    dashes = {edge: styles.get(edge, dashed)._replace(line=DASHES) for edge in _pairs(doubtful)}
    _draw_edges(ax, A, names, layout.routes, styles | dashes, scale)
    _draw_nodes(ax, layout, names, scale)
    if unit:
        _draw_strengths(ax, A, layout, doubtful, hidden, scale)
    text = {"ha": "left", "fontsize": SMALL_FONT * scale, "color": "#444444", "parse_math": False}
    for k, line in enumerate(legend):
        ax.text(low[0] + MARGIN / 2, low[1] + FOOT * (len(legend) - k - 0.5), line, va="center", **text)
    if title:
        at = low[0] + MARGIN / 2, high[1] - HEAD / 2
        ax.text(*at, title, ha="left", va="center", fontsize=FONT * scale, weight="bold", parse_math=False)
    return ax.figure


def _pairs(mask):
    return [(i, j) for i, j in np.argwhere(mask).tolist()]


def _new_axes(size):
    figure = import_extra("matplotlib.figure", "plot").Figure(figsize=size * min(WIDEST / size.max(), 1.0))
    return figure.add_axes((0.0, 0.0, 1.0, 1.0))


def _scale(ax, size):
    """Return how many inches of paper an inch of the layout gets."""
    room = ax.get_position().size * ax.figure.get_size_inches()
    return float((room / size).min())


def edge_width(strength: float, strongest: float) -> float:
    """Return the width, in points, of the line of an edge."""
    return EDGE_WIDTHS[0] + strength / strongest * (EDGE_WIDTHS[1] - EDGE_WIDTHS[0])


def _draw_edges(ax, A, names, routes, styles, scale):
    strongest = np.abs(A).max(initial=0.0)
    for i, j in graphs.strongest_first(A):
        style = styles.get((i, j), EdgeStyle())
        width = (style.width or edge_width(abs(A[i, j]), strongest)) * scale
        for patch in _arrow(routes[i, j], width, style, scale):
            patch.set_gid(f"{lines_of(names[i])[0]} -> {lines_of(names[j])[0]}")
            ax.add_patch(patch)


def _arrow(route, width, style, scale):
    """Yield the parts of an arrow; a dashed arrow has a separate, solid head."""
    patches = import_extra("matplotlib.patches", "plot")
    path = _smooth_path(route)
    if style.line != "-":
        yield patches.PathPatch(path, fill=False, linewidth=width, linestyle=style.line, edgecolor=style.color)
        end, before = path.vertices[-1], path.vertices[-2]
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


def _smooth_path(route):
    """Return the straight line of two points; through more, curves that are upright where they meet."""
    path = import_extra("matplotlib.path", "plot").Path
    if len(route) == 2:
        return path(route)
    vertices, codes = [route[0]], [path.MOVETO]
    for curve in bends(route):
        vertices += curve
        codes += [path.CURVE4] * 3
    return path(vertices, codes)


def _draw_nodes(ax, layout, names, scale):
    patches = import_extra("matplotlib.patches", "plot")
    for (x, y), (width, height), name in zip(layout.positions, layout.sizes, names, strict=True):
        box = patches.FancyBboxPatch(
            (x - width / 2, y - height / 2),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.08",
            facecolor="#eaf1fb",
            edgecolor="#2f5597",
            linewidth=1.0 * scale,
            zorder=2,
        )
        ax.add_patch(box)
        text = {"ha": "center", "va": "center", "fontsize": FONT * scale, "linespacing": 1.1, "parse_math": False}
        ax.text(x, y, "\n".join(lines_of(name)), zorder=3, **text)


def _draw_strengths(ax, A, layout, doubtful, hidden, scale):
    """Write the strength of every edge beside it, where that covers nothing."""
    marks = {edge: "?" * int(doubtful[edge]) + "*" * int(hidden[edge]) for edge in graphs.strongest_first(A)}
    texts = {edge: f"{short(abs(A[edge]))}{mark}" for edge, mark in marks.items()}
    style = {"ha": "center", "va": "center", "fontsize": SMALL_FONT * scale, "color": "#333333", "parse_math": False}
    for edge, (x, y) in label_places(layout, texts).items():
        ax.text(x, y, texts[edge], zorder=4, **style)


def _legend(A, unit, doubtful, doubt):
    """Return what widths, numbers and dashes mean, in lines."""
    strength = np.abs(A[A != 0])
    lines = []
    if unit and strength.size:
        lines.append(
            f"wider: stronger, {short(strength.min())} to {short(strength.max())}; numbers: {MEANINGS.get(unit, unit)}"
        )
    if doubt and doubtful.any():
        lines.append(f"dashed: {doubt}")
    return lines


MEANINGS = {
    "nats": "nats of evidence lost without the arrow",
    "weight": "weights in the fitted network",
    "probability": "probability of the arrow",
}
