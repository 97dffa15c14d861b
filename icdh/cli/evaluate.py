"""``icdh evaluate``: compare an estimated graph with the true one."""

import argparse
import json
from functools import partial
from typing import Any

from icdh._ground.labels import default_names
from icdh.cli._files import check_files, source
from icdh.cli._help import HelpFormatter
from icdh.cli._options import add_number
from icdh.cli._table import add_format_options, format_of
from icdh.files import graph_from_text, label_of, read_text


def add_parser(subparsers: Any) -> None:
    """Describe the command's options."""
    parser = subparsers.add_parser(
        "evaluate",
        help="compare an estimated graph with the true one",
        description="Compare two graphs by every metric. See icdh.metrics.evaluate.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("estimated", help="estimated graph: adjacency matrix, edge list or .json, with weights if any")
    parser.add_argument("truth", help="true graph, in the same formats")
    add_number(parser, "--threshold", default=0.0, help="edges of smaller weight are left out")
    parser.add_argument(
        "--probabilities", action="store_true", help="the weights are probabilities: print their calibration"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_format_options(parser.add_argument_group("how both files are written"), header=False)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read, compare and print."""
    from icdh.metrics import evaluate

    check_files({"the estimated graph": args.estimated, "the true graph": args.truth}, {})
    how = format_of(args)
    sources = source(args.estimated), source(args.truth)
    files = [(label_of(file), read_text(file, how["encoding"])) for file in sources]
    read = partial(graph_from_text, delimiter=how["delimiter"], decimal=how["decimal"] or ".")
    names = _names(*(read(*file)[1] for file in files))
    estimated, truth = (read(*file, names)[0] for file in files)
    metrics = evaluate(estimated, truth, threshold=args.threshold, probabilities=args.probabilities)
    print(json.dumps(metrics, indent=2) if args.json else _table(metrics))
    return 0


def _names(estimated, truth):
    """Return the names of all variables: edge lists leave some out, and matrices may have none."""
    if len(estimated) == len(truth):
        unnamed = default_names(len(truth))
        if estimated == unnamed or truth == unnamed:
            return truth if estimated == unnamed else estimated
    return list(dict.fromkeys([*truth, *estimated]))


def _table(metrics):
    width = max(map(len, metrics))
    return "\n".join(f"{name:<{width}}  {_text(value)}" for name, value in metrics.items())


def _text(value):
    if value is None:
        return "not available (needs an acyclic estimate and icdh[metrics])"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
