"""How often arrows without a mark are wrong, and how many marks the tables need.

    python benchmarks/turned_edges.py results.json [--kinds ...] [--seeds FIRST END] [--folder FOLDER]

Tables of eight variables, ten edges on average, and 1000 rows. An arrow is marked if less than six nats are lost when
it points the other way (`icdh.uncertainty.direction_loss`), or less than ten without it. "public" are the tables of the
lists fourth and record of `real_tables.py`, in FOLDER; its seeds are their places. There arrows between two levels
count as joined, and those to the earlier level as wrong. Every row of the JSON file is a table; what is there is
not computed again. The printed columns count arrows between variables that a true edge joins:

- joined, wrong: all of them, and those against the true direction;
- marked, needed: those with a mark, and those that the true equivalence class leaves open. Linear Gaussian tables and
  labels tell no more than the class;
- sure, wrong: those without a mark, and the wrong ones among these.

Extra arrows, between variables that no true edge joins, are counted apart. The cost is the CPU time of the losses as a
share of that of the fit.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from harness import Results
from real_tables import LEVELS, read_by_chance

from icdh import HNMSearch, simulate
from icdh.diagnostics.result import WEAK
from icdh.exceptions import DataWarning
from icdh.graphs import causal_order
from icdh.search.climb import DOUBTFUL
from icdh.search.directions import reversible_edges
from icdh.uncertainty import direction_loss

N, ROWS = 8, 1000
SIMULATED = {
    "linear": {"mechanism": "linear", "noise": "homo-nv"},
    "heteroscedastic": {},
    "constant noise": {"noise": "homo-nv"},
    "Laplace noise": {"distribution": "laplace"},
    "rounded to halves": {},
    "a cause left out": {},
    "linear, uniform noise": {"mechanism": "linear", "noise": "homo-nv", "distribution": "uniform"},
}
PUBLIC = [item for name in ("fourth", "record") for item in LEVELS[name].items()]
KINDS = ["labels", *SIMULATED, "public"]


def public(place, folder):
    """Return a public table, its columns in an order of chance, and which columns come before which."""
    name, levels = PUBLIC[place]
    table, level = read_by_chance(folder / f"{name}.csv", levels)
    return table, (level[:, np.newaxis] < level).astype(int)


def table_of(kind, seed, folder):
    """Return a table and its true graph."""
    if kind == "public":
        return public(seed, folder)
    truth = simulate.erdos_renyi(N, 1.25, random_state=seed)
    if kind == "labels":
        return labels(truth, np.random.default_rng(seed)), truth
    data = simulate.simulate_sem(truth, ROWS, random_state=seed, standardize=True, **SIMULATED[kind])
    if kind == "rounded to halves":
        return np.round(2 * data.X) / 2, truth
    if kind == "a cause left out":
        seen = np.arange(N) != np.argmax(truth.sum(axis=1))
        return data.X[:, seen], truth[np.ix_(seen, seen)]
    return data.X, truth


def labels(truth, rng):
    """Return labels drawn from random tables: for all labels of the causes together, probabilities of the effect's."""
    sizes, codes = rng.integers(2, 4, N), np.zeros((ROWS, N), dtype=int)
    for node in causal_order(truth):
        causes = np.flatnonzero(truth[:, node])
        cells = rng.dirichlet(np.ones(sizes[node]), size=int(np.prod(sizes[causes])))
        cell = np.zeros(ROWS, dtype=int)
        for cause in causes:
            cell = cell * sizes[cause] + codes[:, cause]
        codes[:, node] = (rng.random((ROWS, 1)) > cells[cell].cumsum(axis=1)).sum(axis=1).clip(max=sizes[node] - 1)
    return np.char.add("label ", codes.astype(str)).astype(object)


def counts_of(kind, seed, folder):
    X, truth = table_of(kind, seed, folder)
    before = time.process_time()
    model = HNMSearch().fit(X)
    fitted = time.process_time()
    loss = direction_loss(model)
    asked = time.process_time()
    arrows, marked = model.adjacency_matrix_ != 0, (loss < DOUBTFUL) | (model.adjacency_matrix_ < WEAK)
    joined, wrong = arrows & (truth | truth.T).astype(bool), arrows & (truth.T != 0)
    open_ = np.zeros(truth.shape, dtype=bool)
    if kind in ("linear", "labels"):
        for edge in reversible_edges(tuple(map(tuple, (np.flatnonzero(causes).tolist() for causes in truth.T)))):
            open_[edge] = True
    sure = arrows & ~marked
    return {
        "joined": int(joined.sum()),
        "wrong": int(wrong.sum()),
        "marked": int((joined & marked).sum()),
        "needed": int((joined & (open_ | open_.T)).sum()),
        "sure": int((joined & sure).sum()),
        "sure, wrong": int((wrong & sure).sum()),
        "extra": int((arrows & ~joined).sum()),
        "extra, sure": int((sure & ~joined).sum()),
        "fit": fitted - before,
        "question": asked - fitted,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("results")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--seeds", nargs=2, type=int, default=(5000, 5100), metavar=("FIRST", "END"))
    parser.add_argument("--folder", type=Path, help="holds the public tables")
    args = parser.parse_args()
    results = Results(args.results, ("kind", "seed"))
    for kind in args.kinds:
        for seed in range(*args.seeds):
            if not results.has(kind=kind, seed=seed):
                results.add({"kind": kind, "seed": seed, **counts_of(kind, seed, args.folder)})
    report([row for row in results.rows if row["kind"] in args.kinds])


COLUMNS = ("joined", "wrong", "marked", "needed", "sure", "sure, wrong", "extra", "extra, sure")


def report(rows):
    print("tables", *COLUMNS, "cost", sep=" | ")
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        sums = [sum(row[column] for row in own) for column in COLUMNS]
        cost = sum(row["question"] for row in own) / sum(row["fit"] for row in own)
        print(f"{kind}, {len(own)}", *sums, f"{cost:.2f}", sep=" | ")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        main()
