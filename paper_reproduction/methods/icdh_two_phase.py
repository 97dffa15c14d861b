"""ICDH, and with equal or unequal variances the objectives of NOTEARS-MLP and of the unequal-variance network."""

from icdh import ICDH


def fit(X, random_state, **parameters):
    """Return the norms of the input weights, shape (N, N); the threshold is left to the metrics.

    Edges that the last stage kept need no threshold: they weigh their strength in nats.
    """
    model = ICDH(random_state=random_state, **parameters).fit(X)
    return model.weights_ if model.cost_ is None else model.edge_strength_
