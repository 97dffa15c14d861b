"""Options as a table: how argparse reads each, those that several commands share, and a command as a value."""

import argparse
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from icdh._estimators.hnm_search import HNMSearch
from icdh._estimators.icdh import ICDH
from icdh._estimators.imputation import MISSING
from icdh._table.kinds import DECLARABLE
from icdh._utils.checks import Choice, Constraint, Flag, Number, Workers, constraints_of
from icdh.exceptions import ArgumentError

Option = dict[str, Any]  # the arguments of argparse
OTHER_NAMES = {  # arguments of the library that are called otherwise where they are options
    "random_state": "seed",
    "n_jobs": "jobs",
    "delimiter": "sep",
    "groups": "group-column",
    "missing_values": "na",
    "n_resamples": "bootstrap",
    "n_samples": "rows",
    "n_observations": "observations",
    "n_variables": "variables",
}
DONE_ABOUT_GAPS = {
    "drop": "rows with gaps are left out",
    "impute": "gaps are imputed, and strengths count them as if they were seen",
    "keep": "results that depend on a gap stay empty",
}


class Either(NamedTuple):
    """Options of which each excludes the others."""

    options: dict[str, Option]
    required: bool = False


class File(NamedTuple):
    """The type of an option that takes a path.

    Attributes
    ----------
    called : str
        What messages call the file, if not by the option.
    written : bool
        Whether the command writes it.
    check : callable
        Raises an error if a path cannot be what is written.
    """

    called: str
    written: bool = False
    check: Callable[[str], object] = str

    def __call__(self, path: str) -> str:
        return path


class Command(NamedTuple):
    """A command of the command line.

    Attributes
    ----------
    summary, description : str
        Its line in the list of commands, and what stands above its options.
    options : mapping of mappings
        Groups of options by their title; those without a title stand first.
    run : callable
        Does the work and returns the exit code, or None for 0.
    usual : sequence of str
        The destinations of the options that ``--help`` shows, if not all.
    """

    summary: str
    description: str
    options: Mapping[str, Mapping[str, Option | Either]]
    run: Callable[[argparse.Namespace], int | None]
    usual: Sequence[str] = ()


def text(metavar: str | None, help: str, **more: object) -> Option:
    """Return an option that takes a text."""
    return {"metavar": metavar, "help": help, **more}


def read(help: str, called: str = "", **more: object) -> Option:
    """Return an option that takes the path of an input; if it has no name of an option, messages call it otherwise."""
    return text(None if called else "FILE", help, type=File(called), **more)


def written(help: str, check: Callable[[str], object] = str, *, called: str = "", **more: object) -> Option:
    """Return an option that takes the path of an output, likewise."""
    return text(None if called else "FILE", help, type=File(called, True, check), **more)


def flag(help: str) -> Option:
    """Return an option that takes no value."""
    return {"action": "store_true", "help": help}


def choice(choices: Collection[str], help: str, default: str | None = None) -> Option:
    """Return an option that takes one of several words."""
    return {"choices": choices, "default": default, "help": help}


def several(metavar: str, help: str, **more: object) -> Option:
    """Return an option that takes several values, and adds those of every time that it is given."""
    return {"nargs": "+", "action": "extend", "metavar": metavar, "help": help, **more}


def repeated(metavar: str, help: str, **more: object) -> Option:
    """Return an option that may be given several times, with one value each."""
    return {"action": "append", "default": [], "metavar": metavar, "help": help, **more}


def number(default: float | None, help: str, *, low: float = 0, integer: bool = False, **more: object) -> Option:
    """Return an option that takes a number of at least ``low``."""
    return {**parameter(Number(low, integer=integer)), "default": default, "help": help, **more}


def parameter(constraint: Constraint) -> Option:
    """Return how argparse reads a parameter: whatever breaks its constraint is refused at once."""
    if isinstance(constraint, Choice):
        return {"choices": constraint.choices}
    if isinstance(constraint, Flag):
        return {"action": argparse.BooleanOptionalAction}
    is_integer = isinstance(constraint, Workers) or (isinstance(constraint, Number) and constraint.integer)
    return {"type": _reader(constraint, int if is_integer else float), "metavar": "N" if is_integer else "X"}


def _reader(constraint: Constraint, kind: type[int] | type[float]) -> Callable[[str], object]:
    """Return what reads the text of an option, or raises an error that names the demand."""

    def read(text: str) -> object:
        words, optional = getattr(constraint, "words", ()), getattr(constraint, "optional", False)
        if text in words or (optional and text == "none"):
            value: object = None if text == "none" else text
        else:
            value = kind(text)
        try:
            constraint.check("", value)
        except ArgumentError as error:
            raise argparse.ArgumentTypeError(error.demand) from None
        return value

    read.__name__ = {int: "integer", float: "number"}[kind]  # argparse says "invalid number value"
    return read


def option_named(argument: str) -> str:
    """Return the option that stands for an argument of the library."""
    return "--" + OTHER_NAMES.get(argument, argument).replace("_", "-")


class _MissingValues(argparse.Action):
    """Collects codes of missing values by column; None stands for every column."""

    def __call__(self, parser: object, namespace: object, values: object, option_string: str | None = None) -> None:
        column, equals, codes = str(values).rpartition("=")
        known = dict(getattr(namespace, self.dest, None) or {})
        key = column if equals else None
        known[key] = [*known.get(key, ()), *filter(None, codes.split(","))]
        setattr(namespace, self.dest, known)


TABLE = read(
    "table (CSV, TSV, .dta, .sav, .xlsx, .parquet, ...), observations in rows; - is standard input", "the table"
)
MODEL = read("a fitted model, written by icdh fit --save", "the model")
TEXT_FORMAT = {
    "--sep --delimiter": text("C", "separator: a character, tab or space; detected by default", dest="delimiter"),
    "--decimal": choice((".", ","), "the decimal mark; detected by default"),
    "--encoding": text("NAME", "such as latin-1 or utf-16; by default UTF-8"),
}
FORMAT = {
    "--header": {
        "action": argparse.BooleanOptionalAction,
        "default": None,
        "help": "whether the first line holds names; by default if it holds text",
    },
    **TEXT_FORMAT,
    "--thousands": text("C", "what separates thousands: . , ' _ or space"),
    "--skip-rows": number(0, "lines above the table", integer=True),
    "--comment": text("C", "leave out lines that begin with it, such as '#'"),
    "--units-row": flag("leave out the line of units below the names"),
}
COLUMNS = {
    "--columns": several("NAME", "the variables, by name or by number from 1; by default all columns"),
    "--drop": several("NAME", "columns to leave out; a first column without a name is left out", default=[]),
}
RELATIONS = {
    "--group-column": text("NAME", "column of groups of dependent rows (visits of a person); it is no variable"),
    "--sequence": flag("rows depend on those before them; with --group-column, on those of their group"),
}
EXPERIMENTS = {
    "--condition-column": text("NAME", "column of the condition of every row; it is no variable"),
    "--targets": text(
        "'A=x y; B=?; C='",
        "variables set by each condition: names or patterns; ? for unknown, empty for none; by default unknown, and "
        "the first condition in the table is the reference",
    ),
}
ACTIONS = {
    "--do": repeated("NAME=VALUE", "set a variable to a value, in its units, or to a label; may be repeated"),
    "--shift": repeated("NAME=AMOUNT", "add an amount to a variable, whatever its causes make it; may be repeated"),
}
LOUDNESS = Either(
    {
        "--verbose": flag("report every round, move or five seconds on the standard error stream"),
        "--quiet": flag("print nothing but warnings and errors"),
    }
)
OUTPUT_TABLE = written("output file: .csv or .tsv; by default standard output")
NOT_GIVEN = {  # what a command knows of options that it does not have
    **dict.fromkeys(
        ("columns", "condition_column", "dataset", "drop", "group_column", "method", "missing_values", "model")
    ),
    **dict.fromkeys(("quiet", "sequence", "verbose"), False),
    "dates": (),
    "missing": "error",
}


def cells(missing: Sequence[str]) -> dict[str, Option]:
    """Return the options for dates and gaps; ``missing`` is what can be done about the latter."""
    remedies = [f"{way}: {DONE_ABOUT_GAPS[way]}" for way in missing if way != "error"]
    return {
        "--dates": several("NAME", "columns of dates (2024-03-31, 31.03.2024) read as days since 1970", default=[]),
        "--na": {
            "dest": "missing_values",
            "action": _MissingValues,
            "metavar": "CODES",
            "help": "numbers and texts that mean a gap, such as -999,* or, of one column, income=-9; '': none",
        },
        "--missing": choice(missing, f"what to do about gaps (empty, NA, NaN, ?): {'; '.join(remedies)}", "error"),
    }


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


PATTERNS = "by names or patterns such as 'gene_*'; may be repeated"
KNOWLEDGE = {
    "--knowledge": read("file of background knowledge: .toml, .json, or Tetrad's format"),
    "--forbid": repeated("CAUSE,EFFECT", f"an edge that must not be in the graph, {PATTERNS}", type=_edge),
    "--require": repeated("CAUSE,EFFECT", f"an edge that must be in the graph, {PATTERNS}", type=_edge),
    "--tiers": text(
        "'A B; C'",
        "groups of variables in order of time; no variable causes one of an earlier group, those in no group are free; "
        "if names contain spaces, separate them by commas in all groups",
        type=_tiers,
        default=[],
    ),
    "--roots": text("A,B", "variables without causes, such as age, by names or patterns", type=_group, default=[]),
    "--leaves": text("A,B", "variables without effects, by names or patterns", type=_group, default=[]),
}
Learned: TypeAlias = HNMSearch | ICDH
METHODS: dict[str, type[Learned]] = {"search": HNMSearch, "icdh": ICDH}
DEFAULTS = {method: kind().get_params() for method, kind in METHODS.items()}
CONSTRAINTS = constraints_of(ICDH) | constraints_of(HNMSearch)
WORDS = {  # of the options that are parameters of the estimators
    "hidden_units": "hidden units of every variable's network; auto for the search",
    "l1": "lasso penalty on the input weights",
    "l2": "ridge penalty on the weights",
    "noise": "model of the standard deviation of the noise",
    "bias": "whether hidden units and means get intercepts",
    "scaling": "scaling of the columns before the fit",
    "threshold": "edges of smaller weight are left out",
    "edge_cost": "nats that an edge costs in ICDH's last stage; none leaves it out",
    "max_rounds": "the most rounds of the two phases",
    "tol": "stop when a round lowers the negative log-likelihood by less, in nats",
    "schedule": "how closely the article's algorithms are followed",
    "h_tol": "the acyclicity at which the constraint counts as met",
    "n_restarts": "number of initial weights to fit from; the best fit is kept",
    "rho_max": "largest penalty weight of the augmented Lagrangian",
    "edge_penalty": "nats that every edge must gain beyond its evidence, or auto",
    "binary_effect_penalty": "additional nats for an edge from a number to a column of two values or labels",
    "max_parents": "the most causes of a variable",
    "noise_distribution": "the density of the standardised noise",
    "column_transform": "a monotone transform of every column before the search",
    "search": "greedy, or exact for at most 22 variables",
    "hidden_causes": "whether to look for hidden common causes of three and more columns of numbers",
    "prior_precision": "initial precision of the prior of the weights",
    "max_seconds": "stop after so many seconds with the best graph so far",
    "min_strength": "leave out edges of less strength, in nats",
    "max_edges": "keep at most the N strongest edges",
    "n_imputations": "number of imputations of the gaps, for --missing impute",
    "n_jobs": "number of workers, -1 for one per core",
}


def _kind(text: str) -> tuple[str, str]:
    name, equals, kind = text.rpartition("=")
    if not (name and equals and kind):
        raise argparse.ArgumentTypeError(f"a kind is given as NAME=KIND; got {text!r}")
    return name, kind


def _parameter(name: str) -> Option:
    """Return the option of a parameter; its help ends with the defaults of the methods that have it."""
    defaults = {method: params[name] for method, params in DEFAULTS.items() if params.get(name) is not None}
    values = ", ".join(f"{method}: {value}" for method, value in defaults.items())
    help = WORDS[name] + (f" ({values})" if values else "")
    return {"default": argparse.SUPPRESS, "help": help, **parameter(CONSTRAINTS[name])}


INPUT: dict[str, Option | Either] = {
    "table": Either(
        {
            "data": {"nargs": "?", **TABLE},
            "--dataset": choice(("sachs", "sachs-experiments"), "a data set of the package, in place of a file"),
        },
        required=True,
    ),
    **FORMAT,
    **COLUMNS,
    **cells(MISSING),
    **RELATIONS,
}
ESTIMATOR = {
    "--method": choice(METHODS, "search (HNMSearch: by evidence, in any units) or icdh (the article's)", "search"),
    **{"--n-jobs --jobs" if name == "n_jobs" else "--" + name.replace("_", "-"): _parameter(name) for name in WORDS},
    "--kinds": several(
        "NAME=KIND", f"kinds, if not guessed: {', '.join(DECLARABLE)}", type=_kind, default=argparse.SUPPRESS
    ),
    "--forbidden-edges": read("graph of edges that must not appear, in a format of --truth", default=argparse.SUPPRESS),
    "--seed": number(0, "seed of the initial weights", integer=True),
}
UNCERTAINTY: dict[str, Option | Either] = {
    "how": Either(
        {
            "--bootstrap": number(None, "learn also from N resamples of the rows", low=1, integer=True),
            "--posterior": flag("probabilities of edges from the evidence; not for --method icdh"),
        }
    ),
    "--sampling": choice(
        ("subsample", "bootstrap"), "what --bootstrap draws: half of the rows, or as many with replacement", "subsample"
    ),
    "--checkpoint": written("save resamples there, and continue with those that it has"),
    "--probabilities": written("write the probabilities of all edges as a table (.csv)"),
}
LEARNING: dict[str, Mapping[str, Option | Either]] = {
    "input": INPUT,
    "experiments": EXPERIMENTS,
    "estimator": ESTIMATOR,
    "knowledge": KNOWLEDGE,
    "uncertainty": UNCERTAINTY,
}
USUAL_INPUT = (
    *("data", "dataset", "columns", "drop", "missing", "group_column", "sequence"),
    *("kinds", "method", "max_seconds", "posterior"),
)
USUAL_KNOWLEDGE = ("forbid", "roots", "leaves", "tiers", "require")
