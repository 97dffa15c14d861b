"""``icdh direction``: which of two variables causes the other, for all pairs of columns of a table."""

import argparse
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from icdh._utils.arrays import Floats, Mask
from icdh._utils.labels import aligned, counted, printable
from icdh.cli._input import read
from icdh.cli._learning import knowledge_of
from icdh.cli._messages import INTERRUPTED, report, watched
from icdh.cli._options import COLUMNS, FORMAT, KNOWLEDGE, TABLE, Command, cells, number, written
from icdh.plotting import check_plot_path, save_figure
from icdh.plotting.effect import plot_direction

if TYPE_CHECKING:
    from icdh.pairs import CausalDirection


def run(args: argparse.Namespace) -> int:
    """Read, compare both directions of every pair, print, draw; after Ctrl-C print the pairs that are done."""
    twice = next((name for name in args.columns or () if args.columns.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"a direction needs two variables; --columns names {twice!r} twice")
    table, _ = read(args)
    pairs = list(combinations(range(len(table.names)), 2))
    if not pairs:
        raise ValueError(f"a direction needs two variables; {args.data} has {', '.join(table.names)}")
    if args.plot and len(pairs) > 1:
        raise ValueError("--plot draws one pair of variables; choose it by --columns A B")
    forbidden = knowledge_of(args).rules(table.names, strict=not args.columns).forbidden
    results, rows, interrupted = [], [("pair", "verdict", "nats", "confidence")], False
    try:
        with watched(args, "pairs", len(pairs)) as callback:
            for pair in pairs:
                callback()
                names = table.names[pair[0]], table.names[pair[1]]
                results.append(_compare(args, table.values[:, pair], names, forbidden[np.ix_(pair, pair)]))
                rows.append(_row(results[-1], *map(printable, names)))
    except KeyboardInterrupt:
        interrupted = True
    if results:
        print(*aligned(rows, "<<>"), sep="\n")
    if interrupted:
        report("error", f"interrupted after {len(results)} of {counted(len(pairs), 'pair')}")
        return INTERRUPTED
    if args.plot:
        x, y = table.values.T
        save_figure(args.plot, plot_direction(x, y, results[0], (table.names[0], table.names[1])))
    return 0


def _compare(args: argparse.Namespace, values: Floats, names: tuple[str, str], forbidden: Mask) -> "CausalDirection":
    """Return the verdict on two columns, of which knowledge forbids directions."""
    from icdh.pairs import causal_direction

    if args.missing == "drop":
        values = values[~np.isnan(values).any(axis=1)]
    knowledge = {"forbidden": [tuple(edge) for edge in np.argwhere(forbidden).tolist()]}
    options = {"abstain_below": args.abstain_below, "random_state": args.seed}
    return causal_direction(*values.T, names=names, knowledge=knowledge, **options)


def _row(result: "CausalDirection", x: str, y: str) -> tuple[str, str, str, str]:
    verdict = {"x->y": f"{x} -> {y}", "y->x": f"{y} -> {x}"}.get(result.direction, result.direction)
    return f"{x}, {y}", verdict, f"{abs(result.score):.4f}", f"{result.confidence:.1f}"


COMMAND = Command(
    "infer which of two variables causes the other",
    "Infer which of two variables causes the other, for all pairs of columns of a table, or of those that --columns "
    "names, each pair on its own: a common cause of both is not accounted for.",
    {
        "": {
            "data": TABLE,
            "--abstain-below": number(0.0, "least confidence of a verdict"),
            "--seed": number(0, "random seed of the subsamples", integer=True),
            "--plot": written("draw the two variables: .png, .svg, .pdf; needs icdh[plot]", check_plot_path),
            **FORMAT,
            **COLUMNS,
            **cells(("error", "drop")),
        },
        "knowledge": KNOWLEDGE,
    },
    run,
)
