"""The last stage of the fast procedure: single edges, each judged by the likelihood that it brings.

At lambda1 = 0.01 and M = 1000 a unit of |W1| costs 10 nats in the objective of Phase II: that objective itself often
prefers a wrong graph to the true one. Here every family, a child given its causes, is fitted again by both phases
(`icdh.two_phase.family`), under penalties of a tenth of that, and a graph costs

    its negative log-likelihood + edge_cost for every edge, in nats over all observations.

From the DAG of the two phases edges are deleted while that pays. Then single edges are inserted, deleted and reversed
(`icdh.search`) until no change of one edge pays, and no detour that begins by detaching a node from all of its causes.
The families of such a graph, and those with a cause less, are fitted from fresh weights as well, and the search goes on
from there: families have minima hundreds of nats apart, and an edge must not stay because the fit without it ended in a
poor one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from icdh._table.transforms import normal_scores
from icdh._utils.arrays import Floats, Mask
from icdh._utils.clock import Clock, OutOfTime
from icdh._utils.parallel import single_blas_thread
from icdh.network import Weights, root_mean_square
from icdh.search.climb import FamilyScores
from icdh.search.escapes import SearchResult, greedy_search
from icdh.search.moves import Family, Graph, Move, price_of_width, toggled
from icdh.two_phase.family import TUNING as FAMILY_TUNING
from icdh.two_phase.family import FamilyFit, FamilyFitter, fit_from_network, with_families
from icdh.two_phase.objective import Problem
from icdh.two_phase.rounds import TwoPhaseResult

# Nats for a unit of lambda1 and lambda2: a tenth of what they are on 1000 rows. Like a prior, it does not grow with M.
NATS_PER_PENALTY = 0.1 * 1000


@dataclass(frozen=True)
class LastStageTuning:
    """Constants of the last stage, chosen by measurement.

    Attributes
    ----------
    most_passes : int
        Searches, each after the families of its graph were fitted from fresh weights.
    most_causes_at_first : int
        Of a child, the strongest; others that pay are inserted later.
    start : float
        Largest initial weight of an added cause, in 1 / (root mean square of the cause).
    few_observations : int
        Of longer tables, so many decide the graph.
    estimate_observations : int
        Of longer tables, so many serve for gain estimates.
    largest_score : float
        Of normal scores in the smooth functions of a cause.
    degrees : int
        Smooth functions of a cause: powers of its normal score and a step.
    """

    most_passes: int = 10
    most_causes_at_first: int = 10
    start: float = 0.3
    few_observations: int = 50_000
    estimate_observations: int = 10_000
    largest_score: float = 2.5
    degrees: int = 4


TUNING = LastStageTuning()


def price_of_edge(n_variables: int) -> float:
    """Return the default ``edge_cost`` in nats: 25 for tables of ten variables, and more for wide ones."""
    return 25.0 + price_of_width(n_variables)


def refine_edges(
    result: TwoPhaseResult,
    problem: Problem,
    *,
    edge_cost: float,
    threshold: float = 0.3,
    random_state: int = 0,
    callback: Callable[[Move], None] | None = None,
) -> TwoPhaseResult:
    """Insert, delete and reverse single edges until none pays; return the network refitted to the graph.

    Parameters
    ----------
    result : TwoPhaseResult
        What the two phases found.
    problem : Problem
        What they fitted.
    edge_cost : float
        Nats over all observations that an edge must gain.
    threshold : float
        Edges of smaller weight are no part of the graph that the stage begins with.
    random_state : int
        Draws the weights that added causes, and fresh fits, start from.
    callback : callable, optional
        Called with every move.

    Returns
    -------
    TwoPhaseResult
        The result with new ``weights``, and with ``moves``, ``cost`` and ``strength``. It is returned as it came if
        the time was over before all families of the first graph were fitted.
    """
    values, rules = problem.values, problem.rules
    every = -(-values.shape[1] // TUNING.few_observations)
    fitter = FamilyFitter(problem.of_every(every) if every > 1 else problem, NATS_PER_PENALTY)
    costs = FamilyCosts(fitter, edge_cost, random_state)
    dag = rules.dag(result.weights.adjacency(), threshold).adjacency
    influence = dag * root_mean_square(values)[:, np.newaxis]
    most = TUNING.most_causes_at_first
    graph = tuple(_strongest(influence[:, n], rules.required[:, n], most) for n in range(len(dag)))
    found = SearchResult(graph, [], False)
    improve = partial(greedy_search, costs, max_parents=len(values), callback=callback)
    no_more = rules._replace(forbidden=np.ones_like(rules.forbidden))
    with single_blas_thread():
        try:
            costs.begin(graph, result.weights)
            found = improve(no_more, start=found)
            strength = None
            for _ in range(TUNING.most_passes):
                if found.ended_early:
                    break
                before = found.graph
                found = improve(rules, start=found, escapes=True)
                if not costs.fit_afresh(found.graph) and found.graph == before:
                    break
            if not found.ended_early:
                strength = costs.strength(found.graph)
        except (OutOfTime, KeyboardInterrupt) as end:
            is_late = isinstance(end, OutOfTime)
            found, strength = found._replace(timed_out=is_late, interrupted=not is_late), None
            if not costs.knows(graph):
                return result._replace(converged=False, timed_out=is_late, interrupted=not is_late)
        fits = [costs.fits[family] for family in enumerate(found.graph)]
        if every > 1:
            whole = FamilyFitter(problem, NATS_PER_PENALTY).until(Clock())
            fits = _on_all_observations(whole, found.graph, fits, refit=not found.ended_early)
    return result._replace(
        weights=with_families(result.weights, dict(zip(enumerate(found.graph), fits, strict=True))),
        converged=not found.ended_early,
        interrupted=found.interrupted,
        timed_out=found.timed_out,
        moves=found.moves,
        cost=sum(fit.nats for fit in fits) + edge_cost * sum(map(len, found.graph)),
        strength=None if strength is None else every * strength,
    )


def _strongest(influence: Floats, required: Mask, most: int) -> tuple[int, ...]:
    """Return the strongest causes of a child. A family of dozens takes seconds to fit, and few of them pay."""
    causes = np.flatnonzero(influence)
    order = sorted(causes.tolist(), key=lambda i: (not required[i], -influence[i]))
    return tuple(sorted(order[: max(most, int(np.count_nonzero(required)))]))


class FamilyCosts(FamilyScores):
    """The cost of families for `icdh.search.escapes.greedy_search`: nats of the likelihood and the price of edges.

    A family is fitted from the weights of the fitted family nearest to it: two families that differ by an edge then
    compare that edge, and not two local minima. `fit_afresh` fits those of a graph from fresh weights, too.

    Parameters
    ----------
    fitter : FamilyFitter
        Fits families.
    edge_cost : float
        The price of an edge.
    random_state : int
        Draws the weights that added causes, and fresh fits, start from.
    """

    def __init__(self, fitter: FamilyFitter, edge_cost: float, random_state: int):
        self.fitter, self.edge_cost = fitter, edge_cost
        self.fits: dict[Family, FamilyFit] = {}
        self._fitted: dict[int, list[tuple[int, ...]]] = {child: [] for child in range(len(fitter.problem.values))}
        self._fitted_afresh: set[Family] = set()
        self._estimates: dict[Family, Floats] = {}
        self._functions: Floats | None = None
        self._random_state = random_state

    def begin(self, graph: Graph, weights: Weights) -> None:
        """Fit the families of a graph from the weights of a network."""
        values = self.fitter.problem.values
        self._units = weights.hidden_units
        size = len(values), self._units
        draws = np.random.default_rng(self._random_state).uniform(-TUNING.start, TUNING.start, size)
        rms = root_mean_square(values)
        self._starts = draws / np.where(rms > 0.0, rms, 1.0)[:, np.newaxis]
        self.fitter.problem.clock.begin("fitting families of the graph", len(values))
        for child, causes in enumerate(graph):
            self._keep((child, causes), fit_from_network(self.fitter, weights, child, causes))
            self._fit_afresh((child, causes))
            self.fitter.problem.clock.part_done()

    def knows(self, graph: Graph) -> bool:
        """Whether all families of a graph are fitted."""
        return all(family in self.fits for family in enumerate(graph))

    def __call__(self, families: Sequence[Family]) -> list[float]:
        """Return the cost of each family, in nats."""
        return [self._cost(family) for family in families]

    def gain_estimates(self, family: Family) -> Floats:
        """Return, for each variable, an optimistic estimate of the gain if it is added to the causes, or removed.

        A further cause is fitted only if smooth functions of it alone explain half a price of the child's standardised
        residuals, or of their squares. Without a cause a family gains no more than its price.
        """
        if family not in self._estimates:
            self._cost(family)
            self._finish(family)
            estimates = 2.0 * self._explained(family) - self.edge_cost
            child, causes = family
            estimates[list(causes)] = self.edge_cost
            estimates[child] = -np.inf
            self._estimates[family] = estimates
        return self._estimates[family]

    def polish(self, families: Sequence[Family]) -> None:
        """Fit families without a cause again, from the weights of the family with it."""
        largest = {child: max((c for n, c in families if n == child), key=len) for child, _ in families}
        for child, causes in families:
            if len(causes) < len(largest[child]):
                self._fit_from(largest[child], (child, causes), np.inf)

    def fit_afresh(self, graph: Graph) -> bool:
        """Fit the families of a graph, and those with a cause less, from fresh weights too; return if any was new."""
        families = [*enumerate(graph)]
        families += [(child, toggled(causes, i)) for child, causes in enumerate(graph) for i in causes]
        new = [family for family in families if family not in self._fitted_afresh]
        for family in new:
            self._cost(family)
            self._fit_afresh(family)
        return bool(new)

    def strength(self, graph: Graph) -> Floats:
        """Return the nats of likelihood that each edge of a graph is worth, shape (N, N), never quite zero."""
        strength = np.zeros((len(graph), len(graph)))
        for child, causes in enumerate(graph):
            for cause in causes:
                fewer = child, toggled(causes, cause)
                self._cost(fewer)
                self._finish(fewer)
                lost = self.fits[fewer].nats - self.fits[child, causes].nats
                strength[cause, child] = max(lost, np.finfo(float).tiny)
        return strength

    def _cost(self, family: Family) -> float:
        child, causes = family
        if family not in self.fits:
            near = min(self._fitted[child], key=lambda known: (len({*known} ^ {*causes}), self.fits[child, known].nats))
            known = self.fits[child, near].nats + self.edge_cost * (len(near) - len(causes))
            self._fit_from(near, family, known)
        return self.fits[family].nats + self.edge_cost * len(causes)

    def _fit_from(self, near: tuple[int, ...], family: Family, limit: float) -> None:
        """Fit a family from the weights of another of the same child, and keep the better of its fits."""
        child, causes = family
        start = self.fits[child, near]
        rows = [start.hidden[near.index(i)] if i in near else self._starts[i] for i in causes]
        rows += [start.hidden[-1]] if self.fitter.problem.bias else []
        hidden = np.array(rows).reshape(-1, start.hidden.shape[1])
        scale = self.fitter.outputs(child, near, start)[1]
        self._keep(family, self.fitter.fit(child, causes, hidden, start.w3, start.w3_bias, scale, limit))

    def _fit_afresh(self, family: Family) -> None:
        self._fitted_afresh.add(family)
        if family[1]:
            rng = np.random.default_rng([self._random_state, family[0], *family[1]])
            self._keep(family, self.fitter.fit_afresh(*family, self._units, rng))

    def _finish(self, family: Family) -> None:
        if not self.fits[family].finished:
            self._fit_from(family[1], family, np.inf)

    def _keep(self, family: Family, fit: FamilyFit) -> None:
        before = self.fits.get(family)
        if before is None:
            self._fitted[family[0]].append(family[1])
        elif fit.penalised > before.penalised - FAMILY_TUNING.least_gain:  # each is replaced a few times at most
            fit = before._replace(finished=before.finished or fit.finished)
        self.fits[family] = fit
        self._estimates.pop(family, None)

    def _explained(self, family: Family) -> Floats:
        """Return the nats that smooth functions of each variable explain of the residuals, or of their squares."""
        if self._functions is None:
            self._functions = _smooth_functions(self.fitter.problem.values)
        child, causes = family
        mean, scale = self.fitter.outputs(child, causes, self.fits[family])
        residual = (self.fitter.problem.values[child] - mean) / scale
        rows = self.fitter.problem.rows_of(child)
        counts = np.ones(residual.size, dtype=bool) if rows is None else rows
        every = _stride(residual.size)
        residual, counts = residual[::every], counts[::every]
        squares = self._nats_explained(self._functions, np.square(residual), counts)
        return every * np.maximum(self._nats_explained(self._functions, residual, counts), squares)

    def _nats_explained(self, functions: Floats, target: Floats, counts: Mask) -> Floats:
        observed = np.count_nonzero(counts)
        if observed == 0:
            return np.zeros(len(self.fitter.problem.values))
        target = np.where(counts, target - target[counts].mean(), 0.0)
        total = np.vdot(target, target)
        if not total > 0.0:
            return np.zeros(len(self.fitter.problem.values))
        share = np.square(functions @ target).reshape(-1, TUNING.degrees).sum(axis=1)
        share *= target.size / observed / total
        nats: Floats = -0.5 * observed * np.log1p(-np.minimum(share, 1.0 - 1e-9))
        return nats


def _stride(n_observations: int) -> int:
    return -(-n_observations // TUNING.estimate_observations)


def _smooth_functions(values: Floats) -> Floats:
    """Return orthonormal smooth functions of every variable, shape (N * degrees, observations)."""
    values = values[:, :: _stride(values.shape[1])]
    functions = np.zeros((len(values), TUNING.degrees, values.shape[1]))  # of very few observations some stay zero
    for i, row in enumerate(values):
        z = np.clip(normal_scores(row), -TUNING.largest_score, TUNING.largest_score)
        powers = np.stack([np.ones_like(z), z, z**2, z**3, np.tanh(2.0 * z)], axis=1)
        orthonormal = np.linalg.qr(powers)[0].T[1:]
        functions[i, : len(orthonormal)] = orthonormal
    return functions.reshape(-1, values.shape[1])


def _on_all_observations(fitter: FamilyFitter, graph: Graph, fits: Sequence[FamilyFit], refit: bool) -> list[FamilyFit]:
    """Return the families of a graph, which some of the observations decided, on all of them, fitted again or not."""
    whole = []
    for (child, causes), fit in zip(enumerate(graph), fits, strict=True):
        mean, scale = fitter.outputs(child, causes, fit)
        if refit:
            whole.append(fitter.fit(child, causes, fit.hidden, fit.w3, fit.w3_bias, scale))
        else:
            whole.append(fit._replace(nats=fitter.nats(child, mean, scale)))
    return whole
