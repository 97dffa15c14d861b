"""Options for background knowledge about the graph."""

import argparse
import shlex
from collections.abc import Sequence

import numpy as np

from icdh._ground.arrays import Floats
from icdh._ground.labels import printable
from icdh.cli._options import repeated, text
from icdh.knowledge import Knowledge

GIVEN = ("age", "birth year", "date", "ethnicity", "gender", "race", "season", "sex", "year")  # nothing causes these


def knowledge_of(args: argparse.Namespace) -> Knowledge:
    """Return the knowledge of the file and of the other options together."""
    given = Knowledge(
        forbidden=args.forbid, required=args.require, tiers=args.tiers, roots=args.roots, leaves=args.leaves
    )
    return Knowledge.read(args.knowledge) | given if args.knowledge else given


def question_about_roots(adjacency: Floats, names: Sequence[object]) -> str | None:
    """Return the question whether anything causes variables that are given by nature; None if no arrow says so."""
    given = [
        n for n, name in enumerate(names) if str(name).casefold().replace("_", " ") in GIVEN and adjacency[:, n].any()
    ]
    if not given:
        return None
    arrows = [f"{names[cause]} -> {names[n]}" for n in given for cause in np.flatnonzero(adjacency[:, n]).tolist()]
    roots = shlex.quote(printable(",".join(str(names[n]) for n in given)))
    return f"can this be: {printable(', '.join(arrows))}? If nothing causes it, say --roots {roots}"


def _edge(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise argparse.ArgumentTypeError(f"an edge is given as CAUSE,EFFECT; got {text!r}")
    return names


def _group(text: str) -> list[str]:
    return names_in([text])[0]


def _tiers(text: str) -> list[list[str]]:
    """Return groups that semicolons separate, as `names_in` reads them."""
    groups = names_in(text.split(";"))
    if not all(group and all(group) for group in groups):
        raise argparse.ArgumentTypeError(f"tiers are given as 'A B; C'; got {text!r}")
    return groups


def names_in(texts: Sequence[str]) -> list[list[str]]:
    """Return the names in each of some texts: separated by commas if any of them holds one, else by spaces."""
    comma = any("," in text for text in texts)
    return [
        [name.strip() for name in (text.split(",") if comma else text.split())] if text.strip() else []
        for text in texts
    ]


_PATTERNS = "by names or patterns such as 'gene_*'; may be repeated"
KNOWLEDGE = {
    "--knowledge": text("FILE", "file of background knowledge: .toml, .json, or Tetrad's format"),
    "--forbid": repeated("CAUSE,EFFECT", f"an edge that must not be in the graph, {_PATTERNS}", type=_edge),
    "--require": repeated("CAUSE,EFFECT", f"an edge that must be in the graph, {_PATTERNS}", type=_edge),
    "--tiers": text(
        "'A B; C'",
        "groups of variables in order of time; no variable causes one of an earlier group; if names contain spaces, "
        "separate them by commas in all groups",
        type=_tiers,
        default=[],
    ),
    "--roots": text(
        "A,B",
        "variables without causes, such as age or a randomised treatment, by names or patterns",
        type=_group,
        default=[],
    ),
    "--leaves": text("A,B", "variables without effects, by names or patterns", type=_group, default=[]),
}
