"""The residuals of every variable given its causes in a graph, after a fit of their own.

The search sees columns on their grids (`icdh._node_model.columns`), and a model holds distributions of columns without
cells. So the families of the graph are fitted again as the search fits them: an
estimator, the model that it learned and a file then have the same residuals, and so has any graph, whatever found it.

The residual of a number is (value - mean) / standard deviation. The node model has a floor under the variance: 0.3 % of
the column's standard deviation. Where the noise is as small as that, the quotient shows the floor, not the noise, and
depends on the causes although the noise does not. So only those observations count whose fitted standard deviation is
above 1 % of the column's. The causes alone choose them, so the noise of a right model is independent there, too.

Few values and labels have randomised quantile residuals: a place drawn evenly between the probability of all values
below and that up to the value, as a Gaussian quantile. It is standard normal and independent of the causes if the
probabilities are right.

References
----------
Dunn, Smyth: "Randomized quantile residuals", J. Computational and Graphical Statistics 5 (1996).
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from icdh._estimators.arranged import CanonicalTable
from icdh._estimators.base import SearchSettings
from icdh._estimators.graph_search import TUNING as SEARCH
from icdh._estimators.graph_search import family_evidence
from icdh._node_model.families import TUNING
from icdh._node_model.network import node_outputs
from icdh._node_model.noise import noise_gain
from icdh._node_model.pair_estimates import misfit
from icdh._node_model.score import FamilyScore
from icdh._table.experiments import LEAST_PART, Design
from icdh._table.kinds import KINDS
from icdh._table.table import Scaling, Table
from icdh._utils.arrays import Floats, Mask
from icdh._utils.clock import Clock
from icdh._utils.parallel import single_blas_thread
from icdh.knowledge import EdgeRules
from icdh.search.moves import Family


class Residual(NamedTuple):
    """The residual of a variable given its causes.

    Attributes
    ----------
    values : ndarray, shape (n,)
        At the observations that count for the variable and have noise enough to be seen.
    seen : ndarray of bool
        Which of those that count for the variable these are.
    mean : ndarray, shape (n,), or None
        The fitted mean; None of few values and labels.
    noise : str
        What its distribution is: "gaussian", "student" or "free", and "none" of few values and labels, and without any
        residual.
    misfit : float
        The nats that single causes still tell of the variable (`icdh._node_model.pair_estimates.misfit`).
    """

    values: Floats
    seen: Mask
    mean: Floats | None
    noise: str
    misfit: float = 0.0


class Residuals(NamedTuple):
    """The residuals of all variables that vary.

    Attributes
    ----------
    of : dict of int to Residual
        By the variable's place in the table.
    variables : dict of int to ndarray, shape (M,)
        The variables as causes; codes of labels.
    rows : dict of int to ndarray of bool, shape (M,)
        The observations that the residual of each is of.
    """

    of: dict[int, Residual]
    variables: dict[int, Floats]
    rows: dict[int, Mask]

    def of_first(self, n_variables: int) -> "Residuals":
        """Return the residuals of the first variables alone; the others are causes still."""
        return self._replace(of={node: residual for node, residual in self.of.items() if node < n_variables})


def fit_residuals(
    table: Table, kinds: list[str], transform: str, adjacency: Floats, rows: Mask | None = None, random_state: int = 0
) -> Residuals:
    """Fit the families of a graph to a table, and return their residuals.

    Parameters
    ----------
    table : Table
        Observations.
    kinds : list of str
        The kinds of its columns.
    transform : {"none", "log", "yeo-johnson"}
        That of its numbers.
    adjacency : ndarray, shape (N, N)
        The graph.
    rows : ndarray of bool, shape (N, M), optional
        The observations that count for each variable; by default all.
    random_state : int
        Draws initial weights, and places in cells and between probabilities.
    """
    if not table.varying.any():
        return Residuals({}, {}, {})
    counts = np.ones(table.values.shape, dtype=bool) if rows is None else rows
    design = replace(Design.of(None, table), left_alone=counts)
    anything = EdgeRules.of(np.zeros((table.n_variables, table.n_variables), dtype=bool))
    canonical = CanonicalTable.of(table, Scaling.of(table, "standardize"), kinds, design, anything)
    columns = canonical.columns(transform, random_state).with_normal_scores()
    among = adjacency[np.ix_(canonical.order, canonical.order)] != 0
    graph = [(node, tuple(np.flatnonzero(causes).tolist())) for node, causes in enumerate(among.T)]
    values = columns.causes[np.cumsum(columns.widths) - columns.widths]
    labels = [k for k, kind in enumerate(canonical.kinds) if KINDS[kind].has_labels]
    values[labels] = canonical.values[labels]
    with single_blas_thread():
        scores = family_evidence(SearchSettings(), columns, canonical, random_state, Clock())
        scores(graph)
        scores = scores.with_more_units(graph, SEARCH.most_units)
        scores.polish(graph)
        fitted = [
            _residual_of(scores, family, canonical.values, random_state)._replace(
                misfit=misfit(scores.families, family, scores.fit_of(family))
            )
            for family in graph
        ]
    of: dict[int, Residual] = {}
    seen: dict[int, Mask] = {}
    for place, residual in zip(canonical.order.tolist(), fitted, strict=True):
        n_rows = np.count_nonzero(counts[place])
        is_short = rows is not None and n_rows < LEAST_PART
        of[place] = Residual(np.zeros(0), np.zeros(n_rows, dtype=bool), None, "none") if is_short else residual
        seen[place] = counts[place].copy()
        seen[place][counts[place]] = of[place].seen
    return Residuals(of, dict(zip(of, values, strict=True)), seen)


def _residual_of(scores: FamilyScore, family: Family, values: Floats, random_state: int) -> Residual:
    node, fit, families = family[0], scores.fit_of(family), scores.families
    x, response = families.data(family)
    if response.density is not None:
        samples, deviation = families.residuals(family, fit)
        mean = node_outputs(fit.theta, x, fit.hidden_units)[0]
        seen = response.density.mask(mean.size)
        resolved = deviation**2 > TUNING.resolved
        samples = [sample[resolved] for sample in samples]
        seen[seen] = resolved
        return Residual(samples[0], seen, mean[seen], noise_gain(samples, "auto")[1] if seen.any() else "none")
    values = values if families.rows is None else values[:, families.rows[node]]
    rng = np.random.default_rng([random_state, node])
    shares = response.law.quantile_residuals(values[node], families.outputs(family, fit), rng)
    residual: Floats = ndtri(np.clip(shares, 1e-12, 1.0 - 1e-12))
    return Residual(residual, np.ones(residual.size, dtype=bool), None, "none")
