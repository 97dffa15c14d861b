"""Graphs for other programs: networkx, Graphviz, readers of GraphML, and of JSON."""

import json
from collections.abc import Hashable, Sequence

import numpy as np

from icdh._ground.arrays import Foreign
from icdh._ground.labels import printable, texts
from icdh.exceptions import import_extra
from icdh.graphs.edges import edge_list, strongest_first


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
