"""What users know and have: by how much knowledge, experiments and the handling of gaps change the learned graph.

    python benchmarks/knowledge.py [--suite knowledge experiments missing] [--methods search icdh] [--seeds 7000 7008]

Tables are of 10 variables with 20 edges (ER2) and 1000 rows from `icdh.simulate` unless stated, standardised for
HNMSearch and raw for ICDH, every method with its defaults. Each fit is kept in ``benchmarks/results/knowledge.json``
as soon as it is done, and not repeated. Prints, for each setting, mean SHD and its standard error, and the mean
difference of SHD to the suite's first setting on the same tables, with the standard error of that.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from harness import Results

from icdh import ICDH, HNMSearch, Interventions, Knowledge, metrics, simulate
from icdh.graphs import causal_order

METHODS = {"search": HNMSearch, "icdh": ICDH}
VARIABLES, EDGES_PER_VARIABLE, ROWS = 10, 2, 1000
RESULTS = Path(__file__).parent / "results" / "knowledge.json"


def true_tiers(truth, rng):
    """Return three groups of a causal order."""
    order = causal_order(truth)
    cuts = len(order) // 3, 2 * len(order) // 3
    return Knowledge(tiers=[order[: cuts[0]], order[cuts[0] : cuts[1]], order[cuts[1] :]])


def true_roots(truth, rng):
    return Knowledge(roots=np.flatnonzero(~truth.any(axis=0)).tolist())


def true_edges(share):
    """Return a function that requires a share of the true edges, at least one."""

    def required(truth, rng):
        edges = np.argwhere(truth)
        chosen = rng.permutation(len(edges))[: max(1, round(share * len(edges)))]
        return Knowledge(required=[(int(i), int(j)) for i, j in edges[chosen]])

    return required


KNOWLEDGE = {
    "nothing": lambda truth, rng: None,
    "tiers": true_tiers,
    "roots": true_roots,
    "10 % of edges": true_edges(0.1),
    "30 % of edges": true_edges(0.3),
}


def simulated(seed):
    """Return a table and its true graph."""
    graph = simulate.erdos_renyi(VARIABLES, EDGES_PER_VARIABLE, seed)
    return simulate.simulate_sem(graph, ROWS, random_state=seed)


def for_method(method, X):
    return (X - X.mean(axis=0)) / X.std(axis=0) if method == "search" else X


def with_knowledge(method, setting, seed):
    data = simulated(seed)
    known = KNOWLEDGE[setting](data.adjacency, np.random.default_rng(seed))
    model = METHODS[method](knowledge=known).fit(for_method(method, data.X))
    return errors(model.adjacency_matrix_, data.adjacency)


def errors(graph, truth):
    found = metrics.evaluate(graph, truth)
    return {name: found[name] for name in ("shd", "extra", "missing", "reversed")}


def with_experiments(method, setting, seed):
    """Fit 1000 rows: all left alone, or 100 in each of ten conditions, of which nine set one variable each."""
    data = simulated(seed)
    if setting == "no experiments":
        X, interventions = data.X, None
    else:
        X, interventions = experiments(data, np.random.default_rng(seed))
    known = {
        "experiments, known targets": interventions,
        "experiments, unknown targets": interventions and without_targets(interventions),
    }
    model = METHODS[method]().fit(for_method(method, X), interventions=known.get(setting))
    return errors(model.adjacency_matrix_, data.adjacency)


def experiments(data, rng):
    """Set variables, one a condition, to normal numbers two standard deviations above what they are."""
    spread, mean = data.X.std(axis=0), data.X.mean(axis=0)
    rows = ROWS // VARIABLES
    do = {"none": {}}
    for n in rng.permutation(VARIABLES)[1:]:
        do[f"set {n}"] = {int(n): mean[n] + spread[n] * (2.0 + rng.standard_normal(rows))}
    X = np.concatenate([data.sample(rows, rng, do=actions) for actions in do.values()])
    targets = {condition: list(actions) for condition, actions in do.items()}
    return X, Interventions([condition for condition in do for _ in range(rows)], targets)


def without_targets(interventions):
    unknown = {condition: None if targets else [] for condition, targets in interventions.targets.items()}
    return Interventions(interventions.conditions, unknown)


EXPERIMENTS = (
    "no experiments",
    "experiments, ignored",
    "experiments, known targets",
    "experiments, unknown targets",
)
SHARES = (5, 20, 40)
MISSING = (
    "complete",
    *(
        f"{share} % missing {how}, {what}"
        for share in SHARES
        for how in ("at random", "by another column")
        for what in ("drop", "mean", "impute")
    ),
)


def with_gaps(method, setting, seed):
    """Fit 500 rows of 6 variables with 9 edges; gaps in every column but the first of a causal order."""
    graph = simulate.erdos_renyi(6, 1.5, seed)
    data = simulate.simulate_sem(graph, 500, random_state=seed)
    X, options = for_method(method, data.X), {}
    if setting != "complete":
        share, how, what = setting.split(" ")[0], setting.split(", ")[0].split(" missing ")[1], setting.split(", ")[1]
        gaps = gaps_of(data, int(share) / 100, how, np.random.default_rng(seed))
        if what == "mean":
            X = np.where(gaps, np.mean(X, axis=0, where=~gaps), X)
        else:
            X, options = np.where(gaps, np.nan, X), {"missing": what}
    try:
        graph = METHODS[method](**options).fit(X).adjacency_matrix_
    except ValueError:  # too few rows are left
        graph = np.zeros_like(data.adjacency)
    return errors(graph, data.adjacency)


def gaps_of(data, share, how, rng):
    """Draw gaps: with equal probability, or three times as probable where the first variable is above its median."""
    first = causal_order(data.adjacency)[0]
    probability = np.full(data.X.shape, share)
    if how == "by another column":
        above = data.X[:, first] > np.median(data.X[:, first])
        probability *= np.where(above, 1.5, 0.5)[:, np.newaxis]
    gaps = rng.random(data.X.shape) < probability
    gaps[:, first] = False
    return gaps


SUITES = {
    "knowledge": (with_knowledge, tuple(KNOWLEDGE)),
    "experiments": (with_experiments, EXPERIMENTS),
    "missing": (with_gaps, MISSING),
}


def run(results, suite, methods, seeds):
    fit, settings = SUITES[suite]
    for seed in seeds:
        for setting in settings:
            for method in methods:
                key = {"suite": suite, "method": method, "setting": setting, "seed": seed}
                if not results.has(**key):
                    begin = time.process_time()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        row = fit(method, setting, seed)
                    results.add(key | row | {"seconds": round(time.process_time() - begin, 2)})


def report(results, suite):
    """Print one line for each method and setting."""
    rows = [row for row in results.rows if row["suite"] == suite]
    _, settings = SUITES[suite]
    for method in METHODS:
        own = {name: {} for name in settings}
        for row in rows:
            if row["method"] == method:
                own[row["setting"]][row["seed"]] = row
        for setting in settings:
            print(line(method, setting, own[setting], own[settings[0]]), flush=True)


def line(method, setting, rows, first):
    seeds = sorted(rows.keys() & first.keys())
    if not seeds:
        return f"{method:7} {setting:28} no fits"
    shd, seconds = (np.array([rows[seed][name] for seed in seeds]) for name in ("shd", "seconds"))
    change = shd - [first[seed]["shd"] for seed in seeds]
    text = f"{method:7} {setting:28} SHD {mean_and_error(shd)}  change {mean_and_error(change)}"
    return f"{text}  s {np.median(seconds):.2f}  n={len(seeds)}"


def mean_and_error(values):
    return f"{values.mean():6.2f} +- {values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan:4.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=SUITES, nargs="*", default=list(SUITES))
    parser.add_argument("--methods", choices=METHODS, nargs="*", default=list(METHODS))
    parser.add_argument("--seeds", type=int, nargs=2, default=(7000, 7008), metavar=("FIRST", "END"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    results = Results(args.results, ("suite", "method", "setting", "seed"))
    HNMSearch().fit(np.random.default_rng(0).normal(size=(50, 3)))  # compile before the clock runs
    for suite in args.suite:
        run(results, suite, args.methods, range(*args.seeds))
        print(suite)
        report(results, suite)


if __name__ == "__main__":
    main()
