"""The three procedures of ICDH on fresh tables: as printed, the fast one, and the fast one with the last stage.

    python benchmarks/last_stage.py results.json [--procedures stage fast paper] [--sizes 10 20 50] [--seeds 91000]

1000 rows; raw, and standardised where it says so; ten tables a setting, five of 20 and three of 50 variables. Prints
mean SHD and its standard error, extra, missing and reversed edges, and median CPU seconds. Every fit is written to the
JSON file as soon as it is done, and not repeated.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from harness import Results

from icdh import ICDH, metrics, simulate

PROCEDURES = {"stage": {}, "fast": {"edge_penalty": None}, "paper": {"schedule": "paper"}}
TABLES = {5: 10, 10: 10, 20: 5, 50: 3, 100: 1}
RAW = [(noise, N, edges) for N in (10, 20) for noise in ("homo-ev", "homo-nv", "softplus-shared") for edges in (1, 2)]
SETTINGS = [
    *((*setting, "raw") for setting in RAW),
    *(("exp", 10, edges, "raw") for edges in (1, 2)),
    *(("softplus-shared", 10, edges, "standardised") for edges in (1, 2)),
    *(("softplus-shared", N, 1, "raw") for N in (50, 100)),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--procedures", choices=PROCEDURES, nargs="+", default=list(PROCEDURES))
    parser.add_argument("--sizes", type=int, nargs="+", default=list(TABLES))
    parser.add_argument("--seeds", type=int, default=91000, help="the first seed")
    parser.add_argument("--tables", type=int, default=max(TABLES.values()), help="at most so many of each size")
    arguments = parser.parse_args()
    results = Results(arguments.output, ("noise", "variables", "edges", "units", "procedure", "seed"))
    for noise, variables, edges, units in SETTINGS:
        for procedure in arguments.procedures if variables in arguments.sizes else ():
            setting = {"noise": noise, "variables": variables, "edges": edges, "units": units, "procedure": procedure}
            n_tables = min(arguments.tables, TABLES[variables])
            for seed in range(arguments.seeds, arguments.seeds + n_tables):
                if not results.has(**setting, seed=seed):
                    results.add({**setting, "seed": seed, **measure(**setting, seed=seed)})
            print(line(setting, results.rows), flush=True)


def measure(noise, variables, edges, units, procedure, seed):
    graph = simulate.erdos_renyi(variables, edges, seed)
    data = simulate.simulate_sem(graph, 1000, noise=noise, random_state=seed)
    X = data.X if units == "raw" else (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learned = ICDH(**PROCEDURES[procedure]).fit(X).adjacency_matrix_
    seconds = time.process_time() - begin
    found = metrics.evaluate((learned != 0).astype(float), (data.adjacency != 0).astype(float))
    return {name: int(found[name]) for name in ("shd", "extra", "missing", "reversed")} | {"seconds": seconds}


def line(setting, rows):
    own = [row for row in rows if all(row[name] == value for name, value in setting.items())]
    shd = np.array([row["shd"] for row in own])
    kinds = ", ".join(f"{np.mean([row[name] for row in own]):.1f} {name}" for name in ("extra", "missing", "reversed"))
    name = "{noise} N={variables} ER{edges} {units}, {procedure}".format(**setting)
    error, seconds = shd.std() / np.sqrt(shd.size), np.median([row["seconds"] for row in own])
    return f"{name:<52} SHD {shd.mean():5.2f} ± {error:.2f} ({kinds}), {seconds:.2f} s"


if __name__ == "__main__":
    main()
