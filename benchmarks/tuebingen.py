"""The Tübingen cause-effect pairs (Mooij et al. 2016), from a folder."""

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


def tuebingen_pairs(
    *, subset: str = "loci-99", swap: bool = True, random_state=None, folder: str | Path | None = None
) -> list[CauseEffectPair]:
    """Return the Tübingen cause-effect pairs.

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
    folder : str or Path, optional
        Where the archive was unpacked to: files ``pair0001.txt`` ... By default what the environment variable
        ``ICDH_DATA_HOME`` names.

    Returns
    -------
    list of CauseEffectPair
        In the order of their numbers.

    Raises
    ------
    FileNotFoundError
        If a pair's file is missing.
    ValueError
        If the subset is unknown.

    References
    ----------
    Mooij, Peters, Janzing, Zscheischler, Schölkopf: "Distinguishing cause from effect using observational data:
    methods and benchmarks", JMLR 17(32), 2016, which the use of these data should cite.
    """
    if subset not in LEFT_OUT:
        raise ValueError(f"subset must be one of {tuple(LEFT_OUT)}; got {subset!r}")
    folder = Path(folder or os.environ.get(DATA_HOME_VARIABLE, "."))
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
        raise FileNotFoundError(
            f"there is no {path}; unpack {ARCHIVE} into a folder, and name it by {DATA_HOME_VARIABLE}"
        )
    values = np.loadtxt(path, ndmin=2)
    cause_first, cause_last, effect_first, effect_last = columns
    cause = values[:, cause_first - 1 : cause_last].squeeze()
    effect = values[:, effect_first - 1 : effect_last].squeeze()
    cause_is_first = (cause_first < effect_first) != swapped
    first, second = (cause, effect) if cause_is_first else (effect, cause)
    return CauseEffectPair(number, first, second, cause_is_first, weight)
