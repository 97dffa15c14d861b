"""Peak resident memory of one round of ICDH on a long table, beyond the table itself.

python benchmarks/memory.py [--rows 1000000] [--columns 10]
"""

import argparse
import resource
import time
import warnings

import numpy as np

from icdh import ICDH


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=10)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(arguments.rows, arguments.columns))
    for i in range(1, arguments.columns):
        X[:, i] = np.sin(X[:, i - 1]) + (0.2 + 0.5 * (X[:, i - 1] > 0)) * X[:, i]
    warnings.simplefilter("ignore")
    ICDH(max_rounds=1, random_state=0).fit(X[:100])
    before, begin = peak_mib(), time.process_time()
    model = ICDH(max_rounds=1, random_state=0).fit(X)
    print(f"peak before {before:.0f} MiB, after {peak_mib():.0f} MiB, table {X.nbytes / 2**20:.0f} MiB")
    print(f"{time.process_time() - begin:.0f} s of one core, {model.history_[0].evaluations} evaluations")


if __name__ == "__main__":
    main()
