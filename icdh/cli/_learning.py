"""A fit as the options describe it, under way, and what it prints of its edges."""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from icdh._estimators.hnm_search import HNMSearch
from icdh._model.export import weight_unit
from icdh._utils.labels import counted, edge_lines
from icdh.cli._input import Input
from icdh.cli._messages import watched
from icdh.cli._options import DEFAULTS, METHODS, KnowledgeOptions, Learned, Learning, option_named
from icdh.diagnostics.result import EXPLAIN, EdgeCheck, edge_rows, marks_explained, unweighed
from icdh.exceptions import option
from icdh.knowledge import Knowledge
from icdh.progress import Progress


def knowledge_of(options: KnowledgeOptions) -> Knowledge:
    """Return the knowledge of the file and of the other options together."""
    groups = {"tiers": options.tiers, "roots": options.roots, "leaves": options.leaves}
    given = Knowledge(forbidden=options.forbid, required=options.require, **groups)
    return Knowledge.read(options.knowledge) | given if options.knowledge else given


def estimator_of(command: Learning, rows: Input) -> Learned:
    """Return the estimator that a command describes."""
    given = dict(command.parameters)
    if command.kinds:
        given["kinds"] = dict(command.kinds)
    for name in given:
        if name not in DEFAULTS[command.method]:
            (other,) = (method for method, params in DEFAULTS.items() if name in params)
            raise ValueError(
                f"{option_named(name)} is no option of --method {command.method}; leave it out, or pass --method "
                f"{other}"
            )
    given |= {"missing": command.missing, "missing_values": rows.missing_values, "verbose": command.verbose}
    knowledge = knowledge_of(command)
    given["knowledge"] = None if knowledge == Knowledge() else knowledge
    return METHODS[command.method](**given, random_state=command.seed)


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
    n_rows = about.get("n_observations", 0)
    if about.get("weights") == "sampling":
        yield f"rows have weights: effective sample size {about.get('n_effective', 0.0):.0f} of {n_rows}"
    elif records and isinstance(model, HNMSearch):
        scores, counted_rows = model.found_graph().scores, n_rows
        if n_rows > SIZES.long_table:
            counted_rows = SIZES.subsample
            yield f"strengths are in nats of {counted_rows:,} of {n_rows:,} rows"
        if scores.families.related is not None:
            size = counted_rows / scores.models.largest_design_effect()
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
