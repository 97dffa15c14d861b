"""``icdh simulate`` and ``evaluate``: a table of a random graph, and a graph compared with the one that is known."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from numpy.typing import NDArray

from icdh._utils.labels import aligned, default_names
from icdh.cli._input import source
from icdh.cli._options import Command, TextFormat, choice, flag, number, read, whole, written
from icdh.files import graph_from_text, graph_writer, label_of, read_graph, read_text, write_graph, write_table
from icdh.files.graphs import NAMES_OF_FORMATS
from icdh.simulate import DISTRIBUTIONS, GRAPHS, MECHANISMS, NOISES, SimulatedData, simulate_sem


def _description(data: SimulatedData) -> Iterator[str]:
    yield f"{data.X.shape[0]} observations of {data.X.shape[1]} variables, {data.adjacency.sum()} edges"
    report = data.report()
    if report.smallest_std is not None:
        ends = f"from {report.smallest_std:.3g} to {report.largest_std:.3g}"
        yield f"true standard deviations {ends}, within one variable by a factor of up to {report.largest_ratio:.3g}"
        sortable = f"varsortability {report.varsortability:.3f}, R2-sortability {report.r2_sortability:.3f}"
        yield f"{sortable} (0.5: the statistic says nothing about the causal order)"


@dataclass(frozen=True, kw_only=True)
class Graph:
    """The graph that is drawn."""

    title = "graph"
    graph: str = choice(GRAPHS, "kind of random graph", "erdos-renyi", either="kind")
    adjacency: str | None = read("a graph to use in place of a random one", either="kind")
    variables: int = whole(10, "number of variables", 1)
    edges_per_variable: float = number(1, "edges per variable", metavar="K")


@dataclass(frozen=True, kw_only=True)
class Observations:
    """The rows that are drawn."""

    title = "observations"
    observations: int = whole(1000, "number of rows", 1, metavar="M")
    mechanism: str = choice(MECHANISMS, "functions of the means", "mlp")
    noise: str = choice(NOISES, "model of the standard deviations", "softplus-shared")
    distribution: str = choice(DISTRIBUTIONS, "distribution of the noise", "gaussian")
    spread: float = number(10.0, "largest over smallest bounded spread", low=1)
    standardize: bool = flag("give every column mean zero and standard deviation one")


@dataclass(frozen=True, kw_only=True)
class Simulate(Observations, Graph, Command):
    """The command."""

    summary = "draw a table from a random graph"
    description = "Draw a random graph and observations from it, and write both. See icdh.simulate.simulate_sem."
    data: str = written("file to write the observations to: .csv or .tsv", called="the table")
    truth: str = written(f"file to write the true graph to: {NAMES_OF_FORMATS}", graph_writer, called="the graph")
    seed: int = whole(0, "random seed")
    quiet: bool = flag("print no description")

    def run(self) -> None:
        """Draw, write and describe."""
        import numpy as np

        rng = np.random.default_rng(self.seed)
        graph: NDArray[np.float64 | np.int64]
        if self.adjacency:
            graph, names = read_graph(source(self.adjacency))
        else:
            graph, names = GRAPHS[self.graph](self.variables, self.edges_per_variable, rng), None
        how = {name: getattr(self, name) for name in Observations.__annotations__}
        how["n_observations"] = how.pop("observations")
        data = simulate_sem(graph, **how, random_state=rng)
        write_table(self.data, data.X, names or data.names)
        write_graph(self.truth, data.adjacency, names or data.names)
        if not self.quiet:
            print(*_description(data), sep="\n")


def _names(estimated: list[str], truth: list[str]) -> list[str]:
    """Return the names of all variables: edge lists leave some out, and matrices may have none."""
    for names, others in ((truth, estimated), (estimated, truth)):
        if others == default_names(len(names)):
            return names
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

        files = [(label_of(file), read_text(file, self.encoding)) for file in map(source, (self.estimated, self.truth))]
        read = partial(graph_from_text, delimiter=self.delimiter, decimal=self.decimal or ".")
        names = _names(*(read(*file)[1] for file in files))
        estimated, truth = (read(*file, names)[0] for file in files)
        metrics = evaluate(estimated, truth, threshold=self.threshold)
        rows = [(name, _text(value)) for name, value in metrics.items()]
        print(json.dumps(metrics, indent=2) if self.json else "\n".join(aligned(rows)))
