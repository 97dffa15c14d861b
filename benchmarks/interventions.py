"""How far interventional distributions and counterfactuals of fitted models are from the truth, beside DoWhy's gcm.

    python benchmarks/interventions.py [--tables 5] [--results FILE]

Tables of 1000 rows are drawn from `icdh.simulate`, whose answers to the same questions are the truth: every variable
with descendants is set to its 10, 50 and 90 % quantile. Errors are taken over all descendants and divided by their
standard deviation in the table:

- mean: absolute error of the mean of a descendant (20,000 rows of the truth and of a model);
- tails: the same of its 5 and 95 % quantiles;
- counterfactual: root mean square error over the rows of the table, each with its own noise.

The methods: `HNMSearch` and `ICDH` with the graph they learn, and restricted to the true edges; DoWhy's invertible gcm
(``auto.assign_causal_mechanisms``, default quality) with the true graph and with that of `HNMSearch`; and "nothing",
which answers every question with the table as it is. Every table's row is kept in the results file as soon as it is
done; an interrupted run goes on where it was. Prints median and quartiles over the tables.
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from harness import Results

from icdh import ICDH, HNMSearch, simulate
from icdh.graphs import descendants

RESULTS = Path(__file__).parent / "results" / "interventions.json"
KEY = ("noise", "distribution", "seed", "method")
SETTINGS = (
    ("softplus-shared", "gaussian"),
    ("exp-bounded", "gaussian"),
    ("exp-bounded", "laplace"),
    ("homo-ev", "gaussian"),
)
QUANTILES = (0.1, 0.5, 0.9)
TAILS = (0.05, 0.95)
METHODS = (
    "search, true graph",
    "search",
    "icdh, true graph",
    "icdh",
    "gcm, true graph",
    "gcm, graph of search",
    "nothing",
)


ROWS = 20_000


class Question(NamedTuple):
    """An intervention, the descendants that it moves, and the true answers about them."""

    do: dict
    moved: np.ndarray
    interventional: np.ndarray
    counterfactual: np.ndarray


class Fitted:
    """A model of icdh."""

    def __init__(self, model, data):
        self.model, self.X = model, data.X

    def interventional(self, do):
        """Return rows under an intervention."""
        return self.model.sample(ROWS, random_state=2, do=do)

    def counterfactual(self, do):
        """Return the table's rows as they would have been."""
        return self.model.counterfactual(self.X, do)


class Gcm:
    """DoWhy's invertible structural causal model of a given graph."""

    def __init__(self, adjacency, data):
        import networkx as nx
        import pandas as pd
        from dowhy import gcm

        gcm.config.disable_progress_bars()
        gcm.util.general.set_random_seed(0)
        self.gcm, self.frame = gcm, pd.DataFrame(data.X, columns=data.names)
        graph = nx.relabel_nodes(nx.DiGraph(adjacency != 0), dict(enumerate(data.names)))
        self.model = gcm.InvertibleStructuralCausalModel(graph)
        gcm.auto.assign_causal_mechanisms(self.model, self.frame)
        gcm.fit(self.model, self.frame)

    def interventional(self, do):
        """Return rows under an intervention."""
        actions = {name: (lambda natural, value=value: value) for name, value in do.items()}
        return self.gcm.interventional_samples(self.model, actions, num_samples_to_draw=ROWS)[
            self.frame.columns
        ].to_numpy()

    def counterfactual(self, do):
        """Return the table's rows as they would have been."""
        actions = {name: (lambda natural, value=value: value) for name, value in do.items()}
        return self.gcm.counterfactual_samples(self.model, actions, observed_data=self.frame)[
            self.frame.columns
        ].to_numpy()


class Nothing:
    """Answers as if there were no intervention."""

    def __init__(self, data):
        self.X = data.X

    def interventional(self, do):
        """Return rows under an intervention."""
        return self.X

    def counterfactual(self, do):
        """Return the table's rows as they would have been."""
        return self.X


def true_graph(data):
    """Return the knowledge that no other edges are there than the true ones."""
    return {"forbidden": [(i, j) for i, j in np.argwhere(data.adjacency == 0).tolist() if i != j]}


def answers(method, data, learned):
    """Return the fitted method."""
    if method == "search, true graph":
        return Fitted(HNMSearch(knowledge=true_graph(data), edge_penalty=0.0).fit(data.X), data)
    if method == "search":
        return Fitted(learned(), data)
    if method == "icdh, true graph":
        return Fitted(ICDH(scaling="standardize", knowledge=true_graph(data), threshold=0.0).fit(data.X), data)
    if method == "icdh":
        return Fitted(ICDH(scaling="standardize").fit(data.X), data)
    if method == "nothing":
        return Nothing(data)
    return Gcm(data.adjacency if method == "gcm, true graph" else learned().adjacency_matrix_, data)


def questions(data):
    """Return every question about a table."""
    reach, asked = descendants(data.adjacency), []
    for cause in np.flatnonzero(reach.any(axis=1)):
        moved = np.flatnonzero(reach[cause])
        for value in np.quantile(data.X[:, cause], QUANTILES):
            do = {data.names[cause]: float(value)}
            drawn, relived = data.sample(ROWS, random_state=1, do=do), data.counterfactual(do)
            asked.append(Question(do, moved, drawn[:, moved], relived[:, moved]))
    return asked


def errors(fitted, data, asked):
    """Return the three errors, means over all questions and descendants."""
    spread, found = data.X.std(axis=0), []
    for question in asked:
        moved, true = question.moved, question.interventional
        own, relived = fitted.interventional(question.do)[:, moved], fitted.counterfactual(question.do)[:, moved]
        mean = np.abs(true.mean(axis=0) - own.mean(axis=0))
        tails = np.abs(np.quantile(true, TAILS, axis=0) - np.quantile(own, TAILS, axis=0)).mean(axis=0)
        counterfactual = np.sqrt(np.square(question.counterfactual - relived).mean(axis=0))
        found.append(np.array([mean, tails, counterfactual]) / spread[moved])
    return dict(zip(("mean", "tails", "counterfactual"), np.hstack(found).mean(axis=1).tolist(), strict=True))


def run(results, tables, methods):
    """Fill the results file."""
    for noise, distribution in SETTINGS:
        for seed in range(tables):
            key = {"noise": noise, "distribution": distribution, "seed": seed}
            left = [method for method in methods if not results.has(**key, method=method)]
            if not left:
                continue
            graph = simulate.erdos_renyi(10, 2, random_state=100 + seed)
            data = simulate.simulate_sem(
                graph, 1000, noise=noise, distribution=distribution, standardize=True, random_state=100 + seed
            )
            asked, searched = questions(data), []

            def learned(data=data, searched=searched):
                if not searched:
                    searched.append(HNMSearch().fit(data.X))
                return searched[0]

            for method in left:
                begin = time.process_time()
                fitted = answers(method, data, learned)
                seconds = time.process_time() - begin
                results.add(key | {"method": method, "seconds": seconds} | errors(fitted, data, asked))


def table(rows):
    """Return the printed table."""
    lines = []
    for noise, distribution in SETTINGS:
        own = [row for row in rows if (row["noise"], row["distribution"]) == (noise, distribution)]
        if not own:
            continue
        lines.append(f"{noise}, {distribution}: {len({row['seed'] for row in own})} tables")
        lines.append(f"  {'':<22}{'mean':>22}{'tails':>22}{'counterfactual':>22}{'seconds':>9}")
        for method in METHODS:
            found = [row for row in own if row["method"] == method]
            if found:
                cells = "".join(f"{quartiles(found, kind):>22}" for kind in ("mean", "tails", "counterfactual"))
                lines.append(f"  {method:<22}{cells}{np.median([row['seconds'] for row in found]):>9.1f}")
    return "\n".join(lines)


def quartiles(rows, kind):
    low, middle, high = np.quantile([row[kind] for row in rows], [0.25, 0.5, 0.75])
    return f"{middle:.3f} ({low:.3f}, {high:.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=5)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(args.results, KEY)
    run(results, args.tables, args.methods)
    print(table(results.rows))


if __name__ == "__main__":
    main()
