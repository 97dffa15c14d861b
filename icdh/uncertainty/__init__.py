"""How sure is every edge.

- ensemble: graphs with weights, and what they say of edges, ancestors and paths; the graphs of many resamples of the
  rows, by `icdh.bootstrap` and `icdh.refits`
- posterior, on ensemble: graphs drawn from their probability given the data, by `icdh.posterior`
- losses: what a graph loses if an arrow points the other way, is a hidden common cause, or acts on mean or spread alone
"""

from icdh.uncertainty.ensemble import EdgeBelief, GraphEnsemble, Resample
from icdh.uncertainty.losses import direction_loss, hidden_loss, mean_and_spread_loss
from icdh.uncertainty.posterior import GraphPosterior

__all__ = [
    "EdgeBelief",
    "GraphEnsemble",
    "GraphPosterior",
    "Resample",
    "direction_loss",
    "hidden_loss",
    "mean_and_spread_loss",
]
