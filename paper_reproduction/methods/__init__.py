"""Every method of the paper's tables behind one call: ``estimate(name, X, seed)`` gives ``weights[i, j]`` of i -> j.

Each file holds one method, or the variants of one, as ``fit(X, random_state, **parameters)``. None sees the truth.
Both entries of an undirected edge are set. Weights of methods that have none are 1.
"""

import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from paper_reproduction.parameters import PARAMETERS


class Method(NamedTuple):
    """Where a method is, and what it needs.

    Attributes
    ----------
    module : str
        The file beside this one.
    parameters : dict
        What makes the row a variant of its method; tuned parameters are in `paper_reproduction.parameters`.
    packages : tuple of str
        Distributions of the extra ``[reproduction]`` that it uses.
    imports : tuple of str
        Their modules.
    """

    module: str
    parameters: dict = {}  # noqa: RUF012 - never modified
    packages: tuple = ()
    imports: tuple = ()

    @property
    def path(self) -> str:
        """The module's full name."""
        return f"paper_reproduction.methods.{self.module}"

    def is_installed(self) -> bool:
        """Return whether all packages that it needs are."""
        return all(find_spec(name) is not None for name in self.imports)


_GCASTLE = {"packages": ("gcastle", "torch"), "imports": ("castle", "torch")}
_CAUSAL_LEARN = {"packages": ("causal-learn",), "imports": ("causallearn",)}

METHODS = {
    "ICDH": Method("icdh_two_phase", {"edge_penalty": None}),
    "ICDH (last stage)": Method("icdh_two_phase"),
    "ICDH (as printed)": Method("icdh_two_phase", {"schedule": "paper"}),
    "HNMSearch": Method("hnm_search"),
    "causal_direction": Method("direction"),
    "NOTEARS-MLP": Method("icdh_two_phase", {"noise": "equal", "edge_penalty": None}),
    "MLP (unequal variances)": Method("icdh_two_phase", {"noise": "unequal", "edge_penalty": None}),
    "NOTEARS": Method("notears", **_GCASTLE),
    "GOLEM-EV": Method("golem", {"equal_variances": True}),
    "GOLEM-NV": Method("golem", {"equal_variances": False}),
    "GraN-DAG": Method("gran_dag", {"model_name": "NonLinGaussANM"}, **_GCASTLE),
    "GraN-DAG++": Method("gran_dag", {"model_name": "NonLinGauss"}, **_GCASTLE),
    "LiNGAM": Method("lingam", {"variant": "ica"}, **_CAUSAL_LEARN),
    "DirectLiNGAM": Method("lingam", {"variant": "direct"}, **_CAUSAL_LEARN),
    "GES": Method("ges", **_CAUSAL_LEARN),
    "CD-NOD": Method("cd_nod", **_CAUSAL_LEARN),
    "sortnregress": Method("sortnregress", packages=("CausalDisco",), imports=("CausalDisco",)),
    "HEC": Method("hec", packages=("bicausal",), imports=("bicausal",)),
    "CAM": Method("cam"),
    "GFBS": Method("gfbs"),
    "HOST": Method("host"),
    "US": Method("us"),
    "LOCI": Method("loci", {"criterion": "independence"}),
    "LOCI-M": Method("loci", {"criterion": "likelihood"}),
    "CAREFL": Method("carefl"),
}
UNDIRECTED = ("GES", "CD-NOD")


def estimate(method: str, X: np.ndarray, seed: int, **parameters) -> np.ndarray:
    """Return the raw weights, shape (N, N), that a method finds.

    Parameters
    ----------
    method : str
        A key of `METHODS`.
    X : ndarray, shape (M, N)
        Observations.
    seed : int
        Seed of what the method draws.
    **parameters
        In the place of tuned ones.

    Raises
    ------
    ValueError
        If the result is not a matrix of finite weights without self-loops.
    """
    found = METHODS[method]
    parameters = found.parameters | PARAMETERS.get(method, {}) | parameters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weights = import_module(found.path).fit(X.copy(), random_state=seed, **parameters)
    weights = np.asarray(weights, dtype=np.float32).astype(np.float64)  # as they are kept
    if weights.shape != (X.shape[1], X.shape[1]) or not np.isfinite(weights).all() or np.diagonal(weights).any():
        raise ValueError(f"{method} returned no matrix of finite weights with a zero diagonal")
    return weights
