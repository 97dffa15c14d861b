"""Kernels of sums and maxima over orders: dynamic programming over the 2^N sets of variables.

``tables[n, k]`` is the log weight of node n when k is the set of its candidates that come before it. A set of
candidates is an integer whose bit b stands for ``candidates[n, b]`` (-1: none); so is a set of variables.
"""

import math

import numpy as np

from icdh._utils.arrays import Floats, Integers
from icdh._utils.jit import kernel


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
