"""What the evidence of a family is worth where rows depend on one another.

Chance alone lowers F by as many times more as the design effect says (`icdh._rows`). So what a cause costs, its
weights and its price, counts as many times: a cause is worth its cost if its gain over the design effect is, as in the
composite likelihood criteria. The cost of the weights is shared evenly by the causes of a family.

References
----------
Varin, Vidoni, "A note on composite likelihood inference and model selection", Biometrika 92 (2005).
Gao, Song, "Composite likelihood Bayesian information criteria for model selection in high-dimensional data", Journal
of the American Statistical Association 105 (2010).
"""

import math

import numpy as np

from icdh._node_model.evidence import NodeFit, likelihood_and_cost
from icdh._node_model.families import Families, Family
from icdh._node_model.gaussian import LinearFit
from icdh._rows import RelatedRows
from icdh._utils.arrays import Floats, Mask

CLIPPED_AT = 3.0  # standard deviations: what is further off counts as there


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
        n_constants = np.count_nonzero(
            np.array(response.law.intercepts(0, fit.hidden_units)) < response.law.layers(0, fit.hidden_units)[-1].stop
        )
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
        return related.every(math.ceil(float(related.design_effects(of_node, of_node)[0, 0])))

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
