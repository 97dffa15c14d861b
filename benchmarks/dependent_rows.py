"""Level and power of the warnings about rows that depend on one another, and what `groups` and `sequence` mend.

python benchmarks/dependent_rows.py level --seeds 200          # tables of independent rows that are warned of
python benchmarks/dependent_rows.py power --seeds 20           # tables of dependent rows that are warned of
"""

import argparse
import warnings

import numpy as np

from icdh import HNMSearch
from icdh._rows import dependence


def linked(rng, rows, columns=5, noise="normal"):
    """Return columns of which each depends on some of those before it."""
    X = np.empty((rows, columns))
    for j in range(columns):
        e = rng.standard_t(2, size=rows) if noise == "heavy" else rng.normal(size=rows)
        causes = [i for i in range(j) if rng.random() < 0.5]
        X[:, j] = e + sum(np.tanh(X[:, i]) * rng.uniform(0.5, 2.0) for i in causes)
        X[:, j] *= 1.0 + 0.5 * (X[:, causes[0]] > 0) if causes else 1.0
    return X


def rounded(X, steps):
    return np.round(X / X.std(axis=0) * steps)


def levels(X, n_levels):
    return np.stack([np.searchsorted(np.quantile(own, np.linspace(0, 1, n_levels + 1)[1:-1]), own) for own in X.T], 1)


def sums(X):
    return np.column_stack([X, X[:, 0] + X[:, 1], np.round(2.54 * X[:, 2]), X[:, 3] + 0.3 * np.round(X[:, 0])])


def mixed(X, rng):
    return np.column_stack([X[:, 0], rounded(X, 4)[:, 1], levels(X, 4)[:, 2], X[:, 3] > 0, np.exp(X[:, 4])])


def zeros(X, rng):
    absent = rng.random(len(X)) < 0.4
    return np.where(absent[:, None], 0.0, np.exp(rounded(X, 10) / 10))


def by(X, column):
    return X[np.argsort(X[:, column], kind="stable")]


def diabetes():
    from sklearn.datasets import load_diabetes

    return load_diabetes().data


INDEPENDENT = {
    "normal": lambda r: linked(r, 400),
    "20 rows": lambda r: linked(r, 20),
    "30 rows, rounded": lambda r: rounded(linked(r, 30), 5),
    "heavy tails": lambda r: linked(r, 400, noise="heavy"),
    "rounded to tenths": lambda r: rounded(linked(r, 1000), 10),
    "rounded to thirds": lambda r: rounded(linked(r, 1000), 3),
    "whole deviations": lambda r: rounded(linked(r, 500), 1),
    "ordinal": lambda r: levels(linked(r, 500), 5),
    "twelve levels": lambda r: levels(linked(r, 500), 12),
    "binary": lambda r: linked(r, 500) > 0,
    "rare and binary": lambda r: linked(r, 200) > 2,
    "60 rows of few levels": lambda r: levels(linked(r, 60), 3),
    "mixed": lambda r: mixed(linked(r, 500), r),
    "sums and units": lambda r: sums(rounded(linked(r, 500), 8)),
    "nearly determined": lambda r: rounded(
        np.column_stack([(x := r.normal(size=(600, 1))), x, x, x]) + 0.05 * r.normal(size=(600, 4)), 10
    ),
    "many zeros": lambda r: zeros(linked(r, 500), r),
    "diabetes": lambda r: r.permutation(diabetes())[:300],
    "sorted by a cause": lambda r: by(linked(r, 500), 0),
    "sorted by an effect": lambda r: by(linked(r, 500), 4),
    "sorted by a class": lambda r: by(np.column_stack([levels(linked(r, 500), 4)[:, :1], linked(r, 500)]), 0),
    "sorted by class and number": lambda r: (lambda X: X[np.lexsort((X[:, 2], X[:, 1] > 0))])(
        (lambda X: np.column_stack([X[:, 0], X[:, 1] > 0, X[:, 2:]]))(linked(r, 500))
    ),
    "100,000 rows": lambda r: linked(r, 100_000),
    "100,000 rounded rows": lambda r: rounded(linked(r, 100_000), 10),
}


def autoregressive(rng, rows, rho, columns=4):
    X = rng.normal(size=(rows, columns))
    for t in range(1, rows):
        X[t] += rho * X[t - 1]
    return X


def visits(rng, persons=40, times=15):
    fixed = np.repeat(rng.normal(size=(persons, 3)), times, axis=0)
    return np.column_stack([fixed, rng.normal(size=(len(fixed), 1))])


def panel(rng, firms=20, years=20):
    return np.vstack([rng.normal(size=3) + autoregressive(rng, years, 0.9, 3) for _ in range(firms)])


def oversampled(rng, rows=150, copies=9):
    X = np.column_stack([rng.normal(size=(rows, 4)), rng.random(rows) < 0.1])
    return np.vstack([X] + [X[X[:, 4] == 1]] * (copies - 1))


DEPENDENT = {
    "copied four times": lambda r: np.tile(r.normal(size=(150, 4)), (4, 1)),
    "copied and shuffled": lambda r: r.permutation(np.tile(r.normal(size=(150, 4)), (4, 1))),
    "copied, rounded to tenths": lambda r: np.tile(rounded(linked(r, 150), 10), (4, 1)),
    "copied, rounded to halves": lambda r: np.tile(rounded(linked(r, 150), 2), (4, 1)),
    "diabetes, copied twice": lambda r: np.tile(diabetes(), (2, 1)),
    "copied, mixed": lambda r: np.tile(mixed(linked(r, 150), r), (4, 1)),
    "oversampled class": lambda r: oversampled(r),
    "visits": lambda r: visits(r),
    "visits, shuffled, rounded": lambda r: r.permutation(rounded(visits(r), 20)),
    "panels": lambda r: panel(r),
    "random walks": lambda r: autoregressive(r, 400, 1.0),
    "AR(.95)": lambda r: autoregressive(r, 400, 0.95),
    "AR(.8)": lambda r: autoregressive(r, 400, 0.8),
    "AR(.5)": lambda r: autoregressive(r, 400, 0.5),
    "200 quarters and their year": lambda r: np.column_stack(
        [np.arange(200) // 4, np.cumsum(0.3 + r.normal(size=(200, 3)), axis=0)]
    ),
}


def warned(X, fitted):
    """Return whether a fit warns of the rows; without a fit, whether columns alone would make it warn."""
    if not fitted:
        values = np.ascontiguousarray(np.asarray(X, dtype=float).T)
        found = dependence(values, values)
        return "" if found is None else found.kind
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        HNMSearch().fit(np.asarray(X, dtype=float))
    return "; ".join(str(own.message) for own in caught if "independent" in str(own.message))


def rates(tables, first, seeds, fitted):
    for name, draw in tables.items():
        n = min(seeds, 20) if name.startswith("100,000") else seeds
        found = [warned(draw(np.random.default_rng([7, seed])), fitted) for seed in range(first, first + n)]
        kinds = {kind: found.count(kind) for kind in sorted(set(found) - {""})} if not fitted else ""
        print(f"{name:30} {sum(map(bool, found)):4d} of {n} {kinds}", flush=True)


def slow(rng, shape, rho):
    """Return series of unit variance along the first axis."""
    e = rng.normal(size=shape)
    for t in range(1, len(e)):
        e[t] = rho * e[t - 1] + np.sqrt(1.0 - rho**2) * e[t]
    return e


def noise_of(kind, rng, groups, times, columns):
    """Return noise of unit variance, (groups * times, columns), of rows that are alike as the kind says."""
    own = rng.normal(size=(groups, times, columns))
    shared = np.broadcast_to(rng.normal(size=(groups, 1, columns)), own.shape)
    if kind == "visits":  # the first half of the columns is the person's
        share = np.where(np.arange(columns) < columns // 2, 1.0, 0.4)
    elif kind == "clusters":
        share = 0.3
    else:  # panels
        share, own = 0.3, np.moveaxis(slow(rng, (times, groups, columns), 0.9), 0, 1)
    return (np.sqrt(share) * shared + np.sqrt(1.0 - share) * own).reshape(-1, columns)


def structure(rng, columns, density):
    return np.triu(rng.random((columns, columns)) < density, 1)


def effects_of(noise, truth, rng):
    X = np.empty(noise.shape)
    for j in range(len(truth)):
        causes = np.flatnonzero(truth[:, j])
        spread = 1.0 + 0.5 * np.tanh(X[:, causes[0]]) if causes.size else 1.0
        X[:, j] = spread * noise[:, j] + sum(
            rng.uniform(1.0, 2.0) * np.tanh(X[:, i] * rng.uniform(0.7, 1.5)) for i in causes
        )
    return X


def table_of(kind, rng, density, columns=5):
    """Return table, groups or None (a sequence), and the true graph."""
    truth = structure(rng, columns, density)
    if kind in ("copies", "oversampled class"):
        X = effects_of(rng.normal(size=(200, columns)), truth, rng)
        times = 1 + (7 * (X[:, 0] > 1.2) if kind == "oversampled class" else np.full(200, 3))
        rows = np.repeat(np.arange(200), times)
        return X[rows], rows, truth
    if kind == "sequence":
        return effects_of(slow(rng, (500, columns), 0.8), truth, rng), None, truth
    groups, times = {"visits": (40, 15), "panels": (30, 20), "clusters": (30, 20)}[kind]
    X = effects_of(noise_of(kind, rng, groups, times, columns), truth, rng)
    return X, np.repeat(np.arange(groups), times), truth


KINDS = ("copies", "oversampled class", "visits", "panels", "clusters", "sequence")


DRAWS = 10


def edges(found, truth):
    """Return true edges, turned ones, false ones, and how many there are."""
    return np.array([(found & truth).sum(), (found & truth.T).sum(), (found & ~truth & ~truth.T).sum(), truth.sum()])


def fitted(X, **words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HNMSearch().fit(X, **words).adjacency_matrix_ != 0


def one_row_a_group(groups, n_rows, rng):
    """Return a row of each group, or every ninth of a sequence."""
    if groups is None:
        return np.arange(rng.integers(9), n_rows, 9)
    order = rng.permutation(n_rows)
    return np.sort(order[np.unique(groups[order], return_index=True)[1]])


def what_groups_mend(seeds, kinds, densities):
    for density in densities:
        for kind in kinds:
            sums = {}
            for seed in seeds:
                X, groups, truth = table_of(kind, np.random.default_rng([int(10 * density), seed]), density)
                fits = {
                    "ignored": fitted(X),
                    "groups": fitted(X, groups=groups) if groups is not None else fitted(X, sequence=True),
                }
                rng = np.random.default_rng(seed)
                draws = [fitted(X[one_row_a_group(groups, len(X), rng)]) for _ in range(DRAWS)]
                fits |= {"one row a group": draws[0], "most of ten such": np.mean(draws, axis=0) > 0.5}
                for name, found in fits.items():
                    sums[name] = sums.get(name, 0) + edges(found, truth)
            told = "   ".join(
                f"{name}: {right:2d} + {turned:2d} turned of {of}, {false:2d} false"
                for name, (right, turned, false, of) in sums.items()
            )
            print(f"{density:3} {kind:18} {told}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("level", "power", "groups"))
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--fit", action="store_true", help="by fits of HNMSearch, not by the columns alone")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--densities", nargs="+", type=float, default=[0.0, 0.4])
    args = parser.parse_args()
    if args.what == "groups":
        what_groups_mend(range(args.first, args.first + args.seeds), args.kinds, args.densities)
        return
    rates({"level": INDEPENDENT, "power": DEPENDENT}[args.what], args.first, args.seeds, args.fit)


if __name__ == "__main__":
    main()
