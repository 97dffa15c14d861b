"""How sure the direction of an arrow is: the nats that a graph loses if the arrow points the other way."""

import math
from collections.abc import Iterable
from contextlib import suppress
from functools import cache

import numpy as np

from icdh._estimators.graph_search import cheap_gains
from icdh._estimators.hnm_search import HNMSearch
from icdh._ground.arrays import Floats
from icdh._ground.clock import Clock, OutOfTime
from icdh._ground.threads import single_blas_thread
from icdh._node_model.table_gains import TableGains
from icdh.search.climb import MIN_GAIN, Climber
from icdh.search.directions import Loss, direction_losses, exact_direction_losses
from icdh.search.orders import weigh_families


def direction_loss(model: HNMSearch, *, clock: Clock | None = None) -> Floats:
    """Return how many nats of evidence the best graph loses in which an arrow points the other way.

    For every arrow the search goes on from the graph with that arrow turned, and from an equivalent graph if there is
    one. In a table of labels alone, of up to 12 variables, the best of all graphs counts instead; there families have
    tables of probabilities (BDeu), and all graphs of an equivalence class tie. A small loss means that the data hardly
    tell the direction. A large loss means that this model prefers the direction, not that the model is right. Below
    zero, the search missed the better graph.

    Parameters
    ----------
    model : HNMSearch
        Fitted; it stays as it is.
    clock : Clock, optional
        When to stop, and what it is told of the progress; by default never.

    Returns
    -------
    ndarray, shape (N, N)
        [i, j] is the loss of the arrow i -> j, in nats, of a table of more than 20,000 rows in those of 10,000 of them;
        infinite if knowledge settles its direction. NaN if there is no arrow, if the search ended early, or if time ran
        out.

    Raises
    ------
    NotFittedError
        Before ``fit``.

    Examples
    --------
    >>> from icdh import HNMSearch
    >>> from icdh.datasets import load_sachs
    >>> from icdh.uncertainty import direction_loss
    >>> model = HNMSearch(noise_distribution="gaussian").fit(load_sachs().data[:200, :4])
    >>> direction_loss(model).shape
    (4, 4)
    """
    found, dag = model.found_graph(), model.adjacency_matrix_ != 0
    order, rules = found.table.order, found.table.rules
    loss = np.full(dag.shape, np.nan)
    if found.interrupted or found.timed_out:
        return loss
    place = {int(column): node for node, column in enumerate(order)}
    varying = [edge for edge in np.argwhere(dag).tolist() if place.keys() >= set(edge)]
    edges = [(place[cause], place[effect]) for cause, effect in varying]
    scores = found.scores.copy()
    settled = rules.settled
    for i, j in edges:
        if settled[i, j]:
            loss[order[i], order[j]] = math.inf
    edges = [edge for edge in edges if not settled[edge]]
    gains = cheap_gains(scores, found.graph)

    @cache
    def design_effects(node: int) -> Floats:
        family = node, found.graph[node]
        return np.asarray(found.scores.families.design_effects(family, found.scores.fit_of(family)))

    with suppress(OutOfTime), single_blas_thread(), scores.limited(clock or Clock()):
        if isinstance(gains, TableGains) and not gains.has_grades and len(found.graph) <= 12:
            others = len(found.graph) - 1  # all graphs of families of at most four causes
            families = weigh_families(gains.scores, found.graph, rules, n_candidates=others, max_parents=4)
            exact = exact_direction_losses(families, edges)
            losses: Iterable[Loss] = ((edge, nats if nats > MIN_GAIN else 0.0) for edge, nats in exact)
        else:
            climber = Climber(scores, rules, model.max_parents)
            losses = direction_losses(climber, found.graph, edges, gains)
        for (i, j), nats in losses:
            loss[order[i], order[j]] = nats / design_effects(j)[found.graph[j].index(i)]
    return loss
