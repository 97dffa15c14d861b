"""What the edges are worth that HNMSearch misses or adds in wide tables, and which of them were ever offered to it.

    python benchmarks/missing_edges.py results.json [--tables 200-1-300 200-1-1000 ...] [--seeds FIRST END]

Tables are those of `search_speed`. An edge is worth what the score loses without it: a true edge in the true graph, an
extra one in the graph found. Both families are polished. An edge is offered where its gain estimate is positive: first,
when no variable has a parent, or in the end, beside the parents found. Prints true edges by their worth: how many there
are, and how many are found, are offered first, are found though they were not, and are in no family that was ever
fitted; of the missing ones that are worth something, how many would gain beside the parents found, close a cycle there
or are not offered; and extra edges by their worth. Tables in the file are not searched again.
"""

import argparse
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
from harness import Results
from search_speed import table

from icdh import HNMSearch
from icdh._utils.parallel import single_blas_thread
from icdh.graphs import reachability
from icdh.search.climb import parents_matrix, toggled

BOUNDS = (-np.inf, 0.0, 5.0, 10.0, 20.0, 40.0, np.inf)  # nats


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--tables", nargs="+", default=["200-1-300", "200-1-1000"])
    parser.add_argument("--seeds", type=int, nargs=2, default=(88000, 88002), metavar=("FIRST", "END"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(arguments.results, ("table", "seed"))
    for name in arguments.tables:
        for seed in range(*arguments.seeds):
            if not results.has(table=name, seed=seed):
                results.add({"table": name, "seed": seed, **explain(*table(name, seed))})
        report(name, [row for row in results.rows if row["table"] == name])


def explain(X, truth):
    """Return facts of every true edge, and the worth of every extra one, in nats."""
    found = HNMSearch().fit(X).found_graph()
    scores, truth = found.scores, truth[np.ix_(found.table.order, found.table.order)] != 0
    first = scores.gain_estimates([(node, ()) for node in range(len(truth))])
    last = scores.gain_estimates(list(enumerate(found.graph)))
    learned, leads_to, fitted = parents_matrix(found.graph), reachability(found.graph), np.zeros_like(truth)
    for node, parents in scores.fitted():
        fitted[list(parents), node] = True
    with single_blas_thread():
        true_edges = [
            {
                "worth": worth(scores, node, tuple(np.flatnonzero(truth[:, node]).tolist()), cause),
                "found": bool(learned[cause, node]),
                "reversed": bool(learned[node, cause]),
                "offered first": bool(first[node][cause] > 0.0),
                "offered last": bool(last[node][cause] > 0.0),
                "fitted": bool(fitted[cause, node]),
                "closes a cycle": bool(leads_to[node, cause]),
                "gain": worth(scores, node, tuple(sorted({*found.graph[node], cause})), cause),
            }
            for cause, node in np.argwhere(truth).tolist()
        ]
        extra = [
            worth(scores, node, found.graph[node], cause)
            for cause, node in np.argwhere(learned & ~(truth | truth.T)).tolist()
        ]
    return {"true": true_edges, "extra": extra, "offered first": int(sum((own > 0.0).sum() for own in first))}


def worth(scores, node, parents, cause):
    """Return by how much the score of a node rises without one of these parents, once both families are polished."""
    families = [(node, toggled(parents, cause)), (node, parents)]
    scores.polish(families)
    without, own = scores(families)
    return without - own


def report(name, rows):
    edges = [edge for row in rows for edge in row["true"]]
    extra = [nats for row in rows for nats in row["extra"]]
    print(f"{name}, {len(rows)} tables: {len(edges)} true edges, {len(extra)} extra")
    for low, high in pairwise(BOUNDS):
        own = [edge for edge in edges if low <= edge["worth"] < high]
        late = [edge for edge in own if not edge["offered first"]]
        print(
            f"  worth {low:5.0f} to {high:5.0f} nats: {len(own):4d} true, found {count(own, 'found'):4d}, "
            f"reversed {count(own, 'reversed'):3d}, not offered first {len(late):4d}, of these found "
            f"{count(late, 'found'):4d}, never fitted {len(own) - count(own, 'fitted'):4d}; "
            f"extra {sum(low <= nats < high for nats in extra):3d}"
        )
    missing = [edge for edge in edges if not (edge["found"] or edge["reversed"]) and edge["worth"] > 0.0]
    gaining = [edge for edge in missing if edge["gain"] > 0.0]
    legal = [edge for edge in gaining if not edge["closes a cycle"]]
    print(
        f"  of {len(missing)} missing ones worth more than zero {len(gaining)} gain beside the parents found: "
        f"{count(gaining, 'closes a cycle')} close a cycle, {len(legal) - count(legal, 'offered last')} others are not "
        "offered"
    )
    print(f"  offered first: {np.mean([row['offered first'] for row in rows]):.0f} pairs a table")


def count(edges, field):
    return sum(edge[field] for edge in edges)


if __name__ == "__main__":
    main()
