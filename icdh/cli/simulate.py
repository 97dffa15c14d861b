"""``icdh simulate``: draw a table from a random graph, and write both."""

import argparse
from typing import Any

from icdh.cli._files import check_files, source
from icdh.cli._help import HelpFormatter
from icdh.cli._options import add_number, add_seed
from icdh.files import graph_writer, read_graph, write_graph, write_table
from icdh.simulate import GRAPHS, simulate_sem
from icdh.simulate.mechanisms import MECHANISMS
from icdh.simulate.noise import DISTRIBUTIONS, NOISES


def add_parser(subparsers: Any) -> None:
    """Describe the command's options."""
    parser = subparsers.add_parser(
        "simulate",
        help="draw a table from a random graph",
        description="Draw a random graph and observations from it, and write both. See icdh.simulate.simulate_sem.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("data", help="file to write the observations to: .csv or .tsv")
    parser.add_argument("truth", help="file to write the true graph to: .csv matrix, .tsv edge list, .json, .dot")
    _add_graph(parser)
    _add_model(parser)
    add_seed(parser, "random seed")
    parser.add_argument("--quiet", action="store_true", help="print no description")
    parser.set_defaults(run=run)


def _add_graph(parser):
    group = parser.add_argument_group("graph")
    source = group.add_mutually_exclusive_group()
    source.add_argument("--graph", choices=GRAPHS, default="erdos-renyi", help="kind of random graph")
    source.add_argument("--adjacency", metavar="FILE", help="a graph to use in place of a random one")
    add_number(group, "--variables", default=10, integer=True, low=1, help="number of variables")
    add_number(group, "--edges-per-variable", default=1, metavar="K", help="edges per variable")


def _add_model(parser):
    group = parser.add_argument_group("observations")
    add_number(group, "--observations", default=1000, integer=True, low=1, metavar="M", help="number of rows")
    group.add_argument("--mechanism", choices=MECHANISMS, default="mlp", help="functions of the means")
    group.add_argument("--noise", choices=NOISES, default="softplus-shared", help="model of the standard deviations")
    group.add_argument("--distribution", choices=DISTRIBUTIONS, default="gaussian", help="distribution of the noise")
    add_number(group, "--spread", default=10.0, low=1, help="largest over smallest bounded spread")
    group.add_argument("--center", action="store_true", help="give every column mean zero")
    group.add_argument("--standardize", action="store_true", help="also give it standard deviation one")


def run(args: argparse.Namespace) -> int:
    """Draw, write and describe."""
    import numpy as np

    graph_writer(args.truth)
    check_files({"--adjacency": args.adjacency}, {"the table": args.data, "the graph": args.truth})
    rng = np.random.default_rng(args.seed)
    graph, names = _graph(args, rng)
    data = simulate_sem(
        graph,
        args.observations,
        mechanism=args.mechanism,
        noise=args.noise,
        distribution=args.distribution,
        spread=args.spread,
        center=args.center,
        standardize=args.standardize,
        random_state=rng,
    )
    names = names or data.names
    write_table(args.data, data.X, names)
    write_graph(args.truth, data.adjacency, names)
    if not args.quiet:
        print(_description(data))
    return 0


def _graph(args, rng):
    """Return the graph, and its names or None."""
    if args.adjacency:
        return read_graph(source(args.adjacency))
    return GRAPHS[args.graph](args.variables, args.edges_per_variable, rng), None


def _description(data):
    lines = [f"{data.X.shape[0]} observations of {data.X.shape[1]} variables, {data.adjacency.sum()} edges"]
    report = data.report()
    if report.smallest_std is not None:
        lines += [
            f"true standard deviations from {report.smallest_std:.3g} to {report.largest_std:.3g}, "
            f"within one variable by a factor of up to {report.largest_ratio:.3g}",
            f"varsortability {report.varsortability:.3f}, R2-sortability {report.r2_sortability:.3f} "
            "(0.5: the statistic says nothing about the causal order)",
        ]
    return "\n".join(lines)
