"""``icdh predict``: predictions of a saved model for the rows of a table."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icdh._model.structural import StructuralModel
from icdh._utils.arrays import Mask, Observations
from icdh.cli import _options as options
from icdh.cli._input import do_of, give_table, loaded, read_input
from icdh.files import LabelledTable

QUESTIONS = {"mean": "predict", "std": "predict_scale", "residuals": "residuals"}


def _filled(model: StructuralModel, rows: LabelledTable) -> LabelledTable:
    """Return the table with a value that the model takes in every gap."""
    if not rows.gaps.any():
        return rows
    values = rows.values.astype(object)
    for n, usual in enumerate(model.columns.scaling.offset):
        values[rows.gaps[:, n], n] = model.columns.categories[n].labels[0] if n in model.columns.categories else usual
    return LabelledTable(values, rows.columns)


def _where_known(answer: Observations, gaps: Mask, rests_on: list[list[int]]) -> NDArray[np.object_]:
    """Return answers, shape (M, N), empty where a cell in the columns that they rest on is missing."""
    shown: NDArray[np.object_] = np.array(answer, dtype=object)
    for n, columns in enumerate(rests_on):
        shown[gaps[:, columns].any(axis=1), n] = None
    return shown


@dataclass(frozen=True, kw_only=True)
class Predict(options.Actions, options.Format, options.Command):
    """The command."""

    summary = "means, spreads, residuals or counterfactuals of the rows of a table"
    description = (
        "Predict by a saved model for the rows of a table: the mean of every variable given its causes, its standard "
        "deviation, or the standardised residuals; with --do or --shift, counterfactual rows, each with its own noise."
    )
    model: str = options.read(options.MODEL, "the model")
    data: str = options.read(options.TABLE, "the table")
    what: str | None = options.choice(QUESTIONS, "by default mean")
    output: str | None = options.written(options.OUTPUT_TABLE, flags="-o --output")
    missing: str = options.about_gaps(("error", "drop", "keep"))

    def run(self) -> None:
        """Read, predict and write."""
        if self.what and (self.do or self.shift):
            raise ValueError("--what is about the rows as they are; leave it out with --do and --shift")
        model = loaded(self.model, self.data)
        do = do_of(self, model)
        given = read_input(self, model)
        rows = (given.complete() if self.missing == "drop" else given).table
        if self.missing == "drop" and not len(rows.values):
            raise ValueError(f"--missing drop leaves no row of {self.data}; pass --missing keep, or fill the gaps")
        filled, names = _filled(model, rows), model.names
        if do:
            answer = model.counterfactual(filled, do)
            rests_on = [list(range(len(names)))] * len(names)  # with a gap, the noise of the row is not known
        else:
            answer = getattr(model, QUESTIONS[self.what or "mean"])(filled)
            itself = self.what == "residuals"
            rests_on = [[*family.inputs, *[n] * itself] for n, family in enumerate(model.conditionals)]
        give_table(self.output, _where_known(answer, rows.gaps, rests_on), names)
