"""``icdh predict``: what a saved model says of the rows of a table."""

import argparse
from typing import Any

from icdh.cli._files import check_files
from icdh.cli._help import HelpFormatter
from icdh.cli._model import MODEL_HELP, add_do_options, columns_of_labels, do_of, give_table
from icdh.cli._table import TABLE_HELP, add_format_options, read

QUESTIONS = {"mean": "predict", "std": "predict_scale", "residuals": "residuals"}


def add_parser(subparsers: Any) -> None:
    """Describe the command's options."""
    parser = subparsers.add_parser(
        "predict",
        help="means, spreads, residuals or counterfactuals of the rows of a table",
        description="Say what a saved model predicts for the rows of a table: the mean of every variable given its "
        "causes, its standard deviation, or the standardised residuals; with --do or --shift, what the rows would "
        "have been, each with its own noise.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("model", help=MODEL_HELP)
    parser.add_argument("data", help=TABLE_HELP)
    parser.add_argument("--what", choices=QUESTIONS, help="by default mean")
    add_do_options(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where to write: .csv or .tsv; by default standard output"
    )
    add_format_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read, ask and write."""
    import numpy as np

    from icdh.model.structural import load

    check_files({"the model": args.model, "the table": args.data}, {"--output": args.output})
    if args.what and (args.do or args.shift):
        raise ValueError("--what asks about the rows as they are; leave it out with --do and --shift")
    model = load(args.model)
    do = do_of(args, model)
    rows = read(args, [str(name) for name in model.names], categorical=columns_of_labels(model))
    answer = model.counterfactual(rows, do) if do else getattr(model, QUESTIONS[args.what or "mean"])(rows)
    give_table(args.output, np.asarray(answer), model.names)
    return 0
