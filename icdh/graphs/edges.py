"""Graphs in any form, checked, their edges by strength, and graphs for other programs.

Those are networkx, Graphviz, readers of GraphML, and of JSON.
"""

import json
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from icdh._ground.arrays import Foreign
from icdh._ground.checks import as_float
from icdh._ground.labels import printable, texts
from icdh.exceptions import import_extra


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
    A = as_float(A, argument)
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
    if np.diagonal(weights).any():
        i = int(np.flatnonzero(np.diagonal(weights))[0])
        label = names[i] if names else i
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


def to_networkx(A: np.ndarray, names: Sequence[Hashable]) -> Foreign:
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
    lines = [f"  {_quoted(name)};" for name in known]
    lines += [
        f'  {_quoted(edge.cause)} -> {_quoted(edge.effect)} [label="{edge.strength:.3g}"];'
        for edge in edge_list(A, known)
    ]
    return "\n".join(["digraph {", *lines, "}"]) + "\n"


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
    ids = [_xml_attribute(name) for name in texts(names)]
    edges = [
        f'    <edge source={ids[i]} target={ids[j]}><data key="weight">{float(A[i, j])!r}</data></edge>'
        for i, j in strongest_first(A)
    ]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
            '  <key id="weight" for="edge" attr.name="weight" attr.type="double"/>',
            '  <graph edgedefault="directed">',
            *(f"    <node id={name}/>" for name in ids),
            *edges,
            "  </graph>",
            "</graphml>\n",
        ]
    )


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


def _xml_attribute(name: object) -> str:
    from xml.sax.saxutils import quoteattr

    text = str(name)
    if any((ord(c) < 32 and c not in "\t\n\r") or "\ud800" <= c <= "\udfff" or c in "\ufffe\uffff" for c in text):
        raise ValueError(f"the name {text!r} holds characters that XML cannot; rename the variable")
    return quoteattr(text)


def _quoted(name: object) -> str:
    return '"' + printable(name).replace("\\", "\\\\").replace('"', '\\"') + '"'
