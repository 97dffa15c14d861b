"""``icdh evaluate``: compare an estimated graph with the true one."""

import json
from dataclasses import dataclass
from functools import partial

from icdh._utils.labels import aligned, default_names
from icdh.cli._input import source
from icdh.cli._options import Command, TextFormat, flag, number, read
from icdh.files import graph_from_text, label_of, read_text


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


@dataclass(frozen=True, kw_only=True)
class Evaluate(TextFormat, Command):
    """The command."""

    summary = "compare an estimated graph with the true one"
    description = "Compare two graphs by every metric. See icdh.metrics.evaluate."
    estimated: str = read("estimated graph: adjacency matrix, edge list or .json", "the estimated graph")
    truth: str = read("true graph, in the same formats", "the true graph")
    threshold: float = number(0.0, "edges of smaller weight are left out")
    json: bool = flag("print one JSON object")

    def run(self) -> None:
        """Read, compare and print."""
        from icdh.metrics import evaluate

        sources = source(self.estimated), source(self.truth)
        files = [(label_of(file), read_text(file, self.encoding)) for file in sources]
        read = partial(graph_from_text, delimiter=self.delimiter, decimal=self.decimal or ".")
        names = _names(*(read(*file)[1] for file in files))
        estimated, truth = (read(*file, names)[0] for file in files)
        metrics = evaluate(estimated, truth, threshold=self.threshold)
        rows = [(name, _text(value)) for name, value in metrics.items()]
        print(json.dumps(metrics, indent=2) if self.json else "\n".join(aligned(rows)))
