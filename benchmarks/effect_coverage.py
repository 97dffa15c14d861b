"""How often intervals of `icdh.effect` hold the truth, beside least squares with robust errors and DoubleML.

    python -m benchmarks effect_coverage [--tables 200] [--rows 200 1000 5000] [--designs strong rare ...]
    python -m benchmarks effect_coverage --doubleml 20 --rows 1000     # needs the extra [benchmark]

Every design of `effect_designs` is drawn so many times, and asked per unit or, of a treatment, for the mean effect and
that of the treated. Where rows lack counterparts, the truth is the mean effect of those that have them. Prints the
share of intervals of 95 % that hold it, their median width, the mean error and its standard deviation, and CPU seconds
a table. Results are kept in ``results/effect_coverage.json``; an interrupted run goes on where it was. Seeds begin at
1,100,000: none was looked at before.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from effect_designs import DESIGNS, Drawn
from harness import Results
from scipy.stats import norm

from icdh._effect.average import Difference
from icdh._effect.sample import Sample
from icdh._effect.slope import Slope

RESULTS = Path(__file__).parent / "results" / "effect_coverage.json"
FIRST_SEED = 1_100_000
KEY = ("design", "n", "method")


def sample_of(drawn: Drawn, seed: int) -> Sample:
    """Return a table as the estimators read it."""
    has_labels = tuple(k in drawn.labels for k in range(drawn.covariates.shape[1]))
    units = tuple(np.asarray(of, dtype=np.int64) for of in drawn.within)
    groups = drawn.groups or units[:1]
    columns, weights = (drawn.effect, drawn.cause, np.ascontiguousarray(drawn.covariates.T)), drawn.weights
    weights = np.ones(drawn.effect.size) if weights is None else weights / weights.mean()
    return Sample(*columns, has_labels, weights, groups, units, seed)


def ours(drawn: Drawn, seed: int, of_treated: bool):
    """Return estimate, ends of the interval, the truth, whether rows were left out, and what is noticed."""
    sample = sample_of(drawn, seed)
    if not drawn.is_treatment:
        slope = Slope(sample)
        answer = slope.estimate()
        noticed = any("splines miss" in note or "together, in curves" in note for note in answer.notes)
        return answer.value, *answer.interval(0.95), drawn.truth, noticed, slope.bend()
    answer = Difference(sample, (0.0, 1.0), 1 if of_treated else -1).estimate()
    if not np.isfinite(answer.value):
        return None
    kept = (answer.influence != 0.0) & ((drawn.cause == 1.0) | (not of_treated))
    return answer.value, *answer.interval(0.95), float(np.mean(drawn.truth[kept])), answer.share < 1.0, np.nan


def least_squares(drawn: Drawn, seed: int, of_treated: bool):
    """Return estimate and interval by least squares on lines and dummies, with robust errors."""
    columns = [drawn.cause, *drawn.covariates.T[[k for k in range(drawn.covariates.shape[1]) if k not in drawn.labels]]]
    units = [drawn.covariates.T[k] for k in drawn.labels] + list(drawn.within)
    dummies = [(unit[:, np.newaxis] == np.unique(unit)[1:]) * 1.0 for unit in units]
    design = np.column_stack([*columns, np.ones(drawn.cause.size), *dummies])
    inverse = np.linalg.pinv(design.T @ design)
    slopes = inverse @ (design.T @ drawn.effect)
    scores = (design @ inverse[0]) * (drawn.effect - design @ slopes)
    groups = next(iter((*drawn.groups, *drawn.within)), np.arange(scores.size))
    reach = norm.ppf(0.975) * np.sqrt(np.square(np.bincount(groups, scores)).sum())
    return slopes[0], slopes[0] - reach, slopes[0] + reach, float(np.mean(drawn.truth)), False, np.nan


def doubleml(drawn: Drawn, learner: str, of_treated: bool):
    """Return estimate and interval of DoubleML with boosting or the lasso on the covariates and their products."""
    import doubleml as dml
    import pandas as pd
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LassoCV, LogisticRegressionCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    numbers = np.column_stack(
        [
            (column[:, np.newaxis] == np.unique(column)) * 1.0 if k in drawn.labels else column
            for k, column in enumerate(drawn.covariates.T)
        ]
    )
    table = pd.DataFrame(numbers, columns=[f"w{k}" for k in range(numbers.shape[1])])
    table = table.assign(y=drawn.effect, d=drawn.cause)
    names = {"y_col": "y", "d_cols": "d"}
    if drawn.groups:
        table["g"] = drawn.groups[0]
        names["cluster_cols"] = "g"
    if learner == "boosting":
        of_number, of_label = HistGradientBoostingRegressor(max_iter=100), HistGradientBoostingClassifier(max_iter=100)
    else:
        before = [StandardScaler(), PolynomialFeatures(2, include_bias=False), StandardScaler()]
        of_number = make_pipeline(*before, LassoCV(cv=3, alphas=30))
        of_label = make_pipeline(
            *before, LogisticRegressionCV(Cs=8, cv=3, l1_ratios=(1.0,), solver="saga", max_iter=300)
        )
    data = dml.DoubleMLData(table, **names)
    if drawn.is_treatment:
        score = "ATTE" if of_treated else "ATE"
        model = dml.DoubleMLIRM(data, of_number, of_label, score=score)
    else:
        model = dml.DoubleMLPLR(data, of_number, of_number)
    low, high = model.fit().confint().to_numpy()[0]
    rows = (drawn.cause == 1.0) | (not of_treated)
    truth = float(np.mean(drawn.truth[rows])) if drawn.is_treatment else drawn.truth
    return float(model.coef[0]), float(low), float(high), truth, False, np.nan


def cell(name: str, n: int, method: str, seeds: range) -> dict:
    """Return the figures of one design, size and method."""
    answers, start, of_treated = [], time.process_time(), method.endswith("treated")
    for seed in seeds:
        drawn = DESIGNS[name](np.random.default_rng(seed), n)
        if method.startswith("DoubleML"):
            answers.append(doubleml(drawn, method.split()[1], of_treated))
        else:
            answers.append((least_squares if method == "least squares" else ours)(drawn, seed, of_treated))
    seconds = (time.process_time() - start) / len(seeds)
    answered = np.array([answer for answer in answers if answer is not None], dtype=float)
    figures = {"tables": len(seeds), "answered": len(answered), "seconds": seconds}
    if not len(answered):
        return figures
    estimate, low, high, truth, noticed, bend = answered.T
    return figures | {
        "covers": float(np.mean((low <= truth) & (truth <= high))),
        "width": float(np.median(high - low)),
        "error": float(np.mean(estimate - truth)),
        "deviation": float(np.std(estimate - truth)),
        "noticed": float(noticed.mean()),
        "bends": None if np.isnan(bend).all() else float(np.mean(bend < 0.01)),
    }


def main() -> None:
    """Run what is missing and print all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 1000, 5000])
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=list(DESIGNS))
    parser.add_argument("--doubleml", type=int, default=0, help="tables that DoubleML is fitted to")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    args = parser.parse_args()
    results = Results(args.results, KEY)
    for n in args.rows:
        for name in args.designs:
            is_treatment = DESIGNS[name](np.random.default_rng(0), 200).is_treatment
            methods = {"ours": args.tables, "ours, treated": args.tables} if is_treatment else {"ours": args.tables}
            if not is_treatment:
                methods["least squares"] = args.tables
            if args.doubleml:
                methods |= {"DoubleML boosting": args.doubleml, "DoubleML lasso": args.doubleml}
            for method, tables in methods.items():
                key = {"design": name, "n": n, "method": method}
                if not results.has(**key):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        results.add(key | cell(name, n, method, range(args.first_seed, args.first_seed + tables)))
    print("\n".join(table(results.rows)))


def table(rows):
    """Yield the lines of a table of the results."""
    yield "| design | rows | method | answered | covers | width | error (sd) | noticed, or trimmed | bends | seconds |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        figures = " | | | | | "
        if row["answered"]:
            bends = "" if row["bends"] is None else f"{row['bends']:.2f}"
            figures = f"{row['covers']:.3f} | {row['width']:.3g} | {row['error']:+.3f} ({row['deviation']:.3f})"
            figures += f" | {row['noticed']:.2f} | {bends} | {row['seconds']:.2f}"
        name, answered = row["design"].replace("_", " "), f"{row['answered']} of {row['tables']}"
        name += " (before)" * ("before" in row)
        yield f"| {name} | {row['n']} | {row['method']} | {answered} | {figures} |"


if __name__ == "__main__":
    main()
