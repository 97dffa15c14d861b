"""``icdh fit`` and ``explain``: learn a graph, print, write and draw it, ask about its roots; and what was printed."""

import re
import shlex
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from icdh._estimators.hnm_search import HNMSearch
from icdh._model.structural import StructuralModel
from icdh._utils.arrays import Floats
from icdh._utils.checks import n_workers
from icdh._utils.clock import Clock
from icdh._utils.labels import counted, printable
from icdh.cli._input import Input, read_input, source, succeeds, target_lines
from icdh.cli._learning import edge_list, learned
from icdh.cli._messages import BAD_INPUT, INTERRUPTED, report, watched, with_warnings
from icdh.cli._options import USUAL, Command, Learned, Learning, Loudness, UncertaintyOptions, read, whole, written
from icdh.cli.saved_model import check_page_path, write_page
from icdh.diagnostics.result import EdgeCheck, edge_records
from icdh.exceptions import import_extra, option
from icdh.files import graph_writer, read_graph, write_graph
from icdh.files.graphs import NAMES_OF_FORMATS
from icdh.graphs import is_dag
from icdh.plotting import check_plot_path, plot_comparison, plot_model, save_figure
from icdh.plotting.graph import drawn_weights

if TYPE_CHECKING:
    from icdh.uncertainty.ensemble import GraphEnsemble


def _page(name: str) -> str:
    """Return the text of a file of this package."""
    return files("icdh.cli").joinpath(name).read_text(encoding="utf-8")


@cache
def _given() -> frozenset[str]:
    """Return the names of what nothing else causes, read when they are asked about."""
    return frozenset(_page("roots.txt").split())


def question_about_roots(adjacency: Floats, names: Sequence[object], dates: Collection[str] = ()) -> str | None:
    """Return the question whether variables such as age have causes; None if no arrow points to one.

    Parameters
    ----------
    adjacency : ndarray, shape (N, N)
        The graph.
    names : sequence
        Its variables.
    dates : collection of str
        Those that are dates.
    """
    given = [n for n, name in enumerate(names) if adjacency[:, n].any() and (name in dates or is_given(str(name)))]
    if not given:
        return None
    arrows = [f"{names[cause]} -> {names[n]}" for n in given for cause in np.flatnonzero(adjacency[:, n]).tolist()]
    roots = printable(",".join(str(names[n]) for n in given))
    question = f"can this be: {printable(', '.join(arrows))}? If nothing causes {roots.replace(',', ', ')}, "
    return f"{question}pass --roots {shlex.quote(roots)}"


def is_given(name: str) -> bool:
    """Return whether a name is that of what nothing else in a table causes, whatever its case, accents and numbers.

    Examples
    --------
    >>> from icdh.cli.fit import is_given
    >>> [is_given(name) for name in ("Birth_Year", "Âge (ans)", "female2", "wage")]
    [True, True, True, False]
    """
    name = re.sub(r"\(.*\)|\[.*\]", "", name).casefold()
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return "".join(filter(str.isalpha, plain)) in _given()


def _ensemble_of(
    command: "Fit", model: Learned, rows: Input, clock: Clock
) -> "tuple[GraphEnsemble | None, BaseException | None]":
    """Return the requested ensemble, or None, and the error, or None.

    The graph has been fitted: whatever goes wrong now, it is to be written and printed first; see `_exit_code`.
    """
    n_resamples = command.bootstrap or 0
    if model.interrupted_ or not (n_resamples or command.posterior):
        return None, None
    from icdh.uncertainty.posterior import posterior
    from icdh.uncertainty.resampling import bootstrap

    try:
        if clock.is_over:
            limit = option("max_seconds", clock.max_seconds)
            raise TimeoutError(f"{limit} were over after the fit: there are no probabilities")
        left = None if clock.max_seconds is None else clock.left
        with watched(command, "steps" if command.posterior else "resamples", n_resamples or None) as callback:
            if command.posterior and isinstance(model, HNMSearch):
                return posterior(model, random_state=command.seed, max_seconds=left, callback=callback), None
            ensemble = bootstrap(
                model,
                rows.table,
                n_resamples,
                **rows.relations,
                sampling=command.sampling,
                checkpoint=command.checkpoint,
                n_jobs=model.n_jobs,
                random_state=command.seed,
                max_seconds=left,
                callback=callback,
            )
            return ensemble, None
    except (KeyboardInterrupt, Exception) as error:
        return None, error


def _exit_code(model: Learned, failure: BaseException | None) -> int:
    """Return 0, or 130 after Ctrl-C, or raise the error that came after the fit."""
    if isinstance(failure, KeyboardInterrupt):
        report("error", "interrupted before the probabilities were known; the fitted graph is kept")
        return INTERRUPTED
    if isinstance(failure, TimeoutError):
        report("warning", failure)
    elif failure is not None:
        raise failure
    return INTERRUPTED if model.interrupted_ else 0


def _check_uncertainty(command: "Fit") -> None:
    """Raise ValueError if the options do not go together."""
    if command.posterior and command.method != "search":
        raise ValueError("--posterior needs the evidence that --method search weighs; else take --bootstrap N")
    if command.bootstrap is not None and n_workers(command.parameters.get("n_jobs", 1)) > 1:
        import_extra("joblib", "parallel")
    if command.bootstrap is None and command.checkpoint:
        raise ValueError("--checkpoint goes with --bootstrap N")


def _with_directions(command: "Fit", model: Learned, ensemble: "GraphEnsemble | None", clock: Clock) -> StructuralModel:
    """Return the fitted model with what is known of its edges: from turned edges, and from an ensemble of graphs."""
    from icdh.uncertainty.losses import with_losses

    fitted: StructuralModel = model.model_
    if ensemble is not None:
        fitted = fitted.with_edge_probability(ensemble.edge_probability)
    if not isinstance(model, HNMSearch) or model.interrupted_ or model.timed_out_:
        return fitted
    with watched(command, "steps") as callback:
        callback.follow(clock)
        return with_losses(fitted, model, clock, getattr(ensemble, "direction_loss", None))


def _write(command: "Fit", fitted: StructuralModel, records: list[EdgeCheck], truth: Floats | None) -> bool:
    """Write graph, picture and model, and return whether all went well; a graph that cannot be written is printed."""
    complete = succeeds(write_graph, command.output, fitted.adjacency, fitted.names)
    if command.output and not complete:
        print(graph_writer(command.output)(fitted.adjacency, fitted.names), end="")
    complete &= succeeds(_draw, command.plot, command, fitted, records, truth)
    return succeeds(fitted.save, command.save) and complete


def _draw(path: str, command: "Fit", fitted: StructuralModel, records: list[EdgeCheck], truth: Floats | None) -> None:
    """Draw the graph, beside the true one where that is known."""
    if truth is not None and is_dag(truth):
        weights, unit = drawn_weights(fitted)
        return save_figure(path, plot_comparison(weights, truth, fitted.names, weight=unit))
    rows, estimator = counted(fitted.about.get("n_observations", 0), "row"), fitted.about.get("estimator", "")
    title = f"{command.table_name or 'standard input'}: {rows}, {estimator}"
    return save_figure(path, plot_model(fitted, records=records, title=title, shown_edges=command.shown_edges))


def _comparison_line(estimate: Floats, truth: Floats) -> str:
    """Return a sentence that compares a graph with the true one."""
    from icdh.metrics import edge_differences

    extra, missing, reversed_ = edge_differences(estimate, truth)
    learned, true = int(np.count_nonzero(estimate)), int(np.count_nonzero(truth))
    right = learned - extra - reversed_
    return (
        f"against the true graph of {counted(true, 'edge')}: {right} of {learned} learned right, {reversed_} reversed, "
        f"{extra} extra; {missing} missing; structural Hamming distance (SHD) {extra + missing + reversed_}"
    )


@dataclass(frozen=True, kw_only=True)
class Output(Loudness):
    """What is written and drawn."""

    title = "output"
    output: str | None = written(f"write the graph: {NAMES_OF_FORMATS}", graph_writer, flags="-o --output")
    save: str | None = written("write the fitted model: .icdh, for check, report, predict, ...")
    plot: str | None = written("draw the graph, beside --truth: .png, .svg, .pdf; needs icdh[plot]", check_plot_path)
    report: str | None = written("write a page of all of it, to hand on: .html; needs icdh[report]", check_page_path)
    shown_edges: int = whole(25, "number of edges in that picture", 1)
    truth: str | None = read("compare with this graph: edge list cause,effect or adjacency matrix")


@dataclass(frozen=True, kw_only=True)
class Fit(UncertaintyOptions, Output, Learning):
    """The command."""

    summary = "learn a causal graph from a table"
    description = "Learn a causal graph from a table and print its edges, strongest first."
    usual = (*USUAL, "output", "save", "plot", "report")

    def run(self) -> int:
        """Learn, write, draw and print the graph; after Ctrl-C the best one so far."""
        _check_uncertainty(self)
        rows = read_input(self)
        truth = read_graph(source(self.truth), rows.table.columns)[0] if self.truth else rows.truth
        clock = Clock(self.parameters.get("max_seconds"))
        fit = partial(learned, self, rows)
        model, notes = with_warnings(fit) if self.report else (fit(), [])
        ensemble, failure = _ensemble_of(self, model, rows, clock)
        fitted = _with_directions(self, model, ensemble, clock)
        records = edge_records(fitted)
        complete = _write(self, fitted, records, truth)
        # After the files: whoever reads the output may have gone (icdh fit ... | head).
        if not self.quiet:
            if question := question_about_roots(model.adjacency_matrix_, rows.table.names, self.dates):
                report("note", question)
            print(*edge_list(model, records), *target_lines(model), sep="\n")
            if ensemble is not None:
                print("", ensemble.summary(), sep="\n")
            if truth is not None:
                print(_comparison_line(model.adjacency_matrix_, truth))
        complete &= succeeds(write_page, self.report, self, fitted, rows, [*notes, *target_lines(model)], ensemble)
        return _exit_code(model, failure) or (0 if complete else BAD_INPUT)


@dataclass(frozen=True, kw_only=True)
class Explain(Command):
    """The command."""

    summary = "what the output of a fit means"
    description = "Explain every number, mark and line that icdh fit prints, on an example whose true graph is known."

    def run(self) -> None:
        """Print the page of the manual, without its marks."""
        page = _page("reading.rst")
        marks = r"``|(?<!\S)\*(?=\w+\*)|(?<=\w)\*(?=[\s.])"
        print(re.sub(marks, "", page.replace(".. code-block:: text\n\n", "")), end="")
