"""What `icdh.check` rejects: its level on tables that the model is right about, its power on others, what answers buy.

    python benchmarks/check.py results.json [--parts level power questions cost icdh peers]
        [--seeds FIRST END] [--kinds ...]

Tables of 8 variables (8 edges, 1000 rows) are drawn cause after cause as in `simulated_tables.py`: mean and spread of
an effect are random functions of its causes. Each row of the JSON file is a table; what is there is not computed again.

- level: noise and columns of every kind that the model is made for, and those of `icdh.simulate`, on the graph that the
  search finds and on the true one. A search that errs may be rejected with reason, and so may a transform that it chose
  although the columns need none.
- power: distorted scales (each effect is a monotone function of what the model is made for, and acts so), measurement
  noise (a third of a standard deviation on every column), two hidden common causes, and on plain tables three wrong
  graphs: the true one without its strongest edge, with its strongest edge turned, and with the order of all variables
  turned.
- questions: SHD of plain and recorded tables of 300 rows and 16 edges after the five arrows most in doubt are answered
  and the table is fitted again, and after five others, drawn at random. An answer says which of the two directions
  cannot be, as there is no directed path in the truth.
- cost: the CPU time of the check beside that of the fit, of plain tables of 10 and 20 variables.
- icdh: `icdh.ICDH` on tables of Gaussian noise, standardised, and on tables of its own models, raw.
- peers: DoWhy's `falsify_graph` on the true and the wrong graph, and lingam's independence of errors after
  DirectLiNGAM, where these packages can be imported. DoWhy gets 300 rows, for time.
"""

import argparse
import time
import warnings
from itertools import combinations

import numpy as np
from harness import Results
from simulated_tables import causal_order, effect, on_grid, to_labels, to_levels

import icdh
from icdh import graphs, metrics, simulate

LEVEL = 0.05
NOISE = {
    "gaussian": lambda rng, size: rng.normal(size=size),
    "student": lambda rng, size: rng.standard_t(3, size=size) / np.sqrt(3.0),
    "laplace": lambda rng, size: rng.laplace(size=size) / np.sqrt(2.0),
    "uniform": lambda rng, size: rng.uniform(-1.0, 1.0, size=size) * np.sqrt(3.0),
    "skewed": lambda rng, size: rng.exponential(size=size) - 1.0,
}
COLUMNS = ("rounded", "binary-rooted", "mixed", "labelled", "exponentiated", "every kind")
DISTORTIONS = {
    "cubed": lambda z: z**3,
    "sinh": lambda z: np.sinh(1.5 * z),
    "tanh": lambda z: np.tanh(1.5 * z),
    "mildly cubed": lambda z: z + 0.3 * z**3,
}
SIMULATED = {  # noise and distribution of `icdh.simulate.simulate_sem`
    "homo-ev": ("homo-ev", "gaussian"),
    "homo-nv": ("homo-nv", "gaussian"),
    "softplus-shared": ("softplus-shared", "gaussian"),
    "softplus, Laplace": ("softplus-shared", "laplace"),
    "exp-bounded": ("exp-bounded", "gaussian"),
    "exp": ("exp", "gaussian"),
}
LEVEL_KINDS = (*NOISE, *COLUMNS, *SIMULATED)
POWER_KINDS = (*DISTORTIONS, "measurement noise", "hidden causes", "recorded")
OWN_KINDS = ("homo-nv", "softplus-shared")
WRONG_GRAPHS = ("missing edge", "turned edge", "turned order")
QUESTION_KINDS = ("gaussian", "recorded", "mixed", "cubed", "tanh")
N_QUESTIONS = 5
ROWS_OF_DOWHY = 300  # the time of its kernel tests grows with the cube of the rows


def standardised(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def draw(kind, seed, edges=1, rows=1000, variables=8):
    """Return a table, shape (rows, variables), the true graph, and which columns are labels."""
    if kind in SIMULATED:
        noise, distribution = SIMULATED[kind]
        graph = simulate.erdos_renyi(variables, edges, seed)
        drawn = simulate.simulate_sem(graph, rows, noise=noise, distribution=distribution, random_state=seed)
        return drawn.X, (drawn.adjacency != 0).astype(float), []
    rng = np.random.default_rng([seed, edges, rows, sum(map(ord, kind))])
    hidden = 2 if kind == "hidden causes" else 0
    truth = _graph(variables + hidden, edges, hidden, rng)
    X, acts, labels = np.zeros((rows, len(truth))), {}, []
    for j in causal_order(truth):
        noise = NOISE.get(kind, NOISE["gaussian"])(rng, rows)
        causes = np.flatnonzero(truth[:, j])
        own = effect(np.column_stack([acts[k] for k in causes]), rng, noise) if causes.size else standardised(noise)
        if kind in DISTORTIONS and causes.size:
            own = standardised(DISTORTIONS[kind](own))
        elif kind == "rounded" and rng.random() < 0.5:
            own = on_grid(own, rng)
        elif kind == "binary-rooted" and not causes.size:
            own = to_levels(own, rng, 2) * 2.0 - 1.0
        elif kind == "mixed" and rng.random() < 0.4:
            own = standardised(to_levels(own, rng, int(rng.choice([2, 2, 4]))))
        kind_of_column = rng.choice(("number", "yes or no", "grades", "labels")) if kind == "every kind" else ""
        if kind_of_column in ("yes or no", "grades"):
            own = standardised(to_levels(own, rng, 2 if kind_of_column == "yes or no" else int(rng.integers(3, 7))))
        X[:, j], acts[j] = own, own[:, np.newaxis]
        if kind_of_column == "labels" or (kind == "labelled" and rng.random() < 0.4):
            X[:, j] = to_labels(own, rng)
            acts[j] = 2.0 * (X[:, [j]] == np.unique(X[:, j]))
            labels.append(j)
    X, truth = X[:, hidden:], truth[hidden:, hidden:]
    if kind == "exponentiated":
        X = np.exp(X)
    elif kind == "recorded":  # what acts is not rounded, what is written down is
        X = np.column_stack([on_grid(x, rng) if rng.random() < 0.5 else x for x in X.T])
    elif kind == "measurement noise":
        X = X + rng.normal(size=X.shape) / 3.0
    return X, truth.astype(float), labels


def _graph(variables, edges, hidden, rng):
    """Return a graph in a random order; the first variables, which will be hidden, have two effects each or more."""
    while True:
        truth = np.asarray(simulate.erdos_renyi(variables, edges, int(rng.integers(2**31)))) != 0
        truth = np.array(truth[np.ix_(*[rng.permutation(len(truth))] * 2)])
        if (truth[:hidden, hidden:].sum(axis=1) >= 2).all():
            return truth


def wrong_graph(how, X, truth):
    """Return another graph than the true one."""
    weight = np.abs(np.corrcoef(X.T)) * truth
    i, j = np.unravel_index(np.argmax(weight), weight.shape)
    wrong = truth.copy()
    if how == "turned order":
        return truth.T
    wrong[i, j] = 0.0
    if how == "turned edge":
        wrong[j, i] = 1.0
        if not graphs.is_dag(wrong):
            return None
    return wrong


def fitted(X, labels, graph=None):
    """Return a fit of a table, to a graph if one is given."""
    knowledge = None
    if graph is not None:
        edges = list(zip(*map(np.ndarray.tolist, np.nonzero(graph)), strict=True))
        others = list(zip(*map(np.ndarray.tolist, np.nonzero(graph + np.eye(len(graph)) == 0)), strict=True))
        knowledge = {"required": edges, "forbidden": others}
    kinds = dict.fromkeys(labels, "categorical") if labels else None
    return icdh.HNMSearch(kinds=kinds, knowledge=knowledge).fit(X)


def timed(function, *arguments, **options):
    begin = time.process_time()
    result = function(*arguments, **options)
    return result, round(time.process_time() - begin, 4)


def verdict(found):
    """Return what a row keeps of a check."""
    return {
        "p": min(node.p_value for node in found.nodes),
        "p_causes": min(node.p_causes for node in found.nodes),
        "p_mean": min(node.p_mean for node in found.nodes),
        "p_others": min(node.p_others for node in found.nodes),
        "rejected_nodes": sum(node.rejected for node in found.nodes),
        "not_gaussian": sum(not node.gaussian for node in found.nodes),
        **cliques(found),
    }


def cliques(found):
    """Return how many triples of variables are all joined, and how many of them with a residual that is not Gaussian.

    They would be a sign of a hidden cause of all three, did they not come without one as often.
    """
    joined = {frozenset((edge.cause, edge.effect)) for edge in found.edges}
    odd = {node.name for node in found.nodes if not node.gaussian}
    triples = [
        own
        for own in combinations([node.name for node in found.nodes], 3)
        if joined.issuperset(map(frozenset, combinations(own, 2)))
    ]
    return {"cliques": len(triples), "odd_cliques": sum(not odd.isdisjoint(own) for own in triples)}


def of_table(kind, seed):
    """Return the rows of one table: the graph that was found, and the true one where there is one."""
    X, truth, labels = draw(kind, seed)
    model, seconds = timed(fitted, X, labels)
    found, of_check = timed(icdh.check, model, X)
    extra, missing, turned = map(int, metrics.edge_differences(model.adjacency_matrix_, truth))
    row = {"kind": kind, "seed": seed, "graph": "found", "shd": extra + missing + turned, "turned": turned}
    yield row | {"fit": seconds, "check": of_check} | verdict(found)
    if kind == "hidden causes":
        return
    for graph in ("true", *(WRONG_GRAPHS if kind == "gaussian" else ())):
        adjacency = truth if graph == "true" else wrong_graph(graph, X, truth)
        if adjacency is None:
            continue
        found, of_check = timed(icdh.check, fitted(X, labels, adjacency), X)
        yield {"kind": kind, "seed": seed, "graph": graph, "shd": 0, "fit": seconds, "check": of_check} | verdict(found)


def answered(kind, seed):
    """Return SHD before and after answers about the arrows most in doubt, and about some drawn at random."""
    X, truth, _ = draw(kind, seed, edges=2, rows=300)
    model = fitted(X, [])
    edges = icdh.check(model, X).edges
    leads = graphs.descendants(truth != 0)
    rng = np.random.default_rng(seed)
    drawn = [edges[k] for k in rng.permutation(len(edges))]
    by_nats = sorted(edges, key=lambda edge: edge.direction_loss)
    row = {"kind": kind, "seed": seed, "graph": "questions", "edges": len(edges)}
    row["before"] = int(metrics.shd(model.adjacency_matrix_, truth))
    for how, order in (("doubt", edges), ("random", drawn), ("nats", by_nats)):
        place = {name: k for k, name in enumerate(model.model_.names)}
        pairs = [(place[edge.cause], place[edge.effect]) for edge in order[:N_QUESTIONS]]
        forbidden = [pair for i, j in pairs for pair in ((i, j), (j, i)) if not leads[pair]]
        again = icdh.HNMSearch(knowledge={"forbidden": forbidden}).fit(X)
        row[how] = int(metrics.shd(again.adjacency_matrix_, truth))
        row[f"{how}_wrong"] = sum(not truth[pair] for pair in pairs)
    yield row


def of_size(kind, seed):
    """Return the row of a plain table of so many variables, for what the check costs beside the fit."""
    X, truth, labels = draw("gaussian", seed, variables=int(kind.split()[0]))
    model, seconds = timed(fitted, X, labels)
    found, of_check = timed(icdh.check, model, X)
    shd = int(metrics.shd(model.adjacency_matrix_, truth))
    yield {"kind": kind, "seed": seed, "graph": "found", "shd": shd, "fit": seconds, "check": of_check} | verdict(found)


def of_icdh(kind, seed):
    """Return the row of a table that ICDH learns from."""
    X, truth, _ = draw(kind, seed)
    scaling = "none" if kind in OWN_KINDS else "standardize"
    model, seconds = timed(icdh.ICDH(scaling=scaling).fit, X)
    found, of_check = timed(icdh.check, model, X)
    shd = int(metrics.shd(model.adjacency_matrix_, truth))
    row = {"kind": kind, "seed": seed, "graph": "ICDH's", "shd": shd, "fit": seconds, "check": of_check}
    yield row | verdict(found)


def of_peers(kind, seed):
    """Return what DoWhy and lingam say of a table."""
    from joblib import parallel_config

    X, truth, _ = draw(kind, seed)
    rows = []
    with parallel_config("sequential"):  # workers take longer to start than the tests, and their time is not seen
        for graph in ("true", "turned edge", "turned order"):
            adjacency = truth if graph == "true" else wrong_graph(graph, X, truth)
            if adjacency is not None:
                rows.append({"kind": kind, "seed": seed, "graph": graph} | _dowhy(X, adjacency))
        rows.append({"kind": kind, "seed": seed, "graph": "lingam's own"} | _lingam(X))
    return rows


def _dowhy(X, adjacency):
    import networkx as nx
    import pandas as pd
    from dowhy.gcm.falsify import falsify_graph

    names = [f"x{k}" for k in range(len(adjacency))]
    graph = nx.relabel_nodes(nx.DiGraph(adjacency), dict(enumerate(names)))
    data = pd.DataFrame(X[:ROWS_OF_DOWHY], columns=names)
    found, seconds = timed(falsify_graph, graph, data, n_permutations=20, n_jobs=1, show_progress_bar=False)
    return {"peer": "DoWhy", "rejected": bool(found.falsified), "seconds": seconds}


def _lingam(X):
    import lingam

    def p_values():
        return lingam.DirectLiNGAM().fit(X).get_error_independence_p_values(X)

    found, seconds = timed(p_values)
    n_pairs = X.shape[1] * (X.shape[1] - 1) // 2
    least = found[np.triu_indices(X.shape[1], 1)].min()
    return {"peer": "lingam", "rejected": bool(least * n_pairs < LEVEL), "seconds": seconds}


def rejected_by_distance(rows):
    """Return how many graphs were rejected, by how far they are from the truth: those that are wrong should be."""
    groups = {
        "SHD 0 or 1": [row for row in rows if row["shd"] <= 1],
        "2 or 3": [row for row in rows if 2 <= row["shd"] <= 3],
        "4 or more": [row for row in rows if row["shd"] >= 4],
        "no arrow turned": [row for row in rows if row.get("turned") == 0],
        "some turned": [row for row in rows if row.get("turned")],
    }
    counts = (f"{name}: {sum(row['p'] < LEVEL for row in own)} of {len(own)}" for name, own in groups.items() if own)
    return f"rejected of {', '.join(counts)}"


PARTS = {  # for each part: its function, the kinds of tables, the names of its rows
    "level": (of_table, LEVEL_KINDS, "found"),
    "power": (of_table, POWER_KINDS, "found"),
    "questions": (answered, QUESTION_KINDS, "questions"),
    "cost": (of_size, ("10 variables", "20 variables"), "found"),
    "icdh": (of_icdh, ("gaussian", *OWN_KINDS), "ICDH's"),
    "peers": (of_peers, ("gaussian", "student", "cubed"), "lingam's own"),
}


def show(rows):
    """Print the share of tables that were rejected, by kind and graph, and what the check costs beside the fit."""
    for kind in dict.fromkeys(row["kind"] for row in rows):
        for graph in ("found", "true", *WRONG_GRAPHS, "ICDH's"):
            own = [row for row in rows if (row["kind"], row["graph"]) == (kind, graph) and "p" in row]
            if own:
                rejected = np.mean([row["p"] < LEVEL for row in own])
                share = np.median([row["check"] / row["fit"] for row in own])
                odd, joined, odd_joined = (
                    100 * np.mean([row[name] >= 1 for row in own])
                    for name in ("not_gaussian", "cliques", "odd_cliques")
                )
                shd = np.mean([row["shd"] for row in own])
                print(
                    f"{kind:<18} {graph:<13} {len(own):3d} tables, rejected {100 * rejected:4.0f} %, SHD {shd:4.1f}, "
                    f"not Gaussian {odd:4.0f} %, three all joined {joined:4.0f} %, both {odd_joined:4.0f} %, "
                    f"check / fit {share:.2f}"
                )
                if graph == "found":
                    print(f"{'':<18} {rejected_by_distance(own)}")
        own = [row for row in rows if (row["kind"], row["graph"]) == (kind, "questions")]
        if own:
            means = {how: np.mean([row[how] for row in own]) for how in ("before", "doubt", "random", "nats")}
            print(f"{kind:<18} questions     {len(own):3d} tables, SHD {means}")
    for peer in ("DoWhy", "lingam"):
        for name in dict.fromkeys((row["kind"], row["graph"]) for row in rows if row.get("peer") == peer):
            own = [row for row in rows if row.get("peer") == peer and (row["kind"], row["graph"]) == name]
            seconds = np.median([row["seconds"] for row in own])
            print(
                f"{peer:<7} {name}: {len(own)} tables, {sum(row['rejected'] for row in own)} rejected, {seconds:.1f} s"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=["level", "power", "questions"])
    parser.add_argument("--seeds", nargs=2, type=int, default=(60000, 60025), metavar=("FIRST", "END"))
    parser.add_argument("--kinds", nargs="+", help="by default all of a part")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(args.results, ("peer", "kind", "seed", "graph"))
    for seed in range(*args.seeds):
        for part in args.parts:
            compute, kinds, last = PARTS[part]
            peer = "lingam" if part == "peers" else ""
            for kind in kinds:
                if (args.kinds and kind not in args.kinds) or results.has(peer=peer, kind=kind, seed=seed, graph=last):
                    continue
                rows = list(compute(kind, seed))
                for row in [*rows[1:], rows[0]] if last == "found" else rows:
                    results.add({"peer": "", **row})
    show(results.rows)


if __name__ == "__main__":
    main()
