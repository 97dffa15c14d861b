"""GraN-DAG (Lachapelle et al. 2020) by gcastle: the variance of the noise constant, or a function of the causes.

Its networks start near spreads of one. Where a table reaches so far beyond that they end in numbers that are none, it
is standardised and learned from once more.
"""

import numpy as np
from castle.algorithms import GraNDAG


def fit(X, random_state, model_name, iterations=10_000):
    """Return the learned edges, shape (N, N), each of weight 1."""
    options = {"model_name": model_name, "iterations": iterations, "random_seed": random_state % 2**32}
    try:
        return _learn(X, options)
    except ValueError:  # torch's word for a mean or a scale that is no number
        return _learn((X - X.mean(axis=0)) / X.std(axis=0), options)


def _learn(X, options):
    model = GraNDAG(input_dim=X.shape[1], **options)
    model.learn(X)
    weights = np.array(model.causal_matrix, dtype=np.float64)
    np.fill_diagonal(weights, 0.0)
    return weights
