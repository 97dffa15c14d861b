"""``icdh fit``: learn a graph from a table, print it, write it, draw it."""

import argparse
import os
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from icdh._estimators.hnm_search import HNMSearch
from icdh._estimators.icdh import ICDH
from icdh._ground.clock import Clock
from icdh._ground.labels import counted
from icdh._ground.parameters import constraints_of
from icdh._model.overview import weight_unit
from icdh._table.missing import MISSING
from icdh.cli._edges import comparison_line, directions_of, edge_lines, picture_of_records
from icdh.cli._experiments import (
    add_experiment_options,
    check_experiment_options,
    interventions_of,
    target_lines,
    targets_file,
)
from icdh.cli._files import STANDARD_INPUT, check_files, source, succeeds
from icdh.cli._help import HelpFormatter
from icdh.cli._knowledge import add_knowledge_options, knowledge_of, question_about_roots
from icdh.cli._messages import BAD_INPUT, SUCCESS, report
from icdh.cli._options import add_seed, option_of
from icdh.cli._progress import watched
from icdh.cli._table import (
    TABLE_HELP,
    add_column_options,
    add_format_options,
    add_relation_options,
    read_rows,
    relations_of,
)
from icdh.cli._uncertainty import (
    add_uncertainty_options,
    check,
    ensemble_of,
    exit_code,
    probability_lines,
    write_probabilities,
)
from icdh.files import graph_writer, read_graph, write_graph
from icdh.knowledge import Knowledge

DATASETS = ("sachs", "sachs-experiments")
USUAL_INPUT = ("dataset", "columns", "drop", "missing", "kinds", "method", "max_seconds", "forbid", "posterior")
USUAL_KNOWLEDGE = ("roots", "leaves", "tiers", "require")
FAINTEST = 0.02  # the lowest probability that an edge is drawn with
METHODS = {"search": HNMSearch, "icdh": ICDH}
CONSTRAINTS = constraints_of(ICDH) | constraints_of(HNMSearch)
WORDS = {  # of the options that are parameters of the estimators
    "hidden_units": "hidden units of every variable's network; auto for the search",
    "l1": "lasso penalty on the input weights",
    "l2": "ridge penalty on the weights",
    "noise": "model of the standard deviation of the noise",
    "bias": "whether hidden units and means get intercepts",
    "scaling": "scaling of the columns before the fit",
    "threshold": "edges of smaller weight are left out",
    "edge_cost": "nats that an edge costs in ICDH's last stage; none leaves it out",
    "max_rounds": "the most rounds of the two phases",
    "tol": "stop when a round lowers the negative log-likelihood by less, in nats",
    "schedule": "how closely the article's algorithms are followed",
    "h_tol": "the acyclicity at which the constraint counts as met",
    "n_restarts": "number of initial weights to fit from; the best fit is kept",
    "rho_max": "largest penalty weight of the augmented Lagrangian",
    "edge_penalty": "nats that an edge must be worth beyond its evidence, or auto",
    "binary_effect_penalty": "additional nats for an edge from a number to a column of two values or labels",
    "max_parents": "the most causes of a variable",
    "noise_distribution": "the density of the standardised noise",
    "column_transform": "a monotone transform of every column before the search",
    "search": "greedy, or exact for at most 22 variables",
    "prior_precision": "initial precision of the prior of the weights",
    "max_seconds": "stop after so many seconds with the best graph so far",
    "min_strength": "leave out edges of less strength, in nats",
    "max_edges": "keep at most the N strongest edges",
    "n_imputations": "number of imputations of the gaps, for --missing impute",
    "n_jobs": "number of workers, -1 for one per core",
}


def add_parser(subparsers: Any) -> None:
    """Describe the command's options."""
    parser = subparsers.add_parser(
        "fit",
        help="learn a causal graph from a table",
        description="Learn a causal graph from a table and print its edges, strongest first.",
        formatter_class=HelpFormatter,
    )
    add_input(parser)
    add_estimator_options(parser)
    add_knowledge_options(parser.add_argument_group("knowledge"))
    add_uncertainty_options(parser)
    _add_output(parser)
    parser.show_first("data", *USUAL_INPUT, *USUAL_KNOWLEDGE, "output", "save", "plot")
    parser.set_defaults(run=run)


def add_input(parser: argparse.ArgumentParser) -> None:
    """Describe the options of the input."""
    group = parser.add_argument_group("input")
    source = group.add_mutually_exclusive_group(required=True)
    source.add_argument("data", nargs="?", help=TABLE_HELP)
    source.add_argument("--dataset", choices=DATASETS, help="a data set of the package, in place of a file")
    add_format_options(group)
    add_column_options(group, missing=MISSING)
    add_relation_options(group)
    add_experiment_options(parser.add_argument_group("experiments"))


def add_estimator_options(parser: argparse.ArgumentParser) -> None:
    """Describe the parameters of the estimators."""
    group = parser.add_argument_group("estimator")
    group.add_argument(
        "--method",
        choices=METHODS,
        default="search",
        help="search (HNMSearch: by evidence, independent of units) or icdh (the procedure of the article)",
    )

    for name, help in WORDS.items():
        flags = ["--n-jobs", "--jobs"] if name == "n_jobs" else ["--" + name.replace("_", "-")]
        group.add_argument(
            *flags, default=argparse.SUPPRESS, help=help + _note_on_defaults(name), **option_of(CONSTRAINTS[name])
        )
    group.add_argument(
        "--kinds",
        nargs="+",
        action="extend",
        type=_kind,
        metavar="NAME=KIND",
        default=argparse.SUPPRESS,
        help="kinds of columns: continuous, gridded, ordinal, binary or categorical; guessed by default",
    )
    group.add_argument(
        "--forbidden-edges",
        metavar="FILE",
        default=argparse.SUPPRESS,
        help="graph of edges that must not appear, in a format of --truth",
    )
    add_seed(group, "seed of the initial weights")


def _kind(text):
    name, equals, kind = text.rpartition("=")
    if not (name and equals and kind):
        raise argparse.ArgumentTypeError(f"a kind is given as NAME=KIND; got {text!r}")
    return name, kind


def _note_on_defaults(name):
    """Return the methods that have a parameter, unless all have it, and its defaults."""
    defaults = {method: kind().get_params()[name] for method, kind in METHODS.items() if name in kind().get_params()}
    values = [f"{method}: {value}" for method, value in defaults.items() if value is not None]
    return f" ({', '.join(values)})" if values else ""


def _add_output(parser):
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o", "--output", metavar="FILE", help="write the graph: .csv matrix, .tsv edge list, .json, .dot"
    )
    group.add_argument("--save", metavar="FILE", help="write the fitted model, .icdh, for check, report, predict, ...")
    group.add_argument("--plot", metavar="FILE", help="draw the graph: .png, .svg, .pdf; needs icdh[plot]")
    group.add_argument(
        "--truth", metavar="FILE", help="compare with this graph: edge list cause,effect or adjacency matrix"
    )
    add_loudness_options(group)


def add_loudness_options(group: Any) -> None:
    """Describe the options --verbose and --quiet."""
    loudness = group.add_mutually_exclusive_group()
    loudness.add_argument(
        "--verbose", action="store_true", help="report every round, move or five seconds on the standard error stream"
    )
    loudness.add_argument("--quiet", action="store_true", help="print nothing but warnings and errors")


def run(args: argparse.Namespace) -> int:
    """Learn, write, draw and print the graph; after Ctrl-C the best one so far."""
    check(args)
    _check_files(args)
    table, truth, interventions = read_input(args)
    names = table.columns
    if args.truth:
        truth, _ = read_graph(source(args.truth), names)
    estimator = estimator_of(args, names)
    clock = Clock(estimator.max_seconds)
    model = learned(args, estimator, table, interventions)
    ensemble, failure = ensemble_of(args, model, table, interventions, clock)
    directions = directions_of(args, model, table, ensemble, clock)
    complete = _write(args, model, ensemble, directions)
    if args.save:
        probability = None if ensemble is None else ensemble.edge_probability
        told = replace(model.model_, direction_loss=directions.loss, hidden_loss=directions.hidden)
        complete &= succeeds(partial(told.save, edge_probability=probability), args.save)
    # After the files: whoever reads the output may have gone (icdh fit ... | head).
    if not args.quiet:
        if question := question_about_roots(model.adjacency_matrix_, names):
            report("note", question)
        print(*edge_lines(model, directions), *target_lines(model), sep="\n")
        if ensemble is not None:
            print("", *probability_lines(ensemble, model.adjacency_matrix_), sep="\n")
        if truth is not None:
            print(comparison_line(model.adjacency_matrix_, truth))
    return exit_code(model, failure) or (SUCCESS if complete else BAD_INPUT)


def _check_files(args):
    """Raise an error before the fit if an output cannot be written."""
    read = {"the table": args.data, "--truth": args.truth, "--forbidden-edges": getattr(args, "forbidden_edges", None)}
    read |= {"--knowledge": args.knowledge, "--targets": targets_file(args)}
    written = {"--output": args.output, "--save": args.save, "--plot": args.plot, "--probabilities": args.probabilities}
    check_files(read, {**written, "--checkpoint": args.checkpoint})
    if args.output:
        graph_writer(args.output)
    if args.plot:
        from icdh.plotting import check_plot_path

        check_plot_path(args.plot)


def read_input(args: argparse.Namespace, categorical: Collection[str] | None = None):
    """Return the labelled table, the true graph or None, and what was done to the rows or None.

    ``categorical`` names the categorical columns; by default the options do.
    """
    check_experiment_options(args)
    _check_relations(args)
    if args.dataset:
        from icdh.datasets import load_sachs

        sachs = load_sachs(experiments=args.dataset == "sachs-experiments")
        return sachs.table, sachs.adjacency, sachs.interventions
    rows = read_rows(args, _columns_of_labels(args) if categorical is None else categorical)
    args.group_labels = rows.groups
    return rows.table, None, interventions_of(args, rows.conditions)


def _check_relations(args):
    """Raise ValueError if the options about dependent rows do not go together with the others."""
    if args.group_column is not None and args.dataset:
        raise ValueError("--group-column is about a file; the rows of a data set of the package have no groups")
    if (args.group_column is not None or args.sequence) and args.method != "search":
        raise ValueError("--group-column and --sequence need the evidence that --method search weighs; leave them out")


def _columns_of_labels(args):
    """Return the columns declared categorical; None if the method takes no labels."""
    if args.method != "search":
        return None
    return [name for name, kind in getattr(args, "kinds", ()) if kind == "categorical"]


def _write(args, model, ensemble, directions):
    """Write graph and picture, and return whether all went well; a graph that cannot be written is printed.

    If there are probabilities, they are the widths of the lines in the picture.
    """
    dag, names, complete = model.adjacency_matrix_, model.model_.names, True
    if args.output and not succeeds(write_graph, args.output, dag, names):
        complete = False
        print(graph_writer(args.output)(dag, names), end="")
    if args.plot:
        from icdh.plotting import save_plot

        drawn = dag if ensemble is None else (dag != 0) * np.maximum(ensemble.edge_probability, FAINTEST)
        words = _words_of_picture(model, args, ensemble, directions)
        complete &= succeeds(partial(save_plot, args.plot, drawn, names, **words))
    if args.probabilities and ensemble is not None:
        complete &= succeeds(write_probabilities, args.probabilities, ensemble)
    return complete


def _words_of_picture(model, args, ensemble, directions):
    """Return title and legend of the picture of a fit."""
    table = args.dataset or ("standard input" if args.data == STANDARD_INPUT else os.path.basename(args.data))
    unit = "probability" if ensemble is not None else weight_unit(model.model_)
    return {
        "title": f"{table}: {counted(model.model_.about['n_observations'], 'row')}, {type(model).__name__}",
        "unit": unit,
        "doubtful": directions.marked,
        "doubt": directions.meaning,
        "hidden": directions.may_be_hidden,
        **picture_of_records(directions.records),
    }


def estimator_of(args: argparse.Namespace, names: list):
    """Return the estimator that the options describe, for a table of these names."""
    known = {method: kind().get_params() for method, kind in METHODS.items()}
    given = {name: value for name, value in vars(args).items() if any(name in params for params in known.values())}
    for name in given:
        if name not in known[args.method]:
            (other,) = (method for method, params in known.items() if name in params)
            option = "--" + name.replace("_", "-")
            raise ValueError(f"{option} is no option of --method {args.method}; leave it out, or say --method {other}")
    if "forbidden_edges" in given:
        given["forbidden_edges"] = read_graph(source(args.forbidden_edges), names)[0] != 0
    if "kinds" in given:
        given["kinds"] = dict(given["kinds"])
    knowledge = knowledge_of(args)
    given["knowledge"] = None if knowledge == Knowledge() else knowledge
    return METHODS[args.method](**given, random_state=args.seed)


def learned(args: argparse.Namespace, estimator: Any, table: Any, interventions: Any):
    """Fit the estimator with a progress bar or lines, and return it."""
    what = "moves" if isinstance(estimator, HNMSearch) else "steps"
    with watched(args, what) as callback:
        estimator.set_params(callback=callback).fit(table, interventions=interventions, **relations_of(args))
    return estimator.set_params(callback=None)
