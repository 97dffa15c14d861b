"""The picture of a fitted model: its graph, with what is known of its edges."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from icdh._ground.arrays import Floats
from icdh._model.hidden import graph_with_hidden
from icdh._model.overview import weight_unit
from icdh._model.structural import StructuralModel
from icdh.diagnostics.records import EdgeCheck, edge_records
from icdh.diagnostics.track_record import UNLIKELY
from icdh.diagnostics.words import doubt
from icdh.plotting.graph import plot_graph
from icdh.plotting.layout import Edge
from icdh.plotting.style import DOUBTFUL, GIVEN, LOOK, EdgeStyle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
    >>> sorted(text.get_text() for text in plot_model(model).axes[0].texts)[-2:]
    ['x0', 'x1']
    """
    weights, names = graph_with_hidden(model)
    N = len(model.names)
    weights[:N, :N], unit = drawn_weights(model)
    styles = edge_styles(edge_records(model, None) if records is None else records, model.names)
    return plot_graph(
        weights,
        names,
        ax,
        styles=styles,
        title=title,
        unit=unit,
        n_hidden=len(model.hidden_causes),
        shown_edges=shown_edges,
    )


def drawn_weights(model: StructuralModel) -> tuple[Floats, str]:
    """Return the weights that edges are drawn with, shape (N, N), probabilities if there are any, and their unit."""
    if model.edge_probability is None:
        return model.adjacency, weight_unit(model)
    return (model.adjacency != 0) * np.maximum(model.edge_probability, 0.02), "probability"


def edge_styles(records: Sequence[EdgeCheck], names: Sequence[Hashable]) -> dict[Edge, EdgeStyle]:
    """Return the styles of the edges of a model: given, doubtful, unlikely, and marked if they may be hidden causes.

    Parameters
    ----------
    records : sequence of EdgeCheck
        What is known of the edges.
    names : sequence
        The variables.
    """
    doubtful = DOUBTFUL._replace(meanings=(f"dashed, ?: {doubt(records)}",))
    styles, place = {}, {name: k for k, name in enumerate(names)}
    for record in records:
        style = GIVEN if record.known else doubtful if record.close else EdgeStyle()
        if record.track_record is not None and record.track_record.unlikely:
            style = style._replace(color=LOOK.unlikely, meanings=(*style.meanings, f"orange: {UNLIKELY}"))
        if record.hidden_loss is not None and not record.survives:
            star = "*: may be a hidden common cause in place of the arrow"
            style = style._replace(mark=f"{style.mark}*", meanings=(*style.meanings, star))
        styles[place[record.cause], place[record.effect]] = style
    return styles
