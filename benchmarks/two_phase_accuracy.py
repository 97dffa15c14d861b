"""ICDH on a folder of simulated tables, beside figures of another implementation on the same files.

    python benchmarks/two_phase_accuracy.py FOLDER [--reference FOLDER/authors.csv] [--seeds 2] [--restarts 1]
                                            [--schedules fast paper] [--files "*_d5_*"] [--output results.json]

FOLDER holds ``*.npz`` with arrays X (observations in rows) and W (true weighted adjacency matrix). The reference is
a CSV file with columns file, shd, nll, seconds. Default settings, raw data; seconds are CPU time of one core. Prints
means (of seconds: medians) of each group of files that have a reference. Every fit is written to the JSON file as
soon as it is done, and not repeated: an interrupted run goes on where it was.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
from harness import Results

from icdh import ICDH
from icdh.metrics import shd
from icdh.two_phase.rounds import SCHEDULES


def main():
    arguments = parse()
    reference = read_reference(arguments.reference)
    results = Results(arguments.output, ("file", "seed", "schedule", "restarts"))
    paths = sorted(arguments.folder.glob(f"{arguments.files}.npz"))
    for key in (
        (path, seed, name) for name in arguments.schedules for path in paths for seed in range(arguments.seeds)
    ):
        path, seed, schedule = key
        row = {"file": path.name, "seed": seed, "schedule": schedule, "restarts": arguments.restarts}
        if not results.has(**row):
            fit = measure(path, seed, schedule, arguments.restarts)
            results.add({**row, **fit, "reference": reference.get(path.name)})
    print_table(results.rows)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--restarts", type=int, default=1)
    parser.add_argument("--schedules", choices=SCHEDULES, nargs="+", default=["fast"])
    parser.add_argument("--files", default="*", help="names without .npz, with wildcards")
    parser.add_argument("--output", type=Path, required=True)
    return parser.parse_args()


def read_reference(path):
    if path is None:
        return {}
    with path.open(newline="") as stream:
        return {
            row["file"]: {key: float(row[key]) for key in ("shd", "nll", "seconds")} for row in csv.DictReader(stream)
        }


def measure(path, seed, schedule, restarts):
    table = np.load(path)
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ICDH(schedule=schedule, n_restarts=restarts, random_state=seed).fit(table["X"])
    seconds = time.process_time() - begin
    return {
        "shd": int(shd(model.adjacency_matrix_, table["W"])),
        "nll": model.nll_,
        "seconds": seconds,
        "kept": model.n_rounds_,
        "rounds": len(model.history_),
        "converged": bool(model.converged_),
        "evaluations": sum(record.evaluations for record in model.history_),
    }


def print_table(rows):
    print("files            schedule     SHD theirs      NLL   theirs  seconds   theirs  ratio")
    rows = [row for row in rows if row["reference"]]
    for group, schedule in sorted({(group_of(row), row["schedule"]) for row in rows}):
        print_group(group, schedule, [row for row in rows if (group_of(row), row["schedule"]) == (group, schedule)])


def group_of(row):
    return row["file"].rsplit("_s", 1)[0]


def print_group(group, schedule, rows):
    ours = {key: [row[key] for row in rows] for key in ("shd", "nll", "seconds")}
    theirs = {key: [row["reference"][key] for row in rows] for key in ("shd", "nll", "seconds")}
    ratio = np.median(np.divide(theirs["seconds"], ours["seconds"]))
    hamming = f"{np.mean(ours['shd']):6.2f} {np.mean(theirs['shd']):6.2f}"
    likelihood = f"{np.mean(ours['nll']):8.3f} {np.mean(theirs['nll']):8.3f}"
    seconds = f"{np.median(ours['seconds']):8.2f} {np.median(theirs['seconds']):8.1f} {ratio:6.0f}"
    print(f"{group:16s} {schedule:8s} {hamming} {likelihood} {seconds}", flush=True)


if __name__ == "__main__":
    main()
