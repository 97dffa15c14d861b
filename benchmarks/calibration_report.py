"""Scores of the probabilities that `calibration.py` kept: Brier score, log score, expected calibration error.

    python benchmarks/calibration_report.py benchmarks/results/calibration.json [--lines FILE.jsonl ...] [--reliability]

With ``--lines`` the results are first made from the files of `calibration.py`: a row for each table and method, which
holds the scores and, for bins of probability, how many possible edges are in it, the sum of their probabilities,
and how many of them are true. Of a posterior there is a further row about directions given that there is an edge. A row
of the table is a method on all of its tables; its last column is the Brier score of `icdh.posterior` at temperature 1
on the same tables. ``--reliability`` prints count, mean probability and share of true edges by bin, of all tables, by
kind and by number of rows, with Brier score and log score.
"""

import argparse
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
from calibration import AVERAGED, MISSPECIFIED, OWN, read_lines
from harness import machine

from icdh.files import replace_on_success

TENTHS = np.linspace(0.0, 1.0, 11)
FINE = np.array([*TENTHS[:-1], 0.97, 0.99, 1.0])  # that results hold
COARSE = np.array([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99, 1.0])
POSTERIOR = "posterior"
LEARNERS = {
    "search": "HNMSearch",
    "icdh": "ICDH",
    "lingam": "DirectLiNGAM",
    "boss": "BOSS",
    "notears": "NOTEARS-MLP",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--lines", type=Path, nargs="+")
    parser.add_argument("--reliability", action="store_true")
    arguments = parser.parse_args()
    if arguments.lines:
        lines = [line for path in arguments.lines for line in read_lines(path)]
        write(arguments.results, [row for line in lines for row in rows_of(line)])
    rows = read(arguments.results)
    if arguments.reliability:
        print("\n".join(reliability(rows)))
    else:
        print_scores(rows)


def rows_of(line):
    """Return the rows of a line: one, or two a temperature."""
    shape = (line["variables"],) * 2
    truth = np.reshape(line["truth"], shape) != 0
    possible = ~np.eye(len(truth), dtype=bool)
    for temperature, thousandths in line["thousandths"].items():
        p, method = np.reshape(thousandths, shape) / 1000.0, label(line, temperature)
        yield row(line, method, p[possible], truth[possible])
        if line["sampling"] is None:
            joined = np.triu((truth | truth.T) & (p + p.T > 0.0))
            yield row(line, f"{method}, directions", p[joined] / (p + p.T)[joined], truth[joined])


def row(line, method, p, t):
    """Return the row of a method, given probabilities and what is true."""
    place = np.clip(np.searchsorted(FINE, p, side="right") - 1, 0, FINE.size - 2)
    count, total, true = (np.bincount(place, weights, FINE.size - 1) for weights in (None, p, t.astype(float)))
    filled, likely = count > 0, np.clip(p, 0.001, 0.999)  # so that no single error costs infinitely many nats
    return {
        **{name: line[name] for name in ("kind", "variables", "rows", "seed", "table")},
        "method": method,
        **{name: line[name] for name in ("resamples", "seconds")},
        "brier": round(float(np.square(p - t).sum()) / max(p.size, 1), 5),
        "log": round(float(-np.log(np.where(t, likely, 1.0 - likely)).sum()) / max(p.size, 1), 5),
        "count": count[filled].astype(int).tolist(),
        "probability": total[filled].round(3).tolist(),
        "true": true[filled].astype(int).tolist(),
    }


def label(line, temperature):
    if line["sampling"] is None:
        named = f"{POSTERIOR}, {temperature}" if temperature.startswith(AVERAGED) else f"{POSTERIOR} T={temperature}"
        return POSTERIOR if temperature == "1" else named
    return f"{LEARNERS[line['method']]}, {line['sampling']}"


def write(path, rows):
    """Write the rows, one a line, after a look that all methods saw the same tables."""
    tables = {(table_of(row), row["table"]) for row in rows}
    if len(tables) > len({table for table, _ in tables}):
        raise ValueError("the files are about different tables of the same seed")
    rows.sort(key=lambda row: (*table_of(row), row["method"]))
    with replace_on_success(path) as temporary:
        lines = ",\n".join(json.dumps(row) for row in rows)
        temporary.write_text(f'{{"machine": {json.dumps(machine())}, "rows": [\n{lines}\n]}}\n', encoding="utf-8")


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))["rows"]


def table_of(row):
    return row["variables"], row["kind"], row["seed"]


def group_of(row):
    return "own" if row["kind"] in OWN else "misspecified" if row["kind"] in MISSPECIFIED else "other"


def curve(rows, bins=TENTHS):
    """Return mean probability, share of true edges and count of the bins that hold any, over all rows."""
    sums = np.zeros((3, bins.size - 1))
    for row in rows:
        own = np.array([row["count"], row["probability"], row["true"]])
        place = np.clip(np.searchsorted(bins, own[1] / own[0] + 1e-7, side="right") - 1, 0, bins.size - 2)
        np.add.at(sums, (slice(None), place), own)
    count, probability, true = sums[:, sums[0] > 0]
    return probability / count, true / count, count


def scores(rows):
    """Return Brier score, log score and expected calibration error, each possible edge counting once."""
    weights = [sum(row["count"]) for row in rows]
    brier, log = (np.average([row[score] for row in rows], weights=weights) for score in ("brier", "log"))
    probability, frequency, count = curve(rows)
    return brier, log, count @ np.abs(frequency - probability) / count.sum()


def print_scores(rows):
    ours = {table_of(row): row for row in rows if row["method"] == POSTERIOR}
    print("  N  tables        method                   number  Brier   log     ECE    CPU s  posterior's Brier there")
    for variables, group in sorted({(row["variables"], group_of(row)) for row in rows}):
        own = [row for row in rows if (row["variables"], group_of(row)) == (variables, group)]
        for method in sorted({row["method"] for row in own}, key=rank):
            some = [row for row in own if row["method"] == method]
            same = [ours[table_of(row)] for row in some if table_of(row) in ours]
            values = "  ".join(f"{score:.4f}" for score in scores(some))
            seconds, beside = np.median([row["seconds"] for row in some]), f"{scores(same)[0]:.4f}" if same else ""
            print(f"{variables:3d}  {group:12s}  {method:24s} {len(some):6d}  {values}  {seconds:6.1f}  {beside}")


def rank(method):
    """Return where a method stands in a table: the posterior first, peers last."""
    learner = method.partition(",")[0]
    return [POSTERIOR, *LEARNERS.values(), learner].index(learner), method


def reliability(rows):
    """Yield tables of mean probability / share that is true (count) by bin of probability."""
    heads = [f"{low:g} to {high:g}" for low, high in pairwise(COARSE)]
    for method in sorted({row["method"] for row in rows}, key=rank):
        own = [row for row in rows if row["method"] == method]
        groups = {"all": own} | {
            value: [row for row in own if row[name] == value]
            for name in ("kind", "rows")
            for value in sorted({row[name] for row in own})
        }
        yield f"| {method} | tables | Brier | log | {' | '.join(heads)} |"
        yield "|---" * (len(heads) + 4) + "|"
        for group, some in groups.items():
            brier, log, _ = scores(some)
            texts = dict.fromkeys(range(len(heads)), "")
            for mean, share, count in zip(*curve(some, COARSE), strict=True):
                place = min(int(np.searchsorted(COARSE, mean + 1e-7, side="right")), len(heads)) - 1
                texts[place] = f"{mean:.3f} / {share:.3f} ({count:.0f})"
            yield f"| {group} | {len(some)} | {brier:.4f} | {log:.4f} | {' | '.join(texts.values())} |"
        yield ""


if __name__ == "__main__":
    main()
