"""Search over graphs by any score that is a sum over families.

Greedy: moves <- climb <- escapes. Exact, among the families of a few candidates: orders <- candidates. What an edge
costs in a graph of many variables: prior.
"""

from icdh.search.moves import Move

__all__ = ["Move"]
