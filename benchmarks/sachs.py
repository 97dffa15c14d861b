"""Sachs data: SHD at threshold 0.3 and the smallest over thresholds, for every scaling and five seeds.

Run: python benchmarks/sachs.py
"""

import warnings

import numpy as np

from icdh import ICDH
from icdh.datasets import load_sachs
from icdh.metrics import shd


def main():
    sachs = load_sachs()
    warnings.simplefilter("ignore")
    for scaling in ("none", "center", "standardize"):
        for bias in (False, True):
            at_threshold, smallest, seconds = [], [], []
            for seed in range(5):
                model = ICDH(scaling=scaling, bias=bias, random_state=seed).fit(sachs.data)
                at_threshold.append(shd(model.adjacency_matrix_, sachs.adjacency))
                smallest.append(min(shd(model.rethreshold(t).adjacency_matrix_, sachs.adjacency) for t in grid(model)))
                seconds.append(sum(record.seconds for record in model.history_))
            print(f"{scaling:12s} bias={bias!s:5s} SHD {at_threshold} smallest {smallest} {np.median(seconds):.1f} s")


def grid(model):
    """Return every threshold at which the graph changes."""
    return np.unique(np.append(np.nextafter(model.weights_[model.weights_ > 0], np.inf), 0.0))


if __name__ == "__main__":
    main()
