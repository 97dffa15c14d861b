"""Tables drawn from structural equation models whose graph, mean and spread are known.

Draw a graph, then observations from it::

    graph = simulate.erdos_renyi(10, 2, random_state=0)
    data = simulate.simulate_sem(graph, 1000, mechanism="mlp", noise="exp-bounded", random_state=0)
    data.X, data.adjacency, data.report()
"""

from icdh.simulate.random_graphs import GRAPHS, bipartite, erdos_renyi, relabel, scale_free
from icdh.simulate.sem import (
    Report,
    SimulatedData,
    SimulatedExperiments,
    r2_sortability,
    simulate_experiments,
    simulate_sem,
    varsortability,
)

__all__ = [
    "GRAPHS",
    "Report",
    "SimulatedData",
    "SimulatedExperiments",
    "bipartite",
    "erdos_renyi",
    "r2_sortability",
    "relabel",
    "scale_free",
    "simulate_experiments",
    "simulate_sem",
    "varsortability",
]
