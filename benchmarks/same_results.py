"""Whether a change of the code leaves every result as it was, to the last bit.

    python benchmarks/same_results.py before.json      # with the code before the change
    python benchmarks/same_results.py after.json --against before.json

Fits 40 tables of all kinds by both estimators and asks the models all that can be asked. Every answer is kept as its
bits, so a file serves only one machine and one set of versions. With ``--against`` the answers that differ are named,
and the exit code is 1. Takes two to three minutes on one core.
"""

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from icdh import ICDH, HNMSearch, Interventions, Knowledge, bootstrap, causal_direction, check, posterior, simulate
from icdh.datasets import load_sachs
from icdh.files import LabelledTable


def bits(value):
    """Return a value as text that differs if one bit does."""
    if isinstance(value, dict):
        return {str(key): bits(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [bits(entry) for entry in value]
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return bits(value.tolist())
        digest = hashlib.sha256(np.ascontiguousarray(value + 0).tobytes()).hexdigest()
        return f"{value.shape} {digest[:16]}"
    return float(value).hex() if isinstance(value, (float, np.floating)) else str(value)


def sem(nodes, edges, rows, seed, **options):
    """Return a table, shape (M, N), of a random graph."""
    graph = simulate.erdos_renyi(nodes, edges, random_state=seed)
    return simulate.simulate_sem(graph, rows, random_state=seed, **options).X


def rounded(X):
    return np.round(X / X.std(axis=0) * 3)


def mixed(seed, rows=400):
    """Return a table of numbers, grades, yes or no, and labels that cause one another."""
    rng = np.random.default_rng(seed)
    age = rng.normal(size=rows)
    region = rng.integers(0, 4, size=rows).astype(float)
    treated = (age + rng.logistic(size=rows) > 0).astype(float)
    grade = np.digitize(age + 0.8 * (region == 2) + rng.logistic(size=rows), [-1.0, 0.5, 2.0]).astype(float)
    income = np.exp(0.4 * grade + 0.6 * treated + (0.3 + 0.2 * treated) * rng.normal(size=rows))
    visits = np.round(3 + income + rng.normal(size=rows))
    return LabelledTable(
        np.column_stack([income, region, treated, age, grade, visits]),
        ["income", "region", "treated", "age", "grade", "visits"],
    )


def with_gaps(X, seed):
    X = np.array(X)
    X[np.random.default_rng(seed).random(X.shape) < 0.04] = np.nan
    return X


def experiments(seed):
    """Return a table with rows in which x0 or an unknown variable was set."""
    rng = np.random.default_rng(seed)
    condition = np.repeat(["none", "first", "second"], 200)
    x0 = np.where(condition == "first", 2.0, rng.normal(size=600))
    x1 = x0**2 + rng.normal(size=600)
    x2 = np.where(condition == "second", 1.5, 1.0) * x1 + 0.5 * rng.normal(size=600)
    return np.column_stack([x2, x0, x1]), Interventions(condition, {"none": [], "first": [1], "second": None})


def asked(model, X):
    """Return what a fitted model answers."""
    rows = model.as_table(X).values.shape[1]
    answers = {
        "graph": model.adjacency_matrix_,
        "strength": model.edge_strength_,
        "nll": model.nll_,
        "order": model.causal_order_,
        "moves": [(str(m.kind), m.gain) for m in getattr(model, "moves_", model.history_) if hasattr(m, "gain")],
        "sample": model.sample(min(rows, 50), random_state=1),
        "conditions": model.targets_,
    }
    for name in ("evidence_", "kinds_", "column_transform_", "noise_distribution_", "cost_", "weights_"):
        answers[name] = getattr(model, name, None)
    return answers


def fit(estimator, X, **options):
    return asked(estimator.fit(X, **options), X)


HETERO = {"noise": "softplus-shared"}
CASES: dict[str, Callable[[], dict]] = {
    **{f"hetero {s}": lambda s=s: fit(HNMSearch(), sem(10, 2, 500, s, **HETERO)) for s in range(6)},
    **{
        f"linear {s}": lambda s=s: fit(HNMSearch(), sem(8, 1, 300, s, mechanism="linear", noise="homo-nv"))
        for s in range(3)
    },
    **{
        f"Gaussian process {s}": lambda s=s: fit(HNMSearch(), sem(6, 2, 250, s, mechanism="gp", noise="homo-nv"))
        for s in range(2)
    },
    **{f"rounded {s}": lambda s=s: fit(HNMSearch(), rounded(sem(6, 2, 400, s, **HETERO))) for s in range(3)},
    **{f"mixed {s}": lambda s=s: fit(HNMSearch(kinds={"region": "categorical"}), mixed(s)) for s in range(4)},
    "twenty": lambda: fit(HNMSearch(), sem(20, 1, 400, 5, **HETERO)),
    "two threads": lambda: fit(HNMSearch(n_jobs=2), sem(10, 2, 400, 7, **HETERO)),
    "exact": lambda: fit(HNMSearch(search="exact"), sem(6, 2, 300, 3, **HETERO)),
    "few rows": lambda: fit(HNMSearch(), sem(12, 1, 10, 3, **HETERO)),
    "long": lambda: fit(HNMSearch(), sem(5, 1, 6000, 3, **HETERO)),
    "skewed": lambda: fit(HNMSearch(), np.exp(sem(6, 1, 300, 4, **HETERO))),
    "student": lambda: fit(
        HNMSearch(noise_distribution="student"), sem(6, 1, 300, 4, noise="homo-nv", distribution="laplace")
    ),
    "free": lambda: fit(
        HNMSearch(noise_distribution="free"), sem(6, 1, 300, 4, noise="homo-nv", distribution="student-t")
    ),
    "knowledge": lambda: fit(
        HNMSearch(knowledge=Knowledge(required=[("x0", "x4")], roots=["x2"])), sem(6, 2, 300, 6, **HETERO)
    ),
    "thresholds": lambda: fit(HNMSearch(min_strength=20.0, max_edges=5), sem(8, 2, 300, 6, **HETERO)),
    "drop": lambda: fit(HNMSearch(missing="drop"), with_gaps(sem(6, 1, 400, 6, **HETERO), 1)),
    "impute": lambda: fit(HNMSearch(missing="impute", n_imputations=3), with_gaps(sem(5, 1, 300, 6, **HETERO), 1)),
    "experiments": lambda: fit(HNMSearch(), experiments(1)[0], interventions=experiments(1)[1]),
    "Sachs": lambda: fit(HNMSearch(), load_sachs().table),
    **{f"ICDH {s}": lambda s=s: fit(ICDH(), sem(6, 1, 400, s, **HETERO)) for s in range(2)},
    "ICDH fast": lambda: fit(ICDH(edge_penalty=None), sem(8, 2, 300, 2, **HETERO)),
    "ICDH equal": lambda: fit(ICDH(noise="equal"), sem(6, 1, 300, 2)),
    "ICDH unequal": lambda: fit(ICDH(noise="unequal", bias=True), sem(6, 1, 300, 2)),
    "ICDH restarts": lambda: fit(ICDH(n_restarts=2, scaling="standardize"), sem(5, 1, 300, 2, **HETERO)),
    "ICDH as printed": lambda: fit(ICDH(schedule="paper", edge_penalty=None), sem(4, 1, 200, 2, **HETERO)),
    "ICDH knowledge": lambda: fit(
        ICDH(knowledge=Knowledge(required=[("x0", "x4")], roots=["x2"])), sem(5, 1, 300, 2, **HETERO)
    ),
    "ICDH experiments": lambda: fit(ICDH(), experiments(1)[0], interventions=experiments(1)[1]),
    "ICDH impute": lambda: fit(ICDH(missing="impute", n_imputations=2), with_gaps(sem(4, 1, 200, 6, **HETERO), 1)),
    "posterior": lambda: {"edges": posterior(HNMSearch().fit(sem(6, 2, 300, 8, **HETERO))).edge_probability},
    "bootstrap": lambda: {
        "edges": bootstrap(HNMSearch(), sem(5, 1, 200, 8, **HETERO), n_resamples=5, random_state=0).edge_probability
    },
    "effects": lambda: {
        str(e): e for e in HNMSearch(kinds={"region": "categorical"}).fit(mixed(9)).effects(random_state=0)
    },
    "check": lambda: check_of(sem(6, 2, 300, 8, **HETERO)),
    "direction": lambda: {"d": causal_direction(*sem(3, 1, 300, 8, **HETERO)[:, :2].T).confidence},
}


def check_of(X):
    result = check(HNMSearch().fit(X), X, random_state=0)
    return {"check": json.dumps(result.to_dict(), default=str)}


def main():
    """Compute every case and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--cases", nargs="*", default=list(CASES), metavar="CASE", help="by default all")
    args = parser.parse_args()
    before = json.loads(args.against.read_text()) if args.against else {}
    results, changed = {}, 0
    for name in args.cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results[name] = bits(CASES[name]())
        if name in before:
            differ = [key for key, value in results[name].items() if before[name].get(key, value) != value]
            changed += bool(differ)
            print(f"{name}: {', '.join(differ) if differ else 'the same'}", flush=True)
    args.results.write_text(json.dumps(results, indent=1))
    print(f"{changed} of {len(results)} cases differ" if before else f"{len(results)} cases")
    sys.exit(changed > 0)


if __name__ == "__main__":
    main()
