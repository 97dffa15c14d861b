"""A command as a frozen dataclass whose fields are its options, and the options that several commands share."""

import argparse
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from inspect import get_annotations
from typing import Any, ClassVar, NamedTuple, TypeAlias

from icdh._estimators.hnm_search import HNMSearch
from icdh._estimators.icdh import ICDH
from icdh._estimators.imputation import MISSING
from icdh._table.kinds import DECLARABLE
from icdh._utils.checks import Choice, Constraint, Flag, Number, Workers, constraints_of
from icdh.exceptions import ArgumentError

OTHER_NAMES = {  # arguments of the library that are called otherwise where they are options
    "random_state": "seed",
    "n_jobs": "jobs",
    "delimiter": "sep",
    "groups": "group-column",
    "sample_weight": "weights",
    "missing_values": "na",
    "n_resamples": "bootstrap",
    "n_samples": "rows",
    "n_observations": "observations",
    "n_variables": "variables",
    "required": "require",
    "forbidden": "forbid",
}
DONE_ABOUT_GAPS = {
    "drop": "rows with gaps are left out",
    "impute": "gaps are imputed; strengths count rows that hold cause and effect",
    "keep": "results that depend on a gap stay empty",
}
DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "bar": "|"}
STANDARD_INPUT = "-"
REQUIRED = "the table"  # of options that exclude one another: one of them must be given


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


def option(default: object, help: str, *, flags: str = "", either: str = "", **how: object) -> Any:
    """Return a field of a command that is an option.

    Parameters
    ----------
    default : object
        Its value if it is not given.
    help : str
        What ``--help`` says.
    flags : str
        Its flags, if they are not the name of the field.
    either : str
        A word that it shares with the options that exclude it.
    **how : object
        Further arguments of argparse.
    """
    shown = "" if default is False or default in (None, "", ()) else f" (default: {default})"
    return field(default=default, metadata={"flags": flags, "either": either, "how": {"help": help + shown, **how}})


def text(metavar: str, help: str, default: object = None, **more: Any) -> Any:
    """Return an option that takes a text."""
    return option(default, help, metavar=metavar, **more)


def read(help: str, called: str = "", **more: Any) -> Any:
    """Return an option that takes the path of an input; a positional one has a name in messages."""
    return _path(File(called), help, **more)


def written(help: str, check: Callable[[str], object] = str, *, called: str = "", **more: Any) -> Any:
    """Return an option that takes the path of an output, likewise."""
    return _path(File(called, True, check), help, **more)


def _path(file: File, help: str, default: str | None = None, **more: Any) -> Any:
    is_positional = file.called != "" and "flags" not in more
    return option(default, help, type=file, metavar=None if is_positional else "FILE", **more)


def flag(help: str, **more: Any) -> Any:
    """Return an option that takes no value."""
    return option(False, help, action="store_true", **more)


def choice(choices: Collection[str], help: str, default: str | None = None, **more: Any) -> Any:
    """Return an option that takes one of several words."""
    return option(default, help, choices=choices, **more)


def several(metavar: str, help: str, **more: Any) -> Any:
    """Return an option that takes several values, and adds those of every time that it is given."""
    return option((), help, nargs="+", action="extend", metavar=metavar, **more)


def repeated(metavar: str, help: str, **more: Any) -> Any:
    """Return an option that may be given several times, with one value each."""
    return option((), f"{help}; may be repeated", action="append", metavar=metavar, **more)


def names(metavar: str, help: str, **more: Any) -> Any:
    """Return an option that takes names that commas separate, and adds those of every time that it is given."""
    return option((), help, type=group, action="extend", metavar=metavar, **more)


def number(default: float | None, help: str, *, low: float = 0, integer: bool = False, **more: Any) -> Any:
    """Return an option that takes a number of at least ``low``."""
    return option(default, help, **{**reader_of(Number(low, integer=integer)), **more})


def whole(default: int | None, help: str, low: int = 0, **more: Any) -> Any:
    """Return an option that takes a whole number of at least ``low``."""
    return number(default, help, low=low, integer=True, **more)


def reader_of(constraint: Constraint) -> dict[str, Any]:
    """Return how argparse reads a parameter: whatever breaks its constraint is refused at once."""
    if isinstance(constraint, Choice):
        return {"choices": constraint.choices}
    if isinstance(constraint, Flag):
        return {"action": argparse.BooleanOptionalAction}
    is_integer = isinstance(constraint, Workers) or (isinstance(constraint, Number) and constraint.integer)
    return {"type": _reader(constraint, int if is_integer else float), "metavar": "N" if is_integer else "X"}


def _reader(constraint: Constraint, kind: type[int] | type[float]) -> Callable[[str], object]:
    """Return what reads the text of an option, or raises an error that names the demand."""
    words: dict[str, object] = {word: word for word in getattr(constraint, "words", ())}
    words |= {"none": None} if getattr(constraint, "optional", False) else {}

    def read(text: str) -> object:
        value = words[text] if text in words else kind(text)
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


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command as it was typed; options that it does not have are as if they were not given.

    A command inherits from the groups of options that it has, the last of them shown first, and from this class. In
    ``--help`` the options of a group stand below its title, if it has one; all others are options without a title.

    Attributes
    ----------
    summary, description : str
        Its line in the list of commands, and what stands above its options.
    usual : collection of str
        The fields that ``--help`` shows, if not all.
    words : sequence of str
        What was typed.
    parameters : mapping
        The parameters of an estimator that were given.
    """

    summary: ClassVar[str]
    description: ClassVar[str]
    usual: ClassVar[Collection[str]] = ()
    words: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    debug: bool = False
    model: str | None = None
    data: str = ""
    dataset: str | None = None
    columns: Sequence[str] = ()
    drop: Sequence[str] = ()
    dates: Sequence[str] = ()
    missing: str = "error"
    missing_values: Mapping[str | None, Sequence[str]] | None = None
    method: str = ""
    kinds: Sequence[tuple[str, str]] = ()
    group_column: str | None = None
    sequence: bool = False
    weights: str | None = None
    frequency: bool = False
    within: Sequence[str] = ()
    condition_column: str | None = None
    targets: str | None = None
    quiet: bool = False
    verbose: bool = False

    def run(self) -> int | None:
        """Do the work, and return the exit code, None for 0."""
        raise NotImplementedError

    @property
    def table_name(self) -> str:
        """The name of the table; empty of the standard input."""
        return self.dataset or ("" if self.data == STANDARD_INPUT else os.path.basename(self.data))

    @classmethod
    def options(cls) -> dict[str, Field[Any]]:
        """Return the fields that are options, by name."""
        return {part.name: part for part in fields(cls) if part.metadata}

    @classmethod
    def groups(cls) -> list[tuple[str, list[Field[Any]]]]:
        """Return the title and the options of every group, those without a title first.

        The options of a group are its own, then those of each class that it inherits.
        """
        options = cls.options()

        def taken(part: type) -> list[Field[Any]]:
            return [options.pop(name) for base in part.__mro__ for name in get_annotations(base) if name in options]

        titled = [(vars(part)["title"], taken(part)) for part in reversed(cls.__mro__) if "title" in vars(part)]
        return [("", taken(cls)), *titled]

    @property
    def files(self) -> list[tuple[str, File, str]]:
        """The files that were given: what messages call each, its type, and its path."""
        return [
            (file.called or f"--{name.replace('_', '-')}", file, path)
            for name, part in self.options().items()
            if isinstance(file := part.metadata["how"].get("type"), File) and (given := getattr(self, name))
            for path in ([given] if isinstance(given, str) else given)
        ]


class Once(argparse.Action):
    """Stores the value of an option, which may be given once."""

    def __call__(self, parser: object, namespace: object, values: object, option_string: str | None = None) -> None:
        if hasattr(namespace, self.dest):
            raise argparse.ArgumentError(None, f"{option_string} is given twice; keep one")
        setattr(namespace, self.dest, values)


class _MissingValues(argparse.Action):
    """Collects codes of missing values by column; None stands for every column."""

    def __call__(self, parser: object, namespace: object, values: object, option_string: str | None = None) -> None:
        column, equals, codes = str(values).rpartition("=")
        if re.search(r"=.*,", column):
            how = "--na is repeated for each column, as in --na a=-1 --na b=9"
            raise argparse.ArgumentError(None, f"{how}; got {values!r}")
        known = dict(getattr(namespace, self.dest, None) or {})
        key = column if equals else None
        known[key] = [*known.get(key, ()), *filter(None, codes.split(","))]
        setattr(namespace, self.dest, known)


def _mark(text: str) -> str:
    return DELIMITERS.get(text, text)


TABLE = "table (CSV, TSV, .dta, .sav, .xlsx, .parquet, ...), observations in rows; - is standard input"
MODEL = "a fitted model, written by icdh fit --save"
OUTPUT_TABLE = "output file: .csv or .tsv; by default standard output"


def about_gaps(choices: Sequence[str]) -> Any:
    """Return the option that says what is done about gaps."""
    remedies = [f"{way}: {DONE_ABOUT_GAPS[way]}" for way in choices if way != "error"]
    return choice(choices, f"what to do about gaps (empty, NA, NaN, ?): {'; '.join(remedies)}", "error")


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """How a text file is written."""

    delimiter: str | None = text("C", "separator, tab or space; else detected", flags="--sep --delimiter", type=_mark)
    decimal: str | None = choice((".", ","), "the decimal mark; detected by default")
    encoding: str | None = text("NAME", "such as latin-1 or utf-16; by default UTF-8")


@dataclass(frozen=True, kw_only=True)
class Format(TextFormat):
    """How a table is written, and its cells."""

    header: bool | None = option(
        None, "whether the first line holds names; by default if it holds text", action=argparse.BooleanOptionalAction
    )
    thousands: str | None = text("C", "what separates thousands: . , ' _ or space", type=_mark)
    skip_rows: int = whole(0, "lines above the table")
    comment: str | None = text("C", "leave out lines that begin with it, such as '#'")
    units_row: bool = flag("leave out the line of units below the names")
    dates: Sequence[str] = several("NAME", "columns of dates (2024-03-31, 31.03.2024) read as days since 1970")
    missing_values: Mapping[str | None, Sequence[str]] | None = text(
        "CODES",
        "numbers and texts that mean a gap, such as -999,* or, of one column, income=-9; '': none",
        flags="--na",
        action=_MissingValues,
    )


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns are read."""

    columns: Sequence[str] = several("NAME", "the variables, by name or by number from 1; by default all columns")
    drop: Sequence[str] = several("NAME", "columns to leave out; a first column without a name is left out")


@dataclass(frozen=True, kw_only=True)
class Relations:
    """Which rows depend on one another."""

    group_column: str | None = text("NAME", "column of groups of dependent rows (visits of a person), no variable")
    sequence: bool = flag("rows depend on those before them; with --group-column, on those of their group")


@dataclass(frozen=True, kw_only=True)
class Experiments:
    """What was done to the rows."""

    title = "experiments"
    condition_column: str | None = text("NAME", "column of the condition of every row; it is no variable")
    targets: str | None = text(
        "'A=x y; B=?; C='",
        "variables set by each condition: names or patterns; ? for unknown, empty for none; by default unknown, and "
        "the first condition in the table is the reference",
    )


@dataclass(frozen=True, kw_only=True)
class Actions:
    """What an intervention does."""

    do: Sequence[str] = repeated("NAME=VALUE", "set a variable to a value, in its units, or to a label")
    shift: Sequence[str] = repeated("NAME=AMOUNT", "add an amount to a variable, whatever its causes make it")


@dataclass(frozen=True, kw_only=True)
class Loudness:
    """What is said beside the result."""

    verbose: bool = flag("report every round, move or five seconds on the standard error stream", either="loudness")
    quiet: bool = flag("print nothing but warnings and errors", either="loudness")


@dataclass(frozen=True, kw_only=True)
class TableOptions(Relations, Format, Columns):
    """A table to learn from, whose rows may have weights."""

    title = "input"
    data: str = read(TABLE, "the table", default="", nargs="?", either=REQUIRED)
    dataset: str | None = choice(("sachs", "sachs-experiments"), "a data set of the package", either=REQUIRED)
    missing: str = about_gaps(MISSING)
    weights: str | None = text("NAME", "column of how much each row counts (survey weights); it is no variable")
    frequency: bool = flag("--weights are counts: a row stands for so many equal rows")


def _edge(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise argparse.ArgumentTypeError(f"an edge is given as CAUSE,EFFECT; got {text!r}")
    return names


def group(text: str) -> list[str]:
    """Return names that commas separate; they may contain spaces."""
    return [name.strip() for name in text.split(",")] if text.strip() else []


def _tiers(text: str) -> list[list[str]]:
    """Return groups that semicolons separate, as `names_in` reads them."""
    groups = names_in(text.split(";"))
    if len(groups) < 2 or not all(group and all(group) for group in groups):
        raise argparse.ArgumentTypeError(f"tiers are given as 'A B; C'; got {text!r}")
    return groups


def names_in(texts: Sequence[str]) -> list[list[str]]:
    """Return the names in each of some texts: separated by commas if any of them holds one, else by spaces."""
    comma = "," if any("," in text for text in texts) else None
    return [[name.strip() for name in text.split(comma)] if text.strip() else [] for text in texts]


PATTERNS = "by names or patterns such as 'gene_*'"


@dataclass(frozen=True, kw_only=True)
class KnowledgeOptions:
    """What is known before any data."""

    title = "knowledge"
    knowledge: Sequence[str] = repeated("FILE", "file of background knowledge: .toml or .json", type=File(""))
    forbid: Sequence[list[str]] = repeated("CAUSE,EFFECT", f"an edge that must not be there, {PATTERNS}", type=_edge)
    require: Sequence[list[str]] = repeated("CAUSE,EFFECT", f"an edge that must be there, {PATTERNS}", type=_edge)
    tiers: Sequence[list[str]] = text(
        "'A B; C'",
        "groups of variables in order of time; no variable causes one of an earlier group, those in no group are free; "
        "if names contain spaces, separate them by commas in all groups",
        (),
        type=_tiers,
    )
    roots: Sequence[str] = names("A,B", "variables without causes, such as age, by names or patterns")
    leaves: Sequence[str] = names("A,B", "variables without effects, by names or patterns")


Learned: TypeAlias = HNMSearch | ICDH
METHODS: dict[str, type[Learned]] = {"search": HNMSearch, "icdh": ICDH}
DEFAULTS = {method: kind().get_params() for method, kind in METHODS.items()}
CONSTRAINTS = constraints_of(ICDH)
# Of two constraints of the same name, the one that allows more words.
CONSTRAINTS |= {name: max(CONSTRAINTS.get(name, own), own) for name, own in constraints_of(HNMSearch).items()}
PARAMETERS = [name for name in CONSTRAINTS if name != "missing"]  # that are options of their own


def _described(kind: type[Learned]) -> dict[str, str]:
    """Return the first clause that the docstring of an estimator has about each of its parameters."""
    section = (kind.__doc__ or "").partition("Parameters\n")[2].partition("Attributes\n")[0]
    entries = re.findall(r"^    (\w[\w, ]*) : .*\n((?: {8}.*\n)+)", section, flags=re.MULTILINE)
    described: dict[str, str] = {}
    for names, words in entries:
        clause = re.split(r"[.:;]\s", f"{' '.join(words.split())} ")[0].replace("`", "")
        described |= dict.fromkeys(names.split(", "), clause[0].lower() + clause[1:])
    return described


DESCRIBED = _described(ICDH) | _described(HNMSearch)


def _kind(text: str) -> tuple[str, str]:
    name, equals, kind = text.rpartition("=")
    if not (name and equals and kind):
        raise argparse.ArgumentTypeError(f"a kind is given as NAME=KIND; got {text!r}")
    return name, kind


def parameter(name: str) -> dict[str, Any]:
    """Return how argparse reads a parameter of the estimators; the docstrings and the defaults are its help."""
    defaults = {method: params[name] for method, params in DEFAULTS.items() if params.get(name) is not None}
    values = ", ".join(f"{method}: {value}" for method, value in defaults.items())
    return {"help": DESCRIBED.get(name, "") + (f" ({values})" if values else ""), **reader_of(CONSTRAINTS[name])}


@dataclass(frozen=True, kw_only=True)
class EstimatorOptions:
    """How a graph is learned; beside these fields every parameter of the estimators is an option."""

    title = "estimator"
    method: str = choice(METHODS, "search (HNMSearch: by evidence, in any units) or icdh (the article's)", "search")
    kinds: Sequence[tuple[str, str]] = several(
        "NAME=KIND", f"kinds, if not guessed: {', '.join(DECLARABLE)}; gridded numbers are rounded ones", type=_kind
    )
    seed: int = whole(0, "seed of the initial weights")


@dataclass(frozen=True, kw_only=True)
class UncertaintyOptions:
    """How certain edges are."""

    title = "uncertainty"
    bootstrap: int | None = whole(None, "learn also from N resamples of the rows", 1, either="how")
    posterior: bool = flag("probabilities of edges from the evidence; not for --method icdh", either="how")
    sampling: str = choice(
        ("subsample", "bootstrap"), "what --bootstrap draws: half of the rows, or as many with replacement", "subsample"
    )
    checkpoint: str | None = written("save resamples there, and continue with those that it has")


@dataclass(frozen=True, kw_only=True)
class Learning(KnowledgeOptions, EstimatorOptions, Experiments, TableOptions, Command):
    """A command that learns a graph from a table."""


USUAL_KNOWLEDGE = ("forbid", "roots", "tiers", "require")
USUAL_INPUT = ("data", "drop", "missing", "weights", "group_column", "sequence", "kinds", "max_seconds")
USUAL = (*USUAL_INPUT, "dataset", "columns", "method", "posterior", *USUAL_KNOWLEDGE)
