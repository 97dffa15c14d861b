"""``icdh report``: learn a graph from a table, or take a saved model, and write one HTML page about it."""

import shlex
import sys
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from icdh._model.structural import StructuralModel
from icdh._utils.clock import Clock
from icdh.cli._input import Input, check_files, loaded, read_input, succeeds, target_lines
from icdh.cli._learning import check_uncertainty, edge_list, ensemble_of, exit_code, learned
from icdh.cli._messages import BAD_INPUT, with_warnings
from icdh.cli._options import MODEL, USUAL, Learned, LearningWithUncertainty, Loudness, read, text, written
from icdh.diagnostics.result import edge_records


def _usual_output(command: "Report") -> str:
    if not (name := command.table_name):
        raise ValueError("--output must name the page if the table comes from the standard input")
    return f"{name.partition('.')[0] or 'report'}.html"


def _warn_again(model: StructuralModel, rows: Input) -> None:
    """Warn of what a fit to these rows would have warned of."""
    from icdh._estimators.data_warnings import warn_about_fit
    from icdh._table.relations import with_relations

    table = with_relations(model.as_table(rows.table), rows.groups, rows.sequence)
    table.warn()
    warn_about_fit(model, table)


@dataclass(frozen=True, kw_only=True)
class Page(Loudness):
    """The page."""

    title: ClassVar[str] = "report"
    model: str | None = read(f"{MODEL}, to report in place of a new fit")
    output: str | None = written("the page; by default named like the table", called="the page", flags="-o --output")
    heading: str | None = text("TEXT", "its title; by default named like the table", flags="--title")


@dataclass(frozen=True, kw_only=True)
class Report(Page, LearningWithUncertainty):
    """The command."""

    summary = "one HTML page of what was learned from a table, to hand on"
    description = (
        "Learn a causal graph from a table and write one HTML page, without links to anything outside it: the table, "
        "the graph, the fitted curves, residual checks, effects, the assumptions and the evidence against them. Needs "
        "icdh[report]."
    )
    usual = (*USUAL, "model", "output", "heading")

    def run(self) -> int:
        """Learn or read the model, write the page and report its path."""
        from icdh.diagnostics.check import check
        from icdh.exceptions import import_extra

        for package in ("jinja2", "matplotlib"):
            import_extra(package, "report")
        check_uncertainty(self)
        output = self.output or _usual_output(self)
        check_files(replace(self, output=output).files)
        notes: list[str] = []
        model: StructuralModel | Learned
        fitted = ensemble = failure = None
        if self.model:
            if self.bootstrap is not None or self.posterior:
                raise ValueError("--bootstrap and --posterior learn again; leave them or --model out")
            model = loaded(self.model, self.data)
            rows = read_input(self, model)
            _, notes = with_warnings(partial(_warn_again, model, rows.complete()))
        else:
            rows = read_input(self)
            clock = Clock(self.parameters.get("max_seconds"))
            fitted, notes = with_warnings(partial(learned, self, rows))
            notes += target_lines(fitted)
            ensemble, failure = ensemble_of(self, fitted, rows, clock)
            model = fitted
        rows = rows.complete()
        complete = succeeds(
            model.report,
            output,
            rows.table,
            edge_probability=None if ensemble is None else ensemble.edge_probability,
            check=check(model, rows.table, **rows.relations),
            notes=[*notes, *getattr(self, "changes", ())],
            command=shlex.join(["icdh", *sys.argv[1:]]),
            title=self.heading or (f"Causal graph of {name}" if (name := self.table_name) else ""),
        )
        if not complete:
            if fitted is not None:
                print(*edge_list(fitted, edge_records(fitted.model_)), sep="\n")
            return BAD_INPUT
        if not self.quiet:
            print(output)
        return 0 if fitted is None else exit_code(fitted, failure)
