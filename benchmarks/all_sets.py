"""All sets whose graph is known, in one picture and one table: errors as a share of those of the empty graph.

    python -m benchmarks all_sets [--by-source] [--plot benchmarks/figures/all_sets.svg]

Reads the results of published_sets.py, outside_truths.py and standard_networks.py; runs nothing. A share of 0 is the
true graph, of 1 a graph without an edge: the mean over the tables of a set on which the method ended, in the table over
the sets of a family, in brackets how many if not all. Edges without a direction count as right, and of networks classes
are compared. With ``--by-source`` a row holds all sets of one source, and sources of a single set are left out.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import published_sets
import standard_networks

from icdh.exceptions import import_extra
from icdh.files import replace_on_success

RESULTS = Path(__file__).parent / "results"
COLOURS = {
    "HNMSearch": "#1f5fa8",
    "ICDH": "#7fb0de",
    "CAM": "#c2571a",
    "GES": "#5b8c2a",
    "BOSS": "#8a4fa0",
    "PC": "#b07aa1",
    "DirectLiNGAM": "#d0b030",
    "NOTEARS-MLP": "#777777",
    "hill climbing": "#444444",
}
FAMILIES = {"gp": "Gaussian processes", "sf": "scale-free", "pnl": "post-nonlinear", "mult": "multiplicative"}
OUTSIDE = {
    "csuite": "CSuite, numbers",
    "mixed": "CSuite, mixed kinds",
    "few": "50 to 500 rows",
    "dense": "four edges a variable",
    "netsim": "NetSim, fMRI series",
    "collected": "",  # each group is one
}
COLUMNS = ("HNMSearch", "ICDH", "CAM", "GES", "BOSS", "PC", "DirectLiNGAM", "NOTEARS-MLP")  # of the table
WIDEST = 1.6  # what stands right of it is drawn there

Point = tuple[str, str, str, float]


def rows_of(name: str) -> list[dict]:
    """Return the rows of a file of results."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["rows"]


def share(rows: list[dict], errors: str, edges: str) -> float | None:
    """Return the mean errors over the mean of true edges, on the tables where a method ended."""
    ended = [row for row in rows if row.get(errors) is not None]
    return sum(row[errors] for row in ended) / sum(row[edges] for row in ended) if ended else None


def points() -> Iterator[tuple[str, str, str, list[dict], str, str]]:
    """Yield family, set and method with the rows, and the names of errors and of true edges in them."""
    published = rows_of("published_sets")
    for name, (title, _) in published_sets.SETS.items():
        family = f"GraN-DAG, {FAMILIES[name.split('-')[0]]}" if "-" in name else "SynTReN, gene expression"
        for method, known in {"ICDH": "ICDH (last stage)"}.items() | {m: m for m in COLOURS if m != "ICDH"}.items():
            rows = [row for row in published if (row["set"], row["method"]) == (name, known)]
            yield family, title, method, rows, "shd_favourable", "n_true_edges"
    outside = rows_of("outside_truths")
    edges = {row["table"]: row["shd"] for row in outside if row["method"] == "no edge"}
    outside = [row | {"edges": edges[row["table"]]} for row in outside if row["table"] in edges]
    for name, family in OUTSIDE.items():
        in_set = [row for row in outside if row["set"] == name]
        groups = list(dict.fromkeys(row["group"] for row in in_set))
        parts = sorted({row["part"] for row in in_set}, key=lambda part: int(part.split()[0]) if part else 0)
        for group, part, method in product(groups, parts, COLOURS):
            rows = [row for row in in_set if (row["group"], row["part"], row["method"]) == (group, part, method)]
            title, label = family or group, f"{group} {part}".rstrip()
            if name in ("few", "dense"):
                title, label = f"{family}, {group}", part
            yield title, label, method, rows, "shd_favourable", "edges"
    for name in standard_networks.NETWORKS:
        family = "networks of labels" if name in standard_networks.DISCRETE else "linear Gaussian networks"
        for method in COLOURS:
            rows = [row for row in rows_of("standard_networks") if (row["network"], row["method"]) == (name, method)]
            own = [row for row in rows if row["rows"] == standard_networks.USUAL_ROWS]
            yield family, name, method, own, "cpdag_shd", "true_edges"


def shares() -> list[Point]:
    """Return family, set, method and share, wherever a method ended on a table."""
    found = ((family, name, method, share(*rest)) for family, name, method, *rest in points())
    return [point for point in found if point[3] is not None]


def by_source(found: list[Point]) -> list[Point]:
    """Return the same points with a source in place of each family, of sources with two sets or more."""
    sources = [(family.partition(",")[0], f"{family} {name}", *rest) for family, name, *rest in found]
    sizes = Counter(source for source, _ in {point[:2] for point in sources})
    return [point for point in sources if sizes[point[0]] > 1]


def table(found: list[Point]) -> Iterator[str]:
    """Yield the lines of the table, a row a family, in per cent."""
    yield f"| | sets | {' | '.join(COLUMNS)} |"
    yield "|---" * (2 + len(COLUMNS)) + "|"
    for family in dict.fromkeys(point[0] for point in found):
        own = [point for point in found if point[0] == family]
        size = len({point[1] for point in own})
        means = {m: [100.0 * value for _, _, method, value in own if method == m] for m in COLUMNS}
        best = min(np.mean(values) for values in means.values() if len(values) == size)
        yield f"| {family} | {size} | {' | '.join(cell(values, size, best) for values in means.values())} |"


def cell(values: list[float], size: int, best: float) -> str:
    """Return a mean, bold if it is the best, with the number of sets if it is not all."""
    if not values:
        return ""
    text = f"{np.mean(values):.0f}"
    return (f"**{text}**" if np.mean(values) == best else text) if len(values) == size else f"{text} ({len(values)})"


def plot(found: list[Point], path: Path) -> None:
    """Draw every set in a row, and every method as a dot at its share."""
    figure_of = import_extra("matplotlib.figure", "plot").Figure
    places, at, labels = {}, 0.0, []
    for family in dict.fromkeys(point[0] for point in found):
        at += 0.8
        for name in dict.fromkeys(point[1] for point in found if point[0] == family):
            places[family, name], at = at, at + 1.0
            labels.append(name)
    figure = figure_of(figsize=(8.5, 0.175 * at + 0.6), layout="constrained")
    axes = figure.add_subplot()
    for method, colour in reversed(COLOURS.items()):
        own = [point for point in found if point[2] == method]
        x = [min(point[3], WIDEST) for point in own]
        y = [places[point[:2]] for point in own]
        size, order = (58, 3) if method == "HNMSearch" else (24, 2)
        axes.scatter(x, y, s=size, color=colour, label=method, zorder=order, alpha=0.9, linewidths=0)
    for family in dict.fromkeys(point[0] for point in found):
        top = min(place for (own, _), place in places.items() if own == family)
        axes.annotate(family, (WIDEST + 0.03, top), fontsize="x-small", va="center", annotation_clip=False)
    axes.axvline(1.0, color="#999999", linewidth=0.8)
    axes.set_yticks(list(places.values()), labels, fontsize="x-small")
    axes.set_ylim(at, -0.2)
    axes.set_xlim(-0.03, WIDEST + 0.02)
    axes.grid(axis="y", linewidth=0.3)
    axes.set_xlabel(
        "errors, as a share of those of a graph without an edge (further right: drawn at the edge)", fontsize="small"
    )
    axes.spines[["top", "right", "left"]].set_visible(False)
    handles, names = axes.get_legend_handles_labels()
    axes.legend(
        handles[::-1],
        names[::-1],
        ncols=5,
        loc="lower left",
        bbox_to_anchor=(-0.2, 1.0),
        fontsize="x-small",
        frameon=False,
    )
    mpl = import_extra("matplotlib", "plot")
    with mpl.rc_context({"svg.hashsalt": "icdh"}), replace_on_success(path) as temporary:
        figure.savefig(temporary, metadata={"Date": None})


def main() -> None:
    """Print the table, and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--by-source", action="store_true", help="a row a source")
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    found = shares()
    print("\n".join(table(by_source(found) if arguments.by_source else found)))
    if arguments.plot:
        plot(found, arguments.plot)


if __name__ == "__main__":
    main()
