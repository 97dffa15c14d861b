"""Effects where the graph is not known: how often the average over graphs holds the truth.

    python -m benchmarks effect_graphs [--graphs 8] [--variables 6 8 10] [--rows 300 1000] [--kinds gaussian laplace]

Random graphs of N variables and N or 2 N edges; linear with Gaussian or Laplace noise of unequal variances (the least
and the best identified), or curved and heteroscedastic. In "treatment" noise is Gaussian, and the variable of most
causes and effects has two values, by a logistic function of its causes. Of each some ordered pairs (all of a treatment
and another variable) are asked by ``adjust="posterior"``,
beside the learned graph taken for true (no path is an effect of zero) and the true graph. The truth of a curved effect
is its mean slope, weighted by what the true causes of the cause leave of it, from 200,000 rows: what these causes tell
of the effect is taken out, as its mean alone makes the truth as uncertain as an answer. Prints, by kind, density
and rows, coverage and median width of pairs with a path, coverage of those without one, and how often there is an
effect where its probability is said. Results are kept in ``results/effect_graphs.json``; an interrupted run goes on.
Seeds begin at 800,000; that one, of 8 and 10 variables, and 860,000 to 860,009 chose the rule of the interval. Rows of
before that rule have no interval of the posterior.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from harness import Results

import icdh
from icdh import graphs, simulate
from icdh._effect.splines import Splines

RESULTS = Path(__file__).parent / "results" / "effect_graphs.json"
FIRST_SEED, N_PAIRS, TRUTH_ROWS = 800_000, 12, 200_000
KEY = ("kind", "variables", "degree", "rows", "seed")
CELL = KEY[:-1]


def treated(A: np.ndarray, rows: int, rng):
    """Return a linear table with a treatment, and a function of cause and effect that gives the true effect of it."""
    weights = A * rng.choice([-1.0, 1.0], A.shape) * rng.uniform(0.3, 1.0, A.shape)
    deviations, X = rng.uniform(0.5, 1.5, len(A)), np.zeros((rows, len(A)))
    treatment = treatment_of(A)
    for node in graphs.causal_order(A):
        mean = X @ weights[:, node]
        if node == treatment:
            X[:, node] = rng.random(rows) < 1.0 / (1.0 + np.exp(-1.5 * (mean - mean.mean()) / max(mean.std(), 1e-9)))
        else:
            X[:, node] = mean + deviations[node] * rng.normal(size=rows)
    total = np.linalg.inv(np.eye(len(A)) - weights)
    return X, A != 0, lambda cause, effect: float(total[cause, effect])


def treatment_of(A: np.ndarray) -> int:
    """Return the variable with most pairs of a cause and an effect."""
    return int(np.argmax(A.sum(axis=0) * A.sum(axis=1)))


def drawn(kind: str, A: np.ndarray, rows: int, rng):
    """Return a table of a graph, and a function of cause and effect that gives the true effect."""
    if kind == "treatment":
        return treated(A, rows, rng)
    if kind == "curved":
        data = simulate.simulate_sem(A, rows, mechanism="mlp", noise="softplus-shared", random_state=rng)
        big = data.sample(TRUTH_ROWS, random_state=1)
        folds = np.arange(TRUTH_ROWS) % 2

        def slope(cause, effect):
            parents = np.flatnonzero(data.adjacency[:, cause])
            left = big[:, cause] - data.functions[cause](big[:, parents])[0]
            splines = Splines(big[:, parents].T.copy(), [False] * parents.size, np.ones(TRUTH_ROWS))
            by_parents = splines.means(big[:, [effect]], folds)[0]
            return float(left @ (big[:, effect] - by_parents[:, 0]) / (left @ left))

        return data.X, data.adjacency != 0, slope
    weights = A * rng.choice([-1.0, 1.0], A.shape) * rng.uniform(0.3, 1.0, A.shape)
    noise = rng.laplace(scale=0.5**0.5, size=(rows, len(A))) if kind == "laplace" else rng.normal(size=(rows, len(A)))
    total = np.linalg.inv(np.eye(len(A)) - weights)
    return noise * rng.uniform(0.5, 1.5, len(A)) @ total, A != 0, lambda cause, effect: float(total[cause, effect])


def cell(kind: str, variables: int, degree: int, rows: int, seed: int) -> dict:
    """Return what is said of some pairs of one table, and the truth."""
    rng = np.random.default_rng(seed)
    X, truth, effect_of = drawn(kind, simulate.erdos_renyi(variables, degree, random_state=rng), rows, rng)
    model = icdh.HNMSearch(random_state=seed).fit(X)
    reach, learned = graphs.descendants(truth * 1.0), graphs.descendants(model.adjacency_matrix_)
    causes = [treatment_of(truth)] if kind == "treatment" else range(variables)
    pairs = [(i, j) for i in causes for j in range(variables) if i != j]
    answers = []
    for k in rng.choice(len(pairs), min(N_PAIRS, len(pairs)), replace=False):
        cause, effect = pairs[k]
        mixed = icdh.effect(X, cause, effect, "posterior", model=model)
        row = {"truth": effect_of(cause, effect) if reach[cause, effect] else 0.0, "path": bool(reach[cause, effect])}
        row |= {"probability": mixed.probability_of_effect, "mixture": list(mixed.interval)}
        for name, graph, is_path in (("learned", model.adjacency_matrix_, learned), ("true", truth, reach)):
            parents = np.flatnonzero(graph[:, cause]).tolist()
            has_path = is_path[cause, effect]
            row[name] = list(icdh.effect(X, cause, effect, parents).interval) if has_path else [0.0, 0.0, 0.0]
        answers.append(row)
    return {"answers": answers}


def table(rows):
    """Yield coverage and width by cell, and the probabilities of an effect beside how often there is one."""
    yield "| kind | variables | edges | rows | tables | posterior: path / none, width | learned graph | true graph |"
    yield "|---|---|---|---|---|---|---|---|"
    cells = sorted({tuple(row[name] for name in CELL) for row in rows})
    for key in cells:
        group = [row for row in rows if tuple(row[name] for name in CELL) == key]
        answers = [answer for row in group for answer in row["answers"]]
        figures = []
        for name in ("mixture", "learned", "true"):
            parts = []
            for is_path in (True, False):
                some = [answer for answer in answers if answer["path"] == is_path and name in answer]
                some = [answer for answer in some if np.isfinite(answer[name][1])]
                held = [answer[name][1] <= answer["truth"] <= answer[name][2] for answer in some]
                parts.append(f"{np.mean(held):.2f}" if held else "")
            widths = [answer[name][2] - answer[name][1] for answer in answers if answer["path"] and name in answer]
            figures.append(f"{parts[0]} / {parts[1]}, {np.nanmedian(widths):.2f}" if widths else "")
        tables = f"{sum('mixture' in row['answers'][0] for row in group)} of {len(group)}"
        yield f"| {key[0]} | {key[1]} | {key[2]} N | {key[3]} | {tables} | {' | '.join(figures)} |"
    for of_treatments in (False, True):
        chosen = [row for row in rows if (row["kind"] == "treatment") == of_treatments]
        yield from probabilities([answer for row in chosen for answer in row["answers"]], of_treatments)


def probabilities(answers: list[dict], of_treatments: bool):
    """Yield the probabilities of an effect beside how often there is one."""
    what = " of a treatment" * of_treatments
    yield ""
    yield f"| said probability of an effect{what} | pairs | mean said | share with an effect |"
    yield "|---|---|---|---|"
    said = np.array([(answer["probability"], answer["path"]) for answer in answers], dtype=float).reshape(-1, 2)
    for low, high in ((0.0, 0.05), (0.05, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 0.95), (0.95, 1.01)):
        some = said[(said[:, 0] >= low) & (said[:, 0] < high)]
        if len(some):
            means = some.mean(axis=0)
            yield f"| {low:.2f} to {min(high, 1.0):.2f} | {len(some)} | {means[0]:.2f} | {means[1]:.2f} |"


def main() -> None:
    """Run what is missing and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", type=int, default=8)
    parser.add_argument("--variables", type=int, nargs="+", default=[6, 8, 10])
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1000])
    parser.add_argument("--kinds", nargs="+", default=["gaussian", "laplace", "curved"])
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    results = Results(args.results, KEY)
    for seed in range(FIRST_SEED, FIRST_SEED + args.graphs):
        for rows in args.rows:
            for variables in args.variables:
                for kind in args.kinds:
                    for degree in (1, 2):
                        key = {"kind": kind, "variables": variables, "degree": degree, "rows": rows, "seed": seed}
                        if not results.has(**key):
                            with warnings.catch_warnings():
                                warnings.simplefilter("ignore")
                                results.add(key | cell(**key))
    print("\n".join(table(results.rows)))


if __name__ == "__main__":
    main()
