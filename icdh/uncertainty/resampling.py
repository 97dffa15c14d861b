"""Graphs learned from many resamples of the rows: how stable is each edge."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from icdh._estimators.base import CausalGraphEstimator
from icdh._model.structural import StructuralModel
from icdh._table.experiments import Design, Interventions
from icdh._table.relations import Groups
from icdh._table.table import Table
from icdh._table.weights import with_weights
from icdh._utils.arrays import Floats, Integers, TableLike
from icdh._utils.checks import Choice, Number, check_callback, check_same_rows, n_workers
from icdh._utils.clock import Clock
from icdh._utils.parallel import in_parallel
from icdh.exceptions import ArgumentTypeError, ArgumentValueError, ConvergenceWarning, collected_warnings, option, warn
from icdh.uncertainty.ensemble import GraphEnsemble

SAMPLINGS = ("subsample", "bootstrap")


class Resample(NamedTuple):
    """One resample and its graph.

    Attributes
    ----------
    number : int
        The resample's number, from zero. Together with the seed of the whole it decides which rows are drawn.
    adjacency : ndarray, shape (N, N)
        The graph learned from these rows; ``adjacency[i, j] != 0`` means i -> j.
    """

    number: int
    adjacency: Floats


def bootstrap(
    estimator: CausalGraphEstimator,
    X: TableLike,
    n_resamples: int = 100,
    *,
    interventions: ArrayLike | Interventions | None = None,
    groups: Groups = None,
    sequence: bool = False,
    sample_weight: ArrayLike | None = None,
    weights: str = "sampling",
    sampling: str = "subsample",
    n_jobs: int = 1,
    random_state: int = 0,
    callback: Callable[[Resample], None] | None = None,
    max_seconds: float | None = None,
) -> GraphEnsemble:
    """Learn a graph from each of many resamples of the rows.

    Parameters
    ----------
    estimator : ICDH or HNMSearch
        The estimator to fit; it is not changed and need not be fitted. With ``missing="impute"`` every resample has its
        own gaps, and its graph is that of the last imputation. The probabilities then include the uncertainty from
        the gaps.
    X : array_like or DataFrame, shape (M, N)
        Observations in rows, variables in columns.
    n_resamples : int
        Number of resamples.
    interventions : array_like of bool, shape (M, N), or Interventions, optional
        What was done to the rows, as the estimator's ``fit`` takes it; a row is drawn together with that.
    groups, sequence
        See ``fit``. Groups are drawn whole. A single sequence is drawn in blocks of consecutive rows: as many blocks as
        each of them has rows. `ICDH`, which counts every row, may be resampled so, too.
    sample_weight, weights
        See ``fit``. Rows keep their sampling weights; of frequency weights the rows that they stand for are drawn.
    sampling : {"subsample", "bootstrap"}
        Half of the rows without replacement (the default), or M rows with replacement. Means vary equally under both.
        But evidence counts repeated rows as new ones and takes their ties for a grid: "bootstrap" adds false edges.
    n_jobs : int
        Number of processes that share the resamples, -1 for one a core. More than one needs joblib (``[parallel]``),
        and inside ``joblib.parallel_config("dask")`` a cluster does the work. Results do not depend on it.
    random_state : int
        Every resample draws its rows, and seeds its fit, from a seed of its own that follows from this one.
    callback : callable, optional
        Called with every `Resample`, in their order.
    max_seconds : float, optional
        The time limit for all resamples together, in seconds of wall time. Graphs finished by then are kept.

    Returns
    -------
    GraphEnsemble
        All graphs, of equal weight: probabilities of edges, ancestors and paths.

    Warns
    -----
    ConvergenceWarning
        If ``max_seconds`` ended it after fewer resamples.

    Raises
    ------
    ValueError, TypeError
        If an argument is not what it should be.
    MissingExtraError
        If joblib is needed and not installed.
    TimeoutError
        If ``max_seconds`` ended before the first resample.

    References
    ----------
    Friedman, Goldszmidt, Wyner: "Data analysis with Bayesian networks: a bootstrap approach", UAI 1999.
    Steck, Jaakkola: "Bias-corrected bootstrap and model uncertainty", NIPS 2003.

    Examples
    --------
    >>> from icdh import HNMSearch, bootstrap
    >>> from icdh.datasets import load_sachs
    >>> table = load_sachs().data[:200, :4]
    >>> ensemble = bootstrap(HNMSearch(noise_distribution="gaussian"), table, n_resamples=5)
    >>> ensemble.edge_probability.shape
    (4, 4)
    """
    Number(1, integer=True).check("n_resamples", n_resamples)
    check_callback(callback)
    n_jobs = n_workers(n_jobs)
    rows = _Rows(interventions, groups, sequence, sample_weight, weights)
    fits = _Fits(estimator, X, rows, sampling, random_state, max_seconds)
    fits.look_at_the_whole_table()
    graphs = []
    for number, adjacency in enumerate(in_parallel(fits.graph, range(n_resamples), n_jobs)):
        if adjacency is not None:  # it was not cut short
            graphs.append(adjacency != 0)
            if callback is not None:
                callback(Resample(number, adjacency))
    if len(graphs) < n_resamples:
        ended = f"{option('max_seconds', max_seconds)} ended the resamples after {len(graphs)} of {n_resamples}"
        if not graphs:
            raise TimeoutError(f"{ended}: there are no probabilities")
        warn(f"{ended}; the probabilities are of these", ConvergenceWarning)
    return GraphEnsemble(fits.table.names, np.array(graphs), np.full(len(graphs), 1.0 / len(graphs)))


def refits(
    estimator: CausalGraphEstimator,
    X: TableLike,
    n_resamples: int = 20,
    *,
    interventions: ArrayLike | Interventions | None = None,
    groups: Groups = None,
    sequence: bool = False,
    sample_weight: ArrayLike | None = None,
    weights: str = "sampling",
    sampling: str = "subsample",
    n_jobs: int = 1,
    random_state: int = 0,
) -> list[StructuralModel]:
    """Return the fitted models of the resamples; `bootstrap` keeps their graphs alone.

    Parameters
    ----------
    estimator, X, n_resamples, interventions, groups, sequence, sample_weight, weights, sampling, n_jobs, random_state
        See `bootstrap`.

    Returns
    -------
    list of StructuralModel
        One a resample: ``average_effect(..., models=...)`` draws its bands from them.

    Raises
    ------
    ValueError, TypeError, MissingExtraError
        As `bootstrap`.

    Examples
    --------
    >>> from icdh import HNMSearch, refits
    >>> from icdh.datasets import load_sachs
    >>> table = load_sachs().data[:200, :2]
    >>> estimator = HNMSearch(noise_distribution="gaussian").fit(table)
    >>> models = refits(estimator, table, n_resamples=3)
    >>> effect = estimator.average_effect("x0", "x1", [10.0, 30.0], models=models)
    >>> bool((effect.lower <= effect.upper).all())
    True
    """
    Number(1, integer=True).check("n_resamples", n_resamples)
    rows = _Rows(interventions, groups, sequence, sample_weight, weights)
    fits = _Fits(estimator, X, rows, sampling, random_state)
    fits.look_at_the_whole_table()
    return list(in_parallel(fits.model, range(n_resamples), n_workers(n_jobs)))


class _Rows(NamedTuple):
    """What is known of rows, as ``fit`` takes it."""

    interventions: ArrayLike | Interventions | None
    groups: Groups
    sequence: bool
    sample_weight: ArrayLike | None
    weights: str


class _Fits:
    """Fits to resamples: the rows of each, and the seed of its fit, follow from its number."""

    def __init__(
        self,
        estimator: CausalGraphEstimator,
        X: TableLike,
        rows: "_Rows",
        sampling: str,
        random_state: int,
        max_seconds: float | None = None,
    ):
        if not isinstance(estimator, CausalGraphEstimator):
            demand = f"must be an ICDH or HNMSearch, fitted or not; got {type(estimator).__name__}"
            raise ArgumentTypeError("estimator", demand)
        Choice(SAMPLINGS).check("sampling", sampling)
        Number(0, integer=True).check("random_state", random_state)
        Number(0, above=True, optional=True).check("max_seconds", max_seconds)
        check_same_rows(X, rows.interventions, "interventions")
        check_same_rows(X, rows.sample_weight, "sample_weight")
        about = estimator.model_.about if hasattr(estimator, "model_") else {}
        if about.get("weights") and rows.sample_weight is None:
            raise ArgumentValueError("sample_weight", "is what the estimator was fitted with; pass it here, too")
        self.clock, self.sampling, self.random_state = Clock(max_seconds), sampling, random_state
        whole = estimator.related_table(X, rows.groups, rows.sequence)
        quiet = {**estimator.get_params(), "callback": None, "verbose": False, "n_jobs": 1}
        self.estimator = type(estimator)(**quiet)
        with collected_warnings():  # they would repeat those of the whole table
            self.table, done = with_weights(whole, rows.interventions, rows.sample_weight, rows.weights)
            self.design = Design.of(done, self.table)  # every fit takes it as interventions

    def look_at_the_whole_table(self) -> None:
        """Choose the kinds and the transform of the columns, which all resamples share."""
        first = self._ending_in_time().set_params(random_state=self.random_state)
        with collected_warnings():
            ready = first.for_resamples(self.table, self.design)
        self.estimator = ready.set_params(max_seconds=self.estimator.max_seconds)

    def graph(self, index: int) -> Floats | None:
        """Return the graph of a resample, None if the clock ended it."""
        model = None if self.clock.is_over else self.model(index)
        return None if model is None or self.clock.is_over else model.adjacency

    def model(self, index: int) -> StructuralModel:
        """Return the model of a resample."""
        table, design, seed = self._drawn(index)
        with collected_warnings():
            fit = self._ending_in_time().set_params(random_state=seed).fit(table, interventions=design)
        if fit.interrupted_:
            raise KeyboardInterrupt
        last: StructuralModel = getattr(fit, "imputations_", [fit])[-1].model_
        return last

    def _ending_in_time(self) -> CausalGraphEstimator:
        """Return a copy of the estimator whose fit ends with the clock, at the latest."""
        if self.clock.max_seconds is None:
            return copy(self.estimator)
        left = max(self.clock.left, 1e-3)  # of a fit that begins as time ends
        return copy(self.estimator).set_params(max_seconds=min(left, self.estimator.max_seconds or left))

    def _drawn(self, index: int) -> tuple[Table, Design, int]:
        """Return the rows of a resample, what was done to them, and the seed of its fit."""
        rng = np.random.default_rng(np.random.SeedSequence([self.random_state, index]))
        units = self._units()
        n = len(units)
        drawn = rng.integers(n, size=n) if self.sampling == "bootstrap" else rng.permutation(n)[: (n + 1) // 2]
        parts = [units[unit] for unit in np.sort(drawn)]
        rows = np.concatenate(parts)
        table = self.table.of_rows(rows)
        if table.related is not None and self.sampling == "bootstrap":
            draws = np.repeat(np.arange(n), [len(part) for part in parts])
            table = replace(table, related=table.related.drawn(draws))
        return table, self.design.of_rows(rows), int(rng.integers(2**31))

    def _units(self) -> Sequence[Integers] | Integers:
        """Return the rows of every unit that is drawn as a whole."""
        related, M = self.table.related, self.table.n_observations
        if related is None:
            return np.arange(M, dtype=np.int64).reshape(M, 1)
        _, units, sizes = np.unique(related.units, return_inverse=True, return_counts=True)
        return np.split(np.argsort(units.ravel(), kind="stable"), np.cumsum(sizes)[:-1])
