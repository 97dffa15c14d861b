"""``icdh simulate``: draw a table from a random graph, and write both."""

import argparse

from numpy.typing import NDArray

from icdh.cli._input import source
from icdh.cli._options import Command, Either, choice, flag, number, read, written
from icdh.files import graph_writer, read_graph, write_graph, write_table
from icdh.files.graphs import NAMES_OF_FORMATS
from icdh.simulate import GRAPHS, SimulatedData, simulate_sem
from icdh.simulate.mechanisms import DISTRIBUTIONS, MECHANISMS, NOISES


def run(args: argparse.Namespace) -> None:
    """Draw, write and describe."""
    import numpy as np

    rng = np.random.default_rng(args.seed)
    graph: NDArray[np.float64 | np.int64]
    if args.adjacency:
        graph, names = read_graph(source(args.adjacency))
    else:
        graph, names = GRAPHS[args.graph](args.variables, args.edges_per_variable, rng), None
    options = ("mechanism", "noise", "distribution", "spread", "center", "standardize")
    how = {name: getattr(args, name) for name in options}
    data = simulate_sem(graph, args.observations, **how, random_state=rng)
    write_table(args.data, data.X, names or data.names)
    write_graph(args.truth, data.adjacency, names or data.names)
    if not args.quiet:
        print(*_description(data), sep="\n")


def _description(data: SimulatedData) -> list[str]:
    lines = [f"{data.X.shape[0]} observations of {data.X.shape[1]} variables, {data.adjacency.sum()} edges"]
    report = data.report()
    if report.smallest_std is not None:
        lines += [
            f"true standard deviations from {report.smallest_std:.3g} to {report.largest_std:.3g}, "
            f"within one variable by a factor of up to {report.largest_ratio:.3g}",
            f"varsortability {report.varsortability:.3f}, R2-sortability {report.r2_sortability:.3f} "
            "(0.5: the statistic says nothing about the causal order)",
        ]
    return lines


COMMAND = Command(
    "draw a table from a random graph",
    "Draw a random graph and observations from it, and write both. See icdh.simulate.simulate_sem.",
    {
        "": {
            "data": written("file to write the observations to: .csv or .tsv", called="the table"),
            "truth": written(f"file to write the true graph to: {NAMES_OF_FORMATS}", graph_writer, called="the graph"),
            "--seed": number(0, "random seed", integer=True),
            "--quiet": flag("print no description"),
        },
        "graph": {
            "kind": Either(
                {
                    "--graph": choice(GRAPHS, "kind of random graph", "erdos-renyi"),
                    "--adjacency": read("a graph to use in place of a random one"),
                }
            ),
            "--variables": number(10, "number of variables", low=1, integer=True),
            "--edges-per-variable": number(1, "edges per variable", metavar="K"),
        },
        "observations": {
            "--observations": number(1000, "number of rows", low=1, integer=True, metavar="M"),
            "--mechanism": choice(MECHANISMS, "functions of the means", "mlp"),
            "--noise": choice(NOISES, "model of the standard deviations", "softplus-shared"),
            "--distribution": choice(DISTRIBUTIONS, "distribution of the noise", "gaussian"),
            "--spread": number(10.0, "largest over smallest bounded spread", low=1),
            "--center": flag("give every column mean zero"),
            "--standardize": flag("also give it standard deviation one"),
        },
    },
    run,
)
