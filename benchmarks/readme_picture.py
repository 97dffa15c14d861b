"""Draw the picture of the README: the graph learned from the Sachs data beside the consensus graph.

Run as ``python benchmarks/readme_picture.py``; it writes benchmarks/figures/sachs.svg.
"""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from icdh import ICDH
from icdh.datasets import load_sachs
from icdh.files import replace_on_success
from icdh.plotting import plot_graph

PATH = Path(__file__).parent / "figures" / "sachs.svg"


def main():
    sachs = load_sachs()
    model = ICDH(scaling="standardize", random_state=0).fit(sachs.table)
    with mpl.rc_context({"svg.hashsalt": "icdh"}):
        figure = Figure(figsize=(10.5, 5.8))
        left, right = figure.subplots(
            1,
            2,
            width_ratios=(1, 1.2),
            gridspec_kw={"left": 0.01, "right": 0.99, "bottom": 0.01, "top": 0.92, "wspace": 0.02},
        )
        for axes, A, title in (
            (left, model.adjacency_matrix_, "learned from 853 cells"),
            (right, sachs.adjacency, "consensus of the literature"),
        ):
            plot_graph(A, sachs.feature_names, ax=axes)
            axes.set_title(title)
        with replace_on_success(PATH) as temporary:
            figure.savefig(temporary, metadata={"Date": None})


if __name__ == "__main__":
    main()
