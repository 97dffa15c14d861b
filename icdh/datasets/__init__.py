"""Real data sets, one file for each."""

from icdh.datasets.sachs import Dataset, load_sachs

__all__ = ["Dataset", "load_sachs"]
