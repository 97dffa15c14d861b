"""The families to weigh: small sets of each node's best candidates, and the learned families with their neighbours."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np

from icdh.search.moves import Family, Graph
from icdh.search.orders import WeighedFamilies

WITHOUT_REQUIRED = 1e9  # nats that a family without its required parents costs: sums stay finite
Scores = Callable[[Sequence[Family]], Sequence[float]]


def weigh_families(
    scores: Scores,
    graph: Graph,
    forbidden: np.ndarray,
    *,
    required: np.ndarray | None = None,
    n_candidates: int,
    max_parents: int,
    most_parents: int | None = None,
    temperature: float = 1.0,
    prices: np.ndarray | None = None,
) -> WeighedFamilies:
    """Score all families of at most ``max_parents`` parents among the candidates of every node.

    Parameters
    ----------
    scores : callable
        The score of families, in nats; lower is better.
    graph : tuple
        The parents of every node in a good graph. They are candidates; the family itself and its neighbours, one
        candidate more or fewer, are weighed whatever their size.
    forbidden : ndarray of bool, shape (N, N)
        [i, j] is True where the edge i -> j must not appear (the diagonal always).
    required : ndarray of bool, shape (N, N), optional
        [i, j] is True where the edge i -> j must appear, as it does in ``graph``.
    n_candidates : int
        How many candidates a node has, unless ``graph`` gives it more parents.
    max_parents : int
        The most parents of a family, other than those of ``graph`` and their neighbours.
    most_parents : int, optional
        The most parents of the neighbours of families of ``graph``; by default any number.
    temperature : float
        Scores are divided by it: above one where evidence is overconfident.
    prices : ndarray, shape (N, N), optional
        Nats that each edge costs beside the divided score; by default none.

    Returns
    -------
    WeighedFamilies
        Log weights: minus the scores over the temperature, minus prices.
    """
    chosen = choose_candidates(scores, graph, forbidden, n_candidates)
    largest = max(map(len, chosen))
    candidates = np.full((len(graph), largest), -1)
    for node, chosen_of_node in enumerate(chosen):
        candidates[node, : len(chosen_of_node)] = chosen_of_node
    weights = np.full((len(graph), 1 << largest), -np.inf)
    weights[:, 0] = -WITHOUT_REQUIRED
    prices = np.zeros(forbidden.shape) if prices is None else prices
    least = [set() if required is None else set(np.flatnonzero(required[:, node])) for node in range(len(graph))]
    families = {
        (node, parents)
        for node, own in enumerate(chosen)
        for parents in _sets(own, graph[node], max_parents, len(graph) if most_parents is None else most_parents)
        if least[node].issubset(parents)
    }
    for size in range(len(graph)):  # the smaller ones first: larger families are fitted from them
        batch = sorted(family for family in families if len(family[1]) == size)
        for (node, parents), score in zip(batch, scores(batch), strict=True):
            price = prices[list(parents), node].sum()
            weights[node, sum(1 << chosen[node].index(parent) for parent in parents)] = -score / temperature - price
    return WeighedFamilies(candidates, weights)


def choose_candidates(scores: Scores, graph: Graph, forbidden: np.ndarray, n_candidates: int) -> list[list[int]]:
    """Return the candidates of every node by the larger of their gains: alone, and beside the parents of the graph.

    Parameters and result are parts of those of `weigh_families`.
    """
    n_variables = len(graph)
    chosen = []
    for node, parents in enumerate(graph):
        allowed = [i for i in range(n_variables) if not forbidden[i, node]]
        alone = [(node, (i,)) for i in allowed]
        beside = [(node, tuple(sorted({*parents} ^ {i}))) for i in allowed]
        base = scores([(node, ()), (node, parents)])
        gain = {
            i: np.inf if i in parents else max(base[0] - first, base[1] - second)
            for i, first, second in zip(allowed, scores(alone), scores(beside), strict=True)
        }
        ranked = sorted(allowed, key=lambda i: (-gain[i], i))
        chosen.append(ranked[: max(n_candidates, len(parents))])
    return chosen


def _sets(
    candidates: list[int], parents: tuple[int, ...], max_parents: int, most_parents: int
) -> Iterator[tuple[int, ...]]:
    """Yield all small sets of candidates, and the parents of the graph with one candidate more or fewer."""
    for size in range(min(max_parents, len(candidates)) + 1):
        yield from combinations(sorted(candidates), size)
    yield parents
    for i in candidates:
        neighbour = tuple(sorted({*parents} ^ {i}))
        if len(neighbour) <= max(most_parents, len(parents) - 1):
            yield neighbour
