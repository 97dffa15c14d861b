"""Random DAGs whose column order carries no information on the causal order.

Every function returns an int64 adjacency matrix of shape (N, N) in which ``A[i, j] == 1`` means i -> j.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icdh._ground.arrays import Integers, RandomState
from icdh._ground.checks import check_number
from icdh.graphs import check_graph


def erdos_renyi(n_variables: int, edges_per_variable: float, random_state: RandomState = None) -> Integers:
    """Draw a DAG uniformly among the orientations, by a random order, of graphs with exactly k N edges.

    Parameters
    ----------
    n_variables : int
        N.
    edges_per_variable : float
        k; k N must be a whole number of at most N (N - 1) / 2.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    ndarray, shape (N, N)
        The adjacency matrix.

    Raises
    ------
    ValueError
        If no DAG has k N edges.

    Examples
    --------
    >>> from icdh.graphs import is_dag
    >>> from icdh.simulate import erdos_renyi
    >>> graph = erdos_renyi(10, 1, random_state=0)
    >>> graph.shape, is_dag(graph)
    ((10, 10), True)
    """
    causes, effects = np.triu_indices(_n_variables(n_variables), k=1)
    return _draw_edges(n_variables, edges_per_variable, causes, effects, np.random.default_rng(random_state))


def bipartite(
    n_variables: int, edges_per_variable: float, random_state: RandomState = None, *, share_of_causes: float = 0.2
) -> Integers:
    """Draw a DAG with exactly k N edges, each from one of the variables that are causes to one of the others.

    Parameters
    ----------
    n_variables : int
        N.
    edges_per_variable : float
        k; k N must be a whole number of at most the number of causes times the number of effects.
    random_state : int, Generator or None
        Seed.
    share_of_causes : float
        Share of the N variables that are causes, rounded down, but at least one variable.

    Returns
    -------
    ndarray, shape (N, N)
        The adjacency matrix.

    Raises
    ------
    ValueError
        If no such graph has k N edges, or the share is not between 0 and 1.

    Examples
    --------
    >>> from icdh.graphs import is_dag
    >>> from icdh.simulate import bipartite
    >>> graph = bipartite(10, 1, random_state=0)
    >>> graph.shape, is_dag(graph)
    ((10, 10), True)
    """
    check_number("share_of_causes", share_of_causes, low=0)
    if share_of_causes > 1:
        raise ValueError(f"share_of_causes must be at most 1; got {share_of_causes!r}")
    n_causes = max(1, int(share_of_causes * _n_variables(n_variables)))
    causes, effects = np.divmod(np.arange(n_causes * (n_variables - n_causes)), max(1, n_variables - n_causes))
    return _draw_edges(n_variables, edges_per_variable, causes, effects + n_causes, np.random.default_rng(random_state))


def scale_free(n_variables: int, edges_per_variable: float, random_state: RandomState = None) -> Integers:
    """Draw a DAG by preferential attachment: a few variables have very many causes.

    Variables arrive one after the other. Each becomes a cause of k earlier ones (of all, while there are fewer than
    k), chosen without replacement with probabilities proportional to one plus the number of causes that these have.

    Parameters
    ----------
    n_variables : int
        N.
    edges_per_variable : float
        k, a whole number below N; the graph has k N - k (k + 1) / 2 edges.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    ndarray, shape (N, N)
        The adjacency matrix.

    Raises
    ------
    ValueError
        If k is not whole or not below N.

    References
    ----------
    Barabasi, Albert: "Emergence of scaling in random networks", Science 286, 1999.

    Examples
    --------
    >>> from icdh.graphs import is_dag
    >>> from icdh.simulate import scale_free
    >>> graph = scale_free(10, 1, random_state=0)
    >>> graph.shape, is_dag(graph)
    ((10, 10), True)
    """
    _n_variables(n_variables)
    check_number("edges_per_variable", edges_per_variable, low=0)
    n_effects = int(edges_per_variable)
    if n_effects != edges_per_variable:
        raise ValueError(f"edges_per_variable must be a whole number for a scale-free graph; got {edges_per_variable}")
    if n_effects >= n_variables:
        raise ValueError(
            f"edges_per_variable={edges_per_variable} is impossible: one of {n_variables} variables can be a cause of "
            f"at most {n_variables - 1} others; lower it"
        )
    rng = np.random.default_rng(random_state)
    graph = np.zeros((n_variables, n_variables), dtype=np.int64)
    for newcomer in range(1, n_variables):
        attraction = 1.0 + graph[:, :newcomer].sum(axis=0)
        effects = rng.choice(newcomer, size=min(n_effects, newcomer), replace=False, p=attraction / attraction.sum())
        graph[newcomer, effects] = 1
    return relabel(graph, rng)


def relabel(graph: ArrayLike, random_state: RandomState = None) -> NDArray[Any]:
    """Return the graph with its variables in a random order, all orders being equally likely.

    Parameters
    ----------
    graph : array_like, shape (N, N)
        Adjacency matrix, binary or weighted.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    ndarray, shape (N, N)
        A new matrix of the same type.

    Examples
    --------
    >>> from icdh.simulate import erdos_renyi, relabel
    >>> graph = erdos_renyi(10, 1, random_state=0)
    >>> bool(relabel(graph, random_state=1).sum() == graph.sum())
    True
    """
    weights = np.asarray(graph)
    order = np.random.default_rng(random_state).permutation(len(check_graph(weights).weights))
    return weights[np.ix_(order, order)]


GRAPHS = {"erdos-renyi": erdos_renyi, "scale-free": scale_free, "bipartite": bipartite}


def _n_variables(n_variables: int) -> int:
    check_number("n_variables", n_variables, low=1, integer=True)
    return n_variables


def _draw_edges(
    n_variables: int, edges_per_variable: float, causes: Integers, effects: Integers, rng: np.random.Generator
) -> Integers:
    """Draw k N of the possible edges, then relabel the variables."""
    check_number("edges_per_variable", edges_per_variable, low=0)
    n_edges = round(edges_per_variable * n_variables)
    if abs(n_edges - edges_per_variable * n_variables) > 1e-9 * n_variables:
        raise ValueError(
            f"edges_per_variable={edges_per_variable} gives {edges_per_variable * n_variables} edges among "
            f"{n_variables} variables; choose a value that gives a whole number"
        )
    if n_edges > len(causes):
        raise ValueError(
            f"edges_per_variable={edges_per_variable} asks for {n_edges} edges, but such a graph of {n_variables} "
            f"variables has at most {len(causes)}; lower it"
        )
    drawn = rng.choice(len(causes), size=n_edges, replace=False)
    graph = np.zeros((n_variables, n_variables), dtype=np.int64)
    graph[causes[drawn], effects[drawn]] = 1
    return relabel(graph, rng)
