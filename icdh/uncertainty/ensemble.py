"""Many directed acyclic graphs with weights: the probability of edges, of ancestors, of paths."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from icdh._model.export import MOST_EDGES
from icdh._utils.arrays import Floats, Mask
from icdh._utils.checks import Number
from icdh._utils.labels import counted, edge_lines, first, printable, variable_index
from icdh._utils.result import Result
from icdh.graphs import break_cycles, threshold

LEAST = float(np.finfo(float).tiny)
DECIDED = 0.95  # share of the graphs with an edge that have to agree on its direction
PROBABILITY = Number(0, above=True, high=1)


class EdgeBelief(NamedTuple):
    """Probabilities of the relations between two variables.

    Attributes
    ----------
    cause, effect : str
        Their names, in the direction of the higher probability.
    probability : float
        That of cause -> effect.
    reverse : float
        That of effect -> cause.
    ancestor : float
        That of a directed path from cause to effect.
    """

    cause: Hashable
    effect: Hashable
    probability: float
    reverse: float
    ancestor: float

    @property
    def direction(self) -> float:
        """The probability of cause -> effect given an edge between them; zero if there never is one."""
        return self.probability / max(self.probability + self.reverse, LEAST)


@dataclass(frozen=True)
class GraphEnsemble(Result):
    """Directed acyclic graphs of the same variables, each with a weight.

    Attributes
    ----------
    names : list of str
        The labels of the N variables.
    graphs : ndarray of bool, shape (S, N, N)
        ``graphs[s, i, j]`` says whether graph s has the edge i -> j.
    weights : ndarray, shape (S,)
        Probabilities of the graphs; they sum to one.
    """

    names: list[Hashable]
    graphs: Mask
    weights: Floats

    @cached_property
    def edge_probability(self) -> Floats:
        """Probability of i -> j, shape (N, N)."""
        return self._mean(self.graphs)

    @property
    def adjacency_probability(self) -> Floats:
        """Probability of an edge between i and j, in whichever direction, shape (N, N)."""
        return self.edge_probability + self.edge_probability.T

    @property
    def direction_probability(self) -> Floats:
        """Probability of i -> j given an edge between them, shape (N, N), zero where there never is one."""
        return self.edge_probability / np.maximum(self.adjacency_probability, LEAST)

    @cached_property
    def ancestor_probability(self) -> Floats:
        """Probability of a directed path from i to j, shape (N, N), zero on the diagonal."""
        reaches, length = self.graphs, 1
        while length < reaches.shape[-1]:
            steps = reaches.astype(np.float32)
            reaches, length = reaches | (steps @ steps > 0.0), 2 * length  # paths of twice the length
        return self._mean(reaches)

    def records(self) -> list[dict[str, object]]:
        """Return a dict of every edge of `edges`."""
        return [edge._asdict() for edge in self.edges()]

    def to_dict(self) -> dict[str, object]:
        """Return the edges and the number of graphs as what JSON can hold."""
        names = list(map(str, self.names))
        edges = [record | {end: str(record[end]) for end in ("cause", "effect")} for record in self.records()]
        return {"names": names, "n_graphs": len(self.graphs), "edges": edges}

    def path_probability(self, *variables: str | int) -> float:
        """Return the probability that all edges of a directed path are there.

        Parameters
        ----------
        *variables : str or int
            The variables along the path, causes first, by name or index; at least two.

        Raises
        ------
        ValueError
            If there are fewer than two, or one is not a variable of the graphs.
        """
        path = [variable_index(variable, self.names, "path") for variable in variables]
        if len(path) < 2:
            raise ValueError("a path has at least two variables")
        return float(self.weights @ self.graphs[:, path[:-1], path[1:]].all(axis=1))

    def consensus(self, level: float = 0.5) -> Floats:
        """Return the graph of all edges of at least this probability, weighed by it; acyclic by construction.

        Parameters
        ----------
        level : float
            The smallest probability of an edge: above zero, at most one.

        Returns
        -------
        ndarray, shape (N, N)
            ``[i, j]`` is the probability of i -> j where the graph has that edge, else zero. Where edges of at least
            ``level`` form a cycle, which above 0.5 is rare, the least probable one is left out.

        Raises
        ------
        ValueError, TypeError
            If the level is not such a number.
        """
        PROBABILITY.check("level", level)
        return break_cycles(threshold(self.edge_probability, level)).adjacency

    def undecided(self, dag: Floats, level: float = DECIDED) -> Mask:
        """Return the edges of a graph whose direction the ensemble disagrees about.

        On real tables agreement is a hint, not a proof. In 71 public tables, edges between columns with a natural order
        were checked. Where fits to ten halves of the rows agree, 68 % point forward, and 58 % of the others.

        Parameters
        ----------
        dag : ndarray, shape (N, N)
            The graph, for instance ``adjacency_matrix_`` of the fit to all rows.
        level : float
            The share that must agree, among the graphs with an edge between the two variables: above zero, at most 1.

        Returns
        -------
        ndarray of bool, shape (N, N)
            ``[i, j]`` is True where the graph has i -> j, but less than a share ``level`` of the ensemble's graphs with
            an edge between i and j have i -> j.

        Raises
        ------
        ValueError, TypeError
            If the graph is of another shape, or the level is not such a number.
        """
        PROBABILITY.check("level", level)
        if np.shape(dag) != self.edge_probability.shape:
            raise ValueError(f"dag must have shape {self.edge_probability.shape}; got {np.shape(dag)}")
        undecided: Mask = (np.asarray(dag) != 0) & ~(self.direction_probability >= level)
        return undecided

    def edges(self, level: float = 0.0) -> list[EdgeBelief]:
        """Return every pair of variables with an edge whose probability exceeds ``level``, the most probable first."""
        beliefs, p = [], self.edge_probability
        for i, j in combinations(range(len(self.names)), 2):
            if p[i, j] < p[j, i]:
                i, j = j, i
            if p[i, j] > level:
                figures = (float(table[i, j]) for table in (p, p.T, self.ancestor_probability))
                beliefs.append(EdgeBelief(self.names[i], self.names[j], *figures))
        return sorted(beliefs, key=lambda belief: -belief.probability)

    def summary(self) -> str:
        """Return the edges above one in twenty as text: probability, that of the reverse, and of any directed path."""
        shown, n_more = first(self.edges(0.05), MOST_EDGES)
        rows = [
            [printable(cause), printable(effect), *(f"{p:.2f}" for p in probabilities)]
            for cause, effect, *probabilities in shown
        ]
        lines = edge_lines([["cause", "effect", "probability", "reverse", "any path"], *rows]) if rows else []
        rarer = [f"and {n_more} less probable edges"] if n_more else []
        graphs = f"{counted(len(self.graphs), 'graph')} of {counted(len(self.names), 'variable')}"
        return "\n".join([graphs, *lines, *rarer])

    def _mean(self, relations: Mask) -> Floats:
        shares = np.tensordot(self.weights, relations, axes=1)
        return np.where(relations.all(axis=0), 1.0, shares)  # the sum of the weights may be one but for rounding
