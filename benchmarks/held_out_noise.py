"""Held-out score of each ``noise_distribution`` under nine kinds of noise, and how far "auto" is from the best.

    python -m benchmarks held_out_noise [--tables 10] [--rows 1000]

Four variables on a known graph, one of them with a spread that depends on its cause. Prints mean log densities of 5000
further rows, and that of "auto" minus the best of the fixed choices, in nats a row, the mean over tables.
"""

import argparse
import warnings

import numpy as np
from scipy import stats

from icdh import HNMSearch, Knowledge

KNOWN = Knowledge(required=[(0, 1), (1, 2), (0, 2), (2, 3)], forbidden=[(0, 3), (1, 3)])
CHOICES = ("auto", "gaussian", "student", "free")
NOISE = {
    "Gaussian": stats.norm(),
    "Student 3": stats.t(3),
    "Laplace": stats.laplace(),
    "uniform": stats.uniform(-1.0, 2.0),
    "exponential": stats.expon(-1.0),
    "Gumbel": stats.gumbel_r(-0.577),
    "lognormal": stats.lognorm(0.6, -1.2),
    "arcsine": stats.beta(0.5, 0.5, -0.5),
}


def noise_of(kind, rows, rng):
    """Return noise of a kind, shape (rows,)."""
    if kind == "two humps":
        return rng.choice([-1.0, 1.0], rows) + 0.4 * rng.standard_normal(rows)
    return NOISE[kind].rvs(size=rows, random_state=rng)


def table_of(kind, rows, rng):
    """Return rows of a -> b, a and b -> c, c -> d."""
    first, second, third, fourth = (noise_of(kind, rows, rng) for _ in range(4))
    b = np.tanh(first) + 0.5 * second
    c = 0.8 * b + (0.3 + 0.3 * np.abs(np.tanh(first))) * third
    return np.column_stack([first, b, c, np.sin(c) + 0.5 * fourth])


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=10, help="tables of each kind")
    parser.add_argument("--rows", type=int, default=1000, help="rows of a table")
    arguments = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    print(f"{'noise':12}" + "".join(f"{choice:>10}" for choice in CHOICES) + "  auto - best")
    for kind in (*NOISE, "two humps"):
        scores = np.zeros((arguments.tables, len(CHOICES)))
        for seed in range(arguments.tables):
            rng = np.random.default_rng(100 + seed)
            table, further = (table_of(kind, rows, rng) for rows in (arguments.rows, 5000))
            fits = (HNMSearch(noise_distribution=choice, knowledge=KNOWN).fit(table) for choice in CHOICES)
            scores[seed] = [fit.score(further) for fit in fits]
        gap = (scores[:, 0] - scores[:, 1:].max(axis=1)).mean()
        print(f"{kind:12}" + "".join(f"{score:10.4f}" for score in scores.mean(axis=0)) + f"{gap:13.4f}", flush=True)


if __name__ == "__main__":
    main()
