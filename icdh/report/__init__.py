"""HTML pages of what was learned and of one effect, without links to others. Needs the extra ``[report]``."""

import io
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from icdh._utils.labels import printable
from icdh.exceptions import import_extra
from icdh.files import replace_on_success
from icdh.report.findings import findings

if TYPE_CHECKING:
    from icdh._effect.result import Effect

__all__ = ["findings", "write_answer", "write_page"]


def write_page(path: str | os.PathLike[str], facts: Mapping[str, object], template: str = "report.html") -> None:
    """Write the page; an older file stays as it was if that fails.

    Parameters
    ----------
    path : str or Path
        The file.
    facts : mapping
        What the template asks for: of a report, what `icdh.report.findings` found.
    template : str
        The file that has the text of the page.

    Raises
    ------
    MissingExtraError, OSError
        If Jinja2 is not installed, or the file cannot be written.
    """
    jinja2, folder = import_extra("jinja2", "report"), Path(__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters.update(number=_number, printable=printable)
    text = environment.get_template(template).render(facts)
    with replace_on_success(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")


def write_answer(path: str | os.PathLike[str], effect: "Effect") -> None:
    """Write a page about one effect: the answer in words, its curve or estimates, and what a hidden cause would do.

    Parameters
    ----------
    path : str or Path
        The file.
    effect : icdh.Effect
        The answer.

    Raises
    ------
    MissingExtraError, OSError
        If Jinja2 or matplotlib is not installed, or the file cannot be written.
    """
    drawn = io.StringIO()
    effect.plot().savefig(drawn, format="svg")
    picture = drawn.getvalue()
    write_page(path, {"effect": effect, "picture": picture[picture.index("<svg") :]}, "effect.html")


def _number(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.4g}" if math.isfinite(value) else "undefined"
