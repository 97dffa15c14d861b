"""Fit odd tables, and report crashes, hangs, NaN and foreign warnings.

    python benchmarks/fuzz.py --cases 100000                 # resumes where the summary ends
    python benchmarks/fuzz.py --entry search --seed 117      # one case again, with its traceback
    python benchmarks/fuzz.py --recheck                      # all findings of the summary again

Cases are numbered; a case's entry point, table and parameters follow from its number alone. Reported are: errors that
are not a ValueError or TypeError naming an argument or a column, warnings of other libraries, numbers that are not
finite, cycles, inputs that changed, answers that change from run to run, hangs and crashes.
"""

import argparse
import json
import os
import selectors
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import icdh
from icdh import graphs
from icdh.files import replace_on_success

SUMMARY = Path(__file__).parent / "results" / "fuzz.json"
ENTRIES = ("icdh", "search", "direction")
HANG = 600.0  # seconds without an answer, on a machine that has other things to do
REPEATED = 50  # every so many cases are run twice
SAVED = 500  # cases between two summaries
WORDS = ("X ", "of X", "column")  # one of them is in every message about a table
OWN_WARNINGS = (icdh.DataWarning, icdh.ConvergenceWarning)


class Finding(Exception):
    """Something that a user should never see."""


# Tables.


def draw_column(rng, rows, earlier):
    """Return one column: ordinary, or with any of the troubles that columns have."""
    kind = rng.integers(16)
    x = rng.normal(size=rows)
    source = earlier[rng.integers(len(earlier))] if earlier else x
    with np.errstate(all="ignore"):
        if kind < 4:
            return np.tanh(source / (np.abs(source).max() or 1.0)) + (0.1 + rng.random()) * x
        return {
            4: lambda: rng.standard_cauchy(rows),
            5: lambda: np.exp(3.0 * x),
            6: lambda: np.round(x, int(rng.integers(0, 3))),
            7: lambda: (rng.random(rows) < rng.choice([0.02, 0.1, 0.5])).astype(float),
            8: lambda: np.full(rows, rng.choice([0.0, 1.0, -7.5, 1e200])),
            9: lambda: source.copy(),
            10: lambda: rng.choice([-2.0, 0.5, 1e6]) * source + rng.choice([0.0, 3.0]),
            11: lambda: np.tanh(source),
            12: lambda: np.where(np.abs(source) < 1e100, source, 0.0) ** 2,
            13: lambda: rng.integers(0, int(rng.integers(1, 6)) + 1, rows).astype(float),
            14: lambda: x**9,
            15: lambda: np.where(np.arange(rows) == rng.integers(rows), 1e8, x),
        }[int(kind)]()


def draw_table(rng, smallest, columns):
    """Return finite values with troubles of units and offsets, shape (M, N)."""
    rows = int(rng.integers(smallest, rng.choice([smallest + 3, 40, 80, 250], p=[0.3, 0.4, 0.25, 0.05])))
    drawn = []
    for _ in range(columns):
        drawn.append(np.nan_to_num(draw_column(rng, rows, drawn), posinf=1e300, neginf=-1e300))
    X = np.column_stack(drawn)
    trouble = rng.integers(12)
    with np.errstate(all="ignore"):
        if trouble == 0:
            X = X * 10.0 ** rng.uniform(-150, 150, columns)
        elif trouble == 1:
            X = X * 10.0 ** rng.choice([-320, -310, -290, -100, 0, 100, 290], columns).astype(float)
        elif trouble == 2:
            X = X + 10.0 ** rng.uniform(3, 16, columns)
        elif trouble == 3:
            X = X * 10.0 ** rng.uniform(-9, 9)
        elif trouble == 4:
            X[rng.integers(rows), rng.integers(columns)] = rng.choice([1e300, -1e308, 5e-324, 1e154])
        elif trouble == 5:
            X = X * 5e-324 * 10.0 ** rng.integers(0, 20, columns)
    return np.nan_to_num(X, posinf=1e300, neginf=-1e300)


def in_some_container(rng, X):
    """Return the table as one of the things that users pass."""
    kind = int(rng.integers(12))
    if kind == 0:
        return np.asfortranarray(X)
    if kind == 1:
        X = X.copy()
        X.flags.writeable = False
        return X
    if kind == 2:
        with np.errstate(over="ignore"):
            return X.astype(np.float32)
    if kind == 3:
        return X.astype(object)
    if kind == 4:
        return X.tolist()
    if kind == 5:
        return X[::-1, ::-1]
    if kind in (6, 7):
        import pandas

        labels = [f"column {i}" for i in range(X.shape[1])] if kind == 6 else list(range(2019, 2019 + X.shape[1]))
        frame = pandas.DataFrame(X, columns=labels)
        with np.errstate(invalid="ignore"):  # old versions try integers that are too large
            return frame.convert_dtypes() if rng.integers(2) else frame
    return X


# Parameters, small enough that a fit takes milliseconds.


def draw_parameters(rng, entry, columns):
    """Return the arguments of an entry point."""

    def pick(*values):
        return values[rng.integers(len(values))]

    if entry == "direction":
        return {"n_bags": 2, "abstain_below": pick(0.0, 2.0), "random_state": int(rng.integers(5))}
    mask = (rng.random((columns, columns)) < 0.3) & ~np.eye(columns, dtype=bool) & (rng.integers(4) == 0)
    common = {"knowledge": {"forbidden": np.argwhere(mask).tolist()}, "random_state": int(rng.integers(5))}
    common["hidden_units"] = pick(1, 2, 3)
    if entry == "search":
        return common | {
            "n_restarts": pick(1, 1, 2),
            "noise_distribution": pick("auto", "gaussian", "free"),
            "max_parents": pick(1, 3, 8),
            "edge_penalty": pick(0.0, 2.0, 2.0, 1e3),
            "prior_precision": pick(3.0, 3.0, 1e-6, 1e6),
        }
    return common | {
        "noise": pick("heteroscedastic", "heteroscedastic", "unequal", "equal"),
        "scaling": pick("none", "center", "standardize", "standardize"),
        "bias": pick(False, True),
        "max_rounds": pick(1, 2, 3),
        "l1": pick(0.0, 0.01, 0.3),
        "l2": pick(0.0, 0.01, 0.3),
        "threshold": pick(0.0, 0.3),
    }


# One case.


def case(entry, seed):
    """Return what to run of a case."""
    rng = np.random.default_rng([ENTRIES.index(entry), seed])
    columns = 2 if entry == "direction" else int(rng.integers(1, 6))
    X = draw_table(rng, 20 if entry == "direction" else 2, columns)
    if entry != "direction":
        X = in_some_container(rng, X)
    return asked(entry, X, draw_parameters(rng, entry, columns))


def asked(entry, X, parameters):
    """Return the function to call, its arguments, and words: an error message must hold one of them."""
    if entry == "direction":
        return direction_answer, (X[:, 0], X[:, 1], parameters), ("'x'", "'y'", *parameters)
    kind = {"icdh": icdh.ICDH, "search": icdh.HNMSearch}[entry]
    return fit_answer, (kind, X, parameters), (*WORDS, *(f"{name} must" for name in parameters))


def direction_answer(x, y, parameters):
    """Return every number that `causal_direction` gives."""
    result = icdh.causal_direction(x, y, **parameters)
    if result.confidence < parameters["abstain_below"] and result.direction != "undecided":
        raise Finding(f"decided at confidence {result.confidence}")
    fits = (result.forward, result.backward)
    return {
        "score": result.score,
        "confidence": result.confidence,
        **{f"{name}[{k}]": value for k, fit in enumerate(fits) for name, value in vars(fit).items()},
    }


def fit_answer(kind, X, parameters):
    """Return every number that a fitted estimator gives."""
    model = kind(**parameters).fit(X)
    if not graphs.is_dag(model.adjacency_matrix_):
        raise Finding("the graph has a cycle")
    if any(model.adjacency_matrix_[i, j] for i, j in parameters["knowledge"]["forbidden"]):
        raise Finding("a forbidden edge is in the graph")
    numbers = {name: getattr(model, name) for name in ("adjacency_matrix_", "nll_", "offset_", "scale_")}
    for name in ("predict", "predict_scale", "residuals", "score"):
        numbers[name] = getattr(model, name)(X)
    return numbers | {"sample": model.sample(3, random_state=0)}


def check(entry, seed):
    """Run one case; return "fitted" or "refused", or raise what a user should never see."""
    function, arguments, words = case(entry, seed)
    outcome, numbers = run(function, arguments, words)
    if seed % REPEATED == 0:
        again = run(*case(entry, seed))[1]
        for name, value in numbers.items():
            if not np.array_equal(value, again[name]):
                raise Finding(f"{name} changes from run to run")
    untouched = case(entry, seed)[1]
    for before, after in zip(untouched, arguments, strict=True):
        if not isinstance(before, (dict, type)) and not np.array_equal(np.asarray(before), np.asarray(after)):
            raise Finding("the input was modified")
    return outcome


def run(function, arguments, words):
    """Return what came out, "fitted" or "refused", and the numbers."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome, numbers = "fitted", function(*arguments)
        except (ValueError, TypeError) as error:
            if type(error) not in (ValueError, TypeError) or not any(word in str(error) for word in words):
                raise
            outcome, numbers = "refused", {}
    for warning in caught:
        if not issubclass(warning.category, OWN_WARNINGS):
            where = f"{Path(warning.filename).name}:{warning.lineno}"
            raise Finding(f"{warning.category.__name__} at {where}: {warning.message}")
    for name, value in numbers.items():
        numbers[name] = value = np.asarray(value)
        if not np.isfinite(value).all():
            raise Finding(f"{name} holds {value[~np.isfinite(value)][0]}")
    return outcome, numbers


def describe(error):
    """Return one line on where an error arose and what it says."""
    if isinstance(error, Finding):
        return str(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {' '.join(str(error).split())[:200]}"


# Many cases: a worker process does them, and this one watches it.


def work(entries, first, last):
    """Print the outcome of every case, one JSON object a line."""
    for seed in range(first, last):
        for entry in entries:
            begin = time.process_time()
            try:
                outcome, finding = check(entry, seed), None
            except Exception as error:
                outcome, finding = "found", describe(error)
            row = {"seed": seed, "entry": entry, "outcome": outcome, "finding": finding}
            print(json.dumps(row | {"seconds": time.process_time() - begin}), flush=True)


class Summary:
    """Counts and findings so far, in a file."""

    def __init__(self, path):
        self.path = path
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self.next_seed = known.get("next_seed", 0)
        self.counts = {entry: Counter(known.get("counts", {}).get(entry, {})) for entry in ENTRIES}
        self.slowest = known.get("slowest_cpu_seconds", dict.fromkeys(ENTRIES, 0.0))
        self.cpu_seconds = known.get("cpu_seconds", 0.0)
        self.findings = known.get("findings", [])

    def add(self, row):
        """Count a case."""
        self.counts[row["entry"]][row["outcome"]] += 1
        self.cpu_seconds += row["seconds"]
        self.slowest[row["entry"]] = max(self.slowest[row["entry"]], round(row["seconds"], 2))
        if row["finding"]:
            again = f"python benchmarks/fuzz.py --entry {row['entry']} --seed {row['seed']}"
            self.findings.append({"again": again, "finding": row["finding"]})
            print(f"{again}   # {row['finding']}", flush=True)

    @property
    def cases(self):
        """How many cases there were."""
        return sum(sum(counts.values()) for counts in self.counts.values())

    def recheck(self):
        """Run the findings again; say in the summary which of them are mended."""
        for finding in self.findings:
            entry, seed = finding["again"].split()[3::2]
            try:
                check(entry, int(seed))
            except Exception as error:
                finding.update(finding=describe(error), mended=False)
            else:
                finding["mended"] = True
        self.save()

    def save(self):
        """Write the file, whole or not at all."""
        content = {
            "version": icdh.__version__,
            "cases": self.cases,
            "next_seed": self.next_seed,
            "counts": self.counts,
            "slowest_cpu_seconds": self.slowest,
            "cpu_seconds": round(self.cpu_seconds, 1),
            "findings": self.findings,
        }
        with replace_on_success(self.path) as temporary:
            temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def watch(summary, entries, cases):
    """Run cases in worker processes until there are as many as asked for."""
    last = summary.next_seed + max(0, -(-(cases - summary.cases) // len(entries)))
    while summary.next_seed < last:
        arguments = ["--work", str(summary.next_seed), str(last), "--entries", *entries]
        command = [sys.executable, __file__, *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            follow(worker, summary, entries)
        summary.save()


def follow(worker, summary, entries):
    """Take the worker's rows until it ends, or is silent for too long and is ended."""
    selector = selectors.DefaultSelector()
    selector.register(worker.stdout, selectors.EVENT_READ)
    at = 0  # how many entries of the present seed are done
    while True:
        line = worker.stdout.readline() if selector.select(HANG) else None
        if not line:
            reason = "hang" if line is None else "crash"
            worker.kill()
            if line is None or worker.wait() not in (0, -9) or at:
                row = {"seed": summary.next_seed, "entry": entries[at], "outcome": reason, "finding": reason}
                summary.add(row | {"seconds": 0.0})
                summary.next_seed += 1
            return
        summary.add(json.loads(line))
        at = (at + 1) % len(entries)
        if at == 0:
            summary.next_seed += 1
            if summary.next_seed % SAVED == 0:
                summary.save()


def main():
    """Run what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=100_000, metavar="N", help="fits in all, earlier runs included")
    parser.add_argument("--summary", type=Path, default=SUMMARY, metavar="FILE", help="counts and findings")
    parser.add_argument("--entries", nargs="+", choices=ENTRIES, default=ENTRIES)
    parser.add_argument("--entry", choices=ENTRIES, help="with --seed: run this case alone")
    parser.add_argument("--seed", type=int, metavar="N")
    parser.add_argument("--recheck", action="store_true", help="run the findings of the summary again")
    parser.add_argument("--work", nargs=2, type=int, metavar=("FIRST", "LAST"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.seed is not None:
        print(check(arguments.entry, arguments.seed))
    elif arguments.recheck:
        Summary(arguments.summary).recheck()
    elif arguments.work:
        work(arguments.entries, *arguments.work)
    else:
        watch(Summary(arguments.summary), arguments.entries, arguments.cases)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main()
