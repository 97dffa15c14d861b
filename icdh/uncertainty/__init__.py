"""How sure is every edge.

ensemble: graphs with weights, and what they say of edges, ancestors and paths
  <- resampling: the graphs of many resamples of the rows
  <- posterior: graphs drawn from their probability given the data
turning: what a graph loses when an edge is turned round
"""

from icdh.uncertainty.ensemble import EdgeBelief, GraphEnsemble
from icdh.uncertainty.posterior import GraphPosterior, posterior
from icdh.uncertainty.resampling import Resample, bootstrap
from icdh.uncertainty.turning import turning_loss

__all__ = ["EdgeBelief", "GraphEnsemble", "GraphPosterior", "Resample", "bootstrap", "posterior", "turning_loss"]
