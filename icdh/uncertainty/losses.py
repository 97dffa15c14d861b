"""What an arrow is worth: the nats that a graph loses if it is turned, a hidden common cause, or acts on less.

Under i -> j the causes of i reach j through i. Under a hidden common cause of i and j they do not: what i and j share
is the innovation of i alone, its standardised residual given its own causes. So the innovation of i takes the place of
i among the causes of j, or that of j becomes a cause of i in place of the arrow. The smaller loss counts. Causes that
are of no more use then are left out. Where i has no causes, both readings are the same, and no data tell them apart.

Does a cause act on the mean of its effect, on its spread, or on both? That tells what the evidence loses without it in
each. The node model of `icdh._node_model.network` shares its hidden units, so mean and log-variance have the same
causes. Here m units feed the mean alone, and m further ones the log-variance alone: one node model of 2 m units some of
whose weights are held at zero. Odds of point masses go with the mean. Two copies of the shared units compute what they
do, so its fit begins there, and that without a cause in one half begins at the fit of both.

A mean that misses its curve leaves squares that look like spread. So the units are as many as the search gave the
node. Heavy tails look like spread, too: the noise is that of the search. In tables of 1000 rows 1 % of the causes that
do not act on mean or spread seem to, by ten nats, under Gaussian and Laplace noise; 3 to 7 % under Student's t with
three degrees of freedom (20 % if noise is taken for Gaussian). Linear, additive and constant rivals of the networks do
not lower that, nor do residuals made Gaussian. Where a graph lacks a cause, others may take its part in the spread.

References
----------
Zhang, "Causal reasoning with ancestral graphs", JMLR 9 (2008): visible edges.
Mani, Spirtes, Cooper, "A theoretical study of Y structures for causal discovery", UAI 2006.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from icdh._estimators.graph_search import LearnedGraph
from icdh._estimators.hnm_search import HNMSearch
from icdh._model.structural import StructuralModel
from icdh._node_model.evidence import Layers, NodeFit, Start
from icdh._node_model.family_models import FamilyModels
from icdh._node_model.response import Response
from icdh._node_model.score import FamilyScore
from icdh._node_model.screening import TableGains
from icdh._table.transforms import is_heavy_tailed, normal_scores
from icdh._utils.arrays import Floats, Integers, Mask
from icdh._utils.clock import Clock, OutOfTime
from icdh._utils.parallel import single_blas_thread
from icdh.exceptions import ArgumentTypeError
from icdh.knowledge import EdgeRules
from icdh.search.climb import MIN_GAIN, Climber, Family, Graph, toggled, with_ancestors
from icdh.search.directions import Loss, direction_losses, exact_direction_losses
from icdh.search.orders import weigh_families

Number = TypeVar("Number", np.float64, np.int64)
MOST_ROWS = 2500  # of more rows so many tell, evenly spread
FEW_STEPS = 20  # then a loss that is large need not be exact
INEXACT = 0.03  # share of a loss that ends its fit


class SplitNetwork:
    """A network of 2 m hidden units, half of which feed the spread alone, and half all other outputs.

    Parameters
    ----------
    response : Response
        The node.
    n_inputs, hidden_units : int
        p and m.
    """

    def __init__(self, response: Response, n_inputs: int, hidden_units: int):
        self.n_inputs, self.units = n_inputs, hidden_units
        self.shared, self.spread = Layers.of(response, n_inputs, hidden_units), response.law.spread

    def _parts(self, of_weights: NDArray[Number]) -> tuple[NDArray[Number], NDArray[Number]]:
        """Return what belongs to weights of the shared units: of the first layer, and of each output."""
        size = (self.n_inputs + 1) * self.units
        return of_weights[:size].reshape(-1, self.units), of_weights[size:].reshape(-1, self.units + 1)

    def _half(self, of_spread: bool) -> slice:
        return slice(self.units, None) if of_spread else slice(None, self.units)

    def _split(self, outputs: NDArray[Number], elsewhere: float) -> NDArray[Number]:
        """Return what belongs to weights of outputs on both halves, given that on the shared units."""
        split = np.full((len(outputs), 1 + 2 * self.units), elsewhere, dtype=outputs.dtype)
        split[:, 0] = outputs[:, 0]
        for k, own in enumerate(outputs):
            split[k, 1:][self._half(k == self.spread)] = own[1:]
        return split

    def like(self, fit: NodeFit) -> Start:
        """Return the weights, and precisions, that compute what a fit of m shared units does."""
        first, outputs = self._parts(fit.theta)
        theta = np.append(np.hstack([first, first]), self._split(outputs, 0.0))
        return Start(theta, np.append(fit.precision[0], fit.precision), layers=self.layers())

    def layers(self, left_out: Integers | None = None, of_spread: bool = False) -> Layers:
        """Return the layers if some inputs are left out of the spread, or out of all other outputs.

        Input weights of the first half are layer 0, those of the second layer 1.
        """
        K, half = self.shared.number + 1, self._half(of_spread)
        first, outputs = (part + 1 for part in self._parts(self.shared.of_weights))
        first, outputs = np.hstack([first - 1, first]), self._split(outputs, K + 1)
        if left_out is not None:
            first[left_out, half] = K + 1
            if left_out.size == self.n_inputs:  # units without inputs are constants
                first[:, half] = outputs[:, 1:][:, half] = K + 1
        return Layers(np.append(first, outputs), K, first.size + outputs.size)


def mean_and_spread_losses(scores: FamilyScore, family: Family) -> Floats:
    """Return what the evidence loses without each cause in the mean alone, and in the spread alone.

    Parameters
    ----------
    scores : FamilyScore
        What scored the family.
    family : tuple
        The node and its parents.

    Returns
    -------
    ndarray, shape (2, p)
        Nats; below zero where the cause is better left out. NaN if the effect is no number, or has no fit.
    """
    scores.clock.check()
    families, (node, parents), fit = scores.families, family, scores.fit_of(family)
    losses, response = np.full((2, len(parents)), np.nan), families.responses[node]
    if response.law.spread is None or not fit.succeeded:
        return losses
    some = FamilyModels(families.subsample(MOST_ROWS)) if families.n_observations > MOST_ROWS else scores.models

    def fitted(start: Start) -> tuple[NodeFit, float]:
        """Return a fit from some weights, and its score; the precisions stay those of the shared units."""
        split = some.fit(family, 2 * fit.hidden_units, start._replace(precision_updates=0))
        if response.density is None or some.design_effects is not None:  # weights count dependent rows as fewer
            return split, split.evidence
        residuals, _ = some.residuals(family, split)
        return split, some.score_of_residuals(family, split.evidence, residuals, scores.noise)

    inputs = np.repeat(np.arange(len(parents)), families.widths[list(parents)])
    network = SplitNetwork(response, inputs.size, fit.hidden_units)
    whole, score = fitted(network.like(fit))
    for part, k in np.ndindex(losses.shape):
        layers = network.layers(np.flatnonzero(inputs == k), part == 1)
        start = Start(np.where(layers.held, 0.0, whole.theta), whole.precision, layers=layers)
        split, without = fitted(start._replace(max_steps=FEW_STEPS))
        if not split.converged:
            _, without = fitted(start._replace(theta=split.theta, tol=max(start.tol, INEXACT * (without - score))))
        losses[part, k] = without - score
    return losses


def check_searched(model: object) -> None:
    """Raise TypeError unless a model is an estimator whose fit keeps the evidence of families."""
    if not isinstance(model, HNMSearch):
        raise ArgumentTypeError("model", f"must be a fitted HNMSearch; got {type(model).__name__}")


def direction_loss(model: HNMSearch, *, clock: Clock | None = None) -> Floats:
    """Return how many nats of evidence the best graph loses in which an arrow points the other way.

    For every arrow the search goes on from the graph with that arrow turned, and from an equivalent graph if there is
    one. In a table of labels alone, of up to 12 variables, the best of all graphs counts instead. There families have
    tables of probabilities (BDeu), and all graphs of an equivalence class tie. A small loss means that the data hardly
    tell the direction. A large loss means that this model prefers the direction, not that the model is right. Below
    zero, the search missed the better graph.

    Where the search chose the noise, the loss is the less of two: by that noise, and by Student's t of the same two
    graphs, a gain counted as zero. In 173 public tables whose columns have an order, 71 % of the arrows that lose six
    nats so point forward, and 57 % of the others; by the noise of the search alone 64 and 55 %. Noise that is evenly
    spread tells a direction that Student's t does not see: name it by ``noise_distribution="free"``.

    Parameters
    ----------
    model : HNMSearch
        Fitted; it stays as it is.
    clock : Clock, optional
        When to stop, and what receives the progress; by default never.

    Returns
    -------
    ndarray, shape (N, N)
        [i, j] is the loss of the arrow i -> j, in nats, of a table of more than 20,000 rows in those of 10,000 of them;
        infinite if knowledge settles its direction. NaN if there is no arrow, if the search ended early, or if time
        ran out.

    Raises
    ------
    NotFittedError
        Before ``fit``.
    TypeError
        If the model is anything but an HNMSearch.

    Examples
    --------
    >>> from icdh import HNMSearch
    >>> from icdh.datasets import load_sachs
    >>> from icdh.uncertainty import direction_loss
    >>> model = HNMSearch(noise_distribution="gaussian").fit(load_sachs().data[:200, :4])
    >>> direction_loss(model).shape
    (4, 4)
    """
    check_searched(model)
    found, dag = model.found_graph().copy(clock), model.adjacency_matrix_ != 0
    order, rules, scores = found.table.order, found.table.rules, found.scores
    loss = np.full(dag.shape, np.nan)
    if found.interrupted or found.timed_out:
        return loss
    place = {int(column): node for node, column in enumerate(order)}
    varying = [edge for edge in np.argwhere(dag).tolist() if place.keys() >= set(edge)]
    edges = [(place[cause], place[effect]) for cause, effect in varying]
    settled = rules.settled
    for i, j in edges:
        if settled[i, j]:
            loss[order[i], order[j]] = np.inf
    edges = [edge for edge in edges if not settled[edge]]
    with suppress(OutOfTime), single_blas_thread():
        gains, factor = scores.closed_form_gains(found.graph), _factor_of_edges(found)
        if isinstance(gains, TableGains) and not gains.has_grades and len(found.graph) <= 12:
            others = len(found.graph) - 1  # all graphs of families of at most four causes
            families = weigh_families(gains.scores, found.graph, rules, n_candidates=others, max_parents=4)
            losses: Iterable[Loss] = exact_direction_losses(families, edges)
        else:
            decided = found.decided
            by_subsample = [edge for edge in edges if edge[1] not in decided]
            climbers = _climbers(scores, rules, model.max_parents)
            losses = direction_losses(*climbers, found.by_subsample or found.graph, by_subsample, gains)
            if found.whole is not None and len(by_subsample) < len(edges):
                by_all = [edge for edge in edges if edge[1] in decided]
                share = scores.families.share()  # one unit for all
                turned = direction_losses(*_climbers(found.whole, rules, model.max_parents), found.graph, by_all)
                losses = chain(losses, ((edge, nats * share[edge[1]]) for edge, nats in turned))
        for (i, j), nats in losses:
            loss[order[i], order[j]] = nats * factor(i, j)
    return loss


def _climbers(scores: FamilyScore, rules: EdgeRules, max_parents: int) -> tuple[Climber, Climber | None]:
    """Return climbers by the noise of a search and, if the search chose it, by Student's t."""
    climber = Climber(scores, rules, max_parents)
    return climber, Climber(scores.by_noise("student"), rules, max_parents) if scores.chooses_noise else None


def _factor_of_edges(found: LearnedGraph) -> Callable[[int, int], float]:
    """Return the factor of log evidence of an edge, given its ends, where rows are dependent or were imputed."""

    @cache
    def design_effects(node: int) -> Floats:
        family = node, found.graph[node]
        return np.asarray(found.scores.models.design_effects_of(family, found.scores.fit_of(family)))

    def factor(cause: int, effect: int) -> float:
        seen = float(found.table.seen_together[cause, effect])
        return seen / float(design_effects(effect)[found.graph[effect].index(cause)])

    return factor


def hidden_loss(model: HNMSearch, *, clock: Clock | None = None) -> Floats:
    """Return how many nats of evidence are lost if an arrow is a hidden common cause of its two ends instead.

    An arrow that loses much would survive a common cause that is not in the table. One that loses little may be one.

    Parameters
    ----------
    model : HNMSearch
        Fitted; it stays as it is.
    clock : Clock, optional
        When to stop, and what receives the progress; by default never.

    Returns
    -------
    ndarray, shape (N, N)
        [i, j] is the loss of the arrow i -> j, in nats, of a table of more than 20,000 rows in those of 10,000 of
        them. NaN if there is no arrow or nothing is identified: if the cause has no causes itself, an
        end of the arrow has labels, levels or point masses, knowledge requires the arrow, some rows do not count, the
        search ended early, or time ran out.

    Raises
    ------
    NotFittedError
        Before ``fit``.
    TypeError
        If the model is anything but an HNMSearch.

    Examples
    --------
    >>> from icdh import HNMSearch
    >>> from icdh.datasets import load_sachs
    >>> from icdh.uncertainty import hidden_loss
    >>> model = HNMSearch(noise_distribution="gaussian").fit(load_sachs().data[:200, :4])
    >>> hidden_loss(model).shape
    (4, 4)
    """
    check_searched(model)
    clock = clock or Clock()
    found, dag = model.found_graph().copy(clock), model.adjacency_matrix_ != 0
    loss = np.full(dag.shape, np.nan)
    if found.interrupted or found.timed_out or found.table.rows is not None:
        return loss
    factor = _factor_of_edges(found)
    with suppress(OutOfTime), single_blas_thread():
        hidden = _HiddenCauses(found.scores, found.graph, found.table.rules.required, clock)
        for i, j in hidden.edges:
            column = found.table.order[i], found.table.order[j]
            if dag[column]:
                loss[column] = hidden.loss(i, j) * factor(i, j)
    return loss


def mean_and_spread_loss(model: HNMSearch, *, clock: Clock | None = None) -> tuple[Floats, Floats]:
    """Return how many nats of evidence are lost if a cause acts on the mean of its effect no more, or on its spread.

    Its part in the other stays. Ten nats are evidence that the cause acts on that part; below zero, the effect is
    better described without it. With a transform of the columns, all of this is of the transformed effect.

    Parameters
    ----------
    model : HNMSearch
        Fitted; it stays as it is.
    clock : Clock, optional
        When to stop, and what receives the progress; by default never.

    Returns
    -------
    tuple of ndarray, both of shape (N, N)
        [i, j] is the loss of the arrow i -> j, in nats, without i in the mean of j, and without i in its spread; of a
        table of more than 2500 rows in those of so many of them. NaN if there is no arrow, if the effect is no number,
        if the search ended early, or if time ran out.

    Raises
    ------
    NotFittedError
        Before ``fit``.
    TypeError
        If the model is anything but an HNMSearch.

    Examples
    --------
    >>> from icdh import HNMSearch
    >>> from icdh.datasets import load_sachs
    >>> from icdh.uncertainty import mean_and_spread_loss
    >>> model = HNMSearch(noise_distribution="gaussian").fit(load_sachs().data[:200, :4])
    >>> mean, spread = mean_and_spread_loss(model)
    >>> mean.shape
    (4, 4)
    """
    check_searched(model)
    found, dag = model.found_graph().copy(clock), model.adjacency_matrix_ != 0
    scores, order, graph = found.scores, found.table.order, found.among(dag)
    losses = np.full((2, found.table.n_columns, found.table.n_columns), np.nan)
    if not (found.interrupted or found.timed_out):
        families = [family for family in enumerate(graph) if family[1]]
        with suppress(OutOfTime), single_blas_thread():
            if graph != found.graph:
                scores.polish(families)
            scores(families)
            of_families = scores.run("separating mean and spread", partial(mean_and_spread_losses, scores), families)
            for (node, parents), of_family in zip(families, of_families, strict=True):
                losses[:, order[list(parents)], order[node]] = of_family
    mean, spread = losses[:, : len(dag), : len(dag)]
    return mean, spread


def with_losses(
    fitted: StructuralModel, model: HNMSearch, clock: Clock | None = None, turned: Floats | None = None
) -> StructuralModel:
    """Return a model that knows what is lost without its arrows as they are.

    Parameters
    ----------
    fitted : StructuralModel
        The model.
    model : HNMSearch
        What learned it.
    clock : Clock, optional
        When to stop, and what receives the progress; by default never.
    turned : ndarray, shape (N, N), optional
        Its `direction_loss`, if it is known.
    """
    clock = clock or Clock()
    mean, spread = mean_and_spread_loss(model, clock=clock)
    clock.stage = "reversing arrows"
    turned = direction_loss(model, clock=clock) if turned is None else turned
    clock.stage = "hidden common causes"
    lost = {"direction_loss": turned, "hidden_loss": hidden_loss(model, clock=clock)}
    known = replace(fitted.edge_evidence, **lost, mean_loss=mean, spread_loss=spread)
    return replace(fitted, edge_evidence=known)


class _HiddenCauses:
    """The families of a graph with innovations as further causes."""

    def __init__(self, scores: FamilyScore, graph: Graph, required: Mask, clock: Clock):
        self.graph, self.required = graph, required
        continuous = scores.families.fitted_by_least_squares
        self.edges = [
            (i, j)
            for j, parents in enumerate(graph)
            for i in parents
            if graph[i] and continuous[i] and continuous[j] and not required[i, j]
        ]
        self.without = {(i, j): self._pruned(scores, (j, toggled(graph[j], i))) for i, j in self.edges}
        known = [*((i, graph[i]) for i, _ in self.edges), *(family for family in self.without.values() if family[1])]
        families = list(dict.fromkeys(known))
        self.innovation = {family: len(graph) + k for k, family in enumerate(families)}
        innovations = [_innovation(scores, family) for family in families]
        fitted = [family for family in sorted(scores.fitted()) if family in scores]
        wider = scores.families.with_causes(innovations, [node for node, _ in families])
        self.scores = scores.on(wider, clock, fitted)

    def loss(self, i: int, j: int) -> float:
        """Return the nats lost if i -> j is a hidden common cause: the smaller loss of both ways to write it."""
        without, lines = self.without[i, j], with_ancestors(self.graph)
        ways = [[(j, toggled(toggled(self.graph[j], i), self.innovation[i, self.graph[i]]))]]
        if not any(lines[cause] >> i & 1 for cause in without[1]):
            ways.append([without, (i, toggled(self.graph[i], self.innovation.get(without, j)))])
        return min(map(self._loss, ways))

    def _loss(self, families: list[Family]) -> float:
        families = [self._pruned(self.scores, family) for family in families]
        if self._rise(families) < 30.0:  # nats that polish may change
            self.scores.polish(families)
            families = [self._pruned(self.scores, family) for family in families]
        return self._rise(families)

    def _rise(self, families: list[Family]) -> float:
        before = self.scores([(node, self.graph[node]) for node, _ in families])
        return float(sum(self.scores(families)) - sum(before))

    def _pruned(self, scores: FamilyScore, family: Family) -> Family:
        """Return a family without the causes that it is better without, the worst one first."""
        node, causes = family
        kept = {cause for cause in causes if cause < len(self.graph) and self.required[cause, node]}
        fewer = [(node, toggled(causes, cause)) for cause in causes if cause not in kept]
        if not fewer:
            return family
        whole, *others = scores([family, *fewer])
        best = int(np.argmin(others))
        return self._pruned(scores, fewer[best]) if others[best] < whole - MIN_GAIN else family


def _innovation(scores: FamilyScore, family: Family) -> Floats:
    """Return the standardised residual of a family, zero where observations do not count."""
    values = np.zeros(scores.families.n_observations)
    residual = scores.models.residual(family, scores.model_of(family), scores.fit_of(family))
    residual = residual / max(float(residual.std()), np.finfo(float).tiny)
    residual = normal_scores(residual) if is_heavy_tailed(residual) else residual
    values[scores.families.rows_of(family[0])] = residual
    return values
