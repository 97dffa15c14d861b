"""Real data sets: protein signalling (Sachs et al. 2005), and cause-effect pairs from Tübingen (Mooij et al. 2016)."""

import csv
import gzip
import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from icdh._ground.arrays import Floats, Foreign, Integers, RandomState
from icdh._ground.checks import Choice
from icdh._table.experiments import Interventions
from icdh.exceptions import import_extra
from icdh.files import LabelledTable, read_table

__all__ = ["CauseEffectPair", "Dataset", "fetch_tuebingen", "load_sachs"]

EFFECTS = {  # by their cause, in the consensus graph
    "Erk": ("Akt",),
    "Mek": ("Erk",),
    "PIP3": ("PIP2",),
    "PKA": ("Akt", "Erk", "Jnk", "Mek", "P38", "Raf"),
    "PKC": ("Jnk", "Mek", "P38", "PKA", "Raf"),
    "Plcg": ("PIP2", "PIP3"),
    "Raf": ("Mek",),
}
# What each condition acts on, of the variables measured: an inhibitor or activator of that molecule. ICAM-2 stimulates
# the whole pathway, and LY294002 inhibits PI3K, which was not measured.
TARGETS: dict[Hashable, tuple[str, ...] | None] = {
    "cd3cd28": (),
    "cd3cd28+icam2": None,
    "cd3cd28+aktinhib": ("Akt",),
    "cd3cd28+g0076": ("PKC",),
    "cd3cd28+psitect": ("PIP2",),
    "cd3cd28+u0126": ("Mek",),
    "cd3cd28+ly294002": None,
    "pma": ("PKC",),
    "b2camp": ("PKA",),
}


@dataclass(frozen=True)
class Dataset:
    """Observations together with the graph that is believed to have made them.

    Attributes
    ----------
    data : ndarray or DataFrame, shape (M, N)
        Observations in rows.
    feature_names : list of str
        The N variables.
    edges : tuple of (str, str)
        The true edges (cause, effect).
    adjacency : ndarray of int, shape (N, N)
        The same edges as a matrix: ``adjacency[i, j] == 1`` means i -> j.
    interventions : Interventions or None
        The condition of every observation and what it acts on, as the estimators' ``fit`` takes them; None where
        nothing was done.
    """

    data: Foreign
    feature_names: list[str]
    edges: tuple[tuple[str, str], ...]
    adjacency: Integers
    interventions: Interventions | None = None

    @property
    def table(self) -> LabelledTable:
        """The observations with their names, which estimators accept, without needing pandas."""
        return LabelledTable(np.asarray(self.data), self.feature_names)


def load_sachs(
    *, experiments: bool = False, log: bool = False, standardize: bool = False, as_frame: bool = False
) -> Dataset:
    """Return 853 observations of 11 phosphoproteins and phospholipids, and the consensus graph of 17 edges.

    Parameters
    ----------
    experiments : bool
        Whether to return all 7466 cells of the nine conditions, with ``interventions``; the first 853 are those
        returned otherwise.
    log : bool
        Whether to take natural logarithms: the raw values are positive and skewed to the right.
    standardize : bool
        Whether to give every column mean zero and standard deviation one, after the logarithm if both are asked for.
    as_frame : bool
        Whether ``data`` is a pandas DataFrame, which needs the extra ``[dataframe]``.

    Returns
    -------
    Dataset
        ``data`` of shape (853, 11) or (7466, 11): fluorescence of single cells by flow cytometry, in arbitrary units,
        raw by default. The first 853 cells are those observed without intervention on the network's proteins
        (stimulated with anti-CD3 and anti-CD28).

    Raises
    ------
    MissingExtraError
        If ``as_frame`` and pandas is not installed.

    Notes
    -----
    The numbers are those of the example-causal-datasets collection (Center for Causal Discovery, CC0), with columns
    renamed to the names of the article; the first 853 rows are also those of ``cdt/data/resources/cyto_full_data.csv``
    in the Python package cdt 0.6.0. Inhibitors act on what a molecule does, not always on how much of it is measured,
    so that to take its values as set is the approximation that the article made. The graph is the consensus network in
    the form in which it has served as reference since NOTEARS, with 17 edges; other authors count 18 to 20.

    References
    ----------
    Sachs, Perez, Pe'er, Lauffenburger, Nolan: "Causal Protein-Signaling Networks Derived from Multiparameter
    Single-Cell Data", Science 308 (5721), 2005, 523-529. doi:10.1126/science.1105809

    Examples
    --------
    >>> from icdh.datasets import load_sachs
    >>> sachs = load_sachs()
    >>> sachs.data.shape, len(sachs.edges)
    ((853, 11), 17)
    >>> load_sachs(experiments=True).interventions.conditions[-1]
    'b2camp'
    """
    with gzip.open(Path(__file__).parent / "data" / "sachs.csv.gz", "rt", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file if experiments else islice(file, 1 + 853))
    names = header[:-1]
    data = np.array([row[:-1] for row in rows], dtype=float)
    adjacency = np.zeros((len(names), len(names)), dtype=int)
    edges = tuple((cause, effect) for cause, effects in EFFECTS.items() for effect in effects)
    for cause, effect in edges:
        adjacency[names.index(cause), names.index(effect)] = 1
    if log:
        data = np.log(data)
    if standardize:
        data = (data - data.mean(axis=0)) / data.std(axis=0)
    held = import_extra("pandas", "dataframe").DataFrame(data, columns=names) if as_frame else data
    interventions = Interventions([row[-1] for row in rows], TARGETS) if experiments else None
    return Dataset(held, names, edges, adjacency, interventions)


ARCHIVE = "https://webdav.tuebingen.mpg.de/cause-effect/pairs.zip"
DATA_HOME_VARIABLE = "ICDH_DATA_HOME"
MULTIVARIATE = (52, 53, 54, 55, 71, 105)
LEFT_OUT: dict[str, tuple[int, ...]] = {
    "all": (),
    "loci-99": (47, 70, 107, *MULTIVARIATE),
    "cdt-99": (106, 107, 108, *MULTIVARIATE),
}


@dataclass(frozen=True)
class CauseEffectPair:
    """Observations of two variables, one of which causes the other.

    Attributes
    ----------
    id : int
        The number in the file's name, 1 to 108.
    first, second : ndarray, shape (M,)
        The two variables; of shape (M, d) for pairs of several variables.
    first_causes_second : bool
        The causal direction.
    weight : float
        Weight in averages over pairs, which counts near-copies of one data set as one; 0 for some multivariate pairs.
    """

    id: int
    first: Floats
    second: Floats
    first_causes_second: bool
    weight: float

    @property
    def cause(self) -> Floats:
        """The variable that is the cause."""
        return self.first if self.first_causes_second else self.second

    @property
    def effect(self) -> Floats:
        """The variable that is the effect."""
        return self.second if self.first_causes_second else self.first


def fetch_tuebingen(
    *,
    subset: str = "loci-99",
    swap: bool = True,
    random_state: RandomState = None,
    data_home: str | Path | None = None,
    download: bool = True,
    checksum: str | None = None,
) -> list[CauseEffectPair]:
    """Return the Tübingen cause-effect pairs, from a folder or downloaded once.

    Parameters
    ----------
    subset : {"loci-99", "cdt-99", "all"}
        "loci-99": pairs 1 to 108 without the discrete 47, 70, 107 and the multivariate 52, 53, 54, 55, 71, 105;
        "cdt-99": without 106, 107, 108 and the multivariate ones; "all": all 108.
    swap : bool
        Whether a fair coin decides which variable is ``first``; otherwise it is the first column of the file. Of the
        99 files 73 list the cause first, so that a method that always answers "first" looks good without a swap.
    random_state : int, Generator or None
        Seed of the swaps.
    data_home : str or Path, optional
        Folder that holds the files ``pair0001.txt`` ..., itself or in a subfolder ``tuebingen``; where an archive is
        downloaded to, if it does not. By default the folder that the environment variable ``ICDH_DATA_HOME`` names,
        or else a cache folder of the user.
    download : bool
        Whether to download the official archive if the folder holds no pairs, which needs the extra ``[datasets]``.
    checksum : str, optional
        What the archive must hash to, for instance ``"sha256:..."``; by default any archive is accepted.

    Returns
    -------
    list of CauseEffectPair
        In the order of their numbers.

    Raises
    ------
    FileNotFoundError
        If a pair's file is missing, or there are none and ``download`` is False.
    OSError
        If the download fails.
    ValueError
        If the subset is unknown, or the archive has another checksum.
    MissingExtraError
        If pooch is needed and not installed.

    References
    ----------
    Mooij, Peters, Janzing, Zscheischler, Schölkopf: "Distinguishing cause from effect using observational data:
    methods and benchmarks", JMLR 17(32), 2016, which the use of these data should cite.
    """
    Choice(tuple(LEFT_OUT)).check("subset", subset)
    folder = _folder(data_home, download, checksum)
    rng = np.random.default_rng(random_state)
    table, _ = read_table(Path(__file__).parent / "data" / "tuebingen.csv")
    pairs = []
    for *columns, weight in table:
        number, *columns = map(int, columns)
        if number not in LEFT_OUT[subset]:
            pairs.append(_read_pair(folder, number, columns, weight, swap and rng.random() < 0.5))
    return pairs


def _read_pair(folder: Path, number: int, columns: Sequence[int], weight: float, swapped: bool) -> CauseEffectPair:
    path = folder / f"pair{number:04d}.txt"
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path}; unpack the whole archive {ARCHIVE} into that folder")
    values = np.loadtxt(path, ndmin=2)
    cause_first, cause_last, effect_first, effect_last = columns
    cause = values[:, cause_first - 1 : cause_last].squeeze()
    effect = values[:, effect_first - 1 : effect_last].squeeze()
    cause_is_first = (cause_first < effect_first) != swapped
    first, second = (cause, effect) if cause_is_first else (effect, cause)
    return CauseEffectPair(number, first, second, cause_is_first, weight)


def _folder(data_home: str | Path | None, download: bool, checksum: str | None) -> Path:
    """Return the folder that holds the pairs, after a download if need be."""
    home = Path(data_home or os.environ.get(DATA_HOME_VARIABLE) or import_extra("pooch", "datasets").os_cache("icdh"))
    folder = _find(home)
    if folder is None and download:
        _download(home, checksum)
        folder = _find(home)
    if folder is None:
        raise FileNotFoundError(
            f"there are no files pair0001.txt ... in {home}; unpack {ARCHIVE} there, name another folder by data_home "
            f"or the environment variable {DATA_HOME_VARIABLE}, or allow the download"
        )
    return folder


def _find(home: Path) -> Path | None:
    patterns = ("pair[0-9]*.txt", "tuebingen/pair[0-9]*.txt", "tuebingen/*/pair[0-9]*.txt")
    return next((file.parent for pattern in patterns for file in home.glob(pattern)), None)


def _download(home: Path, checksum: str | None) -> None:
    pooch = import_extra("pooch", "datasets")
    try:
        pooch.retrieve(ARCHIVE, checksum, "pairs.zip", home, pooch.Unzip(extract_dir="tuebingen"))
    except ValueError as error:
        raise ValueError(
            f"the archive {ARCHIVE} does not have the checksum {checksum}: the server's file changed or the download "
            "was damaged; try again, or pass checksum=None to accept it as it is"
        ) from error
    except OSError as error:
        raise OSError(
            f"cannot download {ARCHIVE} ({error}); download and unpack it by hand, and name the folder by data_home "
            f"or the environment variable {DATA_HOME_VARIABLE}"
        ) from error
