"""``icdh fit``: learn a graph from a table, print it, write it, draw it."""

import argparse

from icdh.cli._help import HelpFormatter
from icdh.estimator import ICDH, NOISE, SCALING
from icdh.files import LabelledTable, check_writable, graph_writer, read_graph, read_table, write_graph

DATASETS = ("sachs",)


def add_parser(subparsers) -> None:
    """Describe the command's options."""
    parser = subparsers.add_parser(
        "fit",
        help="learn a causal graph from a table",
        description="Learn a causal graph from a table of numbers and print its edges, strongest first.",
        formatter_class=HelpFormatter,
    )
    _add_input(parser)
    _add_estimator_options(parser)
    _add_output(parser)
    parser.set_defaults(run=run)


def _add_input(parser):
    group = parser.add_argument_group("input")
    source = group.add_mutually_exclusive_group(required=True)
    source.add_argument("data", nargs="?", help="CSV or TSV file: observations in rows, variables in columns")
    source.add_argument("--dataset", choices=DATASETS, help="a data set of the package, in place of a file")
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether the first line holds names; by default if it is not all numbers",
    )
    group.add_argument("--delimiter", help="by default comma, tab or semicolon, whichever is most frequent")


def _add_estimator_options(parser):
    group = parser.add_argument_group("estimator")
    default = ICDH().get_params()

    def add(name, **details):
        group.add_argument("--" + name.replace("_", "-"), default=default[name], **details)

    add("hidden_units", type=int, metavar="N", help="hidden units of every variable's network")
    add("l1", type=float, metavar="X", help="lasso penalty on the input weights")
    add("l2", type=float, metavar="X", help="ridge penalty on the weights of the means")
    add("noise", choices=NOISE, help="what the standard deviation of the noise is")
    add("bias", action=argparse.BooleanOptionalAction, help="whether hidden units and means get intercepts")
    add("scaling", choices=SCALING, help="what is done to the columns first")
    add("threshold", type=float, metavar="X", help="edges of smaller weight are left out")
    add("max_rounds", type=int, metavar="N", help="the most rounds of the two phases")
    add("tol", type=float, metavar="X", help="stop when a round lowers the negative log-likelihood by less, in nats")
    add("h_tol", type=float, metavar="X", help="the acyclicity at which the constraint counts as met")
    add("rho_max", type=float, metavar="X", help="the penalty weight at which the augmented Lagrangian gives up")
    add("forbidden_edges", metavar="FILE", help="graph of edges that must not appear, in a format of --truth")
    group.add_argument("--seed", type=int, default=0, metavar="N", help="draws the initial weights")


def _add_output(parser):
    group = parser.add_argument_group("output")
    group.add_argument("--output", metavar="FILE", help="write the graph: .csv matrix, .tsv edge list, .json, .dot")
    group.add_argument("--plot", metavar="FILE", help="draw the graph: .png, .svg, .pdf; needs icdh[plot]")
    group.add_argument(
        "--truth", metavar="FILE", help="compare with this graph: edge list cause,effect or adjacency matrix"
    )
    loudness = group.add_mutually_exclusive_group()
    loudness.add_argument("--verbose", action="store_true", help="report every round on the standard error stream")
    loudness.add_argument("--quiet", action="store_true", help="print nothing but warnings and errors")


def run(args: argparse.Namespace) -> int:
    """Learn, print, write and draw the graph."""
    table, truth = _read(args)
    names = table.columns
    if args.truth:
        truth, _ = read_graph(args.truth, names)
    model = _estimator(args, names)
    _check_outputs(args)
    model.fit(table)
    if not args.quiet:
        print(_summary(model, len(table.values)))
        if truth is not None:
            print(_comparison(model.adjacency_matrix_, truth))
    if args.output:
        write_graph(args.output, model.adjacency_matrix_, names)
    if args.plot:
        from icdh.plotting import save_plot

        save_plot(args.plot, model.adjacency_matrix_, names)
    return 0


def _read(args):
    """Return the labelled table, and the true graph or None."""
    if args.dataset:
        from icdh.datasets import load_sachs

        sachs = load_sachs()
        return LabelledTable(sachs.data, sachs.feature_names), sachs.adjacency
    values, columns = read_table(args.data, header=args.header, delimiter=args.delimiter)
    return LabelledTable(values, columns or [f"x{i}" for i in range(values.shape[1])]), None


def _estimator(args, names):
    params = {name: getattr(args, name) for name in ICDH().get_params() if hasattr(args, name)}
    params["random_state"] = args.seed
    if args.forbidden_edges:
        params["forbidden_edges"] = read_graph(args.forbidden_edges, names)[0] != 0
    return ICDH(**params)


def _check_outputs(args):
    """Complain about what cannot be written before the fit, not after it."""
    if args.output:
        graph_writer(args.output)
        check_writable(args.output)
    if args.plot:
        from icdh.plotting import check_plot_path

        check_plot_path(args.plot)


def _summary(model, observations):
    edges = model.edge_list()
    width = max((len(name) for edge in edges for name in edge[:2]), default=0)
    state = "converged" if model.converged_ else "not converged"
    head = (
        f"{observations} observations of {model.n_features_in_} variables: {len(edges)} edges, "
        f"negative log-likelihood {model.nll_:.4f} nats, {len(model.history_)} rounds, {state}"
    )
    return "\n".join([head, *(f"{edge.cause:>{width}} -> {edge.effect:<{width}}  {edge.weight:.3f}" for edge in edges)])


def _comparison(estimate, truth):
    """Return one line about the estimated graph, given the true one; a reversed edge counts as one error."""
    found, true = estimate != 0, truth != 0
    right = (found & true).sum()
    reversed_edges = (found & true.T & ~true).sum()
    extra, missing = (found & ~true).sum() - reversed_edges, (true & ~found).sum() - reversed_edges
    return (
        f"against the true graph: SHD {extra + missing + reversed_edges} ({extra} extra, {missing} missing, "
        f"{reversed_edges} reversed), precision {right / max(found.sum(), 1):.3f}, "
        f"recall {right / max(true.sum(), 1):.3f}"
    )
