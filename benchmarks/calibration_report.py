"""Scores of the probabilities that `calibration.py` kept: Brier score, log score, expected calibration error.

    python benchmarks/calibration_report.py benchmarks/results/calibration.json [--lines FILE.jsonl ...] [--temperature]

With ``--lines`` the results are first made from the files of `calibration.py`: a row for each table and method, which
holds the scores and, for ten bins of probability, how many possible edges are in it, the sum of their probabilities,
and how many of them are true. A row of the table is a method on all of its tables; its last column is the Brier score
of `icdh.posterior` on the same tables. ``--temperature`` prints the log score of every temperature: it is chosen on
tables of its own. ``--sure`` prints by kind and by number of rows how many of the edges of probability 0.9 and more are
there.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from calibration import MISSPECIFIED, OWN, read_lines
from harness import machine

from icdh.files import replace_on_success

BINS = 10
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
    parser.add_argument("--temperature", action="store_true")
    parser.add_argument("--sure", action="store_true")
    arguments = parser.parse_args()
    if arguments.lines:
        lines = [line for path in arguments.lines for line in read_lines(path)]
        write(arguments.results, [row for line in lines for row in rows_of(line)])
    rows = read(arguments.results)
    print_scores(rows)
    if arguments.temperature:
        print_temperatures(rows)
    if arguments.sure:
        print_sure(rows)


def rows_of(line):
    """Return the rows of a line: one, or one a temperature."""
    shape = (line["variables"],) * 2
    truth = np.reshape(line["truth"], shape)
    for temperature, thousandths in line["thousandths"].items():
        p = np.reshape(thousandths, shape) / 1000.0
        possible = ~np.eye(len(p), dtype=bool)
        p, t = p[possible], truth[possible] != 0
        place = np.minimum((p * BINS).astype(int), BINS - 1)
        count, total, true = (np.bincount(place, weights, BINS) for weights in (None, p, t.astype(float)))
        filled, likely = count > 0, np.clip(p, 0.001, 0.999)  # so that no single error costs infinitely many nats
        yield {
            **{name: line[name] for name in ("kind", "variables", "rows", "seed", "table")},
            "method": label(line, temperature),
            **{name: line[name] for name in ("resamples", "seconds")},
            "brier": round(float(np.square(p - t).mean()), 5),
            "log": round(float(-np.log(np.where(t, likely, 1.0 - likely)).mean()), 5),
            "count": count[filled].astype(int).tolist(),
            "probability": total[filled].round(3).tolist(),
            "true": true[filled].astype(int).tolist(),
        }


def label(line, temperature):
    if line["sampling"] is None:
        return POSTERIOR if temperature == "1" else f"{POSTERIOR} T={temperature}"
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


def curve(rows):
    """Return mean probability, share of true edges and count of the bins that hold any, over all rows."""
    sums = np.zeros((3, BINS))
    for row in rows:
        own = np.array([row["count"], row["probability"], row["true"]])
        place = np.minimum((own[1] / own[0] * BINS + 1e-6).astype(int), BINS - 1)
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


def print_temperatures(rows):
    """Print the log score of every temperature, the mean over tables."""
    for method in sorted({row["method"] for row in rows if row["method"].startswith(POSTERIOR)}):
        some = [row["log"] for row in rows if row["method"] == method]
        print(f"{method}: log score {np.mean(some):.4f} over {len(some)} tables")


def print_sure(rows):
    """Print mean probability and share of true edges in the last bin, by kind and by number of rows."""
    print("method            tables            number  probability  true")
    for method in sorted({row["method"] for row in rows}):
        for name in ("kind", "rows"):
            for value in sorted({row[name] for row in rows}):
                same = [row for row in rows if row["method"] == method and row[name] == value]
                probability, frequency, count = (values[-1] for values in curve(same))
                print(f"{method:16s}  {value!s:16s}  {count:6.0f}  {probability:.3f}        {frequency:.3f}")


if __name__ == "__main__":
    main()
