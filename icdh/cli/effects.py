"""``icdh effects``: what happens to one variable if another is changed."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from icdh._model.structural import StructuralModel
from icdh._table.table import Table
from icdh._utils.labels import aligned, printable, variable_index
from icdh.cli import _options as options
from icdh.cli._input import Input, cell_of, is_model, loaded, read_input
from icdh.cli._learning import knowledge_of, learned
from icdh.cli._messages import watched, with_warnings
from icdh.cli._options import Command, Learned, names_in
from icdh.diagnostics.result import EFFECTS
from icdh.plotting import check_plot_path, save_figure

if TYPE_CHECKING:
    from icdh._effect.result import Effect

GRAPHS = ("graph", "posterior")
ABOUT_PAIRS = (
    "all by the model's curves alone, without intervals: with the table, --cause and --effect a pair has one; a pair "
    "without a path needs --adjust, too"
)


def run(args: argparse.Namespace) -> None:
    """Read the table or the model, answer, draw and print."""
    _check(args)
    record: object
    if args.cause is not None and not args.values and not is_model(args.data):
        answer, _ = with_warnings(partial(_answer, args), lambda answer: () if args.json else answer.notes)
        if args.plot:
            save_figure(args.plot, answer.plot())
        if args.report:
            from icdh.report import write_answer

            write_answer(args.report, answer)
        record, text = answer.to_dict(), answer.summary()
    else:
        model = _model(args)
        rows = _curve(args, model) if args.values else _pairs(args, model)
        record, text = rows, _table(rows, () if args.values else (*EFFECTS, ABOUT_PAIRS))
    print(json.dumps(record, indent=2) if args.json else text)


def _check(args: argparse.Namespace) -> None:
    if (args.cause is None) != (args.effect is None):
        raise ValueError("name a cause and an effect by --cause and --effect, or neither for all pairs")
    if args.cause is None and (args.values or args.plot or args.report):
        raise ValueError("--values, --plot and --report are about one pair; name its --cause and --effect")
    if (args.report and args.values) or ((args.report or args.plot) and is_model(args.data) and not args.values):
        raise ValueError("--report and --plot of an answer need its table: icdh effects MODEL.icdh TABLE --cause ...")
    if args.model and args.data and (args.cause is None or args.values):
        raise ValueError(
            f"{args.model} answers this without a table; leave {args.data} out, or ask about one pair by --cause and "
            "--effect, without --values"
        )


def _pairs(args: argparse.Namespace, model: StructuralModel) -> list[dict[str, object]]:
    """Return the effects of all pairs by the graph, or of the pair that the options name."""
    from icdh._effect.covariates import check_path

    pair = {"cause": args.cause, "effect": args.effect}
    names = {role: model.names[variable_index(name, model.names, role)] for role, name in pair.items() if name}
    rows = [row._asdict() for row in model.effects(random_state=args.seed)]
    rows = [row for row in rows if all(row[role] == name for role, name in names.items())]
    if names and not rows:
        check_path(model.adjacency, model.names, *(model.names.index(name) for name in names.values()))
    return rows


def _model(args: argparse.Namespace) -> StructuralModel:
    """Return the saved model, or one that is fitted to the table."""
    saved = args.data if is_model(args.data) else args.model
    model: StructuralModel = _fitted(args, read_input(args)).model_ if saved is None else loaded(saved)
    return replace(model, names=[str(name) for name in model.names])


def _fitted(args: argparse.Namespace, rows: Input) -> Learned:
    for role, name in (("cause", args.cause), ("effect", args.effect)):  # before a fit, which may take long
        if name is not None:
            variable_index(name, rows.table.names, role)
    return learned(args, rows)


def _answer(args: argparse.Namespace) -> "Effect":
    """Return the answer about one pair."""
    from icdh._effect.answer import effect, table_of, with_labels

    args.within = names_in([args.within])[0] if args.within else []
    adjust = args.adjust if args.adjust in GRAPHS else [] if args.adjust == "none" else names_in([args.adjust])[0]
    where = [text.rpartition("=")[::2] for text in args.where]
    saved = _model(args) if args.model else None
    columns = [] if adjust in GRAPHS else [args.cause, args.effect, *adjust]
    if saved is not None:
        columns = saved.names
        args.kinds = tuple(with_labels(dict(getattr(args, "kinds", ())), saved).items())
    if args.columns is None and columns:
        args.columns = list(dict.fromkeys(filter(None, [*columns, *(name for name, _ in where)])))
    rows = read_input(args)
    if rows.interventions is not None:
        raise ValueError(
            "an interval is about rows of one condition; leave the others out, or save a model by icdh fit --save and "
            "ask it for an answer without an interval: icdh effects MODEL.icdh"
        )
    if args.missing == "impute":
        raise ValueError("--missing impute is not for effects of a pair; say --missing drop, or impute first")
    rows = rows.complete()
    kinds = dict(getattr(args, "kinds", ())) or None
    coded = table_of(rows.table, None, False, kinds)
    how = {"target": args.target, "level": args.level, "random_state": args.seed, "kinds": kinds}
    how |= {"contrast": _contrast(args, coded), "groups": rows.groups, "sequence": rows.sequence}
    how |= {"within": rows.units, "where": {name: cell_of(coded, name, value, "--where") for name, value in where}}
    how |= {"model": _fitted(args, rows) if saved is None and adjust in GRAPHS else saved}
    with watched(args, "", doing="estimating the effect"):
        return effect(rows.table, args.cause, args.effect, adjust, **how, knowledge=knowledge_of(args))


def _contrast(args: argparse.Namespace, of: StructuralModel | Table) -> list[float | str] | None:
    """Return what the cause is set from and to, None if nobody says; ``of`` has names and categories."""
    if args.contrast is None:
        return None
    texts = args.contrast.split(",")
    return [cell_of(of, args.cause, text.strip(), "--contrast") for text in texts]


def _curve(args: argparse.Namespace, model: StructuralModel) -> list[dict[str, object]]:
    """Return the effect at every value, drawn if that was asked for."""
    values = [cell_of(model, args.cause, text, "--values") for text in args.values]
    answer = model.average_effect(args.cause, args.effect, values, random_state=args.seed)
    if args.plot:
        save_figure(args.plot, answer.plot())
    return [
        {str(answer.cause): value, f"mean of {answer.effect}": mean, "standard deviation": std}
        for value, mean, std in zip(answer.values.tolist(), answer.mean.tolist(), answer.std.tolist(), strict=True)
    ]


def _table(rows: list[dict[str, object]], legend: Sequence[str]) -> str:
    """Return rows as text, without columns that hold nothing; a change has the digits that its error leaves."""
    if not rows:
        return "the graph has no edges, so it gives no estimate: that is not evidence of no effect"
    shown = [{**row, "change": _supported(row)} if "change" in row else row for row in rows]
    keys = [key for key in shown[0] if key != "error" and any(row[key] != "" for row in shown)]
    heading = [printable(key.replace("spread_ratio", "spread")) for key in keys]
    cells = [heading, *([_text(row[key]) for key in keys] for row in shown)]
    return "\n".join([*aligned(cells, ">"), *legend])


def _supported(row: dict[str, Any]) -> str:
    """Return a change as text, rounded to where its Monte Carlo error begins."""
    from icdh._effect.result import Interval

    reach = 2.0 * row["error"]
    return str(Interval(row["change"], row["change"] - reach, row["change"] + reach)).partition(" ")[0]


def _text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else printable(str(value))


QUESTION = {
    "--cause": options.text("NAME", "the variable that is set"),
    "--effect": options.text("NAME", "the variable that is looked at"),
    "--adjust": options.text(
        "A,B",
        "common causes of the two; none in a randomised trial; graph takes those that the graph asks for, posterior "
        "averages over graphs",
        default="graph",
    ),
    "--within": options.text("A,B", "columns of units, such as state,year, within which rows are compared"),
    "--contrast": options.text("A,B", "from and to what the cause is set, as the table has them: 0,1 or no,yes"),
    "--target": options.choice(("all", "treated", "untreated"), "the rows the answer is about", "all"),
    "--where": options.repeated("NAME=X", "only rows with this value"),
    "--level": options.text("P", "probability of the interval", type=float, default=0.95),
    "--values": options.several("X", "the curve of the effect at these values, by the graph"),
    "--model": options.read("a fitted model whose graph is asked, also given before the table; else one is fitted"),
}
QUESTIONS = [option.strip("-") for option in QUESTION]
COMMAND = Command(
    "what happens to one variable if another is changed",
    "Answer what happens to --effect if --cause is changed, with an interval, from a table and either covariates "
    "(--adjust age,sex), or the graph that is learned or saved. Without a pair, list the effects of all variables by "
    "the graph.",
    {
        **{title: options.LEARNING[title] for title in ("input", "experiments")},
        "question": QUESTION,
        **{title: options.LEARNING[title] for title in ("knowledge", "estimator")},
        "output": {
            "--plot": options.written("draw the effect: .png, .svg, .pdf; needs icdh[plot]", check_plot_path),
            "--report": options.written("a page of the answer, with pictures; needs icdh[report,plot]"),
            "--json": options.flag("print JSON"),
            "loudness": options.LOUDNESS,
        },
    },
    run,
    usual=(
        *("data", "drop", "missing", "kinds", "group_column", "sequence", "max_seconds"),
        *(*QUESTIONS, *options.USUAL_KNOWLEDGE, "plot", "report", "json"),
    ),
)
