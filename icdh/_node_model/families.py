"""The families of a table: its variables as causes and as effects, the observations that count, and their worth.

Where rows depend on one another, chance alone lowers F by as many times more as the design effect says (`icdh._rows`).
So what a cause costs, its weights and its price, counts as many times: a cause is worth its cost if its gain over the
design effect is, as in the composite likelihood criteria. The cost of the weights is shared evenly by the causes of a
family.

References
----------
Varin, Vidoni, "A note on composite likelihood inference and model selection", Biometrika 92 (2005).
Gao, Song, "Composite likelihood Bayesian information criteria for model selection in high-dimensional data", Journal
of the American Statistical Association 105 (2010).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from icdh._node_model.evidence import NodeFit, likelihood_and_cost
from icdh._node_model.gaussian import GaussianResponse, LinearFit
from icdh._node_model.response import Density, Numbers, Response
from icdh._rows import RelatedRows
from icdh._utils.arrays import Floats, Integers, Mask, of_rows

Family = tuple[int, tuple[int, ...]]  # a node and its parents
CLIPPED_AT = 3.0  # standard deviations: what is further off counts as there
BY_CHANCE = 0.2  # of a design effect: rows left out for less would lack what explains outliers in the others


@dataclass(frozen=True, eq=False)
class Families:
    """The data of families, what an edge costs, and how weights of networks are penalised.

    Attributes
    ----------
    causes : ndarray, shape (R, n)
        The variables as causes, standardised, one network input a row.
    responses : sequence of Response
        The variables as effects.
    widths : ndarray of int, shape (N,)
        How many rows of ``causes`` every variable takes.
    edge_penalty : ndarray, shape (N, N)
        Nats to pay for each edge.
    prior_precision : float
        The precision of the weights' prior to start from.
    random_state : int
        Seed of cold starts.
    rows : ndarray of bool, shape (N, n), or None
        The observations that count for each variable, for instance those where nobody set it; None if all do.
    related : RelatedRows or None
        Which of the n rows depend on one another; None if none do.
    sampled_from : Families or None
        Of a subsample, the families on all observations.
    """

    causes: Floats
    responses: Sequence[Response]
    widths: Integers
    edge_penalty: Floats
    prior_precision: float
    random_state: int
    rows: Mask | None
    related: RelatedRows | None
    sampled_from: "Families | None" = None

    def __len__(self) -> int:
        return len(self.responses)

    @property
    def whole(self) -> "Families":
        """The families on all observations."""
        return self if self.sampled_from is None else self.sampled_from

    @property
    def n_observations(self) -> int:
        """How many observations there are."""
        return int(self.causes.shape[1])

    @property
    def weights(self) -> Floats | None:
        """How often each observation counts, shape (n,), the same for every variable; None if once."""
        return self.responses[0].weights

    def rows_of(self, node: int) -> Mask | slice:
        """Return the observations that count for a node."""
        return slice(None) if self.rows is None else self.rows[node]

    def row_weights(self, node: int) -> Floats | None:
        """Return the weights of the observations that count for a node; None if each counts once."""
        return of_rows(self.weights, self.rows_of(node))

    def subsample(self, most: int) -> "Families":
        """Return the families on at most so many of the observations that count for each variable, evenly spread."""
        rows = np.zeros((len(self), self.n_observations), dtype=bool)
        for node in range(len(self)):
            counted = np.arange(self.n_observations)[self.rows_of(node)]
            rows[node, counted[:: max(-(-counted.size // most), 1)]] = True
        if self.related is not None:  # of all rows
            return replace(self, rows=rows, sampled_from=self.whole)
        counted = np.flatnonzero(rows.any(axis=0))
        rows = rows[:, counted]
        return replace(
            self,
            causes=self.causes[:, counted],
            responses=[response.take(counted) for response in self.responses],
            rows=None if rows.all() else rows,
            sampled_from=self.whole,
        )

    def with_causes(self, columns: Sequence[Floats], like: Sequence[int]) -> "Families":
        """Return the families with further variables, continuous and only causes.

        Parameters
        ----------
        columns : sequence of ndarray, each of shape (n,)
            Their values, standardised.
        like : sequence of int
            For each, the variable whose price as a cause it has.
        """
        rows = None if self.rows is None else np.vstack([self.rows, np.ones((len(columns), self.n_observations), bool)])
        variables = [*range(len(self)), *like]
        return replace(
            self,
            causes=np.vstack([self.causes, *columns]),
            responses=[*self.responses, *(GaussianResponse.exact(column, self.weights) for column in columns)],
            widths=np.append(self.widths, np.ones(len(columns), dtype=np.int64)),
            rows=rows,
            edge_penalty=self.edge_penalty[np.ix_(variables, variables)],
            sampled_from=None,
        )

    def counts(self) -> Floats:
        """Return how many observations count for each variable, each as often as its weight says, shape (N,)."""
        each = np.ones(self.n_observations) if self.weights is None else self.weights
        return np.full(len(self), each.sum()) if self.rows is None else self.rows @ each

    @property
    def fitted_by_least_squares(self) -> list[bool]:
        """Which variables are effects that a linear model can have, N of them."""
        return [response.least_squares is not None for response in self.responses]

    def share(self) -> Floats:
        """Return the share of the observations that count for each variable in the whole table, shape (N,)."""
        return np.maximum(self.counts(), 1) / np.maximum(self.whole.counts(), 1)

    def data(self, family: Family) -> tuple[Floats, Response]:
        """Return the parents, one network input a row, and the response, at the observations that count for it."""
        node, parents = family
        x, response = self.causes[self.inputs_of(parents)], self.responses[node]
        if self.rows is None:
            return x, response
        return np.ascontiguousarray(x[:, self.rows[node]]), response.take(self.rows[node])

    def with_density(self, family: Family) -> tuple[Floats, Density]:
        """Return parents and response, as `data`, at the observations whose value has a density."""
        x, response = self.data(family)
        if response.density is None:
            raise TypeError(f"no value of variable {family[0]} has a density")
        return response.density.of(x), response.density

    def with_numbers(self, family: Family) -> tuple[Floats, Numbers]:
        """Return parents, as `data`, and the values to which least squares fit a model of them."""
        x, response = self.data(family)
        if response.least_squares is None:
            raise TypeError(f"variable {family[0]} has no linear model")
        return x, response.least_squares

    @cached_property
    def _inputs(self) -> list[Integers]:
        return np.split(np.arange(len(self.causes)), np.cumsum(self.widths)[:-1])

    def inputs_of(self, variables: Sequence[int]) -> list[int]:
        """Return the network inputs, rows of ``causes``, that variables take."""
        return [row for variable in variables for row in self._inputs[variable].tolist()]

    def weights_of(self, parent: int, others: Sequence[int], hidden_units: int) -> slice:
        """Return the slice of theta with the input weights of a parent, in a family with these other parents."""
        before = int(self.widths[[k for k in others if k < parent]].sum())
        return slice(before * hidden_units, (before + int(self.widths[parent])) * hidden_units)

    def with_parent(self, fit: NodeFit, new: int, others: Sequence[int]) -> NodeFit:
        """Return a fit with zeros for the input weights of a parent that joins others."""
        weights = self.weights_of(new, others, fit.hidden_units)
        return fit._replace(theta=np.insert(fit.theta, weights.start, np.zeros(weights.stop - weights.start)))

    def without_parent(self, fit: NodeFit, old: int, others: Sequence[int]) -> NodeFit:
        """Return a fit but for the input weights of a parent that leaves others."""
        return fit._replace(theta=np.delete(fit.theta, self.weights_of(old, others, fit.hidden_units)))

    def penalty(self, family: Family) -> float:
        """Return the nats to pay for the edges of a family."""
        return float(self.edge_penalty[list(family[1]), family[0]].sum())

    def codes_of(self, variable: int, node: int) -> Integers | None:
        """Return the labels or levels of a variable, at the observations that count for a node; None of a number."""
        codes = self.responses[variable].codes
        return None if codes is None else codes[self.rows_of(node)]


def without(family: Family, parent: int) -> Family:
    """Return a family without one of its parents."""
    node, parents = family
    return node, tuple(k for k in parents if k != parent)


class DesignEffects:
    """Design effects of the families of a table, and scores that count dependent rows as fewer.

    Parameters
    ----------
    related : RelatedRows
        Which rows depend on one another.
    families : Families
        The families.
    """

    def __init__(self, related: RelatedRows, families: Families):
        self.related, self.families = related, families
        self._of_nodes: dict[int, RelatedRows] = {}
        self._of_causes: dict[tuple[int, int], Floats] = {}

    def weight(self, family: Family) -> float:
        """Return what an observation counts in the fit of a family: one over the design effect of node and parents."""
        node, parents = family
        return 1.0 / float(self._static(node, parents).mean()) if parents else 1.0

    def score(self, family: Family, fit: NodeFit) -> float:
        """Return the negative log-likelihood of a network, plus as many times its cost and price as effects say."""
        x, response = self.families.data(family)
        likelihood, cost = likelihood_and_cost(response, len(x), fit)
        if not family[1]:
            return likelihood + cost
        weight, (_, _, log_determinant) = self.weight(family), response.without_parents(fit.hidden_units)
        free = response.law.layers(0, fit.hidden_units)[-1].stop
        n_constants = np.count_nonzero(np.array(response.law.intercepts(0, fit.hidden_units)) < free)
        cost -= 0.5 * (log_determinant + n_constants * math.log(weight))  # what the constant model costs
        costs = self._costs(family, self.of_parents(family, fit), cost)
        return likelihood / weight + 0.5 * log_determinant + costs

    def linear_score(self, family: Family, fit: LinearFit, residuals: Floats) -> float:
        """Return the same of a linear model, given its standardised residuals, shape (n,)."""
        effects = self._effects_on(family, residuals.reshape(1, 1, -1))
        rank, n = len(self.families.inputs_of(family[1])), residuals.size
        cost = 0.5 * rank * math.log(n / effects.mean())
        return fit.evidence - 0.5 * rank * math.log(n) + self._costs(family, effects, cost)

    def largest(self) -> float:
        """Return the largest design effect of two variables."""
        n = len(self.families)
        others = [tuple(k for k in range(n) if k != node) for node in range(n)]
        return max((float(self._static(node, other).max()) for node, other in enumerate(others) if other), default=1.0)

    def apart(self, node: int) -> Mask:
        """Return which observations of a node are so far apart in their group that they are about independent."""
        related, of_node = self._related(node), self._of_cause(node, node)[np.newaxis]
        return related.every(math.ceil(float(related.design_effects(of_node, of_node)[0, 0]) - BY_CHANCE))

    def _costs(self, family: Family, effects: Floats, cost: float) -> float:
        node, parents = family
        return float(effects.mean() * max(cost, 0.0) + effects @ self.families.edge_penalty[list(parents), node])

    def _static(self, node: int, parents: tuple[int, ...]) -> Floats:
        """Return design effects of parents on the node itself, before any fit."""
        of_parents = np.array([self._of_cause(node, parent) for parent in parents])
        effects: Floats = self._related(node).design_effects(self._of_cause(node, node)[np.newaxis], of_parents)[0]
        return effects

    def of_parents(self, family: Family, fit: NodeFit) -> Floats:
        """Return by how many times fewer rows than there are each parent's edge is backed, shape (p,)."""
        x, response = self.families.data(family)
        series = np.clip(response.residual_series(x, fit.theta, fit.hidden_units), -CLIPPED_AT, CLIPPED_AT)
        return self._effects_on(family, series)

    def _effects_on(self, family: Family, series: Floats) -> Floats:
        """Return the mean design effect of every parent on some vectors of residuals, each of shape (s, n)."""
        node, parents = family
        related = self._related(node)
        of_residuals = np.array([related.correlations(scores) for scores in series])
        of_parents = np.array([self._of_cause(node, parent) for parent in parents])
        effects: Floats = related.design_effects(of_residuals, of_parents).mean(axis=0)
        of_columns = self._static(node, parents)
        # Series worth fewer independent rows seem explained by any smooth function, and residuals white
        few = series[0].shape[-1] < 30 * of_columns
        effects[few] = np.maximum(effects, of_columns)[few]
        return effects

    def _related(self, node: int) -> RelatedRows:
        if node not in self._of_nodes:
            rows = self.families.rows
            self._of_nodes[node] = self.related if rows is None else self.related.of_rows(rows[node])
        return self._of_nodes[node]

    def _of_cause(self, node: int, cause: int) -> Floats:
        """Return the correlations of a cause in related rows, at the observations that count for a node."""
        key = node if self.families.rows is not None else -1, cause
        if key not in self._of_causes:
            x, _ = self.families.data((node, (cause,)))
            self._of_causes[key] = self._related(node).correlations(np.clip(x, -CLIPPED_AT, CLIPPED_AT))
        return self._of_causes[key]
