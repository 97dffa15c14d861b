"""Tables of pandas, polars and pyarrow: how to recognise them, read them, and return results in the same library."""

from collections.abc import Callable, Hashable, Mapping

import numpy as np

from icdh._ground.arrays import Cells, Foreign
from icdh._ground.labels import variable_index
from icdh._table.categories import Categories
from icdh.exceptions import MissingExtraError, import_extra

LIBRARIES = ("pandas", "polars", "pyarrow")


def library_of(X: Foreign) -> str:
    """Return the library of a table: "pandas" for everything that indexes like its frames, "" for arrays."""
    if hasattr(X, "iloc"):
        return "pandas"
    library = type(X).__module__.partition(".")[0]
    return library if library in LIBRARIES and hasattr(X, "columns") else ""


def column_labels(X: Foreign) -> list[Hashable] | None:
    """Return the labels of the columns of a table; None if it has none."""
    labels = getattr(X, "column_names", None) if library_of(X) == "pyarrow" else getattr(X, "columns", None)
    return None if labels is None else list(labels)


def columns_of(X: Foreign) -> list[Cells] | None:
    """Return the columns of a table, each an array of its type, shape (M,); None of anything else.

    Nulls become NaN in numbers, None or the library's null beside text.
    """
    library = library_of(X)
    if library == "pandas" and X.ndim == 2:
        return [_of_pandas(X.iloc[:, i]) for i in range(X.shape[1])]
    if library == "polars" and hasattr(X, "get_columns"):
        return [column.to_numpy() for column in X.get_columns()]
    return [np.asarray(_without_dictionary(column)) for column in X.columns] if library == "pyarrow" else None


def _of_pandas(series: Foreign) -> Cells:
    """Return a pandas column as an array, numbers without a detour by objects."""
    kind = getattr(series.dtype, "kind", "O")
    if isinstance(series.dtype, np.dtype) or kind not in "biuf":
        return np.asarray(series.to_numpy())
    whole = kind in "iu" and not series.hasnans
    return np.asarray(series.to_numpy(kind + "8") if whole else series.to_numpy(np.float64, na_value=np.nan))


def as_array(X: Foreign) -> Cells:
    """Return an array, or one column of any library, as an array. Masked cells become NaN, or None beside text."""
    if isinstance(X, np.ma.MaskedArray):
        return _without_mask(X)
    return np.asarray(X)


def without_column(X: Foreign, label: Hashable) -> tuple[Foreign, list[Hashable]]:
    """Return a table without one of its columns, and the cells of that column.

    Parameters
    ----------
    X : DataFrame or array_like, shape (M, N)
        A table with labels, or an array, whose columns are numbered.
    label : hashable
        The label, or else the number, of the column.

    Raises
    ------
    ValueError
        If there is no such column.
    """
    labels = column_labels(X)
    if labels is None:
        cells = np.asarray(X)
        labels = list(range(cells.shape[1] if cells.ndim == 2 else 0))
    at = variable_index(label, labels, "groups")
    if not library_of(X):
        return np.delete(np.asarray(X), at, axis=1), np.asarray(X)[:, at].tolist()
    if library_of(X) == "pandas":
        return X.drop(columns=[labels[at]]), X.iloc[:, at].tolist()
    kept = [name for name in labels if name != labels[at]]
    cells = X[labels[at]]
    return X.select(kept), cells.to_list() if library_of(X) == "polars" else cells.to_pylist()


def _without_dictionary(column: Foreign) -> Foreign:
    """Return a pyarrow dictionary column as text: converted directly, its nulls would become the last text."""
    return column.cast(column.type.value_type) if str(column.type).startswith("dictionary") else column


def _without_mask(X: Foreign) -> Cells:
    gaps = np.ma.getmaskarray(X)
    if not gaps.any():
        return np.asarray(X)
    filled: np.ndarray = X.data.astype(
        {"f": X.dtype, "c": X.dtype}.get(X.dtype.kind, float if X.dtype.kind in "biu" else object)
    )
    filled[gaps] = None if filled.dtype == object else np.nan
    return filled


def frame_of(
    library: str,
    columns: Mapping[Hashable, np.ndarray],
    index: Foreign = None,
    ordered: Mapping[Hashable, Categories] | None = None,
) -> Foreign:
    """Return columns as a table of a library.

    Parameters
    ----------
    library : {"pandas", "polars", "pyarrow"}
        The library.
    columns : mapping from labels to arrays, each of shape (M,)
        The columns.
    index : pandas.Index, optional
        The labels of the rows of a pandas frame.
    ordered : mapping from labels to Categories, optional
        The columns of labels with an order.

    Raises
    ------
    MissingExtraError
        If the library is not installed.
    """
    if library == "pandas":
        pandas, ordered = import_extra("pandas", "dataframe"), ordered or {}
        parts = [
            pandas.Categorical(column, ordered[label].labels, ordered=True) if label in ordered else column
            for label, column in columns.items()
        ]
        frame = pandas.DataFrame(dict(enumerate(parts)), index=index)
        frame.columns = _stored(pandas.Index, list(columns))
        return frame
    try:
        module = __import__(library)
    except ImportError as error:
        raise MissingExtraError(f"this model was learned from a table of {library}, which is not installed") from error
    build = module.DataFrame if library == "polars" else module.table
    return build({label: column.tolist() if column.dtype == object else column for label, column in columns.items()})


def index_of(X: Foreign) -> Foreign:
    """Return the labels of the rows of a pandas frame, None of any other table."""
    return X.index if hasattr(X, "iloc") else None


def _stored(kind: Callable[..., Foreign], values: list[Hashable]) -> Foreign:
    """Return a pandas Index; of dtype object where pyarrow's text storage refuses a lone surrogate."""
    try:
        return kind(values)
    except UnicodeEncodeError:
        return kind(values, dtype=object)
