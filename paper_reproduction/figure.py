"""The paper's figure: metrics against the number of variables, one column of panels a noise."""

import numpy as np

from icdh.exceptions import import_extra
from icdh.files import replace_on_success
from paper_reproduction.tables import RAW, Setting

NOISES = ("homo-ev", "homo-nv", "softplus-shared", "exp", "exp-shared")
METRICS = {"au_shdc": "auSHDC", "shd": "SHD at 0.3", "truncated_auprc": "auPRC"}
GRAPH = "ER2"
NODES = (5, 10, 20, 50)
METHODS = ("ICDH", "ICDH (as printed)", "HNMSearch", "NOTEARS-MLP", "NOTEARS", "GOLEM-EV", "GraN-DAG", "HOST", "CAM")
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
    import_extra("matplotlib", "plot")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "icdh", "svg.fonttype": "none"}):
        figure = Figure(figsize=(3.1 * len(NOISES), 2.5 * len(METRICS) + 0.6))
        figure.set_layout_engine("constrained", rect=(0.0, 0.06, 1.0, 0.94))  # room for the legend
        axes = figure.subplots(len(METRICS), len(NOISES), sharex=True, sharey="row", squeeze=False)
        for at, noise in enumerate(NOISES):
            axes[0, at].set_title(f"{noise}, {GRAPH}")
            axes[-1, at].set_xlabel("variables")
            for ax, metric in zip(axes[:, at], METRICS, strict=True):
                _panel(ax, found, noise, metric)
        for ax, (metric, label) in zip(axes[:, 0], METRICS.items(), strict=True):
            ax.set_ylabel(label)
            if metric != "truncated_auprc":
                ax.set_yscale("symlog", linthresh=1.0)
            ax.set_ylim(bottom=0)  # last, for it ends the scaling to the data
        lines = {line.get_label(): line for ax in axes.flat for line in ax.get_lines()}
        figure.legend(lines.values(), lines.keys(), loc="lower center", ncols=len(METHODS), frameon=False)
        with replace_on_success(path) as temporary:
            figure.savefig(temporary, metadata={"Date": None})


def _panel(ax, found, noise, metric):
    for number, method in enumerate(METHODS):
        if method in UNCOMPARABLE.get(metric, ()):
            continue
        points = [(n, found.get((Setting(noise, GRAPH, n, RAW).name, method))) for n in NODES]
        points = [(n, row) for n, row in points if row is not None and row.trials]
        if not points:
            continue
        nodes = np.array([n for n, _ in points]) * 1.015 ** (number - len(METHODS) // 2)  # bars side by side
        means = [row.mean(metric) for _, row in points]
        errors = [row.std(metric) / np.sqrt(row.trials) for _, row in points]
        line = ax.plot(nodes, means, "o-", color=f"C{number}", markersize=3, linewidth=1, label=method)[0]
        ax.vlines(nodes, np.subtract(means, errors), np.add(means, errors), color=line.get_color(), linewidth=1)
    ax.set_xscale("log")
    ax.set_xticks(NODES, [str(n) for n in NODES])
    ax.minorticks_off()
