"""``icdh evaluate``: compare an estimated graph with the true one."""

import argparse
import json
from functools import partial

from icdh._utils.labels import aligned, default_names
from icdh.cli._input import form_of, source
from icdh.cli._options import TEXT_FORMAT, Command, flag, number, read
from icdh.files import graph_from_text, label_of, read_text


def run(args: argparse.Namespace) -> None:
    """Read, compare and print."""
    from icdh.metrics import evaluate

    how = form_of(args)
    sources = source(args.estimated), source(args.truth)
    files = [(label_of(file), read_text(file, how["encoding"])) for file in sources]
    read = partial(graph_from_text, delimiter=how["delimiter"], decimal=how["decimal"] or ".")
    names = _names(*(read(*file)[1] for file in files))
    estimated, truth = (read(*file, names)[0] for file in files)
    metrics = evaluate(estimated, truth, threshold=args.threshold, probabilities=args.probabilities)
    rows = [(name, _text(value)) for name, value in metrics.items()]
    print(json.dumps(metrics, indent=2) if args.json else "\n".join(aligned(rows)))


def _names(estimated: list[str], truth: list[str]) -> list[str]:
    """Return the names of all variables: edge lists leave some out, and matrices may have none."""
    if len(estimated) == len(truth):
        unnamed = default_names(len(truth))
        if estimated == unnamed or truth == unnamed:
            return truth if estimated == unnamed else estimated
    return list(dict.fromkeys([*truth, *estimated]))


def _text(value: float | None) -> str:
    if value is None:
        return "not available (needs an acyclic estimate and icdh[metrics])"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


COMMAND = Command(
    "compare an estimated graph with the true one",
    "Compare two graphs by every metric. See icdh.metrics.evaluate.",
    {
        "": {
            "estimated": read("estimated graph: adjacency matrix, edge list or .json", "the estimated graph"),
            "truth": read("true graph, in the same formats", "the true graph"),
            "--threshold": number(0.0, "edges of smaller weight are left out"),
            "--probabilities": flag("the weights are probabilities: print their calibration"),
            "--json": flag("print one JSON object"),
        },
        "how both files are written": TEXT_FORMAT,
    },
    run,
)
