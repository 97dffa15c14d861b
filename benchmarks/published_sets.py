"""Tables that others published with their true graphs: HNMSearch and ICDH beside rivals and published values.

    python benchmarks/published_sets.py results.json [--folder FOLDER] [--sets gp-10-10 ...] [--methods HNMSearch ...]
        [--graphs 10] [--limit 120] [--plot figures/published_sets.svg]

The sets are those of Lachapelle, Brouillard, Deleu, Lacoste-Julien: "Gradient-Based Neural DAG Learning", ICLR 2020, in
the public repository https://github.com/kurowasan/GraN-DAG. ``FOLDER`` is a clone of it, its archives packed or
unpacked; without one each archive is downloaded by pooch (``pip install pooch``). Rivals are those of
`paper_reproduction`, at the threshold of its tables. Every table is standardised and its columns are permuted, so that
neither units nor order tell anything. A fit that needs more CPU seconds than the limit is kept as a failure. Fits in
the file are not run again. Prints for each set a table: mean SHD with its standard error, SHD if edges without
direction count favourably, edges too many, missing and reversed, SID, median CPU seconds, and Wilcoxon's p-value for
SHD against that of HNMSearch on the same graphs. Last it prints mean SHD of all sets, with the number of graphs.
Published values are quoted at second hand.
"""

import argparse
import io
import logging
import re
import time
import warnings
import zipfile
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from harness import Results, cpu_limit
from scipy.stats import wilcoxon

from icdh import metrics
from icdh.exceptions import import_extra
from icdh.files import replace_on_success
from paper_reproduction.jobs import seed_of
from paper_reproduction.judging import THRESHOLD
from paper_reproduction.methods import estimate

SOURCE = "https://raw.githubusercontent.com/kurowasan/GraN-DAG/d86ab59325730d742d67b4a1c964bde5145a9b9c/"
SIGNIFICANT = 0.05
FEWEST_BARS = 6  # a panel has room for
KEPT = ("n_edges", "n_true_edges", "shd", "shd_favourable", "extra", "missing", "reversed", "sid")
COLOURS = {
    "HNMSearch": "#1f5fa8",
    "ICDH (last stage)": "#7fb0de",
    "ICDH": "#b9c9d9",
    "ICDH (as printed)": "#dfe6ee",
    "NOTEARS-MLP": "#777777",
    "DirectLiNGAM": "#d0b030",
    "GES": "#5b8c2a",
    "CAM": "#c2571a",
    "HOST": "#8a4fa0",
}


class PublishedSet(NamedTuple):
    """One archive of tables and graphs.

    Attributes
    ----------
    title : str
        What readers call it.
    path : str
        Where it is in the repository.
    """

    title: str
    path: str


KINDS = {  # what titles and paths begin and end with, numbers of nodes
    "gp": ("", "data/data_p", "GP", (10, 20, 50, 100)),
    "sf": ("scale-free, ", "data/data_sf_p", "GP", (10, 20, 50, 100)),
    "pnl": ("post-nonlinear, ", "data/pnl/data_p", "PNL_GP", (10, 50)),
    "mult": ("multiplicative, ", "data/pnl/data_p", "PNL_MULT", (10, 50)),
}
SETS = {
    f"{kind}-{nodes}-{edges}": PublishedSet(
        f"{title}{nodes} nodes, {edges} edges", f"{path}{nodes}_e{edges}_n1000_{end}.zip"
    )
    for kind, (title, path, end, sizes) in KINDS.items()
    for nodes in sizes
    for edges in (nodes, 4 * nodes)
} | {"syntren": PublishedSet("SynTReN, 20 nodes, 500 rows", "data/syntren_p20.zip")}
CHECKSUMS = {  # SHA-256 of those that were measured; the address of the others names a commit, too
    "gp-10-10": "979ba7b78e82c76d27aa56e86bd17bc020e7105bbb0bae32d9f7863b2ed42303",
    "gp-10-40": "c0799ca90e92c007c59e7008e327d86c8e48f4e58b05bb7df158fdc6d5fc5a31",
    "gp-20-20": "3a2f25f234f5baecb1f2b3e1b7d864e13fec1c5ba4f4f47f233dcee0fe8d0a06",
    "sf-10-10": "29bf3b7d4b02d2116bb9f48bace0bdfa9d4d6120888efdfb1d9bf6b3aadb01ed",
    "sf-10-40": "60c111f7be498942080b83d34947afb4274f071c5f9d70b22f81ea58c72e88b5",
    "pnl-10-10": "54fcbae6bb5b9711ffa34113e7d3d7bfaa30aabe7d52a9c6e946afd1b11a51ff",
    "pnl-10-40": "bc756e981cbd6205706b9d95be164209738977d505407370dea28ef74ae3c6ab",
    "mult-10-10": "c9a6a177f95b8a6ae8861477e42be5a67d9b5a275b7c6ce920687de498efb17a",
    "mult-10-40": "07d52457faf028c3cb420ff94d4a5855d812cda60b7a4eab42677077103a7b0f",
    "syntren": "ff866971370d6b6eb9648845d69eb81ec5ad9d3640cb33794f876552dc29fe51",
}
PUBLISHED = {  # mean SHD of ten graphs, quoted at second hand
    "gp-10-10": {"GraN-DAG": 1.7, "CAM": 1.1},
    "gp-10-40": {"GraN-DAG": 8.3, "CAM": 12.2},
    "gp-20-20": {"GraN-DAG": 4.0, "CAM": 2.7},
    "pnl-10-10": {"GraN-DAG": 1.6},
    "syntren": {"GraN-DAG": 34.0, "CAM": 40.5},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--folder", type=Path, help="a clone of the repository of the sets")
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="*", choices=COLOURS, default=list(COLOURS))
    parser.add_argument("--graphs", type=int, help="the first so many of each set; all by default")
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds of one fit")
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    results = Results(arguments.results, ("set", "graph", "method"))
    if arguments.methods:
        run(results, arguments)
    for name in SETS:
        print_set(name, [row for row in results.rows if row["set"] == name])
    print_summary(results.rows)
    if arguments.plot:
        plot(results.rows, arguments.plot)


def run(results, arguments):
    """Add what is missing, graph by graph, so that an interruption leaves sets of equal size."""
    sets = {name: graphs_of(name, arguments.folder) for name in arguments.sets}
    first = next(iter(sets))
    for method in arguments.methods:  # compile before the clock runs
        estimate(method, table(first, sets[first][0], arguments.folder)[0][:200, :5], 0)
    most = max(len(graphs) for graphs in sets.values())
    for k in range(most if arguments.graphs is None else min(most, arguments.graphs)):
        for name, graphs in sets.items():
            for method in arguments.methods if k < len(graphs) else ():
                key = {"set": name, "graph": graphs[k], "method": method}
                if not results.has(**key):
                    problem = table(name, graphs[k], arguments.folder)
                    results.add({**key, **measure(method, *problem, arguments.limit)})


@cache
def readers(name, folder):
    """Return what reads each file of a set, by its name: out of the archive, or of the folder it was unpacked to."""
    path = SETS[name].path
    if folder is not None and (folder / path).with_suffix("").is_dir():
        return {file.name: file.read_bytes for file in (folder / path).with_suffix("").iterdir()}
    if folder is None:
        import pooch

        archive = zipfile.ZipFile(pooch.retrieve(SOURCE + path, CHECKSUMS.get(name), Path(path).name))
    else:
        archive = zipfile.ZipFile(folder / path)
    return {Path(member).name: partial(archive.read, member) for member in archive.namelist()}


def graphs_of(name, folder):
    """Return the numbers of the graphs of a set."""
    found = (re.fullmatch(r"DAG(\d+)\.npy", file) for file in readers(name, folder))
    return sorted(int(match[1]) for match in found if match)


@cache
def table(name, graph, folder):
    """Return a standardised table, its columns permuted, and its true graph."""
    X, truth = (array(name, f"{kind}{graph}.npy", folder) for kind in ("data", "DAG"))
    order = np.random.default_rng(seed_of(f"order/{name}/{graph}")).permutation(X.shape[1])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[:, order], truth[np.ix_(order, order)]


def array(name, file, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's on files of Python 2
        return np.load(io.BytesIO(readers(name, folder)[file]())).astype(float)


def measure(method, X, truth, limit):
    """Return what a fit is worth and took, or that it was stopped."""
    begin = time.process_time()
    try:
        with cpu_limit(limit):
            weights = estimate(method, X, 0)
    except TimeoutError:
        return {**dict.fromkeys(KEPT), "seconds": limit, "failure": "limit of CPU time"}
    seconds = time.process_time() - begin
    found = metrics.evaluate(weights, truth, threshold=THRESHOLD)
    return {name: None if found[name] is None else int(found[name]) for name in KEPT} | {
        "seconds": round(seconds, 3),
        "failure": None,
    }


def by_method(rows):
    """Return the rows that were not stopped, by method and graph."""
    found = {method: {row["graph"]: row for row in rows if row["method"] == method} for method in COLOURS}
    kept = {m: {graph: row for graph, row in own.items() if row["failure"] is None} for m, own in found.items()}
    return {method: own for method, own in kept.items() if own}


def print_set(name, rows):
    methods = by_method(rows)
    if not methods:
        return
    edges = np.mean([row["n_true_edges"] for own in methods.values() for row in own.values()])
    print(f"\n{name}: {SETS[name].title} ({edges:.1f} true edges)\n")
    print("| | graphs | SHD | favourable | extra | missing | reversed | SID | seconds | p |\n" + "|---" * 10 + "|")
    for method, own in methods.items():
        stopped = sum(row["method"] == method and row["failure"] is not None for row in rows)
        graphs = f"{len(own)}" + (f", {stopped} stopped" if stopped else "")
        print(f"| {method} | {graphs} | {cells(own.values())} | {p_value(methods, method)} |", flush=True)
    for method, distance in PUBLISHED.get(name, {}).items():
        print(f"| {method}, published | 10 | {distance}" + " |" * 8)


def print_summary(rows):
    """Print mean SHD, a row a set; an asterisk where Wilcoxon's p-value against HNMSearch is below 0.05."""
    present = [method for method in COLOURS if any(row["method"] == method for row in rows)]
    sources = list(dict.fromkeys(source for values in PUBLISHED.values() for source in values))
    print("\n| | " + " | ".join([*present, *(f"{source}, published" for source in sources)]) + " |")
    print("|---" * (1 + len(present) + len(sources)) + "|")
    for name in SETS:
        methods = by_method([row for row in rows if row["set"] == name])
        if methods:
            means = [mean_shd(methods, method) for method in present]
            quoted = [str(PUBLISHED.get(name, {}).get(source, "")) for source in sources]
            print(f"| {SETS[name].title} | " + " | ".join([*means, *quoted]) + " |")


def mean_shd(methods, method):
    """Return the mean in few letters, with the number of graphs."""
    if method not in methods:
        return ""
    differences = paired(methods, method)
    star = "*" if differences.any() and wilcoxon(differences).pvalue < SIGNIFICANT else ""
    return f"{np.mean([row['shd'] for row in methods[method].values()]):.1f}{star} ({len(methods[method])})"


def cells(rows):
    values = {column: np.array([row[column] for row in rows if row[column] is not None], float) for column in KEPT}
    shd, sid = (f"{mean:.2f} ± {error:.2f}" for mean, error in map(spread, (values["shd"], values["sid"])))
    others = (f"{values[column].mean():.1f}" for column in ("shd_favourable", "extra", "missing", "reversed"))
    return " | ".join((shd, *others, sid, f"{np.median([row['seconds'] for row in rows]):.1f}"))


def spread(values):
    """Return the mean and its standard error."""
    if not len(values):
        return np.nan, np.nan
    return values.mean(), values.std() / np.sqrt(len(values))


def p_value(methods, rival):
    """Return Wilcoxon's p-value against HNMSearch on the graphs of both, and which is better there."""
    differences = paired(methods, rival)
    if not differences.any():
        return ""
    p = wilcoxon(differences).pvalue
    return f"{'worse' if differences.mean() > 0 else 'better'} by {abs(differences.mean()):.1f}, {p:.1g}"


def paired(methods, rival):
    """Return the SHD of a rival less that of HNMSearch, on the graphs of both."""
    own, other = methods.get("HNMSearch", {}), methods[rival]
    return np.array([other[graph]["shd"] - own[graph]["shd"] for graph in own.keys() & other.keys()])


def plot(rows, path):
    """Draw mean SHD with standard errors, a panel a set; white bars are published values."""
    import_extra("matplotlib", "plot").use("Agg")
    from matplotlib.figure import Figure

    present = [name for name in SETS if any(row["set"] == name for row in rows)]
    figure = Figure(figsize=(9, 1.7 * -(-len(present) // 2)), layout="constrained")
    panels = figure.subplots(-(-len(present) // 2), 2).flat
    for panel, name in zip(panels, present, strict=False):
        draw_set(panel, name, by_method([row for row in rows if row["set"] == name]))
    with replace_on_success(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], metadata={"Date": None})


def draw_set(panel, name, methods):
    published = {f"{method}, published": shd for method, shd in PUBLISHED.get(name, {}).items()}
    labels = [*methods, *published]
    for at, method in enumerate(methods):
        mean, error = spread(np.array([row["shd"] for row in methods[method].values()], float))
        panel.barh(at, mean, color=COLOURS[method], xerr=error, error_kw={"elinewidth": 0.7})
        panel.annotate(f" {mean:.1f}", (mean + error, at), va="center", fontsize="xx-small")
    for at, shd in enumerate(published.values(), len(methods)):
        panel.barh(at, shd, facecolor="white", edgecolor="#444444", linewidth=0.7)
        panel.annotate(f" {shd:.1f}", (shd, at), va="center", fontsize="xx-small")
    panel.set_yticks(range(len(labels)), labels, fontsize="xx-small")
    panel.tick_params(axis="x", labelsize="xx-small")
    panel.set_ylim(max(len(labels), FEWEST_BARS) - 0.5, -0.5)
    panel.set_title(SETS[name].title, fontsize="small", loc="left")
    panel.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
