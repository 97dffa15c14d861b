"""The kernel of distance covariance: a sum over all pairs in n log n steps.

The residuals of a model, and tests whether they are independent of causes, of the fitted mean, and of non-causes.

If the model is right, the noise of a variable is independent of all variables that it has no directed path to. Normal
scores are compared, so that neither tails nor units matter. For every variable there are three tests: whether its
residual depends on its causes, on the mean that they predict, and on others. A distorted scale shows best beside the
mean: the noise is then skewed to one side where the mean is high, and to the other where it is low. Each question takes
the least p-value of its pairs times their number, and the variable the least of its questions times their number. Over
the variables Holm's procedure keeps the probability of any false alarm in the table below the level. A variable whose
noise is too small to be seen in more than a fifth of the rows is not tested.

Each pair is tested by its distance correlation, without any permutation. With a_ij the distance of two observations of
x, centred as

    A_ij = a_ij - sum_k a_ik / (n - 2) - sum_k a_kj / (n - 2) + sum_kl a_kl / ((n - 1) (n - 2)),    i != j,

and B likewise of y, the mean of A_ij B_ij over all pairs, with n (n - 3) in place of their number, is zero in
expectation if x and y are independent. Divided by the root of that of x with itself times that of y with itself it is
the distance correlation R. Its population value is zero under independence alone. The test compares n R + 1 with a
chi-square of one degree of freedom, whose upper tail is hardly ever lighter, whatever the distributions.

The distance of two numbers is that on the line, of two labels zero if they are the same and else one.

Residuals are the quantile residuals of every variable given its causes. The distribution function of a variable at its
value is uniform if the model is right, and independent of the causes. As a Gaussian quantile it is the residual,
whatever the noise. A value that has a probability, and one that stands for a cell of a grid, gets a place that is drawn
evenly between the distribution function below it and at it.

Node models have a floor under the variance: 0.3 % of the column's standard deviation. Where noise is as small as that,
the residual shows the floor, not the noise, and depends on the causes although the noise does not. So only those
observations count whose standard deviation is above 1 % of the column's. The causes alone choose them, so the noise of
a right model is independent there, too.

References
----------
Dunn, Smyth: "Randomized quantile residuals", J. Computational and Graphical Statistics 5 (1996).
Holm: "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
Peters, Mooij, Janzing, Schölkopf: "Causal discovery with continuous additive noise models", JMLR 15 (2014).
Székely, Rizzo: "Partial distance correlation with methods for dissimilarities", Annals of Statistics 42 (2014).
Huo, Székely: "Fast computing for distance covariance", Technometrics 58 (2016).
Shen, Panda, Vogelstein: "The chi-square test of distance correlation", J. Computational and Graphical Statistics 31
(2022).
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import erfc, ndtri

from icdh import graphs
from icdh._model.structural import StructuralModel
from icdh._node_model.family_models import RESOLVED_VARIANCE
from icdh._node_model.gain_estimates import misfit_of_residual
from icdh._node_model.network import indicators
from icdh._node_model.noise import noise_gain
from icdh._table.experiments import LEAST_PART
from icdh._table.table import Table
from icdh._table.transforms import normal_scores
from icdh._utils.arrays import Floats, Integers, Mask
from icdh._utils.jit import CONTRACT, kernel
from icdh.diagnostics.result import LEAST_SEEN

LEAST_PLACE = 1e-12  # of a quantile
RESOLVED = math.sqrt(RESOLVED_VARIANCE)  # standard deviations of a column


@kernel(fastmath=CONTRACT)
def sum_of_products_of_distances(x: Floats, y: Floats, place: Integers) -> float:
    """Return the sum over all ordered pairs of |x_i - x_j| |y_i - y_j|.

    ``x`` ascends, and ``place`` is the rank of y_i among all y, from 1 to n. All
    observations before j are in four binary indexed trees over these ranks (count, x, y, x y), so that sums over those
    of them with a smaller y take log n steps.
    """
    n = x.size
    below = np.zeros((n + 1, 4))
    whole = np.zeros(4)
    total = 0.0
    for j in range(n):
        count, of_x, of_y, of_xy = 0.0, 0.0, 0.0, 0.0
        at = place[j]
        while at > 0:
            count += below[at, 0]
            of_x += below[at, 1]
            of_y += below[at, 2]
            of_xy += below[at, 3]
            at -= at & -at
        under = x[j] * y[j] * count - x[j] * of_y - y[j] * of_x + of_xy
        total += 2.0 * under - (x[j] * y[j] * whole[0] - x[j] * whole[2] - y[j] * whole[1] + whole[3])
        at = place[j]
        while at <= n:
            below[at, 0] += 1.0
            below[at, 1] += x[j]
            below[at, 2] += y[j]
            below[at, 3] += x[j] * y[j]
            at += at & -at
        whole[0] += 1.0
        whole[1] += x[j]
        whole[2] += y[j]
        whole[3] += x[j] * y[j]
    return 2.0 * total


class Residual(NamedTuple):
    """The residual of a variable given its causes.

    Attributes
    ----------
    values : ndarray, shape (n,)
        At the observations that count for the variable and have noise enough to be seen.
    rows : ndarray of bool, shape (M,)
        Which of all observations these are.
    seen : ndarray of bool
        Which of those that count for the variable these are.
    mean : ndarray, shape (n,), or None
        The mean that the causes predict; None of few values and labels.
    noise : str
        What its distribution is called, and "none" of few values and labels, and without any residual.
    misfit : float
        The nats that single causes still tell of the residual.
    """

    values: Floats
    rows: Mask
    seen: Mask
    mean: Floats | None
    noise: str
    misfit: float = 0.0


def residuals_of(model: StructuralModel, table: Table, counts: Mask, rng: np.random.Generator) -> dict[int, Residual]:
    """Return the residuals of all variables of a model that vary, by their places in the table.

    Parameters
    ----------
    model : StructuralModel
        The model.
    table : Table
        Observations of its variables.
    counts : ndarray of bool, shape (N, M)
        The observations that count for each variable.
    rng : Generator
        Draws places in cells and between probabilities.
    """
    scaled, residuals = model.columns.scaled(table), {}
    for node in np.flatnonzero(table.varying).tolist():
        counted = counts[node] & (np.count_nonzero(counts[node]) >= LEAST_PART)
        given = model.conditionals[node]
        law, outputs = given.law, given.outputs(model.others_held(node, scaled))
        seen = counted & (law.density_scale(outputs) > RESOLVED * scaled[node].std())
        places = _places(model, node, table.values[node], scaled[node], outputs, rng)[seen]
        residual: Floats = ndtri(np.clip(places, LEAST_PLACE, 1.0 - LEAST_PLACE))
        parents = np.flatnonzero(model.adjacency[:, node]).tolist()
        causes = [_as_cause(table, cause)[:, seen] for cause in parents]
        noise, mean = "none", None
        if not law.is_discrete:
            mean = law.mean_and_scale(outputs)[0][seen]
            noise = noise_gain([residual], "auto", None)[1] if residual.size > 2 else noise
            noise = law.density.errors.name if noise == "gaussian" and law.density is not None else noise
        misfit = misfit_of_residual(residual, causes)
        residuals[node] = Residual(residual, seen, seen[counts[node]], mean, noise, misfit)
    return residuals


def _places(
    model: StructuralModel, node: int, observed: Floats, scaled: Floats, outputs: Floats, rng: np.random.Generator
) -> Floats:
    """Return where observed values, and scaled, are in their distributions, those of a grid anywhere in their cells."""
    law = model.conditionals[node].law
    places = law.quantile_residuals(scaled, outputs, rng)
    if node not in model.columns.grids:
        return places
    ends = (model.columns.scaling.apply(end, node) for end in model.columns.grids[node].cells(observed))
    low, high = (law.quantile_residuals(end, outputs, rng) for end in ends)
    return np.where(law.has_density(scaled), low + (high - low) * rng.random(low.size), places)


def _as_cause(table: Table, variable: int) -> Floats:
    """Return a variable as a cause, shape (w, M): labels as indicators."""
    values = table.values[variable]
    return indicators(values, int(values.max()) + 1) if variable in table.unordered else values[np.newaxis]


class Distances(NamedTuple):
    """A sample, and the sums of its distances.

    Attributes
    ----------
    values : ndarray, shape (n,)
        Numbers, or labels 0 ... K - 1.
    of_labels : bool
        Which of these.
    sums : ndarray, shape (n,)
        For every observation, its distances to all others.
    variance : float
        The distance variance: zero of a constant, and of samples too small to test.
    """

    values: Floats
    of_labels: bool
    sums: Floats
    variance: float

    @classmethod
    def of(cls, values: Floats, of_labels: bool = False) -> "Distances":
        """Return the distances of at least four observations, shape (n,)."""
        if of_labels:
            sizes = np.bincount(values.astype(int))
            sums = values.size - sizes[values.astype(int)].astype(float)
            squares = float(sums.sum())
        else:
            sums = _sums_of_distances(values)
            squares = 2.0 * values.size * float(np.square(values - values.mean()).sum())
        variance = _centred(squares, sums, sums)
        return cls(values, of_labels, sums, variance if variance > 1e-12 * squares else 0.0)


def distance_correlation(x: Distances, y: Distances) -> float:
    """Return the distance correlation of two samples, unbiased; zero if one is constant.

    Parameters
    ----------
    x, y : Distances
        Of the same observations; ``y`` of numbers.
    """
    if not min(x.variance, y.variance) > 0.0:
        return 0.0
    products = _products_with_labels(x, y) if x.of_labels else _products(x.values, y.values)
    return _centred(products, x.sums, y.sums) / math.sqrt(x.variance * y.variance)


def p_value(correlation: float, n_observations: int) -> float:
    """Return the probability that independent samples have so high a distance correlation: the chi-square test."""
    return float(erfc(math.sqrt(max(n_observations * correlation + 1.0, 0.0) / 2.0)))


def _centred(products: float, sums_of_x: Floats, sums_of_y: Floats) -> float:
    """Return the distance covariance, given the sum over pairs of the products of distances."""
    n = sums_of_x.size
    rows = float(sums_of_x @ sums_of_y) * 2.0 / (n - 2)
    whole = float(sums_of_x.sum()) * float(sums_of_y.sum()) / ((n - 1) * (n - 2))
    return (products - rows + whole) / (n * (n - 3))


def _sums_of_distances(values: Floats) -> Floats:
    """Return the sum of the distances of every number to all others."""
    order = np.argsort(values, kind="stable")
    ascending = values[order] - values.mean()
    below = np.cumsum(ascending) - ascending
    position = np.arange(values.size)
    sums = np.empty(values.size)
    sums[order] = (2 * position + 1 - values.size) * ascending + ascending.sum() - ascending - 2.0 * below
    return sums


def _products(x: Floats, y: Floats) -> float:
    order = np.argsort(x, kind="stable")
    x, y = x[order] - x.mean(), y[order] - y.mean()
    place = np.empty(x.size, dtype=np.int64)
    place[np.argsort(y, kind="stable")] = np.arange(1, x.size + 1)
    return float(sum_of_products_of_distances(x, y, place))


def _products_with_labels(labels: Distances, y: Distances) -> float:
    """Return the sum of the distances in y over all pairs of different labels."""
    same = sum(_sums_of_distances(y.values[labels.values == k]).sum() for k in np.unique(labels.values))
    return float(y.sums.sum() - same)


class Dependence(NamedTuple):
    """The variable of a group that a residual depends on most.

    Attributes
    ----------
    variable : int or None
        Its place in the table; None of an empty group.
    p_value : float
        That of independence of the whole group.
    """

    variable: int | None
    p_value: float


class NodeTest(NamedTuple):
    """What was found about one variable.

    Attributes
    ----------
    on_causes, on_mean, on_others : Dependence
        On its causes, on the mean that they predict (the variable is then itself), and on all others that it does not
        cause.
    p_value : float
        That of all three, corrected over all variables.
    """

    on_causes: Dependence
    on_mean: Dependence
    on_others: Dependence
    p_value: float


def node_tests(residuals: dict[int, Residual], adjacency: Floats, table: Table) -> dict[int, NodeTest]:
    """Test the residual of every variable that varies.

    Parameters
    ----------
    residuals : dict of int to Residual
        As of `residuals_of`.
    adjacency : ndarray, shape (N, N)
        The graph.
    table : Table
        The observations that they are of.
    """
    reached = graphs.descendants(adjacency != 0)

    @cache
    def distances(variable: int, rows: bytes) -> Distances:
        """Return those of a variable at the observations that count for another one."""
        values, of_labels = table.values[variable][np.frombuffer(rows, dtype=bool)], variable in table.unordered
        return Distances.of(values if of_labels else normal_scores(values), of_labels)

    def groups(node: int) -> tuple[Dependence, Dependence, Dependence]:
        """Return how a residual depends on causes, on the mean that they predict, and on others."""
        residual, is_cause = residuals[node], adjacency[:, node] != 0
        if residual.values.size < 4 or residual.seen.mean() < LEAST_SEEN:
            return Dependence(None, 1.0), Dependence(None, 1.0), Dependence(None, 1.0)
        noise, rows = Distances.of(normal_scores(residual.values)), residual.rows.tobytes()
        others = [other for other in residuals if other != node and not reached[node, other]]
        causes = [_dependence(other, distances(other, rows), noise) for other in others if is_cause[other]]
        rest = [_dependence(other, distances(other, rows), noise) for other in others if not is_cause[other]]
        mean = []
        if causes and residual.mean is not None:
            mean = [_dependence(node, Distances.of(normal_scores(residual.mean)), noise)]
        return _strongest(causes), _strongest(mean), _strongest(rest)

    tests = {node: groups(node) for node in residuals}
    known_of = ([group for group in test if group.variable is not None] for test in tests.values())
    corrected = holm(np.array([_strongest(groups).p_value for groups in known_of]))
    return {node: NodeTest(*test, float(p)) for (node, test), p in zip(tests.items(), corrected, strict=True)}


def _dependence(variable: int, distances: Distances, noise: Distances) -> Dependence:
    return Dependence(variable, p_value(distance_correlation(distances, noise), noise.values.size))


def _strongest(pairs: list[Dependence]) -> Dependence:
    """Return the strongest of dependences, its p-value that of all: Bonferroni's."""
    if not pairs:
        return Dependence(None, 1.0)
    strongest = min(pairs, key=lambda pair: pair.p_value)
    return strongest._replace(p_value=min(1.0, len(pairs) * strongest.p_value))


def holm(p: Floats) -> Floats:
    """Return p-values corrected by Holm's procedure, shape (n,): it rejects those below a level."""
    order = np.argsort(p, kind="stable")
    corrected = np.empty(p.size)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1.0)
    return corrected
