"""Options about experiments: the condition of every row, and the variables that each condition sets."""

import argparse
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from icdh._ground.labels import printable
from icdh._table.experiments import Interventions
from icdh.cli._knowledge import names_in
from icdh.cli._messages import report
from icdh.cli._table import complete_rows
from icdh.knowledge.formats import read_mapping

FILES = (".toml", ".json")
UNKNOWN = "?"


def add_experiment_options(parser) -> None:
    """Describe the options that `interventions_of` reads."""
    parser.add_argument(
        "--condition-column",
        metavar="NAME",
        help="the column of text that says under which condition a row was observed; it is no variable",
    )
    parser.add_argument(
        "--targets",
        metavar="FILE|'A=x y; B=?; C='",
        help="the variables that each condition sets, whose values then say nothing of their causes: names or "
        "patterns, ? if it is not known what a condition does, nothing if it leaves all alone; as text, or as a file "
        ".toml or .json that maps conditions to lists of names; by default it is not known of any condition, and the "
        "first one in the table is what the others are compared with",
    )


def check_experiment_options(args: argparse.Namespace) -> None:
    """Raise ValueError if the options do not go together or with the others."""
    if args.targets is not None and args.condition_column is None:
        raise ValueError("--targets goes with --condition-column NAME, the column that holds the conditions")
    if args.condition_column is not None and args.dataset:
        raise ValueError("--condition-column is about a file; the conditions of a data set of the package are known")


def targets_file(args: argparse.Namespace) -> str | None:
    """Return the file given to --targets; None if there is none."""
    return args.targets if args.targets is not None and args.targets.lower().endswith(FILES) else None


def interventions_of(args: argparse.Namespace, conditions: Sequence[str] | None) -> Interventions | None:
    """Return what was done to the rows, given the condition of each; say in a line what every condition does."""
    if conditions is None:
        return None
    present = list(dict.fromkeys(conditions))
    targets = dict.fromkeys(present) if args.targets is None else _targets(args)
    for condition in present:
        if condition not in targets:
            raise ValueError(
                f"--targets says nothing of condition {condition!r}, which column {args.condition_column!r} holds; "
                f"add {condition}=NAME for what it sets, {condition}= if it sets nothing, {condition}=? if that is not "
                "known"
            )
    if not getattr(args, "quiet", False):
        known = any(targets[condition] is not None for condition in present)
        for k, condition in enumerate(present):
            does = _said(targets[condition]) if k or known else "what the others are compared with"
            report("note", f"condition {condition!r}, {conditions.count(condition)} rows: {does}")
    return Interventions(conditions, targets)


def complete(table: Any, interventions: Interventions | None) -> tuple[Any, Interventions | None]:
    """Return the rows of a table without gaps, and what was done to them."""
    rows = complete_rows(table)
    if interventions is None:
        return rows, None
    return rows, interventions.of_rows(~table.gaps.any(axis=1))


def _said(targets):
    if targets is None:
        return "what it does is to be found"
    return f"sets {', '.join(map(str, targets))}" if targets else "sets nothing"


def _targets(args) -> Mapping[str, list | None]:
    """Return the mapping that --targets describes."""
    file = targets_file(args)
    if file is None:
        return _from_text(args.targets)
    try:
        return {str(condition): _listed(condition, found) for condition, found in read_mapping(file).items()}
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def _from_text(text):
    """Return conditions and their targets, given as CONDITION=NAMES with semicolons between them."""
    parts = [part.rpartition("=") for part in text.split(";") if part.strip()]
    for condition, equals, names in parts:
        if not equals or not condition.strip():
            raise ValueError(
                f"--targets is given as 'A=x y; B=?; C=', or names a file {' or '.join(FILES)}; "
                f"got {(condition + equals + names).strip()!r}"
            )
    targets = names_in([names for *_, names in parts])
    return {
        condition.strip(): None if names == [UNKNOWN] else names
        for (condition, *_), names in zip(parts, targets, strict=True)
    }


def _listed(condition, found):
    if found is None or found == UNKNOWN:
        return None
    found = [found] if isinstance(found, str) else found
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ValueError(f"condition {condition!r} must have a list of names, or {UNKNOWN!r}; got {found!r}")
    return found


def target_lines(model: Any) -> list[str]:
    """Return for every condition of unknown targets a line about what it was found to act on."""
    least = getattr(model, "threshold", 0.0)
    return [
        f"condition {printable(str(condition))} acts on "
        f"{_strongest(weights, model.model_.names, least) or 'nothing that was found'}"
        for condition, weights in model.targets_.items()
    ]


def _strongest(weights: Sequence[float], names: Sequence[Hashable], least: float) -> str:
    found = sorted((-weight, str(name)) for weight, name in zip(weights, names, strict=True) if weight > least)
    return ", ".join(f"{printable(name)} ({-weight:.3g})" for weight, name in found)
