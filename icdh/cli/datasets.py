"""``icdh datasets``: list the real data sets, and export them as files."""

import argparse
from pathlib import Path
from typing import Any

from icdh.cli._files import check_files
from icdh.cli._help import HelpFormatter
from icdh.cli._options import add_seed
from icdh.datasets.tuebingen import LEFT_OUT
from icdh.files import graph_writer, write_graph, write_table

DESCRIPTIONS = {
    "sachs": "853 cells x 11 proteins and a consensus graph of 17 edges (Sachs et al. 2005), in the package",
    "tuebingen": "108 cause-effect pairs (Mooij et al. 2016), from a folder or downloaded",
}


def add_parser(subparsers: Any) -> None:
    """Describe the command's options."""
    parser = subparsers.add_parser(
        "datasets",
        help="list and export real data sets",
        description="List the real data sets, or export one of them.",
        formatter_class=HelpFormatter,
    )
    parser.set_defaults(run=run)
    names = parser.add_subparsers(title="data sets", metavar="name")
    _add_sachs(names)
    _add_tuebingen(names)


def _add_sachs(names):
    parser = names.add_parser("sachs", help=DESCRIPTIONS["sachs"], formatter_class=HelpFormatter)
    parser.add_argument("data", help="file to write the observations to: .csv or .tsv")
    parser.add_argument("truth", nargs="?", help="file to write the graph to: .csv matrix, .tsv edge list, .json, .dot")
    parser.add_argument(
        "--experiments", action="store_true", help="all 7466 cells, with the column condition: which of nine"
    )
    parser.add_argument("--log", action="store_true", help="take logarithms")
    parser.add_argument("--standardize", action="store_true", help="give every column mean 0 and standard deviation 1")
    parser.set_defaults(run=export_sachs)


def _add_tuebingen(names):
    parser = names.add_parser("tuebingen", help=DESCRIPTIONS["tuebingen"], formatter_class=HelpFormatter)
    parser.add_argument("folder", help="folder to write pair0001.csv ..., and the directions in pairs.csv, to")
    parser.add_argument("--subset", choices=LEFT_OUT, default="loci-99", help="which pairs")
    parser.add_argument(
        "--data-home", metavar="FOLDER", help="folder of the raw files; else $ICDH_DATA_HOME or a cache"
    )
    parser.add_argument("--no-swap", action="store_true", help="keep the columns in the order of the raw files")
    add_seed(parser, "random seed of the swaps")
    parser.set_defaults(run=export_tuebingen)


def run(args: argparse.Namespace) -> int:
    """List the data sets."""
    print("\n".join(f"{name:<10} {description}" for name, description in DESCRIPTIONS.items()))
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
    if args.experiments:
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


def _column_names(side, values):
    return [side] if values.ndim == 1 else [f"{side}_{i}" for i in range(1, values.shape[1] + 1)]
