"""``icdh fit``: learn a graph from a table, print it, write it, draw it."""

import argparse
import os
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icdh._ground.clock import Clock
from icdh._ground.labels import counted
from icdh._model.hidden import graph_with_hidden
from icdh._model.overview import weight_unit
from icdh.cli._edges import (
    UNCERTAINTY,
    Directions,
    check_uncertainty,
    comparison_line,
    directions_of,
    edge_lines,
    ensemble_of,
    exit_code,
    picture_of_records,
    probability_lines,
    write_probabilities,
)
from icdh.cli._files import STANDARD_INPUT, check_files, check_picture, source, succeeds
from icdh.cli._input import read_input, target_lines, targets_file
from icdh.cli._knowledge import KNOWLEDGE, question_about_roots
from icdh.cli._learning import ESTIMATOR, INPUT, USUAL_INPUT, USUAL_KNOWLEDGE, declared_labels, learned
from icdh.cli._messages import BAD_INPUT, SUCCESS, report
from icdh.cli._options import EXPERIMENTS, LOUDNESS, Command, number, text
from icdh.files import graph_writer, read_graph, write_graph
from icdh.graphs import is_dag

FAINTEST = 0.02  # the lowest probability that an edge is drawn with


def run(args: argparse.Namespace) -> int:
    """Learn, write, draw and print the graph; after Ctrl-C the best one so far."""
    check_uncertainty(args)
    _check_files(args)
    rows = read_input(args, declared_labels(args))
    truth = read_graph(source(args.truth), rows.table.columns)[0] if args.truth else rows.truth
    clock = Clock(getattr(args, "max_seconds", None))
    model = learned(args, rows)
    ensemble, failure = ensemble_of(args, model, rows, clock)
    directions = directions_of(args, model, rows.table, ensemble, clock)
    complete = _write(args, model, ensemble, directions, truth)
    # After the files: whoever reads the output may have gone (icdh fit ... | head).
    if not args.quiet:
        if question := question_about_roots(model.adjacency_matrix_, rows.table.names):
            report("note", question)
        print(*edge_lines(model, directions), *target_lines(model), sep="\n")
        if ensemble is not None:
            print("", *probability_lines(ensemble, model.adjacency_matrix_), sep="\n")
        if truth is not None:
            print(comparison_line(model.adjacency_matrix_, truth))
    return exit_code(model, failure) or (SUCCESS if complete else BAD_INPUT)


def _check_files(args: argparse.Namespace) -> None:
    """Raise an error before the fit if an output cannot be written."""
    read = {"the table": args.data, "--truth": args.truth, "--forbidden-edges": getattr(args, "forbidden_edges", None)}
    read |= {"--knowledge": args.knowledge, "--targets": targets_file(args)}
    written = {"--output": args.output, "--save": args.save, "--plot": args.plot, "--probabilities": args.probabilities}
    check_files(read, {**written, "--checkpoint": args.checkpoint})
    if args.output:
        graph_writer(args.output)
    check_picture(args.plot)


def _write(
    args: argparse.Namespace, model: Any, ensemble: Any, directions: Directions, truth: NDArray[Any] | None
) -> bool:
    """Write graph, picture and model, and return whether all went well; a graph that cannot be written is printed.

    If there are probabilities, they are the widths of the lines in the picture.
    """
    dag, names, complete = model.adjacency_matrix_, model.model_.names, True
    probability = None if ensemble is None else ensemble.edge_probability
    graph, nodes = graph_with_hidden(model.model_)
    if args.output and not succeeds(write_graph, args.output, graph, nodes):
        complete = False
        print(graph_writer(args.output)(graph, nodes), end="")
    if args.plot:
        drawn = dag if probability is None else (dag != 0) * np.maximum(probability, FAINTEST)
        words = _words_of_picture(model, args, ensemble, directions)
        if model.model_.hidden_causes:
            complete &= succeeds(partial(_draw_hidden, args.plot, model.model_, drawn, words))
        else:
            complete &= succeeds(partial(_draw, args.plot, drawn, names, truth, words))
    if args.probabilities and ensemble is not None:
        complete &= succeeds(write_probabilities, args.probabilities, ensemble)
    if args.save:
        saved = replace(model.model_, direction_loss=directions.loss, hidden_loss=directions.hidden)
        complete &= succeeds(partial(saved.save, edge_probability=probability), args.save)
    return complete


def _draw(path: str, drawn: NDArray[Any], names: list[Any], truth: NDArray[Any] | None, words: dict[str, Any]) -> None:
    """Draw the graph, beside the true one where that is known."""
    from icdh.plotting import plot_comparison, save_figure, save_plot

    if truth is None or not is_dag(truth):
        save_plot(path, drawn, names, **words)
    else:
        save_figure(path, plot_comparison(drawn, truth, names, weight=words["unit"]))


def _draw_hidden(path: str, model: Any, drawn: NDArray[Any], words: dict[str, Any]) -> None:
    """Draw the graph with its hidden causes as nodes; as widths of their arrows they have their strengths."""
    from icdh.plotting import save_plot

    weights, names = graph_with_hidden(model)
    N = len(drawn)
    if words["unit"] == "probability":
        weights[N:] = weights[N:] != 0
        weights[:N, :N] = drawn
    told = {name: words[name] for name in ("title", "unit", "shown_edges", "styles", "note")}
    hidden = np.broadcast_to(np.arange(len(weights))[:, np.newaxis] >= N, weights.shape)
    save_plot(path, weights, list(map(str, names)), doubtful=hidden, doubt="hidden common cause, no column", **told)


def _words_of_picture(model: Any, args: argparse.Namespace, ensemble: Any, directions: Directions) -> dict[str, Any]:
    """Return title and legend of the picture of a fit."""
    table = args.dataset or ("standard input" if args.data == STANDARD_INPUT else os.path.basename(args.data))
    return {
        "title": f"{table}: {counted(model.model_.about['n_observations'], 'row')}, {type(model).__name__}",
        "unit": "probability" if ensemble is not None else weight_unit(model.model_),
        "doubtful": directions.marked,
        "doubt": directions.meaning,
        "hidden": directions.may_be_hidden,
        "given": directions.given,
        "shown_edges": args.shown_edges,
        **picture_of_records(directions.records),
    }


COMMAND = Command(
    "learn a causal graph from a table",
    "Learn a causal graph from a table and print its edges, strongest first.",
    {
        "input": INPUT,
        "experiments": EXPERIMENTS,
        "estimator": ESTIMATOR,
        "knowledge": KNOWLEDGE,
        "uncertainty": UNCERTAINTY,
        "output": {
            "-o --output": text("FILE", "write the graph: .csv matrix, .tsv edge list, .json, .dot"),
            "--save": text("FILE", "write the fitted model, .icdh, for check, report, predict, ..."),
            "--plot": text("FILE", "draw the graph, beside --truth: .png, .svg, .pdf; needs icdh[plot]"),
            "--shown-edges": number(25, "number of edges in that picture", low=1, integer=True),
            "--truth": text("FILE", "compare with this graph: edge list cause,effect or adjacency matrix"),
            "loudness": LOUDNESS,
        },
    },
    run,
    usual=(*USUAL_INPUT, *USUAL_KNOWLEDGE, "output", "save", "plot"),
)
