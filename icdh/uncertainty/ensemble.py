"""Many directed acyclic graphs with weights: the probability of edges, of ancestors, of paths.

Graphs learned from many resamples of the rows are such an ensemble: it says how stable is each edge. A checkpoint keeps
finished resamples for a run that goes on.
"""

import hashlib
import json
import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from icdh._estimators.base import CausalGraphEstimator
from icdh._model.export import MOST_EDGES, Result
from icdh._model.structural import StructuralModel
from icdh._table.experiments import Design, Interventions
from icdh._table.rows import Groups, with_weights
from icdh._table.table import Table
from icdh._utils.arrays import Floats, Integers, Mask, TableLike
from icdh._utils.checks import Choice, Number, check_callback, check_same_rows, n_workers
from icdh._utils.clock import Clock
from icdh._utils.labels import counted, edge_lines, first, printable, variable_index
from icdh._utils.parallel import in_parallel
from icdh._version import __version__
from icdh.exceptions import ArgumentTypeError, ArgumentValueError, ConvergenceWarning, collected_warnings, option, warn
from icdh.graphs import break_cycles, threshold

LEAST = float(np.finfo(float).tiny)
DECIDED = 0.95  # share of the graphs with an edge that have to agree on its direction
PROBABILITY = Number(0, above=True, high=1)
SAMPLINGS = ("subsample", "bootstrap")


class EdgeBelief(NamedTuple):
    """Probabilities of the relations between two variables.

    Attributes
    ----------
    cause, effect : str
        Their names, in the direction of the higher probability.
    probability : float
        That of cause -> effect.
    reverse : float
        That of effect -> cause.
    ancestor : float
        That of a directed path from cause to effect.
    """

    cause: Hashable
    effect: Hashable
    probability: float
    reverse: float
    ancestor: float

    @property
    def direction(self) -> float:
        """The probability of cause -> effect given an edge between them; zero if there never is one."""
        return self.probability / max(self.probability + self.reverse, LEAST)


@dataclass(frozen=True)
class GraphEnsemble(Result):
    """Directed acyclic graphs of the same variables, each with a weight.

    Attributes
    ----------
    names : list of str
        The labels of the N variables.
    graphs : ndarray of bool, shape (S, N, N)
        ``graphs[s, i, j]`` says whether graph s has the edge i -> j.
    weights : ndarray, shape (S,)
        Probabilities of the graphs; they sum to one.
    """

    names: list[Hashable]
    graphs: Mask
    weights: Floats

    @cached_property
    def edge_probability(self) -> Floats:
        """Probability of i -> j, shape (N, N)."""
        return self._mean(self.graphs)

    @property
    def adjacency_probability(self) -> Floats:
        """Probability of an edge between i and j, in whichever direction, shape (N, N)."""
        return self.edge_probability + self.edge_probability.T

    @property
    def direction_probability(self) -> Floats:
        """Probability of i -> j given an edge between them, shape (N, N), zero where there never is one."""
        return self.edge_probability / np.maximum(self.adjacency_probability, LEAST)

    @cached_property
    def ancestor_probability(self) -> Floats:
        """Probability of a directed path from i to j, shape (N, N), zero on the diagonal."""
        reaches, length = self.graphs, 1
        while length < reaches.shape[-1]:
            steps = reaches.astype(np.float32)
            reaches, length = reaches | (steps @ steps > 0.0), 2 * length  # paths of twice the length
        return self._mean(reaches)

    def records(self) -> list[dict[str, object]]:
        """Return a dict of every edge of `edges`."""
        return [edge._asdict() for edge in self.edges()]

    def to_dict(self) -> dict[str, object]:
        """Return the edges and the number of graphs as what JSON can hold."""
        names = list(map(str, self.names))
        edges = [record | {end: str(record[end]) for end in ("cause", "effect")} for record in self.records()]
        return {"names": names, "n_graphs": len(self.graphs), "edges": edges}

    def path_probability(self, *variables: str | int) -> float:
        """Return the probability that all edges of a directed path are there.

        Parameters
        ----------
        *variables : str or int
            The variables along the path, causes first, by name or index; at least two.

        Raises
        ------
        ValueError
            If there are fewer than two, or one is not a variable of the graphs.
        """
        path = [variable_index(variable, self.names, "path") for variable in variables]
        if len(path) < 2:
            raise ValueError("a path has at least two variables")
        return float(self.weights @ self.graphs[:, path[:-1], path[1:]].all(axis=1))

    def consensus(self, level: float = 0.5) -> Floats:
        """Return the graph of all edges of at least this probability, weighed by it; acyclic by construction.

        Parameters
        ----------
        level : float
            The smallest probability of an edge: above zero, at most one.

        Returns
        -------
        ndarray, shape (N, N)
            ``[i, j]`` is the probability of i -> j where the graph has that edge, else zero. Where edges of at least
            ``level`` form a cycle, which above 0.5 is rare, the least probable one is left out.

        Raises
        ------
        ValueError, TypeError
            If the level is not such a number.
        """
        PROBABILITY.check("level", level)
        return break_cycles(threshold(self.edge_probability, level)).adjacency

    def undecided(self, dag: Floats, level: float = DECIDED) -> Mask:
        """Return the edges of a graph whose direction the ensemble disagrees about.

        On real tables agreement is a hint, not a proof. In 71 public tables, edges between columns with a natural order
        were checked. Where fits to ten halves of the rows agree, 68 % point forward, and 58 % of the others.

        Parameters
        ----------
        dag : ndarray, shape (N, N)
            The graph, for instance ``adjacency_matrix_`` of the fit to all rows.
        level : float
            The share that must agree, among the graphs with an edge between the two variables: above zero, at most 1.

        Returns
        -------
        ndarray of bool, shape (N, N)
            ``[i, j]`` is True where the graph has i -> j, but less than a share ``level`` of the ensemble's graphs with
            an edge between i and j have i -> j.

        Raises
        ------
        ValueError, TypeError
            If the graph is of another shape, or the level is not such a number.
        """
        PROBABILITY.check("level", level)
        if np.shape(dag) != self.edge_probability.shape:
            raise ValueError(f"dag must have shape {self.edge_probability.shape}; got {np.shape(dag)}")
        undecided: Mask = (np.asarray(dag) != 0) & ~(self.direction_probability >= level)
        return undecided

    def edges(self, level: float = 0.0) -> list[EdgeBelief]:
        """Return every pair of variables with an edge whose probability exceeds ``level``, the most probable first."""
        beliefs, p = [], self.edge_probability
        for i, j in combinations(range(len(self.names)), 2):
            if p[i, j] < p[j, i]:
                i, j = j, i
            if p[i, j] > level:
                figures = (float(table[i, j]) for table in (p, p.T, self.ancestor_probability))
                beliefs.append(EdgeBelief(self.names[i], self.names[j], *figures))
        return sorted(beliefs, key=lambda belief: -belief.probability)

    def summary(self) -> str:
        """Return the edges above one in twenty as text: probability, that of the reverse, and of any directed path."""
        shown, n_more = first(self.edges(0.05), MOST_EDGES)
        rows = [
            [printable(cause), printable(effect), *(f"{p:.2f}" for p in probabilities)]
            for cause, effect, *probabilities in shown
        ]
        lines = edge_lines([["cause", "effect", "probability", "reverse", "any path"], *rows]) if rows else []
        rarer = [f"and {n_more} less probable edges"] if n_more else []
        graphs = f"{counted(len(self.graphs), 'graph')} of {counted(len(self.names), 'variable')}"
        return "\n".join([graphs, *lines, *rarer])

    def _mean(self, relations: Mask) -> Floats:
        shares = np.tensordot(self.weights, relations, axes=1)
        return np.where(relations.all(axis=0), 1.0, shares)  # the sum of the weights may be one but for rounding


class Checkpoint:
    """Numbered results in a file of JSON lines, under a first line that says what they belong to.

    Parameters
    ----------
    path : str or Path
        The file.
    fingerprint : str
        Identifies data, parameters and seeds.
    """

    def __init__(self, path: str | Path, fingerprint: str):
        self.path = Path(path)
        self.header = {"format": "icdh resamples", "version": 1, "fingerprint": fingerprint}

    def read(self) -> list[tuple[int, object]]:
        """Return all results in the file, and make it ready for more.

        A last line that a killed process left half-written is cut off.

        Raises
        ------
        ValueError
            If the file belongs to another run, or is no checkpoint at all.
        """
        with self.path.open("ab+") as stream:
            stream.seek(0)
            content = stream.read()
            whole = content[: content.rfind(b"\n") + 1]
            stream.truncate(len(whole))
        if not whole:
            self._write(self.header)
            return []
        try:
            header, *records = [json.loads(line) for line in whole.splitlines()]
            results = [(record["index"], record["result"]) for record in records]
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{self.path} is no checkpoint of resamples; choose another file") from error
        if header != self.header:
            what = "a checkpoint of other data, parameters or seeds"
            raise ValueError(f"{self.path} is {what}; choose another file or delete it")
        return results

    def append(self, index: int, result: object) -> None:
        """Write one result; once this returns, no crash loses it."""
        self._write({"index": index, "result": result})

    def _write(self, record: dict[str, object]) -> None:
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(record) + "\n")
            stream.flush()
            os.fsync(stream.fileno())


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
    checkpoint: str | Path | None = None,
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
    checkpoint : str or Path, optional
        A file to which every graph is appended. If it exists, an interrupted run continues from it.
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
        If an argument is not what it should be, or the checkpoint belongs to other data, parameters or seeds.
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
    store = None if checkpoint is None else Checkpoint(checkpoint, fits.fingerprint())
    resamples = {}
    for resample in _resamples(store, fits, n_resamples, n_jobs):
        resamples[resample.number] = resample.adjacency
        if callback is not None:
            callback(resample)
    if len(resamples) < n_resamples:
        ended = f"{option('max_seconds', max_seconds)} ended the resamples after {len(resamples)} of {n_resamples}"
        if not resamples:
            raise TimeoutError(f"{ended}: there are no probabilities")
        warn(f"{ended}; the probabilities are of these", ConvergenceWarning)
    graphs = np.array([resamples[index] != 0 for index in sorted(resamples)])
    return GraphEnsemble(fits.table.names, graphs, np.full(len(graphs), 1.0 / len(graphs)))


def _resamples(store: Checkpoint | None, fits: "_Fits", n_resamples: int, n_jobs: int) -> Iterator[Resample]:
    """Yield the resamples that the checkpoint holds, then the others, each written there first."""
    stored = [] if store is None else store.read()
    known = [Resample(index, np.array(adjacency)) for index, adjacency in stored if index < n_resamples]
    yield from known
    missing = sorted(set(range(n_resamples)) - {resample.number for resample in known})
    if not missing:
        return
    fits.look_at_the_whole_table()
    for index, adjacency in zip(missing, in_parallel(fits.graph, missing, n_jobs), strict=True):
        if adjacency is not None:  # it was not cut short
            if store is not None:
                store.append(index, adjacency.tolist())
            yield Resample(index, adjacency)


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
        rows: _Rows,
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

    def fingerprint(self) -> str:
        """Return a text that differs for resamples of other data, parameters or seeds."""
        data = hashlib.sha256(self.table.values.tobytes()).hexdigest()
        described = {
            name: value.tolist() if isinstance(value, np.ndarray) else repr(value)
            for name, value in self.estimator.get_params().items()
            if name != "random_state"
        }
        design = [part.tobytes().hex() for part in (self.design.left_alone, self.design.contexts)]
        related = self.table.related
        units = None if related is None else [related.groups.tolist(), related.places is not None]
        units = units if self.table.weights is None else self.table.weights.tolist()
        drawing = [self.table.names, self.sampling, self.random_state, *design, units]
        what = [__version__, type(self.estimator).__name__, described, data, *drawing]
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()

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
