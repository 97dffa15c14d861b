"""Published numbers, each with where it comes from: the rows of `published.csv`."""

import csv
from pathlib import Path
from typing import NamedTuple

from paper_reproduction.tables import Setting

ARTICLE = "article"
SOURCES = {
    ARTICLE: "the article's own tables, all of their numbers; its heteroscedastic noise is our `exp`",
    "authors-2022": "computed with icdh.metrics from the raw weights in the authors' public repository naiyuyin/ICDH, "
    "folder results, commit 8236ef4 of 24 August 2022, against the graphs beside them: a state of their code 16 months "
    "before the article, on their own draws (homo-nv: variances from 0.5 to 5; hetero: variance exp(g), g sharing the "
    "first layer of f; W_nll is taken for ICDH, W for NOTEARS-MLP, as their scripts name them)",
    "released-code": "the code released with the article, run by this project on other draws of the same generator",
    "gran-dag-quoted": "Lachapelle et al. (ICLR 2020), as quoted by later comparisons",
    "pairs-quoted": "figures published for these 99 pairs, as quoted by benchmarks/cause_effect_pairs.py",
}


class Published(NamedTuple):
    """A published number.

    Attributes
    ----------
    table : str
        Which table it stands in: a key of `paper_reproduction.tables.TABLES`.
    setting : Setting
        The data.
    method, metric : str
        What was measured of what, in the words of `methods` and `judging`.
    value : float
        The number.
    std : float or None
        Standard deviation over trials, where it was given.
    trials : int or None
        How many; of the pairs, how many pairs.
    source : str
        A key of `SOURCES`.
    note : str
        What else the source says.
    """

    table: str
    setting: Setting
    method: str
    metric: str
    value: float
    std: float | None
    trials: int | None
    source: str
    note: str


def read_published() -> list:
    """Return all published numbers, those of the article first, in the order of its tables."""
    with open(Path(__file__).parent / "published.csv", newline="", encoding="utf-8") as file:
        return [_number(row) for row in csv.DictReader(file)]


def _number(row):
    return Published(
        row["table"],
        Setting(row["data"], row["graph"], int(row["nodes"]), row["units"]),
        row["method"],
        row["metric"],
        float(row["value"]),
        float(row["std"]) if row["std"] else None,
        int(row["trials"]) if row["trials"] else None,
        row["source"],
        row["note"],
    )
