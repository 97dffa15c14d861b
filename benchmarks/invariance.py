"""How many tables get another graph when their rows are shuffled, their units change or numbers are kept in float32.

    python benchmarks/invariance.py R.json --tables 200
    python benchmarks/invariance.py R.json --tables 20 --pairs

Each table is learned as it is and after every change; numbers of columns and rows vary. Mixed tables hold numbers,
counts, grades and two values, continuous ones linear and curved effects, half of them with a spread that varies;
heteroscedastic ones are drawn by `icdh.simulate`. With ``--pairs`` the verdicts of `causal_direction` are compared.
R.json gets a line for each table, and a run goes on where one ended.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np

from icdh import HNMSearch, causal_direction
from icdh.files import LabelledTable
from icdh.simulate import erdos_renyi, simulate_sem

FIRST_SEED = 500


def continuous(rng):
    """Return a table, shape (M, N), half of its effects linear, half of its spreads varying."""
    rows, columns = int(rng.integers(150, 400)), int(rng.integers(4, 8))
    X = np.zeros((rows, columns))
    for j in range(columns):
        causes = [k for k in range(j) if rng.random() < 0.4]
        bent = [rng.random() < 0.5 for _ in causes]
        mean = sum(
            (rng.normal() * (np.tanh(X[:, k]) if b else X[:, k]) for k, b in zip(causes, bent, strict=True)), 0.0
        )
        X[:, j] = mean + np.exp(0.3 * mean * (rng.random() < 0.5)) * rng.normal(size=rows)
    return X[:, rng.permutation(columns)]


def linear(rng):
    """Return a linear Gaussian table, shape (M, N), in which only classes of graphs can be told apart."""
    rows, columns = int(rng.integers(150, 400)), int(rng.integers(4, 8))
    weights = np.triu(rng.uniform(0.5, 1.5, size=(columns, columns)) * (rng.random((columns, columns)) < 0.4), 1)
    X = rng.normal(size=(rows, columns)) @ np.linalg.inv(np.eye(columns) - weights)
    return X[:, rng.permutation(columns)]


def mixed(rng):
    """Return a table of numbers, counts, grades and two values that cause one another."""
    X = continuous(rng)
    for j in range(1, X.shape[1]):
        how = rng.integers(5)
        if how == 1:
            X[:, j] = np.round(2.0 * X[:, j] / X[:, j].std())
        elif how == 2:
            X[:, j] = np.digitize(X[:, j] / X[:, j].std(), [-1.0, 0.3, 1.0])
        elif how == 3:
            X[:, j] = X[:, j] > np.quantile(X[:, j], rng.uniform(0.3, 0.7))
    return X


def heteroscedastic(rng):
    """Return a table of ten variables and two edges a variable, some of them nearly determined."""
    seed = int(rng.integers(2**31))
    return simulate_sem(erdos_renyi(10, 2, random_state=seed), 300, random_state=seed).X


TABLES = {"continuous": continuous, "linear": linear, "mixed": mixed, "heteroscedastic": heteroscedastic}


def changed(X, rng):
    """Yield the name of each change, the changed table and where its columns were."""
    same = np.arange(X.shape[1])
    yield "rows", X[rng.permutation(len(X))], same
    yield "units", X * 2.54, same
    yield "offsets", X + 273.15, same
    signs = rng.choice([-1.0, 1.0], size=X.shape[1])
    yield "signs", X * signs, same
    yield "float32", X.astype(np.float32), same
    columns = rng.permutation(X.shape[1])
    yield "columns", X[:, columns], columns


def edges(X, columns):
    """Return the edges that a search finds, in the columns of the first table."""
    names = [f"x{k}" for k in columns]
    return {(str(edge.cause), str(edge.effect)) for edge in HNMSearch().fit(LabelledTable(X, names)).edge_list()}


def verdict(X, columns):
    """Return which of the first two columns causes the other one."""
    a, b = (X[:, columns.tolist().index(k)] for k in (0, 1))
    return {causal_direction(a, b).direction}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--tables", type=int, default=200, help="of each kind")
    parser.add_argument("--kinds", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--pairs", action="store_true", help="causal_direction in place of HNMSearch")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    answer = verdict if options.pairs else edges
    lines = [json.loads(line) for line in options.results.read_text().splitlines()] if options.results.exists() else []
    done = {(line["kind"], line["seed"]) for line in lines}
    with options.results.open("a", encoding="utf-8") as file:
        for seed in range(FIRST_SEED, FIRST_SEED + options.tables):
            for kind in options.kinds:
                if (kind, seed) in done:
                    continue
                rng = np.random.default_rng(seed)
                X = TABLES[kind](rng)
                first = answer(X, np.arange(X.shape[1]))
                differing = {name: len(first ^ answer(Y, columns)) for name, Y, columns in changed(X, rng)}
                lines.append({"kind": kind, "seed": seed, "edges": len(first), "differing": differing})
                file.write(json.dumps(lines[-1]) + "\n")
                file.flush()
    for kind in options.kinds:
        of_kind = [line for line in lines if line["kind"] == kind]
        counts = {name: sum(line["differing"][name] > 0 for line in of_kind) for name in of_kind[0]["differing"]}
        print(
            f"{kind}: {len(of_kind)} tables, another answer after " + ", ".join(f"{n} {c}" for n, c in counts.items())
        )


if __name__ == "__main__":
    main()
