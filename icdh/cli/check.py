"""``icdh check``: whether a saved model fits a table, and which of its arrows can be trusted."""

import argparse
import json
from typing import Any

from icdh.cli._experiments import (
    add_experiment_options,
    check_experiment_options,
    complete,
    interventions_of,
    targets_file,
)
from icdh.cli._files import check_files, succeeds
from icdh.cli._help import HelpFormatter
from icdh.cli._messages import BAD_INPUT, SUCCESS
from icdh.cli._model import MODEL_HELP, columns_of_labels
from icdh.cli._options import add_number, add_seed
from icdh.cli._table import (
    TABLE_HELP,
    add_cell_options,
    add_format_options,
    add_relation_options,
    read_rows,
)


def add_parser(subparsers: Any) -> None:
    """Describe the command's options."""
    parser = subparsers.add_parser(
        "check",
        help="whether a saved model fits a table, and which of its arrows can be trusted",
        description="Test whether the residual of every variable is independent of its causes, of the mean that they "
        "predict, and of all else that it does not cause. List the arrows, those to settle by knowledge first. No "
        "graph is changed.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("model", help=MODEL_HELP)
    parser.add_argument("data", help=TABLE_HELP)
    parser.add_argument(
        "--questions", metavar="FILE", help="write the least certain arrows as a file of knowledge to fill in: .toml"
    )
    add_number(parser, "--n-questions", default=5, integer=True, low=1, help="number of arrows in that file")
    parser.add_argument(
        "--knowledge", metavar="FILE", help="file of background knowledge; arrows that it decides are not asked about"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_seed(parser, "random seed of rows and initial weights")
    add_format_options(parser)
    add_cell_options(parser, missing=("error", "drop"))
    add_relation_options(parser)
    add_experiment_options(parser.add_argument_group("experiments"))
    parser.set_defaults(run=run, dataset=None)


def run(args: argparse.Namespace) -> int:
    """Read, check, write the questions and print what was found."""
    from icdh._model.structural import load
    from icdh.diagnostics.check import check
    from icdh.knowledge import Knowledge

    check_experiment_options(args)
    inputs = {"the model": args.model, "the table": args.data, "--knowledge": args.knowledge}
    check_files({**inputs, "--targets": targets_file(args)}, {"--questions": args.questions})
    if args.questions and not args.questions.lower().endswith(".toml"):
        raise ValueError(f"--questions writes TOML; {args.questions} must end in .toml")
    model = load(args.model)
    knowledge = Knowledge.read(args.knowledge) if args.knowledge else None
    args.columns = [str(name) for name in model.names]
    table, conditions, groups = read_rows(args, columns_of_labels(model))
    rows, interventions = complete(table, interventions_of(args, conditions))
    if groups is not None:
        groups = [group for group, gap in zip(groups, table.gaps.any(axis=1), strict=True) if not gap]
    relations = {"groups": groups, "sequence": args.sequence}
    found = check(model, rows, interventions=interventions, knowledge=knowledge, **relations, random_state=args.seed)
    written = not args.questions or succeeds(_write, args.questions, found.questions(args.n_questions))
    print(json.dumps(found.to_dict(), indent=2) if args.json else found.summary())
    return SUCCESS if written else BAD_INPUT


def _write(path, text):
    from icdh.files import replace_on_success

    with replace_on_success(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
