"""One HTML page of what was learned, without links to anything outside it. Needs the extra ``[report]``."""

import math
import os
from collections.abc import Mapping
from pathlib import Path

from icdh.exceptions import import_extra
from icdh.files import replace_on_success
from icdh.report.findings import findings

__all__ = ["findings", "write_page"]


def write_page(path: str | os.PathLike[str], facts: Mapping[str, object]) -> None:
    """Write the page; an older file stays as it was if that fails.

    Parameters
    ----------
    path : str or Path
        The file.
    facts : mapping
        What `icdh.report.findings` found.

    Raises
    ------
    MissingExtraError, OSError
        If Jinja2 is not installed, or the file cannot be written.
    """
    jinja2, folder = import_extra("jinja2", "report"), Path(__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters["number"] = _number
    text = environment.get_template("report.html").render(facts)
    with replace_on_success(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")


def _number(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.4g}" if math.isfinite(value) else "undefined"
