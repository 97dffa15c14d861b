"""A network refitted to a graph: every child given its causes in the graph, and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import fields

import numpy as np

from icdh._ground.arrays import Floats, Mask
from icdh._ground.clock import OutOfTime
from icdh.network import NetworkConditional, Weights
from icdh.search.moves import Family
from icdh.two_phase.family import FamilyFit, FamilyFitter


def refit_to_graph(weights: Weights, graph: Mask, fitter: FamilyFitter) -> dict[Family, FamilyFit]:
    """Return fits of the families of a graph whose causes are not the inputs that a network has for the child.

    Parameters
    ----------
    weights : Weights
        A fitted network, from which the refits start.
    graph : ndarray of bool, shape (N, N)
        The DAG.
    fitter : FamilyFitter
        Fits a child given its causes. Once its time is over, output weights and a constant scale alone are fitted.
    """
    fits = {}
    for child in range(weights.n_variables):
        if not np.array_equal(weights.w1[child].any(axis=0), graph[:, child]):
            family = child, tuple(np.flatnonzero(graph[:, child]).tolist())
            fits[family] = _in_time(fitter, weights, *family)
    return fits


def fit_from_network(fitter: FamilyFitter, weights: Weights, child: int, causes: Sequence[int]) -> FamilyFit:
    """Fit a family from the weights that a network has for it."""
    scale = NetworkConditional.of(weights, child).mean_and_scale(fitter.values)[1]
    hidden, w3_bias = _hidden_of(weights, child, causes), float(weights.w3_bias[child])
    return fitter.fit(child, causes, hidden, weights.w3[child], w3_bias, scale)


def _in_time(fitter: FamilyFitter, weights: Weights, child: int, causes: Sequence[int]) -> FamilyFit:
    try:
        return fit_from_network(fitter, weights, child, causes)
    except OutOfTime:
        return fitter.adapt(child, causes, _hidden_of(weights, child, causes))


def _hidden_of(weights: Weights, child: int, causes: Sequence[int]) -> Floats:
    hidden = weights.w1[child][:, list(causes)].T
    if weights.hidden_bias is not None:
        hidden = np.vstack([hidden, weights.hidden_bias[child]])
    return np.ascontiguousarray(hidden)


def with_families(weights: Weights, fits: Mapping[Family, FamilyFit]) -> Weights:
    """Return a network with the weights of fitted families, one a child at most."""
    units, parts = weights.hidden_units, {field.name: getattr(weights, field.name) for field in fields(weights)}
    parts = {name: None if part is None else part.copy() for name, part in parts.items()}
    for (child, causes), fit in fits.items():
        parts["w1"][child] = 0.0
        parts["w1"][child][:, list(causes)] = fit.hidden[: len(causes)].T
        parts["w2"][child], parts["w3"][child], parts["w3_bias"][child] = fit.w2[:units], fit.w3, fit.w3_bias
        if weights.hidden_bias is not None:
            parts["hidden_bias"][child], parts["output_bias"][child] = fit.hidden[-1], fit.w2[-1]
    return Weights(**parts)
