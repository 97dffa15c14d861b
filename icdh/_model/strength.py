"""The strength of the edges of a fitted model, in nats, and the graph of the strong ones."""

from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from icdh._ground.arrays import Floats, Mask
from icdh._ground.density import node_nll
from icdh.exceptions import option
from icdh.graphs import strongest_first

if TYPE_CHECKING:
    from icdh._model.structural import StructuralModel
    from icdh.network import NetworkConditional


def strength_of_inputs(
    model: "StructuralModel", values: Floats, rows: Mask | None = None, among: Mask | None = None
) -> Floats:
    """Return how many nats of log-likelihood the data lose when an input of a conditional is held at its mean.

    Parameters
    ----------
    model : StructuralModel
        The fitted model, whose conditionals are those of a network.
    values : ndarray, shape (N, M)
        Scaled observations.
    rows : ndarray of bool, shape (N, M), optional
        The observations that count for each variable; by default all.
    among : ndarray of bool, shape (N, N), optional
        The edges to compute; by default all. The strength of others is zero.

    Returns
    -------
    ndarray, shape (N, N)
        [i, n] is the strength of the input i of n, in nats over all observations; at least zero.
    """
    strength = np.zeros((len(values), len(values)))
    among = np.ones(strength.shape, dtype=bool) if among is None else among
    for n, conditional in enumerate(cast("list[NetworkConditional]", model.conditionals)):
        nll = partial(node_nll, values[n], rows=None if rows is None else rows[n])
        fitted = nll(*conditional.mean_and_scale(values)) if len(conditional.inputs) else 0.0
        for i, mean, scale in conditional.with_each_input_held(values, model.centre, among[:, n]):
            strength[i, n] = max(values.shape[1] * nll(mean, scale) - values.shape[1] * fitted, 0.0)
    return strength


def strong_edges(A: Floats, strength: Floats, min_strength: float, max_edges: int | None, required: Mask) -> Floats:
    """Return the graph without its weak edges.

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
    required : ndarray of bool, shape (N, N)
        Edges to keep whatever their strength; they count towards ``max_edges``.
    """
    order = sorted(strongest_first(A), key=lambda edge: (not required[edge], -strength[edge]))
    kept = np.zeros_like(A)
    for count, edge in enumerate(order):
        if required[edge] or (strength[edge] >= min_strength and (max_edges is None or count < max_edges)):
            kept[edge] = A[edge]
    return kept


def density_warning(A: Floats) -> str | None:
    """Return what to say of a graph with more than half of the possible edges; None of any other."""
    N, edges = len(A), np.count_nonzero(A)
    possible = N * (N - 1) // 2
    if N < 8 or 2 * edges <= possible:  # among fewer variables so dense a graph is nothing remarkable
        return None
    return (
        f"{edges} of {possible} possible edges: so dense a graph says little, and common causes that were not measured "
        f"may be behind it; keep the strongest by {option('min_strength')} or {option('max_edges')}"
    )
