"""``icdh predict``, ``sample``, ``check`` and ``report``: what a saved model says, and whether a table denies it."""

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from icdh._model.structural import StructuralModel
from icdh._utils.labels import printable, variable_index
from icdh.cli import _options as options
from icdh.cli._input import Input, check_files, do_of, give_table, loaded, read_input, succeeds, with_files
from icdh.cli._messages import BAD_INPUT, with_warnings
from icdh.exceptions import import_extra
from icdh.files import LabelledTable, write_text
from icdh.knowledge import Knowledge

if TYPE_CHECKING:
    from icdh.uncertainty.ensemble import GraphEnsemble

QUESTIONS = {"mean": "predict", "std": "predict_scale", "residuals": "residuals"}
NOT_CHECKED = "rows have weights: residuals were not checked, and the table of columns counts every row once"


@dataclass(frozen=True, kw_only=True)
class Predict(options.Actions, options.Format, options.Command):
    """The command."""

    summary = "means, spreads, residuals or counterfactuals of the rows of a table"
    description = (
        "Predict by a saved model for the rows of a table: the mean of every variable given its causes, its standard "
        "deviation, or the standardised residuals; or the probability of each label of one variable. The table may "
        "lack columns: a variable needs its causes alone. With --do or --shift, counterfactual rows, each with its own "
        "noise."
    )
    model: str = options.read(options.MODEL, "the model")
    data: str = options.read(options.TABLE, "the table")
    what: str | None = options.choice(QUESTIONS, "by default mean; of labels the likeliest, and the chance of others")
    probabilities: str | None = options.text("NAME", "the probability of each label, or level, of this variable")
    output: str | None = options.written(options.OUTPUT_TABLE, flags="-o --output")
    missing: str = options.about_gaps(("error", "drop", "keep"))

    def run(self) -> None:
        """Read, predict and write."""
        questions = [f"--{name}" for name in ("what", "probabilities") if getattr(self, name)]
        if len(questions) > 1 or (questions and (self.do or self.shift)):
            others = "--probabilities" if len(questions) > 1 else "--do and --shift"
            raise ValueError(f"{questions[0]} is about the rows as they are; leave it out with {others}")
        model = loaded(self.model, self.data)
        do = do_of(self, model)
        given = read_input(self, model, partly=not do)
        rows = (given.complete() if self.missing == "drop" else given).table
        if self.missing == "drop" and not len(rows.values):
            raise ValueError(f"--missing drop leaves no row of {self.data}; pass --missing keep, or fill the gaps")
        names = model.names
        model.columns.warn_of_extrapolation(model.columns.as_table(rows, gaps=True))
        if do:
            known = ~rows.gaps.any(axis=1)  # with a gap, the noise of the row is not known
            answer = np.empty_like(rows.values, dtype=object)
            if known.any():
                answer[known] = model.counterfactual(LabelledTable(rows.values[known], rows.columns), do)
        elif self.probabilities is not None:
            node = variable_index(self.probabilities, names, "probabilities")
            answer = np.asarray(model.probabilities(node, rows))
            labels = model.columns.labels_of(node, answer.shape[1])
            names = [f"{names[node]}={printable(label)}" for label in labels]
        else:
            answer = getattr(model, QUESTIONS[self.what or "mean"])(rows)
        cells = np.array(answer, dtype=object)
        cells[LabelledTable(cells, None).gaps] = None
        give_table(self.output, cells, names)


@dataclass(frozen=True, kw_only=True)
class Sample(options.Actions, options.Command):
    """The command."""

    summary = "draw rows from a saved model, also under interventions"
    description = "Draw rows from a saved model, as they are or with variables set from outside, as a table."
    model: str = options.read(options.MODEL, "the model")
    rows: int = options.whole(1000, "number of rows", 1, flags="-n --rows", metavar="M")
    output: str | None = options.written(options.OUTPUT_TABLE, flags="-o --output")
    seed: int = options.whole(0, "random seed of the noise")

    def run(self) -> None:
        """Read, draw and write."""
        model = loaded(self.model)
        give_table(self.output, model.sample(self.rows, self.seed, do=do_of(self, model)), model.names)


def _check_questions(path: str) -> None:
    if not path.lower().endswith(".toml"):
        raise ValueError(f"--questions writes TOML; {path} must end in .toml")


@dataclass(frozen=True, kw_only=True)
class Check(options.Format, options.Relations, options.Experiments, options.Command):
    """The command."""

    summary = "whether a saved model fits a table, and which of its arrows can be trusted"
    description = (
        "Test whether the residual of every variable is independent of its causes, of the mean that they predict, and "
        "of all else that it does not cause. List the arrows, those to settle by knowledge first. No graph is changed."
    )
    model: str = options.read(options.MODEL, "the model")
    data: str = options.read(options.TABLE, "the table")
    questions: str | None = options.written("write the arrows most in doubt, to fill in: .toml", _check_questions)
    n_questions: int = options.whole(5, "number of arrows in that file", 1)
    knowledge: Sequence[str] = options.repeated(
        "FILE", "file of background knowledge; arrows that it decides are not tested", type=options.File("")
    )
    json: bool = options.flag("print JSON")
    seed: int = options.whole(0, "random seed of rows and initial weights")
    missing: str = options.about_gaps(("error", "drop"))

    def run(self) -> int:
        """Read, check, write the questions and print what was found."""
        from icdh.diagnostics.check import check

        model = loaded(self.model, self.data)
        knowledge = with_files(Knowledge(), self.knowledge)
        rows = read_input(self, model).complete()
        result = check(model, rows.table, **rows.relations, knowledge=knowledge, random_state=self.seed)
        done = succeeds(write_text, self.questions, result.questions(self.n_questions))
        print(json.dumps(result.to_dict(), indent=2) if self.json else result.summary())
        return 0 if done else BAD_INPUT


def check_page_path(path: str) -> None:
    """Raise MissingExtraError if a page cannot be made."""
    for package in ("jinja2", "matplotlib"):
        import_extra(package, "report")


def write_page(
    path: str,
    command: options.Command,
    model: StructuralModel,
    rows: Input,
    notes: Sequence[str] = (),
    ensemble: "GraphEnsemble | None" = None,
) -> None:
    """Write the page of a model, checked on the rows without gaps."""
    from icdh.diagnostics.check import check

    complete, unchecked = rows.complete(), [NOT_CHECKED] if model.about.get("weights") else []
    model.report(
        path,
        complete.table,
        ensemble=ensemble,
        check=None if unchecked else check(model, complete.table, **complete.relations),
        notes=[*notes, *unchecked, *rows.changes],
        command=shlex.join(["icdh", *sys.argv[1:]]),
        title=f"Causal graph of {name}" if (name := command.table_name) else "",
    )


def _warn_again(model: StructuralModel, rows: Input) -> None:
    """Warn of what a fit to these rows would have warned of."""
    from icdh._estimators.data_warnings import DataDoubts, warn_about_density
    from icdh._table.rows import with_relations

    table = with_relations(model.columns.as_table(rows.table), rows.groups, rows.sequence)
    table.warn()
    DataDoubts(model, table).warn()
    warn_about_density(model.adjacency)


@dataclass(frozen=True, kw_only=True)
class Report(options.Format, options.Relations, options.Experiments, options.Command):
    """The command."""

    summary = "one HTML page about a saved model and its table, to hand on"
    description = (
        "Write one HTML page about a saved model, without links to anything outside it: the table, the graph, the "
        "fitted curves, residual checks, effects, the assumptions and the evidence against them. Needs icdh[report]. "
        "To learn the model and write the page at once: icdh fit TABLE --report PAGE.html"
    )
    model: str = options.read(options.MODEL, "the model")
    data: str = options.read(options.TABLE, "the table")
    output: str | None = options.written(
        "the page; by default named like the table", check_page_path, called="the page", flags="-o --output"
    )
    quiet: bool = options.flag("do not print the name of the page")
    missing: str = options.about_gaps(("error", "drop"))

    def run(self) -> int:
        """Read the model and the table, write the page and print its path."""
        if not (self.output or self.table_name):
            raise ValueError("--output must name the page if the table comes from the standard input")
        output = self.output or f"{self.table_name.partition('.')[0] or 'report'}.html"
        check_files(replace(self, output=output).files)
        model = loaded(self.model, self.data)
        rows = read_input(self, model)
        _, notes = with_warnings(partial(_warn_again, model, rows.complete()))
        if not succeeds(write_page, output, self, model, rows, notes):
            return BAD_INPUT
        if not self.quiet:
            print(output)
        return 0
