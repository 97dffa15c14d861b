"""Draw the pictures of the README: graphs that its commands learn, beside the true graph or the consensus.

Run as ``python benchmarks/readme_picture.py``; it writes first.svg and sachs.svg in benchmarks/figures. A test compares
the pictures with what the commands learn, on every supported version.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib as mpl

from icdh import ICDH, HNMSearch, cli
from icdh.datasets import load_sachs
from icdh.files import read_graph, read_table, replace_on_success
from icdh.plotting import plot_comparison

FIGURES = Path(__file__).parent / "figures"
SIMULATED = ("--edges-per-variable", "1.5", "--seed", "6")


def save(path, *arguments, **options):
    with mpl.rc_context({"svg.hashsalt": "icdh"}):
        figure = plot_comparison(*arguments, **options)
        with replace_on_success(path) as temporary:
            figure.savefig(temporary, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=FIGURES, help="where the pictures go")
    figures = parser.parse_args().folder
    with TemporaryDirectory() as folder:
        data, truth = (f"{folder}/{name}.csv" for name in ("data", "truth"))
        cli.main(["simulate", data, truth, *SIMULATED, "--quiet"])
        table, (graph, names) = read_table(data), read_graph(truth)
    model = HNMSearch().fit(table)
    save(figures / "first.svg", model.adjacency_matrix_, graph, names, weight="nats")
    sachs = load_sachs()
    model = ICDH(scaling="standardize", random_state=0).fit(sachs.table)
    titles = ("learned from 853 cells", "consensus of the literature")
    save(figures / "sachs.svg", model.adjacency_matrix_, sachs.adjacency, sachs.feature_names, titles=titles)


if __name__ == "__main__":
    main()
