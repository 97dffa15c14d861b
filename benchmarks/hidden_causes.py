"""Hidden common causes of many columns: what HNMSearch(hidden_causes=True) finds, and what it invents.

    python benchmarks/hidden_causes.py results.json [--rows ...] [--seeds FIRST END] [--rivals] [--limit 120]

Tables have one edge a column on average, and either 1000 rows and a hidden variable that is a cause of some columns, or
500 rows and none.
An error is a pair of columns whose marks differ from the truth: arrow, arrow back, hidden cause in common. Every row of
the JSON file is a table; what is there is not computed again.

``--rivals`` runs other methods on the same tables (`hidden_peers.py`), into a file of its own. Their errors are counted
kindly: where a method leaves open what a pair is, or says that of two readings one holds, it is right if either does. A
method that needs more seconds of CPU time than the limit has failed.
"""

import argparse
import time
import warnings

import numpy as np
from harness import Results, cpu_limit
from hidden_peers import RIVALS

from icdh import HNMSearch, simulate
from icdh.exceptions import DataWarning

LINEAR = {"mechanism": "linear", "noise": "homo-nv"}
NETWORKS = {"mechanism": "mlp", "noise": "homo-nv"}
PROCESSES = {"mechanism": "gp-add", "noise": "homo-nv"}
HETEROSCEDASTIC = {"mechanism": "mlp", "noise": "softplus-shared"}
TABLES = {
    "linear, 12 columns, 8 children": (LINEAR, 12, 8),
    "linear, 10 columns, 6 children": (LINEAR, 10, 6),
    "linear, 10 columns, 4 children": (LINEAR, 10, 4),
    "linear, 10 columns, 3 children": (LINEAR, 10, 3),
    "networks, 12 columns, 8 children": (NETWORKS, 12, 8),
    "Gaussian processes, 10 columns, 8 children": (PROCESSES, 10, 8),
    "heteroscedastic, 12 columns, 8 children": (HETEROSCEDASTIC, 12, 8),
    "linear, 8 columns, none": (LINEAR, 8, 0),
    "networks, 8 columns, none": (NETWORKS, 8, 0),
    "Gaussian processes, 8 columns, none": (PROCESSES, 8, 0),
    "heteroscedastic, 8 columns, none": (HETEROSCEDASTIC, 8, 0),
    "linear, Laplace, 8 columns, none": ({**LINEAR, "distribution": "laplace"}, 8, 0),
    "linear, heteroscedastic, 8 columns, none": ({**LINEAR, "noise": "exp-bounded", "spread": 5.0}, 8, 0),
}


def table_of(name, seed):
    """Return a table, the true arrows, and the pairs with the hidden cause in common."""
    options, N, children = TABLES[name]
    rng = np.random.default_rng([seed, sorted(TABLES).index(name)])
    arrows = simulate.erdos_renyi(N, 1.0, random_state=rng) != 0
    truth = np.zeros((N + 1, N + 1), dtype=int)
    truth[:N, :N] = arrows
    truth[N, rng.choice(N, size=children, replace=False)] = 1
    hidden = np.outer(truth[N, :N], truth[N, :N]) > 0
    np.fill_diagonal(hidden, False)
    how = {"standardize": True, "random_state": int(rng.integers(2**31)), **options}
    X = simulate.simulate_sem(truth, 1000 if children else 500, **how).X
    return X[:, :N], arrows, hidden


def counts_of(name, seed):
    X, arrows, hidden = table_of(name, seed)
    pairs, counts = np.triu_indices(len(arrows), 1), {"pairs": int(hidden.sum()) // 2}
    for key, asked in (("before", False), ("after", True)):
        begin = time.process_time()
        model = HNMSearch(hidden_causes=asked).fit(X)
        counts[f"seconds {key}"] = time.process_time() - begin
        found, shared = model.adjacency_matrix_ != 0, model.bidirected_edges_
        differ = (found != arrows) | (found != arrows).T | (shared != hidden)
        counts[f"errors {key}"] = int(differ[pairs].sum())
        counts[f"false arrows {key}"] = int((found & hidden & ~arrows & ~arrows.T).sum())
    counts["right pairs"] = int((shared & hidden)[pairs].sum())
    counts["false pairs"] = int((shared & ~hidden)[pairs].sum())
    counts["found"] = len(model.hidden_causes_)
    return counts


def counts_of_rival(rival, name, seed, limit):
    X, arrows, hidden = table_of(name, seed)
    begin = time.process_time()
    try:
        with cpu_limit(limit):
            allowed, shared = RIVALS[rival](X)
    except Exception as error:  # whatever ends a method of others
        return {"failed": type(error).__name__}
    agrees = (allowed & arrows) | (allowed & arrows).T | (shared & hidden)
    nothing = ~(allowed | allowed.T | shared | arrows | arrows.T | hidden)
    pairs = np.triu_indices(len(arrows), 1)
    return {
        "seconds": time.process_time() - begin,
        "errors": int((~(agrees | nothing))[pairs].sum()),
        "false arrows": int((allowed & ~allowed.T & ~shared & hidden & ~arrows & ~arrows.T).sum()),
        "right pairs": int((shared & hidden)[pairs].sum()),
        "false pairs": int((shared & ~hidden)[pairs].sum()),
    }


def report_rivals(rows):
    print("| table | method | tables | errors | false arrows between children | pairs right | pairs false | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name in TABLES:
        for rival in RIVALS:
            own = [row for row in rows if (row["table"], row["rival"]) == (name, rival)]
            done = [row for row in own if "failed" not in row]
            if own:
                keys = ("errors", "false arrows", "right pairs", "false pairs", "seconds")
                means = [f"{np.mean([row[key] for row in done]):.1f}" if done else "" for key in keys]
                print("", name, rival, f"{len(done)} of {len(own)}", *means, "", sep=" | ")


def report(rows):
    print("| table | tables | errors | false arrows between children | pairs right | pairs false | found | fits |")
    print("|---|---|---|---|---|---|---|---|")
    for name in TABLES:
        own = [row for row in rows if row["table"] == name]
        if own:
            mean = {key: np.mean([row[key] for row in own]) for key in own[0] if key not in ("table", "seed")}
            changes = (
                f"{mean[f'{key} before']:.1f} -> {mean[f'{key} after']:.1f}" for key in ("errors", "false arrows")
            )
            right = f"{mean['right pairs']:.1f} of {mean['pairs']:.0f}"
            cost = mean["seconds after"] / mean["seconds before"]
            print("", name, len(own), *changes, right, f"{mean['false pairs']:.1f}", sep=" | ", end=" | ")
            print(f"{np.mean([row['found'] > 0 for row in own]):.2f} | {cost:.1f} |")


def run_rivals(args):
    results = Results(args.results, ("table", "seed", "rival"))
    for seed in range(*args.seeds):
        for name in args.rows:
            for rival in RIVALS:
                key = {"table": name, "seed": seed, "rival": rival}
                if not results.has(**key):
                    results.add(key | counts_of_rival(rival, name, seed, args.limit))
    report_rivals([row for row in results.rows if row["table"] in args.rows])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("results")
    parser.add_argument("--rows", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--seeds", nargs=2, type=int, default=(7000, 7010), metavar=("FIRST", "END"))
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--limit", type=float, default=120.0, metavar="SECONDS")
    args = parser.parse_args()
    if args.rivals:
        return run_rivals(args)
    results = Results(args.results, ("table", "seed"))
    for seed in range(*args.seeds):
        for name in args.rows:
            if not results.has(table=name, seed=seed):
                results.add({"table": name, "seed": seed, **counts_of(name, seed)})
    report([row for row in results.rows if row["table"] in args.rows])


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        main()
