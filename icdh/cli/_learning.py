"""The estimators as options, and a fit under way."""

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeAlias

from icdh._estimators.hnm_search import HNMSearch
from icdh._estimators.icdh import ICDH
from icdh._ground.checks import constraints_of
from icdh._table.missing import MISSING
from icdh.cli._files import source
from icdh.cli._input import Input
from icdh.cli._knowledge import knowledge_of
from icdh.cli._messages import watched
from icdh.cli._options import (
    COLUMNS,
    FORMAT,
    RELATIONS,
    TABLE,
    Either,
    Option,
    cells,
    choice,
    option_named,
    parameter,
    seed,
    several,
    text,
)
from icdh.files import read_graph
from icdh.knowledge import Knowledge
from icdh.progress import Progress

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
    "edge_penalty": "nats that an edge must be worth beyond its evidence, or auto",
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
            "--dataset": {
                "choices": ("sachs", "sachs-experiments"),
                "help": "a data set of the package, in place of a file",
            },
        },
        required=True,
    ),
    **FORMAT,
    **COLUMNS,
    **cells(MISSING),
    **RELATIONS,
}
ESTIMATOR = {
    "--method": choice(
        METHODS,
        "search (HNMSearch: by evidence, independent of units) or icdh (the procedure of the article)",
        "search",
    ),
    **{"--n-jobs --jobs" if name == "n_jobs" else "--" + name.replace("_", "-"): _parameter(name) for name in WORDS},
    "--kinds": several(
        "NAME=KIND",
        "kinds of columns: continuous, gridded, ordinal, binary or categorical; guessed by default",
        type=_kind,
        default=argparse.SUPPRESS,
    ),
    "--forbidden-edges": text(
        "FILE", "graph of edges that must not appear, in a format of --truth", default=argparse.SUPPRESS
    ),
    "--seed": seed("seed of the initial weights"),
}
USUAL_INPUT = ("data", "dataset", "columns", "drop", "missing", "kinds", "method", "max_seconds", "forbid", "posterior")
USUAL_KNOWLEDGE = ("roots", "leaves", "tiers", "require")


def declared_labels(args: argparse.Namespace) -> list[str] | None:
    """Return the columns declared categorical; None if the method takes no labels."""
    if args.method != "search":
        return None
    return [name for name, kind in getattr(args, "kinds", ()) if kind == "categorical"]


def estimator_of(args: argparse.Namespace, names: list[str]) -> Learned:
    """Return the estimator that the options describe, for a table of these names."""
    given = {name: value for name, value in vars(args).items() if any(name in params for params in DEFAULTS.values())}
    for name in given:
        if name not in DEFAULTS[args.method]:
            (other,) = (method for method, params in DEFAULTS.items() if name in params)
            raise ValueError(
                f"{option_named(name)} is no option of --method {args.method}; leave it out, or say --method {other}"
            )
    if "forbidden_edges" in given:
        given["forbidden_edges"] = read_graph(source(args.forbidden_edges), names)[0] != 0
    if "kinds" in given:
        given["kinds"] = dict(given["kinds"])
    knowledge = knowledge_of(args)
    given["knowledge"] = None if knowledge == Knowledge() else knowledge
    return METHODS[args.method](**given, random_state=args.seed)


def learned(args: argparse.Namespace, rows: Input) -> Learned:
    """Fit the estimator that the options describe, show how far it is, and return it."""
    estimator = estimator_of(args, rows.table.names)
    what = "moves" if isinstance(estimator, HNMSearch) else "steps"
    with watched(args, what) as callback, answered(callback):
        estimator.set_params(callback=callback).fit(rows.table, interventions=rows.interventions, **rows.relations)
    return estimator.set_params(callback=None)


@contextmanager
def answered(callback: Progress) -> Iterator[None]:
    """Say at once that an interrupt was heard, if there are steps to keep; later ones change nothing."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    heard: list[int] = []

    def answer(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        if len(heard) > 1:
            return
        if callback.shown and callback.steps > 0:
            begin = b"\n" if sys.stderr.isatty() else b""
            os.write(2, begin + b"icdh: note: stopping; the best graph so far follows\n")  # even inside a print
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, answer)
    try:
        yield
    finally:
        if not heard:
            signal.signal(signal.SIGINT, signal.default_int_handler)
