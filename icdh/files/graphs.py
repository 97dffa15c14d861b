"""Graphs as files. Matrices, edge lists and JSON are read and written; Graphviz, GraphML and GML are written.

An edge list in which two variables have a hidden cause in common has one column more: ``cause,effect,weight,mark``.
Their line has the mark ``<->``, and it stands for both directions. An arrow has none.
"""

import json
import os
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from icdh import graphs
from icdh._utils.arrays import Floats
from icdh._utils.atomic import write_text
from icdh._utils.labels import default_names, did_you_mean, listed
from icdh.files.sheet import Row
from icdh.files.tables import check_names
from icdh.files.text import (
    Quoted,
    Source,
    delimited,
    is_number,
    label_of,
    name_of,
    read_text,
    rows_of,
    sniffed_delimiter,
)

_Edge: TypeAlias = tuple[str, str, str, float | str]  # place in the file, cause, effect, weight

MARKED, BIDIRECTED = ("cause", "effect", "weight", "mark"), "<->"
PROBABILITIES = ("cause", "effect", "probability", "path")  # what icdh fit --probabilities writes


class MixedGraph(NamedTuple):
    """A graph in which variables may have hidden causes in common.

    Attributes
    ----------
    weights : ndarray, shape (N, N)
        ``weights[i, j]`` is the weight of i -> j.
    bidirected : ndarray, shape (N, N)
        ``bidirected[i, j]`` is the weight of i <-> j, a hidden cause in common; symmetric.
    names : list of str
        The N labels.
    """

    weights: Floats
    bidirected: Floats
    names: list[str]


def read_mixed_graph(path: Source, names: Sequence[str] | None = None) -> MixedGraph:
    r"""Read a graph in which variables may have hidden causes in common: an edge list whose lines may be a <-> b.

    Parameters
    ----------
    path : str, Path or binary file
        What `write_graph` writes with ``bidirected``, or any graph that `read_graph` reads.
    names : sequence of str, optional
        The variables in the order wanted; by default that of the file.

    Returns
    -------
    icdh.files.MixedGraph
        Arrows, hidden causes in common, and names.

    Raises
    ------
    OSError, ValueError
        As `read_graph`.

    Examples
    --------
    >>> import io
    >>> from icdh.files import read_mixed_graph
    >>> graph = read_mixed_graph(io.BytesIO(b"cause,effect,weight,mark\ndose,answer,2,\ndose,weight,9,<->\n"))
    >>> graph.names, graph.weights[0].tolist(), graph.bidirected[0].tolist()
    (['dose', 'answer', 'weight'], [0.0, 2.0, 0.0], [0.0, 0.0, 9.0])
    """
    name, text = label_of(path), read_text(path)
    if not text.startswith(MARKED[0]) or tuple((rows := _rows(name, text))[0][1]) != MARKED:
        weights, known = graph_from_text(name, text, names)
        return MixedGraph(weights, np.zeros_like(weights), known)
    arrows, pairs = _marked(name, rows[1:])
    ends = [end for _, *both, _ in (*arrows, *pairs) for end in both]
    known = list(dict.fromkeys(ends) if names is None else names)
    turned = [(place, effect, cause, weight) for place, cause, effect, weight in pairs]
    return MixedGraph(_from_edges(name, arrows, known)[0], _from_edges(name, [*pairs, *turned], known)[0], known)


def read_graph(path: Source, names: Sequence[str] | None = None) -> tuple[Floats, list[str]]:
    r"""Read a graph from an adjacency matrix, an edge list, or the JSON that `write_graph` writes.

    Parameters
    ----------
    path : str, Path or binary file
        ``.json``, or delimited text with either a square matrix (with or without names in the first row and first
        column) or a line ``cause,effect[,weight]`` for each edge. An edge list needs the header ``cause,effect``
        if its names are numbers. The probabilities that ``icdh fit --probabilities`` writes are read as weights.
    names : sequence of str, optional
        The variables in the order wanted; by default that of the file.

    Returns
    -------
    A : ndarray, shape (N, N)
        Weighted adjacency matrix: ``A[i, j]`` is the weight of i -> j, one where the file gives none.
    names : list of str
        The N labels ("x0", "x1", ... where neither file nor caller names them).

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If its content is not a graph over these names; the message gives the line.

    Examples
    --------
    >>> import io
    >>> from icdh.files import read_graph
    >>> A, names = read_graph(io.BytesIO(b"cause,effect\ndose,answer\n"))
    >>> names, A.tolist()
    (['dose', 'answer'], [[0.0, 1.0], [0.0, 0.0]])
    """
    return graph_from_text(label_of(path), read_text(path), names)


def graph_from_text(
    name: str, text: str, names: Sequence[str] | None = None, *, delimiter: str | None = None, decimal: str = "."
) -> tuple[Floats, list[str]]:
    r"""Return the result of `read_graph` for text that has been read already, for instance from a pipe.

    Parameters
    ----------
    name : str
        The name of the file in messages; its suffix names the format.
    text : str
        Its content.
    names : sequence of str, optional
        See `read_graph`.
    delimiter, decimal : str
        See `icdh.files.read_table`; for text that is not JSON.

    Examples
    --------
    >>> from icdh.files import graph_from_text
    >>> graph_from_text("graph.tsv", "cause\teffect\tweight\na\tb\t0.5\n")[0].tolist()
    [[0.0, 0.5], [0.0, 0.0]]
    """
    suffix = Path(name).suffix.lower()
    if suffix in (".dot", ".gv"):
        raise ValueError(f"{name}: graphs are not read from DOT; write the graph as .csv, .tsv or .json")
    if suffix == ".json" or text.lstrip().startswith("{"):
        edges, nodes = _json_graph(name, text)
        return _from_edges(name, edges, nodes if names is None else names)
    rows = _rows(name, text, delimiter, decimal)
    if not rows:
        raise ValueError(f"{name} is empty; it must hold an adjacency matrix or an edge list")
    if tuple(rows[0][1]) == MARKED:
        arrows, pairs = _marked(name, rows[1:])
        if pairs:
            place, cause, effect, _ = pairs[0]
            raise ValueError(
                f"{name}, {place}: {cause} {BIDIRECTED} {effect}, a hidden cause in common, is no edge from cause to "
                "effect; leave such lines out, or read them with icdh.files.read_mixed_graph"
            )
        return _from_edges(name, arrows, names)
    if tuple(rows[0][1]) == PROBABILITIES:
        rows = [(line, row[:3] if len(row) == len(PROBABILITIES) else row) for line, row in rows]
    headers = ("cause", "effect"), ("source", "target"), ("from", "to")
    has_header = len(rows[0][1]) in (2, 3) and tuple(cell.casefold() for cell in rows[0][1][:2]) in headers
    if has_header or all(len(row) in (2, 3) and all(map(_is_text, row[:2])) for _, row in rows):
        return _from_edges(name, _edges(name, rows[has_header:]), names)
    return _from_matrix(name, rows, names)


def _rows(name: str, text: str, delimiter: str | None = None, decimal: str = ".") -> list[Row]:
    """Return the rows of a text, in which numbers have a decimal point."""
    rows = list(rows_of(name, text, delimiter or sniffed_delimiter(text, decimal)))
    return [(line, [_with_point(cell) for cell in row]) for line, row in rows] if decimal == "," else rows


def _with_point(cell: str) -> str:
    """Return a number with its decimal comma replaced by a point, and any other cell unchanged."""
    return cell.replace(",", ".") if not isinstance(cell, Quoted) and is_number(cell, ",") else cell


def _is_text(cell: str) -> bool:
    return isinstance(cell, Quoted) or (cell != "" and not is_number(cell))


def _json_graph(path: str, text: str) -> tuple[list[_Edge], list[str]]:
    """Return the edges and the names."""
    try:
        content = json.loads(text)
        edges = [
            (f"edge {number}", str(edge["cause"]), str(edge["effect"]), edge.get("weight", 1.0))
            for number, edge in enumerate(content["edges"], start=1)
        ]
        names = [str(name) for name in content["names"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f'{path} is not a graph in JSON: it must hold {{"names": [...], "edges": [{{"cause": ..., '
            f'"effect": ..., "weight": ...}}]}}'
        ) from error
    check_names(names, path)
    return edges, names


def _edges(path: str, rows: Sequence[Row]) -> list[_Edge]:
    """Return the edges of an edge list."""
    edges: list[_Edge] = []
    for line, row in rows:
        if len(row) not in (2, 3) or not all(cell or isinstance(cell, Quoted) for cell in row[:2]):
            raise ValueError(f"{path}, line {line}: an edge needs cause,effect[,weight]; got {','.join(row)!r}")
        edges.append((f"line {line}", name_of(row[0]), name_of(row[1]), row[2] if len(row) == 3 else 1.0))
    return edges


def _marked(path: str, rows: Sequence[Row]) -> tuple[list[_Edge], list[_Edge]]:
    """Return the edges of an edge list whose lines have marks: arrows, and hidden causes in common."""
    for line, row in rows:
        if len(row) != len(MARKED) or row[-1] not in ("", BIDIRECTED):
            raise ValueError(
                f"{path}, line {line}: an edge needs {','.join(MARKED)}, the mark {BIDIRECTED} or none; "
                f"got {','.join(row)!r}"
            )
    arrows, pairs = ([(line, row) for line, row in rows if row[-1] == mark] for mark in ("", BIDIRECTED))
    return _edges(path, [(line, row[:3]) for line, row in arrows]), _edges(
        path, [(line, row[:3]) for line, row in pairs]
    )


def _from_edges(path: str, edges: Sequence[_Edge], known: Sequence[str] | None) -> tuple[Floats, list[str]]:
    ends = [name for _, cause, effect, _ in edges for name in (cause, effect)]
    names = list(dict.fromkeys(ends) if known is None else known)
    index = {name: i for i, name in enumerate(names)}
    A = np.zeros((len(names), len(names)))
    for place, cause, effect, weight in edges:
        for name in (cause, effect):
            if name not in index:
                raise ValueError(
                    f"{path}, {place}: {name!r} is not one of the variables {listed(names)}{did_you_mean(name, names)}"
                )
        at = index[cause], index[effect]
        if cause == effect or A[at] != 0:
            raise ValueError(f"{path}, {place}: the edge {cause} -> {effect} is a self-loop or given twice")
        A[at] = _weight(path, place, weight)
    return A, names


def _weight(path: str, place: str, text: float | str) -> float:
    try:
        weight = float(text)
    except (TypeError, ValueError):
        weight = np.nan
    if not np.isfinite(weight):
        raise ValueError(f"{path}, {place}: the weight {text!r} is not a finite number")
    return weight


def _from_matrix(path: str, rows: Sequence[Row], names: Sequence[str] | None) -> tuple[Floats, list[str]]:
    known: Sequence[str] | None = None
    if any(isinstance(cell, Quoted) or not is_number(cell) for cell in rows[0][1]):
        head, rows = rows[0][1], rows[1:]
        if len(head) == len(rows) + 1:
            head = head[1:]
            rows = [
                (line, _without_label(path, line, row, name_of(label)))
                for (line, row), label in zip(rows, head, strict=True)
            ]
        unnamed = [k + 1 for k, cell in enumerate(head) if not cell and not isinstance(cell, Quoted)]
        if unnamed:
            raise ValueError(f"{path}, line 1: column {unnamed[0]} has no name; name it")
        known = [name_of(cell) for cell in head]
        check_names(known, f"{path}, line 1")
    size = len(rows)
    for line, row in rows:
        if len(row) != size:
            raise ValueError(f"{path}, line {line}: {len(row)} cells where a square matrix of {size} rows needs {size}")
    if known is not None and len(known) != size:
        raise ValueError(f"{path}, line 1: {len(known)} names for a matrix of {size} rows")
    known = known or names or default_names(size)
    if sorted(known) != sorted(names or known) or len(known) != size:
        raise ValueError(f"{path} holds {size} variables that are not {', '.join(names or known)}")
    edges: list[_Edge] = [
        (f"line {line}", cause, effect, weight)
        for (line, row), cause in zip(rows, known, strict=True)
        for effect, cell in zip(known, row, strict=True)
        if (weight := _weight(path, f"line {line}", cell))
    ]
    return _from_edges(path, edges, names or known)


def _without_label(path: str, line: int, row: list[str], name: str) -> list[str]:
    if name_of(row[0]) != name:
        raise ValueError(f"{path}, line {line}: the row is labelled {row[0]!r}, the column {name!r}")
    return row[1:]


def write_graph(
    path: str | os.PathLike[str], A: ArrayLike, names: Sequence[str], bidirected: ArrayLike | None = None
) -> None:
    """Write a graph in the format that the extension names.

    Parameters
    ----------
    path : str or Path
        ``.csv`` adjacency matrix with names in the first row and column; ``.tsv`` edge list
        ``cause, effect, weight``, strongest first, which omits variables without edges; ``.json`` names and edges;
        ``.dot`` or ``.gv`` Graphviz; ``.graphml``; ``.gml``.
    A : array_like, shape (N, N)
        Weighted adjacency matrix: ``A[i, j]`` is the weight of i -> j.
    names : sequence of str
        N labels. In ``.csv`` and ``.tsv`` one that a spreadsheet would take for a formula (it begins with =, +, - or @)
        gets an apostrophe in front, which `read_graph` takes away.
    bidirected : array_like, shape (N, N), optional
        Weights of hidden causes that variables have in common, symmetric. With any ``.csv`` and ``.tsv`` are edge lists
        with lines ``a, b, weight, <->``, which `read_mixed_graph` reads, and other formats have no place for them.

    Raises
    ------
    ValueError
        If the extension is none of these, two names are equal, or the format has no place for hidden causes in common.
    OSError
        If the file cannot be written; an older one then stays as it was.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.files import read_graph, write_graph
    >>> write_graph("graph.csv", np.array([[0.0, 0.5], [0.0, 0.0]]), ["a", "b"])
    >>> read_graph("graph.csv")[1]
    ['a', 'b']
    """
    names = list(map(str, names))
    check_names(names, str(path))
    write_text(path, graph_writer(path, bidirected)(np.asarray(A), names))


def graph_writer(
    path: str | os.PathLike[str], bidirected: ArrayLike | None = None
) -> Callable[[Floats, Sequence[Hashable]], str]:
    """Return the function that turns (A, names) into the text of the format that the extension of ``path`` names.

    Parameters
    ----------
    path : str or path-like
        The file that the graph will be written to.
    bidirected : array-like of bool, shape (N, N), optional
        The pairs with a hidden cause in common; an edge list alone has a place for them.

    Raises
    ------
    ValueError
        For another extension, or one without a place for hidden causes.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.files import graph_writer
    >>> print(graph_writer("graph.tsv")(np.array([[0.0, 0.5], [0.0, 0.0]]), ["a", "b"]).splitlines()[1].split())
    ['a', 'b', '0.5']
    """
    suffix = Path(path).suffix.lower()
    if suffix not in GRAPH_FORMATS:
        raise ValueError(f"{path}: graphs are written as {NAMES_OF_FORMATS}; choose one of these extensions")
    written = GRAPH_FORMATS[suffix]
    if bidirected is None or not np.any(bidirected):
        return written.text
    if not written.delimiter:
        formats = " or ".join(suffix for suffix, form in GRAPH_FORMATS.items() if form.delimiter)
        raise ValueError(f"{path}: hidden causes in common ({BIDIRECTED}) are written as {formats}; choose one")
    return partial(_marked_text, written.delimiter, graphs.check_adjacency(bidirected, "bidirected"))


def _matrix_text(A: Floats, names: Sequence[Hashable]) -> str:
    rows: list[list[object]] = [[None, *names]]
    rows += [[name, *row] for name, row in zip(names, A.tolist(), strict=True)]
    return delimited(rows, ",")


def _edge_list_text(A: Floats, names: Sequence[Hashable]) -> str:
    return delimited([("cause", "effect", "weight"), *graphs.edge_list(A, names)], "\t")


def _marked_text(delimiter: str, bidirected: Floats, A: Floats, names: Sequence[Hashable]) -> str:
    if bidirected.shape != A.shape or not np.array_equal(bidirected, bidirected.T) or bidirected.diagonal().any():
        raise ValueError(f"bidirected must be symmetric, zero on its diagonal, and of shape {A.shape}")
    arrows, pairs = graphs.edge_list(A, names), graphs.edge_list(np.triu(bidirected), names)
    lines = [*((*edge, None) for edge in arrows), *((*edge, BIDIRECTED) for edge in pairs)]
    return delimited([MARKED, *lines], delimiter)


class GraphFormat(NamedTuple):
    """A format of graphs: its name, its text of weights and names, and the delimiter of edge lists with marks."""

    name: str
    text: Callable[[Floats, Sequence[Hashable]], str]
    delimiter: str = ""


GRAPH_FORMATS = {
    ".csv": GraphFormat("matrix", _matrix_text, ","),
    ".tsv": GraphFormat("edge list", _edge_list_text, "\t"),
    ".json": GraphFormat("names and edges", graphs.to_json),
    ".dot": GraphFormat("Graphviz", graphs.to_dot),
    ".gv": GraphFormat("Graphviz", graphs.to_dot),
    ".graphml": GraphFormat("GraphML", graphs.to_graphml),
    ".gml": GraphFormat("GML", graphs.to_gml),
}
NAMES_OF_FORMATS = ", ".join(f"{suffix} {form.name}" for suffix, form in GRAPH_FORMATS.items())
