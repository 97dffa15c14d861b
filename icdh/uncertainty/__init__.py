"""How sure is every edge.

ensemble: graphs with weights, and what they say of edges, ancestors and paths
  <- resampling: the graphs of many resamples of the rows
  <- posterior: graphs drawn from their probability given the data
directions: what a graph loses if an arrow points the other way
"""

from icdh.uncertainty.directions import direction_loss
from icdh.uncertainty.ensemble import EdgeBelief, GraphEnsemble
from icdh.uncertainty.posterior import GraphPosterior, posterior
from icdh.uncertainty.resampling import Resample, bootstrap

__all__ = ["EdgeBelief", "GraphEnsemble", "GraphPosterior", "Resample", "bootstrap", "direction_loss", "posterior"]
