"""Graphs as files. Matrices, edge lists and JSON are read and written; Graphviz, GraphML and GML are written."""

import json
import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path

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

_Edge = tuple[str, str, str, float | str]  # place in the file, cause, effect, weight
ENDS = ("cause", "effect"), ("source", "target"), ("from", "to")  # headers of edge lists, in either order


def read_graph(path: Source, names: Sequence[str] | None = None) -> tuple[Floats, list[str]]:
    r"""Read a graph from an adjacency matrix, an edge list, or the JSON that `write_graph` writes.

    Parameters
    ----------
    path : str, Path or binary file
        ``.json``, or delimited text with either a square matrix (with or without names in the first row and first
        column) or a line ``cause,effect[,weight]`` for each edge. An edge list needs the header ``cause,effect``,
        ``source,target`` or ``from,to`` if its names are numbers, or if effects come first.
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
    if suffix in GRAPH_FORMATS and suffix not in (".csv", ".tsv", ".json"):
        known = GRAPH_FORMATS[suffix][0]
        raise ValueError(f"{name}: graphs are not read from {known}; write the graph as .csv, .tsv or .json")
    if suffix == ".json" or text.lstrip().startswith("{"):
        edges, nodes = _json_graph(name, text)
        return _from_edges(name, edges, nodes if names is None else names)
    rows = list(rows_of(name, text, delimiter or sniffed_delimiter(text, decimal)))
    if decimal == ",":
        rows = [(line, [_with_point(cell) for cell in row]) for line, row in rows]
    if not rows:
        raise ValueError(f"{name} is empty; it must hold an adjacency matrix or an edge list")
    first = [cell.casefold() for cell in rows[0][1][:2]] if len(rows[0][1]) in (2, 3) else []
    has_header = any({*first} == {*ends} for ends in ENDS)
    if has_header and first[0] in {effect for _, effect in ENDS}:
        rows = [(line, [*row[1::-1], *row[2:]]) for line, row in rows]
    if has_header or all(len(row) in (2, 3) and all(map(_is_text, row[:2])) for _, row in rows):
        return _from_edges(name, list(_edges(name, rows[has_header:])), names)
    return _from_matrix(name, rows, names)


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


def _edges(path: str, rows: Sequence[Row]) -> Iterator[_Edge]:
    """Yield the edges of an edge list."""
    for line, row in rows:
        if len(row) not in (2, 3) or not all(cell or isinstance(cell, Quoted) for cell in row[:2]):
            raise ValueError(f"{path}, line {line}: an edge needs cause,effect[,weight]; got {','.join(row)!r}")
        yield f"line {line}", name_of(row[0]), name_of(row[1]), row[2] if len(row) == 3 else 1.0


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
            for (line, (label, *_)), name in zip(rows, map(name_of, head), strict=True):
                if name_of(label) != name:
                    raise ValueError(f"{path}, line {line}: the row is labelled {label!r}, the column {name!r}")
            rows = [(line, row[1:]) for line, row in rows]
        if unnamed := [k + 1 for k, cell in enumerate(head) if not cell and not isinstance(cell, Quoted)]:
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


def write_graph(path: str | os.PathLike[str], A: ArrayLike, names: Sequence[str]) -> None:
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

    Raises
    ------
    ValueError
        If the extension is none of these, or two names are equal.
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
    write_text(path, graph_writer(path)(np.asarray(A), names))


def graph_writer(path: str | os.PathLike[str]) -> Callable[[Floats, Sequence[Hashable]], str]:
    """Return the function that turns (A, names) into the text of the format that the extension of ``path`` names.

    Parameters
    ----------
    path : str or path-like
        The file that the graph will be written to.

    Raises
    ------
    ValueError
        For another extension.

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
    return GRAPH_FORMATS[suffix][1]


def _matrix_text(A: Floats, names: Sequence[Hashable]) -> str:
    rows: list[list[object]] = [[None, *names]]
    rows += [[name, *row] for name, row in zip(names, A.tolist(), strict=True)]
    return delimited(rows, ",")


def _edge_list_text(A: Floats, names: Sequence[Hashable]) -> str:
    return delimited([("cause", "effect", "weight"), *graphs.edge_list(A, names)], "\t")


GRAPH_FORMATS: dict[str, tuple[str, Callable[[Floats, Sequence[Hashable]], str]]] = {
    ".csv": ("matrix", _matrix_text),
    ".tsv": ("edge list", _edge_list_text),
    ".json": ("names and edges", graphs.to_json),
    ".dot": ("Graphviz", graphs.to_dot),
    ".gv": ("Graphviz", graphs.to_dot),
    ".graphml": ("GraphML", graphs.to_graphml),
    ".gml": ("GML", graphs.to_gml),
}
NAMES_OF_FORMATS = ", ".join(f"{suffix} {name}" for suffix, (name, _) in GRAPH_FORMATS.items())
