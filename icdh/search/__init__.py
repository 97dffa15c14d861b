"""Search over graphs by any score that is a sum over families.

Greedy: climb <- escapes <- directions. One variable after another along an order: order_search. Exact, among the
families of a few candidates: orders.
"""

from icdh.search.climb import Move

__all__ = ["Move"]
