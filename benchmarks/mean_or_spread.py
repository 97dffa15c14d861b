"""Whether the marks of arrows are right: does the cause act on the mean of its effect, on its spread, or on both.

    python benchmarks/mean_or_spread.py results.json [--kinds ...] [--rows 500 1000 5000] [--seeds FIRST END]

Tables of eight variables and twelve edges, each on the mean, the spread or both at random, by functions of all causes
together: Gaussian processes (even seeds) or networks. A mark stands at ten nats. What is there is not computed again.
The printed columns count the true arrows that were found:

- edges, right: all of them, and the share whose two marks are both right;
- false, of: marks of parts that the cause does not act on, and how many such parts there are;
- of these, known: those of effects all of whose causes were found, else another one may take the part of what lacks;
- missed, of: parts that it does act on and that have no mark, and how many there are.

The cost is the CPU time of the marks as a share of that of the fit.
"""

import argparse
import time
import warnings

import numpy as np
from harness import Results

from icdh import HNMSearch
from icdh.exceptions import DataWarning
from icdh.uncertainty import mean_and_spread_loss

N, EDGES, NATS = 8, 12, 10.0
MEAN, SPREAD = 1, 2
COUNTED = ("edges", "right", "false", "of", "false, known", "of known", "missed", "of them", "marks", "rest")
NOISE = {
    "Laplace noise": lambda rng, size: rng.laplace(size=size) / np.sqrt(2.0),
    "Student's t, 3 degrees": lambda rng, size: rng.standard_t(3, size=size) / np.sqrt(3.0),
}
KINDS = ["plain", "linear", "correlated causes", "labels", "point masses", "rounded", "interventions", *NOISE]


def function(causes, rng, how):
    """Return a function of columns of causes, of mean zero and variance one; zero without any."""
    if not len(causes):
        return 0.0
    if how == "linear":
        values = rng.uniform(0.7, 1.3, len(causes)) @ causes
    elif how == "gp":  # by random Fourier features
        angles = rng.normal(size=(200, len(causes))) @ causes + rng.uniform(0.0, 2.0 * np.pi, size=(200, 1))
        values = rng.normal(size=200) @ np.cos(angles)
    else:
        units = np.tanh(1.5 * rng.normal(size=(10, len(causes))) @ causes + rng.normal(size=(10, 1)))
        values = rng.normal(size=10) @ units
    return (values - values.mean()) / values.std()


def table_of(kind, rows, seed):
    """Return a table, what every edge acts on, and which values were set."""
    rng = np.random.default_rng(seed)
    how = "linear" if kind == "linear" else ("gp", "network")[seed % 2]
    acts = np.zeros((N, N), dtype=int)
    pairs = np.argwhere(np.triu(np.ones((N, N)), 1))
    for i, j in rng.permutation(pairs)[:EDGES]:
        acts[i, j] = rng.integers(1, 4)
    if kind == "labels":
        acts[:, :2] = 0
    columns, was_set = np.zeros((N, rows)), np.zeros((rows, N), dtype=bool)
    level = 0.2 if kind == "correlated causes" else 0.7
    for j in range(N):
        mean, spread = (function(columns[(acts[:, j] & part) > 0], rng, how) for part in (MEAN, SPREAD))
        noise = NOISE.get(kind, lambda rng, size: rng.normal(size=size))(rng, rows)
        column = mean + level * np.exp(0.6 * spread) * noise
        column = (column - column.mean()) / column.std()
        if kind == "labels" and j < 2:
            column = rng.permutation([-1.2, 0.0, 1.2])[rng.integers(3, size=rows)]
        if kind == "point masses":
            column[rng.random(rows) < 0.3] = 0.0
        if kind == "rounded":
            column = np.round(4.0 * column) / 4.0
        if kind == "interventions":
            was_set[:, j] = np.arange(rows) % (2 * N) == j
            column = np.where(was_set[:, j], rng.normal(size=rows), column)
        columns[j] = column
    order = rng.permutation(N)
    table = columns.T.astype(object)
    if kind == "labels":
        table[:, :2] = np.array(["none", "some", "much"])[
            np.unique(columns[:2], return_inverse=True)[1].reshape(2, -1)
        ].T
    return (table if kind == "labels" else columns.T)[:, order], acts[np.ix_(order, order)], was_set[:, order]


def counts_of(kind, rows, seed):
    table, acts, was_set = table_of(kind, rows, seed)
    before = time.process_time()
    model = HNMSearch().fit(table, interventions=was_set if was_set.any() else None)
    fitted = time.process_time()
    losses = mean_and_spread_loss(model)
    ended = time.process_time()
    found = np.isfinite(losses[0]) & (acts > 0)
    marks = np.array([part[found] >= NATS for part in losses])
    true = np.array([(acts[found] & part) > 0 for part in (MEAN, SPREAD)])
    known = ~true & ~((acts > 0) & (model.adjacency_matrix_ == 0)).any(axis=0)[np.nonzero(found)[1]]
    return {
        "edges": int(found.sum()),
        "right": int((marks == true).all(axis=0).sum()),
        "false": int((marks & ~true).sum()),
        "of": int((~true).sum()),
        "false, known": int((marks & known).sum()),
        "of known": int(known.sum()),
        "missed": int((~marks & true).sum()),
        "of them": int(true.sum()),
        "marks": ended - fitted,
        "rest": fitted - before,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("results")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--rows", nargs="+", type=int, default=(500, 1000, 5000))
    parser.add_argument("--seeds", nargs=2, type=int, default=(9100, 9120), metavar=("FIRST", "END"))
    args = parser.parse_args()
    results = Results(args.results, ("kind", "rows", "seed"))
    HNMSearch().fit(np.random.default_rng(0).normal(size=(50, 2)))  # kernels
    for kind in args.kinds:
        for rows in args.rows:
            for seed in range(*args.seeds):
                if not results.has(kind=kind, rows=rows, seed=seed):
                    results.add({"kind": kind, "rows": rows, "seed": seed, **counts_of(kind, rows, seed)})
    report([row for row in results.rows if row["kind"] in args.kinds])


def report(results):
    print("tables, rows | edges | right | false, of | known | missed, of | cost")
    for kind, rows in dict.fromkeys((row["kind"], row["rows"]) for row in results):
        own = [row for row in results if (row["kind"], row["rows"]) == (kind, rows)]
        edges, right, false, of, false_known, known, missed, of_them, marks, rest = (
            sum(row[name] for row in own) for name in COUNTED
        )
        share = right / max(edges, 1)
        counts = f"{edges} | {share:.3f} | {false}, {of} | {false_known}, {known} | {missed}, {of_them}"
        print(f"{kind}, {rows} ({len(own)}) | {counts} | {marks / rest:.2f}")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        main()
