"""``icdh fit`` and ``explain``: learn a graph, print, write and draw it, ask about its roots; and what was printed.

All commands that learn describe and show a fit by the functions of this file.
"""

import os
import re
import shlex
import signal
import sys
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from types import FrameType
from typing import TYPE_CHECKING

import numpy as np

from icdh._estimators.hnm_search import HNMSearch
from icdh._model.export import weight_unit
from icdh._model.structural import StructuralModel
from icdh._utils.arrays import Floats
from icdh._utils.checks import n_workers
from icdh._utils.clock import Clock
from icdh._utils.labels import counted, edge_lines, printable
from icdh.cli import _options as options
from icdh.cli._input import Input, read_input, source, succeeds, with_files
from icdh.cli._messages import BAD_INPUT, INTERRUPTED, report, watched, with_warnings
from icdh.cli._options import Command, Learned, Learning
from icdh.cli.saved_model import check_page_path, write_page
from icdh.diagnostics.result import EXPLAIN, EdgeCheck, edge_records, edge_rows, marks_explained, unweighed
from icdh.exceptions import import_extra, option
from icdh.files import graph_writer, read_graph, write_graph
from icdh.files.graphs import NAMES_OF_FORMATS
from icdh.graphs import is_dag
from icdh.knowledge import Knowledge
from icdh.plotting import check_plot_path, plot_comparison, plot_model, save_figure
from icdh.plotting.graph import drawn_weights
from icdh.progress import Progress

if TYPE_CHECKING:
    from icdh.uncertainty.ensemble import GraphEnsemble


def knowledge_of(known: options.KnowledgeOptions) -> Knowledge:
    """Return the knowledge of the files and of the other options together."""
    groups = {"tiers": known.tiers, "roots": known.roots, "leaves": known.leaves}
    given = Knowledge(forbidden=known.forbid, required=known.require, **groups)
    return with_files(given, known.knowledge)


def estimator_of(command: Learning, rows: Input) -> Learned:
    """Return the estimator that a command describes."""
    given = dict(command.parameters)
    if command.kinds:
        given["kinds"] = dict(command.kinds)
    for name in given:
        if name not in options.DEFAULTS[command.method]:
            (other,) = (method for method, params in options.DEFAULTS.items() if name in params)
            unknown = f"{options.option_named(name)} is no option of --method {command.method}"
            raise ValueError(f"{unknown}; leave it out, or pass --method {other}")
    given |= {"missing": command.missing, "missing_values": rows.missing_values, "verbose": command.verbose}
    knowledge = knowledge_of(command)
    given["knowledge"] = None if knowledge == Knowledge() else knowledge
    return options.METHODS[command.method](**given, random_state=command.seed)


def learned(command: Learning, rows: Input) -> Learned:
    """Fit the estimator that a command describes, show how far it is, and return it."""
    estimator = estimator_of(command, rows)
    with watched(command, "steps") as callback, answered(callback):
        estimator.set_params(callback=callback).fit(rows.table, **rows.relations)
    return estimator.set_params(callback=None)


@contextmanager
def answered(callback: Progress) -> Iterator[None]:
    """Acknowledge an interrupt at once, if there are steps to keep; later ones change nothing."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def answer(number: int, frame: FrameType | None) -> None:
        if callback.is_interrupted:
            return
        callback.is_interrupted = True
        if callback.shown and callback.steps > 0:
            begin = b"\n" if sys.stderr.isatty() else b""
            os.write(2, begin + b"icdh: note: stopping; the best graph so far follows\n")  # even inside a print
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, answer)
    try:
        yield
    finally:
        if not callback.is_interrupted:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def edge_list(model: Learned, records: Sequence[EdgeCheck]) -> list[str]:
    """Return the lines that a fit prints: a summary, the edges, strongest first, and what their marks mean.

    `icdh explain` says the rest.
    """
    unit = weight_unit(model.model_)
    lines = [_head(model, len(records)), *(edge_lines(edge_rows(records, unit)) if records else [])]
    lines += marks_explained(records)
    lines += filter(None, [unweighed(records, unit), *_about_rows(model, records), _about_search(model, records)])
    return [*lines, EXPLAIN] if records else lines


def _about_search(model: Learned, records: Sequence[EdgeCheck]) -> str:
    """Return a line about what was not searched; of a search that ended, that no edge is no evidence."""
    if model.knowledge and Knowledge.of(model.knowledge).rules(model.model_.names).forbidden.all():
        return "knowledge forbids every edge: none was looked for, and no edge means nothing"
    if not (model.timed_out_ or model.interrupted_):
        return "" if records else "no edge stands out in these rows: that is no evidence that nothing causes anything"
    ended = f"{option('max_seconds')} was over" if model.timed_out_ else "the fit was interrupted"
    moves = len(model.history_)
    what = "moves" if isinstance(model, HNMSearch) else "rounds"
    if not moves:
        return f"{ended} before the first of the {what}: nothing was searched, and no edge means nothing"
    return f"{ended} after {moves} {what}: edges that are not listed may not have been searched"


def _about_rows(model: Learned, records: Sequence[EdgeCheck]) -> Iterator[str]:
    """Yield lines about the rows that strengths are counted in, if not in all as they are."""
    from icdh._estimators.graph_search import SIZES

    about = model.model_.about
    n_rows, n_effective = about.get("n_observations", 0), about.get("n_effective", 0.0)
    if about.get("weights") == "sampling":
        yield f"rows have weights: effective sample size {n_effective:.0f} of {n_rows}"
    elif records and isinstance(model, HNMSearch):
        counted_rows = n_rows
        if n_rows > SIZES.long_table:
            counted_rows = SIZES.subsample
            yield f"strengths are in nats of {counted_rows:,} of {n_rows:,} rows"
        if "related" in about:
            size = n_effective * counted_rows / n_rows
            yield f"rows depend on one another: effective sample size down to {size:,.0f} of {counted_rows:,}"


def _head(model: Learned, n_edges: int) -> str:
    if isinstance(model, HNMSearch):
        course = counted(len(model.history_), "move")
    else:
        course = counted(len(model.history_), "round") + (", converged" if model.converged_ else ", not converged")
    return (
        f"{counted(model.model_.about.get('n_observations', 0), 'observation')} of "
        f"{counted(model.n_features_in_, 'variable')}: {counted(n_edges, 'edge')}, "
        f"negative log-likelihood {model.nll_:.4f} nats a row, {course}"
    )


def target_lines(model: Learned) -> Iterator[str]:
    """Yield for every condition of unknown targets a line about what it was found to act on."""
    names, threshold = model.model_.names, getattr(model, "threshold", 0.0)
    for condition, weights in model.targets_.items():
        reached = sorted((-weight, str(n)) for weight, n in zip(weights, names, strict=True) if weight > threshold)
        found = ", ".join(f"{printable(name)} ({-weight:.3g})" for weight, name in reached)
        yield f"condition {printable(str(condition))} acts on {found or 'nothing that was found'}"


@cache
def _page(name: str) -> str:
    """Return the text of a file of this package."""
    return files("icdh.cli").joinpath(name).read_text(encoding="utf-8")


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
    return "".join(filter(str.isalpha, plain)) in _page("roots.txt").split()


def _ensemble_of(
    command: "Fit", model: Learned, rows: Input, clock: Clock
) -> "tuple[GraphEnsemble | None, BaseException | None]":
    """Return the requested ensemble, or None, and the error, or None.

    The graph has been fitted: whatever goes wrong now, it is to be written and printed first; see `_exit_code`.
    """
    n_resamples = command.bootstrap or 0
    if model.interrupted_ or not (n_resamples or command.posterior):
        return None, None
    from icdh.uncertainty.ensemble import bootstrap
    from icdh.uncertainty.posterior import posterior

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
class Output(options.Loudness):
    """What is written and drawn."""

    title = "output"
    output: str | None = options.written(f"write the graph: {NAMES_OF_FORMATS}", graph_writer, flags="-o --output")
    save: str | None = options.written("write the fitted model: .icdh, for check, report, predict, ...")
    plot: str | None = options.written(
        "draw the graph, beside --truth: .png, .svg, ...; needs icdh[plot]", check_plot_path
    )
    report: str | None = options.written("write a page of all of it: .html; needs icdh[report]", check_page_path)
    shown_edges: int = options.whole(25, "number of edges in that picture", 1)
    truth: str | None = options.read("compare with this graph: edge list cause,effect or adjacency matrix")


@dataclass(frozen=True, kw_only=True)
class Fit(Output, options.UncertaintyOptions, Learning):
    """The command."""

    summary = "learn a causal graph from a table"
    description = "Learn a causal graph from a table and print its edges, strongest first."
    usual = (*options.USUAL, "output", "save", "plot", "report")

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
