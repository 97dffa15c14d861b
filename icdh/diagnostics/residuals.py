"""What a graph leaves unexplained: every variable given its causes, fitted anew, and what remains of it.

The search sees columns under a transform and on their grids (`icdh.node_model.columns`), and a saved model holds
distributions of the columns as they are. So the families of the graph are fitted again as the search fits them: an
estimator, the model that it learned and a file then have the same residuals, and so has any graph, whatever found it.

A number leaves (value - mean) / standard deviation. Few values, or labels, leave a randomised quantile residual: a
place drawn evenly between the probability of all values below and that up to the value, as a Gaussian quantile. It is
standard normal and independent of the causes if the probabilities are right.

References
----------
Dunn, Smyth: "Randomized quantile residuals", J. Computational and Graphical Statistics 5 (1996).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtri

from icdh._threads import single_blas_thread
from icdh.estimators.canonical import CanonicalTable
from icdh.experiments import Design
from icdh.knowledge.rules import EdgeRules
from icdh.node_model.columns import columns_of
from icdh.node_model.families import FamilyEvidence
from icdh.node_model.fit import hidden_units_of
from icdh.node_model.labels import log_probabilities
from icdh.node_model.levels import UNIT_VARIANCE
from icdh.node_model.noise import worth_of_noise
from icdh.node_model.targets import Density, Labels
from icdh.table import Scaling, Table

FEWEST_UNITS, MOST_UNITS, N_RESTARTS, PRIOR_PRECISION = 5, 20, 3, 3.0  # as a search has them
SMALLEST_SHARE = 1e-12


class Remainder(NamedTuple):
    """What its causes leave of a variable.

    Attributes
    ----------
    residual : ndarray, shape (n,)
        At the observations that count for the variable.
    noise : str
        What its distribution is: "gaussian", "student" or "free", and of few values and labels "levels".
    """

    residual: np.ndarray
    noise: str


class Remainders(NamedTuple):
    """What is left of all variables that vary.

    Attributes
    ----------
    of : dict of int to Remainder
        By the variable's place in the table.
    values : dict of int to ndarray, shape (M,)
        The variables as causes; codes of labels.
    rows : ndarray of bool, shape (N, M), or None
        The observations that count for each variable.
    """

    of: dict[int, Remainder]
    values: dict[int, np.ndarray]
    rows: np.ndarray | None


def remainders(
    table: Table,
    kinds: Sequence[str],
    transform: str,
    adjacency: np.ndarray,
    rows: np.ndarray | None = None,
    random_state: int = 0,
) -> Remainders:
    """Fit the families of a graph to a table, and return what they leave.

    Parameters
    ----------
    table : Table
        Observations.
    kinds : sequence of str
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
        return Remainders({}, {}, rows)
    own = _canonical(table, kinds, rows)
    columns = columns_of(own.values, own.kinds, transform, random_state, own.n_labels).with_normal_scores()
    scores = FamilyEvidence(
        columns.causes,
        columns.targets,
        hidden_units=FEWEST_UNITS,
        most_units=MOST_UNITS,
        prior_precision=PRIOR_PRECISION,
        edge_penalty=0.0,
        random_state=random_state,
        noise="gaussian",
        n_restarts=N_RESTARTS,
        n_jobs=1,
        rows=own.rows,
        widths=columns.widths,
    )
    among = adjacency[np.ix_(own.order, own.order)] != 0
    graph = [(node, tuple(np.flatnonzero(causes).tolist())) for node, causes in enumerate(among.T)]
    with single_blas_thread():
        scores(graph)
        scores.grow(graph)
        scores.refine(graph)
        left = [_remainder(scores, family, np.random.default_rng([random_state, family[0]])) for family in graph]
    places = own.order.tolist()
    first_rows = [columns.causes[inputs[0]] for inputs in scores.inputs]
    values = [table.values[k] if k in table.unordered else own for k, own in zip(places, first_rows, strict=True)]
    return Remainders(dict(zip(places, left, strict=True)), dict(zip(places, values, strict=True)), rows)


def _canonical(table, kinds, rows):
    """Return the standardised table in an order and with signs that depend on its values alone."""
    N, M = table.values.shape
    counts = np.ones((N, M), dtype=bool) if rows is None else rows
    everything = EdgeRules.of(np.zeros((N, N), dtype=bool))
    values = Scaling.of(table, "standardize").apply(table.values)
    return CanonicalTable.of(table, values, kinds, Design(counts, np.zeros((0, M)), []), everything)


def _remainder(scores, family, rng):
    node, parents = family
    target = scores.targets[node]
    if isinstance(target, Density):
        residual = scores.residuals(family)
        return Remainder(residual, worth_of_noise([residual], "auto")[1])
    x = scores.values[[row for parent in parents for row in scores.inputs[parent]]]
    if scores.rows is not None:
        x, target = x[:, scores.rows[node]], target.take(scores.rows[node])
    low, high = _shares(target, x, scores.fits[family].theta, scores.units[node])
    share = low + (high - low) * rng.random(low.size)
    return Remainder(ndtri(np.clip(share, SMALLEST_SHARE, 1.0 - SMALLEST_SHARE)), "levels")


def _shares(target, x, theta, units):
    """Return the probabilities of all values below, and of those up to, that of every observation."""
    if isinstance(target, Labels):
        own, p = target.labels, np.exp(log_probabilities(hidden_units_of(theta, x, units), theta, target.shares))
        shares = np.vstack([np.zeros(own.size), np.cumsum(p, axis=0)])
    else:
        own = target.levels
        _, mean, log_variance = target.system(x, units).outputs(theta)
        below = expit(UNIT_VARIANCE * (target.cuts[:, np.newaxis] - mean) * np.exp(-0.5 * log_variance))
        shares = np.vstack([np.zeros(own.size), below, np.ones(own.size)])
    at = np.arange(own.size)
    return shares[own, at], shares[own + 1, at]
