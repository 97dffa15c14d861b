"""The article's numbers beside the files that its authors published earlier: their weights, and ours on their tables.

Their public repository naiyuyin/ICDH held, until 2024, the tables that they drew and weights that they had learned. The
article's homoscedastic numbers can be found in these weights, which tells how they were computed.
"""

import re
from pathlib import Path

import numpy as np

from paper_reproduction import measures
from paper_reproduction.judging import THRESHOLD
from paper_reproduction.methods import estimate
from paper_reproduction.published import ARTICLE, read_published
from paper_reproduction.tables import RAW, Setting

COMMIT = "8236ef4"
DATA = {"homo_ev": "homo-ev", "homo_nv": "homo-nv", "hetero": "exp"}
WEIGHTS = {"ICDH": "W_nll", "NOTEARS-MLP": "W"}
HEADINGS = (
    "data",
    "method",
    "the article",
    "their weights: trials",
    "SHD at 0.3",
    "least SHD",
    "of the first five",
    "auPRC",
)
OURS = ("ours on their tables: SHD at 0.3", "least SHD")
FIRST = 5
THRESHOLDS = np.linspace(0.2, 0.75, 1000)  # those of the authors' evaluation


def compare_with_authors(folder, nodes, with_ours: bool = True) -> str:
    """Return a Markdown table of the SHD of the article, of the authors' weights, and of ours on their tables.

    Parameters
    ----------
    folder : str or Path
        A work tree of the authors' repository at commit `COMMIT`.
    nodes : collection of int
        Which numbers of variables.
    with_ours : bool
        Whether to learn from their tables, which takes minutes.

    Raises
    ------
    FileNotFoundError
        If the folder holds no such tables.
    """
    folder = Path(folder)
    places = [p for n in sorted(nodes) for p in sorted(folder.glob(f"data/nonlinear/*/ER[12]_d{n}"))]
    if not places:
        raise FileNotFoundError(f"{folder} holds no tables of these sizes: check out commit {COMMIT} of naiyuyin/ICDH")
    article = {(n.setting, n.method): n for n in read_published() if n.source == ARTICLE and n.metric == "shd"}
    lines = []
    for place in places:
        graph, count = place.name.split("_d")
        setting = Setting(DATA[place.parent.name], graph, int(count), RAW)
        for method in WEIGHTS:
            number = article.get((setting, method))
            if number is not None:
                cells = [f"{place.parent.name}, {graph}, N = {count}", method, _pm(number.value, number.std)]
                cells += _of_their_weights(folder, place, method)
                cells += _of_ours(place, method) if with_ours else [""] * len(OURS)
                lines.append(cells)
    headings = (*HEADINGS, *OURS)
    return "\n".join("| " + " | ".join(row) + " |" for row in (headings, ["---"] * len(headings), *lines)) + "\n"


def _of_their_weights(folder, place, method):
    name = WEIGHTS[method]
    files = sorted(
        (folder / "results" / place.parent.name / place.name).glob(f"{name}_[0-9]*.csv"),
        key=lambda file: int(re.search(r"(\d+)$", file.stem)[1]),
    )
    if not files:
        return ["0", "", "", "", ""]
    at, least, area = _distances(
        (np.abs(np.loadtxt(file, delimiter=",")), _truth(place, file.stem.split("_")[-1])) for file in files
    )
    first = _pm(least[:FIRST].mean(), least[:FIRST].std())
    return [str(len(files)), _pm(at.mean(), at.std()), _pm(least.mean(), least.std()), first, f"{area.mean():.2f}"]


def _of_ours(place, method):
    tables = sorted(place.glob("data/X_*.csv"))
    at, least, _ = _distances(
        (estimate(method, np.loadtxt(file, delimiter=","), 0), _truth(place, file.stem.split("_")[-1]))
        for file in tables
    )
    return [_pm(at.mean(), at.std()), _pm(least.mean(), least.std())]


def _truth(place, trial):
    return (np.loadtxt(place / "graph" / f"W_{trial}.csv", delimiter=",") != 0).astype(int)


def _distances(estimates):
    """Return SHD at the threshold, least SHD over thresholds, and auPRC of every estimate."""
    found = [
        (
            measures.shd_curve(weights, truth, [THRESHOLD])[0],
            measures.shd_curve(weights, truth, THRESHOLDS).min(),
            measures.truncated_auprc(weights, truth),
        )
        for weights, truth in estimates
    ]
    return np.array(found, dtype=float).T


def _pm(mean, std):
    return f"{mean:.2f} ± {std:.2f}"
