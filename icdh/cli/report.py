"""``icdh report``: learn a graph from a table, or take a saved model, and write one HTML page about it."""

import argparse
import shlex
import sys
from functools import partial
from pathlib import Path

from icdh._model.structural import StructuralModel
from icdh._utils.clock import Clock
from icdh.cli import _options as options
from icdh.cli._input import STANDARD_INPUT, Input, check_files, loaded, read_input, succeeds, target_lines
from icdh.cli._learning import check_uncertainty, edge_list, ensemble_of, exit_code, learned
from icdh.cli._messages import BAD_INPUT, with_warnings
from icdh.cli._options import Command, Learned
from icdh.diagnostics.result import edge_records


def run(args: argparse.Namespace) -> int:
    """Learn or read the model, write the page and report its path."""
    from icdh.diagnostics.check import check
    from icdh.exceptions import import_extra

    for package in ("jinja2", "matplotlib"):
        import_extra(package, "report")
    check_uncertainty(args)
    args.output = args.output or _usual_output(args)
    check_files(args)
    notes: list[str] = []
    model: StructuralModel | Learned
    fitted = ensemble = failure = None
    if args.model:
        if args.bootstrap is not None or args.posterior:
            raise ValueError("--bootstrap and --posterior learn again; leave them or --model out")
        model = loaded(args.model, args.data)
        rows = read_input(args, model)
        _, notes = with_warnings(partial(_look_again, model, rows.complete()))
    else:
        rows = read_input(args)
        clock = Clock(getattr(args, "max_seconds", None))
        fitted, notes = with_warnings(partial(learned, args, rows))
        notes += target_lines(fitted)
        ensemble, failure = ensemble_of(args, fitted, rows, clock)
        model = fitted
    rows = rows.complete()
    complete = succeeds(
        model.report,
        args.output,
        rows.table,
        edge_probability=None if ensemble is None else ensemble.edge_probability,
        check=check(model, rows.table, **rows.relations),
        notes=[*notes, *getattr(args, "changes", ())],
        command=shlex.join(["icdh", *sys.argv[1:]]),
        title=args.title or (f"Causal graph of {name}" if (name := _source(args)) else ""),
    )
    if not complete:
        if fitted is not None:
            print(*edge_list(fitted, edge_records(fitted.model_)), sep="\n")
        return BAD_INPUT
    if not args.quiet:
        print(args.output)
    return 0 if fitted is None else exit_code(fitted, failure)


def _usual_output(args: argparse.Namespace) -> str:
    if not (name := _source(args)):
        raise ValueError("--output must name the page if the table comes from the standard input")
    return f"{name.partition('.')[0] or 'report'}.html"


def _source(args: argparse.Namespace) -> str:
    """Return the name of the table; empty of the standard input."""
    return args.dataset or ("" if args.data == STANDARD_INPUT else Path(args.data).name)


def _look_again(model: StructuralModel, rows: Input) -> None:
    """Warn of what a fit to these rows would have warned of."""
    from icdh._estimators.data_warnings import warn_about_fit
    from icdh._table.relations import with_relations

    table = with_relations(model.as_table(rows.table), rows.groups, rows.sequence)
    table.warn()
    warn_about_fit(model, table)


COMMAND = Command(
    "one HTML page of what was learned from a table, to hand on",
    "Learn a causal graph from a table and write one HTML page, without links to anything outside it: the table, the "
    "graph, the fitted curves, residual checks, effects, the assumptions and the evidence against them. Needs "
    "icdh[report].",
    {
        **options.LEARNING,
        "report": {
            "--model": options.read(f"{options.MODEL['help']}, to report in place of a new fit"),
            "-o --output": options.written("the page; by default named like the table", called="the page")
            | {"metavar": "FILE"},
            "--title": options.text("TEXT", "its title; by default named like the table"),
            "loudness": options.LOUDNESS,
        },
    },
    run,
    usual=(*options.USUAL_INPUT, *options.USUAL_KNOWLEDGE, "model", "output", "title"),
)
