"""Results for readers: what all are alike in; fitted models in a few lines, and for DoWhy, pgmpy and causal-learn.

Every result prints as a summary, becomes a dict or a frame, and draws itself by the shell. DoWhy gets graph and
mechanisms of a model; pgmpy and causal-learn get the graph.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from importlib import import_module
from types import ModuleType
from typing import Literal

import numpy as np

from icdh import graphs
from icdh._model.causal import CausalModel
from icdh._utils.arrays import Floats, Foreign
from icdh._utils.labels import edge_lines, first, printable, texts
from icdh.exceptions import import_extra

MOST_EDGES = 30


def preformatted(text: str) -> str:
    """Return lines of text as HTML, for notebooks."""
    return f"<pre>{escape(text)}</pre>"


class Result(ABC):
    """Base of results."""

    @abstractmethod
    def summary(self) -> str:
        """Return the result in plain words."""

    @abstractmethod
    def to_dict(self) -> dict[str, object]:
        """Return all of it as what JSON can hold: dicts, lists, text, numbers, None."""

    @abstractmethod
    def records(self) -> list[dict[str, object]]:
        """Return its rows: a dict of each edge, or of what else it is about."""

    def to_frame(self) -> Foreign:
        """Return its rows as a pandas DataFrame.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        return import_extra("pandas", "dataframe").DataFrame(self.records())

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """Show the summary in a notebook."""
        return preformatted(self.summary())


def shell(room: Literal["plotting", "report"]) -> ModuleType:
    """Return a room of the shell, `icdh.plotting` or `icdh.report`: the one door to what draws results and their page.

    It is loaded when it is asked for. Nothing else in the core may reach into the shell.
    """
    return import_module(f"icdh.{room}")


def to_dowhy(model: CausalModel) -> Foreign:
    """Return the model, graph and mechanisms, as a dowhy.gcm.InvertibleStructuralCausalModel that is fitted.

    DoWhy's functions for interventions, counterfactuals, attributions and root causes then ask this model; their
    randomness is numpy's global state, as ever in DoWhy. Variables are called by the text of their names. Needs
    the extra ``[dowhy]``.

    Raises
    ------
    MissingExtraError
        If DoWhy is not installed.
    """
    if model.nominal:
        label = model.names[min(model.nominal)]
        raise ValueError(f"column {label!r} holds labels, which have no place in an invertible model of DoWhy's")
    has_causes, laws = model.adjacency.any(axis=0), [given.law for given in model.conditionals]
    discrete = np.array([n in model.columns.levels or law.is_discrete for n, law in enumerate(laws)])
    if levels := [model.names[n] for n in np.flatnonzero(discrete & has_causes)]:
        raise ValueError(
            f"column {levels[0]!r} has causes and few values or counts, from which an invertible model of DoWhy's "
            f"cannot get its noise back; learn it as a number: kinds={{{levels[0]!r}: 'gridded'}}"
        )
    if masses := [model.names[n] for n in model.columns.masses if model.adjacency[:, n].any()]:
        raise ValueError(
            f"column {masses[0]!r} has causes and a point mass, from which an invertible model of DoWhy's cannot get "
            "its noise back; pass the graph alone, as to_networkx gives it"
        )
    gcm = import_extra("dowhy.gcm", "dowhy")
    parents_key = import_extra("dowhy.gcm.causal_models", "dowhy").PARENTS_DURING_FIT
    ordered_parents = import_extra("dowhy.graph", "dowhy").get_ordered_predecessors
    root, effect = _mechanisms(gcm)
    names = texts(model.names)
    graph = import_extra("networkx", "graph").DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from((names[i], names[j]) for i, j in np.argwhere(model.adjacency).tolist())
    causal_model = gcm.InvertibleStructuralCausalModel(graph)
    for node, name in enumerate(names):
        parents = ordered_parents(graph, name)
        causes = [names.index(parent) for parent in parents]
        causal_model.set_causal_mechanism(name, effect(model, node, causes) if causes else root(model, node))
        causal_model.graph.nodes[name][parents_key] = parents
    return causal_model


class _Mechanism:
    """One variable of a model as a function of its causes and its standardised noise, in the units of the data."""

    def __init__(self, model: CausalModel, node: int, causes: Sequence[int] = ()):
        self.model, self.node, self.causes = model, node, list(causes)

    def given(self, rows: Floats, n_rows: int) -> Floats:
        """Return scaled observations, shape (N, n_rows), with these causes, one a column, and all else at its mean."""
        model = self.model
        values = np.repeat(model.columns.centre[:, np.newaxis], n_rows, axis=1)
        for cause, column in zip(self.causes, np.reshape(rows, (n_rows, -1)).T, strict=True):
            values[cause] = model.columns.scaled_action(cause, np.asarray(column, dtype=np.float64))
        return values

    def fit(self, *data: object) -> None:
        """Do nothing: the mechanism is that of the fitted model."""

    def clone(self) -> "_Mechanism":
        return type(self)(self.model, self.node, self.causes)

    def draw_noise_samples(self, num_samples: int) -> Floats:
        """Draw standardised noise, shape (num_samples, 1)."""
        seed = np.random.randint(2**31)  # noqa: NPY002 - all of DoWhy draws from numpy's global state
        law = self.model.conditionals[self.node].law
        return law.draw_noise(num_samples, np.random.default_rng(seed))[:, np.newaxis]

    def evaluate(self, parent_samples: Floats, noise_samples: Floats) -> Floats:
        """Return the variable given its causes, one a column, and its noise, both of shape (n_rows, 1)."""
        values = self.given(parent_samples, len(noise_samples))
        drawn = self.model.conditionals[self.node].draw(values, np.ravel(noise_samples))
        return self.model.in_units(self.node, drawn)[:, np.newaxis]

    def estimate_noise(self, target_samples: Floats, parent_samples: Floats) -> Floats:
        """Return the noise of observed values, both of shape (n_rows, 1), given the causes, one a column."""
        model, observed = self.model, np.ravel(target_samples).astype(np.float64)
        values = self.given(parent_samples, observed.size)
        noise = model.conditionals[self.node].noise(model.columns.scaled_action(self.node, observed), values)
        return np.full(target_samples.shape, np.nan) if noise is None else noise[:, np.newaxis]


def _mechanisms(gcm: Foreign) -> tuple[Foreign, Foreign]:
    """Return the classes of a variable without, and of one with causes."""
    stochastic: Foreign = gcm.causal_mechanisms.StochasticModel
    invertible: Foreign = gcm.causal_mechanisms.InvertibleFunctionalCausalModel

    class Root(_Mechanism, stochastic):  # type: ignore[misc]  # a class of an optional package
        """A variable without causes, as icdh fitted it."""

        def draw_samples(self, num_samples: int) -> Floats:
            return self.evaluate(np.empty((num_samples, 0)), self.draw_noise_samples(num_samples))

    class Effect(_Mechanism, invertible):  # type: ignore[misc]
        """A variable and its causes, as icdh fitted them; its noise is standardised."""

    return Root, Effect


def to_pgmpy(model: CausalModel) -> Foreign:
    """Return the DAG as a pgmpy.base.DAG whose edges carry ``weight``; needs the extra ``[pgmpy]``.

    pgmpy's own models are of tables of probabilities or linear: the mechanisms stay here.

    Raises
    ------
    MissingExtraError
        If pgmpy is not installed.
    """
    names = texts(model.names)
    dag = import_extra("pgmpy.base", "pgmpy").DAG()
    dag.add_nodes_from(names)
    for i, j in np.argwhere(model.adjacency).tolist():
        dag.add_edge(names[i], names[j], weight=float(model.adjacency[i, j]))
    return dag


def to_causallearn(model: CausalModel) -> Foreign:
    """Return the DAG as a causallearn.graph.GeneralGraph.GeneralGraph; needs the extra ``[causal-learn]``.

    Its matrix has -1 in row i and 1 in row j of an edge i -> j: ``graph[j, i] == 1 and graph[i, j] == -1``.

    Raises
    ------
    MissingExtraError
        If causal-learn is not installed.
    """
    package = "causallearn.graph"
    GraphNode = import_extra(f"{package}.GraphNode", "causal-learn").GraphNode
    GeneralGraph = import_extra(f"{package}.GeneralGraph", "causal-learn").GeneralGraph
    nodes = [GraphNode(name) for name in texts(model.names)]
    graph = GeneralGraph(nodes)
    for i, j in np.argwhere(model.adjacency).tolist():
        graph.add_directed_edge(nodes[i], nodes[j])
    return graph


def headline(model: CausalModel) -> str:
    """Return one line: the estimator, the number of edges, and the size of the table."""
    observations = model.about.get("n_observations")
    learner = model.about.get("estimator", "a structural model")
    source = f"{observations} observations of " if observations else ""
    return f"{learner}: {source}{len(model.names)} variables, {(model.adjacency != 0).sum()} edges"


def weight_unit(model: CausalModel) -> str:
    """Return what the weights of the edges are: "nats" or "weight"."""
    return model.about.get("weight_unit", "weight")


def summary(model: CausalModel) -> str:
    """Return in a few lines who learned what, and the strongest edges."""
    shown, n_more = first(graphs.strongest_first(model.adjacency), MOST_EDGES)
    columns = {weight_unit(model): (model.adjacency, ".3g")}
    if model.edge_evidence.probability is not None:
        columns["probability"] = (model.edge_evidence.probability, ".2f")
    names = [printable(name) for name in model.names]
    rows = [[names[i], names[j], *(format(values[i, j], form) for values, form in columns.values())] for i, j in shown]
    lines = edge_lines([["cause", "effect", *columns], *rows]) if rows else []
    weaker = [f"and {n_more} weaker edges"] if n_more else []
    return "\n".join([headline(model), *lines, *weaker])
