"""Which arrows would survive a hidden common cause: level and power of `icdh.uncertainty.hidden_loss`.

    python benchmarks/surviving_arrows.py results.json [--kinds ...] [--seeds FIRST END]

Tables of eight variables, ten edges on average, and 1000 rows, of six kinds, with none, one and two hidden variables
that are causes of two to four others. Every row of the JSON file is a table; what is there is not computed again. The
learned arrows are counted by what stands behind them: a true arrow, a hidden common cause of both ends, or neither, and
by their loss: at least ten nats (they survive), less, or none (nothing can be told).
"""

import argparse
import time
import warnings

import numpy as np
from harness import Results

from icdh import HNMSearch, simulate
from icdh.exceptions import DataWarning
from icdh.uncertainty import hidden_loss

N, ROWS, SURVIVES = 8, 1000, 10.0
KINDS = {
    "heteroscedastic": {"mechanism": "mlp", "noise": "softplus-shared"},
    "constant noise": {"mechanism": "mlp", "noise": "homo-nv"},
    "linear": {"mechanism": "linear", "noise": "homo-nv"},
    "linear, heteroscedastic": {"mechanism": "linear", "noise": "exp-bounded", "spread": 5.0},
    "linear, Laplace": {"mechanism": "linear", "noise": "homo-nv", "distribution": "laplace"},
    "additive, heteroscedastic": {"mechanism": "gp-add", "noise": "exp-bounded", "spread": 5.0},
}
BEHIND, LOSSES = ("a true arrow", "a hidden cause", "neither"), ("survives", "less", "untold")


def table_of(kind, seed, n_hidden):
    """Return a table and the true graph of its variables and then of the hidden ones."""
    rng = np.random.default_rng([seed, n_hidden])
    truth = np.zeros((N + n_hidden, N + n_hidden), dtype=int)
    truth[:N, :N] = simulate.erdos_renyi(N, 1.25, random_state=seed) != 0
    for hidden in range(N, N + n_hidden):
        truth[hidden, rng.choice(N, size=rng.integers(2, 5), replace=False)] = 1
    return simulate.simulate_sem(truth, ROWS, standardize=True, random_state=seed, **KINDS[kind]).X[:, :N], truth


def counts_of(kind, seed, n_hidden):
    X, truth = table_of(kind, seed, n_hidden)
    begin = time.process_time()
    model = HNMSearch().fit(X)
    fitted = time.process_time()
    loss = hidden_loss(model)
    counts = {"fit": fitted - begin, "question": time.process_time() - fitted}
    for i, j in np.argwhere(model.adjacency_matrix_):
        shared = (truth[N:, i] & truth[N:, j]).any()
        behind = BEHIND[0 if truth[i, j] else 1 if shared else 2]
        key = f"{behind}, {LOSSES[2 if np.isnan(loss[i, j]) else int(loss[i, j] < SURVIVES)]}"
        counts[key] = counts.get(key, 0) + 1
    return counts


def report(rows):
    columns = [f"{behind}, {loss}" for behind in BEHIND for loss in LOSSES]
    print("tables", *columns, "cost", sep=" | ")
    for kind, n_hidden in sorted({(row["kind"], row["n_hidden"]) for row in rows}):
        own = [row for row in rows if (row["kind"], row["n_hidden"]) == (kind, n_hidden)]
        cost = sum(row["question"] for row in own) / sum(row["fit"] for row in own)
        sums = (sum(row.get(column, 0) for row in own) for column in columns)
        print(f"{kind}, {n_hidden} hidden, {len(own)}", *sums, f"{cost:.2f}", sep=" | ")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("results")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seeds", nargs=2, type=int, default=(6000, 6020), metavar=("FIRST", "END"))
    args = parser.parse_args()
    results = Results(args.results, ("kind", "seed", "n_hidden"))
    for seed in range(*args.seeds):
        for key in ((kind, n_hidden) for kind in args.kinds for n_hidden in range(3)):
            place = {"kind": key[0], "seed": seed, "n_hidden": key[1]}
            if not results.has(**place):
                results.add({**place, **counts_of(key[0], seed, key[1])})
    report([row for row in results.rows if row["kind"] in args.kinds])


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        main()
