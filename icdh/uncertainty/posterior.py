"""The probability of graphs given the data, from the evidence of their families.

The evidence holds for one distribution of the noise, and if the model is true. Neither is certain, and by Bayes' rule
alone wrong edges are nearly sure. So two averages are taken, each over posteriors:

- over the noise, if the search chose it. Student's t, of which the Gaussian is a limit, counts most. Where noise passes
  a curve, the choices differ by hundreds of nats about an arrow, and their own evidence does not tell which is right.
- over the share of the log evidence that counts, uniform in (0, 1), by Gauss-Legendre nodes. A power of the likelihood
  is the posterior given that the data are only near the model. Twenty nats against an edge leave it 3.5 %.

References
----------
Yao, Vehtari, Simpson, Gelman, "Using stacking to average Bayesian predictive distributions", Bayesian Analysis 13
(2018).
Miller, Dunson, "Robust Bayesian inference via coarsening", Journal of the American Statistical Association 114 (2019).
Grünwald, van Ommen, "Inconsistency of Bayesian inference for misspecified linear models, and a proposal for repairing
it", Bayesian Analysis 12 (2017).
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icdh._estimators.hnm_search import HNMSearch
from icdh._utils.arrays import Floats, Integers, Mask
from icdh._utils.checks import Number
from icdh._utils.clock import Clock, OutOfTime
from icdh.exceptions import option
from icdh.graphs import causes_first
from icdh.search.climb import Graph, parents_matrix
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

NOISES = {"student": 0.8, "gaussian": 0.1, "auto": 0.1}  # log score 0.188; 0.199 of Student alone, 0.265 of "auto"
NODES = 4  # of the share of the evidence
BELIEVED = 0.2  # share of `binary_effect_penalty` that the data of two values and numbers bear out: odds of 2 to 1


@dataclass(frozen=True)
class GraphPosterior(GraphEnsemble):
    """Graphs drawn from their posterior.

    Attributes
    ----------
    best : ndarray of bool, shape (N, N), or None
        The graph of the highest posterior among all that were weighed, by the noise of the search; None for more than
        22 variables, or if gaps were imputed.
    log_odds : float
        The log posterior odds of ``best`` against the graph of the search, at the temperature, by default 1; NaN if
        ``best`` is None.
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
    max_parents: int = 5,
    temperature: float | None = None,
    n_samples: int = 5000,
    random_state: int = 0,
    max_seconds: float | None = None,
    callback: Callable[..., object] | None = None,
) -> GraphPosterior:
    """Return the probability of graphs given the data, from the evidence of their families, without another search.

    Every family of at most ``max_parents`` causes among the best candidates of each variable is weighed. Up to 22
    variables, orders are drawn independently from sums over all orders, then a graph is drawn given each order. This
    favours graphs that are consistent with many orders. The weights correct it: the prior over graphs is that of the
    search, exp(-``edge_penalty_``) for every edge. Of ``binary_effect_penalty`` a fifth counts, by default one nat. For
    more variables a Metropolis walk draws the orders, and the bias remains. If gaps were imputed, the result is the
    mean over the imputations, each of which counts as a complete table. Of a table of more than 20,000 rows it is the
    posterior given 10,000 of them, evenly spread.

    Parameters
    ----------
    model : HNMSearch
        Fitted.
    n_candidates : int
        Number of candidates of a variable, by default 8. Every further candidate doubles the time.
    max_parents : int
        The most causes of a family, by default 5. The learned families and their neighbours are weighed in any case.
        With 3 the true families of dense tables are not weighed, and the posterior is sure of wrong graphs; ten
        variables then take 0.3 to 0.5 of the time.
    temperature : float, optional
        The divisor of the evidence; the prior over graphs is not divided. 1 is Bayes' rule, by the noise of the search.
        By default the share of the evidence that counts is unknown, and so is the noise unless
        ``noise_distribution`` names one: the posterior is the mean over both. If rows depend on one another, by
        ``groups`` or ``sequence`` of ``fit``, the divisor is multiplied by the largest design effect of two columns.
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
    Number(0, above=True, optional=True).check("temperature", temperature)
    Number(0, integer=True).check("random_state", random_state)
    Number(0, above=True, optional=True).check("max_seconds", max_seconds)
    clock = Clock(max_seconds).followed_by(callback)
    limits = {"n_candidates": n_candidates, "max_parents": max_parents}
    fits = getattr(model, "imputations_", [model])
    drawn = [_of_fit(fit, temperature, n_samples, random_state, clock, **limits) for fit in fits]
    return drawn[0] if len(drawn) == 1 else _mean(drawn, [1.0 / len(drawn)] * len(drawn))


def _of_fit(
    fit: HNMSearch, temperature: float | None, n_samples: int, random_state: int, clock: Clock, **limits: int
) -> GraphPosterior:
    """Return the posterior that the families of one search give."""
    found = fit.found_graph()
    scores = found.scores.copy(clock)  # the fit stays as it is
    noise, effect, prices = scores.noise, scores.models.largest_design_effect(), scores.families.edge_penalty
    believed = fit.edge_penalty_ + BELIEVED * (prices - fit.edge_penalty_)
    noises = NOISES if scores.chooses_noise and not temperature else {noise: 1.0}
    divisors = {temperature: 1.0} if temperature else _divisors()
    weighed = {}
    try:
        for name in noises:
            scores.noise = name
            weighed[name] = weigh_families(scores, found.graph, found.table.rules, **limits)
    except OutOfTime:
        raise TimeoutError(
            f"{option('max_seconds', clock.max_seconds)} were over before the evidence of all families was known: "
            "there are no probabilities"
        ) from None

    def tempered(name: str, divisor: float, prior: Floats = believed) -> WeighedFamilies:
        return weighed[name].tempered(divisor * effect, prior - prices / divisor)  # a divided score lacks a part

    names, rng = fit.model_.names, np.random.default_rng(random_state)
    parts = {(name, divisor): noises[name] * divisors[divisor] for name in noises for divisor in divisors}
    drawn = [
        draw_posterior(tempered(*part), found.graph, names, math.ceil(share * n_samples), rng)
        for part, share in parts.items()
    ]
    mixed = _mean(drawn, list(parts.values()))
    if len(found.graph) <= MOST_VARIABLES:
        families = tempered(noise, temperature or 1.0, prices)
        parents, best = best_graph(families)
        mixed = replace(mixed, best=parents_matrix(parents), log_odds=best - families.log_weight(found.graph))
        mixed = replace(mixed, direction_loss=direction_loss(fit, clock=clock))
    return _in_users_columns(mixed, found.table.order, fit.adjacency_matrix_ != 0.0)


def _divisors() -> dict[float, float]:
    """Return the probabilities of divisors of the evidence: its share is uniform."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return dict(zip((2.0 / (1.0 + nodes)).tolist(), (0.5 * weights).tolist(), strict=True))


def _mean(posteriors: Sequence[GraphPosterior], shares: Sequence[float]) -> GraphPosterior:
    """Return the mean of posteriors, each of a share of the probability, without a best graph."""
    every = np.concatenate([share * one.weights for one, share in zip(posteriors, shares, strict=True)])
    graphs, where = np.unique(np.concatenate([one.graphs for one in posteriors]), axis=0, return_inverse=True)
    effective = 1.0 / sum(share**2 / one.effective_samples for one, share in zip(posteriors, shares, strict=True))
    weights = np.bincount(where.ravel(), every).astype(np.float64)
    return GraphPosterior(posteriors[0].names, graphs, weights, None, np.nan, effective)


def _in_users_columns(drawn: GraphPosterior, order: Integers, dag: Mask) -> GraphPosterior:
    """Return the posterior with the user's columns in their order, from that of the search's columns.

    ``dag`` is the graph of the fit, shape (N, N): its edges at columns that do not vary were required.
    """
    columns = order < len(drawn.names)  # the others are conditions of an experiment

    def widened(graphs: Mask) -> Mask:
        full = np.tile(dag, (len(graphs), 1, 1))
        full[:, order[columns, np.newaxis], order[columns]] = graphs[:, columns][:, :, columns]
        return full

    best = None if drawn.best is None else widened(drawn.best[np.newaxis])[0]
    return replace(drawn, graphs=widened(drawn.graphs), best=best)


def draw_posterior(
    families: WeighedFamilies, graph: Graph, names: list[Hashable], n_samples: int, rng: np.random.Generator
) -> GraphPosterior:
    """Draw graphs from their posterior; parameters as of `posterior`.

    Parameters
    ----------
    families : WeighedFamilies
        The log weights of families.
    graph : tuple
        The parents of every node in the graph that a search found, where a walk begins.
    names : list of str
        Labels.
    n_samples : int
        How many graphs to draw.
    rng : Generator
        The only source of randomness.
    """
    walks = families.n_variables > MOST_VARIABLES
    if walks:
        orders = walk(families, np.array(causes_first(graph)), n_samples, rng)
    else:
        orders = independent_orders(families, n_samples, rng)
    graphs, counts = np.unique(draw_graphs(families, orders, rng), axis=0, return_counts=True)
    if walks:
        return GraphPosterior(names, graphs, counts / counts.sum(), None, np.nan, np.nan)
    memory = np.empty(1 << families.n_variables)
    weights = counts / np.array([n_orders_of(graph, memory) for graph in graphs])
    weights /= weights.sum()
    return GraphPosterior(names, graphs, weights, None, np.nan, 1.0 / float(np.square(weights) @ (1.0 / counts)))
