"""A picture of a DAG, for slides: causes above their effects, stronger edges wider."""

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
LEAST_DOT = 1.8  # points
FONT, SMALL_FONT = 10.0, 8.0  # points
LEAST = float(np.finfo(float).tiny)  # the strength of an edge that knowledge alone stands behind
SLIDE, WIDEST = 13.3, 40.0  # inches: the width that columns move apart to fill; wider pictures are scaled down
TITLE_LETTER, LEGEND_LETTER = 0.095, 0.066  # width of their letters, in inches
SHOWN_EDGES = 25  # more of them cannot be told apart on a slide
DASHES, DOTS = (0, (3.5, 2.0)), (0, (0.1, 2.2))


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
    given: np.ndarray | None = None,
    note: str = "",
    shown_edges: int | None = SHOWN_EDGES,
    layout: Layout | None = None,
) -> Any:
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
    given : ndarray of bool, shape (N, N), optional
        The edges whose direction is known before any data: they are dotted.
    note : str
        A further line of the legend, such as the meaning of colours.
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
    n_edges, A = np.count_nonzero(A), _strongest(A, shown_edges)
    more = n_edges > np.count_nonzero(A)
    kept = np.flatnonzero(A.any(axis=0) | A.any(axis=1)) if more else np.arange(len(A))
    pairs, place = np.ix_(kept, kept), {k: at for at, k in enumerate(kept.tolist())}
    masks = [A * (0 if mask is None else mask) != 0 for mask in (doubtful, hidden, given)]
    (doubtful, hidden, given), names, A = (mask[pairs] for mask in masks), [names[k] for k in kept], A[pairs]
    styles = {(place[i], place[j]): style for (i, j), style in (styles or {}).items() if {i, j} <= place.keys()}
    layout = layout or layered_layout(A, box_sizes(names), SLIDE)
    marks = {edge: "?" * int(doubtful[edge]) + "*" * int(hidden[edge]) for edge in graphs.strongest_first(A)}
    texts = {edge: f"{short(abs(A[edge])) if abs(A[edge]) > LEAST else ''}{mark}" for edge, mark in marks.items()}
    places = label_places(layout, {edge: text for edge, text in texts.items() if text}) if unit else {}
    lines = [
        _widths(A, unit, len(texts) - len(places)),
        f"dashed: {doubt}" if doubt and doubtful.any() else "",
        "dotted: your knowledge gives the direction" if given.any() else "",
        "*: may be a hidden common cause in place of the arrow" if unit and hidden.any() else "",
        note,
        f"the {shown_edges} strongest of {n_edges} arrows; shown_edges shows more" if more else "",
    ]
    legend = [line for line in lines if line]
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
    for edge in texts:
        if given[edge]:
            styles[edge] = EdgeStyle(line=DOTS)
        elif doubtful[edge]:
            styles[edge] = styles.get(edge, EdgeStyle(DOUBTFUL_COLOR))._replace(line=DASHES)
    _draw_edges(ax, A, names, layout.routes, styles, scale)
    _draw_nodes(ax, layout, names, scale)
    text = {"ha": "center", "va": "center", "fontsize": SMALL_FONT * scale, "color": "#333333", "parse_math": False}
    for edge, place in places.items():
        ax.text(*place, texts[edge], zorder=4, **text)
    text = {"ha": "left", "fontsize": SMALL_FONT * scale, "color": "#444444", "parse_math": False}
    for k, line in enumerate(legend):
        ax.text(low[0] + MARGIN / 2, low[1] + FOOT * (len(legend) - k - 0.5), line, va="center", **text)
    if title:
        at = low[0] + MARGIN / 2, high[1] - HEAD / 2
        ax.text(*at, title, ha="left", va="center", fontsize=FONT * scale, weight="bold", parse_math=False)
    return ax.figure


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
        if style.line == DOTS:
            width = max(width, LEAST_DOT * scale)
        line = {"linewidth": width, "linestyle": style.line, "capstyle": "round" if style.line == DOTS else "butt"}
        yield patches.PathPatch(path, fill=False, edgecolor=style.color, **line)
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


def _strongest(A, shown_edges):
    """Return the matrix with the strongest edges alone."""
    kept = np.zeros(A.shape)
    for edge in graphs.strongest_first(A)[:shown_edges]:
        kept[edge] = A[edge]
    return kept


def _widths(A, unit, n_left_out):
    """Return what widths and numbers mean."""
    strength = np.abs(A[np.abs(A) > LEAST])
    if not unit or not strength.size:
        return ""
    left_out = f", {n_left_out} left out" if n_left_out else ""
    least, most = short(strength.min()), short(strength.max())
    return f"wider: stronger, {least} to {most}; numbers: {MEANINGS.get(unit, unit)}{left_out}"


MEANINGS = {
    "nats": "nats of evidence lost without the arrow (doubt arrows below 10)",
    "weight": "weights in the fitted network",
    "probability": "probability of the arrow",
}
