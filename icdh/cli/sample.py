"""``icdh sample``: draw rows from a saved model, as they are or under an intervention."""

import argparse

from icdh.cli._files import check_files, do_of, give_table, loaded
from icdh.cli._options import ACTIONS, MODEL, OUTPUT_TABLE, Command, number, seed


def run(args: argparse.Namespace) -> int:
    """Read, draw and write."""
    import numpy as np

    check_files({"the model": args.model}, {"--output": args.output})
    model = loaded(args.model)
    do = do_of(args, model)
    give_table(args.output, np.asarray(model.sample(args.rows, args.seed, do=do)), model.names)
    return 0


COMMAND = Command(
    "draw rows from a saved model, also under interventions",
    "Draw rows from a saved model, as they are or with variables set from outside, as a table.",
    {
        "": {
            "model": MODEL,
            "-n --rows": number(1000, "number of rows", low=1, integer=True, metavar="M"),
            **ACTIONS,
            "-o --output": OUTPUT_TABLE,
            "--seed": seed("random seed of the noise"),
        }
    },
    run,
)
