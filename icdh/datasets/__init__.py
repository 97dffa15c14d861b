"""Real data: protein signalling (Sachs et al. 2005)."""

import csv
import gzip
import json
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from icdh._table.experiments import Interventions
from icdh._utils.arrays import Floats, Integers
from icdh.files import LabelledTable

__all__ = ["Dataset", "load_sachs"]


@dataclass(frozen=True)
class Dataset:
    """Observations together with the graph that is believed to have made them.

    Attributes
    ----------
    data : ndarray, shape (M, N)
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

    data: Floats
    feature_names: list[str]
    edges: tuple[tuple[str, str], ...]
    adjacency: Integers
    interventions: Interventions | None = None

    @property
    def table(self) -> LabelledTable:
        """The observations with their names, which estimators accept, without needing pandas."""
        return LabelledTable(self.data, self.feature_names)


def load_sachs(*, experiments: bool = False) -> Dataset:
    """Return 853 observations of 11 phosphoproteins and phospholipids, and the consensus graph of 17 edges.

    Parameters
    ----------
    experiments : bool
        Whether to return all 7466 cells of the nine conditions, with ``interventions``; the first 853 are those
        returned otherwise.

    Returns
    -------
    Dataset
        ``data`` of shape (853, 11) or (7466, 11): fluorescence of single cells by flow cytometry, in arbitrary units.
        The first 853 cells are those observed without intervention on the network's proteins (stimulated with anti-CD3
        and anti-CD28).

    Notes
    -----
    The numbers are those of the example-causal-datasets collection (Center for Causal Discovery, CC0), with columns
    renamed to the names of the article. The first 853 rows are also those of ``cdt/data/resources/cyto_full_data.csv``
    in the Python package cdt 0.6.0. The target of a condition is the measured molecule that it inhibits or activates.
    ICAM-2 stimulates the whole pathway, and LY294002 inhibits PI3K, which was not measured: their targets are unknown.
    Inhibitors act on what a molecule does, not always on how much of it is measured. To take its values as set is the
    approximation that the article made. The graph is the consensus network of 17 edges that has served as reference
    since NOTEARS. Other authors count 18 to 20.

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
    folder = Path(__file__).parent / "data"
    with gzip.open(folder / "sachs.csv.gz", "rt", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file if experiments else islice(file, 1 + 853))
    names = header[:-1]
    data = np.array([row[:-1] for row in rows], dtype=float)
    known = json.loads((folder / "sachs.json").read_text(encoding="utf-8"))
    edges = tuple((cause, effect) for cause, effects in known["effects"].items() for effect in effects)
    adjacency = np.zeros((len(names), len(names)), dtype=int)
    for cause, effect in edges:
        adjacency[names.index(cause), names.index(effect)] = 1
    interventions = Interventions([row[-1] for row in rows], known["targets"]) if experiments else None
    return Dataset(data, names, edges, adjacency, interventions)
