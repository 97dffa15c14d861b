"""``icdh direction``: which of two variables causes the other, for all pairs of columns of a table."""

import argparse
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from icdh._ground.labels import aligned, counted, printable
from icdh.cli._files import check_files, check_picture
from icdh.cli._input import read
from icdh.cli._knowledge import KNOWLEDGE, knowledge_of
from icdh.cli._messages import INTERRUPTED, SUCCESS, report, watched
from icdh.cli._options import COLUMNS, FORMAT, TABLE, Command, cells, number, seed, text
from icdh.files import LabelledTable

if TYPE_CHECKING:
    from icdh.pairs.comparison import CausalDirection


def run(args: argparse.Namespace) -> int:
    """Read, compare both directions of every pair, print, draw; after Ctrl-C print the pairs that are done."""
    check_files({"the table": args.data, "--knowledge": args.knowledge}, {"--plot": args.plot})
    twice = next((name for name in args.columns or () if args.columns.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"a direction needs two variables; --columns names {twice!r} twice")
    table, _ = read(args)
    pairs: list[tuple[int, int]] = list(combinations(range(len(table.names)), 2))
    _check_pairs(args, pairs, table.names)
    with watched(args, "pairs", len(pairs)) as callback:
        results, interrupted = _compare(args, table, pairs, callback)
    if results:
        rows = [_row(result, *names) for result, names in results]
        print(*aligned([("pair", "verdict", "nats", "confidence"), *rows], "<<>"), sep="\n")
    if interrupted:
        report("error", f"interrupted after {len(results)} of {counted(len(pairs), 'pair')}")
        return INTERRUPTED
    if args.plot:
        from icdh.pairs.picture import plot_direction
        from icdh.plotting import save_figure

        save_figure(args.plot, plot_direction(table.values[:, 0], table.values[:, 1], *results[0]))
    return SUCCESS


def _check_pairs(args: argparse.Namespace, pairs: list[tuple[int, int]], names: list[str]) -> None:
    """Raise ValueError unless there are pairs to compare, and one if it is to be drawn."""
    if not pairs:
        raise ValueError(f"a direction needs two variables; {args.data} has {', '.join(names)}")
    if args.plot and len(pairs) > 1:
        raise ValueError("--plot draws one pair of variables; choose it by --columns A B")
    check_picture(args.plot)


def _compare(
    args: argparse.Namespace, table: LabelledTable, pairs: list[tuple[int, int]], callback: Any
) -> tuple[list[tuple["CausalDirection", tuple[str, str]]], bool]:
    """Return the verdict and the names of each pair, as far as it came, and whether it was interrupted."""
    from icdh.pairs.comparison import causal_direction

    results = []
    forbidden = knowledge_of(args).rules(table.names, strict=not args.columns).forbidden
    try:
        for a, b in pairs:
            callback()
            names = table.names[a], table.names[b]
            options = {"names": names, "abstain_below": args.abstain_below, "random_state": args.seed}
            known = [way for way in ((0, 1), (1, 0)) if forbidden[(a, b)[way[0]], (a, b)[way[1]]]]
            both = table.values[:, [a, b]]
            if args.missing == "drop":
                both = both[~np.isnan(both).any(axis=1)]
            results.append((causal_direction(*both.T, knowledge={"forbidden": known}, **options), names))
    except KeyboardInterrupt:
        return results, True
    return results, False


def _row(result: "CausalDirection", x: str, y: str) -> tuple[str, str, str, str]:
    x, y = printable(x), printable(y)
    verdict = {"x->y": f"{x} -> {y}", "y->x": f"{y} -> {x}"}.get(result.direction, result.direction)
    return f"{x}, {y}", verdict, f"{abs(result.score):.4f}", f"{result.confidence:.1f}"


COMMAND = Command(
    "tell which of two variables causes the other",
    "Tell which of two variables causes the other, for all pairs of columns of a table, or of those that --columns "
    "names, each pair on its own: a common cause of both is not accounted for.",
    {
        "": {
            "data": TABLE,
            "--abstain-below": number(0.0, "least confidence of a verdict"),
            "--seed": seed("random seed of the subsamples"),
            "--plot": text("FILE", "draw the two variables: .png, .svg, .pdf; needs icdh[plot]"),
            **FORMAT,
            **COLUMNS,
            **cells(("error", "drop")),
        },
        "knowledge": KNOWLEDGE,
    },
    run,
)
