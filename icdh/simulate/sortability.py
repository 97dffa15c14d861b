"""How much of the causal order the marginal statistics of a table give away.

Simulated effects tend to have a larger variance, and to be better explained by the other variables, than their causes.
A method that sorts by such a statistic looks good on such data and fails on real ones.

References
----------
Reisach, Seiler, Weichwald: "Beware of the simulated DAG! Causal discovery benchmarks may be easy to game",
NeurIPS 2021.
Reisach, Tami, Seiler, Chambaz, Weichwald: "A scale-invariant sorting criterion to find a causal order in additive
noise models", NeurIPS 2023.
"""

import numpy as np

from icdh._ground.arrays import Floats
from icdh._ground.regression import explained_variance
from icdh._table.table import Table
from icdh.graphs import causal_order, check_graph

TIE = 1e-9  # relative difference below which two statistics count as equal


def varsortability(X: object, graph: object) -> float:
    """Share of the directed paths along which the variance increases from the first variable to the last.

    Parameters
    ----------
    X : array_like, shape (M, N)
        Observations.
    graph : array_like, shape (N, N), or networkx graph
        The true DAG.

    Returns
    -------
    float
        In [0, 1]: 0.5 if the variance says nothing, 1 if sorting by it gives a causal order. Every pair of variables
        counts once for every length of the paths between them, and half if both variances are equal.

    Raises
    ------
    ValueError
        If the graph has cycles, no edges, or other than N variables.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.simulate import varsortability
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> varsortability(np.column_stack([x, 2.0 * x + rng.normal(size=500)]), np.array([[0, 1], [0, 0]]))
    1.0
    """
    return _sortability(Table.of(X).values.T.var(axis=0), graph)


def r2_sortability(X: object, graph: object) -> float:
    """Share of the directed paths along which R2 increases from the first variable to the last.

    R2 is the share of the variance of a variable that a linear regression on all others explains. It does not
    depend on units.

    Parameters
    ----------
    X : array_like, shape (M, N)
        Observations.
    graph : array_like, shape (N, N), or networkx graph
        The true DAG.

    Returns
    -------
    float
        In [0, 1], as for `varsortability`.

    Raises
    ------
    ValueError
        If the graph has cycles, no edges, or other than N variables.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.simulate import r2_sortability
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> r2_sortability(np.column_stack([x, 2.0 * x + rng.normal(size=500)]), np.array([[0, 1], [0, 0]]))
    0.5
    """
    return _sortability(explained_variance(Table.of(X).values.T), graph)


def _sortability(statistic: Floats, graph: object) -> float:
    edges = check_graph(graph).weights != 0
    if len(edges) != len(statistic):
        raise ValueError(f"X has {len(statistic)} columns and graph {len(edges)} variables; they must agree")
    if not edges.any():
        raise ValueError("graph has no edges, so that there are no paths along which to sort")
    causal_order(edges)
    difference = statistic - statistic[:, None]
    tied = np.abs(difference) <= TIE * np.maximum(np.abs(statistic), np.abs(statistic[:, None]))
    increases = np.where(tied, 0.5, difference > 0)
    n_paths, n_increasing = 0, 0.0
    connected = edges
    while connected.any():
        n_paths += connected.sum()
        n_increasing += increases[connected].sum()
        connected = connected @ edges
    return float(n_increasing / n_paths)
