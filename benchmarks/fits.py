"""Whole fits for noise of equal variance beside two peers in torch, on the same tables.

    python benchmarks/fits.py benchmarks/results/fits.json [--methods icdh gcastle dagma] [--variables 10] [--seeds 0 1]

gcastle's `NotearsNonlinear` minimises the same regularised objective (half the mean squared residual, l1 |W1|_1,
l2 / 2 (|W1|^2 + |W2|^2), no intercepts) under a polynomial h with the same zeros; `dagma` minimises a logarithm of the
squared residuals with the same penalties under a third h. All get the same table, hidden units, penalties and one
thread. Objective and h of all are evaluated by `icdh`, with W2 optimal given W1, which can only flatter a peer:
at the weights as they are, and once edges that close cycles are dropped. A method that fails or reaches the limit of
CPU seconds is a row as well. Rows that are in the file are not run again, unless named by --again.
"""

import argparse
import logging
import time
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
from harness import Results, cpu_limit, summary

from icdh import ICDH, simulate
from icdh._utils.parallel import single_blas_thread
from icdh.acyclicity import acyclicity
from icdh.exceptions import import_extra
from icdh.graphs import break_cycles, threshold
from icdh.knowledge import EdgeRules
from icdh.metrics import shd
from icdh.network import Weights
from icdh.two_phase.objective import NetworkObjective, Problem

UNITS, PENALTY, THRESHOLD, OBSERVATIONS = 10, 0.01, 0.3, 1000


def main():
    arguments = parse()
    results = Results(arguments.results, ("variables", "seed", "method"))
    single_thread()
    for seed in arguments.seeds:
        for method in arguments.methods:
            key = {"variables": arguments.variables, "seed": seed, "method": method}
            if arguments.again or not results.has(**key):
                results.add({**key, **measure(method, table(arguments.variables, seed), seed, arguments.limit)})
    print_rows(results.rows)
    print_ratios(results.rows)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--methods", choices=list(METHODS), nargs="+", default=list(METHODS))
    parser.add_argument("--variables", type=int, default=10)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--limit", type=float, default=7200.0, help="CPU seconds of a fit")
    parser.add_argument("--again", action="store_true", help="run rows again that are in the file")
    return parser.parse_args()


def single_thread():
    """Compile before the clock runs, and keep torch to one thread where it is installed."""
    ICDH(noise="equal").fit(table(5, 0).X)
    with suppress(ImportError):
        import_extra("torch", "benchmark").set_num_threads(1)


def table(variables, seed):
    graph = simulate.erdos_renyi(variables, 2, random_state=seed)
    return simulate.simulate_sem(graph, OBSERVATIONS, mechanism="mlp", noise="homo-ev", random_state=seed)


def measure(method, data, seed, limit):
    """Run a fit and return what it cost and reached."""
    fit = METHODS[method](data.X, seed)
    failure, wall, cpu = None, time.perf_counter(), time.process_time()
    try:
        with cpu_limit(limit), single_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit.run()
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
    seconds, wall_seconds = time.process_time() - cpu, time.perf_counter() - wall
    cost = {"seconds": seconds, "wall_seconds": wall_seconds, "evaluations": fit.evaluations, "failure": failure}
    return {**cost, **quality(data.X, fit.w1(), data.adjacency)}


def quality(X, w1, truth):
    """Return objective and h of hidden weights (N, m1, N), as they are and on a DAG, and the distance to the truth."""
    if w1 is None or not np.isfinite(w1).all():
        return {"objective": None, "h": None, "objective_on_dag": None, "shd": None}
    A = np.linalg.norm(w1, axis=1).T
    dag = break_cycles(A).adjacency
    graph = break_cycles(threshold(A, THRESHOLD)).adjacency
    return {
        "objective": objective(X, w1),
        "h": acyclicity(A)[0],
        "objective_on_dag": objective(X, w1 * (dag.T > 0.0)[:, np.newaxis, :]),
        "shd": int(shd(graph, truth)),
    }


def objective(X, w1):
    """Return the regularised objective of Phase II with scale one, W2 optimal."""
    variables, units = w1.shape[:2]
    weights = Weights(w1, np.zeros((variables, units)), np.zeros((variables, units)), np.zeros(variables))
    rules = EdgeRules.of(np.eye(variables, dtype=bool))
    problem = NetworkObjective.of(
        Problem(np.ascontiguousarray(X.T), rules, PENALTY, PENALTY, rows=None, weights=None), np.ones(X.T.shape)
    )
    return problem.solution(problem.input_weights(weights), weights)[0]


class Icdh:
    """Our fit."""

    def __init__(self, X, seed):
        self.X = X
        self.model = ICDH(
            noise="equal", hidden_units=UNITS, l1=PENALTY, l2=PENALTY, threshold=THRESHOLD, random_state=seed
        )

    def run(self):
        """Fit."""
        self.model.fit(self.X)

    @property
    def evaluations(self):
        """Evaluations of the objective so far."""
        return sum(record.evaluations for record in self.model.history_)

    def w1(self):
        """Return the hidden weights reached, shape (N, m1, N)."""
        return self.model.network_.w1


class TorchPeer:
    """A fit of a network in torch that counts its evaluations."""

    def __init__(self, X, seed):
        self.X = X
        self.evaluations = 0
        self.network = None
        logging.disable(logging.INFO)
        import_extra("torch", "benchmark").manual_seed(seed)

    def watch(self, network):
        """Keep the network that a fit is about to change, and count its forward passes."""
        self.network = network
        network.register_forward_hook(self._count)

    def _count(self, *_):
        self.evaluations += 1

    def w1(self):
        """Return the hidden weights reached, shape (N, m1, N); None before there are any."""
        if self.network is None:
            return None
        variables = self.X.shape[1]
        return self.hidden_weights().detach().numpy().reshape(variables, -1, variables).copy()


class Gcastle(TorchPeer):
    """`NotearsNonlinear`: augmented Lagrangian and L-BFGS-B, as in the article of NOTEARS-MLP."""

    def run(self):
        """Fit."""
        module = import_extra("castle.algorithms.gradient.notears.torch.nonlinear", "benchmark")
        learner = module.NotearsNonlinear(
            lambda1=PENALTY, lambda2=PENALTY, h_tol=1e-8, rho_max=1e16, hidden_layers=(UNITS, 1), bias=False
        )
        network = learner.get_model(self.X.shape[1])
        self.watch(network)
        learner.notears_nonlinear(network, self.X)

    def hidden_weights(self):
        """Return the tensor of hidden weights, shape (N m1, N)."""
        return self.network.fc1_pos.weight - self.network.fc1_neg.weight


class Dagma(TorchPeer):
    """`DagmaNonlinear`: a central path, each point of it by Adam."""

    def run(self):
        """Fit."""
        module = import_extra("dagma.nonlinear", "benchmark")
        module.tqdm = partial(module.tqdm, disable=True)
        network = module.DagmaMLP(dims=[self.X.shape[1], UNITS, 1])
        network.fc1.bias = network.fc2[0].bias = None  # its argument bias=False raises AttributeError
        self.watch(network)
        module.DagmaNonlinear(network).fit(self.X, lambda1=PENALTY, lambda2=PENALTY, w_threshold=THRESHOLD)

    def hidden_weights(self):
        """Return the tensor of hidden weights, shape (N m1, N)."""
        return self.network.fc1.weight


METHODS = {"icdh": Icdh, "gcastle": Gcastle, "dagma": Dagma}


def print_rows(rows):
    print("  N seed method      seconds  evaluations  objective  on a DAG        h  SHD")
    for row in rows:
        columns = (
            f"{row['variables']:3d} {row['seed']:4d} {row['method']:8s} {row['seconds']:10.2f} {row['evaluations']:12d}"
        )
        if row["objective"] is not None:
            columns += f" {row['objective']:10.4f} {row['objective_on_dag']:9.4f} {row['h']:8.0e} {row['shd']:4d}"
        print(columns, row["failure"] or "")


def print_ratios(rows):
    """Print, for each peer and size, its figures over ours on the tables that both have."""
    ours = {(row["variables"], row["seed"]): row for row in rows if row["method"] == "icdh"}
    peers = sorted({(row["method"], row["variables"]) for row in rows if row["method"] != "icdh"})
    for method, variables in peers:
        pairs = [
            (ours[variables, row["seed"]], row)
            for row in rows
            if (row["method"], row["variables"]) == (method, variables) and (variables, row["seed"]) in ours
        ]
        if pairs:
            print(f"{method}, N = {variables}: {describe(pairs)}")


def describe(pairs):
    """Return the summary of pairs (ours, theirs)."""
    ratios = [theirs["seconds"] / our["seconds"] for our, theirs in pairs]
    stopped = sum(theirs["failure"] is not None for _, theirs in pairs)
    gaps = [
        100.0 * (our["objective"] / theirs["objective_on_dag"] - 1.0)
        for our, theirs in pairs
        if theirs["objective_on_dag"] is not None
    ]
    bound = "at least " if stopped else ""
    speed = f"{bound}{summary(ratios, 0)} times our seconds, {len(pairs)} pairs, {stopped} not to the end"
    return f"{speed}; our objective {summary(gaps)} % above theirs" if gaps else speed


if __name__ == "__main__":
    main()
