"""Other methods for tables with a hidden cause: the arrows, and the pairs with a cause in common, that each allows.

Each takes a table and returns two arrays of bool, of shape (N, N): whether i -> j is allowed, whether a cause in common
is. A pair of which a method says that either may hold is allowed both. FCI and BOSS are causal-learn's, by Fisher's z
and the linear BIC; RCD, CAM-UV and BottomUpParceLiNGAM are those of lingam.
"""

import contextlib
import io

import numpy as np
import search_peers


def _marks(graph):
    """Return what the marks at both ends of every edge allow: -1 is a tail, 1 an arrowhead, 2 a circle."""
    joined = graph != 0
    arrows = joined & (graph != 1) & (graph.T != -1)
    return arrows, joined & (graph != -1) & (graph.T != -1)


def fci(X):
    from causallearn.search.ConstraintBased.FCI import fci as search

    with contextlib.redirect_stdout(io.StringIO()):
        found, _ = search(X, show_progress=False)
    return _marks(found.graph)


def boss(X):
    arrows = search_peers.boss(X) != 0.0
    return arrows, np.zeros_like(arrows)


def _of_lingam(name):
    def fit(X):
        import lingam

        weights = getattr(lingam, name)().fit(X).adjacency_matrix_.T
        unknown = np.isnan(weights)
        return (weights != 0) & ~unknown, unknown | unknown.T

    return fit


RIVALS = {
    "FCI": fci,
    "BOSS": boss,
    "RCD": _of_lingam("RCD"),
    "CAM-UV": _of_lingam("CAMUV"),
    "BottomUpParceLiNGAM": _of_lingam("BottomUpParceLiNGAM"),
}
