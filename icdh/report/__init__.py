"""One HTML page of what was learned, without links to anything outside it. Needs the extra ``[report]``."""

from icdh.report.findings import findings
from icdh.report.page import render, write_page

__all__ = ["findings", "render", "write_page"]
