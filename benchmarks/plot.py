"""Draw the figures of fits.py and scaling.py as one SVG file.

python benchmarks/plot.py benchmarks/results benchmarks/figures/speed.svg
"""

import argparse
import json
from pathlib import Path

from icdh.exceptions import import_extra
from icdh.files import replace_on_success

COLOURS = {"icdh": "#1f5fa8", "gcastle": "#c2571a", "dagma": "#5b8c2a"}
INK, GRID = "#333333", "#dddddd"
STYLE = {"font.size": 9, "svg.hashsalt": "icdh", "svg.fonttype": "none", "axes.edgecolor": INK, "text.color": INK}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("figure", type=Path)
    arguments = parser.parse_args()
    fits, scaling = (read(arguments.results / f"{name}.json") for name in ("fits", "scaling"))
    matplotlib = import_extra("matplotlib", "plot")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    with matplotlib.rc_context(STYLE):
        figure, panels = pyplot.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
        draw_fits(panels[0], fits)
        draw_series(panels[1], [row for row in scaling if row["series"] == "variables"], "variables")
        draw_series(panels[2], [row for row in scaling if row["series"] == "observations"], "observations")
        with replace_on_success(arguments.figure) as temporary:
            figure.savefig(temporary, format=arguments.figure.suffix[1:], metadata={"Date": None})


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))["rows"]


def draw_fits(panel, rows):
    """Every pair of fits: a line from ours to the peer's; hollow where the peer was stopped."""
    seen, groups = set(), sorted({(row["variables"], row["peer"]) for row in rows})
    for place, (variables, peer) in enumerate(groups):
        pairs = [row for row in rows if (row["variables"], row["peer"]) == (variables, peer)]
        for number, row in enumerate(pairs):
            x = place + 0.12 * (number - (len(pairs) - 1) / 2)
            ours, theirs = row["ours"]["seconds"], row["theirs"]["seconds"]
            panel.plot([x, x], [ours, theirs], color=GRID, zorder=1)
            for name, seconds, stopped in (("icdh", ours, False), (peer, theirs, row["theirs"]["failure"])):
                face = "white" if stopped else COLOURS[name]
                label = None if name in seen or stopped else name
                seen |= {name} if label else set()
                panel.scatter(x, seconds, 22, facecolor=face, edgecolor=COLOURS[name], label=label, zorder=2)
    panel.set_xticks(range(len(groups)), [f"{variables}" for variables, _ in groups])
    panel.set_xlim(-0.6, len(groups) - 0.4)
    panel.set_yscale("log")
    panel.legend(frameon=False, loc="upper left")
    finish(panel, "variables", "CPU seconds", "Fit with noise of equal variance, M = 1000")


def draw_series(panel, rows, series):
    """Seconds and, on the right axis, megabytes of one series."""
    sizes = [row[series] for row in rows]
    memory = panel.twinx()
    memory.plot(sizes, [row["process_megabytes"] for row in rows], "s--", color="#888888", markersize=4)
    memory.set_yscale("log")
    memory.set_ylim(100, 10_000)
    memory.set_ylabel("peak MB of the process (squares)")
    panel.plot(sizes, [row["seconds"] for row in rows], "o-", color=COLOURS["icdh"], markersize=5)
    panel.set_xscale("log")
    panel.set_yscale("log")
    title = "Two-phase fit, M = 1000" if series == "variables" else "One round of it, N = 10"
    if series == "variables":
        panel.set_xticks(sizes, [str(size) for size in sizes])
        panel.minorticks_off()
    finish(panel, series, "CPU seconds", title)
    memory.spines["top"].set_visible(False)


def finish(panel, x, y, title):
    panel.set_xlabel(x)
    panel.set_ylabel(y)
    panel.set_title(title, fontsize=9)
    panel.grid(axis="y", color=GRID, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines["top"].set_visible(False)


if __name__ == "__main__":
    main()
