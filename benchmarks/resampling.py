"""What resamples cost, in single searches.

    python benchmarks/resampling.py results.json [--seeds 0 3] [--rows 1000] [--resamples 100]

Tables of ten variables, 1000 rows and two edges a variable: CPU seconds of one search, the median of three with seeds
of their own, and of `icdh.bootstrap` with 100 resamples, which holds one search of the whole table.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from harness import Results, summary

from icdh import HNMSearch, bootstrap, simulate

KINDS = ("homo-nv", "softplus-shared", "exp-bounded")
VARIABLES, EDGES_PER_VARIABLE = 10, 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 3), metavar=("FIRST", "END"))
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=100)
    arguments = parser.parse_args()
    results = Results(arguments.results, ("kind", "seed"))
    warnings.simplefilter("ignore")
    HNMSearch().fit(np.random.default_rng(0).normal(size=(50, 3)))
    for seed in range(*arguments.seeds):
        for kind in KINDS:
            if not results.has(kind=kind, seed=seed):
                results.add({"kind": kind, "seed": seed, **measured(kind, seed, arguments.rows, arguments.resamples)})
    print("kind             seed  search s  resamples s  ratio")
    for row in results.rows:
        print(f"{row['kind']:15s}  {row['seed']:4d}  {row['search']:8.2f}  {row['resamples']:11.1f}  {ratio(row):5.1f}")
    print("median and range:", summary([ratio(row) for row in results.rows], 1))


def measured(kind, seed, n_rows, n_resamples):
    rng = np.random.default_rng([VARIABLES, seed])
    graph = simulate.erdos_renyi(VARIABLES, EDGES_PER_VARIABLE, rng)
    X = simulate.simulate_sem(graph, n_rows, noise=kind, standardize=True, random_state=rng).X
    searches = [seconds(lambda k=k: HNMSearch(random_state=k).fit(X)) for k in range(3)]
    return {"search": float(np.median(searches)), "resamples": seconds(lambda: bootstrap(HNMSearch(), X, n_resamples))}


def seconds(function):
    begin = time.process_time()
    function()
    return round(time.process_time() - begin, 3)


def ratio(row):
    return row["resamples"] / row["search"]


if __name__ == "__main__":
    main()
