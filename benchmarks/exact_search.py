"""How often, and by how many nats, greedy search misses the best graph of the same score; what exact answers cost.

    python benchmarks/exact_search.py results.json [--variables 8 10 12 15 20] [--seeds 0 4]

Tables of `icdh.simulate`, standardised, of 1000 rows and two edges a variable: for each the greedy graph, then the best
of all graphs whose families have at most three causes among eight candidates, or are those of the greedy graph or one
cause away from them, under the same fitted families. CPU seconds: the greedy search, the fits of the families that it
did not ask for, the best graph of all, and 5000 graphs of the posterior; the last column says how many independent
draws these are worth.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from harness import Results, summary

from icdh import HNMSearch, metrics, posterior, simulate
from icdh.search.orders import best_graph, weigh_families
from icdh.uncertainty.posterior import draw_posterior

KINDS = ("homo-nv", "softplus-shared")
ROWS, EDGES_PER_VARIABLE = 1000, 2
CANDIDATES, PARENTS, GRAPHS = 8, 3, 5000
STEPS = ("search", "families", "exact", "posterior")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--variables", type=int, nargs="+", default=[8, 10, 12, 15, 20])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 4), metavar=("FIRST", "END"))
    arguments = parser.parse_args()
    results = Results(arguments.results, ("variables", "kind", "seed"))
    warnings.simplefilter("ignore")
    warm_up()
    for variables in arguments.variables:
        for seed in range(*arguments.seeds):
            for kind in KINDS:
                if not results.has(variables=variables, kind=kind, seed=seed):
                    results.add(measured(variables, kind, seed))
    print_rows(results.rows)


def warm_up():
    posterior(HNMSearch().fit(np.random.default_rng(0).normal(size=(50, 3))), n_samples=10)


def measured(variables, kind, seed):
    rng = np.random.default_rng([variables, seed])
    graph = simulate.erdos_renyi(variables, EDGES_PER_VARIABLE, rng)
    data = simulate.simulate_sem(graph, ROWS, noise=kind, standardize=True, random_state=rng)
    seconds = {}
    model = timed(seconds, "search", lambda: HNMSearch(random_state=seed).fit(data.X))
    found = model.found_graph()
    families = timed(
        seconds,
        "families",
        lambda: weigh_families(
            found.scores, found.graph, found.table.rules, n_candidates=CANDIDATES, max_parents=PARENTS
        ),
    )
    best, weight = timed(seconds, "exact", lambda: best_graph(families))
    names = model.model_.names
    drawn = timed(
        seconds,
        "posterior",
        lambda: draw_posterior(families, found.graph, names, GRAPHS, np.random.default_rng(seed)),
    )
    truth = data.adjacency[np.ix_(found.table.order, found.table.order)]
    return {
        "variables": variables,
        "kind": kind,
        "seed": seed,
        "seconds": {step: round(own, 3) for step, own in seconds.items()},
        "effective_samples": round(drawn.effective_samples),
        "missed_nats": round(weight + sum(found.scores(list(enumerate(found.graph)))), 6),
        "greedy_shd": metrics.shd(matrix(found.graph), truth),
        "exact_shd": metrics.shd(matrix(best), truth),
    }


def timed(seconds, step, function):
    begin = time.process_time()
    result = function()
    seconds[step] = time.process_time() - begin
    return result


def matrix(graph):
    adjacency = np.zeros((len(graph), len(graph)))
    for node, parents in enumerate(graph):
        adjacency[list(parents), node] = 1.0
    return adjacency


def print_rows(rows):
    print("  N  tables  missed  nats, where missed      SHD greedy  exact   CPU s: " + "  ".join(STEPS) + "  effective")
    for variables in sorted({row["variables"] for row in rows}):
        own = [row for row in rows if row["variables"] == variables]
        missed = [row["missed_nats"] for row in own if row["missed_nats"] > 1e-6]
        greedy, exact = (np.mean([row[f"{which}_shd"] for row in own]) for which in ("greedy", "exact"))
        medians = "  ".join(f"{np.median([row['seconds'][step] for row in own]):.2f}" for step in STEPS)
        effective = np.median([row["effective_samples"] for row in own])
        counts = f"{variables:3d}  {len(own):6d}  {len(missed):6d}  {summary(missed) if missed else '-':22s}"
        print(f"{counts}  {greedy:10.2f}  {exact:5.2f}   {medians}  {effective:9.0f}")


if __name__ == "__main__":
    main()
