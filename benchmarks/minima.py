"""How much the evidence of one graph depends on the seed of the fits: the spread of the minima that polish ends in.

    python benchmarks/minima.py results.json [--tables 10] [--seeds 5] [--rows 500] [--first 800]

Tables have ten columns, two edges a variable, and noise `softplus-shared`, so some columns are nearly determined. The
families of the true graph are fitted, grown and polished once for every seed. Prints the range of the graph's evidence
over seeds and how far the mean stays below the best fit, in nats, and the CPU seconds of polish. Tables in the file are
not fitted again.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from harness import Results, summary

from icdh import HNMSearch, simulate
from icdh._estimators.graph_search import family_evidence
from icdh._utils.clock import Clock
from icdh._utils.parallel import single_blas_thread


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    for name, default in (("tables", 10), ("seeds", 5), ("rows", 500), ("first", 800)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(arguments.results, ("rows", "table"))
    for table in range(arguments.first, arguments.first + arguments.tables):
        if not results.has(rows=arguments.rows, table=table):
            results.add({"rows": arguments.rows, "table": table, **polished(table, arguments.rows, arguments.seeds)})
    tables = [row for row in results.rows if row["rows"] == arguments.rows]
    evidence = np.array([row["evidence"] for row in tables])
    print(f"{len(tables)} tables of {arguments.rows} rows, {evidence.shape[1]} seeds each; median (range) over tables")
    print(f"range over seeds   {summary(np.ptp(evidence, axis=1), 0)} nats")
    print(f"best minus mean    {summary(evidence.max(axis=1) - evidence.mean(axis=1), 0)} nats")
    print(f"evidence of a seed {evidence.mean():.1f} nats, mean over tables")
    print(f"polish             {summary([row['seconds'] for row in tables])} s")


def polished(table, rows, n_seeds):
    """Return the evidence of the true graph for every seed, and the mean CPU seconds of polish."""
    graph = simulate.erdos_renyi(10, 2, random_state=table)
    X = simulate.simulate_sem(graph, rows, noise="softplus-shared", random_state=table).X
    found = HNMSearch(column_transform="none").fit(X).found_graph()
    order, evidence, seconds = found.table.order, [], 0.0
    families = [(node, tuple(np.flatnonzero(graph[order, order[node]]).tolist())) for node in range(len(graph))]
    with single_blas_thread():
        for seed in range(n_seeds):
            scores = family_evidence(found.settings, found.columns, found.table, 100 * seed, Clock())
            scores.grow(families)
            begin = time.process_time()
            scores.polish(families)
            scores.choose_noise(families)
            seconds += time.process_time() - begin
            evidence.append(-sum(scores(families)))
    return {"evidence": evidence, "seconds": seconds / n_seeds}


if __name__ == "__main__":
    main()
