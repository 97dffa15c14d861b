"""An estimated graph beside the true one: which edges are right, reversed, extra and missing."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from icdh import graphs
from icdh._ground.arrays import Floats
from icdh._ground.labels import short
from icdh.exceptions import import_extra
from icdh.plotting.graph import edge_width, plot_graph
from icdh.plotting.layout import Edge, Layout, bounds, layered_layout
from icdh.plotting.style import LOOK, EdgeStyle, box_sizes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The palette of Okabe and Ito is safe for colour-blind readers; dashes serve prints in grey.
STYLES = {
    "right": EdgeStyle("#0072b2"),
    "reversed": EdgeStyle("#e69f00", (0, (5, 1.2))),
    "extra": EdgeStyle("#cc79a7", (0, (2.2, 1.2))),
    "missing": EdgeStyle("#333333", (0, (1, 1.4))),
}


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
    other = np.asarray(other)
    return {
        (i, j): "right" if other[i, j] != 0 else "reversed" if other[j, i] != 0 else alone
        for i, j in np.argwhere(A).tolist()
    }


def plot_comparison(
    estimated: ArrayLike,
    truth: ArrayLike,
    names: Sequence[Hashable],
    *,
    titles: tuple[str, str] = ("learned", "true"),
    weight: str = "weight",
    figure: "Figure | None" = None,
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
    figure : matplotlib.figure.Figure, optional
        Where to draw; by default a new figure.

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
    if figure is None:
        low, high = bounds(layout)
        width, height = high - low
        size = max(2 * width, 9.0), height + 0.9  # room for the legend
        figure = cast("Figure", import_extra("matplotlib.figure", "plot").Figure(figsize=size))
    edge = 0.45 / figure.get_size_inches()[1]
    grid = {"left": 0.01, "right": 0.99, "bottom": edge, "top": 1.0 - edge, "wspace": 0.02}
    left, right = figure.subplots(1, 2, gridspec_kw=grid)
    learned, true = edge_kinds(estimated, truth, "extra"), edge_kinds(truth, estimated, "missing")
    panels = (left, estimated, learned, None, titles[0]), (right, truth, true, 1.4, titles[1])  # no true strengths
    for ax, A, kinds, line_width, title in panels:
        styles = {edge: STYLES[kind]._replace(width=line_width) for edge, kind in kinds.items()}
        plot_graph(A, names, ax=ax, styles=styles, shown_edges=None, layout=layout)
        ax.set_title(title, parse_math=False)
    seen = [*learned.values(), *(kind for kind in true.values() if kind == "missing")]
    lines = [(f"{seen.count(kind)} {kind}", style._replace(width=2.0)) for kind, style in STYLES.items()]
    strengths = sorted(np.abs(estimated[estimated != 0]).tolist())
    for strength in sorted({*strengths[:1], *strengths[-1:]}):
        width = edge_width(strength, strengths[-1])
        lines.append((f"{weight} {short(strength)}", EdgeStyle(LOOK.soft, width=width)))
    line = import_extra("matplotlib.lines", "plot").Line2D
    handles = [
        line([], [], color=style.color, linestyle=style.line, linewidth=style.width, label=label)
        for label, style in lines
    ]
    figure.legend(handles=handles, loc="lower center", ncols=6, frameon=False, handlelength=2.6, columnspacing=1.6)
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
