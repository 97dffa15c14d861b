"""Probabilities of edges by several methods, on tables whose graph is known.

    python benchmarks/calibration.py FILE.jsonl --methods posterior search --seeds 1000 1008 --variables 10 20

Fresh tables of the model's own kinds (`icdh.simulate`, standardised), of kinds that break its assumptions (a common
cause that is left out, columns rounded to ten levels, noise that is not Gaussian), of linear functions and Gaussian
processes, and of what others draw: labels among numbers, counts, noise through tanh or through any monotone function of
the sum (post-nonlinear), the generator of HOST. As many seeds as four times the numbers of ``--rows`` take every kind
with each number of rows, with one and with two edges a variable, twice. What `icdh.posterior` averages over was chosen
on 341 tables of the kinds of `TEN`, of seeds from 900,000.

``posterior`` is `icdh.posterior`, by default and at the temperatures given, ``search`` and ``icdh`` are
`icdh.bootstrap` of HNMSearch and of ICDH; ``lingam``, ``boss`` and ``notears`` are peers (`calibration_peers.py`) on
resamples that are drawn alike. Every line of FILE is what one method says of one table; a run that stopped goes on
behind the last one, so that several runs, each with a file of its own, may share the work. `calibration_report.py`
reads the files.
"""

import argparse
import hashlib
import json
import time
import warnings
from pathlib import Path

import numpy as np
import simulated_tables
from calibration_peers import PEERS
from outside_truths import of_natural_parameters, standardised, through_a_curve

from icdh import ICDH, HNMSearch, bootstrap, posterior, simulate
from icdh.graphs import causal_order

OWN = ("homo-ev", "homo-nv", "softplus-shared", "exp-bounded", "piecewise")
MISSPECIFIED = ("confounded", "rounded", "laplace")
OTHER = {  # mechanism and distribution of kinds whose spread is constant
    "linear-gaussian": ("linear", "gaussian"),
    "linear-laplace": ("linear", "laplace"),
    "linear-uniform": ("linear", "uniform"),
    "gp": ("gp", "gaussian"),
    "gp-add": ("gp-add", "gaussian"),
    "student": ("mlp", "student-t"),
}
POST_NONLINEAR = (np.sinh, np.exp, lambda z: z**3, lambda z: z + np.abs(z))


def counts(parents, rng):
    """Return an effect of parents, shape (n, p): in three of five cases a count, else a number."""
    n, p = parents.shape
    mean = simulated_tables.network(parents / (1.0 + parents.std(axis=0)), rng, 1)[:, 0] if p else np.zeros(n)
    if rng.random() < 0.6:
        return rng.poisson(np.exp(rng.uniform(0.0, 2.0) + 0.6 * mean)).astype(float)
    return mean + 0.7 * rng.normal(size=n)


def post_nonlinear(parents, rng):
    """Return an effect of parents, shape (n, p): a monotone function of a network and noise."""
    n, p = parents.shape
    mean = simulated_tables.network(parents, rng, 1)[:, 0] if p else np.zeros(n)
    z = (mean + 0.6 * rng.normal(size=n)) / 1.2 if p else rng.normal(size=n)
    return standardised(POST_NONLINEAR[rng.integers(len(POST_NONLINEAR))](z))


EFFECTS = {  # an effect given its causes, shape (n, p)
    "tanh": lambda parents, rng: through_a_curve(np.tanh, parents, rng),
    "counts": counts,
    "post-nonlinear": post_nonlinear,
    "host": of_natural_parameters,
}
KINDS = (*OWN, *MISSPECIFIED, *OTHER, "labels", *EFFECTS)
TEN = ("softplus-shared", "gp-add", "linear-gaussian", "linear-laplace", "student", "labels", *EFFECTS)
ROWS = (200, 1000)
LEVELS = 10
AVERAGED = "averaged"  # over noise and temperature
METHODS = ("posterior", "search", "icdh", *PEERS)
SAMPLINGS = ("subsample", "bootstrap")


def main():
    arguments = parse()
    warnings.simplefilter("ignore")
    cut_half_written_line(arguments.file)
    names = ("kind", "variables", "seed", "method", "sampling")
    done = {tuple(line[name] for name in names) for line in read_lines(arguments.file)}
    for method in arguments.methods:
        for variables in arguments.variables:
            for seed in range(*arguments.seeds):
                for kind in arguments.kinds:
                    sampling = None if method == "posterior" else arguments.sampling
                    if (kind, variables, seed, method, sampling) not in done:
                        append_line(arguments.file, measured(kind, variables, seed, method, arguments))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--methods", nargs="+", choices=METHODS, required=True)
    parser.add_argument("--seeds", type=int, nargs=2, required=True, metavar=("FIRST", "END"))
    parser.add_argument("--variables", type=int, nargs="+", default=[10, 20])
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=(*OWN, *MISSPECIFIED))
    parser.add_argument("--resamples", type=int, default=50)
    parser.add_argument("--sampling", choices=SAMPLINGS, default=SAMPLINGS[0])
    parser.add_argument("--temperatures", type=float, nargs="+", default=[], help="beside the default's average")
    return parser.parse_args()


def cut_half_written_line(file):
    """Leave only whole lines, after a run that was killed."""
    with open(file, "ab+") as stream:
        stream.seek(0)
        stream.truncate(stream.read().rfind(b"\n") + 1)


def read_lines(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def append_line(file, line):
    with open(file, "a", encoding="utf-8") as stream:
        stream.write(json.dumps(line) + "\n")


def measured(kind, variables, seed, method, arguments):
    """Return one line: probabilities in thousandths, by temperature where there is one."""
    X, truth, labels = draw_table(kind, variables, arguments.rows, seed)
    kinds = dict.fromkeys(labels, "categorical") or None
    begin = time.process_time()
    if method == "posterior":
        found = by_posterior(HNMSearch(random_state=seed, kinds=kinds).fit(X), seed, arguments.temperatures)
    else:
        found = {"": by_resamples(method, X, kinds, seed, arguments.resamples, arguments.sampling)}
    return {
        "kind": kind,
        "variables": variables,
        "rows": len(X),
        "seed": seed,
        "method": method,
        "sampling": None if method == "posterior" else arguments.sampling,
        "resamples": None if method == "posterior" else arguments.resamples,
        "seconds": round(time.process_time() - begin, 2),
        "table": hashlib.sha256(X.round(9).tobytes()).hexdigest()[:12],
        "truth": truth.astype(int).ravel().tolist(),
        "thousandths": {key: np.rint(1000.0 * value).astype(int).ravel().tolist() for key, value in found.items()},
    }


def draw_table(kind, variables, rows, seed):
    """Return a table with permuted columns, its graph, and which columns are labels."""
    rng = np.random.default_rng([seed, variables, KINDS.index(kind)])
    rows, degree = rows[seed % len(rows)], 1 + seed // len(rows) % 2
    if kind == "labels":
        X, truth, labels = simulated_tables.draw("labelled", variables, degree, rows, int(rng.integers(2**31)))
    elif kind in EFFECTS:
        X, truth, labels = *by_effects(EFFECTS[kind], variables, degree, rows, rng), []
    else:
        X, truth, labels = *simulated(kind, variables, degree, rows, rng), []
    order = rng.permutation(variables)
    labels = [int(np.flatnonzero(order == k)[0]) for k in labels]
    return X[:, order], truth[np.ix_(order, order)] != 0, labels


def by_effects(effect, variables, degree, rows, rng):
    truth = np.asarray(simulate.erdos_renyi(variables, degree, rng)) != 0
    X = np.zeros((rows, variables))
    for node in causal_order(truth):
        X[:, node] = effect(X[:, truth[:, node]], rng)
    return X, truth


def simulated(kind, variables, degree, rows, rng):
    """Return a standardised table of `icdh.simulate`."""
    hidden = 2 if kind == "confounded" else 0
    graph = simulate.erdos_renyi(variables + hidden, degree, rng)
    mechanism, distribution = OTHER.get(kind, ("mlp", "laplace" if kind == "laplace" else "gaussian"))
    data = simulate.simulate_sem(
        graph,
        rows,
        mechanism=mechanism,
        noise=kind if kind in OWN else "homo-nv" if kind in OTHER else "softplus-shared",
        distribution=distribution,
        standardize=True,
        random_state=rng,
    )
    truth, X = data.adjacency != 0, data.X
    if hidden:  # those with the most effects are left out
        kept = np.sort(np.argsort(truth.sum(axis=1), kind="stable")[:variables])
        truth, X = truth[np.ix_(kept, kept)], X[:, kept]
    if kind == "rounded":
        step = np.ptp(X, axis=0) / LEVELS
        X = np.round(X / step) * step
    return X, truth


def by_posterior(model, seed, temperatures):
    found = {f"{t:g}": posterior(model, temperature=t, random_state=seed).edge_probability for t in temperatures}
    return {AVERAGED: posterior(model, random_state=seed).edge_probability, **found}


def by_resamples(method, X, kinds, seed, resamples, sampling):
    """Return how often each edge is found in resamples of the rows."""
    if method in PEERS:
        return np.mean([PEERS[method](X[resampled(len(X), seed, k, sampling)]) for k in range(resamples)], axis=0)
    estimator = {"search": HNMSearch, "icdh": ICDH}[method](**({"kinds": kinds} if kinds else {}))
    return bootstrap(estimator, X, resamples, sampling=sampling, random_state=seed).edge_probability


def resampled(rows, seed, index, sampling):
    rng = np.random.default_rng([seed, index])
    return rng.integers(rows, size=rows) if sampling == "bootstrap" else rng.permutation(rows)[: (rows + 1) // 2]


if __name__ == "__main__":
    main()
