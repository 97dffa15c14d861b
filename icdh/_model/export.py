"""Fitted models for readers, in a few lines."""

from icdh import graphs
from icdh._model.causal import CausalModel
from icdh._utils.labels import edge_lines, first, printable

MOST_EDGES = 30


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
