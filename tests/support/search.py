"""The private names of the search over graphs that tests use, so that a move inside the package edits one file."""

from icdh.search import escapes, orders
from icdh.search.climb import (
    FIRST_BATCH,
    KINDS,
    LARGEST_BATCH,
    MIN_GAIN,
    RESOLUTION,
    Climber,
    FamilyScores,
    changed_families,
    first_largest,
    legal_moves,
    parents_matrix,
    price_of_width,
    toggled,
    with_ancestors,
)
from icdh.search.directions import (
    _turned,
    direction_losses,
    exact_direction_losses,
    reversible_edges,
    turn_while_it_gains,
    with_source,
)
from icdh.search.escapes import FAR, Search, SearchResult, recover
from icdh.search.order_search import _Orders, graph_of_order, search_orders
from icdh.search.orders import (
    WeighedFamilies,
    best_graph,
    choose_candidates,
    draw_orders,
    n_orders_of,
    sums_of_orders,
    walk,
    walk_orders,
    weigh_families,
)


def nowhere(graph):
    """No other start."""


def greedy_search(scores, rules, max_parents=8, callback=None, start=None, other_start=nowhere):
    """The best graph found; from the result of a search by other scores, if there is one, no escape is tried."""
    climber = Climber(scores, rules, max_parents)
    if start is not None:
        return Search(climber, callback, start).climb_on()
    return escapes.greedy_search(climber, callback, other_start, nowhere)
