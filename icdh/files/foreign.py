"""Tables in the formats of statistical programs, by their endings: read through the libraries that know them."""

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from icdh._ground.arrays import Cells, Foreign
from icdh._table.frames import column_labels, columns_of
from icdh.exceptions import MissingExtraError, import_extra
from icdh.files.text import Source, label_of

Reader = Callable[[Foreign, Source], Foreign]
READERS: dict[str, Reader] = {  # labels of values stay labels, and the format's codes of missing values are gaps
    ".dta": lambda pandas, path: pandas.read_stata(path),
    ".sav": lambda pandas, path: pandas.read_spss(path),
    ".zsav": lambda pandas, path: pandas.read_spss(path),
    ".sas7bdat": lambda pandas, path: pandas.read_sas(path, format="sas7bdat", encoding="infer"),
    ".xpt": lambda pandas, path: pandas.read_sas(path, format="xport", encoding="utf-8"),
    ".xlsx": lambda pandas, path: pandas.read_excel(path),
    ".xlsm": lambda pandas, path: pandas.read_excel(path),
    ".xls": lambda pandas, path: pandas.read_excel(path),
    ".ods": lambda pandas, path: pandas.read_excel(path),
    ".parquet": lambda _, path: import_extra("pyarrow.parquet", "parquet").read_table(path),
    ".feather": lambda _, path: import_extra("pyarrow.feather", "parquet").read_table(path),
}


def ending(source: Source) -> str:
    """Return the ending of the format of a file, empty if it is text."""
    suffix = Path(label_of(source)).suffix.lower()
    return suffix if suffix in READERS else ""


def columns_of_file(path: Source) -> tuple[list[str], list[Cells]]:
    """Return names and columns of a file in a format of `READERS`.

    Raises
    ------
    OSError
        If there is no such file.
    MissingExtraError
        If the library that reads it is not installed.
    ValueError
        If the file is damaged.
    """
    name, suffix = label_of(path), ending(path)
    pandas = None if suffix in (".parquet", ".feather") else import_extra("pandas", "formats")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other libraries
            frame = READERS[suffix](pandas, path)
    except MissingExtraError:
        raise
    except ImportError as error:
        raise MissingExtraError(f"{name} needs a further library: pip install 'icdh[formats]' ({error})") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise ValueError(f"{name} cannot be read as {suffix}: {error}") from error
    except Exception as error:  # each library has errors of its own
        raise ValueError(f"{name} cannot be read as {suffix}: {error}") from error
    return list(map(str, column_labels(frame) or [])), columns_of(frame) or []


def text_of(cells: Cells) -> list[str]:
    """Return the cells of a column that holds more than numbers as text, as a text file would hold them."""
    moments = cells.astype("datetime64[us]") if cells.dtype.kind == "M" else cells
    return [_text(cell) for cell in moments.tolist()]


def _text(cell: object) -> str:
    if cell is None or cell != cell:
        return ""
    whole = isinstance(cell, float) and cell.is_integer() and abs(cell) < 2.0**53
    return str(int(cell)) if whole and isinstance(cell, float) else str(cell)


def is_nested(cells: Cells) -> bool:
    """Return whether cells hold several values each."""
    return cells.dtype == object and any(isinstance(cell, dict | list | tuple | np.ndarray) for cell in cells)
