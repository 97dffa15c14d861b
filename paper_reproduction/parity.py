"""One figure of all numbers: the article's against ours, a panel a metric, a colour a method."""

import math

from icdh.exceptions import import_extra
from icdh.files import replace_on_success

PANELS = {
    "shd": "SHD at threshold 0.3",
    "au_shdc": "auSHDC",
    "truncated_auprc": "auPRC",
    "sid": "SID",
    "correct": "right of 99 pairs",
    "weighted_accuracy": "weighted accuracy of pairs",
}
COLUMNS = 3


def draw_parity(found: list, path) -> None:
    """Draw the article's numbers against ours with standard errors; on the diagonal both agree.

    Parameters
    ----------
    found : list of Verdict
        Those on the article's numbers.
    path : Path
        The file to write.
    """
    import_extra("matplotlib", "plot")
    from matplotlib import colormaps, rc_context
    from matplotlib.figure import Figure

    run = [verdict for verdict in found if verdict.trials]
    methods = dict.fromkeys(verdict.published.method for verdict in run)
    colours = dict(zip(methods, colormaps["tab20"].colors, strict=False))
    with rc_context({"svg.hashsalt": "icdh", "svg.fonttype": "none"}):
        figure = Figure(figsize=(4.0 * COLUMNS, 8.8))
        figure.set_layout_engine("constrained", rect=(0.0, 0.08, 1.0, 0.92))  # room for the legend
        for ax, (metric, label) in zip(figure.subplots(2, COLUMNS).flat, PANELS.items(), strict=True):
            _panel(ax, [verdict for verdict in run if verdict.published.metric == metric], colours)
            ax.set_title(label)
            ax.set_xlabel("the article")
            ax.set_ylabel("ours")
            if metric in ("shd", "au_shdc"):
                ax.set_xscale("symlog", linthresh=1.0)
                ax.set_yscale("symlog", linthresh=1.0)
        handles = {line.get_label(): line for ax in figure.axes for line in ax.get_lines()}
        names = [name for name in methods if name in handles]
        figure.legend([handles[n] for n in names], names, loc="lower center", ncols=8, frameon=False)
        with replace_on_success(path) as temporary:
            figure.savefig(temporary, metadata={"Date": None})


def _panel(ax, found, colours):
    for verdict in found:
        number, colour = verdict.published, colours[verdict.published.method]
        theirs = (number.std or 0.0) / math.sqrt(number.trials or 1) if number.setting.graph.startswith("ER") else 0.0
        ours = verdict.std / math.sqrt(verdict.trials)
        ax.hlines(verdict.mean, number.value - theirs, number.value + theirs, color=colour, linewidth=0.6)
        ax.vlines(number.value, verdict.mean - ours, verdict.mean + ours, color=colour, linewidth=0.6)
        ax.plot([number.value], [verdict.mean], "o", color=colour, markersize=4, label=number.method)
    ax.axline((0.0, 0.0), (1.0, 1.0), color="0.6", linewidth=0.8, zorder=0)
