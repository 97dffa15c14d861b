"""Draw the reliability curves of calibration_report.py's results as one SVG file.

python benchmarks/plot_calibration.py benchmarks/results/calibration.json benchmarks/figures/calibration.svg
"""

import argparse
from pathlib import Path

import numpy as np
from calibration_report import curve, group_of, read, scores
from plot import GRID, INK, STYLE, finish

from icdh.exceptions import import_extra
from icdh.files import replace_on_success

MARKS = {  # colours told apart without red and green, and marks told apart without colours
    "posterior": ("#0072b2", "o"),
    "HNMSearch, subsample": ("#56b4e9", "s"),
    "ICDH, subsample": ("#009e73", "^"),
    "DirectLiNGAM, bootstrap": ("#e69f00", "v"),
    "BOSS, bootstrap": ("#d55e00", "D"),
    "NOTEARS-MLP, bootstrap": ("#cc79a7", "P"),
}
TITLES = {"own": "The model's own kinds of table", "misspecified": "Confounded, rounded, Laplace noise"}
FEWEST = 50  # possible edges that a mark stands for


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("figure", type=Path)
    arguments = parser.parse_args()
    rows = read(arguments.results)
    matplotlib = import_extra("matplotlib", "plot")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    with matplotlib.rc_context(STYLE):
        figure, panels = pyplot.subplots(1, 2, figsize=(8, 5.2), layout="constrained", sharey=True)
        for panel, (group, title) in zip(panels, TITLES.items(), strict=True):
            draw(panel, [row for row in rows if group_of(row) == group], title)
        panels[0].set_ylabel("share of them that are true")
        with replace_on_success(arguments.figure) as temporary:
            figure.savefig(temporary, format=arguments.figure.suffix[1:], metadata={"Date": None}, bbox_inches="tight")


def draw(panel, rows, title):
    """Draw one curve for each method; calibrated probabilities lie on the diagonal."""
    panel.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    for method, (colour, mark) in MARKS.items():
        own = [row for row in rows if row["method"] == method]
        if not own:
            continue
        label = f"{method}: {scores(own)[2]:.3f} ({len(own)})"
        style = {"color": colour, "marker": mark, "markersize": 5, "linewidth": 1.4, "label": label}
        panel.plot(*pooled(*curve(own)), **style)
    panel.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    panel.grid(axis="x", color=GRID, linewidth=0.6)
    place = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.15), "frameon": False}
    panel.legend(fontsize=8, title="calibration error (tables)", title_fontsize=8, **place)
    finish(panel, "probability of an edge", title)


def pooled(probability, frequency, count):
    """Return the curve after bins of few edges were pooled with the next ones, the last with the one before."""
    points = [[0.0, 0.0, 0.0]]
    for sums in zip(count * probability, count * frequency, count, strict=True):
        if points[-1][2] >= FEWEST:
            points.append([0.0, 0.0, 0.0])
        points[-1] = [a + b for a, b in zip(points[-1], sums, strict=True)]
    if points[-1][2] < FEWEST and len(points) > 1:
        last = points.pop()
        points[-1] = [a + b for a, b in zip(points[-1], last, strict=True)]
    probabilities, true, counts = np.array(points).T
    return probabilities / counts, true / counts


if __name__ == "__main__":
    main()
