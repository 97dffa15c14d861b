"""How often arrows point the wrong way round, by what is lost when they are turned.

Run as ``python benchmarks/turned_edges.py``: 12 graphs of eight variables and twelve edges, 500 rows each, under five
departures from the model or none; a few minutes. Edges between variables that no edge joins are counted apart.
"""

import warnings

import numpy as np

from icdh import HNMSearch, simulate
from icdh.exceptions import DataWarning
from icdh.uncertainty import turning_loss
from icdh.uncertainty.turning import DOUBTFUL

KINDS = {"as assumed": {}, "Laplace noise": {"distribution": "laplace"}, "constant noise": {"noise": "homo-nv"}}
N, ROWS, SEEDS = 8, 500, range(100, 112)


def tables(seed):
    graph = simulate.erdos_renyi(N, 1.5, random_state=seed)
    for kind, options in KINDS.items():
        data = simulate.simulate_sem(graph, ROWS, random_state=seed, standardize=True, **options)
        yield kind, data.X, data.adjacency
        if not options:
            yield "rounded to halves", np.round(2 * data.X) / 2, data.adjacency
            seen = np.arange(N) != np.argmax(data.adjacency.sum(axis=1))
            yield "a cause left out", data.X[:, seen], data.adjacency[np.ix_(seen, seen)]


def main():
    counts = {}
    for seed in SEEDS:
        for kind, X, truth in tables(seed):
            model = HNMSearch().fit(X)
            loss = turning_loss(model)
            for i, j in np.argwhere(model.adjacency_matrix_ != 0):
                group = "cannot be turned" if np.isnan(loss[i, j]) else "marked" if loss[i, j] < DOUBTFUL else "sure"
                what = "right" if truth[i, j] else "reversed" if truth[j, i] else "extra"
                counts[kind, group, what] = counts.get((kind, group, what), 0) + 1
    print("table, arrow: right, reversed, extra")
    for kind, group in sorted({key[:2] for key in counts}):
        print(f"{kind}, {group}:", *(counts.get((kind, group, what), 0) for what in ("right", "reversed", "extra")))


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        main()
