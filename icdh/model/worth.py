"""What the edges of a fitted model are worth, and the graph of those that are worth enough."""

from typing import Any

import numpy as np

from icdh.density import gaussian_nll
from icdh.graphs import strongest_first

FEWEST_VARIABLES = 8  # of fewer, more than half of the possible edges is nothing remarkable


def worth_of_inputs(
    model: Any, values: np.ndarray, rows: np.ndarray | None = None, among: np.ndarray | None = None
) -> np.ndarray:
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
        The edges to weigh; by default all. What others are worth is zero.

    Returns
    -------
    ndarray, shape (N, N)
        [i, n] is what i is worth to the distribution of n, over all observations; at least zero.
    """
    worth = np.zeros((len(values), len(values)))
    among = np.ones(worth.shape, dtype=bool) if among is None else among
    for n, conditional in enumerate(model.conditionals):
        node = slice(n, n + 1)
        counts = None if rows is None else rows[node]

        def nll(mean, scale, node=node, counts=counts):
            return values.shape[1] * gaussian_nll(values[node], mean[np.newaxis], scale[np.newaxis], counts)

        fitted = nll(*conditional.mean_and_scale(values)) if len(conditional.inputs) else 0.0
        for i, mean, scale in conditional.with_each_input_held(values, model.centre, among[:, n]):
            worth[i, n] = max(nll(mean, scale) - fitted, 0.0)
    return worth


def worthy_edges(
    A: np.ndarray, worth: np.ndarray, min_worth: float, max_edges: int | None, required: np.ndarray
) -> np.ndarray:
    """Return the graph without edges worth too little, and of the others those worth most.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        A weighted adjacency matrix.
    worth : ndarray, shape (N, N)
        What its edges are worth, in nats.
    min_worth : float
        Edges worth less go.
    max_edges : int or None
        The most edges that stay; None for any number.
    required : ndarray of bool, shape (N, N)
        Edges that stay whatever they are worth; they count as the first.
    """
    order = sorted(strongest_first(A), key=lambda edge: (not required[edge], -worth[edge]))
    kept = np.zeros_like(A)
    for count, edge in enumerate(order):
        if required[edge] or (worth[edge] >= min_worth and (max_edges is None or count < max_edges)):
            kept[edge] = A[edge]
    return kept


def density_warning(A: np.ndarray) -> str | None:
    """Return what to say of a graph with more than half of the possible edges; None of any other."""
    N, edges = len(A), np.count_nonzero(A)
    possible = N * (N - 1) // 2
    if N < FEWEST_VARIABLES or 2 * edges <= possible:
        return None
    return (
        f"{edges} of {possible} possible edges: so dense a graph says little, and common causes that were not measured "
        "may be behind it; keep the edges worth most by min_worth= or max_edges=, or by rethreshold"
    )
