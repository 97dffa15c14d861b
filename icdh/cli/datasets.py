"""``icdh datasets``: list the real data sets, and export them as files."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icdh._ground.labels import aligned
from icdh.cli._files import check_files
from icdh.cli._options import Command, choice, flag, seed, text
from icdh.datasets.tuebingen import LEFT_OUT
from icdh.files import graph_writer, write_graph, write_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

DESCRIPTIONS = {
    "sachs": "853 cells x 11 proteins and a consensus graph of 17 edges (Sachs et al. 2005), in the package",
    "tuebingen": "108 cause-effect pairs (Mooij et al. 2016), from a folder or downloaded",
}


def run(args: argparse.Namespace) -> int:
    """List the data sets."""
    print(*aligned(list(DESCRIPTIONS.items())), sep="\n")
    return 0


def export_sachs(args: argparse.Namespace) -> int:
    """Write the observations, and the graph if asked for."""
    import numpy as np

    from icdh.datasets import load_sachs

    check_files({}, {"the table": args.data, "the graph": args.truth})
    if args.truth:
        graph_writer(args.truth)
    sachs = load_sachs(experiments=args.experiments, log=args.log, standardize=args.standardize)
    values, names = sachs.data, sachs.feature_names
    if sachs.interventions is not None:
        conditions = np.array(sachs.interventions.conditions, dtype=object)
        values, names = np.column_stack([values.astype(object), conditions]), [*names, "condition"]
    write_table(args.data, values, names)
    if args.truth:
        write_graph(args.truth, sachs.adjacency, sachs.feature_names)
    return 0


def export_tuebingen(args: argparse.Namespace) -> int:
    """Write one table for each pair, and one of the directions and weights."""
    import numpy as np

    from icdh.datasets import fetch_tuebingen

    folder = Path(args.folder)
    folder.mkdir(parents=True, exist_ok=True)
    pairs = fetch_tuebingen(subset=args.subset, swap=not args.no_swap, random_state=args.seed, data_home=args.data_home)
    for pair in pairs:
        sides = {"first": pair.first, "second": pair.second}
        names = [name for side, values in sides.items() for name in _column_names(side, values)]
        write_table(folder / f"pair{pair.id:04d}.csv", np.column_stack(list(sides.values())), names)
    directions = [[pair.id, int(pair.first_causes_second), pair.weight] for pair in pairs]
    write_table(folder / "pairs.csv", np.array(directions, dtype=object), ["pair", "first_causes_second", "weight"])
    return 0


def _column_names(side: str, values: "NDArray[Any]") -> list[str]:
    return [side] if values.ndim == 1 else [f"{side}_{i}" for i in range(1, values.shape[1] + 1)]


SACHS = {
    "data": text(None, "file to write the observations to: .csv or .tsv"),
    "truth": text(None, "file to write the graph to: .csv matrix, .tsv edge list, .json, .dot", nargs="?"),
    "--experiments": flag("all 7466 cells, with the column condition: which of nine"),
    "--log": flag("take logarithms"),
    "--standardize": flag("give every column mean 0 and standard deviation 1"),
}
TUEBINGEN = {
    "folder": text(None, "folder to write pair0001.csv ..., and the directions in pairs.csv, to"),
    "--subset": choice(LEFT_OUT, "which pairs", "loci-99"),
    "--data-home": text("FOLDER", "folder of the raw files; else $ICDH_DATA_HOME or a cache"),
    "--no-swap": flag("keep the columns in the order of the raw files"),
    "--seed": seed("random seed of the swaps"),
}
COMMAND = Command(
    "list and export real data sets",
    "List the real data sets, or export one of them.",
    {},
    run,
    parts={
        "sachs": Command(DESCRIPTIONS["sachs"], "", {"": SACHS}, export_sachs),
        "tuebingen": Command(DESCRIPTIONS["tuebingen"], "", {"": TUEBINGEN}, export_tuebingen),
    },
)
