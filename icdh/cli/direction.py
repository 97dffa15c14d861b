"""``icdh direction``: which of two variables causes the other, for all pairs of columns of a table."""

import argparse
import warnings
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import numpy as np

from icdh._ground.labels import counted, printable
from icdh.cli._files import check_files
from icdh.cli._help import HelpFormatter
from icdh.cli._knowledge import add_knowledge_options, knowledge_of
from icdh.cli._messages import INTERRUPTED, SUCCESS, report
from icdh.cli._options import add_number, add_seed
from icdh.cli._progress import watched
from icdh.cli._table import TABLE_HELP, add_column_options, add_format_options, read


def add_parser(subparsers: Any) -> None:
    """Describe the command's options."""
    parser = subparsers.add_parser(
        "direction",
        help="tell which of two variables causes the other",
        description="Tell which of two variables causes the other, for all pairs of columns of a table, or of those "
        "that --columns names, each pair on its own: a common cause of both is not accounted for.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("data", help=TABLE_HELP)
    add_number(parser, "--abstain-below", default=0.0, help="least confidence of a verdict")
    add_seed(parser, "random seed of the subsamples")
    parser.add_argument("--plot", metavar="FILE", help="draw the two variables: .png, .svg, .pdf; needs icdh[plot]")
    add_format_options(parser)
    add_column_options(parser, missing=("error", "drop"))
    add_knowledge_options(parser.add_argument_group("knowledge"))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read, compare both directions of every pair, print, draw; after Ctrl-C print the pairs that are done."""
    check_files({"the table": args.data, "--knowledge": args.knowledge}, {"--plot": args.plot})
    twice = next((name for name in args.columns or () if args.columns.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"a direction needs two variables; --columns names {twice!r} twice")
    table = read(args)
    pairs = list(combinations(range(len(table.columns)), 2))
    _check_pairs(args, pairs, table.columns)
    with _each_warning_once(), watched(args, "pairs", len(pairs)) as callback:
        results, interrupted = _compare(args, table, pairs, callback)
    if results:
        print(_table([_row(result, *names) for result, names in results]))
    if interrupted:
        report("error", f"interrupted after {len(results)} of {counted(len(pairs), 'pair')}")
        return INTERRUPTED
    if args.plot:
        _draw(args, table, *results[0])
    return SUCCESS


def _check_pairs(args, pairs, names):
    """Raise ValueError unless there are pairs to compare, and one if it is to be drawn."""
    if not pairs:
        raise ValueError(f"a direction needs two variables; {args.data} has {', '.join(names)}")
    if args.plot:
        from icdh.plotting import check_plot_path

        if len(pairs) > 1:
            raise ValueError("--plot draws one pair of variables; choose it by --columns A B")
        check_plot_path(args.plot)


@contextmanager
def _each_warning_once():
    """Show a warning about a column once, not again with every pair that it is in."""
    with warnings.catch_warnings():
        show, shown = warnings.showwarning, set()

        def show_once(message, *where, **details):
            if str(message) not in shown:
                shown.add(str(message))
                show(message, *where, **details)

        warnings.showwarning = show_once
        yield


def _compare(args, table, pairs, callback):
    """Return the verdict and the names of each pair, as far as it came, and whether it was interrupted."""
    from icdh.pairs.comparison import causal_direction

    results = []
    forbidden = knowledge_of(args).rules(table.columns, strict=not args.columns).forbidden
    try:
        for a, b in pairs:
            if callback is not None:
                callback()
            names = table.columns[a], table.columns[b]
            known = {"forbidden": [(i, j) for i, j in ((0, 1), (1, 0)) if forbidden[(a, b)[i], (a, b)[j]]]}
            options = {"names": names, "abstain_below": args.abstain_below, "random_state": args.seed}
            options["knowledge"] = known
            both = table.values[:, [a, b]]
            if args.missing == "drop":
                both = both[~np.isnan(both).any(axis=1)]
            results.append((causal_direction(both[:, 0], both[:, 1], **options), names))
    except KeyboardInterrupt:
        return results, True
    return results, False


def _draw(args, table, result, names):
    from icdh.pairs.picture import plot_direction
    from icdh.plotting import save_figure

    save_figure(args.plot, plot_direction(table.values[:, 0], table.values[:, 1], result, names))


def _row(result, x, y):
    x, y = printable(x), printable(y)
    verdict = {"x->y": f"{x} -> {y}", "y->x": f"{y} -> {x}"}.get(result.direction, result.direction)
    return f"{x}, {y}", verdict, f"{abs(result.score):.4f}", f"{result.confidence:.1f}"


def _table(rows):
    rows = [("pair", "verdict", "nats", "confidence"), *rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        f"{pair:<{widths[0]}}  {verdict:<{widths[1]}}  {nats:>{widths[2]}}  {confidence:>{widths[3]}}"
        for pair, verdict, nats, confidence in rows
    )
