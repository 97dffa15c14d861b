"""``icdh direction``: which of two variables causes the other, for all pairs of columns of a table."""

import re
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from icdh._utils.arrays import Floats, Mask
from icdh._utils.labels import aligned, counted, listed, printable
from icdh.cli import _options as options
from icdh.cli._input import read_input
from icdh.cli._messages import INTERRUPTED, report, watched
from icdh.cli.fit import knowledge_of
from icdh.exceptions import WarningList, collected_warnings

if TYPE_CHECKING:
    from icdh.pairs import CausalDirection


def _compare(command: "Direction", values: Floats, names: tuple[str, str], forbidden: Mask) -> "CausalDirection":
    """Return the verdict on two columns, of which knowledge forbids directions."""
    from icdh.pairs import causal_direction

    if command.missing == "drop":
        values = values[~np.isnan(values).any(axis=1)]
    knowledge = {"forbidden": [tuple(edge) for edge in np.argwhere(forbidden).tolist()]}
    below, seed = command.abstain_below, command.seed
    return causal_direction(*values.T, names=names, knowledge=knowledge, abstain_below=below, random_state=seed)


def _in_short(warnings: WarningList) -> list[str]:
    """Return the warnings about pairs, in one line what was said of several columns."""
    columns: dict[str, dict[str, str]] = {}
    for message, _ in warnings:
        meaning = message.rpartition(": ")[2]
        columns.setdefault(meaning, {})[re.split(r" ha(?:s|ve) ", message)[0]] = message
    return [f"{listed(of)}: {meaning}" if len(of) > 1 else next(iter(of.values())) for meaning, of in columns.items()]


def _row(result: "CausalDirection", x: str, y: str) -> tuple[str, str, str, str, str]:
    verdict = {"x->y": f"{x} -> {y}", "y->x": f"{y} -> {x}"}.get(result.direction, result.direction)
    mark = "" if result.n_independent is None else "*"
    return f"{x}, {y}", verdict, f"{abs(result.score):.4f}", f"{result.confidence:.1f}", mark


@dataclass(frozen=True, kw_only=True)
class Direction(options.Format, options.Columns, options.KnowledgeOptions, options.Command):
    """The command."""

    summary = "infer which of two variables causes the other"
    description = (
        "Infer which of two variables causes the other, for all pairs of columns of a table, or of those that "
        "--columns names, each pair on its own: a common cause of both is not accounted for."
    )
    data: str = options.read(options.TABLE, "the table")
    abstain_below: float = options.number(0.0, "least confidence; of pairs without a direction 11 %% exceed 2, 3 %% 4")
    seed: int = options.whole(0, "random seed of the subsamples")
    missing: str = options.about_gaps(("error", "drop"))

    def run(self) -> int:
        """Read, compare both directions of every pair, print; after Ctrl-C print the pairs that are done."""
        if twice := [name for name in self.columns if self.columns.count(name) > 1]:
            raise ValueError(f"a direction needs two variables; --columns names {twice[0]!r} twice")
        table = read_input(self).table
        pairs = list(combinations(range(len(table.names)), 2))
        if not pairs:
            left = ", ".join(table.names) or "none left"
            raise ValueError(f"a direction needs two variables; {self.data} has {left}")
        forbidden = knowledge_of(self).rules(table.names, strict=not self.columns).forbidden
        rows = [("pair", "verdict", "nats a row", "confidence", "")]
        with collected_warnings() as said, suppress(KeyboardInterrupt), watched(self, "pairs", len(pairs)) as callback:
            for pair in pairs:
                callback()
                names = table.names[pair[0]], table.names[pair[1]]
                result = _compare(self, table.values[:, pair], names, forbidden[np.ix_(pair, pair)])
                rows.append(_row(result, *map(printable, names)))
        for line in _in_short(said):
            report("warning", line)
        if len(rows) > 1:
            print(*aligned(rows, "<<>"), sep="\n")
        if any(mark for *_, mark in rows):
            print("* rows depend on those before them, or repeat: the confidence is too large")
        if len(rows) <= len(pairs):
            report("error", f"interrupted after {len(rows) - 1} of {counted(len(pairs), 'pair')}")
            return INTERRUPTED
        return 0
