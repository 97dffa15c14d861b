"""The probability of graphs given the data, from the evidence of their families."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icdh._estimators.hnm_search import HNMSearch
from icdh._utils.arrays import Floats, Integers, Mask
from icdh._utils.checks import Number
from icdh._utils.clock import Clock, OutOfTime
from icdh.exceptions import option
from icdh.graphs import causes_first
from icdh.search.moves import Graph, parents_matrix
from icdh.search.orders import (
    MOST_VARIABLES,
    WeighedFamilies,
    best_graph,
    draw_graphs,
    independent_orders,
    n_orders_of,
    walk,
    weigh_families,
)
from icdh.uncertainty.ensemble import GraphEnsemble
from icdh.uncertainty.losses import check_searched, direction_loss

TEMPERATURE = 1.75  # of 1 to 2.5 the best log score, 0.208 for 0.223 of 1, on 302 tables of their own


@dataclass(frozen=True)
class GraphPosterior(GraphEnsemble):
    """Graphs drawn from their posterior.

    Attributes
    ----------
    best : ndarray of bool, shape (N, N), or None
        The graph of the highest posterior among all that were weighed; None for more than 22 variables, or if gaps
        were imputed.
    log_odds : float
        The log posterior odds of ``best`` against the graph of the search, at the temperature; NaN if ``best`` is
        None.
    effective_samples : float
        The number of independent draws with the same precision; NaN for a walk, whose draws are not independent.
    direction_loss : ndarray, shape (N, N), or None
        That of the fit's arrows, as of `icdh.uncertainty.direction_loss`; None wherever ``best`` is None.
    """

    best: Mask | None
    log_odds: float
    effective_samples: float
    direction_loss: Floats | None = None


def posterior(
    model: HNMSearch,
    *,
    n_candidates: int = 8,
    max_parents: int = 3,
    temperature: float = TEMPERATURE,
    n_samples: int = 5000,
    random_state: int = 0,
    max_seconds: float | None = None,
    callback: Callable[..., object] | None = None,
) -> GraphPosterior:
    """Return the probability of graphs given the data, from the evidence of their families, without another search.

    Every family of at most ``max_parents`` causes among the best candidates of each variable is weighed. Up to 22
    variables, orders are drawn independently from sums over all orders, then a graph is drawn given each order. This
    favours graphs that are consistent with many orders. The weights correct it: the prior over graphs is that of the
    search, exp(-``edge_penalty_``) for every edge. For more variables a Metropolis walk draws the orders, and the bias
    remains. If gaps were imputed, the result is the mean over the imputations. Of a table of more than 20,000 rows it
    is the posterior given 10,000 of them, evenly spread.

    Parameters
    ----------
    model : HNMSearch
        Fitted.
    n_candidates : int
        Number of candidates of a variable, by default 8. Every further candidate doubles the time.
    max_parents : int
        The most causes of a family, by default 3. The learned families and their neighbours are weighed in any case.
    temperature : float
        The divisor of the evidence, by default 1.75; the prior over graphs is not divided. 1 is Bayes' rule. It is
        overconfident, as the same evidence chose noise, transform and minima. On 194 simulated tables of eight kinds,
        50 to 1000 rows, edges of probability 0.9 and more have 0.994 in the mean under both. Of them 0.956 are there
        under 1 and 0.978 under 1.75; in 50 rows, 0.84 and 0.91. If rows depend on one another, by ``groups`` or
        ``sequence`` of ``fit``, the divisor is multiplied by the largest design effect of two columns.
    n_samples : int
        Number of graphs to draw, by default 5000.
    random_state : int
        The only source of randomness, by default 0.
    max_seconds : float, optional
        How long the evidence of the families may take.
    callback : callable, optional
        If it has a method ``follow``, as `icdh.Progress` has, that method receives the clock, which names the current
        task.

    Returns
    -------
    GraphPosterior
        The different graphs drawn, their weights, and the best graph of all.

    Raises
    ------
    NotFittedError
        Before ``fit``.
    TimeoutError
        If ``max_seconds`` ended before all families were scored.
    ValueError, TypeError
        If an argument is not what it should be.

    References
    ----------
    Ellis and Wong, "Learning causal Bayesian network structures from experimental data", JASA 103 (2008), section 3.

    Examples
    --------
    >>> from icdh import HNMSearch, posterior
    >>> from icdh.datasets import load_sachs
    >>> model = HNMSearch(noise_distribution="gaussian").fit(load_sachs().data[:200, :4])
    >>> posterior(model).edge_probability.shape
    (4, 4)
    """
    check_searched(model)
    for name, value in (("n_candidates", n_candidates), ("max_parents", max_parents), ("n_samples", n_samples)):
        Number(1, integer=True).check(name, value)
    Number(0, above=True).check("temperature", temperature)
    Number(0, integer=True).check("random_state", random_state)
    Number(0, above=True, optional=True).check("max_seconds", max_seconds)
    clock = Clock(max_seconds).followed_by(callback)
    limits = {"n_candidates": n_candidates, "max_parents": max_parents}
    fits = getattr(model, "imputations_", [model])
    drawn = [_of_fit(fit, temperature, n_samples, random_state, clock, **limits) for fit in fits]
    return drawn[0] if len(drawn) == 1 else _averaged(drawn)


def _of_fit(
    fit: HNMSearch, temperature: float, n_samples: int, random_state: int, clock: Clock, **limits: int
) -> GraphPosterior:
    """Return the posterior that the families of one search give."""
    found = fit.found_graph()
    scores = found.scores.copy(clock)  # the fit stays as it is
    untempered = 1.0 - 1.0 / temperature  # share of the prices that a divided score lacks
    try:
        families = weigh_families(
            scores,
            found.graph,
            found.table.rules,
            **limits,
            temperature=temperature * scores.models.largest_design_effect(),
            prices=untempered * scores.families.edge_penalty,
        )
    except OutOfTime:
        raise TimeoutError(
            f"{option('max_seconds', clock.max_seconds)} were over before the evidence of all families was known: "
            "there are no probabilities"
        ) from None
    drawn = draw_posterior(families, found.graph, fit.model_.names, n_samples=n_samples, random_state=random_state)
    loss = None if drawn.best is None else direction_loss(fit, clock=clock)
    return replace(_in_users_columns(drawn, found.table.order, fit.adjacency_matrix_ != 0.0), direction_loss=loss)


def _averaged(posteriors: Sequence[GraphPosterior]) -> GraphPosterior:
    """Return the mean of posteriors, each given other values in the gaps."""
    graphs, where = np.unique(np.concatenate([one.graphs for one in posteriors]), axis=0, return_inverse=True)
    weights = np.bincount(where.ravel(), np.concatenate([one.weights for one in posteriors])) / len(posteriors)
    effective = sum(one.effective_samples for one in posteriors)
    return GraphPosterior(posteriors[0].names, graphs, weights, None, np.nan, effective)


def _in_users_columns(drawn: GraphPosterior, order: Integers, dag: Mask) -> GraphPosterior:
    """Return the posterior with the user's columns in their order, from that of the search's columns.

    ``dag`` is the graph of the fit, shape (N, N): its edges at columns that do not vary were required.
    """
    variables = len(drawn.names)
    columns = order < variables  # the others are conditions of an experiment

    def widened(graphs: Mask) -> Mask:
        full = np.tile(dag, (len(graphs), 1, 1))
        full[:, order[columns, np.newaxis], order[columns]] = graphs[:, columns][:, :, columns]
        return full

    best = None if drawn.best is None else widened(drawn.best[np.newaxis])[0]
    return replace(drawn, graphs=widened(drawn.graphs), best=best)


def draw_posterior(
    families: WeighedFamilies, graph: Graph, names: list[Hashable], *, n_samples: int, random_state: int
) -> GraphPosterior:
    """Draw graphs from their posterior; parameters as of `posterior`.

    Parameters
    ----------
    families : WeighedFamilies
        The log weights of families.
    graph : tuple
        The parents of every node in the graph that a search found.
    names : list of str
        Labels.
    n_samples : int
        How many graphs to draw.
    random_state : int
        The only source of randomness.
    """
    rng = np.random.default_rng(random_state)
    if families.n_variables > MOST_VARIABLES:
        orders, _ = walk(families, np.array(causes_first(graph)), n_samples, rng)
    else:
        orders = independent_orders(families, n_samples, rng)
    graphs, counts = np.unique(draw_graphs(families, orders, rng), axis=0, return_counts=True)
    if families.n_variables > MOST_VARIABLES:
        return GraphPosterior(names, graphs, counts / counts.sum(), None, np.nan, np.nan)
    memory = np.empty(1 << families.n_variables)
    weights = counts / np.array([n_orders_of(graph, memory) for graph in graphs])
    weights /= weights.sum()
    parents, best = best_graph(families)
    odds = best - sum(float(families.weights[node, families.index(node, causes)]) for node, causes in enumerate(graph))
    effective = 1.0 / float(np.square(weights) @ (1.0 / counts))
    return GraphPosterior(names, graphs, weights, parents_matrix(parents), float(odds), effective)
