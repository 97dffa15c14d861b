"""``icdh effects``: what interventions on one variable of a saved model do to others."""

import argparse
import json
from dataclasses import replace
from typing import Any

from icdh._ground.labels import printable
from icdh.cli._files import check_files, check_model
from icdh.cli._help import HelpFormatter
from icdh.cli._model import MODEL_HELP, number_of

USUAL_QUANTILES = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)


def add_parser(subparsers: Any) -> None:
    """Describe the command's options."""
    parser = subparsers.add_parser(
        "effects",
        help="effects of setting one variable on others, by a saved model",
        description="Print the total effects between all pairs of variables of a saved model: half the change of the "
        "mean from the 16 to the 84 % quantile of the cause, how much of the effect's spread its mean covers as the "
        "cause runs through its values, and by what factor the spread grows from low to high causes. With a cause and "
        "an effect: mean and standard deviation of the effect for values that the cause is set to.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("model", help=MODEL_HELP)
    parser.add_argument("cause", nargs="?", help="the variable that is set")
    parser.add_argument("effect", nargs="?", help="the variable that is looked at")
    parser.add_argument(
        "--values", nargs="+", metavar="X", help="values of the cause; by default its quantiles, or all its labels"
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the effect: .png, .svg, .pdf; needs icdh[plot]")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed of the noise")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read the model, compute, draw and print."""
    from icdh._model.effects import total_effects
    from icdh._model.structural import load

    _check(args)
    check_model(args.model)
    model = load(args.model)
    model = replace(model, names=[str(name) for name in model.names])
    if args.cause is None:
        rows = [effect._asdict() for effect in total_effects(model, random_state=args.seed)]
    else:
        rows = _curve(args, model)
    print(json.dumps(rows, indent=2) if args.json else _table(rows))
    return 0


def _check(args):
    check_files({"the model": args.model}, {"--plot": args.plot})
    if args.cause is not None and args.effect is None:
        raise ValueError("name a cause and an effect, or neither for all pairs")
    if args.cause is None and (args.values or args.plot):
        raise ValueError("--values and --plot are about one pair; name its cause and effect")
    if args.plot:
        from icdh.plotting import check_plot_path

        check_plot_path(args.plot)


def _curve(args, model):
    """Return the effect at every value, drawn if that was asked for."""
    effect = model.average_effect(args.cause, args.effect, _values(args, model), random_state=args.seed)
    if args.plot:
        from icdh.plotting import save_figure

        save_figure(args.plot, effect.plot())
    return [
        {effect.cause: value, f"mean of {effect.effect}": mean, "standard deviation": std}
        for value, mean, std in zip(effect.values.tolist(), effect.mean.tolist(), effect.std.tolist(), strict=True)
    ]


def _values(args, model):
    """Return the values of the cause: those given, by default its quantiles or all its labels."""
    import numpy as np

    from icdh._ground.labels import variable_index

    at = variable_index(args.cause, model.names, "cause")
    known = model.categories.get(at)
    if known is not None:
        by_text = {str(label): label for label in known.labels}
        return [by_text.get(text, text) for text in args.values] if args.values else list(known.labels)
    if args.values:
        return [number_of("--values", text) for text in args.values]
    return np.quantile(np.asarray(model.sample(10_000, args.seed))[:, at].astype(float), USUAL_QUANTILES)


def _table(rows):
    if not rows:
        return "no variable has an effect on another"
    cells = [[printable(key) for key in rows[0]], *([_text(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True)) for row in cells)


def _text(value):
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value))
