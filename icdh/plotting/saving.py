"""Pictures as files, written whole or not at all."""

import os
from pathlib import Path
from typing import Any

from icdh.exceptions import import_extra
from icdh.files import check_writable, replace_on_success


def save_figure(path: str | os.PathLike[str], figure: Any) -> None:
    """Write a figure; the extension of the path names the format (PNG, SVG, PDF).

    Parameters
    ----------
    path : str or Path
        The file.
    figure : matplotlib.figure.Figure
        The picture.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ValueError
        If matplotlib does not know the extension.
    OSError
        If the file cannot be written; an older one then stays as it was.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.plotting import plot_graph, save_figure
    >>> A = np.array([[0.0, 0.9, 0.4], [0.0, 0.0, 0.7], [0.0, 0.0, 0.0]])
    >>> save_figure("graph.svg", plot_graph(A, ["dose", "level", "answer"]))
    """
    check_plot_path(path)
    with replace_on_success(path) as temporary:
        figure.savefig(temporary, dpi=150)


def check_plot_path(path: str | os.PathLike[str]) -> None:
    """Raise as `save_figure` would for this path, before any work is spent on the picture.

    Parameters
    ----------
    path : str or Path
        The file.

    Raises
    ------
    MissingExtraError, ValueError, OSError
        As `save_figure`.

    Examples
    --------
    >>> from icdh.plotting import check_plot_path
    >>> check_plot_path("graph.svg")
    """
    formats = import_extra("matplotlib.backends.backend_agg", "plot").FigureCanvasAgg.get_supported_filetypes()
    if Path(path).suffix.lower().lstrip(".") not in formats:
        raise ValueError(f"{path}: pictures are written as {', '.join(formats)}; choose one of these extensions")
    check_writable(path)
