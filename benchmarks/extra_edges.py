"""What the extra edges are that HNMSearch learns from the SynTReN tables, and what could tell them from true ones.

    python benchmarks/extra_edges.py results.json [--folder FOLDER] [--graphs 10] [--tables SynTReN hubs ...]

Folder and SynTReN's tables are those of `published_sets`. An extra edge joins siblings (they have a common parent in
the true graph), a forebear and a descendant, variables of a common forebear, or variables that the true graph makes
independent. Prints how many there are of each kind, quartiles of the strengths in nats of right, reversed and extra
edges, and how many of the pairs that the true graph makes independent have a rank correlation with p < 0.001. Then it
prints mean SHD, and edges that are right and that are not, under rules that leave edges out without knowing the truth:

- strength: the edge is worth so many nats;
- Vuong: the rows agree that the effect's family is better with the cause: the sum of their differences in
  log-likelihood is so many of its standard errors (Vuong, Econometrica 57, 1989);
- halves: so many of six random halves of the rows give the edge, too;
- triangle: of three variables joined in a triangle the weakest edge goes if it is worth less than so much of both
  others, as in ARACNE (Margolin et al., BMC Bioinformatics 7, 2006): what noise on a regulator leaves between its
  targets is weaker than what joins them to it.

Simulated tables show what a rule costs: graphs of few regulators ("hubs"), their columns as they are or with Gaussian
noise of 0.4 or 0.8 of their standard deviation, and Erdős–Rényi graphs of two edges a variable. All have 20 variables
and 500 rows. Thresholds were read off other seeds. Fits in the file are not run again.
"""

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
from harness import Results
from published_sets import graphs_of, table
from scipy.stats import spearmanr

from icdh import HNMSearch, bootstrap, simulate
from icdh.graphs import descendants

N_VARIABLES, N_ROWS, N_HALVES = 20, 500, 6
SIMULATED = {"hubs": 0.0, "hubs, noise 0.4": 0.4, "hubs, noise 0.8": 0.8, "two edges a variable": 0.0}
FIRST_SEED = 7000
RULES = {  # from the edges of a graph to those that stay
    "all edges": lambda edges: edges,
    "strength 5": lambda edges: at_least(edges, "strength", 5.0),
    "strength 10": lambda edges: at_least(edges, "strength", 10.0),
    "Vuong 3": lambda edges: at_least(edges, "vuong", 3.0),
    "Vuong 4": lambda edges: at_least(edges, "vuong", 4.0),
    "halves 0.5": lambda edges: at_least(edges, "halves", 0.5),
    "triangle 0.5": lambda edges: without_weak_sides(edges, 0.5),
    "triangle 1": lambda edges: without_weak_sides(edges, 1.0),
    "no edge": lambda edges: [],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--graphs", type=int, default=10)
    parser.add_argument("--tables", nargs="*", choices=["SynTReN", *SIMULATED], default=["SynTReN", *SIMULATED])
    arguments = parser.parse_args()
    results = Results(arguments.results, ("tables", "graph"))
    for graph in range(1, arguments.graphs + 1):
        for tables in arguments.tables:
            if not results.has(tables=tables, graph=graph):
                results.add({"tables": tables, "graph": graph, **explain(*problem(tables, graph, arguments.folder))})
    syntren = [row for row in results.rows if row["tables"] == "SynTReN"]
    if syntren:
        report(syntren)
    compare(results.rows)


def problem(tables, graph, folder):
    """Return a standardised table and its true graph."""
    if tables == "SynTReN":
        return table("syntren", graphs_of("syntren", folder)[graph - 1], folder)
    seed, noise = FIRST_SEED + graph, SIMULATED[tables]
    mechanism = "mim" if seed % 4 < 2 else "gp"
    data = simulate.simulate_sem(
        true_graph(tables, seed), N_ROWS, mechanism=mechanism, noise="homo-nv", random_state=seed
    )
    X = data.X + noise * data.X.std(axis=0) * np.random.default_rng([seed, 1]).standard_normal(data.X.shape)
    return (X - X.mean(axis=0)) / X.std(axis=0), data.adjacency


def true_graph(tables, seed):
    """Return a graph of hubs, every other one scale-free, or one of two edges a variable."""
    if "hubs" not in tables:
        return simulate.erdos_renyi(N_VARIABLES, 2, random_state=seed)
    if seed % 2:
        return bipartite(np.random.default_rng(seed))
    graph = simulate.scale_free(N_VARIABLES, 1, random_state=seed)
    return graph if graph.sum(axis=1).max() > graph.sum(axis=0).max() else graph.T


def bipartite(rng):
    """Return 1.2 edges a variable, each from one of three tenths of the variables to one of the others."""
    n_causes = int(0.3 * N_VARIABLES)
    causes, effects = np.divmod(np.arange(n_causes * (N_VARIABLES - n_causes)), N_VARIABLES - n_causes)
    drawn = rng.choice(causes.size, size=round(1.2 * N_VARIABLES), replace=False)
    graph = np.zeros((N_VARIABLES, N_VARIABLES), dtype=np.int64)
    graph[causes[drawn], effects[drawn] + n_causes] = 1
    return simulate.relabel(graph, rng)


def explain(X, truth):
    """Return what is known of every learned edge, and what the true graph leaves unexplained."""
    model, truth = HNMSearch().fit(X), np.asarray(truth) != 0
    vuong, halves = agreement_of_rows(model), bootstrap(HNMSearch(), X, n_resamples=N_HALVES).edge_probability
    after = descendants(truth.astype(float)) | np.eye(len(truth), dtype=bool)
    edges = [
        {
            "edge": [int(i), int(j)],
            "kind": kind_of(i, j, truth, after),
            "strength": round(float(model.adjacency_matrix_[i, j]), 2),
            "vuong": round(float(vuong[i, j]), 2),
            "halves": round(float(halves[i, j]), 3),
        }
        for i, j in np.argwhere(model.adjacency_matrix_)
    ]
    independent = np.triu((after.T.astype(int) @ after) == 0, k=1)
    dependent = int((spearmanr(X).pvalue[independent] < 1e-3).sum())
    return {
        "edges": edges,
        "n_true_edges": int(truth.sum()),
        "independent_pairs": int(independent.sum()),
        "dependent_ones": dependent,
    }


def agreement_of_rows(model):
    """Return Vuong's statistic of every edge, shape (N, N)."""
    found = model.found_graph()
    statistic = np.zeros((len(found.graph),) * 2)
    for node, parents in enumerate(found.graph):
        for cause in parents:
            others = tuple(k for k in parents if k != cause)
            gains = log_densities(found.scores, (node, parents)) - log_densities(found.scores, (node, others))
            statistic[cause, node] = gains.sum() / (gains.std() * np.sqrt(gains.size))
    return found.table.edges_in_users_order(statistic)


def log_densities(scores, family):
    """Return the Gaussian log density of every row given a family's causes, without a constant."""
    scores([family])
    residuals, deviation = scores.models.residuals(family, scores.fit_of(family))
    return -0.5 * np.mean(np.square(residuals), axis=0) - np.log(deviation)


def kind_of(i, j, truth, after):
    if truth[i, j] or truth[j, i]:
        return "right" if truth[i, j] else "reversed"
    if (truth[:, i] & truth[:, j]).any():
        return "siblings"
    if after[i, j] or after[j, i]:
        return "forebear"
    return "common forebear" if (after[:, i] & after[:, j]).any() else "independent"


def at_least(edges, column, least):
    return [edge for edge in edges if edge[column] >= least]


def without_weak_sides(edges, share):
    """Return the edges that are in no triangle whose two other edges are both worth more, by this share."""
    worth = {frozenset(edge["edge"]): edge["strength"] for edge in edges}

    def is_weak(edge):
        i, j = edge["edge"]
        others = ((worth.get(frozenset((i, k))), worth.get(frozenset((j, k)))) for k in range(N_VARIABLES))
        return any(None not in pair and edge["strength"] < share * min(pair) for pair in others)

    return [edge for edge in edges if not is_weak(edge)]


def report(rows):
    edges = [edge for row in rows for edge in row["edges"]]
    print(f"{len(rows)} graphs: {dict(Counter(edge['kind'] for edge in edges))}")
    for name in ("right", "reversed", "extra"):
        own = [edge["strength"] for edge in edges if name in (edge["kind"], "extra" if is_extra(edge) else "")]
        print(f"{name}: strength {np.quantile(own, (0.25, 0.5, 0.75)).round(0)}")
    pairs, dependent = (sum(row[name] for row in rows) for name in ("independent_pairs", "dependent_ones"))
    print(f"{dependent} of {pairs} pairs that the true graph makes independent are correlated")


def is_extra(edge):
    return edge["kind"] not in ("right", "reversed")


def compare(rows):
    """Print mean SHD and, in brackets, how many edges are right and are not, a row a rule."""
    present = [tables for tables in ("SynTReN", *SIMULATED) if any(row["tables"] == tables for row in rows)]
    print("\n| | " + " | ".join(present) + " |\n" + "|---" * (1 + len(present)) + "|")
    for name, rule in RULES.items():
        cells = [outcome([row for row in rows if row["tables"] == tables], rule) for tables in present]
        print(f"| {name} | " + " | ".join(cells) + " |")


def outcome(rows, rule):
    kinds = [Counter(edge["kind"] for edge in rule(row["edges"])) for row in rows]
    right = np.mean([own["right"] for own in kinds])
    wrong = np.mean([own.total() for own in kinds]) - right
    shd = np.mean([distance(row, own) for row, own in zip(rows, kinds, strict=True)])
    return f"{shd:.1f} ({right:.1f}, {wrong:.1f})"


def distance(row, kinds):
    """Return the SHD of edges of these kinds."""
    joined = kinds["right"] + kinds["reversed"]
    return row["n_true_edges"] - joined + kinds["reversed"] + kinds.total() - joined


if __name__ == "__main__":
    main()
