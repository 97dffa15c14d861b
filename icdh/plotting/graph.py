"""Pictures of DAGs, for slides: causes above their effects, stronger edges wider; two side by side; and as files.

How they look: colours, sizes, the lines of edges with what they mean, and names in boxes. The graph of a fitted model
shows what is known of its edges.
"""

import os
import re
import unicodedata
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from icdh import graphs
from icdh._model.export import weight_unit
from icdh._model.structural import StructuralModel
from icdh._utils.arrays import Floats
from icdh._utils.labels import counted, printable, short
from icdh.diagnostics.result import WEAK_EDGE, EdgeCheck, doubt, edge_records
from icdh.exceptions import import_extra, option
from icdh.files import check_writable, replace_on_success
from icdh.plotting.layout import SPACING, Edge, Layout, bends, bounds, layered_layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.path import Path as Outline


@dataclass(frozen=True)
class Look:
    """Colours, and sizes in points or in inches."""

    text: str = "#333333"
    edge: str = "#2f4a6d"
    doubtful: str = "#6b7684"
    node: str = "#eaf1fb"
    border: str = "#2f5597"
    curve: str = "#0072b2"
    soft: str = "#767676"  # what a curve is compared with
    font: float = 10.0  # points
    title_height: float = 0.3  # inches
    legend_height: float = 0.21  # of a line
    shown_edges: int = 25  # more of them cannot be told apart on a slide
    name_line: int = 18  # letters; longer names are broken
    name_lines: int = 4  # longer names are shortened
    line: float = 0.17  # inches: height of a line of ten points
    padding: float = 0.2  # of a box
    zero: str = "#c55a11"  # where nothing is left of an effect
    dot: str = "#44546a"


LOOK = Look()


class EdgeStyle(NamedTuple):
    """How an edge is drawn.

    Attributes
    ----------
    color : str
        Its colour.
    line : str or tuple
        Its dashes, as matplotlib names them.
    width : float or None
        Its width in points; if None, it shows the strength of the edge.
    meaning : str
        Its line of the legend.
    """

    color: str = LOOK.edge
    line: str | tuple[float, tuple[float, ...]] = "-"
    width: float | None = None
    meaning: str = ""


DOTS = (0, (0.1, 2.2))
DOUBTFUL = EdgeStyle(LOOK.doubtful, (0, (5.0, 1.5)), meaning="the data hardly tell the direction")
WEAK = EdgeStyle(LOOK.doubtful, (0, (2.0, 2.0)), meaning=WEAK_EDGE)
GIVEN = EdgeStyle(line=DOTS, meaning="your knowledge gives the direction")


def lines_of(name: str) -> list[str]:
    """Return a name in lines that fit a box, broken between words where there are any.

    Parameters
    ----------
    name : str
        The name.

    Examples
    --------
    >>> from icdh.plotting.graph import lines_of
    >>> lines_of("alcohol_by_volume_percent")
    ['alcohol_by_volume_', 'percent']
    """
    lines = [""]
    for word in re.split(r"(?<=[ _\-./:])|(?<=[a-z])(?=[A-Z])", printable(name)):
        if lines[-1] and letters(lines[-1] + word.rstrip()) > LOOK.name_line:
            lines.append("")
        lines[-1] += word
        while letters(lines[-1]) > LOOK.name_line + 1:
            at = next(k for k in range(len(lines[-1]), 0, -1) if letters(lines[-1][:k]) <= LOOK.name_line)
            lines[-1:] = [lines[-1][:at], lines[-1][at:]]
    if len(lines) > LOOK.name_lines:
        lines = [*lines[: LOOK.name_lines - 1], lines[LOOK.name_lines - 1][: LOOK.name_line - 1] + "…"]
    return [line.strip() for line in lines]


def letters(line: str) -> int:
    """Return how many letters wide a line is; those of East Asia are two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in line)


def box_sizes(names: Sequence[str]) -> list[tuple[float, float]]:
    """Return width and height of the box of every name, in inches.

    Parameters
    ----------
    names : sequence of str
        The names.
    """
    letters_and_lines = [(max(map(letters, lines)), len(lines)) for lines in map(lines_of, names)]
    return [(k * 0.082 + LOOK.padding, n * LOOK.line + LOOK.padding) for k, n in letters_and_lines]


LEAST = float(np.finfo(float).tiny)  # the strength of an edge that knowledge alone stands behind
# The palette of Okabe and Ito is safe for colour-blind readers; dashes serve prints in grey.
KINDS = {
    "right": EdgeStyle("#0072b2"),
    "reversed": EdgeStyle("#e69f00", (0, (5, 1.2))),
    "extra": EdgeStyle("#cc79a7", (0, (2.2, 1.2))),
    "missing": EdgeStyle("#333333", (0, (1, 1.4))),
}


def plot_graph(
    A: ArrayLike,
    names: Sequence[Hashable],
    ax: "Axes | None" = None,
    *,
    styles: Mapping[Edge, EdgeStyle] | None = None,
    title: str = "",
    unit: str = "",
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
        The unit of the strengths, such as "nats". If given, the legend shows the widths of the weakest and of the
        strongest arrow.
    shown_edges : int or None
        How many edges are drawn, the strongest ones, with their variables; the legend counts the others. None draws
        all.
    layout : Layout, optional
        Where to draw variables and edges; by default `layered_layout` in the shape of a screen.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; its ``savefig`` writes it. In a file of SVG all parts of the arrow i -> j have the id ``edge i j``,
        those of a variable ``node k``.

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
    lines = {edge: (styles or {}).get(edge, EdgeStyle()) for edge in edges[:shown_edges]}
    kept = sorted(set(chain.from_iterable(lines))) if len(lines) < len(edges) else list(range(N))
    place = {node: k for k, node in enumerate(kept)}
    labels, shown = [str(names[k]) for k in kept], np.zeros((N, N))
    for edge in lines:
        shown[edge] = abs(A[edge])
    layout = layout or layered_layout(shown[np.ix_(kept, kept)], box_sizes(labels), 13.3)  # the width of a slide
    strengths = shown[shown > LEAST].tolist()
    key = _widths(strengths, unit) if unit else []
    key += dict.fromkeys(style for style in lines.values() if style.meaning)
    if len(lines) < len(edges):
        bare = f", {counted(N - len(kept), 'variable')} without one of them left out" if len(kept) < N else ""
        count = f"the {shown_edges} strongest of {len(edges)} arrows{bare}; {option('shown_edges')} shows more"
        key.append(EdgeStyle(line="none", meaning=count))
    low, high = bounds(layout)
    widest = max([0.095 * len(title), *(0.066 * len(style.meaning) + 0.6 for style in key)])
    missing = max(widest + SPACING.margin - (high - low)[0], 0.0) / 2
    low = low - [missing, LOOK.legend_height * len(key)]
    high = high + [missing, LOOK.title_height * bool(title)]
    if ax is None:
        size = (high - low) * min(40.0 / (high - low).max(), 1.0)  # wider pictures are scaled down
        blank = import_extra("matplotlib.figure", "plot").Figure(figsize=size)
        ax = cast("Axes", blank.add_axes((0.0, 0.0, 1.0, 1.0)))
    figure = cast("Figure", ax.figure)
    ax.set_axis_off()
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    scale = float((ax.get_position().size * figure.get_size_inches() / (high - low)).min())  # inches of paper
    for (i, j), style in lines.items():
        width = (style.width or edge_width(shown[i, j], max(strengths, default=1.0))) * scale
        for patch in _arrow(layout.routes[place[i], place[j]], width, style, scale):
            patch.set_gid(f"edge {i} {j}")
            ax.add_patch(patch)
    for node, label, middle, size in zip(kept, labels, layout.positions, layout.sizes, strict=True):
        _draw_node(ax, middle, size, label, scale, gid=f"node {node}")
    if key:
        ax.legend(handles=_handles(key, scale), loc="lower left", frameon=False, fontsize=8.0 * scale)
    if title:
        at = low[0] + SPACING.margin / 2, high[1] - LOOK.title_height / 2
        _write(ax, at, title, scale, ha="left", weight="bold")
    return figure


def _write(ax: "Axes", at: Sequence[float] | Floats, text: str, scale: float, **how: Any) -> None:
    ax.text(at[0], at[1], text, va="center", fontsize=LOOK.font * scale, color=LOOK.text, parse_math=False, **how)


def _widths(strengths: Sequence[float], unit: str) -> list[EdgeStyle]:
    """Return the lines of the weakest and of the strongest arrow, for a legend."""
    ends = sorted({min(strengths), max(strengths)}) if strengths else []
    words = [f"width: {short(end)} nats" if unit == "nats" else f"width: {unit} {short(end)}" for end in ends]
    widths = [edge_width(end, ends[-1]) for end in ends]
    return [EdgeStyle(LOOK.soft, width=width, meaning=word) for width, word in zip(widths, words, strict=True)]


def _handles(styles: Sequence[EdgeStyle], scale: float = 1.0) -> "list[Line2D]":
    line = import_extra("matplotlib.lines", "plot").Line2D
    return [
        line([], [], color=each.color, linestyle=each.line, linewidth=(each.width or 1.6) * scale, label=each.meaning)
        for each in styles
    ]


def edge_width(strength: float, strongest: float) -> float:
    """Return the width, in points, of the line of an edge."""
    return 0.8 + 2.4 * min(strength / strongest, 1.0)


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
    head = f"-|>,head_length={3 * scale + width},head_width={1.5 * scale + 0.6 * width}"
    yield patches.FancyArrowPatch(path=path, arrowstyle=head, linewidth=width, color=style.color)


def _smooth_path(route: Floats) -> "Outline":
    """Return the straight line of two points; through more, curves that are upright where they meet."""
    path: type[Outline] = import_extra("matplotlib.path", "plot").Path
    if len(route) == 2:
        return path(route)
    vertices = [route[0], *(point for curve in bends(route) for point in curve)]
    return path(vertices, [path.MOVETO, *[path.CURVE4] * (len(vertices) - 1)])


def _draw_node(ax: "Axes", place: Floats, size: Floats, label: str, scale: float, gid: str) -> None:
    box = import_extra("matplotlib.patches", "plot").FancyBboxPatch
    look = {"boxstyle": "round,pad=0,rounding_size=0.08", "facecolor": LOOK.node, "edgecolor": LOOK.border}
    ax.add_patch(box(place - size / 2, *size, linewidth=scale, zorder=2, gid=gid, **look))
    _write(ax, place, "\n".join(lines_of(label)), scale, ha="center", zorder=3, gid=gid)


def edge_kinds(A: ArrayLike, other: ArrayLike, alone: str) -> dict[Edge, str]:
    """Return the kind of every edge of a graph: "right" or "reversed" in the other graph, else ``alone``.

    Parameters
    ----------
    A, other : array_like, shape (N, N)
        Weighted adjacency matrices.
    alone : str
        The kind of edges that the other graph has in neither direction: "extra" or "missing".

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.plotting import edge_kinds
    >>> A = np.array([[0.0, 0.9, 0.4], [0.0, 0.0, 0.7], [0.0, 0.0, 0.0]])
    >>> truth = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    >>> edge_kinds(A, truth, "extra")
    {(0, 1): 'right', (0, 2): 'extra', (1, 2): 'reversed'}
    """
    other, edges = np.asarray(other).astype(bool), np.argwhere(A).tolist()
    return {(i, j): "right" if other[i, j] else "reversed" if other[j, i] else alone for i, j in edges}


def plot_comparison(
    estimated: ArrayLike,
    truth: ArrayLike,
    names: Sequence[Hashable],
    *,
    titles: tuple[str, str] = ("learned", "true"),
    weight: str = "weight",
) -> "Figure":
    """Draw an estimated graph beside the true one.

    Every variable has the same place in both. Edges are right (solid), reversed (long dashes), extra (short dashes,
    left) or missing (dots, right), in colours that are safe for colour-blind readers. The legend explains the lines,
    and their widths on the left.

    Parameters
    ----------
    estimated, truth : array_like, shape (N, N)
        Weighted adjacency matrices of DAGs.
    names : sequence
        N labels.
    titles : (str, str)
        The titles of the two graphs.
    weight : str
        The legend's word for a weight of the estimated graph.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ValueError
        If a graph has a cycle, or the sizes differ.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.plotting import plot_comparison
    >>> A = np.array([[0.0, 0.9, 0.4], [0.0, 0.0, 0.7], [0.0, 0.0, 0.0]])
    >>> len(plot_comparison(A, A.T, ["dose", "level", "answer"]).axes) >= 2
    True
    """
    estimated, truth = graphs.check_adjacency(estimated), graphs.check_adjacency(truth)
    if estimated.shape != truth.shape:
        raise ValueError(f"both graphs must have the same variables; got {len(estimated)} and {len(truth)}")
    layout = _layout_of_both(estimated, truth, names)
    low, high = bounds(layout)
    width, height = high - low
    size = max(2 * width, 9.0), height + 0.9  # room for the legend
    figure: Figure = import_extra("matplotlib.figure", "plot").Figure(figsize=size)
    edge = 0.45 / size[1]
    grid = {"left": 0.01, "right": 0.99, "bottom": edge, "top": 1.0 - edge, "wspace": 0.02}
    left, right = figure.subplots(1, 2, gridspec_kw=grid)
    learned, true = edge_kinds(estimated, truth, "extra"), edge_kinds(truth, estimated, "missing")
    panels = (left, estimated, learned, None, titles[0]), (right, truth, true, 1.4, titles[1])  # no true strengths
    for ax, A, kinds, line_width, title in panels:
        styles = {edge: KINDS[kind]._replace(width=line_width) for edge, kind in kinds.items()}
        plot_graph(A, names, ax=ax, styles=styles, shown_edges=None, layout=layout)
        ax.set_title(title, parse_math=False)
    seen = [*learned.values(), *(kind for kind in true.values() if kind == "missing")]
    key = [style._replace(width=2.0, meaning=f"{seen.count(kind)} {kind}") for kind, style in KINDS.items()]
    key += _widths(np.abs(estimated[estimated != 0]).tolist(), weight)
    figure.legend(
        handles=_handles(key), loc="lower center", ncols=6, frameon=False, handlelength=2.2, columnspacing=1.2
    )
    return figure


def _layout_of_both(estimated: Floats, truth: Floats, names: Sequence[Hashable]) -> Layout:
    """Return one layout for both graphs: that of the true edges and of the pairs that only the estimate connects."""
    rank = np.argsort(graphs.causal_order(truth))
    both = (truth != 0).astype(float)
    for i, j in np.argwhere((estimated != 0) & (truth == 0) & (truth.T == 0)).tolist():
        both[(i, j) if rank[i] < rank[j] else (j, i)] = 1.0
    layout = layered_layout(both, box_sizes(list(map(str, names))))
    backwards = {(j, i): route[::-1] for (i, j), route in layout.routes.items()}
    return layout._replace(routes=backwards | layout.routes)


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


def plot_model(
    model: StructuralModel,
    ax: "Axes | None" = None,
    *,
    records: Sequence[EdgeCheck] | None = None,
    title: str = "",
    shown_edges: int | None = LOOK.shown_edges,
) -> "Figure":
    """Draw the graph of a model, with what is known of its edges.

    Parameters
    ----------
    model : StructuralModel
        The model; if it has probabilities of its edges, these are the widths.
    ax : matplotlib.axes.Axes, optional
        As of `plot_graph`, like ``title`` and ``shown_edges``.
    records : sequence of EdgeCheck, optional
        What is known of the edges; by default what the model holds.

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
    >>> from icdh import HNMSearch
    >>> from icdh.plotting import plot_model
    >>> rng = np.random.default_rng(0)
    >>> dose = rng.uniform(-2.0, 2.0, 300)
    >>> answer = np.sin(2.0 * dose) + 0.2 * rng.normal(size=300)
    >>> model = HNMSearch().fit(np.column_stack([dose, answer])).model_
    >>> [text.get_text() for text in plot_model(model).axes[0].texts]
    ['x0', 'x1']
    """
    weights, unit = drawn_weights(model)
    styles = edge_styles(edge_records(model) if records is None else records, model.names)
    return plot_graph(weights, model.names, ax, styles=styles, title=title, unit=unit, shown_edges=shown_edges)


def drawn_weights(model: StructuralModel) -> tuple[Floats, str]:
    """Return the weights that edges are drawn with, shape (N, N), probabilities if there are any, and their unit."""
    if model.edge_evidence.probability is None:
        return model.adjacency, weight_unit(model)
    return (model.adjacency != 0) * np.maximum(model.edge_evidence.probability, 0.02), "probability"


def edge_styles(records: Sequence[EdgeCheck], names: Sequence[Hashable]) -> dict[Edge, EdgeStyle]:
    """Return the styles of the edges of a model: given by knowledge, weak, or of doubtful direction.

    Parameters
    ----------
    records : sequence of EdgeCheck
        What is known of the edges.
    names : sequence
        The variables.
    """
    doubtful, place = DOUBTFUL._replace(meaning=doubt(records)), {name: k for k, name in enumerate(names)}
    return {
        (place[record.cause], place[record.effect]): (
            WEAK if record.weak else GIVEN if record.known else doubtful if record.close else EdgeStyle()
        )
        for record in records
    }
