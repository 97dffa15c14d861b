"""Choosing penalties: which of several settings explain rows that they have not seen, and find the same graph again."""

import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from icdh._checks import check_callback, check_number, random_generator
from icdh._labels import counted
from icdh.estimators.base import CausalGraphEstimator
from icdh.exceptions import ConvergenceWarning, DataWarning
from icdh.model.conditionals import log_density

GRIDS = {
    "ICDH": {"l1": (0.003, 0.01, 0.03), "l2": (0.003, 0.01, 0.03), "threshold": (0.1, 0.2, 0.3, 0.5)},
    "HNMSearch": {"edge_penalty": (0.0, 2.0, 5.0, 10.0)},
}


class Trial(NamedTuple):
    """One setting and how it did.

    Attributes
    ----------
    params : dict
        The parameters.
    log_likelihood : float
        Of rows that the fit did not see, in nats: mean over rows and halves, by the graph's causes alone.
    standard_error : float
        Of its difference to the best setting's, over the halves of all splits.
    stability : float
        Edges that the graphs of both halves of a split share, over edges that either has; 1 where both are empty.
    n_edges : float
        Mean number of edges.
    """

    params: dict
    log_likelihood: float
    standard_error: float
    stability: float
    n_edges: float


class Tuning(NamedTuple):
    """What `tune` found.

    Attributes
    ----------
    estimator : ICDH or HNMSearch
        With the chosen parameters, not fitted.
    params : dict
        The chosen parameters.
    trials : list of Trial
        All settings, the likeliest first.
    """

    estimator: CausalGraphEstimator
    params: dict
    trials: list


def tune(
    estimator: CausalGraphEstimator,
    X: Any,
    grid: Mapping[str, Sequence] | None = None,
    *,
    n_splits: int = 2,
    random_state: Any = 0,
    callback: Callable[[dict], None] | None = None,
) -> Tuning:
    """Choose parameters by held-out likelihood and by stability across halves of the rows.

    Every setting is fitted to both halves of ``n_splits`` random splits of the rows, and scored on the other half. Of
    all settings whose held-out likelihood is within one standard error of the best, the one whose graphs agree most
    between halves is chosen; of several, the one with the fewest edges.

    Parameters
    ----------
    estimator : ICDH or HNMSearch
        What to tune; it is not changed, and need not be fitted.
    X : array_like or DataFrame, shape (M, N)
        Observations in rows, variables in columns.
    grid : mapping, optional
        Names of parameters with the values to try; by default l1, l2 and threshold of `ICDH`, and edge_penalty of
        `HNMSearch`. Thresholds need no fits of their own.
    n_splits : int
        How often the rows are split in halves.
    random_state : int, SeedSequence, Generator or None
        Draws the splits.
    callback : callable, optional
        Called with the parameters of every fit that is done.

    Returns
    -------
    Tuning
        The estimator to fit, and what all settings reached.

    Raises
    ------
    ValueError, TypeError
        If the grid names what is no parameter, or holds no values, or the table has fewer than four rows.

    Notes
    -----
    It is no better than the defaults as far as was measured: on four simulated tables the structural Hamming distance
    of `ICDH` fell on two and rose on two, and that of `HNMSearch` did not fall (`benchmarks/tuning.py`).

    Examples
    --------
    >>> from icdh import HNMSearch, tune
    >>> from icdh.datasets import load_sachs
    >>> table = load_sachs().data[:200, :3]
    >>> tuning = tune(HNMSearch(noise_distribution="gaussian"), table, {"edge_penalty": (2.0, 8.0)}, n_splits=1)
    >>> sorted(tuning.params)
    ['edge_penalty']
    """
    grid = _checked_grid(estimator, grid)
    check_number("n_splits", n_splits, low=1, integer=True)
    check_callback(callback)
    table = estimator.as_table(X)
    if table.n_observations < 4:
        raise ValueError(f"X has {counted(table.n_observations, 'row')}; at least 4 observations are needed")
    halves = _halves(table.n_observations, n_splits, random_generator(random_state))
    fitted_grid = {name: values for name, values in grid.items() if name != "threshold"}
    scores = {}
    for values in itertools.product(*fitted_grid.values()):
        params = dict(zip(fitted_grid, values, strict=True))
        for k, half in enumerate(halves):
            fit = _fitted(estimator, params, table, half)
            for threshold in grid.get("threshold", (None,)):
                full = params if threshold is None else {**params, "threshold": threshold}
                model = _with_threshold(fit, threshold)
                scores.setdefault(tuple(full.items()), []).append(_score(model, table, halves[k ^ 1]))
            if callback is not None:
                callback(params)
    trials = _trials(scores)
    chosen = _chosen(trials).params
    return Tuning(type(estimator)(**{**estimator.get_params(), **chosen}), chosen, trials)


def _checked_grid(estimator, grid):
    grid = dict(GRIDS[type(estimator).__name__] if grid is None else grid)
    known = estimator.get_params()
    for name, values in grid.items():
        if name not in known:
            raise ValueError(f"grid names {name!r}, but {type(estimator).__name__} has {', '.join(known)}")
        if isinstance(values, str) or not len(values):
            raise ValueError(f"grid[{name!r}] must hold the values to try; got {values!r}")
    return grid


def _halves(n_rows, n_splits, rng):
    """Return the rows of both halves of every split, one after the other: half k goes with half k ^ 1."""
    orders = [rng.permutation(n_rows) for _ in range(n_splits)]
    return [np.sort(half) for order in orders for half in (order[: n_rows // 2], order[n_rows // 2 :])]


def _fitted(estimator, params, table, rows):
    """Return a fit to some rows; its warnings are those of the whole table."""
    quiet = {"verbose": False, "callback": None}
    with warnings.catch_warnings():
        for category in (ConvergenceWarning, DataWarning):
            warnings.simplefilter("ignore", category)
        return type(estimator)(**{**estimator.get_params(), **quiet, **params}).fit(table.of_rows(rows))


def _with_threshold(fit, threshold):
    if threshold is None:
        return fit.model_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return fit.rethreshold(threshold).model_


def _score(model, table, rows):
    """Return the held-out log-likelihood, in the units of the table, by the graph's causes alone, and the graph."""
    values = model.scaled(table.of_rows(rows))
    nats = sum(
        float(log_density(conditional, values[node], model.others_held(node, values)).mean())
        for node, conditional in enumerate(model.conditionals)
    )
    return nats - float(np.log(model.scaling.scale).sum()), model.adjacency != 0


def _trials(scores):
    likelihoods = {key: np.array([likelihood for likelihood, _ in found]) for key, found in scores.items()}
    best = max(likelihoods.values(), key=np.mean)
    trials = []
    for key, found in scores.items():
        graphs = [graph for _, graph in found]
        gap = likelihoods[key] - best
        trials.append(
            Trial(
                dict(key),
                float(likelihoods[key].mean()),
                float(gap.std(ddof=1) / np.sqrt(gap.size)),
                float(np.mean([_overlap(*pair) for pair in zip(graphs[::2], graphs[1::2], strict=True)])),
                float(np.mean([graph.sum() for graph in graphs])),
            )
        )
    return sorted(trials, key=lambda trial: -trial.log_likelihood)


def _overlap(a, b):
    either = (a | b).sum()
    return (a & b).sum() / either if either else 1.0


def _chosen(trials):
    """Return the most stable, then sparsest of the settings that are within a standard error of the likeliest."""
    best = trials[0].log_likelihood
    near = [trial for trial in trials if trial.log_likelihood + trial.standard_error >= best]
    return max(near, key=lambda trial: (trial.stability, -trial.n_edges))
