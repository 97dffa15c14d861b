"""Your own method on the tables that HNMSearch is measured on.

    python -m benchmarks own_method MODULE:FUNCTION results.json [--sets simulated zeros csuite few published]
        [--tables 10] [--folder CLONE] [--limit 600]

FUNCTION takes a table, an ndarray of shape (M, N) with observations in rows, and returns an adjacency matrix of shape
(N, N), whose [i, j] is not zero where i causes j. MODULE is in the working directory, or installed. Every table is
standardised and its columns are permuted. HNMSearch and the graph without an edge stand beside your method. Results are
kept in the JSON file under the name of the function; what is there is not run again.

Sets: "simulated", random networks whose spread depends on the causes, some columns rounded, of few values or with heavy
tails; "zeros", columns with 20 to 80 % zeros; "published", what Lachapelle et al. drew (see published_sets.py for
``--folder``). Prints mean SHD, its standard error, edges too many, missing and reversed, and the median of the CPU
seconds.
"""

import argparse
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import outside_truths
import point_masses
import published_sets
import simulated_tables
from harness import Results, cpu_limit

from icdh import HNMSearch, metrics

Method = Callable[[np.ndarray], np.ndarray]
KINDS = ("plain", "rounded", "mixed", "heavy-tailed")  # of simulated_tables.py
FIRST_SEED = 70_000
KEPT = ("shd", "extra", "missing", "reversed")


def simulated(count: int, folder: Path | None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, table and true graph."""
    for kind in KINDS:
        for seed in range(FIRST_SEED, FIRST_SEED + count):
            X, truth, _ = simulated_tables.draw(kind, 10, 1 + seed % 2, 1000, seed)
            yield f"{kind} {seed}", X, truth


def zeros(count: int, folder: Path | None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, table and true graph."""
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        yield f"zeros {seed}", *point_masses.draw(seed, "acting")


def published(count: int, folder: Path | None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, table and true graph."""
    for name in published_sets.SETS:
        for graph in published_sets.graphs_of(name, folder)[:count]:
            yield f"{name} {graph}", *published_sets.table(name, graph, folder)


def outside(name: str, count: int, folder: Path | None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, table and true graph."""
    for table in outside_truths.SETS[name](count, folder):
        yield table.name, *outside_truths.prepared(table)[:2]


SETS = {
    "simulated": simulated,
    "zeros": zeros,
    "csuite": partial(outside, "csuite"),
    "few": partial(outside, "few"),
    "published": published,
}


def ours(X: np.ndarray) -> np.ndarray:
    """Return the graph of HNMSearch."""
    return HNMSearch().fit(X).adjacency_matrix_


def no_edge(X: np.ndarray) -> np.ndarray:
    """Return the graph without an edge."""
    return np.zeros((X.shape[1],) * 2)


def method_of(place: str) -> Method:
    """Return the function that MODULE:FUNCTION names."""
    module, colon, name = place.partition(":")
    if not colon:
        sys.exit(f"name a function as MODULE:FUNCTION, got {place!r}")
    sys.path.insert(0, os.getcwd())
    try:
        return getattr(import_module(module), name)
    except (ModuleNotFoundError, AttributeError) as error:
        sys.exit(f"{place}: {error}; MODULE is a file of this folder without .py, or an installed module")


def measure(method: Method, X: np.ndarray, truth: np.ndarray, limit: float) -> dict:
    """Return errors and CPU seconds of a method on one table; a method that fails or is stopped has no errors."""
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    begin = time.process_time()
    try:
        with cpu_limit(limit), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = np.asarray(method(X.copy())) != 0
        found = metrics.evaluate(graph.astype(float), (np.asarray(truth) != 0).astype(float))
    except Exception as error:
        return {**dict.fromkeys(KEPT), "seconds": time.process_time() - begin, "failure": str(error) or "stopped"}
    seconds = round(time.process_time() - begin, 3)
    return {name: int(found[name]) for name in KEPT} | {"seconds": seconds, "failure": None}


def print_set(name: str, rows: list[dict], methods: list[str]) -> None:
    """Print the errors of every method on a set of tables."""
    print(f"\n| {name} | tables | SHD | extra | missing | reversed | seconds |\n" + "|---" * 7 + "|")
    for method in methods:
        known = [row for row in rows if row["method"] == method]
        ended = [row for row in known if row["failure"] is None]
        if not ended:
            print(f"| {method} | 0, {len(known)} failed: {known[0]['failure']} | | | | | |")
            continue
        mean = {kept: np.mean([row[kept] for row in ended]) for kept in KEPT}
        error = np.std([row["shd"] for row in ended]) / np.sqrt(len(ended))
        failed = f", {len(known) - len(ended)} failed" if len(known) > len(ended) else ""
        others = " | ".join(f"{mean[kept]:.1f}" for kept in KEPT[1:])
        seconds = np.median([row["seconds"] for row in ended])
        print(f"| {method} | {len(ended)}{failed} | {mean['shd']:.2f} ± {error:.2f} | {others} | {seconds:.2f} |")


def main() -> None:
    """Run what has no result yet, and print a table a set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("method", metavar="MODULE:FUNCTION")
    parser.add_argument("results", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["simulated", "zeros"])
    parser.add_argument("--tables", type=int, default=10, help="of each kind")
    parser.add_argument("--folder", type=Path, help="a clone of the repository of the published sets")
    parser.add_argument("--limit", type=float, default=600.0, help="CPU seconds of one fit")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    methods = {arguments.method: method_of(arguments.method), "HNMSearch": ours, "no edge": no_edge}
    results = Results(arguments.results, ("set", "table", "method"))
    for name in arguments.sets:
        for table, X, truth in SETS[name](arguments.tables, arguments.folder):
            for method, function in methods.items():
                key = {"set": name, "table": table, "method": method}
                if not results.has(**key):
                    results.add(key | measure(function, X, truth, arguments.limit))
        print_set(name, [row for row in results.rows if row["set"] == name], list(methods))


if __name__ == "__main__":
    main()
