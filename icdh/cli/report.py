"""``icdh report``: write one HTML page about a saved model and its table."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from icdh._model.structural import StructuralModel
from icdh.cli import _options as options
from icdh.cli._input import Input, check_files, loaded, read_input, succeeds
from icdh.cli._messages import BAD_INPUT, with_warnings
from icdh.exceptions import import_extra

if TYPE_CHECKING:
    from icdh.uncertainty.ensemble import GraphEnsemble

NOT_CHECKED = (
    "these rows have weights: residuals were not checked, and the table of columns counts every row once, without them"
)


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
