"""Real data sets, one file for each."""

from icdh.datasets.sachs import Dataset, load_sachs
from icdh.datasets.tuebingen import CauseEffectPair, fetch_tuebingen

__all__ = ["CauseEffectPair", "Dataset", "fetch_tuebingen", "load_sachs"]
