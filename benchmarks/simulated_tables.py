"""Accuracy of HNMSearch on simulated tables as real ones are: rounded, skewed, binary, labelled, heavy-tailed, ...

    python benchmarks/simulated_tables.py results.json [--kinds KIND ...] [--methods METHOD ...] [--seeds FIRST END]

Columns are drawn cause after cause from random networks of eight tanh units, whose noise has a spread that depends on
the causes as well; what `KINDS` says is then done to them. Methods are fixed choices of noise and transform beside
`auto`; of tables with labels, to call these by their name, to take their codes for levels, and for numbers. All tables
are standardised, their columns permuted. Every fit is kept in the JSON file and not repeated. Prints mean SHD and its
standard error, reversed, extra and missing edges, and the median of the seconds of one core (CPU time). Methods were
tuned on seeds below 1000.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from icdh import HNMSearch, metrics, simulate
from icdh.files import replace_on_success

GRID_LEVELS = (3, 21)
METHODS = {
    "auto": {},
    "gaussian": {"noise_distribution": "gaussian"},
    "student": {"noise_distribution": "student"},
    "free": {"noise_distribution": "free"},
    "none": {"column_transform": "none"},
    "log": {"column_transform": "log"},
    "yeo-johnson": {"column_transform": "yeo-johnson"},
}
LABELS = {  # of tables with labels: what may be done about them
    "auto": lambda X, labels: HNMSearch(kinds=dict.fromkeys(labels, "categorical")).fit(X),
    "codes": lambda X, labels: HNMSearch().fit(X),
    "continuous": lambda X, labels: HNMSearch(kinds=dict.fromkeys(labels, "continuous")).fit(X),
}


def network(causes, rng, outputs):
    """Return standardised random functions of the causes, shape (M, outputs)."""
    hidden = np.tanh(causes @ rng.normal(size=(causes.shape[1], 8)) + rng.normal(size=8))
    values = hidden @ rng.normal(size=(8, outputs))
    return (values - values.mean(axis=0)) / values.std(axis=0)


def effect(causes, rng, noise):
    """Return a standardised effect whose mean and spread depend on the causes."""
    mean, log_spread = network(causes, rng, 2).T
    y = mean + np.exp(0.5 * log_spread - 0.7) * noise
    return (y - y.mean()) / y.std()


def on_grid(values, rng):
    """Return values rounded to a grid of 3 to 20 levels."""
    step = np.ptp(np.quantile(values, (0.01, 0.99))) / (rng.integers(*GRID_LEVELS) - 1)
    return np.round(values / step) * step


def heaped(values, rng):
    """Return values rounded to a fiftieth of their standard deviation, four of ten to a half of it."""
    fine, coarse = (np.round(values / step) * step for step in (values.std() / 50.0, values.std() / 2.0))
    return np.where(rng.random(values.size) < 0.4, coarse, fine)


def to_levels(values, rng, count):
    """Return the levels between thresholds, with logistic noise."""
    z = values + 0.3 * rng.logistic(size=values.size)
    return np.searchsorted(np.quantile(z, np.sort(rng.uniform(0.15, 0.85, count - 1))), z).astype(float)


def to_labels(values, rng):
    """Return labels of 3 to 6 kinds: the largest of random functions of the values, with Gumbel noise."""
    utilities = 2.0 * network(values[:, np.newaxis], rng, int(rng.integers(3, 7)))
    return np.argmax(utilities + rng.gumbel(size=utilities.shape), axis=1).astype(float)


def draw(kind, variables, edges, rows, seed):
    """Return a table, shape (M, N), the true graph, and which columns are labels."""
    rng = np.random.default_rng([seed, variables, edges])
    hidden = 2 if kind == "confounded" else 0
    truth = np.asarray(simulate.erdos_renyi(variables + hidden, edges, int(rng.integers(2**31)))) != 0
    truth = np.array(truth[np.ix_(*[rng.permutation(len(truth))] * 2)])
    X, acts, labels = np.zeros((rows, len(truth))), {}, []
    for j in causal_order(truth):
        noise = rng.standard_t(3, size=rows) if kind == "heavy-tailed" else rng.normal(size=rows)
        root = not truth[:, j].any()
        causes = np.column_stack([acts[k] for k in np.flatnonzero(truth[:, j])]) if not root else None
        X[:, j] = noise / noise.std() if root else effect(causes, rng, noise)
        if kind == "rounded" and rng.random() < 0.5:
            X[:, j] = on_grid(X[:, j], rng)
        elif kind == "binary-rooted" and root:
            X[:, j] = to_levels(X[:, j], rng, 2) * 2.0 - 1.0
        elif kind == "mixed" and rng.random() < 0.4:
            levels = to_levels(X[:, j], rng, int(rng.choice([2, 2, 4])))
            X[:, j] = (levels - levels.mean()) / levels.std()
        acts[j] = X[:, [j]]
        if kind == "labelled" and rng.random() < 0.4:
            X[:, j] = to_labels(X[:, j], rng)
            acts[j] = 2.0 * (X[:, [j]] == np.unique(X[:, j]))
            labels.append(j)
    X, truth = X[:, hidden:], truth[hidden:, hidden:]
    if kind == "recorded":  # what acts is not rounded, what is written down is
        X = np.column_stack([on_grid(x, rng) if rng.random() < 0.5 else x for x in X.T])
    elif kind == "heaped":
        X = np.column_stack([heaped(x, rng) if rng.random() < 0.5 else x for x in X.T])
    elif kind == "exponentiated":
        X = np.exp(X)
    elif kind == "skewed":
        X = np.sinh(0.8 * X + rng.uniform(-0.8, 0.8, size=X.shape[1]))
    if labels:
        return X, truth.astype(float), labels
    return (X - X.mean(axis=0)) / X.std(axis=0), truth.astype(float), labels


def causal_order(truth):
    order = []
    while len(order) < len(truth):
        order += [j for j in range(len(truth)) if j not in order and set(np.flatnonzero(truth[:, j])) <= set(order)]
    return order


KINDS = (
    "plain",
    "rounded",
    "recorded",
    "heaped",
    "skewed",
    "exponentiated",
    "binary-rooted",
    "mixed",
    "heavy-tailed",
    "confounded",
    "labelled",
)


def fit_one(X, truth, labels, method):
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LABELS[method](X, labels) if method in LABELS else HNMSearch(**METHODS[method]).fit(X)
    seconds = time.process_time() - start
    found = metrics.evaluate(model.adjacency_matrix_, truth)
    chosen = model.noise_distribution_
    return {name: found[name] for name in ("shd", "extra", "missing", "reversed")} | {
        "seconds": seconds,
        "chosen": chosen,
        "transform": model.column_transform_,
    }


def line(kind, method, size, rows):
    mean = {name: np.mean([row[name] for row in rows]) for name in ("shd", "reversed", "extra", "missing")}
    error = np.std([row["shd"] for row in rows]) / np.sqrt(len(rows))
    chosen = [row["chosen"] for row in rows]
    chosen += [row["transform"] for row in rows if "transform" in row]
    shares = ", ".join(f"{name} {chosen.count(name)}" for name in sorted(set(chosen)))
    return (
        f"{kind:<14} {method:<11} {size:<14} SHD {mean['shd']:5.2f} +- {error:4.2f}  reversed {mean['reversed']:4.2f}  "
        f"extra {mean['extra']:4.2f}  missing {mean['missing']:4.2f}  "
        f"s {np.median([row['seconds'] for row in rows]):5.2f}  n={len(rows)}  {shares}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--methods", nargs="+", choices={**METHODS, **LABELS}, default=list(METHODS))
    parser.add_argument("--seeds", type=int, nargs=2, default=(1000, 1010), metavar=("FIRST", "END"))
    parser.add_argument("--variables", type=int, default=8)
    parser.add_argument("--edges", type=int, default=1, help="edges a variable")
    parser.add_argument("--rows", type=int, default=1000)
    args = parser.parse_args()
    kept = json.loads(args.results.read_text(encoding="utf-8")) if args.results.exists() else {}
    HNMSearch().fit(np.random.default_rng(0).normal(size=(50, 3)))  # compile before the clock runs
    size = f"N={args.variables} ER{args.edges} M={args.rows}"
    for kind in args.kinds:
        for method in LABELS if kind == "labelled" else args.methods:
            rows = []
            for seed in range(*args.seeds):
                key = f"{kind}/{method}/{size}/{seed}"
                if key not in kept:
                    X, truth, labels = draw(kind, args.variables, args.edges, args.rows, seed)
                    kept[key] = fit_one(X, truth, labels, method)
                    with replace_on_success(args.results) as temporary:
                        temporary.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
                rows.append(kept[key])
            print(line(kind, method, size, rows), flush=True)


if __name__ == "__main__":
    main()
