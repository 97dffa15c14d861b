"""``icdh fit``: learn a graph from a table, print it, write it, draw it."""

import argparse
import os
from functools import partial
from typing import TYPE_CHECKING

from icdh._ground.arrays import Floats
from icdh._ground.clock import Clock
from icdh._ground.labels import counted
from icdh._model.hidden import graph_with_hidden
from icdh._model.structural import StructuralModel
from icdh.cli._edges import (
    UNCERTAINTY,
    check_uncertainty,
    comparison_line,
    edge_list,
    ensemble_of,
    exit_code,
    probability_lines,
    records_of,
    with_directions,
    write_probabilities,
)
from icdh.cli._files import STANDARD_INPUT, check_files, check_picture, source, succeeds
from icdh.cli._input import read_input, target_lines
from icdh.cli._knowledge import KNOWLEDGE, question_about_roots
from icdh.cli._learning import ESTIMATOR, INPUT, USUAL_INPUT, USUAL_KNOWLEDGE, declared_labels, learned
from icdh.cli._messages import BAD_INPUT, SUCCESS, report
from icdh.cli._options import EXPERIMENTS, LOUDNESS, Command, number, text
from icdh.diagnostics.records import EdgeCheck
from icdh.files import graph_writer, read_graph, write_graph
from icdh.graphs import is_dag

if TYPE_CHECKING:
    from icdh.uncertainty.ensemble import GraphEnsemble


def run(args: argparse.Namespace) -> int:
    """Learn, write, draw and print the graph; after Ctrl-C the best one so far."""
    check_uncertainty(args)
    _check_files(args)
    rows = read_input(args, declared_labels(args))
    truth = read_graph(source(args.truth), rows.table.columns)[0] if args.truth else rows.truth
    clock = Clock(getattr(args, "max_seconds", None))
    model = learned(args, rows)
    ensemble, failure = ensemble_of(args, model, rows, clock)
    fitted = with_directions(args, model, ensemble, clock)
    records = records_of(fitted, rows.table)
    complete = _write(args, fitted, records, ensemble, truth)
    # After the files: whoever reads the output may have gone (icdh fit ... | head).
    if not args.quiet:
        if question := question_about_roots(model.adjacency_matrix_, rows.table.names):
            report("note", question)
        print(*edge_list(model, records), *target_lines(model), sep="\n")
        if ensemble is not None:
            print("", *probability_lines(ensemble, model.adjacency_matrix_), sep="\n")
        if truth is not None:
            print(comparison_line(model.adjacency_matrix_, truth))
    return exit_code(model, failure) or (SUCCESS if complete else BAD_INPUT)


def _check_files(args: argparse.Namespace) -> None:
    """Raise an error before the fit if an output cannot be written."""
    read = {"the table": args.data, "--truth": args.truth, "--forbidden-edges": getattr(args, "forbidden_edges", None)}
    read["--knowledge"] = args.knowledge
    written = {"--output": args.output, "--save": args.save, "--plot": args.plot, "--probabilities": args.probabilities}
    check_files(read, {**written, "--checkpoint": args.checkpoint})
    if args.output:
        graph_writer(args.output)
    check_picture(args.plot)


def _write(
    args: argparse.Namespace,
    fitted: StructuralModel,
    records: list[EdgeCheck],
    ensemble: "GraphEnsemble | None",
    truth: Floats | None,
) -> bool:
    """Write graph, picture and model, and return whether all went well; a graph that cannot be written is printed."""
    complete = True
    graph, nodes = graph_with_hidden(fitted)
    if args.output and not succeeds(write_graph, args.output, graph, nodes):
        complete = False
        print(graph_writer(args.output)(graph, nodes), end="")
    if args.plot:
        complete &= succeeds(partial(_draw, args, fitted, records, truth), args.plot)
    if args.probabilities and ensemble is not None:
        complete &= succeeds(write_probabilities, args.probabilities, ensemble)
    if args.save:
        complete &= succeeds(fitted.save, args.save)
    return complete


def _draw(
    args: argparse.Namespace,
    fitted: StructuralModel,
    records: list[EdgeCheck],
    truth: Floats | None,
    path: str,
) -> None:
    """Draw the graph, beside the true one where that is known and nothing is hidden."""
    from icdh.plotting import plot_comparison, plot_model, save_figure
    from icdh.plotting.model import drawn_weights

    if truth is not None and is_dag(truth) and not fitted.hidden_causes:
        weights, unit = drawn_weights(fitted)
        return save_figure(path, plot_comparison(weights, truth, fitted.names, weight=unit))
    table = args.dataset or ("standard input" if args.data == STANDARD_INPUT else os.path.basename(args.data))
    title = f"{table}: {counted(fitted.about['n_observations'], 'row')}, {fitted.about['estimator']}"
    return save_figure(path, plot_model(fitted, records=records, title=title, shown_edges=args.shown_edges))


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
