"""How often arrows of each kind point forward in tables whose columns have a natural order.

    python benchmarks/track_record.py results.json FOLDER [--tables fourth] [--methods search icdh]

Tables and levels are those of `real_tables.py`, the columns in an order of chance. An arrow counts if it joins two
levels, and its kind is that of `icdh.diagnostics.result`: whether its effect has heavier tails than its cause,
and is better explained by all other columns. Prints for every kind the share that points forward, with an interval of
95 % by resampling whole tables, and the share that the package tells its users. Every fit is kept in the JSON file and
not repeated.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from harness import Results
from real_tables import LEVELS, read_by_chance

import icdh
from icdh.diagnostics.result import SHARES, Marginals

METHODS = {"search": icdh.HNMSearch, "icdh": lambda: icdh.ICDH(scaling="standardize")}
GROUPS = {"both": ("both",), "one": ("tails", "explained"), "neither": ("neither",), "all": tuple(SHARES)}
N_RESAMPLES = 10_000


def arrows_of(path, levels, method):
    """Return for every kind how many arrows between levels point forward, and how many backward."""
    table, level = read_by_chance(path, levels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = METHODS[method]().fit(table)
    marginals = Marginals.of(model.model_.columns.as_table(table))
    counts = {kind: [0, 0] for kind in SHARES}
    for i, j in np.argwhere(model.adjacency_matrix_):
        if level[i] != level[j]:
            counts[marginals.kind(i, j)][int(level[i] > level[j])] += 1
    return counts


def share_of(rows, group, rng):
    """Return arrows forward and backward, their share, and its interval over tables."""
    counts = np.array([np.sum([row["arrows"][kind] for kind in GROUPS[group]], axis=0) for row in rows])
    forward, backward = counts.sum(axis=0)
    drawn = counts[rng.integers(len(rows), size=(N_RESAMPLES, len(rows)))].sum(axis=1)
    drawn = drawn[drawn.sum(axis=1) > 0]
    low, high = np.quantile(drawn[:, 0] / drawn.sum(axis=1), [0.025, 0.975])
    return int(forward), int(backward), forward / (forward + backward), low, high


def show(rows):
    rng = np.random.default_rng(0)
    for name in dict.fromkeys((row["tables"], row["method"]) for row in rows):
        own = [row for row in rows if (row["tables"], row["method"]) == name]
        for group, kinds in GROUPS.items():
            if not any(sum(row["arrows"][kind]) for row in own for kind in kinds):
                continue
            forward, backward, share, low, high = share_of(own, group, rng)
            told = f", told {SHARES[kinds[0]]:.0%}" if group != "all" else ""
            print(
                f"{' '.join(name)}, {len(own)} tables, {group:<8} forward {forward:3d}, backward {backward:3d}: "
                f"{share:.0%} ({low:.0%} to {high:.0%}){told}"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", nargs="+", choices=LEVELS, default=["fourth"])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["search"])
    args = parser.parse_args()
    results = Results(args.results, ("tables", "method", "name"))
    for tables in args.tables:
        for method in args.methods:
            for name, levels in LEVELS[tables].items():
                if not results.has(tables=tables, method=method, name=name):
                    arrows = arrows_of(args.folder / f"{name}.csv", levels, method)
                    results.add({"tables": tables, "method": method, "name": name, "arrows": arrows})
    show(results.rows)


if __name__ == "__main__":
    main()
