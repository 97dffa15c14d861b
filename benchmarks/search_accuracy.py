"""Accuracy of ICDH and HNMSearch: raw and standardised tables, every noise variant, files and fresh graphs.

    python benchmarks/search_accuracy.py results.json [--suite report] [--folder DIR]

Every fit is kept in the JSON file as soon as it is done, and not repeated: an interrupted run goes on where it was.
Prints one line for each setting: mean SHD and its standard error, extra, missing and reversed edges, SID, and median
and largest seconds of one core (CPU time of the process). Suites are lists of settings, see `SUITES`. ``--folder``
names a folder of files ``hetero_d{N}_ER{k}_s{seed}.npz`` with arrays X and W.
"""

import argparse
import json
import os
import platform
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from icdh import ICDH, HNMSearch, metrics, simulate

METHODS = {
    "search": lambda: HNMSearch(),
    "search-free": lambda: HNMSearch(noise_distribution="free"),
    "search-five": lambda: HNMSearch(hidden_units=5),
    "search-gaussian": lambda: HNMSearch(noise_distribution="gaussian"),
    "icdh": lambda: ICDH(random_state=0),
    "icdh-equal": lambda: ICDH(noise="equal", random_state=0),
}


class Setting(NamedTuple):
    """Tables of one kind, and what is done with them."""

    method: str
    table: str  # "raw" or "standardised"
    variables: int
    edges: int
    noise: str = "softplus-shared"
    distribution: str = "gaussian"
    source: str = "fresh"  # or "files"

    @property
    def key(self):
        """Name the setting in the JSON file."""
        return "/".join(map(str, self))


def settings(method, table, sizes, **options):
    return [Setting(method, table, variables, edges, **options) for variables, edges in sizes]


SMALL = [(10, 1), (10, 2), (20, 1), (20, 2)]
SUITES = {
    "search": settings("search", "standardised", [*SMALL, (50, 1)]),
    "search-files": settings("search", "standardised", [*SMALL, (5, 1), (5, 2)], source="files"),
    "icdh-files": [
        setting
        for table in ("raw", "standardised")
        for setting in settings("icdh", table, [*SMALL, (5, 1), (5, 2)], source="files")
    ],
    "icdh": settings("icdh", "raw", SMALL) + settings("icdh", "standardised", SMALL),
    "units": [
        setting
        for sizes, noise in ((SMALL, "softplus-shared"), (SMALL[:1], "exp"))
        for method in ("search", "search-gaussian", "search-five")
        for setting in settings(method, "standardised", sizes, noise=noise)
    ],
    "variants": [
        setting
        for noise in ("homo-ev", "homo-nv", "exp", "exp-bounded", "piecewise")
        for setting in settings("search", "standardised", SMALL if noise.startswith("homo") else SMALL[:2], noise=noise)
    ],
    "variants-icdh": [
        setting for noise in ("homo-ev", "homo-nv") for setting in settings("icdh-equal", "raw", SMALL, noise=noise)
    ],
    "distributions": [
        setting
        for distribution in ("gaussian", "laplace", "student-t", "uniform")
        for method in ("search", "search-gaussian", "search-free")
        for setting in settings(method, "standardised", SMALL[:2], distribution=distribution)
    ],
}


def load(setting, seed, folder):
    """Return the table and the true graph."""
    if setting.source == "files":
        stored = np.load(folder / f"hetero_d{setting.variables}_ER{setting.edges}_s{seed}.npz")
        X, truth = stored["X"], stored["W"] != 0
    else:
        graph = simulate.erdos_renyi(setting.variables, setting.edges, seed)
        drawn = simulate.simulate_sem(
            graph, 1000, noise=setting.noise, distribution=setting.distribution, random_state=seed
        )
        X, truth = drawn.X, drawn.adjacency
    if setting.table == "standardised":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, np.asarray(truth != 0, dtype=float)


def fit_one(setting, seed, folder):
    """Return the errors of one fitted graph and the seconds it took."""
    X, truth = load(setting, seed, folder)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = METHODS[setting.method]().fit(X).adjacency_matrix_
    seconds = time.process_time() - start
    found = metrics.evaluate(graph, truth)
    return {name: found[name] for name in ("shd", "extra", "missing", "reversed", "sid")} | {"seconds": seconds}


def line(setting, results):
    """Return one line of the table."""
    columns = {name: np.array([result[name] for result in results], dtype=float) for name in results[0]}
    mean = {name: values.mean() for name, values in columns.items()}
    error = columns["shd"].std() / np.sqrt(len(results))
    what = f"{setting.noise}, {setting.distribution}, {setting.source}"
    return (
        f"{setting.method:<15} {setting.table:<12} N={setting.variables:<3} ER{setting.edges} {what:<36} "
        f"SHD {mean['shd']:6.2f} +- {error:4.2f}  extra {mean['extra']:5.2f}  missing {mean['missing']:5.2f}  "
        f"reversed {mean['reversed']:5.2f}  SID {mean['sid']:7.1f}  "
        f"s {np.median(columns['seconds']):7.2f} (max {columns['seconds'].max():.1f})  n={len(results)}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--suite", choices=SUITES, nargs="*", default=[])
    parser.add_argument("--seeds", type=int, nargs=2, default=(1000, 1010), metavar=("FIRST", "END"))
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    kept = json.loads(args.results.read_text()) if args.results.exists() else {}
    kept["machine"] = {"processor": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
    HNMSearch().fit(np.random.default_rng(0).normal(size=(50, 3)))  # compile before the clock runs
    for setting in [setting for suite in args.suite for setting in SUITES[suite]]:
        results = kept.setdefault(setting.key, {})
        for seed in map(str, range(*args.seeds)):
            if seed not in results:
                results[seed] = fit_one(setting, int(seed), args.folder)
                partial = args.results.with_suffix(".part")
                partial.write_text(json.dumps(kept, indent=1))
                partial.replace(args.results)
        print(line(setting, [results[str(seed)] for seed in range(*args.seeds)]), flush=True)


if __name__ == "__main__":
    main()
