"""Frames given as masks, and values given as series: their labels count, or they are refused."""

from collections.abc import Hashable, Sequence

import numpy as np

from icdh._ground.arrays import Cells, Foreign, TableLike


def aligned(frame: TableLike, names: Sequence[Hashable], argument: str, *, square: bool = False) -> Cells:
    """Return the cells of a frame with its columns in the order of the variables, and if ``square`` its rows, too.

    What has no labels, or the default ones 0, 1, ..., is taken as it is.

    Raises
    ------
    ValueError
        If the labels are not the names of the variables.
    """
    cells = np.asarray(frame)
    if cells.ndim != 2:
        return cells
    columns = getattr(frame, "column_names", None)
    cells = cells[:, _places(getattr(frame, "columns", ()) if columns is None else columns, names, argument)]
    return cells[_places(getattr(frame, "index", ()), names, argument)] if square else cells


def _places(labels: Foreign, names: Sequence[Hashable], argument: str) -> list[int] | slice:
    """Return the place of every variable among the labels."""
    labels = [] if callable(labels) or isinstance(labels, np.ndarray) else list(labels)
    if labels in (list(names), list(range(len(labels)))):
        return slice(None)
    if sorted(map(repr, labels)) != sorted(map(repr, names)):
        strange = next((label for label in labels if label not in names), None)
        differs = f"has the label {strange!r}, which no variable has" if strange is not None else "lacks variables"
        raise ValueError(f"{argument} {differs}; label it as the table is, or pass its values without labels")
    return [labels.index(name) for name in names]


def check_same_rows(X: Foreign, other: Foreign, argument: str) -> None:
    """Raise ValueError if a pandas object has other labels of rows than a pandas frame, or another order."""
    if hasattr(X, "iloc") and hasattr(other, "iloc") and not X.index.equals(other.index):
        raise ValueError(f"{argument} has other row labels than X; pass {argument}.loc[X.index], or its values alone")
