"""Networks that the field knows, drawn anew: HNMSearch beside GES, BOSS and hill climbing with BDeu or BIC.

    python benchmarks/standard_networks.py results.json [--networks asia alarm ...] [--methods HNMSearch GES ...]
        [--rows 500 1000 5000] [--draws 5] [--seed 1000] [--limit 300] [--folder FOLDER]

The networks are those of the bnlearn repository (https://www.bnlearn.com/bnrepository) as the package pgmpy holds
them, discrete ones and linear Gaussian ones. ``FOLDER`` has their files, NAME.bif.gz and NAME.json; by default it is
that of the installed package (pgmpy-no-torch will do). "linear-10" and "linear-20" are random linear Gaussian
networks of twice as many edges as variables, another one in each draw: coefficients are 0.5 to 2 of either sign.
Every draw has its own seed and order of columns; labels stay labels. GES and BOSS are causal-learn's, with its BDeu
or BIC; hill climbing is pgmpy's. What such tables tell is the equivalence class (CPDAG) at most, so a learned DAG is
judged by its class: SHD between classes, and edges of the skeleton too many and missing. A fit that needs more CPU
seconds than the limit is kept as a failure. Fits in the file are not run again. Prints means over draws and median
CPU seconds of tables of 1000 rows, and CPDAG SHD at every number of rows.
"""

import argparse
import contextlib
import gzip
import io
import json
import logging
import re
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from harness import Results, cpu_limit

from icdh import HNMSearch, graphs, metrics, simulate
from paper_reproduction.jobs import seed_of
from paper_reproduction.methods._causal_learn import adjacency

DISCRETE = (
    "asia",
    "cancer",
    "survey",
    "sachs",
    "child",
    "insurance",
    "alarm",
    "water",
    "hailfinder",
    "win95pts",
    "hepar2",
)
GAUSSIAN = ("ecoli70", "magic-niab", "magic-irri", "arth150")
RANDOM = {"linear-10": 10, "linear-20": 20}
NETWORKS = (*DISCRETE, *GAUSSIAN, *RANDOM)
USUAL_ROWS, USUAL_DRAWS = 1000, 5
NUMBER = r"[-+0-9.eE]+"


class Network(NamedTuple):
    """A network whose tables can be drawn.

    Attributes
    ----------
    names : list of str
        The variables, causes first.
    parents : list of list of int
        Positions of the parents of each.
    conditionals : list
        Of a discrete variable probabilities, one axis a parent and the last for its own labels; of a Gaussian one its
        intercept, coefficients and variance.
    labels : list of list of str, or None
        The labels of discrete variables.
    """

    names: list
    parents: list
    conditionals: list
    labels: list | None

    @property
    def graph(self) -> np.ndarray:
        """The DAG, shape (N, N)."""
        found = np.zeros((len(self.names), len(self.names)))
        for node, parents in enumerate(self.parents):
            found[parents, node] = 1.0
        return found

    def draw(self, n_rows: int, rng: np.random.Generator) -> np.ndarray:
        """Return a table, shape (M, N): codes of labels, or numbers."""
        table = np.zeros((n_rows, len(self.names)), dtype=float if self.labels is None else int)
        for node, (parents, conditional) in enumerate(zip(self.parents, self.conditionals, strict=True)):
            if self.labels is None:
                intercept, coefficients, variance = conditional
                noise = rng.normal(scale=np.sqrt(variance), size=n_rows)
                table[:, node] = intercept + table[:, parents] @ coefficients + noise
            else:
                cumulative = conditional[tuple(table[:, parents].T)].cumsum(axis=-1)
                table[:, node] = (rng.random(n_rows)[:, None] > cumulative[..., :-1]).sum(axis=-1)
        return table


def read_network(name, folder):
    """Return a network of the folder; None for one that every draw draws anew."""
    if name in RANDOM:
        return None
    if name in GAUSSIAN:
        return gaussian_network(json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))
    with gzip.open(folder / f"{name}.bif.gz", "rt", encoding="utf-8") as file:
        return discrete_network(file.read())


def random_network(n_variables, rng):
    """Return a random linear Gaussian network of twice as many edges as variables."""
    drawn = simulate.erdos_renyi(n_variables, 2, random_state=int(rng.integers(2**31))) != 0
    order = graphs.causal_order(drawn)
    parents = [np.flatnonzero(causes).tolist() for causes in drawn[np.ix_(order, order)].T]
    conditionals = [
        (0.0, rng.uniform(0.5, 2.0, len(own)) * rng.choice([-1.0, 1.0], len(own)), rng.uniform(0.5, 1.5) ** 2)
        for own in parents
    ]
    return Network([str(k) for k in order], parents, conditionals, None)


def gaussian_network(found):
    """Return a network of bnlearn's JSON."""
    parents = {node: cpd["parents"] for node, cpd in found["cpds"].items()}
    names = causes_first(parents)
    conditionals = []
    for node in names:
        coefficients = {key: values[0] for key, values in found["cpds"][node]["coefficients"].items()}
        slopes = np.array([coefficients[parent] for parent in parents[node]])
        conditionals.append((coefficients["(Intercept)"], slopes, found["cpds"][node]["variance"][0]))
    return Network(names, positions(names, parents), conditionals, None)


def discrete_network(text):
    """Return a network of the Bayesian interchange format."""
    labels = {
        name: re.split(r"\s*,\s*", values.strip())
        for name, values in re.findall(r"variable\s+(\S+)\s*{\s*type discrete \[ \d+ \] {(.*?)}", text, re.DOTALL)
    }
    blocks = re.findall(r"probability \(\s*([^|)]+?)\s*(?:\|\s*(.*?)\s*)?\)\s*{(.*?)}", text, re.DOTALL)
    parents = {name: re.split(r"\s*,\s*", given) if given else [] for name, given, _ in blocks}
    names = causes_first(parents)
    tables = {name: probabilities(name, parents[name], labels, block) for name, _, block in blocks}
    return Network(names, positions(names, parents), [tables[name] for name in names], [labels[n] for n in names])


def probabilities(name, parents, labels, block):
    """Return the table of a block, each row made to sum to one: those of files are rounded."""
    found = np.zeros([len(labels[own]) for own in (*parents, name)])
    if not parents:
        found[:] = numbers(re.search(r"table(.*?);", block, re.DOTALL)[1])
    for given, row in re.findall(r"\((.*?)\)\s*(.*?);", block, re.DOTALL):
        values = re.split(r"\s*,\s*", given.strip())
        found[tuple(labels[own].index(value) for own, value in zip(parents, values, strict=True))] = numbers(row)
    return found / found.sum(axis=-1, keepdims=True)


def numbers(text):
    return [float(number) for number in re.findall(NUMBER, text)]


def causes_first(parents):
    names = list(parents)
    graph = np.zeros((len(names), len(names)))
    for node, own in parents.items():
        graph[[names.index(parent) for parent in own], names.index(node)] = 1.0
    return [names[k] for k in graphs.causal_order(graph)]


def positions(names, parents):
    return [[names.index(parent) for parent in parents[node]] for node in names]


def hnm_search(table, labels):
    return HNMSearch().fit(frame(table, labels)).adjacency_matrix_ != 0


def ges(table, labels):
    from causallearn.search.ScoreBased.GES import ges as search

    return adjacency(search(table, "local_score_BIC" if labels is None else "local_score_BDeu")["G"].graph)


def boss(table, labels):
    from causallearn.search.PermutationBased.BOSS import boss as search

    score = "local_score_BIC_from_cov" if labels is None else "local_score_BDeu"
    return adjacency(search(table, score, verbose=False).graph)


def hill_climbing(table, labels):
    from pgmpy.estimators import BDeu, BICGauss, HillClimbSearch

    data = frame(table, labels) if labels is None else frame(table, labels).astype("category")
    score = BICGauss(data) if labels is None else BDeu(data, equivalent_sample_size=1)
    found = HillClimbSearch(data).estimate(scoring_method=score, show_progress=False)
    graph = np.zeros((table.shape[1], table.shape[1]))
    for cause, effect in found.edges():
        graph[data.columns.get_loc(cause), data.columns.get_loc(effect)] = 1.0
    return graph


METHODS = {"HNMSearch": hnm_search, "GES": ges, "BOSS": boss, "hill climbing": hill_climbing}


def frame(table, labels):
    """Return a table of pandas, with labels as text, even those that are numbers."""
    import pandas as pd

    columns = [f"v{k}" for k in range(table.shape[1])]
    if labels is None:
        return pd.DataFrame(table, columns=columns)
    return pd.DataFrame(
        {name: np.array([f"label {own}" for own in labels[k]])[table[:, k]] for k, name in enumerate(columns)}
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--networks", nargs="*", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--rows", type=int, nargs="*", default=[500, 1000, 5000])
    parser.add_argument("--draws", type=int, default=USUAL_DRAWS)
    parser.add_argument("--seed", type=int, default=1000, help="the first draw's")
    parser.add_argument("--limit", type=float, default=300.0, help="CPU seconds of one fit")
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    results = Results(arguments.results, ("network", "rows", "draw", "method"))
    if arguments.methods:
        run(results, arguments)
    for name in NETWORKS:
        print_rows(name, [row for row in results.rows if (row["network"], row["rows"]) == (name, USUAL_ROWS)])
    sizes = sorted({row["rows"] for row in results.rows})
    for name in NETWORKS:
        print_by_rows(name, sizes, [row for row in results.rows if row["network"] == name])


def run(results, arguments):
    folder = arguments.folder or Path(find_spec("pgmpy").origin).parent / "utils" / "example_models"
    networks = {name: read_network(name, folder) for name in arguments.networks}
    for name in {"asia", "ecoli70", "linear-10"} & networks.keys():  # compile before the clock runs
        drawn, _, labels = problem(name, networks[name], 100, 0)
        for method in arguments.methods:
            METHODS[method](drawn[:, :8], labels and labels[:8])
    for draw in range(arguments.seed, arguments.seed + arguments.draws):
        for n_rows in arguments.rows:
            for name, network in networks.items():
                for method in arguments.methods:
                    key = {"network": name, "rows": n_rows, "draw": draw, "method": method}
                    if not results.has(**key):
                        results.add({**key, **measure(method, problem(name, network, n_rows, draw), arguments.limit)})


def problem(name, network, n_rows, draw):
    """Return a table of the columns that vary, in an order of its own, their true graph and labels."""
    rng = np.random.default_rng(seed_of(f"network/{name}/{n_rows}/{draw}"))
    network = network or random_network(RANDOM[name], rng)
    drawn = network.draw(n_rows, rng)
    order = rng.permutation(drawn.shape[1])
    order = order[drawn[:, order].std(axis=0) > 0]
    labels = network.labels and [network.labels[k] for k in order]
    return drawn[:, order], network.graph[np.ix_(order, order)], labels


def measure(method, drawn, limit):
    """Return errors of the equivalence class and of the skeleton, and seconds."""
    table, truth, labels = drawn
    begin = time.process_time()
    try:
        with cpu_limit(limit), contextlib.redirect_stdout(io.StringIO()):
            found = np.asarray(METHODS[method](table, labels), dtype=float)
    except TimeoutError:
        return {"cpdag_shd": None, "extra": None, "missing": None, "true_edges": int(truth.sum()), "seconds": limit}
    seconds = time.process_time() - begin
    estimate, skeleton = cpdag(found), (found + found.T) != 0
    true_skeleton = (truth + truth.T) != 0
    return {
        "cpdag_shd": int(metrics.shd(estimate, cpdag(truth))),
        "extra": int((skeleton & ~true_skeleton).sum() // 2),
        "missing": int((true_skeleton & ~skeleton).sum() // 2),
        "true_edges": int(truth.sum()),
        "seconds": round(seconds, 3),
    }


def cpdag(graph):
    """Return the equivalence class of a DAG; a class stays as it is."""
    from causallearn.graph.Dag import Dag
    from causallearn.graph.GraphNode import GraphNode
    from causallearn.utils.DAG2CPDAG import dag2cpdag

    if not graphs.is_dag(graph):
        return graph
    nodes = [GraphNode(str(k)) for k in range(len(graph))]
    dag = Dag(nodes)
    for i, j in np.argwhere(graph):
        dag.add_directed_edge(nodes[i], nodes[j])
    return adjacency(dag2cpdag(dag).graph)


def print_rows(name, rows):
    """Print CPDAG SHD with its standard error, the draws where they are not the usual, and seconds of every method."""
    if not rows:
        return
    cells = []
    for method in METHODS:
        own = [row for row in rows if row["method"] == method]
        done = np.array([row["cpdag_shd"] for row in own if row["cpdag_shd"] is not None])
        draws = "" if done.size in (0, USUAL_DRAWS) else f" ({done.size})"
        distance = f"{done.mean():.1f} ± {done.std() / np.sqrt(done.size):.1f}{draws}" if done.size else "stopped"
        cells.append(f"{distance}, {np.median([row['seconds'] for row in own]):.1f} s" if own else "")
    print(f"| {name}, {rows[0]['true_edges']} edges | {' | '.join(cells)} |", flush=True)


def print_by_rows(name, sizes, rows):
    """Print the mean CPDAG SHD of every method at every number of rows, with the draws where they are not the usual."""
    cells = []
    for method in METHODS if rows else ():
        found = []
        for n_rows in sizes:
            own = [row["cpdag_shd"] for row in rows if (row["rows"], row["method"]) == (n_rows, method)]
            done = [shd for shd in own if shd is not None]
            draws = "" if len(done) in (0, USUAL_DRAWS) else f" ({len(done)})"
            found.append(f"{np.mean(done):.1f}{draws}" if done else "stopped" if own else "–")
        cells.append(" / ".join(found))
    if cells:
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
