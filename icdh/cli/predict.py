"""``icdh predict``: predictions of a saved model for the rows of a table."""

import argparse

import numpy as np
from numpy.typing import NDArray

from icdh._model.structural import StructuralModel
from icdh._utils.arrays import Mask, Observations
from icdh.cli._input import complete_rows, do_of, give_table, loaded, read
from icdh.cli._options import ACTIONS, FORMAT, MODEL, OUTPUT_TABLE, TABLE, Command, cells, choice
from icdh.files import LabelledTable

QUESTIONS = {"mean": "predict", "std": "predict_scale", "residuals": "residuals"}


def run(args: argparse.Namespace) -> None:
    """Read, predict and write."""
    if args.what and (args.do or args.shift):
        raise ValueError("--what is about the rows as they are; leave it out with --do and --shift")
    model = loaded(args.model, args.data)
    do = do_of(args, model)
    rows, _ = read(args, model)
    if args.missing == "drop":
        rows = complete_rows(rows)
        if not len(rows.values):
            raise ValueError(f"--missing drop leaves no row of {args.data}; pass --missing keep, or fill the gaps")
    filled, names = _filled(model, rows), model.names
    if do:
        answer = model.counterfactual(filled, do)
        rests_on = [list(range(len(names)))] * len(names)  # with a gap, the noise of the row is not known
    else:
        answer = getattr(model, QUESTIONS[args.what or "mean"])(filled)
        itself = args.what == "residuals"
        rests_on = [[*family.inputs, *[n] * itself] for n, family in enumerate(model.conditionals)]
    give_table(args.output, _where_known(answer, rows.gaps, rests_on), names)


def _filled(model: StructuralModel, rows: LabelledTable) -> LabelledTable:
    """Return the table with a value that the model takes in every gap."""
    if not rows.gaps.any():
        return rows
    values = rows.values.astype(object)
    for n, usual in enumerate(model.scaling.offset):
        values[rows.gaps[:, n], n] = model.categories[n].labels[0] if n in model.categories else usual
    return LabelledTable(values, rows.columns)


def _where_known(answer: Observations, gaps: Mask, rests_on: list[list[int]]) -> NDArray[np.object_]:
    """Return answers, shape (M, N), empty where a cell in the columns that they rest on is missing."""
    shown: NDArray[np.object_] = np.array(answer, dtype=object)
    for n, columns in enumerate(rests_on):
        shown[gaps[:, columns].any(axis=1), n] = None
    return shown


COMMAND = Command(
    "means, spreads, residuals or counterfactuals of the rows of a table",
    "Predict by a saved model for the rows of a table: the mean of every variable given its causes, its standard "
    "deviation, or the standardised residuals; with --do or --shift, counterfactual rows, each with its own noise.",
    {
        "": {
            "model": MODEL,
            "data": TABLE,
            "--what": choice(QUESTIONS, "by default mean"),
            **ACTIONS,
            "-o --output": OUTPUT_TABLE,
            **FORMAT,
            **cells(("error", "drop", "keep")),
        }
    },
    run,
)
