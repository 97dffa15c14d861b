"""Where the CPU time of a two-phase fit goes.

    python benchmarks/where_time_goes.py benchmarks/results/where_time_goes.json [--variables 10 20 50] [--seeds 5]

Clocks around the compiled evaluations of Phase II, the compiled Hessians of Newton's method and what is left of it, all
of Phase I, the acyclicity function, and the compiled step of SciPy's L-BFGS-B; the rest is Python: SciPy's around that
step, and ours. 1000 observations of Erdos-Renyi graphs with as many edges as variables. Prints shares: medians and
ranges over the seeds.
"""

import argparse
import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np
from harness import Results, summary
from scipy.optimize import _lbfgsb_py

from icdh import ICDH, simulate
from icdh.two_phase import _kernels, objective, procedure, solvers

PARTS = {
    "evaluations": (_kernels, "projected_least_squares"),
    "Hessians": (solvers, "mean_hessian"),
    "Newton": (procedure, "minimise_by_newton"),
    "L-BFGS-B": (_lbfgsb_py._lbfgsb, "setulb"),
    "acyclicity": (objective, "trace_exponential"),
    "Phase I": (procedure, "fit_scales"),
}


class Clock:
    """Adds up the CPU time of one function, less that of the other clocks that run inside it."""

    def __init__(self, function, running):
        self.function, self.running, self.seconds = function, running, 0.0

    def __call__(self, *args, **kwargs):
        """Call the function."""
        self.running.append(0.0)
        begin = time.process_time()
        try:
            return self.function(*args, **kwargs)
        finally:
            total = time.process_time() - begin
            self.seconds += total - self.running.pop()
            if self.running:
                self.running[-1] += total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--variables", type=int, nargs="+", default=[10, 20, 50])
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(arguments.results, ("variables", "seed"))
    shares_of(5, 0)  # loads the kernels before the clocks run
    for variables in arguments.variables:
        for seed in range(arguments.seeds):
            if not results.has(variables=variables, seed=seed):
                results.add({"variables": variables, "seed": seed, **shares_of(variables, seed)})
        print_shares(variables, [row for row in results.rows if row["variables"] == variables])


def shares_of(variables, seed):
    graph = simulate.erdos_renyi(variables, 1, random_state=seed)
    X = simulate.simulate_sem(graph, 1000, mechanism="mlp", noise="softplus-shared", random_state=seed).X
    running = []
    clocks = {part: Clock(getattr(*place), running) for part, place in PARTS.items()}
    with ExitStack() as stack:
        for part, place in PARTS.items():
            stack.enter_context(patch.object(*place, clocks[part]))
        begin = time.process_time()
        ICDH(random_state=seed).fit(X)
        seconds = time.process_time() - begin
    shares = {part: clock.seconds / seconds for part, clock in clocks.items()}
    return {"seconds": seconds, **shares, "Python": 1.0 - sum(shares.values())}


def print_shares(variables, rows):
    print(f"N = {variables}: {summary([row['seconds'] for row in rows])} s")
    for part in (*PARTS, "Python"):
        print(f"  {part:12s} {summary(100.0 * np.array([row[part] for row in rows]), 0)} %", flush=True)


if __name__ == "__main__":
    main()
