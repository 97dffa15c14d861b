"""``icdh check``: whether a saved model fits a table, and which of its arrows can be trusted."""

import argparse
import json

from icdh.cli._input import loaded, read_input, succeeds
from icdh.cli._messages import BAD_INPUT
from icdh.cli._options import EXPERIMENTS, FORMAT, MODEL, RELATIONS, TABLE, Command, cells, flag, number, read, written
from icdh.files import write_text


def run(args: argparse.Namespace) -> int:
    """Read, check, write the questions and print what was found."""
    from icdh.diagnostics.check import check
    from icdh.knowledge import Knowledge

    model = loaded(args.model, args.data)
    knowledge = Knowledge.read(args.knowledge) if args.knowledge else None
    rows = read_input(args, model).complete()
    result = check(model, rows.table, **rows.relations, knowledge=knowledge, random_state=args.seed)
    done = succeeds(write_text, args.questions, result.questions(args.n_questions))
    print(json.dumps(result.to_dict(), indent=2) if args.json else result.summary())
    return 0 if done else BAD_INPUT


def _check_questions(path: str) -> None:
    if not path.lower().endswith(".toml"):
        raise ValueError(f"--questions writes TOML; {path} must end in .toml")


COMMAND = Command(
    "whether a saved model fits a table, and which of its arrows can be trusted",
    "Test whether the residual of every variable is independent of its causes, of the mean that they predict, and of "
    "all else that it does not cause. List the arrows, those to settle by knowledge first. No graph is changed.",
    {
        "": {
            "model": MODEL,
            "data": TABLE,
            "--questions": written("write the arrows most in doubt as a file to fill in: .toml", _check_questions),
            "--n-questions": number(5, "number of arrows in that file", low=1, integer=True),
            "--knowledge": read("file of background knowledge; arrows that it decides are not tested"),
            "--json": flag("print JSON"),
            "--seed": number(0, "random seed of rows and initial weights", integer=True),
            **FORMAT,
            **cells(("error", "drop")),
            **RELATIONS,
        },
        "experiments": EXPERIMENTS,
    },
    run,
)
