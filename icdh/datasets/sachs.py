"""Protein signalling in human T cells (Sachs et al. 2005)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from icdh.exceptions import import_extra
from icdh.files import LabelledTable, read_table

CONSENSUS_EDGES = (
    ("Erk", "Akt"),
    ("Mek", "Erk"),
    ("PIP3", "PIP2"),
    ("PKA", "Akt"),
    ("PKA", "Erk"),
    ("PKA", "Jnk"),
    ("PKA", "Mek"),
    ("PKA", "P38"),
    ("PKA", "Raf"),
    ("PKC", "Jnk"),
    ("PKC", "Mek"),
    ("PKC", "P38"),
    ("PKC", "PKA"),
    ("PKC", "Raf"),
    ("Plcg", "PIP2"),
    ("Plcg", "PIP3"),
    ("Raf", "Mek"),
)


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
    """

    data: Any
    feature_names: list
    edges: tuple
    adjacency: np.ndarray

    @property
    def table(self) -> LabelledTable:
        """The observations with their names, which estimators accept, without needing pandas."""
        return LabelledTable(np.asarray(self.data), self.feature_names)


def load_sachs(*, log: bool = False, standardize: bool = False, as_frame: bool = False) -> Dataset:
    """Return 853 observations of 11 phosphoproteins and phospholipids, and the consensus graph of 17 edges.

    Parameters
    ----------
    log : bool
        Whether to take natural logarithms: the raw values are positive and skewed to the right.
    standardize : bool
        Whether to give every column mean zero and standard deviation one, after the logarithm if both are asked for.
    as_frame : bool
        Whether ``data`` is a pandas DataFrame, which needs the extra ``[dataframe]``.

    Returns
    -------
    Dataset
        ``data`` of shape (853, 11): fluorescence of single cells by flow cytometry, in arbitrary units, raw by
        default. The cells are those observed without intervention on the network's proteins (stimulated with anti-CD3
        and anti-CD28).

    Raises
    ------
    MissingExtraError
        If ``as_frame`` and pandas is not installed.

    Notes
    -----
    The numbers are the first 853 rows of ``cdt/data/resources/cyto_full_data.csv`` in the Python package cdt 0.6.0,
    with columns renamed to the names of the article. The graph is the consensus network in the form in which it has
    served as reference since NOTEARS, with 17 edges; other authors count 18 to 20.

    References
    ----------
    Sachs, Perez, Pe'er, Lauffenburger, Nolan: "Causal Protein-Signaling Networks Derived from Multiparameter
    Single-Cell Data", Science 308 (5721), 2005, 523-529. doi:10.1126/science.1105809
    """
    data, names = read_table(Path(__file__).parent / "data" / "sachs.csv")
    adjacency = np.zeros((len(names), len(names)), dtype=int)
    for cause, effect in CONSENSUS_EDGES:
        adjacency[names.index(cause), names.index(effect)] = 1
    if log:
        data = np.log(data)
    if standardize:
        data = (data - data.mean(axis=0)) / data.std(axis=0)
    if as_frame:
        data = import_extra("pandas", "dataframe").DataFrame(data, columns=names)
    return Dataset(data, names, CONSENSUS_EDGES, adjacency)
