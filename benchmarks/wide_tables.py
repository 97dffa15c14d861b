"""Errors, seconds and memory as tables get wider, up to a thousand variables: HNMSearch beside BOSS and GES.

    python benchmarks/wide_tables.py results.json [--methods HNMSearch BOSS GES] [--sizes 10-1000 200-1000 500-500 ...]
        [--seed 84000] [--limit 600] [--plot figures/wide_tables.svg]

A size is N-M, N variables and M observations of an Erdos-Renyi graph with as many edges as variables, noise whose
spread depends on the causes, columns standardised. BOSS and GES are causal-learn's with its linear BIC. They find an
equivalence class, so errors are those of the class (CPDAG); `shd` of HNMSearch is of the graph itself. Each fit has a
process of its own. Seconds are its CPU time after a fit of five variables, memory is the peak beyond what the process
held before (Linux). A fit that needs more than the limit is stopped and kept as a failure, and larger sizes are not
begun. Rows in the file are not run again.
"""

import argparse
import contextlib
import io
import json
import logging
import subprocess
import sys
import time
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
from harness import Results, cpu_limit
from scaling import forget_peak, megabytes
from search_peers import COLOURS, boss, search

from icdh import graphs, metrics, simulate
from icdh.exceptions import import_extra
from icdh.files import replace_on_success

SIZES = ["10-1000", "20-1000", "50-1000", "100-1000", "200-1000", "500-500", "1000-1000"]


def ges(X):
    """Return the graph of GES; both entries of an edge without direction are set."""
    from causallearn.search.ScoreBased.GES import ges as best_class

    with contextlib.redirect_stdout(io.StringIO()):
        marks = best_class(X)["G"].graph
    return ((marks == -1) & (marks.T != 0)).astype(float)


METHODS = {"HNMSearch": search, "BOSS": boss, "GES": ges}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--sizes", nargs="*", default=SIZES)
    parser.add_argument("--seed", type=int, default=84000)
    parser.add_argument("--limit", type=float, default=600.0, help="CPU seconds of one fit")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one, arguments.seed, arguments.limit)))
        return
    results = Results(arguments.results, ("method", "size", "seed"))
    for method in arguments.methods:
        for size in arguments.sizes:
            key = {"method": method, "size": size, "seed": arguments.seed}
            if not results.has(**key):
                results.add({**key, **in_a_process(method, size, arguments)})
            if next(row for row in results.rows if all(row[name] == key[name] for name in key))["failure"]:
                break
    for row in results.rows:
        errors = "stopped" if row["failure"] else f"CPDAG SHD {row['cpdag_shd']:4d}  SHD {row['shd']}"
        print(f"{row['method']:<10} {row['size']:<10} s {row['seconds']:8.2f}  MB {row['megabytes']:7.1f}  {errors}")
    if arguments.plot:
        plot(results.rows, arguments.plot)


def in_a_process(method, size, arguments):
    settings = ["--seed", str(arguments.seed), "--limit", str(arguments.limit)]
    command = [sys.executable, __file__, str(arguments.results), "--one", method, size, *settings]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measure(method, size, seed, limit):
    """Return what one fit needs and finds."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    variables, observations = map(int, size.split("-"))
    METHODS[method](table(5, 100, seed)[0])
    X, truth = table(variables, observations, seed)
    forget_peak()
    held, begin, failure, found = megabytes("VmRSS"), time.process_time(), None, None
    try:
        with cpu_limit(limit):
            found = METHODS[method](X) != 0
    except TimeoutError:
        failure = "limit of CPU time"
    needs = {"seconds": time.process_time() - begin, "megabytes": megabytes("VmHWM") - held, "failure": failure}
    if failure:
        return {**needs, "cpdag_shd": None, "shd": None}
    directed = graphs.is_dag(found)
    return {
        **needs,
        "cpdag_shd": int(metrics.shd(cpdag(found) if directed else found, cpdag(truth))),
        "shd": int(metrics.shd(found, truth)) if directed else None,
    }


def table(variables, observations, seed):
    """Return a standardised table and its true graph."""
    graph = simulate.erdos_renyi(variables, 1, random_state=seed)
    data = simulate.simulate_sem(graph, observations, random_state=seed)
    return (data.X - data.X.mean(axis=0)) / data.X.std(axis=0), data.adjacency != 0


def cpdag(dag):
    """Return the equivalence class of a DAG by Meek's rules; both entries of an edge without direction are set."""
    adjacent = dag | dag.T
    parents = [set(np.flatnonzero(column).tolist()) for column in dag.T]
    compelled = {
        (cause, effect)
        for effect, own in enumerate(parents)
        for pair in combinations(sorted(own), 2)
        if not adjacent[pair]
        for cause in pair
    }
    edges = [(int(i), int(j)) for i, j in np.argwhere(dag)]
    while further := [edge for edge in edges if edge not in compelled and follows(*edge, parents, adjacent, compelled)]:
        compelled.update(further)
    found = dag.copy()
    for cause, effect in edges:
        found[effect, cause] = (cause, effect) not in compelled
    return found


def follows(cause, effect, parents, adjacent, compelled):
    """Return whether the directions that are known give that of an edge."""
    if any((k, cause) in compelled and not adjacent[k, effect] for k in parents[cause]):
        return True
    into = [k for k in parents[effect] if (k, effect) in compelled and adjacent[cause, k]]
    if any((cause, k) in compelled for k in into):
        return True
    free = [k for k in into if (k, cause) not in compelled and (cause, k) not in compelled]
    return any(not adjacent[pair] for pair in combinations(free, 2))


def plot(rows, path):
    """Draw errors, seconds and memory against the number of variables; a hollow mark is a fit that was stopped."""
    import_extra("matplotlib", "plot").use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3), layout="constrained")
    colours = {**COLOURS, "GES": "#c2571a"}
    panels = {"cpdag_shd": "errors of the class (CPDAG SHD)", "seconds": "CPU seconds", "megabytes": "MB of the fit"}
    for panel, (field, label) in zip(figure.subplots(1, 3), panels.items(), strict=True):
        for method in METHODS:
            own = [(int(row["size"].split("-")[0]), row) for row in rows if row["method"] == method]
            own = sorted(
                ((n, max(row[field], 0.5), row) for n, row in own if row[field] is not None), key=lambda r: r[0]
            )
            panel.plot([n for n, *_ in own], [value for _, value, _ in own], color=colours[method], label=method)
            for n, value, row in own:
                face = "white" if row["failure"] else colours[method]
                panel.scatter(n, value, 20, facecolor=face, edgecolor=colours[method], zorder=2)
        panel.set(xscale="log", yscale="log", xlabel="variables", ylabel=label)
        panel.grid(axis="y", color="#dddddd", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
        ticks = sorted({int(row["size"].split("-")[0]) for row in rows})
        panel.set_xticks(ticks, [str(tick) for tick in ticks], fontsize="x-small")
        panel.minorticks_off()
    figure.axes[0].legend(frameon=False, fontsize="small")
    with replace_on_success(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], metadata={"Date": None})


if __name__ == "__main__":
    main()
