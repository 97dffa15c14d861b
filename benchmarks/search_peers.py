"""Seconds of score-based searches as the table grows: HNMSearch beside BOSS, CAM, HOST and NOTEARS-MLP.

    python benchmarks/search_peers.py results.json [--methods HNMSearch BOSS ...] [--variables 5 10 20 50]
        [--observations 300 3000 10000] [--limit 120] [--plot P.svg]

Tables of Erdos-Renyi graphs with as many edges as variables, standardised: N variables at 1000 observations, and M
observations of 10 variables. BOSS is causal-learn's with its linear BIC, NOTEARS-MLP gcastle's; CAM and HOST are those
of `paper_reproduction`. Seconds are CPU time of one thread after a first fit of five variables; a fit that needs more
than the limit is stopped and kept as a failure, and larger ones of its series are not begun. Rows in the file are not
run again. Prints all rows; ``--plot`` draws them.
"""

import argparse
import contextlib
import io
import logging
import time
import warnings
from pathlib import Path

import numpy as np
from harness import Results, cpu_limit

from icdh import HNMSearch, metrics, simulate
from icdh.exceptions import import_extra
from icdh.files import replace_on_success

COLOURS = {"HNMSearch": "#1f5fa8", "BOSS": "#5b8c2a", "CAM": "#c2571a", "HOST": "#8a4fa0", "NOTEARS-MLP": "#777777"}
SERIES = {"variables": "variables, M = 1000", "observations": "observations, N = 10"}


def search(X):
    return HNMSearch().fit(X).adjacency_matrix_


def boss(X):
    """Return the graph of BOSS; both entries of an edge without direction are set."""
    from causallearn.search.PermutationBased.BOSS import boss as best_order

    with contextlib.redirect_stdout(io.StringIO()):
        marks = best_order(X).graph
    return ((marks == -1) & (marks.T != 0)).astype(float)


def notears_mlp(X):
    import torch
    from castle.algorithms import NotearsNonlinear

    torch.set_num_threads(1)
    model = NotearsNonlinear(device_type="cpu")
    model.learn(X)
    return np.asarray(model.causal_matrix)


def reproduced(name):
    def fit(X):
        from paper_reproduction.methods import estimate

        return estimate(name, X, 0)

    return fit


METHODS = {
    "HNMSearch": search,
    "BOSS": boss,
    "CAM": reproduced("CAM"),
    "HOST": reproduced("HOST"),
    "NOTEARS-MLP": notears_mlp,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--variables", type=int, nargs="*", default=[5, 10, 20, 50])
    parser.add_argument("--observations", type=int, nargs="*", default=[300, 3000, 10_000])
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds of one fit")
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    results = Results(arguments.results, ("method", "variables", "observations"))
    sizes = [[(n, 1000) for n in arguments.variables], [(10, m) for m in arguments.observations]]
    for method in arguments.methods:
        for series in sizes:
            run(results, method, series, arguments.limit)
    for row in results.rows:
        print(
            f"{row['method']:<12} N={row['variables']:<4} M={row['observations']:<7} s {row['seconds']:8.2f}  ", end=""
        )
        print("stopped" if row["failure"] else f"SHD {row['shd']}")
    if arguments.plot:
        plot(results.rows, arguments.plot)


def run(results, method, series, limit):
    warm = False
    for variables, observations in series:
        key = {"method": method, "variables": variables, "observations": observations}
        if not results.has(**key):
            if not warm:
                METHODS[method](table(5, 100)[0])
                warm = True
            results.add({**key, **measure(METHODS[method], *table(variables, observations), limit)})
        if next(row for row in results.rows if all(row[name] == key[name] for name in key))["failure"]:
            return


def table(variables, observations):
    """Return a standardised table and its true graph."""
    graph = simulate.erdos_renyi(variables, 1, random_state=6000)
    data = simulate.simulate_sem(graph, observations, random_state=6000)
    return (data.X - data.X.mean(axis=0)) / data.X.std(axis=0), np.asarray(data.adjacency != 0, dtype=float)


def measure(fit, X, truth, limit):
    begin = time.process_time()
    try:
        with cpu_limit(limit):
            graph = fit(X)
    except TimeoutError:
        return {"seconds": time.process_time() - begin, "shd": None, "failure": "limit of CPU time"}
    seconds = time.process_time() - begin
    return {"seconds": seconds, "shd": int(metrics.evaluate(graph != 0, truth)["shd"]), "failure": None}


def plot(rows, path):
    """Draw seconds against both sizes; a hollow mark is a fit that was stopped."""
    import_extra("matplotlib", "plot").use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    for panel, (size, label) in zip(figure.subplots(1, 2, sharey=True), SERIES.items(), strict=True):
        fixed, value = ("observations", 1000) if size == "variables" else ("variables", 10)
        for method, colour in COLOURS.items():
            own = sorted(
                (row for row in rows if row["method"] == method and row[fixed] == value), key=lambda r: r[size]
            )
            panel.plot([row[size] for row in own], [row["seconds"] for row in own], color=colour, label=method)
            for row in own:
                face = "white" if row["failure"] else colour
                panel.scatter(row[size], row["seconds"], 20, facecolor=face, edgecolor=colour, zorder=2)
        panel.set(xscale="log", yscale="log", xlabel=label)
        panel.grid(axis="y", color="#dddddd", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
        ticks = sorted({row[size] for row in rows if row[fixed] == value})
        panel.set_xticks(ticks, [str(tick) for tick in ticks])
        panel.minorticks_off()
    figure.axes[0].set_ylabel("CPU seconds (hollow: stopped)")
    figure.axes[0].legend(frameon=False, fontsize="small")
    with replace_on_success(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], metadata={"Date": None})


if __name__ == "__main__":
    main()
