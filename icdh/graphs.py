"""Graphs as weighted adjacency matrices: checks, edges by strength, cycles, causal order, and other programs' forms.

Everywhere A[i, j] != 0 means the edge i -> j, and the strength of an edge is its absolute weight. Other programs are
networkx, Graphviz, readers of GraphML, and of JSON.
"""

import json
import re
from collections.abc import Hashable, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from icdh._utils.arrays import Floats, Foreign, Mask
from icdh._utils.checks import as_float
from icdh._utils.labels import default_names, printable, texts
from icdh.exceptions import import_extra

if TYPE_CHECKING:
    import networkx

__all__ = ["AcyclicPart", "Edge", "LabelledGraph", "break_cycles", "causal_order", "check_adjacency", "check_graph"]
__all__ += ["descendants", "edge_list", "find_cycle", "is_dag", "strongest_first", "threshold", "to_dot", "to_gml"]
__all__ += ["to_graphml", "to_json", "to_networkx"]


class LabelledGraph(NamedTuple):
    """A checked graph.

    Attributes
    ----------
    weights : ndarray, shape (N, N)
        Weighted adjacency matrix, zero on its diagonal.
    names : list or None
        N labels, None where the graph had none.
    """

    weights: np.ndarray
    names: list[Hashable] | None


def check_adjacency(A: ArrayLike, argument: str = "A") -> np.ndarray:
    """Return A as float64, after checking that it is square and finite.

    Parameters
    ----------
    A : array_like, shape (N, N)
        Weighted adjacency matrix.
    argument : str
        The name of the argument in error messages.

    Raises
    ------
    TypeError
        If its entries are not real numbers.
    ValueError
        If it is not a square matrix of finite numbers.

    Examples
    --------
    >>> from icdh.graphs import check_adjacency
    >>> check_adjacency([[0, 1], [0, 0]])
    array([[0., 1.],
           [0., 0.]])
    """
    A = np.asarray(A)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"{argument} must be a square matrix, one row and column a variable; got shape {A.shape}")
    A = A if A.dtype == np.float64 else as_float(A, argument)  # many callers look at the same large one
    if not np.isfinite(A).all():
        raise ValueError(f"{argument} holds NaN or infinity; every weight must be finite, zero for no edge")
    return A


def check_graph(graph: Foreign, argument: str = "graph") -> LabelledGraph:
    """Return the weighted adjacency matrix and the labels of a graph in any form; it is never modified.

    Parameters
    ----------
    graph : array_like, shape (N, N), or DataFrame, or networkx graph
        ``graph[i, j] != 0`` means i -> j. An undirected edge has both entries.
    argument : str
        The name of the argument in error messages.

    Raises
    ------
    TypeError
        If the entries are not real numbers.
    ValueError
        If the matrix is not square, has no variables, an edge from a variable to itself, or a NaN or infinity.

    Examples
    --------
    >>> import networkx
    >>> from icdh.graphs import check_graph
    >>> A, names = check_graph(networkx.DiGraph([("dose", "answer")]))
    >>> names, A.tolist()
    (['dose', 'answer'], [[0.0, 1.0], [0.0, 0.0]])
    """
    names = None
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        names = list(graph.nodes)
        graph = import_extra("networkx", "graph").to_numpy_array(graph, nodelist=names) if names else np.empty((0, 0))
    elif hasattr(graph, "columns"):
        names = list(graph.columns)
        if list(graph.index) != names:
            raise ValueError(f"{argument} must have the same labels, in the same order, as its index and its columns")
    weights = check_adjacency(graph, argument)
    if len(weights) == 0:
        raise ValueError(f"{argument} has no variables; pass at least one")
    if loops := np.flatnonzero(np.diagonal(weights)).tolist():
        label = names[loops[0]] if names else loops[0]
        raise ValueError(f"{argument} has an edge from variable {label!r} to itself; set its diagonal to 0")
    return LabelledGraph(weights, names)


class Edge(NamedTuple):
    """One edge, cause -> effect.

    Attributes
    ----------
    cause, effect : Hashable
        The names of the variables.
    strength : float
        Its entry in the weighted adjacency matrix.
    """

    cause: Hashable
    effect: Hashable
    strength: float


def threshold(A: np.ndarray, value: float) -> np.ndarray:
    """Return the matrix without the edges weaker than a value.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.
    value : float
        Edges with ``abs(A[i, j]) < value`` go.

    Returns
    -------
    ndarray, shape (N, N)
        A new matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import threshold
    >>> threshold(np.array([[0.0, 0.2], [0.9, 0.0]]), 0.3).tolist()
    [[0.0, 0.0], [0.9, 0.0]]
    """
    A = check_adjacency(A)
    return np.where(np.abs(A) >= value, A, 0.0)


def strongest_first(A: np.ndarray) -> list[tuple[int, int]]:
    """Return the edges (i, j) by decreasing strength, ties by index.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import strongest_first
    >>> strongest_first(np.array([[0.0, 0.2, 0.0], [0.0, 0.0, 0.9], [0.0, 0.0, 0.0]]))
    [(1, 2), (0, 1)]
    """
    causes, effects = np.nonzero(A)
    order = np.argsort(-np.abs(A[causes, effects]), kind="stable")
    return list(zip(causes[order].tolist(), effects[order].tolist(), strict=True))


def edge_list(A: np.ndarray, names: Sequence[Hashable]) -> list[Edge]:
    """Return the edges by name, strongest first.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.
    names : sequence of str
        N labels.

    Returns
    -------
    list of Edge
        Tuples (cause, effect, strength).

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import edge_list
    >>> edge_list(np.array([[0.0, 0.2], [0.0, 0.0]]), ["dose", "answer"])
    [Edge(cause='dose', effect='answer', strength=0.2)]
    """
    return [Edge(names[i], names[j], float(A[i, j])) for i, j in strongest_first(A)]


def to_networkx(A: np.ndarray, names: Sequence[Hashable]) -> "networkx.DiGraph":
    """Return the graph as a networkx.DiGraph whose edges carry ``weight``; needs the extra ``[graph]``.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.
    names : sequence of str
        N labels, which become the nodes.

    Returns
    -------
    networkx.DiGraph
        All N variables, those without edges included.

    Raises
    ------
    MissingExtraError
        If networkx is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import to_networkx
    >>> list(to_networkx(np.array([[0.0, 0.2], [0.0, 0.0]]), ["dose", "answer"]).edges(data="weight"))
    [('dose', 'answer', 0.2)]
    """
    graph = import_extra("networkx", "graph").DiGraph()
    graph.add_nodes_from(names)
    graph.add_weighted_edges_from(edge_list(A, names))
    return graph


def to_dot(A: np.ndarray, names: Sequence[Hashable]) -> str:
    """Return the graph in the DOT language of Graphviz, weights as labels.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.
    names : sequence of str
        N labels.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import to_dot
    >>> '"dose" -> "answer"' in to_dot(np.array([[0.0, 0.2], [0.0, 0.0]]), ["dose", "answer"])
    True
    """
    known = texts(names)
    nodes = [f"  {_quoted(name)};" for name in known]
    edges = [f'  {_quoted(i)} -> {_quoted(j)} [label="{strength:.3g}"];' for i, j, strength in edge_list(A, known)]
    return "\n".join(["digraph {", *nodes, *edges, "}"]) + "\n"


def to_graphml(A: np.ndarray, names: Sequence[Hashable]) -> str:
    """Return the graph in GraphML, weights as data of the edges; Cytoscape, Gephi, yEd and networkx read it.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.
    names : sequence of str
        N labels, which become the nodes' identifiers.

    Raises
    ------
    ValueError
        If a label holds characters that XML cannot.

    References
    ----------
    Brandes, Eiglsperger, Lerner: "GraphML Primer", http://graphml.graphdrawing.org/primer/graphml-primer.html.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import to_graphml
    >>> to_graphml(np.array([[0.0, 0.2], [0.0, 0.0]]), ["dose", "answer"]).count("<edge ")
    1
    """
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    root = Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    SubElement(root, "key", {"id": "weight", "for": "edge", "attr.name": "weight", "attr.type": "double"})
    graph, known = SubElement(root, "graph", edgedefault="directed"), texts(names)
    for name in known:
        if re.search("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", name):
            raise ValueError(f"the name {name!r} holds characters that XML cannot; rename the variable")
        SubElement(graph, "node", id=name)
    for cause, effect, weight in edge_list(A, known):
        edge = SubElement(graph, "edge", source=str(cause), target=str(effect))
        SubElement(edge, "data", key="weight").text = repr(weight)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, "unicode")}\n'


def to_gml(A: np.ndarray, names: Sequence[Hashable]) -> str:
    """Return the graph in GML, weights as data of the edges; networkx, igraph and DoWhy's ``CausalModel`` read it.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.
    names : sequence of str
        N labels.

    References
    ----------
    Himsolt: "GML: A portable Graph File Format", Universität Passau, 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import to_gml
    >>> to_gml(np.array([[0.0, 0.2], [0.0, 0.0]]), ["dose", "answer"]).splitlines()[4]
    '  edge [ source 0 target 1 weight 0.2 ]'
    """
    labels = [
        "".join(c if " " <= c <= "~" and c not in '"&' else f"&#{ord(c)};" for c in name) for name in texts(names)
    ]
    nodes = [f'  node [ id {k} label "{label}" ]' for k, label in enumerate(labels)]
    edges = [f"  edge [ source {i} target {j} weight {float(A[i, j])!r} ]" for i, j in strongest_first(A)]
    return "\n".join(["graph [", "  directed 1", *nodes, *edges, "]"]) + "\n"


def to_json(A: np.ndarray, names: Sequence[Hashable]) -> str:
    """Return the graph as the JSON that `icdh.files.read_graph` reads: names, and edges with their weights.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.
    names : sequence of str
        N labels, written as text.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> from icdh.graphs import to_json
    >>> json.loads(to_json(np.array([[0.0, 0.2], [0.0, 0.0]]), ["dose", "answer"]))["edges"]
    [{'cause': 'dose', 'effect': 'answer', 'weight': 0.2}]
    """
    known = texts(names)
    edges = [dict(zip(("cause", "effect", "weight"), edge, strict=True)) for edge in edge_list(A, known)]
    return json.dumps({"names": known, "edges": edges}, indent=2) + "\n"


def _quoted(name: object) -> str:
    return '"' + printable(name).replace("\\", "\\\\").replace('"', '\\"') + '"'


class AcyclicPart(NamedTuple):
    """What `break_cycles` returns.

    Attributes
    ----------
    adjacency : ndarray, shape (N, N)
        The DAG that is left.
    removed : list of (int, int)
        The edges removed, strongest first.
    smallest_threshold : float
        The smallest value for which `threshold` alone gives a DAG; zero if the graph was one.
    """

    adjacency: np.ndarray
    removed: list[tuple[int, int]]
    smallest_threshold: float


def is_dag(A: np.ndarray) -> bool:
    """Return whether the graph has no directed cycle; a self-loop is one.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import is_dag
    >>> is_dag(np.array([[0, 1], [0, 0]])), is_dag(np.array([[0, 1], [1, 0]]))
    (True, False)
    """
    return not find_cycle(A)


def causal_order(A: np.ndarray, names: Sequence[str] | None = None) -> list[int]:
    """Return the variables with every cause before its effects; ties are broken by index.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix of a DAG.
    names : sequence of str, optional
        Labels for the error message.

    Returns
    -------
    list of int
        A permutation of 0 ... N - 1.

    Raises
    ------
    ValueError
        If the graph has a cycle; the message names one.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import causal_order
    >>> causal_order(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]]))
    [2, 1, 0]
    """
    if cycle := find_cycle(A):
        path = " -> ".join((names or default_names(len(A)))[i] for i in cycle)
        raise ValueError(f"the graph has a cycle, {path}, so there is no causal order; see icdh.graphs.break_cycles")
    return causes_first(_parents(A))


def find_cycle(A: np.ndarray) -> list[int]:
    """Return the variables of one directed cycle, the first repeated at the end; an empty list if there is none.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import find_cycle
    >>> find_cycle(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]))
    []
    >>> len(find_cycle(np.array([[0, 1], [1, 0]])))
    3
    """
    try:
        TopologicalSorter(dict(enumerate(_parents(check_adjacency(A))))).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def descendants(A: np.ndarray) -> np.ndarray:
    """Return which variables a variable reaches along directed paths.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix of a DAG.

    Returns
    -------
    ndarray of bool, shape (N, N)
        Entry [i, j]: whether there is a directed path from i to j; a variable does not reach itself.

    Raises
    ------
    ValueError
        If the graph has a cycle.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import descendants
    >>> descendants(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])).astype(int)
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    causal_order(A)
    reached = reachability(_parents(A))
    np.fill_diagonal(reached, False)
    return reached


def break_cycles(A: np.ndarray, required: np.ndarray | None = None) -> AcyclicPart:
    """Return the DAG that is left when the weakest edges on cycles go.

    Parameters
    ----------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix.
    required : ndarray of bool, shape (N, N), optional
        Edges of an acyclic graph, none of weight zero, that stay however weak they are.

    Returns
    -------
    AcyclicPart
        The DAG, the edges removed, and the smallest threshold that gives a DAG.

    Notes
    -----
    Edges are added from the strongest to the weakest. An edge that would close a cycle is left out: it is the weakest
    on that cycle.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.graphs import break_cycles
    >>> part = break_cycles(np.array([[0.0, 0.9], [0.2, 0.0]]))
    >>> part.adjacency.tolist(), part.removed
    ([[0.0, 0.9], [0.0, 0.0]], [(1, 0)])
    """
    A = check_adjacency(A)
    dag, removed = np.zeros_like(A), []
    reaches = np.eye(len(A), dtype=bool)
    edges = strongest_first(A)
    if required is not None:
        edges.sort(key=lambda edge: not required[edge])
    for i, j in edges:
        if reaches[j, i]:
            removed.append((i, j))
        else:
            dag[i, j] = A[i, j]
            reaches |= np.outer(reaches[:, i], reaches[j])
    smallest = float(np.nextafter(abs(A[removed[0]]), np.inf)) if removed else 0.0
    return AcyclicPart(dag, removed, smallest)


def causes_first(parents: Sequence[Sequence[int]]) -> list[int]:
    """Return the nodes of a graph with causes before effects; ties are broken by index.

    Parameters
    ----------
    parents : sequence of sequences of int
        The parents of every node.

    Returns
    -------
    list of int
        The order. Nodes on cycles and their descendants are left out.
    """
    sorter = TopologicalSorter(dict(enumerate(parents)))
    with suppress(CycleError):
        sorter.prepare()
    order, ready = [], sorted(sorter.get_ready())
    while ready:
        order.append(heappop(ready))
        sorter.done(order[-1])
        for node in sorter.get_ready():
            heappush(ready, node)
    return order


def reachability(parents: Sequence[Sequence[int]]) -> np.ndarray:
    """Return the matrix whose [i, j] is True where a directed path leads from i to j, or i = j.

    Parameters
    ----------
    parents : sequence of sequences of int
        The parents of every node of a DAG.
    """
    leads_to = np.eye(len(parents), dtype=bool)
    for node in causes_first(parents):
        for cause in parents[node]:
            leads_to[node] |= leads_to[cause]
    return leads_to.T


def _parents(A: Floats | Mask) -> list[list[int]]:
    parents: list[list[int]] = [[] for _ in A]
    for cause, effect in np.argwhere(A).tolist():
        parents[effect].append(cause)
    return parents
