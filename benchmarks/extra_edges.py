"""What the extra edges are that HNMSearch learns from the SynTReN tables, and what could tell them from true ones.

    python benchmarks/extra_edges.py results.json [--folder FOLDER] [--graphs 10]

Tables and folder are those of `published_sets`. An extra edge joins siblings (they have a common parent in the true
graph), a forebear and a descendant, variables of a common forebear, or variables that the true graph makes independent.
Prints how many there are of each kind, quartiles of the strengths in nats of right, reversed and extra edges, mean SHD
if edges below a strength are left out, and how many of the pairs that the true graph makes independent have a rank
correlation with p < 0.001. Fits in the file are not run again.
"""

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
from harness import Results
from published_sets import graphs_of, table
from scipy.stats import spearmanr

from icdh.graphs import descendants
from paper_reproduction.methods import estimate

LEAST = (0, 5, 10, 15, 20, 30)  # nats


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--graphs", type=int, default=10)
    arguments = parser.parse_args()
    results = Results(arguments.results, ("graph",))
    for graph in graphs_of("syntren", arguments.folder)[: arguments.graphs]:
        if not results.has(graph=graph):
            results.add({"graph": graph, **explain(*table("syntren", graph, arguments.folder))})
    report(results.rows)


def explain(X, truth):
    """Return the kind and the strength of every learned edge, and what the true graph leaves unexplained."""
    strengths, truth = estimate("HNMSearch", X, 0), truth != 0
    after = descendants(truth.astype(float)) | np.eye(len(truth), dtype=bool)
    edges = [[kind_of(i, j, truth, after), round(float(strengths[i, j]), 2)] for i, j in np.argwhere(strengths)]
    related = (after.T.astype(int) @ after) > 0
    independent = np.triu(~related, k=1)
    dependent = int((spearmanr(X).pvalue[independent] < 1e-3).sum())
    return {
        "edges": edges,
        "n_true_edges": int(truth.sum()),
        "independent_pairs": int(independent.sum()),
        "dependent_ones": dependent,
    }


def kind_of(i, j, truth, after):
    if truth[i, j] or truth[j, i]:
        return "right" if truth[i, j] else "reversed"
    if (truth[:, i] & truth[:, j]).any():
        return "siblings"
    if after[i, j] or after[j, i]:
        return "forebear"
    return "common forebear" if (after[:, i] & after[:, j]).any() else "independent"


def report(rows):
    edges = [edge for row in rows for edge in row["edges"]]
    print(f"{len(rows)} graphs: {dict(Counter(kind for kind, _ in edges))}")
    for name in ("right", "reversed", "extra"):
        own = [nats for kind, nats in edges if name in (kind, "extra" if kind not in ("right", "reversed") else "")]
        print(f"{name}: strength {np.quantile(own, (0.25, 0.5, 0.75)).round(0)}")
    for least in LEAST:
        print(f"edges of {least} nats and more: SHD {np.mean([distance(row, least) for row in rows]):.1f}")
    pairs, dependent = (sum(row[name] for row in rows) for name in ("independent_pairs", "dependent_ones"))
    print(f"{dependent} of {pairs} pairs that the true graph makes independent are correlated")


def distance(row, least):
    """Return the SHD of the edges of at least so many nats."""
    kinds = Counter(kind for kind, nats in row["edges"] if nats >= least)
    joined = kinds["right"] + kinds["reversed"]
    return row["n_true_edges"] - joined + kinds["reversed"] + kinds.total() - joined


if __name__ == "__main__":
    main()
