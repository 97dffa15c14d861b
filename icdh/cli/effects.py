"""``icdh effects``: what happens to one variable if another is changed."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, Any

from icdh._ground.labels import printable, variable_index
from icdh.cli._files import check_files, is_model
from icdh.cli._help import HelpFormatter
from icdh.cli._knowledge import add_knowledge_options, names_in
from icdh.cli._model import number_of
from icdh.cli._table import complete_rows, relations_of
from icdh.cli.fit import (
    USUAL_KNOWLEDGE,
    add_estimator_options,
    add_input,
    add_loudness_options,
    estimator_of,
    learned,
    read_input,
)
from icdh.files import LabelledTable

if TYPE_CHECKING:
    from icdh._effect.result import Effect
    from icdh._model.structural import StructuralModel

QUESTION = ("cause", "effect", "adjust", "contrast", "target", "where", "level", "group_column", "trim")
NOTHING = "none"  # what --adjust holds in a randomised trial
LEGEND = (
    "change: what setting the cause does to the mean of the effect, or to the probability of the outcome",
    "contrast: labels and two values go from the reference to the other, numbers by one standard deviation",
    "strength: share of the effect's spread that its mean covers as the cause runs through its values",
    "spread: ratio of the effect's standard deviations at the two values",
    "pairs without a path in the graph are not listed: that is not evidence of no effect; ask about one of them",
    "with --cause, --effect and --adjust",
)


def add_parser(subparsers: Any) -> None:
    """Describe the command's options."""
    parser = subparsers.add_parser(
        "effects",
        help="what happens to one variable if another is changed",
        description="Answer what happens to --effect if --cause is changed, with an interval, from a table and either "
        "covariates (--adjust age,sex), or the graph that is learned or saved. Without a pair, list the effects of all "
        "variables by the graph.",
        formatter_class=HelpFormatter,
    )
    add_input(parser)
    group = parser.add_argument_group("question")
    group.add_argument("--cause", metavar="NAME", help="the variable that is set")
    group.add_argument("--effect", metavar="NAME", help="the variable that is looked at")
    group.add_argument(
        "--adjust",
        default="graph",
        metavar="A,B",
        help="common causes of the two; none in a randomised trial; graph takes those that the graph asks for",
    )
    group.add_argument(
        "--contrast", metavar="A,B", help="from and to what the cause is set: 0,1 or no,yes; a number by its deviation"
    )
    group.add_argument(
        "--target", choices=("all", "treated", "untreated"), default="all", help="the rows the answer is about"
    )
    group.add_argument("--where", action="append", default=[], metavar="NAME=X", help="only rows with this value")
    group.add_argument("--level", type=float, default=0.95, metavar="P", help="probability of the interval")
    group.add_argument(
        "--trim", type=float, default=0.0, metavar="P", help="leave out rows less likely than this to have either value"
    )
    group.add_argument("--values", nargs="+", metavar="X", help="the curve of the effect at these values, by the graph")
    group.add_argument("--model", metavar="FILE", help="a fitted model whose graph is asked; by default one is fitted")
    add_knowledge_options(parser.add_argument_group("knowledge"))
    add_estimator_options(parser)
    output = parser.add_argument_group("output")
    output.add_argument("--plot", metavar="FILE", help="draw the effect: .png, .svg, .pdf; needs icdh[plot]")
    output.add_argument("--json", action="store_true", help="print JSON")
    add_loudness_options(output)
    parser.show_first("data", *QUESTION, *USUAL_KNOWLEDGE, "missing", "kinds", "model", "plot", "json")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read the table or the model, answer, draw and print."""
    _check(args)
    if args.cause is None:
        rows = [effect._asdict() for effect in _model(args, None).effects(random_state=args.seed)]
        print(json.dumps(rows, indent=2) if args.json else _table(rows, LEGEND))
    elif args.values:
        rows = _curve(args, _model(args, None))
        print(json.dumps(rows, indent=2) if args.json else _table(rows, ()))
    else:
        answer = _answer(args)
        _draw(args, answer)
        print(json.dumps(answer.to_dict(), indent=2) if args.json else answer.summary())
    return 0


def _check(args: argparse.Namespace) -> None:
    check_files({"the table": args.data, "--model": args.model, "--knowledge": args.knowledge}, {"--plot": args.plot})
    if (args.cause is None) != (args.effect is None):
        raise ValueError("name a cause and an effect by --cause and --effect, or neither for all pairs")
    if args.cause is None and (args.values or args.plot):
        raise ValueError("--values and --plot are about one pair; name its --cause and --effect")
    if args.cause is not None and args.sequence and not args.values:
        raise ValueError("the interval of an effect knows no --sequence; name blocks of rows by --group-column")
    if args.plot:
        from icdh.plotting import check_plot_path

        check_plot_path(args.plot)


def _model(args: argparse.Namespace, table: LabelledTable | None) -> "StructuralModel":
    """Return the saved model, or one that is fitted to the table."""
    from icdh._model.structural import load

    saved = args.data if is_model(args.data) else args.model
    if saved is None:
        interventions = None
        if table is None:
            table, _, interventions = read_input(args)
        assert table is not None
        assert table.columns is not None
        model: StructuralModel = learned(args, estimator_of(args, table.columns), table, interventions).model_
    else:
        model = load(saved)
    return replace(model, names=[str(name) for name in model.names])


def _answer(args: argparse.Namespace) -> "Effect":
    """Return the answer about one pair."""
    from icdh._effect.answer import effect
    from icdh._table.table import Table

    adjust = args.adjust if args.adjust == "graph" else _names(args.adjust)
    if is_model(args.data):
        model = _model(args, None)
        options = {"target": args.target, "trim": args.trim, "groups": args.group_column, "where": args.where or None}
        contrast = _contrast(args, model)
        return effect(model, args.cause, args.effect, adjust, contrast=contrast, **options, random_state=args.seed)
    if adjust != "graph" and args.columns is None:
        where = [text.rpartition("=")[0] for text in args.where]
        args.columns = list(dict.fromkeys(filter(None, [args.cause, args.effect, *adjust, *where])))
    table, _, _ = read_input(args)
    if args.missing == "impute":
        raise ValueError("--missing impute is not for effects of a pair; say --missing drop, or impute first")
    if table.gaps.any():
        if args.group_labels is not None:
            args.group_labels = list(compress(args.group_labels, ~table.gaps.any(axis=1)))
        table = complete_rows(table)
    kinds = dict(getattr(args, "kinds", ())) or None
    declared = {name for name, kind in (kinds or {}).items() if kind in ("binary", "categorical")}
    coded = Table.of(table, categorical=declared).coded(kinds)
    where = [text.rpartition("=")[::2] for text in args.where]
    return effect(
        table,
        args.cause,
        args.effect,
        adjust,
        contrast=_contrast(args, coded),
        target=args.target,
        where={name: _cell(coded, name, text, "--where") for name, text in where} or None,
        level=args.level,
        groups=relations_of(args)["groups"],
        trim=args.trim,
        kinds=kinds,
        model=_model(args, table) if adjust == "graph" or args.model else None,
        random_state=args.seed,
    )


def _names(text: str) -> list[str]:
    """Return the covariates of --adjust; none in a randomised trial."""
    return [] if text == NOTHING else names_in([text])[0]


def _contrast(args: argparse.Namespace, of: Any) -> list[Any] | None:
    """Return what the cause is set from and to, None if nobody says; ``of`` has names and categories."""
    if args.contrast is None:
        return None
    texts = args.contrast.split(",")
    return [_cell(of, args.cause, text.strip(), "--contrast") for text in texts]


def _cell(of: Any, name: str, text: str, option: str) -> Any:
    """Return a value of a variable that an option holds: one of its labels, or a number."""
    known = of.categories.get(variable_index(name, of.names, option))
    if known is None:
        return number_of(option, text)
    return {str(label): label for label in known.labels}.get(text, text)


def _draw(args: argparse.Namespace, answer: Any) -> None:
    if args.plot:
        from icdh.plotting import save_figure

        save_figure(args.plot, answer.plot())


def _curve(args: argparse.Namespace, model: "StructuralModel") -> list[dict[str, Any]]:
    """Return the effect at every value, drawn if that was asked for."""
    values = [_cell(model, args.cause, text, "--values") for text in args.values]
    answer = model.average_effect(args.cause, args.effect, values, random_state=args.seed)
    _draw(args, answer)
    return [
        {answer.cause: value, f"mean of {answer.effect}": mean, "standard deviation": std}
        for value, mean, std in zip(answer.values.tolist(), answer.mean.tolist(), answer.std.tolist(), strict=True)
    ]


def _table(rows: list[dict[str, Any]], legend: Sequence[str]) -> str:
    """Return rows as text, without columns that hold nothing; a change has the digits that its error leaves."""
    if not rows:
        return "the graph has no edges, so it gives no estimate: that is not evidence of no effect"
    shown = [{**row, "change": _supported(row)} if "change" in row else row for row in rows]
    keys = [key for key in shown[0] if key != "error" and any(row[key] != "" for row in shown)]
    cells = [
        [printable(key.replace("spread_ratio", "spread")) for key in keys],
        *([_text(row[key]) for key in keys] for row in shown),
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True)) for row in cells]
    return "\n".join([*lines, *legend])


def _supported(row: dict[str, Any]) -> str:
    """Return a change as text, rounded to where its Monte Carlo error begins."""
    from icdh._effect.result import Interval

    reach = 2.0 * row["error"]
    return str(Interval(row["change"], row["change"] - reach, row["change"] + reach)).partition(" ")[0]


def _text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else printable(str(value))
