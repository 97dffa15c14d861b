"""Effects whose answer is known, on real and simulated tables, beside least squares, weighting and DoWhy.

    python -m benchmarks known_effects real [--folder DIR]
    python -m benchmarks known_effects coverage [--tables 200] [--rows 100 500 5000] [--kinds trial ...]

"real": the trial of the National Supported Work demonstration; its treated beside the rows of the Current Population
Survey (the effect on the treated); the follow-up of the National Health and Nutrition Examination Survey (quitting to
smoke, weight); the survivors of the Titanic. Tables are those of the package ``causaldata``, or of CSV files of their
names in ``--folder``. Rivals are least squares with robust errors, inverse probability weighting, and DoWhy where it is
installed. Prints answer, interval and CPU seconds.

"coverage": tables of every kind are drawn, and how often the 95 % interval holds the truth is counted. Prints that
share, the mean error and its standard deviation, the median width, the same width over that of inverse probability
weighting, and CPU seconds a table. Results are kept in ``results/known_effects.json``; an interrupted run goes on where
it was. Seeds begin at 90,000: none was looked at before.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from harness import Results
from scipy.stats import norm

import icdh

RESULTS = Path(__file__).parent / "results" / "known_effects.json"
FIRST_SEED, DRAWN = 90_000, 400_000
NSW = ["age", "educ", "black", "hisp", "marr", "nodegree", "re74", "re75"]
NHEFS = ["sex", "age", "race", "education", "smokeintensity", "smokeyrs", "exercise", "active", "wt71"]
LABELS = np.array(["a", "b", "c"])


def expit(x: np.ndarray) -> np.ndarray:
    """Return the logistic function."""
    return 1.0 / (1.0 + np.exp(-x))


# Every kind draws covariates, the cause and its noise, and an effect as a function of the cause alone, so that the
# truth is the mean difference of that function over many rows.


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
    results = Results(RESULTS, ("kind", "n", "tables"))
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
    import causaldata

    return getattr(causaldata, name).load_pandas().data


def real(args: argparse.Namespace) -> None:
    """Ask every real table, ours and rivals, and print."""
    nsw = read("nsw_mixtape", args.folder)
    both = pd.concat([nsw[nsw.treat == 1], read("cps_mixtape", args.folder)], ignore_index=True)
    titanic = read("titanic", args.folder)
    questions = {
        "NSW trial: 1,794 [480, 3,109]": (nsw, "treat", "re78", [], {}),
        "NSW trial, adjusted": (nsw, "treat", "re78", NSW, {}),
        "NSW treated and CPS, on the treated: IPW 1,503": (both, "treat", "re78", NSW, {"target": "treated"}),
        "NHEFS: IPW 3.44 [2.41, 4.47]": (read("nhefs_complete", args.folder), "qsmk", "wt82_71", NHEFS, {}),
        "Titanic, by counting: 0.520": (titanic, "sex", "survived", [], {}),
        "Titanic, class and age": (titanic, "sex", "survived", ["class", "age"], {}),
    }
    print("| question and reference | method | answer | interval | seconds |")
    print("|---|---|---|---|---|")
    for question, (table, cause, effect, adjust, options) in questions.items():
        for method, answer, seconds in answers(table[[*adjust, cause, effect]].copy(), cause, effect, adjust, options):
            print(
                f"| {question} | {method} | {answer[0]:,.4g} | {answer[1]:,.4g} to {answer[2]:,.4g} | {seconds:.1f} |"
            )


def answers(table, cause, effect, adjust, options):
    """Yield the method, its answer and interval, and CPU seconds."""
    start = time.process_time()
    own = icdh.effect(table, cause, effect, adjust, **options)
    yield "icdh.effect", (own.difference, own.lower, own.upper), time.process_time() - start
    comparison = own.comparisons[0]
    a = (table[cause] == comparison.value).to_numpy() * 1.0
    y = table[effect] == comparison.outcome if comparison.outcome else table[effect]
    w = (
        pd.get_dummies(table[adjust], drop_first=True, dtype=float).to_numpy().T
        if adjust
        else np.empty((0, len(table)))
    )
    for method, rival in (("least squares", least_squares), ("weighting", weighting)):
        start, target = time.process_time(), options if rival is weighting else {}
        yield method, rival(w, a, y.to_numpy(dtype=float), **target), time.process_time() - start
    try:
        from dowhy import CausalModel
    except ImportError:
        return
    names = [f"w{k}" for k in range(len(w))]
    numbers = pd.DataFrame({**dict(zip(names, w, strict=True)), "a": a.astype(bool), "y": y.to_numpy(dtype=float)})
    start = time.process_time()
    model = CausalModel(numbers, "a", "y", common_causes=names)
    units = "att" if options else "ate"
    how = "backdoor.propensity_score_weighting" if names else "backdoor.linear_regression"
    found = model.estimate_effect(
        model.identify_effect(proceed_when_unidentifiable=True),
        method_name=how,
        target_units=units,
        confidence_intervals=True,
    )
    low, high = np.ravel(found.get_confidence_intervals())[:2]
    yield f"DoWhy, {how.partition('.')[2]}", (found.value, low, high), time.process_time() - start


def main() -> None:
    """Ask what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("real")
    one.add_argument("--folder", type=Path)
    one.set_defaults(run=real)
    one = commands.add_parser("coverage")
    one.add_argument("--tables", type=int, default=200)
    one.add_argument("--rows", type=int, nargs="+", default=[100, 500, 5000])
    one.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    one.set_defaults(run=coverage)
    args = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        args.run(args)


if __name__ == "__main__":
    main()
