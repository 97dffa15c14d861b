"""What answers about five arrows buy on public tables whose columns have a natural order.

    python benchmarks/answers.py results.json FOLDER [--tables fourth]

Tables and levels are those of `real_tables.py`. The five arrows most in doubt (`icdh.check`) are answered as the levels
say, and the search runs again: no edge may point from the later to the earlier column of an answered pair. Columns of
one level have no answer. The same is done with five arrows drawn at random. Prints how many arrows between levels point
forward and backward, of all pairs and of those that no answer was about. Every table is kept in the JSON file.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from harness import Results
from real_tables import LEVELS, read

import icdh

N_ANSWERS = 5


def of_table(path, levels):
    """Return arrows forward and backward, before and after answers: of all pairs, and without the answered ones."""
    level = {name: k for k, own in enumerate(levels) for name in own.split()}
    table = read(path, list(level))
    model = icdh.HNMSearch().fit(table)
    edges = [(edge.cause, edge.effect) for edge in icdh.check(model, table).edges]
    drawn = np.random.default_rng(sum(map(ord, path.stem))).permutation(len(edges))
    row = {"before": counts(edges, level, set())}
    for how, asked in (("doubt", edges[:N_ANSWERS]), ("random", [edges[k] for k in drawn[:N_ANSWERS]])):
        answered = {frozenset(edge) for edge in asked if level[edge[0]] != level[edge[1]]}
        forbidden = [tuple(sorted(pair, key=level.get, reverse=True)) for pair in answered]
        again = icdh.HNMSearch(knowledge={"forbidden": forbidden}).fit(table) if forbidden else model
        row[how] = counts(((edge.cause, edge.effect) for edge in again.edge_list()), level, set())
        row[f"{how}, others"] = counts(((edge.cause, edge.effect) for edge in again.edge_list()), level, answered)
        row[f"before, not {how}"] = counts(edges, level, answered)
        row[f"{how}, answers"] = counts((edge for edge in asked if frozenset(edge) in answered), level, set())
    return row


def counts(edges, level, left_out):
    """Return how many edges point to a later level, and to an earlier one."""
    steps = [level[j] - level[i] for i, j in edges if frozenset((i, j)) not in left_out]
    return [sum(step > 0 for step in steps), sum(step < 0 for step in steps)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", nargs="+", choices=LEVELS, default=["fourth"])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(args.results, ("tables", "name"))
    for tables in args.tables:
        for name, levels in LEVELS[tables].items():
            if not results.has(tables=tables, name=name):
                counted = of_table(args.folder / f"{name}.csv", levels)
                results.add({"tables": tables, "name": name, "counts": counted})
        rows = [row["counts"] for row in results.rows if row["tables"] == tables]
        for what in rows[0]:
            forward, backward = np.sum([row[what] for row in rows], axis=0)
            share = forward / (forward + backward)
            print(f"{tables}, {len(rows)} tables, {what:<18} forward {forward:3d}, backward {backward:3d}: {share:.0%}")


if __name__ == "__main__":
    main()
