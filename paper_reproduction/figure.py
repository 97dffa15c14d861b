"""Figures of metrics against the number of variables: the paper's, a column a noise, and ICDH's three procedures."""

from contextlib import contextmanager

import numpy as np

from icdh.exceptions import import_extra
from icdh.files import replace_on_success
from paper_reproduction.tables import RAW, Setting

NOISES = ("homo-ev", "homo-nv", "softplus-shared", "exp", "exp-shared")
METRICS = {"au_shdc": "auSHDC", "shd": "SHD at 0.3", "truncated_auprc": "auPRC"}
GRAPH = "ER2"
NODES = (5, 10, 20, 50)
METHODS = ("ICDH", "ICDH (as printed)", "HNMSearch", "NOTEARS-MLP", "NOTEARS", "GOLEM-EV", "GraN-DAG", "HOST", "CAM")
PROCEDURES = ("HNMSearch", "ICDH (last stage)", "ICDH", "ICDH (as printed)", "NOTEARS-MLP")
UNCOMPARABLE = {"au_shdc": ("HNMSearch", "HOST", "CAM"), "truncated_auprc": ("GraN-DAG",)}


def draw(found: dict, path) -> None:
    """Draw mean and standard error over trials, on raw data.

    Parameters
    ----------
    found : dict
        Rows by (setting name, method).
    path : Path
        The file to write.
    """
    with _style() as new_figure:
        figure = new_figure(figsize=(3.1 * len(NOISES), 2.5 * len(METRICS) + 0.6))
        figure.set_layout_engine("constrained", rect=(0.0, 0.06, 1.0, 0.94))  # room for the legend
        axes = figure.subplots(len(METRICS), len(NOISES), sharex=True, sharey="row", squeeze=False)
        for at, noise in enumerate(NOISES):
            axes[0, at].set_title(f"{noise}, {GRAPH}")
            axes[-1, at].set_xlabel("variables")
            for ax, metric in zip(axes[:, at], METRICS, strict=True):
                _panel(ax, found, noise, metric, GRAPH, METHODS)
        for ax, (metric, label) in zip(axes[:, 0], METRICS.items(), strict=True):
            ax.set_ylabel(label)
            if metric != "truncated_auprc":
                ax.set_yscale("symlog", linthresh=1.0)
            ax.set_ylim(bottom=0)  # last, for it ends the scaling to the data
        _finish(figure, axes, path)


def draw_procedures(found: dict, path) -> None:
    """Draw mean SHD and its standard error, raw data, of ICDH's three procedures beside HNMSearch and NOTEARS-MLP.

    Parameters
    ----------
    found : dict
        Rows by (setting name, method).
    path : Path
        The file to write.
    """
    with _style() as new_figure:
        figure = new_figure(figsize=(7.5, 3.6))
        figure.set_layout_engine("constrained", rect=(0.0, 0.14, 1.0, 0.86))  # room for the legend
        axes = figure.subplots(1, 2, squeeze=False)
        for ax, (graph, edges) in zip(axes[0], (("ER1", 1), ("ER2", 2)), strict=True):
            _panel(ax, found, "softplus-shared", "shd", graph, PROCEDURES)
            ax.plot(NODES, [edges * n for n in NODES], ":", color="grey", linewidth=1, label="empty graph")
            ax.set(title=f"softplus-shared, {graph}", xlabel="variables", ylabel=METRICS["shd"])
            ax.set_yscale("log")
        _finish(figure, axes, path, columns=3)


@contextmanager
def _style():
    import_extra("matplotlib", "plot")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "icdh", "svg.fonttype": "none"}):
        yield Figure


def _finish(figure, axes, path, columns=None):
    lines = {line.get_label(): line for ax in axes.flat for line in ax.get_lines()}
    figure.legend(lines.values(), lines.keys(), loc="lower center", ncols=columns or len(lines), frameon=False)
    with replace_on_success(path) as temporary:
        figure.savefig(temporary, metadata={"Date": None})


def _panel(ax, found, noise, metric, graph, methods):
    for number, method in enumerate(methods):
        if method in UNCOMPARABLE.get(metric, ()):
            continue
        points = [(n, found.get((Setting(noise, graph, n, RAW).name, method))) for n in NODES]
        points = [(n, row) for n, row in points if row is not None and row.trials]
        if not points:
            continue
        nodes = np.array([n for n, _ in points]) * 1.015 ** (number - len(methods) // 2)  # bars side by side
        means = [row.mean(metric) for _, row in points]
        errors = [row.std(metric) / np.sqrt(row.trials) for _, row in points]
        line = ax.plot(nodes, means, "o-", color=f"C{number}", markersize=3, linewidth=1, label=method)[0]
        ax.vlines(nodes, np.subtract(means, errors), np.add(means, errors), color=line.get_color(), linewidth=1)
    ax.set_xscale("log")
    ax.set_xticks(NODES, [str(n) for n in NODES])
    ax.minorticks_off()
