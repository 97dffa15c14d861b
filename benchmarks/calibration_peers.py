"""Other libraries' graphs of a table, with their own defaults, for `calibration.py`."""

import logging

import numpy as np

from icdh.exceptions import import_extra


def lingam(X):
    """Return the graph of DirectLiNGAM (causal-learn): linear effects, noise of any shape but the Gaussian."""
    model = import_extra("causallearn.search.FCMBased.lingam", "benchmark").DirectLiNGAM()
    model.fit(X)
    return model.adjacency_matrix_.T != 0


def boss(X):
    """Return the graph of BOSS (causal-learn): linear, Gaussian; an undirected edge is half one in each direction."""
    module = import_extra("causallearn.search.PermutationBased.BOSS", "benchmark")
    marks = module.boss(X, "local_score_BIC_from_cov", verbose=False).graph
    # marks[j, i] = 1 and marks[i, j] = -1: i -> j; both -1: undirected
    directed = (marks.T == 1) & (marks == -1)
    undirected = (marks == -1) & (marks.T == -1)
    return directed + 0.5 * undirected


def notears(X):
    """Return the graph of NOTEARS-MLP (gcastle): nonlinear effects, noise of equal variance."""
    logging.disable(logging.INFO)
    torch = import_extra("torch", "benchmark")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = import_extra("castle.algorithms", "benchmark").NotearsNonlinear()
    model.learn(X)
    return np.asarray(model.causal_matrix) != 0


PEERS = {"lingam": lingam, "boss": boss, "notears": notears}
