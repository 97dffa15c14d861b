"""Tables in the formats of statistical programs, by their endings: read through the libraries that know them."""

import warnings
from pathlib import Path

import numpy as np

from icdh._table.frames import column_labels, columns_of
from icdh._utils.arrays import Cells
from icdh.exceptions import MissingExtraError, import_extra
from icdh.files.text import Source, label_of

# Functions of pandas, read_..., by the ending of a file; labels of values stay labels, and the format's codes are gaps.
PANDAS = {".dta": "stata", ".sav": "spss", ".zsav": "spss", ".sas7bdat": "sas", ".xpt": "sas"}
PANDAS |= dict.fromkeys((".xlsx", ".xlsm", ".xls", ".ods"), "excel")
ARROW = {".parquet": "pyarrow.parquet", ".feather": "pyarrow.feather"}
OPTIONS = {".sas7bdat": {"format": "sas7bdat", "encoding": "infer"}, ".xpt": {"format": "xport", "encoding": "utf-8"}}


def ending(source: Source) -> str:
    """Return the ending of the format of a file, empty if it is text."""
    suffix = Path(label_of(source)).suffix.lower()
    return suffix if suffix in PANDAS or suffix in ARROW else ""


def columns_of_file(path: Source) -> tuple[list[str], list[Cells]]:
    """Return names and columns of a file of another program.

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
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other libraries
            if suffix in ARROW:
                frame = import_extra(ARROW[suffix], "parquet").read_table(path)
            else:
                read = getattr(import_extra("pandas", "formats"), f"read_{PANDAS[suffix]}")
                frame = read(path, **OPTIONS.get(suffix, {}))
    except Exception as error:  # each library has errors of its own
        if isinstance(error, MissingExtraError) or (isinstance(error, OSError) and error.errno is not None):
            raise
        if isinstance(error, ImportError):
            raise MissingExtraError(f"{name} needs a further library: pip install 'icdh[formats]' ({error})") from error
        raise ValueError(f"{name} cannot be read as {suffix}: {error}") from error
    return list(map(str, column_labels(frame) or [])), columns_of(frame) or []


def text_of(cells: Cells) -> list[str]:
    """Return the cells of a column that holds more than numbers as text, as a text file would hold them."""
    moments = cells.astype("datetime64[us]") if cells.dtype.kind == "M" else cells
    return [_text(cell) for cell in moments.tolist()]


def _text(cell: object) -> str:
    if cell is None or cell != cell:
        return ""
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2.0**53 else cell)


def is_nested(cells: Cells) -> bool:
    """Return whether cells hold several values each."""
    return cells.dtype == object and any(isinstance(cell, dict | list | tuple | np.ndarray) for cell in cells)
