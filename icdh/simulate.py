"""Tables drawn from structural equation models whose graph, mean and spread are known.

Draw a graph, then observations from it::

    graph = simulate.erdos_renyi(10, 2, random_state=0)
    data = simulate.simulate_sem(graph, 1000, mechanism="mlp", noise="exp-bounded", random_state=0)
    data.X, data.adjacency, data.report()

Simulated effects tend to have a larger variance, and to be better explained by the other variables, than their causes.
A method that sorts by such a statistic looks good on such data and fails on real ones. The sortabilities say how much
of the causal order the marginal statistics of a table give away.

Mechanisms are random functions of the causes of a variable: each is drawn, and evaluated at the observations, in one
step.

References
----------
Reisach, Seiler, Weichwald: "Beware of the simulated DAG! Causal discovery benchmarks may be easy to game",
NeurIPS 2021.
Reisach, Tami, Seiler, Chambaz, Weichwald: "A scale-invariant sorting criterion to find a causal order in additive
noise models", NeurIPS 2023.
Zheng, Dan, Aragam, Ravikumar, Xing: "Learning sparse nonparametric DAGs", AISTATS 2020.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icdh._table.experiments import actions_of, carry_out
from icdh._table.table import Table
from icdh._table.transforms import explained_variance
from icdh._utils.arrays import Floats, Integers, RandomState
from icdh._utils.checks import Choice, Number, random_generator
from icdh._utils.labels import default_names
from icdh.exceptions import ArgumentValueError
from icdh.graphs import causal_order, check_graph

Function: TypeAlias = Callable[[Floats], Floats]  # picklable: a partial of a function of its module
__all__ = ["GRAPHS", "Report", "SimulatedData", "erdos_renyi", "r2_sortability", "relabel", "scale_free"]
__all__ += ["simulate_sem", "varsortability"]


class Drawn(NamedTuple):
    """A random function of P causes, evaluated.

    Attributes
    ----------
    values : ndarray, shape (M,) or (M, n_outputs)
        The function at every observation.
    weights : ndarray, shape (P,)
        The strength of every cause.
    function : callable
        The function itself, from causes of shape (K, P) to its values there.
    """

    values: Floats
    weights: Floats
    function: Function


def draw_weights(shape: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Draw weights whose absolute values are uniform on [0.5, 2] and whose signs are fair coins.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the array.
    rng : Generator
        Source of randomness.
    """
    weights: Floats = rng.uniform(0.5, 2.0, size=shape) * rng.choice((-1.0, 1.0), size=shape)
    return weights


def linear(parents: Floats, rng: np.random.Generator) -> Drawn:
    """Draw a weighted sum; the weights are its coefficients.

    Parameters
    ----------
    parents : ndarray, shape (M, P)
        The causes.
    rng : Generator
        Source of randomness.
    """
    weights = draw_weights(parents.shape[1], rng)
    return _evaluated(partial(_weighted_sum, weights=weights), parents, weights)


def _evaluated(function: Function, parents: Floats, weights: Floats) -> Drawn:
    return Drawn(function(parents), weights, function)


def _weighted_sum(parents: Floats, weights: Floats) -> Floats:
    return parents @ weights


def mlp(parents: Floats, rng: np.random.Generator, n_outputs: int | None = None) -> Drawn:
    """Draw a network with one layer of 100 sigmoid units and no intercepts, s(x W1) W2.

    The weight of a cause is the Euclidean norm of its column of W1, as in the adjacency matrix that is learned.

    Parameters
    ----------
    parents, rng
        See `linear`.
    n_outputs : int, optional
        Number of outputs that share the hidden layer; by default one, without an axis of its own.
    """
    first_layer = draw_weights((parents.shape[1], 100), rng)
    outputs = draw_weights(100 if n_outputs is None else (100, n_outputs), rng)
    function = partial(_network, first_layer=first_layer, outputs=outputs)
    return _evaluated(function, parents, np.linalg.norm(first_layer, axis=1))


def _network(parents: Floats, first_layer: Floats, outputs: Floats) -> Floats:
    # 0.5 + tanh / 2 is the logistic sigmoid without overflow
    return (0.5 + 0.5 * np.tanh(0.5 * (parents @ first_layer))) @ outputs


def multiple_index(parents: Floats, rng: np.random.Generator) -> Drawn:
    """Draw tanh(x . w1) + cos(x . w2) + sin(x . w3); the weight of a cause is the norm of its three coefficients.

    Parameters
    ----------
    parents, rng
        See `linear`.
    """
    coefficients = draw_weights((parents.shape[1], 3), rng)
    return _evaluated(partial(_indices, coefficients=coefficients), parents, np.linalg.norm(coefficients, axis=1))


def _indices(parents: Floats, coefficients: Floats) -> Floats:
    indices = parents @ coefficients
    return np.tanh(indices[:, 0]) + np.cos(indices[:, 1]) + np.sin(indices[:, 2])


def gaussian_process(parents: Floats, rng: np.random.Generator) -> Drawn:
    """Draw from a Gaussian process of all causes with kernel exp(-|x - x'|^2 / 2); every weight is 1.

    The function is the process's mean given the values drawn: smooth between the observations, zero far from them.

    Parameters
    ----------
    parents : ndarray, shape (M, P)
        The causes. Memory grows with M^2, time with M^3.
    rng : Generator
        Source of randomness.
    """
    from scipy.linalg import solve_triangular  # slow to load

    covariance = _kernel(parents, parents)
    # The matrix of close observations is singular in floating point; this adds a standard deviation of 1e-4.
    covariance[np.diag_indices_from(covariance)] = 1.0 + 1e-8
    factor, normal = np.linalg.cholesky(covariance), rng.standard_normal(len(parents))
    # The mean at x is k(x, parents) K^-1 values, and K^-1 L z = L^-T z.
    dual = solve_triangular(factor, normal, lower=True, trans=1)
    function = partial(_process_mean, parents=parents.copy(), dual=dual)
    return Drawn(factor @ normal, np.ones(parents.shape[1]), function)


def _kernel(a: Floats, b: Floats) -> Floats:
    kernel: Floats = np.exp(-0.5 * sum(np.subtract.outer(x, y) ** 2 for x, y in zip(a.T, b.T, strict=True)))
    return kernel


def _process_mean(at: Floats, parents: Floats, dual: Floats) -> Floats:
    return _kernel(at, parents) @ dual


def additive_gaussian_process(parents: Floats, rng: np.random.Generator) -> Drawn:
    """Draw the sum of one Gaussian process per cause; every weight is 1.

    Parameters
    ----------
    parents, rng
        See `linear`.
    """
    parts = [gaussian_process(cause[:, None], rng) for cause in parents.T]
    function = partial(_sum_of_parts, functions=[part.function for part in parts])
    return Drawn(np.sum([part.values for part in parts], axis=0), np.ones(parents.shape[1]), function)


def _sum_of_parts(at: Floats, functions: list[Function]) -> Floats:
    parts = [function(cause[:, None]) for function, cause in zip(functions, at.T, strict=True)]
    total: Floats = np.sum(parts, axis=0)
    return total


MECHANISMS = {"mlp": mlp, "mim": multiple_index, "gp": gaussian_process, "gp-add": additive_gaussian_process}
MECHANISMS |= {"linear": linear}
MomentsFunction: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]  # from causes to mean and spread


def draw_moments(
    parents: Floats, mechanism: str, noise: str, spread: float, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats, MomentsFunction]:
    """Draw the mean and the standard deviation of a variable as functions of its causes.

    Parameters
    ----------
    parents : ndarray, shape (M, P)
        The causes; P may be zero.
    mechanism : str
        A key of `MECHANISMS`.
    noise : str
        One of `NOISES`.
    spread : float
        Largest over smallest standard deviation, where the noise bounds it.
    rng : Generator
        Source of randomness.

    Returns
    -------
    mean, std : ndarray, shape (M,)
        Mean and standard deviation at every observation.
    weights : ndarray, shape (P,)
        The strength of every cause in the mean.
    function : callable
        What gives both: from causes of shape (K, P) to mean and standard deviation, each of shape (K,).
    """
    has_causes = parents.shape[1] > 0
    if has_causes and noise in SHARED_LAYER:
        _, weights, outputs = mlp(parents, rng, n_outputs=2)
        moments = partial(_of_shared_layer, outputs=outputs, variance=SHARED_LAYER[noise])
        return *moments(parents), weights, moments
    mean = MECHANISMS[mechanism](parents, rng) if has_causes else _constant(parents, 0.0)
    if has_causes and noise in SCALES:
        g = MECHANISMS[mechanism](parents, rng)
        scale: Function = partial(SCALES[noise], sample=g.values, spread=spread)
        std = Drawn(scale(g.values), g.weights, partial(_scaled, g=g.function, scale=scale))
    else:
        std = _constant(parents, np.sqrt(rng.uniform(0.5, 2.0)) if noise == "homo-nv" else 1.0)
    return mean.values, std.values, mean.weights, partial(_both, mean=mean.function, std=std.function)


def _both(parents: Floats, mean: Function, std: Function) -> tuple[Floats, Floats]:
    return mean(parents), std(parents)


def _of_shared_layer(parents: Floats, outputs: Function, variance: Function) -> tuple[Floats, Floats]:
    mean, g = outputs(parents).T
    return mean, np.sqrt(variance(g))


def _constant(parents: Floats, value: float) -> Drawn:
    return _evaluated(partial(_filled, value=value), parents, np.zeros(0))


def _filled(parents: Floats, value: float) -> Floats:
    return np.full(len(parents), value)


def _scaled(parents: Floats, g: Function, scale: Function) -> Floats:
    return scale(g(parents))


def exponential(g: Floats, sample: Floats, spread: float) -> Floats:
    """Return exp(g), whatever its spread."""
    return np.exp(g)


def bounded_exponential(g: Floats, sample: Floats, spread: float) -> Floats:
    """Return exp(g), g shifted and scaled so that the values at the observations go from spread^-1/2 to spread^1/2.

    Parameters
    ----------
    g : ndarray, shape (K,)
        A random function of the causes.
    sample : ndarray, shape (M,)
        The same at the observations.
    spread : float
        Largest over smallest value.
    """
    slope, middle = float(np.log(spread)) * _inverse_width(sample), float(0.5 * (sample.min() + sample.max()))
    return np.exp(slope * (g - middle))


def piecewise(g: Floats, sample: Floats, spread: float) -> Floats:
    """Return 1 + relu(g), g shifted to median 0 and scaled so that the values at the observations end at ``spread``.

    Constant where g is below its median and a nonlinear function elsewhere: the piecewise scale for which Theorem 1
    of the paper shows that the graph can be identified, of the form that the learned scale has (Eq. 10).

    Parameters
    ----------
    g : ndarray, shape (K,)
        A random function of the causes.
    sample : ndarray, shape (M,)
        The same at the observations.
    spread : float
        Largest over smallest value.
    """
    median = float(np.median(sample))
    slope = (spread - 1.0) * _inverse_width(np.maximum(sample, median))
    return 1.0 + slope * np.maximum(g - median, 0.0)


def _inverse_width(g: Floats) -> float:
    """Return what scales the range of the values to 1, or 0 if all are equal."""
    width = np.ptp(g)
    return 1.0 / width if width > 0 else 0.0


SCALES = {"exp": exponential, "exp-bounded": bounded_exponential, "piecewise": piecewise}
SHARED_LAYER: dict[str, Function] = {"softplus-shared": partial(np.logaddexp, 0.0), "exp-shared": np.exp}  # variances
NOISES = ("homo-ev", "homo-nv", *SHARED_LAYER, *SCALES)


DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "gaussian": lambda rng, size: rng.standard_normal(size),
    "laplace": lambda rng, size: rng.laplace(scale=np.sqrt(0.5), size=size),
    "student-t": lambda rng, size: rng.standard_t(5, size) / np.sqrt(5 / 3),
    "uniform": lambda rng, size: rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size),
}


def erdos_renyi(n_variables: int, edges_per_variable: float, random_state: RandomState = None) -> Integers:
    """Draw a DAG uniformly among the orientations, by a random order, of graphs with exactly k N edges.

    Parameters
    ----------
    n_variables : int
        N.
    edges_per_variable : float
        k; k N must be a whole number of at most N (N - 1) / 2.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    ndarray, shape (N, N)
        The adjacency matrix.

    Raises
    ------
    ValueError
        If no DAG has k N edges.

    Examples
    --------
    >>> from icdh.graphs import is_dag
    >>> from icdh.simulate import erdos_renyi
    >>> graph = erdos_renyi(10, 1, random_state=0)
    >>> graph.shape, is_dag(graph)
    ((10, 10), True)
    """
    Number(1, integer=True).check("n_variables", n_variables)
    Number(0, high=(n_variables - 1) / 2).check("edges_per_variable", edges_per_variable)
    causes, effects = np.triu_indices(n_variables, k=1)
    rng = np.random.default_rng(random_state)
    n_edges = round(edges_per_variable * n_variables)
    if abs(n_edges - edges_per_variable * n_variables) > 1e-9 * n_variables:
        demand = f"must give {n_variables} variables a whole number of edges; got {edges_per_variable}"
        raise ArgumentValueError("edges_per_variable", demand)
    drawn = rng.choice(len(causes), size=n_edges, replace=False)
    graph = np.zeros((n_variables, n_variables), dtype=np.int64)
    graph[causes[drawn], effects[drawn]] = 1
    return relabel(graph, rng)


def scale_free(n_variables: int, edges_per_variable: float, random_state: RandomState = None) -> Integers:
    """Draw a DAG by preferential attachment: a few variables have very many causes.

    Variables arrive one after the other. Each becomes a cause of k earlier ones, or of all while there are fewer. They
    are chosen without replacement, with probabilities proportional to one plus the number of their causes.

    Parameters
    ----------
    n_variables : int
        N.
    edges_per_variable : float
        k, a whole number below N; the graph has k N - k (k + 1) / 2 edges.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    ndarray, shape (N, N)
        The adjacency matrix.

    Raises
    ------
    ValueError
        If k is not whole or not below N.

    References
    ----------
    Barabasi, Albert: "Emergence of scaling in random networks", Science 286, 1999.

    Examples
    --------
    >>> from icdh.graphs import is_dag
    >>> from icdh.simulate import scale_free
    >>> graph = scale_free(10, 1, random_state=0)
    >>> graph.shape, is_dag(graph)
    ((10, 10), True)
    """
    Number(1, integer=True).check("n_variables", n_variables)
    Number(0, high=n_variables - 1).check("edges_per_variable", edges_per_variable)
    n_effects = int(edges_per_variable)
    if n_effects != edges_per_variable:
        demand = f"must be a whole number for a scale-free graph; got {edges_per_variable}"
        raise ArgumentValueError("edges_per_variable", demand)
    rng = np.random.default_rng(random_state)
    graph = np.zeros((n_variables, n_variables), dtype=np.int64)
    for newcomer in range(1, n_variables):
        attraction = 1.0 + graph[:, :newcomer].sum(axis=0)
        effects = rng.choice(newcomer, size=min(n_effects, newcomer), replace=False, p=attraction / attraction.sum())
        graph[newcomer, effects] = 1
    return relabel(graph, rng)


def relabel(graph: ArrayLike, random_state: RandomState = None) -> NDArray[Any]:
    """Return the graph with its variables in a random order, all orders being equally likely.

    Parameters
    ----------
    graph : array_like, shape (N, N)
        Adjacency matrix, binary or weighted.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    ndarray, shape (N, N)
        A new matrix of the same type.

    Examples
    --------
    >>> from icdh.simulate import erdos_renyi, relabel
    >>> graph = erdos_renyi(10, 1, random_state=0)
    >>> bool(relabel(graph, random_state=1).sum() == graph.sum())
    True
    """
    weights = np.asarray(graph)
    order = np.random.default_rng(random_state).permutation(len(check_graph(weights).weights))
    return weights[np.ix_(order, order)]


GRAPHS = {"erdos-renyi": erdos_renyi, "scale-free": scale_free}


def varsortability(X: object, graph: object) -> float:
    """Share of the directed paths along which the variance increases from the first variable to the last.

    Parameters
    ----------
    X : array_like, shape (M, N)
        Observations.
    graph : array_like, shape (N, N), or networkx graph
        The true DAG.

    Returns
    -------
    float
        In [0, 1]: 0.5 if the variance says nothing, 1 if sorting by it gives a causal order. Every pair of variables
        counts once for every length of the paths between them, and half if both variances are equal.

    Raises
    ------
    ValueError
        If the graph has cycles, no edges, or other than N variables.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.simulate import varsortability
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> varsortability(np.column_stack([x, 2.0 * x + rng.normal(size=500)]), np.array([[0, 1], [0, 0]]))
    1.0
    """
    return _sortability(Table.of(X).values.T.var(axis=0), graph)


def r2_sortability(X: object, graph: object) -> float:
    """Share of the directed paths along which R2 increases from the first variable to the last.

    R2 is the share of the variance of a variable that a linear regression on all others explains. It does not
    depend on units.

    Parameters
    ----------
    X, graph
        See `varsortability`.

    Returns
    -------
    float
        In [0, 1]; see `varsortability`.

    Raises
    ------
    ValueError
        See `varsortability`.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.simulate import r2_sortability
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> r2_sortability(np.column_stack([x, 2.0 * x + rng.normal(size=500)]), np.array([[0, 1], [0, 0]]))
    0.5
    """
    return _sortability(explained_variance(Table.of(X).values.T), graph)


def _sortability(statistic: Floats, graph: object) -> float:
    edges = check_graph(graph).weights != 0
    if len(edges) != len(statistic):
        raise ValueError(f"X has {len(statistic)} columns and graph {len(edges)} variables; they must agree")
    if not edges.any():
        raise ValueError("graph has no edges, so that there are no paths along which to sort")
    causal_order(edges)
    difference = statistic - statistic[:, None]
    tied = np.abs(difference) <= 1e-9 * np.maximum(np.abs(statistic), np.abs(statistic[:, None]))
    increases = np.where(tied, 0.5, difference > 0)
    n_paths, n_increasing = 0, 0.0
    connected = edges
    while connected.any():
        n_paths += connected.sum()
        n_increasing += increases[connected].sum()
        connected = connected @ edges
    return float(n_increasing / n_paths)


LARGEST_VALUE = 1e100  # its square is finite, and so are variances


class Report(NamedTuple):
    """What to know about simulated data before trusting a benchmark on them.

    Attributes
    ----------
    smallest_std, largest_std : float
        Range of the true standard deviations given the causes, over all variables that have causes; None if there
        are none.
    largest_ratio : float
        Largest over smallest true standard deviation within one variable; None likewise.
    varsortability, r2_sortability : float
        See `icdh.simulate.varsortability` and `icdh.simulate.r2_sortability`; None if the graph has no edges.
    """

    smallest_std: float | None
    largest_std: float | None
    largest_ratio: float | None
    varsortability: float | None
    r2_sortability: float | None


@dataclass(frozen=True)
class SimulatedData:
    """Simulated observations and the truth behind them: X = mean + std * Z.

    Attributes
    ----------
    X : ndarray, shape (M, N)
        Observations.
    adjacency : ndarray of int64, shape (N, N)
        The true graph: ``adjacency[i, j] == 1`` means i -> j.
    weights : ndarray, shape (N, N)
        The true graph with the strength of every cause in the mean. That is the coefficient of a linear mechanism, the
        norm of the first layer of "mlp" and "mim", or 1 for Gaussian processes. In the units that X had when it was
        drawn.
    mean, std : ndarray, shape (M, N)
        True mean and standard deviation of every observation given its causes, in the units of X.
    names : list of str
        N labels: those of the given graph, or "x0", "x1", ...
    noise : ndarray, shape (M, N)
        Z, as it was drawn.
    functions : list of callable
        For every variable, what gives mean and standard deviation, each of shape (K,), of causes of shape (K, P), in
        the units of X.
    distribution : str
        That of Z.

    Examples
    --------
    >>> from icdh import simulate
    >>> graph = simulate.erdos_renyi(5, 1, random_state=0)
    >>> data = simulate.simulate_sem(graph, 100, random_state=0)
    >>> data.sample(1000, do={"x2": 1.0}, random_state=0).shape
    (1000, 5)
    >>> bool((data.counterfactual({"x2": 1.0})[:, 2] == 1.0).all())
    True
    """

    X: Floats
    adjacency: Integers
    weights: Floats
    mean: Floats
    std: Floats
    names: list[str]
    noise: Floats = field(repr=False)
    functions: list[MomentsFunction] = field(repr=False)
    distribution: str

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None, *, do: Mapping[Hashable, object] | None = None
    ) -> Floats:
        """Draw further observations from the true equations, as they are or under an intervention.

        Parameters
        ----------
        n_samples : int
            M, the number of observations.
        random_state : int, SeedSequence, Generator or None
            The only source of randomness.
        do : mapping, optional
            See `icdh.StructuralModel.sample`.

        Returns
        -------
        ndarray, shape (M, N)
            The rows, in the units of X.

        Raises
        ------
        ValueError, TypeError
            If an argument is not what it should be.
        """
        Number(1, integer=True).check("n_samples", n_samples)
        rng = random_generator(random_state)
        noise = np.array([DISTRIBUTIONS[self.distribution](rng, n_samples) for _ in self.names])
        values = np.zeros_like(noise)
        for n in causal_order(self.adjacency):
            values[n] = self._response(n, values, noise[n])
        return self._under(do, values, noise)

    def counterfactual(self, do: Mapping[Hashable, object]) -> Floats:
        """Return what the observations X, with the noise they have, would have been under an intervention.

        Parameters
        ----------
        do : mapping
            See `icdh.StructuralModel.sample`.

        Returns
        -------
        ndarray, shape (M, N)
            The rows, in the units of X. Columns that ``do`` does not reach are those of X.

        Raises
        ------
        ValueError, TypeError
            If ``do`` is not what it should be.
        """
        return self._under(do, self.X.T.copy(), self.noise.T)

    def _under(self, do: Mapping[Hashable, object] | None, values: Floats, noise: Floats) -> Floats:
        actions = actions_of(do, self.names, values.shape[1])
        carry_out(self.adjacency, actions, values, lambda n, values: self._response(n, values, noise[n]))
        return np.ascontiguousarray(values.T)

    def _response(self, n: int, values: Floats, noise: Floats) -> Floats:
        mean, std = self.functions[n](values[self.adjacency[:, n] != 0].T)
        return mean + std * noise

    def report(self) -> Report:
        """Return the range of the true standard deviations, the varsortability and the R2-sortability."""
        effects = self.adjacency.any(axis=0)
        if not effects.any():
            return Report(None, None, None, None, None)
        smallest, largest = self.std[:, effects].min(axis=0), self.std[:, effects].max(axis=0)
        spreads = float(smallest.min()), float(largest.max()), float(np.max(largest / smallest))
        return Report(*spreads, varsortability(self.X, self.adjacency), r2_sortability(self.X, self.adjacency))


def simulate_sem(
    graph: object,
    n_observations: int = 1000,
    *,
    mechanism: str = "mlp",
    noise: str = "softplus-shared",
    distribution: str = "gaussian",
    spread: float = 10.0,
    standardize: bool = False,
    random_state: RandomState = None,
) -> SimulatedData:
    """Draw observations from X_n = f_n(causes) + sigma_n(causes) Z_n with random functions f_n and sigma_n.

    Parameters
    ----------
    graph : array_like, shape (N, N), or networkx graph
        A DAG; only where its entries are zero matters. Column order and names are kept: see
        `icdh.simulate.relabel`.
    n_observations : int
        M, at least 2 if ``standardize``.
    mechanism : {"mlp", "mim", "gp", "gp-add", "linear"}
        f: a network with one hidden layer of 100 sigmoid units and no intercepts, a multiple index model, a Gaussian
        process, a sum of one Gaussian process per cause, or a weighted sum. All weights are uniform on
        [-2, -0.5] and [0.5, 2].
    noise : {"homo-ev", "homo-nv", "softplus-shared", "exp-shared", "exp", "exp-bounded", "piecewise"}
        sigma, where g is a second function from the same family as f and independent of it unless stated:

        - "homo-ev": 1.
        - "homo-nv": the square root of one number per variable, uniform on [0.5, 2].
        - "softplus-shared": sqrt(log(1 + exp(g))), where g shares the hidden layer of f: what the code released with
          the paper draws. For "mlp" only.
        - "exp-shared": exp(g / 2), where g shares the hidden layer of f: what the tables hold that the paper's authors
          had put beside their first results. For "mlp" only.
        - "exp": exp(g), the paper's formula. Standard deviations of exp(20) are usual; see `SimulatedData.report`.
        - "exp-bounded": exp(g), g scaled so that the largest standard deviation of a variable is ``spread`` times the
          smallest, their geometric mean being 1.
        - "piecewise": 1 + relu(g), g shifted so that half of the observations have 1, and scaled so that the largest
          is ``spread``: the condition of the paper's Theorem 1.

        A variable without causes has f = 0 and, but for "homo-nv", sigma = 1.
    distribution : {"gaussian", "laplace", "student-t", "uniform"}
        Z, always with mean 0 and variance 1. Student's t has 5 degrees of freedom.
    spread : float
        At least 1; see ``noise``.
    standardize : bool
        Whether to give every column mean zero and standard deviation one, after everything is drawn. The true means and
        standard deviations follow.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    SimulatedData
        The observations and the truth.

    Raises
    ------
    ValueError
        If the graph is malformed or has a cycle, an option is unknown, or values overflow or underflow.

    References
    ----------
    Yin, Gao, Yu, Ji: "Effective causal discovery under identifiable heteroscedastic noise model", AAAI 2024,
    experiments on synthetic data.

    Examples
    --------
    >>> from icdh import simulate
    >>> graph = simulate.erdos_renyi(5, 1, random_state=0)
    >>> data = simulate.simulate_sem(graph, 200, noise="exp-bounded", random_state=0)
    >>> data.X.shape, data.names[:2]
    ((200, 5), ['x0', 'x1'])
    >>> treated = data.counterfactual({"x2": 1.0})
    """
    weights, labels = check_graph(graph)
    names = list(map(str, labels or default_names(len(weights))))
    causal_order(weights, names)
    Number(2 if standardize else 1, integer=True).check("n_observations", n_observations)
    Number(1).check("spread", spread)
    Choice(tuple(MECHANISMS)).check("mechanism", mechanism)
    Choice(NOISES).check("noise", noise)
    Choice(tuple(DISTRIBUTIONS)).check("distribution", distribution)
    if noise in SHARED_LAYER and mechanism != "mlp":
        raise ArgumentValueError("noise", f"{noise!r} shares the hidden layer of 'mlp', which {mechanism!r} lacks")
    rng, edges = np.random.default_rng(random_state), weights != 0
    strengths, functions = np.zeros(edges.shape), {}
    X, mean, std, Z = (np.zeros((n_observations, len(edges))) for _ in range(4))
    for n in causal_order(edges):
        causes = edges[:, n]
        with np.errstate(over="ignore", invalid="ignore"):
            drawn = draw_moments(X[:, causes], mechanism, noise, spread, rng)
            mean[:, n], std[:, n], strengths[causes, n], functions[n] = drawn
            Z[:, n] = DISTRIBUTIONS[distribution](rng, n_observations)
            X[:, n] = mean[:, n] + std[:, n] * Z[:, n]
        if not (np.abs(X[:, n]) < LARGEST_VALUE).all() or not (std[:, n] > 1.0 / LARGEST_VALUE).all():
            raise ValueError(f"variable {names[n]!r} overflows or underflows; choose a noise such as 'exp-bounded'")
    ordered = [functions[n] for n in range(len(edges))]
    data = SimulatedData(X, edges.astype(np.int64), strengths, mean, std, names, Z, ordered, distribution)
    return _standardised(data) if standardize else data


def _standardised(data: SimulatedData) -> SimulatedData:
    location, scale = data.X.mean(axis=0), data.X.std(axis=0)
    functions: list[MomentsFunction] = [
        partial(_in_new_units, function, location[causes], scale[causes], location[n], scale[n])
        for n, (function, causes) in enumerate(zip(data.functions, data.adjacency.T != 0, strict=True))
    ]
    X, mean = ((values - location) / scale for values in (data.X, data.mean))
    return replace(data, X=X, mean=mean, std=data.std / scale, functions=functions)


def _in_new_units(
    function: MomentsFunction, centres: Floats, scales: Floats, location: float, scale: float, causes: Floats
) -> tuple[Floats, Floats]:
    mean, std = function(causes * scales + centres)
    return (mean - location) / scale, std / scale
