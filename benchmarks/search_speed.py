"""Seconds, memory, evidence and errors of HNMSearch, for one state of the code or several side by side.

    python benchmarks/search_speed.py results.json [--tables 10-2-1000 wine-like rounded ...] [--seeds FIRST END]
        [--trees before=FOLDER after=FOLDER five=FOLDER@hidden_units=5] [--repeats 3] [--jobs 1] [--folder FOLDER]

A table is N-k-M (M observations of an Erdos-Renyi graph of N variables with k edges a variable, noise whose spread
depends on the causes), one of the kinds of `simulated_tables.py`, or one that is as dense as real ones are:
"wine-like", 12 columns of 1600 rows, and "abalone-like", 8 of 4177, all dependent; or the name of a CSV file of numbers
in the folder that ``--folder`` names. Every fit runs in a process of its own that imports icdh from the tree under
test; the trees take turns, and what follows @ is an option of HNMSearch there. Seconds are CPU time after the kernels
are loaded, by default of one fit; memory is the peak of the fit beyond what the process held when it began, the table
included (Linux). Rows that are in the file are not run again. Prints, for each table, medians over seeds and repeats,
and beside the first tree: the ratio of seconds, the share of tables whose evidence is not lower, and mean SHD.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
KEY = ("table", "seed", "tree", "jobs", "repeat")
SAME_EVIDENCE = 0.01  # nats


def main():
    arguments = parse()
    if arguments.one:
        print(json.dumps(measure(arguments.one, arguments.jobs, arguments.option)))
        return
    from harness import Results

    results = Results(arguments.results, KEY)
    trees = dict(tree.split("=", 1) for tree in arguments.trees)
    for name in arguments.tables:
        for seed in range(*arguments.seeds):
            for repeat in range(arguments.repeats):
                for tree, folder in trees.items():
                    key = dict(zip(KEY, (name, seed, tree, arguments.jobs, repeat), strict=True))
                    if not results.has(**key):
                        results.add({**key, **run(*table(name, seed, arguments.folder), folder, arguments.jobs)})
        print_table(name, results.rows, list(trees), arguments)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--tables", nargs="+", default=["10-1-1000", "10-2-1000", "20-1-1000", "20-2-1000"])
    parser.add_argument("--seeds", type=int, nargs=2, default=(5000, 5003), metavar=("FIRST", "END"))
    parser.add_argument("--trees", nargs="+", default=[f"after={HERE.parent}"], metavar="NAME=FOLDER")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--option", default="", help=argparse.SUPPRESS)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def run(X, truth, folder, jobs):
    """Return what one fit of one table needs and finds, in a new process."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "table.npy"
        np.save(path, X)
        folder, _, option = folder.partition("@")
        command = [sys.executable, __file__, "none", "--one", str(path), "--jobs", str(jobs), "--option", option]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment(folder))
    found = json.loads(done.stdout)
    graph = found.pop("graph")
    if truth is not None:
        from icdh import metrics

        A = np.zeros_like(truth)
        A[tuple(np.array(graph, dtype=int).reshape(-1, 2).T)] = 1.0
        errors = metrics.evaluate(A, truth)
        found |= {error: errors[error] for error in ("shd", "extra", "missing", "reversed")}
    return found


def environment(folder):
    import os

    return {**os.environ, "PYTHONPATH": str(Path(folder).resolve()), "OPENBLAS_NUM_THREADS": "1"}


def measure(path, jobs, option):
    """Fit one table in this process."""
    from icdh import HNMSearch

    warnings.simplefilter("ignore")
    levels = np.random.default_rng(0).integers(0, 3, size=(60, 1))
    HNMSearch().fit(np.hstack([np.random.default_rng(0).normal(size=(60, 3)), levels]))  # loads the kernels
    X = np.load(path)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak of memory
    held, wall, cpu = megabytes("VmRSS"), time.perf_counter(), time.process_time()
    name, _, value = option.partition("=")
    model = HNMSearch(n_jobs=jobs, **({name: json.loads(value)} if option else {})).fit(X)
    return {
        "seconds": time.process_time() - cpu,
        "wall_seconds": time.perf_counter() - wall,
        "megabytes": megabytes("VmHWM") - held,
        "evidence": model.evidence_,
        "transform": model.column_transform_,
        "moves": len(model.history_),
        "families": len(model.found_graph().scores.fitted()),
        "graph": np.argwhere(model.adjacency_matrix_ != 0).tolist(),
    }


def megabytes(entry):
    """Return an entry of the status of this process: VmRSS, resident memory, or VmHWM, its peak (Linux)."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(entry):
            return int(line.split()[1]) * 1024 / 1e6
    raise ValueError(f"no entry {entry}")


def table(name, seed, folder=None):
    """Return a table, shape (M, N), and its true graph or None."""
    if name.endswith(".csv"):
        return np.loadtxt(folder / name, delimiter=",", skiprows=1), None
    if name == "wine-like":
        return dense(12, 1600, 4, seed), None
    if name == "abalone-like":
        return dense(8, 4177, 1, seed), None
    from simulated_tables import KINDS, draw

    if name in KINDS:
        return draw(name, 8, 1, 1000, seed)[:2]
    from icdh import simulate

    variables, edges, rows = map(int, name.split("-"))
    graph = simulate.erdos_renyi(variables, edges, random_state=seed)
    data = simulate.simulate_sem(graph, rows, random_state=seed)
    return (data.X - data.X.mean(axis=0)) / data.X.std(axis=0), np.asarray(data.adjacency != 0, dtype=float)


def dense(variables, rows, hidden, seed):
    """Return skewed, rounded columns that all depend on each other: on a few hidden causes and a few of the others."""
    rng = np.random.default_rng([seed, variables, rows])
    Z = rng.normal(size=(rows, hidden))
    columns = []
    for _ in range(variables):
        causes = np.column_stack([Z, *[columns[k] for k in rng.permutation(len(columns))[:3]]])
        mean = np.tanh(causes @ rng.normal(size=(causes.shape[1], 6))) @ rng.normal(size=6) + causes @ rng.normal(
            size=causes.shape[1]
        )
        spread = np.exp(0.4 * np.tanh(causes @ rng.normal(size=causes.shape[1])) - 0.7)
        column = mean / mean.std() + spread * rng.normal(size=rows)
        columns.append((column - column.mean()) / column.std())
    X = np.exp(np.column_stack(columns) * rng.uniform(0.05, 0.6, variables))
    steps = np.ptp(np.quantile(X, (0.01, 0.99), axis=0), axis=0) / rng.integers(20, 300, variables)
    X = np.round(X / steps)
    quality = np.searchsorted(np.quantile(X[:, -1], (0.02, 0.1, 0.5, 0.85, 0.98)), X[:, -1])
    return np.column_stack([X[:, :-1], quality]) if variables > 8 else X


def print_table(name, rows, trees, arguments):
    chosen = [row for row in rows if row["table"] == name and row["jobs"] == arguments.jobs]
    chosen = [row for row in chosen if arguments.seeds[0] <= row["seed"] < arguments.seeds[1]]
    first = {(row["seed"], row["repeat"]): row for row in chosen if row["tree"] == trees[0]}
    for tree in trees:
        own = [row for row in chosen if row["tree"] == tree]
        pairs = [(first[row["seed"], row["repeat"]], row) for row in own]
        seconds, megabytes = (np.median([row[field] for row in own]) for field in ("seconds", "megabytes"))
        ratio = np.median([old["seconds"] / new["seconds"] for old, new in pairs])
        kept = [new["evidence"] >= old["evidence"] - SAME_EVIDENCE for old, new in pairs]
        gained = [new["evidence"] - old["evidence"] for old, new in pairs]
        families = np.median([row["families"] for row in own])
        shd = f"{np.mean([row['shd'] for row in own]):6.2f}" if "shd" in own[0] else "     -"
        print(
            f"{name:<14} {tree:<8} s {seconds:8.2f}  wall {np.median([row['wall_seconds'] for row in own]):8.2f}  "
            f"faster {ratio:5.1f}  MB {megabytes:7.1f}  SHD {shd}  evidence no lower {np.mean(kept):4.0%}, "
            f"mean {np.mean(gained):+8.2f}, least {min(gained):+8.2f}  families {families:6.0f}  n={len(own)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
