"""Seconds and memory of a whole fit as the table grows, each fit in a process of its own.

    python benchmarks/scaling.py benchmarks/results/scaling.json [--variables 5 10 20 50 100] [--observations 100 ...]

Two series on tables of Erdos-Renyi graphs with as many edges as variables and noise whose spread depends on the
causes: N variables at 1000 observations, and M observations of 10 variables, by the default settings. Seconds are CPU
time after the kernels are loaded; memory is the peak of the fit beyond what the process held when it began, which
includes the table (Linux). Rows that are in the file are not run again. Prints both series and the exponents of power
laws fitted to them.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

from harness import Results, exponent

SERIES = {"variables": "N", "observations": "M"}
EDGES_PER_VARIABLE = 1


def main():
    arguments = parse()
    if arguments.one:
        print(json.dumps(measure(*arguments.one)))
        return
    results = Results(arguments.results, ("series", "variables", "observations"))
    for variables in arguments.variables:
        run(results, "variables", variables, 1000)
    for observations in arguments.observations:
        run(results, "observations", 10, observations)
    for series in SERIES:
        print_series(series, [row for row in results.rows if row["series"] == series])


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--variables", type=int, nargs="*", default=[5, 10, 20, 50, 100])
    parser.add_argument("--observations", type=int, nargs="*", default=[10**k for k in range(2, 7)])
    parser.add_argument("--one", type=int, nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def run(results, series, variables, observations):
    key = {"series": series, "variables": variables, "observations": observations}
    if results.has(**key):
        return
    sizes = [str(variables), str(observations)]
    command = [sys.executable, __file__, str(results.path), "--one", *sizes]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    results.add({**key, **json.loads(output)})


def measure(variables, observations):
    from icdh import ICDH, metrics, simulate

    warnings.simplefilter("ignore")
    ICDH(max_rounds=1).fit(table(simulate, 5, 100).X)  # loads the kernels before the clock runs
    data = table(simulate, variables, observations)
    forget_peak()
    held, wall, cpu = megabytes("VmRSS"), time.perf_counter(), time.process_time()
    model = ICDH(random_state=0).fit(data.X)
    return {
        "seconds": time.process_time() - cpu,
        "wall_seconds": time.perf_counter() - wall,
        "table_megabytes": data.X.nbytes / 1e6,
        "fit_megabytes": megabytes("VmHWM") - held,
        "process_megabytes": megabytes("VmHWM"),
        "rounds": len(model.history_),
        "shd": int(metrics.shd(model.adjacency_matrix_, data.adjacency)),
        "evaluations": sum(record.evaluations for record in model.history_),
    }


def table(simulate, variables, observations):
    graph = simulate.erdos_renyi(variables, EDGES_PER_VARIABLE, random_state=0)
    return simulate.simulate_sem(graph, observations, mechanism="mlp", noise="softplus-shared", random_state=0)


def forget_peak():
    """Start the record of the peak of resident memory anew (Linux)."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def megabytes(entry):
    """Return an entry of the status of this process: VmRSS, resident memory, or VmHWM, its peak (Linux)."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(entry):
            return int(line.split()[1]) * 1024 / 1e6
    raise ValueError(f"no entry {entry}")


def print_series(series, rows):
    print(f"{SERIES[series]:>8s}  seconds  rounds  evaluations  ms each  table MB   fit MB  process MB  SHD")
    for row in rows:
        each = 1e3 * row["seconds"] / row["evaluations"]
        effort = f"{row['seconds']:8.2f} {row['rounds']:7d} {row['evaluations']:12d} {each:8.3f}"
        memory = f"{row['table_megabytes']:9.1f} {row['fit_megabytes']:8.1f} {row['process_megabytes']:11.1f}"
        print(f"{row[series]:8d} {effort} {memory} {row['shd']:4d}")
    if len(rows) > 1:
        sizes, seconds = [row[series] for row in rows], [row["seconds"] for row in rows]
        each = [row["seconds"] / row["evaluations"] for row in rows]
        print(
            f"seconds ~ {SERIES[series]}^{exponent(sizes, seconds):.2f}, each evaluation ~ ^{exponent(sizes, each):.2f}"
        )


if __name__ == "__main__":
    main()
