"""``icdh sample``: draw rows from a saved model, as they are or under an intervention."""

import argparse

from icdh.cli._input import do_of, give_table, loaded
from icdh.cli._options import ACTIONS, MODEL, OUTPUT_TABLE, Command, number


def run(args: argparse.Namespace) -> None:
    """Read, draw and write."""
    import numpy as np

    model = loaded(args.model)
    do = do_of(args, model)
    give_table(args.output, np.asarray(model.sample(args.rows, args.seed, do=do)), model.names)


COMMAND = Command(
    "draw rows from a saved model, also under interventions",
    "Draw rows from a saved model, as they are or with variables set from outside, as a table.",
    {
        "": {
            "model": MODEL,
            "-n --rows": number(1000, "number of rows", low=1, integer=True, metavar="M"),
            **ACTIONS,
            "-o --output": OUTPUT_TABLE,
            "--seed": number(0, "random seed of the noise", integer=True),
        }
    },
    run,
)
