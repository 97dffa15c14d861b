"""Pictures of graphs and effects. Needs the extra ``[plot]``."""

from icdh.plotting.effect import plot_answer, plot_effect, plot_hidden_cause
from icdh.plotting.graph import (
    DOUBTFUL,
    EdgeStyle,
    check_plot_path,
    edge_kinds,
    plot_comparison,
    plot_graph,
    plot_model,
    save_figure,
)
from icdh.plotting.layout import Layout, layered_layout

__all__ = ["DOUBTFUL", "EdgeStyle", "Layout", "check_plot_path", "edge_kinds", "layered_layout", "plot_comparison"]
__all__ += ["plot_answer", "plot_effect", "plot_graph", "plot_hidden_cause", "plot_model", "save_figure"]
