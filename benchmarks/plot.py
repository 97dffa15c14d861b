"""Draw the figures of fits.py and scaling.py as one SVG file.

python benchmarks/plot.py benchmarks/results benchmarks/figures/speed.svg
"""

import argparse
import json
from pathlib import Path

import numpy as np

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

    by_variables, by_observations = (
        [row for row in scaling if row["series"] == series] for series in ("variables", "observations")
    )
    with matplotlib.rc_context(STYLE):
        figure, panels = pyplot.subplots(1, 4, figsize=(11, 2.9), layout="constrained")
        draw_fits(panels[0], fits)
        draw_series(panels[1], by_variables, "variables", "seconds", "CPU seconds, two-phase fit, M = 1000")
        draw_series(panels[2], by_observations, "observations", "seconds", "CPU seconds, two-phase fit, N = 10")
        draw_series(panels[3], by_observations, "observations", "process_megabytes", "Peak MB of that process")
        with replace_on_success(arguments.figure) as temporary:
            figure.savefig(temporary, format=arguments.figure.suffix[1:], metadata={"Date": None})


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))["rows"]


def draw_fits(panel, rows):
    """Every fit of a peer beside ours of the same table; the peer's mark is hollow where it was stopped."""
    ours = {(row["variables"], row["seed"]): row["seconds"] for row in rows if row["method"] == "icdh"}
    theirs = [row for row in rows if row["method"] != "icdh" and (row["variables"], row["seed"]) in ours]
    groups = sorted({(row["variables"], row["method"]) for row in theirs})
    for place, (variables, peer) in enumerate(groups):
        pairs = [row for row in theirs if (row["variables"], row["method"]) == (variables, peer)]
        for number, row in enumerate(pairs):
            x, seconds = place + 0.12 * (number - (len(pairs) - 1) / 2), ours[variables, row["seed"]]
            panel.plot([x, x], [seconds, row["seconds"]], color=GRID, zorder=1)
            panel.scatter(x, seconds, 22, color=COLOURS["icdh"], zorder=2)
            face = "white" if row["failure"] else COLOURS[peer]
            panel.scatter(x, row["seconds"], 22, facecolor=face, edgecolor=COLOURS[peer], zorder=2)
    for name in ("icdh", *sorted({peer for _, peer in groups})):
        panel.scatter([], [], 22, color=COLOURS[name], label=name)
    panel.set_xticks(range(len(groups)), [f"{variables}\n{peer}" for variables, peer in groups], fontsize=7)
    panel.set_xlim(-0.6, len(groups) - 0.4)
    panel.set_yscale("log")
    panel.set_ylim(0.1, 10.0 ** np.ceil(np.log10(max(row["seconds"] for row in theirs))))
    panel.legend(edgecolor="white", framealpha=1.0, loc="upper left", fontsize=7)
    finish(panel, "variables, and peer (hollow: stopped)", 'CPU seconds, noise="equal", M = 1000')


def draw_series(panel, rows, series, quantity, title):
    """One quantity as the table grows."""
    sizes, values = [row[series] for row in rows], [row[quantity] for row in rows]
    panel.plot(sizes, values, "o-", color=COLOURS["icdh"], markersize=5)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_ylim(10.0 ** np.floor(np.log10(min(values))), 10.0 ** np.ceil(np.log10(max(values))))
    if series == "variables":
        panel.set_xticks(sizes, [str(size) for size in sizes])
    finish(panel, series, title)


def finish(panel, x, title):
    panel.minorticks_off()
    panel.set_xlabel(x)
    panel.set_title(title, fontsize=9)
    panel.grid(axis="y", color=GRID, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
