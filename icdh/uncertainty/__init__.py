"""How sure is every edge.

- ensemble: graphs with weights, and what they say of edges, ancestors and paths
- resampling, on ensemble: the graphs of many resamples of the rows, by `icdh.bootstrap` and `icdh.refits`
- posterior, on ensemble: graphs drawn from their probability given the data, by `icdh.posterior`
- losses: what a graph loses if an arrow points the other way, is a hidden common cause, or acts on mean or spread alone
"""

from icdh.uncertainty.ensemble import EdgeBelief, GraphEnsemble
from icdh.uncertainty.losses import direction_loss, hidden_loss, mean_and_spread_loss
from icdh.uncertainty.posterior import GraphPosterior
from icdh.uncertainty.resampling import Resample

__all__ = [
    "EdgeBelief",
    "GraphEnsemble",
    "GraphPosterior",
    "Resample",
    "direction_loss",
    "hidden_loss",
    "mean_and_spread_loss",
]
