"""Tables and graphs as files: read with the line number in every complaint, written whole or not at all."""

import csv
import json
import os
import secrets
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from icdh import graphs

DELIMITERS = ",\t;"
EDGE_LIST_HEADERS = (("cause", "effect"), ("source", "target"), ("from", "to"))


class LabelledTable(NamedTuple):
    """Values with column labels, accepted wherever a DataFrame is, without needing pandas.

    Attributes
    ----------
    values : ndarray, shape (M, N)
        Observations in rows.
    columns : list of str
        N labels; None where the file had no header.
    """

    values: np.ndarray
    columns: list | None

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)

    @property
    def dtypes(self) -> list:
        """The type of every column."""
        return [self.values.dtype] * self.values.shape[1]


def read_table(path, *, header: bool | None = None, delimiter: str | None = None) -> LabelledTable:
    """Read a table of numbers from a text file.

    Parameters
    ----------
    path : str or Path
        A CSV or TSV file in UTF-8.
    header : bool, optional
        Whether the first line holds the column names; by default it does if any of its cells is not a number.
    delimiter : str, optional
        By default whichever of comma, tab and semicolon is most frequent in the first line.

    Returns
    -------
    LabelledTable
        The values, shape (M, N), and the column names.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is empty, ragged, not text, or holds a cell that is not a number; the message gives the line.
    """
    rows = _rows(path, delimiter)
    line, first = next(rows, (0, None))
    if first is None:
        raise ValueError(f"{path} is empty; it must hold a table of numbers")
    if header is None:
        header = not all(_is_number(cell) for cell in first)
    columns = _column_names(path, first) if header else None
    cells = array("d")
    if not header:
        cells.extend(_numbers(path, line, first, columns))
    for line, row in rows:
        if len(row) != len(first):
            raise ValueError(f"{path}, line {line}: {len(row)} cells where the first line has {len(first)}")
        cells.extend(_numbers(path, line, row, columns))
    return LabelledTable(np.array(cells, dtype=np.float64).reshape(-1, len(first)), columns)


def _rows(path, delimiter=None) -> Iterator[tuple[int, list]]:
    """Yield line number and stripped cells of every line that is not blank."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        try:
            if delimiter is None:
                delimiter = max(DELIMITERS, key=file.readline().count)
                file.seek(0)
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            for row in reader:
                cells = [cell.strip() for cell in row]
                if any(cells):
                    yield reader.line_num, cells
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not text in UTF-8; export the table as CSV") from error
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from error


def _column_names(path, cells):
    for number, name in enumerate(cells, start=1):
        if not name:
            raise ValueError(
                f"{path}, line 1: column {number} has no name; name it, or drop the column if it holds row labels"
            )
        if name in cells[: number - 1]:
            raise ValueError(f"{path}, line 1: two columns are called {name!r}; rename one")
    return cells


def _numbers(path, line, cells, columns):
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        at = next(i for i, cell in enumerate(cells) if not _is_number(cell))
        column = repr(columns[at]) if columns else at + 1
        found = repr(cells[at]) if cells[at] else "an empty cell"
        raise ValueError(
            f"{path}, line {line}, column {column}: {found} is not a number; drop or impute such rows first"
        ) from None


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


def write_table(path, values: np.ndarray, names: Sequence[str]) -> None:
    """Write a table with its column names in the first line; the numbers read back exactly.

    Parameters
    ----------
    path : str or Path
        Tabs separate the cells if it ends in ``.tsv``, commas otherwise.
    values : ndarray, shape (M, N)
        Observations in rows.
    names : sequence of str
        N labels.

    Raises
    ------
    OSError
        If the file cannot be written; an older one then stays as it was.
    """
    delimiter = "\t" if Path(path).suffix.lower() == ".tsv" else ","
    with replace_on_success(path) as temporary:
        temporary.write_text(_delimited([names, *np.asarray(values).tolist()], delimiter), encoding="utf-8")


def read_graph(path, names: Sequence[str] | None = None) -> tuple[np.ndarray, list]:
    """Read a graph from an adjacency matrix, an edge list, or the JSON that `write_graph` writes.

    Parameters
    ----------
    path : str or Path
        ``.json``, or delimited text with either a square matrix (with or without names in the first row and first
        column) or a line ``cause,effect[,weight]`` for each edge. An edge list needs the header ``cause,effect``
        if its names are numbers.
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
    """
    if Path(path).suffix == ".json":
        edges, found = _json_graph(path)
        return _from_edges(path, edges, names or found)
    rows = list(_rows(path))
    if not rows:
        raise ValueError(f"{path} is empty; it must hold an adjacency matrix or an edge list")
    if _is_edge_list_header(rows[0][1]):
        return _from_edges(path, _edges(path, rows[1:]), names)
    if all(len(row) in (2, 3) and all(row[:2]) and not any(map(_is_number, row[:2])) for _, row in rows):
        return _from_edges(path, _edges(path, rows), names)
    return _reordered(path, *_from_matrix(path, rows), names)


def _is_edge_list_header(row):
    return tuple(cell.casefold() for cell in row[:2]) in EDGE_LIST_HEADERS


def _json_graph(path):
    """Return the edges as (place, cause, effect, weight), and the names."""
    with open(path, encoding="utf-8") as file:
        try:
            content = json.load(file)
            edges = [
                (f"edge {number}", edge["cause"], edge["effect"], edge.get("weight", 1.0))
                for number, edge in enumerate(content["edges"], start=1)
            ]
            return edges, list(content["names"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f'{path} is not a graph in JSON: it must hold {{"names": [...], "edges": [{{"cause": ..., '
                f'"effect": ..., "weight": ...}}]}}'
            ) from error


def _edges(path, rows):
    """Return the edges of an edge list as (place, cause, effect, weight)."""
    edges = []
    for line, row in rows:
        if len(row) not in (2, 3) or not all(row[:2]):
            raise ValueError(f"{path}, line {line}: an edge needs cause,effect[,weight]; got {','.join(row)!r}")
        edges.append((f"line {line}", row[0], row[1], row[2] if len(row) == 3 else 1.0))
    return edges


def _from_edges(path, edges, names):
    if names is None:
        names = dict.fromkeys(name for _, cause, effect, _ in edges for name in (cause, effect))
    names = list(names)
    index = {name: i for i, name in enumerate(names)}
    A = np.zeros((len(names), len(names)))
    for place, cause, effect, weight in edges:
        for name in (cause, effect):
            if name not in index:
                raise ValueError(f"{path}, {place}: {name!r} is not one of the variables {', '.join(names)}")
        at = index[cause], index[effect]
        if cause == effect or A[at] != 0:
            raise ValueError(f"{path}, {place}: the edge {cause} -> {effect} is a self-loop or given twice")
        A[at] = _weight(path, place, weight)
    return A, names


def _weight(path, place, text):
    try:
        weight = float(text)
    except (TypeError, ValueError):
        weight = np.nan
    if not np.isfinite(weight):
        raise ValueError(f"{path}, {place}: the weight {text!r} is not a finite number")
    return weight


def _from_matrix(path, rows):
    """Return the matrix, and its names or None."""
    names = None
    if not all(_is_number(cell) for cell in rows[0][1]):
        names = rows[0][1]
        rows = rows[1:]
        if len(names) == len(rows) + 1:
            names = names[1:]
            rows = [
                (line, _without_label(path, line, row, name)) for (line, row), name in zip(rows, names, strict=True)
            ]
    size = len(rows)
    for line, row in rows:
        if len(row) != size:
            raise ValueError(f"{path}, line {line}: {len(row)} cells where a square matrix of {size} rows needs {size}")
    if names is not None and len(_column_names(path, names)) != size:
        raise ValueError(f"{path}, line 1: {len(names)} names for a matrix of {size} rows")
    A = np.array([[_weight(path, f"line {line}", cell) for cell in row] for line, row in rows])
    return A.reshape(size, size), names


def _without_label(path, line, row, name):
    if row[0] != name:
        raise ValueError(f"{path}, line {line}: the row is labelled {row[0]!r} where the columns say {name!r}")
    return row[1:]


def _reordered(path, A, found, names):
    if names is None:
        return A, found or [f"x{i}" for i in range(len(A))]
    names = list(names)
    if found is None:
        found = names
    if sorted(found) != sorted(names) or len(names) != len(A):
        raise ValueError(f"{path} holds {len(A)} variables that are not {', '.join(names)}")
    order = [found.index(name) for name in names]
    return A[np.ix_(order, order)], names


def write_graph(path, A: np.ndarray, names: Sequence[str]) -> None:
    """Write a graph in the format that the extension names.

    Parameters
    ----------
    path : str or Path
        ``.csv`` adjacency matrix with names in the first row and column; ``.tsv`` edge list
        ``cause, effect, weight``, strongest first, which omits variables without edges; ``.json`` names and edges;
        ``.dot`` or ``.gv`` Graphviz.
    A : ndarray, shape (N, N)
        Weighted adjacency matrix: ``A[i, j]`` is the weight of i -> j.
    names : sequence of str
        N labels.

    Raises
    ------
    ValueError
        If the extension is none of these.
    OSError
        If the file cannot be written; an older one then stays as it was.
    """
    text = graph_writer(path)(np.asarray(A), list(names))
    with replace_on_success(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def graph_writer(path):
    """Return the function that turns (A, names) into the text of the format that the extension of ``path`` names."""
    suffix = Path(path).suffix.lower()
    if suffix not in _WRITERS:
        raise ValueError(f"{path}: graphs are written as {', '.join(_WRITERS)}; choose one of these extensions")
    return _WRITERS[suffix]


def _matrix_text(A, names):
    rows = [["", *names]]
    rows += [[name, *map(repr, row)] for name, row in zip(names, A.tolist(), strict=True)]
    return _delimited(rows, ",")


def _edge_list_text(A, names):
    rows = [["cause", "effect", "weight"]]
    rows += [[edge.cause, edge.effect, repr(edge.weight)] for edge in graphs.edge_list(A, names)]
    return _delimited(rows, "\t")


def _json_text(A, names):
    edges = [edge._asdict() for edge in graphs.edge_list(A, names)]
    return json.dumps({"names": names, "edges": edges}, indent=2) + "\n"


def _delimited(rows, delimiter):
    from io import StringIO

    text = StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()


_WRITERS = {
    ".csv": _matrix_text,
    ".tsv": _edge_list_text,
    ".json": _json_text,
    ".dot": graphs.to_dot,
    ".gv": graphs.to_dot,
}


@contextmanager
def replace_on_success(path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that takes its place if the body succeeds and vanishes if it fails.

    Parameters
    ----------
    path : str or Path
        The file to write; the temporary path has the same extension.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    path = Path(path)
    check_writable(path)
    temporary = path.with_name(f".{path.stem}-{secrets.token_hex(4)}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path) -> None:
    """Raise OSError if a file cannot be written at ``path``, before any work is spent on its content."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"cannot write {path}: no permission to write into {path.parent}")
