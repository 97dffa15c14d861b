"""Accuracy of causal_direction on pairs whose direction is known, beside HECI and published figures.

    python benchmarks/cause_effect_pairs.py results.json [--tuebingen FOLDER] [--bivariate FOLDER] [--unidentifiable]
        [--multiplicative] [--seeds 10] [--heci] [--plot accuracy.svg]

``--tuebingen`` names the folder of the files pair0001.txt ...; both subsets of 99 pairs are run. ``--bivariate`` names
the folder ``data`` of a clone of https://github.com/aleximmer/loci, which has the sets AN to MN-U of Tagasovska et al.
(2020) and SIM to SIM-c of Mooij et al. (2016), a hundred pairs each.
``--unidentifiable`` draws 200 pairs without an identifiable direction (half independent, half linear Gaussian) and
prints how often the confidence exceeds a level. ``--multiplicative`` draws 100 pairs y = f(x) e, e Gaussian or uniform.
Accuracies are also given for the pairs of which neither, one or both variables are tied (more than a twentieth of the
values repeat), and by confidence. Sides are swapped at random. Every run is kept in the JSON file and
not repeated. ``--heci`` needs the package bicausal. Weighted accuracy and area under the accuracy over the decision
rate (AUDRC, pairs in the order of falling confidence) are means over seeds, with their standard deviation.
"""

import argparse
import json
import time
import warnings
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tuebingen import tuebingen_pairs

from icdh import causal_direction
from icdh._table.table import Table

SUBSETS = ("loci-99", "cdt-99")
NINE_SETS = ("AN", "AN-s", "LS", "LS-s", "MN-U", "SIM", "SIM-G", "SIM-ln", "SIM-c")
CONFIDENCES = (1, 2, 3, 4, 5, 6)
BINS = (1.0, 2.0, 4.0, 8.0)
PUBLISHED = {
    "loci-99": "GRCI .816/.727, ROCHE .773/.749, QCCD .771/.844, CAREFL .73, HEC .705/.784, LOCI-H .628/.538, "
    "LOCI-M .564/.660, ICDH .58",
    "SIM": "best .78",
    "SIM-G": "best .81",
    "SIM-ln": "best .87",
}


class Pairs(NamedTuple):
    """Pairs of variables, their weights, and whether the first causes the second (None: neither can be told)."""

    pairs: list
    weights: np.ndarray
    first_causes_second: np.ndarray | None


def read_tuebingen(folder, subset, seed):
    found = tuebingen_pairs(subset=subset, random_state=seed, folder=folder)
    truth = np.array([pair.first_causes_second for pair in found])
    return Pairs([(pair.first, pair.second) for pair in found], np.array([pair.weight for pair in found]), truth)


def read_bivariate(folder, name, seed):
    """Return the pairs of one set, sides swapped at random."""
    if name.startswith("SIM"):
        files = sorted((folder / "Benchmark_simulated" / name).glob("pair0*.txt"))
        stored = [np.loadtxt(path) for path in files]
        first_causes_second = np.loadtxt(files[0].with_name("pairmeta.txt"))[:, 1] == 1
    else:
        own = folder / "ANLSMN_pairs" / name
        files = [own / f"pair_{k}.txt" for k in range(1, 101)]
        stored = [np.genfromtxt(path, delimiter=",", skip_header=1, usecols=(1, 2)) for path in files]
        first_causes_second = np.loadtxt(own / "pairs_gt.txt") == 1
    swapped = np.random.default_rng(seed).random(len(stored)) < 0.5
    pairs = [tuple(pair.T[::-1] if swap else pair.T) for pair, swap in zip(stored, swapped, strict=True)]
    return Pairs(pairs, np.ones(len(pairs)), first_causes_second != swapped)


def unidentifiable(seed, count=200, rows=1000):
    """Return independent pairs of random marginals and linear Gaussian pairs of random correlation."""
    rng = np.random.default_rng(seed)
    marginals = (rng.standard_normal, rng.standard_exponential, rng.random, lambda n: rng.standard_t(4, n))
    pairs = []
    for k in range(count):
        if k % 2:
            pairs.append(tuple(marginals[i](rows) for i in rng.integers(len(marginals), size=2)))
        else:
            correlation = rng.uniform(-0.95, 0.95)
            pairs.append(tuple(rng.multivariate_normal(np.zeros(2), [[1, correlation], [correlation, 1]], rows).T))
    return Pairs(pairs, np.ones(count), None)


def multiplicative(seed, count=100, rows=1000):
    """Return pairs of an effect that is a positive function of its cause times noise, sides swapped at random."""
    rng = np.random.default_rng([seed, 1])
    pairs, truth = [], rng.random(count) < 0.5
    for forward in truth:
        x = rng.normal(size=rows) if rng.random() < 0.5 else rng.uniform(-2, 2, size=rows)
        hidden = np.tanh(np.outer(x, rng.normal(scale=1.5, size=6)) + rng.normal(size=6))
        noise = rng.normal(size=rows) if rng.random() < 0.5 else rng.random(rows)
        y = np.exp(0.5 * hidden @ rng.normal(size=6)) * noise
        pairs.append((x, y) if forward else (y, x))
    return Pairs(pairs, np.ones(count), truth)


def heci():
    """Return the scoring function of the package bicausal; positive if x causes y."""
    from bicausal.methods.source_implementations.HECI_supplementary_upload import HECI

    fit = HECI.polyfit

    def scalar_cost(*arguments):  # NumPy >= 2.4 refuses the one-element arrays that it returns
        cost, *rest = fit(*arguments)
        return np.asarray(cost).item(), *rest

    HECI.polyfit = scalar_cost

    def score(x, y, seed):
        try:
            _, forward, backward = HECI.HECI(x, y)
        except IndexError:  # it finds no bin of ten distinct values
            return 0.0, 0.0
        return backward - forward, abs(backward - forward)

    return score


def ours(x, y, seed):
    result = causal_direction(x, y, random_state=seed)
    return result.score, result.confidence


def run(pairs, method, seed):
    """Return score, confidence and seconds of one core for every pair."""
    rows = []
    for x, y in pairs:
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            score, confidence = method(x, y, seed)
        rows.append((float(score), float(confidence), time.process_time() - start))
    return dict(zip(("score", "confidence", "seconds"), map(list, zip(*rows, strict=True)), strict=True))


def summary(data, found):
    """Return accuracy and AUDRC, weighted and not, and the curve of accuracy over decision rate."""
    score = np.array(found["score"])
    right = np.where(score == 0, 0.5, (score > 0) == data.first_causes_second)
    order = np.argsort(-np.array(found["confidence"]), kind="stable")
    right, weights = right[order], data.weights[order]
    weighted = np.cumsum(right * weights) / np.cumsum(weights)
    unweighted = np.cumsum(right) / np.arange(1, right.size + 1)
    return {
        "weighted accuracy": weighted[-1],
        "weighted AUDRC": np.average(weighted, weights=weights),
        "accuracy": unweighted[-1],
        "AUDRC": unweighted.mean(),
        "rate": np.cumsum(weights) / weights.sum(),
        "curve": weighted,
    }


def shares_right(data, found, groups):
    """Return in words how many pairs of each group are right, given masks of groups by their names."""
    score = np.array(found["score"])
    right = np.where(score == 0, 0.5, (score > 0) == data.first_causes_second)
    parts = [f"{name} {np.mean(right[own]):.2f} (n={own.sum()})" for name, own in groups.items() if own.any()]
    return "  ".join(parts)


def by_ties(data):
    """Return the pairs with no, one or two tied variables."""
    tied = np.array([[kind != "continuous" for kind in Table.of(np.column_stack(pair)).kinds] for pair in data.pairs])
    return {name: tied.sum(axis=1) == count for count, name in enumerate(("no ties", "one tied", "both tied"))}


def by_confidence(found):
    """Return the pairs in bins of confidence."""
    confidence = np.array(found["confidence"])
    edges = [0.0, *BINS, np.inf]
    return {f"{low:g} to {high:g}": (confidence > low) & (confidence <= high) for low, high in pairwise(edges)}


def line(name, method, summaries, results):
    figures = []
    for key in ("weighted accuracy", "weighted AUDRC", "accuracy", "AUDRC"):
        values = np.array([found[key] for found in summaries])
        figures.append(f"{key} {values.mean():.3f} +- {values.std():.3f}")
    seconds = np.concatenate([found["seconds"] for found in results])
    time_needed = f"s a pair {np.median(seconds):.2f} (max {seconds.max():.2f})"
    published = f"published: {PUBLISHED.get(name, '-')}"
    return "  ".join([f"{name:<8} {method:<16}", *figures, time_needed, published])


def confidences_line(results):
    found = np.concatenate([result["confidence"] for result in results])
    levels = "  ".join(f"above {level}: {np.mean(found > level):.3f}" for level in CONFIDENCES)
    return f"unidentifiable pairs ({found.size}), share of confidences  {levels}"


def plot(curves, path):
    """Draw weighted accuracy over decision rate, of the first seed."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for name, _ in curves))
    figure = Figure(figsize=(3.2 * min(len(names), 3), 2.8 * -(-len(names) // 3)), layout="constrained")
    axes = figure.subplots(-(-len(names) // 3), min(len(names), 3), squeeze=False, sharex=True, sharey=True).ravel()
    for ax in axes[len(names) :]:
        ax.set_axis_off()
    for (name, method), found in curves.items():
        ax = axes[names.index(name)]
        ax.plot(found["rate"], found["curve"], label=method)
        ax.set(title=name, xlabel="decision rate", ylabel="weighted accuracy", ylim=(0.0, 1.05))
        ax.legend(frameon=False, fontsize="small")
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--tuebingen", type=Path, metavar="FOLDER")
    parser.add_argument("--bivariate", type=Path, metavar="FOLDER")
    parser.add_argument("--multiplicative", action="store_true")
    parser.add_argument("--unidentifiable", action="store_true")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--heci", action="store_true")
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    readers = {}
    if args.tuebingen:
        readers |= {
            subset: lambda seed, subset=subset: read_tuebingen(args.tuebingen, subset, seed) for subset in SUBSETS
        }
    if args.bivariate:
        readers |= {name: lambda seed, name=name: read_bivariate(args.bivariate, name, seed) for name in NINE_SETS}
    if args.multiplicative:
        readers["multiplicative"] = multiplicative
    if args.unidentifiable:
        readers["unidentifiable"] = unidentifiable
    methods = {"causal_direction": ours} | ({"HECI": heci()} if args.heci else {})
    kept = json.loads(args.results.read_text()) if args.results.exists() else {}
    ours(*np.random.default_rng(0).normal(size=(2, 50)), 0)  # compile before the clock runs
    curves = {}
    for name, read in readers.items():
        for method_name, method in methods.items():
            results, summaries = [], []
            for seed in range(args.seeds if method is ours else 1):
                data, key = read(seed), f"{name}/{method_name}/{seed}"
                if key not in kept:
                    kept[key] = run(data.pairs, method, seed)
                    partial = args.results.with_suffix(".part")
                    partial.write_text(json.dumps(kept))
                    partial.replace(args.results)
                results.append(kept[key])
                if data.first_causes_second is not None:
                    summaries.append(summary(data, kept[key]))
            if summaries:
                curves[name, method_name] = summaries[0]
                print(line(name, method_name, summaries, results), flush=True)
                first = read(0)
                print("  by ties (seed 0):", shares_right(first, results[0], by_ties(first)))
                print(
                    "  by confidence (seed 0):", shares_right(first, results[0], by_confidence(results[0])), flush=True
                )
            elif method is ours:
                print(confidences_line(results), flush=True)
    if args.plot:
        plot(curves, args.plot)


if __name__ == "__main__":
    main()
