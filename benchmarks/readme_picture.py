"""Draw the picture of the README: the graph that its first command learns, beside the consensus graph.

Run as ``python benchmarks/readme_picture.py``; it writes benchmarks/figures/sachs.svg. A test compares the picture with
what the command learns, on every supported version.
"""

from pathlib import Path

import matplotlib as mpl

from icdh import ICDH
from icdh.datasets import load_sachs
from icdh.files import replace_on_success
from icdh.plotting import plot_comparison

PATH = Path(__file__).parent / "figures" / "sachs.svg"


def main():
    sachs = load_sachs()
    model = ICDH(scaling="standardize", random_state=0).fit(sachs.table)
    with mpl.rc_context({"svg.hashsalt": "icdh"}):
        figure = plot_comparison(
            model.adjacency_matrix_,
            sachs.adjacency,
            sachs.feature_names,
            titles=("learned from 853 cells", "consensus of the literature"),
        )
        with replace_on_success(PATH) as temporary:
            figure.savefig(temporary, metadata={"Date": None})


if __name__ == "__main__":
    main()
