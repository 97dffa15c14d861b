"""Import, cold start and warm start, each in fresh processes; and the start where no kernel can be cached.

    python benchmarks/start.py benchmarks/results/start.json [--repeats 5] [--starts cold warm]

``dependencies`` imports NumPy, SciPy's optimisers and Numba without icdh. A start runs from ``import icdh`` to the end
of the first evaluation of the Phase II objective, cold with an empty NUMBA_CACHE_DIR, warm with the kernels that an
earlier process left there. ``ICDH``, ``HNMSearch`` and ``direction`` run from before the dependencies are imported to
the end of a first fit to 300 observations of four variables (two, of a direction), with the seconds of the second fit
of the same process beside them, which are those of the fit alone. ``read-only`` is a copy of the package in a folder
that may not be written, without NUMBA_CACHE_DIR and home, and counts the log lines that say so; ``together`` is eight
processes at once with one empty cache, and one more after them. Prints medians and ranges of seconds of CPU and wall
time.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import Results, summary

PACKAGE = Path(__file__).parent.parent / "icdh"
TOGETHER = 8

IMPORT = """
import json, time
wall, cpu = time.perf_counter(), time.process_time()
import {modules}
print(json.dumps(dict(wall=time.perf_counter() - wall, cpu=time.process_time() - cpu)))
"""
START = """
import json, logging, time
lines = logging.Handler()
lines.count = 0
def emit(record):
    lines.count += "compiled anew" in record.getMessage()
lines.emit = emit
logging.getLogger("icdh").addHandler(lines)
logging.getLogger("icdh").setLevel(logging.DEBUG)
wall, cpu = time.perf_counter(), time.process_time()
import icdh
import numpy as np
from icdh.network import initial_weights
from icdh.knowledge import EdgeRules
from icdh.two_phase.objective import NetworkObjective
from icdh.two_phase.objective import Problem
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 10))
weights = initial_weights(X, 10, False, rng)
rules = EdgeRules.of(np.eye(10, dtype=bool))
values = np.ascontiguousarray(X.T)
problem = NetworkObjective.of(Problem(values, rules, 0.01, 0.01, rows=None, weights=None), np.ones(values.shape))
value = problem.solution(problem.input_weights(weights), weights)[0]
print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "value": value,
                  "log_lines": lines.count}))
"""


FIT = """
import json, time, warnings
warnings.simplefilter("ignore")
wall, cpu = time.perf_counter(), time.process_time()
import numpy, scipy.optimize, numba
dependencies = time.process_time() - cpu
import icdh
rng = numpy.random.default_rng(0)
X = rng.normal(size=(300, 4))
X[:, 1] += 2.0 * numpy.tanh(X[:, 0])
def fit():
    {fit}
fit()
result = dict(wall=time.perf_counter() - wall, cpu=time.process_time() - cpu, dependencies=dependencies)
cpu = time.process_time()
fit()
print(json.dumps(dict(result, again=time.process_time() - cpu)))
"""
FITS = {
    "ICDH": "icdh.ICDH().fit(X)",
    "HNMSearch": "icdh.HNMSearch().fit(X)",
    "direction": "icdh.causal_direction(X[:, 0], X[:, 1])",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--starts", nargs="+", choices=STARTS, default=list(STARTS))
    arguments = parser.parse_args()
    results = Results(arguments.results, ("start",))
    for name in arguments.starts:
        with tempfile.TemporaryDirectory() as folder:
            runs = STARTS[name](Path(folder), arguments.repeats)
        results.add({"start": name, "runs": runs})
        print_runs(name, runs)


def fresh(code, **settings):
    """Begin a process that runs code from the source tree; a setting of None is taken out of its environment."""
    prefix, folder = settings.pop("prefix", []), settings.pop("folder", PACKAGE.parent)
    settings = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **settings}
    environment = {name: value for name, value in {**os.environ, **settings}.items() if value is not None}
    command = [*prefix, sys.executable, "-c", code]
    return subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True)


def result(process):
    """Return what a process printed, or its exit code if it crashed."""
    output, _ = process.communicate()
    return json.loads(output) if process.returncode == 0 else {"crashed": process.returncode}


def importing(folder, repeats):
    return [result(fresh(IMPORT.format(modules="icdh"))) for _ in range(repeats)]


def dependencies(folder, repeats):
    return [result(fresh(IMPORT.format(modules="numpy, scipy.optimize, numba"))) for _ in range(repeats)]


def cold(folder, repeats):
    return [result(fresh(START, NUMBA_CACHE_DIR=str(folder / str(number)))) for number in range(repeats)]


def warm(folder, repeats):
    return [result(fresh(START, NUMBA_CACHE_DIR=str(folder))) for _ in range(repeats + 1)][1:]


def cold_fit(method):
    def runs(folder, repeats):
        code = FIT.format(fit=FITS[method])
        return [result(fresh(code, NUMBA_CACHE_DIR=str(folder / str(number)))) for number in range(repeats)]

    return runs


def warm_fit(method):
    def runs(folder, repeats):
        code = FIT.format(fit=FITS[method])
        return [result(fresh(code, NUMBA_CACHE_DIR=str(folder))) for _ in range(repeats + 1)][1:]

    return runs


def read_only(folder, repeats):
    """Root may write anywhere, unless it gives up that capability."""
    package = folder / "icdh"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    places = [package, *package.rglob("*")]
    for place in places:
        place.chmod(0o555)
    prefix = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    homeless = {"HOME": os.devnull, "XDG_CACHE_HOME": None, "NUMBA_CACHE_DIR": None}
    run = result(fresh(START, prefix=prefix, folder=folder, **homeless))
    for place in places:
        place.chmod(0o755)
    return [{**run, "files_written": len(list(package.rglob("*"))) + 1 - len(places)}]


def together(folder, repeats):
    processes = [fresh(START, NUMBA_CACHE_DIR=str(folder)) for _ in range(TOGETHER)]
    return [result(process) for process in processes] + [result(fresh(START, NUMBA_CACHE_DIR=str(folder)))]


STARTS = {
    "import": importing,
    "dependencies": dependencies,
    "cold": cold,
    "warm": warm,
    **{f"cold {method}": cold_fit(method) for method in FITS},
    **{f"warm {method}": warm_fit(method) for method in FITS},
    "read-only": read_only,
    "together": together,
}


def print_runs(name, runs):
    done = [run for run in runs if "crashed" not in run]
    print(f"{name:14s} {len(done)} of {len(runs)} processes ended well", end="")
    for clock in ("cpu", "wall") if done else ():
        print(f"; {clock} {summary([run[clock] for run in done])} s", end="")
    if any("again" in run for run in done):
        beyond = [run["cpu"] - run["dependencies"] for run in done]
        print(
            f"; beyond its dependencies {summary(beyond)} s, a second fit {summary([r['again'] for r in done])} s",
            end="",
        )
    values = {run["value"] for run in done if "value" in run}
    lines = {run["log_lines"] for run in done if "log_lines" in run}
    print(f"; {len(values)} different value(s), log lines {sorted(lines)}" if values else "", flush=True)


if __name__ == "__main__":
    main()
