"""``icdh sample``: draw rows from a saved model, as they are or under an intervention."""

import argparse
from typing import Any

from icdh.cli._files import check_files, check_model
from icdh.cli._help import HelpFormatter
from icdh.cli._model import MODEL_HELP, add_do_options, do_of, give_table
from icdh.cli._options import add_number, add_seed


def add_parser(subparsers: Any) -> None:
    """Describe the command's options."""
    parser = subparsers.add_parser(
        "sample",
        help="draw rows from a saved model, also under interventions",
        description="Draw rows from a saved model, as they are or with variables set from outside, as a table.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("model", help=MODEL_HELP)
    add_number(parser, "-n", "--rows", default=1000, integer=True, low=1, metavar="M", help="number of rows")
    add_do_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="output file: .csv or .tsv; by default standard output")
    add_seed(parser, "random seed of the noise")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read, draw and write."""
    import numpy as np

    from icdh._model.structural import load

    check_files({"the model": args.model}, {"--output": args.output})
    check_model(args.model)
    model = load(args.model)
    do = do_of(args, model)
    give_table(args.output, np.asarray(model.sample(args.rows, args.seed, do=do)), model.names)
    return 0
