"""What every noise variant of icdh.simulate draws: spread of the standard deviations and sortability.

    python benchmarks/simulated_noise.py [--variables 10] [--edges-per-variable 1] [--seeds 10]

Prints one line for each variant: the smallest and largest true standard deviation over all seeds, the largest ratio
within one variable (median over the seeds), and the mean and standard deviation over the seeds of varsortability and
R2-sortability. The graph of a seed is the same for every variant.
"""

import argparse

import numpy as np

from icdh import simulate
from icdh.simulate import NOISES


def reports(noise, variables, edges_per_variable, observations, seeds):
    """Return the report of every seed."""
    for seed in range(seeds):
        graph = simulate.erdos_renyi(variables, edges_per_variable, seed)
        yield simulate.simulate_sem(graph, observations, noise=noise, random_state=seed).report()


def line(noise, found):
    """Return one line of the table."""
    smallest, largest, ratio, varsortability, r2_sortability = map(np.array, zip(*found, strict=True))
    spread = f"{smallest.min():>9.2e} {largest.max():>9.2e} {np.median(ratio):>9.2e}"
    sortability = "  ".join(f"{s.mean():.2f} +- {s.std():.2f}" for s in (varsortability, r2_sortability))
    return f"{noise:<16} {spread}   {sortability}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variables", type=int, default=10)
    parser.add_argument("--edges-per-variable", type=float, default=1)
    parser.add_argument("--observations", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    print(f"{'noise':<16} {'least sd':>9} {'most sd':>9} {'ratio':>9}   varsortab.    R2-sortab.")
    for noise in NOISES:
        print(line(noise, list(reports(noise, *vars(args).values()))))


if __name__ == "__main__":
    main()
