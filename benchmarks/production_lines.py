"""Why arrows of causalAssembly's production stations turn: what their noise does, and what its forests' steps do.

    python benchmarks/production_lines.py FOLDER [--draws 3]

FOLDER holds a clone of https://github.com/boschresearch/causalAssembly (Göbler et al., CLeaR 2024). Its tables are
drawn along a graph: each value is one of the real measurements, chosen by weights of a random forest of the causes.
Prints for every station the edges that `HNMSearch` turns, adds and misses on the published table; then the
mean over tables that are drawn along the true graph

    model    from the model that HNMSearch fits to the true graph
    forest   as the published ones, by a random forest
    kernel   from the real measurements, too, by weights that are smooth in the causes: noise without steps
    jittered the same, moved by a twentieth of a standard deviation: no value occurs twice

and last how many nats more the graph found has than the true one. Needs scikit-learn.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from harness import only
from outside_truths import assembly

from icdh import HNMSearch
from icdh.graphs import causal_order

NEIGHBOURS = 10  # rows within the width of the kernel
LEAF = 5  # rows in a leaf of the forest
JITTER = 0.05  # standard deviations


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for table in assembly(arguments.folder):
        if table.group.endswith("stations"):
            X, truth = (table.X - table.X.mean(axis=0)) / table.X.std(axis=0), table.truth != 0
            found = HNMSearch().fit(X)
            true = HNMSearch(knowledge=only(truth)).fit(X)
            drawn = {"model": lambda rng, true=true: np.asarray(true.sample(500, random_state=rng))}
            for how in ("forest", "kernel", "jittered"):
                drawn[how] = lambda rng, X=X, truth=truth, how=how: resampled(X, truth, how, rng)
            print(f"{table.name}, {truth.sum()} edges: published {errors(found.adjacency_matrix_, truth)}", end="")
            for how, draw in drawn.items():
                each = [
                    errors(HNMSearch().fit(draw(np.random.default_rng(seed))).adjacency_matrix_, truth)
                    for seed in range(arguments.draws)
                ]
                print(f"; {how} {np.mean(each, axis=0).round(1).tolist()}", end="", flush=True)
            print(f"; {found.evidence_ - true.evidence_:.0f} nats", flush=True)


def errors(learned, truth):
    """Return how many edges are turned, extra and missing."""
    learned = learned != 0
    turned, extra = learned & truth.T & ~truth, learned & ~truth & ~truth.T
    return int(turned.sum()), int(extra.sum()), int((truth & ~learned & ~learned.T).sum())


def resampled(X, truth, how, rng):
    """Return a table along a graph whose values are measurements of X, chosen by weights that the causes give them."""
    Y = np.empty_like(X)
    for effect in causal_order(truth.astype(float)):
        causes = np.flatnonzero(truth[:, effect])
        weights = np.ones((len(X), len(X)))
        if causes.size:
            weigh = forest_weights if how == "forest" else kernel_weights
            weights = weigh(X[:, causes], X[:, effect], Y[:, causes], rng)
        shares = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
        chosen = (shares < rng.random((len(X), 1))).sum(axis=1)
        Y[:, effect] = X[np.minimum(chosen, len(X) - 1), effect]
        if how == "jittered":
            Y[:, effect] += JITTER * rng.standard_normal(len(X))
    return Y


def forest_weights(causes, effect, at, rng):
    """Return the share of trees in which rows of the table fall into the leaf of each new row."""
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(100, min_samples_leaf=LEAF, random_state=int(rng.integers(2**31)))
    forest.fit(causes, effect)
    weights = np.zeros((len(at), len(causes)))
    for known, new in zip(forest.apply(causes).T, forest.apply(at).T, strict=True):
        same = new[:, np.newaxis] == known
        weights += same / same.sum(axis=1, keepdims=True)
    return weights


def kernel_weights(causes, effect, at, rng):
    """Return Gaussian weights whose width is the distance of the tenth nearest row."""
    distances = np.square(at[:, np.newaxis] - causes).sum(axis=2)
    width = np.partition(distances, NEIGHBOURS, axis=1)[:, NEIGHBOURS, np.newaxis]
    return np.exp(-distances / np.maximum(width, 1e-12))


if __name__ == "__main__":
    main()
