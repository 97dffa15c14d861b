"""Sums and maxima over all orders of the variables: the best graph, and the probability of every family.

The weight of a graph is the product of the weights of its families. An order puts causes before effects. Given an
order, every node chooses its parents among its predecessors independently of the others. So a sum over graphs is a sum
over orders of products of sums, which are formed set by set (Koivisto and Sood; Silander and Myllymäki).

The families that are weighed: small sets of each node's best candidates, and the learned families with their
neighbours.

Kernels do this by dynamic programming over the 2^N sets of variables. ``tables[n, k]`` is the log weight of node n when
k is the set of its candidates that come before it. A set of candidates is an integer whose bit b stands for
``candidates[n, b]`` (-1: none); so is a set of variables.

References
----------
Koivisto and Sood, "Exact Bayesian structure discovery in Bayesian networks", JMLR 5 (2004).
Silander and Myllymäki, "A simple approach for finding the globally optimal Bayesian network structure", UAI 2006.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from icdh._utils.arrays import Floats, Integers
from icdh._utils.jit import kernel
from icdh.knowledge import EdgeRules
from icdh.search.climb import Family, Graph, toggled

MOST_VARIABLES = 22  # of sums over all orders: memory and time double with every further one
WITHOUT_REQUIRED = 1e9  # nats that a family without its required parents costs: sums stay finite
Scores = Callable[[Sequence[Family]], Sequence[float]]


@kernel()
def before(candidates: Integers, n: int, variables: int) -> int:
    """Return which candidates of node n are in a set of variables, as the bits of an integer."""
    found = 0
    for b in range(candidates.shape[1]):
        if candidates[n, b] >= 0:
            found |= ((variables >> candidates[n, b]) & 1) << b
    return found


@kernel()
def log_add(a: float, b: float) -> float:
    """Return log(exp(a) + exp(b))."""
    larger, smaller = max(a, b), min(a, b)
    return larger if smaller == -math.inf else larger + math.log1p(math.exp(smaller - larger))


@kernel()
def best_last(tables: Floats, candidates: Integers, value: Floats, last: Integers) -> None:
    """Find the best order of every set of variables.

    Parameters
    ----------
    tables : ndarray, shape (N, 2^K)
        Log weights.
    candidates : ndarray of int, shape (N, K)
        The candidates of every node.
    value : ndarray, shape (2^N,)
        Is filled with the log weight of the best order of every set.
    last : ndarray of int, shape (2^N,)
        Is filled with the last variable of that order.
    """
    n_variables = tables.shape[0]
    value[0] = 0.0
    for variables in range(1, value.size):
        value[variables] = -math.inf
        for n in range(n_variables):
            if (variables >> n) & 1:
                rest = variables ^ (1 << n)
                reached = value[rest] + tables[n, before(candidates, n, rest)]
                if reached > value[variables]:
                    value[variables], last[variables] = reached, n


@kernel()
def sums_of_orders(tables: Floats, candidates: Integers, first: Floats) -> None:
    """Fill the logarithms of sums over orders.

    Parameters
    ----------
    tables : ndarray, shape (N, 2^K)
        Log weights.
    candidates : ndarray of int, shape (N, K)
        The candidates of every node.
    first : ndarray, shape (2^N,)
        Is filled, for every set, with the sum over its orders when it comes first.
    """
    first[0] = 0.0
    for variables in range(1, first.size):
        first[variables] = -math.inf
        for n in range(tables.shape[0]):
            if (variables >> n) & 1:
                others = variables ^ (1 << n)
                weight = first[others] + tables[n, before(candidates, n, others)]
                first[variables] = log_add(first[variables], weight)


@kernel()
def draw_orders(tables: Floats, candidates: Integers, first: Floats, uniforms: Floats, orders: Integers) -> None:
    """Draw orders from their posterior, from the last variable to the first.

    Parameters
    ----------
    tables : ndarray, shape (N, 2^K)
        Log weights.
    candidates : ndarray of int, shape (N, K)
        The candidates of every node.
    first : ndarray, shape (2^N,)
        The sums of `sums_of_orders`.
    uniforms : ndarray, shape (n_orders, N)
        Uniform random numbers.
    orders : ndarray of int, shape (n_orders, N)
        Is filled, one order a row.
    """
    n_variables = tables.shape[0]
    for s in range(orders.shape[0]):
        variables = first.size - 1
        for place in range(n_variables - 1, -1, -1):
            left, chosen = uniforms[s, place], -1
            for n in range(n_variables):
                if (variables >> n) & 1:
                    rest = variables ^ (1 << n)
                    weight = first[rest] + tables[n, before(candidates, n, rest)] - first[variables]
                    if weight > -math.inf:
                        chosen = n
                        left -= math.exp(weight)
                        if left < 0.0:
                            break
            orders[s, place] = chosen
            variables ^= 1 << chosen


@kernel()
def count_orders(parents: Integers, counts: Floats) -> float:
    """Return how many orders put every variable behind its parents.

    Parts of the graph without an edge between them are counted apart: their orders interleave freely.

    Parameters
    ----------
    parents : ndarray of int, shape (N,)
        The set of the parents of every variable.
    counts : ndarray, shape (2^N,)
        Work space.
    """
    orders, placed, left = 1.0, 0, (1 << parents.size) - 1
    while left:
        part = _connected(parents, left & -left)
        orders *= _orders_of_part(parents, part, counts)
        k = 0
        for n in range(parents.size):
            if (part >> n) & 1:
                k, placed = k + 1, placed + 1
                orders = orders * placed / k
        left ^= part
    return orders


@kernel()
def _connected(parents: Integers, part: int) -> int:
    """Return all variables that a path joins to a set of variables, whatever its directions."""
    before = 0
    while part != before:
        before = part
        for n in range(parents.size):
            if (part >> n) & 1 or parents[n] & part:
                part |= parents[n] | (1 << n)
    return part


@kernel()
def _orders_of_part(parents: Integers, part: int, counts: Floats) -> float:
    """Return how many orders of a connected part put every variable behind its parents."""
    members, size = np.empty(parents.size, dtype=np.int64), 0
    for n in range(parents.size):
        if (part >> n) & 1:
            members[size] = n
            size += 1
    needs, full = np.zeros(size, dtype=np.int64), (1 << size) - 1
    for i in range(size):
        for k in range(size):
            needs[i] |= ((parents[members[i]] >> members[k]) & 1) << k
    for variables in range(full + 1):
        counts[variables] = 0.0
    counts[0] = 1.0
    for variables in range(full):
        if counts[variables] > 0.0:
            for i in range(size):
                if not (variables >> i) & 1 and needs[i] & variables == needs[i]:
                    counts[variables | (1 << i)] += counts[variables]
    orders: float = counts[full]
    return orders


@kernel()
def _candidates_before(candidates: Integers, place: Integers, n: int) -> int:
    found = 0
    for b in range(candidates.shape[1]):
        if candidates[n, b] >= 0 and place[candidates[n, b]] < place[n]:
            found |= 1 << b
    return found


@kernel()
def walk_orders(
    tables: Floats, candidates: Integers, order: Integers, swaps: Integers, uniforms: Floats, kept: Integers
) -> None:
    """Take Metropolis steps over orders; each step swaps two places.

    Parameters
    ----------
    tables : ndarray, shape (N, 2^K)
        Log weights.
    candidates : ndarray of int, shape (N, K)
        The candidates of every node.
    order : ndarray of int, shape (N,)
        The order to begin with; is overwritten with the last one.
    swaps : ndarray of int, shape (n_steps, 2)
        The two places of every step.
    uniforms : ndarray, shape (n_steps,)
        Uniform random numbers.
    kept : ndarray of int, shape (n_kept, N)
        Is filled with the orders after every n_steps // n_kept steps.
    """
    place = np.empty(order.size, np.int64)
    for p in range(order.size):
        place[order[p]] = p
    every = swaps.shape[0] // kept.shape[0]
    for step in range(swaps.shape[0]):
        i, j = min(swaps[step, 0], swaps[step, 1]), max(swaps[step, 0], swaps[step, 1])
        change = 0.0
        for p in range(i, j + 1):
            change -= tables[order[p], _candidates_before(candidates, place, order[p])]
        order[i], order[j] = order[j], order[i]
        place[order[i]], place[order[j]] = i, j
        for p in range(i, j + 1):
            change += tables[order[p], _candidates_before(candidates, place, order[p])]
        if not (change >= 0.0 or uniforms[step] < math.exp(change)):
            order[i], order[j] = order[j], order[i]
            place[order[i]], place[order[j]] = i, j
        if (step + 1) % every == 0 and (step + 1) // every <= kept.shape[0]:
            for p in range(order.size):
                kept[(step + 1) // every - 1, p] = order[p]


@dataclass(frozen=True)
class WeighedFamilies:
    """Families of a few candidate parents for each node, with their log weights.

    Attributes
    ----------
    candidates : ndarray of int, shape (N, K)
        The candidates of every node; -1 where it has fewer than K.
    weights : ndarray, shape (N, 2^K)
        The log weight of every set of candidates as parents. The bits of the index are the set; -inf excludes a set.
        The empty set is never excluded.
    """

    candidates: np.ndarray
    weights: np.ndarray

    @property
    def n_variables(self) -> int:
        """N."""
        return len(self.candidates)

    @cached_property
    def sums(self) -> np.ndarray:
        """Log of the sum of the weights of all subsets of every set of candidates, shape (N, 2^K)."""
        return _over_subsets(self.weights, np.logaddexp)

    def tempered(self, temperature: float, prices: Floats) -> "WeighedFamilies":
        """Return the families with their log weights over a temperature, less the prices of edges, shape (N, N)."""
        n_candidates = self.candidates.shape[1]
        sets = np.arange(1 << n_candidates) >> np.arange(n_candidates)[:, np.newaxis] & 1
        of_candidates = prices[self.candidates, np.arange(self.n_variables)[:, np.newaxis]]
        excluded = self.weights <= -WITHOUT_REQUIRED
        weights = self.weights / temperature - np.where(self.candidates < 0, 0.0, of_candidates) @ sets
        return WeighedFamilies(self.candidates, np.where(excluded, self.weights, weights))

    def index(self, node: int, parents: Iterable[int]) -> int:
        """Return the index of a set of candidates."""
        candidates = self.candidates[node].tolist()
        return sum(1 << candidates.index(parent) for parent in parents)

    def log_weight(self, graph: Graph) -> float:
        """Return the log weight of a graph, the parents of every node, all of them candidates."""
        return float(sum(self.weights[node, self.index(node, parents)] for node, parents in enumerate(graph)))

    def parents(self, node: int, index: int) -> tuple[int, ...]:
        """Return the parents in a set of candidates, in ascending order."""
        candidates = self.candidates[node]
        return tuple(sorted(int(candidates[b]) for b in range(len(candidates)) if index >> b & 1))

    def after(self, node: int, places: Integers) -> Integers:
        """Return the set of candidates that come after the node; ``places`` of the variables have shape (..., N)."""
        candidates = self.candidates[node]
        later = (candidates >= 0) & (places[..., candidates] > places[..., [node]])
        sets: Integers = later @ (1 << np.arange(candidates.size))
        return sets

    def allowed(self, node: int, after: int) -> np.ndarray:
        """Return the sets of parents that contain none of the candidates in ``after``."""
        return np.flatnonzero(np.isfinite(self.weights[node]) & (np.arange(self.weights.shape[1]) & after == 0))


def weigh_families(
    scores: Scores, graph: Graph, rules: EdgeRules, *, n_candidates: int, max_parents: int, most_parents: float = np.inf
) -> WeighedFamilies:
    """Score all families of at most ``max_parents`` parents among the candidates of every node.

    Parameters
    ----------
    scores : callable
        The score of families, in nats; lower is better.
    graph : tuple
        The parents of every node in a good graph. They are candidates; the family itself and its neighbours, one
        candidate more or fewer, are weighed whatever their size.
    rules : EdgeRules
        Edges that must not appear, and that must, as they do in ``graph``.
    n_candidates : int
        How many candidates a node has, unless ``graph`` gives it more parents.
    max_parents : int
        The most parents of a family, other than those of ``graph`` and their neighbours.
    most_parents : int
        The most parents of the neighbours of families of ``graph``; by default any number.

    Returns
    -------
    WeighedFamilies
        Log weights: minus the scores.
    """
    chosen = choose_candidates(scores, graph, rules.forbidden, n_candidates)
    largest = max(map(len, chosen))
    candidates = np.full((len(graph), largest), -1)
    for node, chosen_of_node in enumerate(chosen):
        candidates[node, : len(chosen_of_node)] = chosen_of_node
    weights = np.full((len(graph), 1 << largest), -np.inf)
    weights[:, 0] = -WITHOUT_REQUIRED
    weighed = WeighedFamilies(candidates, weights)
    least = rules.required_parents
    families = {
        (node, parents)
        for node, candidates in enumerate(chosen)
        for parents in _sets(candidates, graph[node], max_parents, most_parents)
        if set(least[node]) <= set(parents)
    }
    for size in range(len(graph)):  # the smaller ones first: larger families are fitted from them
        batch = sorted(family for family in families if len(family[1]) == size)
        for (node, parents), score in zip(batch, scores(batch), strict=True):
            weights[node, weighed.index(node, parents)] = -score
    return weighed


def choose_candidates(scores: Scores, graph: Graph, forbidden: np.ndarray, n_candidates: int) -> list[list[int]]:
    """Return the candidates of every node by the larger of their gains: alone, and beside the parents of the graph.

    Parameters and result are parts of those of `weigh_families`.
    """
    n_variables = len(graph)
    chosen = []
    for node, parents in enumerate(graph):
        allowed = [i for i in range(n_variables) if not forbidden[i, node]]
        alone = [(node, (i,)) for i in allowed]
        beside = [(node, toggled(parents, i)) for i in allowed]
        base = scores([(node, ()), (node, parents)])
        gain = {
            i: np.inf if i in parents else max(base[0] - first, base[1] - second)
            for i, first, second in zip(allowed, scores(alone), scores(beside), strict=True)
        }
        ranked = sorted(allowed, key=lambda i: (-gain[i], i))
        chosen.append(ranked[: max(n_candidates, len(parents))])
    return chosen


def _sets(
    candidates: list[int], parents: tuple[int, ...], max_parents: int, most_parents: float
) -> Iterator[tuple[int, ...]]:
    """Yield all small sets of candidates, and the parents of the graph with one candidate more or fewer."""
    for size in range(min(max_parents, len(candidates)) + 1):
        yield from combinations(sorted(candidates), size)
    yield parents
    for i in candidates:
        neighbour = toggled(parents, i)
        if len(neighbour) <= max(most_parents, len(parents) - 1):
            yield neighbour


def _over_subsets(values: Floats, combine: Callable[[Floats, Floats], Floats]) -> Floats:
    """Combine the values of all subsets of every set: one pass over the table for every candidate."""
    result = values.copy()
    for b in range(int(result.shape[1]).bit_length() - 1):
        pairs = result.reshape(len(result), -1, 2, 1 << b)
        pairs[:, :, 1] = combine(pairs[:, :, 1], pairs[:, :, 0])
    return result


def best_graph(families: WeighedFamilies) -> tuple[Graph, float]:
    """Return the parents of every node in the graph of the highest weight, and its log weight.

    Parameters
    ----------
    families : WeighedFamilies
        Of at most 22 variables.
    """
    n = families.n_variables
    if n > MOST_VARIABLES:
        raise ValueError(f"sums over all orders are for at most {MOST_VARIABLES} variables; these are {n}")
    value, last = np.empty(1 << n), np.empty(1 << n, dtype=np.int64)
    best_last(_over_subsets(families.weights, np.maximum), families.candidates, value, last)
    place, variables = np.empty(n, dtype=int), value.size - 1
    for position in range(n - 1, -1, -1):
        place[last[variables]] = position
        variables ^= 1 << int(last[variables])
    parents = []
    for node in range(n):
        allowed = families.allowed(node, int(families.after(node, place)))
        parents.append(families.parents(node, int(allowed[np.argmax(families.weights[node, allowed])])))
    return tuple(parents), float(value[-1])


def independent_orders(families: WeighedFamilies, n_orders: int, rng: np.random.Generator) -> Integers:
    """Return orders drawn independently from their posterior under a uniform prior, shape (n_orders, N), causes first.

    Parameters
    ----------
    families : WeighedFamilies
        Of at most 22 variables.
    n_orders : int
        How many orders to draw.
    rng : numpy.random.Generator
        The only source of randomness.
    """
    first = np.empty(1 << families.n_variables)
    sums_of_orders(families.sums, families.candidates, first)
    orders = np.empty((n_orders, families.n_variables), dtype=np.int64)
    draw_orders(families.sums, families.candidates, first, rng.random(orders.shape), orders)
    return orders


def walk(families: WeighedFamilies, start: np.ndarray, n_orders: int, rng: np.random.Generator) -> Integers:
    """Return orders from a Metropolis walk through their posterior, shape (n_orders, N), causes first.

    It is for tables too wide for exact sums.

    Parameters
    ----------
    families : WeighedFamilies
        The log weights of families.
    start : ndarray of int, shape (N,)
        The order at which the walk begins. The first fifth of the walk is discarded.
    n_orders : int
        The number of orders to keep.
    rng : numpy.random.Generator
        The only source of randomness.

    References
    ----------
    Friedman and Koller, "Being Bayesian about network structure", Machine Learning 50 (2003).
    """
    order = np.array(start, dtype=np.int64)
    kept = np.empty((n_orders + n_orders // 4, order.size), dtype=np.int64)
    steps = len(kept) * 400 * order.size // 10  # 400 between two orders that are kept, of ten variables
    swaps = rng.integers(order.size, size=(steps, 2))
    near = rng.random(steps) < 0.5  # half of the steps swap neighbours, which are accepted more often
    swaps[near, 1] = np.minimum(swaps[near, 0] + 1, order.size - 1)
    walk_orders(families.sums, families.candidates, order, swaps, rng.random(steps), kept)
    return kept[-n_orders:]


def draw_graphs(families: WeighedFamilies, orders: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a graph for every order, drawn from its posterior given the order, shape (orders, N, N) of bool."""
    graphs = np.zeros((len(orders), families.n_variables, families.n_variables), dtype=bool)
    places, uniforms = np.argsort(orders, axis=1), rng.random(orders.shape)
    for node, possible in enumerate(families.candidates):
        after = families.after(node, places)
        drawn = np.empty(len(orders), dtype=np.int64)
        for one in np.unique(after):
            same, allowed = after == one, families.allowed(node, one)
            weights = families.weights[node, allowed]
            cumulated = np.cumsum(np.exp(weights - weights.max()))
            drawn[same] = allowed[np.searchsorted(cumulated[:-1], uniforms[same, node] * cumulated[-1], side="right")]
        for b in np.flatnonzero(possible >= 0):
            graphs[:, possible[b], node] = drawn >> b & 1
    return graphs


def n_orders_of(graph: np.ndarray, memory: np.ndarray | None = None) -> float:
    """Return how many orders of the variables put all causes before their effects.

    Parameters
    ----------
    graph : ndarray of bool, shape (N, N)
        A directed acyclic graph of at most 22 variables.
    memory : ndarray, shape (2^N,), optional
        Work space that calls may share.
    """
    parents = (graph.T @ (1 << np.arange(len(graph)))).astype(np.int64)
    return float(count_orders(parents, np.empty(1 << len(graph)) if memory is None else memory))
