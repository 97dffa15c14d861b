"""What a model shows of itself: edge lists, files, graphs of other libraries, pictures, pages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from icdh import graphs
from icdh._model import overview
from icdh.files import graph_writer


class Reporting:
    """The part of a `StructuralModel` that reports."""

    def edge_list(self) -> Any:
        """Return the edges as tuples (cause, effect, weight), strongest first; a DataFrame if ``fit`` saw one."""
        return self._as_records(graphs.edge_list(self.adjacency, self.names), graphs.Edge._fields)

    def to_networkx(self) -> Any:
        """Return the DAG as a networkx.DiGraph whose edges carry ``weight``; needs the extra ``[graph]``."""
        return graphs.to_networkx(self.adjacency, self.names)

    def to_dot(self) -> str:
        """Return the DAG in the DOT language of Graphviz."""
        return graphs.to_dot(self.adjacency, self.names)

    def to_graphml(self) -> str:
        """Return the DAG in GraphML, weights as data of the edges."""
        return graphs.to_graphml(self.adjacency, self.names)

    def to_json(self) -> str:
        """Return the DAG as the JSON that `icdh.files.read_graph` reads: names, and edges with their weights."""
        return graph_writer("graph.json")(self.adjacency, list(map(str, self.names)))

    def to_dowhy(self) -> Any:
        """Return the model, graph and mechanisms, as a dowhy.gcm.InvertibleStructuralCausalModel that is fitted.

        DoWhy's functions for interventions, counterfactuals, attributions and root causes then ask this model; their
        randomness is numpy's global state, as ever in DoWhy. Variables are called by the text of their names. Needs
        the extra ``[dowhy]``.

        Raises
        ------
        MissingExtraError
            If DoWhy is not installed.
        """
        from icdh._model.export import to_dowhy

        return to_dowhy(self)

    def to_pgmpy(self) -> Any:
        """Return the DAG as a pgmpy.base.DAG whose edges carry ``weight``; needs the extra ``[pgmpy]``.

        pgmpy's own models are of tables of probabilities or linear: the mechanisms stay here.

        Raises
        ------
        MissingExtraError
            If pgmpy is not installed.
        """
        from icdh._model.export import to_pgmpy

        return to_pgmpy(self)

    def save(self, path: str | Path, *, edge_probability: ArrayLike | None = None) -> None:
        """Write the model into a file that `icdh.load` reads back to the last bit, without pickle.

        Parameters
        ----------
        path : str or Path
            The file; by convention it ends in ``.icdh``.
        edge_probability : array_like, shape (N, N), optional
            What to keep beside the model, as by `with_edge_probability`; by default its own, if it has any.

        Raises
        ------
        ValueError
            If these are no probabilities of the model's edges.
        OSError
            If the file cannot be written; an older one then stays as it was.
        """
        from icdh._model.persist import write_model

        write_model(path, self if edge_probability is None else self.with_edge_probability(edge_probability))

    def summary(self) -> str:
        """Return in a few lines who learned what, and the strongest edges."""
        return overview.summary(self)

    def _repr_html_(self):
        """Show the summary in a notebook."""
        return overview.as_html(self)

    def plot(self, ax: Any = None):
        """Draw the graph, and return the matplotlib figure; needs the extra ``[plot]``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        from icdh.plotting import plot_graph

        return plot_graph(self.adjacency, [str(name) for name in self.names], ax, unit=overview.weight_unit(self))

    def report(
        self,
        path: str | Path,
        X: Any = None,
        *,
        edge_probability: ArrayLike | None = None,
        check: Any = None,
        notes: Sequence[str] = (),
        command: str = "",
        title: str = "",
        doubtful: ArrayLike | None = None,
        doubt: str = "",
    ) -> None:
        """Write one HTML page of what was learned, without links to anything outside it.

        It shows the table, the graph (to pan, zoom and point at), the edges with the fitted mean and spread of every
        effect, residual checks, total effects, the assumptions with what speaks against them, and what made it. Needs
        the extra ``[report]``.

        Parameters
        ----------
        path : str or Path
            The file, by convention ending in ``.html``.
        X : array_like or DataFrame, shape (M, N), optional
            The observations; without them the table and the residuals are left out.
        edge_probability : array_like, shape (N, N), optional
            As of `with_edge_probability`; by default the model's own, if it has any.
        check : icdh.diagnostics.ModelCheck, optional
            What `icdh.check` found; without it that section is left out.
        notes : sequence of str
            What deserves attention, such as the warnings of ``fit``; shown above the table.
        command, title : str
            What made the page, and its title.
        doubtful : array_like of bool, shape (N, N), optional
            The edges whose direction is in doubt; they are marked.
        doubt : str
            What the mark means.

        Raises
        ------
        MissingExtraError
            If Jinja2 is not installed.
        ValueError, TypeError
            If X does not have the columns of ``fit``, or the probabilities are not of shape (N, N).
        OSError
            If the file cannot be written; an older one then stays as it was.
        """
        from icdh._model.findings import findings
        from icdh.report import write_page

        model = self if edge_probability is None else self.with_edge_probability(edge_probability)
        words = {"notes": notes, "command": command, "title": title, "doubtful": doubtful, "doubt": doubt}
        write_page(path, findings(model, X, check=check, **words))
