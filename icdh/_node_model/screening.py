"""What a table tells of graphs without a fit: gains of families of labels, gains of linear models, and a causal order.

Given its parents a variable of K labels has a table: K probabilities for each of the q joint labels of the parents.
Its prior is Dirichlet's, worth a few observations in all, evenly spread over the K q cells (BDeu). The evidence of the
table is a ratio of Gamma functions of counts. A network is worth more where there are many cells. But by their tables
all graphs of an equivalence class have the same evidence, so that no arrow within it holds up a search.

The evidence of a linear model follows from variances and covariances, for every set of causes.

Where effects are linear and noise is not Gaussian, moments tell the causal order: DirectLiNGAM. Of two standardised
variables with correlation r, x comes first if x and the residual of y given x, y - r x over its standard deviation, are
together farther from Gaussian than y and the residual of x given y: the right pair is independent, and mixing makes
Gaussian. The distance is negentropy in Hyvärinen's approximation, by functions that outliers hardly move,

    J(u) = a (E u exp(-u^2 / 2))^2 + b (E exp(-u^2 / 2) - sqrt(1 / 2))^2,
    a = 36 / (8 sqrt(3) - 9),  b = 24 / (16 sqrt(3) - 27).

The variable that no other one precedes is first in the order; the others are replaced by their residuals given it, and
so on.

References
----------
Heckerman, Geiger, Chickering, "Learning Bayesian networks: the combination of knowledge and statistical data", Machine
Learning 20 (1995).
Shimizu et al., "DirectLiNGAM: a direct method for learning a linear non-Gaussian structural equation model", JMLR 12
(2011).
Hyvärinen, "New approximations of differential entropy for independent component analysis and projection pursuit",
Advances in Neural Information Processing Systems 10 (1997).
Hyvärinen and Smith, "Pairwise likelihood ratios for estimation of non-Gaussian structural equation models", JMLR 14
(2013).
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import gammaln

from icdh._node_model._kernels import LEAST_VARIANCE
from icdh._node_model.families import Families
from icdh._node_model.gaussian import LEAST_ROWS
from icdh._utils.arrays import Floats, Integers, deviation_of, mean_of, sum_of, times
from icdh._utils.jit import REASSOCIATE, cholesky_in_place, exp, kernel

LEAST_APART = 1e-4  # share of the variance of two variables' difference below which neither tells anything
OF_ODD, OF_EVEN = 36.0 / (8.0 * math.sqrt(3.0) - 9.0), 24.0 / (16.0 * math.sqrt(3.0) - 27.0)  # a and b
LEAST_LEFT = 1e-9  # share of a further cause's variance that the others must leave of it
RIDGE = 1e-12  # added to the variances of causes, which are one: collinear causes share their effect
PRIOR_OBSERVATIONS = 5.0  # that the prior of a table is worth
MOST_CELLS = 10_000  # of joint labels that are numbered without looking which of them occur
Joint = tuple[Integers, int, float]
Moments = tuple[Floats, Floats, float, float, Floats, int]  # see `fill_linear_gains`


class TableGains:
    """By how much the score falls with each change of one parent, if effects have tables of conditional probabilities.

    Parameters
    ----------
    families : Families
        The data: variables of labels or levels.
    """

    def __init__(self, families: Families):
        self.families = families
        self.codes = [codes for response in families.responses if (codes := response.codes) is not None]
        self.sizes = [int(code.max()) + 1 for code in self.codes]
        self._log_gamma: dict[float, Floats] = {}
        self._scores: dict[tuple[int, tuple[int, ...]], float] = {}

    def __call__(self, node: int, parents: Sequence[int]) -> Floats:
        """Return by how much the score of a node falls if each variable is added to its parents, or removed.

        Parameters
        ----------
        node : int
            A variable.
        parents : sequence of int
            Its parents.

        Returns
        -------
        ndarray, shape (N,)
            Nats; minus infinity for the node itself.
        """
        parents, gains = tuple(parents), np.full(len(self.sizes), -np.inf)
        score, joint = self.score(node, parents), self._joint(parents)
        penalties = self.families.edge_penalty[:, node]
        for other in {*range(len(self.sizes))} - {node}:
            if other in parents:
                gains[other] = score - self.score(node, tuple(parent for parent in parents if parent != other))
            else:
                penalty = penalties[[*parents, other]].sum()
                gains[other] = score - self._cost(node, *self._beside(*joint, other)) - penalty
        return gains

    @property
    def has_grades(self) -> bool:
        """Whether a variable has more than two values in order, which a table does not know of."""
        pairs = zip(self.families.responses, self.sizes, strict=True)
        return bool([size for response, size in pairs if size > 2 and response.ordered])

    def scores(self, families: Sequence[tuple[int, tuple[int, ...]]]) -> list[float]:
        """Return the score of every family."""
        return [self.score(*family) for family in families]

    def score(self, node: int, parents: tuple[int, ...]) -> float:
        """Return the negative log evidence of a table plus the penalty of its edges, in nats."""
        if (node, parents) not in self._scores:
            penalty = self.families.edge_penalty[list(parents), node].sum()
            self._scores[node, parents] = self._cost(node, *self._joint(parents)) + penalty
        return self._scores[node, parents]

    def _joint(self, parents: tuple[int, ...]) -> Joint:
        """Return the joint labels of variables, numbered, how many numbers there are, and how many could occur."""
        joint = np.zeros(self.families.n_observations, dtype=np.int64), 1, 1.0
        for parent in parents:
            joint = self._beside(*joint, parent)
        return joint

    def _beside(self, labels: Integers, count: int, possible: float, other: int) -> Joint:
        size = self.sizes[other]
        labels, count, possible = labels * size + self.codes[other], count * size, possible * size
        if count > MOST_CELLS:
            seen, labels = np.unique(labels, return_inverse=True)
            count = seen.size
        return labels, count, possible

    def _cost(self, node: int, labels: Integers, count: int, possible: float) -> float:
        size, codes = self.sizes[node], self.codes[node]
        cells = (labels * size + codes)[self.families.rows_of(node)]
        counts = np.bincount(cells, self.families.row_weights(node), minlength=count * size).reshape(count, size)
        groups = counts.sum(axis=1)
        seen = groups > 0
        each = PRIOR_OBSERVATIONS / possible
        return float(self._rises(each, groups[seen]).sum() - self._rises(each / size, counts[seen]).sum())

    def _rises(self, start: float, counts: Floats | Integers) -> Floats:
        """Return log Gamma(start + k) - log Gamma(start) for counts k."""
        if self.families.weights is not None:
            rises: Floats = gammaln(counts + start) - gammaln(start)
            return rises
        if start not in self._log_gamma:
            possible = np.arange(self.families.n_observations + 1)
            self._log_gamma[start] = gammaln(possible + start) - gammaln(start)
        return self._log_gamma[start][np.asarray(counts, dtype=np.int64)]


def lingam_order(x: Floats, weights: Floats | None, before_each: Callable[[], None] = lambda: None) -> list[int]:
    """Return the variables, causes first.

    Parameters
    ----------
    x : ndarray, shape (N, n)
        The variables, standardised, one a row.
    weights : ndarray, shape (n,), or None
        How often each observation counts; None if once.
    before_each : callable
        Called before each variable is chosen; what it raises ends the call.
    """
    left = x
    order: list[int] = []
    places = list(range(len(x)))
    while len(places) > 1:
        before_each()
        left = standardised(left, weights)
        lead = _lead(left, weights)
        first = int(np.argmin(np.square(np.minimum(lead, 0.0)).sum(axis=1)))
        order.append(places.pop(first))
        cause, left = left[first], np.delete(left, first, axis=0)
        slopes: Floats = left @ times(weights, cause) / sum_of(weights, cause.size)
        left = left - slopes[:, np.newaxis] * cause
    return order + places


def standardised(x: Floats, weights: Floats | None) -> Floats:
    """Return variables, one a row, of mean zero and variance one."""
    centred = x - mean_of(x, weights)[:, np.newaxis]
    return centred / np.maximum(deviation_of(centred, weights), np.finfo(float).tiny)[:, np.newaxis]


def _lead(x: Floats, weights: Floats | None) -> Floats:
    """Return by how much the data favour i before j, nats an observation, shape (N, N); antisymmetric."""
    shares = np.full(x.shape[1], 1.0 / x.shape[1]) if weights is None else weights / weights.sum()
    r, negentropies = (x * shares) @ x.T, np.empty((len(x), len(x)))
    fill_negentropies(x, shares, r, negentropies)
    forward = np.diag(negentropies)[:, np.newaxis] + negentropies
    return np.where(1.0 - r**2 > LEAST_APART, forward - forward.T, 0.0)


class LinearGains:
    """By how much the score falls with each change of one parent, if models are linear and their noise is Gaussian.

    Parameters
    ----------
    families : Families
        The data.
    """

    def __init__(self, families: Families):
        self.families = families
        single = families.widths == 1
        self._inputs = None if single.all() else np.where(single, np.cumsum(families.widths) - 1, -1)
        self._shared: Floats | None = None
        self._moments: dict[int, Moments] = {}

    def __call__(self, node: int, parents: Sequence[int]) -> Floats:
        """Return by how much the score of a node falls if each variable is added to its parents, or removed.

        Parameters
        ----------
        node : int
            A variable with a Gaussian response.
        parents : sequence of int
            Its parents.

        Returns
        -------
        ndarray, shape (N,)
            Nats; minus infinity for the node itself and for variables of several network inputs.
        """
        moments = self._moments_of(node)
        inside = np.array(parents if self._inputs is None else self.families.inputs_of(parents), dtype=np.int64)
        gains = np.empty(len(moments[0]))
        fill_linear_gains(moments, inside, gains)
        gains = gains if self._inputs is None else np.append(gains, -np.inf)[self._inputs]
        gains[node] = -np.inf
        return gains

    def _moments_of(self, node: int) -> Moments:
        if node not in self._moments:
            families, response = self.families, self.families.with_numbers((node, ()))[1]
            x = families.causes[:, families.rows_of(node)]
            n, weights = response.n_counted, response.weights
            values, shared = response.centre - mean_of(response.centre, weights), self._shared
            if families.rows is not None or shared is None:  # threads may ask for several nodes at once
                covariances = np.cov(x, bias=True, aweights=weights).reshape(len(x), len(x))
                shared = self._shared = covariances + RIDGE * np.eye(len(x))
            variance = float(mean_of(np.square(values), weights) + mean_of(response.spread, weights))
            price = 0.5 * math.log(n) + np.repeat(families.edge_penalty[:, node], families.widths)
            with_response = x @ times(weights, values) / n
            self._moments[node] = shared, with_response, variance, float(n), price, int(n) // LEAST_ROWS - 2
        return self._moments[node]


@kernel()
def linear_cost(variance: float, n: float) -> float:
    """Return the evidence that `fit_linear` gives a model of this residual variance, but for what its causes cost."""
    variance = max(variance, 0.0)  # rounding may make it negative
    floored = max(variance, LEAST_VARIANCE)
    return 0.5 * (n * variance / floored + (n - 1) * math.log(floored))


@kernel(fastmath=REASSOCIATE)
def fill_linear_gains(moments: Moments, inside: Integers, gains: Floats) -> None:
    """Fill by how much the score falls if each variable enters, or leaves if it is inside.

    Parameters
    ----------
    moments : tuple
        Covariances of all R causes, positive definite, shape (R, R), and with the response, shape (R,); its variance;
        the number of observations, each as often as it counts; what each cause costs, shape (R,); the most causes.
    inside : ndarray of int, shape (p,)
        The causes of the model.
    gains : ndarray, shape (R,)
        Is filled; minus infinity for those that enter beyond the most causes.
    """
    covariance, with_response, variance, n, price, most = moments
    p, size = inside.size, gains.size
    factor, inverse, between, slopes = np.empty((p, p)), np.zeros((p, p)), np.empty((p, size)), np.empty(p)
    for i in range(p):
        inverse[i, i] = 1.0
        slopes[i] = with_response[inside[i]]
        for j in range(i, p):
            factor[i, j] = covariance[inside[i], inside[j]]
    cholesky_in_place(factor, p)
    for k in range(p):  # with R^T R = the covariance of those inside, R^-T times everything
        row, source = between[k], covariance[inside[k]]
        for j in range(size):
            row[j] = source[j]
        for i in range(k):
            f, other = factor[i, k], between[i]
            for j in range(size):
                row[j] -= f * other[j]
            for j in range(i + 1):
                inverse[k, j] -= f * inverse[i, j]
            slopes[k] -= f * slopes[i]
        scale = 1.0 / factor[k, k]
        for j in range(size):
            row[j] *= scale
        for j in range(k + 1):
            inverse[k, j] *= scale
        slopes[k] *= scale
        variance -= slopes[k] ** 2
    left, explained = np.empty(size), np.empty(size)
    for j in range(size):
        left[j], explained[j] = covariance[j, j], with_response[j]
    for k in range(p):
        row, slope = between[k], slopes[k]
        for j in range(size):
            left[j] -= row[j] ** 2
            explained[j] -= row[j] * slope
    cost, enough = linear_cost(variance, n), p < most
    for j in range(size):
        resolved = left[j] > LEAST_LEFT * covariance[j, j]
        after = variance - explained[j] ** 2 / left[j] if resolved else variance
        gains[j] = cost - linear_cost(after, n) - price[j] if enough else -math.inf
    for i in range(p):
        slope = square = 0.0
        for k in range(i, p):
            slope += inverse[k, i] * slopes[k]
            square += inverse[k, i] ** 2
        gains[inside[i]] = cost - linear_cost(variance + slope**2 / square, n) + price[inside[i]]


@kernel(fastmath=REASSOCIATE)
def fill_negentropies(x: Floats, shares: Floats, correlations: Floats, negentropies: Floats) -> None:
    """Fill the negentropy of what each variable leaves of each other one, and of each itself on the diagonal.

    Parameters
    ----------
    x : ndarray, shape (N, n)
        The variables, standardised.
    shares : ndarray, shape (n,)
        How much every observation counts; the sum is one.
    correlations : ndarray, shape (N, N)
        Those of the variables.
    negentropies : ndarray, shape (N, N)
        Is filled; ``[i, j]`` is that of the residual of j given i.
    """
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            slope = 0.0 if i == j else correlations[i, j]
            scale = 1.0 / math.sqrt(max(1.0 - slope * slope, LEAST_APART))
            cause, effect, odd, even = x[i], x[j], 0.0, 0.0
            for m in range(shares.size):
                u = scale * (effect[m] - slope * cause[m])
                bell = shares[m] * exp(-0.5 * u * u)
                odd += u * bell
                even += bell
            negentropies[i, j] = OF_ODD * odd**2 + OF_EVEN * (even - math.sqrt(0.5)) ** 2
