"""The Tübingen cause-effect pairs (Mooij et al. 2016), from a folder or downloaded once."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from icdh.files import read_table

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
    first: np.ndarray
    second: np.ndarray
    first_causes_second: bool
    weight: float

    @property
    def cause(self) -> np.ndarray:
        """The variable that is the cause."""
        return self.first if self.first_causes_second else self.second

    @property
    def effect(self) -> np.ndarray:
        """The variable that is the effect."""
        return self.second if self.first_causes_second else self.first


def fetch_tuebingen(
    *,
    subset: str = "loci-99",
    swap: bool = True,
    random_state=None,
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
        Whether to download the official archive if the folder holds no pairs, which needs pooch.
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
    ImportError
        If pooch is needed and not installed.

    References
    ----------
    Mooij, Peters, Janzing, Zscheischler, Schölkopf: "Distinguishing cause from effect using observational data:
    methods and benchmarks", JMLR 17(32), 2016, which the use of these data should cite.
    """
    if subset not in LEFT_OUT:
        raise ValueError(f"subset must be one of {tuple(LEFT_OUT)}; got {subset!r}")
    folder = _folder(data_home, download, checksum)
    rng = np.random.default_rng(random_state)
    table, _ = read_table(Path(__file__).parent / "tuebingen.csv")
    pairs = []
    for *columns, weight in table:
        number, *columns = map(int, columns)
        if number not in LEFT_OUT[subset]:
            pairs.append(_read_pair(folder, number, columns, weight, swap and rng.random() < 0.5))
    return pairs


def _read_pair(folder: Path, number: int, columns: list[int], weight: float, swapped: bool) -> CauseEffectPair:
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
    home = data_home or os.environ.get(DATA_HOME_VARIABLE)
    if home is None:
        import pooch

        home = pooch.os_cache("icdh")
    home = Path(home)
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
    import pooch

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
