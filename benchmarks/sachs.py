"""Sachs data: errors against the consensus graph, with and without the experiments, and over scalings and seeds.

    python benchmarks/sachs.py [--part experiments scalings] [--methods search icdh "icdh, log"] [--rows 0]

"experiments": the 853 cells of one condition; all 7466 cells of nine, with the conditions ignored, with the targets
that the article names (two conditions of unknown ones), and with those of all conditions but the first unknown. The
search has its defaults, on the columns as they are; ICDH standardises the columns, or their logarithms, and has
intercepts. ``--rows`` takes so many cells of every condition. Each fit is kept in ``benchmarks/results/sachs.json`` as
soon as it is done, and not repeated.

"scalings": SHD of ICDH on the 853 cells at threshold 0.3, and the smallest over thresholds, for every scaling and five
seeds.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from harness import Results

from icdh import ICDH, HNMSearch, Interventions
from icdh.datasets import load_sachs
from icdh.files import LabelledTable
from icdh.metrics import edge_differences, shd

RESULTS = Path(__file__).parent / "results" / "sachs.json"
METHODS = {
    "search": (HNMSearch(), False),
    "icdh": (ICDH(scaling="standardize", bias=True), False),
    "icdh, log": (ICDH(scaling="standardize", bias=True), True),
}
SETTINGS = ("one condition", "all, conditions ignored", "all, known targets", "all, unknown targets")


def experiments(results, methods, rows):
    """Fit every method in every setting."""
    for setting in SETTINGS:
        for method in methods:
            key = {"setting": setting, "method": method, "rows": rows}
            if not results.has(**key):
                results.add(key | fitted(setting, method, rows))


def fitted(setting, method, rows):
    """Return errors and CPU seconds of one fit."""
    estimator, log = METHODS[method]
    sachs = load_sachs(experiments=True)
    data = np.log(sachs.data) if log else sachs.data
    conditions = np.array(sachs.interventions.conditions)
    kept = conditions == conditions[0] if setting == SETTINGS[0] else first_of_each(conditions, rows)
    known = Interventions(conditions[kept].tolist(), sachs.interventions.targets)
    interventions = {
        SETTINGS[2]: known,
        SETTINGS[3]: Interventions(known.conditions, dict.fromkeys(known.targets)),
    }.get(setting)
    begin = time.process_time()
    model = estimator.fit(LabelledTable(data[kept], sachs.feature_names), interventions=interventions)
    seconds = time.process_time() - begin
    differences = edge_differences(model.adjacency_matrix_, sachs.adjacency)
    edges = int(np.count_nonzero(model.adjacency_matrix_))
    return {
        "cells": int(np.count_nonzero(kept)),
        "edges": edges,
        "right": edges - differences.reversed - differences.extra,
        **differences._asdict(),
        "shd": sum(differences),
        "transform": getattr(model, "column_transform_", None),
        "found": targets_found(model, sachs.feature_names),
        "seconds": round(seconds, 1),
    }


def first_of_each(conditions, rows):
    """Return the mask of the first rows of every condition; 0 for all."""
    kept = np.zeros(conditions.size, dtype=bool)
    for condition in np.unique(conditions):
        kept[np.flatnonzero(conditions == condition)[: rows or None]] = True
    return kept


def targets_found(model, names):
    """Return for every condition of unknown targets the variables that it was found to act on, most of all first."""
    least = getattr(model, "threshold", 0.0)
    return {
        condition: [names[k] for k in np.argsort(-weights) if weights[k] > least]
        for condition, weights in model.targets_.items()
    }


def table(rows):
    """Return the printed table."""
    columns = ("method", "setting", "cells", "edges", "right", "reversed", "extra", "missing", "shd", "seconds")
    order = sorted(rows, key=lambda row: (row["method"], row["rows"], SETTINGS.index(row["setting"])))
    lines = [[str(row[name]) for name in columns] for row in order]
    wide = [max(map(len, column)) for column in zip(columns, *lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, wide)).rstrip() for line in [columns, *lines])


def scalings():
    """Print SHD for every scaling."""
    sachs = load_sachs()
    for scaling in ("none", "center", "standardize"):
        for bias in (False, True):
            at_threshold, smallest, seconds = [], [], []
            for seed in range(5):
                model = ICDH(scaling=scaling, bias=bias, random_state=seed).fit(sachs.data)
                at_threshold.append(shd(model.adjacency_matrix_, sachs.adjacency))
                smallest.append(min(shd(model.rethreshold(t).adjacency_matrix_, sachs.adjacency) for t in grid(model)))
                seconds.append(sum(record.seconds for record in model.history_))
            print(f"{scaling:12s} bias={bias!s:5s} SHD {at_threshold} smallest {smallest} {np.median(seconds):.1f} s")


def grid(model):
    """Return every threshold at which the graph changes."""
    return np.unique(np.append(np.nextafter(model.weights_[model.weights_ > 0], np.inf), 0.0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ("experiments", "scalings")
    parser.add_argument("--part", choices=parts, nargs="*", default=parts)
    parser.add_argument("--methods", choices=METHODS, nargs="*", default=list(METHODS))
    parser.add_argument("--rows", type=int, default=0, help="cells of every condition; 0 for all")
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if "experiments" in args.part:
        results = Results(args.results, ("setting", "method", "rows"))
        experiments(results, args.methods, args.rows)
        print(table(results.rows))
    if "scalings" in args.part:
        scalings()


if __name__ == "__main__":
    main()
