"""Rules about edges as masks: every fit reads background knowledge in this form."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from icdh import graphs
from icdh._ground.arrays import Floats, Mask
from icdh._ground.checks import aligned


class EdgeRules(NamedTuple):
    """Forbidden and required edges. The rules are consistent: at least one DAG satisfies them.

    Attributes
    ----------
    forbidden : ndarray of bool, shape (N, N)
        [i, j] is True where i -> j must not appear. This includes the diagonal and every edge that would close a cycle
        of required edges.
    required : ndarray of bool, shape (N, N)
        [i, j] is True where i -> j must appear.
    """

    forbidden: np.ndarray
    required: np.ndarray

    @classmethod
    def of(cls, forbidden: np.ndarray, required: np.ndarray | None = None) -> "EdgeRules":
        """Return the rules that follow from forbidden and required edges; the required edges must form a DAG."""
        if required is None:
            required = np.zeros_like(forbidden)
        return cls(forbidden | graphs.descendants(required).T | np.eye(len(required), dtype=bool), required)

    @property
    def required_parents(self) -> tuple[tuple[int, ...], ...]:
        """The causes that every variable has to have: the smallest graph that obeys the rules."""
        return tuple(tuple(np.flatnonzero(causes).tolist()) for causes in self.required.T)

    @property
    def settled(self) -> Mask:
        """Which edges have no other direction: they are required, or their reverses are forbidden; shape (N, N)."""
        settled: Mask = self.required | self.forbidden.T
        return settled

    def among(self, variables: np.ndarray) -> "EdgeRules":
        """Return the rules among some variables, given by index or mask, in that order."""
        at = np.ix_(variables, variables)
        return EdgeRules(self.forbidden[at], self.required[at])

    def dag(self, A: np.ndarray, threshold: float = 0.0) -> graphs.AcyclicPart:
        """Return the DAG that remains without weak edges and without the weakest edge of each cycle.

        Required edges stay. A required edge of weight zero gets the smallest weight there is.
        """
        kept = np.where(self.required, np.maximum(A, np.finfo(float).tiny), graphs.threshold(A, threshold))
        return graphs.break_cycles(kept, self.required)

    def strong(self, A: Floats, strength: Floats, min_strength: float, max_edges: int | None) -> Floats:
        """Return a graph without its weak edges; required edges stay, and count as the first.

        Parameters
        ----------
        A : ndarray, shape (N, N)
            A weighted adjacency matrix.
        strength : ndarray, shape (N, N)
            The strength of its edges, in nats.
        min_strength : float
            Weaker edges are removed.
        max_edges : int or None
            The most edges to keep, the strongest first; None keeps all.
        """
        order = sorted(graphs.strongest_first(A), key=lambda edge: (not self.required[edge], -strength[edge]))
        kept = np.zeros_like(A)
        for count, edge in enumerate(order):
            if self.required[edge] or (strength[edge] >= min_strength and (max_edges is None or count < max_edges)):
                kept[edge] = A[edge]
        return kept


def forbidden_mask(forbidden_edges: ArrayLike | None, names: Sequence[Hashable]) -> np.ndarray:
    """Return the mask of forbidden edges, shape (N, N), its diagonal forbidden; None forbids self-loops alone.

    Parameters
    ----------
    forbidden_edges : array_like of bool, shape (N, N), or DataFrame, or None
        ``forbidden_edges[i, j]`` is True where the edge i -> j must not appear. A frame's labels are those of the
        variables, in any order.
    names : sequence
        N labels.

    Raises
    ------
    TypeError
        If the mask is not boolean.
    ValueError
        If its shape is not (N, N), or it has labels that are not those of the variables.
    """
    n_variables = len(names)
    mask = np.eye(n_variables, dtype=bool)
    if forbidden_edges is None:
        return mask
    given = aligned(forbidden_edges, names, "forbidden_edges", square=True)
    if given.shape != (n_variables, n_variables):
        raise ValueError(
            f"forbidden_edges must have shape ({n_variables}, {n_variables}), one row and column a variable; "
            f"got {given.shape}"
        )
    if given.dtype != bool:
        raise TypeError(f"forbidden_edges must be boolean, got {given.dtype}; convert with .astype(bool)")
    mask |= given
    return mask
