"""What a command knows of the rows of its table: groups, order, and the conditions of experiments."""

import argparse
from collections.abc import Collection, Hashable, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

from icdh._ground.labels import printable
from icdh._table.experiments import Interventions
from icdh.cli._files import copies
from icdh.cli._knowledge import names_in
from icdh.cli._messages import report
from icdh.cli._table import complete_rows, format_of, read
from icdh.files import LabelledTable, read_labels
from icdh.knowledge.formats import read_mapping

FILES = (".toml", ".json")
UNKNOWN = "?"


class Input(NamedTuple):
    """The table of a command, and what is known of its rows.

    Attributes
    ----------
    table : LabelledTable
        The variables.
    interventions : Interventions or None
        What was done to the rows.
    groups : list of str or None
        The group of every row.
    sequence : bool
        Whether rows depend on those before them.
    truth : ndarray or None
        The true graph of a data set of the package.
    """

    table: LabelledTable
    interventions: Interventions | None = None
    groups: list[str] | None = None
    sequence: bool = False
    truth: Any = None

    @property
    def relations(self) -> dict[str, Any]:
        """What is known of rows that depend on one another, as arguments of ``fit``."""
        return {"groups": self.groups, "sequence": self.sequence}

    def complete(self) -> "Input":
        """Return the rows without gaps."""
        full = ~self.table.gaps.any(axis=1)
        interventions = None if self.interventions is None else self.interventions.of_rows(full)
        groups = None if self.groups is None else list(compress(self.groups, full))
        return self._replace(table=complete_rows(self.table), interventions=interventions, groups=groups)


def read_input(args: argparse.Namespace, categorical: Collection[str] | None) -> Input:
    """Return the table that the options describe, and what they say of its rows.

    Parameters
    ----------
    args : Namespace
        The options.
    categorical : collection of str or None
        As of `icdh.cli._table.read`.
    """
    _check(args)
    if args.dataset:
        from icdh.datasets import load_sachs

        sachs = load_sachs(experiments=args.dataset == "sachs-experiments")
        return Input(sachs.table, sachs.interventions, sequence=args.sequence, truth=sachs.adjacency)
    columns = [args.condition_column, args.group_column]
    given = len(columns) - columns.count(None)
    first, *others = copies(args.data, 1 + given) if given else [None]
    table = read(args, data=first, categorical=categorical)
    conditions, groups = (
        None if column is None else read_labels(others.pop(), column, **format_of(args)) for column in columns
    )
    return Input(table, _interventions(args, conditions), groups, args.sequence)


def _check(args):
    """Raise ValueError if the options about rows do not go together or with the others."""
    if args.targets is not None and args.condition_column is None:
        raise ValueError("--targets goes with --condition-column NAME, the column that holds the conditions")
    if args.condition_column is not None and args.dataset:
        raise ValueError("--condition-column is about a file; the conditions of a data set of the package are known")
    if args.group_column is not None and args.dataset:
        raise ValueError("--group-column is about a file; the rows of a data set of the package have no groups")
    if (args.group_column is not None or args.sequence) and args.method != "search":
        raise ValueError("--group-column and --sequence need the evidence that --method search weighs; leave them out")


def targets_file(args: argparse.Namespace) -> str | None:
    """Return the file given to --targets; None if there is none."""
    return args.targets if args.targets is not None and args.targets.lower().endswith(FILES) else None


def _interventions(args, conditions):
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
    if not args.quiet:
        known = any(targets[condition] is not None for condition in present)
        for k, condition in enumerate(present):
            does = _said(targets[condition]) if k or known else "what the others are compared with"
            report("note", f"condition {condition!r}, {conditions.count(condition)} rows: {does}")
    return Interventions(conditions, targets)


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
