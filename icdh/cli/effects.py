"""``icdh effects``: what happens to one variable if another is changed."""

import csv
import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from icdh._model.structural import StructuralModel
from icdh._table.rows import Groups
from icdh._utils.checks import LEVEL
from icdh._utils.labels import aligned, listed, printable, short, variable_index
from icdh.cli import _options as options
from icdh.cli._input import Input, cell_of, is_model, loaded, read_input
from icdh.cli._messages import watched, with_warnings
from icdh.cli.fit import knowledge_of, learned
from icdh.diagnostics.result import EXPLAIN
from icdh.plotting import check_plot_path, save_figure

if TYPE_CHECKING:
    from icdh._effect.result import Effect

GRAPHS = ("graph", "posterior")
ABOUT_PAIRS = (
    "pairs without a path in the graph are not listed: that is not evidence of no effect; ask about one by --adjust",
    "all by the model's curves alone, without intervals: with the table, --cause and --effect a pair has one",
    EXPLAIN,
)


def _compares_rows(command: "Effects") -> bool:
    return command.cause is not None and not command.values and not is_model(command.data)


def _check_learning(command: "Effects") -> None:
    """Raise ValueError if options are given that say how a graph is learned, where none is."""
    saved, by_rows = command.data if is_model(command.data) else command.model, _compares_rows(command)
    if saved is None and not (by_rows and command.adjust and not {*GRAPHS} & {*command.adjust}):
        return
    idle = [*command.parameters, *["method"] * (command.method != Effects.method)]
    idle += [name for name in options.KnowledgeOptions.__annotations__ if getattr(command, name) and not by_rows]
    if idle:
        given, pronoun = listed(map(options.option_named, idle)), "it" if len(idle) == 1 else "them"
        why = "covariates of --adjust need none" if saved is None else f"{saved} keeps one"
        raise ValueError(f"{given} would say how a graph is learned, and none is here: {why}; leave {pronoun} out")


def _check(command: "Effects") -> None:
    if (command.cause is None) != (command.effect is None):
        raise ValueError("name a cause and an effect by --cause and --effect, or neither for all pairs")
    if command.cause is None and (command.values or command.plot or command.report):
        raise ValueError("--values, --plot and --report are about one pair; name its --cause and --effect")
    of_rows = [f"--{name}" for name in ("adjust", "within", "contrast") if getattr(command, name)]
    of_rows += ["--target"] * (command.target != "all")
    if of_rows and not _compares_rows(command):
        how = "name the table, --cause and --effect, without --values"
        raise ValueError(f"the graph's curves have no {listed(of_rows)}, which are about rows; {how}")
    _check_learning(command)
    needs_rows = command.report or (command.plot and not command.values)
    if needs_rows and (command.values or is_model(command.data)):
        raise ValueError("--report and --plot of an answer need its table: icdh effects MODEL.icdh TABLE --cause ...")
    if is_model(command.model) and command.data and (command.cause is None or command.values):
        how = "or ask about one pair by --cause and --effect, without --values"
        raise ValueError(f"{command.model} answers this without a table; leave {command.data} out, {how}")


def _pairs(command: "Effects", model: StructuralModel) -> list[dict[str, object]]:
    """Return the effects of all pairs by the graph, or of the pair that the options name."""
    from icdh._effect.adjustment import check_path

    pair = {"cause": command.cause, "effect": command.effect}
    names = {role: model.names[variable_index(name, model.names, role)] for role, name in pair.items() if name}
    rows = [row._asdict() for row in model.effects(random_state=command.seed)]
    rows = [row for row in rows if all(row[role] == name for role, name in names.items())]
    if names and not rows:
        check_path(model.adjacency, model.names, *(model.names.index(name) for name in names.values()))
    return rows


def _model(command: "Effects") -> StructuralModel:
    """Return the saved model, or one that is fitted to the table."""
    saved = command.data if is_model(command.data) else command.model
    model: StructuralModel = _fitted(command, read_input(command)).model_ if saved is None else loaded(saved)
    return replace(model, columns=replace(model.columns, names=[str(name) for name in model.names]))


def _fitted(command: "Effects", rows: Input) -> options.Learned:
    for role, name in (("cause", command.cause), ("effect", command.effect)):  # before a fit, which may take long
        if name is not None:
            variable_index(name, rows.table.names, role)
    return learned(command, rows)


def _answer(command: "Effects") -> "Effect":
    """Return the answer about one pair."""
    from icdh._effect.adjustment import after_by_tiers
    from icdh._effect.answer import covariates_of, effect, table_of, with_labels

    adjust: str | list[str] = command.adjust[0] if command.adjust else "graph"
    if len(command.adjust) > 1 or adjust not in (*GRAPHS, ""):
        adjust = [name for text in command.adjust for name in options.group(text) if text != "none"]
    within, clusters = command.within, options.group(command.group_column) if command.group_column else []
    command = replace(command, within=[*within, *clusters[1:]], group_column=next(iter(clusters), None))
    saved = _model(command) if command.model else None
    columns, read = [] if adjust in GRAPHS else [command.cause, command.effect, *adjust], None
    if saved is not None and adjust == "posterior":
        given = [word for word in command.words if word not in ("--model", command.model, f"--model={command.model}")]
        words = ["icdh", *given, *([] if command.columns else ["--columns", *map(str, saved.names)])]
        raise ValueError(
            f"{command.model} keeps one graph, and the posterior weighs many, which are learned from the table; "
            f"leave the model out: {shlex.join(words)}"
        )
    if saved is not None:
        columns = saved.names
        pair = [variable_index(getattr(command, role), columns, role) for role in ("cause", "effect")]
        late = after_by_tiers(knowledge_of(command), columns, pair[0])
        read = [columns[k] for k in (*pair, *covariates_of(adjust, saved, columns, pair[0], pair[1], late))]
        kinds = with_labels(dict(command.kinds), saved)
        command = replace(command, kinds=[(str(name), kind) for name, kind in kinds.items()])
    if not command.columns:
        command = replace(command, columns=list(dict.fromkeys(columns)))
    rows = read_input(command, read=read)
    if rows.interventions is not None:
        raise ValueError(
            "an interval is about rows of one condition; leave the others out, or save a model by icdh fit --save and "
            "ask it for an answer without an interval: icdh effects MODEL.icdh"
        )
    rows = rows.complete(read)
    ways: tuple[Groups, ...] = (rows.groups, *(rows.units[name] for name in clusters[1:]))
    declared = dict(command.kinds) or None
    contrast = None
    if command.contrast is not None:
        of = table_of(rows.table, None, False, declared, fewest=2)
        cells = next(csv.reader([command.contrast], skipinitialspace=True))
        contrast = [cell_of(of, command.cause, cell.strip(), "--contrast") for cell in cells]
    model = _fitted(command, rows) if saved is None and adjust in GRAPHS else saved  # it shows its own progress
    with watched(command, "", doing="estimating the effect"):
        return effect(
            rows.table,
            command.cause,
            command.effect,
            adjust,
            contrast=contrast,
            target=command.target,
            within={name: rows.units[name] for name in within},
            groups=ways,
            sequence=rows.sequence,
            **rows.weights,
            kinds=declared,
            missing_values=rows.missing_values,
            level=command.level,
            model=model,
            knowledge=knowledge_of(command),
            random_state=command.seed,
        )


def _curve(command: "Effects", model: StructuralModel) -> list[dict[str, object]]:
    """Return the effect at every value, drawn if that was asked for."""
    values = [cell_of(model.columns, command.cause, text, "--values") for text in command.values]
    answer = model.average_effect(command.cause, command.effect, values, random_state=command.seed)
    if command.plot:
        save_figure(command.plot, answer.plot())
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
    """Return a change as text, rounded to the first digit of its Monte Carlo error."""
    change, error = row["change"], row["error"]
    place = math.floor(math.log10(error)) if error > 0.0 else -6
    return f"{change:,.{max(-place, 0)}f}" if place > -7 and abs(change) < 1e9 else f"{change:.3g}"


def _text(value: object) -> str:
    return short(value) if isinstance(value, float) else printable(str(value))


@dataclass(frozen=True, kw_only=True)
class Question:
    """The question, and how it is answered."""

    title = "question"
    cause: str | None = options.text("NAME", "the variable that is set")
    effect: str | None = options.text("NAME", "the variable that is looked at")
    adjust: Sequence[str] = options.repeated(
        "A,B",
        "common causes of the two; none in a randomised trial; graph takes those that the graph asks for, posterior "
        "averages over graphs (default: graph)",
    )
    within: Sequence[str] = options.names("A,B", "columns of units, such as state,year, within which rows are compared")
    contrast: str | None = options.text("A,B", "from and to what the cause is set: 0,1 or no,yes or '\"a, b\",c'")
    target: str = options.choice(("all", "treated", "untreated"), "the rows the answer is about", "all")
    level: float = options.option(0.95, "probability of the interval", **options.reader_of(LEVEL))
    values: Sequence[str] = options.several("X", "the curve of the effect at these values, by the graph")
    model: str | None = options.read("a fitted model whose graph is used; it may also stand before the table")


@dataclass(frozen=True, kw_only=True)
class Output(options.Loudness):
    """What is drawn and written."""

    title = "output"
    plot: str | None = options.written("draw the effect: .png, .svg, .pdf; needs icdh[plot]", check_plot_path)
    report: str | None = options.written("a page of the answer, with pictures; needs icdh[report,plot]")
    json: bool = options.flag("print JSON")


@dataclass(frozen=True, kw_only=True)
class Effects(Output, Question, options.Learning):
    """The command."""

    summary = "what happens to one variable if another is changed"
    description = (
        "Answer what happens to --effect if --cause is changed, with an interval, from a table and either covariates "
        "(--adjust age,sex), or the graph that is learned or saved. Without a pair, list the effects of all variables "
        "by the graph."
    )
    usual = (*options.USUAL_INPUT, *options.USUAL_KNOWLEDGE, *Question.__annotations__, *Output.__annotations__)

    missing: str = options.about_gaps(("error", "drop"))

    def run(self) -> None:
        """Read the table or the model, answer, draw and print."""
        from icdh._effect.result import as_json

        _check(self)
        record: object
        if _compares_rows(self):
            answer, _ = with_warnings(partial(_answer, self), lambda answer: () if self.json else answer.notes)
            if self.plot:
                save_figure(self.plot, answer.plot())
            if self.report:
                from icdh.report import write_answer

                write_answer(self.report, answer)
            record, text = answer.to_dict(), answer.summary()
        else:
            model = _model(self)
            rows = _curve(self, model) if self.values else _pairs(self, model)
            record, text = rows, _table(rows, () if self.values else ABOUT_PAIRS)
        print(json.dumps(as_json(record), indent=2) if self.json else text)
