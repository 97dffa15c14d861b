"""Errors of HNMSearch on tables whose columns have many zeros, beside the same tables before the zeros.

    python benchmarks/point_masses.py results.json [--tables 40] [--first-seed 0]

Six variables, ER1 and ER2 in turn, 1000 rows, spreads that depend on the causes. One to three columns are censored:
values below a quantile become that quantile, in 20 to 80 % of the rows. The zeros are in what acts on ("acting") or in
what is written down after all values are drawn ("recorded"). Prints mean SHD, its standard error, CPU seconds, and in
how many of the tables with errors the true graph has less evidence than the one found: there no search could help. Fits
are kept in the JSON file and not repeated. The method was made with seeds below 1000.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from harness import only

from icdh import HNMSearch, graphs, metrics, simulate

KINDS = ("uncensored", "acting", "recorded")
ROWS, VARIABLES = 1000, 6


def effect(causes, rng, noise):
    """Return a standardised effect whose mean and spread are random functions of the causes."""
    hidden = np.tanh(causes @ rng.normal(size=(causes.shape[1], 8)) + rng.normal(size=8))
    mean, log_spread = (hidden @ rng.normal(size=(8, 2))).T
    mean, log_spread = ((part - part.mean()) / part.std() for part in (mean, log_spread))
    value = mean + np.exp(0.5 * log_spread - 0.7) * noise
    return (value - value.mean()) / value.std()


def draw(seed, kind):
    """Return a table, shape (M, N), and its graph; the draws are the same for every kind."""
    rng = np.random.default_rng([seed, 45])
    truth = np.asarray(simulate.erdos_renyi(VARIABLES, 1 + seed % 2, random_state=seed)) != 0
    censored = rng.choice(VARIABLES, size=rng.integers(1, 4), replace=False)
    shares = dict(zip(censored.tolist(), rng.uniform(0.2, 0.8, size=censored.size), strict=True))
    noise = rng.normal(size=(ROWS, VARIABLES))
    X = np.zeros((ROWS, VARIABLES))
    for j in graphs.causal_order(truth.astype(float)):
        of_variable = np.random.default_rng([seed, j])
        causes = X[:, truth[:, j]]
        X[:, j] = effect(causes, of_variable, noise[:, j]) if causes.size else noise[:, j]
        if kind == "acting" and j in shares:
            X[:, j] = np.maximum(X[:, j], np.quantile(X[:, j], shares[j]))
    for j, share in shares.items() if kind == "recorded" else ():
        X[:, j] = np.maximum(X[:, j], np.quantile(X[:, j], share))
    return X, truth


def measured(X, truth):
    """Return errors, CPU seconds and, with errors, how many nats more the graph found has than the true one."""
    start = time.process_time()
    model = HNMSearch().fit(X)
    seconds, errors = time.process_time() - start, metrics.evaluate(model.adjacency_matrix_, truth.astype(float))
    row = {name: errors[name] for name in ("shd", "extra", "missing", "reversed")} | {"seconds": seconds}
    if errors["shd"]:
        true = HNMSearch(knowledge=only(truth), column_transform=model.column_transform_).fit(X)
        row["lead"] = model.evidence_ - true.evidence_
    return row


def main():
    """Fit what has no result yet and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--first-seed", type=int, default=0)
    args = parser.parse_args()
    known = json.loads(args.results.read_text()) if args.results.exists() else {}
    for seed in range(args.first_seed, args.first_seed + args.tables):
        for kind in KINDS:
            if (key := f"{kind} {seed}") not in known:
                X, truth = draw(seed, kind)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    known[key] = measured(X, truth)
                args.results.write_text(json.dumps(known, indent=1))
    print(f"{'kind':12} {'SHD':>5} {'s.e.':>5} {'reversed':>8} {'extra':>6} {'missing':>7} {'CPU s':>6}  truth behind")
    for kind in KINDS:
        rows = [known[f"{kind} {seed}"] for seed in range(args.first_seed, args.first_seed + args.tables)]
        mean = {
            name: np.mean([row[name] for row in rows]) for name in ("shd", "reversed", "extra", "missing", "seconds")
        }
        leads = [row["lead"] for row in rows if "lead" in row]
        error = np.std([row["shd"] for row in rows]) / np.sqrt(len(rows))
        print(
            f"{kind:12} {mean['shd']:5.2f} {error:5.2f} {mean['reversed']:8.2f} {mean['extra']:6.2f} "
            f"{mean['missing']:7.2f} {mean['seconds']:6.2f}  {sum(lead > 0.0 for lead in leads)} of {len(leads)}"
        )


if __name__ == "__main__":
    main()
