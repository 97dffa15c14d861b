"""``icdh report``: learn a graph from a table, or take a saved model, and write one HTML page about it."""

import argparse
import shlex
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

from icdh._ground.clock import Clock
from icdh.cli._edges import directions_of, edge_lines
from icdh.cli._experiments import complete, target_lines, targets_file
from icdh.cli._files import STANDARD_INPUT, check_files, check_model, succeeds
from icdh.cli._help import HelpFormatter
from icdh.cli._knowledge import add_knowledge_options
from icdh.cli._messages import BAD_INPUT, SUCCESS
from icdh.cli._model import MODEL_HELP, columns_of_labels
from icdh.cli._uncertainty import add_uncertainty_options, check, ensemble_of, exit_code
from icdh.cli.fit import (
    USUAL_INPUT,
    USUAL_KNOWLEDGE,
    add_estimator_options,
    add_input,
    add_loudness_options,
    estimator_of,
    learned,
    read_input,
)


def add_parser(subparsers: Any) -> None:
    """Describe the command's options."""
    parser = subparsers.add_parser(
        "report",
        help="one HTML page of what was learned from a table, to hand on",
        description="Learn a causal graph from a table and write one HTML page, without links to anything outside it: "
        "the table, the graph, the fitted curves, residual checks, effects, the assumptions and the evidence against "
        "them. Needs icdh[report].",
        formatter_class=HelpFormatter,
    )
    add_input(parser)
    add_estimator_options(parser)
    add_knowledge_options(parser.add_argument_group("knowledge"))
    add_uncertainty_options(parser)
    group = parser.add_argument_group("report")
    group.add_argument("--model", metavar="FILE", help=MODEL_HELP + ", to report in place of a new fit")
    group.add_argument("-o", "--output", metavar="FILE", help="the page; by default named like the table")
    group.add_argument("--title", default="", metavar="TEXT", help="its title")
    add_loudness_options(group)
    parser.show_first("data", *USUAL_INPUT, *USUAL_KNOWLEDGE, "model", "output", "title")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Learn or read the model, write the page and say where it is."""
    from icdh.diagnostics.check import check as check_model
    from icdh.exceptions import import_extra

    import_extra("jinja2", "report")
    check(args)
    output = args.output or _usual_output(args)
    inputs = {"the table": args.data, "--model": args.model, "--knowledge": args.knowledge}
    inputs["--targets"] = targets_file(args)
    check_files(inputs, {"the page": output, "--checkpoint": args.checkpoint})
    if args.model:
        model, notes = _loaded(args)
        args.columns = [str(name) for name in model.names]
        table, _, interventions = read_input(args, columns_of_labels(model))
        ensemble = failure = directions = None
    else:
        table, _, interventions = read_input(args)
        clock = Clock(getattr(args, "max_seconds", None))
        model, notes = _learned(args, table, interventions)
        ensemble, failure = ensemble_of(args, model, table, interventions, clock)
        directions = directions_of(args, model, table, ensemble, clock)
    rows, interventions = complete(table, interventions)
    write = partial(
        model.report,
        output,
        rows,
        edge_probability=None if ensemble is None else ensemble.edge_probability,
        check=check_model(model, rows, interventions=interventions),
        notes=notes,
        command=shlex.join(["icdh", *sys.argv[1:]]),
        title=args.title,
        doubtful=None if directions is None else directions.marked,
        doubt="" if directions is None else directions.meaning,
    )
    if not succeeds(write):
        if not args.model:
            print(*edge_lines(model, directions), sep="\n")
        return BAD_INPUT
    if not args.quiet:
        print(output)
    return SUCCESS if args.model else exit_code(model, failure)


def _usual_output(args):
    if args.data == STANDARD_INPUT:
        raise ValueError("--output must name the page if the table comes from the standard input")
    name = args.dataset or Path(args.data).name
    return f"{name.partition('.')[0] or 'report'}.html"


def _loaded(args):
    from icdh._model.structural import load

    if args.bootstrap is not None or args.posterior:
        raise ValueError("--bootstrap and --posterior learn again; leave them or --model out")
    check_model(args.model, args.data)
    return load(args.model), []


def _learned(args, table, interventions):
    """Return the fitted estimator and its warnings, which are also shown at once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = learned(args, estimator_of(args, table.columns), table, interventions)
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return model, [*(str(warning.message) for warning in caught), *target_lines(model)]
