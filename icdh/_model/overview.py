"""A fitted model in a few lines, for terminals and for notebooks."""

from html import escape
from typing import TYPE_CHECKING

from icdh import graphs
from icdh._ground.labels import edge_lines, html_table

if TYPE_CHECKING:
    from icdh._model.hidden import HiddenCause
    from icdh._model.structural import StructuralModel

MOST_EDGES = 30


def headline(model: "StructuralModel") -> str:
    """Return one line: the estimator, the number of edges, and the size of the table."""
    observations = model.about.get("n_observations")
    learner = model.about.get("estimator", "a structural model")
    source = f"{observations} observations of " if observations else ""
    return f"{learner}: {source}{len(model.names)} variables, {(model.adjacency != 0).sum()} edges"


def weight_unit(model: "StructuralModel") -> str:
    """Return what the weights of the edges are: "nats" or "weight"."""
    return "nats" if model.about.get("estimator") == "HNMSearch" else "weight"


def summary(model: "StructuralModel") -> str:
    """Return in a few lines who learned what, and the strongest edges."""
    heading, rows, weaker = _edges(model)
    hidden = [hidden_line(cause) for cause in model.hidden_causes]
    return "\n".join([headline(model), *(edge_lines([heading, *rows]) if rows else []), *weaker, *hidden])


def hidden_line(cause: "HiddenCause") -> str:
    """Return what is known of a hidden cause in one line."""
    loadings = ", ".join(f"{child} {loading:.3g}" for child, loading in zip(*cause[:2], strict=True))
    return f"hidden common cause, {cause.strength:.3g} nats, adds per standard deviation: {loadings}"


def as_html(model: "StructuralModel") -> str:
    """Return the summary as a piece of HTML, text escaped, for notebooks."""
    heading, rows, weaker = _edges(model)
    hidden = [escape(hidden_line(cause)) for cause in model.hidden_causes]
    more = "".join(f"<p>{line}</p>" for line in [*weaker, *hidden])
    return f"<div><p><strong>{escape(headline(model))}</strong></p>{html_table(heading, rows)}{more}</div>"


def _edges(model: "StructuralModel") -> tuple[list[str], list[list[str]], list[str]]:
    """Return heading and rows of the strongest edges, all of it text, and a line about the others if there are any."""
    edges = graphs.strongest_first(model.adjacency)
    columns = {weight_unit(model): (model.adjacency, ".3g")}
    if model.edge_probability is not None:
        columns["probability"] = (model.edge_probability, ".2f")
    rows = [
        [str(model.names[i]), str(model.names[j]), *(format(values[i, j], form) for values, form in columns.values())]
        for i, j in edges[:MOST_EDGES]
    ]
    weaker = [f"and {len(edges) - MOST_EDGES} weaker edges"] if len(edges) > MOST_EDGES else []
    return ["cause", "effect", *columns], rows, weaker
