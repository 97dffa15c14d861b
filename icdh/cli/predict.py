"""``icdh predict``: predictions of a saved model for the rows of a table."""

import argparse
from typing import Any

import numpy as np

from icdh.cli._files import check_files, check_model
from icdh.cli._help import HelpFormatter
from icdh.cli._model import MODEL_HELP, add_do_options, columns_of_labels, do_of, give_table
from icdh.cli._table import TABLE_HELP, add_cell_options, add_format_options, complete_rows, read
from icdh.files import LabelledTable

QUESTIONS = {"mean": "predict", "std": "predict_scale", "residuals": "residuals"}


def add_parser(subparsers: Any) -> None:
    """Describe the command's options."""
    parser = subparsers.add_parser(
        "predict",
        help="means, spreads, residuals or counterfactuals of the rows of a table",
        description="Predict by a saved model for the rows of a table: the mean of every variable given its "
        "causes, its standard deviation, or the standardised residuals; with --do or --shift, counterfactual "
        "rows, each with its own noise.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("model", help=MODEL_HELP)
    parser.add_argument("data", help=TABLE_HELP)
    parser.add_argument("--what", choices=QUESTIONS, help="by default mean")
    add_do_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="output file: .csv or .tsv; by default standard output")
    add_format_options(parser)
    add_cell_options(parser, missing=("error", "drop", "keep"))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read, predict and write."""
    from icdh._model.structural import load

    check_files({"the model": args.model, "the table": args.data}, {"--output": args.output})
    if args.what and (args.do or args.shift):
        raise ValueError("--what asks about the rows as they are; leave it out with --do and --shift")
    check_model(args.model, args.data)
    model = load(args.model)
    do = do_of(args, model)
    rows = read(args, [str(name) for name in model.names], categorical=columns_of_labels(model))
    if args.missing == "drop":
        rows = complete_rows(rows)
        _check_any(rows, args.data)
    answer = _counterfactual(model, rows, do) if do else _answer(model, rows, args.what or "mean")
    give_table(args.output, answer, model.names)
    return 0


def _check_any(rows, name):
    if not len(rows.values):
        raise ValueError(f"--missing drop leaves no row of {name}; say --missing keep, or fill the gaps")


def _answer(model, rows, what):
    """Return means, spreads or residuals, empty where one of the cells that they rest on is."""
    rests_on = [[*own.inputs, n] if what == "residuals" else own.inputs for n, own in enumerate(model.conditionals)]
    return _where_known(getattr(model, QUESTIONS[what])(_filled(model, rows)), rows.gaps, rests_on)


def _counterfactual(model, rows, do):
    """Return what the rows would have been; a row with a gap, whose noise is not known, is empty."""
    everything = range(len(model.names))
    return _where_known(model.counterfactual(_filled(model, rows), do), rows.gaps, [everything] * len(everything))


def _filled(model, rows):
    """Return the table with a value that the model takes in every gap."""
    if not rows.gaps.any():
        return rows
    values = rows.values.astype(object)
    for n, usual in enumerate(model.scaling.offset):
        values[rows.gaps[:, n], n] = model.categories[n].labels[0] if n in model.categories else usual
    return LabelledTable(values, rows.columns)


def _where_known(answer, gaps, rests_on):
    """Return answers, shape (M, N), empty where a cell in the columns that they rest on is missing."""
    answer = np.array(answer, dtype=object)
    for n, columns in enumerate(rests_on):
        answer[gaps[:, columns].any(axis=1), n] = None
    return answer
