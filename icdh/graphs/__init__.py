"""Graphs as weighted adjacency matrices: thresholds, cycles, causal order, export.

Everywhere A[i, j] != 0 means the edge i -> j, and the strength of an edge is its absolute weight.
"""

from icdh.graphs.cycles import AcyclicPart, break_cycles, causal_order, descendants, find_cycle, is_dag
from icdh.graphs.edges import (
    Edge,
    LabelledGraph,
    check_adjacency,
    check_graph,
    edge_list,
    strongest_first,
    threshold,
    to_dot,
    to_graphml,
    to_json,
    to_networkx,
)

__all__ = [
    "AcyclicPart",
    "Edge",
    "LabelledGraph",
    "break_cycles",
    "causal_order",
    "check_adjacency",
    "check_graph",
    "descendants",
    "edge_list",
    "find_cycle",
    "is_dag",
    "strongest_first",
    "threshold",
    "to_dot",
    "to_graphml",
    "to_json",
    "to_networkx",
]
